package gate_test

import (
	"fmt"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

const holdsAbove5 = `"order_quantity": {"hold_above": "5", "deny_above": "50"}`

func approvalBlock(members string) string { return `"approval": {` + members + `},` }

// refused approves a proposal and returns why that does not count; empty if it does.
func (r *room) approve(t testing.TB, by gate.Person, d ledger.Decision) (ledger.Decision, trade.Code) {
	t.Helper()
	now, err := r.Approve(ctx, press(by, d))
	if err == nil {
		return now, ""
	}
	refused, is := err.(*gate.Refusal)
	if !is {
		t.Fatal(err)
	}
	return now, refused.Code
}

//attack:gate-approval-terms
func TestApprovalBlockOfThePolicyWins(t *testing.T) {
	block := approvalBlock(`"expires": "5m", "execute_within": "3s", "two_approvers_above_notional": "700.70", "max_open_proposals": "2"`)
	r := newRoom(t, book(holdsAbove5, block), func(c *gate.Config) {
		c.Approval = gate.Approval{Expires: time.Hour, Within: 20 * time.Second, MaxOpen: 50}
	})
	one := r.want(t, "buy AAPL 6@100", "hold QUANTITY_EXCEEDS_LIMIT")
	if one.Hold.Approvers != 1 || one.Hold.Expires.Sub(one.At) != 5*time.Minute || one.Hold.Within != 3*time.Second || !one.Reasons[0].Hold {
		t.Fatalf("%+v %s", one.Hold, one.AppendJSON(nil))
	}
	if at := r.want(t, "buy AAPL 7@100", "hold QUANTITY_EXCEEDS_LIMIT"); at.Hold.Approvers != 1 { // 700.70 at the ask, exactly
		t.Fatalf("%+v", at.Hold)
	}
	r.want(t, "buy AAPL 8@100", "deny PROPOSALS_EXCEED_LIMIT")
	two := r.want(t, "buy AAPL 7@100.11", "hold QUANTITY_EXCEEDS_LIMIT", byAgent("other"))
	if two.Hold.Approvers != 2 {
		t.Fatalf("%+v", two.Hold)
	}
	if d, code := r.approve(t, r.anna, two); code != "" || d.State != ledger.ApprovalPending {
		t.Fatalf("%s %s", code, d.State)
	}
	if _, code := r.approve(t, r.anna, two); code != policy.AlreadyApproved {
		t.Fatal(code)
	}
	if d, code := r.approve(t, r.olga, two); code != "" || d.State != ledger.Succeeded {
		t.Fatalf("%s %s", code, d.State)
	}
	r.clock.pass(5 * time.Minute)
	if _, code := r.approve(t, r.olga, one); code != policy.ProposalExpired {
		t.Fatal(code)
	}
	none := newRoom(t, book(holdsAbove5, approvalBlock(`"max_open_proposals": "0"`)))
	none.want(t, "buy AAPL 6@100", "deny PROPOSALS_EXCEED_LIMIT")
}

//attack:gate-price-drift
//fault:f62
func TestApprovalAfterThePriceMovedDoesNotCount(t *testing.T) {
	block := approvalBlock(`"max_price_drift_bps": "50"`)
	for _, c := range []struct {
		bid, ask string
		code     trade.Code
	}{
		{"100.50", "100.60", ""}, // 50 basis points of the bid, and less of the ask
		{"99.50", "99.60", ""},
		{"100.50000001", "100.60", policy.PriceDriftExceeds},
		{"99.49", "99.60", policy.PriceDriftExceeds},
		{"100", "100.600500001", policy.PriceDriftExceeds},
		{"100", "", policy.PriceDriftExceeds}, // no quote
		{"101", "100", policy.PriceDriftExceeds},
		{"90", "110", policy.PriceDriftExceeds},
	} {
		r := newRoom(t, book(holdsAbove5, block))
		d := r.want(t, "buy AAPL 6@100", "hold QUANTITY_EXCEEDS_LIMIT")
		if d.Hold.Shown != (ledger.Mark{Bid: dec("100"), Ask: dec("100.10")}) {
			t.Fatalf("%+v", d.Hold.Shown)
		}
		if r.x.set("AAPL", c.bid, c.ask); c.ask == "" {
			r.x.remove("AAPL")
		}
		now, code := r.approve(t, r.anna, d)
		if code != c.code || (code == "") != (now.State == ledger.Succeeded) || r.v.submits() != map[bool]int{true: 1}[code == ""] {
			t.Fatalf("%s to %s: %s, %s", c.bid, c.ask, code, now.State)
		}
	}
	r := newRoom(t, book(holdsAbove5, block)) // without a quote at first nobody knows either
	r.x.remove("AAPL")
	d := r.want(t, "buy AAPL 6@100", "hold QUANTITY_EXCEEDS_LIMIT")
	r.x.set("AAPL", "100", "100.10")
	if _, code := r.approve(t, r.anna, d); code != policy.PriceDriftExceeds {
		t.Fatal(code)
	}
}

// TestApprovalLiftsWhatWasShownAndNothingElse: the rule, the limit and its bound; a denial always wins.
func TestApprovalLiftsWhatWasShownAndNothingElse(t *testing.T) {
	text := book(holdsAbove5 + `, "similar_orders": {"hold_above": "0", "window": "30s"}, "order_notional": {"hold_above": "700.00", "deny_above": "1000.00"}`)
	t.Run("a new reason", func(t *testing.T) {
		r := newRoom(t, text)
		d := r.want(t, "buy AAPL 6@100", "hold QUANTITY_EXCEEDS_LIMIT")
		r.x.set("AAPL", "120", "120")
		now, code := r.approve(t, r.anna, d)
		if code != policy.NotionalExceedsLimit || now.State != ledger.Blocked || said(now) != "deny NOTIONAL_EXCEEDS_LIMIT" {
			t.Fatalf("%s %s", code, now.AppendJSON(nil))
		}
	})
	t.Run("a denial", func(t *testing.T) {
		r := newRoom(t, text)
		d := r.want(t, "buy AAPL 6@100", "hold QUANTITY_EXCEEDS_LIMIT")
		r.x.set("AAPL", "170", "170")
		if now, code := r.approve(t, r.anna, d); code == "" || now.State != ledger.Blocked || r.v.submits() != 0 {
			t.Fatalf("%s %s", code, now.State)
		}
	})
	t.Run("the same reasons", func(t *testing.T) {
		r := newRoom(t, text)
		d := r.want(t, "buy AAPL 8@100", "hold QUANTITY_EXCEEDS_LIMIT NOTIONAL_EXCEEDS_LIMIT")
		r.x.set("AAPL", "110", "110")
		if now, code := r.approve(t, r.anna, d); code != "" || now.State != ledger.Succeeded {
			t.Fatalf("%s %s", code, now.State)
		}
	})
	t.Run("another policy", func(t *testing.T) {
		r := newRoom(t, text)
		d := r.want(t, "buy AAPL 6@100", "hold QUANTITY_EXCEEDS_LIMIT")
		r.writePolicy(t, text+"\n")
		if now, code := r.approve(t, r.anna, d); code != policy.PolicyChanged || now.State != ledger.Blocked {
			t.Fatalf("%s %s", code, now.State)
		}
	})
	t.Run("two rules with one limit", func(t *testing.T) {
		r := newRoom(t, text)
		d := r.want(t, "buy AAPL 6@100", "hold QUANTITY_EXCEEDS_LIMIT")
		if d.Reasons[0].Rule != "r" || d.Reasons[0].Field != "order_quantity" || d.Reasons[0].Limit != "5" {
			t.Fatalf("%s", d.AppendJSON(nil))
		}
		similar := r.want(t, "buy AAPL 1@100", "allow")
		if similar.State != ledger.Succeeded {
			t.Fatal(similar.State)
		}
		r.want(t, "buy AAPL 1@100", "hold SIMILAR_ORDERS_EXCEED_LIMIT")
	})
	t.Run("its own counts", func(t *testing.T) {
		r := newRoom(t, book(holdsAbove5+`, "orders_per_minute": {"deny_above": "1"}, "open_orders": {"deny_above": "1"}, "position_quantity": {"deny_above": "6"}`))
		d := r.want(t, "buy AAPL 6@100", "hold QUANTITY_EXCEEDS_LIMIT")
		r.want(t, "buy AAPL 1@100", "deny POSITION_QUANTITY_EXCEEDS_LIMIT OPEN_ORDERS_EXCEED_LIMIT") // it is reserved
		if now, code := r.approve(t, r.anna, d); code != "" || now.State != ledger.Succeeded {
			t.Fatalf("%s %s", code, now.AppendJSON(nil))
		}
		r.want(t, "sell AAPL 1@100", "deny ORDERS_PER_MINUTE_EXCEED_LIMIT")
	})
}

// TestQuoteThatGoesStaleBetweenJudgementAndApproval: what held with a quote is not approved without one.
//
//fault:f62
func TestQuoteThatGoesStaleBetweenJudgementAndApproval(t *testing.T) {
	r := newRoom(t, book(`"order_notional": {"hold_above": "500.00", "deny_above": "10000.00"}`))
	d := r.want(t, "buy AAPL 6@100", "hold NOTIONAL_EXCEEDS_LIMIT")
	r.x.sleep()
	r.clock.pass(30*time.Second + time.Microsecond)
	now, code := r.approve(t, r.anna, d)
	if code != policy.QuoteStale || now.State != ledger.Blocked {
		t.Fatalf("%s %s", code, now.AppendJSON(nil))
	}
}

//fault:f19
//fault:f105
func TestQuotesThatCannotBeJudgedBy(t *testing.T) {
	for _, c := range []struct{ bid, ask, want string }{
		{"", "", "deny QUOTE_UNAVAILABLE"},
		{"100", "99.99", "deny QUOTE_CROSSED"},
		{"99", "101.01", "deny SPREAD_EXCEEDS_LIMIT"},
		{"99", "101", "allow"},
	} {
		r := newRoom(t, book(`"order_notional": {"deny_above": "10000.00"}`))
		if r.x.set("AAPL", c.bid, c.ask); c.bid == "" {
			r.x.remove("AAPL")
		}
		r.want(t, "buy AAPL 6@100", c.want)
		r.x.set("AAPL", "100", "100.10")
		r.x.sleep()
		r.clock.pass(30 * time.Second)
		r.want(t, "buy AAPL 6@100", "allow")
		r.clock.pass(time.Microsecond)
		r.want(t, "buy AAPL 6@100", "deny QUOTE_STALE")
	}
	blind := newRoom(t, book(`"order_notional": {"deny_above": "10000.00"}`), func(c *gate.Config) { c.Market = nil })
	got := blind.Execute(ctx, call(t, "buy", "AAPL", "1", "100"))
	if got.Verdict != policy.Deny {
		t.Fatal(said(got))
	}
}

// TestHookIsJudgedByTheSame: a permission, its repetition and its arrival.
//
//fault:f117
func TestHookIsJudgedByTheSame(t *testing.T) {
	r := newRoom(t, book(holdsAbove5+`, "orders_per_minute": {"deny_above": "1"}`))
	first := call(t, "buy", "AAPL", "1", "100", atHook, withCall("c1"))
	if d := r.Authorize(ctx, first); said(d) != "allow" {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	if d := r.Authorize(ctx, first); said(d) != "allow" || !d.Repeated { // its own count is left out
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	if d := r.Authorize(ctx, call(t, "buy", "AAPL", "2", "100", atHook, withCall("c2"))); said(d) != "deny ORDERS_PER_MINUTE_EXCEED_LIMIT" || d.RetryAfter != time.Minute {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	first.Origin.Surface = "mcp"
	if d := r.Execute(ctx, first); said(d) != "allow" || d.State != ledger.Succeeded {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	r.clock.pass(time.Minute)
	held := call(t, "buy", "AAPL", "6", "100", atHook, withCall("c3"))
	d := r.Authorize(ctx, held)
	if said(d) != "hold QUANTITY_EXCEEDS_LIMIT" || !d.Hold.Permits {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	if now, code := r.approve(t, r.anna, d); code != "" || now.State != ledger.ApprovalGranted {
		t.Fatalf("%s %s", code, now.State)
	}
	if d := r.Authorize(ctx, held); said(d) != "allow" {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
}

// TestProposalIsJudgedByTheSame: what the policy holds anyway has both reasons, and one approval lifts both.
//
//fault:f117
func TestProposalIsJudgedByTheSame(t *testing.T) {
	r := newRoom(t, book(holdsAbove5))
	for i, want := range []string{"hold APPROVAL_REQUIRED", "hold QUANTITY_EXCEEDS_LIMIT APPROVAL_REQUIRED", "deny QUANTITY_EXCEEDS_LIMIT"} {
		d := r.Propose(ctx, call(t, "buy", "AAPL", fmt.Sprint(5+i*(i*20+1)), "100"))
		if said(d) != want {
			t.Fatalf("%s, want %s", said(d), want)
		}
		if d.Verdict == policy.Deny {
			continue
		}
		if now, code := r.approve(t, r.anna, d); code != "" || now.State != ledger.Succeeded {
			t.Fatalf("%s %s", code, now.AppendJSON(nil))
		}
	}
}
