package paper

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sallyport/gate"
	"sallyport/market"
	"sallyport/store"
	"sallyport/trade"
)

// desk is the venue at work inside one transaction, at one time: what it changes in the account is written by flush.
type desk struct {
	tx     *store.Tx
	hours  *market.Calendar
	now    time.Time
	acct   account
	due    string            // no working order expires earlier; empty if none works
	last   uint64            // the newest event's number
	read   stored            // as it was
	events []gate.VenueEvent // of this transaction
}

// stored is what flush compares with.
type stored struct {
	cash, reserved trade.Decimal
	working        int64
	due            string
	last           uint64
	positions      map[trade.Symbol]position
}

// sit begins the work of one transaction. The clock is read here, once the lock is held.
func (b *Broker) sit(tx *store.Tx) (*desk, error) {
	d := &desk{tx: tx, hours: b.calendar, now: b.now().UTC().Truncate(time.Microsecond)}
	var cash, reserved string
	err := tx.QueryRow(`SELECT cash, reserved, working, due, events FROM paper_account`).
		Scan(&cash, &reserved, &d.acct.working, &d.due, &d.last)
	if err != nil {
		return nil, fmt.Errorf("the account cannot be read: %w", err)
	}
	if d.acct.cash, err = decimal("cash", cash); err != nil {
		return nil, err
	}
	if d.acct.reserved, err = decimal("reserved cash", reserved); err != nil {
		return nil, err
	}
	d.acct.positions = map[trade.Symbol]position{}
	d.read = stored{d.acct.cash, d.acct.reserved, d.acct.working, d.due, d.last, map[trade.Symbol]position{}}
	return d, nil
}

// decimal reads one that the venue itself stored.
func decimal(what, text string) (trade.Decimal, error) {
	v, ok := trade.ParseSum(text)
	if !ok {
		return v, fmt.Errorf("the stored %s %q is not a decimal", what, trade.Printable(text, 64))
	}
	return v, nil
}

// look makes sure that the position in a symbol is in the account.
func (d *desk) look(s trade.Symbol) error {
	if _, ok := d.acct.positions[s]; ok {
		return nil
	}
	quantity, selling := "0", "0"
	err := d.tx.QueryRow(`SELECT quantity, selling FROM paper_positions WHERE symbol = ?`, s.String()).Scan(&quantity, &selling)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var p position
	if p.quantity, err = decimal("position", quantity); err != nil {
		return err
	}
	if p.selling, err = decimal("working sells", selling); err != nil {
		return err
	}
	d.acct.positions[s], d.read.positions[s] = p, p
	return nil
}

// flush writes what changed in the account.
func (d *desk) flush() error {
	for _, s := range slices.SortedFunc(maps.Keys(d.acct.positions), bySymbol) {
		p := d.acct.positions[s]
		if p == d.read.positions[s] {
			continue
		}
		var err error
		if p.quantity.Sign() == 0 {
			_, err = d.tx.Exec(`DELETE FROM paper_positions WHERE symbol = ?`, s.String())
		} else {
			_, err = d.tx.Exec(`INSERT INTO paper_positions (symbol, quantity, selling) VALUES (?1, ?2, ?3)
				ON CONFLICT (symbol) DO UPDATE SET quantity = ?2, selling = ?3`, s.String(), p.quantity.String(), p.selling.String())
		}
		if err != nil {
			return err
		}
	}
	if d.acct.working == 0 {
		d.due = ""
	}
	r := d.read
	if d.acct.cash == r.cash && d.acct.reserved == r.reserved && d.acct.working == r.working && d.due == r.due && d.last == r.last {
		return nil
	}
	_, err := d.tx.Exec(`UPDATE paper_account SET cash = ?, reserved = ?, working = ?, due = ?, events = ?`,
		d.acct.cash.String(), d.acct.reserved.String(), d.acct.working, d.due, int64(d.last))
	return err
}

func bySymbol(a, b trade.Symbol) int { return strings.Compare(a.String(), b.String()) }

// sweep expires what is due, then fills what the quotes reach, oldest order first within a symbol.
func (d *desk) sweep(book *market.Book) error {
	if now := stamp(d.now); d.due != "" && d.due <= now {
		if err := d.expireDue(now); err != nil {
			return err
		}
	}
	if book.Len() == 0 || d.acct.working == 0 {
		return nil
	}
	symbols, err := d.symbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if err := d.sweepSymbol(s, book); err != nil {
			return err
		}
	}
	return nil
}

// expireDue looks at every working order. That happens about once a day: afterwards due is exact.
func (d *desk) expireDue(now string) error {
	due, err := d.orders(`INDEXED BY paper_working WHERE l.status = 'working' AND l.expires_at <= ? ORDER BY l.expires_at, l.id`, now)
	if err != nil {
		return err
	}
	for _, o := range due {
		if err := d.expire(o); err != nil {
			return err
		}
	}
	return d.tx.QueryRow(`SELECT coalesce(min(expires_at), '') FROM paper_ledger INDEXED BY paper_working WHERE status = 'working'`).Scan(&d.due)
}

func (d *desk) sweepSymbol(s trade.Symbol, book *market.Book) error {
	q, ok := d.sees(s, book)
	if !ok {
		return nil
	}
	reached, err := d.orders(`WHERE l.status = 'working' AND l.symbol = ?1 AND l.side = 'buy' AND l.price_key >= ?2
		OR l.status = 'working' AND l.symbol = ?1 AND l.side = 'sell' AND l.price_key <= ?3 ORDER BY l.id`,
		s.String(), priceKey(q.Ask), priceKey(q.Bid))
	if err != nil {
		return err
	}
	for _, o := range reached {
		if err := d.meet(o, q); err != nil {
			return err
		}
	}
	return nil
}

// sees returns the quote of a symbol with the sessions in which it was taken.
func (d *desk) sees(s trade.Symbol, book *market.Book) (sight, bool) {
	q, ok := book.Quote(s)
	if !ok {
		return sight{}, false
	}
	return sight{q, d.hours.Session(q.At)}, true
}

// meet does to a working order what a quote does to it. A buy without a limit that has become dearer than the cash that
// is left ends without being filled.
//
//limit:paper-dear-buy A working buy whose price is over what it holds and what is free ends as cancelled: cash is never below zero.
func (d *desk) meet(o resting, q sight) error {
	switch m := o.meets(q); {
	case m.fills && d.acct.affords(o.order, m.price):
		o.triggered = m.triggers
		return d.fill(o, m.price)
	case m.fills:
		return d.cancel(o)
	case m.triggers && !o.triggered:
		_, err := d.tx.Exec(`UPDATE paper_ledger SET triggered = 1 WHERE id = ? AND status = 'working'`, o.number)
		return err
	}
	return nil
}

// symbols returns those that have working orders, with one look at the index for each.
func (d *desk) symbols() (all []trade.Symbol, err error) {
	rows, err := d.tx.Query(`WITH RECURSIVE next (symbol) AS (
		SELECT min(symbol) FROM paper_ledger WHERE status = 'working' UNION ALL
		SELECT (SELECT min(symbol) FROM paper_ledger WHERE status = 'working' AND symbol > next.symbol) FROM next WHERE symbol IS NOT NULL)
		SELECT symbol FROM next WHERE symbol IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		s, ok := trade.ParseSymbol(text)
		if !ok {
			return nil, fmt.Errorf("the stored symbol %q is none", trade.Printable(text, 64))
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// resting is a working order as stored, with the id under which its events are told: of exits that of their entry.
type resting struct {
	order
	id trade.BrokerOrderID
}

func (d *desk) orders(which string, args ...any) (all []resting, err error) {
	rows, err := d.tx.Query(`SELECT `+cellNames+` FROM paper_ledger l `+which, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var c cells
		if err := rows.Scan(c.targets()...); err != nil {
			return nil, err
		}
		o, err := c.order()
		if err != nil {
			return nil, err
		}
		all = append(all, resting{o, c.id})
	}
	return all, rows.Err()
}

func (d *desk) fill(o resting, price trade.Decimal) error {
	if err := d.look(o.symbol); err != nil {
		return err
	}
	d.acct.fill(o.order, price)
	if err := d.end(o, gate.VenueFill, price, d.now); err != nil || !o.hasExits() {
		return err
	}
	return d.guard(o)
}

// guard places the exits of an entry that was filled. The next matching is the first that looks at them.
func (d *desk) guard(entry resting) error {
	exits := entry.exits()
	d.acct.accept(exits)
	d.dueBy(exits.expires)
	_, err := d.insert(entry.id+exitsMark, "", exits, row{status: Working, filled: "0", message: "the exits of " + orderID(entry.number)})
	return err
}

// dueBy says that an order works that expires then.
func (d *desk) dueBy(expires time.Time) {
	if ends := stamp(expires); d.due == "" || ends < d.due {
		d.due = ends
	}
}

func (d *desk) cancel(o resting) error {
	if err := d.look(o.symbol); err != nil {
		return err
	}
	d.acct.release(o.order)
	return d.end(o, gate.VenueCancelled, trade.Decimal{}, d.now)
}

// expire ends an order at the time at which it ended by the rules, even if that is seen only now.
func (d *desk) expire(o resting) error {
	if err := d.look(o.symbol); err != nil {
		return err
	}
	d.acct.release(o.order)
	return d.end(o, gate.VenueExpired, trade.Decimal{}, o.expires)
}

// end closes a working order's row and tells of it. price is zero for what is no fill.
func (d *desk) end(o resting, kind gate.VenueEventKind, price trade.Decimal, at time.Time) error {
	filled, paid := "0", any(nil)
	if kind == gate.VenueFill {
		filled, paid = o.quantity.String(), price.String()
	}
	res, err := d.tx.Exec(`UPDATE paper_ledger SET status = ?2, filled_quantity = ?3, filled_price = ?4, closed_at = ?5,
		triggered = ?6 WHERE id = ?1 AND status = 'working'`, o.number, string(statusOf(kind)), filled, paid, stamp(at), o.triggered)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(fmt.Errorf("the order %s has ended before", orderID(o.number)), err)
	}
	return d.tell(o, kind, price, at)
}

func statusOf(k gate.VenueEventKind) Status {
	return [...]Status{gate.NoVenueEvent: "", gate.VenueFill: Filled, gate.VenueCancelled: Cancelled, gate.VenueExpired: Expired}[k]
}

// tell stores the event of an order's end under the next number. The number is the transaction's own, so it is given
// once and in the order of the commits, and given again only after a rollback, when nobody was told of it.
func (d *desk) tell(o resting, kind gate.VenueEventKind, price trade.Decimal, at time.Time) error {
	paid := any(nil)
	if kind == gate.VenueFill {
		paid = price.String()
	}
	d.last++
	_, err := d.tx.Exec(`INSERT INTO paper_events (number, kind, order_id, quantity, price, at) VALUES (?, ?, ?, ?, ?, ?)`,
		int64(d.last), kind.String(), o.number, o.quantity.String(), paid, stamp(at))
	d.events = append(d.events, gate.VenueEvent{
		Number: d.last, Kind: kind, ID: o.id, Symbol: o.symbol, Side: o.side, Quantity: o.quantity, Price: price,
		At: at, Exits: o.exitsOf > 0,
	})
	return err
}
