package rest

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strconv"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// The codes that only this surface has.
const (
	HostForeign         trade.Code = "HOST_FOREIGN"
	OriginForeign       trade.Code = "ORIGIN_FOREIGN"
	TierMalformed       trade.Code = "TIER_MALFORMED"
	RateExceeded        trade.Code = "RATE_EXCEEDED"
	CallsExceedLimit    trade.Code = "CALLS_EXCEED_LIMIT"
	PathUnknown         trade.Code = "PATH_UNKNOWN"
	MethodNotAllowed    trade.Code = "METHOD_NOT_ALLOWED"
	ContentTypeWrong    trade.Code = "CONTENT_TYPE_WRONG"
	QueryMalformed      trade.Code = "QUERY_MALFORMED"
	BodyIncomplete      trade.Code = "BODY_INCOMPLETE"
	IntentUnknown       trade.Code = "INTENT_UNKNOWN"
	QuoteUnavailable    trade.Code = "QUOTE_UNAVAILABLE"
	BrokerUnavailable   trade.Code = "BROKER_UNAVAILABLE"
	SocketAgentMismatch trade.Code = "SOCKET_AGENT_MISMATCH"
)

// Codes returns the published table of the codes that only this surface has.
func Codes() []trade.CodeRow {
	return []trade.CodeRow{
		{Code: HostForeign, Meaning: "The Host header names another host than this listener.", Repair: "Call the listener by its own address; the operator can configure more names."},
		{Code: OriginForeign, Meaning: "A web page of another origin made the request.", Repair: "Nothing in a browser may call this API but its own pages."},
		{Code: TierMalformed, Meaning: "The header X-Sallyport-Tier is not exactly one of 0, 1 and 2, or is there more than once.", Repair: "Send one digit, or leave the header out."},
		{Code: RateExceeded, Meaning: "This caller makes calls faster than it may.", Repair: "Come back after the time in Retry-After."},
		{Code: CallsExceedLimit, Meaning: "Too many calls of this caller are unanswered.", Repair: "Wait for their answers."},
		{Code: PathUnknown, Meaning: "There is no such path on this listener.", Repair: "See /v1/openapi.json."},
		{Code: MethodNotAllowed, Meaning: "The path does not have this method.", Repair: "Use one that the Allow header names."},
		{Code: ContentTypeWrong, Meaning: "The body is not declared as application/json, or is encoded.", Repair: "Send plain JSON with Content-Type: application/json."},
		{Code: QueryMalformed, Meaning: "A part of the query is unknown, is there more than once, or cannot be read.", Repair: "See /v1/openapi.json."},
		{Code: BodyIncomplete, Meaning: "The body did not arrive in time or not whole.", Repair: "Send it again; nothing was done."},
		{Code: IntentUnknown, Meaning: "There is no such intent, or it is not this agent's to see.", Repair: "Use an intent_id of your own."},
		{Code: QuoteUnavailable, Meaning: "The market shows nothing of this symbol, or cannot be asked.", Repair: "Ask for another symbol, or later."},
		{Code: BrokerUnavailable, Meaning: "The broker could not be asked.", Repair: "Ask again later; the operator finds the cause in the log."},
		{Code: SocketAgentMismatch, Meaning: "The token is another agent's than the one that the socket belongs to.", Repair: "Use the socket without a token, or another listener."},
	}
}

// problem is an error as RFC 9457 has it, with a stable code.
type problem struct {
	code     trade.Code
	detail   string
	faults   []trade.Fault
	retry    time.Duration
	tier     *ledger.TierGap
	decision *ledger.Decision // as it stands, where there is one
	allow    string           // of a wrong method
	close    bool             // the connection is of no more use
}

// statusOf translates a code to HTTP. A code without a row is a refusal to do what was asked: 409.
func statusOf(c trade.Code) int {
	switch c {
	case policy.TokenUnknown, policy.PersonUnknown:
		return http.StatusUnauthorized
	case policy.TierTooLow, policy.NotAnApprover, policy.NotTheOwner, policy.OrderNotYours, OriginForeign,
		SocketAgentMismatch:
		return http.StatusForbidden
	case PathUnknown, policy.ProposalUnknown, policy.NameUnknown, IntentUnknown, QuoteUnavailable:
		return http.StatusNotFound
	case MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case HostForeign:
		return http.StatusMisdirectedRequest
	case ContentTypeWrong:
		return http.StatusUnsupportedMediaType
	case trade.BodyTooLarge:
		return http.StatusRequestEntityTooLarge
	case RateExceeded, CallsExceedLimit:
		return http.StatusTooManyRequests
	case QueryMalformed, TierMalformed, BodyIncomplete, trade.JSONMalformed, trade.FieldUnknown, trade.FieldDuplicate,
		trade.FieldMissing, trade.FieldTypeWrong:
		return http.StatusBadRequest
	case policy.NameMalformed, policy.ReasonMissing, policy.ScopeUnknown, policy.ReductionNotVerified:
		return http.StatusUnprocessableEntity
	case policy.InternalError:
		return http.StatusInternalServerError
	case BrokerUnavailable:
		return http.StatusBadGateway
	case policy.JournalUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusConflict
}

func (p *problem) answer() answer {
	status := statusOf(p.code)
	dst := wire.AppendText([]byte{'{'}, "type", "about:blank")
	dst = wire.AppendText(dst, "title", http.StatusText(status))
	dst = strconv.AppendInt(wire.AppendName(dst, "status"), int64(status), 10)
	dst = wire.AppendText(wire.AppendText(dst, "code", string(p.code)), "detail", p.detail)
	if p.tier != nil {
		dst = wire.AppendText(dst, "error", "permission_denied")
		dst = append(wire.AppendName(dst, "required_tier"), p.tier.Required.String()...)
		dst = append(wire.AppendName(dst, "current_tier"), p.tier.Current.String()...)
	}
	if p.retry > 0 {
		dst = wire.AppendText(dst, "retry_after", p.retry.String())
	}
	if len(p.faults) > 0 {
		dst = appendFaults(wire.AppendName(dst, "faults"), p.faults)
	}
	if p.decision != nil {
		dst = p.decision.AppendJSON(wire.AppendName(dst, "decision"))
	}
	return answer{
		status: status, kind: "application/problem+json", body: append(dst, '}'), retry: p.retry, allow: p.allow, close: p.close,
	}
}

func appendFaults(dst []byte, faults []trade.Fault) []byte {
	return appendList(dst, faults, func(dst []byte, f trade.Fault) []byte {
		dst = wire.AppendText(append(dst, '{'), "code", string(f.Code))
		dst = wire.AppendOptional(wire.AppendOptional(dst, "field", f.Field), "observed", f.Observed)
		return append(wire.AppendText(dst, "message", f.Message), '}')
	})
}

func appendList[T any](dst []byte, all []T, each func([]byte, T) []byte) []byte {
	dst = append(dst, '[')
	for i, x := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = each(dst, x)
	}
	return append(dst, ']')
}

// faulty is the problem of a body that is not what was asked.
func faulty(faults []trade.Fault) *problem {
	return &problem{code: faults[0].Code, detail: faults[0].Message, faults: faults}
}

// failed translates an error of the gate. d is the decision as it stands, where the gate told.
func (q *request) failed(err error, d ledger.Decision) *problem {
	p := &problem{code: policy.JournalUnavailable, detail: "the journal cannot be used now", retry: retrySoon}
	var r *gate.Refusal
	switch {
	case errors.As(err, &r):
		p = &problem{code: r.Code, detail: r.Message, tier: r.Tier}
	case errors.Is(err, fs.ErrNotExist):
		return &problem{code: IntentUnknown, detail: "there is no such intent"}
	case errors.Is(err, gate.ErrNoOpenOrder):
		return &problem{code: policy.OrderNotOpen, detail: "there is no such order that is open at the broker"}
	case errors.Is(err, gate.ErrDaemonRequired):
		return &problem{code: policy.DaemonRequired, detail: err.Error()}
	case errors.Is(err, context.Canceled):
		return &problem{code: BodyIncomplete, detail: "the caller has gone", close: true}
	default:
		q.api.cfg.Log.Error("a call failed", "path", q.route.path, "cause", err)
	}
	if q.agent == "" && r == nil { // people repair it, so they are told the cause
		p.detail = trade.Printable(err.Error(), 300)
	}
	if d.State != "" {
		p.decision = &d
	}
	return p
}
