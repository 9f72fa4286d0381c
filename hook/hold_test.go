package hook

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// desk is a daemon's gate that holds every order of the recorded kind, with a person who approves. Hooks reach the gate as
// clients do: closing one leaves it open.
type desk struct {
	*bench
	g      *gate.Gate
	secret string
	tier   trade.Tier
	agent  trade.Agent
}

type shared struct{ *gate.Gate }

func (shared) Close() error { return nil }

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{bench: newBench(t, benchPolicy), tier: trade.TierExecute, agent: "local"}
	cfg := d.config()
	cfg.Daemon, cfg.Broker, cfg.Account = true, &d.venue, "bench"
	d.venue.Now = cfg.Now
	above := trade.Whole(1000)
	cfg.Approval.HoldAbove = &above
	g, err := gate.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	if d.secret, err = g.MakeOwner(context.Background(), gate.PersonTerms{Name: "olga", Approver: true}); err != nil {
		t.Fatal(err)
	}
	d.g = g
	return d
}

// call is the event before a call, in a session and under an id of its own.
func (d *desk) call(t *testing.T, harness, session, id, args string) said {
	t.Helper()
	event := preEvents(args)[harness][0]
	event = strings.NewReplacer(`"s1"`, `"`+session+`"`, `"t1"`, `"`+id+`"`, `"toolu_1"`, `"toolu_`+id+`"`).Replace(event)
	return d.send(t, harness, event)
}

func (d *desk) send(t *testing.T, harness, event string) said {
	t.Helper()
	cfg := benchConfig(harness, nil)
	cfg.Tier, cfg.Agent = d.tier, d.agent
	cfg.Open = func(context.Context) (Gate, error) { return shared{d.g}, nil }
	return ask(t, cfg, event)
}

var proposalText = regexp.MustCompile(`^NOT EXECUTED: proposal ([0-9A-Z]{26}) waits for a person until (\S+Z)\. `)

// held returns the proposal that a denial names; its time of expiry must be the gate's.
func (d *desk) held(t *testing.T, harness string, s said) trade.IntentID {
	t.Helper()
	m := proposalText.FindStringSubmatch(s.stderr)
	if m == nil || !strings.Contains(s.stderr, "APPROVAL_REQUIRED") {
		t.Fatalf("%s: no hold: %+v", harness, s)
	}
	for _, reader := range readers(harness) {
		if v := hears(reader, s); v != refused {
			t.Errorf("%s hears %q from a hold: %s", reader, v, s.stdout)
		}
	}
	row, err := d.g.Proposal(context.Background(), d.agent, trade.IntentID(m[1]))
	if err != nil || row.State != ledger.ApprovalPending || row.Hold.Expires.Format(ledger.TimeFormat) != m[2] || !row.Hold.Permits {
		t.Fatalf("%s: %v, %+v", harness, err, row)
	}
	return row.Intent
}

// approve is what a person does, with a credential of their own.
func (d *desk) approve(t *testing.T, id trade.IntentID) {
	t.Helper()
	ctx := context.Background()
	person, err := d.g.Identify(ctx, d.secret, "test")
	if err != nil {
		t.Fatal(err)
	}
	row, _, err := d.g.History(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	row, err = d.g.Approve(ctx, gate.Press{By: person, Proposal: id, Digest: row.Order.Digest()})
	if err != nil || row.State != ledger.ApprovalGranted {
		t.Fatalf("%v, %+v", err, row)
	}
}

func (d *desk) pass(by time.Duration) { d.now.Add(int64(by)) }

// TestHeldCallIsAllowedOnceAfterApproval goes the whole way of ruling R5 in each harness.
func TestHeldCallIsAllowedOnceAfterApproval(t *testing.T) {
	for _, harness := range harnesses() {
		d := newDesk(t)
		id := d.held(t, harness, d.call(t, harness, "s1", "c1", orderArgs))
		if again := d.held(t, harness, d.call(t, harness, "s1", "c2", orderArgs)); again != id {
			t.Errorf("%s: the same call again is another proposal", harness)
		}
		d.approve(t, id)
		if other := d.held(t, harness, d.call(t, harness, "s2", "c3", orderArgs)); other == id {
			t.Errorf("%s: another session came by the approval", harness)
		}
		if other := d.held(t, harness, d.call(t, harness, "s1", "c4", strings.Replace(orderArgs, `10`, `11`, 1))); other == id {
			t.Errorf("%s: another order came by the approval", harness)
		}
		s := d.call(t, harness, "s1", "c5", orderArgs)
		for _, reader := range readers(harness) {
			if v := hears(reader, s); v != granted {
				t.Errorf("%s hears %q after the approval: %+v", reader, v, s)
			}
		}
		if second := d.held(t, harness, d.call(t, harness, "s1", "c6", orderArgs)); second == id {
			t.Errorf("%s: one approval permitted two calls", harness)
		}
		row, err := d.g.Proposal(context.Background(), "local", id)
		if err != nil || row.State != ledger.Allowed || len(row.ApprovedBy) != 1 || row.ApprovedBy[0] != "olga" {
			t.Errorf("%s: %v, %+v", harness, err, row)
		}
	}
}

// TestApprovedCallIsExecutedByOurOwnServerOnce: behind the hook stands our own server, and one approval is good for one
// order there too.
func TestApprovedCallIsExecutedByOurOwnServerOnce(t *testing.T) {
	ctx := context.Background()
	for _, harness := range []string{"claude", "gemini"} { // which name the call to the server, and do not
		d := newDesk(t)
		seen := &fakeGate{}
		event := strings.Replace(preEvents(orderArgs)[harness][0], `"t1"`, `"c2"`, 1)
		ask(t, benchConfig(harness, seen), event)
		call := seen.calls[0]
		call.Origin.Surface = "mcp"
		if harness == "gemini" {
			call.Origin.Harness, call.Origin.Session = "", ""
		}
		id := d.held(t, harness, d.call(t, harness, "s1", "c1", orderArgs))
		early := call
		early.Origin.ToolCallID = "c9"
		if got := d.g.Execute(ctx, early); got.State != ledger.ApprovalPending || len(d.venue.Submits()) != 0 {
			t.Errorf("%s: before the approval: %+v", harness, got)
		}
		d.approve(t, id)
		if s := d.send(t, harness, event); hears(harness, s) != granted {
			t.Fatalf("%s: %+v", harness, s)
		}
		if got := d.g.Execute(ctx, call); got.State != ledger.Succeeded || got.Intent != id {
			t.Errorf("%s: %s", harness, got.AppendJSON(nil))
		}
		call.Origin.ToolCallID = "c3"
		if got := d.g.Execute(ctx, call); got.State != ledger.ApprovalPending || len(d.venue.Submits()) != 1 {
			t.Errorf("%s: another call: %d orders, %s", harness, len(d.venue.Submits()), got.AppendJSON(nil))
		}
	}
}

// TestApprovalAtAHookIsVoid tries, after the approval, each thing that ends it.
func TestApprovalAtAHookIsVoid(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		after func(t *testing.T, d *desk, id trade.IntentID)
		text  string // of the denial
	}{
		{"the proposal expired", func(_ *testing.T, d *desk, _ trade.IntentID) { d.pass(30 * time.Minute) }, "NOT EXECUTED: proposal "},
		{"the policy was edited", func(t *testing.T, d *desk, _ trade.IntentID) {
			if err := os.WriteFile(filepath.Join(d.home, "policy.json"), []byte(benchPolicy+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "POLICY_CHANGED: "},
		{"the policy now denies", func(t *testing.T, d *desk, _ trade.IntentID) {
			tight := strings.Replace(benchPolicy, `"max_quantity":1000`, `"max_quantity":9`, 1)
			if err := os.WriteFile(filepath.Join(d.home, "policy.json"), []byte(tight), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "QUANTITY_EXCEEDS_LIMIT: "},
		{"everything was stopped", func(t *testing.T, d *desk, _ trade.IntentID) {
			if _, err := d.g.Kill(ctx, gate.StopRequest{Local: "test", Reason: "enough"}); err != nil {
				t.Fatal(err)
			}
		}, "KILL_SWITCH_ACTIVE: "},
		{"the symbol was stopped", func(t *testing.T, d *desk, _ trade.IntentID) {
			scope, _ := ledger.ParseScope("symbol:AAPL")
			if _, err := d.g.Kill(ctx, gate.StopRequest{Local: "test", Reason: "enough", Scope: scope}); err != nil {
				t.Fatal(err)
			}
		}, "KILL_SWITCH_ACTIVE: "},
		{"the agent withdrew it", func(t *testing.T, d *desk, id trade.IntentID) {
			if _, err := d.g.Withdraw(ctx, gate.Origin{Agent: "local"}, trade.TierPropose, id, ""); err != nil {
				t.Fatal(err)
			}
		}, "NOT EXECUTED: proposal "},
		{"another agent asks", func(_ *testing.T, d *desk, _ trade.IntentID) { d.agent = "bob" }, "NOT EXECUTED: proposal "},
		{"the hook has tier 1 now", func(_ *testing.T, d *desk, _ trade.IntentID) { d.tier = trade.TierPropose }, "TIER_TOO_LOW: "},
	} {
		for _, harness := range []string{"claude", "gemini"} {
			d := newDesk(t)
			id := d.held(t, harness, d.call(t, harness, "s1", "c1", orderArgs))
			d.approve(t, id)
			c.after(t, d, id)
			s := d.call(t, harness, "s1", "c2", orderArgs)
			if s.code != 2 || !strings.Contains(s.stderr, c.text) || strings.Contains(s.stderr, "proposal "+string(id)) {
				t.Errorf("%s, %s: %+v", harness, c.name, s)
			}
		}
	}
}

// TestExpiryAtAHookIsExact asks a moment before and at the end of the proposal's time.
func TestExpiryAtAHookIsExact(t *testing.T) {
	for _, c := range []struct {
		short time.Duration
		want  verdict
	}{{time.Minute, granted}, {0, refused}} {
		d := newDesk(t)
		id := d.held(t, "claude", d.call(t, "claude", "s1", "c1", orderArgs))
		d.approve(t, id)
		row, err := d.g.Proposal(context.Background(), "local", id)
		if err != nil {
			t.Fatal(err)
		}
		d.now.Store(row.Hold.Expires.Add(-c.short).UnixNano())
		if s := d.call(t, "claude", "s1", "c2", orderArgs); hears("claude", s) != c.want {
			t.Errorf("%s before its end: %+v", c.short, s)
		}
	}
}

// TestCodexAsksForPermissionAfterTheApproval: the permission request that follows the granted call is granted once.
func TestCodexAsksForPermissionAfterTheApproval(t *testing.T) {
	d := newDesk(t)
	asks := preEvents(orderArgs)["codex"][1]
	id := d.held(t, "codex", d.call(t, "codex", "s1", "c1", orderArgs))
	if s := d.send(t, "codex", asks); hears("codex asked", s) != refused || !strings.Contains(s.stderr, string(id)) {
		t.Errorf("asked while it waits: %+v", s)
	}
	d.approve(t, id)
	if s := d.call(t, "codex", "s1", "c2", orderArgs); hears("codex", s) != granted {
		t.Fatalf("%+v", s)
	}
	if s := d.send(t, "codex", asks); hears("codex asked", s) != granted {
		t.Errorf("%+v", s)
	}
	if s := d.send(t, "codex", asks); hears("codex asked", s) != refused {
		t.Errorf("granted twice: %+v", s)
	}
}

// TestTierTooLowDeniesInEveryHarness holds an order that the policy would allow.
func TestTierTooLowDeniesInEveryHarness(t *testing.T) {
	for tier := trade.TierRead; tier < trade.TierExecute; tier++ {
		d := newDesk(t)
		d.tier = tier
		small := strings.Replace(orderArgs, `"150.00"`, `"1.00"`, 1)
		for harness, events := range preEvents(small) {
			for _, event := range events {
				s := d.send(t, harness, event)
				if s.code != 2 || !strings.HasPrefix(s.stderr, "TIER_TOO_LOW: this needs tier 2, and this caller has tier "+tier.String()) {
					t.Errorf("%s: %+v", harness, s)
				}
			}
		}
		rows, err := d.g.Audit(context.Background(), 200)
		if err != nil || len(rows) != 8 {
			t.Fatalf("%v, %d rows", err, len(rows))
		}
		for _, r := range rows {
			if r.State != ledger.Blocked {
				t.Errorf("%+v", r)
			}
		}
	}
}

func TestGateIsToldTheTierAndTheDialect(t *testing.T) {
	for harness, events := range preEvents(orderArgs) {
		g := &fakeGate{}
		cfg := benchConfig(harness, g)
		cfg.Tier = trade.TierPropose
		ask(t, cfg, events[0])
		ask(t, cfg, afterEvents(`{"status":"ACCEPTED"}`)[harness][0])
		if c, r := g.calls[0], g.reports[0]; c.Tier != trade.TierPropose || c.Dialect != "bench" || r.Dialect != "bench" {
			t.Errorf("%s: %+v, %+v", harness, c, r)
		}
	}
	g := &fakeGate{}
	ask(t, benchConfig("claude", g), strings.Replace(preEvents(orderArgs)["claude"][0], "place_order", "cancel_all", 1))
	if c := g.calls[0]; c.Dialect != "" || c.Order.IsZero() == false {
		t.Errorf("a tool that nothing reads: %+v", c)
	}
}
