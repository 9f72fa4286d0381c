package ledger

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// Bounds on what is read back of our own records.
const (
	//limit:ledger-event-bytes A record of over 1 MiB is not read as an event.
	maxEvent = 1 << 20
	//limit:ledger-snapshot-bytes A snapshot of over 1 GiB is not read.
	maxSnapshot = 1 << 30
	//limit:ledger-nesting A record or snapshot that is nested over 8 levels is not read.
	maxNesting = 8
)

// Decode reads a record's bytes. It refuses what this version does not know, so that nothing is folded by halves.
func Decode(body []byte) (Event, error) {
	v, err := wire.Read(body, wire.Limits{Bytes: maxEvent, Depth: maxNesting})
	if err != nil {
		return nil, fmt.Errorf("ledger: the record is not JSON: %w", err)
	}
	o := object{v: v}
	if n := o.number("v"); o.err == nil && n != 1 {
		return nil, fmt.Errorf("ledger: record version %d; this program reads version 1", n)
	}
	kind := o.text("kind")
	if o.err != nil {
		return nil, fmt.Errorf("ledger: %w", o.err)
	}
	e, known := decodeKind(&o, kind)
	if !known {
		return nil, fmt.Errorf("ledger: record kind %q is not known to this program", trade.Printable(kind, 64))
	}
	if o.err != nil {
		return nil, fmt.Errorf("ledger: record kind %s: %w", kind, o.err)
	}
	return e, nil
}

func decodeKind(o *object, kind string) (Event, bool) {
	switch kind {
	case "decided":
		return decodeDecided(o), true
	case "rejudged":
		r := Rejudged{
			Intent: o.intent(), Account: trade.Account(o.text("account")), Origin: o.origin(), Ruling: o.ruling(), Order: o.order(),
			ClientOrderID: trade.ClientOrderID(o.optional("client_order_id")), FirstAt: o.time("first_at"),
		}
		if r.Ruling.Effect == policy.Allow {
			r.Clears, r.Pending = o.clearance(ClearsSend), o.pending()
		}
		return r, true
	case "concluded":
		return Concluded{
			Intent: o.intent(), Outcome: o.outcome(), Source: Source(o.text("source")), Status: o.optional("status"),
			OrderID: o.optional("order_id"), Code: o.optional("code"), Message: o.optional("message"), By: o.optional("by"),
			Works: o.flag("works"),
		}, true
	case "happened":
		return decodeHappened(o), true
	case "ran":
		return o.ran(), true
	case "flagged":
		return Flagged{Intent: o.intent(), Flag: o.text("flag"), Detail: o.optional("detail")}, true
	case "asked":
		return Asked{Intent: o.intent()}, true
	case "cancel_asked":
		return CancelAsked{
			Intent: o.intent(), Origin: o.origin(), NotAfter: o.time("not_after"), Wanted: o.flag("wanted"), Exits: o.flag("exits"),
		}, true
	case "cancel_ended":
		return CancelEnded{Intent: o.intent(), Outcome: o.outcome(), Message: o.optional("message")}, true
	}
	if e, ok := decodeLoaded(o, kind); ok {
		return e, true
	}
	if e, ok := decodeMemory(o, kind); ok {
		return e, true
	}
	return decodeControl(o, kind)
}

func decodeDecided(o *object) Decided {
	d := Decided{Intent: o.intent(), Origin: o.origin(), Account: trade.Account(o.text("account"))}
	if in, n := o.v.Member("input"); n > 0 {
		i := object{v: in}
		d.Input = &Input{Length: int(i.number("length")), SHA256: i.text("sha256"), Head: i.text("head")}
		o.fail(i.err)
	} else {
		d.Order = o.order()
	}
	d.ClientOrderID = trade.ClientOrderID(o.optional("client_order_id"))
	d.AgentReason = o.optional("agent_reason")
	d.Ruling, d.Asked = o.ruling(), o.flag("asked")
	switch d.Clears = o.clearance(ClearsNothing); d.Clears {
	case ClearsSend, ClearsPermission:
		d.Pending = o.pending()
	case ClearsApproval:
		d.Hold = o.hold()
	case ClearsNothing:
	}
	return d
}

// clearance reads what an event clears; absent is def.
func (o *object) clearance(def Clearance) Clearance {
	word := o.optional("clears")
	if word == "" {
		return def
	}
	for c := ClearsSend; c <= ClearsApproval; c++ {
		if c.String() == word {
			return c
		}
	}
	o.fail(fmt.Errorf("clears is not a clearance"))
	return ClearsNothing
}

func (o *object) hold() Hold {
	return Hold{
		Expires: o.time("expires_at"), Within: time.Duration(o.number("within_ms")) * time.Millisecond,
		Approvers: int(o.number("approvers")), Permits: o.flag("permits"),
		Shown: Mark{Bid: o.optionalDecimal("shown_bid"), Ask: o.optionalDecimal("shown_ask")},
	}
}

func (o *object) scope() Scope {
	text := o.optional("scope")
	if text == "" {
		return Scope{}
	}
	s, ok := ParseScope(text)
	if !ok {
		o.fail(fmt.Errorf("scope is not one"))
	}
	return s
}

func (o *object) digest(name string) trade.Digest {
	d, ok := trade.ParseDigest(o.text(name))
	if !ok {
		o.fail(fmt.Errorf("%s is not a digest", name))
	}
	return d
}

func (o *object) person() Person {
	p := Person{Name: o.text("name"), Owner: o.flag("owner"), Approver: o.flag("approver"), Hash: o.text("hash")}
	if text := o.optional("telegram"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			o.fail(fmt.Errorf("telegram is not a user id"))
		}
		p.Telegram = n
	}
	return p
}

func (o *object) grant() Grant {
	tier, ok := trade.ParseTier(o.text("tier"))
	if !ok {
		o.fail(fmt.Errorf("tier is not one"))
	}
	return Grant{Agent: trade.Agent(o.text("agent")), Tier: tier, Hash: o.text("hash")}
}

func decodeHappened(o *object) Happened {
	h := Happened{
		Account: trade.Account(o.text("account")), Number: o.number("number"), What: o.text("what"),
		Intent: trade.IntentID(o.optional("intent")), Quantity: o.decimal("quantity"),
	}
	var okSymbol, okSide bool
	h.Symbol, okSymbol = trade.ParseSymbol(o.text("symbol"))
	h.Side, okSide = trade.ParseSide(o.text("side"))
	if !okSymbol || !okSide {
		o.fail(fmt.Errorf("symbol or side is not one"))
	}
	switch h.What {
	case WasFilled:
		h.Price = o.decimal("price")
	case WasCancelled, WasExpired:
	default:
		o.fail(fmt.Errorf("what is not fill, cancelled or expired"))
	}
	return h
}

var errState = errors.New("state is not an end of a proposal")

// object reads members and keeps the first error. An empty text is written as an absent member.
type object struct {
	v   wire.Value
	err error
}

func (o *object) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

func (o *object) member(name string, k wire.Kind, required bool) (wire.Value, bool) {
	m, n := o.v.Member(name)
	if n == 0 && !required {
		return m, false
	}
	if n != 1 || m.Kind != k {
		o.fail(fmt.Errorf("%s is not exactly one member of its type", name))
		return wire.Value{}, false
	}
	return m, true
}

func (o *object) text(name string) string {
	m, _ := o.member(name, wire.String, true)
	return m.Text
}

func (o *object) optional(name string) string {
	m, _ := o.member(name, wire.String, false)
	return m.Text
}

func (o *object) number(name string) uint64 {
	m, ok := o.member(name, wire.Number, true)
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(m.Text, 10, 63)
	if err != nil {
		o.fail(fmt.Errorf("%s is not a whole number", name))
	}
	return n
}

// optionalNumber reads a number that may be absent, which is zero.
func (o *object) optionalNumber(name string) uint64 {
	if _, n := o.v.Member(name); n == 0 {
		return 0
	}
	return o.number(name)
}

func (o *object) flag(name string) bool {
	m, ok := o.member(name, wire.Bool, false)
	return ok && m.Text == "true"
}

func (o *object) intent() trade.IntentID {
	id, ok := trade.ParseIntentID(o.text("intent"))
	if !ok {
		o.fail(fmt.Errorf("intent is not an intent id"))
	}
	return id
}

func (o *object) order() trade.Order {
	v, _ := o.v.Member("order")
	order, ok := trade.ReadOrder(v)
	if !ok {
		o.fail(fmt.Errorf("order is not an order"))
	}
	return order
}

func (o *object) outcome() trade.Outcome {
	out, err := trade.ParseOutcome(o.text("outcome"))
	if err != nil {
		o.fail(err)
	}
	return out
}

func (o *object) decimal(name string) trade.Decimal { return o.parseDecimal(name, o.text(name)) }

func (o *object) parseDecimal(name, text string) trade.Decimal {
	if d, ok := trade.ParseDecimal(text); ok { // a price has trailing zeros that a sum has not
		return d
	}
	d, ok := trade.ParseSum(text)
	if !ok {
		d, ok = trade.ParseMoney(text)
	}
	if !ok {
		o.fail(fmt.Errorf("%s is not a decimal", name))
	}
	return d
}

func (o *object) time(name string) time.Time {
	t, err := time.Parse(TimeFormat, o.text(name))
	if err != nil {
		o.fail(fmt.Errorf("%s is not a time", name))
	}
	return t.UTC()
}

func (o *object) optionalTime(name string) time.Time {
	if _, n := o.v.Member(name); n == 0 {
		return time.Time{}
	}
	return o.time(name)
}

func (o *object) origin() Origin {
	return Origin{
		Agent: trade.Agent(o.text("agent")), Surface: o.text("surface"), Harness: trade.Harness(o.optional("harness")),
		Session: trade.Session(o.optional("session")), Tool: o.optional("tool"),
		ToolCallID: trade.ToolCallID(o.optional("tool_call_id")),
	}
}

func (o *object) pending() Pending {
	return Pending{NotAfter: o.optionalTime("not_after"), Deadline: o.time("deadline"), Instance: o.optional("instance")}
}

func (o *object) ruling() Ruling {
	effect, ok := policy.ParseEffect(o.text("verdict"))
	if !ok {
		o.fail(fmt.Errorf("verdict is not one"))
	}
	r := Ruling{Effect: effect, PolicySHA256: o.optional("policy_sha256")}
	r.Reasons = o.reasons("reasons")
	if text := o.optional("max_quantity_now"); text != "" {
		d := o.parseDecimal("max_quantity_now", text)
		r.MaxQuantity = &d
	}
	if v, ok := o.member("facts", wire.Object, false); ok {
		x := object{v: v}
		f := &policy.Facts{PendingBuys: x.decimal("pending_buys"), PendingSells: x.decimal("pending_sells")}
		if text := x.optional("position"); text != "" {
			f.PositionKnown, f.Position = true, x.parseDecimal("position", text)
		}
		o.fail(x.err)
		r.Facts = f
	}
	r.Rules, r.Value, r.Shares = o.texts("rules"), o.optionalDecimal("value"), o.known("shares")
	r.RetryAt = o.optionalTime("retry_at")
	return r
}

func (o *object) reasons(name string) []policy.Reason {
	var rs []policy.Reason
	o.each(name, func(x *object) {
		rs = append(rs, policy.Reason{
			Code: trade.Code(x.text("code")), Field: x.optional("field"), Limit: x.optional("limit"),
			Observed: x.optional("observed"), Message: x.text("message"), Rule: x.optional("rule"), Hold: x.flag("hold"),
		})
	})
	return rs
}

func (o *object) texts(name string) []string {
	list, _ := o.member(name, wire.Array, false)
	var all []string
	for _, e := range list.Elems {
		if e.Kind != wire.String {
			o.fail(fmt.Errorf("%s holds what is no text", name))
		}
		all = append(all, e.Text)
	}
	return all
}
