package paper

import (
	"fmt"
	"time"

	"sallyport/trade"
)

// exitsMark ends the stored id of exits after that of their entry. No id that is sent has a stroke, so nobody can send, or
// ask for, an order under such an id.
const exitsMark = "/exits"

// cellNames are the columns that make an order, of the table paper_ledger as l, in the order of cells.targets. The second
// is the id under which its events are told.
const cellNames = `l.id, coalesce((SELECT e.client_order_id FROM paper_ledger e WHERE e.id = l.exits_of), l.client_order_id),
	l.symbol, l.side, l.quantity, coalesce(l.amount, '0'), l.order_type, l.limit_price, coalesce(l.stop_price, '0'), l.time_in_force,
	l.hours, l.triggered, coalesce(l.held, ''), coalesce(l.auction_from, ''), coalesce(l.stop_loss, '0'),
	coalesce(l.stop_loss_limit, '0'), coalesce(l.take_profit, '0'), coalesce(l.exits_of, 0), l.expires_at`

// cells is one stored order as text.
type cells struct {
	number, exitsOf                          int64
	id                                       trade.BrokerOrderID
	symbol, side, quantity, amount           string
	kind, limit, stop, tif, hours            string
	triggered                                bool
	held, from, loss, lossLimit, profit, end string
}

func (c *cells) targets() []any {
	return []any{
		&c.number, &c.id, &c.symbol, &c.side, &c.quantity, &c.amount, &c.kind, &c.limit, &c.stop, &c.tif,
		&c.hours, &c.triggered, &c.held, &c.from, &c.loss, &c.lossLimit, &c.profit, &c.exitsOf, &c.end,
	}
}

// order reads the cells. What the venue would not have written is damage.
func (c *cells) order() (order, error) {
	o := order{number: c.number, exitsOf: c.exitsOf, triggered: c.triggered, hours: hours(c.hours)}
	r := reading{ok: true}
	o.symbol = read(&r, c.symbol, trade.ParseSymbol)
	o.side = read(&r, c.side, trade.ParseSide)
	o.tif = read(&r, c.tif, trade.ParseTimeInForce)
	if c.exitsOf == 0 {
		o.kind = read(&r, c.kind, trade.ParseOrderType)
	}
	for _, d := range [...]struct {
		to   *trade.Decimal
		text string
	}{
		{&o.quantity, c.quantity}, {&o.amount, c.amount}, {&o.limit, c.limit}, {&o.stop, c.stop},
		{&o.loss.Stop, c.loss}, {&o.loss.Limit, c.lossLimit}, {&o.profit, c.profit},
	} {
		*d.to = read(&r, d.text, trade.ParseDecimal)
	}
	o.held = o.holds(o.limit)
	if c.held != "" {
		o.held = read(&r, c.held, trade.ParseSum)
	}
	o.expires = read(&r, c.end, parseStamp)
	if c.from != "" {
		o.from = read(&r, c.from, parseStamp)
	}
	if !r.ok {
		return order{}, fmt.Errorf("the stored order %s is damaged", orderID(c.number))
	}
	return o, nil
}

// reading is whether all cells could be read so far.
type reading struct{ ok bool }

func read[T any](r *reading, text string, parse func(string) (T, bool)) T {
	v, ok := parse(text)
	r.ok = r.ok && ok
	return v
}

func parseStamp(text string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}

// row is the part of a new row of the ledger that is not the order. The price is zero unless it is filled.
type row struct {
	status          Status
	filled, message string
	price           trade.Decimal
}

// insert stores a new order under the next number.
func (d *desk) insert(id trade.BrokerOrderID, digest string, o order, r row) (number int64, err error) {
	var paid, closed any
	if r.status == Filled {
		paid = r.price.String()
	}
	if r.status != Working {
		closed = stamp(d.now)
	}
	kind, exitsOf := o.kind.String(), any(nil)
	if o.exitsOf > 0 {
		kind, exitsOf = "exits", o.exitsOf
	}
	var held, from any
	if o.side == trade.Buy && o.kind != trade.Limit && o.kind != trade.StopLimit {
		held = o.held.String()
	}
	if !o.from.IsZero() {
		from = stamp(o.from)
	}
	res, err := d.tx.Exec(`INSERT INTO paper_ledger (client_order_id, digest, symbol, side, quantity, limit_price, price_key,
		status, filled_quantity, filled_price, message, accepted_at, expires_at, closed_at, order_type, time_in_force, hours,
		stop_price, triggered, amount, held, auction_from, stop_loss, stop_loss_limit, take_profit, exits_of)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(id), digest, o.symbol.String(), o.side.String(), o.quantity.String(), o.limit.String(), o.key(),
		string(r.status), r.filled, paid, r.message, stamp(d.now), stamp(o.expires), closed, kind, o.tif.String(), string(o.hours),
		given(o.stop), o.triggered, given(o.amount), held, from, given(o.loss.Stop), given(o.loss.Limit), given(o.profit), exitsOf)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// given is a decimal's cell: nothing for one that is not there.
func given(d trade.Decimal) any {
	if d.Sign() == 0 {
		return nil
	}
	return d.String()
}
