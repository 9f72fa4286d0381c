package policy

import (
	"fmt"
	"slices"

	"sallyport/trade"
)

// reachable reports bounds that no order can pass: they would look like limits and be none.
func (b *bookReader) reachable(l *limit, offset int, path string, r *bookRule) {
	t, m := traits[l.kind], &r.match
	sellsOnly := m.sides[trade.Sell] && !m.sides[trade.Buy]
	switch {
	case t.stop && (sellsOnly || !m.rests()):
		b.problem(offset, path, "%s can match no order: only a buy that is day or gtc brings a stop loss", path)
	case sellsOnly && t.exempts && !r.allow.short:
		b.problem(offset, path, "%s can match no order: the rule is about sells, a sell is a reduction or not allowed, and a reduction is exempt", path)
	case l.kind == priceCollar && !m.types[trade.Limit] && !(m.types[trade.StopLimit] && m.rests()) && !m.exits():
		b.beyond(l, offset, path, b.book.quotes.Slippage.Value, "the orders that the rule is about are at the market's price, which is market_slippage_bps away")
	case l.kind == priceCollar && sellsOnly:
		b.beyond(l, offset, path, trade.Whole(10_000), "a price is never further below the bid than the whole of it")
	case l.kind == stopDistance:
		b.beyond(l, offset, path, trade.Whole(10_000), "a stop loss is never further below a price than the whole of it")
	case l.kind == orderQuantity:
		most, _ := trade.ParseDecimal(mostQuantity)
		b.beyond(l, offset, path, most, "no order is larger")
	}
}

// exits reports whether a match takes orders that may bring exits.
func (m *match) exits() bool { return m.sides[trade.Buy] && m.rests() }

// mostQuantity is the largest quantity that an order can have.
const mostQuantity = "999999999999"

// beyond reports the bounds from which on no value exceeds them.
func (b *bookReader) beyond(l *limit, offset int, path string, most trade.Decimal, why string) {
	for s := holds; s <= halts; s++ {
		if l.has[s] && l.bounds[s].Cmp(most) >= 0 {
			b.problem(offset, path+"."+s.key(), "%s.%s is %s, which no order exceeds: %s", path, s.key(), l.bounds[s], why)
		}
	}
}

// analyse reports what is wrong with the rules together. It looks only at those that are sound by themselves.
func (b *bookReader) analyse() {
	needs := ""
	for i := range b.book.rules {
		r := &b.book.rules[i]
		b.unvalued(i)
		for j := range r.limits {
			if traits[r.limits[j].kind].quote && needs == "" {
				needs = fmt.Sprintf("rules[%d].limits.%s", i, r.limits[j].kind)
			}
		}
		if !b.unfit[i] {
			b.shadowed(i)
		}
	}
	if needs != "" && b.book.quotes.Sources == nil && !b.said("quotes") {
		b.problem(0, "quotes", "quotes is missing, and %s needs a quote", needs)
	}
}

// unvalued reports a rule about orders at the market's price that could not be valued, because nothing says how far
// beyond the quote they may be executed.
func (b *bookReader) unvalued(i int) {
	r := &b.book.rules[i]
	if r.deny || b.book.quotes.Slippage.Known || b.book.quotes.Sources == nil {
		return
	}
	for _, t := range []trade.OrderType{trade.Market, trade.Stop} {
		for k := range r.limits {
			if kind := r.limits[k].kind; r.match.types[t] && traits[kind].quote && !b.said("quotes.market_slippage_bps") {
				b.problem(r.offset, "quotes.market_slippage_bps",
					"quotes.market_slippage_bps is missing; rules[%d] is about %s orders, which %s values with it", i, t, kind)
			}
		}
	}
}

// said reports whether there is a problem with that key or below it.
func (b *bookReader) said(key string) bool {
	return slices.ContainsFunc(b.problems, func(p Problem) bool {
		return p.Key == key || len(p.Key) > len(key) && p.Key[:len(key)+1] == key+"."
	})
}

// shadowed reports a rule whose every order is denied by rules with the effect deny.
func (b *bookReader) shadowed(i int) {
	r := &b.book.rules[i]
	var by []int
	for _, s := range shadowSymbols(&r.match) {
		for side := trade.Buy; side <= trade.Sell; side++ {
			for _, a := range shadowAgents(&r.match) {
				if !r.match.sides[side] {
					continue
				}
				d := b.denier(i, s, side, a, &r.match)
				if d < 0 {
					return
				}
				if !slices.Contains(by, d) {
					by = append(by, d)
				}
			}
		}
	}
	if len(by) > 0 {
		b.problem(r.offset, fmt.Sprintf("rules[%d]", i), "rules[%d] (%s) can match no order that %s does not deny", i, r.id, b.names(by))
	}
}

// shadowSymbols are the symbols of a match, or the empty one in the place of all.
func shadowSymbols(m *match) []trade.Symbol {
	if m.symbols == nil {
		return []trade.Symbol{{}}
	}
	return m.listed.symbols
}

// shadowAgents are the agents of a match, or the empty one in the place of all: only a rule about all agents covers that.
func shadowAgents(m *match) []trade.Agent {
	if m.agents == nil {
		return []trade.Agent{""}
	}
	return m.listed.agents
}

// denier returns the index of a rule other than i that denies these orders, or -1. Of two rules that deny the same, the
// later is the one that is shadowed.
func (b *bookReader) denier(i int, s trade.Symbol, side trade.Side, a trade.Agent, m *match) int {
	for j := range b.book.rules {
		d := &b.book.rules[j]
		if j == i || !d.deny || b.unfit[j] || b.book.rules[i].deny && j > i && sameOrders(&d.match, m) {
			continue
		}
		covers := (d.match.symbols == nil || d.match.symbols[s]) && (d.match.agents == nil || d.match.agents[a]) && d.match.sides[side]
		for t := trade.Limit; covers && t <= trade.StopLimit; t++ {
			covers = d.match.types[t] || !m.types[t]
		}
		for t := trade.Day; covers && t <= trade.CLS; t++ {
			covers = d.match.tifs[t] || !m.tifs[t]
		}
		if covers {
			return j
		}
	}
	return -1
}

func sameOrders(a, b *match) bool {
	return a.sides == b.sides && a.types == b.types && a.tifs == b.tifs && (a.symbols == nil) == (b.symbols == nil) &&
		(a.agents == nil) == (b.agents == nil) && len(a.symbols) == len(b.symbols) && len(a.agents) == len(b.agents) &&
		within(a, b)
}

func within(a, b *match) bool {
	for s := range a.symbols {
		if !b.symbols[s] {
			return false
		}
	}
	for s := range a.agents {
		if !b.agents[s] {
			return false
		}
	}
	return true
}

func (b *bookReader) names(rules []int) string {
	ids := make([]string, len(rules))
	for i, r := range rules {
		ids[i] = b.book.rules[r].id
	}
	return shorten(ids)
}
