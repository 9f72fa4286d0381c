package gate_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/trade"
)

// TestCancelAndStopAskBeforeTheyLookUp: five orders are unknown, and the broker knows nothing of them.
//
//attack:gate-cancel-first
//attack:gate-lookups
func TestCancelAndStopAskBeforeTheyLookUp(t *testing.T) {
	o := newOffice(t)
	o.Execute(ctx, buy(t, "9")) // its fill says which venue it is
	o.v.rests = true
	first, second := o.Execute(ctx, buy(t, "1")), o.Execute(ctx, buy(t, "2"))
	o.v.answer = func(context.Context, gate.Cleared) (gate.Receipt, error) {
		return gate.Receipt{}, errors.New("timeout")
	}
	for _, q := range []string{"3", "4", "5", "6", "7", "8"} {
		o.Execute(ctx, buy(t, q))
	}
	o.clock.pass(time.Hour) // nobody is on his way any more
	var asked, now, most atomic.Int64
	var mu sync.Mutex
	o.v.lookup = func(trade.BrokerOrderID) (gate.Receipt, error) {
		asked.Add(1)
		n := now.Add(1)
		mu.Lock()
		most.Store(max(most.Load(), n))
		mu.Unlock()
		now.Add(-1)
		return gate.Receipt{}, nil
	}
	if res, err := o.Cancel(ctx, olgaCancels, first.Intent); err != nil || res.Outcome != trade.Accepted || asked.Load() != 0 {
		t.Fatalf("%+v, %v, after %d lookups", res, err, asked.Load())
	}
	o.v.cancelErr = errors.New("not now")
	rep := must(o.Kill(ctx, gate.StopRequest{Person: o.olga, Reason: "stop"}))(t)
	if n := asked.Load(); n != 6 || most.Load() > 4 || len(rep.Orders) != 7 {
		t.Fatalf("%d lookups, %d at a time, %+v", n, most.Load(), rep.Orders)
	}
	for _, s := range rep.Orders {
		if s.State != gate.StopUnknown {
			t.Errorf("%s: %+v", second.Intent, s)
		}
	}
}
