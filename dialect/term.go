package dialect

import (
	"fmt"

	"sallyport/trade"
)

// slot returns the place of a term in a draft; nil for what is no term of one.
func slot(d *trade.Draft, t Term) *trade.Text {
	switch t {
	case Symbol:
		return &d.Symbol
	case Side:
		return &d.Side
	case Quantity:
		return &d.Quantity
	case Notional:
		return &d.Notional
	case OrderType:
		return &d.Type
	case LimitPrice:
		return &d.LimitPrice
	case StopPrice:
		return &d.StopPrice
	case TimeInForce:
		return &d.TimeInForce
	case ExtendedHours:
		return &d.ExtendedHours
	case StopLoss:
		return &d.StopLoss
	case StopLossLimit:
		return &d.StopLossLimit
	case TakeProfit:
		return &d.TakeProfit
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
		if o.ByAmount() {
			return ""
		}
		return o.Quantity().String()
	case OrderType:
		return o.Type().String()
	case TimeInForce:
		return o.TimeInForce().String()
	case ExtendedHours:
		if o.ExtendedHours() {
			return yes
		}
	case OrderClass:
		return classOf(!o.StopLoss().IsZero(), o.TakeProfit().Sign() > 0)
	case Notional, LimitPrice, StopPrice, StopLoss, StopLossLimit, TakeProfit:
		if p := price(o, t); p.Sign() > 0 {
			return p.Money()
		}
	case ClientOrderID:
		return string(id)
	}
	return ""
}

// yes is how a term of yes or no is written that an order has.
const yes = "true"

// price returns a term that is dollars; zero for an order that does not have it.
func price(o trade.Order, t Term) trade.Decimal {
	switch t {
	case Notional:
		return o.Amount()
	case LimitPrice:
		return o.LimitPrice()
	case StopPrice:
		return o.StopPrice()
	case StopLoss:
		return o.StopLoss().Stop
	case StopLossLimit:
		return o.StopLoss().Limit
	case TakeProfit:
		return o.TakeProfit()
	}
	return trade.Decimal{}
}

// classOf returns the word for the exits of an order; empty for none.
func classOf(stop, profit bool) string {
	switch {
	case stop && profit:
		return "bracket"
	case stop || profit:
		return "oto"
	}
	return ""
}

// numeric reports whether a term may be written as a bare JSON number.
func numeric(t Term) bool {
	switch t {
	case Quantity, Notional, LimitPrice, StopPrice, StopLoss, StopLossLimit, TakeProfit:
		return true
	}
	return false
}

// String names the term as the canonical order does.
func (t Term) String() string {
	names := [...]string{
		"none", "symbol", "side", "quantity", "notional", "type", "limit_price", "stop_price", "time_in_force", "extended_hours",
		"stop_loss", "stop_loss_limit", "take_profit", "order_class", "client_order_id", "reason",
	}
	if int(t) < len(names) {
		return names[t]
	}
	return names[0]
}

// needed reports whether every dialect says the term, in a field or as fixed.
func needed(t Term) bool {
	switch t {
	case Symbol, Side, Quantity, OrderType, LimitPrice, TimeInForce:
		return true
	}
	return false
}

// may reports whether a field may be optional, as it is: what names the order is never left out, how long it lives only
// where its absence means something, and what not every order has always.
func (f *Field) may() bool {
	switch f.Term {
	case Symbol, Side, OrderType:
		return !f.Optional && f.Default == ""
	case TimeInForce:
		return f.Optional == (f.Default != "")
	case Quantity, LimitPrice:
		return f.Default == ""
	}
	return (f.Optional || f.In != "") && f.Default == ""
}

// Check says what is wrong with a dialect's own table: a term of the order that is missing, given twice, or optional where
// it may not be, or a name given twice. Every dialect of Table passes.
func (d *Dialect) Check() error {
	var terms [Reason + 1]int
	names := map[[2]string]bool{}
	for i := range d.Fields {
		f := &d.Fields[i]
		if f.Term < Symbol || f.Term > Reason {
			return fmt.Errorf("dialect %s: field %q fills no term", d.Name, f.Name)
		}
		if key := [2]string{f.In, f.Name}; f.Name == "" || names[key] || f.In == "" && d.isGroup(f.Name) {
			return fmt.Errorf("dialect %s: the name %q is empty or given twice", d.Name, f.Name)
		}
		if !f.may() {
			return fmt.Errorf("dialect %s: %s: it may not be optional, or must be", d.Name, f.Name)
		}
		names[[2]string{f.In, f.Name}] = true
		terms[f.Term]++
	}
	for _, f := range d.Fixed {
		if !needed(f.Term) {
			return fmt.Errorf("dialect %s: a fixed term is none that every order has", d.Name)
		}
		terms[f.Term]++
	}
	for t := Symbol; t <= Reason; t++ {
		if terms[t] > 1 || terms[t] == 0 && needed(t) {
			return fmt.Errorf("dialect %s: the term %s is there %d times", d.Name, t, terms[t])
		}
	}
	return nil
}

// isGroup reports whether a name is that of an object of fields.
func (d *Dialect) isGroup(name string) bool {
	for i := range d.Fields {
		if d.Fields[i].In == name {
			return name != ""
		}
	}
	return false
}
