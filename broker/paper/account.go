package paper

import (
	"fmt"

	"sallyport/trade"
)

// account is the arithmetic of the venue, without clock or disk. What must stay true: cash minus reserved is never
// below zero, reserved is the sum of what the working buys hold, and no position is smaller than its working sells, exits
// among them.
type account struct {
	cash, reserved trade.Decimal
	working        int64
	positions      map[trade.Symbol]position // those that were looked at; a buy that rests needs none
}

type position struct{ quantity, selling trade.Decimal }

// refuse says why an order cannot be taken: its code, or none.
func (a *account) refuse(o order) (Code, string) {
	p := a.positions[o.symbol]
	free := a.cash.Sub(a.reserved)
	idle := p.quantity.Sub(p.selling)
	switch {
	//limit:paper-long-only A sell is rejected beyond the position minus the working sells.
	case o.side == trade.Sell && o.quantity.Cmp(idle) > 0:
		return InsufficientPosition, fmt.Sprintf("a sell of %v %v needs as many shares and %v are free", o.quantity, o.symbol, idle)
	//limit:paper-cash A buy is rejected that holds more than the cash minus what the working buys hold: its quantity at its limit, at its stop, or at the ask if it has neither.
	case o.side == trade.Buy && o.held.Cmp(free) > 0:
		return InsufficientCash, fmt.Sprintf("a buy of %v %v%s needs %s and %s is free", o.quantity, o.symbol, o.at(), o.held.Money(), free.Money())
	case a.working >= maxWorking:
		return TooManyWorking, fmt.Sprintf("%d orders are working, at most %d may", a.working, maxWorking)
	}
	return "", ""
}

// accept reserves what a new order may use.
func (a *account) accept(o order) { a.reserve(o, 1, trade.Decimal.Add) }

// release gives back what a working order had reserved.
func (a *account) release(o order) { a.reserve(o, -1, trade.Decimal.Sub) }

func (a *account) reserve(o order, n int64, move func(trade.Decimal, trade.Decimal) trade.Decimal) {
	a.working += n
	if o.side == trade.Buy {
		a.reserved = move(a.reserved, o.held)
		return
	}
	p := a.positions[o.symbol]
	p.selling = move(p.selling, o.quantity)
	a.positions[o.symbol] = p
}

// fill executes a working order whole.
//
//limit:paper-money Money is booked in nine places: what a buy costs is rounded up, and what a sell brings down.
func (a *account) fill(o order, price trade.Decimal) {
	a.release(o)
	p := a.positions[o.symbol]
	if o.side == trade.Buy {
		a.cash, p.quantity = a.cash.Sub(cost(o.quantity, price)), p.quantity.Add(o.quantity)
	} else {
		a.cash, p.quantity = a.cash.Add(o.quantity.Mul(price).Down()), p.quantity.Sub(o.quantity)
	}
	a.positions[o.symbol] = p
}

// cost is what a buy costs.
func cost(quantity, price trade.Decimal) trade.Decimal { return quantity.Mul(price).Up() }

// affords reports whether a working order can be filled at a price. A buy that has no limit may have become dearer than
// what it holds.
func (a *account) affords(o order, price trade.Decimal) bool {
	return o.side != trade.Buy || cost(o.quantity, price).Cmp(a.cash.Sub(a.reserved).Add(o.held)) <= 0
}
