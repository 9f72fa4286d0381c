package rest_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/rest"
	"sallyport/trade"
)

// rig is a daemon on real sockets, with an owner, an agent of each tier, and clients of them.
type rig struct {
	t      testing.TB
	gate   *gate.Gate
	broker *gatetest.Broker
	owner  string // credential
	tokens map[string]string
	server *rest.Server
	stop   func() error
	dir    string
	logged *gatetest.Output
}

type quotes struct{}

func (quotes) Quote(s trade.Symbol) (trade.Quote, bool, error) {
	if s.String() != "AAPL" {
		return trade.Quote{}, false, nil
	}
	price := func(text string) trade.Decimal { d, _ := trade.ParseDecimal(text); return d }
	return trade.Quote{Symbol: s, Bid: price("149.90"), Ask: price("150.10"), Last: price("150"), At: gatetest.Start()}, true, nil
}

// newRig starts a daemon. edit may change what it is made of.
func newRig(t testing.TB, edit ...func(*gate.Config, *rest.ServerConfig)) *rig {
	t.Helper()
	r := &rig{t: t, broker: &gatetest.Broker{}, tokens: map[string]string{}, logged: &gatetest.Output{}}
	var err error
	if r.dir, err = os.MkdirTemp("", "sp"); err != nil { // a socket's path is short
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(r.dir) })
	cfg := gatetest.Config(gatetest.Home(t), r.broker)
	cfg.Daemon, cfg.Quotes, cfg.Approval.MaxOpen = true, quotes{}, 1000
	server := rest.ServerConfig{
		AgentsSocket: filepath.Join(r.dir, "agents.sock"), PeopleSocket: filepath.Join(r.dir, "people.sock"),
		Agents: "127.0.0.1:0", People: "127.0.0.1:0",
	}
	server.Log = slog.New(slog.NewTextHandler(r.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	server.Metrics = rest.NewMetrics()
	for _, f := range edit {
		f(&cfg, &server)
	}
	r.gate = gatetest.Open(t, cfg)
	r.populate()
	server.Gate = r.gate
	if r.server, err = rest.Listen(server); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.server.Serve(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("the server stopped with %v", err)
		}
	})
	return r
}

// populate makes the owner, who approves, and agents called reader, proposer and trader.
func (r *rig) populate() {
	ctx := context.Background()
	var err error
	if r.owner, err = r.gate.MakeOwner(ctx, gate.PersonTerms{Name: "olga", Approver: true}); err != nil {
		r.t.Fatal(err)
	}
	owner := r.identify(r.owner)
	for name, tier := range map[string]trade.Tier{"reader": trade.TierRead, "proposer": trade.TierPropose, "trader": trade.TierExecute} {
		if r.tokens[name], err = r.gate.AddAgent(ctx, owner, trade.Agent(name), tier); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) identify(credential string) gate.Person {
	p, err := r.gate.Identify(context.Background(), credential, "test")
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

func (r *rig) address(half string) string {
	for _, a := range r.server.Addresses() {
		if a.Half == half && !strings.HasPrefix(a.Address, "unix:") {
			return a.Address
		}
	}
	r.t.Fatalf("there is no TCP listener for %s", half)
	return ""
}

func (r *rig) client(agent string, tier trade.Tier) *rest.Client {
	r.t.Helper()
	c, err := rest.Dial(rest.ClientConfig{
		Address: "unix:" + filepath.Join(r.dir, "agents.sock"), Token: r.tokens[agent], Tier: tier, Agent: trade.Agent(agent),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

func (r *rig) trader() *rest.Client { return r.client("trader", trade.TierExecute) }

func (r *rig) person(credential string) *rest.PeopleClient {
	r.t.Helper()
	c, err := rest.DialPeople(rest.ClientConfig{Address: "unix:" + filepath.Join(r.dir, "people.sock"), Token: credential})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// order is the call of an order in the first dialect, as a surface would make it.
func order(t testing.TB, side, symbol, quantity, limit string, edit ...func(*gate.Call)) gate.Call {
	t.Helper()
	raw := `{"ticker":"` + symbol + `"}`
	d, _ := dialect.Find("paper_place_order_a")
	c := gatetest.Call(t, side, symbol, quantity, limit, edit...)
	if encoded := d.Encode(c.Order, c.Tags.ClientOrderID); encoded != nil {
		raw = string(encoded)
	}
	c.Raw, c.Dialect = []byte(raw), d.Name
	return c
}

// answer is one HTTP answer.
type answer struct {
	status int
	header http.Header
	body   string
}

// request is one HTTP request over TCP, as no client of ours would make it.
type request struct {
	half, method, path, token, body string
	header                          http.Header
	host                            string
}

func (r *rig) send(q request) answer {
	r.t.Helper()
	a, err := r.try(q)
	if err != nil {
		r.t.Fatalf("%s %s: %v", q.method, q.path, err)
	}
	return a
}

func (r *rig) try(q request) (answer, error) {
	var body io.Reader
	if q.body != "" {
		body = strings.NewReader(q.body)
	}
	if q.half == "" {
		q.half = "agents"
	}
	h, err := http.NewRequest(q.method, "http://"+r.address(q.half)+q.path, body)
	if err != nil {
		return answer{}, err
	}
	if q.body != "" {
		h.Header.Set("Content-Type", "application/json")
	}
	if q.token != "" {
		h.Header.Set("Authorization", "Bearer "+q.token)
	}
	for name, all := range q.header {
		h.Header[name] = all
	}
	h.Host = q.host
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(h)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(raw)}, err
}

// raw sends bytes over TCP and returns what comes back until the other side is done or nothing comes any more.
func (r *rig) raw(half, text string) string {
	r.t.Helper()
	c, err := net.Dial("tcp", r.address(half))
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		r.t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		r.t.Fatal(err)
	}
	all, _ := io.ReadAll(c)
	return string(all)
}

func (a answer) want(t testing.TB, status int, code string) {
	t.Helper()
	if a.status != status || !strings.Contains(a.body, `"code":"`+code+`"`) || a.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("status %d, type %s, body %s; want a problem %d with %s", a.status, a.header.Get("Content-Type"), a.body, status, code)
	}
}

func (r *rig) rows() []ledger.Decision {
	r.t.Helper()
	rows, err := r.gate.Audit(context.Background(), gate.MaxAudit)
	if err != nil {
		r.t.Fatal(err)
	}
	return rows
}
