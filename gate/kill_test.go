package gate_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

func stop(reason string, scope ...ledger.Scope) gate.StopRequest {
	r := gate.StopRequest{Local: "test", Reason: reason}
	if len(scope) > 0 {
		r.Scope = scope[0]
	}
	return r
}

func scopeOf(t testing.TB, text string) ledger.Scope {
	t.Helper()
	s, ok := ledger.ParseScope(text)
	if !ok {
		t.Fatalf("%q is no scope", text)
	}
	return s
}

//attack:gate-kill
//attack:ledger-kill-latched
//fault:f12
//fault:f113
func TestKillStopsItsScopeAndNoOther(t *testing.T) {
	for text, stopped := range map[string]map[string]bool{
		"everything":    {"local AAPL": true, "local MSFT": true, "other AAPL": true},
		"account:paper": {"local AAPL": true, "local MSFT": true, "other AAPL": true},
		"account:other": {},
		"agent:local":   {"local AAPL": true, "local MSFT": true},
		"agent:LOCAL":   {"local AAPL": true, "local MSFT": true},
		"account:Paper": {"local AAPL": true, "local MSFT": true, "other AAPL": true},
		"symbol:AAPL":   {"local AAPL": true, "other AAPL": true},
	} {
		t.Run(text, func(t *testing.T) {
			o := newOffice(t)
			first := must(o.Kill(ctx, stop("first", scopeOf(t, text))))(t)
			if !first.Recorded || first.Repeated {
				t.Fatalf("%+v", first)
			}
			if again := must(o.Kill(ctx, stop("second", scopeOf(t, text))))(t); !again.Repeated {
				t.Fatalf("%+v", again)
			}
			check := func(killed bool) {
				t.Helper()
				for _, who := range []string{"local AAPL", "local MSFT", "other AAPL"} {
					agent, symbol, _ := strings.Cut(who, " ")
					c := call(t, "buy", symbol, "1", "1.00", byAgent(trade.Agent(agent)))
					d := o.Execute(ctx, c)
					if no := killed && stopped[who]; no != (d.Verdict == policy.Deny) {
						t.Errorf("%s: %s", who, d.AppendJSON(nil))
					} else if no && (d.Error != "killswitch_active" || len(d.Stops) != 1 || d.Stops[0].Reason != "first" || d.Stops[0].By != "local:test" || d.Stops[0].Since.IsZero()) {
						t.Errorf("%s: %s", who, d.AppendJSON(nil))
					}
					if p := o.Propose(ctx, c); killed && stopped[who] && p.Verdict != policy.Deny {
						t.Errorf("proposed %s: %s", who, p.AppendJSON(nil))
					}
					if a := o.Authorize(ctx, c); killed && stopped[who] && a.Verdict != policy.Deny {
						t.Errorf("permitted %s: %s", who, a.AppendJSON(nil))
					}
				}
			}
			check(true)
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
			o.Gate = reopen(t, o.cfg) // a restart keeps it
			check(true)
			if err := o.Reset(ctx, o.olga, scopeOf(t, "agent:nobody"), "another scope"); err == nil {
				t.Fatal("a scope that is not engaged was reset")
			}
			check(true)
			if err := o.Reset(ctx, o.olga, scopeOf(t, text), "looked at"); err != nil {
				t.Fatal(err)
			}
			check(false)
		})
	}
}

//attack:gate-reset-person
//attack:gate-reason-text
//fault:f12
//fault:f70
func TestOnlyAPersonResets(t *testing.T) {
	o := newOffice(t)
	must(o.Kill(ctx, stop("stop")))(t)
	o.wantRefused(t, o.Reset(ctx, gate.Person{}, ledger.Scope{}, "please"), policy.PersonUnknown)
	o.wantRefused(t, o.Reset(ctx, o.anna, ledger.Scope{}, ""), policy.ReasonMissing)
	token := must(o.AddAgent(ctx, o.olga, "bot", trade.TierExecute))(t)
	_, err := o.Identify(ctx, token, "test")
	o.wantRefused(t, err, policy.PersonUnknown)
	stale := o.anna
	must(o.RotatePerson(ctx, o.olga, "anna"))(t)
	o.wantRefused(t, o.Reset(ctx, stale, ledger.Scope{}, "old credential"), policy.PersonUnknown)
	if stops := must(o.Stops(ctx))(t); len(stops) != 1 {
		t.Fatalf("%v", stops)
	}
	if err := o.Reset(ctx, o.ben, ledger.Scope{}, strings.Repeat("x", 5000)); err != nil {
		t.Fatal(err)
	}
	for _, e := range events(t, o.Gate) {
		if r, ok := e.(ledger.KillReset); ok && len(r.Reason) > 510 {
			t.Fatalf("a reason of %d bytes", len(r.Reason))
		}
	}
	wantDecision(t, o.Execute(ctx, buy(t, "1")), policy.Allow, ledger.Succeeded, "")
}

//attack:gate-kill-tier
//attack:gate-tier
func TestTiersOfTheGate(t *testing.T) {
	o := newOffice(t)
	for n := trade.TierRead; n <= trade.TierExecute; n++ {
		for name, c := range map[string]struct {
			needs trade.Tier
			do    func(gate.Call) ledger.Decision
		}{
			"execute":   {trade.TierExecute, func(c gate.Call) ledger.Decision { return o.Execute(ctx, c) }},
			"authorize": {trade.TierExecute, func(c gate.Call) ledger.Decision { return o.Authorize(ctx, c) }},
			"propose":   {trade.TierPropose, func(c gate.Call) ledger.Decision { return o.Propose(ctx, c) }},
			"check":     {trade.TierRead, func(c gate.Call) ledger.Decision { return o.Check(ctx, c) }},
		} {
			d := c.do(buy(t, "1", tier(n)))
			no := n < c.needs
			if no != (d.Verdict == policy.Deny) || no != (d.Error == "permission_denied") || no != (d.Tier != nil) {
				t.Errorf("%s at tier %s: %s", name, n, d.AppendJSON(nil))
			}
			if no && (d.Tier.Required != c.needs || d.Tier.Current != n || !strings.Contains(codes(d), "TIER_TOO_LOW")) {
				t.Errorf("%s at tier %s: %s", name, n, d.AppendJSON(nil))
			}
		}
	}
	_, err := o.Kill(ctx, gate.StopRequest{Agent: "local", Reason: "x"})
	o.wantRefused(t, err, policy.TierTooLow)
	if stops := must(o.Stops(ctx))(t); len(stops) != 0 {
		t.Fatalf("%v", stops)
	}
	if rep := must(o.Kill(ctx, gate.StopRequest{Agent: "local", Tier: trade.TierPropose, Reason: "x"}))(t); rep.Stop.By != "agent:local" {
		t.Fatalf("%+v", rep)
	}
}

// TestKillCancelsAndReports: what works is cancelled, what cannot be cancelled is said to be there, what nobody can tell is
// unknown; a cancel passes while the switch is engaged.
//
//fault:f05
//fault:f10
func TestKillCancelsAndReports(t *testing.T) {
	o := newOffice(t)
	o.v.rests = true
	working := o.Execute(ctx, buy(t, "1"))
	mine := o.Execute(ctx, call(t, "buy", "MSFT", "1", "1.00"))
	permitted := o.Authorize(ctx, buy(t, "2", atHook, withCall("c")))
	o.v.answer = func(context.Context, gate.Cleared) (gate.Receipt, error) { return gate.Receipt{}, errors.New("lost") }
	lost := o.Execute(ctx, buy(t, "3"))
	o.v.answer = nil
	rep := must(o.Kill(ctx, stop("stop", scopeOf(t, "symbol:AAPL"))))(t)
	got := map[trade.IntentID]gate.StopState{}
	for _, x := range rep.Orders {
		got[x.Intent] = x.State
	}
	if len(got) != 3 || got[working.Intent] != gate.StopGone || got[permitted.Intent] != gate.StopUnknown || got[lost.Intent] == "" {
		t.Fatalf("%+v", rep.Orders)
	}
	must(o.Kill(ctx, stop("stop")))(t)
	if d := must(o.Proposals(ctx))(t); len(d) != 0 {
		t.Fatal(d)
	}
	if now, _, err := o.History(ctx, mine.Intent); err != nil || now.Ended != ledger.WasCancelled {
		t.Fatalf("%v: %s", err, now.AppendJSON(nil))
	}
}

// TestStopWithoutABrokerCancelsLater: the command line latches, and who next has the broker cancels, unless told to keep.
func TestStopWithoutABrokerCancelsLater(t *testing.T) {
	for name, keep := range map[string]bool{"cancels": false, "keeps": true} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			o.v.rests = true
			d := o.Execute(ctx, buy(t, "1"))
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
			cfg := o.cfg
			cfg.Daemon, cfg.Broker = false, nil
			rep := must(reopen(t, cfg).Kill(ctx, gate.StopRequest{Local: "x", Reason: "y", Keep: keep}))(t)
			want := gate.StopPending
			if keep {
				want = gate.StopKept
			}
			if len(rep.Orders) != 1 || rep.Orders[0].State != want {
				t.Fatalf("%+v", rep)
			}
			o.Gate = reopen(t, o.cfg)
			must(o.Reconcile(ctx))(t)
			if now, _, err := o.History(ctx, d.Intent); err != nil || (now.OrderStatus() == "working") != keep {
				t.Fatalf("%v: %s", err, now.AppendJSON(nil))
			}
		})
	}
}

// TestPendingCancelOutlivesAReset: what a stop without a broker has promised is kept although the stop is reset before.
//
//attack:gate-cancel-wanted
func TestPendingCancelOutlivesAReset(t *testing.T) {
	o := newOffice(t)
	o.v.rests = true
	d := o.Execute(ctx, buy(t, "1"))
	later := o.Execute(ctx, call(t, "buy", "MSFT", "1", "1.00"))
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	cfg := o.cfg
	cfg.Daemon, cfg.Broker = false, nil
	alone := reopen(t, cfg)
	must(alone.Kill(ctx, stop("stop", scopeOf(t, "symbol:AAPL"))))(t)
	anna := must(alone.Identify(ctx, o.creds["anna"], "test"))(t)
	if err := alone.Reset(ctx, anna, scopeOf(t, "symbol:AAPL"), "looked at"); err != nil {
		t.Fatal(err)
	}
	o.Gate = reopen(t, o.cfg)
	for id, want := range map[trade.IntentID]string{d.Intent: "cancelled", later.Intent: "working"} {
		if now, _, err := o.History(ctx, id); err != nil || now.OrderStatus() != want {
			t.Errorf("%v: %s; want %s", err, now.AppendJSON(nil), want)
		}
	}
}

// TestKillCancelsThoughEventsCannotBeRead: what cannot be looked at does not stop a cancel.
//
//attack:gate-cancel-wanted
//fault:f07
func TestKillCancelsThoughEventsCannotBeRead(t *testing.T) {
	o := newOffice(t)
	o.v.rests = true
	o.Execute(ctx, buy(t, "1"))
	o.v.pageErr = errors.New("not now")
	must(o.Kill(ctx, stop("stop")))(t)
	if left := must(o.v.Working(ctx))(t); len(left) != 0 {
		t.Fatalf("%+v still work", left)
	}
	o.v.pageErr = nil
}

// TestRepeatedStopOfAnAgentWritesNothing: it changes nothing, and an agent may repeat it without end.
func TestRepeatedStopOfAnAgentWritesNothing(t *testing.T) {
	o := newOffice(t)
	r := gate.StopRequest{Agent: "bot", Tier: trade.TierPropose, Reason: "x"}
	must(o.Kill(ctx, r))(t)
	before := must(o.Head(ctx))(t)
	for range 20 {
		if rep := must(o.Kill(ctx, r))(t); !rep.Repeated || !rep.Recorded {
			t.Fatalf("%+v", rep)
		}
	}
	if after := must(o.Head(ctx))(t); after.Seq != before.Seq {
		t.Fatalf("%d records", after.Seq-before.Seq)
	}
}

// TestStopTouchesNobodyElsesOrders where others share the account.
func TestStopTouchesNobodyElsesOrders(t *testing.T) {
	o := newOffice(t, shared)
	o.v.strange, o.v.rests = buy(t, "3").Order, true
	if rep := must(o.Kill(ctx, stop("stop")))(t); len(rep.Orders) != 0 {
		t.Fatalf("%+v", rep.Orders)
	}
}

// TestCancelThatDidNotArriveIsStillWanted: the connection breaks before the cancel leaves, the process ends, and the next one
// asks again.
//
//attack:gate-cancel-wanted
func TestCancelThatDidNotArriveIsStillWanted(t *testing.T) {
	o := newOffice(t)
	o.v.rests = true
	d := o.Execute(ctx, buy(t, "1"))
	o.v.cancelErr = gate.ErrNotSent
	if res, err := o.CancelOwn(ctx, buy(t, "1").Origin, trade.TierPropose, d.Intent); err != nil || res.Outcome != trade.Unknown {
		t.Fatalf("%+v, %v: a cancel that did not leave is not refused by the broker", res, err)
	}
	o.v.cancelErr = nil
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o.Gate = reopen(t, o.cfg)
	if now, _, err := o.History(ctx, d.Intent); err != nil || now.OrderStatus() != "cancelled" {
		t.Fatalf("%v: %s", err, now.AppendJSON(nil))
	}
}

// TestAgentDoesNotEndWhatAPersonKeeps: a person's stop keeps working orders, and an agent's stop after it cancels none.
func TestAgentDoesNotEndWhatAPersonKeeps(t *testing.T) {
	o := newOffice(t)
	o.v.rests = true
	d := o.Execute(ctx, buy(t, "1"))
	must(o.Kill(ctx, gate.StopRequest{Person: o.anna, Reason: "look", Keep: true}))(t)
	rep := must(o.Kill(ctx, gate.StopRequest{Agent: "bot", Tier: trade.TierPropose, Reason: "me too"}))(t)
	if !rep.Repeated || rep.Stop.By != "person:anna" || rep.Stop.Reason != "look" || rep.Orders[0].State != gate.StopKept {
		t.Fatalf("%+v", rep)
	}
	if now, _, err := o.History(ctx, d.Intent); err != nil || now.OrderStatus() != "working" {
		t.Fatalf("%v: %s", err, now.AppendJSON(nil))
	}
	if rep := must(o.Kill(ctx, gate.StopRequest{Person: o.olga, Reason: "all"}))(t); rep.Orders[0].State != gate.StopGone {
		t.Fatalf("%+v", rep)
	}
}

// TestKillCancelsWithoutAJournal: the broker is asked to cancel although nothing can be recorded.
//
//attack:gate-cancel-unrecorded
//fault:f125
func TestKillCancelsWithoutAJournal(t *testing.T) {
	for text, want := range map[string]int{"everything": 2, "symbol:AAPL": 1, "agent:local": 0} {
		t.Run(text, func(t *testing.T) {
			v := &venue{rests: true}
			home := filepath.Join(t.TempDir(), "home")
			cfg := config(home, v)
			cfg.SendWithin = 300 * time.Millisecond
			g := must(gate.Open(ctx, cfg))(t)
			defer g.Close() // its error is that of the harm
			g.Execute(ctx, buy(t, "1"))
			g.Execute(ctx, call(t, "buy", "MSFT", "1", "1.00"))
			if err := os.Remove(filepath.Join(home, gate.JournalName)); err != nil {
				t.Fatal(err)
			}
			rep := must(g.Kill(ctx, stop("no journal", scopeOf(t, text))))(t)
			gone := 0
			for _, x := range rep.Orders {
				if x.State == gate.StopGone {
					gone++
				}
			}
			if left := must(v.Working(ctx))(t); rep.Recorded || gone != want || len(left) != 2-want {
				t.Fatalf("%d left: %+v", len(left), rep)
			}
		})
	}
}

// TestStopOutlivesTheJournal: the journal is put back from before the stop, and the stop still stands.
//
//fault:f12
func TestStopOutlivesTheJournal(t *testing.T) {
	o := newOffice(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := o.Backup(ctx, backup); err != nil {
		t.Fatal(err)
	}
	must(o.Kill(ctx, stop("before the loss")))(t)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.cfg.Home, gate.JournalName)
	raw, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(path + "-wal")
	os.Remove(path + "-shm")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Gate = reopen(t, o.cfg)
	if d := o.Execute(ctx, buy(t, "1")); d.Error != "killswitch_active" || !strings.Contains(d.Stops[0].Reason, "before the loss") {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	if err := o.Reset(ctx, o.anna, ledger.Scope{}, "seen"); err != nil {
		t.Fatal(err)
	}
	wantDecision(t, o.Execute(ctx, buy(t, "1")), policy.Allow, ledger.Succeeded, "")
}

// TestReductionPassesAKill: a person may sell what the broker shows, and no more, while everything is stopped.
//
//attack:gate-reduction
//fault:f77
func TestReductionPassesAKill(t *testing.T) {
	o := newOffice(t)
	wantDecision(t, o.Execute(ctx, buy(t, "10")), policy.Allow, ledger.Succeeded, "")
	o.writePolicy(t, `{"not":"a policy"}`)
	must(o.Kill(ctx, stop("stop")))(t)
	sell := func(n string) trade.Order { return call(t, "sell", "AAPL", n, "90.00").Order }
	_, err := o.Reduce(ctx, o.ben, sell("11"))
	o.wantRefused(t, err, policy.ReductionNotVerified)
	_, err = o.Reduce(ctx, o.ben, buy(t, "1").Order)
	o.wantRefused(t, err, policy.ReductionNotVerified)
	_, err = o.Reduce(ctx, gate.Person{}, sell("1"))
	o.wantRefused(t, err, policy.PersonUnknown)
	_, err = o.Reduce(ctx, o.ben, call(t, "sell", "MSFT", "1", "90.00").Order)
	o.wantRefused(t, err, policy.ReductionNotVerified)
	o.v.rests = true
	four := must(o.Reduce(ctx, o.ben, sell("4")))(t)
	wantDecision(t, four, policy.Allow, ledger.Succeeded, "")
	must(o.Reconcile(ctx))(t)
	if now, _, err := o.History(ctx, four.Intent); err != nil || now.OrderStatus() != "working" {
		t.Fatalf("the stop that is still engaged cancelled a reduction that came after it: %v, %s", err, now.AppendJSON(nil))
	}
	_, err = o.Reduce(ctx, o.ben, sell("7")) // four are pending
	o.wantRefused(t, err, policy.ReductionNotVerified)
	o.v.short = true // the broker says that less is held than the ledger does
	_, err = o.Reduce(ctx, o.ben, sell("6"))
	o.wantRefused(t, err, policy.ReductionNotVerified)
	o.v.short = false
	wantDecision(t, must(o.Reduce(ctx, o.ben, sell("6")))(t), policy.Allow, ledger.Succeeded, "")
	if d := o.Execute(ctx, call(t, "sell", "AAPL", "1", "90.00")); d.Verdict != policy.Deny {
		t.Fatalf("an agent's sale passed the kill: %s", d.AppendJSON(nil))
	}
}

// TestNothingLeavesAfterAKill kills in the middle of a batch of 50 parallel orders at a slow broker.
//
//attack:gate-kill-waits
//fault:f08
func TestNothingLeavesAfterAKill(t *testing.T) {
	var returned atomic.Bool
	v := &venue{}
	v.answer = func(_ context.Context, c gate.Cleared) (gate.Receipt, error) {
		if returned.Load() {
			t.Errorf("%s reached the broker after the kill had returned", c.ID)
		}
		time.Sleep(3 * time.Millisecond)
		return gate.Receipt{Outcome: trade.Accepted}, nil
	}
	g := open(t, v)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for n := 0; ; n++ {
				if d := g.Execute(ctx, call(t, "buy", "AAPL", "1", "1.00", withOrder(fmt.Sprintf("o-%d-%d", i, n)))); d.Verdict == policy.Deny {
					return
				}
			}
		})
	}
	for v.submits() < 20 {
		time.Sleep(time.Millisecond)
	}
	rep := must(g.Kill(ctx, stop("in the middle")))(t)
	returned.Store(true)
	sent := v.submits()
	wg.Wait()
	if !rep.Recorded || v.submits() != sent {
		t.Fatalf("%d orders after the kill: %+v", v.submits()-sent, rep.Stop)
	}
}

// TestKillWaitsThoughTheClockIsBehind: an order's time in the record never falls, so it may be later than the clock of the
// stop that comes after it.
//
//attack:gate-kill-waits
func TestKillWaitsThoughTheClockIsBehind(t *testing.T) {
	o := newOffice(t)
	wantDecision(t, o.Execute(ctx, buy(t, "1")), policy.Allow, ledger.Succeeded, "")
	o.clock.pass(-3 * time.Second)
	var released atomic.Bool
	answer := make(chan struct{})
	o.v.answer = func(context.Context, gate.Cleared) (gate.Receipt, error) {
		<-answer
		return gate.Receipt{Outcome: trade.Accepted}, nil
	}
	var wg sync.WaitGroup
	wg.Go(func() { o.Execute(ctx, buy(t, "2")) })
	for o.v.submits() < 2 {
		time.Sleep(time.Millisecond)
	}
	o.v.mu.Lock()
	if last := o.v.sent[1].NotAfter; last.After(o.clock.now().Add(5 * time.Second)) {
		t.Errorf("it may leave until %s, longer than a stop without a journal waits at %s", last, o.clock.now())
	}
	o.v.mu.Unlock()
	wg.Go(func() {
		time.Sleep(30 * time.Millisecond)
		released.Store(true)
		close(answer)
	})
	rep := must(o.Kill(ctx, stop("now")))(t)
	if !released.Load() {
		t.Errorf("the stop returned while an order was on its way: %+v", rep)
	}
	wg.Wait()
	if len(rep.Orders) != 1 || rep.Orders[0].State != gate.StopGone {
		t.Errorf("%+v", rep.Orders)
	}
}

// flood executes orders as another process until it is stopped, and writes down when each reached the broker.
func flood(home string) int {
	log, err := os.OpenFile(filepath.Join(home, fmt.Sprintf("sent-%d", os.Getpid())), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 2
	}
	v := &venue{answer: func(context.Context, gate.Cleared) (gate.Receipt, error) {
		fmt.Fprintln(log, time.Now().UnixNano())
		return gate.Receipt{Outcome: trade.Accepted}, nil
	}}
	g, err := gate.Open(ctx, config(home, v))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := 0; ; n++ {
				c := theOrder()
				c.Origin.ToolCallID = ""
				c.Tags.ClientOrderID = trade.ClientOrderID(fmt.Sprintf("o-%d-%d-%d", os.Getpid(), i, n))
				d := g.Execute(ctx, c)
				if d.Error == "killswitch_active" {
					return
				}
				if d.Verdict == policy.Deny && d.Error != "journal_unavailable" {
					fmt.Fprintf(os.Stderr, "%s\n", d.AppendJSON(nil))
					os.Exit(7)
				}
			}
		})
	}
	wg.Wait()
	if g.Close() != nil {
		return 2
	}
	return 0
}

// TestKillStopsThreeProcesses kills from one process what three others are sending.
//
//fault:f08
func TestKillStopsThreeProcesses(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	g := reopen(t, config(home, nil))
	var children []*exec.Cmd
	for range 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), childHome+"="+home, childFlood+"=1")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		children = append(children, cmd)
	}
	for begun := 0; begun < 3; time.Sleep(5 * time.Millisecond) {
		begun = 0
		for _, times := range sentTimes(t, home) {
			if len(times) > 5 {
				begun++
			}
		}
	}
	rep := must(g.Kill(ctx, stop("from another process")))(t)
	returned := time.Now().UnixNano()
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	for file, times := range sentTimes(t, home) {
		for _, at := range times {
			if at > returned {
				t.Errorf("%s: an order reached the broker %s after the kill had returned", file, time.Duration(at-returned))
			}
		}
	}
	if !rep.Recorded {
		t.Fatalf("%+v", rep)
	}
}

func sentTimes(t *testing.T, home string) map[string][]int64 {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(home, "sent-*"))
	all := map[string][]int64{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for s := bufio.NewScanner(f); s.Scan(); {
			if n, err := strconv.ParseInt(s.Text(), 10, 64); err == nil {
				all[name] = append(all[name], n)
			}
		}
		f.Close()
	}
	return all
}
