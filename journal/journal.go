// Package journal is an append-only, hash-chained, durable log of bytes in named streams. What Update has appended is
// on the disk when it returns. Several processes may share a file; within a process, callers that wait are committed
// together. It knows no trading.
package journal

import (
	"context"
	"errors"
	"iter"
	"time"
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
	// before anything else and again after a commit whose result is in doubt.
	Restore(seq Seq, snapshot []byte) error
	// Follow folds one record that another process committed, or that followed the snapshot.
	Follow(Record) error
	// Snapshot returns the state after the last record of a batch, or nil to take none. since is the number of bytes
	// appended since the last snapshot.
	Snapshot(since int) []byte
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

// Journal is an open journal. It is safe for concurrent use.
type Journal struct{}

// Create makes a new journal whose first records are what first appends, all in one transaction, and opens it. It
// fails with fs.ErrExist if there is one.
func Create(ctx context.Context, cfg Config, first func(*Tx) error) (*Journal, error) {
	return nil, errors.New("not built yet")
}

// Open opens an existing journal; fs.ErrNotExist if there is none.
func Open(ctx context.Context, cfg Config) (*Journal, error) { return nil, errors.New("not built yet") }

// Close waits for what is being committed and closes the file cleanly.
func (j *Journal) Close() error { return nil }

// Update runs decide under the journal's write lock, after the follower has seen every record committed before, by any
// process, and makes what decide appended durable before it returns nil. Callers that wait at the same time share one
// commit; each sees what the ones before it appended. If decide returns an error, nothing that it appended is recorded
// and Update returns that error. ctx bounds the wait for a turn only: once decide has begun, Update returns its true
// result. Any other error means that the result is not durable or not known; the follower is then restored from the
// file before the next decide runs.
func (j *Journal) Update(ctx context.Context, decide func(*Tx) error) error { return nil }

// Tx is the inside of one Update. It is valid only during decide.
type Tx struct{}

// Append adds a record after all that are committed or were appended before. The follower is not called: whoever
// appends has the event at hand and applies it.
func (tx *Tx) Append(stream string, at time.Time, body []byte, keys ...Key) Head { return Head{} }

// Head returns the last record, this transaction's own included.
func (tx *Tx) Head() Head { return Head{} }

// LastAt returns the time of the last record.
func (tx *Tx) LastAt() time.Time { return time.Time{} }

// Find returns the records with that key, oldest first, this transaction's own included; a few others may be among
// them, whose keys have the same hash.
func (tx *Tx) Find(k Key) ([]Record, error) { return nil, nil }

// Head returns the last committed record; the zero Head of an empty journal.
func (j *Journal) Head(ctx context.Context) (Head, error) { return Head{}, nil }

// Records returns the records from first on, in order.
func (j *Journal) Records(ctx context.Context, first Seq) iter.Seq2[Record, error] { return nil }

// Backward returns the records from the newest to the oldest.
func (j *Journal) Backward(ctx context.Context) iter.Seq2[Record, error] { return nil }

// Find is Tx.Find outside a transaction.
func (j *Journal) Find(ctx context.Context, k Key) ([]Record, error) { return nil, nil }

// At returns the records whose time lies in [from, to], in order. Times never fall along the journal.
func (j *Journal) At(ctx context.Context, from, to time.Time) iter.Seq2[Record, error] { return nil }

// Read runs decide-like reading on the follower: it folds every committed record and calls view, without the write
// lock of other processes and without recording anything.
func (j *Journal) Read(ctx context.Context, view func() error) error { return nil }

// Backup copies the journal into a new file, safely while others write. It fails with fs.ErrExist.
func (j *Journal) Backup(ctx context.Context, path string) error { return nil }

// Verification says what Verify compares beside the chain itself.
type Verification struct {
	Contains *Head                       // an earlier head, kept elsewhere, that must be contained
	Keys     func(Record) ([]Key, error) // what the index must hold for a record; nil leaves it out
	Follower Follower                    // a fresh one: the stored snapshot must equal the state at its record; nil leaves it out
	Progress func(done, total Seq)       // called now and then; may be nil
}

// Broken says which record is the first that is not what was recorded.
type Broken struct {
	Seq    Seq
	Reason string
}

// Error names the record and the reason.
func (b *Broken) Error() string { return b.Reason }

// Verify walks the whole chain from the first record and recomputes hashes, index and snapshot. It returns the head
// that it verified, or a *Broken.
func (j *Journal) Verify(ctx context.Context, v Verification) (Head, error) { return Head{}, nil }
