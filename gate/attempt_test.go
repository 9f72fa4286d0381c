package gate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// TestRefusedCancelsFillNoJournal: no rate holds up a cancel, a withdrawal or a stop, so what is recorded of those that are
// refused is bounded, of each agent, and what was left out is counted.
//
//attack:gate-agent-refusals
func TestRefusedCancelsFillNoJournal(t *testing.T) {
	r := newRoom(t, book(`"order_quantity": {"deny_above": "100"}`))
	refused := func() (n int, last string) {
		for _, e := range events(t, r.Gate) {
			if e, is := e.(ledger.AttemptRefused); is {
				n, last = n+1, e.Message
			}
		}
		return n, last
	}
	try := func(agent trade.Agent, n int) {
		t.Helper()
		for i := range n {
			o := gate.Origin{Agent: agent, Surface: "mcp", Tool: "order_cancel"}
			var err error
			switch i % 3 {
			case 0:
				_, err = r.CancelOwn(ctx, o, trade.TierPropose, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
			case 1:
				_, err = r.Withdraw(ctx, o, trade.TierPropose, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "why")
			default:
				_, err = r.CancelOwn(ctx, o, trade.TierRead, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
			}
			var no *gate.Refusal
			if !errors.As(err, &no) || i%3 == 2 && no.Code != policy.TierTooLow {
				t.Fatalf("attempt %d: %v", i, err)
			}
		}
	}
	before, _ := refused()
	try("mallory", 200)
	if n, _ := refused(); n-before != 60 {
		t.Errorf("%d of 200 refused attempts of one agent are recorded", n-before)
	}
	try("desk", 3)
	if n, _ := refused(); n-before != 63 {
		t.Errorf("another agent's refusals are not recorded: %d", n-before)
	}
	r.clock.pass(time.Minute)
	try("mallory", 1)
	if n, last := refused(); n-before != 64 || !strings.HasSuffix(last, "(and 140 more before, which are not recorded)") {
		t.Errorf("%d recorded, the last: %q", n-before, last)
	}
}
