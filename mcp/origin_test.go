package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sallyport/gate"
	"sallyport/trade"
)

// What two harnesses sent for one call, at their hook and at the server behind it, cut from recordings.
const (
	claudeHook = `{"session_id":"a3f0c5d2-1111-4222-8333-444455556666","tool_use_id":"toolu_fake000001"}`
	claudeMeta = `{"claudecode/toolUseId":"toolu_fake000001","progressToken":2}`
	codexHook  = `{"session_id":"01a22c4a-da09-7130-af96-44c359e1175e","turn_id":"01a22c4a-db30-78c1-af7b-ef063db91c6e","tool_use_id":"call_fake000003"}`
	codexMeta  = `{"callId":"call_fake000003","x-codex-turn-metadata":{"session_id":"01a22c4a-da09-7130-af96-44c359e1175e","thread_id":"01a22c4a-da09-7130-af96-44c359e1175e","turn_id":"01a22c4a-db30-78c1-af7b-ef063db91c6e","turn_started_at_unix_ms":1796039433025,"node_repl_disabled":false},"threadId":"01a22c4a-da09-7130-af96-44c359e1175e","sessionId":"01a22c4a-da09-7130-af96-44c359e1175e","windowId":"01a22c4a-da09-7130-af96-44c359e1175e:0","itemId":"fc_fake000002","progressToken":1}`
)

func callWithMeta(id int, meta string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":%s,"name":"paper_place_order_a","arguments":%s}}`, id, meta, goodA)
}

func TestCallsCarryTheIDsThatTheHooksSee(t *testing.T) {
	for _, c := range []struct {
		harness    trade.Harness
		hook, meta string
	}{{"claude", claudeHook, claudeMeta}, {"codex", codexHook, codexMeta}} {
		var hook struct {
			Session trade.Session    `json:"session_id"`
			Call    trade.ToolCallID `json:"tool_use_id"`
		}
		if err := json.Unmarshal([]byte(c.hook), &hook); err != nil {
			t.Fatal(err)
		}
		g := &fakeGate{}
		tools := newTools(t, g)
		tools.cfg.ClaudeSession = "a3f0c5d2-1111-4222-8333-444455556666" // what the harness sets for its servers
		p := startPeer(t, tools)
		p.open()
		if r := p.ask(callWithMeta(1, c.meta), "1").tool(t); r.IsError {
			t.Errorf("%s: %s", c.harness, r.Content[0].Text)
		}
		want := gate.Origin{
			Agent: "local", Surface: "mcp", Harness: c.harness, Session: hook.Session, Tool: "paper_place_order_a", ToolCallID: hook.Call,
		}
		if got := g.calls()[0].Origin; got != want {
			t.Errorf("%s: %+v, want %+v", c.harness, got, want)
		}
	}
}

func TestOriginFromMeta(t *testing.T) {
	long := strings.Repeat("x", 257)
	for _, c := range []struct {
		meta    string
		harness trade.Harness
		session trade.Session
		call    trade.ToolCallID
		fault   trade.Code
		field   string
	}{
		{meta: `{}`},
		{meta: `null`},
		{meta: `{"progressToken":7}`}, // Gemini, Qwen, OpenCode
		{meta: `{"sessionId":"s","threadId":"t"}`},
		{meta: `{"claudecode/tooluseid":"x","CallId":"y"}`}, // names are exact
		{meta: `{"claudecode/toolUseId":"toolu_1"}`, harness: "claude", session: "a3f0", call: "toolu_1"},
		{meta: `{"claudecode/toolUseId":"toolu_1","sessionId":"other"}`, harness: "claude", session: "a3f0", call: "toolu_1"},
		{meta: `{"callId":"call_1","sessionId":"s","threadId":"t"}`, harness: "codex", session: "s", call: "call_1"},
		{meta: `{"callId":"call_1","threadId":"t"}`, harness: "codex", session: "t", call: "call_1"},
		{meta: `{"callId":"call_1"}`, harness: "codex", call: "call_1"},
		{meta: `{"callId":"` + long + `"}`, harness: "codex", call: trade.ToolCallID(long)}, // the gate denies it

		{meta: `{"claudecode/toolUseId":null}`, fault: trade.FieldTypeWrong, field: "_meta.claudecode/toolUseId"},
		{meta: `{"claudecode/toolUseId":""}`, fault: trade.FieldTypeWrong, field: "_meta.claudecode/toolUseId"},
		{meta: `{"claudecode/toolUseId":5}`, fault: trade.FieldTypeWrong, field: "_meta.claudecode/toolUseId"},
		{meta: `{"claudecode/toolUseId":["a"]}`, fault: trade.FieldTypeWrong, field: "_meta.claudecode/toolUseId"},
		{meta: `{"callId":true}`, fault: trade.FieldTypeWrong, field: "_meta.callId"},
		{meta: `{"callId":{}}`, fault: trade.FieldTypeWrong, field: "_meta.callId"},
		{meta: `{"callId":"c","sessionId":7,"threadId":"t"}`, fault: trade.FieldTypeWrong, field: "_meta.sessionId"},
		{meta: `{"callId":"c","threadId":""}`, fault: trade.FieldTypeWrong, field: "_meta.threadId"},
		{meta: `{"callId":"c","claudecode/toolUseId":"t"}`, fault: trade.FieldDuplicate, field: "_meta"},
		{meta: `[]`, fault: trade.FieldTypeWrong, field: "_meta"},
		{meta: `"callId"`, fault: trade.FieldTypeWrong, field: "_meta"},
		{meta: `7`, fault: trade.FieldTypeWrong, field: "_meta"},
		{meta: `{"sallyport/metaInvalid":false}`, fault: trade.FieldTypeWrong, field: "_meta"},
	} {
		g := &fakeGate{}
		p := startPeer(t, newTools(t, g))
		p.open()
		r := p.ask(callWithMeta(1, c.meta), "1").tool(t)
		calls := g.calls()
		if len(calls) != 1 {
			t.Errorf("%.60s: the gate decided %d calls", c.meta, len(calls))
			continue
		}
		got := calls[0]
		if c.fault != "" {
			if !r.IsError || !got.Order.IsZero() || len(got.Faults) != 1 || got.Faults[0].Code != c.fault || got.Faults[0].Field != c.field {
				t.Errorf("%s: %+v, want %s in %s", c.meta, got.Faults, c.fault, c.field)
			}
			continue
		}
		want := gate.Origin{Agent: "local", Surface: "mcp", Harness: c.harness, Session: c.session, Tool: "paper_place_order_a", ToolCallID: c.call}
		if r.IsError || got.Origin != want {
			t.Errorf("%.60s: %+v, want %+v", c.meta, got.Origin, want)
		}
	}
}

func TestFaultsOfMetaAndOfTheArgumentsAreReportedTogether(t *testing.T) {
	g := &fakeGate{}
	p := startPeer(t, newTools(t, g))
	p.open()
	line := strings.Replace(callWithMeta(1, `{"callId":5,"threadId":6}`), `"buy"`, `"hold"`, 1)
	a := object(t, p.ask(line, "1").tool(t).Structured)
	if a.codes() != "FIELD_TYPE_WRONG FIELD_TYPE_WRONG SIDE_UNKNOWN" {
		t.Errorf("the reasons are %s", a.codes())
	}
}
