package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// sums is a follower whose state depends on every record and on their order.
type sums struct {
	Count int
	Last  string
	Mix   uint64
	Per   map[string]int // by stream

	every    int // bytes between snapshots; 0 takes none
	restores int
	follows  int
	refuse   error // what Follow returns
	most     int   // what the whole state was asked for with
}

func (s *sums) apply(stream string, body []byte) {
	s.Count++
	s.Last = string(body)
	for _, c := range body {
		s.Mix = s.Mix*1099511628211 + uint64(c)
	}
	if s.Per == nil {
		s.Per = map[string]int{}
	}
	s.Per[stream]++
}

func (s *sums) Restore(_ Seq, snapshot []byte) error {
	*s = sums{every: s.every, restores: s.restores + 1, follows: s.follows, refuse: s.refuse, most: s.most}
	if snapshot == nil {
		return nil
	}
	return json.Unmarshal(snapshot, s)
}

func (s *sums) Follow(r Record) error {
	s.follows++
	s.apply(r.Stream, r.Body)
	return s.refuse
}

func (s *sums) Snapshot(since, most int) []byte {
	if since == wholeState {
		s.most = most
	}
	if since != wholeState && (s.every == 0 || since < s.every) {
		return nil
	}
	return s.state()
}

func (s *sums) state() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return b
}

// put returns a decide that appends a body and applies it.
func (s *sums) put(stream, body string, keys ...Key) func(*Tx) error {
	return func(tx *Tx) error {
		tx.Append(stream, noon, []byte(body), keys...)
		s.apply(stream, []byte(body))
		return nil
	}
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.FixedZone("", 3600))

func newConfig(t testing.TB, f Follower) Config {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return Config{Path: filepath.Join(dir, "journal.db"), LockWait: 10 * time.Second, Follower: f}
}

func nothing(*Tx) error { return nil }

func create(t testing.TB, cfg Config) *Journal {
	t.Helper()
	j, err := Create(t.Context(), cfg, nothing)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func reopen(t testing.TB, cfg Config) *Journal {
	t.Helper()
	j, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func update(t testing.TB, j *Journal, decide func(*Tx) error) {
	t.Helper()
	if err := j.Update(t.Context(), decide); err != nil {
		t.Fatal(err)
	}
}

func closed(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// bodies returns every body, checking that numbers run without a gap.
func bodies(t testing.TB, j *Journal) (all []string) {
	t.Helper()
	for r, err := range j.Records(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if int(r.Seq) != len(all)+1 {
			t.Fatalf("record %d after %d", r.Seq, len(all))
		}
		all = append(all, string(r.Body))
	}
	return all
}

func verified(t testing.TB, j *Journal, v Verification) Head {
	t.Helper()
	h, err := j.Verify(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	if now, err := j.Head(t.Context()); err != nil || now != h {
		t.Fatalf("verified %v, head %v, %v", h, now, err)
	}
	return h
}

// folded checks that the follower's state is what a fresh one makes of all records.
func folded(t testing.TB, j *Journal, s *sums) {
	t.Helper()
	err := j.Read(t.Context(), func() error {
		fresh := &sums{}
		for r, err := range j.Records(t.Context(), 1) {
			if err != nil {
				return err
			}
			fresh.apply(r.Stream, r.Body)
		}
		if !bytes.Equal(fresh.state(), s.state()) {
			return fmt.Errorf("state %s, records fold to %s", s.state(), fresh.state())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// together runs decides in one batch, in order: they queue while the token is taken.
func together(t *testing.T, j *Journal, decides ...func(*Tx) error) []error {
	t.Helper()
	<-j.token
	errs := make([]error, len(decides))
	var wg sync.WaitGroup
	for i, d := range decides {
		wg.Go(func() { errs[i] = j.Update(context.Background(), d) })
		waiting(t, j, i+1)
	}
	j.token <- struct{}{}
	wg.Wait()
	return errs
}

// waiting returns when n requests are in the queue.
func waiting(t *testing.T, j *Journal, n int) {
	t.Helper()
	for {
		j.queue.mu.Lock()
		have := len(j.queue.waiting)
		j.queue.mu.Unlock()
		if have == n {
			return
		}
		runtime.Gosched()
	}
}
