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
	proposed []gate.Call
	checked  []gate.Call
	limits   []int
	queries  []gate.Query
	controls []control // what was asked beside orders and records

	execute   func(context.Context, gate.Call) ledger.Decision // nil: decide
	check     func(context.Context, gate.Call) ledger.Decision
	view      func() gate.PolicyView
	audit     func(limit int) ([]ledger.Decision, error)
	portfolio func() (gate.Portfolio, error)
	quote     func(trade.Symbol) (trade.Quote, bool, error)
	proposal  func() (ledger.Decision, error) // for Proposal, Await and Withdraw
	cancel    func() (gate.CancelResult, error)
	kill      func(gate.StopRequest) (gate.StopReport, error)
	stops     func() ([]ledger.Stop, error)
}

// control is one question of an agent that is no order.
type control struct {
	what   string
	agent  trade.Agent
	tier   trade.Tier
	id     trade.IntentID
	reason string
	wait   time.Duration
	scope  ledger.Scope
}

func (g *fakeGate) asked(c control) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.controls = append(g.controls, c)
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

func (g *fakeGate) Propose(_ context.Context, c gate.Call) ledger.Decision {
	g.mu.Lock()
	g.proposed = append(g.proposed, c)
	g.mu.Unlock()
	d := decide(c, ledger.ApprovalPending)
	if d.Verdict == policy.Allow {
		d = heldDecision(c)
	}
	return d
}

func (g *fakeGate) Query(_ context.Context, q gate.Query) (gate.Found, error) {
	g.mu.Lock()
	g.limits, g.queries = append(g.limits, q.Limit), append(g.queries, q)
	g.mu.Unlock()
	if g.audit == nil {
		return gate.Found{}, nil
	}
	ds, err := g.audit(q.Limit)
	return gate.Found{Decisions: ds}, err
}

func (g *fakeGate) Portfolio(_ context.Context, agent trade.Agent) (gate.Portfolio, error) {
	g.asked(control{what: "portfolio", agent: agent})
	if g.portfolio != nil {
		return g.portfolio()
	}
	return gate.Portfolio{Account: "paper", At: fakeNow()}, nil
}

func (g *fakeGate) Quote(_ context.Context, s trade.Symbol) (trade.Quote, bool, error) {
	g.asked(control{what: "quote"})
	if g.quote != nil {
		return g.quote(s)
	}
	return trade.Quote{Symbol: s, At: fakeNow().Add(-90500 * time.Millisecond)}, true, nil
}

func (g *fakeGate) Proposal(_ context.Context, agent trade.Agent, id trade.IntentID) (ledger.Decision, error) {
	g.asked(control{what: "proposal", agent: agent, id: id})
	return g.held()
}

func (g *fakeGate) Await(_ context.Context, o gate.Origin, tier trade.Tier, id trade.IntentID, wait time.Duration) (ledger.Decision, error) {
	g.asked(control{what: "await", agent: o.Agent, tier: tier, id: id, wait: wait})
	return g.held()
}

func (g *fakeGate) Withdraw(_ context.Context, o gate.Origin, tier trade.Tier, id trade.IntentID, reason string) (ledger.Decision, error) {
	g.asked(control{what: "withdraw", agent: o.Agent, tier: tier, id: id, reason: reason})
	return g.held()
}

func (g *fakeGate) held() (ledger.Decision, error) {
	if g.proposal != nil {
		return g.proposal()
	}
	return heldDecision(gate.Call{}), nil
}

func (g *fakeGate) CancelOwn(_ context.Context, o gate.Origin, tier trade.Tier, id trade.IntentID) (gate.CancelResult, error) {
	g.asked(control{what: "cancel", agent: o.Agent, tier: tier, id: id})
	if g.cancel != nil {
		return g.cancel()
	}
	return gate.CancelResult{Intent: id, Outcome: trade.Accepted}, nil
}

func (g *fakeGate) Kill(_ context.Context, r gate.StopRequest) (gate.StopReport, error) {
	g.asked(control{what: "kill", agent: r.Agent, tier: r.Tier, scope: r.Scope, reason: r.Reason})
	if g.kill != nil {
		return g.kill(r)
	}
	return gate.StopReport{Stop: ledger.Stop{Scope: r.Scope, By: "agent:local", Reason: r.Reason, Since: fakeNow()}, Recorded: true}, nil
}

func (g *fakeGate) Stops(context.Context) ([]ledger.Stop, error) {
	if g.stops != nil {
		return g.stops()
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

// heldDecision is one that waits for a person.
func heldDecision(c gate.Call) ledger.Decision {
	d := decide(c, ledger.ApprovalPending)
	d.Verdict, d.Hold = policy.Hold, ledger.Hold{Expires: fakeNow().Add(30 * time.Minute), Approvers: 1}
	d.Reasons = append(d.Reasons, policy.Reason{Code: policy.ApprovalRequired, Message: "a proposal waits for a person"})
	return d
}

func newTools(t testing.TB, g Gate) *Tools { return newToolsAt(t, g, trade.TierExecute) }

func newToolsAt(t testing.TB, g Gate, tier trade.Tier) *Tools {
	t.Helper()
	tools, err := New(Config{
		Gate: g, Now: fakeNow, Tier: tier, Agent: "local", ClaudeSession: "a3f0", Version: "1.2.3",
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
	someID    = "01JDZZZZZZZZZZZZZZZZZZZZZZ"
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
	Error     string            `json:"error"`
	Required  *int              `json:"required_tier"`
	Current   *int              `json:"current_tier"`
	Proposal  string            `json:"proposal_id"`
	Repeated  bool              `json:"repeated"`
	Stops     []json.RawMessage `json:"stops"`
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
