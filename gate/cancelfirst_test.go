package gate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/gate"
	"sallyport/policy"
	"sallyport/trade"
)

// forgetful is a venue that takes its time to answer what became of an order, and knows nothing of any.
type forgetful struct {
	*venue
	takes time.Duration

	mu    sync.Mutex
	asked []trade.BrokerOrderID // in order
	now   int                   // how many questions wait for their answer
	most  int
}

func (v *forgetful) Lookup(_ context.Context, id trade.BrokerOrderID, _ time.Time) (gate.Receipt, error) {
	v.mu.Lock()
	v.asked, v.now = append(v.asked, id), v.now+1
	v.most = max(v.most, v.now)
	v.mu.Unlock()
	time.Sleep(v.takes)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now--
	return gate.Receipt{}, nil
}

// again forgets what was asked, and returns it.
func (v *forgetful) again() []trade.BrokerOrderID {
	v.mu.Lock()
	defer v.mu.Unlock()
	asked := v.asked
	v.asked, v.most = nil, 0
	return asked
}

// unknowns is an office with so many orders whose outcome nobody knows, none of which is on its way any more.
func unknowns(t *testing.T, many int) (*office, *forgetful) {
	t.Helper()
	v := &forgetful{}
	o := newOffice(t, func(c *gate.Config) { v.venue = c.Broker.(*venue); c.Broker = v })
	o.Execute(ctx, buy(t, "9")) // its fill says which venue it is
	o.v.rests = true
	o.v.answer = func(context.Context, gate.Cleared) (gate.Receipt, error) {
		return gate.Receipt{}, errors.New("timeout")
	}
	for i := range many {
		if d := o.Execute(ctx, buy(t, fmt.Sprint(i+10))); d.Verdict != policy.Allow {
			t.Fatalf("%s", d.AppendJSON(nil))
		}
	}
	o.v.answer = nil
	o.clock.pass(time.Hour)
	return o, v
}

// TestUnknownOrdersAreLookedUpFourAtATime: twenty are unknown, and each answer takes four of the broker's ten seconds. So
// three rounds of four are begun, the last at the eighth second. The next time begins with others.
//
//attack:gate-lookups
func TestUnknownOrdersAreLookedUpFourAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, v := unknowns(t, 20)
		v.takes = 4 * time.Second
		v.again()
		var before []trade.BrokerOrderID
		for round := range 5 {
			begin := time.Now()
			if err := o.Recover(ctx); err != nil {
				t.Fatal(err)
			}
			most := v.most
			asked := v.again()
			if took := time.Since(begin); len(asked) != 12 || most != 4 || took != 12*time.Second {
				t.Errorf("%d lookups in %s, %d at a time", len(asked), took, most)
			}
			for _, id := range asked[:4] {
				if slices.Contains(before, id) {
					t.Errorf("round %d asks about %s first again", round, id)
				}
			}
			before = append(before, asked[:4]...)
		}
		if len(before) != 20 {
			t.Errorf("%d orders were among the first four once", len(before))
		}
	})
}

// silent is a venue that does not say what has happened until it is asked no more. Of what a cancel causes it tells all.
type silent struct {
	*forgetful
	from  time.Time // since when it is silent; zero: not
	asked int       // for what has happened, since then
	after []time.Duration
}

func (v *silent) Events(ctx context.Context, after uint64) ([]gate.VenueEvent, error) {
	if v.from.IsZero() {
		return v.forgetful.Events(ctx, after)
	}
	v.asked++
	<-ctx.Done()
	return nil, ctx.Err()
}

func (v *silent) Cancel(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
	v.after = append(v.after, time.Since(v.from))
	before := len(v.events)
	r, err := v.forgetful.Cancel(ctx, p)
	r.Events, r.NextEvent = slices.Clone(v.events[before:]), uint64(len(v.events)+1)
	return r, err
}

// TestCancelAndStopWaitASecondForTheVenue: it does not tell what has happened, and some orders are unknown.
//
//attack:gate-cancel-first
func TestCancelAndStopWaitASecondForTheVenue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &silent{forgetful: &forgetful{takes: time.Hour}}
		o := newOffice(t, func(c *gate.Config) { v.venue = c.Broker.(*venue); c.Broker = v })
		o.Execute(ctx, buy(t, "9"))
		o.v.rests = true
		first := o.Execute(ctx, buy(t, "1"))
		for _, q := range []string{"2", "3", "4"} {
			o.Execute(ctx, buy(t, q))
		}
		v.from = time.Now()
		if res, err := o.Cancel(ctx, olgaCancels, first.Intent); err != nil || res.Outcome != trade.Accepted {
			t.Fatalf("%+v, %v", res, err)
		}
		if took := time.Since(v.from); took != time.Second || v.asked != 1 || !slices.Equal(v.after, []time.Duration{time.Second}) {
			t.Errorf("the cancel took %s, reached the venue after %v, and asked it %d times", took, v.after, v.asked)
		}
		v.from, v.asked, v.after = time.Now(), 0, nil
		rep := must(o.Kill(ctx, gate.StopRequest{Person: o.olga, Reason: "stop"}))(t)
		if took := time.Since(v.from); took != time.Second || v.asked != 1 || len(rep.Orders) != 3 {
			t.Errorf("the stop of %d orders took %s, and asked the venue %d times", len(rep.Orders), took, v.asked)
		}
		if !slices.Equal(v.after, []time.Duration{time.Second, time.Second, time.Second}) {
			t.Errorf("its cancels reached the venue after %v", v.after)
		}
	})
}

// TestCancelAndStopAskBeforeTheyLookUp: six orders are unknown, and the broker knows nothing of them.
//
//attack:gate-cancel-first
func TestCancelAndStopAskBeforeTheyLookUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, v := unknowns(t, 6)
		first, second := o.Execute(ctx, buy(t, "1")), o.Execute(ctx, buy(t, "2"))
		v.again()
		if res, err := o.Cancel(ctx, olgaCancels, first.Intent); err != nil || res.Outcome != trade.Accepted || len(v.again()) != 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		o.v.cancelErr = errors.New("not now")
		rep := must(o.Kill(ctx, gate.StopRequest{Person: o.olga, Reason: "stop"}))(t)
		if asked := v.again(); len(asked) != 6 || len(rep.Orders) != 7 {
			t.Fatalf("%d lookups, %+v", len(asked), rep.Orders)
		}
		for _, s := range rep.Orders {
			if s.State != gate.StopUnknown {
				t.Errorf("%s: %+v", second.Intent, s)
			}
		}
	})
}
