package hook

import (
	"context"
	"fmt"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

func (r *run) origin(h harness, ev *event, g ruled) gate.Origin {
	return gate.Origin{
		Agent: r.cfg.Agent, Surface: "hook", Harness: h.name, Session: trade.Session(ev.session),
		Tool: g.tool, ToolCallID: trade.ToolCallID(ev.call),
	}
}

// parse reads the arguments in the guard's dialect. A tool that no dialect reads is a fault, so that its call is
// recorded like any other that is no order.
//
//limit:hook-tool-unknown A tool under a guard that no dialect reads is denied TOOL_UNKNOWN.
func (g ruled) parse(ev *event) (trade.Account, trade.Order, trade.Tags, []trade.Fault) {
	if g.dialect == nil {
		name := trade.Printable(ev.tool, 64)
		return g.account, trade.Order{}, trade.Tags{}, []trade.Fault{{
			Code: trade.ToolUnknown, Observed: name,
			Message: fmt.Sprintf("the tool %q is under a guard and no dialect reads its orders", name),
		}}
	}
	account := g.account
	if account == "" {
		account = g.dialect.Account
	}
	o, tags, faults := g.dialect.Parse(account, ev.args)
	return account, o, tags, faults
}

// authorize decides a call that is about to be made.
//
//limit:hook-explicit-allow An allow is printed only for an order whose decision is Allow, stands at EXECUTION_ALLOWED and names the same order.
func (r *run) authorize(ctx context.Context, g Gate, h harness, ev *event, by ruled) answer {
	account, order, tags, faults := by.parse(ev)
	d := g.Authorize(ctx, gate.Call{
		Origin: r.origin(h, ev, by), Tier: r.cfg.Tier, Dialect: by.dialectName(), Account: account, Order: order, Tags: tags,
		Faults: faults, Raw: ev.args, Asked: ev.kind == asked,
	})
	granted := d.Verdict == policy.Allow && d.State == ledger.Allowed && d.Error == "" &&
		!order.IsZero() && len(faults) == 0 && !d.Order.IsZero() && d.Order.Digest() == order.Digest()
	if !granted {
		return deny(ev, reasonOf(d))
	}
	return allow(h, ev, d)
}

// report tells the gate what became of a call that somebody else made.
func (r *run) report(ctx context.Context, g Gate, h harness, ev *event, by ruled) answer {
	account, order, _, faults := by.parse(ev)
	a := outcomeOf(by.dialect, ev)
	d, found, err := g.Report(ctx, gate.Report{
		Tier:   r.cfg.Tier,
		Origin: r.origin(h, ev, by), Dialect: by.dialectName(), Account: account, Order: order, Faults: faults, Raw: ev.args,
		Outcome: a.Outcome, Status: a.Status, Message: a.Message,
	})
	switch {
	case err != nil:
		return answer{stderr: "the outcome was not recorded: " + trade.Printable(err.Error(), maxReason)}
	case !found && ev.status != blocked:
		return answer{stderr: "this call had no permission; see sallyport audit list"}
	case len(d.Flags) > 0:
		return answer{stderr: fmt.Sprintf("flagged %v: intent %s", d.Flags, d.Intent)}
	}
	return answer{}
}
