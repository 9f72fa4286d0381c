package gate

import (
	"context"

	"sallyport/ledger"
)

// Check decides the call without recording or reserving anything. Ids are not looked up: a dry run has none.
func (g *Gate) Check(ctx context.Context, c Call) ledger.Decision {
	checker := g.checker(g.basis(ctx))
	var d ledger.Decision
	err := g.journal.Read(ctx, func() error {
		checker.on(g.follow.state)
		d = checker.Check(c)
		return nil
	})
	if err != nil {
		return g.unavailable(c, err)
	}
	return d
}

// Checker decides calls by one policy on one state, both as they are when it is made. It records nothing, and its calls
// do not see each other.
type Checker struct {
	gate    *Gate // of its own: it has the state, and no journal
	basis   basis
	market  Market
	held    *Holdings     // what the broker holds; nil: the checker goes by what it was told when it was made
	outside []ledger.Stop // switches that only a stop file or this process knows
}

func (g *Gate) checker(by basis) *Checker {
	return &Checker{
		gate: &Gate{cfg: Config{Approval: g.cfg.Approval, Account: g.cfg.Account, Now: g.cfg.Now}}, basis: by, market: g.cfg.Market,
		outside: g.stoppedOutside(g.now()),
	}
}

// on lets the checker judge on a state.
func (c *Checker) on(st *ledger.State) { c.gate.follow = &follower{state: st} }

// Checker returns a checker on the ledger's present state. policyRaw, if not nil, is judged by instead of the policy
// in force.
func (g *Gate) Checker(ctx context.Context, policyRaw []byte) (*Checker, error) {
	v := g.policy.view()
	if policyRaw != nil {
		v = g.draft(policyRaw)
	}
	c := g.checker(basis{policy: v, look: g.look(ctx, v)})
	var snapshot []byte
	err := g.journal.Read(ctx, func() error {
		snapshot = g.follow.state.AppendSnapshot(nil)
		return nil
	})
	if err != nil {
		return nil, err
	}
	st, err := ledger.ReadSnapshot(snapshot)
	c.on(st)
	return c, err
}

// draft judges the bytes of a policy that is not in force as one that is.
func (g *Gate) draft(raw []byte) PolicyView {
	v := viewIn(raw, g.world())
	if v.Book != nil {
		v.refuse(soundness(v, g.cfg.Trial))
	}
	return v
}

// EmptyChecker returns a checker on an empty account, with the kill switch off. Of the configuration it goes by the clock,
// the account, the market and what runs a policy's tests.
func EmptyChecker(cfg Config, policyRaw []byte) *Checker {
	g := &Gate{cfg: cfg}
	g.cfg.Broker, g.cfg.Holds = nil, nil // it is an empty account
	setDefault(&g.cfg.Account, "paper")
	s := ledger.NewState()
	s.Apply(cfg.Now(), ledger.KillReset{By: bySallyport, Reason: "no journal"})
	s.Apply(cfg.Now(), ledger.HistoryBegan{FromStart: true})
	s.Apply(cfg.Now(), ledger.AccountSeen{Account: g.cfg.Account})
	v := g.draft(policyRaw)
	c := &Checker{gate: g, basis: basis{policy: v, look: g.look(context.Background(), v)}, market: cfg.Market}
	c.on(s)
	return c
}

// Check decides one call.
func (c *Checker) Check(call Call) ledger.Decision { return c.check(c.judge(call)) }

// judge begins the judgement of a call.
func (c *Checker) judge(call Call) judgement {
	if c.market != nil && c.basis.policy.Book != nil { // the market goes on while lines come in
		c.basis.look.view = c.market.Look(c.basis.policy.Book.Quotes())
	}
	at := c.gate.now()
	if c.held != nil && c.basis.policy.Book != nil {
		c.basis.look.held, c.basis.look.at = *c.held, at
	}
	return judgement{g: c.gate, call: call, basis: c.basis, at: at, checking: true, outside: c.outside}
}

func (c *Checker) check(j judgement) ledger.Decision {
	d := ledger.Decided{
		Origin: j.call.Origin, Account: j.call.Account, Order: j.call.Order, ClientOrderID: j.call.Tags.ClientOrderID,
		AgentReason: j.call.Tags.Reason, Ruling: j.ruling(nil, 0, ""),
	}.Decision(j.at)
	j.explain(&d, ledger.Ruling{Effect: d.Verdict})
	return d
}
