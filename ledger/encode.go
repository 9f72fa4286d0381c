package ledger

import (
	"strconv"
	"time"

	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// Encode returns the bytes that the journal stores for an event: JSON with fixed member order, version 1. Written by
// hand, since every decision pays for it and the bytes are hashed.
func Encode(e Event) []byte { return AppendEvent(make([]byte, 0, 1024), e) }

// AppendEvent appends what Encode returns.
func AppendEvent(dst []byte, e Event) []byte {
	dst = append(dst, `{"v":1,"kind":"`...)
	dst = append(dst, e.Kind()...)
	dst = append(dst, '"')
	if id := e.About(); id != "" {
		dst = wire.AppendText(dst, "intent", string(id))
	}
	return append(e.append(dst), '}')
}

func (e Decided) append(dst []byte) []byte {
	dst = appendOrigin(dst, e.Origin)
	dst = wire.AppendText(dst, "account", string(e.Account))
	if e.Input == nil {
		dst = e.Order.AppendJSON(wire.AppendName(dst, "order"))
		d := e.Order.Digest()
		dst = wire.AppendText(dst, "digest", d.String())
	} else {
		dst = append(wire.AppendName(dst, "input"), '{')
		dst = strconv.AppendInt(wire.AppendName(dst, "length"), int64(e.Input.Length), 10)
		dst = wire.AppendText(dst, "sha256", e.Input.SHA256)
		dst = append(wire.AppendText(dst, "head", e.Input.Head), '}')
	}
	dst = wire.AppendOptional(dst, "client_order_id", string(e.ClientOrderID))
	dst = wire.AppendOptional(dst, "agent_reason", e.AgentReason)
	dst = appendRuling(dst, e.Ruling)
	if e.Clears != ClearsNothing {
		dst = wire.AppendText(dst, "clears", e.Clears.String())
	}
	switch e.Clears {
	case ClearsSend, ClearsPermission:
		dst = appendPending(dst, e.Pending)
	case ClearsApproval:
		dst = appendHold(dst, e.Hold)
	case ClearsNothing:
	}
	return appendFlag(dst, "asked", e.Asked)
}

func (e Rejudged) append(dst []byte) []byte {
	dst = wire.AppendText(appendOrigin(dst, e.Origin), "account", string(e.Account))
	dst = e.Order.AppendJSON(wire.AppendName(dst, "order"))
	dst = wire.AppendOptional(dst, "client_order_id", string(e.ClientOrderID))
	dst = appendTime(dst, "first_at", e.FirstAt)
	dst = appendRuling(dst, e.Ruling)
	if e.Ruling.Effect != policy.Allow {
		return dst
	}
	if e.Clears != ClearsSend { // a record of the first version says nothing, and means a send
		dst = wire.AppendText(dst, "clears", e.Clears.String())
	}
	return appendPending(dst, e.Pending)
}

func (e Concluded) append(dst []byte) []byte {
	dst = wire.AppendText(dst, "outcome", e.Outcome.String())
	dst = wire.AppendText(dst, "source", string(e.Source))
	dst = wire.AppendOptional(dst, "status", e.Status)
	dst = wire.AppendOptional(dst, "order_id", e.OrderID)
	dst = wire.AppendOptional(dst, "code", e.Code)
	dst = wire.AppendOptional(dst, "message", e.Message)
	return appendFlag(wire.AppendOptional(dst, "by", e.By), "works", e.Works)
}

func (e Happened) append(dst []byte) []byte {
	dst = wire.AppendText(dst, "account", string(e.Account))
	dst = strconv.AppendUint(wire.AppendName(dst, "number"), e.Number, 10)
	dst = wire.AppendText(dst, "what", e.What)
	dst = wire.AppendText(dst, "symbol", e.Symbol.String())
	dst = wire.AppendText(dst, "side", e.Side.String())
	dst = appendDecimal(dst, "quantity", e.Quantity)
	if e.What == WasFilled {
		dst = append(e.Price.AppendMoney(append(wire.AppendName(dst, "price"), '"')), '"')
	}
	return dst
}

func (e Flagged) append(dst []byte) []byte {
	return wire.AppendOptional(wire.AppendText(dst, "flag", e.Flag), "detail", e.Detail)
}

func (e Asked) append(dst []byte) []byte { return dst }

func (e CancelAsked) append(dst []byte) []byte {
	dst = appendFlag(appendTime(appendOrigin(dst, e.Origin), "not_after", e.NotAfter), "wanted", e.Wanted)
	return appendFlag(dst, "exits", e.Exits)
}

func (e CancelEnded) append(dst []byte) []byte {
	return wire.AppendOptional(wire.AppendText(dst, "outcome", e.Outcome.String()), "message", e.Message)
}

func appendOrigin(dst []byte, o Origin) []byte {
	dst = wire.AppendText(dst, "agent", string(o.Agent))
	dst = wire.AppendText(dst, "surface", o.Surface)
	dst = wire.AppendOptional(dst, "harness", string(o.Harness))
	dst = wire.AppendOptional(dst, "session", string(o.Session))
	dst = wire.AppendOptional(dst, "tool", o.Tool)
	return wire.AppendOptional(dst, "tool_call_id", string(o.ToolCallID))
}

func appendRuling(dst []byte, r Ruling) []byte {
	dst = wire.AppendText(dst, "verdict", r.Effect.String())
	if len(r.Reasons) > 0 {
		dst = AppendReasons(wire.AppendName(dst, "reasons"), r.Reasons)
	}
	if r.MaxQuantity != nil {
		dst = appendDecimal(dst, "max_quantity_now", *r.MaxQuantity)
	}
	dst = wire.AppendOptional(dst, "policy_sha256", r.PolicySHA256)
	if f := r.Facts; f != nil {
		dst = append(wire.AppendName(dst, "facts"), '{')
		if f.PositionKnown {
			dst = appendDecimal(dst, "position", f.Position)
		}
		dst = appendDecimal(dst, "pending_buys", f.PendingBuys)
		dst = append(appendDecimal(dst, "pending_sells", f.PendingSells), '}')
	}
	if !r.RetryAt.IsZero() {
		dst = appendTime(dst, "retry_at", r.RetryAt)
	}
	return appendKnown(appendMatched(dst, r.Rules, r.Value), "shares", r.Shares)
}

// appendMatched appends what a policy of version 2 adds; what it does not add has no bytes.
func appendMatched(dst []byte, rules []string, value trade.Decimal) []byte {
	if len(rules) > 0 {
		dst = appendTexts(dst, "rules", rules)
	}
	if value.Sign() != 0 {
		dst = appendDecimal(dst, "value", value)
	}
	return dst
}

func appendPending(dst []byte, p Pending) []byte {
	if !p.NotAfter.IsZero() {
		dst = appendTime(dst, "not_after", p.NotAfter)
	}
	dst = appendTime(dst, "deadline", p.Deadline)
	return wire.AppendOptional(dst, "instance", p.Instance)
}

func appendDecimal(dst []byte, name string, d trade.Decimal) []byte {
	return append(d.Append(append(wire.AppendName(dst, name), '"')), '"')
}

func appendTime(dst []byte, name string, t time.Time) []byte {
	return append(AppendTime(append(wire.AppendName(dst, name), '"'), t), '"')
}

// AppendTime appends a time as TimeFormat has it. The layout is fixed, so it is written digit by digit.
func AppendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, sec := t.Clock()
	dst = append(appendDigits(dst, year, 4), '-')
	dst = append(appendDigits(dst, int(month), 2), '-')
	dst = append(appendDigits(dst, day, 2), 'T')
	dst = append(appendDigits(dst, hour, 2), ':')
	dst = append(appendDigits(dst, minute, 2), ':')
	dst = append(appendDigits(dst, sec, 2), '.')
	return append(appendDigits(dst, t.Nanosecond()/1000, 6), 'Z')
}

func appendDigits(dst []byte, n, width int) []byte {
	start := len(dst)
	for range width {
		dst = append(dst, '0')
	}
	for i := start + width - 1; i >= start; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
	return dst
}
