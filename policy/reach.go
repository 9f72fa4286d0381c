package policy

import "sallyport/trade"

// reach says which rules an order is judged by.
type reach uint8

const (
	exact    reach = iota // those that match it
	bySymbol              // those about its symbol, whatever else they match
	byAll                 // all
)

// reach is exact but for a verified reduction that no rule with limits matches: it is judged by what holds for reductions
// in the rules about its symbol, and where there is none, in every rule. An exit escapes neither the collar nor the rates
// by being an order of a kind that no rule has thought of.
//
//limit:policy-reduction-reach A verified reduction that no rule matches, or a rule that denies alone, is judged by the price collar, similar orders, orders a minute and session of the rules about its symbol, or of every rule if there is none.
func (b *Rulebook) reach(o *trade.Order, agent trade.Agent, reduces bool) reach {
	if !reduces {
		return exact
	}
	near := byAll
	for i := range b.rules {
		r := &b.rules[i]
		switch {
		case r.deny:
		case r.match.takes(*o, agent):
			return exact
		case r.match.lists(o.Symbol()):
			near = bySymbol
		}
	}
	return near
}

// about reports whether the order is judged by a rule.
func (j *judge) about(r *bookRule) bool {
	if r.match.takes(j.o, j.s.Agent) {
		return true
	}
	return !r.deny && (j.to == byAll || j.to == bySymbol && r.match.lists(j.o.Symbol()))
}

// lists reports whether the rule is about a symbol, in whatever order.
func (m *match) lists(s trade.Symbol) bool { return m.class && (m.symbols == nil || m.symbols[s]) }

// AppendJudging appends the ids of the rules by which an order is judged, in the order of the file. A record of what was
// sent keeps them, so that a limit per rule can be counted.
func (b *Rulebook) AppendJudging(dst []string, o trade.Order, f Facts, s Situation) []string {
	if !b.IsValid() {
		return dst
	}
	j := judge{book: b, o: o, f: f, s: s}
	j.begin()
	for i := range b.rules {
		if j.about(&b.rules[i]) {
			dst = append(dst, b.rules[i].id)
		}
	}
	return dst
}
