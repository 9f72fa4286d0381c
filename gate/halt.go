package gate

import (
	"context"
	"fmt"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/trade"
)

// maxRefusals is how many orders in a row a broker may reject before the account is stopped.
//
//limit:gate-rejections Five orders in a row that the broker rejects engage the kill switch of the account.
const maxRefusals = 5

// halt engages the kill switch of a scope by itself.
func (g *Gate) halt(tx *journal.Tx, at time.Time, scope ledger.Scope, why string) {
	if !g.follow.state.Engaged(scope) {
		g.recordIn(tx, streamKill, at, ledger.KillEngaged{Scope: scope, By: bySallyport, Reason: why})
	}
}

func accountScope(a trade.Account) ledger.Scope {
	return ledger.Scope{Kind: ledger.OneAccount, Name: string(a)}
}

// stopBehind stops everything when no time can be trusted.
//
//limit:gate-clock-halts A clock more than 5 seconds behind the newest record engages the kill switch.
func (g *Gate) stopBehind(tx *journal.Tx, at time.Time, behind time.Duration) {
	if behind > maxClockBehind {
		g.halt(tx, at, ledger.Scope{}, fmt.Sprintf("the clock was %s behind the newest record", behind.Round(time.Millisecond)))
	}
}

// stopRefused stops an account whose broker rejects one order after another.
func (g *Gate) stopRefused(tx *journal.Tx, at time.Time, a trade.Account) {
	if n := g.follow.state.Refusals(a); n >= maxRefusals {
		g.halt(tx, at, accountScope(a), fmt.Sprintf("the broker rejected %d orders in a row", n))
	}
}

// sent reports whether an open intent may be at a broker: it waits neither for people nor for its execution.
func sent(o *ledger.Open) bool { return o.Phase != ledger.OnHold && o.Phase != ledger.Granted }

// keeps reports whether a person's stop that covers an order leaves it working.
//
//limit:gate-kept-by-person What the stop of a person keeps, whatever its scope, is cancelled by a person's stop alone.
func (g *Gate) keeps(o *ledger.Open) bool {
	for _, s := range g.follow.state.Stops() {
		if s.Keep && byPerson(s) && covers(s.Scope, o) {
			return true
		}
	}
	return false
}

// stopLanded cancels an order that was on its way when a limit stopped its scope: that stop found nothing to cancel.
//
//limit:gate-landed-under-stop An order that lands while a stop covers it, which waits for nobody, is cancelled then.
func (g *Gate) stopLanded(ctx context.Context, id trade.IntentID) {
	var under []ledger.Stop
	_ = g.journal.Read(ctx, func() error { // the next comparison with the broker finds it as well
		o := g.follow.state.Open(id)
		if o == nil || o.Phase != ledger.Working {
			return nil
		}
		for _, s := range g.follow.state.Stops() {
			if s.By == byPolicy && covers(s.Scope, o) && !later(o, s) {
				under = append(under, s)
			}
		}
		return nil
	})
	for _, s := range under {
		g.stopOrders(ctx, s, false)
	}
}
