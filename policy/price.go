package policy

import "sallyport/trade"

// price finds what a share may cost at worst: the highest of the order's own prices and the ask, and of an order that is
// executed at the market's price the far side, or its stop where that is higher, and the slippage beyond it. Without a
// quote only the limit of a buy says how much that is: a stop is where an order begins, and the limit of a sell is the
// least that it brings.
//
//limit:policy-worth-unknown Without a quote that can be used only a buy with a limit price, or by amount, has a worth: that of every other order is not known, and is above every bound.
func (j *judge) price() {
	q, o := &j.s.Quote, &j.o
	j.worst = larger(o.LimitPrice(), j.stop)
	j.reference = j.stop
	j.priced = j.quote == "" || o.Side() == trade.Buy && j.limit.Sign() > 0
	if j.quote == "" {
		far := q.Ask
		if o.Side() == trade.Sell {
			far = q.Bid
		}
		j.worst, j.reference = larger(j.worst, q.Ask), larger(j.reference, far)
	}
	if atMarket(o.Type()) {
		j.worst = larger(j.worst, j.reference.MulUp(j.book.quotes.rise))
	}
	j.value = j.worst
	if m := j.multiplier(); m.Cmp(one) != 0 {
		j.value = j.worst.MulUp(m)
	}
}

// atMarket reports whether an order is executed at whatever price the market has.
func atMarket(t trade.OrderType) bool { return t == trade.Market || t == trade.Stop }

func larger(a, b trade.Decimal) trade.Decimal {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

// shares returns how many shares an order is for. One by amount buys the more of them the lower they are: it is counted
// at the bid less the slippage, rounded up. Where that leaves nothing of the price, no number of shares is enough.
//
//limit:policy-amount-shares An order by amount whose shares cost nothing at the bid less the slippage comes to a number of shares that is not known: QUOTE_UNAVAILABLE.
func (j *judge) shares() Known {
	if !j.byAmount {
		return Known{Value: j.o.Quantity(), Known: true}
	}
	if j.quote != "" {
		return Known{}
	}
	low := j.s.Quote.Bid.MulDown(j.book.quotes.fall).MulDown(j.multiplier())
	if low.Sign() <= 0 {
		return Known{}
	}
	return Known{Value: j.o.Amount().QuoUp(low), Known: true}
}

// Worth returns what an order counts for where orders are added up by value (R13), and what is recorded of it when it is
// sent: its quantity at the worst price, or its amount. It is not known where neither a quote nor the order's own terms
// bound it.
func (b *Rulebook) Worth(o trade.Order, s Situation) Known {
	if !b.IsValid() || o.IsZero() {
		return Known{}
	}
	j := judge{book: b, o: o, s: s}
	j.begin()
	if !j.priced && !j.byAmount || j.notional.Sign() <= 0 {
		return Known{}
	}
	return Known{Value: j.notional, Known: true}
}

// Shares returns how many shares an order comes to at most. It is not known of an order by amount without a quote that
// can be used, or whose bid less the slippage is nothing.
func (b *Rulebook) Shares(o trade.Order, s Situation) Known {
	if !b.IsValid() || o.IsZero() {
		return Known{}
	}
	j := judge{book: b, o: o, s: s}
	j.begin()
	return j.shares()
}

// effect is what an order does to the position, by the facts. The zero effect is not known.
type effect uint8

const (
	unseen  effect = iota // the position is not known, or cannot be right
	opens                 // opens or increases a position on the long side, or is not verified to be anything else
	reduces               // a verified reduction: no more than is held, or owed, and not yet being closed
	shorts                // opens or increases a short position
	flips                 // closes what is free of the position and opens the other side
)

// affects finds the effect of so many shares.
func (j *judge) affects() effect {
	f := &j.f
	switch {
	case f.PendingSells.Sign() < 0:
		return unseen
	case j.o.Side() == trade.Sell && !f.PositionKnown:
		return unseen
	case j.o.Side() == trade.Sell: // no buy that is pending makes a short of what is held and free
		return j.sells(available(*f))
	case f.PendingBuys.Sign() < 0:
		return unseen
	case !f.PositionKnown && j.book.shorts:
		return unseen
	case f.PositionKnown && f.Position.Sign() < 0:
		return j.covers(owed(f))
	}
	return opens
}

// sells is the effect of a sell where so much is held and free.
func (j *judge) sells(free trade.Decimal) effect {
	switch {
	case j.quantity.Cmp(free) <= 0 && j.verified(free):
		return reduces
	case j.quantity.Cmp(free) <= 0:
		return opens
	case free.Sign() > 0 || j.f.Position.Sign() > 0 && j.book.shorts:
		return flips
	}
	return shorts
}

// covers is the effect of a buy where so much is owed and not yet being bought back. One that brings exits with it would
// leave them behind once the short position is closed.
func (j *judge) covers(owed trade.Decimal) effect {
	switch {
	case j.quantity.Sign() <= 0 || j.quantity.Cmp(owed) > 0 || j.hasExits():
		return flips
	case j.verified(owed):
		return reduces
	}
	return opens
}

// verified reports whether the situation says too that a reduction is one: of the order as it is, or of a smaller one in
// the place of an order that was more than can be closed.
func (j *judge) verified(free trade.Decimal) bool {
	return j.s.Reduces || j.asked.Cmp(free) > 0
}

// owed returns the shares that may still be bought back.
func owed(f *Facts) trade.Decimal {
	left := trade.Decimal{}.Sub(f.Position).Sub(f.PendingBuys)
	if left.Sign() < 0 {
		return trade.Decimal{}
	}
	return left
}

// multiplier is that of the instrument; one where it says none.
func (j *judge) multiplier() trade.Decimal {
	if m := j.s.Instrument.Multiplier; m.Sign() > 0 {
		return m
	}
	return one
}

var one = trade.Whole(1)
