package mcp

import (
	"context"
	"errors"
	"strconv"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// executeWait is how long trade_execute waits for people and for the outcome, below what harnesses wait for a tool.
//
//limit:mcp-execute-wait trade_execute starts nothing and waits at most 25 seconds; no argument changes that.
const executeWait = 25 * time.Second

// unfit reports whether a call is to be answered with what is wrong with its arguments. A caller whose tier is too low is
// told that by the gate, which records it, and nothing else.
func (t *Tools) unfit(row trade.Tier, a *arguments) bool {
	return len(a.reasons) > 0 && t.cfg.Tier >= row
}

// proposalTool shows one proposal of the agent.
func (t *Tools) proposalTool() Tool {
	return Tool{
		Name: "proposal_get", Title: "Show a proposal", Description: proposalDescription,
		Input: inputSchema(`"proposal_id"`, idProperty("proposal_id")), Output: []byte(proposalSchema), ReadOnly: true, stoppable: true,
		run: func(ctx context.Context, c call) Result {
			a := c.read("proposal_id")
			id := a.intent("proposal_id")
			if len(a.reasons) > 0 {
				return refused(a.reasons...)
			}
			d, err := t.cfg.Gate.Proposal(ctx, c.origin.Agent, id)
			if err != nil {
				return t.failed("proposal_get", err)
			}
			return shown(d)
		},
	}
}

// executeTool waits for the outcome of the agent's own proposal.
func (t *Tools) executeTool() Tool {
	return Tool{
		Name: "trade_execute", Title: "Wait for a proposal's execution", Description: executeDescription, Tier: trade.TierExecute,
		Input: inputSchema(`"proposal_id"`, idProperty("proposal_id")), Output: []byte(proposalSchema), ReadOnly: true, stoppable: true,
		run: func(ctx context.Context, c call) Result {
			a := c.read("proposal_id")
			id := a.intent("proposal_id")
			if t.unfit(trade.TierExecute, a) {
				return refused(a.reasons...)
			}
			d, err := t.cfg.Gate.Await(ctx, c.origin, t.cfg.Tier, id, executeWait)
			if err != nil {
				return t.failed("trade_execute", err)
			}
			return decided(d)
		},
	}
}

// withdrawTool ends the agent's own proposal.
func (t *Tools) withdrawTool() Tool {
	return Tool{
		Name: "proposal_withdraw", Title: "Withdraw a proposal", Description: withdrawDescription, Tier: trade.TierPropose,
		Input:  inputSchema(`"proposal_id"`, idProperty("proposal_id"), reasonProperty),
		Output: []byte(proposalSchema), Idempotent: true,
		run: func(ctx context.Context, c call) Result {
			a := c.read("proposal_id", "reason")
			id := a.intent("proposal_id")
			reason, _ := a.text("reason")
			if t.unfit(trade.TierPropose, a) {
				return refused(a.reasons...)
			}
			d, err := t.cfg.Gate.Withdraw(ctx, c.origin, t.cfg.Tier, id, reason)
			if err != nil {
				return t.failed("proposal_withdraw", err)
			}
			return shown(d)
		},
	}
}

// cancelTool asks the broker to cancel the agent's own order.
func (t *Tools) cancelTool() Tool {
	return Tool{
		Name: "order_cancel", Title: "Cancel an order", Description: cancelDescription, Tier: trade.TierPropose,
		Input: inputSchema(`"intent_id"`, idProperty("intent_id")), Output: []byte(cancelSchema), Destructive: true, Idempotent: true,
		run: func(ctx context.Context, c call) Result {
			a := c.read("intent_id")
			id := a.intent("intent_id")
			if t.unfit(trade.TierPropose, a) {
				return refused(a.reasons...)
			}
			res, err := t.cfg.Gate.CancelOwn(ctx, c.origin, t.cfg.Tier, id)
			if err != nil {
				return t.failed("order_cancel", err)
			}
			dst := wire.AppendText([]byte{'{'}, "intent_id", string(res.Intent))
			dst = wire.AppendText(dst, "outcome", res.Outcome.String())
			dst = wire.AppendOptional(dst, "message", trade.Printable(res.Message, 200))
			return plain(appendRefusal(dst, nil), res.Outcome != trade.Accepted)
		},
	}
}

// killTool engages the kill switch. Nothing here can reset it. It is not called destructive: it only takes risk away, and a
// harness asks a person before a destructive call, or refuses it where nobody can be asked, which a stop must not wait for.
func (t *Tools) killTool() Tool {
	return Tool{
		Name: "kill_switch_engage", Title: "Stop trading", Description: killDescription, Tier: trade.TierPropose,
		Input: inputSchema("", `"scope":{"type":"string","description":"everything (the default), account:NAME, agent:NAME or symbol:NAME"}`,
			reasonProperty),
		Output: []byte(killSchema), Idempotent: true,
		run: func(ctx context.Context, c call) Result {
			a := c.read("scope", "reason")
			scope := a.scope("scope")
			reason, _ := a.text("reason")
			if t.unfit(trade.TierPropose, a) {
				return refused(a.reasons...)
			}
			return t.kill(ctx, gate.StopRequest{Scope: scope, Reason: reason, Agent: c.origin.Agent, Tier: t.cfg.Tier})
		},
	}
}

func (t *Tools) kill(ctx context.Context, r gate.StopRequest) Result {
	report, err := t.cfg.Gate.Kill(ctx, r)
	if err != nil {
		var told *gate.Refusal
		var silent unanswered
		if !errors.As(err, &told) && !errors.As(err, &silent) {
			t.cfg.Log.Error("the kill switch cannot be engaged", "error", err)
			err = &gate.Refusal{
				Code: policy.JournalUnavailable, Message: "the kill switch could not be engaged for every process; tell the operator at once, and try again",
			}
		}
		return t.failed("kill_switch_engage", err)
	}
	dst := ledger.AppendStops(wire.AppendName([]byte{'{'}, "stops"), []ledger.Stop{report.Stop})
	dst = append(wire.AppendName(dst, "repeated"), strconv.FormatBool(report.Repeated)...)
	dst = append(wire.AppendName(dst, "recorded"), strconv.FormatBool(report.Recorded)...)
	var own []gate.StopOrder
	others := map[gate.StopState]int{}
	for _, o := range report.Orders {
		if o.Agent == r.Agent {
			own = append(own, o)
		} else {
			others[o.State]++
		}
	}
	dst = appendEach(dst, "orders", own, appendStopOrder)
	dst = append(wire.AppendName(dst, "others"), '{')
	for _, s := range [...]gate.StopState{gate.StopGone, gate.StopStillThere, gate.StopUnknown, gate.StopPending, gate.StopKept} {
		if n := others[s]; n > 0 {
			dst = strconv.AppendInt(wire.AppendName(dst, string(s)), int64(n), 10)
		}
	}
	return plain(appendRefusal(append(dst, '}'), nil), false)
}

func appendStopOrder(dst []byte, o gate.StopOrder) []byte {
	dst = wire.AppendText(append(dst, '{'), "intent_id", string(o.Intent))
	dst = o.Order.AppendJSON(wire.AppendName(dst, "order"))
	dst = wire.AppendText(dst, "state", string(o.State))
	return append(wire.AppendOptional(dst, "message", trade.Printable(o.Message, 200)), '}')
}
