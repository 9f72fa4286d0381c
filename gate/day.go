package gate

import (
	"context"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
)

// BeginDay fixes what the account is worth at the beginning of a day, where a policy of version 2 counts from it, as soon
// as that is known: the first order of the day may come late. The daemon calls it now and then. Once the day has begun it
// looks for a new peak once a minute; else it costs one look at the ledger.
//
//limit:gate-day-peak The peak that a drawdown counts from is the highest equity of the day at an order that was judged, or at a look of the daemon, once a minute.
//limit:gate-day-begins The day that losses count from begins with the first look of the daemon at which every holding has a quote, or with the first order judged then, whichever is earlier.
func (g *Gate) BeginDay(ctx context.Context) error {
	v := g.policy.view()
	if v.Book == nil || !v.Book.UsesEquity() || g.cfg.Broker == nil {
		return nil
	}
	begun := false
	err := g.journal.Read(ctx, func() error {
		date, _ := ledger.DayOf(g.now(), v.zone)
		begun = g.follow.state.Day(g.cfg.Account).Date >= date
		return nil
	})
	if err != nil || begun && g.now().UnixMicro() < g.peaked.Load()+peakEvery.Microseconds() {
		return err
	}
	g.peaked.Store(g.now().UnixMicro())
	by, known := basis{policy: v, look: g.look(ctx, v)}, false
	err = g.journal.Read(ctx, func() error {
		known = len(g.dawn(g.follow.state, by, g.now())) > 0
		return nil
	})
	if err != nil || !known {
		return err
	}
	return g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		g.prepare(tx, at, by)
		for _, e := range g.dawn(g.follow.state, by, at) {
			g.record(tx, at, g.cfg.Account, e)
		}
		return nil
	})
}

// peakEvery is how often the daemon looks for a new peak of the day.
const peakEvery = time.Minute

// dawn returns the beginning of a day that has not begun, or a new peak; nothing while it cannot be known.
func (g *Gate) dawn(st *ledger.State, by basis, at time.Time) []ledger.Event {
	mark := by.look.mark(by.policy.Book, at)
	return st.BaselineOf(g.cfg.Account, ledger.Inquiry{
		At: at, Zone: by.policy.zone, Mark: mark, Cash: by.look.cash(st, g.cfg.Account, at, mark),
	})
}
