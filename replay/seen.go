package replay

import (
	"fmt"
	"time"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// seen is told every event as the gate records it, and writes what changes the state of an intent.
func (p *player) seen(at time.Time, e ledger.Event) {
	p.intents.records++
	if first, is := e.(ledger.Decided); is {
		p.decided(at, first)
		return
	}
	in := p.intents.byIntent[e.About()]
	if in == nil {
		return
	}
	before := in.shown
	in.shown.Apply(e)
	if from, to := standing(&before), standing(&in.shown); from != to {
		p.change(at, in, from, to, reason(e))
		p.tally(&in.shown)
	}
	if p.gate.State().Open(in.intent) == nil {
		p.intents.end(in)
	}
}

// decided takes in the first judgement of the intent whose line is run. What is denied is written when the gate has
// answered, since the answer says more.
func (p *player) decided(at time.Time, e ledger.Decided) {
	in := p.asking
	if in == nil || p.made {
		return // no line asks for it
	}
	p.made = true
	in.intent, in.order, in.agent = e.Intent, e.Order, e.Origin.Agent
	in.shown = e.Decision(at)
	in.denied = e.Ruling.Effect == policy.Deny
	if old := p.intents.byID[in.id]; old == nil || old.denied || !in.denied { // a denial takes nobody's id
		p.intents.add(in)
	}
	if in.denied {
		p.count.Denied++
		p.intents.end(in)
		return
	}
	p.decision(in.id, &in.shown)
}

// standing is where an intent stands: the state of its decision object, and once its order is at the broker that
// object's order_status.
func standing(d *ledger.Decision) string {
	if d.State != ledger.Succeeded {
		return string(d.State)
	}
	if s := d.OrderStatus(); s != "working" {
		return s
	}
	return string(ledger.Succeeded)
}

// reason says why an intent changed.
func reason(e ledger.Event) string {
	switch e := e.(type) {
	case ledger.Rejudged:
		if r := policy.Decisive(e.Ruling.Reasons); r.Code != "" {
			return string(r.Code) + ": " + r.Message
		}
		return "judged again and sent"
	case ledger.Concluded:
		switch {
		case e.Outcome == trade.Accepted:
			return "accepted by the broker"
		case e.Code != "":
			return "rejected by the broker: " + e.Code
		case e.Outcome == trade.Rejected:
			return "rejected by the broker"
		}
		return "the broker's answer says nothing"
	case ledger.Happened:
		if e.What == ledger.WasFilled {
			return fmt.Sprintf("%s filled at %s", e.Quantity, e.Price.Money())
		}
		return e.What
	case ledger.Approved:
		return "approved by " + e.Person
	case ledger.ProposalEnded:
		if e.Reason != "" {
			return e.Reason
		}
		return "by " + e.By
	}
	return e.Kind()
}

// decision writes the decision object of an intent, with the intent's id on the tape.
func (p *player) decision(id string, d *ledger.Decision) {
	p.waits = false
	switch {
	case d.Repeated:
	case d.Verdict == policy.Hold:
		p.count.Held++
	case d.Verdict == policy.Allow:
		p.count.Allowed++
	}
	b := wire.AppendText(append(p.buf[:0], '{'), "intent", id)
	n := len(b)
	b = d.AppendJSON(b)
	b[n] = ',' // its own opening brace
	p.emit(b)
}

// change writes that an intent's state has changed.
func (p *player) change(at time.Time, in *intent, from, to, why string) {
	b := ledger.AppendTime(append(p.buf[:0], `{"at":"`...), at)
	b = wire.AppendText(append(b, '"'), "intent", in.id)
	b = wire.AppendText(wire.AppendText(b, "from", from), "to", to)
	b = append(wire.AppendText(b, "reason", why), '}')
	if p.waits { // after the decision
		p.later = append(p.later, append([]byte(nil), b...))
		p.buf = b[:0]
		return
	}
	p.emit(b)
}

// emit writes a line. Nothing is written after an error.
func (p *player) emit(b []byte) {
	if p.failed == nil {
		p.failed = p.write(b)
	}
	p.buf = b[:0]
}
