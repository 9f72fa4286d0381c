package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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
	*s = sums{every: s.every, restores: s.restores + 1, follows: s.follows, refuse: s.refuse}
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

func (s *sums) Snapshot(since int) []byte {
	if since != maxSnapshot && (s.every == 0 || since < s.every) {
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
		{0, 0, 1, 3}, {-time.Hour, -time.Second, 0, 0}, {time.Hour, 2 * time.Hour, 0, 0},
		{time.Second, 2 * time.Second, 4, 9}, {time.Nanosecond, time.Second, 4, 6}, {0, time.Second - 1, 1, 3},
		{233 * time.Second, time.Hour, 700, 700}, {-time.Hour, time.Hour, 1, 700}, {time.Hour, -time.Hour, 0, 0},
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
