package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sallyport/trade"
)

// Change is one difference between two policies of version 2.
type Change struct {
	Path     string // in the file, with a rule's id in the place of its number
	Old, New string // what it says; empty where it says nothing
	Tighter  *Witness
	Looser   *Witness
	Tried    int    // made-up orders that were judged by both
	Leans    string // tighter or looser, by what the key means, where no order shows it; else empty
}

// Witness is a made-up order to which a change, by itself, makes a difference.
type Witness struct {
	Case
	Before, After string // allow, hold, deny or halt: by the old policy, and by it with this change alone
	Whole         string // the same by the whole new policy
	Both          bool   // the two whole policies differ about it in the same way
}

// edit is a change and how to make it alone.
type edit struct {
	path, old, new string
	leans          string
	apply          func(*Rulebook)
	cases          []Case
}

// Diff returns every difference between two policies. Each change is made alone to the old policy, and orders are looked
// for, over the bounds of both, that it allows or stops; the search is the same every time.
func Diff(old, new *Rulebook) []Change {
	if !old.IsValid() || !new.IsValid() {
		return nil
	}
	was, is := newBench(old), newBench(new)
	var out []Change
	for _, e := range append(settingEdits(old, new), ruleEdits(old, new)...) {
		alone := *old
		alone.rules = slices.Clone(old.rules)
		e.apply(&alone)
		c := Change{Path: e.path, Old: e.old, New: e.new, Leans: e.leans}
		c.search(e.cases, was.stepFor, newBench(&alone).stepFor, is.stepFor)
		out = append(out, c)
	}
	return out
}

// search looks for the cases that show a change best: by the old policy, by it with this change alone, and by the new one.
func (c *Change) search(cases []Case, old, alone, new func(Case) step) {
	best := [2]int{}
	c.Tried = len(cases)
	for _, x := range cases {
		before, after := old(x), alone(x)
		if before == after {
			continue
		}
		whole := new(x)
		w := &Witness{Case: x, Before: before.String(), After: after.String(), Whole: whole.String()}
		w.Both = whole != before && (whole > before) == (after > before)
		score := 1
		if before == passes || after == passes {
			score += 3
		}
		if w.Both {
			score++
		}
		if whole == after {
			score++
		}
		direction, place := 0, &c.Looser
		if after > before {
			direction, place = 1, &c.Tighter
		}
		if score > best[direction] {
			best[direction], *place = score, w
		}
	}
}

// bench judges many cases by one policy, each by the rules alone that can be about its symbol.
type bench struct {
	book *Rulebook
	near map[trade.Symbol]*Rulebook
}

func newBench(b *Rulebook) bench { return bench{b, map[trade.Symbol]*Rulebook{}} }

// stepFor is the verdict on a case as one of four.
func (b bench) stepFor(c Case) step {
	near := b.near[c.Order.Symbol()]
	if near == nil {
		near = b.book.near(c.Order.Symbol())
		b.near[c.Order.Symbol()] = near
	}
	return near.stepFor(c)
}

// near is the policy without the rules that list other symbols. It judges an order in this one as the whole policy does,
// which it is where no rule is about the symbol: an exit is then judged by all of them.
func (b *Rulebook) near(s trade.Symbol) *Rulebook {
	n, some := *b, false
	n.rules = nil
	for i := range b.rules {
		if r := &b.rules[i]; r.match.symbols == nil || r.match.symbols[s] {
			n.rules = append(n.rules, *r)
			some = some || !r.deny && r.match.lists(s)
		}
	}
	if !some {
		return b
	}
	return &n
}

// stepFor is the verdict on a case as one of four: what Evaluate says, without what would pass in its place.
func (b *Rulebook) stepFor(c Case) step {
	if !b.IsValid() {
		return denies
	}
	j := judge{book: b, o: c.Order, f: c.Facts, s: c.Situation}
	if j.lets(nil) {
		return passes
	}
	switch said := j.collect(); {
	case len(said.v.Halts) > 0:
		return halts
	case said.denied, len(said.v.Reasons) == 0:
		return denies
	}
	return holds
}

// Word says which way a change goes.
func (c Change) Word() string {
	switch {
	case c.Tighter != nil && c.Looser != nil:
		return "tighter and looser"
	case c.Tighter != nil:
		return "tighter"
	case c.Looser != nil:
		return "looser"
	case c.Leans != "":
		return c.Leans
	}
	return "different"
}

// AppendChanges appends changes as text, one after another.
func AppendChanges(dst []byte, changes []Change) []byte {
	if len(changes) == 0 {
		return append(dst, "the policies say the same\n"...)
	}
	said := func(s string) string {
		if s == "" {
			return "nothing"
		}
		return trade.Printable(s, 400)
	}
	for _, c := range changes {
		dst = fmt.Appendf(dst, "%s: %s: %s -> %s\n", c.Word(), c.Path, said(c.Old), said(c.New))
		for _, w := range []*Witness{c.Tighter, c.Looser} {
			if w == nil {
				continue
			}
			dst = fmt.Appendf(dst, "    %s: %s before, %s after", w.Case, w.Before, w.After)
			if !w.Both {
				dst = append(dst, " (by this change alone)"...)
			}
			dst = append(dst, '\n')
		}
		if c.Tighter == nil && c.Looser == nil {
			dst = fmt.Appendf(dst, "    an order that shows it: none found among %d\n", c.Tried)
		}
	}
	return dst
}

// settingEdits are the changes outside the rules.
func settingEdits(old, new *Rulebook) []edit {
	var out []edit
	add := func(path, was, is, leans string, apply func(*Rulebook), cases []Case) {
		if was != is {
			out = append(out, edit{path, was, is, leans, apply, cases})
		}
	}
	p, q := old.quotes, new.quotes
	add("timezone", old.timezone, new.timezone, "", func(b *Rulebook) { b.timezone = new.timezone }, nil)
	add("quotes.sources", strings.Join(p.Sources, ", "), strings.Join(q.Sources, ", "), "",
		func(b *Rulebook) { b.quotes.Sources = q.Sources }, nil)
	add("quotes.max_age", timeWords(p.MaxAge), timeWords(q.MaxAge), "", func(b *Rulebook) { b.quotes.MaxAge = q.MaxAge }, quoteCases(old, new))
	add("quotes.max_spread_bps", p.spreadWords(), q.spreadWords(), "",
		func(b *Rulebook) { b.quotes.MaxSpread, b.quotes.halfSpread = q.MaxSpread, q.halfSpread }, quoteCases(old, new))
	fiveOpen := Known{Value: trade.Whole(usualProposals), Known: true}
	never := func(*Rulebook) {} // no verdict depends on it
	add("quotes.max_divergence_bps", p.MaxDivergence.show(), q.MaxDivergence.show(), leaning(p.MaxDivergence, q.MaxDivergence), never, nil)
	add("quotes.market_slippage_bps", p.Slippage.show(), q.Slippage.show(), leaning(q.Slippage.orElse(Known{Known: true}), p.Slippage.orElse(Known{Known: true})),
		func(b *Rulebook) { b.quotes.slips(q.Slippage) }, slipCases(old, new))
	a, z := old.approval, new.approval
	add("approval.expires", timeWords(a.Expires), timeWords(z.Expires), leaningTime(a.Expires, z.Expires, usualExpiry), never, nil)
	add("approval.execute_within", timeWords(a.ExecuteWithin), timeWords(z.ExecuteWithin), leaningTime(a.ExecuteWithin, z.ExecuteWithin, usualExecution), never, nil)
	add("approval.two_approvers_above_notional", a.TwoApprovers.show(), z.TwoApprovers.show(), leaning(a.TwoApprovers, z.TwoApprovers), never, nil)
	add("approval.max_price_drift_bps", a.MaxPriceDrift.show(), z.MaxPriceDrift.show(), leaning(a.MaxPriceDrift, z.MaxPriceDrift), never, nil)
	add("approval.max_open_proposals", a.MaxProposals.show(), z.MaxProposals.show(), leaning(a.MaxProposals.amount().orElse(fiveOpen), z.MaxProposals.amount().orElse(fiveOpen)), never, nil)
	return out
}

// spreadWords is the bound of the spread; nothing where the file has no quotes.
func (q Quotes) spreadWords() string {
	if len(q.Sources) == 0 {
		return ""
	}
	return q.MaxSpread.String()
}

// leaning says which way a bound goes that no verdict shows: less is tighter, and none at all is the
// loosest.
func leaning(old, new Known) string {
	switch {
	case old.Known != new.Known && new.Known:
		return "tighter"
	case old.Known != new.Known:
		return "looser"
	case new.Value.Cmp(old.Value) < 0:
		return "tighter"
	case new.Value.Cmp(old.Value) > 0:
		return "looser"
	}
	return ""
}

// What the gate's configuration has for the approval of proposals unless somebody says otherwise: a policy that says
// nothing leaves it at that.
//
//limit:policy-usual-approval Where an approval block does not say it, policies are compared as if it said 30 minutes, 15 seconds and 5 open proposals.
const (
	usualExpiry    = 30 * time.Minute
	usualExecution = 15 * time.Second
	usualProposals = 5
)

// orElse is what is known, or else what stands in its place.
func (k Known) orElse(other Known) Known {
	if k.Known {
		return k
	}
	return other
}

func leaningTime(old, new, usual time.Duration) string {
	old, new = cmp.Or(old, usual), cmp.Or(new, usual)
	seconds := func(d time.Duration) Known {
		return Known{Value: decimalOf(uint64(d / (maxDuration / 86_400))), Known: d > 0}
	}
	return leaning(seconds(old), seconds(new))
}

// timeWords writes a duration of the file as a file would; none is nothing.
func timeWords(d time.Duration) string {
	if d == 0 {
		return ""
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func (k Known) show() string {
	if !k.Known {
		return ""
	}
	return k.Value.String()
}

func (c Count) show() string {
	if !c.Known {
		return ""
	}
	return fmt.Sprint(c.N)
}

func (c Count) amount() Known { return Known{Value: trade.Whole(uint32(c.N)), Known: c.Known} }

// quoteCases are small orders over quotes as old and as wide as either policy lets them be, and a little more.
func quoteCases(old, new *Rulebook) []Case {
	var out []Case
	for _, b := range []*Rulebook{old, new} {
		for i := range b.rules {
			for _, at := range b.rules[i].spots(b) {
				for _, q := range []Quotes{old.quotes, new.quotes} {
					out = append(out, at.aged(q)...)
					out = append(out, at.spread(q)...)
				}
			}
		}
	}
	return out
}

// slipCases are orders at the market around the bounds of every limit.
func slipCases(books ...*Rulebook) []Case {
	var out []Case
	for _, b := range books {
		for i := range b.rules {
			for _, at := range b.rules[i].spots(b) {
				for k := range b.rules[i].limits {
					if atMarket(at.typ) {
						out = append(out, at.around(&b.rules[i].limits[k])...)
					}
				}
			}
		}
	}
	return out
}

func (p spot) aged(q Quotes) (out []Case) {
	for _, more := range []time.Duration{0, 1} {
		if c, ok := p.little(); ok {
			c.Situation.Quote.Age = q.MaxAge + more
			c.Says = "with a quote that is " + c.Situation.Quote.Age.String() + " old"
			out = append(out, c)
		}
	}
	return out
}

// spread widens the quote of a small order around 1.00: half the spread on either side.
func (p spot) spread(q Quotes) (out []Case) {
	for _, more := range []string{"0", "0.000000001"} {
		if c, ok := p.little(); ok {
			one, half := trade.Whole(1), q.halfSpread.Add(decimalText(more))
			c.Situation.Quote.Bid, c.Situation.Quote.Ask = one.Sub(half), one.Add(half)
			c.Says = fmt.Sprintf("with a quote of %s to %s", c.Situation.Quote.Bid, c.Situation.Quote.Ask)
			out = append(out, c)
		}
	}
	return out
}
