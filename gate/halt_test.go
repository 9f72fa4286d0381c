package gate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

//attack:gate-rejections
//fault:f50
func TestFiveRejectionsInARowStopTheAccount(t *testing.T) {
	o := newOffice(t)
	reject := func(context.Context, gate.Cleared) (gate.Receipt, error) {
		return gate.Receipt{Outcome: trade.Rejected, Code: "NO"}, nil
	}
	for i := range 4 {
		o.v.answer = reject
		wantDecision(t, o.Execute(ctx, buy(t, strconv.Itoa(i+1))), policy.Allow, ledger.Failed, "")
	}
	o.v.answer = nil
	wantDecision(t, o.Execute(ctx, buy(t, "9")), policy.Allow, ledger.Succeeded, "") // which begins the row anew
	o.v.answer = reject
	for i := range 5 {
		if i == 3 { // and a restart does not
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
			o.Gate = reopen(t, o.cfg)
		}
		wantDecision(t, o.Execute(ctx, buy(t, strconv.Itoa(i+11))), policy.Allow, ledger.Failed, "")
	}
	d := o.Execute(ctx, buy(t, "30"))
	if d.Error != "killswitch_active" || d.Stops[0].Scope.String() != "account:paper" || o.v.submits() != 10 {
		t.Fatalf("%d submits: %s", o.v.submits(), d.AppendJSON(nil))
	}
	if err := o.Reset(ctx, o.anna, scopeOf(t, "account:paper"), "looked at"); err != nil {
		t.Fatal(err)
	}
	wantDecision(t, o.Execute(ctx, buy(t, "31")), policy.Allow, ledger.Failed, "")
}

//attack:gate-unexplained
//fault:f39
func TestFillThatNoDecisionExplainsStopsTheAccount(t *testing.T) {
	for name, edit := range map[string]func(*gate.Config){"exclusive": func(*gate.Config) {}, "shared": shared} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, edit)
			first := o.Execute(ctx, buy(t, "5"))
			o.v.event(gate.VenueFill, gate.Cleared{Order: buy(t, "7").Order, ID: "somebody-else"}, trade.Whole(7))
			if err := o.Recover(ctx); err != nil {
				t.Fatal(err)
			}
			stops := must(o.Stops(ctx))(t)
			if (name == "exclusive") != (len(stops) == 1) {
				t.Fatalf("%v", stops)
			}
			if first.State != ledger.Succeeded {
				t.Fatalf("%s", first.AppendJSON(nil))
			}
		})
	}
}

// TestOrderThatTheJournalDoesNotKnowStopsTheAccountAtTheStart: the journal is put back from before a working order, or the
// venue from before it. Nothing is executed, and a stop of everything cancels what is there.
//
//attack:gate-start-compare
//attack:gate-cancel-strange
//fault:f40
func TestOrderThatTheJournalDoesNotKnowStopsTheAccountAtTheStart(t *testing.T) {
	for name, harm := range map[string]func(*testing.T, *office, string){
		"the journal": func(t *testing.T, o *office, backup string) {
			path := filepath.Join(o.cfg.Home, gate.JournalName)
			raw := must(os.ReadFile(backup))(t)
			os.Remove(path + "-wal")
			os.Remove(path + "-shm")
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"the venue": func(_ *testing.T, o *office, _ string) { o.v.sent = nil },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			backup := filepath.Join(t.TempDir(), "backup.db")
			if err := o.Backup(ctx, backup); err != nil {
				t.Fatal(err)
			}
			o.v.rests = true
			wantDecision(t, o.Execute(ctx, buy(t, "3", withOrder("w"))), policy.Allow, ledger.Succeeded, "")
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
			harm(t, o, backup)
			submits := o.v.submits()
			o.Gate = reopen(t, o.cfg)
			d := o.Execute(ctx, buy(t, "3", withOrder("w2")))
			if d.Error != "killswitch_active" || d.Stops[0].Scope.String() != "account:paper" || o.v.submits() != submits {
				t.Fatalf("%d submits: %s", o.v.submits(), d.AppendJSON(nil))
			}
			must(o.Kill(ctx, stop("all")))(t)
			if left := must(o.v.Working(ctx))(t); len(left) != 0 {
				t.Fatalf("%+v still work", left)
			}
		})
	}
}

// TestFillOfAnOrderThatWaitsForPeopleIsNotExplained: nobody has cleared it, whatever its id says.
//
//attack:gate-unexplained
func TestFillOfAnOrderThatWaitsForPeopleIsNotExplained(t *testing.T) {
	for _, decline := range []bool{false, true} {
		o := newOffice(t)
		held := o.propose(t, buy(t, "7"))
		if decline {
			must(o.Decline(ctx, press(o.anna, held)))(t)
		}
		o.v.event(gate.VenueFill, gate.Cleared{Order: held.Order, ID: held.Intent.BrokerOrderID()}, trade.Whole(7))
		if err := o.Recover(ctx); err != nil {
			t.Fatal(err)
		}
		if stops := must(o.Stops(ctx))(t); len(stops) != 1 || stops[0].Scope.String() != "account:paper" {
			t.Fatalf("declined %v: %v", decline, stops)
		}
	}
}

//attack:gate-reconcile
//attack:gate-reconcile-tries
//fault:f40
func TestReconcile(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(*testing.T, *office)
		says string // of the stop; empty for none
	}{
		"agrees":     {func(*testing.T, *office) {}, ""},
		"holds less": {func(_ *testing.T, o *office) { o.v.short = true }, "position of AAPL: the broker says 9, the ledger says 10"},
		"has an order that waits for people": {func(t *testing.T, o *office) {
			held := o.propose(t, call(t, "buy", "MSFT", "2", "1.00"))
			o.v.sent, o.v.rests = append(o.v.sent, gate.Cleared{Order: held.Order, ID: held.Intent.BrokerOrderID()}), true
		}, "order of MSFT: the broker says buy 2 open"},
		"has another order": {func(t *testing.T, o *office) { o.v.strange = buy(t, "3").Order }, "order of AAPL: the broker says buy 3 open"},
		"lost an order": {func(t *testing.T, o *office) {
			o.v.rests = true
			o.Execute(ctx, call(t, "buy", "MSFT", "2", "1.00"))
			o.v.forgets = true
		}, "order of MSFT: the broker says no such order, the ledger says buy 2 open"},
		"moves all the time": {func(_ *testing.T, o *office) { o.v.short, o.v.moves = true, true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			wantDecision(t, o.Execute(ctx, buy(t, "10")), policy.Allow, ledger.Succeeded, "")
			c.harm(t, o)
			rec := must(o.Reconcile(ctx))(t)
			stops := must(o.Stops(ctx))(t)
			if c.says == "" {
				if len(stops) != 0 {
					t.Fatalf("%+v, %v", rec, stops)
				}
				return
			}
			if len(stops) != 1 || stops[0].Scope.String() != "account:paper" || !strings.HasPrefix(stops[0].Reason, c.says) {
				t.Fatalf("%+v, %v", rec, stops)
			}
		})
	}
}

// TestReconcileSettlesWhatWasUnknown: an order whose answer was lost is looked up under the id that it was sent with.
//
//fault:f33
func TestReconcileSettlesWhatWasUnknown(t *testing.T) {
	o := newOffice(t)
	o.v.answer = func(_ context.Context, c gate.Cleared) (gate.Receipt, error) {
		o.v.mu.Lock()
		defer o.v.mu.Unlock()
		o.v.event(gate.VenueFill, c, c.Order.Quantity())
		return gate.Receipt{}, errors.New("the connection broke")
	}
	o.v.pageErr = errors.New("not now")
	d := o.Execute(ctx, buy(t, "10"))
	wantDecision(t, d, policy.Allow, ledger.OutcomeUnknown, "")
	o.v.pageErr = nil
	rec := must(o.Reconcile(ctx))(t)
	if o.state(t, d) != ledger.Succeeded || rec.Unknown != 0 || o.v.submits() != 1 {
		t.Fatalf("%s, %+v", o.state(t, d), rec)
	}
}
