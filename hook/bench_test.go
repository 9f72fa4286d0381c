package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// fakeGate decides as it is told and remembers what it was asked.
type fakeGate struct {
	mu      sync.Mutex
	calls   []gate.Call
	reports []gate.Report
	decide  func(context.Context, gate.Call) ledger.Decision
	settle  func(context.Context, gate.Report) (ledger.Decision, bool, error)
	closed  int
}

func (f *fakeGate) Authorize(ctx context.Context, c gate.Call) ledger.Decision {
	f.mu.Lock()
	f.calls = append(f.calls, c)
	f.mu.Unlock()
	if f.decide != nil {
		return f.decide(ctx, c)
	}
	return judged(c)
}

func (f *fakeGate) Report(ctx context.Context, r gate.Report) (ledger.Decision, bool, error) {
	f.mu.Lock()
	f.reports = append(f.reports, r)
	f.mu.Unlock()
	if f.settle != nil {
		return f.settle(ctx, r)
	}
	return ledger.Decision{Intent: "01J00000000000000000000000"}, true, nil
}

func (f *fakeGate) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	return nil
}

// judged allows every order and denies every fault, as a gate with an open policy would.
func judged(c gate.Call) ledger.Decision {
	d := ledger.Decision{Intent: "01J00000000000000000000000", Order: c.Order, State: ledger.Blocked, At: time.Unix(0, 0)}
	for _, f := range c.Faults {
		d.Reasons = append(d.Reasons, policy.Reason{Code: f.Code, Field: f.Field, Message: f.Message})
	}
	if len(d.Reasons) == 0 {
		d.Verdict, d.State = policy.Allow, ledger.Allowed
	}
	return d
}

// benchDialect reads the orders of the recorded runs, which leave out the order type, and its broker's answers.
func benchDialect(name string) (*dialect.Dialect, bool) {
	if name != "bench" {
		return dialect.Find(name)
	}
	return &dialect.Dialect{
		Name: "bench", Account: "bench",
		Fields: []dialect.Field{
			{Name: "symbol", Term: dialect.Symbol},
			{Name: "side", Term: dialect.Side},
			{Name: "quantity", Term: dialect.Quantity},
			{Name: "limit_price", Term: dialect.LimitPrice},
		},
		Fixed: []dialect.FixedTerm{{Term: dialect.OrderType, Value: "limit"}, {Term: dialect.TimeInForce, Value: "day"}},
		Outcome: func(p []byte) dialect.Answer {
			a := dialect.StatusAnswer([]string{"ACCEPTED"}, []string{"REJECTED"})(p)
			if a.Code == "" && a.Outcome == trade.Rejected {
				a.Outcome = trade.Unknown
			}
			return a
		},
	}, true
}

// benchGuards guards the recorded broker under the name that each harness gives it.
func benchGuards() []Guard {
	return []Guard{
		{Match: "mcp__broker__place_order", Dialect: "bench"},
		{Match: "mcp_broker_place_order", Dialect: "bench"},
		{Match: "paper_place_order", Dialect: "bench"},
		{Match: "mcp__broker__*"},
		{Match: "mcp__broker__get_*", Pass: true},
	}
}

// said is what a run answered.
type said struct {
	code           int
	stdout, stderr string
}

func benchConfig(harness string, g *fakeGate) Config {
	return Config{
		Harness: harness, Guards: benchGuards(), Agent: "local", Dialects: benchDialect, Deadline: 5 * time.Second,
		Tier: trade.TierExecute,
		Open: func(context.Context) (Gate, error) { return g, nil },
	}
}

func ask(t *testing.T, cfg Config, event string) said {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(context.Background(), cfg, strings.NewReader(event), &stdout, &stderr)
	s := said{code, stdout.String(), stderr.String()}
	s.check(t)
	return s
}

// check holds for every answer whatever the question: the exit code, and a stdout that is one JSON object or nothing.
func (s said) check(t *testing.T) {
	t.Helper()
	if s.code != 0 && s.code != 2 {
		t.Fatalf("exit code %d; only 0 and 2 exist", s.code)
	}
	if s.code == 2 && (strings.TrimSpace(s.stderr) == "" || s.stdout == "") {
		t.Fatalf("a denial without text: stdout %q, stderr %q", s.stdout, s.stderr)
	}
	if s.stdout == "" {
		return
	}
	if strings.Count(s.stdout, "\n") != 1 || !strings.HasSuffix(s.stdout, "\n") {
		t.Fatalf("stdout is not one line: %q", s.stdout)
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(s.stdout), &object); err != nil {
		t.Fatalf("stdout is not one JSON object: %v: %q", err, s.stdout)
	}
}

// recorded returns the events of a recorded run.
func recorded(t testing.TB, run string) []string {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + run + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

// verdict is what a harness makes of an answer.
type verdict string

const (
	granted verdict = "granted"
	refused verdict = "refused"
	open    verdict = "no decision"
	broken  verdict = "hook failed" // and the harness goes on as if there was none
)

// hears reads an answer as one harness does, by the rules that were observed with the real programs.
func hears(reader string, s said) verdict {
	var out struct {
		Specific struct {
			Event    string `json:"hookEventName"`
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
			Updated  any    `json:"updatedInput"`
			Asked    struct {
				Behavior string `json:"behavior"`
				Message  string `json:"message"`
			} `json:"decision"`
		} `json:"hookSpecificOutput"`
		Decision, Reason, Action, Message string
	}
	_ = json.Unmarshal([]byte(s.stdout), &out)
	loud := strings.TrimSpace(s.stderr) != ""
	switch reader {
	case "claude", "qwen", "codex", "codex asked":
		switch {
		case s.code == 2 && loud:
			return refused
		case s.code != 0:
			return broken
		}
	}
	switch reader {
	case "claude", "qwen":
		switch out.Specific.Decision {
		case "allow":
			return granted
		case "deny":
			return refused
		}
	case "codex":
		switch {
		case out.Specific.Decision == "allow" && out.Specific.Updated != nil:
			return granted
		case out.Specific.Decision != "" && out.Specific.Decision != "deny", out.Decision == "allow":
			return broken
		case out.Specific.Decision == "deny" && out.Specific.Reason != "":
			return refused
		}
	case "codex asked":
		switch out.Specific.Asked.Behavior {
		case "allow":
			return granted
		case "deny":
			return refused
		}
	case "gemini":
		switch {
		case s.code >= 2 && loud, out.Decision == "deny", out.Decision == "block":
			return refused
		case s.code == 0 && out.Decision == "allow":
			return granted
		}
	case "hermes 0.19 shell": // knows no exit code
		if out.Decision == "block" && out.Reason != "" || out.Action == "block" && out.Message != "" {
			return refused
		}
		if out.Decision == "allow" {
			return granted
		}
	case "hermes shell", "hermes plugin":
		if s.code == 2 || out.Action == "block" && out.Message != "" || out.Decision == "block" {
			return refused
		}
		if out.Decision == "allow" && out.Action == "" {
			return granted
		}
	}
	return open
}

// readers names the readers of a harness's answers.
func readers(harness string) []string {
	if harness == "hermes" {
		return []string{"hermes 0.19 shell", "hermes shell", "hermes plugin"}
	}
	return []string{harness}
}
