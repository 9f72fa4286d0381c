package ledger

import (
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// Event is one thing that happened, as the journal records it. The set is closed: only this package has events. When it
// happened is the record's own time.
type Event interface {
	// Kind is the word that the record carries.
	Kind() string
	// About is the intent that the event belongs to; empty for none.
	About() trade.IntentID
	append(dst []byte) []byte
}

// Origin says who called and through what. The surface knows it from the connection and the harness, never from the
// order's payload.
type Origin struct {
	Agent      trade.Agent
	Surface    string // mcp, hook, cli, plugin
	Harness    trade.Harness
	Session    trade.Session // empty where the surface cannot know it
	Tool       string        // as the caller named it
	ToolCallID trade.ToolCallID
}

// Clearance is what a decision lets happen next. The zero Clearance is nothing.
type Clearance uint8

// The clearances.
const (
	ClearsNothing    Clearance = iota
	ClearsSend                 // we send it: the decision is the Submitting record too
	ClearsPermission           // somebody else makes the call, once
	ClearsApproval             // nothing yet: people must approve first
)

func (c Clearance) String() string {
	return [...]string{"nothing", "send", "permission", "approval"}[c]
}

// Input is what is kept of arguments that are no order.
type Input struct {
	Length int
	SHA256 string
	Head   string // the first MaxInputHead bytes
}

// MaxInputHead bounds what is kept of arguments that are no order, in bytes.
//
//limit:ledger-input-head Of arguments that are no order the journal keeps the length, the SHA-256 and the first 1024 bytes.
const MaxInputHead = 1024

// Decided is the first judgement of one call. Every guarded call has exactly one, unless nothing could be recorded.
type Decided struct {
	Intent        trade.IntentID
	Origin        Origin
	Account       trade.Account
	Order         trade.Order // zero if the arguments were no order; then Input is set
	Input         *Input
	ClientOrderID trade.ClientOrderID
	AgentReason   string
	Ruling        Ruling
	Clears        Clearance
	Pending       Pending
	Hold          Hold // set with ClearsApproval only
	Asked         bool // it came as a harness's permission request, which it answers once
}

// Ruling is a verdict with what it rests on.
type Ruling struct {
	Effect       policy.Effect
	Reasons      []policy.Reason
	MaxQuantity  *trade.Decimal
	PolicySHA256 string
	Facts        *policy.Facts // nil if no rule ran

	// Of a policy of version 2, so that limits that count over time know what to count.
	Rules []string      // the ids of the rules that matched
	Value trade.Decimal // what the order was valued at; zero: its own notional

	RetryAt time.Time // when time alone will have cured the denial; zero if it will not, or nothing is denied

	// Of an order by amount, how many shares it may come to at most. Where that is not known, nobody knows what is
	// pending in the symbol until the order has ended, and what needs to know it is a no.
	Shares policy.Known
}

// Pending says how long an allowed intent may be without an outcome. It is zero for what is not allowed.
type Pending struct {
	NotAfter time.Time // of the permit; zero for a permission
	Deadline time.Time // after it a missing outcome is unknown
	Instance string    // of the process that sends; after its end a missing outcome is unknown
}

// Rejudged is a later judgement of an intent: of a permitted one when it arrives at a surface that executes, and of a
// held one when a person approves it and again when it is executed. A denial ends the intent.
type Rejudged struct {
	Intent  trade.IntentID
	Account trade.Account
	Origin  Origin
	Ruling  Ruling
	Clears  Clearance // what an allowed one may do now; never nothing
	Pending Pending

	// What the first judgement has, so that the intent is known when it is found under the id that it arrived under.
	Order         trade.Order
	ClientOrderID trade.ClientOrderID
	FirstAt       time.Time
}

// Source says who knows an outcome.
type Source string

// The sources.
const (
	FromBroker Source = "broker" // its answer to the order
	FromLookup Source = "lookup" // its answer when asked later
	FromReport Source = "report" // a harness that made the call itself
	FromPerson Source = "person"
	FromGate   Source = "gate" // nothing was sent, or nothing came back
)

// Tracked reports whether the venue's events tell the rest of the order's life.
func (s Source) Tracked() bool { return s == FromBroker || s == FromLookup }

// Concluded is an outcome. Unknown may be followed by another; Accepted and Rejected are final.
type Concluded struct {
	Intent  trade.IntentID
	Outcome trade.Outcome
	Source  Source
	Status  string // the venue's word: SUCCESS or ERROR
	OrderID string // the venue's own id
	Code    string // the venue's code of a rejection
	Message string
	By      string // of a person
	Works   bool   // of a person's Accepted: we sent the order, so that it works at the venue, which tells its end
}

// Happened is an event at a venue: a fill, a cancel or an expiry.
type Happened struct {
	Account  trade.Account
	Number   uint64 // the venue's own numbering; State ignores what it has seen
	What     string // fill, cancelled, expired
	Intent   trade.IntentID
	Symbol   trade.Symbol
	Side     trade.Side
	Quantity trade.Decimal // filled now, or left unfilled
	Price    trade.Decimal // of a fill
}

// The words of Happened.What.
const (
	WasFilled    = "fill"
	WasCancelled = "cancelled"
	WasExpired   = "expired"
)

// Flagged is something that the record holds against a call. It changes no reservation.
type Flagged struct {
	Intent trade.IntentID
	Flag   string
	Detail string
}

// The flags.
const (
	ArgumentsChanged    = "ARGUMENTS_CHANGED"     // other arguments than those that were judged
	ExecutedAfterDenial = "EXECUTED_AFTER_DENIAL" // the harness ran a call that was denied
	ExecutedUnjudged    = "EXECUTED_UNJUDGED"     // the harness ran a call that no hook saw before
)

// Asked marks a permission that a harness asked for again by its permission request; it is granted so only once.
type Asked struct{ Intent trade.IntentID }

// CancelAsked is recorded before the broker is asked to cancel.
type CancelAsked struct {
	Intent   trade.IntentID
	Origin   Origin
	NotAfter time.Time
	Wanted   bool // until the broker has answered it clearly; a record of the first version does not say so
	Exits    bool // a person wants the exits of what is filled cancelled as well
}

// CancelEnded is the broker's answer to a cancel. What is left of the order ends by Happened, never by this.
type CancelEnded struct {
	Intent  trade.IntentID
	Outcome trade.Outcome
	Message string
}

// Kind implements Event.
func (Decided) Kind() string     { return "decided" }
func (Rejudged) Kind() string    { return "rejudged" }
func (Concluded) Kind() string   { return "concluded" }
func (Happened) Kind() string    { return "happened" }
func (Flagged) Kind() string     { return "flagged" }
func (Asked) Kind() string       { return "asked" }
func (CancelAsked) Kind() string { return "cancel_asked" }
func (CancelEnded) Kind() string { return "cancel_ended" }

// About implements Event.
func (e Decided) About() trade.IntentID     { return e.Intent }
func (e Rejudged) About() trade.IntentID    { return e.Intent }
func (e Concluded) About() trade.IntentID   { return e.Intent }
func (e Happened) About() trade.IntentID    { return e.Intent }
func (e Flagged) About() trade.IntentID     { return e.Intent }
func (e Asked) About() trade.IntentID       { return e.Intent }
func (e CancelAsked) About() trade.IntentID { return e.Intent }
func (e CancelEnded) About() trade.IntentID { return e.Intent }

// Key is a name and value by which a record is found again.
type Key struct{ Name, Value string }

// CallKey finds the decisions on one tool call: an id is unique within account, agent, harness and session.
func CallKey(a trade.Account, o Origin) Key {
	return Key{"call", string(a) + "\x00" + string(o.Agent) + "\x00" + string(o.Harness) + "\x00" + string(o.Session) + "\x00" + string(o.ToolCallID)}
}

// OrderKey finds the intent that is bound to a client order id: unique within account and agent.
func OrderKey(a trade.Account, agent trade.Agent, id trade.ClientOrderID) Key {
	return Key{"order", string(a) + "\x00" + string(agent) + "\x00" + string(id)}
}

// IntentKey finds what followed an intent's decision. The decision itself is found by the time in the id.
func IntentKey(id trade.IntentID) Key { return Key{"intent", string(id)} }

// Keys returns what an event's record is found by. Only an allowed or held order binds its client order id; a denied
// call keeps its tool-call id findable, and free. The surface at which a permitted call arrives may know an id that the
// hook did not: the second judgement binds that one as well.
func Keys(e Event) []Key {
	var keys []Key
	switch e := e.(type) {
	case Decided:
		if e.Origin.ToolCallID != "" {
			keys = append(keys, CallKey(e.Account, e.Origin))
		}
		if e.ClientOrderID != "" && e.Clears != ClearsNothing {
			keys = append(keys, OrderKey(e.Account, e.Origin.Agent, e.ClientOrderID))
		}
		return keys
	case Rejudged:
		if e.Origin.ToolCallID != "" {
			keys = append(keys, CallKey(e.Account, e.Origin))
		}
	}
	if id := e.About(); id != "" {
		keys = append(keys, IntentKey(id))
	}
	return keys
}
