package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"sallyport/policy"
)

// TestDiffShowsWhichWayEachChangeGoes runs testdata/diff: the old rules, and new ones that are compared with them.
//
//attack:policy-diff-names
//attack:policy-usual-approval
func TestDiffShowsWhichWayEachChangeGoes(t *testing.T) {
	file := func(input string) *policy.Rulebook {
		if !strings.HasPrefix(input, `{"version"`) {
			input = `{"version": 2, "currency": "USD", "timezone": "America/New_York",
				"quotes": {"sources": ["file"], "max_age": "30s", "max_spread_bps": "200", "market_slippage_bps": "50"}, "rules": [` + input + "]}"
		}
		return mustBook(t, input)
	}
	datadriven.Walk(t, "testdata/diff", func(t *testing.T, path string) {
		var old *policy.Rulebook
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "old" {
				old = file(d.Input)
				return "valid\n"
			}
			changes := policy.Diff(old, file(d.Input))
			checkWitnesses(t, old, file(d.Input), changes)
			return string(policy.AppendChanges(nil, changes))
		})
	})
	many := make([]string, 200)
	for i := range many {
		many[i] = fmt.Sprintf(`"A%d"`, i)
	}
	long := file(`{"id": "one", "match": {"symbols": [` + strings.Join(many, ",") + `]}, "limits": {"order_quantity": {"deny_above": "9"}}}`)
	short := file(`{"id": "one", "match": {"symbols": ["ZZZ"]}, "limits": {"order_quantity": {"deny_above": "9"}}}`)
	if c := policy.Diff(long, short); len(c) != 1 || c[0].Tried > 150 || c[0].Tighter == nil || c[0].Looser == nil {
		t.Errorf("%+v", c)
	}
}

type failer interface {
	Helper()
	Errorf(string, ...any)
}

// checkWitnesses holds what a diff shows to the evaluator.
func checkWitnesses(t failer, old, new *policy.Rulebook, changes []policy.Change) {
	t.Helper()
	for _, c := range changes {
		for _, w := range []*policy.Witness{c.Tighter, c.Looser} {
			if w == nil {
				continue
			}
			before, after := verdictWord(old.Evaluate(w.Order, w.Facts, w.Situation)), verdictWord(new.Evaluate(w.Order, w.Facts, w.Situation))
			if before != w.Before || w.Both && before == after {
				t.Errorf("%s: %s is said to go from %s to %s, and goes from %s to %s", c.Path, w.Case, w.Before, w.After, before, after)
			}
		}
	}
}

// TestDiffFindsWhatIsDifferent: where a random order is judged otherwise, there is a change; and lowering one bound is
// never called looser.
func TestDiffFindsWhatIsDifferent(t *testing.T) {
	found, lowered := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		q := p
		q.rules = append([]naiveRule{}, p.rules...)
		i := rapid.IntRange(0, len(p.rules)-1).Draw(t, "which rule")
		lowering := rapid.Bool().Draw(t, "lower")
		if lowering && !lowerBound(t, &q.rules[i]) {
			t.Skip("nothing to lower")
		} else if !lowering {
			q.rules[i] = drawRule(t, q.rules[i].id)
		}
		old, err := policy.ParseV2([]byte(p.file()), policy.World{})
		new, err2 := policy.ParseV2([]byte(q.file()), policy.World{})
		if err != nil || err2 != nil {
			t.Skip("not valid")
		}
		changes := policy.Diff(old, new)
		checkWitnesses(t, old, new, changes)
		if again := policy.AppendChanges(nil, policy.Diff(old, new)); string(again) != string(policy.AppendChanges(nil, changes)) {
			t.Fatal("the search finds something else the second time")
		}
		if lowering {
			for _, c := range changes {
				if c.Looser != nil {
					t.Fatalf("%s\n%s is called looser: %s", p.file(), c.Path, policy.AppendChanges(nil, changes))
				}
				if c.Tighter != nil {
					lowered++
				}
			}
		}
		for range 4 {
			o, f, s := drawCase(t)
			if verdictWord(old.Evaluate(o, f, s)) != verdictWord(new.Evaluate(o, f, s)) {
				if found++; len(changes) == 0 {
					t.Fatalf("%s\n%s\nare said to be the same, and judge %s of %s otherwise", p.file(), q.file(), o.Side(), o.Symbol())
				}
			}
		}
	})
	if found < 3 || lowered < 2 { // fewer say that the draw finds nothing
		t.Errorf("%d differences were found, and %d lowered bounds shown", found, lowered)
	}
}

func TestDiffOfOneAndTheSameIsNothing(t *testing.T) {
	if c := policy.Diff(example(t), example(t)); len(c) != 0 {
		t.Errorf("%s", policy.AppendChanges(nil, c))
	}
	if got := string(policy.AppendChanges(nil, nil)); got != "the policies say the same\n" {
		t.Error(got)
	}
	if policy.Diff(nil, example(t)) != nil {
		t.Error("nothing is compared with something")
	}
}
