package policy

import (
	"fmt"
	"math/bits"

	"sallyport/trade"
)

// Evaluate runs every rule over one order and the facts. It never panics and depends on nothing but its arguments. On
// Allow it allocates nothing.
func (p *Policy) Evaluate(o trade.Order, f Facts) Verdict {
	if !p.IsValid() {
		return Verdict{Reasons: []Reason{{Code: PolicyInvalid, Message: "no valid policy is in force, so nothing is allowed"}}}
	}
	return p.evaluate(rules, o, f)
}

// evaluate runs a table of rules. A table of another length than is published, a rule that does not come to its end and
// a rule that says no all deny.
func (p *Policy) evaluate(table []rule, o trade.Order, f Facts) Verdict {
	var t tally
	for t.next < len(table) {
		p.sweep(&t, table, o, f)
	}
	if t.ran == ruleCount && t.failed == 0 && t.broken == 0 {
		return Verdict{Effect: Allow}
	}
	return p.denial(t, table, o, f)
}

// tally counts the rules of one evaluation.
type tally struct {
	next   int    // the rule to run
	ran    int    // rules that came to their end
	failed uint64 // bit i: rule i said no
	broken uint64 // bit i: rule i panicked
}

// sweep runs rules until the end of the table or a panic, whose rule counts as broken.
func (p *Policy) sweep(t *tally, table []rule, o trade.Order, f Facts) {
	defer func() {
		if recover() != nil {
			t.broken |= 1 << t.next
			t.next++
		}
	}()
	for t.next < len(table) {
		if !table[t.next].passes(p, o, f) {
			t.failed |= 1 << t.next
		}
		t.ran++
		t.next++
	}
}

// denial collects every reason, in the order of the table, and the largest quantity that would have passed.
func (p *Policy) denial(t tally, table []rule, o trade.Order, f Facts) Verdict {
	v := Verdict{Reasons: make([]Reason, 0, bits.OnesCount64(t.failed|t.broken)+1)}
	for i := range table {
		switch bit := uint64(1) << i; {
		case t.broken&bit != 0:
			v.Reasons = append(v.Reasons, defect("the rule "+table[i].name+" could not be evaluated"))
		case t.failed&bit != 0:
			v.Reasons = append(v.Reasons, p.explain(table[i], o, f))
		}
	}
	if t.ran+bits.OnesCount64(t.broken) != ruleCount {
		v.Reasons = append(v.Reasons, defect(fmt.Sprintf("%d rules were evaluated, not %d", t.ran, ruleCount)))
	} else if t.broken == 0 {
		v.MaxQuantity = p.largest(t, table, o, f)
	}
	return v
}

func defect(message string) Reason { return Reason{Code: InternalError, Message: message} }

func (p *Policy) explain(r rule, o trade.Order, f Facts) (reason Reason) {
	defer func() {
		if recover() != nil {
			reason = defect("the rule " + r.name + " could not say why it denies")
		}
	}()
	reason = r.reason(p, o, f)
	reason.Code = r.code
	return reason
}

// largest returns the largest whole quantity that passes every rule at the order's price, if any does.
func (p *Policy) largest(t tally, table []rule, o trade.Order, f Facts) (most *trade.Decimal) {
	defer func() {
		if recover() != nil {
			most = nil
		}
	}()
	best := p.maxQuantity
	for i := range table {
		if table[i].most == nil {
			if t.failed&(1<<i) != 0 {
				return nil
			}
			continue
		}
		if m := table[i].most(p, o, f); m.Cmp(best) < 0 {
			best = m
		}
	}
	if best.Cmp(trade.Whole(1)) < 0 {
		return nil
	}
	return &best
}
