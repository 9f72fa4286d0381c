package gatetest

import (
	"context"
	"fmt"
	"sync"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// The parts of the suite about what receipts tell of events. A venue that tells of none passes: the gate asks it.

// told checks what a receipt tells against the venue's events before and after its request, when nobody else was there.
func (r *rig) told(rec gate.Receipt, before []gate.VenueEvent) {
	r.t.Helper()
	after := r.events()
	if len(rec.Events) > 0 && fmt.Sprint(rec.Events) != fmt.Sprint(after[len(before):]) {
		r.t.Errorf("the receipt tells of %+v; what happened is %+v", rec.Events, after[len(before):])
	}
	if rec.NextEvent != 0 && (rec.NextEvent != uint64(len(after)+1) || len(rec.Events) != len(after)-len(before)) {
		r.t.Errorf("the receipt tells of %d events, and that the next is number %d; there were %d events and now are %d",
			len(rec.Events), rec.NextEvent, len(before), len(after))
	}
}

func receiptsTell(r *rig) {
	r.tap.submit = func(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
		before := r.events()
		rec, err := r.fx.Broker.Submit(ctx, p)
		r.told(rec, before)
		return rec, err
	}
	r.tap.cancel = func(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
		before := r.events()
		rec, err := r.fx.Broker.Cancel(ctx, p)
		r.told(rec, before)
		return rec, err
	}
	a, b := r.gate(7), r.gate(7)
	first := r.execute(a, r.fx.Fills, ledger.Succeeded, call(0))
	working := r.execute(a, r.fx.Rests, ledger.Succeeded, call(1))
	if !r.fx.Refused.IsZero() {
		r.execute(a, r.fx.Refused, ledger.Failed, call(2))
	}
	r.execute(b, r.fx.Fills, ledger.Succeeded, call(0)) // known: nothing happens a second time
	r.cancel(a, working)
	last := r.execute(a, r.fx.Fills, ledger.Succeeded, call(3))
	r.wantFills(r.fx.Fills, id(first), id(last))
	r.wantPosition(a, r.fx.Fills.Quantity().Mul(trade.Whole(2)))
}

// wantPosition checks what a gate has learned of the position in the symbol that fills.
func (r *rig) wantPosition(g *gate.Gate, want trade.Decimal) {
	r.t.Helper()
	ps, err := g.Positions(context.Background())
	if err != nil || len(ps) != 1 || ps[0].Quantity.Cmp(want) != 0 {
		r.t.Errorf("the gate has learned of %+v, %v; want %v", ps, err, want)
	}
}

func receiptsTellOnce(r *rig) {
	const n = 5
	var mu sync.Mutex
	var told []gate.VenueEvent
	r.tap.submit = func(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
		rec, err := r.fx.Broker.Submit(ctx, p)
		mu.Lock()
		defer mu.Unlock()
		told = append(told, rec.Events...)
		return rec, err
	}
	g := r.gate(1)
	together(n, func(i int) {
		if d := g.Execute(context.Background(), CallFor(r.fx.Fills, call(i))); d.State != ledger.Succeeded {
			r.t.Errorf("order %d: %s", i, d.AppendJSON(nil))
		}
	})
	all, seen := r.events(), map[uint64]bool{}
	for _, e := range told {
		if seen[e.Number] || e.Number < 1 || e.Number > uint64(len(all)) || fmt.Sprint(e) != fmt.Sprint(all[e.Number-1]) {
			r.t.Errorf("a receipt tells of %+v; the events are %+v", e, all)
		}
		seen[e.Number] = true
	}
	if len(told) != 0 && len(told) != len(all) {
		r.t.Errorf("the receipts tell of %d events, of which there are %d", len(told), len(all))
	}
	r.wantPosition(g, r.fx.Fills.Quantity().Mul(trade.Whole(n)))
}
