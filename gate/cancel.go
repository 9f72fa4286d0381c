package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	if err := g.hear(ctx); errors.Is(err, ErrOtherVenue) {
		return CancelResult{Intent: id}, err
	}
	res, err := g.cancel(ctx, o, id, o.Surface == surfacePerson)
	if err == nil && res.Outcome != trade.Accepted && g.cleared(ctx, id) {
		return res, fmt.Errorf("intent %s: %w", id, ErrNoOpenOrder)
	}
	return res, err
}

// hearWithin is how long a cancel waits for what the venue has to tell.
//
//limit:gate-cancel-first A cancel or a stop waits at most 1 second for what the venue has to tell, once, and for no order whose outcome is unknown; those are looked up afterwards.
const hearWithin = time.Second

// hear takes in what the venue has to tell, if it does so soon: what cannot be heard now does not stop a cancel.
func (g *Gate) hear(ctx context.Context) error {
	if g.cfg.Broker == nil || g.memory != nil {
		return nil
	}
	ask, cancel := context.WithTimeout(ctx, hearWithin)
	defer cancel()
	events, err := g.venueEvents(ask)
	if err != nil || len(events) == 0 {
		return err
	}
	return g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		g.recordVenue(tx, at, nil, events)
		return nil
	})
}

// cleared looks up what is unknown, and reports whether an order that the broker did not cancel is open no more.
func (g *Gate) cleared(ctx context.Context, id trade.IntentID) (gone bool) {
	_ = g.Recover(ctx) // what cannot be looked up now stays as it is
	_ = g.journal.Read(ctx, func() error {
		gone = g.follow.state.Open(id) == nil
		return nil
	})
	return gone
}

// cancel cancels an order, and what is left of a filled one, its exits, where they may be.
func (g *Gate) cancel(ctx context.Context, o Origin, id trade.IntentID, mayExits bool) (CancelResult, error) {
	res := CancelResult{Intent: id}
	if g.cfg.Broker == nil {
		return res, fmt.Errorf("this process has no broker")
	}
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

// lookAfter looks up what is unknown, once, and says of the orders that it shows to be over that they are gone.
func (g *Gate) lookAfter(ctx context.Context, open []StopOrder) {
	unclear := func(o StopOrder) bool { return o.State == StopUnknown || o.State == StopStillThere }
	if g.cfg.Broker == nil || g.memory != nil || !slices.ContainsFunc(open, unclear) {
		return
	}
	_ = g.Recover(ctx) // what cannot be looked up now stays as it is
	_ = g.journal.Read(ctx, func() error {
		for i, o := range open {
			if unclear(o) && g.follow.state.Open(o.Intent) == nil {
				open[i].State, open[i].Message = StopGone, ""
			}
		}
		return nil
	})
}
