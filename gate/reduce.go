package gate

import (
	"context"
	"errors"
	"fmt"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// surfacePerson is the surface of what a person does himself.
const surfacePerson = "person"

// Reduce sells from a long position, or buys back a short one, at a person's word. It is verified by the broker's own
// position, never trades more than what is held, or owed, and not pending, and is stopped by no kill switch and by no limit
// that is meant for entries.
//
//limit:gate-reduction A reduction is a sale by a listed person of at most what the broker itself shows as held, or a buy of at most what it shows as owed, less what our own open orders may still take; it never flips a position.
func (g *Gate) Reduce(ctx context.Context, by Person, order trade.Order) (ledger.Decision, error) {
	if g.cfg.Broker == nil {
		return ledger.Decision{}, ErrDaemonRequired
	}
	if err := g.hear(ctx); errors.Is(err, ErrOtherVenue) { // what is not heard makes what is free less, and never more
		return ledger.Decision{}, err
	}
	ask, cancel := context.WithTimeout(ctx, g.cfg.BrokerWait)
	defer cancel()
	holdings, err := g.cfg.Broker.Holdings(ask)
	if err != nil {
		return ledger.Decision{}, fmt.Errorf("the broker's position cannot be read, so nothing is verified: %w", err)
	}
	if err := g.lease.hold(); err != nil {
		return ledger.Decision{}, err
	}
	j := &judgement{g: g, executing: true}
	var refused *Refusal
	err = g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		var facts policy.Facts
		if refused = g.listed(by); refused == nil {
			facts, refused = g.verified(order, holdings)
		}
		if refused != nil {
			g.refuse(tx, at, attempt{action: "reduce", by: by.who(), channel: by.channel}, refused)
			return nil
		}
		e := ledger.Decided{
			Intent:  g.newIntent(tx, at),
			Origin:  Origin{Agent: trade.Agent(by.name), Surface: surfacePerson, Tool: "reduce"},
			Account: order.Account(), Order: order, Ruling: ledger.Ruling{Effect: policy.Allow, Facts: &facts},
		}
		e.Clears, e.Pending = j.clearance(at)
		g.record(tx, at, order.Account(), e)
		j.decision, j.next = e.Decision(at), send
		j.cleared = Cleared{Order: order, ID: e.Intent.BrokerOrderID(), NotAfter: e.Pending.NotAfter}
		return nil
	})
	switch {
	case err != nil:
		return ledger.Decision{}, err
	case refused != nil:
		return ledger.Decision{}, refused
	}
	return g.send(ctx, j), nil
}

// verified makes sure that the order only reduces: by what the broker holds and by what the ledger knows, whichever is less.
func (g *Gate) verified(o trade.Order, h Holdings) (policy.Facts, *Refusal) {
	st := g.follow.state
	facts := st.Facts(o.Account(), o.Symbol(), "")
	switch {
	case o.IsZero() || o.Account() != g.cfg.Account:
		return facts, refusal(policy.AccountUnknown, "this gate's broker has the account %s", g.cfg.Account)
	case st.Owned() && !g.cfg.Daemon:
		return facts, refusal(policy.DaemonRequired, "%s", ErrDaemonRequired)
	case o.ByAmount() || o.HasExits():
		return facts, refusal(policy.ReductionNotVerified, "a reduction says how many shares, and has no exits of its own")
	}
	free, exits := standing(o, facts, h), 0
	for _, x := range st.Opens() { // what an agent proposes, or a harness reports, does not bar a person's way out
		ours := x.Phase == ledger.Working || x.Phase == ledger.Sending && !x.Pending.NotAfter.IsZero()
		if !ours || x.Order.Account() != o.Account() || x.Order.Symbol() != o.Symbol() {
			continue
		}
		switch {
		case o.Side() == trade.Sell:
			free = free.Sub(x.Selling())
		case !x.Sized():
			return facts, refusal(policy.ReductionNotVerified, "how many shares the order %s buys is not known; cancel it first", x.Intent)
		case x.Order.Side() == trade.Buy:
			free = free.Sub(x.Remaining())
		}
		if protects(x) {
			exits++
		}
	}
	if o.Quantity().Cmp(free) <= 0 {
		return facts, nil
	}
	if free.Sign() < 0 {
		free = trade.Decimal{}
	}
	stand, why := "held", ""
	if o.Side() == trade.Buy {
		stand = "owed"
	} else if exits > 0 {
		why = "; exits that protect the position would sell the rest: cancel the order they belong to first, as 'sallyport orders' shows it"
	}
	return facts, refusal(policy.ReductionNotVerified, "%s %s is more than the %s that are %s and not pending%s", o.Quantity(), o.Symbol(), free, stand, why)
}

// standing is what an order can reduce: by what the broker shows and by what the ledger knows, whichever is less.
func standing(o trade.Order, f policy.Facts, h Holdings) trade.Decimal {
	there, here := h.of(o.Symbol()), f.Position
	if o.Side() == trade.Buy {
		there, here = trade.Decimal{}.Sub(there), trade.Decimal{}.Sub(here)
	}
	if here.Cmp(there) < 0 {
		return here
	}
	return there
}
