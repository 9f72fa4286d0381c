package gate

import (
	"context"
	"fmt"
	"time"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// bookVerdict judges the call by a policy of version 2, and engages what stops that asks for. It leaves in the ruling what
// the history counts the order as.
func (j *judgement) bookVerdict(r *ledger.Ruling, facts policy.Facts, without trade.IntentID) policy.Verdict {
	book, o := j.policy.Book, j.call.Order
	s := j.situation(without)
	v := book.Evaluate(o, facts, s)
	if v.Effect != policy.Deny {
		r.Rules = book.AppendJudging(nil, o, facts, s)
		r.Value = book.Worth(o, s).Value
		if o.ByAmount() {
			r.Shares = book.Shares(o, s)
		}
	}
	for _, h := range v.Halts {
		if j.tierGap() == nil { // who may not order may not stop others by ordering
			j.engage(h)
		}
	}
	return v
}

// inquiry is what the judgement asks the ledger's state.
func (j *judgement) inquiry(without trade.IntentID) ledger.Inquiry {
	o, book := j.call.Order, j.policy.Book
	mark := j.look.mark(book, j.at)
	q := ledger.Inquiry{
		At: j.at, Zone: j.policy.zone, Agent: j.call.Origin.Agent, Order: o, Without: without,
		Quote: j.look.quote(o.Symbol(), j.at), Instrument: j.look.instrument(o.Symbol()), Session: j.look.session(j.at), Mark: mark, Dear: book.Quotes().Dear,
	}
	if o.Account() == j.g.cfg.Account {
		q.Cash = j.look.cash(j.g.follow.state, o.Account(), j.at, mark)
	}
	return q
}

// situation is what a policy of version 2 may know. The baseline of the day, and a new peak, are on record before it goes
// by them; a dry run records nothing, and goes by what would be recorded.
func (j *judgement) situation(without trade.IntentID) policy.Situation {
	q, st := j.inquiry(without), j.g.follow.state
	events := st.Baseline(q)
	for _, e := range events {
		if j.tx != nil {
			j.g.record(j.tx, j.at, q.Order.Account(), e)
		}
	}
	s := st.Situation(q, &ledger.History{})
	for _, e := range events {
		if began, is := e.(ledger.DayBegan); is && j.tx == nil {
			s.Peak, s.DayLoss = policy.Known{Value: began.Equity, Known: true}, policy.Known{Known: true}
		}
	}
	return s
}

// byPolicy is who engages the kill switch for a limit.
const byPolicy = "policy"

// engage stops the scope of a limit that asks for it, in the append that records the denial. A dry run stops nothing.
//
//limit:gate-limit-halts A limit that halts engages the kill switch of its account, agent or symbol with the denial itself; only a person resets it.
func (j *judgement) engage(h policy.Halt) {
	scope := scopeOf(h, j.call.Order.Account())
	if j.tx == nil || j.g.follow.state.Engaged(scope) {
		return
	}
	j.g.recordIn(j.tx, streamKill, j.at, ledger.KillEngaged{
		Scope: scope, By: byPolicy, Reason: fmt.Sprintf("%s of the rule %s passed the bound at which it halts", h.Limit, h.Rule),
	})
	j.g.halted = append(j.g.halted, ledger.Stop{Scope: scope, By: byPolicy, Since: j.at})
}

// scopeOf returns what a limit stops. A name that no scope can have, which a caller may have made up, stops what is wider.
func scopeOf(h policy.Halt, account trade.Account) ledger.Scope {
	kind := ledger.OneAccount
	switch h.Scope {
	case policy.PerAgent:
		kind = ledger.OneAgent
	case policy.PerSymbol:
		kind = ledger.OneSymbol
	case policy.PerAccount, policy.PerRule:
	}
	for _, s := range []ledger.Scope{{Kind: kind, Name: h.Name}, accountScope(account)} {
		if _, ok := ledger.ParseScope(s.String()); ok {
			return s
		}
	}
	return ledger.Scope{}
}

// cancelHalted cancels what works in the scopes that limits have just stopped, as a person's stop does.
func (g *Gate) cancelHalted(ctx context.Context, halted []ledger.Stop) {
	for _, s := range halted {
		g.stopOrders(context.WithoutCancel(ctx), s, false)
	}
}

// upToMicrosecond rounds a time up to what a record has of it, so that it is never before the moment that is meant.
func upToMicrosecond(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(time.Microsecond - 1).UTC().Truncate(time.Microsecond)
}
