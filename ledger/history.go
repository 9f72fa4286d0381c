package ledger

import (
	"slices"
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// History answers what happened before one order: see policy.History, which it implements. It is good until the next
// event. Limits per agent, symbol and rule count within the order's account. The first question about a scope counts it,
// and allocates; later ones, also of later orders, do not.
type History struct {
	memory memory
	acc    *account
	past   *past // of it; nil: nothing ever happened in the account
	agent  trade.Agent
	order  trade.Order
	own    *Open // the order's own earlier judgement, which is left out; nil if it was not counted
}

var _ policy.History = (*History)(nil)

// What a count answers when something is missing from it.
const (
	// NotKnown is the answer where the state does not remember the whole window. An amount is minus one then.
	NotKnown = -1
	// Uncounted is the answer where there were as many as are remembered at most: over every bound, and far enough from
	// the largest int to be added to. An amount is over every bound that a policy can write.
	Uncounted = int(^uint(0) >> 2)
)

// missing is the answer for a window that is not whole.
func missing(full bool) (int, trade.Decimal) {
	if full {
		return Uncounted, trade.Whole(^uint32(0)).Mul(trade.Whole(^uint32(0)))
	}
	return NotKnown, trade.Decimal{}.Sub(trade.Whole(1))
}

// History fills h for an order that this agent wants to send. without is the intent whose second judgement this is, if
// it is one: what it was counted for by its first is left out.
func (s *State) History(h *History, agent trade.Agent, order trade.Order, without trade.IntentID) {
	*h = History{memory: s.memory, agent: agent, order: order}
	if acc := s.accounts[order.Account()]; acc != nil {
		h.acc, h.past = acc, &acc.past
		h.past.ready()
		h.past.denied.load(readTrouble, maxTroubles)
		h.past.rejected.load(readTrouble, maxTroubles)
	}
	if o := s.Open(without); o != nil && !o.Counted.IsZero() && o.Order.Account() == order.Account() {
		h.own = o
	}
}

// Orders implements policy.History.
func (h *History) Orders(per policy.Per, rule string, since time.Time) int {
	n, _ := h.sent(per, rule, since)
	return n
}

// Notional implements policy.History.
func (h *History) Notional(per policy.Per, rule string, since time.Time) trade.Decimal {
	_, worth := h.sent(per, rule, since)
	return worth
}

func (h *History) sent(per policy.Per, rule string, since time.Time) (int, trade.Decimal) {
	from := since.UnixMicro()
	if !h.memory.covers(from) {
		return missing(false)
	}
	if h.past == nil {
		return 0, trade.Decimal{}
	}
	if !h.past.sent.covers(from) {
		return missing(h.past.sent.full(maxSent))
	}
	n, worth, blind := h.past.tally(h.key(per, rule)).since(from)
	if h.leavesOut(per, rule, from) {
		own := h.own.Value
		n, worth = n-1, worth.Sub(own)
		if own.Sign() == 0 {
			blind--
		}
	}
	if blind > 0 {
		_, worth = missing(false) // one of them may have been worth anything
	}
	return n, worth
}

func (h *History) key(per policy.Per, rule string) scopeKey {
	switch per {
	case policy.PerAgent:
		return scopeKey{per, string(h.agent)}
	case policy.PerSymbol:
		return scopeKey{per, h.order.Symbol().String()}
	case policy.PerRule:
		return scopeKey{per, rule}
	case policy.PerAccount:
	}
	return scopeKey{}
}

// leavesOut reports whether the order's own first judgement is among what was counted.
func (h *History) leavesOut(per policy.Per, rule string, from int64) bool {
	if h.own == nil || h.own.Counted.UnixMicro() <= from {
		return false
	}
	switch per {
	case policy.PerAgent:
		return h.own.Origin.Agent == h.agent
	case policy.PerSymbol:
		return h.own.Order.Symbol() == h.order.Symbol()
	case policy.PerRule:
		return slices.Contains(h.own.Rules, rule)
	case policy.PerAccount:
	}
	return true
}

// Similar implements policy.History.
func (h *History) Similar(since time.Time) int {
	from := since.UnixMicro()
	if !h.memory.covers(from) || h.past == nil || !h.past.sent.covers(from) {
		n, _ := h.sent(policy.PerAccount, "", since)
		return n // none, or why there is no count
	}
	n, l := 0, &h.past.sent
	for i := len(l.at) - 1; i >= 0 && l.at[i] > from; i-- {
		if l.all[i].like(h.order) {
			n++
		}
	}
	if h.own != nil && h.own.Counted.UnixMicro() > from && alike(h.own.Order, h.order) {
		n--
	}
	return n
}

// like reports whether an order has the same terms, by which an accidental repetition is known. Its exits and how long
// it lives are none of them: the same order with another stop loss is a repetition too.
func (v *sent) like(o trade.Order) bool {
	return v.symbol == o.Symbol() && v.side == o.Side() && v.typ == o.Type() && v.quantity.Cmp(o.Quantity()) == 0 &&
		v.price.Cmp(o.LimitPrice()) == 0 && v.stop.Cmp(o.StopPrice()) == 0 && v.amount.Cmp(o.Amount()) == 0
}

func alike(a, b trade.Order) bool {
	v := sent{
		symbol: a.Symbol(), side: a.Side(), typ: a.Type(), quantity: a.Quantity(), price: a.LimitPrice(), stop: a.StopPrice(),
		amount: a.Amount(),
	}
	return v.like(b)
}

// Rejections implements policy.History. Per rule they are counted per account, since a rejection has no rule.
func (h *History) Rejections(per policy.Per, since time.Time) policy.Count {
	if h.past == nil {
		return h.troubles(&log[trouble]{}, per, since)
	}
	return h.troubles(&h.past.rejected, per, since)
}

// Denials implements policy.History. Per rule they are counted per account, since a denial matches many.
func (h *History) Denials(per policy.Per, since time.Time) policy.Count {
	if h.past == nil {
		return h.troubles(&log[trouble]{}, per, since)
	}
	return h.troubles(&h.past.denied, per, since)
}

// troubles counts what is remembered. Where that is not all, whose the rest was is not known: it stops nobody.
func (h *History) troubles(l *log[trouble], per policy.Per, since time.Time) policy.Count {
	from := since.UnixMicro()
	if !h.memory.covers(from) {
		return policy.Count{N: NotKnown}
	}
	if h.acc != nil && (per == policy.PerAgent || per == policy.PerSymbol) {
		from = max(from, h.acc.pardoned(func(s Scope) bool {
			if per == policy.PerAgent {
				return s.OfAgent(h.agent)
			}
			return s.Kind == OneSymbol && s.Name == h.order.Symbol().String()
		}))
	}
	n := after(l.at, from)
	for i := len(l.at) - n; i < len(l.at) && (per == policy.PerAgent || per == policy.PerSymbol); i++ {
		v := &l.all[i]
		if per == policy.PerAgent && v.agent != h.agent || per == policy.PerSymbol && v.symbol != h.order.Symbol() {
			n--
		}
	}
	return policy.Count{N: n, Known: l.covers(from)}
}
