package policy_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"sallyport/policy"
	"sallyport/trade"
)

func TestLoadPicksTheVersionByItsKey(t *testing.T) {
	example, err := os.ReadFile("example.jsonc")
	if err != nil {
		t.Fatal(err)
	}
	e, err := policy.Load(example, policy.World{})
	if err != nil || e.V1 != nil || !e.V2.IsValid() || !e.IsValid() {
		t.Errorf("the example of version 2: %+v, %v", e, err)
	}
	e, err = policy.Load(policy.Default(), policy.World{})
	if err != nil || e.V2 != nil || !e.V1.IsValid() || !e.IsValid() {
		t.Errorf("the default policy: %+v, %v", e, err)
	}
	if (policy.Either{}).IsValid() || (policy.Either{V1: &policy.Policy{}}).IsValid() || (policy.Either{V2: &policy.Rulebook{}}).IsValid() {
		t.Error("a policy that no file gave is valid")
	}
	if p, err := policy.Parse(example); err == nil || p != nil {
		t.Error("the first version reads a file of the second")
	}
	if _, err := policy.ParseV2(policy.Default(), policy.World{}); err == nil {
		t.Error("a policy of version 1 is one of version 2")
	}
}

// TestLoadTellsTheProblemsOfTheRightVersion: where, and in the words of which version.
func TestLoadTellsTheProblemsOfTheRightVersion(t *testing.T) {
	minimal := `"currency": "USD", "timezone": "UTC", "rules": [{"id": "r", "match": {"symbols": ["A"]}, "effect": "deny"}]}`
	for _, c := range []struct{ name, raw, says string }{
		{"version 1 with a comment", "{} // none", `line 1, column 4: the policy is not one JSON value: invalid character '/' at start of value; a policy without "version" is plain JSON`},
		{"nothing", "", "the policy is not one JSON value"},
		{"no object", "[2]", "line 1, column 1: the policy is an array; an object is asked"},
		{"another version", `{"version": 3}`, "line 1, column 2: version is 3; a policy of the first version has none"},
		{"the version as text", `{"version": "2", ` + minimal, `line 1, column 2: version is "2"; a policy of the first version has none`},
		{"version 2 cut off", "// a comment\n{\"version\": 2, \"rules\": [", "line 2, column 26: the policy is not one JSON value"},
		{"version 2 without rules", "{\"version\": 2,\n \"x\": 1}", `line 2, column 2: "x" is not a key of a policy of version 2`},
		{"version twice", `{"version": 1, "version": 2, ` + minimal, "version is there again"},
		{"an escaped key", `{"\u0076ersion": 2, ` + minimal, ""},
		{"too large", `{"version": 2}` + strings.Repeat(" ", policy.MaxBytes), "the policy is too large"},
	} {
		e, err := policy.Load([]byte(c.raw), policy.World{})
		if c.says == "" {
			if err != nil || !e.V2.IsValid() {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var bad *policy.ConfigError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
		if e.IsValid() {
			t.Errorf("%s: a policy comes with the error", c.name)
		}
	}
}

// FuzzLoadIsParse holds Load to the first version, byte for byte, where a file has no version.
func FuzzLoadIsParse(f *testing.F) {
	f.Add(policy.Default())
	f.Add(policy.ExampleV2())
	f.Add([]byte(`{"version": 2, "max_quantity": 1}`))
	f.Add([]byte("// {}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := policy.Load(raw, policy.World{})
		p, old := policy.Parse(raw)
		b, new := policy.ParseV2(raw, policy.World{})
		switch {
		case old == nil && (err != nil || !e.V1.IsValid() || show(e.V1) != show(p)):
			t.Errorf("Parse takes %q, and Load says %v", raw, err)
		case new == nil && (err != nil || !e.V2.IsValid()):
			t.Errorf("ParseV2 takes %q, and Load says %v", raw, err)
		case old != nil && new != nil && (err == nil || e.IsValid()):
			t.Errorf("Load alone takes %q", raw)
		case b.IsValid() && p.IsValid():
			t.Errorf("%q is of both versions", raw)
		case err != nil && err.Error() != old.Error() && !bytes.Contains(raw, []byte("2")):
			t.Errorf("%q: %v, where the first version says %v", raw, err, old)
		}
	})
}

func TestWorthIsTheWorstPrice(t *testing.T) {
	b := example(t)
	_, s := calm()
	none := s
	none.Quote = policy.QuoteFact{Code: policy.QuoteUnavailable}
	for _, c := range []struct {
		name string
		o    trade.Order
		s    policy.Situation
		want string
	}{
		{"a buy above the ask", order(t, "buy", "10", "AAPL", "101.00"), s, "1010"},
		{"a buy below the ask", order(t, "buy", "10", "AAPL", "50.00"), s, "1000"},
		{"a sell", order(t, "sell", "10", "AAPL", "50.00"), s, "1000"},
		{"a sell of another symbol", order(t, "sell", "3", "ZZZ", "101.01"), s, "303.03"},
		{"no quote", order(t, "buy", "10", "AAPL", "50.00"), none, "500"},
		{"no order", trade.Order{}, s, "unknown"},
	} {
		got := "unknown"
		if w := b.Worth(c.o, c.s); w.Known {
			got = w.Value.String()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if w := (*policy.Rulebook)(nil).Worth(order(t, "buy", "1", "AAPL", "1.00"), s); w.Known {
		t.Errorf("without a policy an order is worth %s", w.Value)
	}
}
