package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// Client is an agent's side of a daemon, with the gate's own methods. It is safe for concurrent use.
type Client struct{ *connection }

// Dial returns a client of a daemon. Nothing is sent before its first call, so that a daemon need not run yet.
func Dial(cfg ClientConfig) (*Client, error) {
	c, err := dial(cfg)
	if err != nil {
		return nil, err
	}
	return &Client{c}, nil
}

// Execute has the daemon decide the call and execute it. An answer that does not come is an unknown outcome.
func (c *Client) Execute(ctx context.Context, k gate.Call) ledger.Decision {
	return c.decide(ctx, "/v1/intents", k, true)
}

// Propose has the daemon decide the call and hold it for people. An answer that does not come is an unknown outcome: people
// may have the proposal.
func (c *Client) Propose(ctx context.Context, k gate.Call) ledger.Decision {
	return c.decide(ctx, "/v1/proposals", k, true)
}

// Authorize asks whether somebody else may make the call. An answer that does not come is a no.
func (c *Client) Authorize(ctx context.Context, k gate.Call) ledger.Decision {
	d := c.decide(ctx, "/v1/permissions", k, false)
	if d.Verdict == policy.Allow && (k.Order.IsZero() || d.Order.Digest() != k.Order.Digest()) {
		return c.own(k, policy.InternalError, "the daemon has read another order out of these arguments than this process; both must be of one version")
	}
	return d
}

// Check has the daemon judge the call, and records nothing.
func (c *Client) Check(ctx context.Context, k gate.Call) ledger.Decision {
	return c.decide(ctx, "/v1/checks", k, false)
}

// decide always returns a decision. mayAct says that a call without an answer may have been carried out all the same.
//
//limit:rest-unanswered An order whose call has no clear answer is an unknown outcome, never a failure; a permission or a check without one is a denial.
func (c *Client) decide(ctx context.Context, path string, k gate.Call, mayAct bool) ledger.Decision {
	if !sendable(k.Origin) {
		return c.own(k, policy.OriginMalformed, "the origin of the call is not UTF-8")
	}
	rep, err := c.exchange(ctx, http.MethodPost, path, append(appendEnvelope(nil, k), '}'), 0)
	if err == nil && rep.status == http.StatusOK {
		d, readErr := ledger.ReadDecision(rep.body)
		if readErr == nil {
			c.known(d.Agent)
			d.Account, d.Origin = k.Account, k.Origin
			return d
		}
		err = errors.Join(ErrUnreachable, readErr)
	}
	if err == nil {
		_, err = rep.refusal()
	}
	var told *gate.Refusal
	if errors.As(err, &told) && (told.Code != policy.InternalError || !mayAct) {
		d := c.own(k, told.Code, told.Message)
		d.RetryAfter = rep.retryAfter()
		return d
	}
	d := c.own(k, policy.DaemonUnreachable, "the daemon gave no answer, so nothing is allowed: "+trade.Printable(err.Error(), 200))
	d.Error = "daemon_unreachable"
	if mayAct && !errors.Is(err, ErrNotReached) {
		d.State = ledger.OutcomeUnknown
		d.Reasons[0].Message = "the daemon gave no clear answer; whether the order is recorded or sent is not known: look it up before anything else (" +
			trade.Printable(err.Error(), 200) + ")"
	}
	return d
}

func sendable(o gate.Origin) bool {
	return utf8.ValidString(o.Surface) && utf8.ValidString(o.Tool) && utf8.ValidString(string(o.Harness)) &&
		utf8.ValidString(string(o.Session)) && utf8.ValidString(string(o.ToolCallID))
}

// known keeps which agent this client is to the daemon, so that a decision of its own names the same one.
func (c *Client) known(agent trade.Agent) {
	if told := c.agent.Load(); agent != "" && (told == nil || *told != agent) {
		c.agent.Store(&agent)
	}
}

// own is a decision that the client makes itself, which is on no record.
func (c *Client) own(k gate.Call, code trade.Code, message string) ledger.Decision {
	agent := c.cfg.Agent
	if told := c.agent.Load(); told != nil {
		agent = *told
	}
	return ledger.Decision{
		State: ledger.Blocked, ToolCallID: k.Origin.ToolCallID, ClientOrderID: k.Tags.ClientOrderID, Agent: agent,
		Surface: k.Origin.Surface, Tool: k.Origin.Tool, Order: k.Order, At: c.cfg.Now().UTC().Truncate(time.Microsecond),
		Reasons: []policy.Reason{{Code: code, Message: message}}, Account: k.Account, Origin: k.Origin,
	}
}

func (rep reply) retryAfter() time.Duration {
	d, _ := time.ParseDuration(read(rep.body).optional("retry_after"))
	return d
}

// Report tells the daemon what became of a call that somebody else made.
func (c *Client) Report(ctx context.Context, k gate.Report) (d ledger.Decision, found bool, err error) {
	if !sendable(k.Origin) {
		return d, false, errors.New("rest: the origin of the report is not UTF-8")
	}
	body := appendEnvelope(nil, gate.Call{Origin: k.Origin, Dialect: k.Dialect, Account: k.Account, Faults: k.Faults, Raw: k.Raw})
	body = wire.AppendText(body, "outcome", k.Outcome.String())
	body = wire.AppendText(wire.AppendText(body, "status", k.Status), "message", k.Message)
	r, _, err := c.call(ctx, http.MethodPost, "/v1/reports", append(body, '}'), 0)
	if err != nil {
		return d, false, err
	}
	if found = r.flag("found"); found {
		v, _ := r.v.Member("decision")
		d = r.decisionOf(v)
	}
	return d, found, r.err
}

// Intent returns an own intent as it stands.
func (c *Client) Intent(ctx context.Context, id trade.IntentID) (ledger.Decision, error) {
	return c.decision(ctx, http.MethodGet, "/v1/audit/"+segment(id), nil, 0)
}

// Policy returns the policy that the daemon judges by, built again from its bytes.
func (c *Client) Policy() gate.PolicyView { return c.policy() }

func (c *connection) policy() gate.PolicyView {
	r, _, err := c.call(context.Background(), http.MethodGet, "/v1/policy", nil, 0)
	if err == nil {
		v := r.policy()
		if err = r.err; err == nil {
			return v
		}
	}
	reason := &policy.Reason{
		Code: policy.DaemonUnreachable, Field: "policy", Message: "the daemon does not tell its policy: " + trade.Printable(err.Error(), 200),
	}
	var told *gate.Refusal
	if errors.As(err, &told) {
		reason.Code = told.Code
	}
	return gate.PolicyView{Reason: reason}
}

// Audit returns the agent's own newest intents.
func (c *Client) Audit(ctx context.Context, limit int) ([]ledger.Decision, error) {
	found, err := c.Query(ctx, gate.Query{Limit: min(max(limit, 1), gate.MaxAudit)})
	return found.Decisions, err
}

// Query returns the agent's own intents that match. The daemon knows the agent; what the query says of it counts nothing.
func (c *Client) Query(ctx context.Context, q gate.Query) (gate.Found, error) {
	q.Agent = ""
	return c.query(ctx, q)
}

func (c *connection) query(ctx context.Context, q gate.Query) (gate.Found, error) {
	r, _, err := c.call(ctx, http.MethodGet, "/v1/audit"+queryOf(q), nil, 0)
	if err != nil {
		return gate.Found{}, err
	}
	f := r.found()
	return f, r.err
}

func queryOf(q gate.Query) string {
	v := url.Values{}
	set := func(name, text string) {
		if text != "" {
			v.Set(name, text)
		}
	}
	set("agent", string(q.Agent))
	set("symbol", q.Symbol.String())
	set("state", string(q.State))
	if !q.From.IsZero() {
		set("from", q.From.UTC().Format(time.RFC3339Nano))
	}
	if !q.To.IsZero() {
		set("to", q.To.UTC().Format(time.RFC3339Nano))
	}
	if q.Limit > 0 {
		set("limit", strconv.Itoa(min(q.Limit, gate.MaxAudit)))
	}
	if len(v) == 0 {
		return ""
	}
	return "?" + v.Encode()
}

// Portfolio returns what the agent may know of the account. The daemon knows the agent.
func (c *Client) Portfolio(ctx context.Context, _ trade.Agent) (gate.Portfolio, error) {
	return c.portfolio(ctx)
}

func (c *connection) portfolio(ctx context.Context) (gate.Portfolio, error) {
	r, _, err := c.call(ctx, http.MethodGet, "/v1/portfolio", nil, 0)
	if err != nil {
		return gate.Portfolio{}, err
	}
	p := r.portfolio()
	return p, r.err
}

// Orders returns the agent's own open orders.
func (c *Client) Orders(ctx context.Context) ([]gate.WorkingOrder, error) { return c.orders(ctx) }

func (c *connection) orders(ctx context.Context) ([]gate.WorkingOrder, error) {
	r, _, err := c.call(ctx, http.MethodGet, "/v1/orders", nil, 0)
	if err != nil {
		return nil, err
	}
	all := r.orders("orders")
	return all, r.err
}

// Quote returns what the market shows of a symbol.
func (c *Client) Quote(ctx context.Context, s trade.Symbol) (q trade.Quote, found bool, err error) {
	r, _, err := c.call(ctx, http.MethodGet, "/v1/quotes/"+url.PathEscape(s.String()), nil, 0)
	var told *gate.Refusal
	switch {
	case errors.As(err, &told) && told.Code == QuoteUnavailable:
		return q, false, nil
	case err != nil:
		return q, false, err
	}
	q = r.quote()
	return q, r.err == nil, r.err
}

func (c *connection) decision(ctx context.Context, method, path string, body []byte, wait time.Duration) (ledger.Decision, error) {
	r, d, err := c.call(ctx, method, path, body, wait)
	if err != nil {
		return d, err
	}
	d = r.decisionOf(r.v)
	return d, r.err
}

// Proposal returns an own proposal as it stands.
func (c *Client) Proposal(ctx context.Context, _ trade.Agent, id trade.IntentID) (ledger.Decision, error) {
	return c.decision(ctx, http.MethodGet, "/v1/proposals/"+segment(id), nil, 0)
}

// Await waits for the outcome of an own proposal. It asks again while the time is not over.
func (c *Client) Await(ctx context.Context, _ gate.Origin, _ trade.Tier, id trade.IntentID, wait time.Duration) (ledger.Decision, error) {
	end := time.Now().Add(wait)
	for {
		left := min(max(time.Until(end), 0), maxAwait).Truncate(time.Millisecond)
		body := append(wire.AppendText([]byte{'{'}, "wait", left.String()), '}')
		d, err := c.decision(ctx, http.MethodPost, "/v1/proposals/"+segment(id)+"/await", body, left)
		undecided := d.State == ledger.ApprovalPending || d.State == ledger.ApprovalGranted || d.State == ledger.Allowed
		if err != nil || !undecided || left < maxAwait || ctx.Err() != nil {
			return d, err
		}
	}
}

// Withdraw ends an own proposal.
func (c *Client) Withdraw(ctx context.Context, _ gate.Origin, _ trade.Tier, id trade.IntentID, reason string) (ledger.Decision, error) {
	body := append(wire.AppendText([]byte{'{'}, "reason", reason), '}')
	return c.decision(ctx, http.MethodPost, "/v1/proposals/"+segment(id)+"/withdraw", body, 0)
}

// CancelOwn cancels an own order.
func (c *Client) CancelOwn(ctx context.Context, _ gate.Origin, _ trade.Tier, id trade.IntentID) (gate.CancelResult, error) {
	return c.cancel(ctx, id)
}

func (c *connection) cancel(ctx context.Context, id trade.IntentID) (gate.CancelResult, error) {
	r, _, err := c.call(ctx, http.MethodPost, "/v1/orders/"+segment(id)+"/cancel", []byte("{}"), 0)
	if err != nil {
		return gate.CancelResult{Intent: id}, err
	}
	res := r.cancel()
	return res, r.err
}

// Kill engages the kill switch. Who asks, and of which tier, is the connection's.
func (c *Client) Kill(ctx context.Context, k gate.StopRequest) (gate.StopReport, error) {
	k.All = false // only a person ends exits
	return c.kill(ctx, k)
}

func (c *connection) kill(ctx context.Context, k gate.StopRequest) (gate.StopReport, error) {
	rep := gate.StopReport{Stop: ledger.Stop{Scope: k.Scope, Reason: k.Reason}}
	body := wire.AppendText(wire.AppendText([]byte{'{'}, "scope", k.Scope.String()), "reason", k.Reason)
	if k.Keep {
		body = append(wire.AppendName(body, "keep"), "true"...)
	}
	if k.All {
		body = append(wire.AppendName(body, "all"), "true"...)
	}
	r, _, err := c.call(ctx, http.MethodPost, "/v1/kill", append(body, '}'), callDeadline)
	if err != nil {
		return rep, err
	}
	rep = r.stopReport()
	return rep, r.err
}

// Stops returns the kill switches that are engaged.
func (c *Client) Stops(ctx context.Context) ([]ledger.Stop, error) { return c.stops(ctx) }

func (c *connection) stops(ctx context.Context) ([]ledger.Stop, error) {
	r, _, err := c.call(ctx, http.MethodGet, "/v1/kill", nil, 0)
	if err != nil {
		return nil, err
	}
	all := r.stops("stops")
	return all, r.err
}

// Whoami returns which agent the daemon takes this client for, and of which tier.
func (c *Client) Whoami(ctx context.Context) (trade.Agent, trade.Tier, error) {
	r, _, err := c.call(ctx, http.MethodGet, "/v1/whoami", nil, 0)
	if err != nil {
		return "", trade.TierRead, err
	}
	agent, tier := trade.Agent(r.text("agent")), r.tier("tier")
	if r.err == nil {
		c.known(agent)
	}
	return agent, tier, r.err
}

// segment is an id in a path. An empty one is sent as one that nobody has, so that the server judges the call and not the
// path.
func segment(id trade.IntentID) string {
	if id == "" {
		return "-"
	}
	return url.PathEscape(string(id))
}
