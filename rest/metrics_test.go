package rest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/rest"
)

// TestMetricsShowWhatNeedsAPerson: each state that an operator must act on has a number of its own.
func TestMetricsShowWhatNeedsAPerson(t *testing.T) {
	clock := gatetest.NewClock()
	var home string
	r := newRig(t, func(g *gate.Config, s *rest.ServerConfig) {
		home, s.Now, s.Version = g.Home, clock.Now, "v9.8.7"
	})
	want := func(lines ...string) {
		t.Helper()
		text := r.send(request{half: "people", method: "GET", path: "/metrics"}).body
		for _, line := range lines {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("the metrics lack %s:\n%s", line, text)
			}
		}
	}
	want("sallyport_outcomes_unknown 0", "sallyport_orders_working 0", "sallyport_policy_valid 1", `sallyport_build_info{version="v9.8.7"} 1`)
	r.broker.Next(gatetest.Rest, gatetest.Unclear)
	wantState(t, r.trader().Execute(ctx, order(t, "buy", "AAPL", "2", "150")), policy.Allow, ledger.Succeeded)
	wantState(t, r.trader().Execute(ctx, order(t, "buy", "AAPL", "1", "150")), policy.Allow, ledger.OutcomeUnknown)
	want("sallyport_outcomes_unknown 1", "sallyport_orders_working 1", "sallyport_journal_ready 1", "sallyport_stops_engaged 0")
	if err := os.WriteFile(filepath.Join(home, "policy.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	want("sallyport_policy_valid 0")
	if err := r.gate.Close(); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Second)
	want("sallyport_journal_ready 0")
}
