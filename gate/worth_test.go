package gate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// wideBook takes every type of order, and asks for two persons above 700.
func wideBook() string {
	text := strings.Replace(book(holdsAbove5, approvalBlock(`"two_approvers_above_notional": "700.00"`)), `"sides": ["buy", "sell"]}`,
		`"sides": ["buy", "sell"], "order_types": ["limit", "market", "stop", "stop_limit"]}, "allow": {"short": true, "fractional": true}`, 1)
	return strings.Replace(text, `"max_spread_bps": "200"`, `"max_spread_bps": "200", "market_slippage_bps": "50"`, 1)
}

// terms is a call for the order of a line, as gatetest reads it.
func terms(t testing.TB, line string, edit ...func(*gate.Call)) gate.Call {
	t.Helper()
	c := call(t, "buy", "AAPL", "6", "100", edit...)
	c.Order = gatetest.Line(t, line)
	return c
}

// TestWithoutAQuoteNothingIsCheap: an agent waits until no quote can be used, and sends what then looks small. A person
// must decide, two where the policy has such an amount, and nobody is shown a number that was made up.
//
//attack:gate-two-approvers
func TestWithoutAQuoteNothingIsCheap(t *testing.T) {
	for _, c := range []struct {
		line, want string
		approvers  int
		shown      string
	}{
		{"buy 5 AAPL stop 1.00", "hold APPROVAL_REQUIRED", 2, "UNKNOWN"},
		{"buy 5 AAPL market", "hold APPROVAL_REQUIRED", 2, "UNKNOWN"},
		{"sell 5 AAPL at 1.00", "hold APPROVAL_REQUIRED", 2, "UNKNOWN"},
		{"sell 5 AAPL stop 2.00 limit 1.00", "hold APPROVAL_REQUIRED", 2, "UNKNOWN"},
		{"buy 6 AAPL at 101.00", "hold QUANTITY_EXCEEDS_LIMIT APPROVAL_REQUIRED", 1, "606.00 USD"},
		{"buy 5 AAPL stop 1.00 limit 2.00", "allow", 0, ""},
	} {
		for name, blind := range map[string]func(*room){
			"no quote": func(r *room) { r.x.remove("AAPL") },
			"crossed":  func(r *room) { r.x.set("AAPL", "101", "100") },
			"stale":    func(r *room) { r.x.sleep(); r.clock.pass(31 * time.Second) },
		} {
			r := newRoom(t, wideBook(), func(c *gate.Config) { d := trade.Whole(100); c.Approval.HoldAbove = &d })
			blind(r)
			d := r.Execute(ctx, terms(t, c.line))
			if said(d) != c.want || d.Verdict == policy.Hold && d.Hold.Approvers != c.approvers {
				t.Fatalf("%s, %s: %s, %d approvers\n%s", c.line, name, said(d), d.Hold.Approvers, d.AppendJSON(nil))
			}
			if d.Verdict != policy.Hold {
				continue
			}
			brief := must(r.Brief(ctx, d.Intent))(t).Text()
			if !strings.Contains(brief, "Worst-case value "+c.shown) || strings.HasPrefix(c.line, "buy") && c.shown == "UNKNOWN" && !strings.Contains(brief, "-> unknown") {
				t.Errorf("%s, %s:\n%s", c.line, name, brief)
			}
		}
	}
}

// TestMorePersonsMustApproveWhatIsWorthMoreNow: a proposal that one person could approve when it was made.
//
//attack:gate-two-approvers
func TestMorePersonsMustApproveWhatIsWorthMoreNow(t *testing.T) {
	r := newRoom(t, strings.Replace(wideBook(), `"two_approvers`, `"max_price_drift_bps": "2000", "two_approvers`, 1))
	d := r.Execute(ctx, terms(t, "buy 6 AAPL market"))
	if d.Verdict != policy.Hold || d.Hold.Approvers != 1 {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	r.x.set("AAPL", "116", "116.10")
	now, code := r.approve(t, r.anna, d)
	if code != "" || now.State != ledger.ApprovalPending || now.Hold.Approvers != 2 || r.v.submits() != 0 {
		t.Fatalf("%s %s", code, now.AppendJSON(nil))
	}
	r.x.set("AAPL", "100", "100.10") // what was asked for once stays asked for
	r.restart(t)
	if _, code := r.approve(t, r.anna, d); code != policy.AlreadyApproved {
		t.Fatal(code)
	}
	if now, code := r.approve(t, r.olga, d); code != "" || now.State != ledger.Succeeded {
		t.Fatalf("%s %s", code, now.AppendJSON(nil))
	}
	held := terms(t, "buy 6 AAPL market", atHook)
	if d = r.Authorize(ctx, held); d.Hold.Approvers != 1 {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	if now, code := r.approve(t, r.anna, d); code != "" || now.State != ledger.ApprovalGranted {
		t.Fatalf("%s %s", code, now.State)
	}
	r.x.set("AAPL", "116", "116.10")
	if d := r.Authorize(ctx, held); said(d) != "deny APPROVAL_REQUIRED" {
		t.Fatalf("one person's approval was used for an order that needs two: %s", d.AppendJSON(nil))
	}
}

// TestAPendingAmountBlocksNoWayOut: an agent that may only propose keeps an order by amount waiting.
//
//attack:ledger-amount
func TestAPendingAmountBlocksNoWayOut(t *testing.T) {
	r := newRoom(t, wideBook())
	r.want(t, "buy AAPL 5@101", "allow")
	waits := r.Propose(ctx, terms(t, "buy $1.00 AAPL market", byAgent("other"), withOrder("waits")))
	if waits.Verdict != policy.Hold {
		t.Fatalf("%s", waits.AppendJSON(nil))
	}
	r.want(t, "buy AAPL 1@101", "allow") // its decision said how many shares it may come to
	unbounded := newRoom(t, strings.Replace(wideBook(), holdsAbove5, `"orders_per_minute": {"deny_above": "1000"}`, 1))
	unbounded.want(t, "buy AAPL 5@101", "allow")
	unbounded.x.remove("AAPL")
	blind := unbounded.Propose(ctx, terms(t, "buy $2.00 AAPL market", byAgent("other"), withOrder("blind")))
	if blind.Verdict != policy.Hold {
		t.Fatalf("%s", blind.AppendJSON(nil))
	}
	unbounded.want(t, "buy AAPL 1@101", "deny POSITION_UNAVAILABLE")
	for _, r := range []*room{r, unbounded} {
		if got := r.says(t, "sell", "AAPL", "7", "99"); !strings.HasPrefix(got, "deny POSITION_FLIP_NOT_ALLOWED") {
			t.Error(got)
		}
		r.want(t, "sell AAPL 5@99", "allow")
	}
}

// TestADenialOfEveryRuleFitsOnRecord: a policy of the largest size, whose every rule says no to one order, or asks a person.
//
//attack:gate-reasons
func TestADenialOfEveryRuleFitsOnRecord(t *testing.T) {
	for word, want := range map[string]string{"deny_above": "QUANTITY_EXCEEDS_LIMIT", "hold_above": "INTERNAL_ERROR"} {
		var rules []string
		for i := range 256 {
			rules = append(rules, fmt.Sprintf(`{"id":"%s%03d","match":{"symbols":["AAPL"]},"limits":{"order_quantity":{%q:"5"},"order_notional":{%q:"500"},"gross_exposure":{%q:"500"},`+
				`"net_exposure":{%q:"500"},"position_quantity":{%q:"5"},"position_notional":{%q:"500"}}}`, strings.Repeat("x", 61), i, word, word, word, word, word, word))
		}
		r := newRoom(t, `{"version":2,"currency":"USD","timezone":"America/New_York","quotes":{"sources":["file"],"max_age":"30s","max_spread_bps":"200"},"rules":[`+strings.Join(rules, ",")+`]}`)
		d := r.Execute(ctx, call(t, "buy", "AAPL", "6", "101"))
		last := d.Reasons[len(d.Reasons)-1]
		if d.Verdict != policy.Deny || len(d.Reasons) != 100 || !strings.HasSuffix(last.Message, "; 1436 more reasons are left out") || r.v.submits() != 0 {
			t.Fatalf("%s: %s, %d reasons, the last %+v", word, d.Verdict, len(d.Reasons), last)
		}
		if codes := codes(d); !strings.Contains(codes, want) || len(must(r.Stops(ctx))(t)) > 0 {
			t.Errorf("%s: %s", word, codes)
		}
		r.want(t, "buy AAPL 1@101", "allow")
	}
}

// TestTheReasonThatDeniesIsNeverLeftOut: among more holds than fit on record stands one denial, last.
//
//attack:gate-reasons
func TestTheReasonThatDeniesIsNeverLeftOut(t *testing.T) {
	var rules []string
	for i := range 120 {
		word := "hold_above"
		if i == 119 {
			word = "deny_above"
		}
		rules = append(rules, fmt.Sprintf(`{"id":"r%03d","match":{"symbols":["AAPL"]},"limits":{"order_quantity":{%q:"5"}}}`, i, word))
	}
	r := newRoom(t, `{"version":2,"currency":"USD","timezone":"America/New_York","quotes":{"sources":["file"],"max_age":"30s","max_spread_bps":"200"},"rules":[`+strings.Join(rules, ",")+`]}`)
	d := r.Execute(ctx, call(t, "buy", "AAPL", "6", "101"))
	last := d.Reasons[len(d.Reasons)-1]
	if d.Verdict != policy.Deny || len(d.Reasons) != 100 || last.Hold || last.Rule != "r119" || d.Reasons[0].Rule != "r000" || !strings.Contains(last.Message, "20 more") {
		t.Fatalf("%s, %d reasons, the last %+v", d.Verdict, len(d.Reasons), last)
	}
}

// TestAMarketOrderIsNotApprovedForeverMore: the policy says nothing of how far the quote may move.
//
//attack:gate-usual-drift
func TestAMarketOrderIsNotApprovedForeverMore(t *testing.T) {
	r := newRoom(t, strings.Replace(wideBook(), `"700.00"`, `"7000000.00"`, 1))
	for _, c := range []struct {
		line, bid, ask string
		want           trade.Code
	}{
		{"buy 6 AAPL market", "101", "101.10", ""},
		{"buy 6 AAPL market", "101.01", "101.10", policy.PriceDriftExceeds},
		{"buy 6 AAPL stop 110", "98", "98.10", policy.PriceDriftExceeds},
		{"buy 6 AAPL market", "", "", policy.PriceDriftExceeds},
		{"buy 6 AAPL at 200", "150", "150.10", ""},
		{"buy 6 AAPL stop 110 limit 200", "150", "150.10", ""},
	} {
		r.x.set("AAPL", "100", "100.10")
		d := r.Execute(ctx, terms(t, c.line))
		if d.Verdict != policy.Hold {
			t.Fatalf("%s: %s", c.line, d.AppendJSON(nil))
		}
		text := must(r.Brief(ctx, d.Intent))(t).Text()
		if bounded := d.Order.LimitPrice().Sign() > 0; bounded == strings.Contains(text, "within 100 basis points") {
			t.Errorf("%s:\n%s", c.line, text)
		}
		if c.bid == "" {
			r.x.remove("AAPL")
		} else {
			r.x.set("AAPL", c.bid, c.ask)
		}
		if _, code := r.approve(t, r.anna, d); code != c.want {
			t.Errorf("%s at %s: %s, want %s", c.line, c.bid, code, c.want)
		}
	}
}
