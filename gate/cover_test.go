package gate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// TestAPersonCoversAShortUnderAStop: a short position that runs away has a way out that opens none to agents.
//
//attack:gate-reduction
func TestAPersonCoversAShortUnderAStop(t *testing.T) {
	r := newRoom(t, strings.Replace(wideBook(), holdsAbove5, `"orders_per_minute": {"deny_above": "1000"}`, 1))
	r.want(t, "sell AAPL 10@100", "allow")
	must(r.Kill(ctx, gate.StopRequest{Person: r.olga, Reason: "it runs away"}))(t)
	if got := r.says(t, "buy", "AAPL", "10", "101"); !strings.HasPrefix(got, "deny KILL_SWITCH_ACTIVE") {
		t.Fatal(got)
	}
	refused := func(c gate.Call) {
		t.Helper()
		_, err := r.Reduce(ctx, r.ben, c.Order)
		r.wantRefused(t, err, policy.ReductionNotVerified)
	}
	refused(call(t, "buy", "AAPL", "11", "101"))
	refused(call(t, "sell", "AAPL", "1", "101"))
	refused(call(t, "buy", "MSFT", "1", "101"))
	refused(terms(t, "buy $100 AAPL market"))
	r.v.rests = true
	four := must(r.Reduce(ctx, r.ben, call(t, "buy", "AAPL", "4", "101").Order))(t)
	if four.State != ledger.Succeeded || four.OrderStatus() != "working" {
		t.Fatalf("%s", four.AppendJSON(nil))
	}
	refused(call(t, "buy", "AAPL", "7", "101")) // four are on their way
	r.v.rests = false
	six := must(r.Reduce(ctx, r.ben, call(t, "buy", "AAPL", "6", "101").Order))(t)
	if six.State != ledger.Succeeded || r.positions(t) != "AAPL -4" {
		t.Fatalf("%s\n%s", r.positions(t), six.AppendJSON(nil))
	}
}

// positions are those that the ledger knows.
func (d *room) positions(t testing.TB) string {
	t.Helper()
	var all []string
	for _, p := range must(d.Positions(ctx))(t) {
		if p.Quantity.Cmp(trade.Decimal{}) != 0 {
			all = append(all, p.Symbol.String()+" "+p.Quantity.String())
		}
	}
	return strings.Join(all, ", ")
}

// TestStopsWithoutEndAreOneStop: an agent stops one symbol after another that does not exist.
//
//attack:gate-stops
func TestStopsWithoutEndAreOneStop(t *testing.T) {
	o := newOffice(t)
	stop := func(r gate.StopRequest, symbol string) gate.StopReport {
		t.Helper()
		r.Reason, r.Scope = strings.Repeat("x", 500), scopeOf(t, "symbol:"+symbol)
		return must(o.Kill(ctx, r))(t)
	}
	agent := gate.StopRequest{Agent: "bot", Tier: trade.TierPropose}
	for i := range 99 {
		stop(agent, fmt.Sprintf("A%c%c", 'A'+i/10, 'A'+i%10))
	}
	if rep := stop(gate.StopRequest{Person: o.olga}, "MSFT"); rep.Stop.Scope != scopeOf(t, "symbol:MSFT") {
		t.Fatalf("%+v", rep)
	}
	for range 2 {
		if rep := stop(agent, "AAA"); !rep.Repeated || rep.Stop.Scope != scopeOf(t, "symbol:AAA") {
			t.Fatalf("%+v", rep)
		}
	}
	if rep := stop(agent, "ZZZ"); rep.Stop.Scope != (ledger.Scope{}) {
		t.Fatalf("%+v", rep)
	}
	stop(agent, "ZZY")
	if rep := stop(gate.StopRequest{Person: o.olga}, "AAPL"); rep.Stop.Scope != scopeOf(t, "symbol:AAPL") {
		t.Fatalf("%+v", rep)
	}
	if n := len(must(o.Stops(ctx))(t)); n != 102 {
		t.Fatalf("%d stops", n)
	}
}

// TestWhatAPersonsStopKeepsOnlyAPersonEnds: a person stops the account and leaves what works there; an agent, and a limit,
// then stop something else.
//
//attack:gate-kept-by-person
func TestWhatAPersonsStopKeepsOnlyAPersonEnds(t *testing.T) {
	o := newOffice(t)
	o.v.rests = true
	d := o.Execute(ctx, buy(t, "10"))
	must(o.Kill(ctx, gate.StopRequest{Person: o.olga, Reason: "for today", Keep: true, Scope: scopeOf(t, "account:paper")}))(t)
	works := func(want string) {
		t.Helper()
		if now, _, err := o.History(ctx, d.Intent); err != nil || now.OrderStatus() != want {
			t.Fatalf("%s, %v; want it %s", now.OrderStatus(), err, want)
		}
	}
	for _, scope := range []ledger.Scope{{}, scopeOf(t, "symbol:AAPL"), scopeOf(t, "agent:local")} {
		o.clock.pass(time.Second)
		rep := must(o.Kill(ctx, gate.StopRequest{Agent: "bot", Tier: trade.TierPropose, Reason: "more", Scope: scope}))(t)
		if len(rep.Orders) != 1 || rep.Orders[0].State != gate.StopKept {
			t.Errorf("%s: %+v", scope, rep.Orders)
		}
		must(o.Reconcile(ctx))(t)
		works("working")
	}
	must(o.Kill(ctx, gate.StopRequest{Person: o.olga, Reason: "and this", Scope: scopeOf(t, "symbol:AAPL")}))(t)
	works("cancelled")
}

// TestAnOrderThatLandsUnderALimitsStopIsCancelled: it was on its way when another agent's order stopped the account.
//
//attack:gate-landed-under-stop
func TestAnOrderThatLandsUnderALimitsStopIsCancelled(t *testing.T) {
	r := newRoom(t, book(`"order_quantity": {"deny_above": "5"}, "denials_per_minute": {"halt_above": "1"}`))
	r.v.rests = true
	arrived, goOn := make(chan struct{}), make(chan struct{})
	r.v.answer = func(context.Context, gate.Cleared) (gate.Receipt, error) {
		close(arrived)
		<-goOn
		return gate.Receipt{Outcome: trade.Accepted, OrderID: "v"}, nil
	}
	landed := make(chan ledger.Decision, 1)
	go func() { landed <- r.Execute(ctx, call(t, "buy", "AAPL", "1", "101", byAgent("slow"))) }()
	<-arrived
	r.v.mu.Lock()
	r.v.answer = nil
	r.v.mu.Unlock()
	r.clock.pass(time.Second)
	for range 3 {
		r.says(t, "buy", "AAPL", "6", "101", byAgent("noisy"))
	}
	if stops := must(r.Stops(ctx))(t); len(stops) != 1 || stops[0].Scope != scopeOf(t, "account:paper") {
		t.Fatalf("%+v", stops)
	}
	close(goOn)
	d := <-landed
	if now, _, err := r.History(ctx, d.Intent); err != nil || now.OrderStatus() != "cancelled" {
		t.Fatalf("%s, %v", now.OrderStatus(), err)
	}
}

// TestHalfAnAnswerStopsNobody: the broker shows cash, and none of the positions that nothing has sold.
//
//attack:gate-half-answer
func TestHalfAnAnswerStopsNobody(t *testing.T) {
	r := newRoom(t, book(`"daily_loss": {"halt_above": "1000.00"}, "drawdown_percent": {"halt_above": "5"}`))
	r.want(t, "buy AAPL 100@100.10", "allow")
	r.v.cash = "89990"
	r.want(t, "buy AAPL 1@100.10", "allow")
	r.v.half = true
	for range 3 {
		r.clock.pass(time.Second)
		r.want(t, "buy AAPL 1@100.10", "deny LOSS_UNAVAILABLE EQUITY_UNAVAILABLE")
	}
	if stops := must(r.Stops(ctx))(t); len(stops) != 0 {
		t.Fatalf("%+v", stops)
	}
	r.v.half = false
	r.want(t, "buy AAPL 1@100.10", "allow")
}

// TestAStopWhileTheJournalIsBusyLeavesWhatProtects: what is not recorded for a moment is known all the same.
//
//attack:gate-stop-unrecorded-leaves
func TestAStopWhileTheJournalIsBusyLeavesWhatProtects(t *testing.T) {
	r := newRoom(t, wideBook(), func(c *gate.Config) { c.LockWait = 50 * time.Millisecond })
	r.want(t, "buy AAPL 5@101", "allow")
	r.v.rests = true
	guard := r.Execute(ctx, terms(t, "sell 3 AAPL stop 90"))
	entry := r.want(t, "buy MSFT 1@49", "allow")
	out := must(r.Reduce(ctx, r.ben, call(t, "sell", "AAPL", "2", "90").Order))(t)
	if said(guard) != "allow" || out.OrderStatus() != "working" {
		t.Fatalf("%s\n%s", guard.AppendJSON(nil), out.AppendJSON(nil))
	}
	release := r.lockJournal(t)
	over := make(chan struct{})
	defer close(over)
	go func() { // a stop without a record waits for what may still leave
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
				r.clock.pass(50 * time.Millisecond)
			}
		}
	}()
	rep := must(r.Kill(ctx, gate.StopRequest{Agent: "bot", Tier: trade.TierPropose, Reason: "now"}))(t)
	states := map[trade.IntentID]gate.StopState{}
	for _, o := range rep.Orders {
		states[o.Intent] = o.State
	}
	if rep.Recorded || states[guard.Intent] != gate.StopKept || states[out.Intent] != gate.StopKept || states[entry.Intent] != gate.StopGone {
		t.Errorf("%+v", rep)
	}
	if left := must(r.v.Working(ctx))(t); len(left) != 2 {
		t.Errorf("%+v are left", left)
	}
	if rep := must(r.Kill(ctx, gate.StopRequest{Person: r.olga, Reason: "all of it", All: true}))(t); len(rep.Orders) != 2 {
		t.Errorf("%+v", rep)
	}
	if left := must(r.v.Working(ctx))(t); len(left) != 0 {
		t.Errorf("%+v are left", left)
	}
	release()
}

// TestAnAgentsKeepingStopDisarmsNoOther: an agent stops everything and has its orders left as they are, before somebody else
// stops it.
//
//attack:gate-kept-by-person
func TestAnAgentsKeepingStopDisarmsNoOther(t *testing.T) {
	for name, second := range map[string]gate.StopRequest{
		"a person": {}, "who runs the command": {Local: "olga"}, "who runs it for one symbol": {Local: "olga", Scope: ledger.Scope{Kind: ledger.OneSymbol, Name: "AAPL"}},
		"another agent": {Agent: "guard", Tier: trade.TierPropose},
	} {
		o := newOffice(t)
		o.v.rests = true
		d := o.Execute(ctx, buy(t, "10"))
		must(o.Kill(ctx, gate.StopRequest{Agent: "local", Tier: trade.TierPropose, Reason: "mine stay", Keep: true}))(t)
		if second.Reason = "stop"; second.Local == "" && second.Agent == "" {
			second.Person = o.olga
		}
		o.clock.pass(time.Second)
		rep := must(o.Kill(ctx, second))(t)
		if now, _, err := o.History(ctx, d.Intent); err != nil || now.OrderStatus() != "cancelled" {
			t.Errorf("%s: %s, %v: %+v", name, now.OrderStatus(), err, rep)
		}
	}
}
