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
	mark   Mark
	dear   trade.Decimal // what a share may cost at the market's price
	marked bool

	buys, sells, buyValue, sellValue trade.Decimal
	exits                            trade.Decimal // of the sells, what exits of the position may sell
	leftOut                          trade.Decimal // of the sells, the shares that are not to be counted
	dearest                          trade.Decimal // the highest price of a sell
	unsized                          int           // orders by amount of which nobody can say how many shares they are
}

// Exposure returns what an account has at risk, without the intent whose second judgement this is. A position is valued
// at the ask where that makes more exposure, and an order at the highest of its prices, what it was judged to cost a
// share, and the ask; one by amount at what is left of the amount. Exits of a position add nothing to it, as far as they
// sell no more than is held. What is pending and has no open intent, because nobody tells us of its fills, counts at the
// highest price of any of it, or at what the market may cost. Where one symbol of the account has no mark, nothing of the account as a whole is known.
func (s *State) Exposure(a trade.Account, sym trade.Symbol, without trade.IntentID, mark func(trade.Symbol) (Mark, bool)) Exposure {
	return s.exposure(a, sym, without, mark, nil)
}

// exposure is Exposure where an order that is executed at the market's price may cost more than the ask: dear says what.
func (s *State) exposure(
	a trade.Account, sym trade.Symbol, without trade.IntentID, mark func(trade.Symbol) (Mark, bool), dear func(trade.Decimal) trade.Decimal,
) Exposure {
	var x Exposure
	acc := s.accounts[a]
	if acc == nil {
		return Exposure{} // its positions are not known
	}
	tides := map[trade.Symbol]*tide{}
	at := func(name trade.Symbol) *tide { // the market is asked once a symbol
		t := tides[name]
		if t == nil {
			t = &tide{}
			t.mark, t.marked = mark(name)
			t.dear = t.mark.Ask
			if dear != nil {
				t.dear = dear(t.mark.Ask)
			}
			tides[name] = t
		}
		return t
	}
	for _, o := range s.open {
		if o = o.load(); o.Order.Account() == a {
			if o.Intent != without {
				x.OpenOrders++
			}
			at(o.Order.Symbol()).with(o, o.Intent == without)
		}
	}
	for _, k := range [...]*policy.Known{&x.SymbolLong, &x.SymbolShort, &x.Gross, &x.NetLong, &x.NetShort, &x.Positions, &x.Unrealised} {
		k.Known = s.known(acc)
	}
	for name, h := range acc.holdings {
		x.add(h, at(name), name == sym)
	}
	return x
}

// with adds an open intent. One that is left out counts as pending shares of no value.
func (t *tide) with(o *Open, leftOut bool) {
	price := o.worst(t.mark.Ask, t.dear)
	own, value := o.pending(), o.Remaining().Mul(price)
	if o.Order.ByAmount() {
		value = o.left()
	}
	if leftOut {
		value = trade.Decimal{}
		t.leftOut = t.leftOut.Add(own.sells)
	} else {
		t.exits = t.exits.Add(o.Exits())
	}
	t.unsized += own.unsized
	t.buys, t.sells = t.buys.Add(own.buys), t.sells.Add(own.sells)
	if o.Order.Side() == trade.Buy {
		t.buyValue = t.buyValue.Add(value)
		return
	}
	t.sellValue = t.sellValue.Add(value)
	if !leftOut {
		t.dearest = larger(t.dearest, price)
	}
}

// worst is what a share of the order may cost or bring at most.
func (o *Open) worst(ask, dear trade.Decimal) trade.Decimal {
	price := ask
	if t := o.Order.Type(); t == trade.Market || t == trade.Stop {
		price = dear
	}
	for _, p := range [...]trade.Decimal{o.Order.LimitPrice(), o.Order.StopPrice(), o.Price} {
		if price.Cmp(p) < 0 {
			price = p
		}
	}
	return price
}

// left is what an order by amount may still spend.
func (o *Open) left() trade.Decimal {
	if left := o.Order.Amount().Sub(o.Spent); !o.Over && left.Sign() > 0 {
		return left
	}
	return trade.Decimal{}
}

// add adds one symbol.
func (x *Exposure) add(h *holding, t *tide, own bool) {
	m := t.mark
	if !t.marked || h.doubted {
		x.Gross, x.NetLong, x.NetShort = policy.Known{}, policy.Known{}, policy.Known{}
		x.Positions, x.Unrealised = policy.Known{}, policy.Known{}
		x.SymbolLong.Known, x.SymbolShort.Known = x.SymbolLong.Known && !own, x.SymbolShort.Known && !own
		return
	}
	// What reports posted is pending beside the open intents.
	posted, dear := h.pendingSells.Sub(t.sells), larger(t.dear, h.dearSell)
	buys := t.buyValue.Add(h.pendingBuys.Sub(t.buys).Mul(larger(t.dear, h.dearBuy)))
	sells := t.sellValue.Add(posted.Mul(dear))
	if posted.Sign() > 0 {
		t.dearest = larger(t.dearest, dear)
	}
	if h.unsized > t.unsized {
		x.Gross, x.NetLong = policy.Known{}, policy.Known{}
		x.SymbolLong.Known = x.SymbolLong.Known && !own
	}
	long := h.position.Sign() > 0
	bare := t.exits // exits of what is held no more
	if long {
		bare = bare.Sub(h.position)
	}
	if bare.Sign() > 0 {
		sells = sells.Add(bare.Mul(m.Ask))
	}
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
	worth := short.Mul(m.Bid)
	if short.Sign() > 0 {
		worth = t.shortWorth(h, sells, short)
	}
	plus(&x.NetShort, worth)
	if own && short.Sign() > 0 {
		plus(&x.SymbolShort, worth)
	}
	if own {
		plus(&x.SymbolLong, buys)
		if long {
			plus(&x.SymbolLong, atAsk)
		}
	}
}

// shortWorth is what the shares are worth at worst of which the account would be short if every sell were filled. Which of
// the sells go beyond the position is not known: it is those at the highest price, and no more than all of them.
func (t *tide) shortWorth(h *holding, sells, short trade.Decimal) trade.Decimal {
	already := trade.Decimal{}
	if h.position.Sign() < 0 {
		already = absolute(h.position)
	}
	beyond := short.Sub(already).Mul(larger(t.dearest, t.mark.Ask))
	if sells.Cmp(beyond) < 0 {
		beyond = sells
	}
	return beyond.Add(already.Mul(t.mark.Ask))
}

// plus adds to an amount that stays not known once it is not.
func plus(k *policy.Known, d trade.Decimal) {
	if k.Known {
		k.Value = k.Value.Add(d)
	}
}
