package paper

import (
	"fmt"
	"strings"

	"sallyport/market"
	"sallyport/trade"
)

// order is one order as the venue works it.
type order struct {
	number   int64 // the venue's own, from 1
	symbol   trade.Symbol
	side     trade.Side
	quantity trade.Decimal
	limit    trade.Decimal
}

// account is the arithmetic of the venue, without clock or disk. What must stay true: cash minus reserved is never
// below zero, reserved is the sum of limit × quantity of the working buys, and no position is smaller than its working
// sells.
type account struct {
	cash, reserved trade.Decimal
	working        int64
	positions      map[trade.Symbol]position // those that were looked at; a buy that rests needs none
}

type position struct{ quantity, selling trade.Decimal }

// refuse says why an order cannot be taken: its code, or none.
func (a *account) refuse(o order) (Code, string) {
	p := a.positions[o.symbol]
	free, needed := a.cash.Sub(a.reserved), o.quantity.Mul(o.limit)
	idle := p.quantity.Sub(p.selling)
	switch {
	//limit:paper-long-only A sell is rejected beyond the position minus the working sells.
	case o.side == trade.Sell && o.quantity.Cmp(idle) > 0:
		return InsufficientPosition, fmt.Sprintf("a sell of %v %v needs as many shares and %v are free", o.quantity, o.symbol, idle)
	//limit:paper-cash A buy is rejected whose limit × quantity is over the cash minus that of the working buys.
	case o.side == trade.Buy && needed.Cmp(free) > 0:
		return InsufficientCash, fmt.Sprintf("a buy of %v %v at %s needs %s and %s is free",
			o.quantity, o.symbol, o.limit.Money(), needed.Money(), free.Money())
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
		a.reserved = move(a.reserved, o.quantity.Mul(o.limit))
		return
	}
	p := a.positions[o.symbol]
	p.selling = move(p.selling, o.quantity)
	a.positions[o.symbol] = p
}

// fill executes a working order whole.
func (a *account) fill(o order, price trade.Decimal) {
	a.release(o)
	p, amount := a.positions[o.symbol], o.quantity.Mul(price)
	if o.side == trade.Buy {
		a.cash, p.quantity = a.cash.Sub(amount), p.quantity.Add(o.quantity)
	} else {
		a.cash, p.quantity = a.cash.Add(amount), p.quantity.Sub(o.quantity)
	}
	a.positions[o.symbol] = p
}

// match returns the price at which an order fills now: a buy at the ask if its limit is not below that, a sell at the
// bid if its limit is not above that. On a crossed quote nothing fills.
func match(o order, q trade.Quote) (trade.Decimal, bool) {
	switch {
	//limit:paper-crossed-quote Nothing fills on a quote whose bid is above its ask.
	case market.Crossed(q):
		return trade.Decimal{}, false
	case o.side == trade.Buy && o.limit.Cmp(q.Ask) >= 0:
		return q.Ask, true
	case o.side == trade.Sell && o.limit.Cmp(q.Bid) <= 0:
		return q.Bid, true
	}
	return trade.Decimal{}, false
}

// priceKey writes a price that came from ParseDecimal in nano-dollars with leading zeros, so that text sorts as prices
// do.
func priceKey(price trade.Decimal) string {
	whole, frac, _ := strings.Cut(price.String(), ".")
	return strings.Repeat("0", trade.MaxIntegerDigits-len(whole)) + whole + frac + strings.Repeat("0", trade.MaxFractionDigits-len(frac))
}
