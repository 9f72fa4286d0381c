package gate

import (
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// Believe has the checker go by what the broker holds, which it does not ask itself, and knows what a gate with that
// broker would have put on record before it judged. It is for a checker on a state of its own.
func (c *Checker) Believe(h Holdings) {
	c.held = &h
	at := c.gate.now()
	for _, e := range c.gate.unprepared(at, c.judge(Call{}).basis) {
		c.gate.follow.state.Apply(at, e)
	}
}

// Explained is why an order is decided as it is: the decision, and what every rule and limit of the policy makes of it.
type Explained struct {
	Policy      PolicyView
	Decision    ledger.Decision // with the reasons of the gate beside those of the policy
	Explanation policy.Explanation
	Facts       policy.Facts
	Situation   policy.Situation // of a policy of version 2
}

// Explain decides a call as Check does, and says why. Of what is not an order, and where no policy is in force, there is
// the decision alone.
func (c *Checker) Explain(call Call) Explained {
	j := c.judge(call)
	e := Explained{Policy: j.policy, Decision: c.check(j)}
	if call.Order.IsZero() || j.policy.Reason != nil {
		return e
	}
	e.Facts = c.gate.follow.state.Facts(call.Account, call.Order.Symbol(), "")
	if j.policy.Book != nil {
		e.Situation = j.situation("")
		e.Explanation = j.policy.Book.Explain(call.Order, e.Facts, e.Situation)
		return e
	}
	e.Explanation = j.policy.Policy.Explain(call.Order, e.Facts)
	return e
}

// anyPrice stands for the quote of a symbol that has none: every limit that looks at a price denies for want of the quote,
// and to the others one price is as good as another.
var anyPrice = policy.QuoteFact{Bid: trade.Whole(1), Ask: trade.Whole(1)}

// Room is how much of one symbol and side an agent may order now.
type Room struct {
	Symbol trade.Symbol
	Side   trade.Side
	Price  trade.Decimal // at which it is judged: the ask of a buy, the bid of a sell; zero if there is no quote to judge by
	Policy policy.Room   // without a quote only what no limit needs one for passes
}

// Headroom returns how much of a symbol passes now on either side, by the policy alone: at the ask of a buy and the bid of
// a sell. The gate's own reasons, such as a stop, are not in it.
func (c *Checker) Headroom(agent trade.Agent, account trade.Account, s trade.Symbol) []Room {
	var rooms []Room
	for side := trade.Buy; side <= trade.Sell; side++ {
		rooms = append(rooms, c.room(agent, account, s, side))
	}
	return rooms
}

func (c *Checker) room(agent trade.Agent, account trade.Account, s trade.Symbol, side trade.Side) Room {
	r := Room{Symbol: s, Side: side}
	call := Call{Origin: Origin{Agent: agent}, Account: account}
	j := c.judge(call)
	if j.policy.Reason != nil {
		r.Policy.Binds = []policy.Reason{*j.policy.Reason}
		return r
	}
	q := j.look.quote(s, j.at)
	if j.policy.Book == nil && c.market != nil {
		q = c.market.Look(policy.Quotes{Sources: []string{"file"}}).Quote(s, j.at)
	}
	o, ok := policy.AtQuote(account, s, side, q)
	if !ok && j.policy.Book != nil {
		j.call.Order, _ = policy.AtQuote(account, s, side, anyPrice)
		r.Policy = j.policy.Book.Headroom(j.call.Order, c.gate.follow.state.Facts(account, s, ""), j.situation(""))
		return r
	}
	if !ok {
		r.Policy.Binds = []policy.Reason{{Code: policy.QuoteUnavailable, Field: "quotes", Message: "there is no quote of " + s.String() + ", so there is no price to judge an order at"}}
		return r
	}
	r.Price = o.LimitPrice()
	facts := c.gate.follow.state.Facts(account, s, "")
	if j.policy.Book == nil {
		r.Policy = j.policy.Policy.Headroom(o, facts)
		return r
	}
	j.call.Order = o
	r.Policy = j.policy.Book.Headroom(o, facts, j.situation(""))
	return r
}

// Held returns the symbols of which the account holds something, or has orders out.
func (c *Checker) Held(account trade.Account) []trade.Symbol {
	var out []trade.Symbol
	for _, h := range c.gate.follow.state.Holdings() {
		if h.Account == account {
			out = append(out, h.Symbol)
		}
	}
	return out
}

// Policy returns the policy that the checker judges by.
func (c *Checker) Policy() PolicyView { return c.basis.policy }

// Stops returns the stops that would deny a call: of its account, its agent or a symbol, or of everything.
func (c *Checker) Stops() []ledger.Stop {
	return append(c.gate.follow.state.Stops(), c.outside...)
}
