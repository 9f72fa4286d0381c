package journal

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestUpdateIsThereAfterReopening(t *testing.T) {
	f := &sums{}
	cfg := newConfig(t, f)
	j := create(t, cfg)
	k := Key{"id", "1"}
	update(t, j, f.put("a", "one", k))
	update(t, j, f.put("b", "two"))
	update(t, j, func(tx *Tx) error { return errors.Join(f.put("a", "")(tx), f.put("a", "four", k)(tx)) })
	closed(t, j)
	if left, _ := filepath.Glob(cfg.Path + "-*"); len(left) != 0 {
		t.Fatalf("closing left %v", left)
	}

	again := &sums{}
	cfg.Follower = again
	j = reopen(t, cfg)
	if got := bodies(t, j); !slices.Equal(got, []string{"one", "two", "", "four"}) {
		t.Fatalf("%q", got)
	}
	if !bytes.Equal(f.state(), again.state()) {
		t.Fatalf("%s, then %s", f.state(), again.state())
	}
	found, err := j.Find(t.Context(), k)
	if err != nil || len(found) != 2 || found[0].Seq != 1 || found[1].Seq != 4 || found[0].Stream != "a" {
		t.Fatalf("%v, %v", found, err)
	}
	verified(t, j, Verification{Follower: &sums{}})
}

func TestRecordsKeepWhatWasAppended(t *testing.T) {
	f := &sums{}
	j := create(t, newConfig(t, f))
	body := make([]byte, 256)
	for i := range body {
		body[i] = byte(i)
	}
	var head Head
	update(t, j, func(tx *Tx) error {
		head = tx.Append("ström\x00e", noon, body)
		f.apply("ström\x00e", body)
		if tx.Head() != head || !tx.LastAt().Equal(noon.Truncate(time.Microsecond)) {
			t.Errorf("head %v, last %v", tx.Head(), tx.LastAt())
		}
		return nil
	})
	for r, err := range j.Backward(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		want := Record{Seq: 1, Stream: "ström\x00e", At: noon.UTC().Truncate(time.Microsecond), Body: body, Hash: head.Hash}
		if r.At != want.At || r.Stream != want.Stream || !bytes.Equal(r.Body, want.Body) || r.Hash != want.Hash || r.Seq != 1 {
			t.Fatalf("%+v, want %+v", r, want)
		}
	}
	verified(t, j, Verification{Contains: &head})
}

func TestAFailedDecideContributesNothing(t *testing.T) {
	f := &sums{}
	j := create(t, newConfig(t, f))
	sour := errors.New("sour")
	update(t, j, f.put("a", "one"))
	before, _ := j.Head(t.Context())
	err := j.Update(t.Context(), func(tx *Tx) error {
		tx.Append("a", noon, []byte("two"), Key{"k", "v"})
		return sour
	})
	if err != sour {
		t.Fatalf("error %v, want the decide's own", err)
	}
	if after, _ := j.Head(t.Context()); after != before {
		t.Fatalf("head %v, was %v", after, before)
	}
	update(t, j, func(tx *Tx) error {
		if found, err := tx.Find(Key{"k", "v"}); err != nil || len(found) != 0 {
			t.Errorf("%v, %v", found, err)
		}
		return f.put("a", "three")(tx)
	})
	if f.restores != 1 {
		t.Errorf("%d restores: a decide's error put the state in doubt", f.restores-1)
	}
	verified(t, j, Verification{Keys: func(Record) ([]Key, error) { return nil, nil }})
	folded(t, j, f)
}

func TestAnUpdateWithoutARecordCommitsNothing(t *testing.T) {
	f := &sums{}
	j := create(t, newConfig(t, f))
	update(t, j, nothing)
	if h, err := j.Head(t.Context()); err != nil || h != (Head{}) {
		t.Fatal(h, err)
	}
	update(t, j, f.put("a", "x"))
	folded(t, j, f)
}

// TestFirstBatchOfAProcessAsksForNoMoreThanItStores: a process that appends once and ends leaves a snapshot to the next
// one when that is worth it, and lets its follower write none when it is not.
func TestFirstBatchOfAProcessAsksForNoMoreThanItStores(t *testing.T) {
	f := &sums{}
	cfg := newConfig(t, f)
	closed(t, create(t, cfg))
	large := strings.Repeat("x", firstSnapshot)
	for i, c := range []struct{ most, follows int }{
		{firstSnapshot / 2, 0}, {firstSnapshot, 1}, {3 * firstSnapshot / 2, 2}, // which takes the state with the last body in it
		{-1, 0}, // little was appended since, so nothing is asked for
	} {
		body := large
		if c.most < 0 {
			body = "x"
		}
		f.follows, f.most = 0, -1
		j := reopen(t, cfg)
		update(t, j, f.put("a", body))
		closed(t, j)
		if f.most != c.most || f.follows != c.follows {
			t.Errorf("process %d folded %d records and was asked for at most %d bytes; want %d and %d", i+1, f.follows, f.most, c.follows, c.most)
		}
	}
}

func TestAPanicFailsTheBatchAndLeavesTheProcessAlive(t *testing.T) {
	f := &sums{}
	j := create(t, newConfig(t, f))
	update(t, j, f.put("a", "one"))
	err := j.Update(t.Context(), func(tx *Tx) error {
		_ = f.put("a", "two")(tx)
		panic("sour")
	})
	if err == nil || !strings.Contains(err.Error(), "sour") {
		t.Fatalf("error %v", err)
	}
	update(t, j, f.put("a", "three"))
	if got := bodies(t, j); !slices.Equal(got, []string{"one", "three"}) {
		t.Fatalf("%q", got)
	}
	folded(t, j, f)
}

func TestAPanicFailsEverybodyInTheBatch(t *testing.T) {
	f := &sums{}
	j := create(t, newConfig(t, f))
	errs := together(t, j, f.put("a", "one"), func(*Tx) error { panic("sour") }, f.put("a", "three"))
	for i, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "sour") {
			t.Errorf("caller %d got %v", i, err)
		}
	}
	if got := bodies(t, j); len(got) != 0 {
		t.Fatalf("%q", got)
	}
	update(t, j, f.put("a", "four"))
	folded(t, j, f)
}

func TestCallersOfABatchSeeEachOther(t *testing.T) {
	f := &sums{}
	j := create(t, newConfig(t, f))
	sour := errors.New("sour")
	k := Key{"id", "x"}
	see := func(want int) func(*Tx) error {
		return func(tx *Tx) error {
			found, err := tx.Find(k)
			if err != nil || len(found) != want || int(tx.Head().Seq) != f.Count {
				t.Errorf("found %d of %d, head %d, state %d, %v", len(found), want, tx.Head().Seq, f.Count, err)
			}
			return nil
		}
	}
	both := func(a, b func(*Tx) error) func(*Tx) error {
		return func(tx *Tx) error { return errors.Join(a(tx), b(tx)) }
	}
	errs := together(t, j,
		both(see(0), f.put("a", "one", k)),
		both(see(1), func(tx *Tx) error { tx.Append("a", noon, nil, k); return sour }),
		both(see(1), f.put("a", "two", k, k)),
		see(2))
	if errs[0] != nil || errs[2] != nil || errs[3] != nil || !errors.Is(errs[1], sour) {
		t.Fatal(errs)
	}
	update(t, j, see(2))
	if got := bodies(t, j); !slices.Equal(got, []string{"one", "two"}) {
		t.Fatalf("%q", got)
	}
	verified(t, j, Verification{Keys: func(Record) ([]Key, error) { return []Key{k, k}, nil }, Follower: &sums{}})
	folded(t, j, f)
}

func TestADecideThatEndsItsGoroutineFailsItsBatchOnly(t *testing.T) {
	f := &sums{}
	j := create(t, newConfig(t, f))
	<-j.token
	var wg sync.WaitGroup
	returned := false
	wg.Go(func() {
		_ = j.Update(context.Background(), func(tx *Tx) error { _ = f.put("a", "x")(tx); runtime.Goexit(); return nil })
		returned = true
	})
	waiting(t, j, 1)
	var second error
	wg.Go(func() { second = j.Update(context.Background(), f.put("a", "y")) })
	waiting(t, j, 2)
	j.token <- struct{}{}
	wg.Wait()
	if returned || second == nil {
		t.Fatalf("returned %v, the other got %v", returned, second)
	}
	update(t, j, f.put("a", "z"))
	if got := bodies(t, j); !slices.Equal(got, []string{"z"}) {
		t.Fatalf("%q", got)
	}
	folded(t, j, f)
}

func TestAQueuedCallerCanLeaveButATakenOneGetsTheTruth(t *testing.T) {
	f := &sums{}
	j := create(t, newConfig(t, f))
	<-j.token
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error, 3)
	go func() { results <- j.Update(t.Context(), f.put("a", "leader")) }()
	waiting(t, j, 1)
	go func() { results <- j.Update(ctx, f.put("a", "left")) }()
	waiting(t, j, 2)
	cancel()
	if err := <-results; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	j.token <- struct{}{}
	if err := <-results; err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	err := j.Update(ctx, func(tx *Tx) error { cancel(); return f.put("a", "taken")(tx) })
	if err != nil {
		t.Fatalf("a taken caller got %v", err)
	}
	if err := j.Update(ctx, f.put("a", "never")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := bodies(t, j); !slices.Equal(got, []string{"leader", "taken"}) {
		t.Fatalf("%q", got)
	}
	folded(t, j, f)
}

//attack:journal-batch
func TestABatchIsBounded(t *testing.T) {
	f := &sums{}
	j := create(t, newConfig(t, f))
	<-j.token
	var wg sync.WaitGroup
	for range MaxBatch + 40 {
		wg.Go(func() {
			if err := j.Update(context.Background(), f.put("a", "x")); err != nil {
				t.Error(err)
			}
		})
	}
	waiting(t, j, MaxBatch+40)
	taken := j.queue.gather()
	if len(taken) != MaxBatch {
		t.Errorf("%d were taken", len(taken))
	}
	j.queue.mu.Lock() // put them back
	j.queue.waiting = append(taken, j.queue.waiting...)
	j.queue.mu.Unlock()
	j.token <- struct{}{}
	wg.Wait()
	if n := len(bodies(t, j)); n != MaxBatch+40 {
		t.Fatal(n)
	}
	folded(t, j, f)
}

//attack:journal-stream
//attack:journal-body
//attack:journal-keys
//attack:journal-update-bytes
func TestAppendOverALimitFailsTheUpdate(t *testing.T) {
	many := make([]Key, MaxKeys+1)
	for name, c := range map[string]struct {
		good, bad func(tx *Tx)
	}{
		"stream": {
			func(tx *Tx) { tx.Append(strings.Repeat("s", MaxStream), noon, nil) },
			func(tx *Tx) { tx.Append(strings.Repeat("s", MaxStream+1), noon, nil) },
		},
		"no stream": {
			func(tx *Tx) { tx.Append("s", noon, nil) },
			func(tx *Tx) { tx.Append("", noon, nil) },
		},
		"body": {
			func(tx *Tx) { tx.Append("s", noon, make([]byte, MaxBody)) },
			func(tx *Tx) { tx.Append("s", noon, make([]byte, MaxBody+1)) },
		},
		"keys": {
			func(tx *Tx) { tx.Append("s", noon, nil, many[:MaxKeys]...) },
			func(tx *Tx) { tx.Append("s", noon, nil, many...) },
		},
		"update": {
			func(tx *Tx) {
				for range MaxUpdate / MaxBody {
					tx.Append("s", noon, make([]byte, MaxBody))
				}
			},
			func(tx *Tx) {
				for range MaxUpdate / MaxBody {
					tx.Append("s", noon, make([]byte, MaxBody))
				}
				tx.Append("s", noon, []byte{1})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := create(t, newConfig(t, &sums{}))
			if err := j.Update(t.Context(), func(tx *Tx) error { c.bad(tx); return nil }); err == nil {
				t.Fatal("over the limit was taken")
			}
			if h, err := j.Head(t.Context()); err != nil || h.Seq != 0 {
				t.Fatal(h, err)
			}
			update(t, j, func(tx *Tx) error { c.good(tx); return nil })
			if h, err := j.Head(t.Context()); err != nil || h.Seq == 0 {
				t.Fatal(h, err)
			}
		})
	}
}

func TestTimesNeverFall(t *testing.T) {
	f := &sums{}
	cfg := newConfig(t, f)
	j := create(t, cfg)
	at := func(d time.Duration) func(*Tx) error {
		return func(tx *Tx) error { tx.Append("a", noon.Add(d), nil); f.apply("a", nil); return nil }
	}
	for _, d := range []time.Duration{0, -time.Hour, time.Second, 0, time.Second + 999} {
		update(t, j, at(d))
	}
	closed(t, j)
	j = reopen(t, cfg)
	update(t, j, at(-time.Second))
	base := noon.UTC().Truncate(time.Microsecond)
	want := []time.Duration{0, 0, time.Second, time.Second, time.Second + 1000, time.Second + 1000}
	for r, err := range j.Records(t.Context(), 1) {
		if err != nil || r.At != base.Add(want[r.Seq-1]) {
			t.Errorf("record %d at %v, %v", r.Seq, r.At, err)
		}
	}
	verified(t, j, Verification{})
}

func TestCreateRecordsTheFirstOnce(t *testing.T) {
	cfg := newConfig(t, &sums{})
	first := func(tx *Tx) error {
		tx.Append("switch", noon, []byte("off"), Key{"kind", "first"})
		if found, err := tx.Find(Key{"kind", "first"}); err != nil || len(found) != 1 {
			t.Errorf("%v, %v", found, err)
		}
		tx.Append("policy", noon, []byte("default"))
		return nil
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	made, taken := 0, 0
	for range 8 {
		wg.Go(func() {
			mine := cfg
			mine.Follower = &sums{}
			j, err := Create(t.Context(), mine, first)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made++
				closed(t, j)
			case errors.Is(err, fs.ErrExist):
				taken++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if made != 1 || taken != 7 {
		t.Fatalf("made %d, taken %d", made, taken)
	}
	f := &sums{}
	cfg.Follower = f
	j := reopen(t, cfg)
	if got := bodies(t, j); !slices.Equal(got, []string{"off", "default"}) {
		t.Fatalf("%q", got)
	}
	verified(t, j, Verification{Follower: &sums{}, Keys: func(r Record) ([]Key, error) {
		return map[Seq][]Key{1: {{"kind", "first"}}}[r.Seq], nil
	}})
	update(t, j, f.put("a", "x"))
	folded(t, j, f)
}

func TestOnlyTheFirstDecideOfABatchIsFirst(t *testing.T) {
	j := create(t, newConfig(t, &sums{}))
	var first []bool
	note := func(tx *Tx) error { first = append(first, tx.First()); return nil }
	for _, err := range together(t, j, note, note, note) {
		if err != nil {
			t.Fatal(err)
		}
	}
	update(t, j, note)
	if want := []bool{true, false, false, true}; !slices.Equal(first, want) {
		t.Fatalf("%v, want %v", first, want)
	}
}

// TestRecordsAreReadAgainOnlyAfterSomebodyElseHasCommitted: what a process has appended itself it has folded already.
func TestRecordsAreReadAgainOnlyAfterSomebodyElseHasCommitted(t *testing.T) {
	f, g := &sums{}, &sums{}
	cfg := newConfig(t, f)
	j := create(t, cfg)
	cfg.Follower = g
	other := reopen(t, cfg)
	has := func(want bool) {
		t.Helper()
		if read := j.w.prepared[stFrom] != nil; read != want {
			t.Fatalf("records were read: %t, want %t", read, want)
		}
		j.w.finalize()
	}
	update(t, j, f.put("a", "one"))
	has(true) // on its first look
	update(t, j, f.put("a", "two"))
	update(t, j, f.put("a", "three"))
	has(false)
	update(t, other, g.put("b", "four"))
	update(t, j, f.put("a", "five"))
	has(true)
	if err := j.Update(t.Context(), func(*Tx) error { return errors.New("sour") }); err == nil {
		t.Fatal("a decide that fails went well")
	}
	update(t, j, f.put("a", "six"))
	has(false)
	folded(t, j, f)
	folded(t, other, g)
}

// TestSnapshotOfAnotherProcessIsNotTakenAgain: who reads on behind a snapshot counts from there.
func TestSnapshotOfAnotherProcessIsNotTakenAgain(t *testing.T) {
	f, g := &sums{every: 1000}, &sums{every: 1000}
	cfg := newConfig(t, f)
	j := create(t, cfg)
	cfg.Follower = g
	other := reopen(t, cfg)
	taken := func(want Seq) {
		t.Helper()
		var seq Seq
		if err := j.db.QueryRowContext(t.Context(), stSnapshotSeq.text()).Scan(&seq); err != nil || seq != want {
			t.Fatalf("the snapshot is of record %d, want %d; %v", seq, want, err)
		}
	}
	long, half := strings.Repeat("x", 1000), strings.Repeat("y", 500)
	update(t, j, f.put("a", long))
	taken(1)
	update(t, other, g.put("b", half))
	taken(1)
	update(t, j, f.put("a", "three"))
	taken(1)
	update(t, other, g.put("b", half))
	taken(4)
	update(t, j, f.put("a", half))
	taken(4)
	update(t, j, f.put("a", half))
	taken(6)
	verified(t, j, Verification{Follower: &sums{}})
}

// large is a follower whose snapshots have one length, and change at their end.
type large struct{ state [400 << 10]byte }

func (l *large) Restore(Seq, []byte) error { return nil }

func (l *large) Follow(Record) error { return nil }

func (l *large) Snapshot(int, int) []byte {
	l.state[len(l.state)-1]++
	return l.state[:]
}

func TestSnapshotWritesOnlyThePagesThatChanged(t *testing.T) {
	cfg := newConfig(t, &large{})
	j := create(t, cfg)
	one := func(tx *Tx) error { tx.Append("a", noon, []byte("one")); return nil }
	update(t, j, func(tx *Tx) error { return errors.Join(one(tx), one(tx)) }) // the number 1 is stored shorter than others
	before := logSize(t, cfg)
	update(t, j, one)
	if written := (logSize(t, cfg) - before) >> 12; before < 400<<10 || written > 8 {
		t.Errorf("%d pages were written, and %d bytes for the first one", written, before)
	}
}

func logSize(t *testing.T, cfg Config) int64 {
	t.Helper()
	info, err := os.Stat(cfg.Path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
