package bench_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// decider makes durable decisions through an embedded gate: one decision, its reservation and its place in the chain
// in one transaction. Each allowed order is a permission; they are reported back between the measurements, so that the
// state stays as small as it is in use.
type decider struct {
	g      *gate.Gate
	order  trade.Order
	serial atomic.Int64
	prefix string
}

func openDecider(home string) (*decider, error) {
	return deciderOf(gate.Config{Home: home, Now: time.Now})
}

func deciderOf(cfg gate.Config) (*decider, error) {
	cfg.Entropy = func(b *[10]byte) { _, _ = rand.Read(b[:]) }
	g, err := gate.Open(context.Background(), cfg)
	if err != nil {
		return nil, err
	}
	d, _ := dialect.Find("paper_place_order_a")
	o, _, faults := d.Parse("paper", []byte(`{"symbol":"AAPL","side":"buy","quantity":1,"order_type":"limit","limit_price":"150.00"}`))
	if len(faults) > 0 {
		return nil, fmt.Errorf("the order is none: %v", faults)
	}
	return &decider{g: g, order: o, prefix: strconv.FormatInt(time.Now().UnixNano(), 36) + "-" + strconv.Itoa(os.Getpid()) + "-"}, nil
}

func (d *decider) origin(id string) gate.Origin {
	return gate.Origin{
		Agent: "bench", Surface: "hook", Harness: "claude", Session: "bench", Tool: "paper_place_order_a", ToolCallID: trade.ToolCallID(id),
	}
}

// decide makes one decision and returns its tool-call id.
func (d *decider) decide() (string, error) {
	id := d.prefix + strconv.FormatInt(d.serial.Add(1), 10)
	c := gate.Call{Tier: trade.TierExecute, Origin: d.origin(id), Account: "paper", Order: d.order, Tags: trade.Tags{ClientOrderID: trade.ClientOrderID("c-" + id)}}
	if got := d.g.Authorize(context.Background(), c); got.Verdict != policy.Allow || got.State != ledger.Allowed {
		return "", fmt.Errorf("the decision is %s %s: %v", got.Verdict, got.State, got.Reasons)
	}
	return id, nil
}

func (d *decider) report(id string) error {
	_, found, err := d.g.Report(context.Background(), gate.Report{
		Tier:   trade.TierExecute,
		Origin: d.origin(id), Account: "paper", Order: d.order, Outcome: trade.Rejected, Status: "ERROR",
	})
	if err == nil && !found {
		err = fmt.Errorf("no permission for %s", id)
	}
	return err
}

// storm lets so many callers act until so much was done, and returns how long each act and the whole took.
func storm(callers, each int, act func() error) (whole time.Duration, single []time.Duration, err error) {
	var group sync.WaitGroup
	singles, errs := make([][]time.Duration, callers), make([]error, callers)
	start := time.Now()
	for c := range callers {
		group.Go(func() {
			singles[c] = make([]time.Duration, 0, each)
			for range each {
				begin := time.Now()
				if err := act(); err != nil {
					errs[c] = err
					return
				}
				singles[c] = append(singles[c], time.Since(begin))
			}
		})
	}
	group.Wait()
	whole = time.Since(start)
	for _, err := range errs {
		if err != nil {
			return 0, nil, err
		}
	}
	return whole, slices.Concat(singles...), nil
}

// inChunks lets so many callers act n times in all, a chunk at a time. The chunks are what is timed; after each of them
// after is called.
func inChunks(callers, chunk, n int, act, after func() error) (whole time.Duration, single []time.Duration, err error) {
	for left := n; left > 0 && err == nil; left -= chunk {
		var took time.Duration
		var each []time.Duration
		took, each, err = storm(callers, max(1, min(left, chunk)/callers), act)
		whole, single = whole+took, append(single, each...)
		if err == nil {
			err = after()
		}
	}
	return whole, single, err
}

// decisions makes n decisions with so many callers. What was allowed is reported back after each chunk: so many orders
// are open at once at most.
func (d *decider) decisions(callers, chunk, n int) (whole time.Duration, single []time.Duration, err error) {
	var mu sync.Mutex
	var ids []string
	decide := func() error {
		id, err := d.decide()
		mu.Lock()
		ids = append(ids, id)
		mu.Unlock()
		return err
	}
	return inChunks(callers, chunk, n, decide, func() error {
		next := atomic.Int64{}
		_, _, err := storm(callers, (len(ids)+callers-1)/callers, func() error {
			if i := int(next.Add(1)) - 1; i < len(ids) {
				return d.report(ids[i])
			}
			return nil
		})
		ids = ids[:0]
		return err
	})
}

// fill brings the journal of a home to about n records.
func fill(t *testing.T, home string, n int) {
	t.Helper()
	d, err := openDecider(home)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = d.decisions(min(64, n/2), 64, n/2)
	if err := errorOf(err, d.g.Close()); err != nil {
		t.Fatal(err)
	}
}

// aged makes a data directory whose journal has about n records of so many days up to now: 64 orders at a time, each
// reported back.
func aged(t *testing.T, n, days int) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	bursts := n / 128
	step := time.Duration(days) * 24 * time.Hour / time.Duration(bursts)
	var ago atomic.Int64
	ago.Store(int64(step) * int64(bursts))
	d, err := deciderOf(gate.Config{Home: home, Create: true, Now: func() time.Time { return time.Now().Add(-time.Duration(ago.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	for range bursts {
		if _, _, err = d.decisions(64, 64, 64); err != nil {
			break
		}
		ago.Add(-int64(step))
	}
	if err := errorOf(err, d.g.Close()); err != nil {
		t.Fatal(err)
	}
	return home
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// raw writes the same number of bytes to a growing file and syncs it, with the same gathering of those who wait.
type raw struct {
	file    *os.File
	body    []byte
	mu      sync.Mutex
	waiting []chan error
	leading bool
}

func openRaw(t *testing.T, size int) *raw {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "raw"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &raw{file: f, body: make([]byte, size)}
}

func (r *raw) write() error {
	done := make(chan error, 1)
	r.mu.Lock()
	r.waiting = append(r.waiting, done)
	leads := !r.leading
	r.leading = true
	r.mu.Unlock()
	for leads {
		for range 16 {
			runtime.Gosched()
		}
		r.mu.Lock()
		taken := r.waiting
		r.waiting = nil
		r.mu.Unlock()
		_, err := r.file.Write(slices.Repeat(r.body, len(taken)))
		err = errorOf(err, fdatasync(r.file))
		for _, w := range taken {
			w <- err
		}
		r.mu.Lock()
		leads = len(r.waiting) > 0
		r.leading = leads
		r.mu.Unlock()
	}
	return <-done
}

// TestRatioOfDecisions compares durable decisions with write plus fdatasync of the same bytes, on journals of 100,000
// records and, if asked, a million.
func TestRatioOfDecisions(t *testing.T) {
	needMeasure(t)
	home := newHome(t, built(t, sallyport))
	fill(t, home, 100_000)
	at100k := measureDecisions(t, home, "100,000 records", []float64{0.8, 0.6, 0.28})
	if *million {
		fill(t, home, 900_000)
		at1m := measureDecisions(t, home, "1,000,000 records", make([]float64, 3))
		for i, callers := range []int{1, 8, 64} {
			atLeast(t, fmt.Sprintf("the same at 1,000,000 / at 100,000 records, %d callers", callers), at1m[i]/at100k[i], 0.8)
		}
	}
}

func measureDecisions(t *testing.T, home, name string, bounds []float64) (rates []float64) {
	t.Helper()
	d, err := openDecider(home)
	if err != nil {
		t.Fatal(err)
	}
	defer d.g.Close()
	size := bytesPerDecision(t, d)
	r := openRaw(t, size)
	fmt.Printf("a decision is a record of %d bytes\n", size)
	for i, callers := range []int{1, 8, 64} {
		n := 600 * min(callers, 16)
		tails := map[string][]time.Duration{}
		run := func(name string, act func() (time.Duration, []time.Duration, error)) func() time.Duration {
			return func() time.Duration {
				whole, single, err := act()
				if err != nil {
					t.Fatal(err)
				}
				tails[name] = append(tails[name], percentile(single, 99))
				return whole / time.Duration(len(single))
			}
		}
		times := turns(
			contender{"raw", run("raw", func() (time.Duration, []time.Duration, error) {
				return inChunks(callers, 10*callers, n, r.write, func() error { return nil })
			})},
			contender{"gate", run("gate", func() (time.Duration, []time.Duration, error) { return d.decisions(callers, 10*callers, n) })},
		)
		rate := ratio(times["raw"], times["gate"])
		rates = append(rates, rate)
		fmt.Printf("%d callers: %.0f decisions a second, raw %.0f; p99 %.2f ms, raw %.2f ms\n", callers,
			1/median(times["gate"]).Seconds(), 1/median(times["raw"]).Seconds(),
			median(tails["gate"]).Seconds()*1000, median(tails["raw"]).Seconds()*1000)
		atLeast(t, fmt.Sprintf("durable decisions / raw, %s, %d callers", name, callers), rate, bounds[i])
		if callers == 64 && bounds[i] > 0 {
			atMost(t, "p99 of durable decisions / of raw, 64 callers", ratio(tails["gate"], tails["raw"]), 6)
		}
	}
	return rates
}

// bytesPerDecision is the size of the newest decision's record.
func bytesPerDecision(t *testing.T, d *decider) int {
	t.Helper()
	ctx := context.Background()
	newest, err := d.g.Audit(ctx, 1)
	if err != nil || len(newest) != 1 {
		t.Fatalf("the newest decision: %v, %v", newest, err)
	}
	_, history, err := d.g.History(ctx, newest[0].Intent)
	if err != nil || len(history) == 0 {
		t.Fatalf("its history: %v, %v", history, err)
	}
	return len(history[0].Body)
}
