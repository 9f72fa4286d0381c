// Package ledger holds the events of trading, the state that they fold to, and what is read out of it: reservations,
// positions, and one decision object an intent. State.Apply is the only transition. It is pure.
package ledger

import (
	"strconv"
	"time"

	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// AuditState is where an intent stands, in the words that outside programs rely on.
type AuditState string

// The audit states.
const (
	Blocked        AuditState = "EXECUTION_BLOCKED"
	Allowed        AuditState = "EXECUTION_ALLOWED"
	Succeeded      AuditState = "EXECUTION_SUCCEEDED"
	Failed         AuditState = "EXECUTION_FAILED"
	OutcomeUnknown AuditState = "EXECUTION_OUTCOME_UNKNOWN"

	ApprovalPending   AuditState = "APPROVAL_PENDING"
	ApprovalGranted   AuditState = "APPROVAL_GRANTED"
	ApprovalDeclined  AuditState = "APPROVAL_DECLINED"
	ApprovalWithdrawn AuditState = "APPROVAL_WITHDRAWN"
	ApprovalExpired   AuditState = "APPROVAL_EXPIRED" // also an approval that lapsed unused
)

// AuditStates returns every state, in the order of an intent's life.
func AuditStates() []AuditState {
	return []AuditState{
		Blocked, ApprovalPending, ApprovalGranted, ApprovalDeclined, ApprovalWithdrawn, ApprovalExpired, Allowed, Succeeded, Failed,
		OutcomeUnknown,
	}
}

// Decision is the decision object, the same on every surface. Members are only ever added.
type Decision struct {
	Verdict       policy.Effect
	State         AuditState
	Intent        trade.IntentID // empty for a dry run
	ToolCallID    trade.ToolCallID
	ClientOrderID trade.ClientOrderID
	Agent         trade.Agent
	Surface       string
	Tool          string
	Order         trade.Order // zero: the input was no order, and the reasons are faults
	Reasons       []policy.Reason
	PolicySHA256  string // 64 hexadecimal digits; empty if the policy could not be read
	At            time.Time

	// Optional members, absent when zero.
	Status         string         // of the venue: SUCCESS or ERROR
	OrderID        string         // the venue's own id
	Message        string         // the venue's words, or a person's
	MaxQuantityNow *trade.Decimal // the largest quantity that would have passed
	RetryAfter     time.Duration  // when time cures it
	Repeated       bool           // this id was decided before; nothing was executed
	Error          string         // journal_unavailable and the like
	RejectionCode  string         // the venue's code of its rejection
	AgentReason    string         // the agent's own words; untrusted
	Flags          []string       // what the record holds against the call, such as ARGUMENTS_CHANGED
	Filled         trade.Decimal  // shares, as the venue's events tell
	FillPrice      trade.Decimal  // of the last fill
	Spent          trade.Decimal  // dollars that the fills came to
	Exited         trade.Decimal  // shares that the order's exits sold, as the venue's events tell
	ExitPrice      trade.Decimal  // of the last of them
	ExitsEnded     string         // cancelled or expired, of exits that were left
	Ended          string         // cancelled or expired, of what was left unfilled
	OutcomeBy      Source         // who knew the outcome
	Works          bool           // by a person's word, at a venue that tells its end
	ResolvedBy     string         // the person who settled it
	Hold           Hold           // of a held order: until when, and how many people must approve
	ApprovedBy     []string       // the people who have approved
	EndedBy        string         // who declined or withdrew a proposal
	Stops          []Stop         // the engaged kill switches that stopped the call
	Tier           *TierGap       // the tier that the call needs and the caller does not have

	// Not shown: what later events and the clock make of it.
	Account trade.Account
	Origin  Origin
	Clears  Clearance
	Pending Pending
	Ran     bool // something was executed in the place of the call, or the call without being allowed, and is counted
}

// TierGap says which tier a call needs and which its caller has.
type TierGap struct{ Required, Current trade.Tier }

// TimeFormat is how times are written: UTC, RFC 3339, microseconds.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

// AppendJSON appends the decision object.
func (d Decision) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	dst = wire.AppendText(dst, "verdict", d.Verdict.String())
	dst = wire.AppendText(dst, "state", string(d.State))
	dst = appendNullable(dst, "intent_id", string(d.Intent))
	dst = appendNullable(dst, "tool_call_id", string(d.ToolCallID))
	dst = appendNullable(dst, "client_order_id", string(d.ClientOrderID))
	dst = wire.AppendText(dst, "agent", string(d.Agent))
	dst = wire.AppendText(dst, "surface", d.Surface)
	dst = wire.AppendOptional(dst, "tool", d.Tool)
	digest, notional := "", ""
	if !d.Order.IsZero() {
		digest = d.Order.Digest().String()
		if worth, known := d.Order.Notional(); known {
			notional = worth.Money()
		}
	}
	dst = appendNullable(dst, "digest", digest)
	dst = d.Order.AppendJSON(wire.AppendName(dst, "order"))
	dst = appendNullable(dst, "notional", notional)
	dst = AppendReasons(wire.AppendName(dst, "reasons"), d.Reasons)
	dst = appendNullable(dst, "policy_sha256", d.PolicySHA256)
	dst = appendTime(dst, "at", d.At)
	return append(d.appendOptional(dst), '}')
}

func (d Decision) appendOptional(dst []byte) []byte {
	dst = wire.AppendOptional(dst, "status", d.Status)
	dst = wire.AppendOptional(dst, "order_id", d.OrderID)
	dst = wire.AppendOptional(dst, "message", d.Message)
	dst = wire.AppendOptional(dst, "rejection_code", d.RejectionCode)
	dst = wire.AppendOptional(dst, "order_status", d.OrderStatus())
	if d.tracked() {
		dst = appendDecimal(dst, "filled_quantity", d.Filled)
	}
	if d.Filled.Sign() > 0 {
		dst = appendMoney(dst, "fill_price", d.FillPrice)
		if d.Order.ByAmount() {
			dst = appendMoney(dst, "spent", d.Spent)
		}
	}
	if d.Exited.Sign() > 0 {
		dst = appendMoney(appendDecimal(dst, "exit_filled_quantity", d.Exited), "exit_fill_price", d.ExitPrice)
	}
	dst = wire.AppendOptional(dst, "exits_ended", d.ExitsEnded)
	dst = wire.AppendOptional(dst, "ended", d.Ended)
	dst = wire.AppendOptional(dst, "outcome_by", string(d.OutcomeBy))
	dst = wire.AppendOptional(dst, "resolved_by", d.ResolvedBy)
	if d.MaxQuantityNow != nil {
		dst = wire.AppendText(dst, "max_quantity_now", d.MaxQuantityNow.String())
	}
	if d.RetryAfter > 0 {
		dst = wire.AppendText(dst, "retry_after", d.RetryAfter.String())
	}
	dst = appendFlag(dst, "repeated", d.Repeated)
	dst = wire.AppendOptional(dst, "error", d.Error)
	dst = d.appendControl(dst)
	dst = wire.AppendOptional(dst, "agent_reason", d.AgentReason)
	if len(d.Flags) > 0 {
		dst = appendTexts(dst, "flags", d.Flags)
	}
	return dst
}

// appendControl appends what concerns tiers, stops and approvals.
func (d Decision) appendControl(dst []byte) []byte {
	if d.Tier != nil {
		dst = append(wire.AppendName(dst, "required_tier"), d.Tier.Required.String()...)
		dst = append(wire.AppendName(dst, "current_tier"), d.Tier.Current.String()...)
	}
	if len(d.Stops) > 0 {
		dst = AppendStops(wire.AppendName(dst, "stops"), d.Stops)
	}
	if !d.Held() {
		return dst
	}
	dst = wire.AppendText(dst, "proposal_id", string(d.Intent))
	dst = appendTime(dst, "expires_at", d.Hold.Expires)
	dst = strconv.AppendInt(wire.AppendName(dst, "approvals_required"), int64(d.Hold.Approvers), 10)
	if len(d.ApprovedBy) > 0 {
		dst = appendTexts(dst, "approved_by", d.ApprovedBy)
	}
	return wire.AppendOptional(dst, "ended_by", d.EndedBy)
}

// Held reports whether the order is or was a proposal.
func (d Decision) Held() bool { return !d.Hold.Expires.IsZero() }

// AppendStops appends engaged kill switches as every surface shows them.
func AppendStops(dst []byte, stops []Stop) []byte {
	dst = append(dst, '[')
	for i, s := range stops {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendText(append(dst, '{'), "scope", s.Scope.String())
		dst = wire.AppendText(wire.AppendText(dst, "by", s.By), "reason", s.Reason)
		dst = append(appendFlag(appendFlag(appendTime(dst, "since", s.Since), "keep", s.Keep), "all", s.All), '}')
	}
	return append(dst, ']')
}

func appendTexts(dst []byte, name string, texts []string) []byte {
	dst = append(wire.AppendName(dst, name), '[')
	for i, t := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendString(dst, t)
	}
	return append(dst, ']')
}

func appendMoney(dst []byte, name string, d trade.Decimal) []byte {
	return append(d.AppendMoney(append(wire.AppendName(dst, name), '"')), '"')
}

func appendNullable(dst []byte, name, value string) []byte {
	if value == "" {
		return append(wire.AppendName(dst, name), "null"...)
	}
	return wire.AppendText(dst, name, value)
}

// AppendReasons appends reasons as the decision object carries them.
func AppendReasons(dst []byte, rs []policy.Reason) []byte {
	dst = append(dst, '[')
	for i, r := range rs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendText(append(dst, '{'), "code", string(r.Code))
		dst = wire.AppendOptional(dst, "field", r.Field)
		dst = wire.AppendOptional(dst, "limit", r.Limit)
		dst = wire.AppendOptional(dst, "observed", r.Observed)
		dst = wire.AppendOptional(wire.AppendText(dst, "message", r.Message), "rule", r.Rule)
		dst = append(appendFlag(dst, "hold", r.Hold), '}')
	}
	return append(dst, ']')
}

// Entry is one event of an intent's history as it is shown.
type Entry struct {
	Seq   uint64
	At    time.Time
	State AuditState // of the intent after the event
	Event string     // its kind, such as decided or concluded
	Body  []byte     // the record's bytes, JSON
	Hash  string     // 64 hexadecimal digits
}
