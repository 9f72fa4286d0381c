package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// Stops returns the kill switches that are engaged, the widest first. A journal that does not say that everything may go
// on reads as engaged.
func (s *State) Stops() []Stop {
	var all []Stop
	switch {
	case !s.kill.known:
		all = append(all, Stop{By: "sallyport", Reason: "the journal does not say that the kill switch is off"})
	case !s.kill.off:
		all = append(all, s.kill.stop(Scope{}))
	}
	for _, scope := range s.scopes() {
		all = append(all, s.stops[scope].stop(scope))
	}
	return all
}

func (k kill) stop(scope Scope) Stop {
	return Stop{Scope: scope, By: k.by, Reason: k.reason, Since: k.at, Keep: k.keep, All: k.all}
}

func (s *State) scopes() []Scope {
	return slices.SortedFunc(maps.Keys(s.stops), func(a, b Scope) int { return cmp.Compare(a.String(), b.String()) })
}

// Stopping returns the engaged kill switches that stop an order of that account, agent and symbol.
func (s *State) Stopping(a trade.Account, agent trade.Agent, sym trade.Symbol) []Stop {
	if s.kill.known && s.kill.off && len(s.stops) == 0 {
		return nil
	}
	return slices.DeleteFunc(s.Stops(), func(k Stop) bool { return !k.Scope.Covers(a, agent, sym) })
}

// Engaged reports whether the switch of exactly that scope is engaged.
func (s *State) Engaged(scope Scope) bool {
	if scope.Kind == Everything {
		return !s.kill.known || !s.kill.off
	}
	_, on := s.stops[scope]
	return on
}

// engage stops a scope. To stop again what is stopped changes nothing, but that exits are then to go as well.
//
//limit:ledger-kill-latched A kill switch keeps its first cause until it is reset.
func (s *State) engage(at time.Time, e KillEngaged) {
	k := kill{known: true, by: e.By, reason: e.Reason, at: at, keep: e.Keep, all: e.All}
	if s.Engaged(e.Scope) && (e.Scope.Kind != Everything || s.kill.known) {
		if k = s.kill; e.Scope.Kind != Everything {
			k = s.stops[e.Scope]
		}
		k.all = k.all || e.All
	}
	if e.Scope.Kind == Everything {
		s.kill = k
	} else {
		s.stops[e.Scope] = k
	}
}

//limit:ledger-kill-reset A reset lets go on what its own scope has stopped, and nothing that another scope stops.
func (s *State) reset(at time.Time, e KillReset) {
	if e.Scope.Kind == Everything {
		s.kill = kill{known: true, off: true, by: e.By, reason: e.Reason, at: at}
	} else {
		delete(s.stops, e.Scope)
	}
	for name, acc := range s.accounts {
		if e.Scope == (Scope{}) || e.Scope == (Scope{OneAccount, string(name)}) {
			acc.refusals = 0
		}
		acc.pardon(at, name, e.Scope, s.memory)
	}
}

// Refusals returns how many orders of the account the broker has rejected in a row.
func (s *State) Refusals(a trade.Account) int {
	if acc := s.accounts[a]; acc != nil {
		return acc.refusals
	}
	return 0
}

// Owned reports whether a daemon has owned the data directory.
func (s *State) Owned() bool { return s.owned }

// People returns everybody who has a credential, sorted by name.
func (s *State) People() []Person {
	return slices.SortedFunc(maps.Values(s.people), func(a, b Person) int { return strings.Compare(a.Name, b.Name) })
}

// Grants returns the agents' tokens, sorted by agent.
func (s *State) Grants() []Grant {
	return slices.SortedFunc(maps.Values(s.grants), func(a, b Grant) int { return cmp.Compare(a.Agent, b.Agent) })
}

// PersonByHash finds whose credential has that hash. How long it takes tells nothing of a credential: nobody can choose
// the hash of a guess.
func (s *State) PersonByHash(hash string) (Person, bool) {
	for _, p := range s.people {
		if p.Hash == hash {
			return p, true
		}
	}
	return Person{}, false
}

// PersonByTelegram finds who has that user id there.
func (s *State) PersonByTelegram(user int64) (Person, bool) {
	for _, p := range s.people {
		if user != 0 && p.Telegram == user {
			return p, true
		}
	}
	return Person{}, false
}

// Proposals returns the proposals that wait for people or for their execution, oldest first.
func (s *State) Proposals() []*Open {
	all := slices.Collect(maps.Values(s.held))
	slices.SortFunc(all, func(a, b *Open) int { return cmp.Compare(a.Intent, b.Intent) })
	return all
}

// Ends reports when a proposal ends by time: its expiry, or the lapse of its approval.
func (o *Open) Ends() time.Time {
	if o.Phase == Granted && o.Lapses.Before(o.Hold.Expires) {
		return o.Lapses
	}
	return o.Hold.Expires
}

// proposalKey is who asks for which order.
type proposalKey struct {
	agent  trade.Agent
	digest trade.Digest
}

func (o *Open) key() proposalKey { return proposalKey{o.Origin.Agent, o.Order.Digest()} }

// enlist takes an intent among the proposals.
func (s *State) enlist(o *Open) {
	s.held[o.Intent] = o
	k := o.key()
	at, _ := slices.BinarySearch(s.alike[k], o.Intent)
	s.alike[k] = slices.Insert(s.alike[k], at, o.Intent)
	s.asking[o.Origin.Agent]++
	s.endsAt(o)
}

// endsAt notes when a proposal ends by time.
func (s *State) endsAt(o *Open) {
	if end := o.Ends(); len(s.held) == 1 || !s.due.IsZero() && end.Before(s.due) {
		s.due = end
	}
}

// delist takes an intent from the proposals, if it is one.
func (s *State) delist(o *Open) {
	if s.held[o.Intent] == nil {
		return
	}
	delete(s.held, o.Intent)
	k := o.key()
	if ids := slices.DeleteFunc(s.alike[k], func(id trade.IntentID) bool { return id == o.Intent }); len(ids) > 0 {
		s.alike[k] = ids
	} else {
		delete(s.alike, k)
	}
	if s.asking[o.Origin.Agent]--; s.asking[o.Origin.Agent] == 0 {
		delete(s.asking, o.Origin.Agent)
	}
}

// Due returns the proposals whose time is over, oldest first. As long as none can be, it looks at none.
//
//limit:ledger-proposal-expiry A proposal ends at its expiry and an approval at its lapse: at that very microsecond it counts no more.
func (s *State) Due(at time.Time) []*Open {
	if len(s.held) == 0 || !s.due.IsZero() && at.Before(s.due) {
		return nil
	}
	var due []*Open
	s.due = time.Time{}
	for _, o := range s.held {
		if !at.Before(o.Ends()) {
			due = append(due, o)
		} else if s.due.IsZero() || o.Ends().Before(s.due) {
			s.due = o.Ends()
		}
	}
	if len(due) > 0 {
		s.due = time.Time{} // they are still there until they are ended
	}
	slices.SortFunc(due, func(a, b *Open) int { return cmp.Compare(a.Intent, b.Intent) })
	return due
}

// Asking returns how many open proposals an agent has.
func (s *State) Asking(a trade.Agent) int { return s.asking[a] }

// Proposal returns the open proposal of that id; nil if there is none.
func (s *State) Proposal(id trade.IntentID) *Open { return s.held[id] }

// Alike returns the oldest open proposal of that agent for exactly that order; nil if there is none. One that permits
// somebody else's call must be of the same session, harness and tool, and is never alike one that we execute ourselves.
func (s *State) Alike(o Origin, order trade.Order, permits bool) *Open {
	if len(s.alike) == 0 {
		return nil // as a rule: the digest need not be made
	}
	for _, id := range s.alike[proposalKey{o.Agent, order.Digest()}] {
		p := s.held[id]
		same := p.Hold.Permits == permits
		if permits {
			same = same && p.Origin.Tool == o.Tool && p.Origin.Session == o.Session && p.Origin.Harness == o.Harness
		}
		if same {
			return p
		}
	}
	return nil
}

// hold begins a proposal.
//
//limit:ledger-hold-reserve A held order is reserved in full by the same event that holds it.
func (s *State) hold(at time.Time, e Decided) {
	o := &Open{
		Intent: e.Intent, Order: e.Order, Origin: e.Origin, ClientOrderID: e.ClientOrderID, PolicySHA256: e.Ruling.PolicySHA256,
		Phase: OnHold, At: at, Hold: e.Hold, Reasons: e.Ruling.Reasons, Rules: e.Ruling.Rules, Value: e.Ruling.Value,
	}
	o.size(e.Ruling)
	s.open[e.Intent] = o
	s.enlist(o)
	s.reserve(o)
}

//limit:ledger-approval A proposal is approved once by each person, and by as many different persons as it asks for; only then is it granted.
func (s *State) approved(e Approved) {
	o := s.held[e.Intent]
	if o == nil || o.Phase != OnHold || e.Digest != o.Order.Digest() || slices.Contains(o.Approvals, e.Person) {
		return
	}
	o.Approvals = append(slices.Clone(o.Approvals), e.Person)
	o.Hold.Approvers = max(o.Hold.Approvers, e.Needs)
	if len(o.Approvals) >= o.Hold.Approvers && !e.Lapses.IsZero() {
		o.Phase, o.Lapses = Granted, e.Lapses
		s.endsAt(o)
	}
}

// ended ends a proposal and releases what it reserved.
//
//limit:ledger-proposal-ended A decline, a withdrawal or an expiry ends an open proposal and nothing that has gone on.
func (s *State) ended(e ProposalEnded) {
	if o := s.held[e.Intent]; o != nil {
		s.delist(o)
		s.close(o)
	}
}

// revoke marks the permissions that people approved and whose approval is no longer good. What they reserve stays: the
// harness may have made the call.
//
//limit:ledger-revoked A permission that people approved keeps its reservation, and is marked as revoked, once somebody who approved it is removed or has another credential, or its agent is removed.
func (s *State) revoke(gone func(*Open) bool) {
	for _, o := range s.open {
		if o.Phase == Permitted && gone(o.load()) {
			o.Revoked = true
		}
	}
}

// resume carries out the judgement of a proposal: it goes on as what it now clears, or ends.
//
//limit:ledger-resume A proposal goes on only once it is approved by all who must, and once.
func (s *State) resume(at time.Time, o *Open, e Rejudged) {
	if e.Ruling.Effect == policy.Allow && o.Phase != Granted {
		return // nobody has approved it
	}
	s.delist(o)
	if e.Ruling.Effect != policy.Allow {
		s.denied(at, o.Order.Account(), o.Origin.Agent, o.Order.Symbol(), e.Ruling)
		s.close(o)
		return
	}
	s.resize(o, e.Ruling)
	o.Pending, o.Phase = e.Pending, Sending
	if e.Clears == ClearsPermission {
		o.Phase, o.Origin = Permitted, e.Origin // the call that may now be made has an id of its own
		s.await(o)
	}
	s.sent(at, o, e.Ruling.Rules, e.Ruling.Value)
}
