package rest

import (
	"context"
	"net/http"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
	"sallyport/wire"
)

// agentRoutes is the table of the agents' paths. What a tier forbids, the gate refuses and records.
func agentRoutes() []route {
	return append([]route{
		{method: "POST", path: "/v1/intents", tier: trade.TierExecute, about: "Have an order executed", takes: "Order", gives: "Decision", run: judged((*gate.Gate).Execute, false)},
		{method: "POST", path: "/v1/proposals", tier: trade.TierPropose, about: "Propose an order to people", takes: "Order", gives: "Decision", run: judged((*gate.Gate).Propose, false)},
		{method: "POST", path: "/v1/permissions", tier: trade.TierExecute, about: "Ask whether somebody else may make a call", takes: "Order", gives: "Decision", run: judged((*gate.Gate).Authorize, true)},
		{method: "POST", path: "/v1/checks", about: "Judge an order without recording anything", takes: "Order", gives: "Decision", run: judged((*gate.Gate).Check, false)},
		{method: "POST", path: "/v1/reports", about: "Report what became of a permitted call", takes: "Report", gives: "Reported", run: reported},
		{method: "GET", path: "/v1/proposals/{id}", about: "Look at an own proposal", gives: "Decision", run: ownProposal},
		{method: "POST", path: "/v1/proposals/{id}/withdraw", ends: true, tier: trade.TierPropose, about: "Withdraw an own proposal", takes: "Reason", gives: "Decision", run: withdrawn},
		{method: "POST", path: "/v1/proposals/{id}/await", tier: trade.TierExecute, about: "Wait for the outcome of an own proposal", takes: "Wait", gives: "Decision", run: awaited},
		{method: "GET", path: "/v1/orders", about: "The agent's own open orders", gives: "Orders", run: orders},
		{method: "POST", path: "/v1/orders/{id}/cancel", ends: true, tier: trade.TierPropose, about: "Cancel an own order", takes: "Nothing", gives: "Cancelled", run: cancelledOwn},
		{method: "GET", path: "/v1/audit", query: []string{"symbol", "state", "from", "to", "limit"}, about: "The agent's own intents, newest first", gives: "Decisions", run: audit},
		{method: "GET", path: "/v1/audit/{id}", about: "One of the agent's own intents", gives: "Decision", run: ownIntent},
		{method: "GET", path: "/v1/quotes/{symbol}", about: "What the market shows of a symbol", gives: "Quote", run: quote},
		{method: "POST", path: "/v1/kill", ends: true, tier: trade.TierPropose, about: "Engage the kill switch", takes: "Stop", gives: "Stopped", run: killed},
		{method: "GET", path: "/v1/whoami", about: "Who the caller is, and of which tier", gives: "Agent", run: whoami},
	}, commonRoutes()...)
}

// commonRoutes are what both halves can look at; each shows an agent only what concerns it.
func commonRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/kill", about: "The kill switches that are engaged", gives: "Stops", run: stops},
		{method: "GET", path: "/v1/portfolio", about: "What the account holds, owes and may still do", gives: "Portfolio", run: portfolio},
		{method: "GET", path: "/v1/policy", about: "The policy in force", gives: "Policy", run: policyInForce},
		{method: "GET", path: "/v1/openapi.json", about: "This document", gives: "Document", run: document},
	}
}

func document(q *request) answer { return ok(q.api.document()) }

// judged answers a call of an order with the gate's decision, whatever its verdict.
//
//limit:rest-one-decision Whatever an authenticated caller within its rate posts as an order gets exactly one decision, also when it is no order.
func judged(decide func(*gate.Gate, context.Context, gate.Call) ledger.Decision, permits bool) func(*request) answer {
	return func(q *request) answer {
		body, tooLarge, p := q.read()
		if p != nil {
			return p.answer()
		}
		ctx, cancel := q.detached()
		defer cancel()
		d := decide(q.api.cfg.Gate, ctx, q.openEnvelope(body, tooLarge, permits).call(q.tier))
		q.api.cfg.Metrics.decided(d)
		ans := ok(d.AppendJSON(make([]byte, 0, 1024)))
		ans.retry = d.RetryAfter
		return ans
	}
}

func reported(q *request) answer {
	body, tooLarge, p := q.read()
	if p != nil {
		return p.answer()
	}
	e := q.openEnvelope(body, tooLarge, true, "outcome", "status", "message")
	if e.broken || e.dialect == nil { // nobody can tell what ran
		return faulty(e.faults).answer()
	}
	ctx, cancel := q.detached()
	defer cancel()
	d, found, err := q.api.cfg.Gate.Report(ctx, gate.Report{
		Origin: e.origin, Tier: q.tier, Dialect: e.dialect.Name, Account: e.account, Order: e.order, Faults: e.faults, Raw: e.raw, Outcome: e.outcome,
		Status: e.status, Message: e.message,
	})
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	dst := appendBool(wire.AppendName([]byte{'{'}, "found"), found)
	if dst = wire.AppendName(dst, "decision"); found {
		return ok(append(d.AppendJSON(dst), '}'))
	}
	return ok(append(dst, "null}"...))
}

func (q *request) intent() trade.IntentID { return trade.IntentID(q.param) }

func (q *request) origin(tool string) gate.Origin {
	return gate.Origin{Agent: q.agent, Surface: surfaceName, Tool: tool}
}

// told answers with a decision, or with why there is none.
func (q *request) told(d ledger.Decision, err error) answer {
	if err != nil {
		return q.failed(err, d).answer()
	}
	return ok(d.AppendJSON(make([]byte, 0, 1024)))
}

func noDecision() ledger.Decision { return ledger.Decision{} }

func ownProposal(q *request) answer {
	ctx, cancel := q.attached()
	defer cancel()
	return q.told(q.api.cfg.Gate.Proposal(ctx, q.agent, q.intent()))
}

func withdrawn(q *request) answer {
	f, p := q.fields("reason")
	if p != nil {
		return p.answer()
	}
	reason := f.text("reason")
	if p := f.problem(); p != nil {
		return p.answer()
	}
	ctx, cancel := q.detached()
	defer cancel()
	return q.told(q.api.cfg.Gate.Withdraw(ctx, q.origin("proposal_withdraw"), q.tier, q.intent(), reason))
}

//limit:rest-await A call waits at most 60 seconds for the outcome of a proposal, and no longer than the server runs.
const maxAwait = time.Minute

func awaited(q *request) answer {
	f, p := q.fields("wait")
	if p != nil {
		return p.answer()
	}
	wait := f.duration("wait", maxAwait)
	if p := f.problem(); p != nil {
		return p.answer()
	}
	ctx, cancel := q.attached()
	defer cancel()
	go func() {
		select {
		case <-q.door.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	d, err := q.api.cfg.Gate.Await(ctx, q.origin("trade_execute"), q.tier, q.intent(), wait)
	if err != nil && ctx.Err() != nil && q.http.Context().Err() == nil { // the server stops: it says how the proposal stands
		again, done := q.detached()
		defer done()
		d, err = q.api.cfg.Gate.Proposal(again, q.agent, q.intent())
	}
	return q.told(d, err)
}

func cancelledOwn(q *request) answer {
	if p := q.nothing(); p != nil {
		return p.answer()
	}
	ctx, cancel := q.detached()
	defer cancel()
	res, err := q.api.cfg.Gate.CancelOwn(ctx, q.origin("order_cancel"), q.tier, q.intent())
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	return ok(appendCancel(nil, res))
}

// nothing makes sure that a body that says nothing says nothing.
func (q *request) nothing() *problem {
	f, p := q.fields()
	if p == nil {
		p = f.problem()
	}
	return p
}

// ownIntent shows an agent one of its own intents.
//
//limit:rest-own-only An agent sees its own intents and orders only; another's is answered as one that does not exist.
func ownIntent(q *request) answer {
	ctx, cancel := q.attached()
	defer cancel()
	d, _, err := q.api.cfg.Gate.History(ctx, q.intent())
	if err == nil && d.Agent != q.agent {
		return (&problem{code: IntentUnknown, detail: "there is no such intent"}).answer()
	}
	return q.told(d, err)
}

func quote(q *request) answer {
	symbol, valid := trade.ParseSymbol(q.param)
	if !valid {
		return (&problem{code: QuoteUnavailable, detail: "not a symbol"}).answer()
	}
	ctx, cancel := q.attached()
	defer cancel()
	x, found, err := q.api.cfg.Gate.Quote(ctx, symbol)
	if err != nil || !found {
		return (&problem{code: QuoteUnavailable, detail: "the market shows nothing of " + symbol.String()}).answer()
	}
	return ok(appendQuote(nil, x))
}

func killed(q *request) answer {
	names := []string{"scope", "reason", "keep"}
	if q.agent == "" { // an agent ends no exits
		names = append(names, "all")
	}
	f, p := q.fields(names...)
	if p != nil {
		return p.answer()
	}
	scope, valid := f.scope()
	r := gate.StopRequest{Scope: scope, Reason: f.text("reason"), Keep: f.flag("keep"), All: f.flag("all"), Person: q.human, Agent: q.agent, Tier: q.tier}
	if !valid {
		f.faults = append(f.faults, scopeFault())
	}
	if p := f.problem(); p != nil {
		return p.answer()
	}
	ctx, cancel := q.detached()
	defer cancel()
	rep, err := q.api.cfg.Gate.Kill(ctx, r)
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	if q.agent != "" {
		rep.StopFile = "" // where the data directory is, is not its to know
	}
	return ok(appendStopReport(nil, rep))
}

func whoami(q *request) answer {
	dst := wire.AppendText([]byte{'{'}, "agent", string(q.agent))
	return answer{status: http.StatusOK, body: append(append(wire.AppendName(dst, "tier"), q.tier.String()...), '}')}
}
