package gate

import (
	"context"
	"errors"

	"sallyport/trade"
)

// RefuseAttempt records what somebody tried through a surface, which refused it before it could reach the gate: a button
// that is stale or forged, a chat that is not listed. It changes nothing else. A surface bounds how many it records.
func (g *Gate) RefuseAttempt(ctx context.Context, action, by, channel string, id trade.IntentID, code trade.Code, message string) error {
	r := refusal(code, "%s", trade.Printable(message, 200))
	err := g.refuseNow(ctx, attempt{intent: knownID(id), action: trade.Printable(action, 64), by: by, channel: channel}, r)
	if errors.Is(err, error(r)) && err == error(r) {
		return nil
	}
	return err
}
