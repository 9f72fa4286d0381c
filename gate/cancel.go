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

// Cancel asks the broker to cancel an order of ours. It needs a permit like every other request, and is on record
// before it leaves. No limit and no kill switch stops it.
func (g *Gate) Cancel(ctx context.Context, o Origin, id trade.IntentID) (CancelResult, error) {
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
		at, _ := g.moment(tx)
		cleared = Cleared{Order: open.Order, ID: id.BrokerOrderID(), NotAfter: at.Add(g.cfg.SendWithin)}
		g.record(tx, at, g.cfg.Account, ledger.CancelAsked{Intent: id, Origin: cleanOrigin(o), NotAfter: cleared.NotAfter, Wanted: true})
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
