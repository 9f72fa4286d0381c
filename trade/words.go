package trade

import "strings"

// Line says in a few words everything that an order asks: "buy 10 AAPL at 150.25", and what it has beside that.
func (o Order) Line() string {
	if o.IsZero() {
		return "not an order"
	}
	what := o.quantity.String() + " "
	if o.ByAmount() {
		what = o.Amount().Money() + " USD of "
	}
	line := o.side.String() + " " + what + o.symbol.s + " "
	switch o.typ {
	case Market:
		line += "at market"
	case Stop:
		line += "stop " + o.StopPrice().Money()
	case StopLimit:
		line += "stop " + o.StopPrice().Money() + " limit " + o.limitPrice.Money()
	case Limit, NoType:
		line += "at " + o.limitPrice.Money()
	}
	if o.tif != Day {
		line += ", " + o.tif.String()
	}
	if o.ExtendedHours() {
		line += ", extended hours"
	}
	if exits := o.ExitWords(); exits != "" {
		line += ", " + exits
	}
	return line
}

// ExitWords says which exits an order brings with it; empty for none.
func (o Order) ExitWords() string {
	var words []string
	if stop := o.StopLoss(); !stop.IsZero() {
		w := "stop loss " + stop.Stop.Money()
		if stop.Limit.Sign() > 0 {
			w += " limit " + stop.Limit.Money()
		}
		words = append(words, w)
	}
	if o.TakeProfit().Sign() > 0 {
		words = append(words, "take profit "+o.TakeProfit().Money())
	}
	return strings.Join(words, ", ")
}
