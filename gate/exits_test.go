package gate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// bracket is a room whose venue has exits, and one entry with both of them, which is filled.
type bracket struct {
	*room
	b     *gatetest.Broker
	entry ledger.Decision
}

func newBracket(t *testing.T) *bracket {
	t.Helper()
	c := &bracket{b: &gatetest.Broker{Default: gatetest.Trade}}
	sym := gatetest.Symbol("AAPL")
	c.room = newRoom(t, book(`"order_quantity": {"deny_above": "100"}`), func(cfg *gate.Config) {
		c.b.Now, cfg.Broker = cfg.Now, c.b
	})
	c.b.Show(sym, dec("100"), dec("100.10"))
	o := gatetest.Wide(t, "buy", "AAPL", map[string]string{
		"type": "limit", "limit_price": "101", "quantity": "10", "stop_loss": "90", "take_profit": "120",
	})
	c.entry = c.Execute(ctx, gatetest.CallFor(o))
	if c.entry.State != ledger.Succeeded {
		t.Fatalf("%s", c.entry.AppendJSON(nil))
	}
	c.wantExits(t, true)
	return c
}

// wantExits checks whether the exits are open, at the venue and in the ledger, which agree.
func (c *bracket) wantExits(t *testing.T, want bool) {
	t.Helper()
	open, err := c.b.Working(ctx)
	if err != nil {
		t.Fatal(err)
	}
	orders, err := c.Orders(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if there := len(open) == 1 && open[0].Exits; there != want || (len(orders) == 1) != want {
		t.Errorf("%+v at the venue, %d orders in the ledger; want exits: %v", open, len(orders), want)
	}
	r, err := c.Reconcile(ctx)
	if err != nil || len(r.Differences) != 0 {
		t.Errorf("reconciled: %+v, %v", r.Differences, err)
	}
}

//attack:gate-exits-person
//fault:f89
func TestExitsAreCancelledByAPersonAlone(t *testing.T) {
	c := newBracket(t)
	var refused *gate.Refusal
	origin := gatetest.CallFor(c.entry.Order).Origin
	_, err := c.CancelOwn(ctx, origin, trade.TierExecute, c.entry.Intent)
	if !errors.As(err, &refused) || refused.Code != policy.ApprovalRequired {
		t.Errorf("its agent: %v", err)
	}
	for _, surface := range []string{"cli", "mcp", "http", "gate", ""} {
		origin.Surface = surface
		if _, err := c.Cancel(ctx, origin, c.entry.Intent); !errors.Is(err, gate.ErrProtects) {
			t.Errorf("through %q: %v", surface, err)
		}
	}
	c.wantExits(t, true)
	res, err := c.Cancel(ctx, gate.Origin{Agent: "olga", Surface: "person", Tool: "order_cancel"}, c.entry.Intent)
	if err != nil || res.Outcome != trade.Accepted {
		t.Fatalf("a person: %+v, %v", res, err)
	}
	c.wantExits(t, false)
	if _, err := c.Cancel(ctx, gate.Origin{Agent: "olga", Surface: "person", Tool: "order_cancel"}, c.entry.Intent); !errors.Is(err, gate.ErrNoOpenOrder) {
		t.Errorf("once more: %v", err)
	}
}

//attack:gate-exits-person
//fault:f89
func TestStopLeavesTheExitsOfAPosition(t *testing.T) {
	c := newBracket(t)
	rep, err := c.Kill(ctx, gate.StopRequest{Scope: ledger.Scope{Kind: ledger.Everything}, Reason: "test", Person: c.olga})
	if err != nil || len(rep.Orders) != 1 || rep.Orders[0].State != gate.StopKept || rep.Orders[0].Message == "" {
		t.Fatalf("%+v, %v", rep, err)
	}
	before := len(c.journalText(t))
	for range 3 {
		c.wantExits(t, true) // a comparison cancels what works under a stop
	}
	if after := len(c.journalText(t)); after != before {
		t.Errorf("each look adds to the record: %d bytes, then %d", before, after)
	}
	sym := gatetest.Symbol("AAPL")
	c.clock.pass(time.Second)
	c.b.Show(sym, dec("89"), dec("90"))
	if err := c.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	c.wantExits(t, false)
	if ps, err := c.Positions(ctx); err != nil || len(ps) != 0 && ps[0].Quantity.Sign() != 0 {
		t.Errorf("after the stop loss: %+v, %v", ps, err)
	}
}

// TestStopOfAllEndsTheExitsToo: at a person's word, with the broker at hand and without, and never at an agent's.
//
//attack:gate-exits-person
func TestStopOfAllEndsTheExitsToo(t *testing.T) {
	everything := gate.StopRequest{Reason: "test", All: true}
	byAgent, byPerson, kept := everything, everything, everything
	byAgent.Agent, byAgent.Tier = "local", trade.TierExecute
	c := newBracket(t)
	byPerson.Person, kept.Person, kept.Keep = c.olga, c.olga, true
	for name, r := range map[string]gate.StopRequest{"an agent": byAgent, "a person who keeps them": kept} {
		rep, err := c.Kill(ctx, r)
		if err != nil || len(rep.Orders) != 1 || rep.Orders[0].State != gate.StopKept {
			t.Fatalf("%s: %+v, %v", name, rep, err)
		}
		c.wantExits(t, true)
	}
	rep, err := c.Kill(ctx, byPerson)
	if err != nil || len(rep.Orders) != 1 || rep.Orders[0].State != gate.StopGone {
		t.Fatalf("%+v, %v", rep, err)
	}
	c.wantExits(t, false)

	c = newBracket(t)
	local := everything
	local.Local = "olga"
	if err := c.Gate.Close(); err != nil {
		t.Fatal(err)
	}
	without := c.cfg
	without.Broker, without.Daemon = nil, false
	g := reopen(t, without)
	rep, err = g.Kill(ctx, local)
	if err != nil || len(rep.Orders) != 1 || rep.Orders[0].State != gate.StopPending {
		t.Fatalf("without the broker: %+v, %v", rep, err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	c.Gate = reopen(t, c.cfg)
	if err := c.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	c.wantExits(t, false)
}

// TestStopFileSaysThatTheExitsGoToo: whether it comes first, after a stop that leaves them, or after one that keeps all.
//
//attack:gate-exits-stay
func TestStopFileSaysThatTheExitsGoToo(t *testing.T) {
	file := func(t *testing.T, c *bracket, stop ledger.Stop) {
		t.Helper()
		stop.By, stop.Reason = "local:olga", "test"
		must(gate.WriteStopFile(c.cfg.Home, stop))(t)
		if d := c.Execute(ctx, buy(t, "1")); d.Error != "killswitch_active" {
			t.Fatalf("%s", d.AppendJSON(nil))
		}
		must(c.Reconcile(ctx))(t)
	}
	apple := ledger.Scope{Kind: ledger.OneSymbol, Name: "AAPL"}
	for name, scope := range map[string]ledger.Scope{"everything": {}, "one symbol": apple} {
		t.Run(name, func(t *testing.T) {
			c := newBracket(t)
			file(t, c, ledger.Stop{Scope: scope})
			c.wantExits(t, true)
			file(t, c, ledger.Stop{Scope: scope, All: true})
			c.wantExits(t, false)
			if stops := must(c.Stops(ctx))(t); len(stops) != 1 || !stops[0].All {
				t.Errorf("%+v", stops)
			}
			before := len(c.journalText(t))
			file(t, c, ledger.Stop{Scope: scope}) // which takes nothing back
			if stop, _ := gate.StopFile(c.cfg.Home); !stop.All {
				t.Errorf("%+v", stop)
			}
			c.restart(t)
			if stops := must(c.Stops(ctx))(t); len(stops) != 1 || !stops[0].All {
				t.Errorf("after a restart: %+v", stops)
			}
			if text := c.journalText(t)[before:]; strings.Contains(text, "kill_engaged") {
				t.Errorf("it is recorded again: %s", text)
			}
		})
	}
	t.Run("kept by a person", func(t *testing.T) {
		c := newBracket(t)
		must(c.Kill(ctx, gate.StopRequest{Reason: "test", Person: c.olga, Keep: true}))(t)
		file(t, c, ledger.Stop{All: true})
		c.wantExits(t, true)
	})
	t.Run("of one symbol, and then of everything", func(t *testing.T) {
		c := newBracket(t)
		msft := ledger.Scope{Kind: ledger.OneSymbol, Name: "MSFT"}
		must(gate.WriteStopFile(c.cfg.Home, ledger.Stop{Scope: msft, By: "local:olga", Reason: "test", All: true}))(t)
		file(t, c, ledger.Stop{})
		c.wantExits(t, true)
	})
}

// TestStopLeavesStopsThatProtect: an agent must not be able to strip a position of its stop loss by having itself stopped.
//
//attack:gate-exits-stay
func TestStopLeavesStopsThatProtect(t *testing.T) {
	b := &gatetest.Broker{Default: gatetest.Trade}
	d := newRoom(t, book(`"order_quantity": {"deny_above": "100"}, "denials_per_minute": {"halt_above": "1"}`), func(cfg *gate.Config) {
		b.Now, cfg.Broker = cfg.Now, b
	})
	sym := gatetest.Symbol("AAPL")
	b.Show(sym, dec("100"), dec("100.10"))
	order := func(side string, terms map[string]string) ledger.Decision {
		t.Helper()
		got := d.Execute(ctx, gatetest.CallFor(gatetest.Wide(t, side, "AAPL", terms)))
		if got.State != ledger.Succeeded {
			t.Fatalf("%s", got.AppendJSON(nil))
		}
		return got
	}
	order("buy", map[string]string{"type": "limit", "limit_price": "101", "quantity": "10"})
	guard := order("sell", map[string]string{"type": "stop", "stop_price": "90", "quantity": "6"})
	entry := order("buy", map[string]string{"type": "limit", "limit_price": "90", "quantity": "1"})
	exit := order("sell", map[string]string{"type": "limit", "limit_price": "130", "quantity": "1"})
	for range 3 {
		d.says(t, "buy", "AAPL", "101", "100")
	}
	want := func(when string, states map[trade.IntentID]string) {
		t.Helper()
		for id, state := range states {
			if now, _, err := d.History(ctx, id); err != nil || now.OrderStatus() != state {
				t.Errorf("%s: %s is %s, %v; want %s", when, now.Order.Line(), now.OrderStatus(), err, state)
			}
		}
	}
	stays := map[trade.IntentID]string{guard.Intent: "working", entry.Intent: "cancelled", exit.Intent: "cancelled"}
	if stops := must(d.Stops(ctx))(t); len(stops) != 1 || stops[0].By != "policy" {
		t.Fatalf("%+v", stops)
	}
	want("halted by a limit", stays)
	must(d.Kill(ctx, gate.StopRequest{Reason: "test", Agent: "local", Tier: trade.TierExecute, All: true}))(t)
	want("stopped by an agent", stays)
	must(d.Kill(ctx, gate.StopRequest{Reason: "test", Person: d.olga}))(t)
	must(d.Reconcile(ctx))(t)
	want("stopped by a person", stays)
	must(d.Kill(ctx, gate.StopRequest{Reason: "test", Person: d.olga, All: true}))(t)
	want("stopped by a person who says all", map[trade.IntentID]string{guard.Intent: "cancelled"})
}
