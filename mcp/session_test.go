package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
)

// TestMain lets the test binary be the server of the tests that need a process of their own.
func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		os.Exit(child(mode))
	}
	goleak.VerifyTestMain(m)
}

func TestSessionGoesOnAfterEveryBadLine(t *testing.T) {
	good := 100
	ping := func(p *peer) {
		t.Helper()
		good++
		id := fmt.Sprint(good)
		if m := p.ask(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`, id); m.Error != nil {
			t.Fatalf("ping: %s", m.raw)
		}
	}
	bad := func(p *peer, c badLine) {
		t.Helper()
		if m := p.ask(c.line, c.id); m.Error == nil || m.Error.Code != c.code {
			t.Errorf("%s: %s, want %d", c.name, m.raw, c.code)
		}
	}
	g := &fakeGate{}
	p := startPeer(t, newTools(t, g))
	for _, c := range badLines() { // before the handshake
		bad(p, c)
	}
	p.open()
	for _, c := range badLines() { // each between two good ones
		bad(p, c)
		ping(p)
	}
	if r := p.ask(callLine(1, "paper_place_order_a", goodA), "1").tool(t); r.IsError {
		t.Errorf("after all bad lines an order is refused: %s", r.Content[0].Text)
	}
	if n := len(g.calls()); n != 1 {
		t.Errorf("the gate was asked %d times, not once", n)
	}
	if err := p.end(); err != nil {
		t.Errorf("the session ended with %v", err)
	}
}

func TestSessionAnswersBadLinesWhileAnOrderIsOnItsWay(t *testing.T) {
	g, release := &fakeGate{}, make(chan struct{})
	g.execute = func(_ context.Context, c gate.Call) ledger.Decision {
		<-release
		return decide(c, ledger.Succeeded)
	}
	p := startPeer(t, newTools(t, g))
	p.open()
	p.send(callLine(7, "paper_place_order_a", goodA))
	for _, c := range badLines() {
		if m := p.ask(c.line, c.id); m.Error == nil || m.Error.Code != c.code {
			t.Errorf("%s: %s, want %d", c.name, m.raw, c.code)
		}
	}
	close(release)
	if m := p.receive(); string(m.ID) != "7" || m.tool(t).IsError {
		t.Errorf("the order's answer is %s", m.raw)
	}
}

func TestSessionTakesALastLineWithoutNewline(t *testing.T) {
	for _, c := range []struct{ last, want string }{
		{`{"jsonrpc":"2.0","id":4,"method":"ping"}`, `"id":4`},
		{`{"jsonrpc":"2.0","id":4,"met`, `-32700`},
		{strings.Repeat("x", maxLine+1), `-32700`},
	} {
		p := startPeer(t, newTools(t, &fakeGate{}))
		p.open()
		go func() {
			_, _ = io.WriteString(p.in, c.last)
			_ = p.in.Close()
		}()
		if m := p.receive(); !strings.Contains(m.raw, c.want) {
			t.Errorf("%.40s: %s, want %s", c.last, m.raw, c.want)
		}
		if err := <-p.ended; err != nil {
			t.Errorf("%.40s: %v", c.last, err)
		}
	}
}

func TestSessionTakesWindowsLineEnds(t *testing.T) {
	p := startPeer(t, newTools(t, &fakeGate{}))
	if m := p.ask(initialize+"\r", "0"); m.Error != nil {
		t.Error(m.raw)
	}
	if m := p.ask(`{"jsonrpc":"2.0","id":4,"method":"ping"}`+"\r", "4"); m.Error != nil {
		t.Error(m.raw)
	}
}

// TestSessionRunsCallsInParallel deadlocks if the second order waits for the first.
func TestSessionRunsCallsInParallel(t *testing.T) {
	g, met := &fakeGate{}, make(chan struct{})
	g.execute = func(_ context.Context, c gate.Call) ledger.Decision {
		select {
		case met <- struct{}{}:
		case <-met:
		}
		return decide(c, ledger.Succeeded)
	}
	p := startPeer(t, newTools(t, g))
	p.open()
	p.send(callLine(1, "paper_place_order_a", goodA))
	p.send(callLine(2, "paper_place_order_b", goodB))
	seen := map[string]bool{}
	for range 2 {
		m := p.receive()
		seen[string(m.ID)] = !m.tool(t).IsError
	}
	if !seen["1"] || !seen["2"] {
		t.Errorf("answers: %v", seen)
	}
}

//attack:mcp-calls
func TestSessionReadsNoFurtherThanItsPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, release := &fakeGate{}, make(chan struct{})
		g.execute = func(_ context.Context, c gate.Call) ledger.Decision {
			<-release
			return decide(c, ledger.Succeeded)
		}
		p := startPeer(t, newTools(t, g))
		p.open()
		const places, asked = 64, 74
		go func() {
			for id := range asked {
				_, _ = io.WriteString(p.in, callLine(id, "paper_place_order_a", goodA)+"\n")
			}
		}()
		synctest.Wait()
		if n := len(g.calls()); n != places {
			t.Errorf("%d orders are being worked on, want %d", n, places)
		}
		release <- struct{}{}
		p.receive()
		synctest.Wait()
		if n := len(g.calls()); n != places+1 {
			t.Errorf("after one answer %d orders were begun, want %d", n, places+1)
		}
		close(release)
		for range asked - 1 {
			p.receive()
		}
		if err := p.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestSessionRefusesAnIDThatIsInUse(t *testing.T) {
	g, release := &fakeGate{}, make(chan struct{})
	g.execute = func(_ context.Context, c gate.Call) ledger.Decision {
		<-release
		return decide(c, ledger.Succeeded)
	}
	p := startPeer(t, newTools(t, g))
	p.open()
	p.send(callLine(`"x"`, "paper_place_order_a", goodA))
	for range 3 {
		if m := p.ask(callLine(`"x"`, "paper_place_order_a", goodA), "null"); m.Error == nil || m.Error.Code != -32600 {
			t.Errorf("a second request under a live id: %s", m.raw)
		}
	}
	close(release)
	if m := p.receive(); string(m.ID) != `"x"` || m.tool(t).IsError {
		t.Errorf("the first request's answer: %s", m.raw)
	}
	if n := len(g.calls()); n != 1 {
		t.Errorf("%d orders were executed", n)
	}
	if m := p.ask(callLine(`"x"`, "trade_check", goodCheck), `"x"`); m.tool(t).IsError {
		t.Errorf("the id is not free after its answer: %s", m.raw)
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

func TestCancellationByTheClientLosesNoOutcome(t *testing.T) {
	g, begun, release, ended := &fakeGate{}, make(chan struct{}), make(chan struct{}), make(chan error, 1)
	g.execute = func(ctx context.Context, c gate.Call) ledger.Decision {
		close(begun)
		<-release
		ended <- ctx.Err()
		return decide(c, ledger.Succeeded)
	}
	p := startPeer(t, newTools(t, g))
	p.open()
	p.send(callLine(7, "paper_place_order_a", goodA))
	<-begun
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"bored"}}`)
	p.ask(`{"jsonrpc":"2.0","id":8,"method":"ping"}`, "8") // the cancellation has been read
	close(release)
	if err := <-ended; err != nil {
		t.Errorf("the gate saw %v", err)
	}
	if m := p.receive(); string(m.ID) != "7" || m.tool(t).IsError {
		t.Errorf("the answer is %s", m.raw)
	}
}

func TestEndOfInputWaitsForAnswers(t *testing.T) {
	for name, how := range map[string]func(*peer, context.CancelFunc){
		"closed":    func(p *peer, _ context.CancelFunc) { _ = p.in.Close() },
		"cancelled": func(_ *peer, stop context.CancelFunc) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, release := &fakeGate{}, make(chan struct{})
				g.execute = func(ctx context.Context, c gate.Call) ledger.Decision {
					<-release
					if ctx.Err() != nil {
						return decide(c, ledger.OutcomeUnknown)
					}
					return decide(c, ledger.Succeeded)
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				p := startPeerContext(t, ctx, newTools(t, g))
				p.open()
				p.send(callLine(1, "paper_place_order_a", goodA))
				p.send(callLine(2, "paper_place_order_a", goodA))
				synctest.Wait()
				how(p, stop)
				synctest.Wait()
				select {
				case err := <-p.ended:
					t.Fatalf("the session ended with %v before its answers", err)
				default:
				}
				close(release)
				for range 2 {
					if m := p.receive(); m.tool(t).IsError {
						t.Errorf("an answer after the end of the input: %s", m.raw)
					}
				}
				if err := <-p.ended; err != nil {
					t.Errorf("the session ended with %v", err)
				}
			})
		})
	}
}

//attack:mcp-drain
func TestEndOfInputDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, release := &fakeGate{}, make(chan struct{})
		g.execute = func(_ context.Context, c gate.Call) ledger.Decision {
			<-release // whatever the deadline
			return decide(c, ledger.Succeeded)
		}
		start := time.Now()
		p := startPeer(t, newTools(t, g))
		p.open()
		p.send(callLine(1, "paper_place_order_a", goodA))
		if err := p.end(); !errors.Is(err, errStuck) {
			t.Errorf("the session ended with %v", err)
		}
		if took := time.Since(start); took != 130*time.Second {
			t.Errorf("it waited %v, want 130s", took)
		}
		close(release)
	})
}

//attack:mcp-call-deadline
func TestCallEndsAtItsDeadlineWhateverTheClientDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGate{}
		g.execute = func(ctx context.Context, c gate.Call) ledger.Decision {
			<-ctx.Done()
			return decide(c, ledger.OutcomeUnknown)
		}
		tools := newTools(t, g)
		for _, parent := range []func() (context.Context, context.CancelFunc){
			func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) },
			func() (context.Context, context.CancelFunc) {
				return context.WithTimeout(t.Context(), time.Millisecond)
			},
			func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), time.Hour) },
		} {
			ctx, cancel := parent()
			start := time.Now()
			r := tools.Call(ctx, gate.Origin{}, "paper_place_order_a", []byte(goodA))
			if took := time.Since(start); took != 2*time.Minute {
				t.Errorf("the call took %v, want 2m", took)
			}
			if a := object(t, r.JSON); !r.IsError || a.State != string(ledger.OutcomeUnknown) {
				t.Errorf("the answer is %s", r.Text)
			}
			cancel()
		}
	})
}

// closedAfter takes some writes and then fails, as a pipe does whose reader is gone.
type closedAfter struct{ left int }

func (w *closedAfter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestClientThatGoesAwayEndsTheSessionAfterItsOrders(t *testing.T) {
	g, entered, release := &fakeGate{}, make(chan struct{}), make(chan struct{})
	finished := 0
	g.execute = func(ctx context.Context, c gate.Call) ledger.Decision {
		entered <- struct{}{}
		<-release
		if ctx.Err() == nil {
			finished++
		}
		return decide(c, ledger.Succeeded)
	}
	inR, inW := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- newTools(t, g).Serve(t.Context(), inR, &closedAfter{left: 1}) }()
	for _, line := range []string{initialize, callLine(1, "paper_place_order_a", goodA)} {
		if _, err := io.WriteString(inW, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-entered
	// The answer to this one cannot be written; the order is still on its way.
	if _, err := io.WriteString(inW, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := <-ended; err == nil {
		t.Error("the session ended without an error although its answers were lost")
	}
	if finished != 1 {
		t.Errorf("%d orders were finished, want 1", finished)
	}
	_ = inW.Close()
}

func TestPanicsBecomeAnswers(t *testing.T) {
	g := &fakeGate{
		execute: func(context.Context, gate.Call) ledger.Decision { panic("execute") },
		check:   func(context.Context, gate.Call) ledger.Decision { panic("check") },
		view:    func() gate.PolicyView { panic(errors.New("view")) },
		audit:   func(int) ([]ledger.Decision, error) { return make([]ledger.Decision, 1)[1:2], nil },

		portfolio: func() (gate.Portfolio, error) { panic("portfolio") },
		kill:      func(gate.StopRequest) (gate.StopReport, error) { panic("kill") },
		proposal:  func() (ledger.Decision, error) { panic("proposal") },
	}
	p := startPeer(t, newTools(t, g))
	p.open()
	for i, c := range []struct{ tool, args, state string }{
		{"paper_place_order_a", goodA, string(ledger.OutcomeUnknown)},
		{"paper_place_order_b", goodB, string(ledger.OutcomeUnknown)},
		{"trade_check", goodCheck, string(ledger.Blocked)},
		{"trade_policy_get", `{}`, ""},
		{"trade_audit", `{}`, ""},
		{"portfolio_get", `{}`, ""},
		{"kill_switch_engage", `{}`, ""},
		{"trade_execute", `{"proposal_id":"` + someID + `"}`, ""},
	} {
		r := p.ask(callLine(i+1, c.tool, c.args), fmt.Sprint(i+1)).tool(t)
		a := object(t, r.Structured)
		if !r.IsError || a.codes() != "INTERNAL_ERROR" || a.State != c.state {
			t.Errorf("%s: %s", c.tool, r.Content[0].Text)
		}
		if strings.Contains(r.Content[0].Text, "goroutine") {
			t.Errorf("%s: the caller is shown the stack", c.tool)
		}
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

// TestProtocolErrorsLeaveTheSessionOpen sends good JSON-RPC that is bad MCP.
func TestProtocolErrorsLeaveTheSessionOpen(t *testing.T) {
	g := &fakeGate{}
	p := startPeer(t, newTools(t, g))
	if m := p.ask(callLine(1, "paper_place_order_a", goodA), "1"); m.Error == nil {
		t.Errorf("an order before the handshake: %s", m.raw)
	}
	p.open()
	for i, line := range []string{
		`"method":"tools/call"`, `"method":"tools/call","params":null`, `"method":"tools/call","params":{"name":5,"arguments":{}}`,
		`"method":"tools/Call","params":{"name":"paper_place_order_a","arguments":` + goodA + `}`, `"method":""`, `"method":"no/such"`,
		`"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`,
		`"method":"initialize","params":{"protocolVersion":5}`, `"method":"notifications/cancelled","params":{"requestId":1}`,
		`"method":"tools/list","params":{"cursor":"!!"}`, `"method":"prompts/get","params":{"name":"x"}`,
		`"method":"resources/read","params":{"uri":"file:///etc/passwd"}`,
		`"method":"tools/call","params":{"name":"paper_place_order_a","arguments":` + goodA + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}`,
	} {
		id := fmt.Sprint(10 + i)
		if m := p.ask(`{"jsonrpc":"2.0","id":`+id+`,`+line+`}`, id); m.Error == nil {
			t.Errorf("%s: %s", line, m.raw)
		}
	}
	// As notifications they have no answer, and an order without an id is none.
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"paper_place_order_a","arguments":` + goodA + `}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":1}}}`,
		`{"jsonrpc":"2.0","method":"notifications/no-such"}`, `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`,
	} {
		p.send(line)
	}
	if r := p.ask(callLine(99, "trade_check", goodCheck), "99").tool(t); r.IsError {
		t.Errorf("after all of them: %s", r.Content[0].Text)
	}
	if n := len(g.calls()); n != 0 {
		t.Errorf("%d orders were executed", n)
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

// TestPanicOfTheProtocolBecomesAnError panics outside any tool.
func TestPanicOfTheProtocolBecomesAnError(t *testing.T) {
	tools := newTools(t, &fakeGate{})
	h := tools.receive(func(context.Context, string, sdk.Request) (sdk.Result, error) { panic("a method") })
	r, err := h(t.Context(), "tools/list", &sdk.ListToolsRequest{Params: &sdk.ListToolsParams{}})
	var protocol *jsonrpc.Error
	if r != nil || !errors.As(err, &protocol) || protocol.Code != -32603 {
		t.Errorf("%v, %v", r, err)
	}
}

// oneAtATime is a writer that notices two writes at once.
type oneAtATime struct {
	busy atomic.Bool
	torn atomic.Bool
	w    io.Writer
}

func (o *oneAtATime) Write(p []byte) (int, error) {
	if o.busy.Swap(true) {
		o.torn.Store(true)
	}
	defer o.busy.Store(false)
	runtime.Gosched()
	return o.w.Write(p)
}

func TestAnswersOfTheSDKAndOursAreNeverMixed(t *testing.T) {
	inR, inW := net.Pipe()
	outR, outW := net.Pipe()
	out, ended := &oneAtATime{w: outW}, make(chan error, 1)
	go func() {
		err := newTools(t, &fakeGate{}).Serve(t.Context(), inR, out)
		_ = outW.Close()
		ended <- err
	}()
	const rounds = 100
	go func() {
		lines := initialize + "\n"
		for id := 1; id <= rounds; id++ {
			lines += callLine(id, "paper_place_order_a", goodA) + "\nrubbish\n"
		}
		_, _ = io.WriteString(inW, lines)
		_ = inW.Close()
	}()
	n := 0
	for s := bufio.NewScanner(outR); s.Scan(); n++ {
		if !json.Valid(s.Bytes()) {
			t.Fatalf("the server wrote %q", s.Bytes())
		}
	}
	if err := <-ended; err != nil || n != 1+2*rounds || out.torn.Load() {
		t.Errorf("%v, %d answers, two writes at once: %v", err, n, out.torn.Load())
	}
}

func TestHoldIsNoErrorAndSaysNotExecuted(t *testing.T) {
	g := &fakeGate{execute: func(_ context.Context, c gate.Call) ledger.Decision {
		d := decide(c, "APPROVAL_PENDING")
		d.Verdict = policy.Hold
		return d
	}}
	r := newTools(t, g).Call(t.Context(), gate.Origin{}, "paper_place_order_a", []byte(goodA))
	text, rest, _ := strings.Cut(r.Text, "\n")
	if r.IsError || !strings.HasPrefix(text, "NOT EXECUTED") || rest != string(r.JSON) {
		t.Errorf("a hold: isError %v, %s", r.IsError, r.Text)
	}
}

func FuzzSession(f *testing.F) {
	for _, c := range badLines() {
		if len(c.line) < 4096 {
			f.Add([]byte(c.line))
		}
	}
	f.Add([]byte(callLine(1, "paper_place_order_a", goodA)))
	f.Add([]byte(callLine(`"x"`, "trade_audit", `{"limit":1e2,"limit":"\ud800"}`)))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"trade_check","_meta":7,"arguments":null}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	tools := newTools(f, &fakeGate{})
	f.Fuzz(func(t *testing.T, lines []byte) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			err := tools.Serve(context.Background(), inR, outW)
			_ = outW.Close()
			ended <- err
		}()
		go func() {
			for _, part := range [][]byte{[]byte(initialize), lines, []byte(`{"jsonrpc":"2.0","id":"the last one","method":"ping"}`)} {
				_, _ = inW.Write(append(part[:len(part):len(part)], '\n'))
			}
			_ = inW.Close()
		}()
		answered := false
		for s := bufio.NewScanner(outR); s.Scan(); {
			var m message
			if err := json.Unmarshal(s.Bytes(), &m); err != nil {
				t.Fatalf("the server wrote %q: %v", s.Bytes(), err)
			}
			answered = answered || string(m.ID) == `"the last one"`
		}
		if err := <-ended; err != nil || !answered {
			t.Fatalf("after %q the session ended with %v, the last ping answered: %v", lines, err, answered)
		}
	})
}
