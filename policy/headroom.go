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
	most, _ := trade.ParseDecimal(mostQuantity)
	room := Room{}
	room.Most, _ = j.largest(wholeOf(most))
	more, ok := sized(o, room.Most.Add(trade.Whole(1)))
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

// sized returns the same order of another quantity.
func sized(o trade.Order, quantity trade.Decimal) (trade.Order, bool) {
	return limitOrder(o.Account(), o.Symbol(), o.Side(), quantity, o.LimitPrice())
}

func limitOrder(a trade.Account, s trade.Symbol, side trade.Side, quantity, price trade.Decimal) (trade.Order, bool) {
	text := func(v string) trade.Text { return trade.Text{Name: "order", Value: v, Kind: trade.IsText} }
	o, _, faults := trade.Parse(trade.Draft{
		Account: a, Symbol: text(s.String()), Side: text(side.String()), Quantity: text(quantity.String()),
		Type: text(trade.Limit.String()), LimitPrice: text(price.String()), TimeInForce: text(trade.Day.String()),
	})
	return o, len(faults) == 0
}
