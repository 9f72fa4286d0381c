package ledger

import (
	"cmp"
	"slices"
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// Apply folds one event, recorded at that time. It is the only transition of a State. An event about an intent that is
// open no more changes nothing but positions: final outcomes stay final, and a venue's fill counts whenever it comes.
func (s *State) Apply(at time.Time, e Event) {
	switch e := e.(type) {
	case Decided:
		s.decided(at, e)
	case Rejudged:
		s.rejudged(at, e)
	case Concluded:
		s.concluded(at, e)
	case Happened:
		s.happened(at, e)
	case Asked:
		if o := s.Open(e.Intent); o != nil {
			o.Asked = true
		}
	case CancelAsked:
		s.cancelling(e.Intent, e.Wanted, e.Exits)
	case CancelEnded:
		if e.Outcome != trade.Unknown {
			s.cancelling(e.Intent, false, false)
		}
	case Ran:
		s.ran(at, e)
	case Flagged, AttemptRefused: // evidence only
	default:
		s.control(at, e)
	}
}

// cancelling notes that a cancel of an order was asked for and is not answered yet.
//
//limit:ledger-cancelling A cancel that was asked for stays wanted until the broker has answered it clearly.
func (s *State) cancelling(id trade.IntentID, wanted, exits bool) {
	if o := s.Open(id); o != nil {
		o.Cancelling, o.ExitsToo = wanted, wanted && (exits || o.ExitsToo)
	}
}

// control folds the events of people in control.
//
//limit:ledger-people A person's or agent's rights are those of the newest record about that name, and end with its removal.
func (s *State) control(at time.Time, e Event) {
	switch e := e.(type) {
	case KillReset:
		s.reset(at, e)
	case KillEngaged:
		s.engage(at, e)
	case Approved:
		s.approved(e)
	case ProposalEnded:
		s.ended(e)
	case PersonSet:
		s.people[e.Person.Name] = e.Person
		s.revoke(func(o *Open) bool { return slices.Contains(o.Approvals, e.Person.Name) })
	case PersonRemoved:
		delete(s.people, e.Name)
		s.revoke(func(o *Open) bool { return slices.Contains(o.Approvals, e.Name) })
	case GrantSet:
		s.grants[e.Grant.Agent] = e.Grant
	case GrantRemoved:
		delete(s.grants, e.Agent)
		s.revoke(func(o *Open) bool { return len(o.Approvals) > 0 && o.Origin.Agent == e.Agent })
	case DaemonOwned:
		s.owned = true
	case HistoryBegan:
		s.remember(at, e)
	case PositionStated:
		s.state(e)
	case PostedEnded:
		s.endPosted(e)
	case PositionDoubted:
		s.doubt(e)
	case PolicyLoaded:
		s.load(e)
	case AccountSeen:
		s.account(e.Account).seen = true
	case DayBegan:
		s.beginDay(at, e)
	case Marked:
		s.mark(e)
	}
}

//limit:ledger-reserve An allowed order is reserved in full by the same event that allows it.
func (s *State) decided(at time.Time, e Decided) {
	if e.Ruling.Effect == policy.Hold && e.Clears == ClearsApproval && !e.Order.IsZero() {
		s.hold(at, e)
		return
	}
	if e.Ruling.Effect == policy.Deny {
		s.denied(at, e.Account, e.Origin.Agent, e.Order.Symbol(), e.Ruling)
	}
	if e.Ruling.Effect != policy.Allow || e.Clears == ClearsNothing || e.Order.IsZero() {
		return
	}
	o := &Open{
		Intent: e.Intent, Order: e.Order, Origin: e.Origin, ClientOrderID: e.ClientOrderID, PolicySHA256: e.Ruling.PolicySHA256,
		Phase: Sending, Asked: e.Asked, At: at, Pending: e.Pending,
	}
	if e.Clears == ClearsPermission {
		o.Phase = Permitted
		s.await(o)
	}
	o.size(e.Ruling)
	s.open[e.Intent] = o
	s.reserve(o)
	s.sent(at, o, e.Ruling.Rules, e.Ruling.Value)
}

//limit:ledger-permission-once A permission is spent by its second judgement, unless that gives it again, by a report or by an unknown outcome, and never again.
func (s *State) rejudged(at time.Time, e Rejudged) {
	if o := s.held[e.Intent]; o != nil {
		s.resume(at, o, e)
		return
	}
	o := s.Open(e.Intent)
	if o == nil || o.Phase != Permitted {
		return
	}
	if e.Ruling.Effect != policy.Allow {
		s.spend(o)
		s.denied(at, o.Order.Account(), o.Origin.Agent, o.Order.Symbol(), e.Ruling)
		s.close(o)
		return
	}
	s.resize(o, e.Ruling)
	s.sent(at, o, e.Ruling.Rules, e.Ruling.Value)
	o.Pending, o.Unknown = e.Pending, false
	if e.Clears == ClearsPermission {
		return // it is given again
	}
	s.spend(o)
	o.Phase = Sending
}

//limit:ledger-final Accepted and Rejected are final; Unknown keeps the reservation until it is settled.
//limit:ledger-resolved An order that we sent and that a person says was accepted works at the venue, until the venue tells its end.
func (s *State) concluded(at time.Time, e Concluded) {
	o := s.Open(e.Intent)
	s.count(o, e)
	if o == nil || o.Phase == Working {
		return
	}
	if s.held[e.Intent] != nil {
		if e.Source != FromReport || e.Outcome != trade.Accepted {
			return // nothing was sent, so nothing can have come of it, unless a harness ran it all the same
		}
		s.delist(o)
		s.sent(at, o, o.Rules, o.Value)
	}
	s.spend(o)
	switch e.Outcome {
	case trade.Unknown:
		o.Phase, o.Unknown = Sending, true
	case trade.Rejected:
		s.rejected(at, o, e.Source)
		s.close(o)
	case trade.Accepted:
		o.Unknown = false
		if e.Source.Tracked() || e.Works {
			o.Phase = Working
			return
		}
		s.leave(o) // nobody tells us of its fills
		delete(s.open, o.Intent)
	}
}

// count counts the orders in a row that the broker itself has rejected.
//
//limit:ledger-refusals Only what the broker itself rejects counts as a rejection in a row, once an order; what it accepts, or tells of before it has answered, ends the row.
func (s *State) count(o *Open, e Concluded) {
	if o == nil || !e.Source.Tracked() {
		return
	}
	switch acc := s.account(o.Order.Account()); e.Outcome {
	case trade.Rejected:
		acc.refusals++
	case trade.Accepted:
		acc.refusals = 0
	case trade.Unknown:
	}
}

//limit:ledger-venue-once A venue's event counts once: numbers up to the cursor are passed over.
func (s *State) happened(at time.Time, e Happened) {
	acc := s.account(e.Account)
	if e.Number <= acc.cursor {
		return
	}
	acc.cursor, acc.last = e.Number, e.Intent
	o := s.Open(e.Intent)
	if e.What != WasFilled {
		if o != nil && s.held[o.Intent] == nil {
			s.over(o, e.Side)
		}
		return
	}
	if o != nil && s.held[o.Intent] != nil { // nobody has sent it, and the venue has it: what is true is what was filled
		s.delist(o)
		s.sent(at, o, o.Rules, o.Value)
	}
	h := s.holding(e.Account, e.Symbol)
	s.traded(at, acc, h, e)
	if e.Side == trade.Buy {
		h.position = h.position.Add(e.Quantity)
	} else {
		h.position = h.position.Sub(e.Quantity)
	}
	if o != nil {
		s.filled(o, e)
	}
	s.tidy(e.Account, e.Symbol)
}

// await takes an intent among the unspent permissions, by its age: one that people approved late is not the newest.
func (s *State) await(o *Open) {
	d := o.Order.Digest()
	at, _ := slices.BinarySearchFunc(s.waiting[d], o, func(id trade.IntentID, o *Open) int { return age(s.Open(id), o) })
	s.waiting[d] = slices.Insert(s.waiting[d], at, o.Intent)
}

// age orders intents by when they were first judged.
func age(a, b *Open) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Intent, b.Intent)) }

// spend takes the intent out of the unspent permissions.
func (s *State) spend(o *Open) {
	if o.Phase != Permitted {
		return
	}
	o.Counted, o.Rules, o.Value = time.Time{}, nil, trade.Decimal{}
	d := o.Order.Digest()
	ids := s.waiting[d]
	if i := slices.Index(ids, o.Intent); i >= 0 { // the oldest is spent first, as a rule
		ids = slices.Delete(ids, i, i+1)
	}
	if len(ids) == 0 {
		delete(s.waiting, d)
		return
	}
	s.waiting[d] = ids
}
