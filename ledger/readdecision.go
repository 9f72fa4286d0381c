package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// ReadDecision reads what Decision.AppendJSON wrote, for a client of a gate in another process. What is not shown does not
// come back: account and clearance are empty. Members that this program does not know are passed over.
func ReadDecision(raw []byte) (Decision, error) {
	v, err := wire.Read(raw, wire.Limits{Bytes: maxEvent, Depth: maxNesting})
	if err != nil {
		return Decision{}, fmt.Errorf("ledger: the decision is not JSON: %w", err)
	}
	return DecisionOf(v)
}

// DecisionOf reads the same from a value.
func DecisionOf(v wire.Value) (Decision, error) {
	o := object{v: v}
	effect, ok := policy.ParseEffect(o.text("verdict"))
	state := AuditState(o.text("state"))
	if !ok || !slices.Contains(AuditStates(), state) {
		o.fail(errors.New("verdict or state is not one"))
	}
	d := Decision{
		Verdict: effect, State: state, Intent: trade.IntentID(o.nullable("intent_id")),
		ToolCallID: trade.ToolCallID(o.nullable("tool_call_id")), ClientOrderID: trade.ClientOrderID(o.nullable("client_order_id")),
		Agent: trade.Agent(o.text("agent")), Surface: o.text("surface"), Tool: o.optional("tool"), Reasons: o.reasons("reasons"),
		PolicySHA256: o.nullable("policy_sha256"), At: o.time("at"),
		Status: o.optional("status"), OrderID: o.optional("order_id"), Message: o.optional("message"),
		RejectionCode: o.optional("rejection_code"),
		Repeated:      o.flag("repeated"), Error: o.optional("error"), AgentReason: o.optional("agent_reason"), Flags: o.texts("flags"),
		Ended: o.optional("ended"), OutcomeBy: Source(o.optional("outcome_by")), ResolvedBy: o.optional("resolved_by"),
	}
	if order, _ := o.v.Member("order"); order.Kind == wire.Object {
		d.Order = o.order()
	}
	d.Filled, d.FillPrice = o.optionalDecimal("filled_quantity"), o.optionalDecimal("fill_price")
	d.Spent, d.Exited = o.optionalDecimal("spent"), o.optionalDecimal("exit_filled_quantity")
	d.ExitPrice, d.ExitsEnded = o.optionalDecimal("exit_fill_price"), o.optional("exits_ended")
	if text := o.optional("max_quantity_now"); text != "" {
		q := o.parseDecimal("max_quantity_now", text)
		d.MaxQuantityNow = &q
	}
	if text := o.optional("retry_after"); text != "" {
		wait, err := time.ParseDuration(text)
		if err != nil {
			o.fail(err)
		}
		d.RetryAfter = wait
	}
	o.control(&d)
	if o.err != nil {
		return Decision{}, fmt.Errorf("ledger: decision: %w", o.err)
	}
	return d, nil
}

// control reads what concerns tiers, stops and approvals.
func (o *object) control(d *Decision) {
	if _, n := o.v.Member("required_tier"); n > 0 {
		required, ok1 := trade.ParseTier(strconv.FormatUint(o.number("required_tier"), 10))
		current, ok2 := trade.ParseTier(strconv.FormatUint(o.number("current_tier"), 10))
		if !ok1 || !ok2 {
			o.fail(errors.New("a tier is not one"))
		}
		d.Tier = &TierGap{required, current}
	}
	o.each("stops", func(x *object) {
		scope, ok := ParseScope(x.text("scope"))
		if !ok {
			x.fail(errors.New("scope is not one"))
		}
		d.Stops = append(d.Stops, Stop{Scope: scope, By: x.text("by"), Reason: x.text("reason"), Since: x.time("since"), Keep: x.flag("keep"), All: x.flag("all")})
	})
	if o.optional("proposal_id") == "" {
		return
	}
	d.Hold = Hold{Expires: o.time("expires_at"), Approvers: int(o.number("approvals_required"))}
	d.ApprovedBy, d.EndedBy = o.texts("approved_by"), o.optional("ended_by")
}

// nullable reads a text that may be null.
func (o *object) nullable(name string) string {
	if m, n := o.v.Member(name); n == 1 && m.Kind == wire.Null {
		return ""
	}
	return o.text(name)
}

func (o *object) optionalDecimal(name string) trade.Decimal {
	text := o.optional(name)
	if text == "" {
		return trade.Decimal{}
	}
	return o.parseDecimal(name, text)
}
