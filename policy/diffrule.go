package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sallyport/trade"
)

// ruleEdits are the changes of rules: what is gone, what has changed, what is new, in the order of the files.
func ruleEdits(old, new *Rulebook) []edit {
	var out []edit
	for i := range old.rules {
		r := &old.rules[i]
		at := new.find(r.id)
		if at < 0 {
			out = append(out, edit{
				path: "rules." + r.id, old: r.words(), cases: r.cases(old, new),
				apply: func(b *Rulebook) { b.rules = slices.DeleteFunc(b.rules, func(x bookRule) bool { return x.id == r.id }) },
			})
			continue
		}
		out = append(out, r.edits(&new.rules[at], old, new)...)
	}
	for i := range new.rules {
		if r := &new.rules[i]; old.find(r.id) < 0 {
			out = append(out, edit{
				path: "rules." + r.id, new: r.words(), cases: r.cases(old, new),
				apply: func(b *Rulebook) { b.rules = append(b.rules, *r) },
			})
		}
	}
	return out
}

func (b *Rulebook) find(id string) int {
	return slices.IndexFunc(b.rules, func(r bookRule) bool { return r.id == id })
}

// words says in short what a rule is.
func (r *bookRule) words() string {
	if r.deny {
		return "a rule that denies " + r.match.symbolWords()
	}
	return fmt.Sprintf("a rule about %s with %d limits", r.match.symbolWords(), len(r.limits))
}

func (m *match) symbolWords() string {
	if m.symbols == nil {
		return "every symbol"
	}
	return shorten(words(m.listed.symbols))
}

// cases are calm orders that the rule is about, and orders at its bounds and beyond. Of a rule about every symbol they
// are of those that other rules name.
func (r *bookRule) cases(books ...*Rulebook) []Case {
	var out []Case
	for _, at := range r.spots(books[0]) {
		out = append(out, at.plain()...)
		out = append(out, at.wider()...)
		for _, b := range books {
			for i := range b.rules {
				if named := b.rules[i].match.listed.symbols; r.match.symbols == nil && len(named) > 0 {
					at.symbol = named[0]
					out = append(out, at.plain()...)
				}
			}
		}
		for k := range r.limits {
			out = append(out, at.around(&r.limits[k])...)
		}
	}
	return out
}

// plain are a small buy or sell, the same outside the session, and a sell that is not verified as a reduction.
func (p spot) plain() (out []Case) {
	for _, s := range []SessionFact{{Regular: true}, {Extended: true}, {}} {
		if c, ok := p.little(); ok {
			c.Situation.Session = s
			if !s.Regular {
				c.Says = "outside the regular session"
			}
			out = append(out, c)
		}
	}
	if c, ok := p.little(); ok && p.side == trade.Sell {
		c.Situation.Reduces, c.Says = false, "not verified as a reduction"
		out = append(out, c)
	}
	return out
}

// wider are small orders with the terms that a rule must allow, or requires, as far as the type takes them.
func (p spot) wider() (out []Case) {
	c, ok := p.little()
	if !ok {
		return nil
	}
	quote := c.Situation.Quote.Ask
	add := func(says string, edit func(*trade.Draft)) {
		d := draftOf(c.Order, c.Order.Quantity())
		edit(&d)
		if w, ok := p.drafted(d, quote); ok {
			w.Says = says
			out = append(out, w)
		}
	}
	add("of a part of a share", func(d *trade.Draft) { d.Quantity = written("0.5") })
	add("by amount", func(d *trade.Draft) { d.Quantity, d.Notional = trade.Text{}, written("0.01") })
	add("in extended hours", func(d *trade.Draft) { d.ExtendedHours = flagText(true) })
	add("without a stop loss", func(d *trade.Draft) { d.StopLoss = trade.Text{} })
	add("with a stop loss", func(d *trade.Draft) { d.StopLoss = amountText(less(quote, decimalText("0.000000001"))) })
	if p.side == trade.Sell && !p.short {
		p.short = true
		add("of what is not held", func(*trade.Draft) {})
	}
	return out
}

// everyTif are small orders of every time in force that the type takes.
func (p spot) everyTif() (out []Case) {
	for p.tif = trade.Day; p.tif <= trade.CLS; p.tif++ {
		out = append(out, p.plain()...)
	}
	return out
}

// around are orders at every bound of a limit and beyond.
func (p spot) around(l *limit) (out []Case) {
	for s := holds; s <= halts; s++ {
		if l.has[s] {
			u := traits[l.kind].unit
			out = append(out, p.with(l, u.at(l.bounds[s]))...)
			out = append(out, p.with(l, u.beyond(l.bounds[s]))...)
		}
	}
	return out
}

// edits are the changes between two rules of one id.
func (r *bookRule) edits(n *bookRule, books ...*Rulebook) []edit {
	var out []edit
	add := func(path, was, is string, apply func(*bookRule), cases func() []Case) {
		if was == is {
			return
		}
		out = append(out, edit{path: "rules." + r.id + "." + path, old: was, new: is, cases: cases(), apply: func(b *Rulebook) {
			apply(&b.rules[b.find(r.id)])
		}})
	}
	both := func() []Case { return append(r.cases(books...), n.cases(books[1], books[0])...) }
	if r.deny != n.deny {
		add("effect", r.words(), n.words(), func(x *bookRule) { *x = *n }, both)
		return out
	}
	m := &n.match
	add("match.symbols", r.match.symbolList(), m.symbolList(),
		func(x *bookRule) { x.match.symbols, x.match.listed.symbols = m.symbols, m.listed.symbols }, func() []Case { return symbolCases(r, n, books) })
	add("match.agents", r.match.agentList(), m.agentList(),
		func(x *bookRule) { x.match.agents, x.match.listed.agents = m.agents, m.listed.agents }, func() []Case { return agentCases(r, n, books) })
	add("match.sides", r.match.sideList(), m.sideList(), func(x *bookRule) { x.match.sides = m.sides }, both)
	add("match.order_types", r.match.typeList(), m.typeList(), func(x *bookRule) { x.match.types = m.types }, both)
	add("match.time_in_force", r.match.tifList(), m.tifList(), func(x *bookRule) { x.match.tifs = m.tifs },
		func() []Case { return append(r.tifCases(books[0]), n.tifCases(books[1])...) })
	add("allow.short", boolWord(r.allow.short), boolWord(n.allow.short), func(x *bookRule) { x.allow.short = n.allow.short }, both)
	add("allow.fractional", boolWord(r.allow.fractional), boolWord(n.allow.fractional),
		func(x *bookRule) { x.allow.fractional = n.allow.fractional }, both)
	add("allow.extended_hours", boolWord(r.allow.extended), boolWord(n.allow.extended),
		func(x *bookRule) { x.allow.extended = n.allow.extended }, both)
	add("require.stop_loss", boolWord(r.stop), boolWord(n.stop), func(x *bookRule) { x.stop = n.stop }, both)
	add("require.session", sessionWords[r.session], sessionWords[n.session], func(x *bookRule) { x.session = n.session }, both)
	for k := range kindCount {
		out = append(out, r.limitEdits(n, k, books)...)
	}
	return out
}

// limitEdits are the changes of one limit: bound by bound, or as a whole where it counts otherwise or is new or gone. Which
// way a bound goes is known even where no order shows it: what it stops, it stops at every lower bound too.
func (r *bookRule) limitEdits(n *bookRule, k kind, books []*Rulebook) (out []edit) {
	p, q := r.limit(k), n.limit(k)
	if p == nil && q == nil {
		return nil
	}
	var cases []Case // the same of every bound
	add := func(path, was, is, leans string, l *limit) {
		if was == is {
			return
		}
		if len(out) == 0 {
			cases = append(r.acrossLimits(books[0], p, q), n.acrossLimits(books[1], p, q)...)
		}
		out = append(out, edit{path: "rules." + r.id + ".limits." + path, old: was, new: is, leans: leans, cases: cases, apply: func(b *Rulebook) {
			b.rules[b.find(r.id)].replace(k, l)
		}})
	}
	switch {
	case p == nil:
		add(k.String(), p.words(), q.words(), "tighter", q)
		return out
	case q == nil:
		add(k.String(), p.words(), q.words(), "looser", q)
		return out
	case p.per != q.per || p.window != q.window || !p.risesWith(q):
		add(k.String(), p.words(), q.words(), "", q)
		return out
	}
	for s := holds; s <= halts; s++ {
		was, is := p.bound(s), q.bound(s)
		leans := leaning(was, is)
		if was.Known != is.Known {
			leans = map[bool]string{true: "tighter", false: "looser"}[is.Known]
		}
		u := traits[k].unit
		add(k.String()+"."+s.key(), u.showKnown(was), u.showKnown(is), leans, p.withBound(q, s))
	}
	return out
}

// bound is the bound of one step, if there is one.
func (l *limit) bound(s step) Known { return Known{Value: l.bounds[s], Known: l.has[s]} }

func (u unit) showKnown(k Known) string {
	if !k.Known {
		return ""
	}
	return u.show(k.Value)
}

// acrossLimits are orders that the rule is about at the bounds of two limits of one kind.
func (r *bookRule) acrossLimits(b *Rulebook, p, q *limit) (out []Case) {
	for _, at := range r.spots(b) {
		out = append(out, at.acrossLimits(p, q)...)
	}
	return out
}

// acrossLimits are orders at the bounds of two limits of one kind, as each of the two counts.
func (p spot) acrossLimits(a, b *limit) (out []Case) {
	for _, counts := range []*limit{a, b} {
		for _, bounds := range []*limit{a, b} {
			if counts != nil && bounds != nil {
				l := *bounds
				l.per, l.window = counts.per, counts.window
				out = append(out, p.around(&l)...)
			}
		}
	}
	return out
}

func (r *bookRule) limit(k kind) *limit {
	for i := range r.limits {
		if r.limits[i].kind == k {
			return &r.limits[i]
		}
	}
	return nil
}

// replace puts another limit of that kind into a copy of the limits; nil leaves it out.
func (r *bookRule) replace(k kind, l *limit) {
	r.limits = slices.DeleteFunc(slices.Clone(r.limits), func(x limit) bool { return x.kind == k })
	if l != nil && l.first != passes {
		r.limits = append(r.limits, *l)
	}
	slices.SortFunc(r.limits, func(a, b limit) int { return int(a.kind) - int(b.kind) })
}

// withBound is this limit with one bound of another.
func (l *limit) withBound(of *limit, s step) *limit {
	n := *l
	n.has[s], n.bounds[s], n.counts[s], n.parts[s] = of.has[s], of.bounds[s], of.counts[s], of.parts[s]
	n.first = passes
	for x := halts; x > passes; x-- {
		if n.has[x] {
			n.first = x
		}
	}
	return &n
}

// risesWith reports whether each bound of another limit can be taken alone: where its order would be lost, the limit is
// compared as a whole.
func (l *limit) risesWith(of *limit) bool {
	for s := holds; s <= halts; s++ {
		n, last := l.withBound(of, s), passes
		for x := holds; x <= halts; x++ {
			if n.has[x] && last != passes && n.bounds[last].Cmp(n.bounds[x]) >= 0 {
				return false
			}
			if n.has[x] {
				last = x
			}
		}
	}
	return true
}

func (l *limit) words() string {
	if l == nil {
		return ""
	}
	var parts []string
	for s := holds; s <= halts; s++ {
		if l.has[s] {
			parts = append(parts, s.key()+" "+traits[l.kind].unit.show(l.bounds[s]))
		}
	}
	if traits[l.kind].per != perNothing {
		parts = append(parts, "per "+l.per.String())
	}
	if traits[l.kind].window {
		parts = append(parts, "window "+timeWords(l.window))
	}
	return strings.Join(parts, ", ")
}

func (m *match) symbolList() string {
	if m.symbols == nil {
		return ""
	}
	return strings.Join(slices.Sorted(slices.Values(words(m.listed.symbols))), ", ")
}

func (m *match) agentList() string {
	if m.agents == nil {
		return string(everyAgent)
	}
	var names []string
	for _, a := range slices.Sorted(maps.Keys(m.agents)) {
		names = append(names, string(a))
	}
	return strings.Join(names, ", ")
}

func (m *match) sideList() string {
	var out []string
	for s := trade.Buy; s <= trade.Sell; s++ {
		if m.sides[s] {
			out = append(out, s.String())
		}
	}
	return strings.Join(out, ", ")
}

func (m *match) typeList() string {
	var out []string
	for t := trade.Limit; t <= trade.StopLimit; t++ {
		if m.types[t] {
			out = append(out, t.String())
		}
	}
	return strings.Join(out, ", ")
}

// mostShown is how many names a search takes of each list.
//
//limit:policy-diff-names A diff tries at most 16 symbols and 16 agents of a rule whose lists have changed.
const mostShown = 16

// symbolCases are calm orders of symbols that only one of two rules names.
func symbolCases(r, n *bookRule, books []*Rulebook) []Case {
	var out []Case
	for i, pair := range [][2]*bookRule{{r, n}, {n, r}} {
		tried := 0
		for _, s := range pair[0].match.listed.symbols {
			if other := pair[1].match.symbols; other == nil || !other[s] {
				for _, at := range pair[0].spots(books[i]) {
					at.symbol = s
					out = append(out, at.plain()...)
				}
				if tried++; tried == mostShown {
					break
				}
			}
		}
		for _, at := range pair[0].spots(books[i]) {
			out = append(out, at.plain()...)
		}
	}
	return out
}

// agentCases are calm orders of the agents of both, and of one that neither names.
func agentCases(r, n *bookRule, books []*Rulebook) []Case {
	agents := []trade.Agent{someAgent}
	for _, list := range [][]trade.Agent{r.match.listed.agents, n.match.listed.agents} {
		agents = append(agents, list[:min(len(list), mostShown)]...)
	}
	var out []Case
	for i, x := range []*bookRule{r, n} {
		for _, at := range x.spots(books[i]) {
			for _, a := range agents {
				at.agent = a
				out = append(out, at.plain()...)
			}
		}
	}
	return out
}

func (r *bookRule) tifCases(b *Rulebook) (out []Case) {
	for _, at := range r.spots(b) {
		out = append(out, at.everyTif()...)
	}
	return out
}

// boolWord is a permission in the file; not allowed and not said are the same.
func boolWord(yes bool) string {
	if yes {
		return "true"
	}
	return "false"
}

func (m *match) tifList() string {
	var out []string
	for t := trade.Day; t <= trade.CLS; t++ {
		if m.tifs[t] {
			out = append(out, t.String())
		}
	}
	return strings.Join(out, ", ")
}
