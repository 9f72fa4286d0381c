package journal

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// bodySize is the size of a decision's record with its hash and stream: 964 bytes in all.
const bodySize = 930

// counter is the smallest follower: it counts what it saw.
type counter struct {
	n, bytes uint64
	every    int
}

func (c *counter) Restore(_ Seq, s []byte) error {
	*c = counter{every: c.every}
	if len(s) == 16 {
		c.n, c.bytes = binary.BigEndian.Uint64(s), binary.BigEndian.Uint64(s[8:])
	} else if len(s) != 0 {
		return errors.New("not a counter")
	}
	return nil
}

func (c *counter) Follow(r Record) error { c.apply(r.Body); return nil }

func (c *counter) apply(body []byte) { c.n, c.bytes = c.n+1, c.bytes+uint64(len(body)) }

func (c *counter) Snapshot(since, _ int) []byte {
	if since < c.every {
		return nil
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, c.n), c.bytes)
}

// rawLog is the yardstick: the same bytes to a growing file and one fdatasync, with the same queue and gathering.
type rawLog struct {
	queue queue
	file  *os.File
	buf   []byte
}

func (l *rawLog) lead(r *request) {
	taken := l.queue.gather()
	defer func() { l.queue.deliver(taken, r) }()
	l.buf = l.buf[:0]
	for range taken {
		l.buf = append(l.buf, rawRecord[:]...)
	}
	_, err := l.file.Write(l.buf)
	settle(taken, errors.Join(err, fdatasync(l.file)))
}

var rawRecord [bodySize + 34]byte

// load runs callers that each call do again and again for a while, and returns calls a second and the 99th percentile.
func load(callers int, d time.Duration, do func() error) (float64, time.Duration, error) {
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	times := make([][]time.Duration, callers)
	begin := time.Now()
	for i := range callers {
		wg.Go(func() {
			for time.Since(begin) < d {
				t := time.Now()
				if err := do(); err != nil {
					failed.Store(&err)
					return
				}
				times[i] = append(times[i], time.Since(t))
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	all := slices.Concat(times...)
	slices.Sort(all)
	if err := failed.Load(); err != nil {
		return 0, 0, *err
	}
	return float64(len(all)) / took.Seconds(), all[len(all)*99/100], nil
}

// decision appends one record with one key that was looked up before, as the gate does.
func decision(j *Journal, f *counter) func() error {
	return func() error {
		k := Key{Name: "call", Value: fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())}
		body := make([]byte, bodySize)
		return j.Update(context.Background(), func(tx *Tx) error {
			if found, err := tx.Find(k); err != nil || len(found) > 0 {
				return errors.Join(err, fmt.Errorf("found %d", len(found)))
			}
			tx.Append("account", time.Now(), body, k)
			f.apply(body)
			return nil
		})
	}
}

// fill appends n records with random keys in large transactions.
func fill(tb testing.TB, j *Journal, f *counter, n int) {
	tb.Helper()
	body := make([]byte, bodySize)
	for i := 0; i < n; i += 4096 {
		err := j.Update(tb.Context(), func(tx *Tx) error {
			for range min(4096, n-i) {
				tx.Append("account", time.Now(), body, Key{Name: "call", Value: fmt.Sprint(rand.Uint64())})
				f.apply(body)
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func benchJournal(b *testing.B, records int) (*Journal, *counter) {
	b.Helper()
	f := &counter{every: 256 * bodySize}
	cfg := Config{Path: filepath.Join(b.TempDir(), "j.db"), LockWait: 5 * time.Second, Follower: f}
	j, err := Create(b.Context(), cfg, func(*Tx) error { return nil })
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { j.Close() })
	fill(b, j, f, max(records, 2000)) // past 1000 pages in any case
	return j, f
}

var roundTime = flag.Duration("round", 300*time.Millisecond, "how long one measurement of a benchmark runs")

// BenchmarkUpdate measures durable updates beside the yardstick, in shuffled rounds, and reports the median of the
// rounds' ratios and of the 99th percentiles.
func BenchmarkUpdate(b *testing.B) {
	for _, records := range []int{0, 100_000, 1_000_000} {
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("records=%d/callers=%d", records, callers), func(b *testing.B) {
				j, f := benchJournal(b, records)
				compare(b, j, f, callers)
			})
		}
	}
}

func compare(b *testing.B, j *Journal, f *counter, callers int) {
	file, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	raw := &rawLog{file: file}
	sides := []func() error{
		decision(j, f),
		func() error { return raw.queue.do(&request{ctx: context.Background()}, raw.lead) },
	}
	if _, _, err := load(callers, 200*time.Millisecond, sides[0]); err != nil { // as in a process that has run for a while
		b.Fatal(err)
	}
	var ratios, rates, p99s, rawP99s []float64
	b.ResetTimer()
	for range max(b.N, 5) {
		var rate [2]float64
		var p99 [2]time.Duration
		for _, i := range rand.Perm(2) {
			if rate[i], p99[i], err = load(callers, *roundTime, sides[i]); err != nil {
				b.Fatal(err)
			}
		}
		ratios = append(ratios, rate[0]/rate[1])
		rates = append(rates, rate[0])
		p99s = append(p99s, float64(p99[0].Microseconds()))
		rawP99s = append(rawP99s, float64(p99[1].Microseconds()))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(rates), "updates/s")
	b.ReportMetric(median(ratios), "of-raw")
	b.ReportMetric(median(p99s), "p99-µs")
	b.ReportMetric(median(p99s)/median(rawP99s), "p99-of-raw")
}

// BenchmarkProcesses lets four processes with 16 callers each append to one journal. It reports the longest wait of any
// caller and the smallest process's share of the updates that the largest one made.
func BenchmarkProcesses(b *testing.B) {
	for range b.N {
		cfg := newConfig(b, &sums{})
		if err := create(b, cfg).Close(); err != nil {
			b.Fatal(err)
		}
		var outs []*bufio.Reader
		for p := range 4 {
			_, _, out := start(b, "append", task{
				Path: cfg.Path, Name: fmt.Sprint("p", p), Callers: 16, For: 4 * *roundTime, Wait: 10 * time.Second,
			})
			outs = append(outs, out)
		}
		var took []time.Duration
		var shares []int
		for _, out := range outs {
			n := len(took)
			for line, err := out.ReadString('\n'); err == nil; line, err = out.ReadString('\n') {
				_, d := acknowledged(b, line)
				took = append(took, d)
			}
			shares = append(shares, len(took)-n)
		}
		slices.Sort(took)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(len(took))/(4*roundTime.Seconds()), "updates/s")
		b.ReportMetric(float64(took[len(took)-1].Microseconds()), "longest-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		b.ReportMetric(float64(slices.Min(shares))/float64(slices.Max(shares)), "least-of-most")
	}
}

// BenchmarkCold opens the journal, makes one durable update and closes it, as a hook does, beside writing and syncing a
// file as often as that takes.
func BenchmarkCold(b *testing.B) {
	for _, records := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("records=%d", records), func(b *testing.B) {
			f := &counter{every: 256 * bodySize}
			cfg := Config{Path: filepath.Join(b.TempDir(), "j.db"), LockWait: 5 * time.Second, Follower: f}
			j, err := Create(b.Context(), cfg, func(*Tx) error { return nil })
			if err != nil {
				b.Fatal(err)
			}
			fill(b, j, f, records)
			var opening, updating, closing time.Duration
			b.ResetTimer()
			for range b.N {
				if err := j.Close(); err != nil {
					b.Fatal(err)
				}
				t := time.Now()
				if j, err = Open(b.Context(), cfg); err != nil {
					b.Fatal(err)
				}
				opening += time.Since(t)
				t = time.Now()
				if err := decision(j, f)(); err != nil {
					b.Fatal(err)
				}
				updating += time.Since(t)
				t = time.Now()
				if err := j.Close(); err != nil {
					b.Fatal(err)
				}
				closing += time.Since(t)
			}
			for name, d := range map[string]time.Duration{"open-µs": opening, "update-µs": updating, "close-µs": closing} {
				b.ReportMetric(float64(d.Microseconds())/float64(b.N), name)
			}
		})
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
