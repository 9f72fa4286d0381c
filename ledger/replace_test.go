package ledger_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// everyLimit is a rule with each limit, of bounds that the orders of a test come near.
const everyLimit = `"order_quantity": {"deny_above": "40"}, "order_notional": {"deny_above": "4000.00"}, "price_collar_bps": {"deny_above": "300"},
	"orders_per_minute": {"deny_above": "20"}, "orders_per_day": {"deny_above": "20"}, "notional_per_day": {"deny_above": "20000.00"},
	"similar_orders": {"deny_above": "2", "window": "30s"}, "position_quantity": {"deny_above": "60"}, "position_notional": {"deny_above": "6000.00"},
	"position_equity_percent": {"deny_above": "6"}, "gross_exposure": {"deny_above": "9000.00"}, "net_exposure": {"deny_above": "7000.00"},
	"leverage": {"deny_above": "0.09"}, "open_orders": {"deny_above": "8"}, "risk_per_order": {"deny_above": "250.00"},
	"stop_distance_bps": {"deny_above": "1000"}, "daily_loss": {"halt_above": "2000.00"}, "drawdown_percent": {"halt_above": "5"},
	"consecutive_losses": {"deny_above": "3"}, "broker_rejections": {"halt_above": "4", "window": "5m"}, "denials_per_minute": {"halt_above": "50"}`

// TestReplacingIsJudgedAsCancellingFirst: an order in the place of another, in any of whose states, is judged by every limit as
// it would be if the other had ended before; and the order that is to be replaced stays as it was.
func TestReplacingIsJudgedAsCancellingFirst(t *testing.T) {
	judged := 0
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.limits = everyLimit
		if err := d.write(); err != nil {
			t.Fatal(err)
		}
		for _, held := range []string{"buy 30 AAPL at 100.00", "sell 20 MSFT at 100.00"} {
			if rapid.Bool().Draw(rt, held) {
				h := gatetest.Line(t, held)
				d.happens(ledger.WasFilled, ledger.Decided{Order: h}, h.Side(), h.Quantity().String(), "100")
			}
		}
		var names []string
		for i := range rapid.IntRange(1, 8).Draw(rt, "orders") {
			name := fmt.Sprint("o", i)
			d.mute, d.at = rapid.IntRange(0, 3).Draw(rt, "silent") == 0, d.at.Add(10*time.Second)
			d.ask(name, "bot", drawLine(rt), "")
			e := d.orders[name]
			if d.state.Open(e.Intent) == nil {
				continue
			}
			names = append(names, name)
			if filled := rapid.SampledFrom([]string{"", "", "1", "3"}).Draw(rt, "filled"); filled != "" {
				d.happens(ledger.WasFilled, e, e.Order.Side(), filled, rapid.SampledFrom([]string{"99", "100", "101"}).Draw(rt, "price"))
			}
			bid := rapid.SampledFrom([]string{"99", "100", "101"}).Draw(rt, "bid")
			d.quotes["AAPL"] = &feed{bid: gatetest.Decimal(bid), ask: gatetest.Decimal(bid).Add(gatetest.Decimal("0.5"))}
		}
		if len(names) == 0 {
			return
		}
		if away := rapid.SampledFrom([]string{"0", "25", "40"}).Draw(rt, "sold elsewhere"); away != "0" { // under what is pending
			d.happens(ledger.WasFilled, ledger.Decided{Order: gatetest.Line(t, "sell 25 AAPL at 100.00")}, trade.Sell, away, "100")
		}
		old := d.orders[rapid.SampledFrom(names).Draw(rt, "replaced")]
		if d.state.Open(old.Intent) == nil {
			return
		}
		o := drawLine(rt)
		is, knew := d.explain("bot", o, old.Intent)
		d.end(old)
		want, knows := d.explain("bot", o, "")
		knew.History, knows.History = nil, nil
		if !reflect.DeepEqual(knew, knows) {
			rt.Fatalf("%s in the place of %s: the policy knows\n%+v\nand after that had ended\n%+v", o.Line(), old.Order.Line(), knew, knows)
		}
		if !reflect.DeepEqual(is, want) {
			rt.Fatalf("%s in the place of %s:\n%s\nand after that had ended:\n%s", o.Line(), old.Order.Line(), rows(is), rows(want))
		}
		judged++
	})
	if judged < 20 {
		t.Errorf("only %d orders were in the place of another", judged)
	}
}

// drawLine draws an order of any kind.
func drawLine(t *rapid.T) trade.Order {
	o, err := gatetest.ReadLine(rapid.SampledFrom([]string{
		"buy 10 AAPL at 100.00", "buy 20 AAPL at 101.00", "buy 5 MSFT at 100.00", "sell 5 AAPL at 100.00", "sell 10 AAPL at 99.00", "sell 10 MSFT at 102.00", "sell 5 AAPL at 102.00",
		"buy 10 AAPL market", "sell 3 AAPL market", "sell 10 MSFT market", "buy $1000.00 AAPL market", "buy $500.00 MSFT market",
		"buy 10 AAPL stop 105.00", "sell 5 AAPL stop 95.00", "buy 5 AAPL stop 105.00 limit 106.00", "buy 10 AAPL at 100.00 sl=95.00", "buy 10 MSFT market sl=90.00 tp=120.00",
	}).Draw(t, "order"))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func rows(x policy.Explanation) string {
	out := fmt.Sprintf("%v %+v", x.Verdict.Effect, x.Verdict.Reasons)
	for _, r := range x.Rows {
		out += fmt.Sprintf("\n  %s %s %s %s", r.Limit, r.Value, r.Bound, r.Effect)
	}
	return out
}
