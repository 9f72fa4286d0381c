package policy

import "sallyport/trade"

// Proof shows that a bound of a limit is alive: a made-up order that it stops, and one that it lets pass.
type Proof struct {
	Rule, Limit string
	Bound       string // with its word, such as deny 200
	Dormant     bool   // no order of this release has what the limit judges, so that there is nothing to show
	Stops       *Case  // nil, if the limit is not dormant: the bound is dead, and the policy must not be believed
	Passes      *Case  // nil where not even the least order passes
}

// Prove tries every bound of every limit of the policy.
func (b *Rulebook) Prove() []Proof {
	var out []Proof
	if !b.IsValid() {
		return nil
	}
	for i := range b.rules {
		r := &b.rules[i]
		for k := range r.limits {
			l := &r.limits[k]
			for s := holds; s <= halts; s++ {
				if l.has[s] {
					out = append(out, b.prove(r, l, s))
				}
			}
		}
	}
	return out
}

func (b *Rulebook) prove(r *bookRule, l *limit, s step) Proof {
	t := traits[l.kind]
	p := Proof{Rule: r.id, Limit: t.name, Bound: s.String() + " " + t.unit.show(l.bounds[s]), Dormant: t.dormant}
	for _, at := range r.match.spots() {
		for _, c := range at.with(l, t.unit.beyond(l.bounds[s])) {
			if p.Stops == nil && b.stepOf(r, l, c) == s {
				p.Stops = &c
			}
		}
		for _, c := range at.with(l, t.unit.at(l.bounds[s])) {
			if p.Passes == nil && b.stepOf(r, l, c) < s {
				p.Passes = &c
			}
		}
	}
	return p
}

// stepOf says what one limit makes of a case.
func (b *Rulebook) stepOf(r *bookRule, l *limit, c Case) step {
	j := judge{book: b, o: c.Order, f: c.Facts, s: c.Situation}
	j.begin()
	var v reading
	return j.step(r, l, &v)
}

// spots are where orders that a match takes can come from: its first symbol, each side, its first agent.
func (m *match) spots() []spot {
	p := spot{agent: someAgent}
	if len(m.listed.symbols) > 0 {
		p.symbol = m.listed.symbols[0]
	} else {
		p.symbol, _ = trade.ParseSymbol("ZZZ")
	}
	if len(m.listed.agents) > 0 {
		p.agent = m.listed.agents[0]
	}
	var out []spot
	for side := trade.Buy; side <= trade.Sell; side++ {
		if m.sides[side] {
			p.side = side
			out = append(out, p)
		}
	}
	return out
}
