package gate

import (
	"context"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// tierRefusal records and returns that a caller's tier is too low for what it wants.
func (g *Gate) tierRefusal(ctx context.Context, who trade.Agent, current, required trade.Tier, action string) error {
	return g.refuseNow(ctx, attempt{action: action, by: agentBy + string(who)}, tierTooLow(current, required, action))
}

func tierTooLow(current, required trade.Tier, action string) *Refusal {
	r := refusal(policy.TierTooLow, "%s needs tier %s, and this caller has tier %s; the operator decides it", action, required, current)
	r.Tier = &ledger.TierGap{Required: required, Current: current}
	return r
}

// RefuseAttempt records what somebody tried through a surface, which refused it before it could reach the gate: a button
// that is stale or forged, a chat that is not listed. It changes nothing else. A surface bounds how many it records.
func (g *Gate) RefuseAttempt(ctx context.Context, action, by, channel string, id trade.IntentID, code trade.Code, message string) error {
	r := refusal(code, "%s", trade.Printable(message, 200))
	err := g.refuseNow(ctx, attempt{intent: knownID(id), action: trade.Printable(action, 64), by: by, channel: channel}, r)
	if err == error(r) {
		return nil
	}
	return err
}
