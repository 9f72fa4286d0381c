package gate

import (
	"bytes"
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
	o, cleared, err := g.past(tx, e.Intent)
	switch {
	case err != nil:
		return "no decision that could be looked up explains it" // what cannot be looked up is not explained
	case !cleared:
		return "no decision explains it"
	case o.Order.IsZero() && g.memory != nil: // which does not keep all that was decided
		return ""
	case o.Order.IsZero():
		return "no decision explains it"
	}
	return exceeds(o, e)
}

// past returns an intent of which nothing is open any more, with what was filled of it, and whether it was ever cleared to
// be sent. The order is zero if its decision is not kept.
func (g *Gate) past(tx *journal.Tx, id trade.IntentID) (o *ledger.Open, cleared bool, err error) {
	o = &ledger.Open{Intent: id}
	from := id.Time()
	first, err := tx.At(from, from.Add(time.Millisecond-time.Microsecond))
	if err != nil {
		return o, false, err
	}
	after, err := tx.Find(journal.Key(ledger.IntentKey(id)))
	if err != nil {
		return o, false, err
	}
	for _, r := range first {
		if !bytes.Contains(r.Body, []byte(id)) { // many may have been recorded in its millisecond
			continue
		}
		if e, err := ledger.Decode(r.Body); err == nil {
			if d, is := e.(ledger.Decided); is && d.Intent == id {
				o.Order = d.Order
			}
		}
	}
	for _, r := range after {
		e, err := ledger.Decode(r.Body)
		if err != nil || e.About() != id {
			continue
		}
		switch e := e.(type) {
		case ledger.Rejudged:
			cleared = cleared || e.Ruling.Effect == policy.Allow
		case ledger.Concluded:
			cleared = true
		case ledger.Happened:
			cleared = true
			filled(o, e)
		}
	}
	return o, cleared, nil
}

// filled adds up what a venue has told of the fills of an intent.
func filled(o *ledger.Open, e ledger.Happened) {
	switch {
	case e.What != ledger.WasFilled:
	case e.Side == o.Order.Side():
		o.Filled, o.Spent = o.Filled.Add(e.Quantity), o.Spent.Add(e.Quantity.Mul(e.Price))
	default:
		o.Exited = o.Exited.Add(e.Quantity)
	}
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
