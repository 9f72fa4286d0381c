package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAtFindsByTime(t *testing.T) {
	f := &sums{}
	j := create(t, newConfig(t, f))
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	update(t, j, func(tx *Tx) error {
		for i := range 700 { // three of each second
			tx.Append("a", base.Add(time.Duration(i/3)*time.Second), []byte{byte(i)})
			f.apply("a", []byte{byte(i)})
		}
		return nil
	})
	for _, c := range []struct {
		from, to    time.Duration
		first, last Seq
	}{
		{0, 0, 1, 3},
		{-time.Hour, -time.Second, 0, 0},
		{time.Hour, 2 * time.Hour, 0, 0},
		{time.Second, 2 * time.Second, 4, 9},
		{time.Nanosecond, time.Second, 4, 6},
		{0, time.Second - 1, 1, 3},
		{233 * time.Second, time.Hour, 700, 700},
		{-time.Hour, time.Hour, 1, 700},
		{time.Hour, -time.Hour, 0, 0},
	} {
		var got []Seq
		for r, err := range j.At(t.Context(), base.Add(c.from), base.Add(c.to)) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.Seq)
		}
		var want []Seq
		for s := c.first; s > 0 && s <= c.last; s++ {
			want = append(want, s)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v to %v: %v", c.from, c.to, got)
		}
	}
}

// TestSearchFindsWhatALookThroughFindsAndLooksAtFew counts what is looked at, for everything that may be looked for.
func TestSearchFindsWhatALookThroughFindsAndLooksAtFew(t *testing.T) {
	for _, last := range []Seq{0, 1, 2, 3, 7, 8, 100, 1000} {
		for want := Seq(1); want <= last+1; want++ {
			for _, fromEnd := range []bool{true, false} {
				looks := 0
				got, err := search(1, last+1, fromEnd, func(s Seq) (bool, error) {
					if looks++; s < 1 || s > last {
						t.Fatalf("looks at %d of %d", s, last)
					}
					return s < want, nil
				})
				away := want - 1
				if fromEnd {
					away = last + 1 - want
				}
				if most := 2*bits.Len64(uint64(away)) + 1; got != want || err != nil || looks > most {
					t.Fatalf("%d of %d, from the end %t: %d after %d looks, %v; at most %d", want, last, fromEnd, got, looks, err, most)
				}
			}
		}
	}
	sour := errors.New("sour")
	if _, err := search(1, 9, true, func(Seq) (bool, error) { return false, sour }); !errors.Is(err, sour) {
		t.Error(err)
	}
}

func TestReadersPageThroughManyRecords(t *testing.T) {
	f := &sums{}
	j := create(t, newConfig(t, f))
	big := strings.Repeat("x", pageBytes/3)
	update(t, j, func(tx *Tx) error {
		for i := range 600 {
			_ = f.put("a", fmt.Sprint(i))(tx)
		}
		for range 7 {
			_ = f.put("a", big)(tx)
		}
		return nil
	})
	if n := len(bodies(t, j)); n != 607 {
		t.Fatal(n)
	}
	want := Seq(607)
	for r, err := range j.Backward(t.Context()) {
		if err != nil || r.Seq != want {
			t.Fatalf("record %d, want %d: %v", r.Seq, want, err)
		}
		want--
		if want == 300 {
			update(t, j, f.put("a", "appended meanwhile"))
		}
	}
	if want != 0 {
		t.Fatalf("ended before %d", want)
	}
	for r := range j.Records(t.Context(), 600) {
		if r.Seq == 602 {
			break
		}
	}
	n := 0
	for range j.Records(t.Context(), 1_000_000) {
		n++
	}
	if n != 0 {
		t.Fatalf("%d records after the end", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, seq := range []func(func(Record, error) bool){j.Records(ctx, 1), j.Backward(ctx), j.At(ctx, noon, noon)} {
		failed := 0
		for _, err := range seq {
			if err != nil {
				failed++
			}
		}
		if failed != 1 {
			t.Errorf("%d errors from a cancelled reader", failed)
		}
	}
}

func TestSnapshotsMakeOpeningIndependentOfTheJournal(t *testing.T) {
	f := &sums{every: 1000}
	cfg := newConfig(t, f)
	j := create(t, cfg)
	for i := range 100 {
		update(t, j, f.put("a", strings.Repeat("x", 90)+fmt.Sprint(i)))
	}
	closed(t, j)
	again := &sums{every: 1000}
	cfg.Follower = again
	j = reopen(t, cfg)
	if again.follows > 11 || again.follows == 0 {
		t.Errorf("followed %d records after the snapshot", again.follows)
	}
	folded(t, j, again)
	if !bytes.Equal(again.state(), f.state()) {
		t.Errorf("%s, was %s", again.state(), f.state())
	}
	verified(t, j, Verification{Follower: &sums{}})
	verified(t, j, Verification{})
	// The bytes counted since the snapshot survive reopening.
	n := again.follows
	for range 11 - n {
		update(t, j, again.put("a", strings.Repeat("x", 92)))
	}
	closed(t, j)
	third := &sums{}
	cfg.Follower = third
	reopen(t, cfg)
	if third.follows >= n {
		t.Errorf("followed %d, then %d: no snapshot was taken", n, third.follows)
	}
}

func TestTwoJournalsOnOneFileFollowEachOther(t *testing.T) {
	f, g := &sums{every: 500}, &sums{every: 500}
	cfg := newConfig(t, f)
	a := create(t, cfg)
	cfg.Follower = g
	b := reopen(t, cfg)
	k := Key{"k", "v"}
	for i := range 60 {
		j, s := a, f
		if i%3 == 0 {
			j, s = b, g
		}
		update(t, j, func(tx *Tx) error {
			if found, err := tx.Find(k); err != nil || len(found) != i || s.Count != i || int(tx.Head().Seq) != i {
				t.Fatalf("update %d: found %d, state %d, head %d, %v", i, len(found), s.Count, tx.Head().Seq, err)
			}
			return s.put("a", fmt.Sprint(i), k)(tx)
		})
	}
	folded(t, a, f)
	folded(t, b, g)
	verified(t, a, Verification{Follower: &sums{}, Keys: func(Record) ([]Key, error) { return []Key{k}, nil }})
}

func TestReadSeesWhatOthersCommitted(t *testing.T) {
	f, g := &sums{}, &sums{}
	cfg := newConfig(t, f)
	a := create(t, cfg)
	cfg.Follower = g
	b := reopen(t, cfg)
	for i := range 5 {
		update(t, a, f.put("a", "x"))
		err := b.Read(t.Context(), func() error {
			if g.Count != i+1 {
				return fmt.Errorf("state %d, want %d", g.Count, i+1)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// A reader needs no write lock.
	err := a.Update(t.Context(), func(tx *Tx) error { return b.Read(t.Context(), func() error { return nil }) })
	if err != nil {
		t.Fatal(err)
	}
	sour := errors.New("sour")
	if err := b.Read(t.Context(), func() error { return sour }); err != sour {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	<-b.token
	if err := b.Read(ctx, func() error { return nil }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.token <- struct{}{}
}

func TestAFollowerThatRefusesARecordFailsTheBatch(t *testing.T) {
	f, g := &sums{}, &sums{}
	cfg := newConfig(t, f)
	a := create(t, cfg)
	cfg.Follower = g
	b := reopen(t, cfg)
	update(t, a, f.put("a", "x"))
	g.refuse = errors.New("sour")
	if err := b.Update(t.Context(), nothing); !errors.Is(err, g.refuse) {
		t.Fatal(err)
	}
	if err := b.Read(t.Context(), func() error { return nil }); !errors.Is(err, g.refuse) {
		t.Fatal(err)
	}
	g.refuse = nil
	update(t, b, g.put("a", "y"))
	folded(t, b, g)
}

func TestBackupOpensAndVerifiesEqualWhileWritersRun(t *testing.T) {
	f := &sums{every: 3000}
	cfg := newConfig(t, f)
	j := create(t, cfg)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					update(t, j, f.put("a", strings.Repeat("x", 500), Key{"k", "v"}))
				}
			}
		})
	}
	update(t, j, f.put("a", "now", Key{"k", "v"}))
	for i := range 3 {
		early, err := j.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		copied := Config{Path: fmt.Sprintf("%s.%d", cfg.Path, i), LockWait: time.Second, Follower: &sums{}}
		if err := j.Backup(t.Context(), copied.Path); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(copied.Path); err != nil || info.Mode() != 0o600 {
			t.Fatal(info.Mode(), err)
		}
		if err := j.Backup(t.Context(), copied.Path); !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		b := reopen(t, copied)
		h := verified(t, b, Verification{
			Contains: &early, Follower: &sums{}, Keys: func(Record) ([]Key, error) { return []Key{{"k", "v"}}, nil },
		})
		if _, err := j.Verify(t.Context(), Verification{Contains: &h}); err != nil {
			t.Fatalf("the journal does not contain its backup: %v", err)
		}
	}
	close(stop)
	wg.Wait()
	folded(t, j, f)
}
