package policy_test

import (
	"testing"

	"sallyport/gatetest"
	"sallyport/policy"
)

// TestWorthIsNeverLessThanAQuoteWouldSay values orders with a quote, and without one that can be used: where there is none
// an order is worth as much as it would be, or nobody knows.
//
//attack:policy-worth-unknown
//attack:policy-amount-shares
func TestWorthIsNeverLessThanAQuoteWouldSay(t *testing.T) {
	b := mustBook(t, wideLimit(`"order_quantity": {"deny_above": "1000"}`))
	for _, c := range []struct{ order, with, without string }{
		{"buy 100 AAPL at 150.00", "15000.00", "15000.00"},
		{"buy 100 AAPL at 1.00", "10000", "100.00"}, // which is all that it can cost
		{"buy 100 AAPL market", "10050", ""},
		{"buy 100 AAPL stop 1.00", "10050", ""},
		{"buy 100 AAPL stop 200.00", "20100", ""},
		{"buy 100 AAPL stop 1.00 limit 2.00", "10000", "200.00"},
		{"buy $100.00 AAPL market", "100.00", "100.00"},
		{"sell 100 AAPL at 1.00", "10000", ""},
		{"sell 100 AAPL at 200.00", "20000.00", ""},
		{"sell 100 AAPL market", "10048.995", ""},
		{"sell 100 AAPL stop 1.00", "10048.995", ""},
		{"sell 100 AAPL stop 2.00 limit 1.00", "10000", ""},
	} {
		o := gatetest.Line(t, c.order)
		_, s := calm()
		check := func(name, want string) {
			t.Helper()
			got := b.Worth(o, s)
			if got.Known != (want != "") || got.Known && got.Value.Cmp(dec(want)) != 0 || !got.Known && got.Value.Sign() != 0 {
				t.Errorf("%s, %s: worth %+v, want %q", c.order, name, got, want)
			}
		}
		check("with a quote", c.with)
		old := s.Quote
		for name, q := range map[string]policy.QuoteFact{
			"no quote":  {Code: policy.QuoteUnavailable},
			"stale":     {Bid: old.Bid, Ask: old.Ask, Age: b.Quotes().MaxAge + 1},
			"crossed":   {Bid: old.Ask, Ask: old.Bid},
			"wide":      {Bid: dec("1"), Ask: dec("300")},
			"no bid":    {Ask: old.Ask},
			"below nil": {Bid: dec("-1"), Ask: old.Ask},
		} {
			s.Quote = q
			check(name, c.without)
			if o.ByAmount() && b.Shares(o, s).Known {
				t.Errorf("%s: the shares of an amount are known", name)
			}
		}
	}
	_, s := calm()
	s.Quote.Bid, s.Quote.Ask = dec("0.000000001"), dec("0.000000001")
	if n := b.Shares(gatetest.Line(t, "buy $50.00 AAPL market"), s); n.Known || n.Value.Sign() != 0 {
		t.Errorf("at a price of nothing an amount buys %+v", n)
	}
}
