package gate

import (
	"context"
	"slices"

	"sallyport/policy"
	"sallyport/trade"
)

// maxHeadroom bounds of how many symbols a portfolio shows what a policy of version 2 leaves.
//
//limit:gate-headroom A portfolio shows of at most 50 symbols what a policy of version 2 leaves: of those that are held first.
const maxHeadroom = 50

// bookHeadroom says how many shares of each symbol may be bought and sold now by a policy of version 2, at the far side
// of the quote.
func (g *Gate) bookHeadroom(ctx context.Context, by basis, agent trade.Agent, p Portfolio) (all []Headroom) {
	symbols := make([]trade.Symbol, 0, maxHeadroom)
	for _, x := range p.Positions {
		symbols = append(symbols, x.Symbol)
	}
	for _, s := range by.policy.Book.Symbols() {
		if !slices.Contains(symbols, s) {
			symbols = append(symbols, s)
		}
	}
	_ = g.journal.Read(ctx, func() error { // what cannot be read leaves nothing
		j := judgement{g: g, basis: by, at: g.now(), checking: true, call: Call{Origin: Origin{Agent: agent}, Account: p.Account}}
		for _, s := range symbols[:min(len(symbols), maxHeadroom)] {
			all = append(all, j.left("buyable", s, trade.Buy), j.left("sellable", s, trade.Sell))
		}
		return nil
	})
	return all
}

// left says how much of one symbol and side passes.
func (j *judgement) left(name string, s trade.Symbol, side trade.Side) Headroom {
	most, zero := trade.Decimal{}, trade.Decimal{}
	o, ok := policy.AtQuote(j.call.Account, s, side, j.look.quote(s, j.at))
	if !ok {
		o, ok = policy.AtQuote(j.call.Account, s, side, anyPrice)
	}
	if ok {
		j.call.Order = o
		facts := j.g.follow.state.Facts(j.call.Account, s, "")
		most = j.policy.Book.Headroom(o, facts, j.situation("")).Most
	}
	return Headroom{Limit: name, Symbol: s, Bound: most.String(), Used: zero.String(), Left: most.String()}
}
