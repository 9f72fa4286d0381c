package gate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// Press is a person's answer to one proposal, for exactly these terms.
type Press struct {
	By       Person
	Proposal trade.IntentID
	Digest   trade.Digest
	Reason   string // of a no
}

// pressing is one press on its way. It is filled in under the journal's lock.
type pressing struct {
	basis
	g       *Gate
	p       Press
	action  string
	refused *Refusal
	granted bool // the last approval that was needed; somebody must execute it
}

// Approve counts one person's approval, after everything was judged again. The last one that is needed executes the order
// at once. The error is a *Refusal where the press did not count; the decision is then the proposal as it stands.
func (g *Gate) Approve(ctx context.Context, p Press) (ledger.Decision, error) {
	pr := &pressing{g: g, p: p, action: "approve", basis: g.basis(ctx)}
	return g.press(ctx, pr, pr.approve)
}

// Decline ends a proposal by a person's no.
func (g *Gate) Decline(ctx context.Context, p Press) (ledger.Decision, error) {
	pr := &pressing{g: g, p: p, action: "decline"}
	return g.press(ctx, pr, pr.decline)
}

func (g *Gate) press(ctx context.Context, pr *pressing, act func(tx *journal.Tx, at time.Time, open *ledger.Open)) (ledger.Decision, error) {
	err := g.update(ctx, func(tx *journal.Tx) error {
		at, behind := g.moment(tx)
		open, r := pr.check(tx, at)
		g.expire(tx, at)
		g.stopBehind(tx, at, behind)
		if pr.refused = r; r == nil {
			act(tx, at, open)
		}
		if pr.refused != nil {
			g.refuse(tx, at, attempt{intent: pr.p.Proposal, action: pr.action, by: pr.p.By.who(), channel: pr.p.By.channel}, pr.refused)
		}
		return nil
	})
	if err != nil {
		return ledger.Decision{}, fmt.Errorf("nothing was decided: %w", err)
	}
	if pr.granted {
		g.cfg.step("approved")
		return g.carryOut(ctx, pr.p.Proposal)
	}
	d, _, err := g.History(ctx, pr.p.Proposal)
	if pr.refused != nil {
		return d, pr.refused
	}
	return d, err
}

// check finds the proposal and makes sure that this person may answer it now, for these terms.
//
//limit:gate-approver-listed An approval or a no counts only from a person who is a listed approver at that moment.
//limit:gate-digest-bound An approval or a no counts only for exactly the digest of the proposal that it names.
func (pr *pressing) check(tx *journal.Tx, at time.Time) (*ledger.Open, *Refusal) {
	person, r := pr.g.personNow(pr.p.By)
	if r != nil {
		return nil, r
	}
	if !person.Approver {
		return nil, refusal(policy.NotAnApprover, "%s is not an approver", person.Name)
	}
	if !pr.g.cfg.Daemon {
		return nil, refusal(policy.DaemonRequired, "only the daemon executes proposals; start it with sallyport serve")
	}
	open, r := pr.g.proposal(pr.p.Proposal)
	switch {
	case r != nil:
		return nil, pr.g.whyNotOpen(tx, pr.p.Proposal)
	case !at.Before(open.Ends()):
		return nil, expired(open.Ends())
	case open.Order.Digest() != pr.p.Digest:
		return nil, refusal(policy.DigestMismatch, "the digest is not that of this proposal")
	}
	return open, nil
}

func expired(at time.Time) *Refusal {
	return refusal(policy.ProposalExpired, "the proposal's time was over at %s", at.Format(ledger.TimeFormat))
}

// whyNotOpen says what became of a proposal that is not open, or that there never was one.
func (g *Gate) whyNotOpen(tx *journal.Tx, id trade.IntentID) *Refusal {
	shown := trade.Printable(string(id), 64)
	recs, err := tx.Find(journal.Key(ledger.IntentKey(id)))
	if err != nil {
		return refusal(policy.ProposalEnded, "proposal %s is not open, and what became of it cannot be looked up", shown)
	}
	found := refusal(policy.ProposalUnknown, "there is no proposal %s", shown)
	for _, r := range recs {
		e, err := ledger.Decode(r.Body)
		if err != nil || e.About() != id {
			continue
		}
		switch e := e.(type) {
		case ledger.ProposalEnded:
			if e.State == ledger.ApprovalExpired {
				return expired(r.At)
			}
			found = refusal(policy.ProposalEnded, "proposal %s was ended by %s: %s", shown, e.By, e.State)
		case ledger.Rejudged:
			word := "was executed"
			if e.Ruling.Effect != policy.Allow {
				word = "was refused when it was judged again"
			}
			found = refusal(policy.ProposalEnded, "proposal %s %s", shown, word)
		case ledger.Concluded, ledger.Happened:
			if found.Code == policy.ProposalUnknown {
				found = refusal(policy.ProposalEnded, "intent %s is not a proposal that is open", shown)
			}
		}
	}
	return found
}

// proposal finds an open proposal.
func (g *Gate) proposal(id trade.IntentID) (*ledger.Open, *Refusal) {
	if o := g.follow.state.Proposal(id); o != nil {
		return o, nil
	}
	return nil, refusal(policy.ProposalEnded, "there is no open proposal %s", trade.Printable(string(id), 64))
}

// approve counts the approval if the order may still be executed.
//
//limit:gate-approve-once A person approves a proposal once; a second press changes nothing, and where two are needed the other must be somebody else.
//limit:gate-approve-killed No approval counts while a kill switch covers the order.
func (pr *pressing) approve(tx *journal.Tx, at time.Time, open *ledger.Open) {
	g := pr.g
	switch {
	case open.Phase == ledger.Granted, slices.Contains(open.Approvals, pr.p.By.name):
		pr.refused = refusal(policy.AlreadyApproved, "it is approved already")
		return
	case len(g.follow.state.Stopping(open.Order.Account(), open.Origin.Agent, open.Order.Symbol())) > 0:
		pr.refused = refusal(policy.KillSwitchActive, "the kill switch is engaged; nothing is approved until a person resets it")
		return
	}
	g.prepare(tx, at, pr.basis)
	r, needs := g.secondJudgement(tx, at, open, pr.basis, 0)
	if r.Effect != policy.Allow {
		g.record(tx, at, open.Order.Account(), g.judgedAgain(open, r, ledger.ClearsNothing, ledger.Pending{}))
		why := policy.Decisive(r.Reasons)
		pr.refused = refusal(why.Code, "the order may not be executed any more, so the proposal has ended: %s", why.Message)
		return
	}
	e := ledger.Approved{Intent: open.Intent, Digest: pr.p.Digest, Person: pr.p.By.name, Channel: pr.p.By.channel}
	if needs > open.Hold.Approvers {
		e.Needs = needs
	}
	if len(open.Approvals)+1 >= max(needs, open.Hold.Approvers) {
		e.Lapses = open.Hold.Expires
		if lapses := at.Add(open.Hold.Within); !open.Hold.Permits && lapses.Before(e.Lapses) {
			e.Lapses = lapses
		}
		pr.granted = !open.Hold.Permits
	}
	g.record(tx, at, open.Order.Account(), e)
}

func (pr *pressing) decline(tx *journal.Tx, at time.Time, open *ledger.Open) {
	pr.g.record(tx, at, open.Order.Account(), ledger.ProposalEnded{
		Intent: open.Intent, State: ledger.ApprovalDeclined, By: pr.p.By.who(), Channel: pr.p.By.channel, Reason: cut(pr.p.Reason),
	})
}
