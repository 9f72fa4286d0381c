package mcp

import (
	"errors"
	"fmt"
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
func shown(d ledger.Decision) Result { return plain(d.AppendJSON(nil), false) }

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

// stopped answers a call that the kill switch stops.
func stopped(stops []ledger.Stop) Result {
	dst := wire.AppendText([]byte{'{'}, "error", "killswitch_active")
	dst = ledger.AppendStops(wire.AppendName(dst, "stops"), stops)
	var reasons []policy.Reason
	for _, s := range stops {
		reasons = append(reasons, policy.Reason{
			Code: policy.KillSwitchActive, Field: s.Scope.String(),
			Message: fmt.Sprintf("the kill switch of %s is engaged by %s: %s", s.Scope, trade.Printable(s.By, 64), trade.Printable(s.Reason, 200)),
		})
	}
	return plain(appendRefusal(dst, reasons), true)
}

// failed answers a call that the gate refused beside a decision, or could not answer.
func (t *Tools) failed(tool string, err error) Result {
	var r *gate.Refusal
	if !errors.As(err, &r) {
		t.cfg.Log.Error("a tool cannot be answered", "tool", tool, "error", err)
		return refused(policy.Reason{Code: policy.JournalUnavailable, Message: "the journal cannot be used now; the operator finds the cause in the log"})
	}
	dst := []byte{'{'}
	if r.Tier != nil {
		dst = wire.AppendText(dst, "error", "permission_denied")
		dst = append(wire.AppendName(dst, "required_tier"), r.Tier.Required.String()...)
		dst = append(wire.AppendName(dst, "current_tier"), r.Tier.Current.String()...)
	}
	return plain(appendRefusal(dst, []policy.Reason{{Code: r.Code, Message: r.Message}}), true)
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
