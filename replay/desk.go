package replay

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// desk is the broker of a tape.
type desk struct {
	intents *intents
	ledger  func() *ledger.State
	next    uint64 // how many events there were
	working map[trade.IntentID]*intent

	market    *exchange
	told      bool // what the account has
	verifying bool // a person's reduction is: then what is held is enough
	cash      trade.Decimal
	equity    trade.Decimal
	unsettled bool // cash and positions may not come to the equity yet
	positions map[trade.Symbol]trade.Decimal
	unmarked  int            // how many of them have no quote
	held      []gate.Holding // the same, sorted; nil when it has changed
}

// Submit implements gate.Desk.
func (d *desk) Submit(c gate.Cleared) (gate.Receipt, bool) {
	in := d.of(c.ID)
	if in == nil {
		return gate.Receipt{}, true // nobody can say what came of it
	}
	in.venue = flying
	if in.reply == waits {
		return gate.Receipt{}, false
	}
	return d.receipt(in, in.reply, ""), true
}

func (d *desk) of(id trade.BrokerOrderID) *intent {
	const prefix = len("sp-")
	if len(id) < prefix {
		return nil
	}
	return d.intents.byIntent[trade.IntentID(id[prefix:])]
}

// receipt answers an order.
func (d *desk) receipt(in *intent, r reply, code string) gate.Receipt {
	switch r {
	case rejects:
		d.leave(in, refused)
		return gate.Receipt{Outcome: trade.Rejected, Code: code, Message: "rejected by the tape"}
	case accepts:
		d.rest(in)
		return gate.Receipt{Outcome: trade.Accepted, OrderID: "tape-" + in.id, NextEvent: d.next + 1}
	case unclear, waits:
	}
	return gate.Receipt{Message: "the tape does not say what came of it"}
}

func (d *desk) rest(in *intent) {
	if in.venue == flying {
		in.venue = there
		if d.working == nil {
			d.working = map[trade.IntentID]*intent{}
		}
		d.working[in.intent] = in
	}
}

// leave takes an order out of those that work.
func (d *desk) leave(in *intent, to venue) {
	in.venue = to
	delete(d.working, in.intent)
}

// answer is the broker's to an order that is in flight, or whose outcome is not known; ok is false if there is none.
func (d *desk) answer(in *intent, l *line) (gate.Receipt, bool) {
	if in.venue != flying {
		return gate.Receipt{}, false
	}
	return d.receipt(in, l.reply, l.code), true
}

// fill is an event, unless the order was never sent or was cancelled. exits says that the line names the exits.
func (d *desk) fill(in *intent, exits bool, l *line) (e gate.VenueEvent, ok bool, err error) {
	if in.venue == never || in.venue == pulled {
		return gate.VenueEvent{}, false, nil
	}
	d.rest(in)
	side := in.order.Side()
	if exits || exitsAlone(d.ledger().Open(in.intent)) {
		side = trade.Sell
	}
	change, worth := l.quantity, l.quantity.Mul(l.price).Up()
	if side == trade.Sell {
		change, worth = trade.Decimal{}.Sub(change), trade.Decimal{}.Sub(l.quantity.Mul(l.price).Down())
	}
	if err := d.hold(in.order.Symbol(), d.positions[in.order.Symbol()].Add(change)); err != nil {
		return gate.VenueEvent{}, false, err
	}
	d.cash = d.cash.Sub(worth)
	d.next++
	return gate.VenueEvent{
		Number: d.next, Kind: gate.VenueFill, ID: in.intent.BrokerOrderID(), Symbol: in.order.Symbol(), Side: side,
		Quantity: l.quantity, Price: l.price, At: l.at,
	}, true, nil
}

// exitsAlone reports whether nothing is pending of an order but its exits: then a line about the order is about those.
func exitsAlone(o *ledger.Open) bool {
	return o != nil && o.Sized() && o.Remaining().Sign() <= 0 && o.Exits().Sign() > 0
}

// endExits is the event that the exits of an order were cancelled, if there are any.
func (d *desk) endExits(in *intent) (gate.VenueEvent, bool) {
	open := d.ledger().Open(in.intent)
	if in.venue != there || open == nil || open.Exits().Sign() <= 0 {
		return gate.VenueEvent{}, false
	}
	if exitsAlone(open) {
		d.leave(in, pulled)
	}
	d.next++
	return gate.VenueEvent{
		Number: d.next, Kind: gate.VenueCancelled, ID: in.intent.BrokerOrderID(), Symbol: in.order.Symbol(), Side: trade.Sell,
		Quantity: open.Exits(), Exits: true,
	}, true
}

// hold sets a position.
func (d *desk) hold(s trade.Symbol, quantity trade.Decimal) error {
	_, known := d.positions[s]
	_, marked := d.market.newest[s]
	switch held := quantity.Sign() != 0; {
	case held && !known && len(d.positions) >= maxSymbols:
		return errSymbols(s)
	case held && !known && !marked:
		d.unmarked++
	case !held && known && !marked:
		d.unmarked--
	}
	if d.positions == nil {
		d.positions = map[trade.Symbol]trade.Decimal{}
	}
	d.held = nil
	if d.positions[s] = quantity; quantity.Sign() == 0 {
		delete(d.positions, s)
	}
	return nil
}

// restate keeps the equity as it is now, whatever positions are stated next.
func (d *desk) restate() {
	if d.told && !d.unsettled && d.unmarked == 0 {
		d.state(d.cash, d.worth())
	}
}

// marked takes in that a symbol has its first quote.
func (d *desk) marked(s trade.Symbol) {
	if _, held := d.positions[s]; held {
		d.unmarked--
	}
}

// Cancel implements gate.Desk. What is in flight cannot be cancelled yet.
func (d *desk) Cancel(c gate.Cleared) gate.Receipt {
	in := d.of(c.ID)
	switch {
	case in == nil || in.venue == flying:
		return gate.Receipt{Message: "it is still in flight"}
	case in.venue != there:
		return gate.Receipt{Outcome: trade.Rejected, Message: "it is not open", NextEvent: d.next + 1}
	}
	e := gate.VenueEvent{Kind: gate.VenueCancelled, ID: c.ID, Symbol: in.order.Symbol(), Side: in.order.Side()}
	left := trade.Decimal{} // of exits that stay
	if open := d.ledger().Open(in.intent); open != nil {
		e.Quantity, left = open.Remaining(), open.Exits()
	}
	if c.Exits {
		e.Side, e.Quantity, left = trade.Sell, left, trade.Decimal{}
	}
	if left.Sign() <= 0 {
		d.leave(in, pulled)
	}
	d.next++
	e.Number = d.next
	return gate.Receipt{Outcome: trade.Accepted, NextEvent: d.next + 1, Events: []gate.VenueEvent{e}}
}

// Working implements gate.Desk.
func (d *desk) Working() []gate.VenueOrder {
	all := make([]gate.VenueOrder, 0, len(d.working))
	for _, id := range slices.Sorted(maps.Keys(d.working)) {
		in := d.working[id]
		all = append(all, gate.VenueOrder{
			ID: in.intent.BrokerOrderID(), OrderID: "tape-" + in.id, Symbol: in.order.Symbol(), Side: in.order.Side(),
		})
		if open := d.ledger().Open(in.intent); open != nil {
			all[len(all)-1].Remaining = open.Remaining()
		}
	}
	return all
}

// state takes in what the broker says of the account.
func (d *desk) state(cash, equity trade.Decimal) {
	d.told, d.cash, d.equity, d.unsettled = true, cash, equity, true
}

var errUntold = errors.New("the tape has not said what the account has")

// Holdings implements gate.Desk. The equity is what the tape says it is as soon as everything that is held has a quote:
// what the account has beside its cash and these positions counts as cash from then on.
func (d *desk) Holdings() (gate.Holdings, error) {
	if d.verifying {
		return gate.Holdings{Positions: d.holdings()}, nil
	}
	if !d.told {
		return gate.Holdings{}, errUntold
	}
	d.settle()
	return gate.Holdings{Cash: d.cash, Positions: d.holdings()}, nil
}

func (d *desk) holdings() []gate.Holding {
	if d.held == nil {
		d.held = make([]gate.Holding, 0, len(d.positions))
		for s, q := range d.positions {
			d.held = append(d.held, gate.Holding{Symbol: s, Quantity: q})
		}
		slices.SortFunc(d.held, func(a, b gate.Holding) int { return cmp.Compare(a.Symbol.String(), b.Symbol.String()) })
	}
	return d.held
}

// settle makes cash of what the equity has beyond cash and positions, once that is to be done and every position has a
// quote. It is asked before a quote or a fill changes either, lest that has a part in it.
func (d *desk) settle() {
	if d.unsettled && d.unmarked == 0 {
		d.cash, d.unsettled = d.cash.Add(d.equity.Sub(d.worth())), false
	}
}

// worth is the equity. Every position has a quote.
func (d *desk) worth() trade.Decimal {
	worth := d.cash
	for s, quantity := range d.positions {
		q := d.market.newest[s]
		price := q.Bid
		if quantity.Sign() < 0 {
			price = q.Ask
		}
		worth = worth.Add(quantity.Mul(price))
	}
	return worth
}
