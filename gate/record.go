package gate

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// record appends an event and folds it into the state, both or neither: whoever calls it has nothing left to fail.
func (g *Gate) record(tx *journal.Tx, at time.Time, a trade.Account, e ledger.Event) {
	g.recordIn(tx, "account:"+string(a), at, e)
}

func (g *Gate) recordIn(tx *journal.Tx, stream string, at time.Time, e ledger.Event) {
	var space [4]journal.Key // more than any event has
	keys := space[:0]
	for _, k := range ledger.Keys(e) {
		keys = append(keys, journal.Key(k))
	}
	tx.Append(stream, at, ledger.Encode(e), keys...)
	g.follow.state.Apply(at, e)
	if g.memory != nil {
		g.memory.seen(at, e)
	}
}

// newIntent makes an id that no other intent of the journal has, though chance and clock give what they gave before: the
// number of the last record, which never comes twice, is added to the chance.
func (g *Gate) newIntent(tx *journal.Tx, at time.Time) trade.IntentID {
	var entropy [10]byte
	g.cfg.Entropy(&entropy)
	low := entropy[2:]
	binary.BigEndian.PutUint64(low, binary.BigEndian.Uint64(low)+uint64(tx.Head().Seq))
	return trade.NewIntentID(at, entropy)
}

// fresh records the first decision on a call.
func (j *judgement) fresh(tx *journal.Tx, at time.Time, behind time.Duration, p prior, own []policy.Reason) error {
	e := ledger.Decided{
		Intent: j.g.newIntent(tx, at), Origin: cleanOrigin(j.call.Origin), Account: j.call.Account, Order: j.call.Order,
		ClientOrderID: j.call.Tags.ClientOrderID, AgentReason: j.call.Tags.Reason, Ruling: j.ruling(own, behind, ""),
		Asked: j.call.Asked,
	}
	if e.Order.IsZero() {
		e.Input = inputOf(j.call.Raw)
	}
	switch e.Ruling.Effect {
	case policy.Allow:
		e.Clears, e.Pending = j.clearance(at)
	case policy.Hold:
		open, hold := j.heldHere(at, &e.Ruling)
		if open != nil {
			j.repeat(proposed(open))
			return nil
		}
		if e.Ruling.Effect == policy.Hold {
			e.Clears, e.Hold = ledger.ClearsApproval, hold
		}
	case policy.Deny:
	}
	j.g.record(tx, at, j.call.Account, e)
	if p.bound.Intent != "" && p.bound.ToolCallID == j.call.Origin.ToolCallID && j.call.Origin.ToolCallID != "" && p.conflict {
		j.g.record(tx, at, p.bound.Account, ledger.Flagged{
			Intent: p.bound.Intent, Flag: ledger.ArgumentsChanged, Detail: "refused as intent " + string(e.Intent),
		})
	}
	j.decision = e.Decision(at)
	j.explain(&j.decision, e.Ruling)
	j.goOn(e.Intent, e.Ruling, e.Pending)
	return nil
}

// rejudge records the second judgement of a permitted intent that has arrived at us.
func (j *judgement) rejudge(tx *journal.Tx, at time.Time, behind time.Duration, open *ledger.Open) error {
	e := j.again(open, j.rulingAgain(behind, open))
	if e.Ruling.Effect == policy.Allow {
		e.Clears, e.Pending = j.clearance(at)
		if len(open.Approvals) > 0 {
			e.Pending.NotAfter = before(e.Pending.NotAfter, open.Hold.Expires)
		}
	}
	j.decision = permitted(open)
	j.g.record(tx, at, j.call.Account, e)
	j.decision.Apply(e)
	j.explain(&j.decision, e.Ruling)
	j.goOn(e.Intent, e.Ruling, e.Pending)
	return nil
}

// rulingAgain judges a permitted intent again. What now waits for a person, and no person has approved, is denied: its
// permission cannot wait.
func (j *judgement) rulingAgain(behind time.Duration, open *ledger.Open) ledger.Ruling {
	var own []policy.Reason
	approved := len(open.Approvals) > 0 // by people, under a policy and for a time
	if approved {
		own = slices.Concat(policyChanged(j.policy, open), j.drifted(open), lapsed(j.at, open))
	}
	if j.executing && j.g.cfg.RequireHook && unused(j.at, open) {
		own = append(own, policy.Reason{
			Code: policy.HookRequired, Message: fmt.Sprintf("the hook permitted this call at %s at the latest, which is too long ago; it must ask again", open.Pending.Deadline.Format(ledger.TimeFormat)),
		})
	}
	r := j.ruling(own, behind, open.Intent)
	if lift(&r, open); approved {
		enough(&r, open, j.approvers(&r))
	}
	return r
}

// unusedFor is how long after its deadline a permission is still used by a call that does not name it. People may take their
// time at a harness's own prompt.
//
//limit:gate-permission-age A permission 15 minutes after its deadline is passed over by a call that names no id, and is none where a hook must have permitted the call.
const unusedFor = 15 * time.Minute

// unused reports whether a permission is so old that nobody will use it. What it reserves stays.
func unused(at time.Time, open *ledger.Open) bool {
	return !at.Before(open.Pending.Deadline.Add(unusedFor))
}

// again is the second judgement of an open intent.
func (j *judgement) again(open *ledger.Open, r ledger.Ruling) ledger.Rejudged {
	return ledger.Rejudged{
		Intent: open.Intent, Account: j.call.Account, Origin: cleanOrigin(j.call.Origin), Ruling: r,
		Order: open.Order, ClientOrderID: open.ClientOrderID, FirstAt: open.At,
	}
}

// regrant answers a call that comes again before its permission is spent: with the same permission if the call would
// still be allowed, else with the denial, which ends it. asked marks the harness's permission request, granted once.
func (j *judgement) regrant(tx *journal.Tx, at time.Time, behind time.Duration, open *ledger.Open, asked bool) error {
	ruling := j.rulingAgain(behind, open)
	j.decision, j.next = permitted(open), answer
	j.decision.Repeated = true
	anew := !at.Before(open.Pending.Deadline) // nobody knows any more whether it is used: it is given anew, and counts from now
	if ruling.Effect != policy.Allow || anew {
		e := j.again(open, ruling)
		if ruling.Effect == policy.Allow {
			e.Clears, e.Pending = j.clearance(at)
		}
		j.g.record(tx, at, j.call.Account, e)
		j.decision.Apply(e)
		j.explain(&j.decision, ruling)
	}
	if ruling.Effect == policy.Allow && asked {
		j.g.record(tx, at, j.call.Account, ledger.Asked{Intent: open.Intent})
	}
	return nil
}

// permitted returns the decision object of an unspent permission.
func permitted(open *ledger.Open) ledger.Decision {
	return ledger.Decided{
		Intent: open.Intent, Origin: open.Origin, Account: open.Order.Account(), Order: open.Order,
		ClientOrderID: open.ClientOrderID, Clears: ledger.ClearsPermission, Pending: open.Pending,
		Ruling: ledger.Ruling{Effect: policy.Allow, PolicySHA256: open.PolicySHA256},
	}.Decision(open.At)
}

// notAfter is until when what is decided now may leave: so long after the stop file was looked for that whoever writes one
// knows how long to wait, whatever time the record has.
func (g *Gate) notAfter() time.Time { return g.looked.Add(g.cfg.SendWithin) }

func (j *judgement) clearance(at time.Time) (ledger.Clearance, ledger.Pending) {
	p := ledger.Pending{Deadline: at.Add(j.g.cfg.Deadline)}
	if !j.executing {
		return ledger.ClearsPermission, p
	}
	p.NotAfter, p.Instance = j.g.notAfter(), j.g.lease.name
	return ledger.ClearsSend, p
}

func (j *judgement) goOn(id trade.IntentID, r ledger.Ruling, p ledger.Pending) {
	j.next = answer
	if j.executing && r.Effect == policy.Allow {
		j.next = send
		j.cleared = Cleared{Order: j.call.Order, ID: id.BrokerOrderID(), NotAfter: p.NotAfter}
	}
}
