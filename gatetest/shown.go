package gatetest

import (
	"context"
	"slices"
	"time"

	"sallyport/gate"
	"sallyport/market"
	"sallyport/trade"
)

// How the broker in memory executes orders by a market that a test shows it: whole, at the far side of the quote, like
// every venue that the suite's wider parts are for. Its days have no sessions: a day order ends a day after it came.

// Show sets the market in a symbol and executes what works and is reached.
func (b *Broker) Show(s trade.Symbol, bid, ask trade.Decimal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown == nil {
		b.shown = map[trade.Symbol]trade.Quote{}
	}
	b.shown[s] = trade.Quote{Symbol: s, Bid: bid, Ask: ask, Last: bid, At: b.now()}
	var working []*placed
	for _, p := range b.orders {
		working = append(working, p)
	}
	slices.SortFunc(working, func(x, y *placed) int { return x.number - y.number })
	for _, p := range append(working, b.exits...) {
		if p.working && p.cleared.Order.Symbol() == s {
			b.meet(p)
		}
	}
}

// trades reports whether a market was shown.
func (b *Broker) trades() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.shown) > 0
}

// Trade is the answer of a venue that executes by the market that it was shown. A market order without one is rejected.
func Trade(_ context.Context, b *Broker, c gate.Cleared) (gate.Receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.events)
	return b.tell(b.trade(c), before), nil
}

func (b *Broker) trade(c gate.Cleared) gate.Receipt {
	if r, known := b.known(c); known {
		return r
	}
	o := c.Order
	q, quoted := b.shown[o.Symbol()]
	digest := refusal{digest: o.Digest()}
	if o.Type() == trade.Market && !quoted {
		return b.refuse(c.ID, digest, "MARKET_UNAVAILABLE", "there is no quote")
	}
	shares := o.Quantity()
	if o.ByAmount() {
		shares = o.Amount().QuoDown(q.Ask) // never for more than the amount
	}
	price := o.LimitPrice()
	if price.Sign() == 0 {
		price = q.Ask
	}
	if cash := trade.Whole(openingCash).Sub(b.spent); o.Side() == trade.Buy && shares.Mul(price).Cmp(cash) > 0 {
		return b.refuse(c.ID, digest, "INSUFFICIENT_CASH", "there is not enough cash")
	}
	p := b.place(c, shares)
	b.meet(p)
	if p.working && (o.TimeInForce() == trade.IOC || o.TimeInForce() == trade.FOK) {
		b.end(p, gate.VenueExpired, trade.Decimal{})
	}
	return p.receipt
}

// meet does to a working order what the market does to it.
func (b *Broker) meet(p *placed) {
	o := p.cleared.Order
	q, quoted := b.shown[o.Symbol()]
	if !p.exits && o.TimeInForce() == trade.Day && b.now().Sub(p.at) >= 24*time.Hour {
		b.end(p, gate.VenueExpired, trade.Decimal{})
		return
	}
	if !quoted || market.Crossed(q) {
		return
	}
	price, sign := q.Ask, 1 // a price is better that is lower, times the sign
	if p.side == trade.Sell {
		price, sign = q.Bid, -1
	}
	stop, limit := o.StopPrice(), o.LimitPrice()
	if p.exits {
		stop, limit = o.StopLoss().Stop, o.StopLoss().Limit
	}
	p.triggered = p.triggered || stop.Sign() > 0 && sign*price.Cmp(stop) >= 0
	reached := limit.Sign() == 0 || sign*price.Cmp(limit) <= 0
	waits := (stop.Sign() > 0 || p.exits) && !p.triggered
	profits := p.exits && o.TakeProfit().Sign() > 0 && price.Cmp(o.TakeProfit()) >= 0
	if profits || reached && !waits {
		b.fill(p, price)
		b.guard(p)
	}
}

// guard places the exits of an entry that was filled.
func (b *Broker) guard(entry *placed) {
	if entry.exits || !entry.cleared.Order.HasExits() {
		return
	}
	b.exits = append(b.exits, &placed{
		cleared: entry.cleared, side: trade.Sell, shares: entry.shares, working: true, exits: true, at: b.now(),
		receipt: gate.Receipt{Outcome: trade.Accepted, OrderID: entry.receipt.OrderID + "-exits"},
	})
}
