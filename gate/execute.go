package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// retryAfter is when a caller may try again after the journal could not be had.
const retryAfter = time.Second

// Execute decides the call and, if it is allowed, sends the order to the broker and waits for its answer. The decision
// always comes back, whatever went wrong.
func (g *Gate) Execute(ctx context.Context, c Call) ledger.Decision {
	if g.cfg.Broker == nil {
		return g.refused(c, policy.InternalError, "this process has no broker and executes nothing")
	}
	if err := g.lease.hold(); err != nil {
		return g.unavailable(c, err)
	}
	j := &judgement{g: g, call: c, basis: g.basis(ctx), executing: true}
	g.cfg.step("before decide")
	if err := g.update(ctx, j.decide); err != nil {
		return g.unavailable(c, err)
	}
	g.cfg.step("decided")
	switch j.next {
	case send:
		return g.send(ctx, j)
	case await:
		return g.await(ctx, j.decision)
	}
	return j.decision
}

// Authorize decides the call and, if it is allowed, records a permission for somebody else to make it, once.
func (g *Gate) Authorize(ctx context.Context, c Call) ledger.Decision {
	j := &judgement{g: g, call: c, basis: g.basis(ctx)}
	if err := g.update(ctx, j.decide); err != nil {
		return g.unavailable(c, err)
	}
	return j.decision
}

// refused is a decision that is not on record, because nothing could be recorded or nothing was asked that could be.
func (g *Gate) refused(c Call, code trade.Code, message string) ledger.Decision {
	return ledger.Decision{
		State: ledger.Blocked, ToolCallID: c.Origin.ToolCallID, ClientOrderID: c.Tags.ClientOrderID, Agent: c.Origin.Agent,
		Surface: c.Origin.Surface, Tool: c.Origin.Tool, Order: c.Order, At: g.cfg.Now().UTC().Truncate(time.Microsecond),
		Reasons: append(faultReasons(c.Faults), policy.Reason{Code: code, Message: message}),
		Account: c.Account, Origin: c.Origin,
	}
}

func (g *Gate) unavailable(c Call, err error) ledger.Decision {
	d := g.refused(c, policy.JournalUnavailable, "the decision could not be recorded, so nothing was done: "+trade.Printable(err.Error(), 200))
	d.Error, d.RetryAfter = "journal_unavailable", retryAfter
	for _, s := range g.stoppedOutside(d.At) { // which time does not cure
		if s.Scope.Covers(c.Account, c.Origin.Agent, c.Order.Symbol()) {
			d.Reasons = append(d.Reasons, stopReason(s))
			d.Stops, d.Error, d.RetryAfter = append(d.Stops, s), "killswitch_active", 0
		}
	}
	return d
}

// flight is what came of a request to the broker.
type flight struct {
	out    ledger.Concluded
	events []VenueEvent // what the request caused at once
	next   uint64       // the number of the venue's next event; zero if it does not say
}

// send sends what was decided. The decision is durable, which is what makes the permit.
//
//limit:gate-no-record-no-permit A permit is minted only after the decision that clears it is durable.
func (g *Gate) send(ctx context.Context, j *judgement) ledger.Decision {
	g.cfg.step("before send")
	if g.memory != nil {
		return g.sendNow(ctx, j)
	}
	permit := mint(SubmitOrder, j.cleared)
	landed := make(chan flight, 1)
	ctx = context.WithoutCancel(ctx) // an agent that hangs up does not undo what it asked for
	g.flights.Go(func() {
		call, cancel := context.WithTimeout(ctx, g.cfg.BrokerWait)
		defer cancel()
		landed <- g.ask(j.decision.Intent, func() (Receipt, error) { return g.cfg.Broker.Submit(call, permit) })
	})
	wait := time.NewTimer(g.cfg.BrokerWait)
	defer wait.Stop()
	select {
	case f := <-landed:
		g.cfg.step("sent")
		return g.conclude(ctx, j.decision, f)
	case <-wait.C:
	}
	g.flights.Go(func() { // it does not heed its deadline; whenever it answers, that settles the order
		g.conclude(ctx, j.decision, <-landed)
	})
	return g.conclude(ctx, j.decision, flight{out: ledger.Concluded{
		Intent: j.decision.Intent, Source: ledger.FromGate,
		Message: fmt.Sprintf("the broker did not answer within %s; it may have the order", g.cfg.BrokerWait),
	}})
}

// ask turns a broker's answer into an outcome. Only what is definite is Accepted or Rejected; a panic, an error and a
// timeout are unknown, unless the error says that nothing was sent.
//
//limit:gate-unclear-is-unknown A broker's error, timeout, panic or unclear answer is an unknown outcome; only ErrNotSent and a definite rejection are failures.
func (g *Gate) ask(id trade.IntentID, question func() (Receipt, error)) (f flight) {
	f.out = ledger.Concluded{Intent: id, Source: ledger.FromGate}
	defer func() {
		if p := recover(); p != nil {
			f = flight{out: ledger.Concluded{Intent: id, Source: ledger.FromGate, Message: words(fmt.Sprintf("the broker's driver failed: %v", p))}}
		}
	}()
	r, err := question()
	switch {
	case errors.Is(err, ErrNotSent):
		f.out.Outcome, f.out.Message = trade.Rejected, "nothing was sent: "+words(err.Error())
	case err != nil:
		f.out.Message = "nothing can be concluded from the broker's answer: " + words(err.Error())
	default:
		f.out = concluded(id, r)
		f.next, f.events = r.NextEvent, r.Events[:min(len(r.Events), maxTaken)]
	}
	return f
}

// words are what somebody else wrote, as far as it goes on record.
//
//limit:gate-broker-words Of a broker's message, error, code and order id at most 400 characters go on record, escaped.
func words(text string) string { return trade.Printable(text, 400) }

// concluded records a receipt.
func concluded(id trade.IntentID, r Receipt) ledger.Concluded {
	c := ledger.Concluded{
		Intent: id, Outcome: r.Outcome, Source: ledger.FromBroker, OrderID: words(r.OrderID), Code: words(r.Code), Message: words(r.Message),
	}
	switch r.Outcome {
	case trade.Accepted:
		c.Status = "SUCCESS"
	case trade.Rejected:
		c.Status = "ERROR"
	}
	return c
}

// recordTries is how often an outcome is tried to be recorded before it is left to the next recovery.
const recordTries = 3

// conclude records an outcome with what else the venue has to tell, and returns the decision as it then stands.
func (g *Gate) conclude(ctx context.Context, d ledger.Decision, f flight) ledger.Decision {
	if f.out.Outcome != trade.Accepted {
		f.next = 0 // the venue has nothing new of ours; whatever else there is can wait
	}
	silent := f.out.Outcome == trade.Accepted && f.next == 0 && len(f.events) == 0
	err := g.land(ctx, &d, f, silent, func(tx *journal.Tx, at time.Time) { g.recordOutcome(tx, at, &d, f.out) })
	g.cfg.step("concluded")
	if err == nil && f.out.Outcome == trade.Accepted && g.memory == nil {
		g.stopLanded(ctx, d.Intent)
	}
	if err != nil {
		d.State, d.Error = ledger.OutcomeUnknown, "journal_unavailable"
		d.Message = fmt.Sprintf("the broker's answer (%s) could not be recorded: %s; the next recovery asks again",
			f.out.Outcome, trade.Printable(err.Error(), 200))
		return d
	}
	if d.State == ledger.Allowed { // somebody else has settled it meanwhile
		if now, _, err := g.History(ctx, d.Intent); err == nil {
			return now
		}
	}
	return d
}

// land records what came of a request, together with the venue's events. The broker is asked for them where its answer
// does not tell: beforehand if it is silent about them, afterwards if the ledger lacks others that came before. What
// cannot be read now is read at the next occasion, since the cursor stays.
func (g *Gate) land(ctx context.Context, d *ledger.Decision, f flight, silent bool, record func(*journal.Tx, time.Time)) error {
	if silent {
		f.events, _ = g.venueEvents(ctx)
	}
	missing := false
	err := g.insist(ctx, d, func(tx *journal.Tx, at time.Time) {
		record(tx, at)
		whole := g.recordVenue(tx, at, d, f.events)
		cursor, _ := g.follow.state.Cursor(g.cfg.Account)
		missing = !whole || cursor+1 < f.next
	})
	if err != nil || !missing {
		return err
	}
	if events, _ := g.venueEvents(ctx); len(events) > 0 {
		_ = g.insist(ctx, d, func(tx *journal.Tx, at time.Time) { g.recordVenue(tx, at, d, events) })
	}
	return nil
}

// insist records what has happened already, so it tries again while the journal's lock is not to be had. What is not
// recorded leaves the decision as it was.
func (g *Gate) insist(ctx context.Context, d *ledger.Decision, record func(*journal.Tx, time.Time)) (err error) {
	for range recordTries {
		before := *d
		err = g.update(ctx, func(tx *journal.Tx) error {
			at, _ := g.moment(tx)
			record(tx, at)
			return nil
		})
		if err == nil {
			return nil
		}
		if *d = before; !errors.Is(err, journal.ErrBusy) {
			return err
		}
	}
	return err
}

// recordOutcome records an outcome unless the intent has a final one already.
func (g *Gate) recordOutcome(tx *journal.Tx, at time.Time, d *ledger.Decision, out ledger.Concluded) {
	open := g.follow.state.Open(out.Intent)
	filled := open == nil || open.Phase == ledger.Working // the venue's events were quicker, in another process
	if filled && (out.Outcome != trade.Accepted || g.accepted(tx, out.Intent)) || !filled && out.Outcome == trade.Unknown && open.Unknown {
		return
	}
	account := g.cfg.Account
	if open != nil {
		account = open.Order.Account()
	}
	g.record(tx, at, account, out)
	d.Apply(out)
	g.stopRefused(tx, at, account)
}

// accepted reports whether it is on record that the venue has an order, and as what: a fill alone does not say it. What
// cannot be looked up is not written again.
func (g *Gate) accepted(tx *journal.Tx, id trade.IntentID) bool {
	recs, err := tx.Find(journal.Key(ledger.IntentKey(id)))
	if err != nil {
		return true
	}
	for _, r := range recs {
		e, err := ledger.Decode(r.Body)
		if c, is := e.(ledger.Concluded); err != nil || is && c.Intent == id && c.Outcome != trade.Unknown {
			return true
		}
	}
	return false
}

// await waits for the outcome of an intent that another call has in flight, at most until its deadline.
func (g *Gate) await(ctx context.Context, d ledger.Decision) ledger.Decision {
	if g.memory != nil { // the answer is a later line of what is replayed
		return d
	}
	pause := 2 * time.Millisecond
	for g.cfg.Now().Before(d.Pending.Deadline) && ctx.Err() == nil {
		now, _, err := g.History(ctx, d.Intent)
		if err == nil && !now.Waiting() {
			now.Repeated = true
			return now
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
	return d.Present(g.cfg.Now(), g.lease.alive)
}
