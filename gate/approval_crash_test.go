package gate_test

import (
	"context"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// TestCrashAtEveryStepOfAnApproval ends the process at each step between a person's press and the outcome, opens the
// directory again, in time and too late, and makes sure that the order reached the broker at most once and that its end is
// known.
//
//fault:f56
func TestCrashAtEveryStepOfAnApproval(t *testing.T) {
	for step, want := range map[string]struct {
		sent          int
		soon, tooLate ledger.AuditState
	}{
		"approved":    {0, ledger.Succeeded, ledger.ApprovalExpired}, // nothing is cleared yet, so it may be carried out in time
		"before send": {0, ledger.Failed, ledger.Failed},             // it was cleared and never arrived, which the broker says
		"sent":        {1, ledger.Succeeded, ledger.Succeeded},
		"concluded":   {1, ledger.Succeeded, ledger.Succeeded},
	} {
		for when, pass := range map[string]time.Duration{"soon": time.Second, "too late": time.Minute} {
			t.Run(step+", "+when, func(t *testing.T) {
				o := newOffice(t)
				o.v.lookup = func(id trade.BrokerOrderID) (gate.Receipt, error) {
					for _, c := range o.v.sent {
						if c.ID == id {
							return gate.Receipt{Outcome: trade.Accepted, OrderID: "v"}, nil
						}
					}
					return gate.Receipt{Outcome: trade.Rejected, Code: "NEVER_RECEIVED"}, nil
				}
				d := o.propose(t, buy(t, "10"))
				o.Gate = o.crashAt(t, step, func(g *gate.Gate) { _, _ = g.Approve(context.Background(), press(o.anna, d)) })
				if o.v.submits() != want.sent {
					t.Fatalf("%d orders before the process ended", o.v.submits())
				}
				o.clock.pass(pass)
				must(o.Reconcile(ctx))(t)
				end, submits := want.soon, 1
				if when == "too late" {
					end = want.tooLate
				}
				if end != ledger.Succeeded {
					submits = 0
				}
				if got := o.state(t, d); got != end || o.v.submits() != submits {
					t.Fatalf("%s after %d submits; want %s after %d", got, o.v.submits(), end, submits)
				}
				if _, err := o.Verify(ctx, nil, nil); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}
