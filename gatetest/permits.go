package gatetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
)

// The parts of the suite about permits.

func zeroPermit(r *rig) {
	rec, err := r.fx.Broker.Submit(context.Background(), gate.Permit{})
	r.wantNotSent("Submit with the zero permit", rec, err)
	rec, err = r.fx.Broker.Cancel(context.Background(), gate.Permit{})
	r.wantNotSent("Cancel with the zero permit", rec, err)
	r.wantFills(r.fx.Fills)
}

func permitOnce(r *rig) {
	r.tap.submit = func(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
		first, err := r.fx.Broker.Submit(ctx, p)
		rec, again := r.fx.Broker.Submit(ctx, p)
		r.wantNotSent("Submit with a spent permit", rec, again)
		return first, err
	}
	d := r.execute(r.gate(1), r.fx.Fills, ledger.Succeeded)
	r.wantFills(r.fx.Fills, id(d))
}

func permitOnceConcurrently(r *rig) {
	r.tap.submit = func(ctx context.Context, p gate.Permit) (rec gate.Receipt, err error) {
		var mu sync.Mutex
		sent := 0
		together(8, func(int) {
			one, oneErr := r.fx.Broker.Submit(ctx, p)
			mu.Lock()
			defer mu.Unlock()
			if !errors.Is(oneErr, gate.ErrNotSent) {
				sent++
				rec, err = one, oneErr
			}
		})
		if sent != 1 {
			r.t.Errorf("one permit was taken %d times", sent)
		}
		return rec, err
	}
	d := r.execute(r.gate(1), r.fx.Fills, ledger.Succeeded)
	r.wantFills(r.fx.Fills, id(d))
}

func permitAction(r *rig) {
	r.tap.submit = func(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
		rec, err := r.fx.Broker.Cancel(ctx, p)
		r.wantNotSent("Cancel with a permit to submit", rec, err)
		return r.fx.Broker.Submit(ctx, p)
	}
	r.tap.cancel = func(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
		rec, err := r.fx.Broker.Submit(ctx, p)
		r.wantNotSent("Submit with a permit to cancel", rec, err)
		first, err := r.fx.Broker.Cancel(ctx, p)
		rec, again := r.fx.Broker.Cancel(ctx, p)
		r.wantNotSent("Cancel with a spent permit", rec, again)
		return first, err
	}
	g := r.gate(1)
	d := r.execute(g, r.fx.Rests, ledger.Succeeded)
	r.cancel(g, d)
}

func permitExpired(r *rig) {
	cfg := r.config(1)
	cfg.SendWithin = 5 * time.Second
	g := Open(r.t, cfg)
	decided := r.fx.Clock.Now()
	r.tap.submit = func(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
		r.fx.Clock.Advance(cfg.SendWithin + time.Second)
		rec, err := r.fx.Broker.Submit(ctx, p)
		r.wantNotSent("Submit with an expired permit", rec, err)
		return rec, err
	}
	d := r.execute(g, r.fx.Fills, ledger.Failed)
	r.wantFills(r.fx.Fills)
	r.wantLookup(d, decided.Add(cfg.SendWithin), gate.Receipt{Outcome: rejected})

	r.tap.submit = nil
	rests := r.execute(g, r.fx.Rests, ledger.Succeeded)
	r.tap.cancel = func(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
		r.fx.Clock.Advance(cfg.SendWithin + time.Second)
		rec, err := r.fx.Broker.Cancel(ctx, p)
		r.wantNotSent("Cancel with an expired permit", rec, err)
		return rec, err
	}
	if res, err := g.Cancel(context.Background(), CallFor(r.fx.Rests).Origin, rests.Intent); err == nil && res.Outcome == accepted {
		r.t.Error("a cancel that was not sent was accepted")
	}
	for _, e := range r.events() {
		r.t.Errorf("an expired permit had the effect %+v", e)
	}
}
