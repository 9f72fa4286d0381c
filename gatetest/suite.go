package gatetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// Fixture is one fresh venue under test: no orders, no positions.
type Fixture struct {
	Broker gate.Broker
	Clock  *Clock      // the broker's; the suite gives it to the gates too
	Fills  trade.Order // a buy that fills at once, at least five times in a row
	Rests  trade.Order // a buy that rests until it is cancelled
	// Refused is a buy that the venue rejects. The zero Order leaves out what needs one.
	Refused trade.Order
	// Wider is what the parts about orders beside the limit order for the day need. nil leaves them out.
	Wider *Wider
	// Reopen closes the venue and opens it again with all that it knew. nil leaves out what needs it.
	Reopen func() gate.Broker
}

// TestBroker is the contract of gate.Broker as a test: every broker must pass it. open makes a fresh venue for each
// part. The orders go through real gates, because nothing else can make a permit.
func TestBroker(t *testing.T, open func(t *testing.T) Fixture) {
	for _, part := range []struct {
		name string
		test func(*rig)
	}{
		{"ZeroPermitIsRefused", zeroPermit},
		{"PermitIsGoodOnce", permitOnce},
		{"PermitIsGoodOnceForManyAtATime", permitOnceConcurrently},
		{"PermitIsGoodForOneActionOnly", permitAction},
		{"ExpiredPermitIsRefused", permitExpired},
		{"SameIDAndOrderIsOneOrder", sameOrder},
		{"SameIDAndOtherOrderIsRejected", otherOrder},
		{"SameIDFromManyGatesIsOneOrder", sameOrderConcurrently},
		{"RejectionKeepsItsAnswer", rejectionKept},
		{"AnswerLostIsFoundByLookup", answerLost},
		{"OrderLostIsRejectedOnceItsPermitHasExpired", orderLost},
		{"LookupThatSaysNeverReceivedIsFinal", lookupFinal},
		{"CancelledContextLeavesAWholeOrderOrNone", contextCancelled},
		{"CancelEndsAWorkingOrder", cancelWorking},
		{"CancelOfAFilledOrderIsRejected", cancelFilled},
		{"EventsAreNumberedWithoutGaps", eventsNumbered},
		{"ReceiptsTellOfTheEventsThatTheyCaused", receiptsTell},
		{"ReceiptsTellEachEventOnceForManyAtATime", receiptsTellOnce},
		{"HoldingsAreTheSumOfTheFills", holdings},
		{"ReopenedVenueKnowsEverything", reopened},
		{"MarketOrderIsExecutedAtTheFarSide", wide(marketOrder)},
		{"StopWaitsForItsPrice", wide(stopOrder)},
		{"TimeInForceEndsTheOrder", wide(timeInForce)},
		{"OrderByAmountBuysForNoMore", wide(byAmount)},
		{"ExitsFollowTheFill", wide(exitsFollow)},
		{"OneExitEndsTheOther", wide(exitsProfit)},
		{"CancelOfAnEntryLeavesItsExits", wide(exitsStay)},
		{"WiderOrderIsOneOrder", wide(widerOnce)},
	} {
		t.Run(part.name, func(t *testing.T) {
			part.test(newRig(t, open(t)))
		})
	}
}

// rig is a venue, a tap before it that the suite can turn, and what the suite knows of it.
type rig struct {
	t   *testing.T
	fx  Fixture
	tap *tap
}

func newRig(t *testing.T, fx Fixture) *rig {
	t.Helper()
	if fx.Broker == nil || fx.Clock == nil || fx.Fills.IsZero() || fx.Rests.IsZero() {
		t.Fatal("the fixture lacks a broker, a clock or an order")
	}
	return &rig{t: t, fx: fx, tap: &tap{Broker: fx.Broker}}
}

// tap stands between a gate and the broker under test. It hands on what comes, unless a part of the suite wants to see
// the permit first.
type tap struct {
	gate.Broker
	submit, cancel func(context.Context, gate.Permit) (gate.Receipt, error) // nil: hand on
	deaf           bool                                                     // the gate hears of no event
}

// Submit implements gate.Broker.
func (p *tap) Submit(ctx context.Context, permit gate.Permit) (gate.Receipt, error) {
	if p.submit != nil {
		return p.submit(ctx, permit)
	}
	return p.heard(p.Broker.Submit(ctx, permit))
}

// Cancel implements gate.Broker.
func (p *tap) Cancel(ctx context.Context, permit gate.Permit) (gate.Receipt, error) {
	if p.cancel != nil {
		return p.cancel(ctx, permit)
	}
	return p.heard(p.Broker.Cancel(ctx, permit))
}

// heard is a receipt as it reaches the gate.
func (p *tap) heard(r gate.Receipt, err error) (gate.Receipt, error) {
	if p.deaf {
		r.Events, r.NextEvent = nil, 0
	}
	return r, err
}

// Events implements gate.Broker.
func (p *tap) Events(ctx context.Context, after uint64) ([]gate.VenueEvent, error) {
	if p.deaf {
		return nil, nil
	}
	return p.Broker.Events(ctx, after)
}

// config is that of a gate with a directory of its own. Gates with the same seed send the same ids, as long as they
// decide the same number of calls and the clock stands still.
func (r *rig) config(seed uint64) gate.Config {
	r.t.Helper()
	symbols := []trade.Symbol{r.fx.Fills.Symbol()}
	for _, o := range []trade.Order{r.fx.Rests, r.fx.Refused} {
		if !o.IsZero() && !slices.Contains(symbols, o.Symbol()) {
			symbols = append(symbols, o.Symbol())
		}
	}
	cfg := Config(home(r.t, symbols...), r.tap)
	cfg.Account, cfg.Now, cfg.Entropy = r.fx.Fills.Account(), r.fx.Clock.Now, Entropy(seed)
	return cfg
}

func (r *rig) gate(seed uint64) *gate.Gate {
	r.t.Helper()
	return Open(r.t, r.config(seed))
}

// execute sends an order and wants it to end in a state.
func (r *rig) execute(g *gate.Gate, o trade.Order, want ledger.AuditState, edit ...func(*gate.Call)) ledger.Decision {
	r.t.Helper()
	d := g.Execute(context.Background(), CallFor(o, edit...))
	if d.State != want {
		r.t.Fatalf("the order ended as %s, want %s: %s", d.State, want, d.AppendJSON(nil))
	}
	return d
}

// events returns all of them, page by page, and checks their numbers.
func (r *rig) events() []gate.VenueEvent {
	r.t.Helper()
	var all []gate.VenueEvent
	for {
		page, err := r.fx.Broker.Events(context.Background(), uint64(len(all)))
		if err != nil {
			r.t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		for _, e := range page {
			all = append(all, e)
			if e.Number != uint64(len(all)) {
				r.t.Fatalf("event %d has the number %d", len(all), e.Number)
			}
		}
	}
}

// wantFills checks that exactly these ids were filled, each once and whole.
func (r *rig) wantFills(o trade.Order, ids ...trade.BrokerOrderID) {
	r.t.Helper()
	var got []trade.BrokerOrderID
	for _, e := range r.events() {
		if e.Kind != gate.VenueFill {
			continue
		}
		got = append(got, e.ID)
		better := e.Price.Cmp(o.LimitPrice()) <= 0
		if e.Symbol != o.Symbol() || e.Side != o.Side() || e.Quantity.Cmp(o.Quantity()) != 0 || e.Price.Sign() <= 0 || !better || e.At.IsZero() {
			r.t.Errorf("the fill %+v is not one of %s", e, o.AppendJSON(nil))
		}
	}
	if !slices.Equal(got, ids) {
		r.t.Errorf("fills of %v, want %v", got, ids)
	}
}

func (r *rig) lookup(id trade.BrokerOrderID, notAfter time.Time) gate.Receipt {
	r.t.Helper()
	rec, err := r.fx.Broker.Lookup(context.Background(), id, notAfter)
	if err != nil {
		r.t.Fatal(err)
	}
	return rec
}

// wantNotSent checks that a permit was refused.
func (r *rig) wantNotSent(what string, rec gate.Receipt, err error) {
	r.t.Helper()
	if !errors.Is(err, gate.ErrNotSent) || rec.Outcome != trade.Unknown || rec.OrderID != "" {
		r.t.Errorf("%s: %+v, %v; want an error that wraps ErrNotSent", what, rec, err)
	}
}

// same compares the parts of receipts that a venue must keep.
func same(a, b gate.Receipt) bool {
	return a.Outcome == b.Outcome && a.OrderID == b.OrderID && a.Code == b.Code
}

// together runs f n times at once and waits for all.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

func id(d ledger.Decision) trade.BrokerOrderID { return d.Intent.BrokerOrderID() }

// call names the i-th call of a session.
func call(i int) func(*gate.Call) { return WithToolCall(trade.ToolCallID(fmt.Sprintf("call-%d", i))) }
