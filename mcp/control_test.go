package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/trade"
)

// callOf calls a tool for an agent and reads the answer.
func callOf(t *testing.T, tools *Tools, agent trade.Agent, name, raw string) (Result, answered) {
	t.Helper()
	r := tools.Call(t.Context(), gate.Origin{Agent: agent, Surface: "mcp"}, name, []byte(raw))
	return r, object(t, r.JSON)
}

func somePortfolio(t *testing.T, cash *trade.Decimal) gate.Portfolio {
	aapl := gatetest.Symbol("AAPL")
	return gate.Portfolio{
		Account: "paper", At: fakeNow(), Cash: cash,
		Positions: []gate.Position{{Account: "paper", Symbol: aapl, Quantity: trade.Whole(10), PendingSells: trade.Whole(3)}},
		Orders: []gate.WorkingOrder{
			{Intent: someID, Order: gatetest.Order(t, "sell", "AAPL", "3", "150.00"), Agent: "local", State: "working", Filled: trade.Whole(1), At: fakeNow()},
			{Intent: someID, Order: gatetest.Order(t, "buy", "AAPL", "2", "150.00"), Agent: "local", State: "held", At: fakeNow()},
		},
		Headroom: []gate.Headroom{{Limit: "max_quantity", Bound: "200", Used: "0", Left: "200"}, {Limit: "sellable", Symbol: aapl, Bound: "10", Used: "3", Left: "7"}},
		Stops:    []ledger.Stop{stopOf("symbol:MSFT")},
	}
}

func TestPortfolioIsShownWhole(t *testing.T) {
	cash := gatetest.Decimal("99999.5")
	p := somePortfolio(t, &cash)
	g := &fakeGate{portfolio: func() (gate.Portfolio, error) { return p, nil }}
	r, _ := callOf(t, newTools(t, g), "local", "portfolio_get", "")
	order := func(o gate.WorkingOrder) string { return string(o.Order.AppendJSON(nil)) }
	const at = `"2026-11-30T14:03:22.123456Z"`
	want := `{"account":"paper","at":` + at + `,"cash":"99999.50",` +
		`"positions":[{"symbol":"AAPL","quantity":"10","pending_buys":"0","pending_sells":"3"}],` +
		`"working_orders":[{"intent_id":"` + someID + `","state":"working","order":` + order(p.Orders[0]) + `,"notional":"450.00","filled_quantity":"1","at":` + at + `}],` +
		`"reservations":[{"intent_id":"` + someID + `","state":"held","order":` + order(p.Orders[1]) + `,"notional":"300.00","filled_quantity":"0","at":` + at + `}],` +
		`"headroom":[{"limit":"max_quantity","bound":"200","used":"0","left":"200"},{"limit":"sellable","symbol":"AAPL","bound":"10","used":"3","left":"7"}],` +
		`"stops":[{"scope":"symbol:MSFT","by":"person:olga","reason":"fat finger","since":` + at + `}],"reasons":[]}`
	if r.IsError || r.Text != want {
		t.Errorf("isError %v\ngot  %s\nwant %s", r.IsError, r.Text, want)
	}
	p.Cash = nil
	if r, _ := callOf(t, newTools(t, g), "local", "portfolio_get", "{}"); r.IsError || !strings.Contains(r.Text, `"cash":null`) {
		t.Errorf("a broker that cannot be asked: %s", r.Text)
	}
}

func TestQuoteIsShownWithItsAge(t *testing.T) {
	aapl := gatetest.Symbol("AAPL")
	q := trade.Quote{
		Symbol: aapl, Bid: gatetest.Decimal("149.9"), Ask: gatetest.Decimal("150.1"), Last: gatetest.Decimal("150"), At: fakeNow().Add(-90*time.Second - 500500*time.Microsecond),
	}
	for _, c := range []struct {
		name, raw string
		quote     func(trade.Symbol) (trade.Quote, bool, error)
		want      string
		isError   bool
	}{
		{
			"there", `{"symbol":"aapl"}`, func(trade.Symbol) (trade.Quote, bool, error) { return q, true, nil },
			`{"symbol":"AAPL","bid":"149.90","ask":"150.10","last":"150.00","at":"2026-11-30T14:01:51.622956Z","age":"1m30.5s","reasons":[]}`, false,
		},
		{"none", `{"symbol":"AAPL"}`, func(trade.Symbol) (trade.Quote, bool, error) { return q, false, nil }, "QUOTE_UNAVAILABLE", true},
		{"unreadable", `{"symbol":"AAPL"}`, func(trade.Symbol) (trade.Quote, bool, error) { return q, true, errors.New("/secret") }, "QUOTE_UNAVAILABLE", true},
		{"missing", `{}`, nil, "FIELD_MISSING", true},
		{"no symbol", `{"symbol":"A APL"}`, nil, "SYMBOL_MALFORMED", true},
		{"empty", `{"symbol":""}`, nil, "SYMBOL_MALFORMED", true},
		{"null", `{"symbol":null}`, nil, "FIELD_TYPE_WRONG", true},
		{"a look-alike", `{"symbol":"ААPL"}`, nil, "SYMBOL_MALFORMED", true},
	} {
		g := &fakeGate{quote: c.quote}
		r, a := callOf(t, newTools(t, g), "local", "market_quote", c.raw)
		if r.IsError != c.isError || !c.isError && r.Text != c.want || c.isError && a.codes() != c.want || strings.Contains(r.Text, "secret") {
			t.Errorf("%s: %s, want %s", c.name, r.Text, c.want)
		}
		if asked := len(g.controls) > 0; asked != (c.quote != nil) {
			t.Errorf("%s: the market was asked: %v", c.name, asked)
		}
	}
}

//attack:mcp-own-records
func TestQueryIsReadStrictlyAndAsksForOwnRecordsOnly(t *testing.T) {
	aapl := gatetest.Symbol("AAPL")
	at := time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)
	for raw, want := range map[string]gate.Query{
		``:                              {Agent: "local", Limit: 20},
		`{"agent":"local"}`:             {Agent: "local", Limit: 20},
		`{"symbol":"aapl"}`:             {Agent: "local", Symbol: aapl, Limit: 20},
		`{"state":"EXECUTION_BLOCKED"}`: {Agent: "local", State: ledger.Blocked, Limit: 20},
		`{"from":"2026-11-30T14:00:00Z","to":"2026-11-30T14:00:00.5Z","limit":200}`: {Agent: "local", From: at, To: at.Add(500 * time.Millisecond), Limit: 200},
	} {
		g := &fakeGate{}
		r, _ := callOf(t, newTools(t, g), "local", "journal_query", raw)
		if r.IsError || len(g.queries) != 1 || g.queries[0] != want {
			t.Errorf("%s: %s, asked %+v", raw, r.Text, g.queries)
		}
	}
	for raw, codes := range map[string]string{
		`{"agent":"bob"}`: "AGENT_NOT_YOURS", `{"agent":"*"}`: "AGENT_NOT_YOURS", `{"agent":""}`: "AGENT_NOT_YOURS", `{"agent":"LOCAL"}`: "AGENT_NOT_YOURS",
		`{"agent":null}`: "FIELD_TYPE_WRONG", `{"agent":["local","bob"]}`: "FIELD_TYPE_WRONG", `{"agent":"local","agent":"bob"}`: "FIELD_DUPLICATE",
		`{"symbol":"$"}`: "SYMBOL_MALFORMED", `{"symbol":1}`: "FIELD_TYPE_WRONG", `{"state":"BLOCKED"}`: "STATE_UNKNOWN", `{"state":""}`: "STATE_UNKNOWN",
		`{"from":"yesterday"}`: "TIME_MALFORMED", `{"to":"2026-11-30"}`: "TIME_MALFORMED", `{"from":1764511200}`: "FIELD_TYPE_WRONG",
		`{"limit":201}`: "LIMIT_OUT_OF_RANGE", `{"account":"paper"}`: "FIELD_UNKNOWN",
		`{"symbol":"$","state":"x","from":"x","to":"x","agent":"bob","limit":0}`: "SYMBOL_MALFORMED STATE_UNKNOWN TIME_MALFORMED TIME_MALFORMED LIMIT_OUT_OF_RANGE AGENT_NOT_YOURS",
	} {
		for _, agent := range []trade.Agent{"local", ""} {
			g := &fakeGate{}
			r, a := callOf(t, newTools(t, g), agent, "journal_query", raw)
			if !r.IsError || a.codes() != codes || len(g.queries) > 0 {
				t.Errorf("%s: %s, want %s; asked %+v", raw, r.Text, codes, g.queries)
			}
		}
	}
}

// TestNoAgentIsAskedAboutAllAgents: to the gate an empty agent means all of them.
func TestNoAgentIsAskedAboutAllAgents(t *testing.T) {
	g := &fakeGate{}
	tools := newTools(t, g)
	for _, row := range published {
		tools.Call(t.Context(), gate.Origin{}, row.name, []byte(fitting(row.name)))
	}
	for _, q := range g.queries {
		if q.Agent != "local" {
			t.Errorf("%+v", q)
		}
	}
	for _, c := range g.controls {
		if c.agent != "local" && c.what != "quote" {
			t.Errorf("%+v", c)
		}
	}
	if len(g.queries) != 2 || len(g.controls) != 7 {
		t.Errorf("%d queries, %d others", len(g.queries), len(g.controls))
	}
}

//attack:mcp-execute-wait
func TestExecuteWaitsAsLongAsItShouldAndStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGate{}
		tools := newTools(t, slowGate{g})
		start := time.Now()
		r, a := callOf(t, tools, "local", "trade_execute", fitting("trade_execute"))
		if took := time.Since(start); took != 25*time.Second {
			t.Errorf("it waited %s", took)
		}
		if r.IsError || a.State != string(ledger.ApprovalPending) || !strings.HasPrefix(r.Text, "NOT EXECUTED") {
			t.Errorf("%s", r.Text)
		}
		for _, name := range []string{"wait", "timeout", "seconds"} {
			raw := `{"proposal_id":"` + someID + `","` + name + `":3600}`
			if r, a := callOf(t, tools, "local", "trade_execute", raw); !r.IsError || a.codes() != "FIELD_UNKNOWN" {
				t.Errorf("%s: %s", name, r.Text)
			}
		}
		if len(g.executed)+len(g.proposed) > 0 {
			t.Errorf("%+v", g.executed)
		}
	})
}

// slowGate waits for as long as it is told to, in vain.
type slowGate struct{ *fakeGate }

func (g slowGate) Await(_ context.Context, _ gate.Origin, _ trade.Tier, _ trade.IntentID, wait time.Duration) (ledger.Decision, error) {
	time.Sleep(wait)
	return heldDecision(gate.Call{}), nil
}

func TestIDsAreReadStrictly(t *testing.T) {
	for _, c := range []struct{ tool, field string }{
		{"proposal_get", "proposal_id"}, {"trade_execute", "proposal_id"}, {"proposal_withdraw", "proposal_id"}, {"order_cancel", "intent_id"},
	} {
		for value, code := range map[string]string{
			`""`: "INTENT_ID_MALFORMED", `"x"`: "INTENT_ID_MALFORMED", `"` + strings.ToLower(someID) + `"`: "INTENT_ID_MALFORMED",
			`"` + someID + ` "`: "INTENT_ID_MALFORMED", `null`: "FIELD_TYPE_WRONG", `7`: "FIELD_TYPE_WRONG", `["` + someID + `"]`: "FIELD_TYPE_WRONG",
		} {
			g := &fakeGate{}
			if r, a := callOf(t, newTools(t, g), "local", c.tool, `{"`+c.field+`":`+value+`}`); !r.IsError || a.codes() != code || len(g.controls) > 0 {
				t.Errorf("%s %s: %s", c.tool, value, r.Text)
			}
		}
		if r, a := callOf(t, newTools(t, &fakeGate{}), "local", c.tool, `{}`); !r.IsError || a.codes() != "FIELD_MISSING" {
			t.Errorf("%s: %s", c.tool, r.Text)
		}
	}
}

func TestCancelIsAnErrorUnlessNoFillCanCome(t *testing.T) {
	for outcome, isError := range map[trade.Outcome]bool{trade.Accepted: false, trade.Rejected: true, trade.Unknown: true} {
		g := &fakeGate{cancel: func() (gate.CancelResult, error) {
			return gate.CancelResult{Intent: someID, Outcome: outcome, Message: "m\u202e"}, nil
		}}
		r, _ := callOf(t, newTools(t, g), "local", "order_cancel", fitting("order_cancel"))
		if r.IsError != isError || !strings.Contains(r.Text, `"outcome":"`+outcome.String()+`"`) || strings.ContainsRune(r.Text, '\u202e') {
			t.Errorf("%s: isError %v, %s", outcome, r.IsError, r.Text)
		}
	}
}

func TestKillTakesAScopeAndHidesOtherAgentsOrders(t *testing.T) {
	order := gatetest.Order(t, "buy", "AAPL", "10", "150.00")
	g := &fakeGate{kill: func(r gate.StopRequest) (gate.StopReport, error) {
		return gate.StopReport{Stop: stopOf(r.Scope.String()), Recorded: true, Orders: []gate.StopOrder{
			{Intent: someID, Order: order, Agent: "local", State: gate.StopGone},
			{Intent: "01JDYYYYYYYYYYYYYYYYYYYYYY", Order: order, Agent: "bob", State: gate.StopGone},
			{Intent: "01JDYYYYYYYYYYYYYYYYYYYYYY", Order: order, Agent: "eve", State: gate.StopUnknown},
			{Intent: "01JDYYYYYYYYYYYYYYYYYYYYYY", Order: order, Agent: "bob", State: gate.StopGone},
		}}, nil
	}}
	r, _ := callOf(t, newTools(t, g), "local", "kill_switch_engage", `{"scope":"symbol:AAPL","reason":"why"}`)
	want := `"recorded":true,"orders":[{"intent_id":"` + someID + `","order":` + string(order.AppendJSON(nil)) + `,"state":"gone"}],"others":{"gone":2,"unknown":1},"reasons":[]}`
	if r.IsError || !strings.HasSuffix(r.Text, want) {
		t.Errorf("%s", r.Text)
	}
	aapl, _ := ledger.ParseScope("symbol:AAPL")
	if got := g.controls[0]; got != (control{what: "kill", agent: "local", tier: trade.TierExecute, scope: aapl, reason: "why"}) {
		t.Errorf("%+v", got)
	}
	if r, _ := callOf(t, newTools(t, g), "local", "kill_switch_engage", `{"scope":"symbol:aapl"}`); r.IsError || g.controls[1].scope != aapl {
		t.Errorf("a symbol in lower case: %s", r.Text)
	}
	for _, raw := range []string{`{"scope":"all"}`, `{"scope":""}`, `{"scope":"symbol:"}`, `{"scope":"Symbol:aapl"}`, `{"scope":null}`, `{"reason":1}`, `{"person":"olga"}`} {
		before := len(g.controls)
		if r, _ := callOf(t, newTools(t, g), "local", "kill_switch_engage", raw); !r.IsError || len(g.controls) != before {
			t.Errorf("%s: %s", raw, r.Text)
		}
	}
}

func TestEndedProposalsSayThatNothingWasExecuted(t *testing.T) {
	for state, isError := range map[ledger.AuditState]bool{
		ledger.ApprovalPending: false, ledger.ApprovalGranted: false, ledger.ApprovalDeclined: true, ledger.ApprovalWithdrawn: true, ledger.ApprovalExpired: true,
	} {
		g := &fakeGate{proposal: func() (ledger.Decision, error) {
			d := heldDecision(gate.Call{})
			d.State = state
			return d, nil
		}}
		if r, _ := callOf(t, newTools(t, g), "local", "trade_execute", fitting("trade_execute")); r.IsError != isError || !strings.HasPrefix(r.Text, "NOT EXECUTED: ") {
			t.Errorf("%s: isError %v, %s", state, r.IsError, r.Text)
		}
		if r, _ := callOf(t, newTools(t, g), "local", "proposal_get", fitting("proposal_get")); r.IsError || r.Text != string(r.JSON) {
			t.Errorf("%s: isError %v, %s", state, r.IsError, r.Text)
		}
	}
}

// daemon opens a real gate that a person approves in.
func daemon(t *testing.T) (g *gate.Gate, b *gatetest.Broker, approve func(id string)) {
	t.Helper()
	home := gatetest.Home(t)
	if err := os.WriteFile(home+"/policy.json", []byte(narrow), 0o600); err != nil {
		t.Fatal(err)
	}
	b = &gatetest.Broker{}
	cfg := gatetest.Config(home, b)
	cfg.Daemon, cfg.BrokerWait = true, 10*time.Second
	g = gatetest.Open(t, cfg)
	secret, err := g.MakeOwner(t.Context(), gate.PersonTerms{Name: "olga", Approver: true})
	if err != nil {
		t.Fatal(err)
	}
	return g, b, func(id string) {
		person, err := g.Identify(context.Background(), secret, "test")
		if err != nil {
			t.Error(err)
			return
		}
		d, _, err := g.History(context.Background(), trade.IntentID(id))
		if err == nil {
			_, err = g.Approve(context.Background(), gate.Press{By: person, Proposal: d.Intent, Digest: d.Order.Digest()})
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestProposalFromTheAgentToTheBroker goes the whole way: an agent of tier 1 proposes, an agent of tier 2 of the same
// name waits, a person approves, and each sees the outcome.
func TestProposalFromTheAgentToTheBroker(t *testing.T) {
	g, b, approve := daemon(t)
	low, high := newToolsAt(t, g, trade.TierPropose), newTools(t, g)
	propose := func(quantity string) answered {
		t.Helper()
		r, a := callOf(t, low, "local", "trade_propose", order(quantity, "150.00", `,"reason":"it is cheap"`))
		if r.IsError || !strings.HasPrefix(r.Text, "NOT EXECUTED") || a.State != string(ledger.ApprovalPending) || a.Proposal == "" {
			t.Fatalf("%s", r.Text)
		}
		return a
	}
	first := propose("10")
	if again := propose("10"); again.Proposal != first.Proposal || !again.Repeated {
		t.Errorf("the same order again: %+v", again)
	}
	if r, a := callOf(t, low, "local", "trade_propose", order("51", "1.00", "")); !r.IsError || a.codes() != "QUANTITY_EXCEEDS_LIMIT" || a.Proposal != "" {
		t.Errorf("a denied proposal reaches a person: %s", r.Text)
	}
	id := `{"proposal_id":"` + first.Proposal + `"}`
	for _, name := range []string{"proposal_get", "trade_execute", "proposal_withdraw"} {
		if r, a := callOf(t, high, "bob", name, id); !r.IsError || !strings.Contains("PROPOSAL_UNKNOWN PROPOSAL_NOT_YOURS", a.codes()) || strings.Contains(r.Text, "cheap") {
			t.Errorf("another agent, %s: %s", name, r.Text)
		}
	}
	answers := make(chan Result, 1)
	go func() {
		answers <- high.Call(context.Background(), gate.Origin{Agent: "local", Surface: "mcp"}, "trade_execute", []byte(id))
	}()
	approve(first.Proposal)
	if r := <-answers; r.IsError || object(t, r.JSON).State != string(ledger.Succeeded) {
		t.Errorf("the waiting call: %s", r.Text)
	}
	if r, a := callOf(t, low, "local", "proposal_get", id); r.IsError || a.State != string(ledger.Succeeded) || !strings.Contains(r.Text, `"approved_by":["olga"]`) {
		t.Errorf("%s", r.Text)
	}
	if r, a := callOf(t, low, "local", "proposal_withdraw", id); !r.IsError || a.codes() != "PROPOSAL_ENDED" {
		t.Errorf("withdrawn after it was executed: %s", r.Text)
	}
	second := propose("11")
	if r, a := callOf(t, low, "local", "proposal_withdraw", `{"proposal_id":"`+second.Proposal+`","reason":"no more"}`); r.IsError || a.State != string(ledger.ApprovalWithdrawn) {
		t.Errorf("%s", r.Text)
	}
	if n := len(b.Submits()); n != 1 {
		t.Errorf("%d orders reached the broker", n)
	}
	if r, a := callOf(t, low, "local", "journal_query", `{"state":"APPROVAL_WITHDRAWN"}`); r.IsError || len(a.Decisions) != 1 {
		t.Errorf("%s", r.Text)
	}
	if r, a := callOf(t, low, "bob", "journal_query", `{}`); r.IsError || len(a.Decisions) != 0 {
		t.Errorf("another agent's records: %s", r.Text)
	}
}

// TestRubbishIDsLeaveTheJournalWhole names what is no id where it is recorded, past the strict reading of the tools.
func TestRubbishIDsLeaveTheJournalWhole(t *testing.T) {
	g, _, _ := realGate(t)
	for _, id := range []trade.IntentID{"", "x", "\xff", trade.IntentID(strings.Repeat("9", 300)), someID} {
		if _, err := g.Withdraw(t.Context(), gate.Origin{Agent: "local"}, trade.TierPropose, id, "r"); err == nil {
			t.Errorf("%q was withdrawn", id)
		}
		if _, err := g.CancelOwn(t.Context(), gate.Origin{Agent: "local"}, trade.TierPropose, id); err == nil {
			t.Errorf("%q was cancelled", id)
		}
	}
	if _, err := g.Verify(t.Context(), nil, nil); err != nil {
		t.Error(err)
	}
	if n := len(attempts(t, g)); n != 10 {
		t.Errorf("%d attempts are on record", n)
	}
}

// TestOwnWorkingOrderIsCancelledAndAnothersIsNot goes through the real gate, the switch engaged.
func TestOwnWorkingOrderIsCancelledAndAnothersIsNot(t *testing.T) {
	g, b, _ := realGate(t)
	b.Default = gatetest.Rest
	tools := newTools(t, g)
	_, a := callOf(t, tools, "local", "paper_place_order_a", order("10", "150.00", ""))
	raw := fmt.Sprintf(`{"intent_id":%q}`, *a.Intent)
	if r, p := callOf(t, tools, "local", "portfolio_get", ""); r.IsError || !strings.Contains(r.Text, `"working_orders":[{"intent_id":"`+*a.Intent) || p.Error != "" {
		t.Errorf("%s", r.Text)
	}
	if r, c := callOf(t, tools, "bob", "order_cancel", raw); !r.IsError || c.codes() != "ORDER_NOT_YOURS" {
		t.Errorf("another agent's: %s", r.Text)
	}
	if _, err := g.Kill(t.Context(), gate.StopRequest{Local: "test", Reason: "r", Keep: true}); err != nil {
		t.Fatal(err)
	}
	if r, _ := callOf(t, tools, "local", "order_cancel", raw); r.IsError || !strings.Contains(r.Text, `"outcome":"accepted"`) {
		t.Errorf("%s", r.Text)
	}
	if r, c := callOf(t, tools, "local", "order_cancel", raw); !r.IsError || !strings.Contains("ORDER_NOT_YOURS ORDER_NOT_OPEN", c.codes()) {
		t.Errorf("again: %s", r.Text)
	}
}
