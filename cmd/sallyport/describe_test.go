package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// anOrder is the compliant one: buy 10 AAPL at 150.00.
func anOrder(t *testing.T) trade.Order {
	t.Helper()
	d, err := findTool(toolA, toolNames())
	if err != nil {
		t.Fatal(err)
	}
	o, _, faults := d.Parse(paperAccount, []byte(compliant))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return o
}

// wantWidth checks that no line of what people see is too long for a terminal.
func wantWidth(t *testing.T, text string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if n := len([]rune(line)); n > width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestOrderOfManyTermsFitsTheTerminal shows the longest order that there is, in every place that begins with one.
func TestOrderOfManyTermsFitsTheTerminal(t *testing.T) {
	o := gatetest.Line(t, "buy 999999999999 ABCDEFGHIJ.KLMNO stop 123456789012.25 limit 123456789013.25 gtc sl=123456789010.25/123456789009.25 tp=123456789015.25")
	d := ledger.Decision{Verdict: policy.Deny, State: ledger.Blocked, Order: o}
	for _, p := range []paint{{}, {on: true}} {
		for name, text := range map[string]string{"headline": describe(d, p), "line": string(appendCheckLine(nil, 99999, d, p))} {
			bare := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(text, "")
			if !strings.Contains(strings.Join(strings.Fields(bare), " "), o.Line()) {
				t.Errorf("%s: the order is not in\n%s", name, bare)
			}
			wantWidth(t, bare)
		}
	}
}

// TestNoTwoStatesLookTheSame shows an order in every state.
func TestNoTwoStatesLookTheSame(t *testing.T) {
	sent := ledger.Decision{Verdict: policy.Allow, State: ledger.Succeeded, Clears: ledger.ClearsSend, OutcomeBy: ledger.FromBroker, Order: anOrder(t)}
	with := func(change func(*ledger.Decision)) ledger.Decision {
		d := sent
		change(&d)
		return d
	}
	held := func(s ledger.AuditState, by ...string) ledger.Decision {
		d := ledger.Decision{Verdict: policy.Hold, State: s, Order: anOrder(t), ApprovedBy: by}
		d.Hold = ledger.Hold{Expires: time.Date(2026, 11, 30, 15, 30, 0, 0, time.UTC), Approvers: 2}
		if s == ledger.ApprovalDeclined {
			d.EndedBy = "person:kim"
		}
		return d
	}
	three, price := gatetest.Decimal("3"), gatetest.Decimal("149.95")
	seen := map[string]string{}
	for _, c := range []struct {
		headline, state, says string
		d                     ledger.Decision
	}{
		{"WORKING", "working", "nothing yet; the order is working", sent},
		{"PARTLY FILLED", "partial", "3 of 10, the last at 149.95; the rest is working", with(func(d *ledger.Decision) { d.Filled, d.FillPrice = three, price })},
		{"EXECUTED", "filled", "10 at 149.95", with(func(d *ledger.Decision) { d.Filled, d.FillPrice = d.Order.Quantity(), price })},
		{"CANCELLED", "cancelled", "filled nothing", with(func(d *ledger.Decision) { d.Ended = "cancelled" })},
		{"CANCELLED", "cancelled", "3 of 10, the last at 149.95 ended", with(func(d *ledger.Decision) { d.Ended, d.Filled, d.FillPrice = "cancelled", three, price })},
		{"EXPIRED", "expired", "filled nothing", with(func(d *ledger.Decision) { d.Ended = "expired" })},
		{"REJECTED", "rejected", "message no cash", with(func(d *ledger.Decision) { d.State, d.Message = ledger.Failed, "no cash" })},
		{"REJECTED", "rejected", "code INSUFFICIENT_POSITION", with(func(d *ledger.Decision) { d.State, d.RejectionCode = ledger.Failed, "INSUFFICIENT_POSITION" })},
		{"REJECTED", "rejected", "as settled by root: not there", with(func(d *ledger.Decision) {
			d.State, d.OutcomeBy, d.ResolvedBy, d.Message = ledger.Failed, ledger.FromPerson, "root", "not there"
		})},
		{"UNKNOWN", "unknown", "its exposure stays reserved", with(func(d *ledger.Decision) { d.State = ledger.OutcomeUnknown })},
		{"ACCEPTED", "accepted", "as settled by root: seen there; its fills are not told to Sallyport", with(func(d *ledger.Decision) {
			d.OutcomeBy, d.ResolvedBy, d.Message = ledger.FromPerson, "root", "seen there"
		})},
		{"ACCEPTED", "accepted", "as the harness reported; its fills are not told", with(func(d *ledger.Decision) { d.OutcomeBy = ledger.FromReport })},
		{"PERMITTED", "permitted", "the harness may make the call", with(func(d *ledger.Decision) { d.State, d.Clears, d.OutcomeBy = ledger.Allowed, ledger.ClearsPermission, "" })},
		{"SENDING", "sending", "", with(func(d *ledger.Decision) { d.State, d.OutcomeBy = ledger.Allowed, "" })},
		{"ALLOWED", "allowed", "", with(func(d *ledger.Decision) { d.State, d.Clears, d.OutcomeBy = ledger.Allowed, ledger.ClearsNothing, "" })},
		{"DENIED", "blocked", "", ledger.Decision{Verdict: policy.Deny, State: ledger.Blocked}},
		{"HELD", "held", "", ledger.Decision{Verdict: policy.Hold, State: ledger.Blocked}},
		{"HELD", "held", "needs 2 persons approved by kim", held(ledger.ApprovalPending, "kim")},
		{"APPROVED", "approved", "expires 2026-11-30 15:30:00.000000 UTC", held(ledger.ApprovalGranted, "kim", "lee")},
		{"DECLINED", "declined", "ended by person:kim", held(ledger.ApprovalDeclined)},
		{"WITHDRAWN", "withdrawn", "", held(ledger.ApprovalWithdrawn)},
		{"LAPSED", "lapsed", "", held(ledger.ApprovalExpired)},
		{"DENIED", "blocked", "stopped symbol:AAPL, by person:kim since 2026-11-30 15:00 UTC: a rumour", ledger.Decision{
			Verdict: policy.Deny, State: ledger.Blocked, Stops: []ledger.Stop{{
				Scope: ledger.Scope{Kind: ledger.OneSymbol, Name: "AAPL"}, By: "person:kim", Reason: "a rumour",
				Since: time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC),
			}},
		}},
		{"EXECUTED AFTER DENIAL", "accepted", "EXECUTED_AFTER_DENIAL", ledger.Decision{
			Verdict: policy.Deny, State: ledger.Succeeded, OutcomeBy: ledger.FromReport, Flags: []string{ledger.ExecutedAfterDenial},
		}},
	} {
		text := describe(c.d, paint{})
		plain := strings.Join(strings.Fields(text), " ")
		if headline(c.d) != c.headline || stateWord(c.d) != c.state || !strings.HasPrefix(text, c.headline+"  ") || !strings.Contains(plain, c.says) {
			t.Errorf("%s is shown as %s, and as\n%s", c.headline, stateWord(c.d), text)
		}
		if len(c.state) > len("cancelled") {
			t.Errorf("%s is too long for a list", c.state)
		}
		if other, again := seen[text]; again {
			t.Errorf("%s and %s look the same", other, c.headline)
		}
		seen[text] = c.headline
		wantWidth(t, text)
	}
}

func TestEventsSayWhatHappened(t *testing.T) {
	id := trade.NewIntentID(time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC), [10]byte{1})
	who := ledger.Origin{Agent: "desk", Surface: "mcp"}
	at := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	again := func(r ledger.Ruling) ledger.Rejudged {
		return ledger.Rejudged{Intent: id, Origin: who, Account: "paper", Order: anOrder(t), FirstAt: at, Ruling: r, Clears: ledger.ClearsSend}
	}
	denied := ledger.Ruling{Reasons: []policy.Reason{{Code: "A_B", Message: "x"}, {Code: "C_D", Message: "y"}}}
	for _, c := range []struct {
		e    ledger.Event
		want string
	}{
		{ledger.Decided{Intent: id, Origin: who, Account: "paper", Order: anOrder(t), Ruling: ledger.Ruling{Effect: policy.Allow}, Clears: ledger.ClearsSend}, "allowed"},
		{ledger.Decided{Intent: id, Origin: who, Account: "paper", Order: anOrder(t), Ruling: ledger.Ruling{Effect: policy.Allow}, Clears: ledger.ClearsPermission}, "permitted; the harness makes the call"},
		{ledger.Decided{Intent: id, Origin: who, Account: "paper", Order: anOrder(t), Ruling: denied}, "denied: A_B, C_D"},
		{again(ledger.Ruling{Effect: policy.Allow}), "judged again, for mcp: allowed"},
		{again(denied), "judged again, for mcp: denied: A_B, C_D"},
		{ledger.Concluded{Intent: id, Outcome: trade.Accepted, Source: ledger.FromBroker, OrderID: "paper-1", Message: "fine"}, "outcome accepted by broker as paper-1"},
		{ledger.Concluded{Intent: id, Outcome: trade.Rejected, Source: ledger.FromLookup, Code: "NO_CASH", Message: "too little"}, "outcome rejected by broker, when asked: NO_CASH too little"},
		{ledger.Concluded{Intent: id, Outcome: trade.Unknown, Source: ledger.FromGate, Message: "no answer: context deadline exceeded"}, "outcome unknown: no answer: it took too long"},
		{ledger.Concluded{Intent: id, Outcome: trade.Accepted, Source: ledger.FromPerson, By: "root", Message: "seen there"}, "outcome accepted by root: seen there"},
		{ledger.Concluded{Intent: id, Outcome: trade.Rejected, Source: ledger.FromReport, Message: "a\x1bb"}, `outcome rejected by the harness's report: a\u001bb`},
		{ledger.Happened{Account: "paper", Number: 1, What: ledger.WasFilled, Intent: id, Symbol: anOrder(t).Symbol(), Side: trade.Buy, Quantity: gatetest.Decimal("10"), Price: gatetest.Decimal("149.95")}, "fill 10 at 149.95"},
		{ledger.Happened{Account: "paper", Number: 1, What: ledger.WasExpired, Intent: id, Symbol: anOrder(t).Symbol(), Side: trade.Buy, Quantity: gatetest.Decimal("10")}, "expired, 10 left unfilled"},
		{ledger.Flagged{Intent: id, Flag: ledger.ArgumentsChanged, Detail: "executed: 99"}, "flagged ARGUMENTS_CHANGED: executed: 99"},
		{ledger.Asked{Intent: id}, "the harness asked again for the same permission"},
		{ledger.CancelAsked{Intent: id, Origin: who}, "cancel asked by desk through mcp"},
		{ledger.CancelEnded{Intent: id, Outcome: trade.Rejected, Message: "it is filled"}, "cancel rejected: it is filled"},
		{ledger.Approved{Intent: id, Digest: anOrder(t).Digest(), Person: "kim", Channel: "telegram:42", Lapses: at}, "approved by kim through telegram:42"},
		{ledger.ProposalEnded{Intent: id, State: ledger.ApprovalDeclined, By: "person:kim", Channel: "http", Reason: "not\u202enow"}, `declined by person:kim through http: not\u202enow`},
		{ledger.ProposalEnded{Intent: id, State: ledger.ApprovalExpired, By: "sallyport", Reason: "nobody decided in time"}, "lapsed by sallyport: nobody decided in time"},
		{ledger.ProposalEnded{Intent: id, State: ledger.ApprovalWithdrawn, By: "agent:desk", Channel: "mcp"}, "withdrawn by agent:desk through mcp"},
		{ledger.AttemptRefused{Intent: id, Action: "approve", By: "person:lee", Channel: "http", Code: "NOT_AN_APPROVER", Message: "lee is not an approver"}, "refused to approve for person:lee through http, NOT_AN_APPROVER: lee is not an approver"},
	} {
		body := ledger.Encode(c.e)
		if got := eventText(ledger.Entry{Event: c.e.Kind(), Body: body}); got != c.want {
			t.Errorf("%s\nis told as  %s\nand not as  %s", body, got, c.want)
		}
	}
	if got := eventText(ledger.Entry{Event: "strange", Body: []byte("{")}); got != "strange" {
		t.Errorf("an event that cannot be read: %s", got)
	}
}

func TestReasonsOfOneCodeAreToldOnce(t *testing.T) {
	reasons := func(messages ...string) (rs []policy.Reason) {
		for _, m := range messages {
			rs = append(rs, policy.Reason{Code: "X", Message: m})
		}
		return rs
	}
	for want, rs := range map[string][]policy.Reason{
		"side is required":                              reasons("side is required"),
		"side and qty: each is required":                reasons("side is required", "qty is required"),
		"a, b and c: each is not a field; use d":        reasons("a is not a field; use d", "b is not a field; use d", "c is not a field; use d"),
		"a is required; b is wrong":                     reasons("a is required", "b is wrong"),
		"a is required; b is wrong; c is required":      reasons("a is required", "b is wrong", "c is required"),
		"nothing of that kind; nothing of another kind": reasons("nothing of that kind", "nothing of another kind"),
	} {
		if got := sentences(rs); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTablesAndLeadsKeepTheirColumns(t *testing.T) {
	text := table([][]string{{"A", "B"}, {strings.Repeat("x", 60), "one two\nthree"}, {"y", "one\ntwo"}})
	if want := "A" + strings.Repeat(" ", 61) + "B\n" + strings.Repeat("x", 60) + "  one two three\n" + "y" + strings.Repeat(" ", 61) + "one two\n"; text != want {
		t.Errorf("%q", text)
	}
	text = table([][]string{{strings.Repeat("x", 60), "one two three four\nfive"}})
	if want := strings.Repeat("x", 60) + "  one two three four\n" + strings.Repeat(" ", 62) + "five\n"; text != want {
		t.Errorf("%q", text)
	}
	text = hang("  12  at noon  ", "      ", strings.Repeat("word ", 15)+"end")
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if len(line) > width || i == 0 && !strings.HasPrefix(line, "  12  at noon  word") || i > 0 && !strings.HasPrefix(line, "      word") {
			t.Errorf("%q", line)
		}
	}
	text = indent("", strings.Repeat("x", 70)+" 'sallyport audit list' has it, and 'sallyport' too")
	if !strings.Contains(text, "\n'sallyport audit list' has it, and 'sallyport' too\n") {
		t.Errorf("a command is broken: %q", text)
	}
}

func TestNearWordsAreOffered(t *testing.T) {
	names := []string{"order", "orders", "audit", "init", "mcp"}
	for typed, want := range map[string]string{
		"ordr": "order orders", "orde": "order orders", "audti": "audit", "aud": "audit", "INIT": "init", "x": "", "": "", "completely": "", "mcq": "mcp",
	} {
		if got := strings.Join(nearest(typed, names), " "); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

// TestHelpOfEveryCommandHasItsPlace: one without a place would stand before those that are read first. What stands in the
// help as it is written fits the terminal.
func TestHelpOfEveryCommandHasItsPlace(t *testing.T) {
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		wantWidth(t, c.Example)
		var placed, not []string
		for _, sub := range c.Commands() {
			if look(sub); rank(sub.Name()) < 0 {
				not = append(not, sub.Name())
			} else {
				placed = append(placed, sub.Name())
			}
		}
		if len(placed) > 0 && len(not) > 0 {
			t.Errorf("%s: %v have a place in the help, %v have none", c.CommandPath(), placed, not)
		}
	}
	look((&tree{app: &app{getenv: func(string) string { return "" }}}).root())
}
