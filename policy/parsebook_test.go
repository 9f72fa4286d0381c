package policy_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// TestConfigurationErrorsOfVersion2 runs the files of testdata/config2. An input that begins with a double quote and ends
// with one is a Go string, for bytes that a text file cannot hold.
//
//attack:policy-rule-id
//attack:policy-duration
//attack:policy-count
//attack:policy-slippage
//attack:policy-execute-within
//attack:policy-open-proposals
//fault:f14
//fault:f118
func TestConfigurationErrorsOfVersion2(t *testing.T) {
	datadriven.Walk(t, "testdata/config2", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			raw := d.Input
			if s, err := strconv.Unquote(raw); err == nil && len(raw) > 8 {
				raw = s
			}
			b, err := policy.ParseV2([]byte(raw), policy.World{})
			if err == nil {
				out := "valid\n"
				for _, s := range b.Dormant() {
					out += "dormant: " + s + "\n"
				}
				return out
			}
			if b != nil {
				t.Errorf("%s: a rulebook comes with the error", raw)
			}
			return problems(t, d, err)
		})
	})
}

// rulesOf is a policy of n rules, each about one symbol of its own.
func rulesOf(n int, more string) string {
	rules := make([]string, n)
	for i := range rules {
		rules[i] = fmt.Sprintf(`{"id": "r%d", "match": {"symbols": ["A%d"%s]}, "limits": {"order_quantity": {"deny_above": "1"}}}`, i, i, more)
	}
	return `{"version": 2, "currency": "USD", "timezone": "UTC", "rules": [` + strings.Join(rules, ",") + `]}`
}

//attack:policy-rules
//attack:policy-list
//attack:policy-agents
func TestRulesAndListsAreBounded(t *testing.T) {
	many := func(n int) string {
		var s strings.Builder
		for i := range n {
			fmt.Fprintf(&s, `, "B%d"`, i)
		}
		return s.String()
	}
	for raw, want := range map[string]string{
		rulesOf(256, ""):         "",
		rulesOf(257, ""):         "rules holds 257 rules; at most 256 are read",
		rulesOf(1, many(9_999)):  "",
		rulesOf(1, many(10_000)): "rules[0].match.symbols holds 10001 entries; at most 10000 are read",

		rulesOf(1, `], "agents": ["A"`+many(255)): "",
		rulesOf(1, `], "agents": ["A"`+many(256)): "rules[0].match.agents names 257 agents; at most 256 are read",
	} {
		_, err := policy.ParseV2([]byte(raw), policy.World{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d bytes: %v, not %q", len(raw), err, want)
		}
	}
}

// TestHostileFilesAreErrors is about inputs that are made to cost much.
func TestHostileFilesAreErrors(t *testing.T) {
	for name, raw := range map[string][]byte{
		"deep lists":     bytes.Repeat([]byte("["), 1<<20),
		"deep objects":   bytes.Repeat([]byte(`{"a":`), 200_000),
		"large":          bytes.Repeat([]byte(" "), policy.MaxBytes+1),
		"open comment":   append([]byte("/*"), bytes.Repeat([]byte("*"), 1<<19)...),
		"many comments":  bytes.Repeat([]byte("/**/"), 1<<18),
		"many slashes":   bytes.Repeat([]byte("/"), 1<<20),
		"open text":      append([]byte(`{"`), bytes.Repeat([]byte(`\`), 1<<19)...),
		"commas":         bytes.Repeat([]byte("1,"), 1<<19),
		"deep, in rules": []byte(`{"version": 2, "rules": ` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`),
	} {
		if b, err := policy.ParseV2(raw, policy.World{}); err == nil || b != nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestProblemsAreBounded: a file that is nothing but problems is refused soon.
//
//attack:policy-problems
func TestProblemsAreBounded(t *testing.T) {
	raw := []byte(`{"version": 2` + strings.Repeat(`,"a":1`, 150_000) + `}`)
	_, err := policy.ParseV2(raw, policy.World{})
	var c *policy.ConfigError
	if !errors.As(err, &c) || len(c.Problems) != 1000 {
		t.Errorf("%.200v", err)
	}
}

func TestTheWorldIsAsked(t *testing.T) {
	raw, err := os.ReadFile("example.jsonc")
	if err != nil {
		t.Fatal(err)
	}
	_, err = policy.ParseV2(raw, policy.World{
		Symbol: func(s trade.Symbol) bool { return s.String() != "MSFT" },
		Zone:   func(name string) bool { return name == "UTC" },
	})
	var c *policy.ConfigError
	if !errors.As(err, &c) || len(c.Problems) != 2 || c.Problems[0].Key != "timezone" || c.Problems[1].Key != "rules[0].match.symbols" {
		t.Fatalf("%v", err)
	}
	for _, p := range c.Problems {
		if p.Line == 0 || p.Column == 0 {
			t.Errorf("%+v has no place", p)
		}
	}
}

func TestZeroAndNilRulebookDenyEverything(t *testing.T) {
	f, s := calm()
	o := order(t, "buy", "1", "AAPL", "100")
	var none *policy.Rulebook
	for name, b := range map[string]*policy.Rulebook{"zero": {}, "nil": none} {
		v := b.Evaluate(o, f, s)
		if v.Effect != policy.Deny || len(v.Reasons) != 1 || v.Reasons[0].Code != policy.PolicyInvalid || b.IsValid() {
			t.Errorf("the %s rulebook answers %+v", name, v)
		}
		if b.AppendJudging(nil, o, policy.Facts{}, policy.Situation{Agent: "bot"}) != nil {
			t.Errorf("the %s rulebook matches", name)
		}
	}
	if v := example(t).Evaluate(trade.Order{}, f, s); v.Effect != policy.Deny {
		t.Error("no order is allowed")
	}
	if v := example(t).Evaluate(o, policy.Facts{}, policy.Situation{}); v.Effect != policy.Deny {
		t.Error("an order is allowed in a situation that knows nothing")
	}
}

// TestABrokenHistoryDenies: what panics is a denial of its own, and the other reasons are still given.
func TestABrokenHistoryDenies(t *testing.T) {
	b := mustBook(t, oneLimit(`"order_quantity": {"deny_above": "5"}, "orders_per_minute": {"deny_above": "5"}`))
	f, s := calm()
	s.History = (*past)(nil)
	v := b.Evaluate(order(t, "buy", "10", "AAPL", "100"), f, s)
	if v.Effect != policy.Deny || len(v.Reasons) != 2 || v.Reasons[0].Code != policy.QuantityExceedsLimit ||
		v.Reasons[1].Code != policy.InternalError || v.Reasons[1].Field != "orders_per_minute" || v.Reasons[1].Rule != "one" {
		t.Errorf("%+v", v)
	}
	if v.MaxQuantity != nil || !v.RetryAfter.IsZero() {
		t.Errorf("a quantity or a time is offered: %+v", v)
	}
}

func TestMatchingRulesAreNamed(t *testing.T) {
	b := example(t)
	if got := b.AppendJudging(nil, order(t, "buy", "1", "AAPL", "1"), policy.Facts{}, policy.Situation{Agent: "bot"}); fmt.Sprint(got) != "[large-caps]" {
		t.Error(got)
	}
	if got := b.AppendJudging(nil, order(t, "buy", "1", "GME", "1"), policy.Facts{}, policy.Situation{Agent: "bot"}); fmt.Sprint(got) != "[restricted]" {
		t.Error(got)
	}
	if got := b.RuleIDs(); fmt.Sprint(got) != "[large-caps restricted]" {
		t.Error(got)
	}
}

func TestTheExampleIsReadWhole(t *testing.T) {
	b := example(t)
	q, a := b.Quotes(), b.Approval()
	got := fmt.Sprintln(b.Currency(), b.Timezone(), q.Sources, q.MaxAge, q.MaxSpread, q.MaxDivergence.Value, q.Slippage.Value,
		a.IsSet(), a.Expires, a.ExecuteWithin, a.TwoApprovers.Value, a.MaxPriceDrift.Value, a.MaxProposals.N, len(b.Tests()))
	if want := "USD America/New_York [file] 30s 200 100 50 true 30m0s 15s 25000 50 5 2\n"; got != want {
		t.Errorf("%s", got)
	}
	if x := b.Tests()[0]; x.Name != "a whole position's exit passes" || len(x.Tape) != 4 || x.Expect[0].Kind != wire.Object {
		t.Errorf("%+v", x)
	}
	if len(b.Dormant()) != 1 {
		t.Errorf("%q", b.Dormant())
	}
}

// FuzzParseV2 looks for a file that panics, or that is valid and lets an order pass in a situation that knows nothing of
// what its limits need.
func FuzzParseV2(f *testing.F) {
	raw, err := os.ReadFile("example.jsonc")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(rulesOf(2, "")))
	f.Add([]byte(`/* x */ {"version": 2,} // y`))
	f.Add(policy.Default())
	o := order(f, "buy", "1", "AAPL", "100")
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := policy.ParseV2(raw, policy.World{})
		if (err == nil) != b.IsValid() {
			t.Fatalf("%v, and the rulebook is valid: %v", err, b.IsValid())
		}
		if _, old := policy.Parse(raw); old == nil && err == nil {
			t.Fatal("both versions take it")
		}
		v := b.Evaluate(o, policy.Facts{}, policy.Situation{})
		if err == nil && v.Effect == policy.Allow && len(b.AppendJudging(nil, o, policy.Facts{}, policy.Situation{Agent: ""})) == 0 {
			t.Fatal("allowed, and no rule matches")
		}
	})
}

//attack:policy-source
func TestNamesOfSources(t *testing.T) {
	for name, ok := range map[string]bool{
		"file": true, "a": true, "b2-x_y": true, strings.Repeat("a", 32): true,
		strings.Repeat("a", 33): false, "": false, "2b": false, "-a": false, "A": false, "a b": false, "a/b": false, "\u0430": false,
	} {
		raw := `{"version": 2, "currency": "USD", "timezone": "America/New_York", "quotes": {"sources": ["` + name + `"], "max_age": "30s", "max_spread_bps": "200"},` +
			`"rules": [{"id": "r", "match": {"symbols": ["AAPL"]}, "limits": {"order_quantity": {"deny_above": "200"}}}]}`
		if _, err := policy.ParseV2([]byte(raw), policy.World{}); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
