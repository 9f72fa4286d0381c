package rest_test

import (
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/mcp"
	"sallyport/policy"
	"sallyport/rest"
	"sallyport/trade"
)

// TestPortfolioWithCashPassesThroughTheClient: what the gate shows is what the client has, cash and positions included.
func TestPortfolioWithCashPassesThroughTheClient(t *testing.T) {
	r := newRig(t)
	c := r.trader()
	wantState(t, c.Execute(ctx, order(t, "buy", "AAPL", "10", "150")), policy.Allow, ledger.Succeeded)
	want, err := r.gate.Portfolio(ctx, "trader")
	if err != nil || want.Cash == nil {
		t.Fatalf("the gate has %+v, %v", want, err)
	}
	got, err := c.Portfolio(ctx, "trader")
	if err != nil || got.Cash == nil || got.Cash.Cmp(*want.Cash) != 0 || len(got.Positions) != len(want.Positions) || len(got.Headroom) != len(want.Headroom) {
		t.Errorf("through the client: %+v, %v; want %+v", got, err, want)
	}
	tools := toolsOf(t, c)
	if a := tools.Call(ctx, gate.Origin{Surface: "mcp"}, "portfolio_get", nil); a.IsError || !strings.Contains(a.Text, `"cash":"`+want.Cash.Money()+`"`) {
		t.Errorf("portfolio_get: %s", a.Text)
	}
}

func toolsOf(t *testing.T, c *rest.Client) *mcp.Tools {
	t.Helper()
	tools, err := mcp.New(mcp.Config{Gate: c, Now: time.Now, Agent: "trader", Tier: trade.TierExecute})
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// TestEveryToolTellsOneStoryOfADaemonThatIsGone stops the daemon in the middle of a session.
//
//fault:f128
func TestEveryToolTellsOneStoryOfADaemonThatIsGone(t *testing.T) {
	r := newRig(t)
	c, err := rest.Dial(rest.ClientConfig{Address: "unix:" + r.dir + "/agents.sock", Token: r.tokens["trader"], Tier: 2, Agent: "local"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tools := toolsOf(t, c)
	proposed := c.Propose(ctx, order(t, "buy", "AAPL", "1", "150"))
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	id := string(proposed.Intent)
	const good = `{"symbol":"AAPL","side":"buy","quantity":"1","limit_price":"150"}`
	for _, row := range tools.List() {
		arguments := map[string]string{
			"market_quote": `{"symbol":"AAPL"}`, "proposal_get": `{"proposal_id":"` + id + `"}`, "proposal_withdraw": `{"proposal_id":"` + id + `"}`,
			"trade_execute": `{"proposal_id":"` + id + `"}`, "order_cancel": `{"intent_id":"` + id + `"}`,
			"paper_place_order_a": good, "paper_place_order_b": good, "trade_propose": good, "trade_check": good,
		}[row.Name]
		a := tools.Call(ctx, gate.Origin{Surface: "mcp"}, row.Name, []byte(arguments))
		if !a.IsError || !strings.Contains(a.Text, `"error":"daemon_unreachable"`) || !strings.Contains(a.Text, `"code":"DAEMON_UNREACHABLE"`) ||
			strings.Contains(a.Text, "KILL_SWITCH") || strings.Contains(a.Text, `"agent":"local"`) {
			t.Errorf("%s, isError %v: %s", row.Name, a.IsError, a.Text)
		}
	}
}

// TestAnswerThatCannotBeReadIsNoAnswer: a daemon whose words are not known has not said that its journal is broken.
func TestAnswerThatCannotBeReadIsNoAnswer(t *testing.T) {
	_, c := newImpostor(t, func(int32) string { return httpAnswer("200 OK", "application/json", `{"stops":7}`) })
	for _, name := range []string{"portfolio_get", "trade_audit", "kill_switch_engage", "trade_policy_get"} {
		a := toolsOf(t, c).Call(ctx, gate.Origin{Surface: "mcp"}, name, nil)
		if !a.IsError || !strings.Contains(a.Text, `"error":"daemon_unreachable"`) {
			t.Errorf("%s: %s", name, a.Text)
		}
	}
}

// TestJournalThatCannotBeUsedIsSaidWithItsWord closes the gate under the server.
func TestJournalThatCannotBeUsedIsSaidWithItsWord(t *testing.T) {
	p, c := newImpostor(t, func(int32) string {
		return httpAnswer("503 Service Unavailable", "application/problem+json", `{"status":503,"code":"JOURNAL_UNAVAILABLE","detail":"the journal cannot be used now"}`)
	})
	for _, name := range []string{"trade_audit", "journal_query", "kill_switch_engage", "order_cancel"} {
		a := toolsOf(t, c).Call(ctx, gate.Origin{Surface: "mcp"}, name, []byte(map[bool]string{true: `{"intent_id":"01JDZZZZZZZZZZZZZZZZZZZZZZ"}`}[name == "order_cancel"]))
		if !a.IsError || !strings.Contains(a.Text, `"error":"journal_unavailable"`) || !strings.Contains(a.Text, `"code":"JOURNAL_UNAVAILABLE"`) {
			t.Errorf("%s: %s", name, a.Text)
		}
	}
	if p.requests.Load() == 0 {
		t.Error("nothing was asked")
	}
}
