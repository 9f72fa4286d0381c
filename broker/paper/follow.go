package paper

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"sallyport/gate"
	"sallyport/store"
	"sallyport/trade"
)

// Cancel ends the working order that the permit names, or the exits of that order if it is cleared for those. Accepted means that no further fill can come: it is also the
// answer for an order that was cancelled before or has expired.
func (b *Broker) Cancel(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
	c, err := p.Use(gate.CancelOrder, b.now())
	if err != nil {
		return gate.Receipt{}, notSent(err)
	}
	return b.cancel(ctx, c)
}

func (b *Broker) cancel(ctx context.Context, c gate.Cleared) (gate.Receipt, error) {
	return b.once(ctx, c, func(d *desk) (gate.Receipt, error) {
		if err := d.sweep(nil); err != nil { // only what is due: a cancel is not an order that could meet a price
			return gate.Receipt{}, err
		}
		first, digest, err := d.find(c.ID)
		if err != nil {
			return gate.Receipt{}, err
		}
		if first.Outcome != trade.Accepted || !c.Order.IsZero() && digest != c.Order.Digest().String() {
			return rejected(OrderNotFound, fmt.Sprintf("no such order has the id %s", c.ID)), nil
		}
		return d.withdraw(c, first)
	})
}

// withdraw ends the order of an id, or its exits. Whoever cancels an entry never ends the exits of what it bought: a fill
// may have overtaken the cancel, and the position would stand there unguarded.
//
//limit:paper-cancel-exits A cancel of an entry leaves its exits; only a cancel that is cleared for the exits ends them.
func (d *desk) withdraw(c gate.Cleared, first gate.Receipt) (gate.Receipt, error) {
	id, what := string(c.ID), "order is"
	if c.Exits {
		id, what = id+exitsMark, "exits are"
	}
	working, err := d.orders(`WHERE l.client_order_id = ? AND l.status = 'working'`, id)
	if err != nil {
		return gate.Receipt{}, err
	}
	for _, o := range working {
		if err := d.cancel(o); err != nil {
			return gate.Receipt{}, err
		}
	}
	var status Status
	err = d.tx.QueryRow(`SELECT status FROM paper_ledger WHERE client_order_id = ?`, id).Scan(&status)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return rejected(OrderNotFound, fmt.Sprintf("the order %s has no exits", c.ID)), nil
	case err != nil:
		return gate.Receipt{}, err
	case status == Filled:
		return gate.Receipt{Outcome: trade.Rejected, OrderID: first.OrderID, Code: string(OrderFilled), Message: "the " + what + " filled"}, nil
	}
	return gate.Receipt{Outcome: trade.Accepted, OrderID: first.OrderID, Message: "the " + what + " " + string(status)}, nil
}

// Lookup says what became of an id, as its first receipt said it. It takes the venue's lock, so that it sees a commit in
// progress. An id that is not there after notAfter is rejected as NEVER_RECEIVED, and that answer is stored: whatever
// the clocks do, no order of that id is taken later.
func (b *Broker) Lookup(ctx context.Context, id trade.BrokerOrderID, notAfter time.Time) (gate.Receipt, error) {
	var r gate.Receipt
	_, possible := trade.ParseClientOrderID(string(id))
	err := store.Immediate(ctx, b.db, func(tx *store.Tx) error {
		d, err := b.sit(tx)
		if err != nil {
			return err
		}
		if r, _, err = d.find(id); err != nil || r.Outcome != trade.Unknown || !d.now.After(notAfter) {
			return err
		}
		why := "no order of this id arrived in time"
		if !possible { // no order of that id is ever taken: there is nothing to store
			r = rejected(NeverReceived, why)
			return nil
		}
		r, err = d.refuse(id, nil, NeverReceived, why)
		return err
	})
	if err != nil {
		return gate.Receipt{}, wrap(err)
	}
	return r, nil
}

// Events returns fills, cancels and expiries after the event of that number, at most 500. Their numbers rise in the order
// in which they were stored; an expiry that was seen late carries the earlier time at which the order ended. What happens
// to exits is told under the id of their entry, with the side that they have.
func (b *Broker) Events(ctx context.Context, after uint64) (page []gate.VenueEvent, err error) {
	if after >= math.MaxInt64 {
		return nil, nil
	}
	rows, err := b.db.QueryContext(ctx, `SELECT e.number, e.kind, e.quantity, coalesce(e.price, '0'), e.at, `+cellNames+`
		FROM paper_events e JOIN paper_ledger l ON l.id = e.order_id WHERE e.number > ? ORDER BY e.number LIMIT ?`, int64(after), maxEvents)
	if err != nil {
		return nil, wrap(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e gate.VenueEvent
		var c cells
		var kind, quantity, price, at string
		if err := rows.Scan(append([]any{&e.Number, &kind, &quantity, &price, &at}, c.targets()...)...); err != nil {
			return nil, wrap(err)
		}
		o, err := c.order()
		if err != nil {
			return nil, wrap(err)
		}
		is := reading{ok: true}
		e.Quantity, e.Price, e.At = read(&is, quantity, trade.ParseDecimal), read(&is, price, trade.ParseDecimal), read(&is, at, parseStamp)
		if e.Kind = kindOf(kind); !is.ok || e.Kind == gate.NoVenueEvent {
			return nil, wrap(fmt.Errorf("the stored event %d is damaged", e.Number))
		}
		e.ID, e.Symbol, e.Side, e.Exits = c.id, o.symbol, o.side, o.exitsOf > 0
		page = append(page, e)
	}
	return page, wrap(rows.Err())
}

func kindOf(word string) gate.VenueEventKind {
	for k := gate.VenueFill; k <= gate.VenueExpired; k++ {
		if k.String() == word {
			return k
		}
	}
	return gate.NoVenueEvent
}

// Holdings returns cash and positions, both of the same moment. Cash is not reduced by what working buys reserve.
func (b *Broker) Holdings(ctx context.Context) (h gate.Holdings, err error) {
	rows, err := b.db.QueryContext(ctx, `SELECT '' AS symbol, cash FROM paper_account
		UNION ALL SELECT symbol, quantity FROM paper_positions WHERE quantity <> '0' ORDER BY symbol`)
	if err != nil {
		return h, wrap(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var symbol, text string
		if err := rows.Scan(&symbol, &text); err != nil {
			return gate.Holdings{}, wrap(err)
		}
		amount, err := decimal("holding", text)
		if err != nil {
			return gate.Holdings{}, wrap(err)
		}
		if symbol == "" {
			h.Cash = amount
			continue
		}
		s, ok := trade.ParseSymbol(symbol)
		if !ok {
			return gate.Holdings{}, fmt.Errorf("paper: the stored symbol %q is none", trade.Printable(symbol, 64))
		}
		h.Positions = append(h.Positions, gate.Holding{Symbol: s, Quantity: amount})
	}
	return h, wrap(rows.Err())
}

// Working returns the orders that are open, oldest first. The exits of an entry are one of them, under the entry's id: only
// one of the two can be filled.
func (b *Broker) Working(ctx context.Context) (all []gate.VenueOrder, err error) {
	rows, err := b.db.QueryContext(ctx, `SELECT `+cellNames+` FROM paper_ledger l
		INDEXED BY paper_working WHERE l.status = 'working' ORDER BY l.id`)
	if err != nil {
		return nil, wrap(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var c cells
		if err := rows.Scan(c.targets()...); err != nil {
			return nil, wrap(err)
		}
		o, err := c.order()
		if err != nil {
			return nil, wrap(err)
		}
		all = append(all, gate.VenueOrder{
			ID: c.id, OrderID: orderID(o.number), Symbol: o.symbol, Side: o.side, Remaining: o.quantity, Exits: o.exitsOf > 0,
		})
	}
	return all, wrap(rows.Err())
}
