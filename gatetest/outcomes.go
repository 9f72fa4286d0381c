package gatetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// The parts of the suite about ids, answers and what becomes of orders.

const (
	accepted = trade.Accepted
	rejected = trade.Rejected
)

// wantLookup checks the outcome of an id, and its order id where there is one.
func (r *rig) wantLookup(d ledger.Decision, notAfter time.Time, want gate.Receipt) {
	r.t.Helper()
	got := r.lookup(id(d), notAfter)
	if got.Outcome != want.Outcome || want.OrderID != "" && got.OrderID != want.OrderID {
		r.t.Errorf("Lookup of %s: %+v, want %+v", id(d), got, want)
	}
}

// later is after every permit that a gate has minted up to now.
func (r *rig) later() time.Time { return r.fx.Clock.Now().Add(time.Hour) }

func sameOrder(r *rig) {
	a, b := r.gate(7), r.gate(7)
	one := r.execute(a, r.fx.Fills, ledger.Succeeded)
	two := r.execute(b, r.fx.Fills, ledger.Succeeded)
	if id(one) != id(two) {
		r.t.Fatalf("the gates sent %s and %s", id(one), id(two))
	}
	if one.OrderID != two.OrderID {
		r.t.Errorf("one id is the orders %s and %s", one.OrderID, two.OrderID)
	}
	r.wantFills(r.fx.Fills, id(one))
}

func otherOrder(r *rig) {
	a, b := r.gate(7), r.gate(7)
	one := r.execute(a, r.fx.Fills, ledger.Succeeded)
	two := r.execute(b, r.fx.Rests, ledger.Failed)
	if id(one) != id(two) {
		r.t.Fatalf("the gates sent %s and %s", id(one), id(two))
	}
	r.wantFills(r.fx.Fills, id(one))
	r.wantLookup(one, r.fx.Clock.Now().Add(-time.Hour), gate.Receipt{Outcome: accepted, OrderID: one.OrderID})
}

func sameOrderConcurrently(r *rig) {
	const n = 4
	var gates [n]*gate.Gate
	for i := range gates {
		gates[i] = r.gate(7)
	}
	var decisions [n]ledger.Decision
	together(n, func(i int) { decisions[i] = gates[i].Execute(context.Background(), CallFor(r.fx.Fills)) })
	for _, d := range decisions {
		if d.State != ledger.Succeeded || d.OrderID != decisions[0].OrderID || id(d) != id(decisions[0]) {
			r.t.Errorf("%s: %s as order %q; the first was %s as %q", id(d), d.State, d.OrderID, id(decisions[0]), decisions[0].OrderID)
		}
	}
	r.wantFills(r.fx.Fills, id(decisions[0]))
}

func rejectionKept(r *rig) {
	if r.fx.Refused.IsZero() {
		r.t.Skip("the fixture has no order that is rejected")
	}
	a, b, c := r.gate(7), r.gate(7), r.gate(7)
	var first, again gate.Receipt
	r.tap.submit = func(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
		rec, err := r.fx.Broker.Submit(ctx, p)
		first, again = again, rec
		return rec, err
	}
	one := r.execute(a, r.fx.Refused, ledger.Failed)
	two := r.execute(b, r.fx.Refused, ledger.Failed)
	if id(one) != id(two) || !same(first, again) || first.Code == "" {
		r.t.Errorf("%s was rejected with %+v, then %s with %+v", id(one), first, id(two), again)
	}
	r.wantLookup(one, r.later(), gate.Receipt{Outcome: rejected})
	r.execute(c, r.fx.Fills, ledger.Failed) // another order under the id that was rejected
	r.wantFills(r.fx.Fills)
}

func answerLost(r *rig) {
	cfg := r.config(1)
	var receipt gate.Receipt
	r.tap.submit = func(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
		var err error
		if receipt, err = r.fx.Broker.Submit(ctx, p); err != nil {
			r.t.Error(err)
		}
		return gate.Receipt{}, errLost
	}
	g, err := gate.Open(context.Background(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	d := r.execute(g, r.fx.Fills, ledger.OutcomeUnknown)
	if err := g.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.wantLookup(d, r.later(), receipt)
	cfg.Entropy = Entropy(2)
	r.wantState(Open(r.t, cfg), d, ledger.Succeeded)
	r.wantFills(r.fx.Fills, id(d))
}

// wantState checks what a gate has on record of an intent.
func (r *rig) wantState(g *gate.Gate, d ledger.Decision, want ledger.AuditState) {
	r.t.Helper()
	now, _, err := g.History(context.Background(), d.Intent)
	if err != nil || now.State != want {
		r.t.Errorf("the gate has %s as %s, %v; want %s", d.Intent, now.State, err, want)
	}
}

func orderLost(r *rig) {
	cfg := r.config(1)
	r.tap.submit = func(context.Context, gate.Permit) (gate.Receipt, error) { return gate.Receipt{}, errLost }
	g, err := gate.Open(context.Background(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	d := r.execute(g, r.fx.Fills, ledger.OutcomeUnknown)
	if err := g.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.wantLookup(d, r.later(), gate.Receipt{}) // its permit may still be used
	r.wantLookup(d, r.fx.Clock.Now(), gate.Receipt{})
	r.fx.Clock.Advance(time.Hour)
	cfg.Entropy = Entropy(2)
	r.wantState(Open(r.t, cfg), d, ledger.Failed)
	r.wantLookup(d, r.fx.Clock.Now().Add(-time.Minute), gate.Receipt{Outcome: rejected})
	r.wantFills(r.fx.Fills)
}

func lookupFinal(r *rig) {
	g := r.gate(1)
	start := r.fx.Clock.Now()
	var looked gate.Receipt
	r.tap.submit = func(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
		open, err := g.Orders(ctx)
		if err != nil || len(open) != 1 {
			r.t.Errorf("%d orders are open, %v", len(open), err)
			return gate.Receipt{}, errLost
		}
		r.fx.Clock.Advance(time.Hour) // somebody whose clock runs ahead gives the order up while it is on its way
		looked = r.lookup(open[0].ID, start.Add(time.Minute))
		r.fx.Clock.Set(start)
		return r.fx.Broker.Submit(ctx, p)
	}
	d := g.Execute(context.Background(), CallFor(r.fx.Fills))
	if looked.Outcome != rejected {
		r.t.Errorf("Lookup of an order that is not there, after its permit expired: %+v", looked)
	}
	if d.State == ledger.Succeeded {
		r.t.Errorf("an order that was reported as never received was accepted as %s", d.OrderID)
	}
	r.wantFills(r.fx.Fills)
}

func contextCancelled(r *rig) {
	g := r.gate(1)
	var receipt gate.Receipt
	var failed error
	r.tap.submit = func(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		receipt, failed = r.fx.Broker.Submit(ctx, p)
		return receipt, failed
	}
	d := g.Execute(context.Background(), CallFor(r.fx.Fills))
	r.fx.Clock.Advance(time.Minute)
	found := r.lookup(id(d), r.fx.Clock.Now().Add(-time.Second))
	switch {
	case failed == nil && !same(found, receipt):
		r.t.Errorf("answered %+v and found as %+v", receipt, found)
	case errors.Is(failed, gate.ErrNotSent) && found.Outcome != rejected:
		r.t.Errorf("not sent (%v) and found as %+v", failed, found)
	case found.Outcome == accepted:
		r.wantFills(r.fx.Fills, id(d))
	case found.Outcome == rejected:
		r.wantFills(r.fx.Fills)
	default:
		r.t.Errorf("after its permit expired the order is found as %+v", found)
	}
}

// cancel cancels a working order and wants that to be the end of it.
func (r *rig) cancel(g *gate.Gate, d ledger.Decision) {
	r.t.Helper()
	res, err := g.Cancel(context.Background(), CallFor(d.Order).Origin, d.Intent)
	if err != nil || res.Outcome != accepted {
		r.t.Fatalf("cancel of %s: %+v, %v", id(d), res, err)
	}
	events := r.events()
	n := slices.IndexFunc(events, func(e gate.VenueEvent) bool { return e.ID == id(d) })
	if n < 0 || events[n].Kind != gate.VenueCancelled || events[n].Quantity.Cmp(d.Order.Quantity()) != 0 || events[n].Symbol != d.Order.Symbol() {
		r.t.Errorf("no event says that all of %s was cancelled: %+v", id(d), events)
	}
}

func cancelWorking(r *rig) {
	g := r.gate(1)
	d := r.execute(g, r.fx.Rests, ledger.Succeeded)
	r.wantFills(r.fx.Rests)
	r.cancel(g, d)
	r.wantLookup(d, r.later(), gate.Receipt{Outcome: accepted, OrderID: d.OrderID})
	if open, err := g.Orders(context.Background()); err != nil || len(open) != 0 {
		r.t.Errorf("after the cancel %d orders are open, %v", len(open), err)
	}
}

func cancelFilled(r *rig) {
	r.tap.deaf = true // so that the gate thinks that the order works
	g := r.gate(1)
	d := r.execute(g, r.fx.Fills, ledger.Succeeded)
	res, err := g.Cancel(context.Background(), CallFor(d.Order).Origin, d.Intent)
	if err != nil || res.Outcome != rejected {
		r.t.Errorf("cancel of a filled order: %+v, %v", res, err)
	}
	r.wantFills(r.fx.Fills, id(d))
	if n := len(r.events()); n != 1 {
		r.t.Errorf("%d events, want the fill alone", n)
	}
}

func eventsNumbered(r *rig) {
	g := r.gate(1)
	var ids []trade.BrokerOrderID
	for i := range 4 {
		ids = append(ids, id(r.execute(g, r.fx.Fills, ledger.Succeeded, call(i))))
	}
	r.cancel(g, r.execute(g, r.fx.Rests, ledger.Succeeded))
	r.wantFills(r.fx.Fills, ids...)
	all := r.events()
	if len(all) != 5 {
		r.t.Fatalf("%d events, want 5", len(all))
	}
	for after := range uint64(7) {
		page, err := r.fx.Broker.Events(context.Background(), after)
		if err != nil || (len(page) == 0) != (after >= 5) {
			r.t.Fatalf("after %d: %d events, %v", after, len(page), err)
		}
		for i, e := range page {
			if fmt.Sprint(e) != fmt.Sprint(all[after+uint64(i)]) {
				r.t.Errorf("after %d: event %+v, seen before as %+v", after, e, all[after+uint64(i)])
			}
		}
	}
	if page, err := r.fx.Broker.Events(context.Background(), 1<<64-1); err != nil || len(page) != 0 {
		r.t.Errorf("after the last number there is: %d events, %v", len(page), err)
	}
}

func holdings(r *rig) {
	ctx := context.Background()
	before, err := r.fx.Broker.Holdings(ctx)
	if err != nil || len(before.Positions) != 0 {
		r.t.Fatalf("the fresh venue holds %+v, %v", before, err)
	}
	g := r.gate(1)
	var mu sync.Mutex
	together(4, func(i int) {
		d := g.Execute(ctx, CallFor(r.fx.Fills, call(i)))
		mu.Lock()
		defer mu.Unlock()
		if d.State != ledger.Succeeded {
			r.t.Errorf("order %d: %s", i, d.State)
		}
	})
	want := before.Cash
	for _, e := range r.events() {
		want = want.Sub(e.Quantity.Mul(e.Price))
	}
	after, err := r.fx.Broker.Holdings(ctx)
	four := r.fx.Fills.Quantity().Mul(trade.Whole(4))
	if err != nil || len(after.Positions) != 1 || after.Positions[0].Symbol != r.fx.Fills.Symbol() || after.Positions[0].Quantity.Cmp(four) != 0 || after.Cash.Cmp(want) != 0 {
		r.t.Errorf("the venue holds %+v, %v; want %v of %v and cash %v", after, err, four, r.fx.Fills.Symbol(), want)
	}
}

func reopened(r *rig) {
	if r.fx.Reopen == nil {
		r.t.Skip("the fixture cannot open the venue again")
	}
	a, b := r.gate(7), r.gate(7)
	one := r.execute(a, r.fx.Fills, ledger.Succeeded)
	working := r.execute(a, r.fx.Rests, ledger.Succeeded)
	events := r.events()
	before, err := r.fx.Broker.Holdings(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	r.fx.Broker = r.fx.Reopen()
	r.tap.Broker = r.fx.Broker
	after, err := r.fx.Broker.Holdings(context.Background())
	if err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
		r.t.Errorf("the venue holds %+v, %v; before %+v", after, err, before)
	}
	if now := r.events(); fmt.Sprint(now) != fmt.Sprint(events) {
		r.t.Errorf("events %+v; before %+v", now, events)
	}
	for _, d := range []ledger.Decision{one, working} {
		r.wantLookup(d, r.later(), gate.Receipt{Outcome: accepted, OrderID: d.OrderID})
	}
	if two := r.execute(b, r.fx.Fills, ledger.Succeeded); id(two) != id(one) || two.OrderID != one.OrderID {
		r.t.Errorf("the same id is the order %s; before %s", two.OrderID, one.OrderID)
	}
	r.cancel(a, working)
	r.wantFills(r.fx.Fills, id(one))
}
