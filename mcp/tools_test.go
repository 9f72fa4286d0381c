package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// published is the table of tools: the tier that each needs, and whether it changes nothing.
var published = []struct {
	name           string
	tier           trade.Tier
	readOnly, ends bool // ends: advertised as destructive, so that a harness may ask a person first
}{
	{"paper_place_order_a", trade.TierExecute, false, true},
	{"paper_place_order_b", trade.TierExecute, false, true},
	{"trade_check", trade.TierRead, true, false},
	{"trade_policy_get", trade.TierRead, true, false},
	{"trade_audit", trade.TierRead, true, false},
	{"journal_query", trade.TierRead, true, false},
	{"portfolio_get", trade.TierRead, true, false},
	{"market_quote", trade.TierRead, true, false},
	{"proposal_get", trade.TierRead, true, false},
	{"trade_propose", trade.TierPropose, false, false},
	{"proposal_withdraw", trade.TierPropose, false, false},
	{"order_cancel", trade.TierPropose, false, true},
	{"kill_switch_engage", trade.TierPropose, false, false},
	{"trade_execute", trade.TierExecute, true, false},
}

//fault:f120
func TestTableHasThePublishedToolsAndNoOther(t *testing.T) {
	rows := newTools(t, &fakeGate{}).List()
	if len(rows) != len(published) {
		t.Fatalf("%d tools, want %d", len(rows), len(published))
	}
	for i, row := range rows {
		want := published[i]
		executes := strings.HasPrefix(row.Name, "paper_place_order_")
		if row.Name != want.name || row.Tier != want.tier || row.ReadOnly != want.readOnly || row.Destructive != want.ends || row.Executes != executes {
			t.Errorf("%s: %+v", row.Name, row)
		}
		if len(row.Description) < 80 || row.Title == "" {
			t.Errorf("%s has no text", row.Name)
		}
		var in struct {
			Type                 string
			AdditionalProperties *bool
		}
		if err := json.Unmarshal(row.Input, &in); err != nil || in.Type != "object" || in.AdditionalProperties == nil || *in.AdditionalProperties {
			t.Errorf("%s: the schema takes additional properties: %s", row.Name, row.Input)
		}
	}
}

func TestNewRefusesAnIncompleteConfig(t *testing.T) {
	for _, c := range []Config{
		{},
		{Gate: &fakeGate{}, Agent: "local"},
		{Now: fakeNow, Agent: "local"},
		{Gate: &fakeGate{}, Now: fakeNow},
		{Gate: &fakeGate{}, Now: fakeNow, Agent: "local", Tier: 3},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

func TestOrderToolsGiveTheGateTheSameOrderAndTheBytesAsReceived(t *testing.T) {
	g := &fakeGate{}
	tools := newTools(t, g)
	o := gate.Origin{Agent: "bob", Surface: "plugin", Harness: "hermes", Session: "s", ToolCallID: "call_1", Tool: "ignored"}
	rawB := " " + goodB + "\n"
	for _, c := range []struct{ name, raw string }{{"paper_place_order_a", goodA}, {"paper_place_order_b", rawB}} {
		if r := tools.Call(t.Context(), o, c.name, []byte(c.raw)); r.IsError || r.Text != string(r.JSON) {
			t.Errorf("%s: %s", c.name, r.Text)
		}
	}
	calls := g.calls()
	if len(calls) != 2 || calls[0].Order.IsZero() || calls[0].Order.Digest() != calls[1].Order.Digest() {
		t.Fatalf("the gate was given %+v", calls)
	}
	if string(calls[0].Raw) != goodA || string(calls[1].Raw) != rawB {
		t.Errorf("the raw arguments are %q and %q", calls[0].Raw, calls[1].Raw)
	}
	want := o
	want.Tool = "paper_place_order_b"
	if calls[1].Origin != want || calls[1].Account != "paper" {
		t.Errorf("origin %+v, account %q", calls[1].Origin, calls[1].Account)
	}
	if n := len(g.checked); n != 0 {
		t.Errorf("%d checks", n)
	}
}

func TestConfiguredAccountWins(t *testing.T) {
	g := &fakeGate{}
	tools, err := New(Config{Gate: g, Now: fakeNow, Agent: "local", Tier: trade.TierExecute, Account: "paper-2"})
	if err != nil {
		t.Fatal(err)
	}
	tools.Call(t.Context(), gate.Origin{}, "paper_place_order_a", []byte(goodA))
	if c := g.calls()[0]; c.Account != "paper-2" || c.Order.Account() != "paper-2" {
		t.Errorf("the account is %q, the order's %q", c.Account, c.Order.Account())
	}
}

//fault:f80
func TestCheckNeverExecutes(t *testing.T) {
	g := &fakeGate{}
	tools := newTools(t, g)
	for _, raw := range []string{goodCheck, `{}`, `null`, `{"symbol":"AAPL","symbol":"MSFT"}`, ``, `{"quantity":1e2}`} {
		r := tools.Call(t.Context(), gate.Origin{}, "trade_check", []byte(raw))
		if r.IsError {
			t.Errorf("%q: a check is an error: %s", raw, r.Text)
		}
		if a := object(t, r.JSON); (a.Verdict == "allow") != (raw == goodCheck) {
			t.Errorf("%q: %s", raw, r.Text)
		}
	}
	if len(g.calls()) != 0 || len(g.checked) != 6 {
		t.Errorf("%d executions, %d checks", len(g.calls()), len(g.checked))
	}
}

// TestFaultsReachTheGate makes sure that a call whose arguments are no order is still one that the gate decides and
// records.
func TestFaultsReachTheGate(t *testing.T) {
	for _, c := range []struct{ raw, codes string }{
		{``, "FIELD_MISSING FIELD_MISSING FIELD_MISSING FIELD_MISSING FIELD_MISSING"},
		{`{}`, "FIELD_MISSING FIELD_MISSING FIELD_MISSING FIELD_MISSING FIELD_MISSING"},
		{`null`, "FIELD_TYPE_WRONG"},
		{`"{}"`, "FIELD_TYPE_WRONG"},
		{`[]`, "FIELD_TYPE_WRONG"},
		{`7`, "FIELD_TYPE_WRONG"},
		{`{`, "JSON_MALFORMED"},
		{`{}{}`, "JSON_MALFORMED"},
		{"\xff", "JSON_MALFORMED"},
		{`{"a":"\ud800"}`, "JSON_MALFORMED"},
		{strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40), "JSON_MALFORMED"},
		{`{"reason":"` + strings.Repeat("x", 64<<10) + `"}`, "BODY_TOO_LARGE"},
		{strings.Replace(goodA, `"10"`, `1e1`, 1), "QUANTITY_MALFORMED"},
		{strings.Replace(goodA, `"10"`, `"10","quantity":"20"`, 1), "FIELD_DUPLICATE"},
		{strings.Replace(goodA, `"limit_price"`, `"Limit_Price"`, 1), "FIELD_MISSING FIELD_UNKNOWN"},
		{strings.Replace(goodA, `"buy"`, `true`, 1), "FIELD_TYPE_WRONG"},
	} {
		g := &fakeGate{}
		r := newTools(t, g).Call(t.Context(), gate.Origin{}, "paper_place_order_a", []byte(c.raw))
		calls := g.calls()
		if len(calls) != 1 || !calls[0].Order.IsZero() || string(calls[0].Raw) != c.raw {
			t.Errorf("%.60q: the gate was given %+v", c.raw, calls)
			continue
		}
		var got []string
		for _, f := range calls[0].Faults {
			got = append(got, string(f.Code))
		}
		slices.Sort(got)
		if s := strings.Join(got, " "); s != c.codes {
			t.Errorf("%.60q: %s, want %s", c.raw, s, c.codes)
		}
		if a := object(t, r.JSON); !r.IsError || string(a.Order) != "null" || len(a.Reasons) == 0 {
			t.Errorf("%.60q: isError %v, %s", c.raw, r.IsError, r.Text)
		}
	}
}

func TestOnlyAnAcceptedOrderIsNoError(t *testing.T) {
	for _, c := range []struct {
		verdict policy.Effect
		state   ledger.AuditState
		isError bool
	}{
		{policy.Allow, ledger.Succeeded, false},
		{policy.Allow, ledger.Allowed, true},
		{policy.Allow, ledger.Failed, true},
		{policy.Allow, ledger.OutcomeUnknown, true},
		{policy.Deny, ledger.Blocked, true},
		{policy.Deny, ledger.Succeeded, true},
		{policy.Deny, "", true},
		{policy.Allow, "", true},
		{policy.Allow, "SOMETHING_NEW", true},
	} {
		g := &fakeGate{execute: func(_ context.Context, call gate.Call) ledger.Decision {
			d := decide(call, c.state)
			d.Verdict = c.verdict
			return d
		}}
		r := newTools(t, g).Call(t.Context(), gate.Origin{}, "paper_place_order_a", []byte(goodA))
		if a := object(t, r.JSON); r.IsError != c.isError || a.State != string(c.state) || r.Text != string(r.JSON) {
			t.Errorf("%v %s: isError %v, %s", c.verdict, c.state, r.IsError, r.Text)
		}
	}
	g := &fakeGate{execute: func(context.Context, gate.Call) ledger.Decision { return ledger.Decision{} }}
	if r := newTools(t, g).Call(t.Context(), gate.Origin{}, "paper_place_order_a", []byte(goodA)); !r.IsError {
		t.Errorf("the zero decision is a success: %s", r.Text)
	}
}

//fault:f120
func TestUnknownToolIsAnswered(t *testing.T) {
	for _, name := range []string{
		"", "x", "Paper_place_order_a", "paper_place_order_a ", "paper_place_order_a\x00", "mcp__sallyport__paper_place_order_a",
		"alpaca", "\u202edtrade", strings.Repeat("n", 1<<20),
	} {
		g := &fakeGate{}
		r := newTools(t, g).Call(t.Context(), gate.Origin{Agent: "local", Surface: "mcp"}, name, []byte(goodA))
		a := object(t, r.JSON)
		if !r.IsError || a.codes() != "TOOL_UNKNOWN" || a.State != "EXECUTION_BLOCKED" || a.Verdict != "deny" || a.Intent != nil {
			t.Errorf("%.40q: %.300s", name, r.Text)
		}
		if len(r.JSON) > 1024 || strings.ContainsRune(r.Text, '\u202e') {
			t.Errorf("%.40q is shown as it came", name)
		}
		if len(g.calls())+len(g.checked) > 0 {
			t.Errorf("%.40q reached the gate", name)
		}
	}
}

func TestDialectThatPanicsIsAFaultThatTheGateRecords(t *testing.T) {
	g := &fakeGate{}
	tools := newTools(t, g)
	broken := tools.orderTool("paper_place_order_a", nilDialect())
	r := broken.run(t.Context(), call{raw: []byte(goodA)})
	calls := g.calls()
	if len(calls) != 1 || !calls[0].Order.IsZero() || len(calls[0].Faults) != 1 || calls[0].Faults[0].Code != policy.InternalError {
		t.Fatalf("the gate was given %+v", calls)
	}
	if a := object(t, r.JSON); !r.IsError || a.State != "EXECUTION_BLOCKED" {
		t.Errorf("%s", r.Text)
	}
}

func TestAnswerThatIsNoJSONIsAnError(t *testing.T) {
	tools := newTools(t, &fakeGate{})
	tools.rows[3].run = func(context.Context, call) Result { return plain([]byte(`{"policy":`), false) }
	if r := tools.Call(t.Context(), gate.Origin{}, tools.rows[3].Name, nil); !r.IsError || object(t, r.JSON).codes() != "INTERNAL_ERROR" {
		t.Errorf("%s", r.Text)
	}
}

func TestPolicyToolShowsTheFileOrWhyThereIsNone(t *testing.T) {
	reason := &policy.Reason{Code: policy.PolicyInvalid, Message: "line 1, column 2: no"}
	for _, c := range []struct {
		name  string
		view  gate.PolicyView
		valid bool
		want  string
	}{
		{"valid", gate.PolicyView{Raw: []byte("{ \"max_quantity\": 1.50,\n \"<\": \"é\" }\n"), SHA256: fakeHash}, true, `{"max_quantity":1.50,"<":"é"}`},
		{"invalid", gate.PolicyView{Raw: []byte(`{"a":`), SHA256: fakeHash, Reason: reason}, false, "null"},
		{"invalid but JSON", gate.PolicyView{Raw: []byte(`{}`), SHA256: fakeHash, Reason: reason}, false, "null"},
		{"unreadable", gate.PolicyView{Reason: reason}, false, "null"},
	} {
		tools := newTools(t, &fakeGate{view: func() gate.PolicyView { return c.view }})
		for _, raw := range []string{``, `{}`, ` { } `} {
			r := tools.Call(t.Context(), gate.Origin{}, "trade_policy_get", []byte(raw))
			a := object(t, r.JSON)
			if r.IsError || a.Valid == nil || *a.Valid != c.valid || string(a.Policy) != c.want || (len(a.Reasons) == 0) != c.valid {
				t.Errorf("%s: %s", c.name, r.Text)
			}
			if (a.SHA256 != nil) != (c.view.SHA256 != "") || a.SHA256 != nil && *a.SHA256 != fakeHash {
				t.Errorf("%s: SHA-256 in %s", c.name, r.Text)
			}
		}
	}
}

//attack:mcp-audit-rows
func TestAuditLimitIsAWholeNumberFrom1To200(t *testing.T) {
	many := func(int) ([]ledger.Decision, error) {
		out := make([]ledger.Decision, 500) // more than it was asked for
		for i := range out {
			out[i].Intent = trade.IntentID(fmt.Sprintf("%026d", i))
		}
		return out, nil
	}
	for raw, want := range map[string]int{``: 20, `{}`: 20, `{"limit":1}`: 1, `{"limit":200}`: 200, ` {"limit" : 20} `: 20} {
		g := &fakeGate{audit: many}
		r := newTools(t, g).Call(t.Context(), gate.Origin{}, "trade_audit", []byte(raw))
		a := object(t, r.JSON)
		if r.IsError || len(a.Decisions) != want || !reflect.DeepEqual(g.limits, []int{want}) {
			t.Errorf("%q: isError %v, %d decisions, the gate was asked for %v", raw, r.IsError, len(a.Decisions), g.limits)
		} else if first := object(t, a.Decisions[0]); first.Intent == nil || *first.Intent != fmt.Sprintf("%026d", 0) {
			t.Errorf("%q: the first is not the newest", raw)
		}
	}
	for raw, code := range map[string]string{
		`{"limit":0}`: "LIMIT_OUT_OF_RANGE", `{"limit":201}`: "LIMIT_OUT_OF_RANGE", `{"limit":-1}`: "LIMIT_OUT_OF_RANGE",
		`{"limit":1.5}`: "LIMIT_OUT_OF_RANGE", `{"limit":1e2}`: "LIMIT_OUT_OF_RANGE", `{"limit":20.0}`: "LIMIT_OUT_OF_RANGE",
		`{"limit":99999999999999999999}`: "LIMIT_OUT_OF_RANGE", `{"limit":-0}`: "LIMIT_OUT_OF_RANGE",
		`{"limit":"20"}`: "FIELD_TYPE_WRONG", `{"limit":null}`: "FIELD_TYPE_WRONG", `{"limit":true}`: "FIELD_TYPE_WRONG",
		`{"limit":[]}`: "FIELD_TYPE_WRONG", `{"limit":{}}`: "FIELD_TYPE_WRONG", `{"Limit":5}`: "FIELD_UNKNOWN",
		`{"limit":5,"limit":6}`: "FIELD_DUPLICATE", `{"limit":0,"x":1,"limit":6}`: "FIELD_UNKNOWN FIELD_DUPLICATE LIMIT_OUT_OF_RANGE",
	} {
		g := &fakeGate{audit: many}
		r := newTools(t, g).Call(t.Context(), gate.Origin{}, "trade_audit", []byte(raw))
		if got := object(t, r.JSON).codes(); !r.IsError || got != code || len(g.limits) > 0 {
			t.Errorf("%s: isError %v, %s, want %s", raw, r.IsError, got, code)
		}
	}
}

//attack:mcp-arguments
func TestReadingToolsReadArgumentsStrictly(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }
	fill := func(n int) string { return `{"` + strings.Repeat("x", n-len(`{"":1}`)) + `":1}` }
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%d":0`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	for _, c := range []struct{ raw, code string }{
		{`null`, "FIELD_TYPE_WRONG"},
		{`[]`, "FIELD_TYPE_WRONG"},
		{`"x"`, "FIELD_TYPE_WRONG"},
		{`1e2`, "FIELD_TYPE_WRONG"},
		{`{`, "JSON_MALFORMED"},
		{`{}{}`, "JSON_MALFORMED"},
		{`{} x`, "JSON_MALFORMED"},
		{" ", "JSON_MALFORMED"},
		{"\xff", "JSON_MALFORMED"},
		{`{"a":1}`, "FIELD_UNKNOWN"},
		{`{"a":1,"a":2,"b":3}`, "FIELD_UNKNOWN FIELD_DUPLICATE FIELD_UNKNOWN"},
		{deep(32), "FIELD_UNKNOWN"},
		{deep(33), "JSON_MALFORMED"},
		{many(32), strings.TrimSpace(strings.Repeat("FIELD_UNKNOWN ", 32))},
		{many(5000), strings.TrimSpace(strings.Repeat("FIELD_UNKNOWN ", 32))},
		{fill(64 << 10), "FIELD_UNKNOWN"},
		{fill(64<<10 + 1), "BODY_TOO_LARGE"},
	} {
		for _, tool := range []string{"trade_policy_get", "trade_audit", "journal_query", "portfolio_get", "kill_switch_engage"} {
			g := &fakeGate{}
			r := newTools(t, g).Call(t.Context(), gate.Origin{}, tool, []byte(c.raw))
			a := object(t, r.JSON)
			if !r.IsError || a.codes() != c.code || r.Text != string(r.JSON) {
				t.Errorf("%s %.60q: %.200s, want %s", tool, c.raw, r.Text, c.code)
			}
			for _, reason := range a.Reasons {
				if reason.Message == "" {
					t.Errorf("%s %.60q: no message", tool, c.raw)
				}
			}
		}
	}
}

func TestAuditThatCannotReadSaysSoAndHidesTheCause(t *testing.T) {
	g := &fakeGate{audit: func(int) ([]ledger.Decision, error) { return nil, errors.New("open /secret/journal.db: no") }}
	r := newTools(t, g).Call(t.Context(), gate.Origin{}, "trade_audit", nil)
	if !r.IsError || object(t, r.JSON).codes() != "JOURNAL_UNAVAILABLE" || strings.Contains(r.Text, "secret") {
		t.Errorf("%s", r.Text)
	}
}

// lively is a gate that gives every kind of answer in turn, and panics now and then.
func lively(t *testing.T) *fakeGate {
	states := []ledger.AuditState{ledger.Succeeded, ledger.Blocked, ledger.Failed, ledger.OutcomeUnknown, ledger.Allowed}
	n := 0
	refusal := &gate.Refusal{Code: policy.TierTooLow, Message: "no", Tier: &ledger.TierGap{Required: 2}}
	turn := func() error {
		switch n++; {
		case n%7 == 0:
			panic("now and then")
		case n%3 == 0:
			return refusal
		}
		return nil
	}
	cash := trade.Whole(5)
	return &fakeGate{
		execute: func(_ context.Context, c gate.Call) ledger.Decision {
			d := decide(c, states[n%len(states)])
			d.Status, d.OrderID, d.Message, d.Repeated, d.Error, d.AgentReason = "SUCCESS", "7", "filled", true, "x", "because"
			d.Flags = []string{"ARGUMENTS_CHANGED"}
			d.Tier, d.Stops = &ledger.TierGap{Required: 2}, []ledger.Stop{stopOf("symbol:AAPL")}
			_ = turn()
			return d
		},
		audit: func(int) ([]ledger.Decision, error) {
			return []ledger.Decision{decide(gate.Call{}, ledger.Blocked), {}}, nil
		},
		stops: func() ([]ledger.Stop, error) {
			if n++; n%5 == 0 {
				return []ledger.Stop{stopOf("everything")}, nil
			}
			return nil, nil
		},
		portfolio: func() (gate.Portfolio, error) { return somePortfolio(t, &cash), turn() },
		quote:     func(s trade.Symbol) (trade.Quote, bool, error) { n++; return trade.Quote{Symbol: s}, n%2 == 0, nil },
		proposal: func() (ledger.Decision, error) {
			d := heldDecision(gatetest.Call(t, "buy", "AAPL", "10", "150.00"))
			d.ApprovedBy, d.EndedBy = []string{"anna"}, "person:olga"
			return d, turn()
		},
		cancel: func() (gate.CancelResult, error) {
			return gate.CancelResult{Intent: someID, Outcome: trade.Outcome(n % 3), Message: "m"}, turn()
		},
		kill: func(r gate.StopRequest) (gate.StopReport, error) {
			order := gatetest.Order(t, "buy", "AAPL", "10", "150.00")
			return gate.StopReport{Stop: stopOf(r.Scope.String()), Orders: []gate.StopOrder{
				{Intent: someID, Order: order, Agent: r.Agent, State: gate.StopStillThere, Message: "no"},
				{Intent: someID, Order: order, Agent: "bob", State: gate.StopGone},
			}}, turn()
		},
	}
}

// TestAnswersKeepTheirSchemas validates every kind of answer by the schema that is advertised for it.
func TestAnswersKeepTheirSchemas(t *testing.T) {
	g := lively(t)
	tools := newTools(t, g)
	for _, row := range tools.List() {
		var in, out jsonschema.Schema
		if json.Unmarshal(row.Input, &in) != nil || json.Unmarshal(row.Output, &out) != nil {
			t.Fatalf("%s: the schemas are no schemas", row.Name)
		}
		if _, err := in.Resolve(nil); err != nil {
			t.Errorf("%s: %v", row.Name, err)
		}
		resolved, err := out.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", row.Name, err)
		}
		for _, raw := range []string{
			goodA, goodB, `{}`, `{"limit":5}`, `null`, `{"a":1,"a":1}`, goodA, goodB, goodA, goodB, fitting(row.Name), fitting(row.Name), fitting(row.Name),
		} {
			r := tools.Call(t.Context(), gate.Origin{ToolCallID: "call_1"}, row.Name, []byte(raw))
			var v any
			if err := json.Unmarshal(r.JSON, &v); err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(v); err != nil {
				t.Errorf("%s %s: %v in %s", row.Name, raw, err, r.JSON)
			}
		}
	}
}

func FuzzReadArguments(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"limit":5}`, `{"limit":5,"limit":"x","y":[{}]}`, `null`, `{"limit":1e2}`, `{"a":"\ud800"}`} {
		f.Add([]byte(s))
	}
	tools := newTools(f, &fakeGate{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := tools.Call(t.Context(), gate.Origin{}, "trade_audit", raw)
		if !json.Valid(r.JSON) {
			t.Fatalf("%q: %s", raw, r.JSON)
		}
		var m map[string]json.RawMessage
		var limit *int
		if r.IsError || len(raw) == 0 {
			return
		}
		if err := json.Unmarshal(raw, &m); err != nil || len(m) > 1 {
			t.Fatalf("%q was taken", raw)
		}
		if v, ok := m["limit"]; ok {
			if err := json.Unmarshal(v, &limit); err != nil || limit == nil || *limit < 1 || *limit > 200 {
				t.Fatalf("%q was taken", raw)
			}
		}
	})
}
