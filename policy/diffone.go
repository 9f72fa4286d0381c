package policy

import (
	"slices"
	"strings"

	"sallyport/trade"
)

// DiffV1 returns every difference between two policies of version 1, searched as Diff does: each change is made alone to
// the old policy, over the bounds and lists of both.
func DiffV1(old, new *Policy) []Change {
	if !old.IsValid() || !new.IsValid() {
		return nil
	}
	var out []Change
	cases := casesV1(old, new)
	add := func(path, was, is string, apply func(*Policy)) {
		if was == is {
			return
		}
		alone := *old
		apply(&alone)
		c := Change{Path: path, Old: was, New: is}
		c.search(cases, old.stepFor, alone.stepFor, new.stepFor)
		out = append(out, c)
	}
	sorted := func(list []string) string { return strings.Join(slices.Sorted(slices.Values(list)), ", ") }
	was, is := &old.listed, &new.listed
	add(keyNotional, old.maxNotional.Money(), new.maxNotional.Money(), func(p *Policy) { p.maxNotional = new.maxNotional })
	add(keyQuantity, old.maxQuantity.String(), new.maxQuantity.String(), func(p *Policy) { p.maxQuantity = new.maxQuantity })
	add(keySymbols, sorted(words(was.symbols)), sorted(words(is.symbols)), func(p *Policy) { p.symbols = new.symbols })
	add(keyTypes, sorted(words(was.types)), sorted(words(is.types)), func(p *Policy) { p.types = new.types })
	add(keySides, sorted(words(was.sides)), sorted(words(is.sides)), func(p *Policy) { p.sides = new.sides })
	return out
}

func (p *Policy) stepFor(c Case) step {
	if p.Evaluate(c.Order, c.Facts).Effect == Allow {
		return passes
	}
	return denies
}

// casesV1 are buys, and sells of what is held, at the bounds of both policies and beyond, in the first symbol of each
// and in those that only one of the two lists.
func casesV1(old, new *Policy) []Case {
	var out []Case
	add := func(c Case, ok bool) {
		if ok {
			out = append(out, c)
		}
	}
	for _, s := range symbolsV1(old, new) {
		for side := trade.Buy; side <= trade.Sell; side++ {
			at := spot{symbol: s, side: side, agent: someAgent, typ: trade.Limit, tif: trade.Day}
			add(at.little())
			add(at.calm(trade.Whole(1), decimalText("0.000000001")))
			for _, p := range []*Policy{old, new} {
				for _, q := range []trade.Decimal{p.maxQuantity, p.maxQuantity.Add(trade.Whole(1))} {
					add(at.calm(q, decimalText("0.01")))
					add(at.calm(q, decimalText("0.000000001")))
				}
				add(at.calm(trade.Whole(1), p.maxNotional))
				add(at.calm(trade.Whole(1), inMoney.beyond(p.maxNotional)))
			}
		}
	}
	return out
}

// symbolsV1 are the first symbol of each policy, and the first few that only one of them lists.
func symbolsV1(old, new *Policy) []trade.Symbol {
	var out []trade.Symbol
	for _, pair := range [][2]*Policy{{old, new}, {new, old}} {
		out = append(out, pair[0].listed.symbols[0])
		tried := 0
		for _, s := range pair[0].listed.symbols {
			if !pair[1].symbols[s] && tried < mostShown {
				tried++
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b trade.Symbol) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}
