package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// fakeGate decides at once, remembers what it was asked, and can be told otherwise.
type fakeGate struct {
	mu       sync.Mutex
	executed []gate.Call
	checked  []gate.Call
	limits   []int

	execute func(context.Context, gate.Call) ledger.Decision // nil: decide
	check   func(context.Context, gate.Call) ledger.Decision
	view    func() gate.PolicyView
	audit   func(limit int) ([]ledger.Decision, error)
}

const fakeHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func fakeNow() time.Time { return time.Date(2026, 11, 30, 14, 3, 22, 123456000, time.UTC) }

func (g *fakeGate) Execute(ctx context.Context, c gate.Call) ledger.Decision {
	g.mu.Lock()
	g.executed = append(g.executed, c)
	g.mu.Unlock()
	if g.execute != nil {
		return g.execute(ctx, c)
	}
	return decide(c, ledger.Succeeded)
}

func (g *fakeGate) Check(ctx context.Context, c gate.Call) ledger.Decision {
	g.mu.Lock()
	g.checked = append(g.checked, c)
	g.mu.Unlock()
	if g.check != nil {
		return g.check(ctx, c)
	}
	return decide(c, ledger.Allowed)
}

func (g *fakeGate) Policy() gate.PolicyView {
	if g.view != nil {
		return g.view()
	}
	return gate.PolicyView{Raw: []byte("{ \"max_quantity\": 200 }\n"), SHA256: fakeHash}
}

func (g *fakeGate) Audit(_ context.Context, limit int) ([]ledger.Decision, error) {
	g.mu.Lock()
	g.limits = append(g.limits, limit)
	g.mu.Unlock()
	if g.audit != nil {
		return g.audit(limit)
	}
	return nil, nil
}

func (g *fakeGate) calls() []gate.Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.executed)
}

// decide allows what is an order and denies what is none.
func decide(c gate.Call, then ledger.AuditState) ledger.Decision {
	d := ledger.Decision{
		Verdict: policy.Allow, State: then, Intent: "01JDZZZZZZZZZZZZZZZZZZZZZZ", Agent: c.Origin.Agent, Surface: c.Origin.Surface,
		Tool: c.Origin.Tool, ToolCallID: c.Origin.ToolCallID, ClientOrderID: c.Tags.ClientOrderID, Order: c.Order,
		PolicySHA256: fakeHash, At: fakeNow(),
	}
	for _, f := range c.Faults {
		d.Verdict, d.State = policy.Deny, ledger.Blocked
		d.Reasons = append(d.Reasons, policy.Reason{Code: f.Code, Field: f.Field, Observed: f.Observed, Message: f.Message})
	}
	return d
}

func newTools(t testing.TB, g Gate) *Tools {
	t.Helper()
	tools, err := New(Config{
		Gate: g, Now: fakeNow, Agent: "local", ClaudeSession: "a3f0", Version: "1.2.3",
	})
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// peer is a client that writes and reads lines, so that it can send what no SDK would.
type peer struct {
	t     testing.TB
	in    io.WriteCloser // the server's input
	lines *bufio.Reader  // its output
	ended chan error     // what Serve returned
}

func startPeer(t testing.TB, tools *Tools) *peer {
	return startPeerContext(t, t.Context(), tools)
}

func startPeerContext(t testing.TB, ctx context.Context, tools *Tools) *peer {
	t.Helper()
	inR, inW := net.Pipe()
	outR, outW := net.Pipe()
	p := &peer{t: t, in: inW, lines: bufio.NewReaderSize(outR, 1<<16), ended: make(chan error, 1)}
	go func() {
		err := tools.Serve(ctx, inR, outW)
		_ = outW.Close()
		p.ended <- err
	}()
	t.Cleanup(func() { // does not wait: a test that wants to know how it ended calls end
		_ = inW.Close()
		_ = outR.Close()
	})
	return p
}

// end closes the server's input and returns what Serve returned.
func (p *peer) end() error {
	p.t.Helper()
	_ = p.in.Close()
	return <-p.ended
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatalf("sending: %v", err)
	}
}

// message is one line of the server's.
type message struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	raw string
}

type toolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

func (p *peer) receive() message {
	p.t.Helper()
	raw, err := p.lines.ReadString('\n')
	if err != nil {
		p.t.Fatalf("receiving: %v", err)
	}
	m := message{raw: raw}
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		p.t.Fatalf("the server wrote %q: %v", raw, err)
	}
	return m
}

// ask sends and receives one answer, which must have the id.
func (p *peer) ask(line, id string) message {
	p.t.Helper()
	p.send(line)
	m := p.receive()
	if string(m.ID) != id {
		p.t.Fatalf("the answer to %.200s has the id %s, not %s: %.300s", line, m.ID, id, m.raw)
	}
	return m
}

func (m message) tool(t testing.TB) toolResult {
	t.Helper()
	var r toolResult
	if m.Error != nil {
		t.Fatalf("a protocol error: %s", m.raw)
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Content) != 1 || r.Content[0].Type != "text" {
		t.Fatalf("not one text: %s", m.raw)
	}
	return r
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"codex-mcp-client","title":"Codex","version":"0.171.0"}}}`

// open does the handshake of the protocol that most harnesses speak.
func (p *peer) open() {
	p.t.Helper()
	if m := p.ask(initialize, "0"); m.Error != nil {
		p.t.Fatalf("initialize: %s", m.raw)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func callLine(id any, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

const (
	goodA     = `{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"150.00"}`
	goodB     = `{"ticker":"AAPL","direction":"buy","qty":"10","order_type":"limit","price":"150.00"}`
	goodCheck = goodA
)

// answered is the part of a tool's object that tests look at.
type answered struct {
	Verdict string          `json:"verdict"`
	State   string          `json:"state"`
	Intent  *string         `json:"intent_id"`
	Order   json.RawMessage `json:"order"`
	Reasons []struct {
		Code     trade.Code `json:"code"`
		Field    string     `json:"field"`
		Observed string     `json:"observed"`
		Message  string     `json:"message"`
	} `json:"reasons"`
	Decisions []json.RawMessage `json:"decisions"`
	Valid     *bool             `json:"valid"`
	Policy    json.RawMessage   `json:"policy"`
	SHA256    *string           `json:"policy_sha256"`
}

func object(t testing.TB, raw []byte) answered {
	t.Helper()
	var a answered
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("%v in %.300s", err, raw)
	}
	return a
}

func (a answered) codes() string {
	var out []string
	for _, r := range a.Reasons {
		out = append(out, string(r.Code))
	}
	return strings.Join(out, " ")
}

func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return false
	}
	return x.String() == y.String()
}

// nilDialect has the name of a tool and panics when it reads.
func nilDialect() *dialect.Dialect {
	return &dialect.Dialect{Name: "paper_place_order_a", Fields: []dialect.Field{{Name: "symbol", Term: 200}}}
}
