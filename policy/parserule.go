package policy

import (
	"fmt"
	"slices"

	"sallyport/trade"
	"sallyport/wire"
)

func (b *bookReader) rules(v wire.Value) {
	if v.Kind != wire.Array || len(v.Elems) == 0 {
		b.problem(v.Offset, "rules", "rules is %s; a list of at least one rule is asked", emptyOr(v))
		return
	}
	if len(v.Elems) > maxRules {
		b.problem(v.Offset, "rules", "rules holds %d rules; at most %d are read", len(v.Elems), maxRules)
		return
	}
	first := map[string]int{}
	for i, e := range v.Elems {
		before := len(b.problems)
		r := b.rule(e, fmt.Sprintf("rules[%d]", i))
		if at, again := first[r.id]; again && r.id != "" {
			line, column := wire.Position(b.raw, b.book.rules[at].offset)
			b.problem(e.Offset, fmt.Sprintf("rules[%d].id", i), "rules[%d].id is %s, which is the id of the rule at line %d, column %d",
				i, quoted(r.id), line, column)
		} else {
			first[r.id] = i
		}
		b.book.rules = append(b.book.rules, r)
		b.unfit = append(b.unfit, len(b.problems) > before)
	}
}

func (b *bookReader) rule(v wire.Value, path string) bookRule {
	r := bookRule{offset: v.Offset}
	f := b.fields(v, path, []string{"id", "match", "require", "allow", "limits", "effect"}, []string{"id", "match"})
	if m, ok := f["id"]; ok {
		r.id = b.ruleID(m, path+".id")
	}
	if m, ok := f["effect"]; ok {
		r.deny = b.word(m, path+".effect", []string{"deny"}) == "deny"
	}
	if m, ok := f["match"]; ok {
		r.match = b.match(m, path+".match", r.deny)
	}
	if r.deny {
		for _, key := range []string{"require", "allow", "limits"} {
			if m, ok := f[key]; ok {
				b.problem(m.Offset, join(path, key), "%s can match no order: the rule's effect is to deny", join(path, key))
			}
		}
		return r
	}
	if m, ok := f["require"]; ok {
		b.require(&r, m, path+".require")
	}
	if m, ok := f["allow"]; ok {
		b.allow(&r, m, path+".allow")
	}
	m, ok := f["limits"]
	if !ok && v.Kind == wire.Object {
		b.problem(v.Offset, path+".limits", "%s.limits is missing; a rule has limits, or the effect deny", path)
	}
	if ok {
		r.limits = b.limits(m, path+".limits", &r)
	}
	return r
}

//limit:policy-rule-id The id of a rule has 1 to 64 characters of A-Z a-z 0-9 . _ - and nothing else.
func (b *bookReader) ruleID(v wire.Value, path string) string {
	if v.Kind != wire.String || !trade.Account(v.Text).IsValid() { // the same grammar
		b.problem(v.Offset, path, "%s is %s; 1 to 64 of A-Z a-z 0-9 . _ - are asked", path, shownValue(v))
		return ""
	}
	return v.Text
}

// match reads which orders a rule is about. A list that is not there takes every order if the rule denies; else it takes
// limit orders, day orders and US equities, so that what is wider is always said. The symbols are always named, unless
// the rule denies.
func (b *bookReader) match(v wire.Value, path string, deny bool) match {
	m := match{class: true}
	required := []string{"symbols"}
	if deny {
		required = nil
	}
	keys := []string{"symbols", "sides", "order_types", "time_in_force", "agents", "asset_classes"}
	f := b.fields(v, path, keys, required)
	if v.Kind == wire.Object && len(v.Members) == 0 && deny {
		b.problem(v.Offset, path, "%s is empty; name what is denied", path)
	}
	if s, ok := f["symbols"]; ok {
		b.matchSymbols(&m, s, path+".symbols")
	}
	if s, ok := f["agents"]; ok {
		b.matchAgents(&m, s, path+".agents")
	}
	m.sides[trade.Buy], m.sides[trade.Sell] = true, true
	if s, ok := f["sides"]; ok {
		m.sides = [trade.Sell + 1]bool{}
		for _, side := range entries(b, path+".sides", s, "one of buy, sell", trade.ParseSide) {
			m.sides[side] = true
		}
	}
	b.matchTypes(&m, f, path, deny)
	if s, ok := f["asset_classes"]; ok {
		entries(b, path+".asset_classes", s, "us_equity, the only one of this release", parseAssetClass)
	}
	return m
}

func parseAssetClass(s string) (string, bool) { return s, s == "us_equity" }

func (b *bookReader) matchTypes(m *match, f map[string]wire.Value, path string, deny bool) {
	for t := trade.Limit; t <= trade.StopLimit; t++ {
		m.types[t] = deny || t == trade.Limit
	}
	if s, ok := f["order_types"]; ok {
		m.types = [trade.StopLimit + 1]bool{}
		for _, t := range entries(b, path+".order_types", s, "one of limit, market, stop, stop_limit", trade.ParseOrderType) {
			m.types[t] = true
		}
	}
	for t := trade.Day; t <= trade.CLS; t++ {
		m.tifs[t] = deny || t == trade.Day
	}
	s, ok := f["time_in_force"]
	if !ok {
		return
	}
	at := path + ".time_in_force"
	m.tifs = [trade.CLS + 1]bool{}
	tifs := entries(b, at, s, "one of day, gtc, ioc, fok, opg, cls", trade.ParseTimeInForce)
	for _, t := range tifs {
		m.tifs[t] = true
	}
	if waits := m.types[trade.Stop] || m.types[trade.StopLimit]; waits && !m.types[trade.Limit] && !m.types[trade.Market] &&
		len(tifs) > 0 && !m.rests() {
		b.problem(s.Offset, at, "%s can match no order: a stop or stop_limit order is day or gtc", at)
	}
}

// rests reports whether a match takes orders that may rest: the only ones that bring exits, have a stop, or are executed
// in extended hours.
func (m *match) rests() bool { return m.tifs[trade.Day] || m.tifs[trade.GTC] }

// entries reads a list as an allowlist is read, of bounded length.
func entries[T comparable](b *bookReader, path string, v wire.Value, what string, parse func(string) (T, bool)) []T {
	if len(v.Elems) > maxList {
		b.problem(v.Offset, path, "%s holds %d entries; at most %d are read", path, len(v.Elems), maxList)
		return nil
	}
	return list(&b.config, path, v, what, parse)
}

func (b *bookReader) matchSymbols(m *match, v wire.Value, path string) {
	m.listed.symbols = entries(b, path, v, "a symbol such as AAPL", trade.ParseSymbol)
	m.symbols = make(map[trade.Symbol]bool, len(m.listed.symbols))
	for _, s := range m.listed.symbols {
		m.symbols[s] = true
	}
	if b.world.Symbol == nil {
		return
	}
	for _, e := range v.Elems {
		if s, ok := trade.ParseSymbol(e.Text); ok && e.Kind == wire.String && !b.world.Symbol(s) {
			b.problem(e.Offset, path, "%s holds %s, which the broker does not list", path, quoted(e.Text))
		}
	}
}

const everyAgent trade.Agent = "*"

func (b *bookReader) matchAgents(m *match, v wire.Value, path string) {
	if len(v.Elems) > maxAgents {
		b.problem(v.Offset, path, "%s names %d agents; at most %d are read", path, len(v.Elems), maxAgents)
		return
	}
	agents := entries(b, path, v, "the name of an agent, or * for all", parseAgent)
	if slices.Contains(agents, everyAgent) {
		if len(agents) > 1 {
			b.problem(v.Offset, path, "%s holds * and names; * is all of them", path)
		}
		return
	}
	m.listed.agents = agents
	m.agents = make(map[trade.Agent]bool, len(agents))
	for _, a := range agents {
		m.agents[a] = true
	}
}

func parseAgent(s string) (trade.Agent, bool) {
	return trade.Agent(s), s == string(everyAgent) || trade.Account(s).IsValid()
}

func (b *bookReader) require(r *bookRule, v wire.Value, path string) {
	f := b.fields(v, path, []string{"session", "stop_loss"}, nil)
	b.notEmpty(v, path)
	if m, ok := f["stop_loss"]; ok {
		r.stop = b.bool(m, path+".stop_loss")
		if r.stop && !(r.match.sides[trade.Buy] && r.match.rests()) {
			b.problem(m.Offset, path+".stop_loss", "%s.stop_loss can be met by no order: only a buy that is day or gtc brings a stop loss", path)
		}
	}
	if m, ok := f["session"]; ok {
		word := b.word(m, path+".session", sessionWords[regularSession:])
		r.session = session(max(0, slices.Index(sessionWords[:], word)))
	}
}

// allow reads what a rule permits beyond plain orders. A permission that no order can use is refused: it would say
// something that is not so.
func (b *bookReader) allow(r *bookRule, v wire.Value, path string) {
	keys := []string{"short", "fractional", "extended_hours"}
	f := b.fields(v, path, keys, nil)
	b.notEmpty(v, path)
	for i, into := range []*bool{&r.allow.short, &r.allow.fractional, &r.allow.extended} {
		m, ok := f[keys[i]]
		if !ok {
			continue
		}
		*into = b.bool(m, join(path, keys[i]))
		if why := r.unused(keys[i]); *into && why != "" {
			b.problem(m.Offset, join(path, keys[i]), "%s can match no order: %s", join(path, keys[i]), why)
		}
	}
	b.book.shorts = b.book.shorts || r.allow.short
}

// unused says why no order that a rule is about could use a permission; empty if one could.
func (r *bookRule) unused(key string) string {
	m := &r.match
	plain := m.types[trade.Limit] || m.types[trade.Market]
	switch {
	case key == "short" && !m.sides[trade.Sell]:
		return "the rule is about buys"
	case key == "short" && r.stop:
		return "the rule requires a stop loss, and a sell brings none"
	case key == "fractional" && !(plain && m.tifs[trade.Day]):
		return "only a limit or market order for the day is for a part of a share"
	case key == "fractional" && r.stop && !m.sides[trade.Sell]:
		return "the rule requires a stop loss, and an order with one is for whole shares"
	case key == "extended_hours" && !(m.types[trade.Limit] && m.rests()):
		return "only a limit order that is day or gtc is executed in extended hours"
	case key == "extended_hours" && r.session == regularSession:
		return "the rule requires the regular session"
	case key == "extended_hours" && r.stop && !m.sides[trade.Sell]:
		return "the rule requires a stop loss, and an order with one is not executed in extended hours"
	}
	return ""
}

func (b *bookReader) notEmpty(v wire.Value, path string) {
	if v.Kind == wire.Object && len(v.Members) == 0 {
		b.problem(v.Offset, path, "%s is empty; leave it out, or say something in it", path)
	}
}

func (b *bookReader) limits(v wire.Value, path string, r *bookRule) []limit {
	f := b.fields(v, path, kindNames(), nil)
	if v.Kind == wire.Object && len(v.Members) == 0 {
		b.problem(v.Offset, path, "%s is empty; name at least one limit", path)
	}
	var out []limit
	for k := range kindCount {
		if lv, ok := f[k.String()]; ok {
			at := join(path, k.String())
			l := b.limit(lv, at, k)
			b.reachable(&l, lv.Offset, at, r)
			out = append(out, l)
		}
	}
	return out
}

func (b *bookReader) limit(v wire.Value, path string, k kind) limit {
	t := traits[k]
	l := limit{kind: k}
	keys := []string{holds.key(), denies.key(), halts.key()}
	var required []string
	if t.per != perNothing {
		keys = append(keys, "per")
	}
	if t.window {
		keys, required = append(keys, "window"), []string{"window"}
	}
	f := b.fields(v, path, keys, required)
	if m, ok := f["per"]; ok {
		l.per = b.per(m, path+".per", t.per)
	}
	if k == ordersPerMinute || k == denialsPerMinute {
		l.window = minute
	}
	if m, ok := f["window"]; ok {
		l.window = b.duration(m, path+".window")
	}
	before := len(b.problems)
	for s := halts; s > passes; s-- {
		if m, ok := f[s.key()]; ok {
			l.has[s], l.first = true, s
			b.bound(&l, s, m, join(path, s.key()))
		}
	}
	switch {
	case !l.has[holds] && !l.has[denies] && !l.has[halts] && v.Kind == wire.Object:
		b.problem(v.Offset, path, "%s has no bound; at least one of hold_above, deny_above and halt_above is asked", path)
	case len(b.problems) == before:
		b.rising(&l, v.Offset, path)
	}
	return l
}

func (b *bookReader) per(v wire.Value, path string, choice perChoice) Per {
	words := []string{"account", "agent", "symbol"}
	if choice == perAny {
		words = append(words, "rule")
	}
	per, _ := ParsePer(b.word(v, path, words))
	return per
}

func (b *bookReader) bound(l *limit, s step, v wire.Value, path string) {
	if traits[l.kind].unit == inCount {
		l.counts[s] = b.count(v, path)
		l.bounds[s] = trade.Whole(l.counts[s])
		return
	}
	l.bounds[s] = b.decimal(path, v)
	l.parts[s] = traits[l.kind].unit.part(l.bounds[s])
}

// rising holds the bounds of a limit to their order: what is stricter begins later.
func (b *bookReader) rising(l *limit, offset int, path string) {
	for s := holds; s < halts; s++ {
		for next := s + 1; next <= halts; next++ {
			if l.has[s] && l.has[next] && l.bounds[s].Cmp(l.bounds[next]) >= 0 {
				b.problem(offset, path, "%s: %s %s is not below %s %s, so it decides nothing",
					path, s.key(), l.bounds[s], next.key(), l.bounds[next])
			}
		}
	}
}
