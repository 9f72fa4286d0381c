package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// reporting is one report on its way into the record. It is filled in under the journal's lock.
type reporting struct {
	g                 *Gate
	r                 Report
	wantsLook, looked bool
	by                *basis // what an order that ran without being allowed is valued by
	wantsBasis        bool
	seen              ledger.Decided // a late decision on what may be the same call, where its ids do not say
	seenAt            time.Time

	decision ledger.Decision
	found    bool
	refused  *Refusal
}

// Report records the outcome of a call that somebody else made. It settles a permission that is still unspent, never
// what an executing surface recorded, and flags a call whose arguments are not those that were judged, or that ran
// although it was denied or had never been judged. It returns the intent's decision as it then stands, with found false
// where nothing on record matches and nothing ran.
func (g *Gate) Report(ctx context.Context, r Report) (d ledger.Decision, found bool, err error) {
	r.Origin = cleanOrigin(r.Origin)
	p := &reporting{g: g, r: r}
	err = g.update(ctx, p.decide)
	for err == nil && (p.wantsLook || p.wantsBasis) { // each once, and not under the journal's lock
		if p.wantsBasis {
			by := g.basis(ctx)
			p.by = &by
		} else if err = p.look(ctx); err != nil {
			break
		}
		err = g.update(ctx, p.decide)
	}
	if err != nil {
		return ledger.Decision{}, false, fmt.Errorf("the report could not be recorded: %w", err)
	}
	if p.refused != nil {
		return ledger.Decision{}, false, p.refused
	}
	return p.decision.Present(g.cfg.Now(), g.lease.alive), p.found, nil
}

// concludes reports whether the report may say what became of an intent: it comes from a caller who may have orders
// executed, and the call was never ours to make. What we execute, deny or hold ourselves nobody else can have run; that
// somebody says so is held against the call and changes nothing.
//
//limit:gate-report-tier A report by a caller below tier 2 settles nothing; what it says is held against the call, or is refused.
//limit:gate-report-ours A report never settles an order that an executing surface has denied or holds.
func (p *reporting) concludes(d ledger.Decision) bool {
	theirs := d.Clears == ledger.ClearsPermission || d.Hold.Permits || d.Clears == ledger.ClearsNothing && permitting(d.Surface)
	return p.r.Tier >= trade.TierExecute && theirs
}

// permitting reports whether a surface only says yes or no to calls that somebody else makes.
func permitting(surface string) bool { return surface == "hook" || surface == "plugin" }

func (p *reporting) decide(tx *journal.Tx) error {
	at, _ := p.g.moment(tx)
	p.wantsLook, p.wantsBasis = false, false
	if p.r.Origin.ToolCallID != "" {
		d, err := p.g.called(tx.Find, ledger.CallKey(p.r.Account, p.r.Origin))
		if err != nil {
			return err
		}
		if d.Intent != "" {
			p.settle(tx, at, d)
			return nil
		}
	}
	st := p.g.follow.state
	open := st.Unspent(p.r.Origin, p.r.Order, func(*ledger.Open) bool { return true })
	if p.wantsLook = open == nil && !p.looked; p.wantsLook {
		return nil
	}
	if open == nil && p.seen.Intent != "" {
		now, err := p.g.stand(tx.Find, p.seen.Decision(p.seenAt))
		if err == nil {
			p.settle(tx, at, now)
		}
		return err
	}
	if open == nil && p.r.Origin.ToolCallID == "" {
		open = st.UnspentOther(p.r.Origin)
	}
	if open != nil {
		p.settle(tx, at, permitted(open))
		return nil
	}
	if p.r.Outcome == trade.Accepted {
		p.unjudged(tx, at)
	}
	return nil
}

// settle records the report on the intent that the call was judged as.
func (p *reporting) settle(tx *journal.Tx, at time.Time, d ledger.Decision) {
	p.decision, p.found = d, true
	changed := p.r.Order.IsZero() || p.r.Order.Digest() != d.Order.Digest()
	ran := p.r.Outcome == trade.Accepted
	open := p.g.follow.state.Open(d.Intent)
	denied := d.Clears == ledger.ClearsNothing || d.Clears == ledger.ClearsApproval || d.State == ledger.Blocked
	extra := ran && p.concludes(d) && !d.Ran && (denied && open == nil || changed)
	if p.wantsBasis = extra && p.by == nil; p.wantsBasis {
		return
	}
	if denied {
		if ran && !slices.Contains(d.Flags, ledger.ExecutedAfterDenial) && !slices.Contains(d.Flags, ledger.ExecutedUnjudged) { // the harness let through what was denied
			p.flag(tx, at, ledger.ExecutedAfterDenial, p.r.Status)
			if p.concludes(d) {
				p.apply(tx, at, p.outcome(trade.Accepted, p.r.Message))
			}
		}
		if extra {
			p.ran(tx, at, d.Order)
		}
		return
	}
	if !p.concludes(d) {
		return
	}
	if changed && !slices.Contains(d.Flags, ledger.ArgumentsChanged) {
		p.flag(tx, at, ledger.ArgumentsChanged, "executed: "+p.executed())
	}
	if extra {
		p.ran(tx, at, trade.Order{})
	}
	if open == nil || open.Phase == ledger.Working || !open.Pending.NotAfter.IsZero() {
		return // an executing surface has it, or it is settled
	}
	out := p.outcome(p.r.Outcome, p.r.Message)
	if changed {
		out = p.outcome(trade.Unknown, "the tool was called with other arguments than were judged and answered "+p.r.Outcome.String())
	}
	if out.Outcome == trade.Unknown && open.Unknown {
		return
	}
	p.apply(tx, at, out)
}

// ran counts what was executed and nothing allows: what the report says, or the order that was judged where it says none.
//
//limit:gate-ran An order that a harness ran although it was denied, was never judged or had other arguments is reserved and counts as sent, once.
func (p *reporting) ran(tx *journal.Tx, at time.Time, judged trade.Order) {
	o := p.r.Order
	if o.IsZero() {
		o = judged
	}
	if o.IsZero() {
		return // nobody can say what it was
	}
	e := ledger.Ran{Intent: p.decision.Intent, Agent: p.r.Origin.Agent, Order: o}
	if book := p.by.policy.Book; book != nil {
		j := judgement{g: p.g, call: Call{Origin: p.r.Origin, Account: o.Account(), Order: o}, basis: *p.by, at: at}
		s := j.situation("")
		e.Rules, e.Value = book.AppendJudging(nil, o, p.g.follow.state.Facts(o.Account(), o.Symbol(), ""), s), book.Worth(o, s).Value
		if o.ByAmount() {
			e.Shares = book.Shares(o, s)
		}
	}
	p.apply(tx, at, e)
}

func (p *reporting) executed() string {
	if p.r.Order.IsZero() {
		return "no order"
	}
	return string(p.r.Order.AppendJSON(nil))
}

func (p *reporting) flag(tx *journal.Tx, at time.Time, flag, detail string) {
	p.apply(tx, at, ledger.Flagged{Intent: p.decision.Intent, Flag: flag, Detail: trade.Printable(detail, 400)})
}

func (p *reporting) outcome(o trade.Outcome, message string) ledger.Concluded {
	return ledger.Concluded{
		Intent: p.decision.Intent, Outcome: o, Source: ledger.FromReport, Status: trade.Printable(p.r.Status, 64),
		Message: trade.Printable(message, 400),
	}
}

func (p *reporting) apply(tx *journal.Tx, at time.Time, e ledger.Event) {
	p.g.record(tx, at, p.r.Account, e)
	p.decision.Apply(e)
}

// unjudged records a call that ran although no hook had asked about it: the hook was not armed, or was passed by.
func (p *reporting) unjudged(tx *journal.Tx, at time.Time) {
	if p.r.Tier < trade.TierExecute {
		p.refused = tierTooLow(p.r.Tier, trade.TierExecute, "a report of a call that was never judged")
		p.g.refuse(tx, at, attempt{action: "report", by: agentBy + string(p.r.Origin.Agent), channel: p.r.Origin.Surface}, p.refused)
		return
	}
	if p.wantsBasis = p.by == nil; p.wantsBasis {
		return
	}
	e := ledger.Decided{
		Intent: p.g.newIntent(tx, at), Origin: cleanOrigin(p.r.Origin), Account: p.r.Account, Order: p.r.Order,
		Ruling: ledger.Ruling{Reasons: append(faultReasons(p.r.Faults), policy.Reason{
			Code: policy.CallNotJudged, Message: "the tool ran and no hook had asked before; check that the hook is armed",
		})},
	}
	if e.Order.IsZero() {
		e.Input = inputOf(p.r.Raw)
	}
	p.g.record(tx, at, p.r.Account, e)
	p.decision, p.found = e.Decision(at), true
	p.flag(tx, at, ledger.ExecutedUnjudged, p.r.Status)
	p.apply(tx, at, p.outcome(trade.Accepted, p.r.Message))
	p.ran(tx, at, p.r.Order)
}

// called returns the decision on a tool call: the one that bound its id, else the newest denial.
func (g *Gate) called(find func(journal.Key) ([]journal.Record, error), k ledger.Key) (last ledger.Decision, err error) {
	all, err := g.under(find, k)
	for _, d := range all {
		if last.Clears == ledger.ClearsNothing || d.Clears != ledger.ClearsNothing {
			last = d
		}
	}
	return last, err
}

// lookBack is how many records are searched for the decision on a call that carries no id.
//
//limit:gate-look-back A report without a tool-call id is matched against at most the newest 512 records.
const lookBack = 512

// look finds the newest decision on the same order, agent and tool that may be this call's: its permission is spent, by
// an executing surface or by an earlier report, and the surface that decided it knew less of the call than the report
// does, or more. What is counted as run already is another call.
func (p *reporting) look(ctx context.Context) error {
	p.looked = true
	n, ran := 0, map[trade.IntentID]bool{}
	for r, err := range p.g.journal.Backward(ctx) {
		if err != nil {
			return err
		}
		if n++; n > lookBack {
			return nil
		}
		e, err := ledger.Decode(r.Body)
		if err != nil {
			return fmt.Errorf("record %d: %w", r.Seq, err)
		}
		if e, is := e.(ledger.Ran); is {
			ran[e.Intent] = true
		}
		d, ok := e.(ledger.Decided)
		if ok && !ran[d.Intent] && !d.Order.IsZero() && d.Origin.Agent == p.r.Origin.Agent && d.Origin.Tool == p.r.Origin.Tool &&
			d.Order.Digest() == p.r.Order.Digest() && d.Origin.Joins(p.r.Origin) {
			p.seen, p.seenAt = d, r.At
			return nil
		}
	}
	return nil
}

// ErrNotUnknown says that an intent has no unknown outcome that a person could settle.
var ErrNotUnknown = errors.New("only an unknown outcome can be resolved")

// Resolve settles an unknown outcome by a person's word.
func (g *Gate) Resolve(ctx context.Context, r Resolution) (ledger.Decision, error) {
	if r.Outcome == trade.Unknown || r.By == "" || r.Reason == "" {
		return ledger.Decision{}, errors.New("a resolution needs an outcome, accepted or rejected, who says so, and why")
	}
	d, _, err := g.History(ctx, r.Intent)
	if err != nil {
		return d, err
	}
	err = g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		open := g.follow.state.Open(r.Intent)
		if open == nil || open.Phase == ledger.Working {
			return fmt.Errorf("intent %s is %s: %w", r.Intent, d.State, ErrNotUnknown)
		}
		if !open.Unknown && d.State != ledger.OutcomeUnknown {
			return fmt.Errorf("intent %s is still in flight, until %s: %w", r.Intent,
				open.Pending.Deadline.Format(ledger.TimeFormat), ErrNotUnknown)
		}
		out := ledger.Concluded{Intent: r.Intent, Outcome: r.Outcome, Source: ledger.FromPerson, Message: r.Reason, By: r.By}
		out.Works = r.Outcome == trade.Accepted && !open.Pending.NotAfter.IsZero() // we sent it
		g.record(tx, at, open.Order.Account(), out)
		d.Apply(out)
		return nil
	})
	return d, err
}
