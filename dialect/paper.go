package dialect

import (
	"sallyport/trade"
	"sallyport/wire"
)

// PaperAnswer reads the answers of the paper venue and of our own tools.
//
// Our tools answer a decision object, whose "state" decides: EXECUTION_SUCCEEDED is accepted, EXECUTION_FAILED and
// EXECUTION_BLOCKED are rejected, every other state is unknown. The venue itself answers
// {"status":"SUCCESS","order_id":…} for an order that is in its ledger and {"status":"ERROR","code":…,"message":…} for
// one that it refused before it was written; an error without a code, with "definite":false, or with the venue's
// INTERNAL_ERROR is unknown.
func PaperAnswer(payload []byte) Answer {
	return readAnswer(payload, func(v wire.Value) (Answer, bool) {
		switch {
		case has(v, "state"):
			return decisionAnswer(v), true
		case has(v, "status"):
			return paperVenue(v), true
		}
		return Answer{}, false
	})
}

func decisionAnswer(v wire.Value) Answer {
	a := venueWords(v)
	switch text(v, "state") {
	case "EXECUTION_SUCCEEDED":
		a.Outcome = trade.Accepted
	case "EXECUTION_FAILED", "EXECUTION_BLOCKED":
		a.Outcome = trade.Rejected
	}
	if a.Status == "" {
		a.Status = trade.Printable(text(v, "state"), 64)
	}
	status := text(v, "status")
	contradicts := a.Outcome == trade.Accepted && status != "" && status != "SUCCESS" ||
		a.Outcome == trade.Rejected && status != "" && status != "ERROR"
	if contradicts || text(v, "verdict") == "" {
		a.Outcome = trade.Unknown
	}
	return a
}

func paperVenue(v wire.Value) Answer {
	a := venueWords(v)
	switch a.Status {
	case "SUCCESS":
		if a.OrderID != "" && !has(v, "code") && !has(v, "error") {
			a.Outcome = trade.Accepted
		}
	case "ERROR":
		definite, n := v.Member("definite")
		unsure := n > 0 && (definite.Kind != wire.Bool || definite.Text != "true")
		if a.Code != "" && a.Code != internalError && !unsure && a.OrderID == "" {
			a.Outcome = trade.Rejected
		}
	}
	return a
}

// internalError is the code under which a venue of ours says that it does not know either.
const internalError = "INTERNAL_ERROR"

// paperFields are the fields of our own tools, which differ in four names. What an order type needs is asked of the
// order, not of the table.
func paperFields(symbol, side, quantity, limit string, tagged bool) []Field {
	fields := []Field{
		{Name: symbol, Term: Symbol},
		{Name: side, Term: Side},
		{Name: quantity, Term: Quantity, Optional: true},
		{Name: "notional", Term: Notional, Optional: true},
		{Name: "order_type", Term: OrderType},
		{Name: limit, Term: LimitPrice, Optional: true},
		{Name: "stop_price", Term: StopPrice, Optional: true},
		{Name: "time_in_force", Term: TimeInForce, Optional: true, Default: "day"},
		{Name: "extended_hours", Term: ExtendedHours, Optional: true},
		{Name: "stop_loss", Term: StopLoss, Optional: true},
		{Name: "stop_loss_limit", Term: StopLossLimit, Optional: true},
		{Name: "take_profit", Term: TakeProfit, Optional: true},
	}
	if tagged {
		fields = append(fields, Field{Name: "client_order_id", Term: ClientOrderID, Optional: true}, Field{Name: "reason", Term: Reason, Optional: true})
	}
	return fields
}
