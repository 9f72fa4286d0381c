package rest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

var ctx = context.Background()

func wantState(t testing.TB, d ledger.Decision, v policy.Effect, s ledger.AuditState) {
	t.Helper()
	if d.Verdict != v || d.State != s {
		t.Fatalf("verdict %s, state %s; want %s, %s\n%s", d.Verdict, d.State, v, s, d.AppendJSON(nil))
	}
}

func wantRefusal(t testing.TB, err error, code trade.Code) {
	t.Helper()
	var r *gate.Refusal
	if !errors.As(err, &r) || r.Code != code {
		t.Fatalf("the error is %v, want a refusal %s", err, code)
	}
}

func TestClientHasTheGatesMethods(t *testing.T) {
	r := newRig(t)
	c := r.trader()
	agent, tier, err := c.Whoami(ctx)
	if err != nil || agent != "trader" || tier != trade.TierExecute {
		t.Fatalf("whoami: %s, %s, %v", agent, tier, err)
	}
	wantState(t, c.Check(ctx, order(t, "buy", "AAPL", "10", "150")), policy.Allow, ledger.Allowed)
	if len(r.rows()) != 0 {
		t.Fatal("a check is on record")
	}
	d := c.Execute(ctx, order(t, "buy", "AAPL", "10", "150", gatetest.WithClientOrder("one")))
	wantState(t, d, policy.Allow, ledger.Succeeded)
	if d.Agent != "trader" || d.Surface != "mcp" || d.ClientOrderID != "one" || d.Origin.Session != "session-1" {
		t.Errorf("the decision is %s", d.AppendJSON(nil))
	}
	again := c.Execute(ctx, order(t, "buy", "AAPL", "10", "150.00", gatetest.WithClientOrder("one")))
	if !again.Repeated || again.Intent != d.Intent || len(r.broker.Submits()) != 1 {
		t.Errorf("the same client order id was executed twice: %s", again.AppendJSON(nil))
	}
	p := c.Authorize(ctx, order(t, "buy", "MSFT", "1", "400", gatetest.WithToolCall("call-1"), func(k *gate.Call) { k.Origin.Surface = "hook" }))
	wantState(t, p, policy.Allow, ledger.Allowed)
	k := order(t, "buy", "MSFT", "1", "400")
	k.Origin.Surface, k.Origin.ToolCallID = "hook", "call-1"
	got, found, err := c.Report(ctx, gate.Report{Origin: k.Origin, Dialect: k.Dialect, Account: k.Account, Order: k.Order, Raw: k.Raw, Outcome: trade.Accepted, Status: "SUCCESS"})
	if err != nil || !found || got.State != ledger.Succeeded || got.Intent != p.Intent {
		t.Fatalf("the report: %v, %v, %s", found, err, got.AppendJSON(nil))
	}
	_, found, err = c.Report(ctx, gate.Report{Origin: gate.Origin{Surface: "hook", Tool: k.Origin.Tool, ToolCallID: "nobody's"}, Dialect: k.Dialect, Account: k.Account, Order: k.Order, Raw: k.Raw})
	if err != nil || found {
		t.Fatalf("a report of nothing: %v, %v", found, err)
	}
	if rows, err := c.Audit(ctx, 10); err != nil || len(rows) != 2 {
		t.Fatalf("the audit has %d rows, %v", len(rows), err)
	}
	v, own := c.Policy(), r.gate.Policy()
	if v.SHA256 != own.SHA256 || string(v.Raw) != string(own.Raw) || v.Policy == nil || v.Reason != nil {
		t.Errorf("the policy is %+v", v)
	}
	f, err := c.Portfolio(ctx, "")
	if err != nil || len(f.Positions) != 2 || f.Cash == nil || len(f.Headroom) == 0 {
		t.Errorf("the portfolio is %+v, %v", f, err)
	}
	aapl := gatetest.Symbol("AAPL")
	if q, found, err := c.Quote(ctx, aapl); err != nil || !found || q.Bid.Money() != "149.90" {
		t.Errorf("the quote is %+v, %v, %v", q, found, err)
	}
	if _, found, err := c.Quote(ctx, k.Order.Symbol()); err != nil || found {
		t.Errorf("a quote that there is none of: %v, %v", found, err)
	}
}

func TestProposalIsApprovedByAPersonAndExecuted(t *testing.T) {
	r := newRig(t)
	c, olga := r.client("proposer", trade.TierPropose), r.person(r.owner)
	d := c.Propose(ctx, order(t, "buy", "AAPL", "10", "150"))
	wantState(t, d, policy.Hold, ledger.ApprovalPending)
	waiting, err := olga.Proposals(ctx)
	if err != nil || len(waiting) != 1 || waiting[0].Intent != d.Intent {
		t.Fatalf("the proposals are %v, %v", waiting, err)
	}
	_, text, err := olga.Brief(ctx, d.Intent)
	if err != nil || !strings.Contains(text, "BUY TO OPEN 10 AAPL") {
		t.Fatalf("the brief is %q, %v", text, err)
	}
	done, err := olga.Approve(ctx, d.Intent, d.Order.Digest().String()[:8])
	if err != nil {
		t.Fatal(err)
	}
	wantState(t, done, policy.Allow, ledger.Succeeded)
	got, err := c.Proposal(ctx, "", d.Intent)
	if err != nil || got.State != ledger.Succeeded {
		t.Fatalf("the proposer sees %s, %v", got.AppendJSON(nil), err)
	}
	if _, err := c.Await(ctx, gate.Origin{}, 0, d.Intent, time.Second); err == nil {
		t.Error("an agent of tier 1 waits for an execution")
	}
	_, err = olga.Approve(ctx, d.Intent, d.Order.Digest().String())
	wantRefusal(t, err, policy.ProposalEnded)
	if len(r.broker.Submits()) != 1 {
		t.Errorf("%d orders were sent", len(r.broker.Submits()))
	}
}
