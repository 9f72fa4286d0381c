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

//attack:ledger-permission-once
func TestPermittedCallIsTheSameIntentWhenItArrives(t *testing.T) {
	v := &venue{}
	g := open(t, v)
	c := call(t, "buy", "AAPL", "10", "150.00", withCall("c1"))
	hook := c
	atHook(&hook)
	permitted := g.Authorize(ctx, hook)
	wantDecision(t, permitted, policy.Allow, ledger.Allowed, "")
	again := g.Authorize(ctx, hook)
	if again.Intent != permitted.Intent || !again.Repeated || again.Verdict != policy.Allow {
		t.Fatalf("the hook asked twice and was told %s", again.AppendJSON(nil))
	}
	d := g.Execute(ctx, c)
	wantDecision(t, d, policy.Allow, ledger.Succeeded, "")
	if d.Intent != permitted.Intent || v.submits() != 1 {
		t.Fatalf("executed as %s, permitted as %s, %d submits", d.Intent, permitted.Intent, v.submits())
	}
	if d := g.Execute(ctx, c); !d.Repeated || v.submits() != 1 {
		t.Fatalf("the permission was spent twice: %s", d.AppendJSON(nil))
	}
	wantDecision(t, g.Authorize(ctx, hook), policy.Deny, ledger.Blocked, "PERMISSION_SPENT ")
	if _, found, err := g.Report(ctx, report(hook, trade.Rejected)); err != nil || !found {
		t.Fatalf("report: found %v, %v", found, err)
	}
	rows := wantRows(t, g, ledger.Blocked, ledger.Succeeded) // the report overrides nothing
	_, events, err := g.History(ctx, d.Intent)
	if err != nil || len(events) != 4 { // decided, rejudged, concluded, happened
		t.Fatalf("%d events, %v", len(events), err)
	}
	if len(rows[1].Flags) != 0 {
		t.Fatalf("flags %v", rows[1].Flags)
	}
	if ps, _ := g.Positions(ctx); len(ps) != 1 || ps[0].PendingBuys.Sign() != 0 || ps[0].Quantity.String() != "10" {
		t.Fatalf("positions %+v: the reservation was made twice or not released", ps)
	}
}

func TestPermittedCallIsJudgedAgainOnArrival(t *testing.T) {
	v := &venue{}
	var home string
	g := open(t, v, func(c *gate.Config) { home = c.Home })
	c := call(t, "buy", "AAPL", "10", "150.00", withCall("c1"))
	wantDecision(t, g.Authorize(ctx, c), policy.Allow, ledger.Allowed, "")
	writePolicy(t, home, strings.Replace(openPolicy, "200", "9", 1))
	wantDecision(t, g.Execute(ctx, c), policy.Deny, ledger.Blocked, "QUANTITY_EXCEEDS_LIMIT ")
	writePolicy(t, home, openPolicy)
	if ps, _ := g.Positions(ctx); len(ps) != 0 {
		t.Fatalf("the denied intent keeps its reservation: %+v", ps)
	}
	// The denial ended the permission; the id is free again.
	wantDecision(t, g.Execute(ctx, c), policy.Allow, ledger.Succeeded, "")
	if v.submits() != 1 {
		t.Fatalf("%d submits", v.submits())
	}
}

func TestPermissionGivenAgainIsJudgedAgain(t *testing.T) {
	var home string
	g := open(t, nil, func(c *gate.Config) { home = c.Home })
	c := call(t, "buy", "AAPL", "10", "150.00", withCall("c1"))
	wantDecision(t, g.Authorize(ctx, c), policy.Allow, ledger.Allowed, "")
	writePolicy(t, home, "{}")
	if d := g.Authorize(ctx, c); d.Verdict != policy.Deny {
		t.Fatalf("given again under a broken policy: %s", d.AppendJSON(nil))
	}
	wantRows(t, g, ledger.Blocked)
}

func TestOwnReservationDoesNotBlockTheSecondJudgement(t *testing.T) {
	v := &venue{}
	g := open(t, v)
	wantDecision(t, g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00")), policy.Allow, ledger.Succeeded, "")
	sell := call(t, "sell", "AAPL", "10", "150.00", withCall("c1"))
	wantDecision(t, g.Authorize(ctx, sell), policy.Allow, ledger.Allowed, "")
	wantDecision(t, g.Authorize(ctx, call(t, "sell", "AAPL", "1", "150.00", withCall("c2"))), policy.Deny, ledger.Blocked, "SHORT_SALE_NOT_ALLOWED ")
	wantDecision(t, g.Execute(ctx, sell), policy.Allow, ledger.Succeeded, "")
}

func TestOtherArgumentsUnderAPermittedIDAreRefusedAndFlagged(t *testing.T) {
	v := &venue{}
	g := open(t, v)
	wantDecision(t, g.Authorize(ctx, call(t, "buy", "AAPL", "1", "150.00", withCall("c1"))), policy.Allow, ledger.Allowed, "")
	wantDecision(t, g.Execute(ctx, call(t, "buy", "AAPL", "50", "150.00", withCall("c1"))), policy.Deny, ledger.Blocked, "ID_REUSED ")
	wantDecision(t, g.Execute(ctx, call(t, "buy", "AAPL", "x", "150.00", withCall("c1"))), policy.Deny, ledger.Blocked, "QUANTITY_MALFORMED ")
	rows := wantRows(t, g, ledger.Blocked, ledger.Blocked, ledger.Allowed)
	if len(rows[2].Flags) == 0 || rows[2].Flags[0] != ledger.ArgumentsChanged {
		t.Fatalf("flags of the permitted intent: %v", rows[2].Flags)
	}
	if v.submits() != 0 {
		t.Fatalf("%d submits", v.submits())
	}
}

func TestOneClientOrderIDIsPermittedToOneCallOnly(t *testing.T) {
	g := open(t, nil)
	wantDecision(t, g.Authorize(ctx, call(t, "buy", "AAPL", "1", "150.00", withCall("c1"), withOrder("o1"))), policy.Allow, ledger.Allowed, "")
	wantDecision(t, g.Authorize(ctx, call(t, "buy", "AAPL", "1", "150.00", withCall("c2"), withOrder("o1"))), policy.Deny, ledger.Blocked, "PERMISSION_SPENT ")
	wantDecision(t, g.Authorize(ctx, call(t, "buy", "AAPL", "1", "150.00", withOrder("o1"))), policy.Deny, ledger.Blocked, "PERMISSION_SPENT ")
	wantDecision(t, g.Authorize(ctx, call(t, "buy", "AAPL", "2", "150.00", withCall("c3"), withOrder("o1"))), policy.Deny, ledger.Blocked, "ID_REUSED ")
}

func TestCallsWithoutIDsJoinByOrderEachPermissionOnce(t *testing.T) {
	v := &venue{}
	g := open(t, v)
	c := call(t, "buy", "AAPL", "10", "1.00")
	first, second := g.Authorize(ctx, c), g.Authorize(ctx, c)
	if first.Intent == second.Intent {
		t.Fatal("two calls without ids share one permission")
	}
	arrived := c
	arrived.Origin.Session, arrived.Origin.Harness = "", "" // a server that is told nothing of the session
	one, two, three := g.Execute(ctx, arrived), g.Execute(ctx, arrived), g.Execute(ctx, arrived)
	if one.Intent != first.Intent || two.Intent != second.Intent || three.Intent == first.Intent || three.Intent == second.Intent {
		t.Fatalf("permitted %s, %s; executed %s, %s, %s", first.Intent, second.Intent, one.Intent, two.Intent, three.Intent)
	}
	if v.submits() != 3 {
		t.Fatalf("%d submits", v.submits())
	}
	if _, found, err := g.Report(ctx, report(c, trade.Accepted)); err != nil || !found {
		t.Fatalf("the report of an executed call: found %v, %v", found, err)
	}
	wantRows(t, g, ledger.Succeeded, ledger.Succeeded, ledger.Succeeded)
}

//fault:f28
func TestRequireHookRefusesACallThatNoHookPermitted(t *testing.T) {
	v := &venue{}
	g := open(t, v, func(c *gate.Config) { c.RequireHook = true })
	c := call(t, "buy", "AAPL", "10", "150.00", withCall("c1"))
	wantDecision(t, g.Execute(ctx, c), policy.Deny, ledger.Blocked, "HOOK_REQUIRED ")
	wantDecision(t, g.Authorize(ctx, c), policy.Allow, ledger.Allowed, "")
	wantDecision(t, g.Execute(ctx, c), policy.Allow, ledger.Succeeded, "")
	wantDecision(t, g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00", withCall("c2"))), policy.Deny, ledger.Blocked, "HOOK_REQUIRED ")
	if v.submits() != 1 {
		t.Fatalf("%d submits", v.submits())
	}
}

func TestPermissionRequestIsTheSameIntentOnce(t *testing.T) {
	g := open(t, nil)
	pre := call(t, "buy", "AAPL", "10", "150.00", withCall("c1"))
	ask := call(t, "buy", "AAPL", "10", "150.00", func(c *gate.Call) { c.Asked = true })
	first := g.Authorize(ctx, pre)
	granted := g.Authorize(ctx, ask)
	if granted.Intent != first.Intent || granted.Verdict != policy.Allow {
		t.Fatalf("granted as %s, permitted as %s", granted.Intent, first.Intent)
	}
	other := g.Authorize(ctx, ask) // a second call of the same terms: an order of its own
	if other.Intent == first.Intent || other.Verdict != policy.Allow {
		t.Fatalf("a second request was granted by the first permission: %s", other.AppendJSON(nil))
	}
	third := g.Authorize(ctx, ask)
	if third.Intent == first.Intent || third.Intent == other.Intent {
		t.Fatalf("a third request was granted by an earlier permission: %s", third.AppendJSON(nil))
	}
	wantDecision(t, g.Authorize(ctx, call(t, "buy", "AAPL", "500", "150.00", func(c *gate.Call) { c.Asked = true })),
		policy.Deny, ledger.Blocked, "QUANTITY_EXCEEDS_LIMIT NOTIONAL_EXCEEDS_LIMIT ")
	done := call(t, "buy", "AAPL", "10", "150.00", withCall("c1"))
	if d, found, err := g.Report(ctx, report(done, trade.Accepted)); err != nil || !found || d.Intent != first.Intent || d.State != ledger.Succeeded {
		t.Fatalf("report: %s, %v, %v", d.AppendJSON(nil), found, err)
	}
}

// TestSecondJudgementBindsTheIDThatItArrivesUnder: the hook knew no id, or no session; the server that executes does.
// A repeat under that id is the same intent.
func TestSecondJudgementBindsTheIDThatItArrivesUnder(t *testing.T) {
	for name, atTheHook := range map[string]func(*gate.Call){
		"no id":          func(*gate.Call) {},
		"asked, no id":   func(c *gate.Call) { c.Asked = true },
		"with a session": func(c *gate.Call) { c.Origin.ToolCallID = "c1" },
	} {
		v := &venue{}
		g := open(t, v)
		permitted := g.Authorize(ctx, call(t, "buy", "AAPL", "10", "150.00", atTheHook))
		wantDecision(t, permitted, policy.Allow, ledger.Allowed, "")
		arrived := call(t, "buy", "AAPL", "10", "150.00", withCall("c1"))
		if name == "with a session" {
			arrived.Origin.Session = ""
		}
		for range 3 {
			d := g.Execute(ctx, arrived)
			if d.Intent != permitted.Intent || d.State != ledger.Succeeded {
				t.Errorf("%s: %s", name, d.AppendJSON(nil))
			}
		}
		other := arrived
		other.Order = gatetest.Order(t, "buy", "AAPL", "11", "150.00")
		wantDecision(t, g.Execute(ctx, other), policy.Deny, ledger.Blocked, "ID_REUSED ")
		post := call(t, "buy", "AAPL", "10", "150.00", withCall("c1"))
		if d, found, err := g.Report(ctx, report(post, trade.Accepted)); err != nil || !found || d.Intent != permitted.Intent {
			t.Errorf("%s: reported as %s, %v, %v", name, d.AppendJSON(nil), found, err)
		}
		if v.submits() != 1 || len(audit(t, g)) != 2 {
			t.Errorf("%s: %d submits, %d rows", name, v.submits(), len(audit(t, g)))
		}
		if _, err := g.Verify(ctx, nil, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestReportJoinsACallThatTheServerKnewLessOf: no hook asked before, and the server that executed knew no session or id.
func TestReportJoinsACallThatTheServerKnewLessOf(t *testing.T) {
	for name, less := range map[string]func(*gate.Call){
		"no session": func(c *gate.Call) { c.Origin.Session = "" },
		"no id":      func(c *gate.Call) { c.Origin.ToolCallID = "" },
	} {
		g := open(t, &venue{})
		c := call(t, "buy", "AAPL", "10", "150.00", withCall("c1"))
		executed := c
		less(&executed)
		d := g.Execute(ctx, executed)
		if now, found, err := g.Report(ctx, report(c, trade.Accepted)); err != nil || !found || now.Intent != d.Intent || len(now.Flags) > 0 {
			t.Errorf("%s: %s, %v, %v", name, now.AppendJSON(nil), found, err)
		}
		if n := len(audit(t, g)); n != 1 {
			t.Errorf("%s: %d rows", name, n)
		}
	}
}

func TestReports(t *testing.T) {
	allowed := call(t, "buy", "AAPL", "1", "150.00", withCall("c1"))
	denied := call(t, "buy", "AAPL", "500", "150.00", withCall("c1"), atHook)
	noID := call(t, "buy", "AAPL", "1", "150.00")
	larger := call(t, "buy", "AAPL", "99", "150.00", withCall("c1"))
	largerNoID := call(t, "buy", "AAPL", "99", "150.00")
	for name, tt := range map[string]struct {
		asked   *gate.Call
		ran     gate.Call
		outcome trade.Outcome
		want    ledger.AuditState // of the one row; empty for no row
		flag    string
		pending string
	}{
		"accepted":                  {&allowed, allowed, trade.Accepted, ledger.Succeeded, "", "1"},
		"rejected":                  {&allowed, allowed, trade.Rejected, ledger.Failed, "", ""},
		"unclear":                   {&allowed, allowed, trade.Unknown, ledger.OutcomeUnknown, "", "1"},
		"no id, accepted":           {&noID, noID, trade.Accepted, ledger.Succeeded, "", "1"},
		"other arguments":           {&allowed, larger, trade.Accepted, ledger.OutcomeUnknown, ledger.ArgumentsChanged, "100"},
		"other arguments, no id":    {&noID, largerNoID, trade.Accepted, ledger.OutcomeUnknown, ledger.ArgumentsChanged, "100"},
		"other arguments, rejected": {&allowed, larger, trade.Rejected, ledger.OutcomeUnknown, ledger.ArgumentsChanged, "1"},
		"ran although denied":       {&denied, denied, trade.Accepted, ledger.Succeeded, ledger.ExecutedAfterDenial, "500"},
		"denied and did not run":    {&denied, denied, trade.Unknown, ledger.Blocked, "", ""},
		"ran unjudged":              {nil, allowed, trade.Accepted, ledger.Succeeded, ledger.ExecutedUnjudged, "1"},
		"did not run, unjudged":     {nil, allowed, trade.Rejected, "", "", ""},
		"ran unjudged, no id":       {nil, noID, trade.Accepted, ledger.Succeeded, ledger.ExecutedUnjudged, "1"},
	} {
		g := open(t, nil)
		if tt.asked != nil {
			g.Authorize(ctx, *tt.asked)
		}
		reports := 3 // a report that comes again changes nothing more
		if strings.HasSuffix(name, "no id") {
			reports = 1 // without an id, one more report is of one more call
		}
		for range reports {
			if _, _, err := g.Report(ctx, report(tt.ran, tt.outcome)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		rows := audit(t, g)
		if tt.want == "" {
			if len(rows) != 0 {
				t.Errorf("%s: %d rows", name, len(rows))
			}
			continue
		}
		if len(rows) != 1 || rows[0].State != tt.want || strings.Join(rows[0].Flags, " ") != tt.flag {
			t.Errorf("%s: %d rows, %s, flags %v; want %s, %q", name, len(rows), rows[0].State, rows[0].Flags, tt.want, tt.flag)
		}
		pending := ""
		if ps, _ := g.Positions(ctx); len(ps) == 1 {
			pending = ps[0].PendingBuys.String()
		}
		if pending != tt.pending {
			t.Errorf("%s: %q shares are pending, want %q", name, pending, tt.pending)
		}
	}
}

// TestForgedReportsSettleNothing has callers say that calls ran which were never theirs to make, or without the tier to have
// any made: by the ids of the call, and by its terms alone.
//
//attack:gate-report-tier
//attack:gate-report-ours
func TestForgedReportsSettleNothing(t *testing.T) {
	denied := call(t, "buy", "AAPL", "500", "150.00")
	fine := call(t, "buy", "AAPL", "5", "150.00")
	for name, tt := range map[string]struct {
		ask  func(*gate.Gate, gate.Call)
		call gate.Call
		tier trade.Tier
		want ledger.AuditState // "" for no intent
		flag string
	}{
		"executing, denied":          {func(g *gate.Gate, c gate.Call) { g.Execute(ctx, c) }, denied, trade.TierExecute, ledger.Blocked, ledger.ExecutedAfterDenial},
		"proposed":                   {func(g *gate.Gate, c gate.Call) { g.Propose(ctx, c) }, fine, trade.TierExecute, ledger.ApprovalPending, ledger.ExecutedAfterDenial},
		"proposed, denied":           {func(g *gate.Gate, c gate.Call) { g.Propose(ctx, c) }, denied, trade.TierExecute, ledger.Blocked, ledger.ExecutedAfterDenial},
		"proposed, by a proposer":    {func(g *gate.Gate, c gate.Call) { g.Propose(ctx, c) }, fine, trade.TierPropose, ledger.ApprovalPending, ledger.ExecutedAfterDenial},
		"proposed, by a reader":      {func(g *gate.Gate, c gate.Call) { g.Propose(ctx, c) }, fine, trade.TierRead, ledger.ApprovalPending, ledger.ExecutedAfterDenial},
		"permitted, by a proposer":   {func(g *gate.Gate, c gate.Call) { g.Authorize(ctx, c) }, fine, trade.TierPropose, ledger.Allowed, ""},
		"denied at a hook, a reader": {func(g *gate.Gate, c gate.Call) { atHook(&c); g.Authorize(ctx, c) }, denied, trade.TierRead, ledger.Blocked, ledger.ExecutedAfterDenial},
		"never judged, by a reader":  {func(*gate.Gate, gate.Call) {}, fine, trade.TierRead, "", ""},
	} {
		for _, id := range []string{"", "c1"} {
			g := open(t, &venue{})
			c := tt.call
			c.Origin.ToolCallID = trade.ToolCallID(id)
			tt.ask(g, c)
			forged := report(c, trade.Accepted)
			forged.Tier = tt.tier
			_, _, err := g.Report(ctx, forged)
			var r *gate.Refusal
			if refused := errors.As(err, &r); refused != (tt.want == "") || refused && r.Code != policy.TierTooLow {
				t.Errorf("%s, id %q: %v", name, id, err)
			}
			rows := audit(t, g)
			if tt.want == "" && len(rows) == 0 {
				continue
			}
			if len(rows) != 1 || rows[0].State != tt.want || strings.Join(rows[0].Flags, " ") != tt.flag {
				t.Errorf("%s, id %q: %s, want %s, %q", name, id, rows[0].AppendJSON(nil), tt.want, tt.flag)
			}
		}
	}
}

//attack:gate-look-back
func TestReportWithoutIDLooksBackNotForEver(t *testing.T) {
	g := open(t, nil)
	c := call(t, "buy", "AAPL", "1", "1.00")
	g.Authorize(ctx, c)
	g.Report(ctx, report(c, trade.Accepted))
	for range gate.LookBack + 1 {
		g.Authorize(ctx, call(t, "buy", "TSLA", "1", "1.00"))
	}
	d, found, err := g.Report(ctx, report(c, trade.Accepted))
	if err != nil || !found || len(d.Flags) != 1 || d.Flags[0] != ledger.ExecutedUnjudged {
		t.Fatalf("%s, %v, %v", d.AppendJSON(nil), found, err)
	}
}

func TestPermissionWithoutAReportIsUnknownAfterItsDeadlineAndResolvable(t *testing.T) {
	now := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	g := open(t, nil, func(c *gate.Config) { c.Now = func() time.Time { return now } })
	d := g.Authorize(ctx, call(t, "buy", "AAPL", "10", "150.00", withCall("c1")))
	resolve := gate.Resolution{Intent: d.Intent, Outcome: trade.Rejected, By: "owner", Reason: "the broker never had it"}
	if _, err := g.Resolve(ctx, resolve); err == nil {
		t.Fatal("resolved while its outcome may still come")
	}
	now = now.Add(time.Minute)
	wantRows(t, g, ledger.OutcomeUnknown)
	for name, bad := range map[string]gate.Resolution{
		"unknown":     {Intent: d.Intent, By: "owner", Reason: "r"},
		"nobody":      {Intent: d.Intent, Outcome: trade.Accepted, Reason: "r"},
		"no reason":   {Intent: d.Intent, Outcome: trade.Accepted, By: "owner"},
		"other id":    {Intent: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Outcome: trade.Accepted, By: "owner", Reason: "r"},
		"no id at al": {Outcome: trade.Accepted, By: "owner", Reason: "r"},
	} {
		if _, err := g.Resolve(ctx, bad); err == nil {
			t.Errorf("%s: resolved", name)
		}
	}
	if ps, _ := g.Positions(ctx); len(ps) != 1 || ps[0].PendingBuys.String() != "10" {
		t.Fatalf("an unknown outcome does not keep its reservation: %+v", ps)
	}
	settled, err := g.Resolve(ctx, resolve)
	if err != nil || settled.State != ledger.Failed {
		t.Fatalf("%s, %v", settled.AppendJSON(nil), err)
	}
	if _, err := g.Resolve(ctx, resolve); err == nil {
		t.Fatal("resolved twice")
	}
	wantRows(t, g, ledger.Failed)
	if ps, _ := g.Positions(ctx); len(ps) != 0 {
		t.Fatalf("the reservation is not released: %+v", ps)
	}
}
