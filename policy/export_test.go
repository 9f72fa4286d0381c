package policy

import (
	"fmt"

	"sallyport/trade"
)

// What tests of the outside may do to the table of rules: leave one out, or let one panic.

// EvaluateWithout evaluates without rule i of the table.
func (p *Policy) EvaluateWithout(i int, o trade.Order, f Facts) Verdict {
	table := append([]rule{}, rules[:i]...)
	return p.evaluate(append(table, rules[i+1:]...), o, f)
}

// EvaluatePanicking evaluates with a rule i that panics, and with functions that panic behind a no.
func (p *Policy) EvaluatePanicking(i int, o trade.Order, f Facts) Verdict {
	table := append([]rule{}, rules...)
	table[i].passes = func(*Policy, trade.Order, Facts) bool { panic("broken rule") }
	return p.evaluate(table, o, f)
}

// EvaluateSpeechless evaluates with a rule i that says no and panics when it is asked why or how much.
func (p *Policy) EvaluateSpeechless(i int, o trade.Order, f Facts) Verdict {
	table := append([]rule{}, rules...)
	table[i].passes = func(*Policy, trade.Order, Facts) bool { return false }
	table[i].reason = func(*Policy, trade.Order, Facts) Reason { panic("broken reason") }
	table[i].most = func(*Policy, trade.Order, Facts) trade.Decimal { panic("broken most") }
	return p.evaluate(table, o, f)
}

// VersionPasses is the rule version_1 alone.
func VersionPasses(o trade.Order) bool { return versionPasses(&Policy{}, o, Facts{}) }

// Blank is a policy of version 2 as plain JSON.
func Blank(raw []byte) []byte {
	plain, _ := blank(raw)
	return plain
}

// AppendTable appends the explanation as text: the rows, and what they come to.
func (e Explanation) AppendTable(dst []byte) []byte {
	dst = e.AppendRows(dst)
	dst = fmt.Appendf(dst, "\nverdict: %s\n", e.Verdict.Effect)
	for _, r := range e.Verdict.Reasons {
		dst = fmt.Appendf(dst, "  %s\n    %s\n", r.Code, trade.Printable(r.Message, 400))
	}
	if e.Verdict.MaxQuantity != nil {
		dst = fmt.Appendf(dst, "at this price %s would pass now\n", e.Verdict.MaxQuantity)
	}
	return dst
}

// Steps are what a policy makes of a case: as Evaluate says, as a comparison says, and as it says by the rules near it.
func (b *Rulebook) Steps(c Case) (evaluated, compared, near string) {
	v := b.Evaluate(c.Order, c.Facts, c.Situation)
	evaluated = v.Effect.String()
	if len(v.Halts) > 0 {
		evaluated = halts.String()
	}
	return evaluated, b.stepFor(c).String(), newBench(b).stepFor(c).String()
}
