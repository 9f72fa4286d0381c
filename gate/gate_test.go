package gate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

var ctx = context.Background()

func TestCompliantOrderIsSentOnceAndRecorded(t *testing.T) {
	v := &venue{}
	g := open(t, v)
	d := g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00", withCall("c1"), withOrder("o1")))
	wantDecision(t, d, policy.Allow, ledger.Succeeded, "")
	if v.submits() != 1 || v.sent[0].ID != d.Intent.BrokerOrderID() || v.sent[0].Order.Digest() != d.Order.Digest() {
		t.Fatalf("the venue was sent %+v", v.sent)
	}
	if d.Status != "SUCCESS" || d.OrderID == "" || d.Filled.String() != "10" || d.PolicySHA256 == "" {
		t.Fatalf("decision %s", d.AppendJSON(nil))
	}
	rows := wantRows(t, g, ledger.Succeeded)
	if got, want := string(rows[0].AppendJSON(nil)), string(d.AppendJSON(nil)); got != want {
		t.Fatalf("the record shows\n%s\nthe caller was told\n%s", got, want)
	}
	ps, err := g.Positions(ctx)
	if err != nil || len(ps) != 1 || ps[0].Quantity.String() != "10" || ps[0].PendingBuys.Sign() != 0 {
		t.Fatalf("positions %+v, %v", ps, err)
	}
}

//fault:f16
func TestDenialsAreRecordedAndReachNoBroker(t *testing.T) {
	v := &venue{}
	g := open(t, v)
	for name, tt := range map[string]struct {
		c    gate.Call
		want string
	}{
		"quantity":   {call(t, "buy", "AAPL", "201", "1.00"), "QUANTITY_EXCEEDS_LIMIT "},
		"notional":   {call(t, "buy", "AAPL", "100", "100.01"), "NOTIONAL_EXCEEDS_LIMIT "},
		"symbol":     {call(t, "buy", "TSLA", "1", "1.00"), "SYMBOL_NOT_ALLOWED "},
		"short":      {call(t, "sell", "AAPL", "1", "1.00"), "SHORT_SALE_NOT_ALLOWED "},
		"faults":     {call(t, "hold", "AAPL", "-1", "1e3"), "SIDE_UNKNOWN QUANTITY_MALFORMED PRICE_MALFORMED "},
		"no order":   {gate.Call{Tier: trade.TierExecute, Origin: gate.Origin{Agent: "a", Surface: "mcp"}, Account: "paper"}, "INTERNAL_ERROR "},
		"two at one": {call(t, "buy", "TSLA", "201", "100.00"), "SYMBOL_NOT_ALLOWED QUANTITY_EXCEEDS_LIMIT NOTIONAL_EXCEEDS_LIMIT "},
	} {
		before := len(audit(t, g))
		wantDecision(t, g.Execute(ctx, tt.c), policy.Deny, ledger.Blocked, tt.want)
		wantDecision(t, g.Authorize(ctx, tt.c), policy.Deny, ledger.Blocked, tt.want)
		if n := len(audit(t, g)) - before; n != 2 {
			t.Errorf("%s: %d records of two calls", name, n)
		}
		wantDecision(t, g.Check(ctx, tt.c), policy.Deny, ledger.Blocked, tt.want)
		if n := len(audit(t, g)) - before; n != 2 {
			t.Errorf("%s: a dry run was recorded", name)
		}
	}
	if v.submits() != 0 {
		t.Fatalf("%d orders reached the broker", v.submits())
	}
}

//attack:gate-policy-mode
//attack:gate-policy-bytes
//fault:f10
//fault:f70
func TestUnusablePolicyDeniesEverything(t *testing.T) {
	v := &venue{}
	var cfg gate.Config
	g := open(t, v, func(c *gate.Config) { cfg = *c })
	path := filepath.Join(cfg.Home, gate.PolicyName)
	good := call(t, "buy", "AAPL", "1", "1.00")
	restore := func() {
		os.RemoveAll(path)
		if err := os.WriteFile(path, []byte(openPolicy), gate.FileMode); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		spoil func() error
		want  string
	}{
		"missing":        {func() error { return os.Remove(path) }, "POLICY_UNREADABLE "},
		"directory":      {func() error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }, "POLICY_UNREADABLE "},
		"group-writable": {func() error { return os.Chmod(path, 0o620) }, "POLICY_UNREADABLE "},
		"world-writable": {func() error { return os.Chmod(path, 0o602) }, "POLICY_UNREADABLE "},
		"over a MiB":     {func() error { return os.WriteFile(path, []byte(openPolicy+strings.Repeat(" ", gate.MaxPolicy)), 0o600) }, "POLICY_UNREADABLE "},
		"empty":          {func() error { return os.Truncate(path, 0) }, "POLICY_INVALID "},
		"cut off":        {func() error { return os.Truncate(path, 40) }, "POLICY_INVALID "},
		"unknown key":    {func() error { return os.WriteFile(path, []byte(`{"max":1,`+openPolicy[1:]), 0o600) }, "POLICY_INVALID "},
	} {
		restore()
		if err := tt.spoil(); err != nil {
			t.Fatal(err)
		}
		for _, d := range []ledger.Decision{g.Execute(ctx, good), g.Authorize(ctx, good), g.Check(ctx, good)} {
			if d.Verdict != policy.Deny || codes(d) != tt.want {
				t.Errorf("%s: %s %q, want deny %q", name, d.Verdict, codes(d), tt.want)
			}
		}
	}
	restore()
	wantDecision(t, g.Execute(ctx, good), policy.Allow, ledger.Succeeded, "")
	if v.submits() != 1 {
		t.Fatalf("%d orders reached the broker, want the one under a good policy", v.submits())
	}
}

func TestPolicyIsReadAgainOnEveryCall(t *testing.T) {
	var cfg gate.Config
	g := open(t, &venue{}, func(c *gate.Config) { cfg = *c })
	first := g.Execute(ctx, call(t, "buy", "AAPL", "150", "1.00"))
	wantDecision(t, first, policy.Allow, ledger.Succeeded, "")
	tighter := strings.Replace(openPolicy, "200", "149", 1)
	if err := os.WriteFile(filepath.Join(cfg.Home, gate.PolicyName), []byte(tighter), 0o600); err != nil {
		t.Fatal(err)
	}
	second := g.Execute(ctx, call(t, "buy", "AAPL", "150", "1.00"))
	wantDecision(t, second, policy.Deny, ledger.Blocked, "QUANTITY_EXCEEDS_LIMIT ")
	if first.PolicySHA256 == second.PolicySHA256 {
		t.Fatal("two policies have one SHA-256")
	}
}

//fault:f32
func TestRepeatAnswersTheFirstDecisionAndExecutesNothing(t *testing.T) {
	for name, with := range map[string]func(*gate.Call){"tool-call id": withCall("c1"), "client order id": withOrder("o1")} {
		v := &venue{}
		g := open(t, v)
		c := call(t, "buy", "AAPL", "10", "150.00", with)
		first := g.Execute(ctx, c)
		c.Tags.Reason = "again, with other words"
		again := g.Execute(ctx, c)
		if !again.Repeated || again.Intent != first.Intent || again.State != ledger.Succeeded {
			t.Errorf("%s: repeated as %s", name, again.AppendJSON(nil))
		}
		other := call(t, "buy", "AAPL", "11", "150.00", with)
		wantDecision(t, g.Execute(ctx, other), policy.Deny, ledger.Blocked, "ID_REUSED ")
		if v.submits() != 1 {
			t.Errorf("%s: %d orders reached the broker", name, v.submits())
		}
		wantRows(t, g, ledger.Blocked, ledger.Succeeded)
	}
}

func TestDeniedIDIsFree(t *testing.T) {
	g := open(t, &venue{})
	with := []func(*gate.Call){withCall("c1"), withOrder("o1")}
	wantDecision(t, g.Execute(ctx, call(t, "buy", "AAPL", "500", "150.00", with...)), policy.Deny, ledger.Blocked, "QUANTITY_EXCEEDS_LIMIT NOTIONAL_EXCEEDS_LIMIT ")
	wantDecision(t, g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00", with...)), policy.Allow, ledger.Succeeded, "")
}

func TestIDsAreScoped(t *testing.T) {
	v := &venue{}
	g := open(t, v)
	base := call(t, "buy", "AAPL", "10", "150.00", withCall("c1"), withOrder("o1"))
	agent, session, harness := base, base, base
	agent.Origin.Agent = "other"
	session.Origin.Session, session.Tags.ClientOrderID = "s2", "o2"
	harness.Origin.Harness, harness.Tags.ClientOrderID = "codex", "o3"
	for _, c := range []gate.Call{base, agent, session, harness} {
		if d := g.Execute(ctx, c); d.Repeated || d.State != ledger.Succeeded {
			t.Fatalf("%s", d.AppendJSON(nil))
		}
	}
	crossed := base // the call's id is bound, under another client order id
	crossed.Tags.ClientOrderID = "o9"
	wantDecision(t, g.Execute(ctx, crossed), policy.Deny, ledger.Blocked, "ID_REUSED ")
	if v.submits() != 4 {
		t.Fatalf("%d orders reached the broker, want 4", v.submits())
	}
}

//fault:f33
//fault:f35
func TestUnclearAnswersAreUnknownAndKeepTheReservation(t *testing.T) {
	long := trade.Decimal{}
	_ = long
	for name, answer := range map[string]func(context.Context, gate.Cleared) (gate.Receipt, error){
		"error": func(context.Context, gate.Cleared) (gate.Receipt, error) { return gate.Receipt{}, errors.New("reset") },
		"unclear": func(context.Context, gate.Cleared) (gate.Receipt, error) {
			return gate.Receipt{Message: "question"}, nil
		},
		"panic": func(context.Context, gate.Cleared) (gate.Receipt, error) { panic("driver") },
		"timeout": func(ctx context.Context, _ gate.Cleared) (gate.Receipt, error) {
			<-ctx.Done()
			return gate.Receipt{}, ctx.Err()
		},
	} {
		v := &venue{answer: answer}
		g := open(t, v, func(c *gate.Config) { c.BrokerWait = 20 * time.Millisecond })
		d := g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00", withOrder("o1")))
		if d.State != ledger.OutcomeUnknown || d.Verdict != policy.Allow {
			t.Errorf("%s: %s", name, d.AppendJSON(nil))
		}
		again := g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00", withOrder("o1")))
		if !again.Repeated || again.State != ledger.OutcomeUnknown || v.submits() != 1 {
			t.Errorf("%s: resent or forgotten: %s, %d submits", name, again.AppendJSON(nil), v.submits())
		}
		ps, err := g.Positions(ctx)
		if err != nil || len(ps) != 1 || ps[0].PendingBuys.String() != "10" {
			t.Errorf("%s: the reservation is %+v, %v", name, ps, err)
		}
	}
}

//attack:gate-unclear-is-unknown
//fault:f47
func TestOnlyDefiniteAnswersFail(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(context.Context, gate.Cleared) (gate.Receipt, error)
		want   ledger.AuditState
	}{
		"rejected": {func(context.Context, gate.Cleared) (gate.Receipt, error) {
			return gate.Receipt{Outcome: trade.Rejected, Code: "INSUFFICIENT_CASH", Message: "no"}, nil
		}, ledger.Failed},
		"not sent": {func(context.Context, gate.Cleared) (gate.Receipt, error) {
			return gate.Receipt{}, fmt.Errorf("no route: %w", gate.ErrNotSent)
		}, ledger.Failed},
		"an accepting receipt with an error": {func(context.Context, gate.Cleared) (gate.Receipt, error) {
			return gate.Receipt{Outcome: trade.Accepted}, errors.New("cut off")
		}, ledger.OutcomeUnknown},
		"a rejecting receipt with an error": {func(context.Context, gate.Cleared) (gate.Receipt, error) {
			return gate.Receipt{Outcome: trade.Rejected}, errors.New("cut off")
		}, ledger.OutcomeUnknown},
	} {
		g := open(t, &venue{answer: tt.answer})
		d := g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00"))
		if d.State != tt.want {
			t.Errorf("%s: %s, want %s", name, d.State, tt.want)
		}
		ps, _ := g.Positions(ctx)
		if released := len(ps) == 0; released != (tt.want == ledger.Failed) {
			t.Errorf("%s: positions %+v", name, ps)
		}
	}
}

//attack:gate-broker-wait
//fault:f36
func TestLateAnswerSettlesAnUnknownOutcome(t *testing.T) {
	release := make(chan struct{})
	v := &venue{answer: func(context.Context, gate.Cleared) (gate.Receipt, error) { // it does not heed its deadline
		<-release
		return gate.Receipt{Outcome: trade.Rejected, Code: "CLOSED"}, nil
	}}
	g := open(t, v, func(c *gate.Config) { c.BrokerWait = 20 * time.Millisecond })
	d := g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00"))
	wantDecision(t, d, policy.Allow, ledger.OutcomeUnknown, "")
	close(release)
	gatetest.Until(t, "the late answer does not come", func() bool {
		now, _, err := g.History(ctx, d.Intent)
		return err == nil && now.State == ledger.Failed
	})
}

//fault:f22
func TestSellsFitTheLongPositionOnlyOnce(t *testing.T) {
	v := &venue{}
	g := open(t, v)
	wantDecision(t, g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00")), policy.Allow, ledger.Succeeded, "")
	v.rests = true
	var wg sync.WaitGroup
	var mu sync.Mutex
	allowed := 0
	for range 16 {
		wg.Go(func() {
			d := g.Execute(ctx, call(t, "sell", "AAPL", "3", "200.00"))
			mu.Lock()
			defer mu.Unlock()
			if d.Verdict == policy.Allow {
				allowed++
			} else if codes(d) != "SHORT_SALE_NOT_ALLOWED " {
				t.Errorf("%s", d.AppendJSON(nil))
			}
		})
	}
	wg.Wait()
	if allowed != 3 { // 3 × 3 of 10
		t.Fatalf("%d sells of 3 were allowed against 10 shares, want 3", allowed)
	}
	wantDecision(t, g.Execute(ctx, call(t, "sell", "AAPL", "1", "200.00")), policy.Allow, ledger.Succeeded, "")
	wantDecision(t, g.Execute(ctx, call(t, "sell", "AAPL", "1", "200.00")), policy.Deny, ledger.Blocked, "SHORT_SALE_NOT_ALLOWED ")
	orders, err := g.Orders(ctx)
	if err != nil || len(orders) != 4 {
		t.Fatalf("%d working orders, %v", len(orders), err)
	}
	res, err := g.Cancel(ctx, gate.Origin{Agent: "local", Surface: "cli"}, orders[0].Intent)
	if err != nil || res.Outcome != trade.Accepted {
		t.Fatalf("cancel: %+v, %v", res, err)
	}
	wantDecision(t, g.Execute(ctx, call(t, "sell", "AAPL", "1", "200.00")), policy.Allow, ledger.Succeeded, "")
	if _, err := g.Cancel(ctx, gate.Origin{}, orders[0].Intent); err == nil {
		t.Fatal("a cancelled order was cancelled again")
	}
}

// TestTooManyOpenIntentsStopBuysAndNoSells: those of one agent stop its own, and those of all stop everybody's.
//
//attack:gate-open
//attack:gate-open-agent
func TestTooManyOpenIntentsStopBuysAndNoSells(t *testing.T) {
	v := &venue{}
	g := open(t, v)
	wantDecision(t, g.Execute(ctx, call(t, "buy", "AAPL", "10", "1.00")), policy.Allow, ledger.Succeeded, "")
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range gate.MaxOpenAgent / 64 {
				g.Authorize(ctx, call(t, "buy", "MSFT", "1", "1.00"))
				g.Authorize(ctx, call(t, "buy", "MSFT", "1", "1.00", byAgent("greedy")))
			}
		})
	}
	wg.Wait()
	for range gate.MaxOpenAgent % 64 {
		wantDecision(t, g.Authorize(ctx, call(t, "buy", "MSFT", "1", "1.00", byAgent("greedy"))), policy.Allow, ledger.Allowed, "")
	}
	wantDecision(t, g.Authorize(ctx, call(t, "buy", "AAPL", "1", "1.00", byAgent("greedy"))), policy.Deny, ledger.Blocked, "UNSETTLED_EXCEEDS_LIMIT ")
	for range gate.MaxOpenAgent % 64 {
		wantDecision(t, g.Authorize(ctx, call(t, "buy", "MSFT", "1", "1.00")), policy.Allow, ledger.Allowed, "")
	}
	wantDecision(t, g.Authorize(ctx, call(t, "buy", "AAPL", "1", "1.00")), policy.Deny, ledger.Blocked, "UNSETTLED_EXCEEDS_LIMIT ")
	wantDecision(t, g.Execute(ctx, call(t, "sell", "AAPL", "10", "1.00")), policy.Allow, ledger.Succeeded, "")
	wantDecision(t, g.Execute(ctx, call(t, "buy", "MSFT", "1", "1.00")), policy.Allow, ledger.Succeeded, "") // spends a permission
	wantDecision(t, g.Authorize(ctx, call(t, "buy", "AAPL", "1", "1.00")), policy.Allow, ledger.Allowed, "")
}

//attack:gate-account
func TestOrderForAnotherAccountIsNotSent(t *testing.T) {
	v := &venue{}
	g := open(t, v, func(c *gate.Config) { c.Account = "live" })
	c := call(t, "buy", "AAPL", "1", "1.00")
	wantDecision(t, g.Execute(ctx, c), policy.Deny, ledger.Blocked, "ACCOUNT_UNKNOWN ")
	wantDecision(t, g.Authorize(ctx, c), policy.Allow, ledger.Allowed, "") // somebody else's broker may have it
	c.Account = "live"
	wantDecision(t, g.Execute(ctx, c), policy.Deny, ledger.Blocked, "INTERNAL_ERROR ")
	if v.submits() != 0 {
		t.Fatalf("%d submits", v.submits())
	}
}

//attack:gate-clock-behind
//attack:gate-clock-halts
//fault:f113
func TestClockBehindTheRecordDenies(t *testing.T) {
	now := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	g := open(t, nil, func(c *gate.Config) { c.Now = func() time.Time { return now } })
	c := call(t, "buy", "AAPL", "1", "1.00")
	first := g.Authorize(ctx, c)
	now = now.Add(-5 * time.Second)
	at := g.Authorize(ctx, c)
	wantDecision(t, at, policy.Allow, ledger.Allowed, "")
	if at.At.Before(first.At) {
		t.Fatal("time in the record fell")
	}
	now = now.Add(-time.Microsecond)
	wantDecision(t, g.Authorize(ctx, c), policy.Deny, ledger.Blocked, "KILL_SWITCH_ACTIVE CLOCK_BEHIND ")
	now = now.Add(time.Minute)
	wantDecision(t, g.Authorize(ctx, c), policy.Deny, ledger.Blocked, "KILL_SWITCH_ACTIVE ") // it stays latched
}

//attack:gate-origin-text
func TestLongOriginDenies(t *testing.T) {
	g := open(t, nil)
	long := strings.Repeat("x", gate.MaxOriginText+1)
	for name, edit := range map[string]func(*gate.Origin){
		"tool":         func(o *gate.Origin) { o.Tool = long },
		"session":      func(o *gate.Origin) { o.Session = trade.Session(long) },
		"harness":      func(o *gate.Origin) { o.Harness = trade.Harness(long) },
		"tool_call_id": func(o *gate.Origin) { o.ToolCallID = trade.ToolCallID(long) },
		"agent":        func(o *gate.Origin) { o.Agent = trade.Agent(long) },
	} {
		c := call(t, "buy", "AAPL", "1", "1.00")
		edit(&c.Origin)
		d := g.Authorize(ctx, c)
		wantDecision(t, d, policy.Deny, ledger.Blocked, "ORIGIN_MALFORMED ")
		if d.Reasons[0].Field != name {
			t.Errorf("%s: field %s", name, d.Reasons[0].Field)
		}
		edit(&c.Origin)
		c.Origin = cut(c.Origin)
		wantDecision(t, g.Authorize(ctx, c), policy.Allow, ledger.Allowed, "")
	}
}

// TestOriginThatIsNoTextDenies: such an id would be recorded as another than it was looked up by, or be joined into the
// key of another call.
func TestOriginThatIsNoTextDenies(t *testing.T) {
	v := &venue{}
	g := open(t, v)
	for _, id := range []string{"a\xff", "ab\xffcd", "\xed\xa0\x80", "a\x00b", "a\nb", "\x7f"} {
		for range 2 {
			wantDecision(t, g.Execute(ctx, call(t, "buy", "AAPL", "1", "1.00", withCall(id))), policy.Deny, ledger.Blocked, "ORIGIN_MALFORMED ")
			c := call(t, "buy", "AAPL", "1", "1.00", withCall("b"))
			c.Origin.Session = trade.Session(id)
			wantDecision(t, g.Authorize(ctx, c), policy.Deny, ledger.Blocked, "ORIGIN_MALFORMED ")
			if _, _, err := g.Report(ctx, report(c, trade.Accepted)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := g.Verify(ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
	if v.submits() != 0 {
		t.Fatalf("%d submits", v.submits())
	}
}

// cut shortens what is too long by the one character that it is too long.
func cut(o gate.Origin) gate.Origin {
	c := func(s string) string { return s[:min(len(s), gate.MaxOriginText)] }
	o.Tool, o.Session, o.Harness = c(o.Tool), trade.Session(c(string(o.Session))), trade.Harness(c(string(o.Harness)))
	o.ToolCallID, o.Agent = trade.ToolCallID(c(string(o.ToolCallID))), trade.Agent(c(string(o.Agent)))
	return o
}

//attack:ledger-input-head
func TestFaultyInputIsKeptByLengthHashAndHead(t *testing.T) {
	g := open(t, nil)
	c := call(t, "buy", "AAPL", "x", "1.00")
	c.Raw = []byte(strings.Repeat("é", 5000) + "secret")
	d := g.Authorize(ctx, c)
	_, events, err := g.History(ctx, d.Intent)
	if err != nil || len(events) != 1 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	body := string(events[0].Body)
	if !strings.Contains(body, `"length":10006`) || strings.Contains(body, "secret") || strings.Count(body, "é") != ledger.MaxInputHead/2 {
		t.Fatalf("%s", body)
	}
}

//fault:f11
func TestJournalWithoutKillStateIsStopped(t *testing.T) {
	// A journal that does not begin with the kill switch's state was not made by us: nothing says that it is off.
	j := emptyJournal(t)
	g := reopen(t, config(j, nil))
	d := g.Authorize(ctx, call(t, "buy", "AAPL", "1", "1.00"))
	wantDecision(t, d, policy.Deny, ledger.Blocked, "KILL_SWITCH_ACTIVE ")
}
