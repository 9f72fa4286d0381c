package rest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/rest"
	"sallyport/trade"
)

// impostor is a daemon that answers each request as the test says, and counts them. answer gets the whole request's
// connection and returns what to write; empty closes the connection.
type impostor struct {
	net.Listener
	requests atomic.Int32
}

func newImpostor(t *testing.T, answer func(n int32) string) (*impostor, *rest.Client) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &impostor{Listener: l}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				p.serve(c, answer)
			})
		}
	})
	client, err := rest.Dial(rest.ClientConfig{Address: "http://" + l.Addr().String(), Token: "sp-agent-x", Tier: 2, Agent: "local", Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); l.Close(); wg.Wait() })
	return p, client
}

func (p *impostor) serve(c net.Conn, answer func(n int32) string) {
	r := bufio.NewReader(c)
	for {
		q, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, q.Body); err != nil {
			return
		}
		text := answer(p.requests.Add(1))
		if _, err := io.WriteString(c, text); err != nil || !strings.HasPrefix(text, "HTTP/1.1 200 ") || strings.Contains(text, "Content-Length: 1000") {
			return
		}
	}
}

func httpAnswer(status, kind, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, kind, len(body), body)
}

//attack:rest-unanswered
//attack:rest-no-resend
//attack:rest-answer-bytes
//attack:rest-answer-depth
func TestCallWithoutAClearAnswerIsUnknownAndNeverSentAgain(t *testing.T) {
	problem := func(code string) string {
		return `{"type":"about:blank","title":"x","status":500,"code":"` + code + `","detail":"x"}`
	}
	const json, problemJSON = "application/json", "application/problem+json"
	for name, text := range map[string]string{
		"a closed connection":     "",
		"half a header":           "HTTP/1.1 2",
		"half a body":             "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"verdict\":",
		"an answer of no HTTP":    "hello\r\n\r\n",
		"a 200 that is nothing":   httpAnswer("200 OK", json, "{}"),
		"a 200 that is no JSON":   httpAnswer("200 OK", json, "<html>"),
		"a verdict of no word":    httpAnswer("200 OK", json, `{"verdict":"yes","state":"EXECUTION_ALLOWED"}`),
		"a redirection":           "HTTP/1.1 307 Temporary Redirect\r\nLocation: /v1/intents\r\nContent-Length: 0\r\n\r\n",
		"a proxy's page":          httpAnswer("502 Bad Gateway", "text/html", "<html>"),
		"a defect":                httpAnswer("500 Internal Server Error", problemJSON, problem("INTERNAL_ERROR")),
		"a problem without code":  httpAnswer("503 Service Unavailable", problemJSON, "{}"),
		"a problem of other type": httpAnswer("409 Conflict", json, problem("NAME_TAKEN")),
		"a code that is none":     httpAnswer("409 Conflict", problemJSON, problem("so sorry")),
		"an endless answer":       httpAnswer("200 OK", json, `"`+strings.Repeat("x", 9<<20)+`"`),
		"a deep answer":           httpAnswer("200 OK", json, strings.Repeat("[", 100)+strings.Repeat("]", 100)),
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			p, c := newImpostor(t, func(int32) string { return text })
			k := order(t, "buy", "AAPL", "1", "150", gatetest.WithClientOrder("id-1"))
			for _, decide := range []func(context.Context, gate.Call) ledger.Decision{c.Execute, c.Propose} {
				p.requests.Store(0)
				d := decide(ctx, k)
				wantState(t, d, policy.Deny, ledger.OutcomeUnknown)
				if d.Error != "daemon_unreachable" || d.Reasons[0].Code != policy.DaemonUnreachable || d.ClientOrderID != "id-1" || d.Order != k.Order {
					t.Errorf("the decision is %s", d.AppendJSON(nil))
				}
				if n := p.requests.Load(); n > 1 { // none, where the kept connection was just being closed
					t.Errorf("the call was sent %d times", n)
				}
			}
			for _, decide := range []func(context.Context, gate.Call) ledger.Decision{c.Authorize, c.Check} {
				d := decide(ctx, k)
				if wantState(t, d, policy.Deny, ledger.Blocked); name != "a defect" && d.Reasons[0].Code != policy.DaemonUnreachable {
					t.Errorf("the decision is %s", d.AppendJSON(nil))
				}
			}
			if v := c.Policy(); v.Policy != nil || v.Reason == nil {
				t.Errorf("the policy is %+v", v)
			}
			if _, err := c.Kill(ctx, gate.StopRequest{Reason: "x"}); err == nil {
				t.Error("a stop without an answer has no error")
			}
		})
	}
}

// TestKeptConnectionThatBreaksIsNotUsedAgainForTheSameCall: a connection on which a call went well before is what HTTP
// clients send again on.
func TestKeptConnectionThatBreaksIsNotUsedAgainForTheSameCall(t *testing.T) {
	good := ledger.Decision{Verdict: policy.Allow, State: ledger.Succeeded}
	p, c := newImpostor(t, func(n int32) string {
		if n%2 == 1 {
			return httpAnswer("200 OK", "application/json", string(good.AppendJSON(nil)))
		}
		return ""
	})
	k := order(t, "buy", "AAPL", "1", "150")
	for range 20 {
		before := p.requests.Load()
		wantState(t, c.Execute(ctx, k), policy.Allow, ledger.Succeeded)
		wantState(t, c.Execute(ctx, k), policy.Deny, ledger.OutcomeUnknown)
		if n := p.requests.Load() - before; n != 2 {
			t.Fatalf("two calls were sent %d times", n)
		}
	}
}

//fault:f128
func TestCallThatNeverLeftIsADenial(t *testing.T) {
	for _, address := range []string{"unix:" + filepath.Join(t.TempDir(), "none.sock"), "http://127.0.0.1:1"} {
		c, err := rest.Dial(rest.ClientConfig{Address: address, Tier: 2, Agent: "local"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		d := c.Execute(ctx, order(t, "buy", "AAPL", "1", "150"))
		if wantState(t, d, policy.Deny, ledger.Blocked); d.Reasons[0].Code != policy.DaemonUnreachable || d.Error != "daemon_unreachable" || d.Agent != "local" {
			t.Errorf("the decision is %s", d.AppendJSON(nil))
		}
		if _, err := c.Stops(ctx); !errors.Is(err, rest.ErrNotReached) {
			t.Errorf("the error is %v", err)
		}
	}
	k := order(t, "buy", "AAPL", "1", "150")
	k.Origin.ToolCallID = "\xff"
	_, c := newImpostor(t, func(int32) string { return "" })
	if d := c.Execute(ctx, k); d.State != ledger.Blocked || d.Reasons[0].Code != policy.OriginMalformed {
		t.Errorf("the decision is %s", d.AppendJSON(nil))
	}
}

//attack:rest-client-timeout
func TestClientWaitsAsLongAsItSays(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	_, c := newImpostor(t, func(int32) string { <-release; return "" })
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	wantState(t, c.Execute(short, order(t, "buy", "AAPL", "1", "150")), policy.Deny, ledger.OutcomeUnknown)
	began := time.Now()
	wantState(t, c.Authorize(ctx, order(t, "buy", "AAPL", "1", "150")), policy.Deny, ledger.Blocked)
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("a client that waits 2 s has given up after %s", took)
	}
}

func TestPermissionForAnotherOrderIsADenial(t *testing.T) {
	d := ledger.Decision{Verdict: policy.Allow, State: ledger.Allowed, Order: gatetest.Order(t, "buy", "AAPL", "9", "150")}
	_, c := newImpostor(t, func(int32) string { return httpAnswer("200 OK", "application/json", string(d.AppendJSON(nil))) })
	wantState(t, c.Authorize(ctx, order(t, "buy", "AAPL", "1", "150")), policy.Deny, ledger.Blocked)
	wantState(t, c.Authorize(ctx, order(t, "buy", "AAPL", "9", "150")), policy.Allow, ledger.Allowed)
}

// TestPolicyIsBuiltAgainFromItsBytes: what the daemon says of a policy makes none valid, and other bytes have another hash.
func TestPolicyIsBuiltAgainFromItsBytes(t *testing.T) {
	for name, body := range map[string]string{
		"another hash":   `{"policy_sha256":"` + strings.Repeat("0", 64) + `","raw_base64":"e30=","reason":null}`,
		"no policy":      `{"policy_sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","raw_base64":"e30=","reason":null}`,
		"no base64":      `{"policy_sha256":null,"raw_base64":"*","reason":null}`,
		"nothing at all": `{}`,
	} {
		_, c := newImpostor(t, func(int32) string { return httpAnswer("200 OK", "application/json", body) })
		if v := c.Policy(); v.Policy != nil || v.Reason == nil {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

//attack:rest-client-plain
func TestClientSendsNoTokenOverPlainHTTPToAnotherMachine(t *testing.T) {
	for _, address := range []string{
		"", "unix:", "http://", "http://192.0.2.1:8371", "http://daemon.example:8371", "http://127.0.0.1.evil.example", "ftp://127.0.0.1", "127.0.0.1:8371",
		"http://user:pass@127.0.0.1:1", "http://127.0.0.1:1/path", "http://127.0.0.1:1?x=1", "http://localhost.evil.example", "http://0.0.0.0:1",
	} {
		if _, err := rest.Dial(rest.ClientConfig{Address: address, Token: "sp-agent-x"}); err == nil {
			t.Errorf("%q is an address", address)
		}
		if _, err := rest.DialPeople(rest.ClientConfig{Address: address, Token: "sp-person-x"}); err == nil {
			t.Errorf("%q is an address", address)
		}
	}
	for _, address := range []string{"http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1/", "https://daemon.example", "unix:/run/x.sock"} {
		if _, err := rest.Dial(rest.ClientConfig{Address: address, Token: "sp-agent-x"}); err != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := rest.Dial(rest.ClientConfig{Address: "http://127.0.0.1:1", Token: "a\r\nHost: evil"}); err == nil || strings.Contains(err.Error(), "evil") {
		t.Errorf("a token with a line break: %v", err)
	}
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	r := newRig(t)
	c, err := rest.Dial(rest.ClientConfig{Address: "http://" + r.address("agents"), Token: r.tokens["trader"]})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, tier, err := c.Whoami(ctx); err != nil || tier != trade.TierRead {
		t.Errorf("over TCP, past a proxy: tier %s, %v", tier, err)
	}
}

//attack:rest-client-idle
//attack:rest-client-idle-wait
func TestClientKeepsFewIdleConnections(t *testing.T) {
	const calls = 40
	var mu sync.Mutex
	states := map[net.Conn]http.ConnState{}
	var arrived sync.WaitGroup
	arrived.Add(calls)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Done()
		arrived.Wait() // so that each call has a connection of its own
		_, _ = io.WriteString(w, `{"agent":"x","tier":0}`)
	}))
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		states[c] = state
	}
	s.Start()
	defer s.Close()
	c, err := rest.Dial(rest.ClientConfig{Address: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	open := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, state := range states {
			if state != http.StateClosed {
				n++
			}
		}
		return n
	}
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			if _, _, err := c.Whoami(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	gatetest.Until(t, "a client keeps more than 16 idle connections", func() bool { return open() <= 16 })
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	gatetest.Until(t, "a closed client keeps connections", func() bool { return open() == 0 })
}

func TestServerAndClientLeaveNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener"))
	t.Run("session", func(t *testing.T) {
		r := newRig(t)
		c := r.trader()
		d := c.Propose(ctx, order(t, "buy", "AAPL", "1", "150"))
		if _, err := c.Await(ctx, gate.Origin{}, 0, d.Intent, time.Millisecond); err != nil {
			t.Error(err)
		}
		wantState(t, c.Execute(ctx, order(t, "buy", "AAPL", "2", "150")), policy.Allow, ledger.Succeeded)
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if d := c.Execute(ctx, order(t, "buy", "AAPL", "3", "150")); d.State != ledger.Blocked {
			t.Errorf("after the end: %s", d.AppendJSON(nil))
		}
	})
}
