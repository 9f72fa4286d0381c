package rest

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// personRoutes is the table of people's paths. Whether the person may, the gate decides.
func personRoutes() []route {
	return append(append([]route{
		{method: "GET", path: "/v1/proposals", about: "The proposals that wait, oldest first", gives: "Proposals", run: proposals},
		{method: "GET", path: "/v1/proposals/{id}", about: "Everything that a person must know of a proposal", gives: "Brief", run: brief},
		{method: "POST", path: "/v1/proposals/{id}/approve", about: "Approve exactly the terms of a digest", takes: "Press", gives: "Decision", run: pressed((*gate.Gate).Approve)},
		{method: "POST", path: "/v1/proposals/{id}/decline", about: "Say no to exactly the terms of a digest", takes: "Press", gives: "Decision", run: pressed((*gate.Gate).Decline)},
		{method: "POST", path: "/v1/kill", ends: true, about: "Engage the kill switch", takes: "PersonStop", gives: "Stopped", run: killed},
		{method: "POST", path: "/v1/kill/reset", about: "Reset the kill switch of a scope", takes: "Reset", gives: "Stops", run: reset},
		{method: "GET", path: "/v1/audit", query: []string{"agent", "symbol", "state", "from", "to", "limit"}, about: "Intents, newest first", gives: "Decisions", run: audit},
		{method: "GET", path: "/v1/audit/{id}", about: "An intent with every event of it", gives: "History", run: history},
		{method: "GET", path: "/v1/orders", about: "The open orders", gives: "Orders", run: orders},
		{method: "POST", path: "/v1/orders/{id}/cancel", ends: true, about: "Cancel an order", takes: "Nothing", gives: "Cancelled", run: cancelled},
		{method: "POST", path: "/v1/reductions", about: "Sell from a position, whatever stop is engaged", takes: "Order", gives: "Decision", run: reduced},
		{method: "POST", path: "/v1/reconcile", about: "Compare with the broker now", takes: "Nothing", gives: "Reconciliation", run: reconciled},
		{method: "GET", path: "/v1/whoami", about: "Who the caller is", gives: "Person", run: whoAmI},
	}, administration()...), commonRoutes()...)
}

// administration is what only the owner may do.
func administration() []route {
	return []route{
		{method: "GET", path: "/v1/people", about: "Everybody who has a credential", gives: "People", run: people},
		{method: "POST", path: "/v1/people", about: "Add a person", takes: "NewPerson", gives: "Secret", status: http.StatusCreated, run: personAdded},
		{method: "POST", path: "/v1/people/{name}/rotate", about: "Give a person a new credential", takes: "Nothing", gives: "Secret", run: renewed((*gate.Gate).RotatePerson)},
		{method: "DELETE", path: "/v1/people/{name}", about: "Remove a person", status: http.StatusNoContent, run: removed((*gate.Gate).RemovePerson)},
		{method: "GET", path: "/v1/agents", about: "Every agent that has a token", gives: "Agents", run: agents},
		{method: "POST", path: "/v1/agents", about: "Add an agent", takes: "NewAgent", gives: "Secret", status: http.StatusCreated, run: agentAdded},
		{method: "POST", path: "/v1/agents/{name}/rotate", about: "Give an agent a new token", takes: "Nothing", gives: "Secret", run: renewed(rotateAgent)},
		{method: "DELETE", path: "/v1/agents/{name}", about: "Remove an agent", status: http.StatusNoContent, run: removed(removeAgent)},
	}
}

func rotateAgent(g *gate.Gate, ctx context.Context, by gate.Person, name string) (string, error) {
	return g.RotateAgent(ctx, by, trade.Agent(name))
}

func removeAgent(g *gate.Gate, ctx context.Context, by gate.Person, name string) error {
	return g.RemoveAgent(ctx, by, trade.Agent(name))
}

func proposals(q *request) answer {
	ctx, cancel := q.attached()
	defer cancel()
	all, err := q.api.cfg.Gate.Proposals(ctx)
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	return ok(appendProposals(nil, all))
}

func brief(q *request) answer {
	ctx, cancel := q.attached()
	defer cancel()
	b, err := q.api.cfg.Gate.Brief(ctx, q.intent())
	if err != nil {
		if _, _, missing := q.api.cfg.Gate.History(ctx, q.intent()); errors.Is(missing, fs.ErrNotExist) {
			return (&problem{code: policy.ProposalUnknown, detail: "there is no proposal " + trade.Printable(q.param, 64)}).answer()
		}
		return q.failed(err, noDecision()).answer()
	}
	dst := b.Decision.AppendJSON(wire.AppendName([]byte{'{'}, "decision"))
	return ok(append(wire.AppendText(dst, "text", b.Text()), '}'))
}

// pressed is a person's answer to a proposal.
func pressed(press func(*gate.Gate, context.Context, gate.Press) (ledger.Decision, error)) func(*request) answer {
	return func(q *request) answer {
		f, p := q.fields("digest", "reason")
		if p != nil {
			return p.answer()
		}
		text, reason := f.need("digest"), f.text("reason")
		if p := f.problem(); p != nil {
			return p.answer()
		}
		ctx, cancel := q.detached()
		defer cancel()
		digest, p := q.digest(ctx, text)
		if p != nil {
			return p.answer()
		}
		d, err := press(q.api.cfg.Gate, ctx, gate.Press{By: q.human, Proposal: q.intent(), Digest: digest, Reason: reason})
		if err == nil {
			q.api.cfg.Metrics.decided(d)
		}
		return q.told(d, err)
	}
}

// shortDigest is how many characters of a digest a person writes at least: 32 bits, of the one proposal that is named.
//
//limit:rest-digest-prefix An approval or a no names at least the first 8 hexadecimal digits of the digest; they count for the named proposal only.
const shortDigest = 8

// digest completes the first digits of a digest from the proposal that the request names. Digits that are not that
// proposal's stay what they are, filled up with zeros: the gate then refuses and records the attempt.
func (q *request) digest(ctx context.Context, text string) (trade.Digest, *problem) {
	if d, whole := trade.ParseDigest(text); whole {
		return d, nil
	}
	full := text + strings.Repeat("0", max(0, 2*len(trade.Digest{})-len(text)))
	padded, isHex := trade.ParseDigest(full)
	if len(text) < shortDigest || !isHex {
		return trade.Digest{}, nil // no order has it: the gate refuses and records the attempt
	}
	all, err := q.api.cfg.Gate.Proposals(ctx)
	if err != nil {
		return trade.Digest{}, q.failed(err, noDecision())
	}
	for _, d := range all {
		if whole := d.Order.Digest(); d.Intent == q.intent() && strings.HasPrefix(hex.EncodeToString(whole[:]), text) {
			return whole, nil
		}
	}
	return padded, nil
}

func reset(q *request) answer {
	f, p := q.fields("scope", "reason")
	if p != nil {
		return p.answer()
	}
	scope, valid := f.scope()
	if f.need("scope"); !valid {
		f.faults = append(f.faults, scopeFault())
	}
	reason := f.text("reason")
	if p := f.problem(); p != nil {
		return p.answer()
	}
	ctx, cancel := q.detached()
	defer cancel()
	if err := q.api.cfg.Gate.Reset(ctx, q.human, scope, reason); err != nil {
		return q.failed(err, noDecision()).answer()
	}
	return stops(q)
}

func history(q *request) answer {
	ctx, cancel := q.attached()
	defer cancel()
	d, events, err := q.api.cfg.Gate.History(ctx, q.intent())
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	return ok(appendHistory(nil, d, events))
}

func cancelled(q *request) answer {
	if p := q.nothing(); p != nil {
		return p.answer()
	}
	ctx, cancel := q.detached()
	defer cancel()
	by := gate.Origin{Agent: trade.Agent(q.human.Name()), Surface: "person", Tool: "order_cancel"}
	res, err := q.api.cfg.Gate.Cancel(ctx, by, q.intent())
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	return ok(appendCancel(nil, res))
}

func reduced(q *request) answer {
	body, tooLarge, p := q.read()
	if p != nil {
		return p.answer()
	}
	e := q.openEnvelope(body, tooLarge, false)
	if len(e.faults) > 0 {
		return faulty(e.faults).answer()
	}
	ctx, cancel := q.detached()
	defer cancel()
	d, err := q.api.cfg.Gate.Reduce(ctx, q.human, e.order)
	if err == nil {
		q.api.cfg.Metrics.decided(d)
	}
	return q.told(d, err)
}

func reconciled(q *request) answer {
	if p := q.nothing(); p != nil {
		return p.answer()
	}
	ctx, cancel := q.detached()
	defer cancel()
	r, err := q.api.cfg.Gate.Reconcile(ctx)
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	q.api.cfg.Metrics.Reconciled(r)
	return ok(appendReconciliation(nil, r))
}

func whoAmI(q *request) answer {
	ctx, cancel := q.attached()
	defer cancel()
	all, err := q.api.cfg.Gate.People(ctx)
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	for _, p := range all {
		if p.Name == q.human.Name() {
			return ok(appendPerson(nil, p))
		}
	}
	return (&problem{code: policy.PersonUnknown, detail: "this person is not listed any more"}).answer()
}

func people(q *request) answer {
	ctx, cancel := q.attached()
	defer cancel()
	all, err := q.api.cfg.Gate.People(ctx)
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	return ok(append(appendList(wire.AppendName([]byte{'{'}, "people"), all, appendPerson), '}'))
}

func agents(q *request) answer {
	ctx, cancel := q.attached()
	defer cancel()
	all, err := q.api.cfg.Gate.Agents(ctx)
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	return ok(append(appendList(wire.AppendName([]byte{'{'}, "agents"), all, appendGrant), '}'))
}

func personAdded(q *request) answer {
	f, p := q.fields("name", "approver", "telegram_id")
	if p != nil {
		return p.answer()
	}
	terms := gate.PersonTerms{Name: f.need("name"), Approver: f.flag("approver")}
	if literal := f.number("telegram_id"); literal != "" {
		id, err := strconv.ParseInt(literal, 10, 64)
		if err != nil || id <= 0 {
			f.fault(trade.FieldTypeWrong, "telegram_id", "telegram_id is a positive whole number")
		}
		terms.Telegram = id
	}
	if p := f.problem(); p != nil {
		return p.answer()
	}
	ctx, cancel := q.detached()
	defer cancel()
	secret, err := q.api.cfg.Gate.AddPerson(ctx, q.human, terms)
	return q.shown(terms.Name, secret, http.StatusCreated, err)
}

func agentAdded(q *request) answer {
	f, p := q.fields("name", "tier")
	if p != nil {
		return p.answer()
	}
	name := f.need("name")
	tier, valid := trade.ParseTier(f.number("tier"))
	if !valid {
		f.fault(trade.FieldTypeWrong, "tier", "tier is 0, 1 or 2")
	}
	if p := f.problem(); p != nil {
		return p.answer()
	}
	ctx, cancel := q.detached()
	defer cancel()
	secret, err := q.api.cfg.Gate.AddAgent(ctx, q.human, trade.Agent(name), tier)
	return q.shown(name, secret, http.StatusCreated, err)
}

// shown answers with a secret, once: nothing else of ours ever says it again.
func (q *request) shown(name, secret string, status int, err error) answer {
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	dst := wire.AppendText([]byte{'{'}, "name", name)
	return answer{status: status, body: append(wire.AppendText(dst, "secret", secret), '}')}
}

func renewed(rotate func(*gate.Gate, context.Context, gate.Person, string) (string, error)) func(*request) answer {
	return func(q *request) answer {
		if p := q.nothing(); p != nil {
			return p.answer()
		}
		ctx, cancel := q.detached()
		defer cancel()
		secret, err := rotate(q.api.cfg.Gate, ctx, q.human, q.param)
		return q.shown(q.param, secret, http.StatusOK, err)
	}
}

func removed(remove func(*gate.Gate, context.Context, gate.Person, string) error) func(*request) answer {
	return func(q *request) answer {
		ctx, cancel := q.detached()
		defer cancel()
		if err := remove(q.api.cfg.Gate, ctx, q.human, q.param); err != nil {
			return q.failed(err, noDecision()).answer()
		}
		return answer{status: http.StatusNoContent}
	}
}
