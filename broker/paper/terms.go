package paper

import (
	"fmt"
	"strings"
	"time"

	"sallyport/market"
	"sallyport/trade"
)

// order is one order as the venue works it: its terms, and what has become of it so far. termsOf alone makes one of a
// trade.Order, and scanOrder alone one of a stored row.
type order struct {
	number   int64 // the venue's own, from 1
	symbol   trade.Symbol
	side     trade.Side
	quantity trade.Decimal // shares; of an order by amount zero until it is filled
	amount   trade.Decimal // dollars to spend; zero but for an order by amount
	kind     trade.OrderType
	limit    trade.Decimal // zero: none
	stop     trade.Decimal // zero: none
	tif      trade.TimeInForce
	hours    hours
	loss     trade.Exit    // of an entry: the stop loss to come; of exits: their own
	profit   trade.Decimal // the same of the take profit
	exitsOf  int64         // the number of the entry whose exits this is; zero: an order that somebody sent

	triggered bool          // its stop was reached
	held      trade.Decimal // dollars that a working buy reserves
	from      time.Time     // an auction order meets quotes from here on, and until it expires
	expires   time.Time     // never: it does not
}

// hours are the sessions whose quotes an order meets.
type hours string

const (
	anyHours      hours = "any"
	regularHours  hours = "regular"
	extendedHours hours = "extended" // the regular session too
	auctionHours  hours = "auction"  // between from and expires
)

// never is when an order expires that does not: the last instant that sorts as text.
var never = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)

// termsOf are the terms of an order that came. When it expires, and what it reserves, is not among them.
//
//limit:paper-sessions An order meets quotes of the regular session only, unless it has extended hours; a whole-share limit order for the day without exits meets any, as it did before there were others.
func termsOf(o trade.Order) order {
	t := order{
		symbol: o.Symbol(), side: o.Side(), quantity: o.Quantity(), amount: o.Amount(), kind: o.Type(), limit: o.LimitPrice(),
		stop: o.StopPrice(), tif: o.TimeInForce(), loss: o.StopLoss(), profit: o.TakeProfit(), hours: regularHours,
	}
	switch {
	case o.IsPlain():
		t.hours = anyHours
	case o.ExtendedHours():
		t.hours = extendedHours
	case t.tif == trade.OPG || t.tif == trade.CLS:
		t.hours = auctionHours
	}
	return t
}

// exits are what follows an entry that was filled: a sell of what it bought, at the take profit or after the stop loss,
// whichever comes first. They are one order of the venue, so that no moment and no crash can leave both alive after one is
// filled. They work until they are filled or cancelled, whatever the entry's time in force: a stop loss that ends at four
// o'clock protects nobody overnight.
//
//limit:paper-exits The exits of a buy are one order for what it bought: when one of them fills, the other is gone.
func (o order) exits() order {
	return order{
		symbol: o.symbol, side: trade.Sell, quantity: o.quantity, tif: trade.GTC, hours: regularHours, loss: o.loss, profit: o.profit,
		exitsOf: o.number, expires: never,
	}
}

// hasExits reports whether exits follow once this order is filled.
func (o order) hasExits() bool { return o.exitsOf == 0 && (!o.loss.IsZero() || o.profit.Sign() > 0) }

// atOnce reports whether the order may not wait.
func (o order) atOnce() bool { return o.tif == trade.IOC || o.tif == trade.FOK }

// isMarket reports whether the order takes any price, perhaps once its stop is reached.
func (o order) isMarket() bool { return o.kind == trade.Market || o.kind == trade.Stop }

// at names the price by which an order's cash is reckoned, if it has one.
func (o order) at() string {
	switch {
	case o.limit.Sign() > 0:
		return " at " + o.limit.Money()
	case o.stop.Sign() > 0:
		return " from " + o.stop.Money() + " on"
	}
	return ""
}

// holds is what a working buy reserves at a price: of an order by amount all that it may spend.
func (o order) holds(price trade.Decimal) trade.Decimal {
	switch {
	case o.side != trade.Buy:
		return trade.Decimal{}
	case o.amount.Sign() > 0:
		return o.amount
	}
	return cost(o.quantity, price)
}

// meeting is what a quote does to a working order.
type meeting struct {
	triggers bool // its stop is reached, now or before
	fills    bool
	price    trade.Decimal // at which it fills: the far side of the quote, never another
}

// sight is a quote with the sessions in which it was taken.
type sight struct {
	trade.Quote
	market.Session
}

// meets says what a quote does to an order. On a crossed quote, and on one of a session that is not the order's, nothing
// happens. A buy is executed at the ask, a sell at the bid; a stop is reached by the same side, the ask at or above that
// of a buy and the bid at or below that of a sell. The last price plays no part: nobody offers it any more.
func (o order) meets(q sight) meeting {
	switch {
	//limit:paper-crossed-quote Nothing fills on a quote whose bid is above its ask.
	case market.Crossed(q.Quote), !o.sees(q):
		return meeting{triggers: o.triggered}
	case o.exitsOf > 0:
		return o.leaves(q.Bid)
	case o.side == trade.Buy:
		return o.executes(q.Ask, 1)
	case o.side == trade.Sell:
		return o.executes(q.Bid, -1)
	}
	return meeting{}
}

// sees reports whether a quote was taken in a session of the order's.
func (o order) sees(q sight) bool {
	switch o.hours {
	case anyHours:
		return true
	case regularHours:
		return q.Regular
	case extendedHours:
		return q.Regular || q.Extended
	case auctionHours:
		return !q.At.Before(o.from) && q.At.Before(o.expires)
	}
	return false
}

// executes says what the price of its far side does to an order. sign is 1 for a buy, for which a price is better that is
// lower, and -1 for a sell.
//
//limit:paper-stop A stop order waits until the ask reaches the stop of a buy, or the bid that of a sell; no order is executed before.
func (o order) executes(price trade.Decimal, sign int) meeting {
	m := meeting{triggers: o.triggered || o.stop.Sign() > 0 && sign*price.Cmp(o.stop) >= 0}
	waits := o.stop.Sign() > 0 && !m.triggers
	if waits || !o.isMarket() && sign*price.Cmp(o.limit) > 0 {
		return m
	}
	return meeting{triggers: m.triggers, fills: true, price: price}
}

// leaves says what a bid does to exits: the take profit fills at its limit or better, the stop loss once its stop was
// reached, at its own limit or better where it has one.
func (o order) leaves(bid trade.Decimal) meeting {
	m := meeting{triggers: o.triggered || !o.loss.IsZero() && bid.Cmp(o.loss.Stop) <= 0}
	profits := o.profit.Sign() > 0 && bid.Cmp(o.profit) >= 0
	if profits || m.triggers && bid.Cmp(o.loss.Limit) >= 0 { // a stop loss without a limit has one of zero
		m.fills, m.price = true, bid
	}
	return m
}

// shares is how many an amount buys at a price, cut off after the ninth place, so that they never cost more than it. ok is
// false if that is none, or more than an order can have.
//
//limit:paper-amount An order by amount buys the amount divided by the ask, cut off after nine places: never for more than the amount.
func shares(amount, price trade.Decimal) (quantity trade.Decimal, ok bool) {
	quantity, ok = trade.ParseDecimal(amount.QuoDown(price).String())
	return quantity, ok && quantity.Sign() > 0
}

// priceKey writes a price that came from ParseDecimal in nano-dollars with leading zeros, so that text sorts as prices
// do.
func priceKey(price trade.Decimal) string {
	whole, frac, _ := strings.Cut(price.String(), ".")
	return strings.Repeat("0", trade.MaxIntegerDigits-len(whole)) + whole + frac + strings.Repeat("0", trade.MaxFractionDigits-len(frac))
}

// key is the price by which the index of the working orders finds an order: its limit, or one that every quote reaches if
// more than the limit decides.
func (o order) key() string {
	switch {
	case o.kind == trade.Limit && o.exitsOf == 0:
		return priceKey(o.limit)
	case o.side == trade.Buy:
		return strings.Repeat("9", trade.MaxIntegerDigits+trade.MaxFractionDigits)
	}
	return strings.Repeat("0", trade.MaxIntegerDigits+trade.MaxFractionDigits)
}

// unfit says how an order does not fit its instrument: a code and why, or none. Nothing is rounded to fit. The plain
// orders in a symbol that no list has are taken as they were before there were lists.
//
//limit:paper-instrument An order whose symbol is not listed, whose price is off the tick or whose quantity is off the lot is rejected.
func unfit(o trade.Order, list *market.Instruments) (Code, string) {
	if list == nil && o.IsPlain() {
		return "", ""
	}
	i, listed := list.Of(o.Symbol())
	if !listed {
		return SymbolNotListed, fmt.Sprintf("%v is not in the list of instruments", o.Symbol())
	}
	for _, price := range [...]trade.Decimal{o.LimitPrice(), o.StopPrice(), o.StopLoss().Stop, o.StopLoss().Limit, o.TakeProfit()} {
		if s := i.Price(price); price.Sign() > 0 && !s.Fits {
			return PriceOffTick, fmt.Sprintf("%v has no price of %s; beside it are %s and %s", o.Symbol(), price.Money(), s.Below.Money(), s.Above.Money())
		}
	}
	if s := i.Quantity(o.Quantity()); o.Quantity().Sign() > 0 && !s.Fits && !partOf(i, o.Quantity()) {
		return QuantityOffLot, fmt.Sprintf("%v is not traded in a quantity of %v; beside it are %v and %v", o.Symbol(), o.Quantity(), s.Below, s.Above)
	}
	return "", ""
}

// partOf reports whether a quantity has a part of a share that the venue itself trades, as brokers do with shares whose
// lot on an exchange is one.
func partOf(i trade.Instrument, quantity trade.Decimal) bool {
	one := trade.Whole(1)
	return !quantity.IsWhole() && i.Lot.Size().Cmp(one) == 0 && i.Minimum.Cmp(one) <= 0
}
