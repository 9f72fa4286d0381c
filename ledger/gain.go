package ledger

import (
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// billion is how many of the smallest part of a price are one dollar: prices have at most nine places.
const billion = 1_000_000_000

// traded keeps the average price of a position and what its closing fills gain, before the position itself is changed.
//
//limit:ledger-gain A gain is never overstated: averages are rounded against us, and what is closed without a known average gained what is not known.
func (s *State) traded(at time.Time, acc *account, h *holding, e Happened) {
	if !s.memory.on {
		return
	}
	change, held := e.Quantity, h.position
	if e.Side == trade.Sell {
		change = trade.Decimal{}.Sub(e.Quantity)
	}
	if held.Sign() == 0 || held.Sign() == change.Sign() {
		h.enlarge(e.Quantity, e.Price, held)
		return
	}
	closing, whole := e.Quantity, absolute(held)
	if closing.Cmp(whole) > 0 {
		closing = whole
	}
	gain := policy.Known{Known: h.average.Sign() > 0}
	if gain.Known {
		gain.Value = closing.Mul(e.Price.Sub(h.average))
		if held.Sign() < 0 {
			gain.Value = trade.Decimal{}.Sub(gain.Value)
		}
	}
	acc.past.closed.add(at.UnixMicro(), gain, maxSent)
	acc.streak.add(e.Intent, gain)
	switch e.Quantity.Cmp(whole) {
	case 0:
		h.average = trade.Decimal{}
	case 1:
		h.average = e.Price
	}
}

// enlarge blends the price of shares into the average. It has nine places and is rounded against us, up for what is held
// and down for what is owed, so that a gain is never overstated; what it loses is less than a billionth of a dollar a
// share and fill. A position whose average is not known keeps it so until it is closed.
func (h *holding) enlarge(quantity, price, held trade.Decimal) {
	if held.Sign() == 0 {
		h.average = price
		return
	}
	if h.average.Sign() <= 0 {
		return
	}
	whole := absolute(held)
	cost := whole.Mul(h.average).Add(quantity.Mul(price)).Mul(trade.Whole(billion))
	whole = whole.Add(quantity)
	units := cost.QuoWhole(whole)
	if held.Sign() > 0 && units.Mul(whole).Cmp(cost) < 0 {
		units = units.Add(trade.Whole(1))
	}
	smallest, _ := trade.ParseDecimal("0.000000001")
	h.average = units.Mul(smallest)
}

func absolute(d trade.Decimal) trade.Decimal {
	if d.Sign() < 0 {
		return trade.Decimal{}.Sub(d)
	}
	return d
}

// AveragePrice returns what a share of a position was paid, by average cost; not known if there is no position, or if it
// began before the state remembered.
func (s *State) AveragePrice(a trade.Account, sym trade.Symbol) policy.Known {
	acc := s.accounts[a]
	if acc == nil || acc.holdings[sym] == nil || acc.holdings[sym].average.Sign() <= 0 {
		return policy.Known{}
	}
	return policy.Known{Value: acc.holdings[sym].average, Known: true}
}

// Realised returns what closing fills gained after that time, by average cost; a loss is below zero. It is not known if a
// position was closed whose average price is not known, or if the time is before what is remembered.
func (s *State) Realised(a trade.Account, since time.Time) policy.Known {
	from := since.UnixMicro()
	sum := policy.Known{Known: s.memory.covers(from)}
	acc := s.accounts[a]
	if acc == nil || !sum.Known {
		return sum
	}
	l := &acc.past.closed
	l.load(readGain, maxSent)
	if !l.covers(from) {
		return policy.Known{}
	}
	for i := len(l.at) - 1; i >= 0 && l.at[i] > from; i-- {
		if !l.all[i].Known {
			return policy.Known{}
		}
		sum.Value = sum.Value.Add(l.all[i].Value)
	}
	return sum
}

// ConsecutiveLosses returns how many closing orders in a row lost, the newest last: an order that closed below average
// cost, all its fills together. Breaking even is no loss; a gain that is not known is one. A person's reset of everything
// or of the account begins anew.
func (s *State) ConsecutiveLosses(a trade.Account) policy.Count {
	acc := s.accounts[a]
	if acc == nil {
		return policy.Count{Known: s.memory.on}
	}
	n, known := acc.streak.count(s.memory.whole)
	return policy.Count{N: n, Known: known && s.memory.on}
}
