package hook

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/trade"
)

// benchPolicy allows what the recorded runs ask for, but not what a sibling hook made of it.
const benchPolicy = `{"max_gross_buy_notional_usd":"500000.00","max_quantity":1000,"symbol_allowlist":["AAPL","MSFT"],` +
	`"order_type_allowlist":["limit"],"side_allowlist":["buy"]}`

// bench is a data directory and a clock; each hook opens a gate of its own on it, as each process does.
type bench struct {
	home    string
	now     atomic.Int64
	entropy atomic.Uint64
	venue   gatetest.Broker // the same for each process that executes
}

func newBench(t *testing.T, policy string) *bench {
	t.Helper()
	b := &bench{home: filepath.Join(t.TempDir(), "home")}
	b.now.Store(time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC).UnixNano())
	g := b.open(t)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.home, "policy.json"), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) open(t *testing.T) *gate.Gate {
	t.Helper()
	g, err := b.gate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (b *bench) gate(ctx context.Context) (*gate.Gate, error) { return gate.Open(ctx, b.config()) }

func (b *bench) config() gate.Config {
	return gate.Config{
		Home: b.home, Create: true,
		Now:     func() time.Time { return time.Unix(0, b.now.Add(int64(time.Millisecond))).UTC() },
		Entropy: func(e *[10]byte) { binary.BigEndian.PutUint64(e[:], b.entropy.Add(1)) },
	}
}

// execute makes the call of a recorded event as our own server does, which knows only what the harness tells it.
func (b *bench) execute(t *testing.T, call gate.Call) ledger.Decision {
	t.Helper()
	cfg := b.config()
	b.venue.Now = cfg.Now
	cfg.Broker, cfg.Account, cfg.RequireHook = &b.venue, call.Account, true
	g, err := gate.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	return g.Execute(context.Background(), call)
}

func (b *bench) head(t *testing.T) string {
	t.Helper()
	g := b.open(t)
	defer g.Close()
	h, err := g.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(h)
}

func (b *bench) ask(t *testing.T, harness, event string) said {
	t.Helper()
	cfg := benchConfig(harness, nil)
	cfg.Open = func(ctx context.Context) (Gate, error) {
		g, err := b.gate(ctx)
		if err != nil {
			return nil, err
		}
		return g, nil
	}
	return ask(t, cfg, event)
}

func (b *bench) audit(t *testing.T) []ledger.Decision {
	t.Helper()
	g := b.open(t)
	defer g.Close()
	rows, err := g.Audit(context.Background(), 200)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func states(rows []ledger.Decision) string {
	var s []string
	for _, r := range rows {
		s = append(s, string(r.State))
	}
	return strings.Join(s, " ")
}

func TestRecordedRunsThroughTheGate(t *testing.T) {
	for run, want := range map[string]string{
		"claude_allow":     "EXECUTION_SUCCEEDED",
		"claude_deny":      "EXECUTION_ALLOWED",
		"claude_parallel":  "EXECUTION_SUCCEEDED EXECUTION_SUCCEEDED",
		"codex_allow":      "EXECUTION_SUCCEEDED",
		"codex_deny":       "EXECUTION_ALLOWED",
		"codex_permission": "EXECUTION_ALLOWED", // two events, one call
		"gemini_deny":      "EXECUTION_ALLOWED",
		"qwen_ask":         "EXECUTION_ALLOWED",
		"hermes_block":     "EXECUTION_FAILED", // blocked by another hook: it never ran
		"gemini_allow":     "EXECUTION_SUCCEEDED",
		"qwen_allow":       "EXECUTION_SUCCEEDED",
		"claude_rejected":  "EXECUTION_FAILED",
		"gemini_rejected":  "EXECUTION_FAILED",
		"qwen_rejected":    "EXECUTION_FAILED",
	} {
		b := newBench(t, benchPolicy)
		for i, event := range recorded(t, run) {
			if s := b.ask(t, recordedRuns()[run], event); s.code != 0 || s.stderr != "" {
				t.Errorf("%s[%d]: %+v", run, i, s)
			}
		}
		rows := b.audit(t)
		if got := states(rows); got != want {
			t.Errorf("%s: %s, want %s", run, got, want)
		}
		for _, r := range rows {
			if r.Surface != "hook" || r.Agent != "local" || len(r.Flags) > 0 || len(r.PolicySHA256) != 64 {
				t.Errorf("%s: %+v", run, r)
			}
		}
	}
}

// The events of calls of our own order tool, with our own server behind it.
func TestRecordedCallsOfOwnToolsAreOneIntent(t *testing.T) {
	for run, sends := range map[string]bool{"claude_own": true, "codex_own": true, "gemini_own": false, "qwen_own": false} {
		harness, _, _ := strings.Cut(run, "_")
		b, seen, events := newBench(t, benchPolicy), &fakeGate{}, recorded(t, run)
		for i, event := range events[:len(events)-1] {
			ask(t, benchConfig(harness, seen), event)
			if s := b.ask(t, harness, event); hears(readerOf(harness, event)[0], s) != granted {
				t.Fatalf("%s[%d]: %+v", run, i, s)
			}
		}
		call := seen.calls[0]
		call.Origin.Surface = "mcp"
		if !sends { // the harness tells the server neither its session nor the call's id
			call.Origin.Harness, call.Origin.Session, call.Origin.ToolCallID = "", "", ""
		}
		if d := b.execute(t, call); d.State != ledger.Succeeded || d.Repeated {
			t.Fatalf("%s: %+v", run, d)
		}
		before := b.head(t)
		if s := b.ask(t, harness, events[len(events)-1]); s != (said{}) {
			t.Errorf("%s: after the call: %+v", run, s)
		}
		rows := b.audit(t)
		if states(rows) != "EXECUTION_SUCCEEDED" || len(rows[0].Flags) > 0 || b.head(t) != before {
			t.Errorf("%s: %+v", run, rows)
		}
		if !sends {
			continue // without an id it is another order, and no hook has permitted it
		}
		if d := b.execute(t, call); !d.Repeated {
			t.Errorf("%s: the permission was spent twice: %+v", run, d)
		}
	}
}

func TestRewrittenCallIsFlagged(t *testing.T) {
	b := newBench(t, benchPolicy)
	events := recorded(t, "claude_rewrite")
	if s := b.ask(t, "claude", events[0]); hears("claude", s) != granted {
		t.Fatalf("quantity 1: %+v", s)
	}
	s := b.ask(t, "claude", events[1]) // 99999 were executed
	if s.code != 0 || s.stdout != "" || !strings.Contains(s.stderr, "flagged") {
		t.Errorf("%+v", s)
	}
	flags := ""
	for _, r := range b.audit(t) {
		flags += strings.Join(r.Flags, " ")
	}
	if !strings.Contains(flags, "ARGUMENTS_CHANGED") {
		t.Errorf("not on record: %q", flags)
	}
}

func TestDenialsThroughTheGateAreRecordedOnce(t *testing.T) {
	b := newBench(t, strings.Replace(benchPolicy, `"max_quantity":1000`, `"max_quantity":200`, 1))
	for run, harness := range recordedRuns() {
		if run == "claude_rewrite" || run == "claude_parallel" {
			continue // they also have orders that this policy allows
		}
		before := len(b.audit(t))
		decided := 0
		for i, event := range recorded(t, run) {
			if isAfterCall(event) {
				continue
			}
			s := b.ask(t, harness, event)
			decided++
			if s.code != 2 || !strings.HasPrefix(s.stderr, "QUANTITY_EXCEEDS_LIMIT: ") {
				t.Errorf("%s[%d]: %+v", run, i, s)
			}
		}
		rows := b.audit(t)
		if len(rows) != before+decided || rows[0].State != ledger.Blocked {
			t.Errorf("%s: %d rows, want %d more than %d", run, len(rows), decided, before)
		}
	}
}

//fault:f28
func TestHarnessThatLetsADeniedCallThroughIsFlagged(t *testing.T) {
	b := newBench(t, strings.Replace(benchPolicy, `"max_quantity":1000`, `"max_quantity":200`, 1))
	for run, harness := range map[string]string{"claude_allow": "claude", "codex_allow": "codex"} {
		events := recorded(t, run)
		if s := b.ask(t, harness, events[0]); s.code != 2 {
			t.Fatalf("%s: %+v", run, s)
		}
		if s := b.ask(t, harness, events[1]); s.code != 0 || !strings.Contains(s.stderr, "EXECUTED_AFTER_DENIAL") {
			t.Errorf("%s: %+v", run, s)
		}
	}
}

//fault:f26
//fault:f128
func TestGateThatCannotJudgeDenies(t *testing.T) {
	b := newBench(t, benchPolicy)
	spoil := map[string]func(){
		"policy is not one": func() { _ = os.WriteFile(filepath.Join(b.home, "policy.json"), []byte("{"), 0o600) },
		"policy is gone":    func() { _ = os.Remove(filepath.Join(b.home, "policy.json")) },
		"journal is no journal": func() {
			_ = os.WriteFile(filepath.Join(b.home, gate.JournalName), []byte(strings.Repeat("x", 8192)), 0o600)
		},
	}
	for _, name := range []string{"policy is not one", "policy is gone", "journal is no journal"} {
		spoil[name]()
		for harness, events := range preEvents(orderArgs) {
			if s := b.ask(t, harness, events[0]); s.code != 2 {
				t.Errorf("%s, %s: %+v", name, harness, s)
			}
		}
	}
}

func TestFaultsOfEveryHarnessAreOnRecord(t *testing.T) {
	b := newBench(t, benchPolicy)
	for harness, events := range preEvents(`{"symbol":"AAPL","side":"buy","quantity":"1e3","limit_price":"1.00","x":true}`) {
		if s := b.ask(t, harness, events[0]); s.code != 2 || !strings.Contains(s.stderr, "QUANTITY_MALFORMED") || !strings.Contains(s.stderr, "FIELD_UNKNOWN") {
			t.Errorf("%s: %+v", harness, s)
		}
	}
	s := b.ask(t, "claude", strings.Replace(preEvents(orderArgs)["claude"][0], "place_order", "cancel_all", 1))
	if s.code != 2 || !strings.Contains(s.stderr, string(trade.ToolUnknown)) {
		t.Errorf("a guarded tool that no dialect reads: %+v", s)
	}
	rows := b.audit(t)
	if len(rows) != 6 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.State != ledger.Blocked || !r.Order.IsZero() || len(r.Reasons) == 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestAnIdIsPermittedOnce(t *testing.T) {
	b := newBench(t, benchPolicy)
	event, done := preEvents(orderArgs)["claude"][0], afterEvents(`{"status":"ACCEPTED"}`)["claude"][0]
	if s := b.ask(t, "claude", event); s.code != 0 {
		t.Fatalf("%+v", s)
	}
	if s := b.ask(t, "claude", event); s.code != 0 {
		t.Errorf("asked again before the call: %+v", s)
	}
	if s := b.ask(t, "claude", done); s.code != 0 || s.stderr != "" {
		t.Errorf("the outcome: %+v", s)
	}
	if s := b.ask(t, "claude", event); s.code != 2 {
		t.Errorf("asked again after the call: %+v", s)
	}
	if s := b.ask(t, "claude", strings.Replace(event, `"quantity":10`, `"quantity":11`, 1)); s.code != 2 {
		t.Errorf("another order under the same id: %+v", s)
	}
	if s := b.ask(t, "claude", strings.Replace(event, `"t1"`, `"t2"`, 1)); s.code != 0 {
		t.Errorf("the same order under another id: %+v", s)
	}
	if got := states(b.audit(t)); !strings.HasPrefix(got, "EXECUTION_ALLOWED") || strings.Count(got, "EXECUTION_SUCCEEDED") != 1 {
		t.Errorf("%s", got)
	}
}
