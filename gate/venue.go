package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/trade"
)

// How much of a venue's past one call takes in. So many events fit into one append to the journal.
//
//limit:gate-venue-pages One call takes in at most 1000 pages of a venue's events; the rest waits for the next.
//limit:gate-venue-events One call takes in at most 20,000 of a venue's events; the rest waits for the next.
const (
	maxPages = 1000
	maxTaken = 20_000
)

// ErrOtherVenue says that the venue is not the one that the journal knows: it lacks the last event that was taken in, or
// has another in its place. Its positions and ours would differ, so nothing is executed.
var ErrOtherVenue = errors.New("the venue is not the one that the journal knows")

// venueEvents asks the broker for everything after the last event that the ledger has. It asks for that one again, which
// shows that it is the same venue.
//
//limit:gate-same-venue A venue that does not have the last event that the journal knows of it is refused.
func (g *Gate) venueEvents(ctx context.Context) ([]VenueEvent, error) {
	var cursor uint64
	var known trade.IntentID
	err := g.journal.Read(ctx, func() error {
		cursor, known = g.follow.state.Cursor(g.cfg.Account)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if cursor == 0 {
		if err := g.knowsWorking(ctx); err != nil {
			return nil, err
		}
		return g.eventsAfter(ctx, 0)
	}
	all, err := g.eventsAfter(ctx, cursor-1)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, fmt.Errorf("%w: it does not have event %d", ErrOtherVenue, cursor)
	case intentOf(all[0].ID) != known:
		return nil, fmt.Errorf("%w: its event %d is about another order", ErrOtherVenue, cursor)
	}
	return all[1:], nil
}

// knowsWorking asks for one of the orders that work at a venue from which no event has come yet.
func (g *Gate) knowsWorking(ctx context.Context) error {
	var working *ledger.Open
	err := g.journal.Read(ctx, func() error {
		for _, o := range g.follow.state.Opens() {
			if o.Phase == ledger.Working && o.Order.Account() == g.cfg.Account {
				working = &ledger.Open{Intent: o.Intent, Pending: o.Pending}
			}
		}
		return nil
	})
	if err != nil || working == nil {
		return err
	}
	if out := g.lookup(ctx, working); out.Outcome == trade.Rejected {
		return fmt.Errorf("%w: it does not have order %s", ErrOtherVenue, working.Intent.BrokerOrderID())
	}
	return nil
}

// eventsAfter reads page after page of the venue's events.
func (g *Gate) eventsAfter(ctx context.Context, cursor uint64) ([]VenueEvent, error) {
	var all []VenueEvent
	for range maxPages {
		ctx, cancel := context.WithTimeout(ctx, g.cfg.BrokerWait)
		page, err := g.cfg.Broker.Events(ctx, cursor)
		cancel()
		if err != nil {
			return all, fmt.Errorf("the broker's events cannot be read: %w", err)
		}
		page = page[:min(len(page), maxTaken-len(all))]
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			if e.Number != cursor+1 {
				return all, fmt.Errorf("the broker does not number its events one by one: %d after %d", e.Number, cursor)
			}
			cursor = e.Number
			all = append(all, e)
		}
	}
	return all, nil
}

// happened is a venue's event as it goes on record; why is not empty if it cannot.
//
//limit:gate-event-sound A venue's event that is not a fill, a cancel or an expiry in a symbol and on a side that we can write, or a fill of nothing or at no price, is not recorded: it engages the kill switch of the account, and what follows waits.
func happened(a trade.Account, e VenueEvent) (h ledger.Happened, why string) {
	switch {
	case e.Kind == NoVenueEvent || e.Kind > VenueExpired:
		return h, fmt.Sprintf("its kind %d is none", e.Kind)
	case e.Symbol == trade.Symbol{}:
		return h, "it names no symbol"
	case e.Side != trade.Buy && e.Side != trade.Sell:
		return h, "it names no side"
	case e.Quantity.Sign() < 0, e.Kind == VenueFill && e.Quantity.Sign() == 0:
		return h, "its quantity is " + e.Quantity.String()
	case e.Price.Sign() < 0, e.Kind == VenueFill && e.Price.Sign() == 0:
		return h, "its price is " + e.Price.String()
	}
	h = ledger.Happened{
		Account: a, Number: e.Number, What: e.Kind.String(), Symbol: e.Symbol, Side: e.Side, Quantity: e.Quantity, Price: e.Price,
	}
	h.Intent = intentOf(e.ID)
	if _, err := ledger.Decode(ledger.Encode(h)); err != nil { // a record that cannot be read would end the journal
		return h, words(err.Error())
	}
	return h, ""
}

// intentOf returns the intent that a client order id was made from; empty for an id that is not ours.
func intentOf(id trade.BrokerOrderID) trade.IntentID {
	text, ours := strings.CutPrefix(string(id), "sp-")
	if intent, ok := trade.ParseIntentID(text); ok && ours {
		return intent
	}
	return ""
}

// recordVenue records what the ledger does not have yet. What concerns the decision at hand is applied to it. It is false
// if events that come before these are missing; then it records none of what follows the gap.
func (g *Gate) recordVenue(tx *journal.Tx, at time.Time, d *ledger.Decision, events []VenueEvent) bool {
	for _, v := range events {
		cursor, _ := g.follow.state.Cursor(g.cfg.Account)
		if v.Number <= cursor {
			continue
		}
		if v.Number != cursor+1 {
			return false
		}
		e, why := happened(g.cfg.Account, v)
		if why != "" {
			g.halt(tx, at, accountScope(g.cfg.Account), fmt.Sprintf("event %d of the broker cannot be taken in: %s", v.Number, why))
			return true // there is nothing more to ask for
		}
		g.stopUnexplained(tx, at, e)
		g.record(tx, at, e.Account, e)
		if d != nil && e.Intent == d.Intent {
			d.Apply(e)
		}
	}
	return true
}

// Recover settles what earlier processes left behind: it asks the broker about orders without an outcome and takes in
// the venue's events. Open calls it where there is a broker.
func (g *Gate) Recover(ctx context.Context) error {
	if g.cfg.Broker == nil || g.memory != nil { // in memory nothing was left behind, and events are handed in
		return nil
	}
	events, err := g.venueEvents(ctx)
	if err != nil {
		return err
	}
	lost, err := g.lost(ctx)
	if err != nil || len(lost) == 0 && len(events) == 0 {
		return err
	}
	found := g.lookAll(ctx, lost)
	err = g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		for _, out := range found {
			g.recordOutcome(tx, at, &ledger.Decision{}, out)
		}
		g.recordVenue(tx, at, nil, events)
		return nil
	})
	if err != nil {
		return fmt.Errorf("what the broker answered cannot be recorded: %w", err)
	}
	return nil
}

// lost returns the orders that we sent, or were about to send, and whose sender cannot report any more.
func (g *Gate) lost(ctx context.Context) ([]*ledger.Open, error) {
	var lost []*ledger.Open
	err := g.journal.Read(ctx, func() error {
		for _, o := range g.follow.state.Opens() {
			ours := o.Phase == ledger.Sending && !o.Pending.NotAfter.IsZero() && o.Order.Account() == g.cfg.Account
			late := g.cfg.Now().After(o.Pending.NotAfter.Add(g.cfg.BrokerWait))
			if ours && (late || !g.lease.alive(o.Pending.Instance)) {
				lost = append(lost, &ledger.Open{Intent: o.Intent, Pending: o.Pending})
			}
		}
		return nil
	})
	return lost, err
}

// lookers is how many orders are looked up at the same time.
//
//limit:gate-lookups Orders of unknown outcome are looked up 4 at a time, all within the broker's one deadline; what is not reached waits for the next time.
const lookers = 4

// lookAll looks orders up, as many as the broker answers for within one deadline. It begins with another one each time, so
// that none which has no answer keeps the others from being asked about.
func (g *Gate) lookAll(ctx context.Context, lost []*ledger.Open) (found []ledger.Concluded) {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.BrokerWait)
	defer cancel()
	all := make([]ledger.Concluded, len(lost))
	first := g.lookedUp.Add(lookers) - lookers
	var next atomic.Uint64
	var wg sync.WaitGroup
	for range min(lookers, len(lost)) {
		wg.Go(func() {
			for n := next.Add(1) - 1; n < uint64(len(lost)) && ctx.Err() == nil; n = next.Add(1) - 1 {
				i := (first + n) % uint64(len(lost))
				all[i] = g.lookup(ctx, lost[i])
			}
		})
	}
	wg.Wait()
	for _, out := range all {
		if out.Intent != "" {
			found = append(found, out)
		}
	}
	return found
}

func (g *Gate) lookup(ctx context.Context, o *ledger.Open) ledger.Concluded {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.BrokerWait)
	defer cancel()
	out := g.ask(o.Intent, func() (Receipt, error) {
		r, err := g.cfg.Broker.Lookup(ctx, o.Intent.BrokerOrderID(), o.Pending.NotAfter)
		if errors.Is(err, ErrNotSent) {
			err = errors.New(err.Error()) // the question was not sent, which says nothing of the order
		}
		return r, err
	}).out
	if out.Source == ledger.FromBroker {
		out.Source = ledger.FromLookup
	}
	return out
}
