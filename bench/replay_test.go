package bench_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"sallyport/replay"
)

// tapePolicy judges by quotes, exposure, counts over time and losses.
const tapePolicy = `{"version": 2, "currency": "USD", "timezone": "America/New_York",
  "quotes": {"sources": ["file"], "max_age": "30s", "max_spread_bps": "200"},
  "rules": [{"id": "large-caps",
    "match": {"symbols": ["AAPL", "MSFT"], "sides": ["buy", "sell"], "order_types": ["limit"], "time_in_force": ["day"], "agents": ["*"], "asset_classes": ["us_equity"]},
    "limits": {
      "order_quantity": {"deny_above": "200"}, "order_notional": {"deny_above": "10000.00"}, "price_collar_bps": {"deny_above": "2000"},
      "orders_per_minute": {"deny_above": "30", "per": "agent"}, "notional_per_day": {"deny_above": "900000000.00"},
      "position_quantity": {"deny_above": "900000000"}, "gross_exposure": {"deny_above": "900000000000.00"},
      "open_orders": {"deny_above": "50"}, "broker_rejections": {"halt_above": "10", "window": "5m"}}}]}`

// writeTape writes a tape of n lines: of ten lines eight are quotes; the others are orders, some of which a person
// approves, others are denied or rejected, with their fills and cancels.
func writeTape(w io.Writer, n int) {
	at := time.Date(2026, 11, 30, 14, 30, 0, 0, time.UTC)
	symbols := []string{"AAPL", "MSFT", "GOOG", "AMZN", "NVDA"}
	line := func(format string, args ...any) {
		fmt.Fprintf(w, `{"at":"%s",`+format+"}\n", append([]any{at.Format("2006-01-02T15:04:05.000000Z")}, args...)...)
	}
	acts, id := 0, 0
	for i := range n {
		at = at.Add(time.Second) // so that a quarter of the tape is longer than anything that is remembered
		if i%10 != 4 && i%10 != 9 {
			cents := 10000 + i%997
			line(`"quote":{"symbol":"%s","bid":"%d.%02d","ask":"%d.%02d","last":"%d.%02d"}`, symbols[i%len(symbols)],
				cents/100, cents%100, (cents+2)/100, (cents+2)%100, (cents+1)/100, (cents+1)%100)
			continue
		}
		const order = `"args":{"symbol":"%s","side":"buy","quantity":"%d","order_type":"limit","limit_price":"%d.%02d"}`
		switch acts++; acts % 9 {
		case 1, 3:
			id++
			line(`"intent":{"id":"call-%d","agent":"bot","tool":"paper_place_order_a",`+order+`}`, id, symbols[id%2], 1+id%50, 100, id%100)
		case 5:
			id++
			line(`"intent":{"id":"call-%d","agent":"bot","tool":"trade_propose",`+order+`}`, id, symbols[id%2], 1+id%50, 100, id%100)
		case 6:
			line(`"approve":{"intent":"call-%d","by":"ann"}`, id)
		case 8:
			line(`"intent":{"id":"no-%d","agent":"bot","tool":"paper_place_order_a",`+order+`}`, acts, symbols[2], 1+id%50, 100, id%100)
		case 0:
			line(`"cancel":{"intent":"call-%d"}`, id)
		default:
			line(`"fill":{"intent":"call-%d","quantity":"%d","price":"100.%02d"}`, id, 1+id%50, id%100)
		}
	}
}

func tapeFile(t *testing.T, lines int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	writeTape(w, lines)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// replayTape replays a tape and returns how long it took.
func replayTape(t *testing.T, path string, out io.Writer) time.Duration {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	start := time.Now()
	if err := replay.Run(t.Context(), replay.Config{Policy: []byte(tapePolicy)}, f, out); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// watcher looks now and then, as output comes, at the memory that is really in use.
type watcher struct {
	written int
	most    uint64
}

func (w *watcher) Write(p []byte) (int, error) {
	if w.written += len(p); w.written > 1<<20 {
		w.written = 0
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w.most = max(w.most, m.HeapAlloc)
	}
	return len(p), nil
}

// TestRatioOfReplay compares the replay of a million lines with encoding/json decoding the same lines into a map, and its
// memory with that of a quarter of the tape.
func TestRatioOfReplay(t *testing.T) {
	needMeasure(t)
	const n = 1_000_000
	path, short := tapeFile(t, n), tapeFile(t, n/4)
	times := turns(
		contender{"replay", func() time.Duration { return replayTape(t, path, io.Discard) }},
		contender{"decode", func() time.Duration { return decodeLines(t, path) }},
	)
	fmt.Printf("replay: %.0f lines a second; encoding/json alone: %.0f\n", n/median(times["replay"]).Seconds(), n/median(times["decode"]).Seconds())
	atLeast(t, "lines a second of replay / of encoding/json into a map", ratio(times["decode"], times["replay"]), 1.0/3)
	var whole, quarter watcher
	replayTape(t, path, &whole)
	replayTape(t, short, &quarter)
	atMost(t, "memory of replay with 4 times the tape", float64(whole.most)/float64(quarter.most), 1.1)
}
