package policy_test

import (
	"testing"

	"sallyport/policy"
	"sallyport/trade"
)

func draft(account, side, quantity, symbol, price string) trade.Draft {
	text := func(s string) trade.Text { return trade.Text{Name: "x", Value: s, Kind: trade.IsText} }
	return trade.Draft{
		Account: trade.Account(account), Symbol: text(symbol), Side: text(side), Quantity: text(quantity),
		Type: text("limit"), LimitPrice: text(price), TimeInForce: text("day"),
	}
}

func order(t testing.TB, side, quantity, symbol, price string) trade.Order {
	t.Helper()
	o, _, faults := trade.Parse(draft("paper", side, quantity, symbol, price))
	if len(faults) > 0 {
		t.Fatalf("not an order: %v", faults)
	}
	return o
}

func mustParse(t testing.TB, raw string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func BenchmarkEvaluateAllow(b *testing.B) {
	p := mustParse(b, string(policy.Default()))
	o := order(b, "buy", "66", "AAPL", "150.25")
	f := policy.Facts{PositionKnown: true}
	b.ReportAllocs()
	for b.Loop() {
		if v := p.Evaluate(o, f); v.Effect != policy.Allow {
			b.Fatal(v)
		}
	}
}
