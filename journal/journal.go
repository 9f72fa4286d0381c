// Package journal is an append-only, hash-chained, durable log of bytes in named streams. What Update has appended is
// on the disk when it returns. Several processes may share a file; within a process, callers that wait are committed
// together. It knows no trading.
package journal

import (
	"cmp"
	"context"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sallyport/store"
)

// Seq numbers records from 1 in commit order over all streams, without gaps.
type Seq uint64

// Hash is a SHA-256 that covers a record and, through its predecessor's hash, everything before it.
type Hash [32]byte

// Head names a record and all that came before it.
type Head struct {
	Seq  Seq
	Hash Hash
}

// Record is one record as stored.
type Record struct {
	Seq    Seq
	Stream string
	At     time.Time // UTC, microseconds
	Body   []byte
	Hash   Hash
}

// Key is an index entry of a record: the record is found again by it. Not unique; values are compared by the caller,
// since the index holds hashes.
type Key struct{ Name, Value string }

// Follower is the state that the journal's records fold to. The journal calls it from one goroutine at a time, under
// its write lock.
type Follower interface {
	// Restore replaces the state by the snapshot taken after record seq; by the empty state if seq is 0. It is called
	// before anything else and again after a batch that failed, since decides had then changed the state for records
	// that do not exist, or whose fate is not known.
	Restore(seq Seq, snapshot []byte) error
	// Follow folds one record that another process committed, or that followed the snapshot.
	Follow(Record) error
	// Snapshot returns the state after the last record of a batch, or nil to take none. since is the number of bytes
	// appended since the last snapshot. The largest int asks for the state whatever was appended: Verify does, and so
	// does the first batch of a process, which stores it if that saves the next one work. A state of more than most
	// bytes is not stored: whoever knows that his is need not write it. The same records must always give the same
	// bytes. They are used before the follower is called again. A decide that returned an error must not have changed the state.
	Snapshot(since, most int) []byte
}

// Config of a journal. All members are required but Follower, without which a journal is for reading.
type Config struct {
	Path     string        // of the database file
	LockWait time.Duration // how long Update waits for the lock before it returns ErrBusy
	Follower Follower
}

// What Update and Open return beside the file system's errors.
var (
	ErrBusy   = errors.New("journal: the lock was not free in time") // nothing was recorded; try again
	ErrClosed = errors.New("journal: closed")
)

// appID marks a database as a journal of this program: "SPJ" and the version of the layout.
const appID = 0x53504a01

//go:embed schema/*.sql
//limit:journal-append-only Triggers refuse to change or remove a record or an index entry.
var schemaFiles embed.FS

func migrations() fs.FS {
	sub, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		return schemaFiles // cannot be: the name is a constant and valid
	}
	return sub
}

// Journal is an open journal. It is safe for concurrent use.
type Journal struct {
	db       *store.DB
	lockWait time.Duration
	queue    queue
	closing  chan struct{} // closed when the journal is

	token chan struct{} // holds one token, which goes with what follows
	w     writer
	fold  fold
	index index
	used  time.Time // when the follower was last up to date
}

func (c Config) store() (store.Config, error) {
	if c.Path == "" || c.LockWait <= 0 {
		return store.Config{}, errors.New("journal: path and lock wait are required")
	}
	return store.Config{Path: c.Path, AppID: appID, Migrations: migrations(), Busy: c.LockWait}, nil
}

// Create makes a new journal whose first records are what first appends, all in one transaction, and opens it. It
// fails with fs.ErrExist if there is one. A crash leaves the whole journal or none.
func Create(ctx context.Context, cfg Config, first func(*Tx) error) (*Journal, error) {
	sc, err := cfg.store()
	if err != nil {
		return nil, err
	}
	err = store.Create(ctx, sc, func(tx *store.Tx) error {
		b := &batch{
			find: func(int64) ([]Record, error) { return nil, nil }, during: func(time.Time, time.Time) ([]Record, error) { return nil, nil },
		}
		r := &request{decide: first}
		if err := decideAll(b, []*request{r}); err != nil || r.err != nil {
			return cmp.Or(err, r.err)
		}
		return tx.Driver(func(c driver.Conn) error {
			w := writer{raw: c}
			defer w.finalize()
			return w.insert(b, 0)
		})
	})
	if err != nil {
		return nil, outward(err)
	}
	return Open(ctx, cfg)
}

// Open opens an existing journal; fs.ErrNotExist if there is none. It restores the follower from the snapshot and the
// records after it, so its time does not grow with the journal.
func Open(ctx context.Context, cfg Config) (*Journal, error) {
	sc, err := cfg.store()
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, sc)
	if err != nil {
		return nil, outward(err)
	}
	j := &Journal{
		db: db, lockWait: cfg.LockWait, closing: make(chan struct{}), token: make(chan struct{}, 1),
		w: writer{db: db}, fold: fold{follower: cfg.Follower},
	}
	j.token <- struct{}{}
	if err := j.firstLook(ctx); err != nil {
		return nil, errors.Join(outward(err), j.Close())
	}
	return j, nil
}

// firstLook folds everything, or without a follower sees whether the last record can be read.
func (j *Journal) firstLook(ctx context.Context) error {
	if j.fold.follower == nil {
		_, err := j.Head(ctx)
		return err
	}
	j.used = time.Now()
	return j.refresh()
}

// outward makes a lock that was not free in time ErrBusy.
func outward(err error) error {
	if err != nil && store.Busy(err) && !errors.Is(err, ErrBusy) {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// Close waits for what is being committed and closes the file cleanly. Who waits for a turn gets ErrClosed.
func (j *Journal) Close() error {
	if !j.queue.close() {
		return nil
	}
	stopped := j.db.Turnstile().Close()
	<-j.token // for ever: nobody else gets it
	close(j.closing)
	return errors.Join(stopped, j.w.close(), j.db.Close())
}
