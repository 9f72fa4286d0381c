package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/trade"
)

// lineOf reads an order as the files of testdata write it: buy 10 AAPL at 100.00, buy 10 AAPL market, buy $500 AAPL
// market, sell 5 AAPL stop 95.00, buy 5 AAPL stop 105.00 limit 106.00, and behind that gtc, ioc, fok, opg, cls, extended,
// sl=95.00, sl=95.00/94.00 and tp=110.00.
func lineOf(t testing.TB, line string) trade.Order {
	t.Helper()
	o, err := parseLine(line)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return o
}

func parseLine(line string) (trade.Order, error) {
	w := strings.Fields(line)
	if len(w) < 4 {
		return trade.Order{}, fmt.Errorf("too few words")
	}
	d := trade.Draft{Account: "paper", Side: text(w[0]), Symbol: text(w[2]), TimeInForce: text("day"), Type: text("market")}
	if amount, ok := strings.CutPrefix(w[1], "$"); ok {
		d.Notional = text(amount)
	} else {
		d.Quantity = text(w[1])
	}
	for i := 3; i < len(w); i++ {
		key, value, _ := strings.Cut(w[i], "=")
		switch key {
		case "market":
			d.Type = text("market")
		case "at":
			i++
			d.Type, d.LimitPrice = text("limit"), text(w[i])
		case "stop":
			i++
			d.Type, d.StopPrice = text("stop"), text(w[i])
		case "limit":
			i++
			d.Type, d.LimitPrice = text("stop_limit"), text(w[i])
		case "day", "gtc", "ioc", "fok", "opg", "cls":
			d.TimeInForce = text(key)
		case "extended":
			d.ExtendedHours = trade.Text{Name: "x", Value: "true", Kind: trade.IsFlag}
		case "sl":
			stop, limit, ok := strings.Cut(value, "/")
			if d.StopLoss = text(stop); ok {
				d.StopLossLimit = text(limit)
			}
		case "tp":
			d.TakeProfit = text(value)
		default:
			return trade.Order{}, fmt.Errorf("unknown word %s", w[i])
		}
	}
	o, _, faults := trade.Parse(d)
	if len(faults) > 0 {
		return o, fmt.Errorf("%v", faults)
	}
	return o, nil
}
