package policy_test

import (
	"testing"

	"pgregory.net/rapid"

	"sallyport/policy"
)

// prove checks what Prove shows by the evaluator itself: the reason is there, and is not.
func prove(t interface{ Errorf(string, ...any) }, b *policy.Rulebook) (proofs int) {
	for _, p := range b.Prove() {
		named := func(c *policy.Case) bool {
			for _, r := range b.Evaluate(c.Order, c.Facts, c.Situation).Reasons {
				if r.Rule == p.Rule && r.Field == p.Limit && p.Bound == word(r, b.Evaluate(c.Order, c.Facts, c.Situation))+" "+r.Limit {
					return true
				}
			}
			return false
		}
		switch {
		case p.Stops == nil:
			t.Errorf("%s %s %s: %+v", p.Rule, p.Limit, p.Bound, p)
		case !named(p.Stops):
			t.Errorf("%s %s %s is not passed by %s: %+v", p.Rule, p.Limit, p.Bound, p.Stops, b.Evaluate(p.Stops.Order, p.Stops.Facts, p.Stops.Situation))
		case p.Passes != nil && named(p.Passes):
			t.Errorf("%s %s %s is passed by %s", p.Rule, p.Limit, p.Bound, p.Passes)
		}
		proofs++
	}
	return proofs
}

// word is that of the bound that a reason names.
func word(r policy.Reason, v policy.Verdict) string {
	if r.Hold {
		return "hold"
	}
	for _, h := range v.Halts {
		if h.Rule == r.Rule && h.Limit == r.Field {
			return "halt"
		}
	}
	return "deny"
}

// TestEveryBoundOfTheExampleIsAlive: a limit that nothing can pass would be a limit in name only.
//
//fault:f14
func TestEveryBoundOfTheExampleIsAlive(t *testing.T) {
	b := example(t)
	if n := prove(t, b); n != 24 {
		t.Errorf("%d bounds were proved", n)
	}
	for _, p := range b.Prove() {
		if p.Passes == nil {
			t.Errorf("%s %s lets nothing pass", p.Limit, p.Bound)
		}
	}
	var none *policy.Rulebook
	if none.Prove() != nil {
		t.Error("nothing is proved")
	}
}

func TestEveryBoundOfAnyPolicyIsAlive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, b := drawBook(t)
		prove(t, b)
	})
}
