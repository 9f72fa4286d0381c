package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// maxReasonText bounds the reason of a stop, a reset or an answer to a proposal.
//
//limit:gate-reason-text A reason that a person or an agent gives for a stop, a reset or a decision has 1 to 500 characters; what is longer is cut.
const maxReasonText = 500

// maxStops is how many stops are engaged at once before nobody but a person engages one of its own scope.
//
//limit:gate-stops With 100 stops engaged, one more that is not a person's stops everything.
const maxStops = 100

// StopRequest engages the kill switch. Exactly one of Person, Agent and Local says who asks.
type StopRequest struct {
	Scope  ledger.Scope
	Reason string
	Person Person      // a person with a credential
	Agent  trade.Agent // an agent, of that tier
	Tier   trade.Tier
	Local  string // somebody at this machine whose name is not known, such as the command line
	Keep   bool   // leave working orders as they are
	All    bool   // cancel the exits of positions as well, which an agent cannot
}

// exits reports whether the exits that protect a position are to be cancelled too.
func (r StopRequest) exits() bool { return r.All && r.Agent == "" && !r.Keep }

// StopReport says what a stop has done. It never says that an account is flat: only the broker can.
type StopReport struct {
	Stop     ledger.Stop
	Repeated bool   // the switch was engaged already
	Recorded bool   // in the journal; otherwise the stop file alone holds it
	StopFile string // where it is, if it was needed
	Orders   []StopOrder
}

// StopOrder is an order that was on its way, working, or permitted when the stop came.
type StopOrder struct {
	Intent  trade.IntentID
	Order   trade.Order
	Agent   trade.Agent
	State   StopState
	Message string
}

// StopState says what became of an order at a stop.
type StopState string

// The states.
const (
	StopGone       StopState = "gone"        // no further fill can come
	StopStillThere StopState = "still_there" // the broker did not cancel it
	StopUnknown    StopState = "unknown"     // nobody can tell now
	StopPending    StopState = "pending"     // it is cancelled first when the daemon next starts
	StopKept       StopState = "kept"        // it was to be left as it is
)

func (r StopRequest) by() string {
	switch {
	case r.Person.name != "":
		return personBy + r.Person.name
	case r.Agent != "":
		return agentBy + string(r.Agent)
	}
	return localBy + trade.Printable(r.Local, 64)
}

// Kill engages the kill switch of a scope, waits until nothing that was cleared before can still leave, and cancels what
// works at the broker. Once it has returned, no order that opens risk in that scope reaches the broker. It works when the
// journal cannot be written: then by a stop file, and the report says so. The error says that not even that was possible.
//
//limit:gate-kill-tier An agent of tier 1 or above may engage the kill switch; one of tier 0 may not.
func (g *Gate) Kill(ctx context.Context, r StopRequest) (StopReport, error) {
	ctx = context.WithoutCancel(ctx) // a caller that hangs up does not call the stop off
	r.Reason = cut(r.Reason)
	rep := StopReport{Stop: ledger.Stop{Scope: r.Scope, By: r.by(), Reason: r.Reason, Since: g.now(), Keep: r.Keep, All: r.exits()}}
	if r.Agent != "" && r.Tier < trade.TierPropose {
		return rep, g.tierRefusal(ctx, r.Agent, r.Tier, trade.TierPropose, "kill_switch_engage")
	}
	if r.Reason == "" {
		rep.Stop.Reason = "no reason was given" // a stop is never refused for its words
	}
	var since time.Time // of the record, which is not before that of any order that was cleared before it
	var stop ledger.Stop
	err := g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		since = at
		if r.Person.name == "" && !g.follow.state.Engaged(r.Scope) && len(g.follow.state.Stops()) >= maxStops {
			r.Scope, rep.Stop.Scope = ledger.Scope{}, ledger.Scope{}
		}
		rep.Stop.Since, rep.Repeated = at, g.follow.state.Engaged(r.Scope)
		stop = ledger.Stop{Scope: r.Scope, By: r.by(), Since: since, Keep: r.Keep}
		if rep.Repeated && r.Person.name == "" { // it changes nothing, and may come without end
			rep.Stop = g.inForce(r.Scope)
			stop.Since = rep.Stop.Since
			return nil
		}
		g.recordIn(tx, streamKill, at, ledger.KillEngaged{Scope: r.Scope, By: rep.Stop.By, Reason: rep.Stop.Reason, Keep: r.Keep, All: r.exits()})
		if rep.Repeated {
			rep.Stop = g.inForce(r.Scope)
		}
		return nil
	})
	if rep.Recorded = err == nil; !rep.Recorded {
		var fileErr error
		if rep.StopFile, fileErr = WriteStopFile(g.cfg.Home, rep.Stop); fileErr != nil {
			why := rep.Stop.Reason
			g.tripped.CompareAndSwap(nil, &why) // this process at least stops
			rep.Orders = g.cancelAtBroker(ctx, r, g.spared(ctx, rep.Stop, r), unrecorded)
			return rep, fmt.Errorf("the kill switch could not be engaged for other processes: %w", errors.Join(err, fileErr))
		}
		g.pause(g.cfg.SendWithin) // what was decided before the file was there can leave until then
		g.landed()
		rep.Orders = g.cancelAtBroker(ctx, r, g.spared(ctx, rep.Stop, r), unrecorded)
		return rep, nil
	}
	if r.Scope.Kind == ledger.Everything {
		_, _ = WriteStopFile(g.cfg.Home, rep.Stop) // so that it stands even if the journal is lost; a reset takes it away
	}
	g.awaitSends(ctx, r.Scope, since)
	rep.Orders = g.stopOrders(ctx, stop, r.exits())
	rep.Orders = append(rep.Orders, g.cancelAtBroker(ctx, r, g.onRecord(ctx), "it was at the broker and not on record")...)
	return rep, nil
}

// inForce returns the stop of that scope as it stands.
func (g *Gate) inForce(scope ledger.Scope) ledger.Stop {
	for _, s := range g.follow.state.Stops() {
		if s.Scope == scope {
			return s
		}
	}
	return ledger.Stop{Scope: scope}
}

func cut(reason string) string { return trade.Printable(reason, maxReasonText) }

func (g *Gate) now() time.Time { return g.cfg.Now().UTC().Truncate(time.Microsecond) }

// pause lets time pass on the gate's clock.
func (g *Gate) pause(d time.Duration) {
	end := g.cfg.Now().Add(d)
	for step := time.Millisecond; g.cfg.Now().Before(end); step = min(2*step, 50*time.Millisecond) {
		time.Sleep(step)
	}
}

// awaitSends waits until every order of the scope that was cleared before the stop has an outcome or can have none any
// more: its permit is too old and the broker's time to answer is over.
//
//limit:gate-kill-waits A stop returns only when every order that was cleared before it has an outcome, or its permit and the broker's deadline are over.
func (g *Gate) awaitSends(ctx context.Context, scope ledger.Scope, since time.Time) {
	if g.memory != nil { // a cancel is wanted of what flies, and is asked when it lands
		return
	}
	for step := time.Millisecond; ; step = min(2*step, 50*time.Millisecond) {
		flying := false
		err := g.journal.Read(ctx, func() error {
			for _, o := range g.follow.state.Opens() {
				sending := o.Phase == ledger.Sending && !o.Unknown && !o.Pending.NotAfter.IsZero() && !o.At.After(since)
				if sending && covers(scope, o) && !g.cfg.Now().After(o.Pending.NotAfter.Add(g.cfg.BrokerWait)) && g.lease.alive(o.Pending.Instance) {
					flying = true
				}
			}
			return nil
		})
		if err != nil {
			g.pause(g.cfg.SendWithin) // what flies cannot be seen, and can leave until then
			return
		}
		if !flying {
			return
		}
		time.Sleep(step)
	}
}

func covers(scope ledger.Scope, o *ledger.Open) bool {
	return scope.Covers(o.Order.Account(), o.Origin.Agent, o.Order.Symbol())
}

// stopOrders cancels what works in the scope and says what became of everything that is open there.
//
// What came after the stop is a person's reduction and stays.
func (g *Gate) stopOrders(ctx context.Context, stop ledger.Stop, exits bool) []StopOrder {
	var open []StopOrder
	phases := map[trade.IntentID]ledger.Phase{}
	_ = g.journal.Read(ctx, func() error { // without it nothing is known, and nothing is said
		for _, o := range g.follow.state.Opens() {
			if covers(stop.Scope, o) && !later(o, stop) && o.Phase != ledger.OnHold && o.Phase != ledger.Granted {
				open = append(open, g.stopped(o, stop, exits))
				phases[o.Intent] = o.Phase
			}
		}
		return nil
	})
	heard := error(nil)
	if slices.ContainsFunc(open, func(o StopOrder) bool { return o.State != StopKept }) {
		heard = g.hear(ctx)
	}
	for i := range open {
		if open[i].State == StopKept {
			continue
		}
		if errors.Is(heard, ErrOtherVenue) && g.cfg.Broker != nil {
			open[i].Message = trade.Printable(heard.Error(), 200)
			_ = g.wantCancel(ctx, open[i].Intent, exits)
			continue
		}
		g.stopOrder(ctx, &open[i], phases[open[i].Intent], stop.Keep, exits)
	}
	g.lookAfter(ctx, open)
	return open
}

// protecting is why an order stays at a stop.
const protecting = "it is filled, and its exits protect what it bought"

// stopped is an open order as a stop finds it.
//
//limit:gate-exits-stay A stop leaves the exits of a position, and stop orders that only sell what is held, unless a person says that all is to go.
//limit:gate-reduction-stays A person's reduction is cancelled only by the stop of a person, or of who runs the command on the machine.
func (g *Gate) stopped(o *ledger.Open, stop ledger.Stop, exits bool) StopOrder {
	s := StopOrder{Intent: o.Intent, Order: o.Order, Agent: o.Origin.Agent, State: StopUnknown}
	switch {
	case !byPerson(stop) && g.keeps(o):
		s.State, s.Message = StopKept, "the stop of a person keeps it"
	case o.Origin.Surface == surfacePerson && !byPerson(stop) && !strings.HasPrefix(stop.By, localBy):
		s.State, s.Message = StopKept, "a person reduces a position by it"
	case exits:
	case protects(o):
		s.State, s.Message = StopKept, protecting
	case g.guards(o):
		s.State, s.Message = StopKept, "it is a stop that protects what is held"
	}
	return s
}

// guards reports whether an open order is a stop of its own that sells from a position, and no more than is held.
func (g *Gate) guards(o *ledger.Open) bool {
	if o.Phase != ledger.Working || o.Order.Side() != trade.Sell || o.Order.StopPrice().Sign() == 0 {
		return false
	}
	f := g.follow.state.Facts(o.Order.Account(), o.Order.Symbol(), "")
	return f.PositionKnown && f.PendingSells.Cmp(f.Position) <= 0
}

// later reports whether an order was made after the stop, which only a person can do.
func later(o *ledger.Open, stop ledger.Stop) bool {
	return o.At.After(stop.Since) || o.At.Equal(stop.Since) && o.Origin.Surface == surfacePerson
}

func (g *Gate) stopOrder(ctx context.Context, o *StopOrder, phase ledger.Phase, keep, exits bool) {
	switch {
	case phase == ledger.Permitted:
		o.Message = "a hook has permitted it, and the harness may have made the call"
	case o.Order.Account() != g.cfg.Account && g.cfg.Broker != nil:
		o.Message = "it is at a venue that this gate does not reach"
	case keep:
		o.State = StopKept
	case g.cfg.Broker == nil:
		o.State, o.Message = StopPending, "this process reaches no broker; it is cancelled when one that does next starts"
		if err := g.wantCancel(ctx, o.Intent, exits); err != nil {
			o.State, o.Message = StopUnknown, "that it is to be cancelled could not be recorded"
		}
	default:
		res, err := g.cancel(ctx, stopOrigin(), o.Intent, exits)
		if exits && err == nil && res.Outcome == trade.Accepted { // the entry is gone; what it had bought may have exits yet
			res, err = g.cancel(ctx, stopOrigin(), o.Intent, exits)
		}
		switch {
		case errors.Is(err, ErrNoOpenOrder) || err == nil && res.Outcome == trade.Accepted:
			o.State = StopGone
		case errors.Is(err, ErrProtects): // it was filled meanwhile
			o.State = StopKept
		case err == nil && res.Outcome == trade.Rejected:
			o.State, o.Message = StopStillThere, trade.Printable(res.Message, 200)
		case err != nil:
			o.Message = trade.Printable(err.Error(), 200)
			_ = g.wantCancel(ctx, o.Intent, exits) // whoever next has the broker asks it
		default:
			o.Message = trade.Printable(res.Message, 200)
		}
	}
}

// wantCancel records that an order is to be cancelled by whoever next has the broker, whatever becomes of the stop.
func (g *Gate) wantCancel(ctx context.Context, id trade.IntentID, exits bool) error {
	return g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		g.record(tx, at, g.cfg.Account, ledger.CancelAsked{Intent: id, Origin: stopOrigin(), NotAfter: at, Wanted: true, Exits: exits})
		return nil
	})
}

func stopOrigin() Origin { return Origin{Agent: bySallyport, Surface: "gate", Tool: "kill"} }

// cancelWanted cancels what was to be cancelled when an earlier process ended, or when none had the broker.
//
//limit:gate-cancel-wanted A cancel that was asked for and not answered is asked again by whoever next has the broker, also after the stop was reset.
func (g *Gate) cancelWanted(ctx context.Context) error {
	var wanted []*ledger.Open
	err := g.journal.Read(ctx, func() error {
		for _, o := range g.follow.state.Opens() {
			if o.Cancelling && o.Order.Account() == g.cfg.Account {
				wanted = append(wanted, &ledger.Open{Intent: o.Intent, ExitsToo: o.ExitsToo})
			}
		}
		return nil
	})
	for _, o := range wanted {
		if _, cancelErr := g.cancel(ctx, stopOrigin(), o.Intent, o.ExitsToo); cancelErr != nil && !errors.Is(cancelErr, ErrNoOpenOrder) && !errors.Is(cancelErr, ErrProtects) {
			err = errors.Join(err, cancelErr)
		}
	}
	return err
}

// cancelStopped cancels what still works under a stop, as a stop without a broker has promised.
func (g *Gate) cancelStopped(ctx context.Context) error {
	stops, err := g.Stops(ctx)
	for _, s := range stops {
		if !s.Since.IsZero() && !s.Keep { // a journal that does not say that all may go on has had no stop
			g.stopOrders(ctx, s, s.All)
		}
	}
	return err
}

// Stops returns the kill switches that are engaged, those included that only a stop file or this process knows.
func (g *Gate) Stops(ctx context.Context) ([]ledger.Stop, error) {
	var stops []ledger.Stop
	err := g.journal.Read(ctx, func() error {
		stops = g.follow.state.Stops()
		return nil
	})
	if err != nil {
		stops = append(stops, ledger.Stop{By: bySallyport, Reason: "the journal cannot be read: " + trade.Printable(err.Error(), 200)})
	}
	for _, s := range g.stoppedOutside(g.now()) {
		if !engaged(stops, s.Scope) {
			stops = append(stops, s)
		}
	}
	return stops, err
}

func engaged(stops []ledger.Stop, scope ledger.Scope) bool {
	for _, s := range stops {
		if s.Scope == scope {
			return true
		}
	}
	return false
}

// Reset lets go on what a stop of exactly that scope has stopped. Only a person may, with a reason.
//
//limit:gate-reset-person Only a listed person resets the kill switch, with a reason; every other attempt is recorded and changes nothing.
func (g *Gate) Reset(ctx context.Context, by Person, scope ledger.Scope, reason string) error {
	reason = cut(reason)
	var refused *Refusal
	err := g.update(ctx, func(tx *journal.Tx) error { // records a stop file first, so that it is never lost
		at, _ := g.moment(tx)
		if refused = g.personRefusal(by, reason); refused == nil {
			refused = g.listed(by)
		}
		if refused != nil {
			g.refuse(tx, at, attempt{action: "reset", by: by.who(), channel: by.channel}, refused)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case refused != nil:
		return refused
	}
	if stop, there := readStopFile(g.cfg.Home); there && stop.Scope == scope {
		if err := g.clearStopFile(); err != nil {
			return err
		}
	}
	err = g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		if refused = g.listed(by); refused == nil && !g.follow.state.Engaged(scope) {
			refused = refusal(policy.NotEngaged, "the kill switch of %s is not engaged", scope)
		}
		if refused != nil {
			g.refuse(tx, at, attempt{action: "reset", by: by.who(), channel: by.channel}, refused)
			return nil
		}
		g.recordIn(tx, streamKill, at, ledger.KillReset{Scope: scope, By: personBy + by.name, Reason: reason})
		return nil
	})
	if err == nil && refused != nil {
		return refused
	}
	return err
}

func (g *Gate) personRefusal(by Person, reason string) *Refusal {
	if by.name == "" {
		return refusal(policy.PersonUnknown, "only a person can do that, with a credential")
	}
	if reason == "" {
		return refusal(policy.ReasonMissing, "a reset needs a reason")
	}
	return nil
}
