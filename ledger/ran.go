package ledger

import (
	"time"

	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// Ran says that somebody had an order executed which nothing on record allows: a call that was denied, that was never
// judged, or that was made with other arguments. The intent is that of the call; what became of that is said by others.
type Ran struct {
	Intent trade.IntentID
	Agent  trade.Agent
	Order  trade.Order // what was executed

	// As in a Ruling, as far as the policy in force says it.
	Rules  []string
	Value  trade.Decimal
	Shares policy.Known
}

// Kind implements Event.
func (Ran) Kind() string { return "ran" }

// About implements Event.
func (e Ran) About() trade.IntentID { return e.Intent }

func (e Ran) append(dst []byte) []byte {
	dst = e.Order.AppendJSON(wire.AppendName(wire.AppendText(dst, "agent", string(e.Agent)), "order"))
	return appendKnown(appendMatched(dst, e.Rules, e.Value), "shares", e.Shares)
}

func (o *object) ran() Ran {
	return Ran{
		Intent: o.intent(), Agent: trade.Agent(o.text("agent")), Order: o.order(), Rules: o.texts("rules"),
		Value: o.optionalDecimal("value"), Shares: o.known("shares"),
	}
}

// ran reserves and counts what was executed. Nobody tells us of its fills.
//
//limit:ledger-ran An order that was executed although nothing allows it is pending, as posted exposure, and counts as sent.
func (s *State) ran(at time.Time, e Ran) {
	o := &Open{Intent: e.Intent, Order: e.Order, Origin: Origin{Agent: e.Agent}, Phase: Sending}
	o.size(Ruling{Value: e.Value, Shares: e.Shares})
	s.reserve(o)
	s.leave(o)
	s.sent(at, o, e.Rules, e.Value)
}
