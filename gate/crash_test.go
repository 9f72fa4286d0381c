package gate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"sallyport/broker/paper"
	"sallyport/gate"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/market"
	"sallyport/trade"
)

// The environment by which a test starts this binary again as another process on the same data directory.
const (
	childHome = "SALLYPORT_TEST_HOME"
	childStep = "SALLYPORT_TEST_STEP" // die at this step of an order
	childRace = "SALLYPORT_TEST_RACE" // send one order from that many goroutines

	childFlood = "SALLYPORT_TEST_FLOOD" // send orders until a stop
	childFull  = "SALLYPORT_TEST_FULL"  // run out of room

	childCramped = "SALLYPORT_TEST_CRAMPED" // have no room at all
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(childStep) != "":
		os.Exit(dieAtStep(os.Getenv(childHome), os.Getenv(childStep)))
	case os.Getenv(childRace) != "":
		os.Exit(race(os.Getenv(childHome)))
	case os.Getenv(childFlood) != "":
		os.Exit(flood(os.Getenv(childHome)))
	case os.Getenv(childCramped) != "":
		os.Exit(cramped(os.Getenv(childHome)))
	case os.Getenv(childFull) != "":
		os.Exit(full(os.Getenv(childHome)))
	}
	os.Exit(m.Run())
}

func die() {
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// mortal is a broker whose process ends right before or right after the venue has the order.
type mortal struct {
	gate.Broker
	step string
}

func (m mortal) Submit(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
	if m.step == "before the venue" {
		die()
	}
	r, err := m.Broker.Submit(ctx, p)
	if m.step == "after the venue" {
		die()
	}
	return r, err
}

func openPaper(home string) (*paper.Broker, error) {
	quotes := filepath.Join(home, "quotes.jsonl")
	if err := os.WriteFile(quotes, market.Sample(), 0o600); err != nil {
		return nil, err
	}
	return paper.Open(context.Background(), paper.Config{Path: filepath.Join(home, "paper.db"), Quotes: &market.File{Path: quotes}, Now: time.Now})
}

func theOrder() gate.Call {
	text := func(name, v string) trade.Text { return trade.Text{Name: name, Value: v, Kind: trade.IsText} }
	o, _, _ := trade.Parse(trade.Draft{
		Account: "paper", Symbol: text("symbol", "AAPL"), Side: text("side", "buy"), Quantity: text("quantity", "10"),
		Type: text("order_type", "limit"), LimitPrice: text("limit_price", "999.00"), TimeInForce: text("time_in_force", "day"),
	})
	return gate.Call{
		Tier:    trade.TierExecute,
		Origin:  gate.Origin{Agent: "local", Surface: "mcp", Tool: "paper_place_order_a", ToolCallID: "c1"},
		Account: "paper", Order: o, Tags: trade.Tags{ClientOrderID: "o1"},
	}
}

func dieAtStep(home, step string) int {
	b, err := openPaper(home)
	if err != nil {
		return fail(err)
	}
	cfg := gate.WithStep(config(home, mortal{b, step}), func(s string) {
		if s == step {
			die()
		}
	})
	g, err := gate.Open(ctx, cfg)
	if err != nil {
		return fail(err)
	}
	d := g.Execute(ctx, theOrder())
	return fail(fmt.Errorf("step %q was not reached: %s", step, d.AppendJSON(nil)))
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func start(t *testing.T, home string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), append(env, childHome+"="+home)...)
	cmd.Stdout, cmd.Stderr = new(bytes.Buffer), new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd
}

// TestCrashAtEveryStep ends the process at every step of an order and checks the invariants after it is opened again:
// I1, I2, I7, I8, I9 and I10.
//
//attack:gate-no-record-no-permit
//fault:f40
//fault:f49
func TestCrashAtEveryStep(t *testing.T) {
	for step, executed := range map[string]bool{ // whether the venue has the order when the process ends
		"policy written": false, "journal made": false, "before decide": false, "decided": false, "before send": false, "before the venue": false,
		"after the venue": true, "sent": true, "concluded": true,
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			home := filepath.Join(t.TempDir(), "home")
			if err := os.Mkdir(home, 0o700); err != nil {
				t.Fatal(err)
			}
			err := start(t, home, childStep+"="+step).Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the process ended by %v, want SIGKILL", err)
			}
			checkAfterCrash(t, home, step, executed)
		})
	}
}

func checkAfterCrash(t *testing.T, home, step string, executed bool) {
	b, err := openPaper(home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	now := time.Now
	g := reopen(t, withClock(config(home, b), func() time.Time { return now() }))
	checkReplay(t, g)
	recorded := step != "policy written" && step != "journal made" && step != "before decide"
	rows := audit(t, g)
	if recorded != (len(rows) == 1) {
		t.Fatalf("%d decisions are on record", len(rows))
	}
	if recorded {
		checkSettled(t, g, b, rows[0], executed)
	}
	// The agent tries again under the same ids: whatever happened, there is at most one execution.
	again := g.Execute(ctx, theOrder())
	if recorded != again.Repeated {
		t.Fatalf("tried again: %s", again.AppendJSON(nil))
	}
	if recorded && again.Intent != rows[0].Intent {
		t.Fatal("tried again under the same ids, and it is another intent")
	}
	venueRows, err := b.Rows(ctx, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	want := 1
	if recorded && !executed && again.State != ledger.Succeeded {
		want = 0
	}
	if len(venueRows) != want {
		t.Fatalf("%d orders at the venue, want %d", len(venueRows), want)
	}
	checkReplay(t, g)
}

func withClock(c gate.Config, now func() time.Time) gate.Config {
	c.Now = now
	return c
}

// checkSettled: after a crash the outcome is that of the venue, or unknown while the permit might still be used.
func checkSettled(t *testing.T, g *gate.Gate, b *paper.Broker, row ledger.Decision, executed bool) {
	t.Helper()
	want := ledger.OutcomeUnknown
	if executed {
		want = ledger.Succeeded
	}
	if row.State != want {
		t.Fatalf("after the crash the order is %s, want %s", row.State, want)
	}
	if executed {
		return
	}
	ps, err := g.Positions(ctx)
	if err != nil || len(ps) != 1 || ps[0].PendingBuys.String() != "10" {
		t.Fatalf("an unknown outcome keeps its reservation: %+v, %v", ps, err)
	}
}

// checkReplay: the chain verifies, the state is the fold of the records byte for byte, and no call has two decisions.
func checkReplay(t *testing.T, g *gate.Gate) {
	t.Helper()
	if _, err := g.Verify(ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
	fold, decided, concluded := ledger.NewState(), map[trade.IntentID]int{}, map[trade.IntentID]int{}
	err := g.Export(ctx, func(r journal.Record) error {
		e, err := ledger.Decode(r.Body)
		if err != nil {
			return err
		}
		fold.Apply(r.At, e)
		switch e := e.(type) {
		case ledger.Decided:
			decided[e.Intent]++
		case ledger.Concluded:
			if e.Outcome != trade.Unknown {
				concluded[e.Intent]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, n := range decided {
		if n != 1 || concluded[id] > 1 {
			t.Fatalf("intent %s has %d decisions and %d final outcomes", id, n, concluded[id])
		}
	}
	state, err := gate.StateBytes(g)
	if err != nil || !bytes.Equal(state, fold.AppendSnapshot(nil)) {
		t.Fatalf("the state is not the fold of the records (%v):\n%s\n%s", err, state, fold.AppendSnapshot(nil))
	}
}

// answerLine is what a racing process prints for each of its goroutines.
type answerLine struct {
	Intent   string
	State    string
	Repeated bool
}

const racers = 64

func race(home string) int {
	b, err := openPaper(home)
	if err != nil {
		return fail(err)
	}
	cfg := config(home, b)
	cfg.LockWait = 30 * time.Second
	g, err := gate.Open(ctx, cfg)
	if err != nil {
		return fail(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	for i := range racers {
		wg.Go(func() {
			c := theOrder()
			c.Origin.ToolCallID = trade.ToolCallID(fmt.Sprintf("%d-%d", os.Getpid(), i))
			d := g.Execute(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			out.Encode(answerLine{string(d.Intent), string(d.State), d.Repeated})
		})
	}
	wg.Wait()
	if err := errors.Join(g.Close(), b.Close()); err != nil {
		return fail(err)
	}
	return 0
}

// TestOneClientOrderIDFromManyProcessesIsExecutedOnce has 4 processes of 64 goroutines send one order under one client
// order id, each through a tool call of its own. The call's id differs, so the client order id alone joins them.
//
//fault:f49
func TestOneClientOrderIDFromManyProcessesIsExecutedOnce(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	var all []*exec.Cmd
	for range 4 {
		all = append(all, start(t, home, childRace+"=1"))
	}
	first, intents, answers := 0, map[string]int{}, 0
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, cmd.Stderr)
		}
		lines := json.NewDecoder(cmd.Stdout.(*bytes.Buffer))
		for lines.More() {
			var a answerLine
			if err := lines.Decode(&a); err != nil {
				t.Fatal(err)
			}
			answers++
			intents[a.Intent]++
			if !a.Repeated {
				first++
			}
			if a.State != string(ledger.Succeeded) {
				t.Errorf("one was answered %+v", a)
			}
		}
	}
	if answers != 4*racers || first != 1 || len(intents) != 1 {
		t.Fatalf("%d answers, %d of them not a repeat, intents %v", answers, first, intents)
	}
	b, err := openPaper(home)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	rows, err := b.Rows(ctx, 0, 100)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d orders at the venue, %v", len(rows), err)
	}
	checkReplay(t, reopen(t, config(home, b)))
}
