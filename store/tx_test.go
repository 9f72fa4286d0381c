package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

//attack:store-log-size
func TestALongReadDoesNotLeaveALargeLogBehind(t *testing.T) {
	db := open(t, config(t))
	reader, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	read := func(query string) {
		t.Helper()
		if _, err := reader.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	read("BEGIN DEFERRED")
	read("SELECT count(*) FROM notes")
	write := func(times int) (size int64) {
		t.Helper()
		for range times {
			if err := Immediate(t.Context(), db, insert(strings.Repeat("x", 1<<20))); err != nil {
				t.Fatal(err)
			}
		}
		info, err := os.Stat(db.Path() + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if size := write(12); size <= LogSize {
		t.Fatalf("the log has only %d bytes", size)
	}
	read("ROLLBACK")
	if size := write(10); size > LogSize {
		t.Fatalf("the log still has %d bytes", size)
	}
}

func TestImmediateRollsBackOnErrorsAndPanics(t *testing.T) {
	db := open(t, config(t))
	sour := errors.New("sour")
	err := Immediate(t.Context(), db, func(tx *Tx) error { return errors.Join(insert("x")(tx), sour) })
	if !errors.Is(err, sour) {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = Immediate(t.Context(), db, func(tx *Tx) error { _ = insert("y")(tx); panic("sour") })
	}()
	// A statement error inside must not let later statements commit.
	err = Immediate(t.Context(), db, func(tx *Tx) error {
		if _, err := tx.Exec("ROLLBACK"); err != nil {
			t.Error(err)
		}
		return insert("outside")(tx)
	})
	if err == nil {
		t.Error("a commit without a transaction passed for one")
	}
	if err := Immediate(t.Context(), db, insert("z")); err != nil {
		t.Fatal(err)
	}
}

func TestImmediateIgnoresACancelOnceItHasBegun(t *testing.T) {
	db := open(t, config(t))
	ctx, cancel := context.WithCancel(t.Context())
	err := Immediate(ctx, db, func(tx *Tx) error {
		if err := insert("before")(tx); err != nil {
			return err
		}
		cancel()
		return insert("after")(tx)
	})
	if err != nil || count(t, db) != 2 {
		t.Fatalf("%v, %d notes", err, count(t, db))
	}
	if err := Immediate(ctx, db, insert("late")); !errors.Is(err, context.Canceled) && err != nil {
		t.Fatal(err)
	}
}

//attack:store-busy-default
func TestImmediateGivesUpWhenAnotherHoldsTheLock(t *testing.T) {
	cfg := config(t)
	cfg.Busy = 30 * time.Millisecond
	db, other := open(t, cfg), open(t, cfg)
	if d, err := (Config{Path: "x", AppID: 1, Migrations: notes()}).withDefaults(); err != nil || d.Busy != DefaultBusy {
		t.Fatal(d, err)
	}
	hold, done := make(chan struct{}), make(chan error)
	go func() {
		done <- Immediate(context.Background(), other, func(tx *Tx) error { close(hold); <-done; return insert("held")(tx) })
	}()
	<-hold
	if err := Immediate(t.Context(), db, insert("x")); !Busy(err) {
		t.Fatalf("error %v, want busy", err)
	}
	done <- nil
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// And when the other one does not know the turnstile.
	raw, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := Immediate(t.Context(), db, insert("x")); !Busy(err) {
		t.Fatalf("error %v, want busy", err)
	}
	if _, err := raw.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	if err := Immediate(t.Context(), db, insert("free")); err != nil || count(t, db) != 2 {
		t.Fatal(err)
	}
}

func TestImmediateSerialisesManyWriters(t *testing.T) {
	cfg := config(t)
	cfg.Busy = 20 * time.Second
	dbs := []*DB{open(t, cfg), open(t, cfg), open(t, cfg)}
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			err := Immediate(t.Context(), dbs[i%3], func(tx *Tx) error {
				var n int
				if err := tx.QueryRow("SELECT count(*) FROM notes").Scan(&n); err != nil {
					return err
				}
				_, err := tx.Exec("INSERT INTO notes(id, text) VALUES (?, 'x')", n+1)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := count(t, dbs[0]); n != 60 {
		t.Fatal(n)
	}
}

func TestImmediateFailsWhenTheDatabaseWasRemovedOrReplaced(t *testing.T) {
	cfg := config(t)
	db := open(t, cfg)
	if err := Immediate(t.Context(), db, insert("x")); err != nil {
		t.Fatal(err)
	}
	err := Immediate(t.Context(), db, func(tx *Tx) error { return errors.Join(insert("y")(tx), os.Remove(cfg.Path)) })
	if err == nil {
		t.Fatal("a commit into a removed file passed for durable")
	}
	if err := Immediate(t.Context(), db, insert("z")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v", err)
	}
	if err := os.WriteFile(cfg.Path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Immediate(t.Context(), db, insert("z")); err == nil {
		t.Fatal("a commit into a replaced file passed for durable")
	}
}

//attack:store-shrunk
func TestImmediateFailsWhenTheDatabaseWasCut(t *testing.T) {
	cfg := config(t)
	db := open(t, cfg)
	if err := Immediate(t.Context(), db, insert("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(cfg.Path, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Immediate(t.Context(), db, insert("z")); err == nil {
			t.Fatal("a commit into a file that was cut passed for durable")
		}
	}
}

func TestImmediateFailsWhenASideFileWasRemoved(t *testing.T) {
	for _, suffix := range []string{"-wal", "-shm"} {
		db := open(t, config(t))
		if err := Immediate(t.Context(), db, insert("x")); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(db.Path() + suffix); err != nil {
			t.Fatal(err)
		}
		if err := Immediate(t.Context(), db, insert("z")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s: error %v", suffix, err)
		}
	}
}

func TestTurnstilePassesOnATurnThatComesTooLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	a, b, c := NewTurnstile(path), NewTurnstile(path), NewTurnstile(path)
	if err := a.Enter(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := b.Enter(t.Context(), time.Millisecond); !errors.Is(err, ErrTurnstile) {
			t.Fatal(err)
		}
	}
	a.Leave() // b gets it, too late
	if err := c.Enter(t.Context(), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := b.Enter(t.Context(), time.Millisecond); !errors.Is(err, ErrTurnstile) {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil { // while its goroutine waits in the kernel
		t.Fatal(err)
	}
	if err := b.Enter(t.Context(), time.Second); !errors.Is(err, ErrTurnstileClosed) {
		t.Fatal(err)
	}
	c.Leave()
	if err := a.Enter(t.Context(), 10*time.Second); err != nil { // after b's goroutine has passed it on
		t.Fatal(err)
	}
	for _, x := range []*Turnstile{a, b, c, a} {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTurnstileCloseWakesWhoWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	a, b := NewTurnstile(path), NewTurnstile(path)
	defer a.Close()
	if err := a.Enter(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() { got <- b.Enter(t.Context(), time.Hour) }()
	for waiting := false; !waiting; {
		b.mu.Lock()
		waiting = b.waiter != nil
		b.mu.Unlock()
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; !errors.Is(err, ErrTurnstileClosed) {
		t.Fatal(err)
	}
	a.Leave()
}

func TestTurnstileRefusesLinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.Symlink(path+".elsewhere", path+".next"); err != nil {
		t.Fatal(err)
	}
	if err := NewTurnstile(path).Enter(t.Context(), 0); err == nil {
		t.Fatal("followed a link")
	}
}

func TestBackupCopiesOneMomentWhileOthersWrite(t *testing.T) {
	cfg := config(t)
	cfg.Migrations = schema("CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT; CREATE TABLE twin(id INTEGER PRIMARY KEY) STRICT;")
	db := open(t, cfg)
	stop, stopped := make(chan struct{}), make(chan error, 1)
	started := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			err := Immediate(context.Background(), db, func(tx *Tx) error {
				_, err := tx.Exec("INSERT INTO twin DEFAULT VALUES")
				return errors.Join(err, insert(strings.Repeat("x", 3000))(tx))
			})
			if err != nil {
				stopped <- err
				return
			}
			if n == 20 {
				close(started)
			}
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
		}
	}()
	<-started
	for i := range 3 {
		copied := cfg
		copied.Create, copied.Path = false, filepath.Join(filepath.Dir(cfg.Path), "copy"+string(rune('0'+i)))
		if err := db.Backup(t.Context(), copied.Path); err != nil {
			t.Fatal(err)
		}
		if err := db.Backup(t.Context(), copied.Path); !errors.Is(err, fs.ErrExist) {
			t.Fatalf("error %v, want fs.ErrExist", err)
		}
		b := open(t, copied)
		var twins int
		if err := b.QueryRow("SELECT count(*) FROM twin").Scan(&twins); err != nil {
			t.Fatal(err)
		}
		if n := count(t, b); n != twins || n < 20 {
			t.Fatalf("%d notes and %d twins", n, twins)
		}
		if err := Immediate(t.Context(), b, insert("the copy can be written")); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(t.Context(), cfg.Path); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("a backup onto itself: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(cfg.Path), "*.new*")); len(left) != 0 {
		t.Fatalf("left %v", left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Backup(ctx, cfg.Path+".never"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
