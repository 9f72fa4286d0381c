package policy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sallyport/policy"
)

// moved is a file whose one rule has one bound elsewhere, or not at all.
func moved(t *testing.T, limit, step, bound string) (*policy.Rulebook, error) {
	t.Helper()
	raw, err := os.ReadFile("example.jsonc")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(policy.Plain(raw), &file); err != nil {
		t.Fatal(err)
	}
	delete(file, "tests")
	limits := file["rules"].([]any)[0].(map[string]any)["limits"].(map[string]any)
	l := limits[limit].(map[string]any)
	switch delete(l, step); {
	case bound != "":
		l[step] = bound
	case !slices.ContainsFunc(slices.Collect(maps.Keys(l)), func(k string) bool { return strings.HasSuffix(k, "_above") }):
		delete(limits, limit)
	}
	out, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return policy.ParseV2(out, policy.World{})
}

// TestDiffFindsEveryBoundInBothDirections: in the file that uses every limit, no limit hides another. Each bound is
// raised and lowered, by little and by much, and left out; each change is shown by an order, and in its own direction.
func TestDiffFindsEveryBoundInBothDirections(t *testing.T) {
	t.Parallel()
	whole := example(t)
	tried := 0
	for _, p := range whole.Prove() {
		if p.Rule != "large-caps" {
			continue
		}
		word, bound, _ := strings.Cut(p.Bound, " ")
		n, err := strconv.ParseFloat(bound, 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range []float64{n + 1, n * 5, n / 5, -1} {
			text := strconv.FormatFloat(to, 'f', -1, 64)
			if to < 0 {
				text = ""
			}
			other, err := moved(t, p.Limit, word+"_above", text)
			if err != nil || to == n {
				continue // a bound that is no whole number, or above the next
			}
			tried++
			looser, tighter := to > n || text == "", to < n && text != ""
			checkOneWay(t, fmt.Sprintf("%s %s to %q", p.Limit, p.Bound, text), policy.Diff(whole, other), looser, tighter)
			checkOneWay(t, fmt.Sprintf("%s %q to %s", p.Limit, text, p.Bound), policy.Diff(other, whole), tighter, looser)
		}
	}
	if tried < 60 {
		t.Errorf("only %d changes were tried", tried)
	}
}

func checkOneWay(t *testing.T, what string, changes []policy.Change, looser, tighter bool) {
	t.Helper()
	if len(changes) == 0 {
		t.Errorf("%s: the policies are said to be the same", what)
	}
	for _, c := range changes {
		if (c.Looser != nil) != looser || (c.Tighter != nil) != tighter {
			t.Errorf("%s: %s", what, policy.AppendChanges(nil, changes))
		}
	}
}

// TestComparisonJudgesAsThePolicy: what is left out to be quick changes no verdict.
func TestComparisonJudgesAsThePolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, b := drawBook(t)
		for range 10 {
			o, f, s := drawCase(t)
			evaluated, compared, near := b.Steps(policy.Case{Order: o, Facts: f, Situation: s})
			if evaluated != compared || evaluated != near {
				t.Fatalf("%s: evaluated %s, compared %s, by the rules near it %s", o.Line(), evaluated, compared, near)
			}
		}
	})
}
