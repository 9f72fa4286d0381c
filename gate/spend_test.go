package gate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
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
	c.Order = gatetest.Line(t, "buy 10 AAPL market")
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

// TestHoardedPermissionsCountWhenTheyAreSent: whoever lets a hook permit orders as slowly as the limits want it, and then
// sends all of them, meets the limits of that moment.
//
//attack:ledger-count-moves
func TestHoardedPermissionsCountWhenTheyAreSent(t *testing.T) {
	for name, tt := range map[string]struct {
		limits string
		each   func(*clock, int)
		later  time.Duration
		want   string
	}{
		"a minute": {
			`"orders_per_minute": {"deny_above": "2"}`, func(c *clock, _ int) { c.pass(31 * time.Second) }, 10 * time.Minute,
			"2 ORDERS_PER_MINUTE_EXCEED_LIMIT",
		},
		"alike": {
			`"similar_orders": {"deny_above": "0", "window": "30s"}`, func(c *clock, _ int) { c.pass(31 * time.Second) }, 10 * time.Minute,
			"1 SIMILAR_ORDERS_EXCEED_LIMIT",
		},
		"a day": {`"orders_per_day": {"deny_above": "3"}`, nextDay, 0, "3 ORDERS_PER_DAY_EXCEED_LIMIT"},
		"worth a day": {
			`"notional_per_day": {"deny_above": "350.00"}`, nextDay, 0, "3 NOTIONAL_PER_DAY_EXCEEDS_LIMIT",
		},
	} {
		for given, age := range map[string]time.Duration{"": 0, ", at a time": 40 * time.Second} {
			t.Run(name+given, func(t *testing.T) {
				r := newRoom(t, book(tt.limits))
				var calls []gate.Call
				for i := range 9 {
					c := call(t, "buy", "AAPL", "1", "100", withCall(fmt.Sprint("c", i)))
					atHook(&c)
					if d := r.Authorize(ctx, c); said(d) != "allow" {
						t.Fatalf("%s", d.AppendJSON(nil))
					}
					calls = append(calls, c)
					tt.each(r.clock, i)
				}
				r.clock.pass(tt.later)
				sent, why := 0, ""
				for _, c := range calls {
					c.Origin.Surface = "mcp"
					if d := r.Execute(ctx, c); d.Verdict == policy.Allow {
						sent++
					} else {
						why = strings.TrimSpace(codes(d))
					}
					r.clock.pass(age / 100)
				}
				if got := fmt.Sprint(sent, " ", why); got != tt.want || sent != r.v.submits() {
					t.Errorf("%s, want %s; %d reached the broker", got, tt.want, r.v.submits())
				}
			})
		}
	}
}

// nextDay goes on a day after each three.
func nextDay(c *clock, i int) {
	if i%3 == 2 {
		c.pass(24 * time.Hour)
	}
}

// TestPermissionThatIsGivenAgainCountsFromThen: a hook that asks again for the same call after the deadline is given the
// permission anew, once; before it nothing is recorded.
//
//attack:ledger-count-moves
func TestPermissionThatIsGivenAgainCountsFromThen(t *testing.T) {
	r := newRoom(t, book(`"orders_per_minute": {"deny_above": "2"}`))
	var calls []gate.Call
	for i := range 4 {
		c := call(t, "buy", "AAPL", "1", "100", withCall(fmt.Sprint("c", i)))
		atHook(&c)
		calls = append(calls, c)
		if d := r.Authorize(ctx, c); said(d) != "allow" {
			t.Fatalf("%s", d.AppendJSON(nil))
		}
		r.clock.pass(31 * time.Second)
	}
	n := len(events(t, r.Gate))
	last := r.Authorize(ctx, calls[3])
	if m := len(events(t, r.Gate)); said(last) != "allow" || !last.Repeated || m != n {
		t.Fatalf("%d records more: %s", m-n, last.AppendJSON(nil))
	}
	r.clock.pass(time.Minute)
	got := ""
	for _, c := range calls {
		d := r.Authorize(ctx, c)
		now, _, _ := r.History(ctx, d.Intent)
		got += said(d) + " " + string(now.State) + "; "
	}
	want := strings.Repeat("allow EXECUTION_ALLOWED; ", 2) + strings.Repeat("deny ORDERS_PER_MINUTE_EXCEED_LIMIT EXECUTION_BLOCKED; ", 2)
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestOldPermissionIsPassedOver: a call without ids is not the one that was permitted long ago, and where a hook must have
// permitted it, it must do so again.
//
//attack:gate-permission-age
func TestOldPermissionIsPassedOver(t *testing.T) {
	const deadline = time.Minute
	for name, tt := range map[string]struct {
		id      string
		hook    bool
		age     time.Duration
		want    string
		sameOne bool
	}{
		"without an id, in time":          {"", false, deadline + 15*time.Minute - time.Microsecond, "allow", true},
		"without an id":                   {"", false, deadline + 15*time.Minute, "allow", false},
		"without an id, a hook must":      {"", true, deadline + 15*time.Minute, "deny HOOK_REQUIRED", false},
		"by its id":                       {"c1", false, deadline + 15*time.Minute, "allow", true},
		"by its id, a hook must, in time": {"c1", true, deadline + 15*time.Minute - time.Microsecond, "allow", true},
		"by its id, a hook must":          {"c1", true, deadline + 15*time.Minute, "deny HOOK_REQUIRED", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, book(`"order_quantity": {"deny_above": "100"}`), func(c *gate.Config) { c.RequireHook = tt.hook })
			c := call(t, "buy", "AAPL", "1", "100", withCall(tt.id), atHook)
			first := r.Authorize(ctx, c)
			r.clock.pass(tt.age)
			c.Origin.Surface = "mcp"
			got := r.Execute(ctx, c)
			if said(got) != tt.want || (got.Intent == first.Intent) != tt.sameOne {
				t.Fatalf("%s", got.AppendJSON(nil))
			}
			if now, found, err := r.Report(ctx, report(call(t, "buy", "AAPL", "1", "100", withCall(tt.id), atHook), trade.Accepted)); err != nil || !found {
				t.Fatalf("its report: %v, %s", err, now.AppendJSON(nil))
			}
		})
	}
}

// TestWhatRanCountsWhateverWasJudged: orders that a harness has run count as sent and are pending, for an account, an agent,
// a symbol and a rule, although they were denied, never judged, or other ones were permitted.
//
//attack:gate-ran
//attack:ledger-ran
func TestWhatRanCountsWhateverWasJudged(t *testing.T) {
	large := func(t *testing.T, id string) gate.Call {
		return call(t, "buy", "AAPL", "51", "100", withCall(id), atHook)
	}
	for name, runs := range map[string]func(*testing.T, *room, string){
		"denied": func(t *testing.T, r *room, id string) {
			must(r.Authorize(ctx, large(t, id)), nil)(t)
			must2(r.Report(ctx, report(large(t, id), trade.Accepted)))(t)
			must2(r.Report(ctx, report(large(t, id), trade.Accepted)))(t)
		},
		"denied, without an id": func(t *testing.T, r *room, _ string) {
			must(r.Authorize(ctx, large(t, "")), nil)(t)
			must2(r.Report(ctx, report(large(t, ""), trade.Accepted)))(t)
		},
		"unjudged": func(t *testing.T, r *room, id string) {
			must2(r.Report(ctx, report(large(t, id), trade.Accepted)))(t)
			must2(r.Report(ctx, report(large(t, id), trade.Accepted)))(t)
		},
		"unjudged, without an id": func(t *testing.T, r *room, _ string) { must2(r.Report(ctx, report(large(t, ""), trade.Accepted)))(t) },
		"declined": func(t *testing.T, r *room, id string) {
			c := call(t, "buy", "AAPL", "45", "100", withCall(id), atHook)
			d := r.Authorize(ctx, c)
			if d.Verdict == policy.Hold {
				must(r.Decline(ctx, press(r.anna, d)))(t)
			}
			must2(r.Report(ctx, report(c, trade.Accepted)))(t)
		},
		"other arguments": func(t *testing.T, r *room, id string) {
			c := call(t, "buy", "MSFT", "1", "0.01", withCall(id), atHook)
			must(r.Authorize(ctx, c), nil)(t)
			c.Order = large(t, id).Order
			must2(r.Report(ctx, report(c, trade.Accepted)))(t)
			must2(r.Report(ctx, report(c, trade.Accepted)))(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, book(`"orders_per_day": {"deny_above": "2", "per": "symbol"}, "order_quantity": {"hold_above": "40", "deny_above": "50"},
				"notional_per_day": {"deny_above": "10000.00", "per": "rule"}, "gross_exposure": {"deny_above": "12000.00"}`))
			r.want(t, "buy MSFT 1@50", "allow")
			for i := range 3 {
				runs(t, r, fmt.Sprint("c", i))
			}
			r.restart(t)
			got := r.Authorize(ctx, call(t, "buy", "AAPL", "1", "100", withCall("z"), atHook))
			if said(got) != "deny ORDERS_PER_DAY_EXCEED_LIMIT NOTIONAL_PER_DAY_EXCEEDS_LIMIT GROSS_EXPOSURE_EXCEEDS_LIMIT" || got.Reasons[0].Observed != "4" {
				t.Fatalf("%s", got.AppendJSON(nil))
			}
			if _, err := r.Verify(ctx, nil, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// must2 is must for a report, which was found.
func must2(d ledger.Decision, found bool, err error) func(testing.TB) ledger.Decision {
	return func(t testing.TB) ledger.Decision {
		t.Helper()
		if err != nil || !found {
			t.Fatal(found, err)
		}
		return d
	}
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
