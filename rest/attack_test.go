package rest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/rest"
	"sallyport/trade"
)

// goodBody is the envelope of a good order, in the words of its dialect.
func goodBody(t testing.TB, more string) string {
	k := order(t, "buy", "AAPL", "10", "150")
	return `{"tool":"` + k.Dialect + `","arguments":` + string(k.Raw) + more + `}`
}

//attack:rest-no-credential
func TestNobodyIsLetInWithoutACredentialOfThatHalf(t *testing.T) {
	r := newRig(t)
	for _, q := range []request{
		{half: "agents"},
		{half: "people"},
		{half: "agents", token: r.owner},
		{half: "people", token: r.tokens["trader"]},
		{half: "agents", token: "sp-agent-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
		{half: "people", token: "sp-person-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
		{half: "agents", header: http.Header{"Authorization": {"Basic " + r.tokens["trader"]}}},
		{half: "agents", header: http.Header{"Authorization": {"Bearer " + r.tokens["trader"], "Bearer " + r.tokens["trader"]}}},
		{half: "agents", header: http.Header{"Authorization": {"Bearer "}}},
		{half: "agents", header: http.Header{"Authorization": {r.tokens["trader"]}}},
		{half: "agents", header: http.Header{"Cookie": {"token=" + r.tokens["trader"]}}},
	} {
		q.method, q.path = http.MethodGet, "/v1/whoami"
		code := map[string]string{"agents": "TOKEN_UNKNOWN", "people": "PERSON_UNKNOWN"}[q.half]
		a := r.send(q)
		a.want(t, http.StatusUnauthorized, code)
		if a.header.Get("WWW-Authenticate") != "Bearer" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("the headers are %v", a.header)
		}
		detail := map[string]string{"agents": "the token is nobody's", "people": "the credential is nobody's"}[q.half]
		if q.token != "" && !strings.Contains(a.body, `"detail":"`+detail+`"`) {
			t.Errorf("the answer is %s, without %s", a.body, detail)
		}
	}
	if text := r.logged.String(); strings.Contains(text, "sp-agent-") || strings.Contains(text, "sp-person-") {
		t.Error("a credential is in the log")
	}
}

//attack:rest-refused-log
func TestRefusedCallersDoNotFillTheLog(t *testing.T) {
	clock := gatetest.NewClock()
	r := newRig(t, func(_ *gate.Config, s *rest.ServerConfig) { s.Now = clock.Now })
	for range 50 {
		r.send(request{method: "GET", path: "/v1/whoami"})
	}
	logged := func() int { return strings.Count(r.logged.String(), "not let in") }
	if n := logged(); n != 1 {
		t.Errorf("50 refusals at one moment are logged %d times", n)
	}
	clock.Advance(time.Second)
	r.send(request{method: "GET", path: "/v1/whoami"})
	if n := logged(); n != 2 {
		t.Errorf("a second later they are logged %d times", n)
	}
	clock.Advance(time.Second)
	if _, _, err := r.client("nobody", 0).Whoami(ctx); err == nil || !strings.Contains(r.logged.String(), "from=socket") {
		t.Errorf("a caller without a token over a socket: %v\n%s", err, r.logged)
	}
	if a := r.send(request{half: "people", method: "GET", path: "/metrics"}); !strings.Contains(a.body, `sallyport_refused_authentications_total{half="agents"} 52`) {
		t.Errorf("the counter is not 52:\n%s", a.body)
	}
}

//attack:rest-auth-first
func TestCallerIsKnownBeforeAnythingIsRead(t *testing.T) {
	r := newRig(t, func(_ *gate.Config, s *rest.ServerConfig) {
		s.Rate = rest.Rate{PerSecond: 1, Burst: 1}
		s.Now = func() time.Time { return gatetest.Start() }
	})
	for _, c := range []struct{ name, head string }{
		{"a body that never comes", "POST /v1/intents HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"},
		{"an endless body", "POST /v1/intents HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"},
		{"no JSON", "POST /v1/intents HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{{{{{"},
		{"another type", "POST /v1/intents HTTP/1.1\r\nHost: HOST\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"},
		{"an unknown path", "GET /v1/nothing HTTP/1.1\r\nHost: HOST\r\n\r\n"},
		{"a wrong method", "DELETE /v1/intents HTTP/1.1\r\nHost: HOST\r\n\r\n"},
		{"a wrong query", "GET /v1/audit?x=1 HTTP/1.1\r\nHost: HOST\r\n\r\n"},
		{"a wrong tier", "GET /v1/audit HTTP/1.1\r\nHost: HOST\r\nX-Sallyport-Tier: 9\r\n\r\n"},
	} {
		got := r.raw("agents", strings.Replace(strings.Replace(c.head, "HOST", r.address("agents"), 1), "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
		if !strings.HasPrefix(got, "HTTP/1.1 401 ") || !strings.Contains(got, "TOKEN_UNKNOWN") {
			t.Errorf("%s, from nobody, is answered %q", c.name, got)
		}
	}
	if len(r.rows()) != 0 {
		t.Error("a call of nobody is on record")
	}
	// A caller who is known is told what is wrong with what it sent, and only within its rate.
	bad := request{method: "POST", path: "/v1/proposals/x/await", token: r.tokens["trader"], body: "{{{"}
	r.send(bad).want(t, http.StatusBadRequest, "JSON_MALFORMED")
	r.send(bad).want(t, http.StatusTooManyRequests, "RATE_EXCEEDED")
	got := r.raw("agents", "POST /v1/kill HTTP/1.1\r\nHost: "+r.address("agents")+"\r\nAuthorization: Bearer "+r.tokens["reader"]+
		"\r\nContent-Type: application/json\r\nContent-Length: 3\r\nConnection: close\r\n\r\n{{{")
	if !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("the first call of another agent is answered %q", got)
	}
}

//attack:rest-tier-lower
//attack:rest-origin-members
func TestNothingThatACallerSendsRaisesItsTier(t *testing.T) {
	r := newRig(t)
	post := func(token, path, body string, h http.Header) answer {
		return r.send(request{method: "POST", path: path, token: token, body: body, header: h})
	}
	tierHeader := func(all ...string) http.Header { return http.Header{"X-Sallyport-Tier": all} }
	for name, a := range map[string]answer{
		"nothing":           post(r.tokens["reader"], "/v1/intents", goodBody(t, ""), nil),
		"a header":          post(r.tokens["reader"], "/v1/intents", goodBody(t, ""), tierHeader("2")),
		"a proposer's":      post(r.tokens["proposer"], "/v1/intents", goodBody(t, ""), tierHeader("2")),
		"a lowered trader":  post(r.tokens["trader"], "/v1/intents", goodBody(t, ""), tierHeader("1")),
		"a proposal at 0":   post(r.tokens["proposer"], "/v1/proposals", goodBody(t, ""), tierHeader("0")),
		"a permission at 1": post(r.tokens["trader"], "/v1/permissions", goodBody(t, ""), tierHeader("1")),
	} {
		if a.status != http.StatusOK || !strings.Contains(a.body, `"error":"permission_denied","required_tier":`) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	for name, more := range map[string]string{"an argument": `,"tier":2`, "another agent": `,"agent":"trader"`, "an origin": `,"origin":{"tier":2}`, "an origin's agent": `,"origin":{"agent":"trader"}`} {
		a := post(r.tokens["reader"], "/v1/intents", goodBody(t, more), nil)
		if a.status != http.StatusOK || !strings.Contains(a.body, "FIELD_UNKNOWN") || !strings.Contains(a.body, `"agent":"reader"`) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	post(r.tokens["reader"], "/v1/intents?tier=2", goodBody(t, ""), nil).want(t, http.StatusBadRequest, "QUERY_MALFORMED")
	for _, all := range [][]string{{"3"}, {"02"}, {""}, {"two"}, {"1", "2"}, {"2, 2"}, {"-1"}} {
		post(r.tokens["trader"], "/v1/intents", goodBody(t, ""), tierHeader(all...)).want(t, http.StatusBadRequest, "TIER_MALFORMED")
	}
	trader := r.trader() // a second connection, of a higher tier, raises nothing on the first
	if a := post(r.tokens["reader"], "/v1/intents", goodBody(t, ""), nil); !strings.Contains(a.body, "permission_denied") {
		t.Errorf("beside a second connection: %s", a.body)
	}
	wantState(t, trader.Execute(ctx, order(t, "buy", "AAPL", "1", "150")), policy.Allow, ledger.Succeeded)
	if len(r.broker.Submits()) != 1 {
		t.Errorf("%d orders were sent", len(r.broker.Submits()))
	}
}

//attack:rest-socket-agent
func TestSocketOfAnAgentIsThatAgentsWhateverIsSent(t *testing.T) {
	var path string
	r := newRig(t, func(_ *gate.Config, s *rest.ServerConfig) {
		path = filepath.Join(filepath.Dir(s.AgentsSocket), "own.sock")
		s.Sockets = []rest.Socket{{Path: path, Agent: "proposer", Tier: trade.TierPropose}}
	})
	dial := func(token string) *rest.Client {
		c, err := rest.Dial(rest.ClientConfig{Address: "unix:" + path, Token: token, Tier: trade.TierExecute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	for _, token := range []string{"", r.tokens["proposer"]} {
		if agent, tier, err := dial(token).Whoami(ctx); err != nil || agent != "proposer" || tier != trade.TierPropose {
			t.Errorf("%s, tier %s, %v", agent, tier, err)
		}
	}
	_, _, err := dial(r.tokens["trader"]).Whoami(ctx)
	wantRefusal(t, err, rest.SocketAgentMismatch)
	_, _, err = dial("sp-agent-nobody").Whoami(ctx)
	wantRefusal(t, err, policy.TokenUnknown)
	d := dial("").Execute(ctx, order(t, "buy", "AAPL", "1", "150"))
	wantState(t, d, policy.Deny, ledger.Blocked)
	if d.Tier == nil || d.Tier.Current != trade.TierPropose || d.Agent != "proposer" {
		t.Errorf("the decision is %s", d.AppendJSON(nil))
	}
}

//attack:rest-host
//attack:rest-origin
func TestForeignHostAndOriginAreRefused(t *testing.T) {
	r := newRig(t, func(_ *gate.Config, s *rest.ServerConfig) { s.Hosts = []string{"daemon.internal:1"} })
	at := r.address("agents")
	_, port, _ := strings.Cut(at, ":")
	for _, host := range []string{"evil.example", "evil.example:" + port, "127.0.0.1", "127.0.0.1:1", "localhost", "sallyport", r.address("people"), "127.0.0.1:" + port + ".evil.example"} {
		for _, path := range []string{"/v1/whoami", "/healthz", "/readyz"} {
			r.send(request{method: "GET", path: path, token: r.tokens["trader"], host: host}).want(t, http.StatusMisdirectedRequest, "HOST_FOREIGN")
		}
	}
	for _, host := range []string{at, "localhost:" + port, "LOCALHOST:" + port, "daemon.internal:1"} {
		if a := r.send(request{method: "GET", path: "/v1/whoami", token: r.tokens["trader"], host: host}); a.status != http.StatusOK {
			t.Errorf("%s is answered %d", host, a.status)
		}
	}
	for _, origin := range []string{"http://evil.example", "null", "https://" + at, "file://", "http://" + r.address("people"), ""} {
		a := r.send(request{method: "GET", path: "/v1/whoami", token: r.tokens["trader"], header: http.Header{"Origin": {origin}}})
		a.want(t, http.StatusForbidden, "ORIGIN_FOREIGN")
		for name := range a.header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("the answer has %s", name)
			}
		}
	}
	if a := r.send(request{method: "GET", path: "/v1/whoami", token: r.tokens["trader"], header: http.Header{"Origin": {"http://" + at}}}); a.status != http.StatusOK {
		t.Errorf("the listener's own page is answered %d", a.status)
	}
	r.send(request{method: "OPTIONS", path: "/v1/intents", token: r.tokens["trader"]}).want(t, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
}

//attack:rest-rate
func TestRateIsHeldForEachCallerAndSaysWhenToComeBack(t *testing.T) {
	clock := gatetest.NewClock()
	r := newRig(t, func(_ *gate.Config, s *rest.ServerConfig) {
		s.Rate, s.Now = rest.Rate{PerSecond: 2, Burst: 3}, clock.Now
	})
	c := r.trader()
	for range 3 {
		wantState(t, c.Check(ctx, order(t, "buy", "AAPL", "1", "150")), policy.Allow, ledger.Allowed)
	}
	d := c.Execute(ctx, order(t, "buy", "AAPL", "1", "150"))
	if wantState(t, d, policy.Deny, ledger.Blocked); d.Reasons[0].Code != rest.RateExceeded || d.RetryAfter != 500*time.Millisecond {
		t.Errorf("the decision is %s", d.AppendJSON(nil))
	}
	a := r.send(request{method: "GET", path: "/v1/whoami", token: r.tokens["trader"]})
	if a.want(t, http.StatusTooManyRequests, "RATE_EXCEEDED"); a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
	}
	if _, _, err := r.client("proposer", 1).Whoami(ctx); err != nil {
		t.Errorf("another agent is held to this one's rate: %v", err)
	}
	clock.Advance(d.RetryAfter)
	wantState(t, c.Check(ctx, order(t, "buy", "AAPL", "1", "150")), policy.Allow, ledger.Allowed)
	wantState(t, c.Check(ctx, order(t, "buy", "AAPL", "1", "150")), policy.Deny, ledger.Blocked)
	clock.Advance(time.Hour)
	for i := range 4 {
		if _, _, err := c.Whoami(ctx); (err == nil) != (i < 3) {
			t.Errorf("after an hour, call %d: %v", i, err)
		}
	}
	if len(r.broker.Submits()) != 0 {
		t.Error("an order above the rate was sent")
	}
}

// TestStopsCancelsAndWithdrawalsAreNeverThrottled: a caller that has used up its rate can still end what it began.
//
//attack:rest-never-throttled
func TestStopsCancelsAndWithdrawalsAreNeverThrottled(t *testing.T) {
	clock := gatetest.NewClock()
	r := newRig(t, func(_ *gate.Config, s *rest.ServerConfig) {
		s.Rate, s.InFlight, s.Now = rest.Rate{PerSecond: 1, Burst: 2}, 1, clock.Now
	})
	r.broker.Default = gatetest.Rest
	c := r.trader()
	working := c.Execute(ctx, order(t, "buy", "AAPL", "1", "150"))
	held := c.Propose(ctx, order(t, "buy", "AAPL", "2", "150"))
	if d := c.Check(ctx, order(t, "buy", "AAPL", "3", "150")); d.Reasons[0].Code != rest.RateExceeded {
		t.Fatalf("the rate is not used up: %s", d.AppendJSON(nil))
	}
	if d, err := c.Withdraw(ctx, gate.Origin{}, 0, held.Intent, ""); err != nil || d.State != ledger.ApprovalWithdrawn {
		t.Errorf("a withdrawal: %v, %s", err, d.AppendJSON(nil))
	}
	if res, err := c.CancelOwn(ctx, gate.Origin{}, 0, working.Intent); err != nil || res.Outcome != trade.Accepted {
		t.Errorf("a cancel: %+v, %v", res, err)
	}
	if rep, err := c.Kill(ctx, gate.StopRequest{Reason: "enough"}); err != nil || !rep.Recorded {
		t.Errorf("a stop: %+v, %v", rep, err)
	}
	a := r.send(request{method: "GET", path: "/v1/nowhere", token: r.tokens["trader"]})
	a.want(t, http.StatusTooManyRequests, "RATE_EXCEEDED")
}

//attack:rest-in-flight
//attack:rest-call-deadline
func TestCallsInFlightAreBoundedAndAHangUpEndsNone(t *testing.T) {
	r := newRig(t, func(_ *gate.Config, s *rest.ServerConfig) { s.InFlight = 2 })
	until := make(chan struct{})
	r.broker.Next(gatetest.Slow(until), gatetest.Slow(until))
	c := r.trader()
	hangUp, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			d := c.Execute(hangUp, order(t, "buy", "AAPL", fmt.Sprint(i+1), "150"))
			wantState(t, d, policy.Deny, ledger.OutcomeUnknown)
		})
	}
	for len(r.broker.Submits()) < 2 {
		time.Sleep(time.Millisecond)
	}
	d := c.Execute(ctx, order(t, "buy", "AAPL", "3", "150"))
	if wantState(t, d, policy.Deny, ledger.Blocked); d.Reasons[0].Code != rest.CallsExceedLimit {
		t.Errorf("the decision is %s", d.AppendJSON(nil))
	}
	cancel()
	wg.Wait()
	close(until)
	for {
		rows := r.rows()
		if len(rows) == 2 && rows[0].State == ledger.Succeeded && rows[1].State == ledger.Succeeded {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for range 500 { // the places are free again, once the calls have ended
		if _, _, err := c.Whoami(ctx); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("the places of calls that were hung up are never free again")
}

//attack:rest-body-bytes
//attack:rest-one-decision
//attack:rest-faults
//fault:f121
func TestWhateverIsPostedAsAnOrderIsOneDecisionOnRecord(t *testing.T) {
	r := newRig(t)
	many := strings.Repeat(`{"code":"FIELD_UNKNOWN","message":"x"},`, 65)
	for _, c := range []struct{ name, body, code string }{
		{"no JSON", "hello", "JSON_MALFORMED"},
		{"nothing but a space", " ", "JSON_MALFORMED"},
		{"a list", "[]", "JSON_MALFORMED"},
		{"two objects", goodBody(t, "") + "{}", "JSON_MALFORMED"},
		{"an open brace", `{"tool":"paper_place_order_a","arguments":{`, "JSON_MALFORMED"},
		{"a deep body", `{"tool":"paper_place_order_a","arguments":` + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + "}", "JSON_MALFORMED"},
		{"deep arguments", `{"tool":"paper_place_order_a","arguments":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + "}", "JSON_MALFORMED"},
		{"no UTF-8", "{\"tool\":\"paper_place_order_a\",\"arguments\":{\"symbol\":\"\xff\"}}", "JSON_MALFORMED"},
		{"an unknown tool", `{"tool":"rm","arguments":{}}`, "TOOL_UNKNOWN"},
		{"no tool", `{"arguments":{}}`, "TOOL_UNKNOWN"},
		{"no arguments", `{"tool":"paper_place_order_a"}`, "FIELD_MISSING"},
		{"two arguments", `{"tool":"paper_place_order_a","arguments":{},"arguments_base64":""}`, "FIELD_DUPLICATE"},
		{"an argument twice", goodBody(t, `,"arguments":{}`), "FIELD_DUPLICATE"},
		{"a tool twice", goodBody(t, `,"tool":"paper_place_order_b"`), "FIELD_DUPLICATE"},
		{"no base64", `{"tool":"paper_place_order_a","arguments_base64":"***"}`, "FIELD_TYPE_WRONG"},
		{"an unknown member", goodBody(t, `,"Tool":1`), "FIELD_UNKNOWN"},
		{"a wrong type", goodBody(t, `,"asked":"yes"`), "FIELD_TYPE_WRONG"},
		{"a foreign surface", goodBody(t, `,"origin":{"surface":"person"}`), "ORIGIN_MALFORMED"},
		{"another account", goodBody(t, `,"account":"live"`), "ACCOUNT_UNKNOWN"},
		{"a told fault", goodBody(t, `,"faults":[{"code":"FIELD_UNKNOWN","message":"_meta"}]`), "FIELD_UNKNOWN"},
		{"a fault that is none", goodBody(t, `,"faults":[{"code":"nothing wrong","message":""}]`), "FIELD_TYPE_WRONG"},
		{"too many faults", goodBody(t, `,"faults":[`+strings.TrimSuffix(many, ",")+`]`), "FIELD_TYPE_WRONG"},
		{"a large body", `{"tool":"paper_place_order_a","arguments":{"symbol":"` + strings.Repeat("A", 70_000) + `"}}`, "BODY_TOO_LARGE"},
	} {
		before := len(r.rows())
		a := r.send(request{method: "POST", path: "/v1/intents", token: r.tokens["trader"], body: c.body})
		d, err := ledger.ReadDecision([]byte(a.body))
		if a.status != http.StatusOK || err != nil || d.Verdict != policy.Deny || d.State != ledger.Blocked || !strings.Contains(a.body, `"code":"`+c.code+`"`) {
			t.Errorf("%s: %d %s", c.name, a.status, a.body)
		}
		if rows := r.rows(); len(rows) != before+1 || rows[0].Agent != "trader" || rows[0].Intent != d.Intent {
			t.Errorf("%s: %d rows after %d", c.name, len(rows), before)
		}
	}
	if len(r.broker.Submits()) != 0 {
		t.Error("an order was sent")
	}
	r.send(request{method: "POST", path: "/v1/kill", token: r.tokens["trader"], body: `{"reason":"` + strings.Repeat("x", 70_000) + `"}`}).
		want(t, http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE")
}

func TestDialectGetsExactlyTheBytesOfTheArguments(t *testing.T) {
	r := newRig(t)
	arguments := `{"symbol" : "AAPL" ,  "symbol":"\u0041"}`
	a := r.send(request{method: "POST", path: "/v1/intents", token: r.tokens["trader"], body: "{ \"arguments\" :\t" + arguments + "\n, \"tool\":\"paper_place_order_a\" }"})
	d, err := ledger.ReadDecision([]byte(a.body))
	if err != nil {
		t.Fatal(err)
	}
	_, events, err := r.gate.History(ctx, d.Intent)
	sum := sha256.Sum256([]byte(arguments))
	if err != nil || !strings.Contains(string(events[0].Body), hex.EncodeToString(sum[:])) {
		t.Errorf("the record is %s, %v", events[0].Body, err)
	}
	for _, raw := range []string{arguments, " " + arguments + " ", "no JSON", "\xff\xfe", "", "{}"} { // through the client too
		k := order(t, "buy", "AAPL", "1", "150")
		k.Raw = []byte(raw)
		d := r.trader().Execute(ctx, k)
		_, events, err := r.gate.History(ctx, d.Intent)
		sum := sha256.Sum256([]byte(raw))
		if err != nil || !strings.Contains(string(events[0].Body), hex.EncodeToString(sum[:])) {
			t.Errorf("%q is recorded as %s, %v", raw, events[0].Body, err)
		}
	}
}

// TestFaultsOfASurfaceDenyACallWhoseArgumentsAreGood: a surface may have found what is wrong beside the arguments.
func TestFaultsOfASurfaceDenyACallWhoseArgumentsAreGood(t *testing.T) {
	r := newRig(t)
	k := order(t, "buy", "AAPL", "1", "150")
	k.Faults = []trade.Fault{{Code: trade.FieldTypeWrong, Field: "_meta", Message: "_meta is not an object"}}
	d := r.trader().Execute(ctx, k)
	if wantState(t, d, policy.Deny, ledger.Blocked); d.Reasons[0].Field != "_meta" || !d.Order.IsZero() {
		t.Errorf("the decision is %s", d.AppendJSON(nil))
	}
}

//attack:rest-query
//attack:rest-content-type
//attack:rest-body-depth
//attack:rest-fields
func TestWhatIsNotDocumentedIsRefusedAsAProblem(t *testing.T) {
	r := newRig(t)
	json := http.Header{"Content-Type": {"application/json"}}
	for _, c := range []struct {
		q      request
		status int
		code   string
	}{
		{request{method: "GET", path: "/v1/nothing"}, 404, "PATH_UNKNOWN"},
		{request{method: "GET", path: "/v1/audit/"}, 404, "PATH_UNKNOWN"},
		{request{method: "GET", path: "//v1/audit"}, 404, "PATH_UNKNOWN"},
		{request{method: "GET", path: "/v1/../v1/audit"}, 404, "PATH_UNKNOWN"},
		{request{method: "GET", path: "/V1/audit"}, 404, "PATH_UNKNOWN"},
		{request{method: "GET", path: "/metrics"}, 404, "PATH_UNKNOWN"},
		{request{method: "PUT", path: "/v1/audit"}, 405, "METHOD_NOT_ALLOWED"},
		{request{method: "HEAD", path: "/v1/audit"}, 405, ""},
		{request{method: "GET", path: "/v1/audit?limit=0"}, 400, "QUERY_MALFORMED"},
		{request{method: "GET", path: "/v1/audit?limit=201"}, 400, "QUERY_MALFORMED"},
		{request{method: "GET", path: "/v1/audit?limit=1&limit=2"}, 400, "QUERY_MALFORMED"},
		{request{method: "GET", path: "/v1/audit?agent=reader"}, 400, "QUERY_MALFORMED"},
		{request{method: "GET", path: "/v1/audit?from=yesterday"}, 400, "QUERY_MALFORMED"},
		{request{method: "GET", path: "/v1/audit?state=done"}, 400, "QUERY_MALFORMED"},
		{request{method: "GET", path: "/v1/audit?symbol=%ff"}, 400, "QUERY_MALFORMED"},
		{request{method: "GET", path: "/v1/audit?%zz"}, 400, "QUERY_MALFORMED"},
		{request{method: "GET", path: "/v1/audit/x"}, 404, "INTENT_UNKNOWN"},
		{request{method: "GET", path: "/v1/audit/%00"}, 404, "INTENT_UNKNOWN"},
		{request{method: "GET", path: "/v1/proposals/x"}, 404, "PROPOSAL_UNKNOWN"},
		{request{method: "GET", path: "/v1/quotes/nope!"}, 404, "QUOTE_UNAVAILABLE"},
		{request{method: "GET", path: "/v1/quotes/BRK%2FB"}, 404, "QUOTE_UNAVAILABLE"},
		{request{method: "POST", path: "/v1/intents", body: "x=1", header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}}, 415, "CONTENT_TYPE_WRONG"},
		{request{method: "POST", path: "/v1/intents", body: "{}", header: http.Header{"Content-Type": {"text/plain"}}}, 415, "CONTENT_TYPE_WRONG"},
		{request{method: "POST", path: "/v1/intents", body: "{}", header: http.Header{"Content-Type": {"application/json; charset=utf-16"}}}, 415, "CONTENT_TYPE_WRONG"},
		{request{method: "POST", path: "/v1/intents", body: "{}", header: http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}}, 415, "CONTENT_TYPE_WRONG"},
		{request{method: "POST", path: "/v1/kill", body: `{"reason":"x","scope":{"a":{}}}`, header: json}, 400, "JSON_MALFORMED"},
		{request{method: "POST", path: "/v1/kill", body: `[]`, header: json}, 400, "FIELD_TYPE_WRONG"},
		{request{method: "POST", path: "/v1/kill", body: `{"reason":"x","Scope":"everything"}`, header: json}, 400, "FIELD_UNKNOWN"},
		{request{method: "POST", path: "/v1/kill", body: `{"reason":"x","reason":"y"}`, header: json}, 400, "FIELD_DUPLICATE"},
		{request{method: "POST", path: "/v1/kill", body: `{"reason":1}`, header: json}, 400, "FIELD_TYPE_WRONG"},
		{request{method: "POST", path: "/v1/kill", body: `{"scope":"symbol:a apl","reason":"x"}`, header: json}, 422, "SCOPE_UNKNOWN"},
		{request{method: "POST", path: "/v1/orders/x/cancel", body: `{"force":true}`, header: json}, 400, "FIELD_UNKNOWN"},
		{request{method: "POST", path: "/v1/proposals/x/await", body: `{"wait":"61s"}`, header: json}, 400, "FIELD_TYPE_WRONG"},
		{request{method: "POST", path: "/v1/proposals/x/await", body: `{"wait":"-1s"}`, header: json}, 400, "FIELD_TYPE_WRONG"},
		{request{method: "POST", path: "/v1/reports", body: goodBody(t, `,"outcome":"maybe"`), header: json}, 400, "FIELD_TYPE_WRONG"},
		{request{method: "POST", path: "/v1/reports", body: goodBody(t, ""), header: json}, 400, "FIELD_MISSING"},
	} {
		c.q.token = r.tokens["trader"]
		if a := r.send(c.q); c.code != "" {
			a.want(t, c.status, c.code)
		} else if a.status != c.status {
			t.Errorf("%s %s is answered %d", c.q.method, c.q.path, a.status)
		}
	}
	if stops, err := r.gate.Stops(ctx); err != nil || len(stops) != 0 || len(r.rows()) != 0 {
		t.Errorf("something was done: %v, %v, %d rows", stops, err, len(r.rows()))
	}
}

//attack:rest-panic
func TestPanicIsAnsweredAndEndsNothing(t *testing.T) {
	r := newRig(t, func(_ *gate.Config, s *rest.ServerConfig) {
		s.AccountOf = func(string, *dialect.Dialect) trade.Account { panic("a secret cause") }
	})
	for range 70 { // more than may be in flight
		a := r.send(request{method: "POST", path: "/v1/permissions", token: r.tokens["trader"], body: goodBody(t, "")})
		a.want(t, http.StatusInternalServerError, "INTERNAL_ERROR")
		if strings.Contains(a.body, "secret") {
			t.Error("the cause is told")
		}
	}
	d := r.trader().Authorize(ctx, order(t, "buy", "AAPL", "1", "150"))
	wantState(t, d, policy.Deny, ledger.Blocked)
	if !strings.Contains(r.logged.String(), "a secret cause") {
		t.Error("the cause is not logged")
	}
	wantState(t, r.trader().Execute(ctx, order(t, "buy", "AAPL", "1", "150")), policy.Allow, ledger.Succeeded)
}

func TestDialectThatPanicsDeniesAndIsOnRecord(t *testing.T) {
	r := newRig(t, func(_ *gate.Config, s *rest.ServerConfig) {
		s.Dialects = func(name string) (*dialect.Dialect, bool) {
			return &dialect.Dialect{Name: name, Account: "paper", Fields: []dialect.Field{{Name: "x", Term: 99}}}, true
		}
	})
	d := r.trader().Execute(ctx, order(t, "buy", "AAPL", "1", "150"))
	wantState(t, d, policy.Deny, ledger.Blocked)
	if len(r.rows()) != 1 {
		t.Errorf("%d rows", len(r.rows()))
	}
}

//attack:rest-own-only
func TestAgentSeesItsOwnOnly(t *testing.T) {
	r := newRig(t)
	r.broker.Next(gatetest.Rest)
	mine := r.trader().Execute(ctx, order(t, "buy", "AAPL", "1", "150"))
	held := r.trader().Propose(ctx, order(t, "buy", "AAPL", "2", "150"))
	if _, err := r.person(r.owner).Kill(ctx, gate.StopRequest{Scope: ledger.Scope{Kind: ledger.OneAgent, Name: "reader"}, Reason: "x", Keep: true}); err != nil {
		t.Fatal(err)
	}
	other := r.client("proposer", trade.TierPropose)
	for _, id := range []trade.IntentID{mine.Intent, held.Intent, "01JDZZZZZZZZZZZZZZZZZZZZZZ"} {
		r.send(request{method: "GET", path: "/v1/audit/" + string(id), token: r.tokens["proposer"]}).want(t, 404, "INTENT_UNKNOWN")
		_, err := other.Proposal(ctx, "trader", id)
		wantRefusal(t, err, policy.ProposalUnknown)
		_, err = other.CancelOwn(ctx, gate.Origin{Agent: "trader"}, trade.TierExecute, id)
		wantRefusal(t, err, policy.OrderNotYours)
		if _, err = other.Withdraw(ctx, gate.Origin{Agent: "trader"}, trade.TierExecute, id, ""); err == nil {
			t.Errorf("%s is withdrawn by another agent", id)
		}
	}
	if found, err := other.Query(ctx, gate.Query{Agent: "trader"}); err != nil || len(found.Decisions) != 0 {
		t.Errorf("another agent's intents: %v, %v", found.Decisions, err)
	}
	if all, err := other.Orders(ctx); err != nil || len(all) != 0 {
		t.Errorf("another agent's orders: %v, %v", all, err)
	}
	if p, err := other.Portfolio(ctx, "trader"); err != nil || len(p.Orders) != 0 {
		t.Errorf("another agent's orders: %v, %v", p.Orders, err)
	}
	if stops, err := other.Stops(ctx); err != nil || len(stops) != 0 {
		t.Errorf("another agent's stops: %v, %v", stops, err)
	}
	if stops, err := r.client("reader", 0).Stops(ctx); err != nil || len(stops) != 1 {
		t.Errorf("an agent's own stops: %v, %v", stops, err)
	}
}

// TestNoAgentApprovesResetsOrAdministers tries every path of people's half with every agent's token on both halves.
//
//fault:f51
//fault:f70
func TestNoAgentApprovesResetsOrAdministers(t *testing.T) {
	r := newRig(t)
	held := r.trader().Propose(ctx, order(t, "buy", "AAPL", "2", "150"))
	if _, err := r.trader().Kill(ctx, gate.StopRequest{Reason: "stop"}); err != nil {
		t.Fatal(err)
	}
	digest := `{"digest":"` + held.Order.Digest().String() + `"}`
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/kill/reset", `{"scope":"everything","reason":"go on"}`},
		{"POST", "/v1/proposals/" + string(held.Intent) + "/approve", digest},
		{"POST", "/v1/proposals/" + string(held.Intent) + "/decline", digest},
		{"POST", "/v1/reductions", goodBody(t, "")},
		{"POST", "/v1/reconcile", "{}"},
		{"GET", "/v1/people", ""},
		{"POST", "/v1/people", `{"name":"eve","approver":true}`},
		{"POST", "/v1/people/olga/rotate", "{}"},
		{"DELETE", "/v1/people/olga", ""},
		{"GET", "/v1/agents", ""},
		{"POST", "/v1/agents", `{"name":"eve","tier":2}`},
		{"POST", "/v1/agents/trader/rotate", "{}"},
		{"DELETE", "/v1/agents/reader", ""},
	} {
		a := r.send(request{half: "agents", method: c.method, path: c.path, body: c.body, token: r.tokens["trader"]})
		if a.status != 404 && a.status != 405 {
			t.Errorf("%s %s on the agents' half is answered %d %s", c.method, c.path, a.status, a.body)
		}
	}
	r.send(request{half: "people", method: "POST", path: "/v1/kill/reset", body: `{"scope":"everything","reason":"go on"}`, token: r.tokens["trader"]}).want(t, 401, "PERSON_UNKNOWN")
	stops, err := r.gate.Stops(ctx)
	if err != nil || len(stops) != 1 {
		t.Errorf("the stops are %v, %v", stops, err)
	}
	if d, err := r.gate.Proposal(ctx, "trader", held.Intent); err != nil || d.State != ledger.ApprovalPending {
		t.Errorf("the proposal is %s, %v", d.State, err)
	}
}

//attack:rest-digest-prefix
//fault:f59
func TestDigestIsOfTheNamedProposalOnly(t *testing.T) {
	r := newRig(t)
	c, olga := r.trader(), r.person(r.owner)
	first := c.Propose(ctx, order(t, "buy", "AAPL", "2", "150"))
	second := c.Propose(ctx, order(t, "buy", "AAPL", "3", "150"))
	own, other := first.Order.Digest().String(), second.Order.Digest().String()
	for _, text := range []string{
		"", own[:7], other[:8], other, strings.ToUpper(own[:9]) + "G", own + "0", own[:8] + "zz", " " + own[:8], own[:63] + "x",
		own[:10] + "00000000", strings.Repeat("0", 64), "*", "%",
	} {
		_, err := olga.Approve(ctx, first.Intent, text)
		wantRefusal(t, err, policy.DigestMismatch)
	}
	if _, err := olga.Approve(ctx, "nobody", own); err == nil {
		t.Error("a proposal that there is none of is approved")
	}
	if len(r.broker.Submits()) != 0 {
		t.Fatal("an order was sent")
	}
	done, err := olga.Approve(ctx, second.Intent, other[:8])
	if err != nil || done.State != ledger.Succeeded {
		t.Fatalf("the right one is %s, %v", done.State, err)
	}
	if d, _ := c.Proposal(ctx, "", first.Intent); d.State != ledger.ApprovalPending {
		t.Errorf("the other proposal is %s", d.State)
	}
}

//attack:rest-metric-labels
func TestMetricsDoNotGrowByWhatCallersChoose(t *testing.T) {
	r := newRig(t)
	series := func() (n int, text string) {
		a := r.send(request{half: "people", method: "GET", path: "/metrics"})
		for line := range strings.Lines(a.body) {
			if !strings.HasPrefix(line, "#") {
				n++
			}
		}
		return n, a.body
	}
	attack := func(i int) {
		r.send(request{method: "GET", path: fmt.Sprintf("/v1/zebra%d", i), token: r.tokens["trader"]})
		r.send(request{method: fmt.Sprintf("ZEBRA%d", i), path: "/v1/audit", token: r.tokens["trader"]})
		r.trader().Execute(ctx, order(t, "buy", fmt.Sprintf("Z%d", i), "1", "150", func(k *gate.Call) { k.Origin.Tool = "zebra" }))
		r.client("proposer", 1).Propose(ctx, order(t, "buy", "AAPL", fmt.Sprint(i+1), "150"))
	}
	attack(0)
	series() // counts itself
	before, _ := series()
	for i := range 10 {
		attack(i + 1)
	}
	after, text := series()
	if before != after || strings.Contains(strings.ToLower(text), "zebra") || strings.Contains(text, "AAPL") || strings.Contains(text, "trader") {
		t.Errorf("%d series became %d:\n%s", before, after, text)
	}
	for _, want := range []string{
		"sallyport_journal_ready 1\n", "sallyport_policy_valid 1\n", "sallyport_orders_working 0\n", "sallyport_outcomes_unknown 0\n", "sallyport_build_info{version=",
		"sallyport_proposals_open 11\n", "sallyport_stops_engaged 0\n", `sallyport_decisions_total{state="APPROVAL_PENDING",verdict="hold"} 11`,
		`sallyport_refused_authentications_total`, "sallyport_reconcile_differences_total 0", `sallyport_request_duration_seconds_count{half="agents"}`,
	} {
		if want != "sallyport_refused_authentications_total" && !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s:\n%s", want, text)
		}
	}
}

//attack:rest-ready-every
func TestReadinessAsksTheJournalOnceASecond(t *testing.T) {
	clock := gatetest.NewClock()
	r := newRig(t, func(_ *gate.Config, s *rest.ServerConfig) { s.Now = clock.Now })
	ready := func() int { return r.send(request{method: "GET", path: "/readyz"}).status }
	if got := ready(); got != http.StatusOK {
		t.Fatalf("a daemon that can record is answered %d", got)
	}
	if err := r.gate.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ready(); got != http.StatusOK {
		t.Errorf("the journal was asked again within a second: %d", got)
	}
	clock.Advance(time.Second)
	if got := ready(); got != http.StatusServiceUnavailable {
		t.Errorf("a daemon that cannot record is answered %d", got)
	}
	if got := r.send(request{method: "GET", path: "/healthz"}).status; got != http.StatusOK {
		t.Errorf("a daemon that lives is answered %d", got)
	}
	r.send(request{method: "GET", path: "/v1/whoami", token: r.tokens["trader"]}).want(t, http.StatusServiceUnavailable, "JOURNAL_UNAVAILABLE")
}

//attack:rest-member-depth
func TestDeepMembersBesideTheArgumentsAreFaults(t *testing.T) {
	r := newRig(t)
	body := `{"tool":"paper_place_order_a","arguments":{"symbol":"AAPL","side":"buy","quantity":"1","order_type":"limit","limit_price":"1"},"session":[[[1]]]}`
	a := r.send(request{method: "POST", path: "/v1/intents", token: r.tokens["trader"], body: body})
	d, err := ledger.ReadDecision([]byte(a.body))
	if err != nil || d.Verdict != policy.Deny || d.Reasons[0].Code != trade.JSONMalformed || len(r.broker.Submits()) != 0 {
		t.Errorf("%d, %v: %s", a.status, err, a.body)
	}
}

// TestPressWithADigestOfNoShapeIsOnRecord: whatever a person presses with is recorded, as a press for other terms.
func TestPressWithADigestOfNoShapeIsOnRecord(t *testing.T) {
	r := newRig(t)
	d := r.client("proposer", 1).Propose(ctx, order(t, "buy", "AAPL", "1", "150"))
	digests := []string{"", "8", "1234567", "ABCDEF12", "12345678 ", strings.Repeat("a", 65), "nothing!"}
	for _, text := range digests {
		body := fmt.Sprintf(`{"digest":%q}`, text)
		r.send(request{half: "people", method: "POST", path: "/v1/proposals/" + string(d.Intent) + "/approve", body: body, token: r.owner}).
			want(t, http.StatusConflict, "DIGEST_MISMATCH")
	}
	recorded := 0
	err := r.gate.Tail(ctx, 1, func(rec journal.Record) error {
		e, err := ledger.Decode(rec.Body)
		if a, is := e.(ledger.AttemptRefused); is && a.Code == policy.DigestMismatch && a.Intent == d.Intent {
			recorded++
		}
		return err
	})
	if err != nil || recorded != len(digests) || len(r.broker.Submits()) != 0 {
		t.Errorf("%v: %d of %d presses are on record", err, recorded, len(digests))
	}
}
