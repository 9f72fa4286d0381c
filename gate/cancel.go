package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/trade"
)

// CancelResult says what became of a cancel.
type CancelResult struct {
	Intent  trade.IntentID
	Outcome trade.Outcome // Accepted: no further fill can come
	Message string
}

// ErrNoOpenOrder says that an intent has no order of ours that is open at the broker: it was never sent, or it has ended.
var ErrNoOpenOrder = errors.New("there is no order that is open at the broker")

// ErrProtects says that all that is open of an order are the exits that protect what it bought.
var ErrProtects = errors.New("the order is filled, and its exits protect what it bought: only a person cancels those")

// Cancel asks the broker to cancel an order of ours. It needs a permit like every other request, and is on record
// before it leaves. No limit and no kill switch stops it. Of an order that is filled the exits may still be open: those
// are cancelled for a person alone.
//
//limit:gate-exits-person The exits of a position are cancelled at a person's word alone: not by an agent, and by a stop only with --all.
func (g *Gate) Cancel(ctx context.Context, o Origin, id trade.IntentID) (CancelResult, error) {
	return g.cancel(ctx, o, id, o.Surface == surfacePerson)
}

// cancel cancels an order, and what is left of a filled one, its exits, where they may be.
func (g *Gate) cancel(ctx context.Context, o Origin, id trade.IntentID, mayExits bool) (CancelResult, error) {
	res := CancelResult{Intent: id}
	if g.cfg.Broker == nil {
		return res, fmt.Errorf("this process has no broker")
	}
	if err := g.Recover(ctx); errors.Is(err, ErrOtherVenue) {
		return res, err
	} // what cannot be looked at now does not stop a cancel
	var cleared Cleared
	err := g.update(ctx, func(tx *journal.Tx) error {
		open := g.follow.state.Open(id)
		if open == nil || open.Order.Account() != g.cfg.Account || open.Phase != ledger.Sending && open.Phase != ledger.Working {
			return fmt.Errorf("intent %s: %w", trade.Printable(string(id), 64), ErrNoOpenOrder)
		}
		exits := protects(open)
		if exits && !mayExits {
			return fmt.Errorf("intent %s: %w", id, ErrProtects)
		}
		at, _ := g.moment(tx)
		cleared = Cleared{Order: open.Order, ID: id.BrokerOrderID(), NotAfter: at.Add(g.cfg.SendWithin), Exits: exits}
		g.record(tx, at, g.cfg.Account, ledger.CancelAsked{Intent: id, Origin: cleanOrigin(o), NotAfter: cleared.NotAfter, Wanted: true, Exits: exits})
		return nil
	})
	if err != nil {
		return res, err
	}
	ctx = context.WithoutCancel(ctx)
	call, done := context.WithTimeout(ctx, g.cfg.BrokerWait)
	defer done()
	f := g.ask(id, func() (Receipt, error) { return g.cfg.Broker.Cancel(call, mint(CancelOrder, cleared)) })
	if f.out.Source != ledger.FromBroker {
		f.out.Outcome = trade.Unknown // it did not arrive, or nobody knows: it is still wanted
	}
	res.Outcome, res.Message = f.out.Outcome, f.out.Message
	return res, g.land(ctx, &ledger.Decision{}, f, f.next == 0, func(tx *journal.Tx, at time.Time) {
		g.record(tx, at, g.cfg.Account, ledger.CancelEnded{Intent: id, Outcome: f.out.Outcome, Message: f.out.Message})
	})
}

// protects reports whether nothing of an order is open but its exits.
func protects(o *ledger.Open) bool {
	return o.Phase == ledger.Working && o.Sized() && o.Remaining().Sign() <= 0 && o.Exits().Sign() > 0
}
