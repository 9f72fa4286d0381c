package rest

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// PeopleClient is a person's side of a daemon. It is safe for concurrent use.
type PeopleClient struct{ *connection }

// DialPeople returns a client of a daemon for the person whose credential is the token. Nothing is sent before its first
// call.
func DialPeople(cfg ClientConfig) (*PeopleClient, error) {
	c, err := dial(cfg)
	if err != nil {
		return nil, err
	}
	return &PeopleClient{c}, nil
}

// Proposals returns the proposals that wait, oldest first.
func (c *PeopleClient) Proposals(ctx context.Context) ([]ledger.Decision, error) {
	r, _, err := c.call(ctx, http.MethodGet, "/v1/proposals", nil, 0)
	if err != nil {
		return nil, err
	}
	all := r.decisions("proposals")
	return all, r.err
}

// Brief returns an open proposal and the message that a person is shown before he decides about it.
func (c *PeopleClient) Brief(ctx context.Context, id trade.IntentID) (d ledger.Decision, text string, err error) {
	r, _, err := c.call(ctx, http.MethodGet, "/v1/proposals/"+segment(id), nil, 0)
	if err != nil {
		return d, "", err
	}
	v, _ := r.v.Member("decision")
	d, text = r.decisionOf(v), r.text("text")
	return d, text, r.err
}

// Approve counts this person's approval of exactly the terms of the digest: all of its hexadecimal digits, or at least the
// first 8. The last approval that is needed executes the order, and the decision says what became of it. An error that
// wraps ErrUnreachable means that the approval may count: look the proposal up.
func (c *PeopleClient) Approve(ctx context.Context, id trade.IntentID, digest string) (ledger.Decision, error) {
	return c.press(ctx, id, "approve", digest, "")
}

// Decline ends a proposal.
func (c *PeopleClient) Decline(ctx context.Context, id trade.IntentID, digest, reason string) (ledger.Decision, error) {
	return c.press(ctx, id, "decline", digest, reason)
}

func (c *PeopleClient) press(ctx context.Context, id trade.IntentID, how, digest, reason string) (ledger.Decision, error) {
	body := wire.AppendOptional(wire.AppendText([]byte{'{'}, "digest", digest), "reason", reason)
	return c.decision(ctx, http.MethodPost, "/v1/proposals/"+segment(id)+"/"+how, append(body, '}'), callDeadline)
}

// Kill engages the kill switch.
func (c *PeopleClient) Kill(ctx context.Context, k gate.StopRequest) (gate.StopReport, error) {
	return c.kill(ctx, k)
}

// Stops returns the kill switches that are engaged.
func (c *PeopleClient) Stops(ctx context.Context) ([]ledger.Stop, error) { return c.stops(ctx) }

// Reset lets go on what a stop of exactly that scope has stopped, and returns the stops that are left.
func (c *PeopleClient) Reset(ctx context.Context, scope ledger.Scope, reason string) ([]ledger.Stop, error) {
	body := wire.AppendText(wire.AppendText([]byte{'{'}, "scope", scope.String()), "reason", reason)
	r, _, err := c.call(ctx, http.MethodPost, "/v1/kill/reset", append(body, '}'), 0)
	if err != nil {
		return nil, err
	}
	left := r.stops("stops")
	return left, r.err
}

// reductionTool is the dialect that a reduction is written in.
const reductionTool = "trade_check"

// Reduce sells from a position, whatever stop is engaged. An error that wraps ErrUnreachable means that it may be sold.
func (c *PeopleClient) Reduce(ctx context.Context, o trade.Order) (ledger.Decision, error) {
	d, _ := dialect.Find(reductionTool)
	var raw []byte
	if d != nil {
		raw = d.Encode(o, "")
	}
	if raw == nil {
		return ledger.Decision{}, &gate.Refusal{Code: policy.ReductionNotVerified, Message: "this order cannot be a reduction"}
	}
	body := appendEnvelope(nil, gate.Call{Dialect: reductionTool, Account: o.Account(), Raw: raw})
	return c.decision(ctx, http.MethodPost, "/v1/reductions", append(body, '}'), callDeadline)
}

// Cancel cancels an order, whoever's it is.
func (c *PeopleClient) Cancel(ctx context.Context, id trade.IntentID) (gate.CancelResult, error) {
	return c.cancel(ctx, id)
}

// Query returns the intents that match, newest first.
func (c *PeopleClient) Query(ctx context.Context, q gate.Query) (gate.Found, error) {
	return c.query(ctx, q)
}

// History returns one intent's decision as it stands and every event of it, oldest first. The events' bodies are left out.
func (c *PeopleClient) History(ctx context.Context, id trade.IntentID) (d ledger.Decision, events []ledger.Entry, err error) {
	r, _, err := c.call(ctx, http.MethodGet, "/v1/audit/"+segment(id), nil, 0)
	if err != nil {
		return d, nil, err
	}
	v, _ := r.v.Member("decision")
	d = r.decisionOf(v)
	r.each("events", func(x *reading) {
		events = append(events, ledger.Entry{
			Seq: uint64(max(x.number("seq"), 0)), At: x.time("at"), State: ledger.AuditState(x.text("state")), Event: x.text("event"),
			Hash: x.text("hash"),
		})
	})
	return d, events, r.err
}

// Policy returns the policy that the daemon judges by, built again from its bytes.
func (c *PeopleClient) Policy() gate.PolicyView { return c.policy() }

// Orders returns the open orders.
func (c *PeopleClient) Orders(ctx context.Context) ([]gate.WorkingOrder, error) { return c.orders(ctx) }

// Portfolio returns what the account holds, owes and may still do.
func (c *PeopleClient) Portfolio(ctx context.Context) (gate.Portfolio, error) {
	return c.portfolio(ctx)
}

// Reconcile has the daemon compare with the broker now.
func (c *PeopleClient) Reconcile(ctx context.Context) (gate.Reconciliation, error) {
	r, _, err := c.call(ctx, http.MethodPost, "/v1/reconcile", []byte("{}"), 0)
	if err != nil {
		return gate.Reconciliation{}, err
	}
	rec := gate.Reconciliation{At: r.time("at"), Unknown: int(r.number("unknown"))}
	r.each("differences", func(x *reading) {
		rec.Differences = append(rec.Differences, gate.Difference{
			Symbol: x.symbol("symbol"), What: x.text("what"), Broker: x.text("broker"), Ledger: x.text("ledger"),
		})
	})
	return rec, r.err
}

// Whoami returns who the daemon takes this client for.
func (c *PeopleClient) Whoami(ctx context.Context) (ledger.Person, error) {
	r, _, err := c.call(ctx, http.MethodGet, "/v1/whoami", nil, 0)
	if err != nil {
		return ledger.Person{}, err
	}
	p := r.person()
	return p, r.err
}

func (r *reading) person() ledger.Person {
	p := ledger.Person{Name: r.text("name"), Owner: r.flag("owner"), Approver: r.flag("approver")}
	if _, n := r.v.Member("telegram_id"); n > 0 {
		p.Telegram = r.number("telegram_id")
	}
	return p
}

// People returns everybody who has a credential.
func (c *PeopleClient) People(ctx context.Context) (all []ledger.Person, err error) {
	r, _, err := c.call(ctx, http.MethodGet, "/v1/people", nil, 0)
	if err != nil {
		return nil, err
	}
	r.each("people", func(x *reading) { all = append(all, x.person()) })
	return all, r.err
}

// AddPerson adds a person and returns the credential, which is kept nowhere.
func (c *PeopleClient) AddPerson(ctx context.Context, p gate.PersonTerms) (secret string, err error) {
	body := wire.AppendText([]byte{'{'}, "name", p.Name)
	body = strconv.AppendBool(wire.AppendName(body, "approver"), p.Approver)
	if p.Telegram != 0 {
		body = strconv.AppendInt(wire.AppendName(body, "telegram_id"), p.Telegram, 10)
	}
	return c.secret(ctx, "/v1/people", append(body, '}'))
}

// RotatePerson gives a person a new credential; the old one ends at once.
func (c *PeopleClient) RotatePerson(ctx context.Context, name string) (secret string, err error) {
	return c.secret(ctx, "/v1/people/"+url.PathEscape(name)+"/rotate", []byte("{}"))
}

// RemovePerson ends a person's rights.
func (c *PeopleClient) RemovePerson(ctx context.Context, name string) error {
	_, _, err := c.call(ctx, http.MethodDelete, "/v1/people/"+url.PathEscape(name), nil, 0)
	return err
}

// Agents returns every agent that has a token.
func (c *PeopleClient) Agents(ctx context.Context) (all []ledger.Grant, err error) {
	r, _, err := c.call(ctx, http.MethodGet, "/v1/agents", nil, 0)
	if err != nil {
		return nil, err
	}
	r.each("agents", func(x *reading) {
		all = append(all, ledger.Grant{Agent: trade.Agent(x.text("name")), Tier: x.tier("tier")})
	})
	return all, r.err
}

// AddAgent adds an agent with its highest tier and returns its token, which is kept nowhere.
func (c *PeopleClient) AddAgent(ctx context.Context, agent trade.Agent, t trade.Tier) (token string, err error) {
	body := append(wire.AppendName(wire.AppendText([]byte{'{'}, "name", string(agent)), "tier"), t.String()...)
	return c.secret(ctx, "/v1/agents", append(body, '}'))
}

// RotateAgent gives an agent a new token; the old one ends at once.
func (c *PeopleClient) RotateAgent(ctx context.Context, agent trade.Agent) (token string, err error) {
	return c.secret(ctx, "/v1/agents/"+url.PathEscape(string(agent))+"/rotate", []byte("{}"))
}

// RemoveAgent ends an agent's token.
func (c *PeopleClient) RemoveAgent(ctx context.Context, agent trade.Agent) error {
	_, _, err := c.call(ctx, http.MethodDelete, "/v1/agents/"+url.PathEscape(string(agent)), nil, 0)
	return err
}

func (c *PeopleClient) secret(ctx context.Context, path string, body []byte) (string, error) {
	r, _, err := c.call(ctx, http.MethodPost, path, body, 0)
	if err != nil {
		return "", err
	}
	secret := r.text("secret")
	return secret, r.err
}
