package hook

import (
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// answer is what a hook says, once. The zero answer passes: no output, exit code 0.
type answer struct {
	stdout []byte // one JSON object and a line feed
	stderr string // for people, and for the model where the exit code denies
	code   int
}

// write delivers the answer. Both pipes are written at once, since a harness may read one before the other. An allow
// that could not be delivered is a denial.
func (a answer) write(stdout, stderr io.Writer) int {
	said := make(chan error, 1)
	if len(a.stdout) > 0 {
		go func() { _, err := stdout.Write(a.stdout); said <- err }()
	} else {
		said <- nil
	}
	told := make(chan struct{})
	tell := func(s string, done chan struct{}) {
		if s != "" {
			_, _ = io.WriteString(stderr, s+"\n") // there is nobody left to tell
		}
		close(done)
	}
	go tell(a.stderr, told)
	patience := time.NewTimer(maxWrite)
	defer patience.Stop()
	delivered := false
	select {
	case err := <-said:
		delivered = err == nil
	case <-patience.C:
	}
	if !delivered && a.code == exitPass {
		a.code = exitDeny
		told = make(chan struct{})
		go tell(string(policy.InternalError)+": the answer could not be written; nothing was allowed", told)
	}
	select {
	case <-told:
	case <-time.After(maxWrite):
	}
	return a.code
}

//limit:hook-reason-chars The reason of a denial is cut at 1,200 characters, with control and bidirectional characters escaped.
const maxReason = 1200

// deny is the denial that all harnesses understand: a union of their shapes on stdout, the reason on stderr, exit code
// 2. The reason is never empty: some harnesses make the call otherwise. ev may be nil.
func deny(ev *event, reason string) answer {
	reason = trade.Printable(strings.TrimSpace(reason), maxReason)
	if reason == "" {
		reason = string(policy.InternalError) + ": denied without a reason"
	}
	name, ask := "PreToolUse", false
	if ev != nil && ev.kind != unknownKind {
		name, ask = ev.name, ev.kind == asked
	}
	dst := append(make([]byte, 0, 1024+10*len(reason)), `{"hookSpecificOutput":{`...)
	dst = wire.AppendText(dst, "hookEventName", name)
	dst = wire.AppendText(dst, "permissionDecision", "deny")
	dst = wire.AppendText(dst, "permissionDecisionReason", reason)
	if ask {
		dst = append(wire.AppendName(dst, "decision"), '{')
		dst = wire.AppendText(wire.AppendText(dst, "behavior", "deny"), "message", reason)
		dst = append(dst, '}')
	}
	dst = append(dst, '}')
	dst = wire.AppendText(wire.AppendText(dst, "decision", "block"), "reason", reason)
	dst = wire.AppendText(wire.AppendText(dst, "action", "block"), "message", reason)
	dst = wire.AppendText(dst, "permission", "deny")
	dst = wire.AppendText(wire.AppendText(dst, "user_message", reason), "agent_message", reason)
	return answer{stdout: append(dst, '}', '\n'), stderr: reason, code: exitDeny}
}

// allow is the harness's own word for a granted call.
//
// Codex takes an allow before a call only together with the input, and fails a hook that says it alone; so the input
// that was judged is said again, which also puts it in place of what another hook made of it. Hermes has no word for
// allow: an object without a veto is one, and a decision tells it from a hook that said nothing.
func allow(h harness, ev *event, d ledger.Decision) answer {
	why := "allowed by the policy; intent " + string(d.Intent)
	dst := make([]byte, 0, 256+len(ev.args))
	switch {
	case ev.kind == asked:
		dst = append(dst, `{"hookSpecificOutput":{`...)
		dst = append(wire.AppendText(dst, "hookEventName", ev.name), `,"decision":{"behavior":"allow"}}}`...)
	case h.name == "gemini" || h.name == "hermes":
		dst = append(dst, `{"decision":"allow"}`...)
	default:
		dst = append(dst, `{"hookSpecificOutput":{`...)
		dst = wire.AppendText(dst, "hookEventName", ev.name)
		dst = wire.AppendText(dst, "permissionDecision", "allow")
		if h.name == "codex" {
			dst = append(wire.AppendName(dst, "updatedInput"), oneLine(ev.args)...)
		} else {
			dst = wire.AppendText(dst, "permissionDecisionReason", why)
		}
		dst = append(dst, '}', '}')
	}
	return answer{stdout: append(dst, '\n'), code: exitPass}
}

// oneLine takes the white space out of arguments that a dialect has read, so that an answer is one line.
func oneLine(args []byte) []byte {
	v := jsontext.Value(append([]byte(nil), args...))
	if err := v.Compact(); err != nil {
		return args // what a dialect read is JSON
	}
	return v
}

// reasonOf says why a decision is not a grant: codes and sentences first, so that a model can repair the call, then
// what would have passed and when to come back.
func reasonOf(d ledger.Decision) string {
	var b strings.Builder
	for _, r := range d.Reasons {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(string(r.Code) + ": " + r.Message)
	}
	switch {
	case d.State == ledger.ApprovalPending && d.Held():
		waiting := "NOT EXECUTED: proposal " + string(d.Intent) + " waits for a person until " + d.Hold.Expires.UTC().Format(ledger.TimeFormat) +
			". Wait: your program makes this call, not the approval, so once it is approved make exactly the same call again"
		if b.Len() > 0 {
			waiting += ". " + b.String()
		}
		return waiting
	case b.Len() > 0:
	case d.Verdict == policy.Hold:
		b.WriteString("NOT EXECUTED: a person must decide")
	case d.Verdict == policy.Allow:
		b.WriteString("ID_REUSED: this call was allowed before and stands at " + string(d.State) + "; it is not made again")
	default:
		b.WriteString(string(policy.InternalError) + ": denied without a reason")
	}
	if d.MaxQuantityNow != nil {
		b.WriteString(". The largest quantity that passes now is " + d.MaxQuantityNow.String())
	}
	if d.RetryAfter > 0 {
		b.WriteString(". Try again in " + d.RetryAfter.String())
	}
	if d.Intent != "" {
		b.WriteString(". Intent " + string(d.Intent))
	}
	return b.String()
}
