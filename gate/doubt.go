package gate

import (
	"context"
	"slices"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/trade"
)

// doubts reports whether the broker is to be asked what the account holds: it never was, or it showed something else than
// the ledger has. Only a policy of version 2 goes by it, or one that follows such.
func (g *Gate) doubts(ctx context.Context, v PolicyView) (ask bool) {
	if g.journal == nil {
		return false
	}
	_ = g.journal.Read(ctx, func() error { // without it nothing is decided either
		st := g.follow.state
		ask = !st.Seen(g.cfg.Account) && (v.Book != nil || st.PolicyLoaded() != "") || len(st.Doubted(g.cfg.Account)) > 0
		return nil
	})
	return ask
}

// seen returns what a broker's answer changes in what the ledger knows of the account's positions. One that was doubted is
// known again where both agree, nothing is pending in it, and nothing came in since the broker was asked.
//
//limit:gate-held-before What the broker shows of an account at the first look, and the ledger does not have, makes that position not known.
func (g *Gate) seen(v PolicyView, l outlook) (all []ledger.Event) {
	st, a := g.follow.state, g.cfg.Account
	cursor, _ := st.Cursor(a)
	if cursor != l.upTo || st.Seen(a) && len(st.Doubted(a)) == 0 {
		return nil
	}
	differ := differing(positionDifferences(st, a, l.held))
	if !st.Seen(a) && (v.Book != nil || st.PolicyLoaded() != "") {
		return append(doubted(st, a, differ, nil), ledger.AccountSeen{Account: a})
	}
	return doubted(st, a, nil, func(s trade.Symbol) bool {
		f := st.Facts(a, s, "")
		return !slices.Contains(differ, s) && f.PendingBuys.Sign() == 0 && f.PendingSells.Sign() == 0
	})
}

// doubt records of which positions a comparison, at which nothing moved, has found that they are not known, and of which
// that they are again.
//
//limit:gate-difference-unknown A position that differs at a comparison with the broker is not known until one finds that both agree, also where others share the account.
func (g *Gate) doubt(ctx context.Context, found []Difference) error {
	differ := differing(found)
	changes := func() []ledger.Event {
		return doubted(g.follow.state, g.cfg.Account, differ, func(s trade.Symbol) bool { return !slices.Contains(differ, s) })
	}
	some := false
	err := g.journal.Read(ctx, func() error {
		some = len(changes()) > 0
		return nil
	})
	if err != nil || !some {
		return err
	}
	return g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		for _, e := range changes() {
			g.record(tx, at, g.cfg.Account, e)
		}
		return nil
	})
}

// differing returns the symbols whose positions differ.
func differing(found []Difference) (all []trade.Symbol) {
	for _, d := range found {
		if d.What == "position" && d.Symbol != (trade.Symbol{}) { // what has no symbol that we can write is a difference alone
			all = append(all, d.Symbol)
		}
	}
	return all
}

// doubted returns the events that make these positions not known, and the doubted ones known that agree.
func doubted(st *ledger.State, a trade.Account, differ []trade.Symbol, agree func(trade.Symbol) bool) (all []ledger.Event) {
	already := st.Doubted(a)
	for _, s := range differ {
		if !slices.Contains(already, s) {
			all = append(all, ledger.PositionDoubted{Account: a, Symbol: s})
		}
	}
	for _, s := range already {
		if agree != nil && agree(s) {
			all = append(all, ledger.PositionDoubted{Account: a, Symbol: s, Ended: true})
		}
	}
	return all
}
