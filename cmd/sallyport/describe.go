package main

import (
	"fmt"
	"strings"
	"time"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// clock shows a time in tables: UTC, with the date, to the minute.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// timeHeader heads a column of clocks.
const timeHeader = "TIME (UTC)"

// moment shows a time in full.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000000") + " UTC" }

// stateWord is what became of a decision, in one short word: where the order stands, or why there is none.
func stateWord(d ledger.Decision) string {
	switch s := d.OrderStatus(); {
	case s == "partially_filled":
		return "partial"
	case s != "":
		return s
	case d.State == ledger.Blocked && d.Verdict != policy.Hold:
		return "blocked"
	case d.Verdict == policy.Hold:
		return holdWord(d.State)
	}
	return "allowed"
}

// holdWord says where a proposal stands that people have not had executed.
func holdWord(s ledger.AuditState) string {
	switch s {
	case ledger.ApprovalGranted:
		return "approved"
	case ledger.ApprovalDeclined:
		return "declined"
	case ledger.ApprovalWithdrawn:
		return "withdrawn"
	case ledger.ApprovalExpired:
		return "lapsed" // an order that expired at the venue is another thing
	}
	return "held"
}

// headline says in one or two words what came of a decision.
func headline(d ledger.Decision) string {
	switch s := d.OrderStatus(); {
	case d.Verdict == policy.Deny && s != "":
		return "EXECUTED AFTER DENIAL"
	case d.Verdict == policy.Deny:
		return "DENIED"
	case d.Verdict == policy.Hold:
		return strings.ToUpper(holdWord(d.State))
	case s == "filled":
		return "EXECUTED"
	case s == "partially_filled":
		return "PARTLY FILLED"
	case s != "":
		return strings.ToUpper(s)
	}
	return "ALLOWED"
}

// describe shows one decision to a person.
func describe(d ledger.Decision, p paint) string {
	return describeHead(d, p) + fields(details(d)) + describeUnknown(d)
}

// describeHead shows what was asked, what came of it, and why.
func describeHead(d ledger.Decision, p paint) string {
	var b strings.Builder
	word := headline(d)
	head := hang(word+"  ", strings.Repeat(" ", len(word)+2), pricedLine(d.Order))
	b.WriteString(p.bold(p.verdict(d, word)) + strings.TrimPrefix(head, word))
	for i := 0; i < len(d.Reasons); {
		same := sameCode(d.Reasons[i:])
		b.WriteString("  " + p.bold(string(d.Reasons[i].Code)) + "\n" + indent("    ", sentences(d.Reasons[i:i+same])))
		for _, r := range d.Reasons[i : i+same] {
			if r.Limit != "" && (same == 1 || r.Observed != "unknown") || same == 1 && r.Observed != "" {
				b.WriteString(indent("    ", limits(&r)))
			}
		}
		i += same
	}
	return b.String()
}

// sameCode returns how many reasons at the beginning have the same code.
func sameCode(rs []policy.Reason) int {
	n := 1
	for n < len(rs) && rs[n].Code == rs[0].Code {
		n++
	}
	return n
}

// cannot is how a limit says that a fact is missing.
const cannot = " cannot be judged: "

// sentences puts what reasons of one code say into one sentence: what they all say of a field each is said once.
func sentences(rs []policy.Reason) string {
	var fields, whole []string
	common := ""
	for i := range rs {
		m := reasonText(&rs[i])
		whole = append(whole, m)
		verb := " is "
		if strings.Contains(m, cannot) {
			verb = cannot
		}
		field, rest, ok := strings.Cut(m, verb)
		if !ok || i > 0 && verb+rest != common {
			fields = nil
			common = "\x00" // no reason says that
			continue
		}
		fields, common = append(fields, field), verb+rest
	}
	if n := len(fields); n > 1 && n == len(rs) {
		each := ": each"
		if strings.HasPrefix(common, cannot) {
			each = ""
		}
		return strings.Join(fields[:n-1], ", ") + " and " + fields[n-1] + each + common
	}
	return strings.Join(whole, "; ")
}

// reasonText returns what a reason says. What the gate says of the system and its files holds the words of errors.
func reasonText(r *policy.Reason) string {
	m := printable(r.Message)
	switch r.Code {
	case policy.PolicyUnreadable, policy.JournalUnavailable, policy.InternalError, policy.DaemonUnreachable:
		return plainText(m)
	}
	return m
}

// printable shows a sentence of ours that may hold text from outside, which is not kept whole for looking like a path.
func printable(s string) string {
	words := strings.Split(trade.Printable(s, 600), " ")
	for i, w := range words {
		if isPath(w) {
			words[i] = strings.Join(chop(w, maxWord), " ")
		}
	}
	return strings.Join(words, " ")
}

// maxWord is how long a path in such a sentence may be, so that no line is longer than the output.
//
//limit:cli-path-word A path in a sentence for people is broken after 64 characters.
const maxWord = 64

func limits(r *policy.Reason) string {
	var parts []string
	if r.Limit != "" {
		parts = append(parts, "limit "+show(r.Limit))
	}
	if r.Observed != "" {
		parts = append(parts, "observed "+show(r.Observed))
	}
	return strings.Join(parts, ", ")
}

// row is a name and what stands behind it.
type row struct{ name, value string }

// fields lines up rows and wraps their values; rows without a value are left out.
func fields(rows []row) string {
	widest := 0
	for _, r := range rows {
		if r.value != "" {
			widest = max(widest, len(r.name))
		}
	}
	var b strings.Builder
	margin := strings.Repeat(" ", widest+4)
	for _, r := range rows {
		if r.value != "" {
			b.WriteString("  " + r.name + strings.Repeat(" ", widest-len(r.name)+2) + strings.TrimPrefix(indent(margin, r.value), margin))
		}
	}
	return b.String()
}

// details are the rows below a decision.
func details(d ledger.Decision) []row {
	rows := []row{
		{"filled", filledText(d)},
		{"exits", exitsText(d)},
		{"ended", d.Ended},
		{"outcome", outcomeText(d)},
		{"venue", strings.TrimSpace(show(d.Status) + " " + show(d.OrderID))},
	}
	if d.State != ledger.Succeeded && d.OutcomeBy != ledger.FromPerson {
		name := "message"
		if d.State == ledger.ApprovalDeclined || d.State == ledger.ApprovalWithdrawn {
			name = "reason"
		}
		rows = append(rows, row{"code", show(d.RejectionCode)}, row{name, plainText(printable(d.Message))})
	}
	rows = append(rows, approvalRows(d)...)
	if d.MaxQuantityNow != nil {
		rows = append(rows, row{"would pass", "at most " + d.MaxQuantityNow.String() + " shares, all else equal"})
	}
	if d.RetryAfter > 0 {
		rows = append(rows, row{"try again", "after " + d.RetryAfter.String()})
	}
	if d.Repeated {
		rows = append(rows, row{"repeated", "this id was decided before; nothing was executed again"})
	}
	id := "intent"
	if d.Held() {
		id = "proposal"
	}
	return append(rows,
		row{"flags", strings.Join(d.Flags, ", ")}, row{"client id", show(string(d.ClientOrderID))},
		row{"agent says", printable(d.AgentReason)}, row{id, string(d.Intent)}, row{"state", string(d.State)},
		row{"policy", d.PolicySHA256})
}

// approvalRows are the rows of what concerns people in control: approvals and stops.
func approvalRows(d ledger.Decision) (rows []row) {
	for _, s := range d.Stops {
		rows = append(rows, row{"stopped", stopText(s)})
	}
	if !d.Held() {
		return rows
	}
	if d.State == ledger.ApprovalPending || d.State == ledger.ApprovalGranted {
		rows = append(rows, row{"expires", moment(d.Hold.Expires)})
	}
	if d.Hold.Approvers > 1 {
		rows = append(rows, row{"needs", fmt.Sprintf("%d persons", d.Hold.Approvers)})
	}
	var names []string
	for _, n := range d.ApprovedBy {
		names = append(names, show(n))
	}
	return append(rows, row{"approved by", strings.Join(names, ", ")}, row{"ended by", show(d.EndedBy)})
}

// stopText says what a kill switch covers, who engaged it, since when, and why.
func stopText(s ledger.Stop) string {
	since := ""
	if !s.Since.IsZero() {
		since = " since " + clock(s.Since) + " UTC"
	}
	return s.Scope.String() + ", by " + show(s.By) + since + ": " + printable(s.Reason)
}

// filledText says how much of an order is filled, where a venue tells us.
func filledText(d ledger.Decision) string {
	whole := d.Order.Quantity().String()
	if d.Order.ByAmount() {
		whole = "the shares that " + d.Order.Amount().Money() + " USD buy"
	}
	switch s := d.OrderStatus(); {
	case s == "filled":
		return d.Filled.String() + " at " + d.FillPrice.Money()
	case d.Filled.Sign() > 0 && s == "partially_filled":
		return d.Filled.String() + " of " + whole + ", the last at " + d.FillPrice.Money() + "; the rest is working"
	case d.Filled.Sign() > 0:
		return d.Filled.String() + " of " + whole + ", the last at " + d.FillPrice.Money()
	case s == "working":
		return "nothing yet; the order is working"
	case s == "cancelled" || s == "expired":
		return "nothing"
	}
	return ""
}

// exitsText says what became of the exits of an order that brought some, once it was filled.
func exitsText(d ledger.Decision) string {
	if !d.Order.HasExits() || d.Filled.Sign() == 0 {
		return ""
	}
	text := "working"
	if d.Exited.Sign() > 0 {
		text = "sold " + d.Exited.String() + " of " + d.Filled.String() + ", the last at " + d.ExitPrice.Money()
	}
	if d.ExitsEnded != "" {
		text += "; " + d.ExitsEnded
	}
	return text
}

// outcomeText says what is known of an order that no venue of ours has, and who settled an outcome.
func outcomeText(d ledger.Decision) string {
	who := ""
	switch d.OutcomeBy {
	case ledger.FromPerson:
		who = ", as settled by " + show(d.ResolvedBy) + ": " + printable(d.Message)
	case ledger.FromReport:
		who = ", as the harness reported"
	case ledger.FromBroker, ledger.FromLookup, ledger.FromGate:
	}
	switch s := d.OrderStatus(); {
	case s == "accepted":
		return "accepted at the venue" + who + "; its fills are not told to Sallyport"
	case s == "rejected" && who != "":
		return "rejected" + who
	case s == "permitted":
		return "the harness may make the call; nothing is known of it yet"
	}
	return ""
}

// resolveCommand is what settles an unknown outcome.
func resolveCommand(id trade.IntentID) string {
	return fmt.Sprintf("sallyport audit resolve %s accepted --reason TEXT", id)
}

// describeUnknown says what to do about an unknown outcome.
func describeUnknown(d ledger.Decision) string {
	if d.State != ledger.OutcomeUnknown {
		return ""
	}
	return indent("  ", "Whether it executed is not known; its exposure stays reserved. Look at the broker, then settle it, as accepted or rejected:") +
		"    " + resolveCommand(d.Intent) + "\n"
}

// orderLine says what an order asks in a few words.
func orderLine(o trade.Order) string { return o.Line() }

// pricedLine adds what the order is worth, as far as its own terms say.
func pricedLine(o trade.Order) string {
	if worth, known := o.Notional(); known && !o.ByAmount() {
		return o.Line() + ", " + worth.Money() + " in all"
	}
	return o.Line()
}
