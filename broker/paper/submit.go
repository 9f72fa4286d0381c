package paper

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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
	err = d.tx.QueryRow(`SELECT id, digest, '', message FROM paper_ledger WHERE client_order_id = ?1 AND exits_of IS NULL
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
	o := termsOf(c.Order)
	var q sight
	quoted := false
	list, err := b.instruments()
	code, why := unfit(c.Order, list)
	if err != nil {
		code, why = InstrumentsUnusable, err.Error()
	}
	if code == "" && !o.lives(d.now, b.zone, b.calendar) {
		code, why = SessionUnknown, "the calendar of the exchanges does not cover "+stamp(d.now)
	}
	if code == "" {
		q, quoted = d.sees(o.symbol, book)
		code, why = o.sizes(q, quoted, list)
	}
	m := meeting{}
	if quoted && code == "" {
		m = o.meets(q)
		o.triggered = m.triggers
	}
	if m.fills || o.side == trade.Sell {
		if err := d.look(o.symbol); err != nil {
			return gate.Receipt{}, err
		}
	}
	if code == "" {
		code, why = d.acct.refuse(o)
	}
	if noQuotes != nil {
		code, why = QuotesUnusable, noQuotes.Error()
	}
	if code != "" {
		return d.refuse(c.ID, c.Order.Digest().String(), code, why)
	}
	d.acct.accept(o)
	return d.begin(c, o, m)
}

// sizes says how much a new order is for and what it holds, as far as a quote has to say it; or why it cannot.
//
//limit:paper-market-order A market order without a quote of its session, or with a crossed one, is rejected: it is never filled at another price.
func (o *order) sizes(q sight, quoted bool, list *market.Instruments) (Code, string) {
	o.held = o.holds(o.limit)
	if o.kind == trade.Stop {
		o.held = o.holds(o.stop)
	}
	if o.limit.Sign() > 0 || o.hours == auctionHours && o.side == trade.Sell {
		return "", ""
	}
	m := meeting{}
	if quoted {
		m = o.meets(q)
	}
	if o.hours == auctionHours && quoted && !market.Crossed(q.Quote) {
		m.fills, m.price = true, q.Ask // what the market is worth now; the auction itself is to come
	}
	if o.kind == trade.Market && !m.fills {
		return MarketUnavailable, fmt.Sprintf("there is no quote of %v at which a market order is executed now", o.symbol)
	}
	if o.amount.Sign() > 0 {
		if code, why := o.divides(m.price, list); code != "" {
			return code, why
		}
	}
	if m.fills {
		o.held = o.holds(m.price)
	}
	return "", ""
}

// divides makes shares of the amount of an order by amount. Whoever trades no parts of a share of the symbol takes no amount
// either, unless it comes out even: what is left of it would have to be told as an order of its own.
func (o *order) divides(price trade.Decimal, list *market.Instruments) (Code, string) {
	quantity, ok := shares(o.amount, price)
	i, listed := list.Of(o.symbol)
	if !ok || !listed || !i.Quantity(quantity).Fits && !partOf(i, quantity) {
		return AmountNotTradable, fmt.Sprintf("%s dollars buy no quantity of %v at %s that can be traded", o.amount.Money(), o.symbol, price.Money())
	}
	o.quantity = quantity
	return "", ""
}

// begin stores an accepted order, and its fill or its end where that comes at once. A fill is followed by its exits.
func (d *desk) begin(c gate.Cleared, o order, m meeting) (gate.Receipt, error) {
	r, kind := row{status: Working, filled: "0", message: "working until it is cancelled"}, gate.NoVenueEvent
	switch {
	case m.fills:
		d.acct.fill(o, m.price)
		kind, r.filled, r.price = gate.VenueFill, o.quantity.String(), m.price
		r.message = fmt.Sprintf("filled %v %v at %s", o.quantity, o.symbol, m.price.Money())
	//limit:paper-at-once An order that may not wait, ioc or fok, ends at once unless the quote fills all of it.
	case o.atOnce():
		d.acct.release(o)
		kind, r.message = gate.VenueExpired, "ended at once: nothing is there to execute it"
	case o.expires != never:
		r.message = "working until " + o.expires.UTC().Format("2006-01-02T15:04:05Z")
	}
	if kind == gate.NoVenueEvent {
		d.dueBy(o.expires)
	} else {
		r.status = statusOf(kind)
	}
	number, err := d.insert(c.ID, c.Order.Digest().String(), o, r)
	if err != nil {
		return gate.Receipt{}, err
	}
	o.number = number
	stored := resting{order: o, id: c.ID}
	if kind != gate.NoVenueEvent {
		err = d.tell(stored, kind, r.price, d.now)
	}
	if err == nil && m.fills && o.hasExits() {
		err = d.guard(stored)
	}
	return gate.Receipt{Outcome: trade.Accepted, OrderID: orderID(number), Message: r.message}, err
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
