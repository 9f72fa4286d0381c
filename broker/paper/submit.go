package paper

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"sallyport/gate"
	"sallyport/market"
	"sallyport/store"
	"sallyport/trade"
)

// Submit takes the order that the permit clears. It is stored, and matched, in one transaction or not at all. An error
// wraps gate.ErrNotSent unless it is of the commit itself: only then nothing may be concluded. A cancelled context
// counts until the commit begins.
func (b *Broker) Submit(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
	c, err := p.Use(gate.SubmitOrder, b.now())
	if err != nil {
		return gate.Receipt{}, notSent(err)
	}
	return b.submit(ctx, c)
}

func (b *Broker) submit(ctx context.Context, c gate.Cleared) (gate.Receipt, error) {
	if c.Order.IsZero() {
		return gate.Receipt{}, notSent(errors.New("there is no order"))
	}
	return b.once(ctx, c, func(d *desk) (gate.Receipt, error) {
		book, noQuotes := b.book()
		if err := d.sweep(book); err != nil {
			return gate.Receipt{}, err
		}
		first, digest, err := d.find(c.ID)
		switch {
		case err != nil:
			return gate.Receipt{}, err
		case first.Outcome == trade.Unknown:
			return d.take(c, b, book, noQuotes)
		//limit:paper-one-order-an-id An id belongs to its first order for ever; another order under it is rejected.
		case digest != "" && digest != c.Order.Digest().String():
			return rejected(DuplicateID, fmt.Sprintf("the id %s belongs to another order", c.ID)), nil
		}
		return first, nil
	})
}

// once runs one cleared action in a transaction of its own, while the permit is good and the caller waits.
func (b *Broker) once(ctx context.Context, c gate.Cleared, act func(*desk) (gate.Receipt, error)) (gate.Receipt, error) {
	//limit:paper-id An order's id has 1 to 128 of A-Z a-z 0-9 . _ - or nothing is stored.
	if _, ok := trade.ParseClientOrderID(string(c.ID)); !ok {
		return gate.Receipt{}, notSent(fmt.Errorf("the id %q is not one", trade.Printable(string(c.ID), 64)))
	}
	var r gate.Receipt
	ready := false
	err := store.Immediate(ctx, b.db, func(tx *store.Tx) error {
		d, err := b.sit(tx)
		if err != nil {
			return err
		}
		//limit:paper-not-after Nothing is done for a permit whose not-after time passed while the venue waited for its lock.
		if d.now.After(c.NotAfter) {
			return gate.ErrPermitExpired
		}
		if r, err = act(d); err != nil {
			return err
		}
		if err := d.flush(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		r.Events, r.NextEvent = d.events, d.last+1
		ready = true
		return nil
	})
	switch {
	case err == nil:
		return r, nil
	case ready && !store.Busy(err):
		return gate.Receipt{}, wrap(err) // the commit failed: it may be there, or not
	}
	return gate.Receipt{}, notSent(err)
}

func notSent(err error) error { return fmt.Errorf("paper: %w: %w", gate.ErrNotSent, err) }

// find returns the first receipt of an id and the digest of its order, which is empty for an id that a lookup closed.
// The receipt of an id that is not known is Unknown.
func (d *desk) find(id trade.BrokerOrderID) (r gate.Receipt, digest string, err error) {
	var number int64
	err = d.tx.QueryRow(`SELECT id, digest, '', message FROM paper_ledger WHERE client_order_id = ?1
		UNION ALL SELECT 0, coalesce(digest, ''), code, message FROM paper_rejections WHERE client_order_id = ?1`, string(id)).
		Scan(&number, &digest, &r.Code, &r.Message)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return gate.Receipt{}, "", nil
	case err != nil:
		return gate.Receipt{}, "", err
	case number == 0:
		r.Outcome = trade.Rejected
	default:
		r.Outcome, r.OrderID = trade.Accepted, orderID(number)
	}
	return r, digest, nil
}

// take decides a new order and stores it or its rejection.
func (d *desk) take(c gate.Cleared, b *Broker, book *market.Book, noQuotes error) (gate.Receipt, error) {
	o := order{symbol: c.Order.Symbol(), side: c.Order.Side(), quantity: c.Order.Quantity(), limit: c.Order.LimitPrice()}
	q, quoted := book.Quote(o.symbol)
	price, fills := match(o, q)
	if fills = fills && quoted; fills || o.side == trade.Sell {
		if err := d.look(o.symbol); err != nil {
			return gate.Receipt{}, err
		}
	}
	code, why := d.acct.refuse(o)
	if noQuotes != nil {
		code, why = QuotesUnusable, noQuotes.Error()
	}
	if code != "" {
		return d.refuse(c.ID, c.Order.Digest().String(), code, why)
	}
	d.acct.accept(o)
	expires := dayEnds(d.now, b.zone)
	if !fills {
		if ends := stamp(expires); d.due == "" || ends < d.due {
			d.due = ends
		}
		return d.enter(c, o, row{status: Working, filled: "0", message: "working until " + expires.Format("2006-01-02T15:04:05Z"), expires: expires})
	}
	d.acct.fill(o, price)
	return d.enter(c, o, row{
		status: Filled, filled: o.quantity.String(), price: price, expires: expires,
		message: fmt.Sprintf("filled %v %v at %s", o.quantity, o.symbol, price.Money()),
	})
}

// row is the part of a new row of the ledger that is not the order. The price is zero unless it is filled.
type row struct {
	status          Status
	filled, message string
	price           trade.Decimal
	expires         time.Time
}

// enter stores a new order, and its fill where it has one.
func (d *desk) enter(c gate.Cleared, o order, r row) (gate.Receipt, error) {
	var paid, closed any
	if r.status == Filled {
		paid, closed = r.price.String(), stamp(d.now)
	}
	res, err := d.tx.Exec(`INSERT INTO paper_ledger (client_order_id, digest, symbol, side, quantity, limit_price, price_key,
		status, filled_quantity, filled_price, message, accepted_at, expires_at, closed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(c.ID), c.Order.Digest().String(), o.symbol.String(), o.side.String(), o.quantity.String(), o.limit.String(), priceKey(o.limit),
		string(r.status), r.filled, paid, r.message, stamp(d.now), stamp(r.expires), closed)
	if err != nil {
		return gate.Receipt{}, err
	}
	if o.number, err = res.LastInsertId(); err != nil {
		return gate.Receipt{}, err
	}
	if r.status == Filled {
		err = d.tell(resting{order: o, id: c.ID}, gate.VenueFill, r.price, d.now)
	}
	return gate.Receipt{Outcome: trade.Accepted, OrderID: orderID(o.number), Message: r.message}, err
}

// refuse rejects and remembers it, so that the same id gets the same answer. No digest closes the id to every order.
func (d *desk) refuse(id trade.BrokerOrderID, digest any, code Code, why string) (gate.Receipt, error) {
	_, err := d.tx.Exec(`INSERT INTO paper_rejections (client_order_id, digest, code, message, at) VALUES (?, ?, ?, ?, ?)`,
		string(id), digest, string(code), why, stamp(d.now))
	return rejected(code, why), err
}

func rejected(code Code, why string) gate.Receipt {
	return gate.Receipt{Outcome: trade.Rejected, Code: string(code), Message: why}
}

func orderID(number int64) string { return fmt.Sprintf("paper-%d", number) }
