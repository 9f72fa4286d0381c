package journal

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("JOURNAL_TEST_CHILD"); mode != "" {
		os.Exit(child(mode))
	}
	goleak.VerifyTestMain(m)
}

func TestCreateLeavesNothingWhenFirstFails(t *testing.T) {
	cfg := newConfig(t, &sums{})
	sour := errors.New("sour")
	if _, err := Create(t.Context(), cfg, func(*Tx) error { return sour }); !errors.Is(err, sour) {
		t.Fatal(err)
	}
	if _, err := Create(t.Context(), cfg, func(*Tx) error { panic("sour") }); err == nil {
		t.Fatal("made a journal out of a panic")
	}
	if _, err := Create(t.Context(), cfg, func(tx *Tx) error { tx.Append("", noon, nil); return nil }); err == nil {
		t.Fatal("made a journal over a limit")
	}
	if _, err := Open(t.Context(), cfg); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func TestOpenRefusesWhatIsNoJournal(t *testing.T) {
	cfg := newConfig(t, &sums{})
	if _, err := Open(t.Context(), cfg); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(cfg.Path)); len(left) != 0 {
		t.Fatalf("opening made %v", left)
	}
	if err := os.WriteFile(cfg.Path, bytes.Repeat([]byte("junk"), 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), cfg); err == nil {
		t.Fatal("opened garbage")
	}
	if _, err := Create(t.Context(), cfg, nothing); !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	for _, bad := range []Config{{Path: cfg.Path}, {LockWait: time.Second}} {
		if _, err := Open(t.Context(), bad); err == nil {
			t.Error("opened without path or lock wait")
		}
	}
}

func TestOpenOfATruncatedJournalIsAnError(t *testing.T) {
	f := &sums{}
	cfg := newConfig(t, f)
	j := create(t, cfg)
	for range 40 {
		update(t, j, f.put("a", strings.Repeat("x", 3000), Key{"k", "v"}))
	}
	closed(t, j)
	whole, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	for size := len(whole) - 1000; size > 0; size -= 9000 {
		if err := os.WriteFile(cfg.Path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := Open(t.Context(), cfg)
		if err == nil {
			_, err = j.Verify(t.Context(), Verification{Follower: &sums{}, Keys: func(Record) ([]Key, error) { return []Key{{"k", "v"}}, nil }})
			closed(t, j)
		}
		if err == nil {
			t.Errorf("%d of %d bytes opened and verified", size, len(whole))
		}
	}
}

func TestAJournalWithoutAFollowerIsForReading(t *testing.T) {
	f := &sums{}
	cfg := newConfig(t, f)
	j := create(t, cfg)
	update(t, j, f.put("a", "x", Key{"k", "v"}))
	cfg.Follower = nil
	r := reopen(t, cfg)
	if err := r.Update(t.Context(), nothing); err == nil {
		t.Error("updated without a follower")
	}
	if err := r.Read(t.Context(), func() error { return nil }); err == nil {
		t.Error("read without a follower")
	}
	if got := bodies(t, r); !slices.Equal(got, []string{"x"}) {
		t.Fatalf("%q", got)
	}
	if found, err := r.Find(t.Context(), Key{"k", "v"}); err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
}

func TestEverythingAfterCloseIsRefused(t *testing.T) {
	f := &sums{}
	j := create(t, newConfig(t, f))
	closed(t, j)
	closed(t, j)
	if err := j.Update(t.Context(), nothing); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := j.Read(t.Context(), func() error { return nil }); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := j.Head(t.Context()); err == nil {
		t.Error("read the head of a closed journal")
	}
	if _, err := j.Verify(t.Context(), Verification{}); err == nil {
		t.Error("verified a closed journal")
	}
}

func TestCloseWaitsForTheCommitAndEndsWhoQueues(t *testing.T) {
	f := &sums{}
	cfg := newConfig(t, f)
	j := create(t, cfg)
	inside, goOn := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- j.Update(context.Background(), func(tx *Tx) error { close(inside); <-goOn; return f.put("a", "x")(tx) })
	}()
	<-inside
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if err := j.Update(context.Background(), f.put("a", "never")); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		})
	}
	waiting(t, j, 5)
	done := make(chan error, 1)
	go func() { done <- j.Close() }()
	wg.Wait()
	select {
	case err := <-done:
		t.Fatalf("closed under a commit: %v", err)
	default:
	}
	close(goOn)
	if err := errors.Join(<-first, <-done); err != nil {
		t.Fatal(err)
	}
	if got := bodies(t, reopen(t, cfg)); !slices.Equal(got, []string{"x"}) {
		t.Fatalf("%q", got)
	}
}
