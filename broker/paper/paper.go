// Package paper is a venue for practice: it takes real orders and no real money. It keeps cash, positions and orders in
// a database of its own, which several processes may share, and fills whole orders against the newest quote of a file.
// Like a real venue it knows nothing of the gate's journal, answers the same id in the same way, and lets an order rest
// until it is filled, cancelled or its time is over. docs/paper.md says by which rules, and what a real venue does
// otherwise.
package paper

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"
	_ "time/tzdata" // so that the day ends at the right hour where no time zones are installed

	"sallyport/gate"
	"sallyport/market"
	"sallyport/store"
	"sallyport/trade"
)

// Config says where a venue lives and what it sees. Path is required.
type Config struct {
	Path   string           // of the database file, which is made if it is missing
	Quotes *market.File     // nil: there is no market, and orders rest
	Cash   trade.Decimal    // at creation, in dollars; zero means 100000.00. Later it is not looked at
	Now    func() time.Time // the clock; nil means the system's
	// Instruments returns what orders must fit now, such as market.Listing's; nil means that every symbol is a US equity.
	Instruments func() (*market.Instruments, error)
}

// Broker is an open venue. It is safe for concurrent use, and several processes may have the same venue open.
type Broker struct {
	db          *store.DB
	quotes      *market.File
	instruments func() (*market.Instruments, error)
	calendar    *market.Calendar
	now         func() time.Time
	zone        *time.Location
}

var _ gate.Broker = (*Broker)(nil)

const (
	//limit:paper-lock-wait A call waits at most 5 seconds for other processes before it fails without having stored anything.
	lockWait = 5 * time.Second
	//limit:paper-working-orders At most 10,000 orders work at the same time; one more is rejected.
	maxWorking = 10_000
	//limit:paper-events-page A page of events has at most 500.
	maxEvents = 500
)

// appID marks a database file as a paper venue's: the letters SPPV.
const appID = 0x53505056

const defaultCash = 100_000

//go:embed schema
var schema embed.FS

// Open opens the venue, makes it if it is missing, and matches the working orders. Quotes that cannot be read do not
// keep it from opening: nothing is matched then, and the next order is answered with the reason.
func Open(ctx context.Context, cfg Config) (*Broker, error) { return open(ctx, cfg, lockWait) }

func open(ctx context.Context, cfg Config, wait time.Duration) (*Broker, error) {
	if cfg.Cash.Sign() < 0 {
		return nil, errors.New("paper: the cash at creation is below zero")
	}
	if cfg.Cash.Sign() == 0 {
		cfg.Cash = trade.Whole(defaultCash)
	}
	b := &Broker{quotes: cfg.Quotes, instruments: cfg.Instruments, now: cfg.Now}
	if b.now == nil {
		b.now = time.Now
	}
	if b.instruments == nil {
		b.instruments = func() (*market.Instruments, error) { return nil, nil }
	}
	steps, err := fs.Sub(schema, "schema")
	if err != nil {
		return nil, fmt.Errorf("paper: %w", err)
	}
	if b.zone, err = time.LoadLocation("America/New_York"); err != nil {
		return nil, fmt.Errorf("paper: %w", err)
	}
	if b.calendar, err = market.NewYork(); err != nil {
		return nil, fmt.Errorf("paper: %w", err)
	}
	at := store.Config{Path: cfg.Path, AppID: appID, Migrations: steps, Busy: wait}
	err = store.Create(ctx, at, func(tx *store.Tx) error { return found(tx, cfg.Cash, b.now()) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("paper: %w", err)
	}
	if b.db, err = store.Open(ctx, at); err != nil {
		return nil, fmt.Errorf("paper: %w", err)
	}
	if _, err := b.Match(ctx); err != nil {
		return nil, errors.Join(err, b.db.Close())
	}
	return b, nil
}

// found gives a new venue its cash.
func found(tx *store.Tx, cash trade.Decimal, now time.Time) error {
	_, err := tx.Exec(`INSERT INTO paper_account (id, opening, cash, reserved, working, due, events, opened_at)
		VALUES (1, ?1, ?1, '0', 0, '', 0, ?2)`,
		cash.String(), stamp(now))
	return err
}

// Close closes the venue. What was answered is on the disk already.
func (b *Broker) Close() error { return b.db.Close() }

// Match expires what is due and matches the working orders against the newest quotes, and returns the number of
// the newest event, whoever caused it. Open and every new order do the same; whoever keeps a venue open calls it again and
// again, because an order that works waits for no other to arrive.
func (b *Broker) Match(ctx context.Context) (newest uint64, err error) {
	var working bool
	err = b.db.QueryRowContext(ctx, `SELECT working > 0, events FROM paper_account`).Scan(&working, &newest)
	if err != nil || !working {
		return newest, wrap(err)
	}
	err = store.Immediate(ctx, b.db, func(tx *store.Tx) error {
		d, err := b.sit(tx)
		if err != nil {
			return err
		}
		book, err := b.book()
		if err != nil {
			book = nil // no market is no match; whoever sends an order is told why
		}
		if err := d.sweep(book); err != nil {
			return err
		}
		newest = d.last
		return d.flush()
	})
	if err != nil {
		return 0, wrap(err)
	}
	return newest, nil
}

// book returns the quotes; nil without a market. A file that is not there is no market, a file that is not quotes is
// an error.
func (b *Broker) book() (*market.Book, error) {
	if b.quotes == nil {
		return nil, nil
	}
	book, err := b.quotes.Book()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return book, err
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("paper: %w", err)
}

// stamp writes a time so that text sorts as time does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
