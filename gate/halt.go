package gate

import (
	"fmt"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
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

// stopUnexplained stops an account on which something happened that no decision explains.
//
//limit:gate-unexplained An order or a fill at the broker that no decision explains engages the kill switch of the account, unless others trade on it too.
func (g *Gate) stopUnexplained(tx *journal.Tx, at time.Time, e ledger.Happened) {
	if g.cfg.Shared || e.What != ledger.WasFilled || g.explained(tx, e.Intent) {
		return
	}
	g.halt(tx, at, accountScope(e.Account), fmt.Sprintf("the broker filled %s %s %s and no decision explains it",
		e.Side, e.Quantity, e.Symbol))
}

// explained reports whether an intent was ever cleared to be sent: it is open as such, or what followed its decision says so.
func (g *Gate) explained(tx *journal.Tx, id trade.IntentID) bool {
	if id == "" {
		return false
	}
	if o := g.follow.state.Open(id); o != nil {
		return sent(o)
	}
	recs, err := tx.Find(journal.Key(ledger.IntentKey(id)))
	if err != nil {
		return false // what cannot be looked up is not explained
	}
	for _, r := range recs {
		e, err := ledger.Decode(r.Body)
		if err != nil || e.About() != id {
			continue
		}
		switch e := e.(type) {
		case ledger.Concluded, ledger.Happened:
			return true
		case ledger.Rejudged:
			if e.Ruling.Effect == policy.Allow {
				return true
			}
		}
	}
	return false
}

// sent reports whether an open intent may be at a broker: it waits neither for people nor for its execution.
func sent(o *ledger.Open) bool { return o.Phase != ledger.OnHold && o.Phase != ledger.Granted }
