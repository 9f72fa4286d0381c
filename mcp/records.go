package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// How many decisions trade_audit and journal_query show.
//
//limit:mcp-audit-rows trade_audit and journal_query show at most 200 decisions, and 20 unless asked.
const (
	maxAudit     = 200
	defaultAudit = 20
)

// policyTool shows the policy in force.
func (t *Tools) policyTool() Tool {
	return Tool{
		Name: "trade_policy_get", Title: "Show the policy", Description: policyDescription,
		Input: inputSchema(""), Output: []byte(policySchema), ReadOnly: true, Idempotent: true, stoppable: true,
		run: func(_ context.Context, c call) Result {
			if a := c.read(); len(a.reasons) > 0 {
				return refused(a.reasons...)
			}
			view := t.cfg.Gate.Policy()
			if r := view.Reason; r != nil && noAnswer[r.Code] != "" {
				return t.failed("trade_policy_get", &gate.Refusal{Code: r.Code, Message: r.Message})
			}
			return plain(shownPolicy(view), false)
		},
	}
}

// shownPolicy shows what would judge a call made now. That there is no valid policy is an answer and no error.
func shownPolicy(view gate.PolicyView) []byte {
	dst := append(wire.AppendName([]byte{'{'}, "valid"), strconv.FormatBool(view.Reason == nil)...)
	dst = wire.AppendName(dst, "policy_sha256")
	if view.SHA256 == "" {
		dst = append(dst, "null"...)
	} else {
		dst = wire.AppendString(dst, view.SHA256)
	}
	dst = wire.AppendName(dst, "policy")
	var policyJSON bytes.Buffer
	if view.Reason == nil && json.Compact(&policyJSON, policy.Plain(view.Raw)) == nil {
		dst = append(dst, policyJSON.Bytes()...)
	} else {
		dst = append(dst, "null"...)
	}
	var reasons []policy.Reason
	if view.Reason != nil {
		reasons = []policy.Reason{*view.Reason}
	}
	return appendRefusal(dst, reasons)
}

// auditTool shows the agent's newest decisions.
func (t *Tools) auditTool() Tool {
	return Tool{
		Name: "trade_audit", Title: "Show decisions", Description: auditDescription,
		Input: inputSchema("", limitProperty), Output: []byte(recordsSchema), ReadOnly: true, Idempotent: true,
		run: func(ctx context.Context, c call) Result {
			a := c.read("limit")
			q := gate.Query{Agent: c.origin.Agent, Limit: a.rows("limit")}
			if len(a.reasons) > 0 {
				return refused(a.reasons...)
			}
			return t.records(ctx, "trade_audit", q)
		},
	}
}

// queryTool looks up the agent's decisions.
//
//limit:mcp-own-records An agent is shown its own decisions only: AGENT_NOT_YOURS.
func (t *Tools) queryTool() Tool {
	return Tool{
		Name: "journal_query", Title: "Look up decisions", Description: queryDescription,
		Input: inputSchema("", symbolProperty, `"agent":{"type":"string","description":"your own name; another agent's is refused"}`,
			`"state":{"enum":[`+stateNames()+`],"description":"where the order stands now"}`,
			timeProperty("from", "decided at this time or later"), timeProperty("to", "decided before this time"), limitProperty),
		Output: []byte(recordsSchema), ReadOnly: true, Idempotent: true,
		run: func(ctx context.Context, c call) Result {
			a := c.read("symbol", "agent", "state", "from", "to", "limit")
			q := gate.Query{
				Agent: c.origin.Agent, Symbol: a.symbol("symbol"), State: a.state("state"), From: a.time("from"), To: a.time("to"),
				Limit: a.rows("limit"),
			}
			if name, there := a.text("agent"); there && trade.Agent(name) != c.origin.Agent {
				a.wrong(policy.Reason{
					Code: agentNotYours, Field: "agent", Limit: string(c.origin.Agent), Observed: trade.Printable(name, 64),
					Message: "an agent is shown its own records only; yours are those of " + string(c.origin.Agent),
				})
			}
			if len(a.reasons) > 0 {
				return refused(a.reasons...)
			}
			return t.records(ctx, "journal_query", q)
		},
	}
}

func (t *Tools) records(ctx context.Context, tool string, q gate.Query) Result {
	found, err := t.cfg.Gate.Query(ctx, q)
	if err != nil {
		return t.failed(tool, err)
	}
	shown := found.Decisions[:min(q.Limit, len(found.Decisions))]
	dst := appendEach([]byte{'{'}, "decisions", shown, func(dst []byte, d ledger.Decision) []byte { return d.AppendJSON(dst) })
	dst = append(wire.AppendName(dst, "more"), strconv.FormatBool(found.More || len(shown) < len(found.Decisions))...)
	return plain(appendRefusal(dst, nil), false)
}
