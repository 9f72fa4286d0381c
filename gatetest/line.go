package gatetest

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/trade"
)

// Line parses an order as files of test data write it: see ReadLine. What is no order fails the test.
func Line(t testing.TB, line string) trade.Order {
	t.Helper()
	o, err := ReadLine(line)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return o
}

// ReadLine reads an order in one line: buy 10 AAPL at 100.00, buy 10 AAPL market, buy $500 AAPL market, sell 5 AAPL stop
// 95.00, buy 5 AAPL stop 105.00 limit 106.00, and behind that gtc, ioc, fok, opg, cls, extended, sl=95.00, sl=95.00/94.00
// and tp=110.00. It is for the day unless it says otherwise.
func ReadLine(line string) (trade.Order, error) {
	w := strings.Fields(line)
	if len(w) < 4 {
		return trade.Order{}, fmt.Errorf("too few words")
	}
	d := draft(w[0], w[2], w[1], "")
	d.Type, d.LimitPrice = term("order_type", "market"), trade.Text{Name: "limit_price"}
	if amount, ok := strings.CutPrefix(w[1], "$"); ok {
		d.Quantity, d.Notional = trade.Text{Name: "quantity"}, term("notional", amount)
	}
	for i := 3; i < len(w); i++ {
		key, value, _ := strings.Cut(w[i], "=")
		if i+1 < len(w) && (key == "at" || key == "stop" || key == "limit") {
			i++
			value = w[i]
		}
		if err := readTerm(&d, key, value); err != nil {
			return trade.Order{}, err
		}
	}
	o, _, faults := trade.Parse(d)
	if len(faults) > 0 {
		return o, fmt.Errorf("%v", faults)
	}
	return o, nil
}

func readTerm(d *trade.Draft, key, value string) error {
	switch key {
	case "market":
	case "at":
		d.Type, d.LimitPrice = term("order_type", "limit"), term("limit_price", value)
	case "stop":
		d.Type, d.StopPrice = term("order_type", "stop"), term("stop_price", value)
	case "limit":
		d.Type, d.LimitPrice = term("order_type", "stop_limit"), term("limit_price", value)
	case "day", "gtc", "ioc", "fok", "opg", "cls":
		d.TimeInForce = term("time_in_force", key)
	case "extended":
		d.ExtendedHours = trade.Text{Name: "extended_hours", Value: "true", Kind: trade.IsFlag}
	case "sl":
		stop, limit, ok := strings.Cut(value, "/")
		if d.StopLoss = term("stop_loss", stop); ok {
			d.StopLossLimit = term("stop_loss_limit", limit)
		}
	case "tp":
		d.TakeProfit = term("take_profit", value)
	default:
		return fmt.Errorf("unknown word %s", key)
	}
	return nil
}

func term(name, value string) trade.Text {
	return trade.Text{Name: name, Value: value, Kind: trade.IsText}
}
