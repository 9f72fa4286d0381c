package replay

import (
	"context"
	"errors"
	"fmt"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// reduceTool is what a person does himself: the sale of a part of a position, or of all of it, which no kill switch and no
// limit for entries stops. The agent of such an intent is the person.
const reduceTool = "reduce"

// surfacePerson is the surface of what people do themselves.
const surfacePerson = "person"

// reduce sells at a person's word, as far as the gate can verify that it is a reduction.
func (p *player) reduce(ctx context.Context, c gate.Call) (ledger.Decision, error) {
	if len(c.Faults) > 0 { // which is denied as it is to everybody
		return p.gate.Execute(ctx, c), nil
	}
	in := p.asking
	if old := p.intents.byID[in.id]; old != nil && !old.denied {
		return ledger.Decision{}, fmt.Errorf("the id %q is taken; each reduction has one of its own", trade.Printable(in.id, 64))
	}
	by, err := p.person(ctx, string(c.Origin.Agent))
	if err != nil {
		return ledger.Decision{}, err
	}
	p.desk.verifying = true
	d, err := p.gate.Reduce(ctx, by, c.Order)
	p.desk.verifying = false
	var r *gate.Refusal
	if !errors.As(err, &r) {
		return d, err
	}
	in.order, in.agent, in.denied = c.Order, c.Origin.Agent, true
	p.intents.refuse(in)
	p.count.Denied++
	return ledger.Decision{ // a refusal is no decision on record, and a tape has an answer to each of its intents
		Verdict: policy.Deny, State: ledger.Blocked, Agent: c.Origin.Agent, Surface: surfacePerson, Tool: reduceTool, Order: c.Order,
		Reasons: []policy.Reason{{Code: r.Code, Message: r.Message}}, At: p.clock,
	}, nil
}
