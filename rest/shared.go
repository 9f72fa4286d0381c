package rest

import (
	"slices"
	"strconv"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

func scopeFault() trade.Fault {
	return trade.Fault{Code: policy.ScopeUnknown, Field: "scope", Message: "scope is everything, account:NAME, agent:NAME or symbol:NAME"}
}

func stops(q *request) answer {
	ctx, cancel := q.attached()
	defer cancel()
	all, err := q.api.cfg.Gate.Stops(ctx)
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	all = slices.DeleteFunc(all, func(s ledger.Stop) bool {
		return q.agent != "" && s.Scope.Kind == ledger.OneAgent && !s.Scope.OfAgent(q.agent)
	})
	return ok(appendStops(nil, all))
}

func portfolio(q *request) answer {
	ctx, cancel := q.attached()
	defer cancel()
	p, err := q.api.cfg.Gate.Portfolio(ctx, q.agent)
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	return ok(appendPortfolio(nil, p))
}

func orders(q *request) answer {
	ctx, cancel := q.attached()
	defer cancel()
	all, err := q.api.cfg.Gate.Orders(ctx)
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	all = slices.DeleteFunc(all, func(o gate.WorkingOrder) bool { return q.agent != "" && o.Agent != q.agent })
	return ok(appendOrders(nil, all))
}

func policyInForce(q *request) answer { return ok(appendPolicy(nil, q.api.cfg.Gate.Policy())) }

func audit(q *request) answer {
	ask, p := q.auditQuery()
	if p != nil {
		return p.answer()
	}
	ctx, cancel := q.attached()
	defer cancel()
	found, err := q.api.cfg.Gate.Query(ctx, ask)
	if err != nil {
		return q.failed(err, noDecision()).answer()
	}
	return ok(appendFound(nil, found))
}

// auditQuery reads the query. An agent asks for its own intents, whatever it writes.
func (q *request) auditQuery() (gate.Query, *problem) {
	ask := gate.Query{Agent: q.agent, State: ledger.AuditState(q.query.Get("state"))}
	bad := func(name string) *problem {
		return &problem{code: QueryMalformed, detail: name + " cannot be read; see /v1/openapi.json"}
	}
	if q.agent == "" {
		ask.Agent = trade.Agent(q.query.Get("agent"))
	}
	if ask.State != "" && !slices.Contains(ledger.AuditStates(), ask.State) {
		return ask, bad("state")
	}
	if text := q.query.Get("symbol"); text != "" {
		symbol, valid := trade.ParseSymbol(text)
		if !valid {
			return ask, bad("symbol")
		}
		ask.Symbol = symbol
	}
	for name, t := range map[string]*time.Time{"from": &ask.From, "to": &ask.To} {
		if text := q.query.Get(name); text != "" {
			at, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				return ask, bad(name)
			}
			*t = at
		}
	}
	if text := q.query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > gate.MaxAudit {
			return ask, bad("limit")
		}
		ask.Limit = n
	}
	return ask, nil
}
