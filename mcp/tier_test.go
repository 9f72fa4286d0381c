package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sallyport/gate"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// fitting are arguments that each tool takes.
func fitting(tool string) string {
	switch tool {
	case "paper_place_order_b":
		return goodB
	case "paper_place_order_a", "trade_check", "trade_propose":
		return goodA
	case "market_quote":
		return `{"symbol":"AAPL"}`
	case "proposal_get", "proposal_withdraw", "trade_execute":
		return `{"proposal_id":"` + someID + `"}`
	case "order_cancel":
		return `{"intent_id":"` + someID + `"}`
	}
	return `{}`
}

// attempts returns the refused attempts on record, as action and code.
func attempts(t *testing.T, g *gate.Gate) (all []string) {
	t.Helper()
	err := g.Export(t.Context(), func(r journal.Record) error {
		e, err := ledger.Decode(r.Body)
		if a, ok := e.(ledger.AttemptRefused); ok {
			all = append(all, a.Action+" "+string(a.Code))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestToolsAboveTheTierAreNotListedAndRefused calls every tool at every tier through the protocol, in front of a real
// gate. What is refused is on record, and nothing reaches the broker.
//
//attack:mcp-tier-list
func TestToolsAboveTheTierAreNotListedAndRefused(t *testing.T) {
	t.Setenv("SALLYPORT_TIER", "2") // what the environment says later is nobody's business here
	for tier := trade.TierRead; tier <= trade.TierExecute; tier++ {
		g, b, _ := realGate(t)
		p := startPeer(t, newToolsAt(t, g, tier))
		p.open()
		list := p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "1").raw
		for i, row := range published {
			if listed := strings.Contains(list, `"name":"`+row.name+`"`); listed != (row.tier <= tier) {
				t.Errorf("tier %s: %s is listed: %v", tier, row.name, listed)
			}
			if row.tier <= tier {
				continue
			}
			before, rows := len(attempts(t, g)), len(audited(t, newToolsAt(t, g, tier)))
			id := fmt.Sprint(10 + i)
			line := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + row.name + `","arguments":` + fitting(row.name) +
				`,"_meta":{"tier":2,"sallyport/tier":"2","current_tier":2}}}`
			r := p.ask(line, id).tool(t)
			a := object(t, r.Structured)
			if !r.IsError || a.Error != "permission_denied" || a.Required == nil || a.Current == nil ||
				*a.Required != int(row.tier) || *a.Current != int(tier) || !strings.Contains(a.codes(), "TIER_TOO_LOW") {
				t.Errorf("tier %s: %s: %s", tier, row.name, r.Content[0].Text)
			}
			if n := len(attempts(t, g)) + len(audited(t, newToolsAt(t, g, tier))); n != before+rows+1 {
				t.Errorf("tier %s: %s is on record %d times", tier, row.name, n-before-rows)
			}
		}
		if n := len(b.Calls()) - len(b.Submits()); len(b.Submits()) > 0 {
			t.Errorf("tier %s: %d orders and %d other calls reached the broker", tier, len(b.Submits()), n)
		}
		if stops, err := g.Stops(t.Context()); err != nil || len(stops) > 0 {
			t.Errorf("tier %s: %v, %v", tier, stops, err)
		}
	}
}

// TestRefusalOfTheTierComesBeforeTheArguments makes sure that a caller whose tier is too low learns nothing else.
func TestRefusalOfTheTierComesBeforeTheArguments(t *testing.T) {
	g, _, _ := realGate(t)
	for _, row := range published {
		if row.tier == trade.TierRead {
			continue
		}
		for _, raw := range []string{`{}`, `null`, `{"proposal_id":7}`, `{"x":1}`, `{`} {
			r := newToolsAt(t, g, trade.TierRead).Call(t.Context(), gate.Origin{}, row.name, []byte(raw))
			if a := object(t, r.JSON); !r.IsError || a.Error != "permission_denied" || !strings.Contains(a.codes(), "TIER_TOO_LOW") {
				t.Errorf("%s %s: %s", row.name, raw, r.Text)
			}
		}
	}
}

// TestNoArgumentRaisesATier adds what a model might hope for to good arguments.
func TestNoArgumentRaisesATier(t *testing.T) {
	for _, row := range published {
		for _, name := range []string{"tier", "confirm", "approved", "approval", "current_tier", "SALLYPORT_TIER", "token"} {
			g := &fakeGate{}
			raw := `{"` + name + `":"2",` + fitting(row.name)[1:]
			raw = strings.Replace(raw, ",}", "}", 1)
			r := newTools(t, g).Call(t.Context(), gate.Origin{}, row.name, []byte(raw))
			if a := object(t, r.JSON); !strings.Contains(a.codes(), "FIELD_UNKNOWN") || a.Verdict == "allow" || a.Verdict == "hold" {
				t.Errorf("%s with %s: %s", row.name, name, r.Text)
			}
			for _, c := range slices.Concat(g.executed, g.proposed, g.checked) {
				if c.Tier != trade.TierExecute || !c.Order.IsZero() {
					t.Errorf("%s with %s: the gate was given %+v", row.name, name, c)
				}
			}
			if len(g.controls) > 0 {
				t.Errorf("%s with %s: the gate was asked %+v", row.name, name, g.controls)
			}
		}
	}
}

// TestTheGateIsToldTheTierAndTheDialect makes sure that every call carries them, whatever the tool is named.
func TestTheGateIsToldTheTierAndTheDialect(t *testing.T) {
	for tier := trade.TierRead; tier <= trade.TierExecute; tier++ {
		g := &fakeGate{}
		tools := newToolsAt(t, g, tier)
		for name, dialectName := range map[string]string{
			"paper_place_order_a": "paper_place_order_a", "paper_place_order_b": "paper_place_order_b",
			"trade_propose": "paper_place_order_a", "trade_check": "trade_check",
		} {
			tools.Call(t.Context(), gate.Origin{}, name, []byte(fitting(name)))
			all := slices.Concat(g.executed, g.proposed, g.checked)
			if c := all[len(all)-1]; len(all) != 1 || c.Tier != tier || c.Dialect != dialectName || c.Origin.Tool != name || c.Origin.Agent != "local" {
				t.Errorf("%s: %+v", name, all)
			}
			g.executed, g.proposed, g.checked = nil, nil, nil
		}
		for _, row := range published {
			tools.Call(t.Context(), gate.Origin{Agent: "bob"}, row.name, []byte(fitting(row.name)))
		}
		for _, c := range g.controls {
			acts := c.what == "await" || c.what == "withdraw" || c.what == "cancel" || c.what == "kill"
			if acts && c.tier != tier || c.agent != "bob" && c.what != "quote" {
				t.Errorf("tier %s: %+v", tier, c)
			}
		}
	}
}

// TestNoToolApprovesResetsOrChangesATier holds the table, and all that the tools could reach at all, to a list.
//
//fault:f51
//fault:f70
//fault:f120
func TestNoToolApprovesResetsOrChangesATier(t *testing.T) {
	for _, row := range newTools(t, &fakeGate{}).rows {
		for _, word := range []string{"approve", "decline", "reset", "tier", "policy_set", "people", "agents", "reduce", "resolve"} {
			if strings.Contains(row.Name, word) {
				t.Errorf("there is a tool %s", row.Name)
			}
		}
	}
	var reachable []string
	for m := range reflect.TypeFor[Gate]().Methods() {
		reachable = append(reachable, m.Name)
	}
	want := []string{"Await", "CancelOwn", "Check", "Execute", "Kill", "Policy", "Portfolio", "Proposal", "Propose", "Query", "Quote", "Stops", "Withdraw"}
	if !slices.Equal(reachable, want) {
		t.Errorf("tools can reach %v", reachable)
	}
}

// TestServerNeverAsksItsClient: a person who approves is never the harness's user by way of an elicitation.
func TestServerNeverAsksItsClient(t *testing.T) {
	g := &fakeGate{}
	p := startPeer(t, newTools(t, g))
	greeting := strings.Replace(initialize, `"capabilities":{"elicitation":{}}`, `"capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}`, 1)
	if greeting == initialize {
		t.Fatal("the client offers nothing")
	}
	p.ask(greeting, "0")
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i, row := range published {
		m := p.ask(callLine(i+1, row.name, fitting(row.name)), fmt.Sprint(i+1)) // the next line is the answer, and nothing else
		if strings.Contains(m.raw, `"method"`) || strings.Contains(m.raw, "input_required") {
			t.Errorf("%s: %s", row.name, m.raw)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{".Elicit(", ".CreateMessage(", "ElicitParams", "CreateMessageParams", "InputRequests"} {
			if !strings.HasSuffix(f, "_test.go") && strings.Contains(string(raw), word) {
				t.Errorf("%s uses %s", f, word)
			}
		}
	}
}

func stopOf(scope string) ledger.Stop {
	s, _ := ledger.ParseScope(scope)
	return ledger.Stop{Scope: s, By: "person:olga", Reason: "fat finger", Since: fakeNow()}
}

//attack:mcp-stopped
func TestStopBlocksToolsInItsScope(t *testing.T) {
	exempt := []string{"journal_query", "trade_audit", "kill_switch_engage", "order_cancel", "proposal_withdraw"}
	orders := []string{"paper_place_order_a", "paper_place_order_b", "trade_propose", "trade_check"} // the gate answers for them
	for _, c := range []struct {
		name   string
		stops  func() ([]ledger.Stop, error)
		blocks bool
	}{
		{"none", func() ([]ledger.Stop, error) { return nil, nil }, false},
		{"everything", func() ([]ledger.Stop, error) { return []ledger.Stop{stopOf("everything")}, nil }, true},
		{"this agent", func() ([]ledger.Stop, error) { return []ledger.Stop{stopOf("agent:local")}, nil }, true},
		{"this agent and a symbol", func() ([]ledger.Stop, error) {
			return []ledger.Stop{stopOf("symbol:AAPL"), stopOf("agent:local")}, nil
		}, true},
		{"this agent in another case", func() ([]ledger.Stop, error) { return []ledger.Stop{stopOf("agent:LOCAL")}, nil }, true},
		{"another agent", func() ([]ledger.Stop, error) { return []ledger.Stop{stopOf("agent:bob")}, nil }, false},
		{"an account of this name", func() ([]ledger.Stop, error) { return []ledger.Stop{stopOf("account:local")}, nil }, false},
		{"a symbol", func() ([]ledger.Stop, error) { return []ledger.Stop{stopOf("symbol:AAPL")}, nil }, false},
		{"unreadable", func() ([]ledger.Stop, error) { return nil, errors.New("open /secret: no") }, true},
		{"unreadable, and a stop of another agent", func() ([]ledger.Stop, error) {
			return []ledger.Stop{{By: "sallyport", Reason: "the journal cannot be read"}, stopOf("agent:bob")}, errors.New("no")
		}, true},
	} {
		for _, row := range published {
			g := &fakeGate{stops: c.stops}
			r := newTools(t, g).Call(t.Context(), gate.Origin{}, row.name, []byte(fitting(row.name)))
			a := object(t, r.JSON)
			asked := len(g.executed) + len(g.proposed) + len(g.checked) + len(g.controls) + len(g.queries)
			blocks := c.blocks && !slices.Contains(exempt, row.name) && !slices.Contains(orders, row.name)
			switch {
			case !blocks && (a.Error != "" || asked == 0 && row.name != "trade_policy_get"):
				t.Errorf("%s, %s: %s", c.name, row.name, r.Text)
			case blocks && (!r.IsError || a.Error != "killswitch_active" || a.codes() != "KILL_SWITCH_ACTIVE" || len(a.Stops) != 1 || asked > 0):
				t.Errorf("%s, %s: asked %d times, %s", c.name, row.name, asked, r.Text)
			case blocks && strings.Contains(r.Text, "secret"):
				t.Errorf("%s, %s: the cause is shown: %s", c.name, row.name, r.Text)
			}
		}
	}
	r := newTools(t, &fakeGate{stops: func() ([]ledger.Stop, error) { return []ledger.Stop{stopOf("agent:local")}, nil }}).
		Call(t.Context(), gate.Origin{}, "portfolio_get", nil)
	want := `{"error":"killswitch_active","stops":[{"scope":"agent:local","by":"person:olga","reason":"fat finger","since":"2026-11-30T14:03:22.123456Z"}],` +
		`"reasons":[{"code":"KILL_SWITCH_ACTIVE","field":"agent:local","message":"the kill switch of agent:local is engaged by person:olga: fat finger; until a person resets it only ` +
		`trade_audit, journal_query, order_cancel, proposal_withdraw and kill_switch_engage work"}]}`
	if r.Text != want {
		t.Errorf("%s", r.Text)
	}
}

// TestStopAnswersOrdersWithADecision engages the real switch by a tool, and finds everything stopped that should be.
func TestStopAnswersOrdersWithADecision(t *testing.T) {
	g, b, _ := realGate(t)
	tools := newTools(t, g)
	call := func(name, raw string) (Result, answered) {
		t.Helper()
		r := tools.Call(t.Context(), gate.Origin{Agent: "local", Surface: "mcp"}, name, []byte(raw))
		return r, object(t, r.JSON)
	}
	if r, a := call("kill_switch_engage", `{"reason":"prices make no sense"}`); r.IsError || len(a.Stops) != 1 || a.Repeated {
		t.Fatalf("%s", r.Text)
	}
	if r, a := call("kill_switch_engage", `{}`); r.IsError || !a.Repeated {
		t.Errorf("again: %s", r.Text)
	}
	for _, name := range []string{"paper_place_order_a", "paper_place_order_b", "trade_propose", "trade_check"} {
		r, a := call(name, fitting(name))
		if r.IsError == (name == "trade_check") || a.Error != "killswitch_active" || len(a.Stops) != 1 || a.Verdict != "deny" || a.codes() != "KILL_SWITCH_ACTIVE" ||
			!strings.Contains(r.Text, "agent:local") || !strings.Contains(r.Text, `"since":"`) {
			t.Errorf("%s: %s", name, r.Text)
		}
	}
	for _, name := range []string{"trade_policy_get", "portfolio_get", "market_quote", "proposal_get", "trade_execute"} {
		if r, a := call(name, fitting(name)); !r.IsError || a.Error != "killswitch_active" || len(a.Stops) != 1 {
			t.Errorf("%s: %s", name, r.Text)
		}
	}
	if r, a := call("journal_query", `{"state":"EXECUTION_BLOCKED"}`); r.IsError || len(a.Decisions) != 3 {
		t.Errorf("what was stopped is not on record: %s", r.Text)
	}
	for _, name := range []string{"order_cancel", "proposal_withdraw"} {
		if r, a := call(name, fitting(name)); a.Error != "" || !strings.Contains("ORDER_NOT_YOURS PROPOSAL_UNKNOWN", a.codes()) {
			t.Errorf("%s is stopped: %s", name, r.Text)
		}
	}
	if n := len(b.Submits()); n > 0 {
		t.Errorf("%d orders reached the broker", n)
	}
}

// TestRefusalsOfTheGateAreAnswers gives each tool what the gate may return in place of an answer.
func TestRefusalsOfTheGateAreAnswers(t *testing.T) {
	refusal := &gate.Refusal{Code: policy.ProposalUnknown, Message: "this agent has no proposal"}
	for _, c := range []struct {
		name string
		err  error
		code trade.Code
	}{
		{"a refusal", refusal, policy.ProposalUnknown},
		{"a refusal that could not be recorded", fmt.Errorf("%w (and it could not be recorded: %w)", refusal, errors.New("/secret")), policy.ProposalUnknown},
		{"another error", errors.New("open /secret/journal.db: no"), policy.JournalUnavailable},
	} {
		g := &fakeGate{
			portfolio: func() (gate.Portfolio, error) { return gate.Portfolio{}, c.err },
			proposal:  func() (ledger.Decision, error) { return heldDecision(gate.Call{}), c.err },
			cancel:    func() (gate.CancelResult, error) { return gate.CancelResult{Outcome: trade.Accepted}, c.err },
			kill:      func(gate.StopRequest) (gate.StopReport, error) { return gate.StopReport{}, c.err },
			audit:     func(int) ([]ledger.Decision, error) { return nil, c.err },
		}
		for _, name := range []string{
			"portfolio_get", "proposal_get", "trade_execute", "proposal_withdraw", "order_cancel", "kill_switch_engage", "trade_audit", "journal_query",
		} {
			r := newTools(t, g).Call(t.Context(), gate.Origin{}, name, []byte(fitting(name)))
			if a := object(t, r.JSON); !r.IsError || a.codes() != string(c.code) || strings.Contains(r.Text, "secret") || strings.Contains(r.Text, `"verdict"`) {
				t.Errorf("%s, %s: %s", c.name, name, r.Text)
			}
		}
	}
}

// TestInstructionsNameOnlyToolsOfTheTier keeps a model from trying what it may not do.
func TestInstructionsNameOnlyToolsOfTheTier(t *testing.T) {
	for tier := trade.TierRead; tier <= trade.TierExecute; tier++ {
		text, err := json.Marshal(instructions(tier))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range published {
			if row.tier > tier && strings.Contains(string(text), row.name) {
				t.Errorf("tier %s: the instructions name %s", tier, row.name)
			}
		}
	}
}
