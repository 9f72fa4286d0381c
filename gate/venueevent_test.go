package gate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

var olgaCancels = gate.Origin{Agent: "olga", Surface: "person", Tool: "order_cancel"}

// TestEventThatCannotBeWrittenStopsTheAccountAndNotTheJournal: what a venue tells is not what we would write ourselves.
//
//attack:gate-event-sound
func TestEventThatCannotBeWrittenStopsTheAccountAndNotTheJournal(t *testing.T) {
	for name, edit := range map[string]func(*gate.VenueEvent){
		"no kind": func(e *gate.VenueEvent) { e.Kind = 0 }, "a kind that is none": func(e *gate.VenueEvent) { e.Kind = 200 },
		"no symbol": func(e *gate.VenueEvent) { e.Symbol = trade.Symbol{} }, "no side": func(e *gate.VenueEvent) { e.Side = 0 },
		"a fill of nothing": func(e *gate.VenueEvent) { e.Quantity = trade.Decimal{} }, "a fill for nothing": func(e *gate.VenueEvent) { e.Price = trade.Decimal{} },
		"a fill of less than nothing": func(e *gate.VenueEvent) { e.Quantity = trade.Decimal{}.Sub(trade.Whole(1)) },
		"a side that is none":         func(e *gate.VenueEvent) { e.Side = 7 },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			o.v.rests = true
			d := o.Execute(ctx, buy(t, "10"))
			o.v.mu.Lock()
			o.v.event(gate.VenueFill, o.v.sent[0], trade.Whole(1))
			edit(&o.v.events[len(o.v.events)-1])
			o.v.mu.Unlock()
			for range 2 { // what is seen again is not on record again
				if err := o.Recover(ctx); err != nil {
					t.Fatal(err)
				}
			}
			stops := must(o.Stops(ctx))(t)
			if len(stops) != 1 || stops[0].Scope != scopeOf(t, "account:paper") || !strings.Contains(stops[0].Reason, "event 1 of the broker") {
				t.Fatalf("%+v", stops)
			}
			if got := o.Execute(ctx, buy(t, "1")); !strings.HasPrefix(codes(got), "KILL_SWITCH_ACTIVE") {
				t.Fatalf("%s", got.AppendJSON(nil))
			}
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
			o.Gate = reopen(t, o.cfg)
			if _, err := o.Verify(ctx, nil, nil); err != nil {
				t.Fatal(err)
			}
			if res, err := o.Cancel(ctx, olgaCancels, d.Intent); err != nil || res.Outcome != trade.Accepted {
				t.Fatalf("the way out: %+v, %v", res, err)
			}
		})
	}
}

// TestBrokersWordsAreCut: an answer of a megabyte would not fit into a record.
//
//attack:gate-broker-words
func TestBrokersWordsAreCut(t *testing.T) {
	long := strings.Repeat("no\n", 400_000)
	for name, answer := range map[string]func() (gate.Receipt, error){
		"a rejection": func() (gate.Receipt, error) {
			return gate.Receipt{Outcome: trade.Rejected, Message: long, Code: long, OrderID: long}, nil
		},
		"an error":              func() (gate.Receipt, error) { return gate.Receipt{}, errors.New(long) },
		"a panic":               func() (gate.Receipt, error) { panic(long) },
		"that nothing was sent": func() (gate.Receipt, error) { return gate.Receipt{}, errors.Join(gate.ErrNotSent, errors.New(long)) },
	} {
		o := newOffice(t)
		o.v.answer = func(context.Context, gate.Cleared) (gate.Receipt, error) { return answer() }
		got := o.Execute(ctx, buy(t, "10"))
		if stops := must(o.Stops(ctx))(t); len(stops) > 0 || len(got.Message) > 600 || strings.Contains(got.Message, "\n") {
			t.Errorf("%s: %+v, %d characters", name, stops, len(got.Message))
		}
		if now := o.state(t, got); now != got.State || now == ledger.Allowed {
			t.Errorf("%s: on record as %s, answered %s", name, now, got.State)
		}
	}
}

// TestOrderThatAPersonSaysWasAcceptedWorks: its fill uses up what it reserved, a stop cancels it, a comparison finds it.
//
//attack:ledger-resolved
func TestOrderThatAPersonSaysWasAcceptedWorks(t *testing.T) {
	unknown := func(t *testing.T) (*office, ledger.Decision) {
		o := newOffice(t)
		wantDecision(t, o.Execute(ctx, buy(t, "10")), policy.Allow, ledger.Succeeded, "")
		o.v.rests = true
		o.v.answer = func(context.Context, gate.Cleared) (gate.Receipt, error) {
			return gate.Receipt{}, errors.New("timeout")
		}
		s := o.Execute(ctx, call(t, "sell", "AAPL", "10", "90.00"))
		o.v.answer = nil
		must(o.Resolve(ctx, gate.Resolution{Intent: s.Intent, Outcome: trade.Accepted, By: "olga", Reason: "seen at the broker"}))(t)
		return o, s
	}
	settled := func(t *testing.T, o *office) {
		t.Helper()
		if r := must(o.Reconcile(ctx))(t); len(r.Differences) > 0 {
			t.Fatalf("%+v", r)
		}
		o.v.rests = false
		wantDecision(t, o.Execute(ctx, buy(t, "10")), policy.Allow, ledger.Succeeded, "")
		if got := o.Execute(ctx, call(t, "sell", "AAPL", "10", "90.00")); got.Verdict != policy.Allow {
			t.Errorf("the exit: %s", got.AppendJSON(nil))
		}
	}
	t.Run("it is filled", func(t *testing.T) {
		o, _ := unknown(t)
		o.v.mu.Lock()
		c := o.v.sent[len(o.v.sent)-1]
		o.v.event(gate.VenueFill, c, c.Order.Quantity())
		o.v.mu.Unlock()
		settled(t, o)
	})
	t.Run("it works", func(t *testing.T) {
		o, s := unknown(t)
		if r := must(o.Reconcile(ctx))(t); len(r.Differences) > 0 {
			t.Fatalf("%+v", r)
		}
		if res, err := o.Cancel(ctx, olgaCancels, s.Intent); err != nil || res.Outcome != trade.Accepted {
			t.Fatalf("%+v, %v", res, err)
		}
	})
}

// TestAnAgentsStopLeavesAPersonsReduction: who is stopped does not take the way out from who stopped him.
//
//attack:gate-reduction-stays
func TestAnAgentsStopLeavesAPersonsReduction(t *testing.T) {
	o := newOffice(t)
	wantDecision(t, o.Execute(ctx, buy(t, "10")), policy.Allow, ledger.Succeeded, "")
	must(o.Kill(ctx, gate.StopRequest{Person: o.olga, Reason: "stop"}))(t)
	o.clock.pass(time.Second)
	o.v.rests = true
	four := must(o.Reduce(ctx, o.ben, call(t, "sell", "AAPL", "4", "90.00").Order))(t)
	works := func(want string) {
		t.Helper()
		if now, _, err := o.History(ctx, four.Intent); err != nil || now.OrderStatus() != want {
			t.Fatalf("%s, %v; want it %s", now.OrderStatus(), err, want)
		}
	}
	for _, scope := range []ledger.Scope{{}, scopeOf(t, "symbol:AAPL"), scopeOf(t, "symbol:AAPL"), scopeOf(t, "account:paper")} {
		o.clock.pass(time.Second)
		rep := must(o.Kill(ctx, gate.StopRequest{Agent: "bot", Tier: trade.TierPropose, Reason: "again", Scope: scope}))(t)
		for _, s := range rep.Orders {
			if s.State != gate.StopKept {
				t.Errorf("%s: %+v", scope, s)
			}
		}
		must(o.Reconcile(ctx))(t)
		works("working")
	}
	o.clock.pass(time.Second)
	must(o.Kill(ctx, gate.StopRequest{Person: o.olga, Reason: "this too"}))(t)
	works("cancelled")
}

// TestAFloodOfDenialsHaltsNobodyElse: what is remembered is the whole account's, and what is not says nothing of an agent.
//
//attack:policy-count-open
func TestAFloodOfDenialsHaltsNobodyElse(t *testing.T) {
	r := newRoom(t, book(`"denials_per_minute": {"halt_above": "20", "per": "agent"}`))
	r.want(t, "buy AAPL 1@101", "allow", byAgent("quiet"))
	for range 1001 {
		r.says(t, "buy", "TSLA", "1", "1", byAgent("noisy")) // no rule is about it
	}
	if got := r.want(t, "buy AAPL 2@101", "deny COUNT_UNAVAILABLE", byAgent("quiet")); len(must(r.Stops(ctx))(t)) > 0 {
		t.Fatalf("%s", got.AppendJSON(nil))
	}
	r.want(t, "buy AAPL 3@101", "deny DENIALS_EXCEED_LIMIT", byAgent("noisy"))
	if stops := must(r.Stops(ctx))(t); len(stops) != 1 || stops[0].Scope != scopeOf(t, "agent:noisy") {
		t.Fatalf("%+v", stops)
	}
	r.clock.pass(61 * time.Second)
	r.want(t, "buy AAPL 2@101", "allow", byAgent("quiet"))
}
