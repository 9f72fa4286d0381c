// Package bench_test measures the whole against yardsticks that it contains: each measure and its yardstick run in
// turn, in one process and on one machine, and what counts is their ratio. docs/benchmarks.md has the results.
//
// Nothing here runs in an ordinary test run; `make bench` passes -measure.
package bench_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

var (
	measure = flag.Bool("measure", false, "run the measurements")
	million = flag.Bool("million", false, "also measure on a journal of a million records (two minutes, 2 GB)")
	rounds  = flag.Int("rounds", 7, "how often each measure and its yardstick run in turn")
)

// needMeasure skips a measurement in an ordinary test run.
func needMeasure(t *testing.T) {
	t.Helper()
	if !*measure {
		t.Skip("a measurement; make bench runs it")
	}
}

// workDir is where the binaries are built.
var workDir string

func TestMain(m *testing.M) {
	flag.Parse()
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	os.Setenv("SALLYPORT_TIER", "2") // for what is started
	dir, err := os.MkdirTemp("", "sallyport-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	workDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// sallyport builds the stripped static binary, as make build does.
var sallyport = sync.OnceValues(func() (string, error) {
	return build("sallyport", "sallyport/cmd/sallyport")
})

// nothing builds an empty Go program.
var nothing = sync.OnceValues(func() (string, error) {
	src := filepath.Join(workDir, "nothing.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return "", err
	}
	return build("nothing", src)
})

func build(name, what string) (string, error) {
	path := filepath.Join(workDir, name)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, what)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", what, err, out)
	}
	return path, nil
}

func built(t *testing.T, program func() (string, error)) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// contender is one of the things that are measured in turn.
type contender struct {
	name string
	run  func() time.Duration // the median, or the whole, of one turn
}

// turns lets every contender run once a round, in an order that is shuffled anew each time, and returns each one's
// times, round by round.
func turns(contenders ...contender) map[string][]time.Duration {
	times := map[string][]time.Duration{}
	for range *rounds {
		rand.Shuffle(len(contenders), func(i, j int) { contenders[i], contenders[j] = contenders[j], contenders[i] })
		for _, c := range contenders {
			times[c.name] = append(times[c.name], c.run())
		}
	}
	return times
}

// ratio returns the median over the rounds of a's time divided by b's.
func ratio(a, b []time.Duration) float64 {
	rs := make([]float64, len(a))
	for i := range a {
		rs[i] = a[i].Seconds() / b[i].Seconds()
	}
	slices.Sort(rs)
	return rs[len(rs)/2]
}

func median(ds []time.Duration) time.Duration {
	ds = slices.Sorted(slices.Values(ds))
	return ds[len(ds)/2]
}

// percentile returns the p-th of a hundred.
func percentile(ds []time.Duration, p int) time.Duration {
	ds = slices.Sorted(slices.Values(ds))
	return ds[min(len(ds)-1, len(ds)*p/100)]
}

// atMost and atLeast print one line of the results and fail the run if the bound does not hold.
func atMost(t *testing.T, what string, got, bound float64) {
	t.Helper()
	verdict := "ok"
	if got > bound {
		verdict = "OVER"
		t.Fail()
	}
	fmt.Printf("%-72s %8.2f  at most  %6.2f  %s\n", what, got, bound, verdict)
}

func atLeast(t *testing.T, what string, got, bound float64) {
	t.Helper()
	verdict := "ok"
	if got < bound {
		verdict = "UNDER"
		t.Fail()
	}
	fmt.Printf("%-72s %8.2f  at least %6.2f  %s\n", what, got, bound, verdict)
}

// newHome makes a data directory with the binary.
func newHome(t *testing.T, binary string) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	if out, err := exec.Command(binary, "init", "--data-dir", home).CombinedOutput(); err != nil {
		t.Fatalf("sallyport init: %v\n%s", err, out)
	}
	return home
}

// timed runs a program to its end with an input and returns how long it took.
func timed(t *testing.T, env []string, input []byte, name string, args ...string) time.Duration {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdin = append(os.Environ(), env...), bytes.NewReader(input)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out.Bytes())
	}
	return took
}
