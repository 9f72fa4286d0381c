package dialect

import (
	"fmt"

	"sallyport/trade"
)

// slot returns the place of a term in a draft; nil for what is no term.
func slot(d *trade.Draft, t Term) *trade.Text {
	switch t {
	case Symbol:
		return &d.Symbol
	case Side:
		return &d.Side
	case Quantity:
		return &d.Quantity
	case OrderType:
		return &d.Type
	case LimitPrice:
		return &d.LimitPrice
	case TimeInForce:
		return &d.TimeInForce
	case ClientOrderID:
		return &d.ClientOrderID
	case Reason:
		return &d.Reason
	}
	return nil
}

// word returns a term of an order as it is written for a broker; empty where there is none.
func word(o trade.Order, id trade.ClientOrderID, t Term) string {
	switch t {
	case Symbol:
		return o.Symbol().String()
	case Side:
		return o.Side().String()
	case Quantity:
		return o.Quantity().String()
	case OrderType:
		return o.Type().String()
	case LimitPrice:
		return o.LimitPrice().Money()
	case TimeInForce:
		return o.TimeInForce().String()
	case ClientOrderID:
		return string(id)
	}
	return ""
}

// numeric reports whether a term may be written as a bare JSON number.
func numeric(t Term) bool { return t == Quantity || t == LimitPrice }

// String names the term as the canonical order does.
func (t Term) String() string {
	names := [...]string{"none", "symbol", "side", "quantity", "type", "limit_price", "time_in_force", "client_order_id", "reason"}
	if int(t) < len(names) {
		return names[t]
	}
	return names[0]
}

// Check says what is wrong with a dialect's own table: a term of the order that is missing, given twice or optional, or
// a name given twice. Every dialect of Table passes.
func (d *Dialect) Check() error {
	var terms [Reason + 1]int
	names := map[string]bool{}
	for _, f := range d.Fields {
		if f.Term < Symbol || f.Term > Reason {
			return fmt.Errorf("dialect %s: field %q fills no term", d.Name, f.Name)
		}
		if f.Name == "" || names[f.Name] {
			return fmt.Errorf("dialect %s: the name %q is empty or given twice", d.Name, f.Name)
		}
		if f.Optional != (f.Term >= ClientOrderID) {
			return fmt.Errorf("dialect %s: %s: exactly the client order id and the reason are optional", d.Name, f.Name)
		}
		names[f.Name] = true
		terms[f.Term]++
	}
	for _, f := range d.Fixed {
		if f.Term < Symbol || f.Term >= ClientOrderID {
			return fmt.Errorf("dialect %s: a fixed term is none of the order's", d.Name)
		}
		terms[f.Term]++
	}
	for t := Symbol; t <= Reason; t++ {
		if terms[t] > 1 || terms[t] == 0 && t < ClientOrderID {
			return fmt.Errorf("dialect %s: the term %s is there %d times", d.Name, t, terms[t])
		}
	}
	return nil
}
