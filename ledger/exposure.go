package ledger

import (
	"sallyport/policy"
	"sallyport/trade"
)

// Mark is the two sides at which a position is valued.
type Mark struct{ Bid, Ask trade.Decimal }

// Exposure is what an account has at risk, as policy.Situation has it.
type Exposure struct {
	SymbolLong  policy.Known
	SymbolShort policy.Known
	Gross       policy.Known
	NetLong     policy.Known
	NetShort    policy.Known
	Positions   policy.Known // what the positions would bring: long at the bid, short at the ask
	Unrealised  policy.Known // what the positions gained by these marks; not known if the cost of one is not
	OpenOrders  int
}

// tide is what is pending in one symbol: how many shares by open intents, and what they are worth at worst.
type tide struct {
	buys, sells, buyValue, sellValue trade.Decimal
	leftOut                          trade.Decimal // of the sells, the shares that are not to be counted
}

// Exposure returns what an account has at risk, without the intent whose second judgement this is. A position is valued
// at the ask where that makes more exposure, and an order at the higher of its limit and the ask; what is pending and has
// no open intent, because nobody tells us of its fills, at the ask. Where one symbol of the account has no mark, nothing
// of the account as a whole is known.
func (s *State) Exposure(a trade.Account, sym trade.Symbol, without trade.IntentID, mark func(trade.Symbol) (Mark, bool)) Exposure {
	var x Exposure
	acc := s.accounts[a]
	if acc == nil {
		return Exposure{} // its positions are not known
	}
	tides := map[trade.Symbol]tide{}
	for _, o := range s.open {
		if o = o.load(); o.Order.Account() == a {
			if o.Intent != without {
				x.OpenOrders++
			}
			m, _ := mark(o.Order.Symbol())
			tides[o.Order.Symbol()] = tides[o.Order.Symbol()].with(o, o.Intent == without, m)
		}
	}
	for _, k := range [...]*policy.Known{&x.SymbolLong, &x.SymbolShort, &x.Gross, &x.NetLong, &x.NetShort, &x.Positions, &x.Unrealised} {
		k.Known = acc.known()
	}
	for name, h := range acc.holdings {
		m, ok := mark(name)
		x.add(h, tides[name], m, ok, name == sym)
	}
	return x
}

// with adds an open intent. One that is left out counts as pending shares of no value.
func (t tide) with(o *Open, leftOut bool, m Mark) tide {
	quantity, price := o.Remaining(), o.Order.LimitPrice()
	if price.Cmp(m.Ask) < 0 {
		price = m.Ask
	}
	value := quantity.Mul(price)
	if leftOut {
		value = trade.Decimal{}
		if o.Order.Side() == trade.Sell {
			t.leftOut = t.leftOut.Add(quantity)
		}
	}
	if o.Order.Side() == trade.Buy {
		t.buys, t.buyValue = t.buys.Add(quantity), t.buyValue.Add(value)
	} else {
		t.sells, t.sellValue = t.sells.Add(quantity), t.sellValue.Add(value)
	}
	return t
}

// add adds one symbol.
func (x *Exposure) add(h *holding, t tide, m Mark, marked, own bool) {
	if !marked {
		x.Gross, x.NetLong, x.NetShort = policy.Known{}, policy.Known{}, policy.Known{}
		x.Positions, x.Unrealised = policy.Known{}, policy.Known{}
		x.SymbolLong.Known, x.SymbolShort.Known = x.SymbolLong.Known && !own, x.SymbolShort.Known && !own
		return
	}
	// What reports posted is pending beside the open intents.
	buys := t.buyValue.Add(h.pendingBuys.Sub(t.buys).Mul(m.Ask))
	sells := t.sellValue.Add(h.pendingSells.Sub(t.sells).Mul(m.Ask))
	long := h.position.Sign() > 0
	atAsk, atBid := h.position.Mul(m.Ask), h.position.Mul(m.Bid)
	plus(&x.Gross, absolute(atAsk).Add(buys).Add(sells))
	if long {
		plus(&x.NetLong, atAsk.Add(buys))
		plus(&x.Positions, atBid)
	} else {
		plus(&x.NetLong, atBid.Add(buys))
		plus(&x.Positions, atAsk)
	}
	at := m.Ask
	if long {
		at = m.Bid
	}
	plus(&x.Unrealised, h.position.Mul(at.Sub(h.average)))
	x.Unrealised.Known = x.Unrealised.Known && (h.average.Sign() > 0 || h.position.Sign() == 0)
	short := h.pendingSells.Sub(t.leftOut).Sub(h.position)
	if short.Sign() > 0 {
		plus(&x.NetShort, short.Mul(m.Ask))
	} else {
		plus(&x.NetShort, short.Mul(m.Bid))
	}
	if own && short.Sign() > 0 {
		plus(&x.SymbolShort, short.Mul(m.Ask))
	}
	if own {
		plus(&x.SymbolLong, buys)
		if long {
			plus(&x.SymbolLong, atAsk)
		}
	}
}

// plus adds to an amount that stays not known once it is not.
func plus(k *policy.Known, d trade.Decimal) {
	if k.Known {
		k.Value = k.Value.Add(d)
	}
}
