package gate

import (
	"fmt"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// stopUnexplained stops an account on which something happened that no decision explains.
//
//limit:gate-unexplained An order or a fill at the broker that no decision explains engages the kill switch of the account, unless others trade on it too.
//limit:gate-fill-fits A fill is explained by an order that was cleared in its symbol and on its side, or by the exits of one, for no more in sum than that order asks for and at no worse than its limit price.
func (g *Gate) stopUnexplained(tx *journal.Tx, at time.Time, e ledger.Happened) {
	if g.cfg.Shared || e.What != ledger.WasFilled {
		return
	}
	why := "no decision explains it"
	if e.Intent != "" {
		why = g.unexplained(tx, e)
	}
	if why != "" {
		g.halt(tx, at, accountScope(e.Account), fmt.Sprintf("the broker filled %s %s %s at %s and %s", e.Side, e.Quantity, e.Symbol, e.Price.Money(), why))
	}
}

// unexplained says what of a fill the order that it names does not explain; empty if all of it is explained.
func (g *Gate) unexplained(tx *journal.Tx, e ledger.Happened) string {
	if o := g.follow.state.Open(e.Intent); o != nil {
		if !sent(o) {
			return "no decision explains it"
		}
		return exceeds(o, e)
	}
	recs, err := tx.Find(journal.Key(ledger.IntentKey(e.Intent)))
	if err != nil {
		return "no decision that could be looked up explains it" // what cannot be looked up is not explained
	}
	var p ended
	for _, r := range recs {
		if x, err := ledger.Decode(r.Body); err == nil && x.About() == e.Intent {
			p.take(x)
		}
	}
	return p.exceededBy(e)
}

// exceeds says in what a fill is more than, or something else than, an open order that may be at the broker; empty if in
// nothing. What comes late, after the rest was cancelled, is still of that order.
func exceeds(o *ledger.Open, e ledger.Happened) string {
	order, worst := o.Order, o.Order.LimitPrice()
	other := fmt.Sprintf("its order %s is %s", o.Intent, order.Line())
	switch {
	case e.Account != order.Account() || e.Symbol != order.Symbol():
		return other
	case e.Side != order.Side():
		if order.HasExits() && e.Quantity.Cmp(o.Exits()) <= 0 {
			return ""
		}
		return fmt.Sprintf("%s, with exits of %s open", other, o.Exits())
	case worst.Sign() > 0 && (e.Side == trade.Buy && e.Price.Cmp(worst) > 0 || e.Side == trade.Sell && e.Price.Cmp(worst) < 0):
		return other
	case order.ByAmount():
		cent, _ := trade.ParseDecimal("0.01") // as far as a venue may round
		if e.Quantity.Mul(e.Price).Cmp(order.Amount().Add(cent).Sub(o.Spent)) > 0 {
			return fmt.Sprintf("%s, of which %s was spent before", other, o.Spent.Money())
		}
	case o.Filled.Add(e.Quantity).Cmp(order.Quantity()) > 0:
		return fmt.Sprintf("%s, of which %s were filled before", other, o.Filled)
	}
	return ""
}

// ended is what is on record of an intent of which nothing is open any more.
type ended struct {
	cleared bool // it was cleared to be sent
	loose   bool // somebody said how it ended who does not tell of fills: they may come yet
	symbol  trade.Symbol
	side    trade.Side    // of the order itself
	filled  trade.Decimal // of it
	left    trade.Decimal // of it, when the venue cancelled the rest or let it expire
	exited  trade.Decimal // on the other side
	exits   bool          // it had exits
}

func (p *ended) take(e ledger.Event) {
	switch e := e.(type) {
	case ledger.Concluded:
		p.cleared = true
		p.loose = p.loose || e.Outcome == trade.Rejected || e.Outcome == trade.Accepted && !e.Source.Tracked()
	case ledger.Rejudged:
		p.cleared = p.cleared || e.Ruling.Effect == policy.Allow
	case ledger.Happened:
		p.happened(e)
	}
}

func (p *ended) happened(e ledger.Happened) {
	if p.side == trade.NoSide {
		p.cleared, p.symbol, p.side = true, e.Symbol, e.Side
	}
	own, fill := e.Side == p.side, e.What == ledger.WasFilled
	switch {
	case own && fill:
		p.filled, p.left = p.filled.Add(e.Quantity), p.left.Sub(e.Quantity)
	case own:
		p.left = e.Quantity
	default:
		if p.exits = true; fill {
			p.exited = p.exited.Add(e.Quantity)
		}
	}
	if p.left.Sign() < 0 {
		p.left = trade.Decimal{}
	}
}

// exceededBy says in what one more fill is more than the order had left; empty if in nothing.
func (p *ended) exceededBy(e ledger.Happened) string {
	switch {
	case !p.cleared:
		return "no decision explains it"
	case p.side == trade.NoSide: // no fill is on record, nor what it asked for
		return ""
	case e.Symbol != p.symbol:
	case p.loose && e.Side == p.side, e.Side == p.side && e.Quantity.Cmp(p.left) <= 0:
		return ""
	case e.Side != p.side && p.exits && p.exited.Add(e.Quantity).Cmp(p.filled) <= 0:
		return ""
	}
	return fmt.Sprintf("its order %s, a %s of %s of which %s were filled, has ended", e.Intent, p.side, p.symbol, p.filled)
}
