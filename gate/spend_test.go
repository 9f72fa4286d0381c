package gate_test

import (
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// marketBook holds every order of more than 500 dollars, and lets orders at the market through.
func marketBook(approval string) string {
	text := book(`"order_notional": {"hold_above": "500", "deny_above": "1000000"}`, approval)
	text = strings.Replace(text, `"sides": ["buy", "sell"]`, `"sides": ["buy", "sell"], "order_types": ["market", "limit"]`, 1)
	return strings.Replace(text, `"max_spread_bps": "200"`, `"max_spread_bps": "200", "market_slippage_bps": "50"`, 1)
}

// granted has a call held at a hook, approved by these people, and made again, so that it is permitted.
func (r *room) granted(t *testing.T, c gate.Call, by ...gate.Person) ledger.Decision {
	t.Helper()
	atHook(&c)
	d := r.Authorize(ctx, c)
	for _, p := range by {
		if _, code := r.approve(t, p, d); code != "" {
			t.Fatal(code)
		}
	}
	if d = r.Authorize(ctx, c); d.State != ledger.Allowed || d.Verdict != policy.Allow {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	return d
}

// TestApprovedPermissionIsSpentOnlyBeforeItsExpiry: R5 and R6, to the microsecond, at the executing surface and at the hook.
//
//attack:gate-approved-permission
func TestApprovedPermissionIsSpentOnlyBeforeItsExpiry(t *testing.T) {
	sends := func(_ *testing.T, r *room, c gate.Call) ledger.Decision { return r.Execute(ctx, c) }
	asks := func(_ *testing.T, r *room, c gate.Call) ledger.Decision { atHook(&c); return r.Authorize(ctx, c) }
	restarts := func(t *testing.T, r *room, c gate.Call) ledger.Decision { r.restart(t); return r.Execute(ctx, c) }
	withoutID := func(_ *testing.T, r *room, c gate.Call) ledger.Decision {
		c.Origin.ToolCallID = ""
		return r.Execute(ctx, c)
	}
	for name, tt := range map[string]struct {
		before time.Duration
		ask    func(*testing.T, *room, gate.Call) ledger.Decision
		want   string
	}{
		"sent in time":       {2 * time.Microsecond, sends, "allow"},
		"sent at expiry":     {0, sends, "deny PROPOSAL_EXPIRED NOTIONAL_EXCEEDS_LIMIT"},
		"sent hours later":   {-6 * time.Hour, sends, "deny PROPOSAL_EXPIRED NOTIONAL_EXCEEDS_LIMIT"},
		"asked in time":      {time.Microsecond, asks, "allow"},
		"asked at expiry":    {0, asks, "deny PROPOSAL_EXPIRED NOTIONAL_EXCEEDS_LIMIT"},
		"sent without ids":   {0, withoutID, "hold NOTIONAL_EXCEEDS_LIMIT"},
		"in time, restart":   {2 * time.Microsecond, restarts, "allow"},
		"at expiry, restart": {0, restarts, "deny PROPOSAL_EXPIRED NOTIONAL_EXCEEDS_LIMIT"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, marketBook(approvalBlock(`"expires": "5m", "execute_within": "15s"`)))
			c := call(t, "buy", "AAPL", "10", "100", withCall("c1"))
			d := r.granted(t, c, r.anna)
			r.clock.pass(5*time.Minute - tt.before)
			got := tt.ask(t, r, c)
			if said(got) != tt.want || (got.Intent == d.Intent) != (name != "sent without ids") {
				t.Fatalf("%s", got.AppendJSON(nil))
			}
			if r.v.submits() > 0 && !r.v.sent[0].NotAfter.Before(d.At.Add(5*time.Minute)) {
				t.Fatalf("the permit is good until %s", r.v.sent[0].NotAfter)
			}
		})
	}
}

// TestApprovedPermissionNeedsAsManyPersonsAsItIsWorth: it is counted anew what the order is worth, as for every proposal.
//
//attack:gate-two-approvers
//attack:gate-approved-permission
func TestApprovedPermissionNeedsAsManyPersonsAsItIsWorth(t *testing.T) {
	c := call(t, "buy", "AAPL", "10", "100", withCall("c1"))
	c.Order = marketOrder(t, "buy", "AAPL", "10")
	for name, tt := range map[string]struct {
		ask    string
		by     int
		atHook bool
		want   string
	}{
		"one is enough":           {"100.10", 1, false, "allow"},
		"one, and it is dearer":   {"5001", 1, false, "deny APPROVAL_REQUIRED"},
		"one, at the hook":        {"5001", 1, true, "deny APPROVAL_REQUIRED"},
		"two, and it is dearer":   {"5001", 2, false, "allow"},
		"two, dearer at the hook": {"5001", 2, true, "allow"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, marketBook(approvalBlock(`"two_approvers_above_notional": "2000", "max_price_drift_bps": "1000000"`)))
			if tt.by == 2 {
				r.x.set("AAPL", "250", "250.10")
			}
			r.granted(t, c, []gate.Person{r.anna, r.olga}[:tt.by]...)
			r.x.set("AAPL", tt.ask, tt.ask)
			ask := c
			got := ledger.Decision{}
			if tt.atHook {
				atHook(&ask)
				got = r.Authorize(ctx, ask)
			} else {
				got = r.Execute(ctx, ask)
			}
			if said(got) != tt.want || (r.v.submits() == 1) != (tt.want == "allow" && !tt.atHook) {
				t.Fatalf("%s", got.AppendJSON(nil))
			}
		})
	}
}

// marketOrder is an order at the market.
func marketOrder(t testing.TB, side, symbol, quantity string) trade.Order {
	t.Helper()
	text := func(name, v string) trade.Text { return trade.Text{Name: name, Value: v, Kind: trade.IsText} }
	o, _, faults := trade.Parse(trade.Draft{
		Account: "paper", Symbol: text("symbol", symbol), Side: text("side", side), Quantity: text("quantity", quantity),
		Type: text("type", "market"), TimeInForce: text("time_in_force", "day"),
	})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return o
}

// TestApprovalOfSomebodyWhoIsGonePermitsNothing: a permission that he approved is spent no more, and keeps what it
// reserves, since the harness may have made the call.
//
//attack:gate-approval-revoked
//attack:ledger-revoked
func TestApprovalOfSomebodyWhoIsGonePermitsNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*testing.T, *room)
		want string
	}{
		"he is removed":             {func(t *testing.T, r *room) { must(0, r.RemovePerson(ctx, r.olga, "anna"))(t) }, "deny APPROVAL_REQUIRED NOTIONAL_EXCEEDS_LIMIT"},
		"he has another credential": {func(t *testing.T, r *room) { must(r.RotatePerson(ctx, r.olga, "anna"))(t) }, "deny APPROVAL_REQUIRED NOTIONAL_EXCEEDS_LIMIT"},
		"he is removed and comes back": {func(t *testing.T, r *room) {
			must(0, r.RemovePerson(ctx, r.olga, "anna"))(t)
			must(r.AddPerson(ctx, r.olga, gate.PersonTerms{Name: "anna", Approver: true}))(t)
		}, "deny APPROVAL_REQUIRED NOTIONAL_EXCEEDS_LIMIT"},
		"the agent is removed and comes back": {func(t *testing.T, r *room) {
			must(r.AddAgent(ctx, r.olga, "local", trade.TierExecute))(t)
			must(0, r.RemoveAgent(ctx, r.olga, "local"))(t)
			must(r.AddAgent(ctx, r.olga, "local", trade.TierExecute))(t)
		}, "deny APPROVAL_REQUIRED NOTIONAL_EXCEEDS_LIMIT"},
		"somebody else is removed": {func(t *testing.T, r *room) { must(0, r.RemovePerson(ctx, r.olga, "ben"))(t) }, "allow"},
		"somebody new":             {func(t *testing.T, r *room) { must(r.AddPerson(ctx, r.olga, gate.PersonTerms{Name: "zoe"}))(t) }, "allow"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, marketBook(""))
			c := call(t, "buy", "AAPL", "10", "100", withCall("c1"))
			d := r.granted(t, c, r.anna)
			tt.edit(t, r)
			if ps := must(r.Positions(ctx))(t); len(ps) != 1 || ps[0].PendingBuys.String() != "10" {
				t.Fatalf("%+v", ps)
			}
			r.restart(t)
			got := r.Execute(ctx, c)
			if said(got) != tt.want || got.Intent != d.Intent || r.v.submits() != map[bool]int{true: 1}[tt.want == "allow"] {
				t.Fatalf("%s", got.AppendJSON(nil))
			}
		})
	}
}
