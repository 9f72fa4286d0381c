package gate

import (
	"context"

	"sallyport/ledger"
)

// Figures says how many intents are open, for whoever watches the gate from outside. Reading them asks no broker and
// records nothing.
type Figures struct {
	Sending int // permitted, or on their way
	Working int // at the broker
	Unknown int // whose outcome nobody knows
}

// Figures counts the open intents.
func (g *Gate) Figures(ctx context.Context) (Figures, error) {
	var f Figures
	err := g.journal.Read(ctx, func() error {
		for _, o := range g.follow.state.Opens() {
			switch {
			case !sent(o): // it waits for people
			case g.standing(o) == unknownStanding:
				f.Unknown++
			case o.Phase == ledger.Working:
				f.Working++
			default:
				f.Sending++
			}
		}
		return nil
	})
	return f, err
}

// unknownStanding is how an order is shown whose outcome nobody knows.
const unknownStanding = "unknown"

// standing says where an open intent stands: its phase, or that its outcome is not known.
func (g *Gate) standing(o *ledger.Open) string {
	switch o.Phase {
	case ledger.OnHold, ledger.Granted, ledger.Working:
		return o.Phase.String()
	}
	ended := o.Pending.Instance != "" && !g.lease.alive(o.Pending.Instance)
	if o.Unknown || ended || !g.cfg.Now().Before(o.Pending.Deadline) {
		return unknownStanding
	}
	return o.Phase.String()
}
