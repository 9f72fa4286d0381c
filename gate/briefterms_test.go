package gate_test

import (
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// TestBriefShowsEveryTermOfAnOrder: what a person does not see is not approved. Each order is shown with the market at 99
// and 100.
//
//fault:f58
func TestBriefShowsEveryTermOfAnOrder(t *testing.T) {
	held := func(shares string) policy.Known {
		value, known := trade.ParseSum(shares)
		return policy.Known{Value: value, Known: known}
	}
	for _, c := range []struct {
		held, side string
		terms      map[string]string
		want       []string
	}{
		{"0", "buy", map[string]string{"quantity": "10", "type": "market"}, []string{
			"BUY TO OPEN 10 AAPL (shares) MARKET DAY\n", "Worst-case value UNKNOWN", "Cash 5000.00 USD -> unknown\n", "Exits: no stop loss, no take profit\n",
		}},
		{"0", "buy", map[string]string{"notional": "250", "type": "market"}, []string{
			"BUY TO OPEN 250.00 USD of AAPL MARKET DAY\n", "Worst-case value 250.00 USD (the amount to spend)\n", "Cash 5000.00 USD -> 4750.00\n",
			"Position AAPL 0 -> more, as many as the amount buys (pending buys unknown, sells 0)\n",
		}},
		{"unknown", "sell", map[string]string{"quantity": "0.5", "type": "market"}, []string{
			"SELL 0.5 AAPL (shares) MARKET DAY\n", "Position AAPL unknown -> unknown (", "Cash 5000.00 USD -> more, as the market pays\n",
		}},
		{"unknown", "buy", map[string]string{"quantity": "10", "type": "market"}, []string{"BUY 10 AAPL (shares) MARKET DAY\n", "AAPL unknown -> unknown ("}},
		{"-10", "buy", map[string]string{"notional": "250", "type": "market"}, []string{
			"BUY 250.00 USD of AAPL MARKET DAY\n", "Position AAPL -10 -> more, as many as the amount buys (",
		}},
		{"3", "buy", map[string]string{"notional": "250", "type": "market"}, []string{"BUY TO INCREASE 250.00 USD of AAPL MARKET DAY\n"}},
		{"10", "sell", map[string]string{"quantity": "10", "type": "stop", "stop_price": "90", "time_in_force": "gtc"}, []string{
			"SELL TO CLOSE 10 AAPL (shares) STOP 90.00 GTC\n", "Stop against last: -9.00 USD\n", "Position AAPL 10 -> 0 (",
		}},
		{"10", "sell", map[string]string{"quantity": "4", "type": "limit", "limit_price": "90"}, []string{
			"SELL TO REDUCE 4 AAPL (shares) LIMIT 90.00 DAY\n", "Cash 5000.00 USD -> at least 5360.00\n", "Position AAPL 10 -> 6 (",
		}},
		{"10", "sell", map[string]string{"quantity": "11", "type": "market"}, []string{"SELL TO FLIP 11 AAPL (shares) MARKET DAY\n", "Position AAPL 10 -> -1 ("}},
		{"0", "sell", map[string]string{"quantity": "1", "type": "market"}, []string{"SELL TO SHORT 1 AAPL (shares) MARKET DAY\n"}},
		{"-2", "sell", map[string]string{"quantity": "1", "type": "market"}, []string{"SELL TO INCREASE 1 AAPL (shares) MARKET DAY\n", "Position AAPL -2 -> -3 ("}},
		{"-2", "buy", map[string]string{"quantity": "1", "type": "market"}, []string{"BUY TO REDUCE 1 AAPL (shares) MARKET DAY\n"}},
		{"-2", "buy", map[string]string{"quantity": "2", "type": "market"}, []string{"BUY TO CLOSE 2 AAPL (shares) MARKET DAY\n"}},
		{"-2", "buy", map[string]string{"quantity": "3", "type": "market"}, []string{"BUY TO FLIP 3 AAPL (shares) MARKET DAY\n", "Position AAPL -2 -> 1 ("}},
		{"0", "buy", map[string]string{"quantity": "10", "type": "stop_limit", "stop_price": "105", "limit_price": "106"}, []string{
			"BUY TO OPEN 10 AAPL (shares) STOP_LIMIT stop 105.00 limit 106.00 DAY\n", "Stop against last: 6.00 USD\nLimit against last: 7.00 USD\n",
		}},
		{"0", "buy", map[string]string{"quantity": "10", "type": "limit", "limit_price": "99", "extended_hours": "true"}, []string{
			"BUY TO OPEN 10 AAPL (shares) LIMIT 99.00 DAY EXTENDED HOURS\n", "Worst-case value 990.00 USD (quantity x limit price)\n",
		}},
		{
			"0", "buy", map[string]string{"quantity": "10", "type": "limit", "limit_price": "99", "time_in_force": "gtc", "stop_loss": "90", "stop_loss_limit": "89.5", "take_profit": "120"},
			[]string{"LIMIT 99.00 GTC\n", "Exits: stop loss 90.00 limit 89.50, take profit 120.00; 90.00 USD are lost between limit and stop\n"},
		},
		{"0", "buy", map[string]string{"quantity": "10", "type": "market", "take_profit": "120"}, []string{"Exits: no stop loss, take profit 120.00\n"}},
		{"0", "buy", map[string]string{"quantity": "10", "type": "market", "stop_loss": "80"}, []string{"Exits: stop loss 80.00, no take profit\n"}},
	} {
		o := gatetest.Wide(t, c.side, "AAPL", c.terms)
		cash, at := trade.Whole(5000), time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
		working := trade.Decimal{}
		if o.ByAmount() {
			working = trade.Decimal{}.Sub(trade.Whole(1)) // not known
		}
		b := gate.Brief{
			Decision: ledger.Decision{Order: o, Hold: ledger.Hold{Expires: at}}, Account: "paper", Position: held(c.held), Cash: &cash, Now: at, Working: working,
			Quote: &trade.Quote{Bid: trade.Whole(99), Ask: trade.Whole(100), Last: trade.Whole(99), At: at},
		}
		text := b.Text()
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", o.Line(), want, text)
			}
		}
	}
}

// TestBriefShowsTheProposalsOwnAccount: a gate's broker has an account of its own, and a hook's agent trades elsewhere.
//
//attack:gate-brief-account
func TestBriefShowsTheProposalsOwnAccount(t *testing.T) {
	own := newOffice(t, holdAbove1000)
	text := must(own.Brief(ctx, own.propose(t, buy(t, "20")).Intent))(t).Text()
	for _, want := range []string{"BUY TO OPEN 20 AAPL", "Position AAPL 0 -> 20 (", "Cash 100000.00 USD -> 98000.00\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	other := newOffice(t, holdAbove1000, func(c *gate.Config) { c.Account = "live" })
	d := other.Authorize(ctx, buy(t, "20", atHook))
	if !d.Held() {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	text = must(other.Brief(ctx, d.Intent))(t).Text()
	for _, want := range []string{"BUY 20 AAPL", "Position AAPL unknown -> unknown (", "Cash unknown"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
