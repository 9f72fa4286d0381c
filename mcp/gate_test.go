package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sallyport/gate"
	"sallyport/gatetest"
)

var _ Gate = (*gate.Gate)(nil)

// narrow is a policy that most orders of these tests meet.
const narrow = `{"max_gross_buy_notional_usd":"10000.00","max_quantity":50,"symbol_allowlist":["AAPL"],` +
	`"order_type_allowlist":["limit"],"side_allowlist":["buy"]}`

// realGate opens a gate with a broker in memory and the narrow policy.
func realGate(t *testing.T) (g *gate.Gate, b *gatetest.Broker, policyFile string) {
	t.Helper()
	home, b := gatetest.Home(t), &gatetest.Broker{}
	policyFile = filepath.Join(home, "policy.json")
	if err := os.WriteFile(policyFile, []byte(narrow), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := gatetest.Config(home, b)
	cfg.BrokerWait = 10 * time.Second
	return gatetest.Open(t, cfg), b, policyFile
}

func order(quantity, price, more string) string {
	return fmt.Sprintf(`{"symbol":"AAPL","side":"buy","quantity":%q,"order_type":"limit","limit_price":%q%s}`, quantity, price, more)
}

func audited(t *testing.T, tools *Tools) []answered {
	t.Helper()
	r := tools.Call(t.Context(), gate.Origin{}, "trade_audit", []byte(`{"limit":200}`))
	if r.IsError {
		t.Fatal(r.Text)
	}
	var all []answered
	for _, d := range object(t, r.JSON).Decisions {
		all = append(all, object(t, d))
	}
	return all
}

// TestGateBehindTheProtocol follows one agent's afternoon through the SDK's client to the broker and into the audit.
func TestGateBehindTheProtocol(t *testing.T) {
	g, b, policyFile := realGate(t)
	tools := newTools(t, g)
	tools.cfg.Now = time.Now
	s := connectHere(t, tools, "")
	call := func(tool, args string) (bool, answered) {
		t.Helper()
		r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		return r.IsError, object(t, []byte(r.Content[0].(*sdk.TextContent).Text))
	}
	for _, c := range []struct {
		name, tool, args string
		answer           gatetest.Answer
		isError          bool
		state, codes     string
	}{
		{"allowed", "paper_place_order_a", order("10", "150.00", ""), nil, false, "EXECUTION_SUCCEEDED", ""},
		{"too much at once", "paper_place_order_a", order("51", "1.00", ""), nil, true, "EXECUTION_BLOCKED", "QUANTITY_EXCEEDS_LIMIT"},
		{"too dear, in the other words", "paper_place_order_b", `{"ticker":"AAPL","direction":"buy","qty":50,"order_type":"limit","price":200.01}`, nil, true, "EXECUTION_BLOCKED", "NOTIONAL_EXCEEDS_LIMIT"},
		{"rubbish", "paper_place_order_b", `{"ticker":"AAPL","ticker":"AAPL"}`, nil, true, "EXECUTION_BLOCKED", "FIELD_DUPLICATE FIELD_MISSING FIELD_MISSING FIELD_MISSING FIELD_MISSING"},
		{"rejected", "paper_place_order_a", order("10", "151.00", ""), gatetest.Reject("HALTED"), true, "EXECUTION_FAILED", ""},
		{"lost", "paper_place_order_a", order("10", "152.00", ""), gatetest.AnswerLost, true, "EXECUTION_OUTCOME_UNKNOWN", ""},
		{"a broken driver", "paper_place_order_a", order("10", "153.00", ""), gatetest.Panic, true, "EXECUTION_OUTCOME_UNKNOWN", ""},
	} {
		if c.answer != nil {
			b.Next(c.answer)
		}
		before := len(audited(t, tools))
		isError, a := call(c.tool, c.args)
		if isError != c.isError || a.State != c.state || a.codes() != c.codes || a.Intent == nil {
			t.Errorf("%s: isError %v, %+v", c.name, isError, a)
			continue
		}
		rows := audited(t, tools)
		if len(rows) != before+1 || rows[0].Intent == nil || *rows[0].Intent != *a.Intent || rows[0].State != c.state {
			t.Errorf("%s: the audit has %d rows after %d, the newest is %+v", c.name, len(rows), before, rows[0])
		}
	}
	if n := len(b.Submits()); n != 4 {
		t.Errorf("%d orders went to the broker, want 4", n)
	}
	rows := len(audited(t, tools))
	if isError, a := call("trade_check", order("51", "1.00", "")); isError || a.Verdict != "deny" || a.codes() != "QUANTITY_EXCEEDS_LIMIT" || a.Intent != nil {
		t.Errorf("a check: isError %v, %+v", isError, a)
	}
	if isError, a := call("trade_check", order("10", "150.00", "")); isError || a.Verdict != "allow" {
		t.Errorf("a check: isError %v, %+v", isError, a)
	}
	if n := len(audited(t, tools)); n != rows || len(b.Submits()) != 4 {
		t.Errorf("a check left a trace: %d rows after %d", n, rows)
	}
	if isError, a := call("trade_policy_get", `{}`); isError || a.Valid == nil || !*a.Valid || !sameJSON(t, a.Policy, []byte(narrow)) {
		t.Errorf("the policy: isError %v, %+v", isError, a)
	}
	if err := os.WriteFile(policyFile, []byte(narrow+"x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if isError, a := call("paper_place_order_a", order("1", "150.00", "")); !isError || a.codes() != "POLICY_INVALID" {
		t.Errorf("an order under a broken policy: isError %v, %+v", isError, a)
	}
	if isError, a := call("trade_policy_get", `{}`); isError || a.Valid == nil || *a.Valid || a.codes() != "POLICY_INVALID" {
		t.Errorf("a broken policy: isError %v, %+v", isError, a)
	}
}

// TestSixtyFourCallsWithOneIDPlaceOneOrder sends the same client order id in parallel; exactly one order may leave.
//
//fault:f32
func TestSixtyFourCallsWithOneIDPlaceOneOrder(t *testing.T) {
	g, b, _ := realGate(t)
	tools := newTools(t, g)
	p := startPeer(t, tools)
	p.open()
	go func() {
		for id := 1; id <= 64; id++ {
			_, _ = io.WriteString(p.in, callLine(id, "paper_place_order_a", order("10", "150.00", `,"client_order_id":"only-once"`))+"\n")
		}
	}()
	intents, first := map[string]bool{}, 0
	for range 64 {
		r := p.receive().tool(t)
		a := object(t, r.Structured)
		if r.IsError || a.Intent == nil {
			t.Fatalf("%s", r.Content[0].Text)
		}
		intents[*a.Intent] = true
		if !strings.Contains(r.Content[0].Text, `"repeated":true`) {
			first++
		}
	}
	if len(intents) != 1 || first != 1 || len(b.Submits()) != 1 || len(audited(t, tools)) != 1 {
		t.Errorf("%d intents, %d first answers, %d orders at the broker, %d rows", len(intents), first, len(b.Submits()), len(audited(t, tools)))
	}
}

// TestToolCallIDsThatTheGateCannotTakeDeny sends ids of a harness that are too long, at the limit, and reused.
func TestToolCallIDsThatTheGateCannotTakeDeny(t *testing.T) {
	g, b, _ := realGate(t)
	p := startPeer(t, newTools(t, g))
	p.open()
	line := func(id int, quantity, meta string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"paper_place_order_a","arguments":%s,"_meta":%s}}`,
			id, order(quantity, "150.00", ""), meta)
	}
	for i, c := range []struct{ quantity, meta, codes string }{
		{"10", `{"callId":"` + strings.Repeat("x", 256) + `"}`, ""},
		{"10", `{"callId":"` + strings.Repeat("x", 257) + `"}`, "ORIGIN_MALFORMED"},
		{"10", `{"callId":"` + strings.Repeat("é", 129) + `"}`, "ORIGIN_MALFORMED"},
		{"10", `{"callId":"` + strings.Repeat("x", 900_000) + `"}`, "ORIGIN_MALFORMED"},
		{"10", `{"callId":"c","sessionId":"` + strings.Repeat("s", 257) + `"}`, "ORIGIN_MALFORMED"},
		{"10", `{"callId":7}`, "FIELD_TYPE_WRONG"},
		{"10", `{"callId":"call_1","sessionId":"s"}`, ""},
		{"11", `{"callId":"call_1","sessionId":"s"}`, "ID_REUSED"},
		{"11", `{"callId":"call_1","sessionId":"other"}`, ""},
	} {
		r := p.ask(line(i+1, c.quantity, c.meta), fmt.Sprint(i+1)).tool(t)
		if a := object(t, r.Structured); r.IsError != (c.codes != "") || a.codes() != c.codes {
			t.Errorf("%.60s: isError %v, %s, want %s", c.meta, r.IsError, a.codes(), c.codes)
		}
	}
	if n := len(b.Submits()); n != 3 {
		t.Errorf("%d orders went to the broker, want 3", n)
	}
}

// TestBothToolsAreOneOrderToTheGate places the same order through both, under one client order id.
func TestBothToolsAreOneOrderToTheGate(t *testing.T) {
	g, b, _ := realGate(t)
	tools := newTools(t, g)
	o := gate.Origin{Agent: "local", Surface: "plugin", Harness: "hermes"}
	first := tools.Call(t.Context(), o, "paper_place_order_a", []byte(order("10", "150.00", `,"client_order_id":"x"`)))
	second := tools.Call(t.Context(), o, "paper_place_order_b", []byte(`{"ticker":"aapl","direction":"BUY","qty":10,"order_type":"Limit","price":150,"client_order_id":"x"}`))
	a, c := object(t, first.JSON), object(t, second.JSON)
	if first.IsError || second.IsError || a.Intent == nil || c.Intent == nil || *a.Intent != *c.Intent || len(b.Submits()) != 1 {
		t.Errorf("%s\n%s\n%d orders", first.Text, second.Text, len(b.Submits()))
	}
}
