// Package store is the one way that this project opens an SQLite database: a private file, every commit on the disk
// before it returns, every setting read back and refused if it did not take. It knows no table of its own.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
)

// DefaultBusy is how long a transaction waits for a lock of another process where Config does not say.
//
//limit:store-busy-default A transaction waits at most 1 second for another process's lock unless the caller says otherwise.
const DefaultBusy = time.Second

// Config says what to open. Path, AppID and Migrations are required.
type Config struct {
	Path       string        // of the database file; its directory must exist and be private enough
	AppID      int32         // SQLite's application_id: a file with another one is not opened
	Migrations fs.FS         // 0001_name.sql, 0002_name.sql …: the schema, step by step; the last number is its version
	Busy       time.Duration // how long a transaction waits for a lock; zero means DefaultBusy
	Create     bool          // make the database if it is missing
	Look       bool          // only look: nothing can be written, and an older schema stays as it is
}

func (c Config) withDefaults() (Config, error) {
	if c.Path == "" || c.AppID == 0 || c.Migrations == nil {
		return c, errors.New("store: path, application id and migrations are required")
	}
	if c.Busy <= 0 {
		c.Busy = DefaultBusy
	}
	abs, err := filepath.Abs(c.Path)
	if err != nil {
		return c, fmt.Errorf("store: %w", err)
	}
	c.Path = abs
	return c, nil
}

// DB is an open database. It is safe for concurrent use. Reading goes through the embedded pool, writing through
// Immediate.
type DB struct {
	*sql.DB
	path string
	busy time.Duration
	file identity      // of the database file when it was opened
	size atomic.Int64  // of the database file when it was last looked at
	side *connector    // knows the files beside it
	turn chan struct{} // holds one token: who has it may enter the turnstile
	gate *Turnstile
}

// Open opens the database; a missing one is fs.ErrNotExist unless cfg.Create. An older schema is brought up to date unless
// cfg.Look, a newer one is refused, and so is a file that others can read or write, a link, or another application's
// database.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Create {
		if err := Create(ctx, cfg, nil); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	if err := checkDir(filepath.Dir(cfg.Path)); err != nil {
		return nil, err
	}
	id, err := checkFile(cfg.Path)
	if err != nil {
		return nil, err
	}
	db, err := openAt(cfg, id, false)
	if err != nil {
		return nil, err
	}
	if err := db.bringUpToDate(ctx, cfg); err != nil {
		db.Close()
		return nil, explain(cfg.Path, err)
	}
	return db, nil
}

// openAt opens a pool on the file, which must exist. Nothing is read yet.
func openAt(cfg Config, id identity, fresh bool) (*DB, error) {
	c, err := newConnector(cfg, fresh)
	if err != nil {
		return nil, err
	}
	db := &DB{
		DB: sql.OpenDB(c), path: cfg.Path, busy: cfg.Busy, file: id, side: c,
		turn: make(chan struct{}, 1), gate: NewTurnstile(cfg.Path),
	}
	db.turn <- struct{}{}
	return db, nil
}

// Close closes every connection; the last process to do so folds the write-ahead log into the file.
func (db *DB) Close() error { return errors.Join(db.DB.Close(), db.gate.Close()) }

// ShortLog is up to how many bytes of a write-ahead log a process that is about to end may leave to the next one.
//
//limit:store-short-log A process that ends leaves a write-ahead log of at most 128 KiB to the next one; a longer one it folds in.
const ShortLog = 128 << 10

// MayLeave reports whether a process that ends at once need not close the database at path. To fold the log in and
// remove it takes three syncs and two files more; the log is as durable as the database, and the next process reads one
// of this length in less than a tenth of a millisecond. For a process that goes on, not to close would be a leak.
func MayLeave(path string) bool {
	info, err := os.Lstat(path + "-wal")
	return err == nil && info.Size() <= ShortLog
}

// Path returns the absolute path of the database file.
func (db *DB) Path() string { return db.path }

// Turnstile returns the lock that keeps the writing processes in a fair order, for a caller who runs transactions of
// its own. Immediate uses the same one.
func (db *DB) Turnstile() *Turnstile { return db.gate }

// Moved returns an error if the database file or its write-ahead log is no longer the one that is open: what is written
// then is lost when the process ends, so it must not count as durable. It is to be called after BEGIN and after COMMIT,
// while the connection is held: with the last connection the log goes in good order.
//
//limit:store-shrunk A database file that is shorter than it was while it is open is an error; it only ever grows.
func (db *DB) Moved() error {
	size, err := same(db.path, db.file)
	if err != nil {
		return err
	}
	if size < db.size.Load() {
		return fmt.Errorf("store: %s was cut while it was open", db.path)
	}
	db.size.Store(size)
	for i := range db.side.files {
		if f := &db.side.files[i]; f.id.Load() != nil {
			if _, err := same(f.path, *f.id.Load()); err != nil {
				return err
			}
		}
	}
	return nil
}

// same returns the size of a file that must be the one that it was.
func same(path string, as identity) (size int64, err error) {
	id, size, err := measure(path)
	if err != nil {
		return 0, fmt.Errorf("store: the database was removed while it was open: %w", err)
	}
	if !id.same(as) {
		return 0, fmt.Errorf("store: %s was replaced while it was open", path)
	}
	return size, nil
}

// Busy reports whether err only says that another process held the lock for too long: nothing was changed.
func Busy(err error) bool {
	var e *sqlite.Error
	return errors.Is(err, ErrTurnstile) || errors.As(err, &e) && (e.Code()&0xff == codeBusy || e.Code()&0xff == codeLocked)
}

// SQLite's primary result codes that mean something to us.
const (
	codeBusy    = 5
	codeLocked  = 6
	codeCorrupt = 11
	codeNotADB  = 26
)

// explain puts the path and a plain sentence before what SQLite says.
func explain(path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case codeNotADB:
		return fmt.Errorf("store: %s is not an SQLite database: %w", path, err)
	case codeCorrupt:
		return fmt.Errorf("store: %s is damaged: %w", path, err)
	case codeBusy, codeLocked:
		return fmt.Errorf("store: %s is locked by another process: %w", path, err)
	}
	return fmt.Errorf("store: %s: %w", path, err)
}
