package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/rest"
	"sallyport/trade"
)

// witness stands before a handler and holds every request and answer to the document of its half.
type witness struct {
	t       *testing.T
	half    string
	doc     map[string]any
	schemas map[string]*jsonschema.Resolved
	next    http.Handler

	mu   sync.Mutex
	seen map[string]bool // method, path and status
}

func newWitness(t *testing.T, half string, next http.Handler) *witness {
	t.Helper()
	raw, err := os.ReadFile("openapi-" + half + ".json")
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{t: t, half: half, next: next, schemas: map[string]*jsonschema.Resolved{}, seen: map[string]bool{}}
	if err := json.Unmarshal(raw, &w.doc); err != nil {
		t.Fatal(err)
	}
	all := w.doc["components"].(map[string]any)["schemas"].(map[string]any)
	strict(all)
	for name := range all {
		root, _ := json.Marshal(map[string]any{"$defs": all, "$ref": "#/components/schemas/" + name})
		root = bytes.ReplaceAll(root, []byte("#/components/schemas/"), []byte("#/$defs/"))
		var s jsonschema.Schema
		if err := json.Unmarshal(root, &s); err != nil {
			t.Fatalf("schema %s: %v", name, err)
		}
		if w.schemas[name], err = s.Resolve(nil); err != nil {
			t.Fatalf("schema %s: %v", name, err)
		}
	}
	return w
}

// strict forbids members that no schema names, so that the test finds what is answered and not documented.
func strict(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, has := v["properties"].(map[string]any); has && v["type"] == "object" && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, x := range v {
			strict(x)
		}
	case []any:
		for _, x := range v {
			strict(x)
		}
	}
}

func (w *witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	w.next.ServeHTTP(rec, r)
	w.judge(r, body, rec)
	for name, all := range rec.Header() {
		rw.Header()[name] = all
	}
	rw.WriteHeader(rec.Code)
	_, _ = rw.Write(rec.Body.Bytes())
}

func (w *witness) judge(r *http.Request, body []byte, rec *httptest.ResponseRecorder) {
	at := r.Method + " " + r.URL.Path
	path, op := w.operation(r)
	if op == nil {
		if rec.Code != http.StatusNotFound && rec.Code != http.StatusMethodNotAllowed && rec.Code != http.StatusUnauthorized {
			w.t.Errorf("%s: the path is in no document and answers %d", at, rec.Code)
		}
		w.valid(at, "Problem", rec.Body.Bytes())
		return
	}
	w.mu.Lock()
	w.seen[fmt.Sprintf("%s %s %d", r.Method, path, rec.Code)] = true
	w.mu.Unlock()
	responses := op["responses"].(map[string]any)
	response, documented := responses[fmt.Sprint(rec.Code)].(map[string]any)
	if !documented {
		response = responses["default"].(map[string]any)
	}
	if documented && len(body) > 0 { // what was taken is what the document says
		if request, takes := op["requestBody"].(map[string]any); takes {
			w.valid(at+" request", schemaOf(request, "application/json"), body)
		} else {
			w.t.Errorf("%s: it takes a body, which the document does not say", at)
		}
	}
	kind, _, _ := strings.Cut(rec.Header().Get("Content-Type"), ";")
	switch name := schemaOf(response, kind); {
	case rec.Body.Len() == 0 && response["content"] == nil:
	case kind == "text/plain":
	case name == "":
		w.t.Errorf("%s: %d answers %s, which is not documented", at, rec.Code, kind)
	default:
		w.valid(fmt.Sprintf("%s %d", at, rec.Code), name, rec.Body.Bytes())
	}
}

func schemaOf(x map[string]any, kind string) string {
	content, _ := x["content"].(map[string]any)
	media, _ := content[kind].(map[string]any)
	schema, _ := media["schema"].(map[string]any)
	name, _ := schema["$ref"].(string)
	return strings.TrimPrefix(name, "#/components/schemas/")
}

func (w *witness) valid(at, schema string, raw []byte) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		w.t.Errorf("%s: %v in %s", at, err, raw)
		return
	}
	if s := w.schemas[schema]; s == nil {
		w.t.Errorf("%s: there is no schema %s", at, schema)
	} else if err := s.Validate(v); err != nil {
		w.t.Errorf("%s is not %s: %v\n%s", at, schema, err, raw)
	}
}

// operation finds the documented operation of a request.
func (w *witness) operation(r *http.Request) (string, map[string]any) {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	for path, item := range w.doc["paths"].(map[string]any) {
		own := strings.Split(path, "/")
		hit := len(own) == len(segments)
		for i := range own {
			hit = hit && (strings.HasPrefix(own[i], "{") || own[i] == segments[i])
		}
		if op, has := item.(map[string]any)[strings.ToLower(r.Method)].(map[string]any); hit && has {
			return path, op
		}
	}
	return "", nil
}

// wantAll makes sure that every documented operation was seen to do what the document says of its success.
func (w *witness) wantAll() {
	for path, item := range w.doc["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			for status := range op.(map[string]any)["responses"].(map[string]any) {
				key := strings.ToUpper(method) + " " + path + " " + status
				if status != "default" && !w.seen[key] {
					w.t.Errorf("%s: %s was never seen", w.half, key)
				}
			}
		}
	}
}

// session is a scripted one, over plain HTTP, before the witnesses.
type session struct {
	*rig
	agents, people string
	trader         *rest.Client
	olga           *rest.PeopleClient
}

func newSession(t *testing.T) (*session, []*witness) {
	r := newRig(t)
	cfg := rest.Config{Gate: r.gate, Metrics: rest.NewMetrics()}
	ws := []*witness{newWitness(t, "agents", rest.Agents(cfg)), newWitness(t, "people", rest.People(cfg))}
	s := &session{rig: r}
	for i, at := range []*string{&s.agents, &s.people} {
		server := httptest.NewServer(ws[i])
		t.Cleanup(server.Close)
		*at = server.URL
	}
	var err error
	if s.trader, err = rest.Dial(rest.ClientConfig{Address: s.agents, Token: r.tokens["trader"], Tier: trade.TierExecute}); err != nil {
		t.Fatal(err)
	}
	if s.olga, err = rest.DialPeople(rest.ClientConfig{Address: s.people, Token: r.owner}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.trader.Close(); s.olga.Close() })
	return s, ws
}

func (s *session) get(base, path, token string) {
	s.t.Helper()
	q, err := http.NewRequest(http.MethodGet, base+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		s.t.Fatal(err)
	}
	res.Body.Close()
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestEveryAnswerIsAsDocumented(t *testing.T) {
	s, ws := newSession(t)
	s.asAgent(t)
	s.asPerson(t)
	s.asOwner(t)
	for i, base := range []string{s.agents, s.people} {
		token := []string{s.tokens["trader"], s.owner}[i]
		for _, path := range []string{"/healthz", "/readyz", "/metrics", "/v1/openapi.json", "/v1/nothing", "/v1/portfolio?tier=2"} {
			s.get(base, path, token)
		}
		s.get(base, "/v1/portfolio", "")
		s.get(base, "/v1/portfolio", "sp-agent-nobody")
	}
	for _, w := range ws {
		w.wantAll()
	}
}

func (s *session) asAgent(t *testing.T) {
	c := s.trader
	faulty := order(t, "buy", "AAPL", "-1", "150")
	faulty.Raw = []byte(`{"ticker":"AAPL","ticker":1}`)
	noJSON := faulty
	noJSON.Raw, noJSON.Faults = []byte(`{"ticker`), nil
	for _, k := range []gate.Call{order(t, "buy", "AAPL", "10", "150"), order(t, "buy", "TSLA", "10", "150"), faulty, noJSON} {
		c.Check(ctx, k)
		c.Execute(ctx, k)
	}
	s.broker.Next(gatetest.Rest, gatetest.Reject("no"), gatetest.Unclear)
	resting := c.Execute(ctx, order(t, "buy", "AAPL", "11", "150"))
	c.Execute(ctx, order(t, "buy", "AAPL", "12", "150"))
	c.Execute(ctx, order(t, "buy", "AAPL", "13", "150"))
	k := order(t, "buy", "MSFT", "1", "400", gatetest.WithToolCall("c1"))
	c.Authorize(ctx, k)
	for _, id := range []trade.ToolCallID{"c1", "none"} {
		k.Origin.ToolCallID = id
		if _, _, err := c.Report(ctx, gate.Report{Origin: k.Origin, Dialect: k.Dialect, Account: k.Account, Order: k.Order, Raw: k.Raw, Outcome: trade.Rejected}); err != nil {
			t.Fatal(err)
		}
	}
	d := c.Propose(ctx, order(t, "buy", "MSFT", "2", "400"))
	must[ledger.Decision](t)(c.Proposal(ctx, "", d.Intent))
	must[ledger.Decision](t)(c.Await(ctx, gate.Origin{}, 0, d.Intent, time.Millisecond))
	must[ledger.Decision](t)(c.Withdraw(ctx, gate.Origin{}, 0, d.Intent, "changed my mind"))
	if _, err := c.Withdraw(ctx, gate.Origin{}, 0, d.Intent, "again"); err == nil {
		t.Error("a proposal is withdrawn twice")
	}
	must[[]gate.WorkingOrder](t)(c.Orders(ctx))
	must[gate.Portfolio](t)(c.Portfolio(ctx, ""))
	must[gate.Found](t)(c.Query(ctx, gate.Query{Symbol: resting.Order.Symbol(), State: ledger.Succeeded, From: gatetest.Start().Add(-time.Hour * 9000), To: time.Now().Add(time.Hour), Limit: 5}))
	s.get(s.agents, "/v1/audit/"+string(resting.Intent), s.tokens["trader"])
	must[gate.CancelResult](t)(c.CancelOwn(ctx, gate.Origin{}, 0, resting.Intent))
	if _, err := c.CancelOwn(ctx, gate.Origin{}, 0, resting.Intent); err == nil {
		t.Error("an order is cancelled twice")
	}
	if _, found, err := c.Quote(ctx, resting.Order.Symbol()); err != nil || !found {
		t.Error(found, err)
	}
	c.Policy()
	must[[]ledger.Stop](t)(c.Stops(ctx))
	if _, _, err := c.Whoami(ctx); err != nil {
		t.Error(err)
	}
	low := must[*rest.Client](t)(rest.Dial(rest.ClientConfig{Address: s.agents, Token: s.tokens["trader"]}))
	defer low.Close()
	if _, err := low.Kill(ctx, gate.StopRequest{Reason: "no"}); err == nil {
		t.Error("an agent of tier 0 stops everything")
	}
	low.Execute(ctx, order(t, "buy", "AAPL", "10", "150"))
}

func (s *session) asPerson(t *testing.T) {
	c, olga := s.trader, s.olga
	s.broker.Next(gatetest.Rest)
	resting := c.Execute(ctx, order(t, "buy", "AAPL", "5", "150"))
	d := c.Propose(ctx, order(t, "buy", "MSFT", "3", "400"))
	no := c.Propose(ctx, order(t, "buy", "MSFT", "4", "400"))
	must[[]ledger.Decision](t)(olga.Proposals(ctx))
	if _, _, err := olga.Brief(ctx, d.Intent); err != nil {
		t.Error(err)
	}
	if _, err := olga.Approve(ctx, d.Intent, strings.Repeat("0", 64)); err == nil {
		t.Error("another digest is approved")
	}
	must[ledger.Decision](t)(olga.Approve(ctx, d.Intent, d.Order.Digest().String()))
	must[ledger.Decision](t)(olga.Decline(ctx, no.Intent, no.Order.Digest().String()[:12], "no"))
	must[gate.StopReport](t)(c.Kill(ctx, gate.StopRequest{Scope: ledger.Scope{Kind: ledger.OneAgent, Name: "trader"}, Reason: "enough", Keep: true}))
	c.Execute(ctx, order(t, "buy", "AAPL", "6", "150"))
	must[[]ledger.Stop](t)(c.Stops(ctx))
	must[gate.StopReport](t)(olga.Kill(ctx, gate.StopRequest{Reason: "enough"}))
	must[[]ledger.Stop](t)(olga.Stops(ctx))
	must[ledger.Decision](t)(olga.Reduce(ctx, gatetest.Order(t, "sell", "AAPL", "1", "140")))
	if _, err := olga.Reduce(ctx, gatetest.Order(t, "sell", "AAPL", "1000", "140")); err == nil {
		t.Error("more is sold than is held")
	}
	must[[]ledger.Stop](t)(olga.Reset(ctx, ledger.Scope{}, "all is well"))
	must[[]ledger.Stop](t)(olga.Reset(ctx, ledger.Scope{Kind: ledger.OneAgent, Name: "trader"}, "all is well"))
	if _, err := olga.Reset(ctx, ledger.Scope{}, ""); err == nil {
		t.Error("a reset needs no reason")
	}
	must[gate.Found](t)(olga.Query(ctx, gate.Query{Agent: "trader"}))
	if _, events, err := olga.History(ctx, d.Intent); err != nil || len(events) < 4 {
		t.Errorf("the history has %d events, %v", len(events), err)
	}
	must[[]gate.WorkingOrder](t)(olga.Orders(ctx))
	other := c.Execute(ctx, order(t, "buy", "AAPL", "5", "151"))
	if _, err := olga.Cancel(ctx, other.Intent); err == nil {
		t.Error("a filled order is cancelled")
	}
	s.broker.Next(gatetest.Rest)
	again := c.Execute(ctx, order(t, "buy", "AAPL", "5", "152"))
	must[gate.CancelResult](t)(olga.Cancel(ctx, again.Intent))
	_ = resting
	must[gate.Portfolio](t)(olga.Portfolio(ctx))
	s.get(s.people, "/v1/policy", s.owner)
	must[gate.Reconciliation](t)(olga.Reconcile(ctx))
	must[ledger.Person](t)(olga.Whoami(ctx))
}

func (s *session) asOwner(t *testing.T) {
	olga := s.olga
	must[string](t)(olga.AddPerson(ctx, gate.PersonTerms{Name: "pia", Approver: true, Telegram: 7}))
	all := must[[]ledger.Person](t)(olga.People(ctx))
	if !slices.ContainsFunc(all, func(p ledger.Person) bool { return p.Name == "pia" && p.Telegram == 7 && p.Approver && !p.Owner }) {
		t.Errorf("the people are %v", all)
	}
	must[string](t)(olga.RotatePerson(ctx, "pia"))
	if err := olga.RemovePerson(ctx, "pia"); err != nil {
		t.Error(err)
	}
	must[string](t)(olga.AddAgent(ctx, "scout", trade.TierPropose))
	if _, err := olga.AddAgent(ctx, "scout", trade.TierPropose); err == nil {
		t.Error("two agents have one name")
	}
	grants := must[[]ledger.Grant](t)(olga.Agents(ctx))
	if !slices.ContainsFunc(grants, func(g ledger.Grant) bool { return g.Agent == "scout" && g.Tier == trade.TierPropose }) {
		t.Errorf("the agents are %v", grants)
	}
	must[string](t)(olga.RotateAgent(ctx, "scout"))
	if err := olga.RemoveAgent(ctx, "scout"); err != nil {
		t.Error(err)
	}
}
