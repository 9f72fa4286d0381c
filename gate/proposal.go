package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// Approval says how proposals wait for people.
type Approval struct {
	Expires   time.Duration  // of a proposal; default 30 minutes, at most 24 hours
	Within    time.Duration  // from the last approval to the send; default 15 seconds
	MaxOpen   int            // open proposals of one agent; default 5
	HoldAbove *trade.Decimal // an order of more notional waits for a person, wherever it comes from; nil holds none
	TwoAbove  *trade.Decimal // a proposal of more notional needs two persons; nil never
}

// Defaults of approval.
const (
	//limit:gate-proposal-expires A proposal expires after 30 minutes, unless configured.
	defaultExpires = 30 * time.Minute
	//limit:gate-proposal-most A configured expiry of proposals is at most 24 hours.
	maxExpires = 24 * time.Hour
	//limit:gate-execute-within An approved proposal is executed within 15 seconds, unless configured, or its approval lapses.
	defaultWithin = 15 * time.Second
	//limit:gate-open-proposals An agent has at most 5 open proposals, unless configured: PROPOSALS_EXCEED_LIMIT.
	defaultMaxOpen = 5
)

func (a *Approval) complete() error {
	setDefault(&a.Expires, defaultExpires)
	setDefault(&a.Within, defaultWithin)
	setDefault(&a.MaxOpen, defaultMaxOpen)
	switch {
	case a.Expires < 0 || a.Within < 0 || a.MaxOpen < 0:
		return errors.New("gate: a setting of approval is negative")
	case a.Expires > maxExpires:
		return fmt.Errorf("gate: proposals expire after at most %s", maxExpires)
	}
	return nil
}

// Propose judges the order by the whole policy at once. What the policy denies never reaches a person; everything else
// waits for one.
func (g *Gate) Propose(ctx context.Context, c Call) ledger.Decision {
	j := &judgement{g: g, call: c, basis: g.basis(ctx), executing: true, proposing: true}
	if err := g.update(ctx, j.decide); err != nil {
		return g.unavailable(c, err)
	}
	return j.decision
}

// holding adds to a judgement that allows why a person must decide about it all the same.
func (j *judgement) holding(r *ledger.Ruling) {
	if r.Effect == policy.Deny {
		return
	}
	byBook := j.policy.Book != nil // whose reasons say of themselves what an approval lifts
	worth := j.worth(r)
	if terms := j.terms(); terms.HoldAbove != nil && above(worth, *terms.HoldAbove) {
		observed := "unknown"
		if worth.Known {
			observed = worth.Value.Money()
		}
		r.Effect = policy.Hold
		r.Reasons = append(r.Reasons, policy.Reason{
			Code: policy.ApprovalRequired, Field: "notional", Limit: terms.HoldAbove.Money(), Observed: observed, Hold: byBook,
			Message: fmt.Sprintf("a person must approve an order of more than %s; this one is worth %s", terms.HoldAbove.Money(), observed),
		})
	}
	if j.proposing {
		r.Effect = policy.Hold
		r.Reasons = append(r.Reasons, policy.Reason{Code: policy.ApprovalRequired, Message: j.waits(), Hold: byBook})
	}
}

// waits says for whom a proposal waits, and that nobody can decide now where that is so.
func (j *judgement) waits() string {
	approver := slices.ContainsFunc(j.g.follow.state.People(), func(p ledger.Person) bool { return p.Approver })
	switch {
	case !approver:
		return "a proposal waits for a person, and no approver is listed now"
	case !j.g.cfg.Daemon:
		return "a proposal waits for a person, and is executed by the daemon, which is not this process"
	}
	return "a proposal waits for a person"
}

// heldHere makes a proposal of a judgement that holds: the same one if it is open already, none if there are too many.
// It reports whether the call is answered.
func (j *judgement) heldHere(at time.Time, r *ledger.Ruling) (open *ledger.Open, hold ledger.Hold) {
	st := j.g.follow.state
	if open = st.Alike(j.call.Origin, j.call.Order, !j.executing); open != nil && open.ClientOrderID == j.call.Tags.ClientOrderID {
		return open, hold
	}
	terms, count := j.terms(), st.Asking(j.call.Origin.Agent)
	if count >= terms.MaxOpen {
		r.Effect = policy.Deny
		r.Reasons = append(r.Reasons[:0:0], policy.Reason{
			Code: policy.ProposalsExceedLimit, Limit: fmt.Sprint(terms.MaxOpen), Observed: fmt.Sprint(count + 1),
			Message: fmt.Sprintf("this agent has %d open proposals, and may have %d", count, terms.MaxOpen),
		})
		return nil, hold
	}
	hold = ledger.Hold{Expires: at.Add(terms.Expires), Within: terms.Within, Approvers: j.approvers(r), Permits: !j.executing}
	hold.Shown = j.shownQuote()
	return nil, hold
}

// approvers is how many different persons must approve an order, by what it is worth as it is judged now.
//
//limit:gate-two-approvers A proposal that is above the amount for two approvers, or whose worth is not known, needs two different persons, when it is made and whenever it is judged again.
func (j *judgement) approvers(r *ledger.Ruling) int {
	if two := j.terms().TwoAbove; two != nil && above(j.worth(r), *two) {
		return 2
	}
	return 1
}

// expire ends the proposals whose time is over. Every decision does so first, so that what they reserved is free again.
func (g *Gate) expire(tx *journal.Tx, at time.Time) {
	for _, o := range g.follow.state.Due(at) {
		why := "nobody decided in time"
		if o.Phase == ledger.Granted {
			why = "it was approved and not used in time"
		}
		g.record(tx, at, o.Order.Account(), ledger.ProposalEnded{
			Intent: o.Intent, State: ledger.ApprovalExpired, By: bySallyport, Reason: why,
		})
	}
}

// secondJudgement judges a proposal with fresh facts, without its own reservation and counts, and says how many persons
// must approve it by them. A live approval lifts
// exactly the reasons for holding that the people were shown: a new one, and a policy with other bytes, deny.
//
//limit:gate-policy-changed A proposal that was judged by a policy with another SHA-256 than the one now in force is not executed: POLICY_CHANGED.
//limit:gate-new-hold An approval lifts only the reasons for holding that were shown; a new one ends the proposal.
func (g *Gate) secondJudgement(tx *journal.Tx, at time.Time, open *ledger.Open, by basis, behind time.Duration) (r ledger.Ruling, approvers int) {
	j := judgement{g: g, basis: by, tx: tx, at: at, executing: !open.Hold.Permits, proposing: !open.Hold.Permits, approved: true, call: Call{
		Origin: open.Origin, Account: open.Order.Account(), Order: open.Order, Tier: trade.TierExecute,
		Tags: trade.Tags{ClientOrderID: open.ClientOrderID},
	}}
	r = j.ruling(append(policyChanged(by.policy, open), j.drifted(open)...), behind, open.Intent)
	lift(&r, open)
	return r, j.approvers(&r)
}

// afterApproval is the second judgement of what is approved already. Where it has come to need more persons than have
// approved it, it is not executed.
func (g *Gate) afterApproval(tx *journal.Tx, at time.Time, open *ledger.Open, by basis, behind time.Duration) ledger.Ruling {
	r, needs := g.secondJudgement(tx, at, open, by, behind)
	enough(&r, open, needs)
	return r
}

// enough denies what fewer persons have approved than must by now.
func enough(r *ledger.Ruling, open *ledger.Open, needs int) {
	if r.Effect != policy.Allow || len(open.Approvals) >= needs {
		return
	}
	r.Effect = policy.Deny
	r.Reasons = []policy.Reason{{
		Code: policy.ApprovalRequired, Field: "two_approvers", Limit: fmt.Sprint(len(open.Approvals)), Observed: fmt.Sprint(needs),
		Message: fmt.Sprintf("the order is worth more now, or nobody knows how much, so that %d persons must approve it; propose it again", needs),
	}}
}

// lapsed says why a permission that people approved is good no more. What it reserves stays, since whoever was permitted
// the call may have made it.
//
//limit:gate-approved-permission A permission that people approved is spent, or given again, strictly before the expiry of its proposal, and only while everybody who approved it is still listed with the same credential.
func lapsed(at time.Time, open *ledger.Open) (rs []policy.Reason) {
	if len(open.Approvals) == 0 {
		return nil
	}
	if !at.Before(open.Hold.Expires) {
		rs = append(rs, policy.Reason{
			Code: policy.ProposalExpired, Limit: open.Hold.Expires.Format(ledger.TimeFormat), Observed: at.Format(ledger.TimeFormat),
			Message: "the time in which people let the order be sent is over; propose it again",
		})
	}
	if open.Revoked {
		rs = append(rs, policy.Reason{
			Code: policy.ApprovalRequired, Field: "approved_by",
			Message: "somebody who approved the order, or its agent, was removed or has another credential now; propose it again",
		})
	}
	return rs
}

// before returns a time, or the last moment before the end if that is earlier.
func before(t, end time.Time) time.Time {
	if last := end.Add(-time.Microsecond); last.Before(t) {
		return last
	}
	return t
}

// policyChanged says that the policy is another one than when the order was first judged.
func policyChanged(view PolicyView, open *ledger.Open) []policy.Reason {
	if view.SHA256 == open.PolicySHA256 {
		return nil
	}
	return []policy.Reason{{
		Code: policy.PolicyChanged, Limit: open.PolicySHA256, Observed: view.SHA256,
		Message: "the policy is another one than when the order was proposed; propose it again",
	}}
}

// lift takes from a judgement the reasons for holding that people have approved; one that is not among them denies.
func lift(r *ledger.Ruling, open *ledger.Open) {
	if r.Effect != policy.Hold {
		return
	}
	fresh := slices.DeleteFunc(slices.Clone(r.Reasons), func(why policy.Reason) bool {
		waits := why.Code == policy.ApprovalRequired && why.Field == "" // which is no rule of its own
		return waits || slices.ContainsFunc(open.Reasons, func(s policy.Reason) bool {
			return s.Code == why.Code && s.Field == why.Field && s.Limit == why.Limit && s.Rule == why.Rule
		})
	})
	if len(fresh) > 0 {
		r.Effect, r.Reasons = policy.Deny, fresh
		return
	}
	r.Effect, r.Reasons = policy.Allow, nil
}

// judgedAgain is the record of a second judgement.
func (g *Gate) judgedAgain(open *ledger.Open, r ledger.Ruling, c ledger.Clearance, p ledger.Pending) ledger.Rejudged {
	return ledger.Rejudged{
		Intent: open.Intent, Account: open.Order.Account(), Origin: open.Origin, Ruling: r, Clears: c, Pending: p,
		Order: open.Order, ClientOrderID: open.ClientOrderID, FirstAt: open.At,
	}
}

// carryOut executes an approved proposal: judged once more in the critical section of the record that clears it, then
// sent. It does so once, whoever calls it.
//
//limit:gate-approved-once An approved proposal is executed once, within its time, and only after it was judged again in the same critical section.
func (g *Gate) carryOut(ctx context.Context, id trade.IntentID) (ledger.Decision, error) {
	if g.cfg.Broker == nil || !g.cfg.Daemon {
		return ledger.Decision{}, ErrDaemonRequired
	}
	if err := g.lease.hold(); err != nil {
		return ledger.Decision{}, err
	}
	by := g.basis(ctx)
	j := &judgement{g: g}
	err := g.update(ctx, func(tx *journal.Tx) error {
		at, behind := g.moment(tx)
		open, r := g.proposal(id)
		g.prepare(tx, at, by)
		g.expire(tx, at)
		g.stopBehind(tx, at, behind)
		if r != nil || open.Phase != ledger.Granted || open.Hold.Permits || !at.Before(open.Ends()) {
			return nil
		}
		ruling := g.afterApproval(tx, at, open, by, behind)
		p := ledger.Pending{}
		clears := ledger.ClearsNothing
		if ruling.Effect == policy.Allow {
			clears = ledger.ClearsSend
			p = ledger.Pending{Deadline: at.Add(g.cfg.Deadline), NotAfter: before(g.notAfter(), open.Ends()), Instance: g.lease.name}
			j.next = send
			j.cleared = Cleared{Order: open.Order, ID: id.BrokerOrderID(), NotAfter: p.NotAfter}
		}
		g.record(tx, at, open.Order.Account(), g.judgedAgain(open, ruling, clears, p))
		return nil
	})
	if err != nil {
		return ledger.Decision{}, fmt.Errorf("the approved proposal was not executed: %w", err)
	}
	d, err := ledger.Decision{}, errInMemory // where whoever asks sees each event, and looks nothing up
	if g.memory == nil || j.next != send {
		d, _, err = g.History(ctx, id)
	}
	if j.next != send {
		return d, err
	}
	if err != nil { // what was cleared is sent: the record says so
		d = ledger.Decision{
			Intent: id, Verdict: policy.Allow, Order: j.cleared.Order, Account: j.cleared.Order.Account(), State: ledger.Allowed,
			Clears: ledger.ClearsSend,
		}
	}
	j.decision = d
	return g.send(ctx, j), nil
}

// grantedCall answers a call at a hook whose proposal people have approved: it is permitted once, after a judgement with
// fresh facts.
func (j *judgement) grantedCall(tx *journal.Tx, at time.Time, behind time.Duration, open *ledger.Open) error {
	r := j.g.afterApproval(tx, at, open, j.basis, behind)
	clears, pending := ledger.ClearsNothing, ledger.Pending{}
	if r.Effect == policy.Allow {
		clears, pending = j.clearance(at)
	}
	e := j.g.judgedAgain(open, r, clears, pending)
	e.Origin = cleanOrigin(j.call.Origin)
	j.decision = proposed(open)
	j.g.record(tx, at, open.Order.Account(), e)
	j.decision.Apply(e)
	j.decision.ToolCallID = e.Origin.ToolCallID
	j.explain(&j.decision, r)
	j.next = answer
	return nil
}

// proposed returns the decision object of an open proposal.
func proposed(open *ledger.Open) ledger.Decision {
	d := ledger.Decided{
		Intent: open.Intent, Origin: open.Origin, Account: open.Order.Account(), Order: open.Order, ClientOrderID: open.ClientOrderID,
		Clears: ledger.ClearsApproval, Hold: open.Hold,
		Ruling: ledger.Ruling{Effect: policy.Hold, Reasons: open.Reasons, PolicySHA256: open.PolicySHA256},
	}.Decision(open.At)
	d.ApprovedBy = open.Approvals
	if open.Phase == ledger.Granted {
		d.State, d.Pending.NotAfter = ledger.ApprovalGranted, open.Lapses
	}
	return d
}

// Withdraw ends an agent's own proposal. The error is a *Refusal where it did not.
//
//limit:gate-withdraw-own An agent withdraws its own proposals only, at tier 1 or above.
func (g *Gate) Withdraw(ctx context.Context, o Origin, tier trade.Tier, id trade.IntentID, reason string) (ledger.Decision, error) {
	if tier < trade.TierPropose {
		return ledger.Decision{}, g.tierRefusal(ctx, o.Agent, tier, trade.TierPropose, "proposal_withdraw")
	}
	by := attempt{intent: id, action: "withdraw", by: agentBy + string(o.Agent), channel: o.Surface}
	if _, err := g.Proposal(ctx, o.Agent, id); err != nil { // what another agent has is not this one's to know
		if r := (*Refusal)(nil); errors.As(err, &r) {
			err = g.refuseNow(ctx, by, r)
		}
		return ledger.Decision{}, err
	}
	var refused *Refusal
	err := g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		open, r := g.proposal(id)
		switch {
		case r != nil:
			refused = g.whyNotOpen(tx, id)
		case !at.Before(open.Ends()):
			refused = expired(open.Ends())
		}
		g.expire(tx, at)
		if refused != nil {
			g.refuse(tx, at, by, refused)
			return nil
		}
		g.record(tx, at, open.Order.Account(), ledger.ProposalEnded{
			Intent: id, State: ledger.ApprovalWithdrawn, By: by.by, Channel: o.Surface, Reason: cut(reason),
		})
		return nil
	})
	if err != nil {
		return ledger.Decision{}, err
	}
	d, _, err := g.History(ctx, id)
	if refused != nil {
		return d, refused
	}
	return d, err
}

// Proposal returns an agent's own proposal as it stands.
func (g *Gate) Proposal(ctx context.Context, agent trade.Agent, id trade.IntentID) (ledger.Decision, error) {
	d, _, err := g.History(ctx, id)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (d.Agent != agent || !d.Held()) {
		return ledger.Decision{}, refusal(policy.ProposalUnknown, "this agent has no proposal %s", trade.Printable(string(id), 64))
	}
	return d, err
}

// Await starts nothing: it waits for the outcome of an agent's own proposal, and at most that long for people.
//
//limit:gate-await-tier Waiting for the execution of a proposal needs tier 2, and starts nothing.
func (g *Gate) Await(ctx context.Context, o Origin, tier trade.Tier, id trade.IntentID, wait time.Duration) (ledger.Decision, error) {
	if tier < trade.TierExecute {
		return ledger.Decision{}, g.tierRefusal(ctx, o.Agent, tier, trade.TierExecute, "trade_execute")
	}
	end := time.Now().Add(wait)
	for {
		news := g.Watch()
		d, err := g.Proposal(ctx, o.Agent, id)
		undecided := d.State == ledger.ApprovalPending || d.State == ledger.ApprovalGranted || d.Waiting()
		left := time.Until(end)
		if err != nil || !undecided || left <= 0 || ctx.Err() != nil {
			return d, err
		}
		select {
		case <-ctx.Done():
		case <-news:
		case <-time.After(min(left, 250*time.Millisecond)): // another process may have decided
		}
	}
}

// Proposals returns the open proposals, oldest first.
func (g *Gate) Proposals(ctx context.Context) ([]ledger.Decision, error) {
	var all []ledger.Decision
	err := g.journal.Read(ctx, func() error {
		for _, o := range g.follow.state.Proposals() {
			all = append(all, proposed(o).Present(g.cfg.Now(), g.lease.alive))
		}
		return nil
	})
	return slices.DeleteFunc(all, func(d ledger.Decision) bool { return d.State == ledger.ApprovalExpired }), err
}

// Settle ends what is over by time, and carries out what was approved and not executed, because its process ended. The
// daemon calls it at its start and now and then.
func (g *Gate) Settle(ctx context.Context) error {
	var granted []trade.IntentID
	due := false
	err := g.journal.Read(ctx, func() error {
		now := g.now()
		due = len(g.follow.state.Due(now)) > 0
		for _, o := range g.follow.state.Proposals() {
			if o.Phase == ledger.Granted && !o.Hold.Permits && now.Before(o.Ends()) {
				granted = append(granted, o.Intent)
			}
		}
		return nil
	})
	if err == nil && due {
		err = g.update(ctx, func(tx *journal.Tx) error {
			at, _ := g.moment(tx)
			g.expire(tx, at)
			return nil
		})
	}
	for _, id := range granted {
		_, execErr := g.carryOut(ctx, id)
		err = errors.Join(err, execErr)
	}
	return errors.Join(err, g.BeginDay(ctx))
}
