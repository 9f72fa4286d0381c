package gate

import (
	"fmt"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// terms says how proposals wait: as the configuration has it, and where a policy of version 2 says otherwise, as that does.
//
//limit:gate-approval-terms What the approval block of a version 2 policy says wins over the configuration, for what is proposed while it is in force.
func (j *judgement) terms() Approval {
	t := j.g.cfg.Approval
	if j.policy.Book == nil {
		return t
	}
	a := j.policy.Book.Approval()
	if a.Expires > 0 {
		t.Expires = a.Expires
	}
	if a.ExecuteWithin > 0 {
		t.Within = a.ExecuteWithin
	}
	if a.MaxProposals.Known {
		t.MaxOpen = a.MaxProposals.N
	}
	if a.TwoApprovers.Known {
		t.TwoAbove = &a.TwoApprovers.Value
	}
	return t
}

// worth is what an order counts for: at the worst price where a policy of version 2 judges it. It may not be known.
func (j *judgement) worth(r *ledger.Ruling) policy.Known {
	if j.policy.Book != nil {
		return policy.Known{Value: r.Value, Known: r.Value.Sign() > 0}
	}
	worth, known := j.call.Order.Notional()
	return policy.Known{Value: worth, Known: known}
}

// above reports whether an amount is above a bound. One that is not known is above every bound.
func above(amount policy.Known, bound trade.Decimal) bool {
	return !amount.Known || amount.Value.Cmp(bound) > 0
}

// usualDrift is how far the quote of an order without a price of its own may move, in basis points, where the policy does
// not say.
const usualDrift = 100

// drift is how far the quote may move between a proposal and its execution, in basis points; ok is false if as far as it
// likes, which is so of an order whose own terms bound what it costs. asked is true if the policy says it.
func drift(book *policy.Rulebook, o trade.Order) (bound trade.Decimal, asked, ok bool) {
	switch {
	case book == nil:
		return bound, false, false
	case book.Approval().MaxPriceDrift.Known:
		return book.Approval().MaxPriceDrift.Value, true, true
	}
	return trade.Whole(usualDrift), false, !o.ByAmount() && o.LimitPrice().Sign() == 0
}

// shownQuote is the quote that people are shown of a proposal, where it is bounded how far it may move.
func (j *judgement) shownQuote() ledger.Mark {
	if _, _, ok := drift(j.policy.Book, j.call.Order); !ok {
		return ledger.Mark{}
	}
	if m, ok := j.look.mark(j.policy.Book, j.at)(j.call.Order.Symbol()); ok {
		return m
	}
	return ledger.Mark{}
}

// drifted says that the quote has moved too far since the order was proposed. Without a quote then, or now, nobody knows;
// where the policy does not ask for it, a person who was shown that there is no quote has decided without one.
//
//limit:gate-price-drift A proposal whose quote has moved by more than max_price_drift_bps on either side since it was made is not executed: PRICE_DRIFT_EXCEEDS_LIMIT.
//limit:gate-usual-drift Where a policy of version 2 has no max_price_drift_bps, the quote of an approved order without a limit price may have moved by 100 basis points.
func (j *judgement) drifted(open *ledger.Open) []policy.Reason {
	bound, asked, ok := drift(j.policy.Book, open.Order)
	if !ok || !asked && open.Hold.Shown == (ledger.Mark{}) {
		return nil
	}
	was := open.Hold.Shown
	now, known := j.look.mark(j.policy.Book, j.at)(open.Order.Symbol())
	r := policy.Reason{
		Code: policy.PriceDriftExceeds, Field: "max_price_drift_bps", Limit: bound.String(), Observed: "unknown",
		Message: "how far the quote has moved since the order was proposed cannot be known; propose it again",
	}
	if known && was.Bid.Sign() > 0 && was.Ask.Sign() > 0 {
		if near(was.Bid, now.Bid, bound) && near(was.Ask, now.Ask, bound) {
			return nil
		}
		r.Observed = now.Bid.Money() + " to " + now.Ask.Money()
		r.Message = fmt.Sprintf("the quote was %s to %s when the order was proposed and is %s now, more than %s basis points away; propose it again",
			was.Bid.Money(), was.Ask.Money(), r.Observed, bound)
	}
	return []policy.Reason{r}
}

// near reports whether a price is at most so many basis points from what it was.
func near(was, now, bps trade.Decimal) bool {
	apart := now.Sub(was)
	if apart.Sign() < 0 {
		apart = was.Sub(now)
	}
	return trade.CmpProduct(apart.Mul(trade.Whole(10_000)), bps, was) <= 0
}

// maxReasons is how many reasons of a policy go on record. A policy may have 256 rules of 20 limits each.
//
//limit:gate-reasons At most 100 reasons of a policy are on record and answered, and the last says how many more there are; an order that more than 100 bounds hold is denied.
const maxReasons = 100

// fewer leaves of a verdict as many reasons as fit on record.
func fewer(v *policy.Verdict) {
	more := len(v.Reasons) - maxReasons
	if more <= 0 {
		return
	}
	hold := v.Effect == policy.Hold
	v.Effect, v.Reasons = policy.Deny, leaveOut(v.Reasons)
	last := &v.Reasons[maxReasons-1]
	if hold { // a person cannot lift what he is not shown
		*last = policy.Reason{Code: policy.InternalError, Message: "more bounds hold this order than a person can be shown"}
	}
	last.Message += fmt.Sprintf("; %d more reasons are left out", more)
}

// leaveOut keeps the reasons that deny before those that hold, in their order.
func leaveOut(all []policy.Reason) (some []policy.Reason) {
	holds := maxReasons
	for i := range all {
		if !all[i].Hold {
			holds--
		}
	}
	for i := range all {
		switch r := &all[i]; {
		case len(some) == maxReasons:
		case !r.Hold:
			some = append(some, *r)
		case holds > 0:
			some, holds = append(some, *r), holds-1
		}
	}
	return some
}
