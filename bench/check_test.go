package bench_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// checkLines writes n calls a line into a file.
func checkLines(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `{"tool":"paper_place_order_a","args":{"symbol":"AAPL","side":"buy","quantity":%d,"order_type":"limit","limit_price":"150.%02d","reason":"a rebalance of the portfolio"}}`+"\n", i%250+1, i%100)
	}
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRatioOfCheck compares the streaming check with encoding/json decoding the same lines into a map.
func TestRatioOfCheck(t *testing.T) {
	needMeasure(t)
	binary := built(t, sallyport)
	home := newHome(t, binary)
	const n = 200_000
	path := checkLines(t, n)
	short := checkLines(t, n/10)
	var peak, peakShort int64
	times := turns(
		contender{"check", func() time.Duration {
			took, kb := runCheck(t, binary, home, path)
			peak = max(peak, kb)
			return took
		}},
		contender{"short", func() time.Duration {
			took, kb := runCheck(t, binary, home, short)
			peakShort = max(peakShort, kb)
			return took
		}},
		contender{"decode", func() time.Duration { return decodeLines(t, path) }},
	)
	fmt.Printf("check: %.0f lines a second; encoding/json alone: %.0f\n", n/median(times["check"]).Seconds(), n/median(times["decode"]).Seconds())
	atLeast(t, "lines a second of check / of encoding/json into a map", ratio(times["decode"], times["check"]), 1.0/3)
	atMost(t, "memory of check with 10 times the input", float64(peak)/float64(peakShort), 1.1)
}

func runCheck(t *testing.T, binary, home, path string) (time.Duration, int64) {
	t.Helper()
	cmd := exec.Command(binary, "check", "--json", "--data-dir", home, path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if code := cmd.ProcessState.ExitCode(); err != nil && code != 1 { // 1: some were denied
		t.Fatalf("sallyport check: %v\n%s", err, stderr.Bytes())
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("no resource usage")
	}
	return took, int64(usage.Maxrss)
}

func decodeLines(t *testing.T, path string) time.Duration {
	t.Helper()
	start := time.Now()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var m map[string]any
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(start)
}
