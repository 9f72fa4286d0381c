package ledger

import "sallyport/trade"

// What an open intent may still buy and sell.
//
// The order itself is pending until it is filled, or until an event of its own side says that the rest was cancelled or
// has expired. An order by amount is pending for the shares that its decision says it may come to at most, see Ruling,
// until its fills have used the amount up. Its exits are pending from its first fill on: they sell what was bought, as
// two that cancel each other where there are two, so they count once. A fill of an exit arrives as a fill of the same
// intent on the side that sells; a cancel or an expiry on that side says that the exits of all that was filled so far
// are over. The intent is open until nothing of either is pending.

// pending is what an intent adds to the sums of its holding.
type pending struct {
	buys, sells trade.Decimal
	unsized     int // 1: it buys for an amount, and nobody can say how many shares that may be
}

// Remaining is the part of the order itself, in shares, that is reserved: without its exits. It is zero for an order by
// amount that is not Sized.
func (o *Open) Remaining() trade.Decimal {
	switch {
	case o.Over || !o.Sized():
		return trade.Decimal{}
	case o.Order.ByAmount():
		return o.Shares.Value.Sub(o.Filled)
	}
	return o.Order.Quantity().Sub(o.Filled)
}

// Sized reports whether it is known how many shares the order may still come to: of an order by amount its decision
// says it, and it is known no more once as many are filled and the amount is not used up.
//
//limit:ledger-amount While an order by amount is pending of which nobody can say how many shares it may buy, what is pending in its symbol is not known.
func (o *Open) Sized() bool {
	return !o.Order.ByAmount() || o.Over || o.Shares.Known && o.Shares.Value.Cmp(o.Filled) > 0
}

// Exits is how many shares the exits of the order may sell now.
//
//limit:ledger-exits What an order with exits has bought is pending to be sold, once, until its exits have sold it or the venue says that they ended.
func (o *Open) Exits() trade.Decimal {
	if !o.Order.HasExits() {
		return trade.Decimal{}
	}
	return o.Filled.Sub(o.Exited)
}

// Selling is how many shares the intent may sell now: as an order, or as its exits.
func (o *Open) Selling() trade.Decimal { return o.pending().sells }

// done reports whether nothing is pending of the order itself.
func (o *Open) done() bool { return o.Over || o.Sized() && o.Remaining().Sign() <= 0 }

func (o *Open) pending() pending {
	var p pending
	if !o.Sized() {
		p.unsized = 1
	}
	if o.Order.Side() == trade.Buy {
		p.buys, p.sells = o.Remaining(), o.Exits()
	} else {
		p.sells = o.Remaining()
	}
	return p
}

// post brings the sums of a holding from what an intent had pending to what it has now.
func (s *State) post(o *Open, was, is pending) {
	h := s.holding(o.Order.Account(), o.Order.Symbol())
	h.pendingBuys = h.pendingBuys.Add(is.buys).Sub(was.buys)
	h.pendingSells = h.pendingSells.Add(is.sells).Sub(was.sells)
	h.unsized += is.unsized - was.unsized
}

// reserve posts all that a new intent has pending.
func (s *State) reserve(o *Open) { s.post(o, pending{}, o.pending()) }

// close releases what is still reserved.
func (s *State) close(o *Open) {
	s.post(o, o.pending(), pending{})
	delete(s.open, o.Intent)
	s.tidy(o.Order.Account(), o.Order.Symbol())
}

// filled takes in a fill of the order or of its exits.
//
//limit:ledger-filled A fill uses up what its own order has pending, and no more of it than is pending.
func (s *State) filled(o *Open, e Happened) {
	s.spend(o)
	was := o.pending()
	if e.Side == o.Order.Side() {
		o.fill(e)
	} else {
		o.exit(e.Quantity)
	}
	s.taken(o)
	s.post(o, was, o.pending())
	s.settle(o)
}

// taken notes that the venue has an order, whatever it has answered to it: no permission of it is left to spend, and it has
// accepted it.
func (s *State) taken(o *Open) {
	if o.Phase != Working {
		s.account(o.Order.Account()).refusals = 0
	}
	o.Phase, o.Unknown = Working, false
}

// settle ends an intent of which nothing is pending.
func (s *State) settle(o *Open) {
	if o.done() && o.Exits().Sign() <= 0 {
		s.close(o)
	}
}

func (o *Open) fill(e Happened) {
	quantity := e.Quantity
	if o.Order.ByAmount() {
		o.Spent = o.Spent.Add(quantity.Mul(e.Price))
		o.Over = o.Over || usedUp(o.Order.Amount(), o.Spent, e.Price)
	} else if left := o.Order.Quantity().Sub(o.Filled); quantity.Cmp(left) > 0 {
		quantity = left // an overfill has no more reservation to use up
	}
	o.Filled = o.Filled.Add(quantity)
}

// usedUp reports whether what is left of an amount buys no part of a share at the price of the last fill.
func usedUp(amount, spent, price trade.Decimal) bool {
	smallest, _ := trade.ParseDecimal("0.000000001")
	return amount.Sub(spent).Cmp(price.Mul(smallest)) < 0
}

// exit takes in that exits of so many shares are over. More than they had changes nothing more.
func (o *Open) exit(quantity trade.Decimal) {
	if live := o.Exits(); quantity.Cmp(live) > 0 {
		quantity = live
	}
	o.Exited = o.Exited.Add(quantity)
}

// over takes in that a venue has cancelled what was left, or let it expire: of the order itself, or of its exits where it
// has any. An order without exits has nothing else that could end.
func (s *State) over(o *Open, side trade.Side) {
	s.spend(o)
	was := o.pending()
	if o.Order.HasExits() && side != o.Order.Side() {
		o.exit(o.Exits())
	} else {
		o.Over = true
	}
	s.taken(o)
	s.post(o, was, o.pending())
	s.settle(o)
}

// resize makes pending what the newest judgement says that the order may come to.
//
//limit:ledger-resize An order by amount is pending for the shares, and one without a limit price at the price, that its newest judgement says.
func (s *State) resize(o *Open, r Ruling) {
	was := o.pending()
	o.size(r)
	s.post(o, was, o.pending())
}

// size keeps of a judgement what the order does not say itself.
func (o *Open) size(r Ruling) {
	if o.Order.ByAmount() {
		o.Shares = r.Shares
	} else if _, priced := o.Order.Notional(); !priced && r.Value.Sign() > 0 {
		o.Price = r.Value.QuoUp(o.Order.Quantity())
	}
}
