package gate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/trade"
)

// Difference is something on which the broker and the ledger do not agree.
type Difference struct {
	Symbol trade.Symbol
	What   string // position or order
	Broker string // what the broker says
	Ledger string // what the ledger says
}

// String says it in a sentence.
func (d Difference) String() string {
	return fmt.Sprintf("%s of %s: the broker says %s, the ledger says %s", d.What, d.Symbol, d.Broker, d.Ledger)
}

// Reconciliation is what a comparison with the broker came to.
type Reconciliation struct {
	At          time.Time
	Unknown     int // orders whose outcome is still not known
	Differences []Difference
}

// reconcileTries is how often a comparison begins again because the broker moved in between.
//
//limit:gate-reconcile-tries A comparison with a broker that moves meanwhile is made at most 4 times; then it waits for the next.
const reconcileTries = 4

// Reconcile asks the broker for orders, fills and positions: it settles unknown outcomes, records fills, and compares. A
// difference that no decision explains engages the kill switch of the account, with both numbers.
//
//limit:gate-reconcile A position or an open order at the broker that differs from the ledger engages the kill switch of the account, with both numbers.
func (g *Gate) Reconcile(ctx context.Context) (Reconciliation, error) {
	r := Reconciliation{At: g.now()}
	if g.cfg.Broker == nil {
		return r, errors.New("this process has no broker")
	}
	if err := g.witness(ctx); err != nil {
		return r, err
	}
	if err := g.Settle(ctx); err != nil {
		return r, err
	}
	if err := g.Recover(ctx); err != nil {
		return r, err
	}
	if err := g.differ(ctx, &r); err != nil {
		return r, err
	}
	return r, g.cancelStopped(ctx)
}

// compareOrders looks at the open orders on both sides, and compares all if they seem to differ: the venue's events do not
// tell of an order that works.
//
//limit:gate-start-compare Who opens the gate with a broker compares the open orders first: a journal or a venue that was put back from before stops the account.
func (g *Gate) compareOrders(ctx context.Context) error {
	ask, cancel := context.WithTimeout(ctx, g.cfg.BrokerWait)
	defer cancel()
	orders, err := g.cfg.Broker.Working(ask)
	if err != nil {
		return fmt.Errorf("the broker's orders cannot be read: %w", err)
	}
	seem := 0
	err = g.journal.Read(ctx, func() error {
		seem = len(g.orderDifferences(g.follow.state, orders))
		return nil
	})
	if err != nil || seem == 0 {
		return err
	}
	return g.differ(ctx, &Reconciliation{})
}

// differ compares both sides, and stops the account if they differ.
func (g *Gate) differ(ctx context.Context, r *Reconciliation) error {
	still := false
	for range reconcileTries {
		var err error
		if still, err = g.compare(ctx, r); err != nil {
			return err
		}
		if still {
			break
		}
	}
	if !still {
		r.Differences = nil // both sides were never seen at the same moment
	}
	if still {
		if err := g.doubt(ctx, r.Differences); err != nil {
			return err
		}
	}
	if len(r.Differences) == 0 || g.cfg.Shared {
		return nil
	}
	return g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		g.halt(tx, at, accountScope(g.cfg.Account), r.Differences[0].String())
		return nil
	})
}

// witness opens the journal as another process would, and reads from it: a connection that has been open for long may not
// see that its file was damaged.
//
//limit:gate-witness A journal that cannot be opened anew at a comparison with the broker engages the kill switch.
func (g *Gate) witness(ctx context.Context) error {
	path := filepath.Join(g.cfg.Home, JournalName)
	j, err := journal.Open(ctx, journal.Config{Path: path, LockWait: g.cfg.LockWait, Follower: newFollower()})
	if err == nil {
		err = errors.Join(j.Read(ctx, func() error { return nil }), j.Close())
	}
	if err == nil || errors.Is(err, journal.ErrBusy) || ctx.Err() != nil {
		return nil // one that is only busy is looked at the next time
	}
	g.trip(err)
	return fmt.Errorf("the journal cannot be opened anew: %w", err)
}

// compare looks at both sides between two looks at the broker's events. It is true if nothing moved meanwhile, so that the
// two can be compared.
func (g *Gate) compare(ctx context.Context, r *Reconciliation) (still bool, err error) {
	before := g.venueCursor(ctx)
	ask, cancel := context.WithTimeout(ctx, g.cfg.BrokerWait)
	defer cancel()
	holdings, err := g.cfg.Broker.Holdings(ask)
	if err != nil {
		return false, fmt.Errorf("the broker's positions cannot be read: %w", err)
	}
	orders, err := g.cfg.Broker.Working(ask)
	if err != nil {
		return false, fmt.Errorf("the broker's orders cannot be read: %w", err)
	}
	if err := g.Recover(ctx); err != nil {
		return false, err
	}
	r.Differences, r.Unknown = nil, 0
	flying := false
	err = g.journal.Read(ctx, func() error {
		st := g.follow.state
		r.Differences = append(positionDifferences(st, g.cfg.Account, holdings), g.orderDifferences(st, orders)...)
		for _, o := range st.Opens() {
			if o.Unknown && o.Order.Account() == g.cfg.Account {
				r.Unknown++
			}
			flying = flying || o.Phase == ledger.Sending && !o.Unknown && o.Order.Account() == g.cfg.Account
		}
		return nil
	})
	return !flying && before == g.venueCursor(ctx), err
}

func (g *Gate) venueCursor(ctx context.Context) (n uint64) {
	_ = g.journal.Read(ctx, func() error {
		n, _ = g.follow.state.Cursor(g.cfg.Account)
		return nil
	})
	return n
}

func positionDifferences(st *ledger.State, a trade.Account, h Holdings) (found []Difference) {
	ours := map[trade.Symbol]trade.Decimal{}
	for _, p := range st.Holdings() {
		if p.Account == a {
			ours[p.Symbol] = p.Quantity
		}
	}
	for _, p := range h.Positions {
		if p.Quantity.Cmp(ours[p.Symbol]) != 0 {
			found = append(found, Difference{p.Symbol, "position", p.Quantity.String(), ours[p.Symbol].String()})
		}
		delete(ours, p.Symbol)
	}
	for _, p := range st.Holdings() { // which are sorted
		if q, left := ours[p.Symbol]; left && p.Account == a && q.Sign() != 0 {
			found = append(found, Difference{p.Symbol, "position", "0", q.String()})
		}
	}
	return found
}

func (g *Gate) orderDifferences(st *ledger.State, at []VenueOrder) (found []Difference) {
	type leg struct {
		id    trade.IntentID
		exits bool
	}
	there, legs := map[trade.IntentID]bool{}, map[leg]bool{}
	for _, v := range at {
		id := intentOf(v.ID)
		words := fmt.Sprintf("%s %s open as %s", v.Side, v.Remaining, trade.Printable(string(v.ID)+" "+v.OrderID, 64))
		switch o := st.Open(id); {
		case o == nil || !sent(o):
			found = append(found, Difference{v.Symbol, "order", words, "no such order"})
		case legs[leg{id, v.Exits}]:
			found = append(found, Difference{v.Symbol, "order", words + " once more", openWords(o)})
		case !same(o, v):
			if v.Symbol != o.Order.Symbol() {
				words += " in " + v.Symbol.String()
			}
			found = append(found, Difference{o.Order.Symbol(), "order", words, openWords(o)})
		}
		there[id], legs[leg{id, v.Exits}] = true, true
	}
	for _, o := range st.Opens() {
		if o.Phase == ledger.Working && o.Order.Account() == g.cfg.Account && !there[o.Intent] {
			found = append(found, Difference{o.Order.Symbol(), "order", "no such order", openWords(o)})
		}
	}
	return found
}

// same reports whether what is open at the venue is what the ledger has open. How many shares are left of an order by
// amount is not the same question on both sides.
func same(o *ledger.Open, v VenueOrder) bool {
	left, side := o.Remaining(), o.Order.Side()
	if v.Exits {
		left, side = o.Exits(), trade.Sell
	}
	return v.Symbol == o.Order.Symbol() && v.Side == side && (v.Remaining.Cmp(left) == 0 || !v.Exits && o.Order.ByAmount())
}

// openWords says what of an order the ledger has open.
func openWords(o *ledger.Open) string {
	words := fmt.Sprintf("%s %s open as %s", o.Order.Side(), o.Remaining(), o.Intent)
	switch {
	case !o.Sized():
		words = fmt.Sprintf("%s, %s filled, open as %s", o.Order.Line(), o.Filled, o.Intent)
	case o.Exits().Sign() > 0:
		words += fmt.Sprintf(", exits of %s", o.Exits())
	}
	return words
}
