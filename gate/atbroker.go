package gate

import (
	"context"

	"sallyport/ledger"
	"sallyport/trade"
)

// onRecord returns the orders that are open in the ledger, of which a stop has spoken already.
func (g *Gate) onRecord(ctx context.Context) map[trade.IntentID]*StopOrder {
	open := map[trade.IntentID]*StopOrder{}
	_ = g.journal.Read(ctx, func() error { // without it a cancel more is asked than is needed
		for _, o := range g.follow.state.Opens() {
			open[o.Intent] = nil
		}
		return nil
	})
	return open
}

// spared returns the orders that a stop leaves, as far as the journal can still be read: one that is only busy can.
//
//limit:gate-stop-unrecorded-leaves A stop that finds the journal busy leaves what every stop leaves: protecting exits and stop orders, and what a person reduces or keeps.
func (g *Gate) spared(ctx context.Context, stop ledger.Stop, r StopRequest) map[trade.IntentID]*StopOrder {
	left := map[trade.IntentID]*StopOrder{}
	ctx, cancel := context.WithTimeout(ctx, g.cfg.LockWait)
	defer cancel()
	_ = g.journal.Read(ctx, func() error { // without it nothing is known of any, and all is cancelled
		for _, o := range g.follow.state.Opens() {
			if s := g.stopped(o, stop, r.exits()); s.State == StopKept {
				left[o.Intent] = &s
			}
		}
		return nil
	})
	return left
}

const unrecorded = "cancelled without a record, since the journal cannot be written"

// cancelAtBroker cancels what the broker itself shows as open, beside what is known: all that a stop does not leave when
// nothing can be recorded, and what was never recorded here otherwise. A cancel opens no risk, and the broker tells of it later. Whose
// orders they are is not known, so a stop of one agent leaves them; on an account that others share only ours are touched.
//
//limit:gate-cancel-strange A stop cancels also what works at the broker and is not on record, unless others share the account.
//limit:gate-cancel-unrecorded A stop cancels at the broker also when the journal cannot be written, unless it is of one agent.
func (g *Gate) cancelAtBroker(ctx context.Context, r StopRequest, known map[trade.IntentID]*StopOrder, why string) (all []StopOrder) {
	if g.cfg.Broker == nil || r.Keep || r.Scope.Kind == ledger.OneAgent {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.cfg.BrokerWait)
	defer cancel()
	working, err := g.cfg.Broker.Working(ctx)
	if err != nil {
		return nil // nothing is known, and nothing is said
	}
	for _, v := range working {
		id := intentOf(v.ID)
		if left, is := known[id]; is {
			if left != nil {
				all = append(all, *left)
			}
			continue
		}
		if id == "" && g.cfg.Shared || !r.Scope.Covers(g.cfg.Account, "", v.Symbol) {
			continue
		}
		o := StopOrder{Intent: id, State: StopUnknown}
		if v.Exits && !r.exits() {
			o.State, o.Message = StopKept, protecting
			all = append(all, o)
			continue
		}
		permit := mint(CancelOrder, Cleared{ID: v.ID, Exits: v.Exits, NotAfter: g.cfg.Now().Add(g.cfg.SendWithin)})
		f := g.ask(o.Intent, func() (Receipt, error) { return g.cfg.Broker.Cancel(ctx, permit) })
		switch o.Message = trade.Printable(f.out.Message, 200); f.out.Outcome {
		case trade.Accepted:
			o.State, o.Message = StopGone, why
		case trade.Rejected:
			o.State = StopStillThere
		case trade.Unknown:
		}
		all = append(all, o)
	}
	return all
}
