package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sallyport/policy"
	"sallyport/trade"
)

// drawnOrder draws an order of any terms; the zero order where they do not go together.
func drawnOrder(t *rapid.T) trade.Order {
	some := func(name string, often bool, values ...string) trade.Text {
		if odd := rapid.IntRange(0, 7).Draw(t, name+" there") == 5; odd == often {
			return trade.Text{Name: name}
		}
		return trade.Text{Name: name, Value: rapid.SampledFrom(values).Draw(t, name), Kind: trade.IsText}
	}
	typ := rapid.SampledFrom([]string{"limit", "limit", "market", "stop", "stop_limit"}).Draw(t, "type")
	shares := rapid.IntRange(0, 3).Draw(t, "shares") != 2
	exits := rapid.IntRange(0, 3).Draw(t, "exits") == 2
	d := trade.Draft{
		Account: "paper", Symbol: text("AAPL"), Side: some("side", true, "buy", "sell"), Type: text(typ),
		Quantity: some("quantity", shares, "1", "10", "0.5"), Notional: some("notional", !shares, "100", "0.01"),
		LimitPrice: some("limit_price", strings.Contains(typ, "limit"), "10"), StopPrice: some("stop_price", strings.Contains(typ, "stop"), "10"),
		TimeInForce: some("time_in_force", true, "day", "day", "day", "gtc", "ioc", "fok", "opg", "cls"), StopLoss: some("stop_loss", exits, "9"),
		StopLossLimit: some("stop_loss_limit", exits, "8"), TakeProfit: some("take_profit", exits, "12"),
	}
	if rapid.IntRange(0, 5).Draw(t, "extended") == 4 {
		d.ExtendedHours = trade.Text{Name: "extended_hours", Value: "true", Kind: trade.IsFlag}
	}
	o, _, _ := trade.Parse(d)
	return o
}

// TestVersion1AllowsNothingWiderForEver: whatever its lists and bounds say and whatever is held, a policy of version 1
// allows only what orders were when it was written. What is wider has a code for it.
func TestVersion1AllowsNothingWiderForEver(t *testing.T) {
	wider, plain := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		types := rapid.SampledFrom([]string{`"limit"`, `"limit","market","stop","stop_limit"`, `"market"`}).Draw(rt, "types")
		bound := rapid.SampledFrom([]string{"0", "50", "999999999999"}).Draw(rt, "bound")
		p := mustParse(t, fmt.Sprintf(`{"max_gross_buy_notional_usd":%q,"max_quantity":%q,"symbol_allowlist":["AAPL"],"order_type_allowlist":[%s],"side_allowlist":["buy","sell"]}`,
			bound, bound, types))
		o := drawnOrder(rt)
		if o.IsZero() {
			return
		}
		v := p.Evaluate(o, policy.Facts{PositionKnown: true, Position: dec(rapid.SampledFrom([]string{"0", "1000"}).Draw(rt, "position"))})
		if o.IsPlain() {
			plain++
			return
		}
		wider++
		if v.Effect != policy.Deny || !has(v, policy.OrderNotInVersion1) && !has(v, trade.QuantityFractional) {
			rt.Fatalf("%s: %+v", o.AppendJSON(nil), v)
		}
		if fractional := !o.Quantity().IsWhole(); fractional != has(v, trade.QuantityFractional) {
			rt.Fatalf("%s: %+v", o.AppendJSON(nil), v)
		}
		unpriced := o.LimitPrice().Sign() == 0 && !o.ByAmount() && o.Side() == trade.Buy
		if unpriced && !has(v, policy.NotionalExceedsLimit) || o.ByAmount() && !has(v, policy.QuantityExceedsLimit) {
			rt.Fatalf("%s passes a bound that nothing measured: %+v", o.AppendJSON(nil), v)
		}
		if v.MaxQuantity != nil && has(v, policy.OrderNotInVersion1) {
			rt.Fatalf("%s: %s would pass", o.AppendJSON(nil), v.MaxQuantity)
		}
	})
	if wider+plain == 0 {
		t.Error("no order was tried")
	}
}
