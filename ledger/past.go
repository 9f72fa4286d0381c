package ledger

import (
	"cmp"
	"slices"
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// Limits on what is remembered. Nothing is forgotten silently: of a window that reaches back to what was forgotten, or to
// before the state began to remember, the count is not known, which is a no; see History.
const (
	// kept is longer than the longest day, which has 25 hours, so that a window of one day is always whole.
	//
	//limit:ledger-history-window Of each account what happened within 26 hours before the newest of its kind is remembered; the count of a window that reaches further back is not known.
	kept = 26 * time.Hour
	//limit:ledger-history-sent Of each account the newest 100,000 sent orders and the newest 100,000 closing fills are remembered; a window that reaches further back counts as over every bound, and its gain is not known.
	maxSent = 100_000
	//limit:ledger-history-troubles Of each account the newest 1,000 rejections and the newest 1,000 denials are remembered; of a window that reaches further back only the least is known: it stops whom that stops, and else denies.
	maxTroubles = 1000
)

// past is what is remembered of one account, in order of time.
type past struct {
	sent     log[sent]
	rejected log[trouble]
	denied   log[trouble]
	closed   log[policy.Known] // what each closing fill gained

	// index has what was sent of each scope that was asked for: it is derived from sent, and begun again when most of what
	// it was given is forgotten, or when it has too many scopes.
	index map[scopeKey]*tally
	given int
}

// sent is one order that was sent, or that somebody else was permitted to send.
type sent struct {
	agent    trade.Agent
	symbol   trade.Symbol
	side     trade.Side
	typ      trade.OrderType
	quantity trade.Decimal
	price    trade.Decimal // the limit
	stop     trade.Decimal
	amount   trade.Decimal // of an order by amount
	value    trade.Decimal // what it was worth when it was sent; zero: nobody could say
	rules    []string      // the ids of the rules that matched
}

// trouble is a rejection or a denial. The symbol is zero where the input was no order.
type trouble struct {
	agent  trade.Agent
	symbol trade.Symbol
}

// log keeps things in the order in which they were recorded, each with its time in microseconds. A clock that goes back
// does not take a thing out of a window that it was in: no time is before the one before it. What the snapshot has stays
// unread until it is asked for: a process that only adds to it, as a hook does under most policies, reads none of it.
type log[T any] struct {
	lines     [][]byte // of the snapshot, each from its first row on, while unread: at and all have what came after them
	at        []int64
	all       []T
	forgotten int64 // the time of the newest that is forgotten; 0: none is; not known before the lines are read
	moves     []move[T]

	parts []part // which rows were written as which part before
	gone  int    // how many rows before the first one were there
}

// move is a thing that is to be taken out before the so-manyth of those that came after the lines is added.
type move[T any] struct {
	before int
	at     int64
	is     func(T) bool
}

// newest returns the time of the newest thing; 0 if there is none.
func (l *log[T]) newest() int64 {
	if n := len(l.at); n > 0 {
		return l.at[n-1]
	} else if len(l.lines) > 0 {
		return newest(l.lines[len(l.lines)-1])
	}
	return 0
}

// take takes out a thing of that time, at once, or when the lines are read. It reports whether it was there, as far as that
// is known.
func (l *log[T]) take(at int64, is func(T) bool) bool {
	if len(l.lines) > 0 {
		l.moves = append(l.moves, move[T]{len(l.at), at, is})
		return false
	}
	for i := len(l.at) - after(l.at, at-1); i < len(l.at) && l.at[i] == at; i++ {
		if !is(l.all[i]) {
			continue
		}
		l.at, l.all = slices.Delete(l.at, i, i+1), slices.Delete(l.all, i, i+1)
		for n := len(l.parts); n > 0 && l.parts[n-1].to > l.gone+i; n-- {
			l.parts = l.parts[:n-1]
		}
		return true
	}
	return false
}

// add appends one thing, and forgets what is over the most or too old: at once, or when the lines are read. It returns the
// time that it was given.
func (l *log[T]) add(at int64, v T, most int) int64 {
	at = max(at, l.newest())
	l.at, l.all = append(l.at, at), append(l.all, v)
	if len(l.lines) > 0 {
		return at
	}
	n := max(0, len(l.at)-most)
	for l.at[n] <= at-kept.Microseconds() {
		n++
	}
	if n > 0 {
		l.forgotten, l.gone = l.at[n-1], l.gone+n
		l.at, l.all = l.at[n:], l.all[n:]
	}
	return at
}

// covers reports whether everything after that time is still there.
func (l *log[T]) covers(since int64) bool { return l.forgotten == 0 || since >= l.forgotten }

// full reports whether there were as many as are kept at most.
func (l *log[T]) full(most int) bool { return len(l.at) >= most }

// after returns how many of sorted times are later than since.
func after(at []int64, since int64) int {
	i, _ := slices.BinarySearchFunc(at, since, func(a, since int64) int {
		if a <= since {
			return -1
		}
		return 1
	})
	return len(at) - i
}

// scopeKey is what a limit counts together. PerAccount has no name.
type scopeKey struct {
	per  policy.Per
	name string
}

// tally is what was sent of one scope: when, and the running sum of what it was worth.
type tally struct {
	at    []int64
	worth []trade.Decimal
	blind []int64 // when there was one of which nobody could say what it was worth
}

func (t *tally) add(at int64, value trade.Decimal) {
	if value.Sign() == 0 {
		t.blind = append(t.blind, at)
	}
	if n := len(t.worth); n > 0 {
		value = value.Add(t.worth[n-1])
	}
	t.at, t.worth = append(t.at, at), append(t.worth, value)
}

// remove takes out one that was sent at that time and was worth so much.
func (t *tally) remove(at int64, value trade.Decimal) {
	for i := len(t.at) - after(t.at, at-1); i < len(t.at) && t.at[i] == at; i++ {
		own := t.worth[i]
		if i > 0 {
			own = own.Sub(t.worth[i-1])
		}
		if own.Cmp(value) != 0 {
			continue
		}
		t.at, t.worth = slices.Delete(t.at, i, i+1), slices.Delete(t.worth, i, i+1)
		for ; i < len(t.worth); i++ {
			t.worth[i] = t.worth[i].Sub(value)
		}
		if b := len(t.blind) - after(t.blind, at-1); value.Sign() == 0 && b < len(t.blind) {
			t.blind = slices.Delete(t.blind, b, b+1)
		}
		return
	}
}

// since returns how many were sent after that time, what they were worth together, and of how many nobody could say it.
func (t *tally) since(since int64) (n int, worth trade.Decimal, blind int) {
	n, blind = after(t.at, since), after(t.blind, since)
	if n == 0 {
		return 0, trade.Decimal{}, 0
	}
	worth = t.worth[len(t.worth)-1]
	if i := len(t.at) - n; i > 0 {
		worth = worth.Sub(t.worth[i-1])
	}
	return n, worth, blind
}

// in reports whether the order is one of a scope.
func (v *sent) in(k scopeKey) bool {
	switch k.per {
	case policy.PerAgent:
		return string(v.agent) == k.name
	case policy.PerSymbol:
		return v.symbol.String() == k.name
	case policy.PerRule:
		return slices.Contains(v.rules, k.name)
	case policy.PerAccount:
	}
	return true
}

// count gives an order to the scopes that were asked for, or takes it from them.
func (p *past) count(at int64, v *sent, change func(*tally, int64, trade.Decimal)) {
	p.given++
	for _, k := range [...]scopeKey{
		{per: policy.PerAccount}, {policy.PerAgent, string(v.agent)}, {policy.PerSymbol, v.symbol.String()},
	} {
		if t := p.index[k]; t != nil {
			change(t, at, v.value)
		}
	}
	for _, id := range v.rules {
		if t := p.index[scopeKey{policy.PerRule, id}]; t != nil {
			change(t, at, v.value)
		}
	}
}

// maxScopes bounds how many scopes are kept at hand.
//
//limit:ledger-history-scopes At most 1,000 scopes are kept counted; one more begins the counting again from what is remembered.
const maxScopes = 1000

// tally returns what was sent of a scope.
func (p *past) tally(k scopeKey) *tally {
	if t := p.index[k]; t != nil {
		return t
	}
	if p.index == nil || len(p.index) >= maxScopes {
		p.index, p.given = map[scopeKey]*tally{}, 0
	}
	t := &tally{}
	for i := range p.sent.all {
		if v := &p.sent.all[i]; v.in(k) {
			t.add(p.sent.at[i], v.value)
		}
	}
	p.index[k] = t
	return t
}

// ready reads the line, and begins the index again if most of what it was given is forgotten. That does no harm before:
// a window that reaches what is forgotten is not answered.
func (p *past) ready() {
	p.sent.load(readSent, maxSent)
	if p.given > len(p.sent.at)+1024 {
		p.index, p.given = nil, 0
	}
}

// sent remembers an order at its full value, at once. It counts once: a permission when it is given, and from when it is
// given again or what it permitted is sent, as what it is worth then. Nothing is taken back when the order is rejected,
// cancelled or refused by a second judgement later.
//
//limit:ledger-count-moves A permission counts when it is given, and in its place what is sent by it when it is sent: once, and never by a time that is over.
func (s *State) sent(at time.Time, o *Open, rules []string, value trade.Decimal) {
	old, oldRules, oldValue := o.Counted, o.Rules, o.Value
	o.Counted, o.Rules, o.Value = time.Time{}, nil, trade.Decimal{}
	if !s.memory.on {
		return
	}
	v := sentOf(o, rules, value)
	if value.Sign() == 0 { // zero stays where nobody can say it
		v.value = s.ownWorth(o)
	}
	p := &s.account(o.Order.Account()).past
	when := at.UnixMicro()
	if !old.IsZero() {
		when = max(when, p.sent.newest())
		was := sentOf(o, oldRules, oldValue)
		if p.sent.take(old.UnixMicro(), was.equal) {
			p.count(old.UnixMicro(), &was, (*tally).remove)
		}
	}
	when = p.sent.add(when, v, maxSent)
	p.count(when, &v, (*tally).add)
	if o.Phase == Permitted {
		o.Counted, o.Rules, o.Value = time.UnixMicro(when).UTC(), rules, v.value
	}
}

// sentOf is what is remembered of an order.
func sentOf(o *Open, rules []string, value trade.Decimal) sent {
	return sent{
		agent: o.Origin.Agent, symbol: o.Order.Symbol(), side: o.Order.Side(), typ: o.Order.Type(),
		quantity: o.Order.Quantity(), price: o.Order.LimitPrice(), stop: o.Order.StopPrice(), amount: o.Order.Amount(),
		value: value, rules: rules,
	}
}

// equal reports whether two are the same in all that is remembered.
func (v *sent) equal(o sent) bool {
	return v.agent == o.agent && v.symbol == o.symbol && v.side == o.side && v.typ == o.typ && v.quantity.Cmp(o.quantity) == 0 &&
		v.price.Cmp(o.price) == 0 && v.stop.Cmp(o.stop) == 0 && v.amount.Cmp(o.amount) == 0 && v.value.Cmp(o.value) == 0 &&
		slices.Equal(v.rules, o.rules)
}

// ownWorth is what an order counts as whose decision did not say it: one that a policy of version 1 or a person let pass.
// A buy costs its limit at most. A sell brings its limit at least: it counts at the highest price that is known of the
// symbol without a market, and as not known if there is none.
//
//limit:ledger-own-worth An order whose decision did not say what it is worth counts at its own terms: a sell at the highest of its prices and of what the position has cost, and a market sell of what has no known cost as not known.
func (s *State) ownWorth(o *Open) trade.Decimal {
	if o.Order.Side() == trade.Buy || o.Order.ByAmount() {
		worth, _ := o.Order.Notional()
		return worth
	}
	price := larger(o.Order.LimitPrice(), o.Order.StopPrice())
	if h := s.account(o.Order.Account()).holdings[o.Order.Symbol()]; h != nil {
		price = larger(price, h.average)
	}
	return o.Order.Quantity().MulUp(price)
}

// denied remembers a denial. What an engaged kill switch stops is not one: the switch is latched already.
func (s *State) denied(at time.Time, a trade.Account, agent trade.Agent, sym trade.Symbol, r Ruling) {
	stopped := slices.ContainsFunc(r.Reasons, func(r policy.Reason) bool { return r.Code == policy.KillSwitchActive || r.Code == policy.TierTooLow })
	if !s.memory.on || stopped {
		return
	}
	acc := s.account(a)
	acc.troubled(&acc.past.denied, at, trouble{agent, sym})
}

// rejected remembers what a broker rejected, whoever tells it. What we or a person settle is no rejection.
func (s *State) rejected(at time.Time, o *Open, from Source) {
	if !s.memory.on || !from.Tracked() && from != FromReport {
		return
	}
	acc := s.account(o.Order.Account())
	acc.troubled(&acc.past.rejected, at, trouble{o.Origin.Agent, o.Order.Symbol()})
}

// pardon is from when on rejections and denials are counted of an agent or a symbol.
type pardon struct {
	scope Scope
	after int64 // microseconds: what has that time counts no more
}

// pardon begins to count again what makes a switch engage itself, as far as a person has reset that scope: of an account
// with all of its agents and symbols, of one of these for itself alone. What was sent stays counted.
//
//limit:ledger-pardon A reset of an agent or a symbol begins its own count of rejections and denials again, and takes nothing from those of others or of the account.
func (a *account) pardon(at time.Time, name trade.Account, scope Scope, m memory) {
	switch {
	case scope.Kind == OneAccount && !scope.Covers(name, "", trade.Symbol{}):
	case scope.Kind == Everything, scope.Kind == OneAccount:
		a.past.rejected, a.past.denied, a.pardons = log[trouble]{}, log[trouble]{}, nil
		a.streak = streak{known: m.on && !m.whole}
	case m.on:
		after := max(at.UnixMicro(), a.past.rejected.newest(), a.past.denied.newest())
		a.pardons = slices.DeleteFunc(a.pardons, func(p pardon) bool {
			return p.scope == scope || p.after < after-kept.Microseconds()
		})
		i, _ := slices.BinarySearchFunc(a.pardons, scope, func(p pardon, s Scope) int { return cmp.Compare(p.scope.String(), s.String()) })
		a.pardons = slices.Insert(a.pardons, i, pardon{scope, after})
	}
}

// pardoned returns the newest time of a pardon that is of the scope of a count; 0 if there is none.
func (a *account) pardoned(of func(Scope) bool) (after int64) {
	for _, p := range a.pardons {
		if of(p.scope) {
			after = max(after, p.after)
		}
	}
	return after
}

// troubled remembers a rejection or a denial. What comes after a pardon has a later time than what was before.
func (a *account) troubled(l *log[trouble], at time.Time, v trouble) {
	after := a.pardoned(func(Scope) bool { return true })
	l.add(max(at.UnixMicro(), after+1), v, maxTroubles)
}
