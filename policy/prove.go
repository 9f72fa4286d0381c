package policy

import "sallyport/trade"

// Proof shows that a bound of a limit is alive: a made-up order that it stops, and one that it lets pass.
type Proof struct {
	Rule, Limit string
	Bound       string // with its word, such as deny 200
	Stops       *Case  // nil: the bound is dead, and the policy must not be believed
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
	p := Proof{Rule: r.id, Limit: t.name, Bound: s.String() + " " + t.unit.show(l.bounds[s])}
	for _, at := range r.spots(b) {
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

// spots are where orders that a rule is about can come from: its first symbol, each side, each type with the first time
// in force that the type takes, its first agent. A rule that allows short sales has sells of both kinds.
func (r *bookRule) spots(b *Rulebook) []spot {
	m := &r.match
	p := spot{book: b, agent: someAgent, stop: r.stop}
	if len(m.listed.symbols) > 0 {
		p.symbol = m.listed.symbols[0]
	} else {
		p.symbol, _ = trade.ParseSymbol("ZZZ")
	}
	if len(m.listed.agents) > 0 {
		p.agent = m.listed.agents[0]
	}
	var out []spot
	for p.side = trade.Buy; p.side <= trade.Sell; p.side++ {
		for p.typ = trade.Limit; p.typ <= trade.StopLimit; p.typ++ {
			var taken bool
			if p.tif, taken = m.tifOf(p.typ, r.stop && p.side == trade.Buy); !m.sides[p.side] || !m.types[p.typ] || !taken {
				continue
			}
			p.short = false
			out = append(out, p)
			if p.side == trade.Sell && r.allow.short {
				p.short = true
				out = append(out, p)
			}
		}
	}
	return out
}

// tifOf returns the first time in force of a match that an order type takes, or an order with exits.
func (m *match) tifOf(t trade.OrderType, exits bool) (trade.TimeInForce, bool) {
	last := trade.CLS
	if exits || t == trade.Stop || t == trade.StopLimit {
		last = trade.GTC
	}
	for f := trade.Day; f <= last; f++ {
		if m.tifs[f] {
			return f, true
		}
	}
	return trade.NoTIF, false
}
