package main

import (
	"sallyport/replay"
	"sallyport/trade"
)

// proceeds is what the fills of one order and of its exits come to. The profit and loss of an order is what the account
// has at the end of the tape by these fills, and would not have without them: what its sells took in, less what its buys
// cost, and the shares that it left or took away at the last bid of the tape. So the profits of both sides of a round
// trip add up to what it earned, and those of all orders to what the account did, exactly.
type proceeds struct {
	symbol trade.Symbol
	filled trade.Decimal // shares of the order itself
	left   trade.Decimal // shares that the account has by it; below zero if it has fewer
	cash   trade.Decimal // taken in; below zero if it was spent
	known  bool          // the tape has a quote of the symbol, or needs none
	profit trade.Decimal
}

// fills are what a replay told of the orders of a tape, by their numbers on it.
type fills map[int]*proceeds

// take adds a fill.
func (all fills) take(f replay.Fill) {
	p := all[f.Intent]
	if p == nil {
		p = &proceeds{symbol: f.Symbol}
		all[f.Intent] = p
	}
	if !f.Exits {
		p.filled = p.filled.Add(f.Quantity)
	}
	if worth := f.Quantity.Mul(f.Price); f.Side == trade.Sell {
		p.cash, p.left = p.cash.Add(worth), p.left.Sub(f.Quantity)
	} else {
		p.cash, p.left = p.cash.Sub(worth), p.left.Add(f.Quantity)
	}
}

// close values what each order left at the last bid.
func (all fills) close(newest func(trade.Symbol) (trade.Quote, bool)) {
	for _, p := range all {
		q, known := newest(p.symbol)
		p.known = known || p.left.Sign() == 0
		p.profit = p.cash.Add(p.left.Mul(q.Bid))
	}
}

// of returns what the fills of one order come to. What was not filled earns nothing.
func (all fills) of(n int) proceeds {
	if p := all[n]; p != nil {
		return *p
	}
	return proceeds{known: true}
}
