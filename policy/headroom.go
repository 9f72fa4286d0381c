package policy

import (
	"sallyport/trade"
)

// Room is how much of one symbol and side passes now.
type Room struct {
	Most      trade.Decimal // the largest whole quantity that is allowed; zero if none is
	Unbounded bool          // nothing but the largest order that there can be ends it
	Binds     []Reason      // why one more does not pass
}

// Headroom returns how much of an order's symbol and side passes now at its price. The order's quantity does not matter;
// the situation's Reduces is that of one share.
func (b *Rulebook) Headroom(o trade.Order, f Facts, s Situation) Room {
	one, ok := sized(o, trade.Whole(1))
	if !ok || !b.IsValid() {
		return Room{Binds: b.Evaluate(o, f, s).Reasons}
	}
	j := judge{book: b, o: one, f: f, s: s}
	room := Room{}
	if most, ok := j.largest(decimalText(mostQuantity)); ok {
		room.Most = most
	}
	more, ok := sized(o, room.Most.Add(larger(s.Instrument.Lot.Size(), trade.Whole(1))))
	if !ok {
		room.Unbounded = true
		return room
	}
	room.Binds = b.Evaluate(more, f, s).Reasons
	return room
}

// AtQuote returns an order of one share at the far side of a quote: a buy at the ask, a sell at the bid.
func AtQuote(a trade.Account, s trade.Symbol, side trade.Side, q QuoteFact) (trade.Order, bool) {
	price := q.Ask
	if side == trade.Sell {
		price = q.Bid
	}
	return limitOrder(a, s, side, trade.Whole(1), price)
}

// sized returns the same order of another quantity of shares. The exits of an order stay with it.
func sized(o trade.Order, quantity trade.Decimal) (trade.Order, bool) {
	return drafted(draftOf(o, quantity))
}

// draftOf writes an order as a draft again, of a quantity of shares.
func draftOf(o trade.Order, quantity trade.Decimal) trade.Draft {
	return trade.Draft{
		Account: o.Account(), Symbol: written(o.Symbol().String()), Side: written(o.Side().String()), Quantity: amountText(quantity),
		Type: written(o.Type().String()), LimitPrice: amountText(o.LimitPrice()), StopPrice: amountText(o.StopPrice()),
		TimeInForce: written(o.TimeInForce().String()), ExtendedHours: flagText(o.ExtendedHours()),
		StopLoss: amountText(o.StopLoss().Stop), StopLossLimit: amountText(o.StopLoss().Limit), TakeProfit: amountText(o.TakeProfit()),
	}
}

func limitOrder(a trade.Account, s trade.Symbol, side trade.Side, quantity, price trade.Decimal) (trade.Order, bool) {
	return drafted(trade.Draft{
		Account: a, Symbol: written(s.String()), Side: written(side.String()), Quantity: amountText(quantity),
		Type: written(trade.Limit.String()), LimitPrice: amountText(price), TimeInForce: written(trade.Day.String()),
	})
}

// drafted makes an order of a draft that this package wrote.
func drafted(d trade.Draft) (trade.Order, bool) {
	o, _, faults := trade.Parse(d)
	return o, len(faults) == 0
}

func written(text string) trade.Text {
	return trade.Text{Name: "order", Value: text, Kind: trade.IsText}
}

// amountText is a term of an order; absent where it is nothing.
func amountText(d trade.Decimal) trade.Text {
	if d.Sign() == 0 {
		return trade.Text{Name: "order"}
	}
	return written(d.String())
}

func flagText(yes bool) trade.Text {
	if !yes {
		return trade.Text{Name: "order"}
	}
	return trade.Text{Name: "order", Value: "true", Kind: trade.IsFlag}
}
