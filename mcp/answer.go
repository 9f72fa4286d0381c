package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// decided shows the decision on an order. Only a venue's acceptance, and an order that still waits for people, is no
// error: everything else is for the model to notice.
func decided(d ledger.Decision) Result {
	r := plain(d.AppendJSON(nil), d.State != ledger.Succeeded || d.Verdict != policy.Allow)
	why := notExecuted(d)
	if why == "" {
		return r
	}
	if d.State == ledger.ApprovalPending || d.State == ledger.ApprovalGranted {
		r.IsError = false
	}
	r.Text = "NOT EXECUTED: " + why + "\n" + r.Text
	return r
}

// notExecuted says where a held order stands that was not executed; it is empty for every other.
func notExecuted(d ledger.Decision) string {
	switch d.State {
	case ledger.ApprovalPending:
		return "a person must decide first."
	case ledger.ApprovalGranted:
		return "it is approved and not executed yet."
	case ledger.ApprovalDeclined:
		return "a person declined it."
	case ledger.ApprovalWithdrawn:
		return "it was withdrawn."
	case ledger.ApprovalExpired:
		return "its time was over before it was approved and executed."
	}
	return ""
}

// shown is a decision that somebody looks at: that worked, whatever the decision is.
// Only where there was nobody to ask is there nothing to look at.
func shown(d ledger.Decision) Result {
	return plain(d.AppendJSON(nil), d.Error == noAnswer[policy.DaemonUnreachable])
}

func plain(object []byte, isError bool) Result {
	return Result{JSON: object, Text: string(object), IsError: isError}
}

// refused answers a call whose arguments cannot be taken, or that cannot be answered.
func refused(reasons ...policy.Reason) Result {
	return plain(appendRefusal([]byte{'{'}, reasons), true)
}

func appendRefusal(dst []byte, reasons []policy.Reason) []byte {
	return append(ledger.AppendReasons(wire.AppendName(dst, "reasons"), reasons), '}')
}

// stopped answers a call that the kill switch stops, with the tools that this process has left.
func (t *Tools) stopped(stops []ledger.Stop) Result {
	dst := wire.AppendText([]byte{'{'}, "error", "killswitch_active")
	dst = ledger.AppendStops(wire.AppendName(dst, "stops"), stops)
	var reasons []policy.Reason
	for _, s := range stops {
		reasons = append(reasons, policy.Reason{
			Code: policy.KillSwitchActive, Field: s.Scope.String(),
			Message: fmt.Sprintf("the kill switch of %s is engaged by %s: %s", s.Scope, trade.Printable(s.By, 64), trade.Printable(s.Reason, 200)),
		})
	}
	reasons[len(reasons)-1].Message += "; " + t.left()
	return plain(appendRefusal(dst, reasons), true)
}

// left names the tools that still work while everything is stopped.
func (t *Tools) left() string {
	return "until a person resets it only " + whileEverythingStops(t.cfg.Tier) + " work"
}

// failed answers a call that the gate refused beside a decision, or could not answer.
func (t *Tools) failed(tool string, err error) Result {
	var r *gate.Refusal
	var silent unanswered
	switch {
	case errors.As(err, &r):
	case errors.As(err, &silent):
		t.cfg.Log.Error("the daemon does not answer", "tool", tool, "error", err)
		r = &gate.Refusal{Code: policy.DaemonUnreachable, Message: t.silence(tool, silent.Unanswered())}
	default:
		t.cfg.Log.Error("a tool cannot be answered", "tool", tool, "error", err)
		r = &gate.Refusal{Code: policy.JournalUnavailable, Message: "the journal cannot be used now; the operator finds the cause in the log"}
	}
	dst := []byte{'{'}
	switch {
	case r.Tier != nil:
		dst = wire.AppendText(dst, "error", "permission_denied")
		dst = append(wire.AppendName(dst, "required_tier"), r.Tier.Required.String()...)
		dst = append(wire.AppendName(dst, "current_tier"), r.Tier.Current.String()...)
	case noAnswer[r.Code] != "":
		dst = wire.AppendText(dst, "error", noAnswer[r.Code])
	}
	return plain(appendRefusal(dst, []policy.Reason{{Code: r.Code, Message: r.Message}}), true)
}

// noAnswer are the codes that say that nothing could be asked, with the word of the member error.
var noAnswer = map[trade.Code]string{
	policy.DaemonUnreachable:  "daemon_unreachable",
	policy.JournalUnavailable: "journal_unavailable",
}

// unanswered is the error of a gate that another process owns and that does not answer.
type unanswered interface {
	error
	// Unanswered reports whether the call may have been carried out all the same.
	Unanswered() (mayBeDone bool)
}

// silence says what a call without an answer means.
func (t *Tools) silence(tool string, mayBeDone bool) string {
	const down = "the daemon does not answer"
	reads := slices.ContainsFunc(t.rows, func(row Tool) bool { return row.Name == tool && row.ReadOnly })
	switch {
	case tool == "kill_switch_engage":
		return down + ", so the kill switch may not be engaged; tell the operator at once, who can stop everything with sallyport kill, and try again"
	case reads:
		return down + ", so nothing can be looked up and no order is taken; tell the operator, and try again later"
	case mayBeDone:
		return down + ", so whether it was done is not known; look it up with trade_audit when it answers again"
	}
	return down + ", so nothing was done; tell the operator, and try again later"
}

// appendEach appends the members of an array, one after another.
func appendEach[T any](dst []byte, name string, all []T, one func([]byte, T) []byte) []byte {
	dst = append(wire.AppendName(dst, name), '[')
	for i, v := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, v)
	}
	return append(dst, ']')
}

// stateNames lists the audit states for a schema.
func stateNames() string {
	var names []string
	for _, s := range ledger.AuditStates() {
		names = append(names, `"`+string(s)+`"`)
	}
	return strings.Join(names, ",")
}
