package policy

import (
	"math/big"
	"strconv"
	"strings"
	"time"

	"sallyport/trade"
)

// judge is one order under one rulebook. It is made for one evaluation and asks the same facts as often as it likes.
type judge struct {
	book *Rulebook
	o    trade.Order
	f    Facts
	s    Situation

	// Terms of the order that are asked for over and over.
	limit      trade.Decimal // the limit price
	stop       trade.Decimal // the stop price
	exit       trade.Exit    // the stop loss
	profit     trade.Decimal // the take profit
	byAmount   bool
	outOfHours bool

	quote     trade.Code    // why no quote can be used; empty if one can
	worst     trade.Decimal // what a share may cost
	reference trade.Decimal // the far side of the quote, or the stop where that is higher
	value     trade.Decimal // worst × the instrument's multiplier: what a share counts for

	priced   bool          // worst bounds what a share may cost; without a quote only a buy's own limit does
	unsized  bool          // of an order by amount nobody can say how many shares it buys
	asked    trade.Decimal // the shares of the order as it is
	quantity trade.Decimal // at most; nothing of an order by amount that no quote can value
	notional trade.Decimal // quantity × value, or the amount
	effect   effect
	to       reach
	sized    bool // another quantity is tried, of which it is known that it fits the lot
}

// reading is what a limit measures: num, or num × scale / den where it is a ratio. Ratios are never divided, so that
// nothing is rounded.
type reading struct {
	num, den trade.Decimal
	n        uint32 // the value, where it is a count
	ratio    bool
	open     bool       // a count that may be more
	off      bool       // the limit does not judge this order
	missing  trade.Code // the fact that is not there, or cannot be right; empty if there is a value
}

// begin looks at the quote once, and at the order as it is.
func (j *judge) begin() {
	o := &j.o
	j.limit, j.stop, j.exit, j.profit, j.byAmount, j.outOfHours = o.LimitPrice(), o.StopPrice(), o.StopLoss(), o.TakeProfit(), o.ByAmount(), o.ExtendedHours()
	j.quote = j.book.quotes.judge(&j.s.Quote)
	j.price()
	asked := j.shares()
	j.asked = asked.Value
	j.resize(j.asked)
	j.unsized = !asked.Known
	if j.byAmount {
		j.notional = j.o.Amount()
	}
}

// resize makes it an order of another quantity, all else equal.
func (j *judge) resize(quantity trade.Decimal) {
	j.quantity, j.unsized = quantity, false
	j.notional = quantity.Mul(j.value)
	j.effect = j.affects()
	j.to = j.book.reach(&j.o, j.s.Agent, j.effect == reduces)
}

// judge says why a quote cannot be used.
//
//limit:policy-quote-age A quote that is older than the policy's max_age, or from the future, is not judged by: QUOTE_STALE, QUOTE_UNAVAILABLE.
//limit:policy-quote-spread A quote whose spread is over the policy's max_spread_bps is not judged by: SPREAD_EXCEEDS_LIMIT.
func (q *Quotes) judge(f *QuoteFact) trade.Code {
	switch {
	case f.Code != "":
		return f.Code
	case f.Bid.Sign() <= 0 || f.Ask.Sign() <= 0 || f.Age < 0:
		return QuoteUnavailable
	case f.Age > q.MaxAge:
		return QuoteStale
	case f.Bid.Cmp(f.Ask) > 0:
		return QuoteCrossed
	case trade.CmpProduct(f.Ask.Sub(f.Bid), q.halfSpread, f.Ask.Add(f.Bid)) > 0:
		return SpreadExceedsLimit
	}
	return ""
}

// read measures what a limit of a rule looks at. It fills in a zero reading: returning one would cost as much as the rest.
func (j *judge) read(r *bookRule, l *limit, v *reading) {
	if v.off = traits[l.kind].stop && j.exit.IsZero(); v.off {
		return
	}
	if j.quote != "" && (traits[l.kind].quote || j.byAmount && traits[l.kind].unit == inShares) {
		v.missing = j.quote
		return
	}
	if j.unsized && (traits[l.kind].unit == inShares || l.kind == riskPerOrder) {
		v.missing = QuoteUnavailable
		return
	}
	switch l.kind {
	case orderQuantity:
		v.num = j.quantity
	case orderNotional:
		v.num = j.notional
	case priceCollar:
		j.collar(v)
	case similarOrders, ordersPerMinute, ordersPerDay, notionalPerDay, brokerRejections, denialsPerMinute:
		j.readHistory(r, l, v)
	case positionQuantity:
		j.position(v)
	case positionNotional, positionEquity:
		side := &j.s.SymbolLong
		if j.o.Side() == trade.Sell {
			side = &j.s.SymbolShort
		}
		j.exposure(l.kind, side, v)
	case grossExposure, leverage:
		j.exposure(l.kind, &j.s.Gross, v)
	case netExposure:
		j.net(v)
	case openOrders:
		v.count(j.s.OpenOrders, 1)
	case riskPerOrder:
		v.num = j.quantity.Mul(j.atRisk().MulUp(j.multiplier()))
	case stopDistance:
		v.ratio, v.num, v.den = true, j.atRisk(), j.worst
	case consecutiveLosses:
		v.count(j.s.ConsecutiveLosses, 0)
	case dailyLoss:
		v.num = j.s.DayLoss.Value
		if !j.s.DayLoss.Known {
			v.missing = LossUnavailable
		}
	default:
		j.drawdown(v)
	}
}

// atRisk is what a share of a buy loses if it costs the worst price and is sold at its stop loss.
func (j *judge) atRisk() trade.Decimal {
	d := j.worst.Sub(j.exit.Stop)
	if d.Sign() < 0 {
		return trade.Decimal{}
	}
	return d
}

// collar measures how far the prices of an order are on the aggressive side. A limit is measured from the far side of the
// quote, or from its stop where the market must go further first; a limit on the patient side is no distance at all. An
// order at the market's price is as far away as the slippage. The limit of a stop loss is measured from its stop, which
// has no distance itself: nor has a take profit, both being on the patient side.
//
//limit:policy-collar-sources Of several sources of quotes the collar goes by the one that makes a limit furthest: the lowest ask of a buy, the highest bid of a sell.
func (j *judge) collar(v *reading) {
	v.ratio = true
	switch {
	case atMarket(j.o.Type()):
		v.num, v.den = j.book.quotes.slip, trade.Whole(1)
	case j.o.Side() == trade.Sell:
		v.den = larger(j.s.Quote.Bid, j.s.Quote.BestBid)
		if j.stop.Sign() > 0 && j.stop.Cmp(v.den) < 0 {
			v.den = j.stop
		}
		v.num = v.den.Sub(j.o.LimitPrice())
	default:
		v.den = j.reference
		if best := j.s.Quote.BestAsk; best.Sign() > 0 && best.Cmp(j.s.Quote.Ask) < 0 {
			v.den = larger(best, j.stop)
		}
		v.num = j.o.LimitPrice().Sub(v.den)
	}
	if v.num.Sign() < 0 {
		v.num = trade.Decimal{}
	}
	if exit := &j.exit; exit.Limit.Sign() > 0 {
		if d := exit.Stop.Sub(exit.Limit); d.Mul(v.den).Cmp(v.num.Mul(exit.Stop)) > 0 {
			v.num, v.den = d, exit.Stop
		}
	}
}

func (j *judge) readHistory(r *bookRule, l *limit, v *reading) {
	h := j.s.History
	if h == nil || j.s.At.IsZero() {
		v.missing = CountUnavailable
		return
	}
	switch l.kind {
	case similarOrders, ordersPerMinute, brokerRejections, denialsPerMinute:
		v.slide(h, r, l, j.s.At.Add(-l.window))
		return
	}
	if j.s.Day.Start.IsZero() || j.s.At.Before(j.s.Day.Start) || !j.s.At.Before(j.s.Day.End) {
		v.missing = DayUnavailable
		return
	}
	since := j.s.Day.Start.Add(-1) // a window leaves out its beginning, and a day does not
	if l.kind == ordersPerDay {
		v.count(Count{h.Orders(l.per, r.id, since), true}, 1)
		return
	}
	v.num = h.Notional(l.per, r.id, since)
	if v.num.Sign() < 0 {
		v.missing = CountUnavailable
		return
	}
	v.num = v.num.Add(j.notional)
}

// slide counts what a sliding window that began at since holds.
func (v *reading) slide(h History, r *bookRule, l *limit, since time.Time) {
	switch l.kind {
	case similarOrders:
		v.count(Count{h.Similar(since), true}, 0)
	case ordersPerMinute:
		v.count(Count{h.Orders(l.per, r.id, since), true}, 1)
	case brokerRejections:
		v.least(h.Rejections(l.per, since))
	default:
		v.least(h.Denials(l.per, since))
	}
}

// count is a count, and one more where it counts the order itself. One that is over what is ever counted is above every
// bound.
func (v *reading) count(c Count, more uint32) {
	if !c.Known || c.N < 0 {
		v.missing = CountUnavailable
		return
	}
	v.n = uint32(min(c.N, mostCounted)) + more
	if c.N > mostCounted {
		v.n = mostCounted + 1
	}
}

// least is a count that may be more than it is known to be.
func (v *reading) least(c Count) {
	v.count(Count{c.N, true}, 0)
	v.open = !c.Known
}

// position is the side that the order adds to: what is held and every buy, or what is owed and every sell.
func (j *judge) position(v *reading) {
	f, buys := &j.f, j.o.Side() == trade.Buy
	switch {
	case !f.PositionKnown, buys && (f.Position.Sign() < 0 || f.PendingBuys.Sign() < 0), f.PendingSells.Sign() < 0:
		v.missing = PositionUnavailable
	case buys:
		v.num = f.Position.Add(f.PendingBuys).Add(j.quantity)
	default:
		v.num = f.PendingSells.Sub(f.Position).Add(j.quantity)
	}
}

func (j *judge) exposure(k kind, before *Known, v *reading) {
	if !before.Known || before.Value.Sign() < 0 {
		v.missing = ExposureUnavailable
		return
	}
	v.num = before.Value.Add(j.notional)
	if k == positionEquity || k == leverage {
		if !j.s.Equity.Known {
			v.missing = EquityUnavailable
		}
		v.ratio, v.den = true, j.s.Equity.Value
	}
}

// net is the worst of both sides: all buys and no sells filled, or all sells and no buys.
func (j *judge) net(v *reading) {
	if !j.s.NetLong.Known || !j.s.NetShort.Known {
		v.missing = ExposureUnavailable
		return
	}
	long, short := j.s.NetLong.Value, j.s.NetShort.Value
	if j.o.Side() == trade.Sell {
		short = short.Add(j.notional)
	} else {
		long = long.Add(j.notional)
	}
	v.num = long
	if short.Cmp(long) > 0 {
		v.num = short
	}
}

func (j *judge) drawdown(v *reading) {
	if !j.s.Equity.Known || !j.s.Peak.Known || j.s.Peak.Value.Sign() <= 0 {
		v.missing = EquityUnavailable
		return
	}
	v.num, v.den, v.ratio = j.s.Peak.Value.Sub(j.s.Equity.Value), j.s.Peak.Value, true
	if v.num.Sign() < 0 {
		v.num = trade.Decimal{}
	}
}

// exceeds reports whether the value is above the bound of a step. A ratio to nothing, or to less, is above every bound.
func (v *reading) exceeds(l *limit, s step) bool {
	switch {
	case traits[l.kind].unit == inCount:
		return v.n > l.counts[s]
	case !v.ratio:
		return v.num.Cmp(l.bounds[s]) > 0
	case v.den.Sign() <= 0:
		return v.num.Sign() > 0
	}
	return trade.CmpProduct(v.num, l.parts[s], v.den) > 0
}

// show writes the value. A ratio is rounded up at the ninth place, which is as many as a bound has: what is shown is
// above a bound exactly if the value is.
func (v *reading) show(u unit) string {
	if u == inCount && v.n > mostCounted {
		return "over " + strconv.Itoa(mostCounted)
	}
	if u == inCount {
		return strconv.FormatUint(uint64(v.n), 10)
	}
	if !v.ratio {
		return u.show(v.num)
	}
	if v.den.Sign() <= 0 {
		if v.num.Sign() > 0 {
			return "without bound"
		}
		return "0"
	}
	x := ratOf(v.num)
	x.Mul(x, ratOf(u.scale())).Quo(x, ratOf(v.den))
	return ceiling(x)
}

func ratOf(d trade.Decimal) *big.Rat {
	x := new(big.Rat)
	x.SetString(d.String()) // what String writes is always a rational number
	return x
}

// ceiling writes a rational number that is not negative, rounded up at the ninth place, without trailing zeros.
func ceiling(x *big.Rat) string {
	places := new(big.Int).Exp(big.NewInt(10), big.NewInt(trade.MaxFractionDigits), nil)
	n := new(big.Int).Mul(x.Num(), places)
	q, rest := n.QuoRem(n, x.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	s := new(big.Rat).SetFrac(q, places).FloatString(trade.MaxFractionDigits)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}
