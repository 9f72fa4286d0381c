package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"sallyport/trade"
	"sallyport/wire"
)

// proceeds is what the fills of one order on a tape come to.
type proceeds struct {
	filled trade.Decimal // shares
	cash   trade.Decimal // taken in; below zero if it was spent
	known  bool          // the tape has a quote of the symbol
	profit trade.Decimal
}

// fillsOf reads the fills of some orders of a tape, which are named by their numbers, from 0. The profit and loss of an
// order is what the account has at the end of the tape by its fills, and would not have without them: what its sells
// took in, less what its buys cost, and the shares that it left or took away at the last bid of the tape. So the profits
// of both sides of a round trip add up to what it earned, and those of all orders to what the account did, exactly.
func (a *app) fillsOf(ctx context.Context, tape string, orders map[int]*reordered) error {
	in, done, err := a.openTape(ctx, tape)
	if err != nil {
		return err
	}
	defer done()
	owner, bids := map[string]*reordered{}, map[trade.Symbol]trade.Decimal{}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxTapeLine)
	for n := 0; lines.Scan(); {
		v, err := wire.Read(lines.Bytes(), wire.Limits{Bytes: maxTapeLine, Depth: maxTapeDepth})
		if err != nil {
			return fmt.Errorf("%s has changed while it was read: %w", tape, err)
		}
		if intent, is := v.Member("intent"); is > 0 {
			id := textOf(intent, "id")
			if o := orders[n]; o == nil {
				delete(owner, id)
			} else if !o.new.repeated {
				owner[id] = o
			}
			n++
		}
		if quote, is := v.Member("quote"); is > 0 {
			s, _ := trade.ParseSymbol(textOf(quote, "symbol"))
			bids[s] = decimalOf(quote, "bid")
		}
		if fill, is := v.Member("fill"); is > 0 {
			if o := owner[textOf(fill, "intent")]; o != nil {
				o.take(decimalOf(fill, "quantity"), decimalOf(fill, "price"))
			}
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = errTapeLine
		}
		return fmt.Errorf("%s: %w", tape, err)
	}
	for _, o := range orders {
		bid, known := bids[o.new.symbol]
		o.mark(bid, known)
	}
	return nil
}

// take adds a fill.
func (o *reordered) take(quantity, price trade.Decimal) {
	worth := quantity.Mul(price)
	o.filled = o.filled.Add(quantity)
	if o.new.side == trade.Sell {
		o.cash = o.cash.Add(worth)
	} else {
		o.cash = o.cash.Sub(worth)
	}
}

// mark values what was filled at the last bid.
func (o *reordered) mark(bid trade.Decimal, known bool) {
	if o.filled.Sign() == 0 {
		o.known = true // what was not filled earns nothing
		return
	}
	o.known = known
	if worth := o.filled.Mul(bid); o.new.side == trade.Sell {
		o.profit = o.cash.Sub(worth)
	} else {
		o.profit = o.cash.Add(worth)
	}
}

// decimalOf returns a member that is a decimal of a tape that was replayed before.
func decimalOf(v wire.Value, name string) trade.Decimal {
	m, _ := v.Member(name)
	d, ok := trade.ParseDecimal(m.Text)
	if !ok {
		d, _ = trade.ParseMoney(m.Text) // what fills were spent on
	}
	return d
}
