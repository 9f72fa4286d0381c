package dialect

import (
	"strings"

	"sallyport/trade"
	"sallyport/wire"
)

// alpaca is the body of Alpaca's POST /v2/orders, and of the tools of MCP servers that pass it on: the members that orders
// for shares need (docs.alpaca.markets/docs/orders-at-alpaca), and no other. order_class is bracket with both exits, oto
// with one of them, and simple or absent without.
func alpaca() *Dialect {
	return &Dialect{
		Name:    "alpaca",
		Account: "alpaca",
		Fields: []Field{
			{Name: "symbol", Term: Symbol},
			{Name: "qty", Term: Quantity, Optional: true},
			{Name: "notional", Term: Notional, Optional: true},
			{Name: "side", Term: Side},
			{Name: "type", Term: OrderType},
			{Name: "limit_price", Term: LimitPrice, Optional: true},
			{Name: "stop_price", Term: StopPrice, Optional: true},
			{Name: "time_in_force", Term: TimeInForce},
			{Name: "extended_hours", Term: ExtendedHours, Optional: true},
			{Name: "order_class", Term: OrderClass, Optional: true},
			{Name: "limit_price", In: "take_profit", Term: TakeProfit},
			{Name: "stop_price", In: "stop_loss", Term: StopLoss},
			{Name: "limit_price", In: "stop_loss", Term: StopLossLimit, Optional: true},
			{Name: "client_order_id", Term: ClientOrderID, Optional: true},
		},
		Outcome: AlpacaAnswer,
	}
}

// AlpacaAnswer reads Alpaca's answers to POST /v2/orders.
//
// An order object has an "id" and a "status". The statuses are those of docs.alpaca.markets/docs/orders-at-alpaca,
// "Order lifecycle", and "held", which the vendor's own client knows (alpaca-py, pull request 182). An order that ended
// without a fill (canceled, expired, replaced) is no usual answer to a submission and stays unknown.
//
// An error object has a "code" and a "message". One code stands for many causes (40310000 for a lack of buying power, a
// wash trade and a suspended account alike; ccxt, pull request 30103), so both decide, and only causes that are definite
// count. What an accepted copy of the same order could itself have caused is not definite, since client libraries send
// again by themselves: "client_order_id must be unique" (40010001) and "insufficient qty available" (40310000) are
// unknown, and so is everything that is not listed.
func AlpacaAnswer(payload []byte) Answer {
	return readAnswer(payload, func(v wire.Value) (Answer, bool) {
		order := has(v, "id") && has(v, "status")
		failure := has(v, "code") && has(v, "message")
		switch {
		case order && failure:
			return Answer{Status: trade.Printable(text(v, "status"), 64)}, true
		case order:
			return alpacaOrder(v), true
		case failure:
			return alpacaFailure(v), true
		}
		return Answer{}, false
	})
}

func alpacaOrder(v wire.Value) Answer {
	a := Answer{Status: trade.Printable(text(v, "status"), 64), OrderID: text(v, "id")}
	if a.OrderID == "" {
		return a
	}
	switch a.Status {
	case "new", "partially_filled", "filled", "done_for_day", "pending_cancel", "pending_replace", "accepted",
		"pending_new", "accepted_for_bidding", "stopped", "suspended", "calculated", "held":
		a.Outcome = trade.Accepted
	case "rejected":
		if filled := text(v, "filled_qty"); filled == "" || filled == "0" {
			a.Outcome = trade.Rejected
		}
	}
	return a
}

// refusal is one definite refusal of Alpaca's: its code, and how its message begins or what it holds.
type refusal struct{ code, begins, holds string }

// refusals returns the errors that are definite. Sources: forum.alpaca.markets topics 13116 and 13817, Alpaca-API issue
// 184, alpaca-py issue 225, alpaca-java issues 145 and 147, and the vendor's article on common API errors.
func refusals() []refusal {
	return []refusal{
		{"40310000", "insufficient buying power", ""},
		{"40310000", "cost basis must be", "minimal amount of order"},
		{"40310000", "potential wash trade detected", ""},
		{"42210000", "potential wash trade detected", ""},
		{"42210000", "invalid limit_price", "sub-penny increment does not fulfill minimum pricing criteria"},
		{"40010001", "could not find us_equity", ""},
		{"40010001", "us_equity orders not allowed for account", ""},
	}
}

func alpacaFailure(v wire.Value) Answer {
	code, _ := v.Member("code")
	message := text(v, "message")
	a := Answer{Code: trade.Printable(code.Text, 64), Message: trade.Printable(message, 200)}
	if code.Kind != wire.Number && code.Kind != wire.String {
		return a
	}
	for _, r := range refusals() {
		if code.Text == r.code && strings.HasPrefix(message, r.begins) && strings.Contains(message, r.holds) {
			a.Outcome = trade.Rejected
		}
	}
	return a
}
