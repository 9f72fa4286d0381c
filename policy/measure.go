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

	quote    trade.Code    // why no quote can be used; empty if one can
	worst    trade.Decimal // what a share may cost: the higher of limit and ask
	quantity trade.Decimal
	notional trade.Decimal // quantity × worst
	reduces  bool          // by the facts: sells no more than is held and not yet being sold
}

// reading is what a limit measures: num, or num × scale / den where it is a ratio. Ratios are never divided, so that
// nothing is rounded.
type reading struct {
	num, den trade.Decimal
	n        uint32 // the value, where it is a count
	ratio    bool
	off      bool       // the limit does not judge this order
	missing  trade.Code // the fact that is not there, or cannot be right; empty if there is a value
}

// begin looks at the quote once, and at the order as it is.
func (j *judge) begin() {
	j.quote = j.book.quotes.judge(&j.s.Quote)
	j.worst = j.o.LimitPrice()
	if j.quote == "" && j.s.Quote.Ask.Cmp(j.worst) > 0 {
		j.worst = j.s.Quote.Ask
	}
	j.resize(j.o.Quantity())
}

// resize makes it an order of another quantity, all else equal.
func (j *judge) resize(quantity trade.Decimal) {
	j.quantity = quantity
	j.notional = quantity.Mul(j.worst)
	free := available(j.f)
	j.reduces = j.o.Side() == trade.Sell && j.f.PositionKnown && quantity.Cmp(free) <= 0 &&
		(j.s.Reduces || j.o.Quantity().Cmp(free) > 0)
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
	if traits[l.kind].quote && j.quote != "" {
		v.missing = j.quote
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
		j.exposure(l.kind, &j.s.SymbolLong, v)
	case grossExposure, leverage:
		j.exposure(l.kind, &j.s.Gross, v)
	case netExposure:
		j.net(v)
	case openOrders:
		v.count(j.s.OpenOrders, 1)
	case consecutiveLosses:
		v.count(j.s.ConsecutiveLosses, 0)
	case dailyLoss:
		v.num = j.s.DayLoss.Value
		if !j.s.DayLoss.Known {
			v.missing = LossUnavailable
		}
	case drawdown:
		j.drawdown(v)
	default: // risk_per_order and stop_distance_bps: no order has a stop loss
		v.off = true
	}
}

// collar measures how far a buy's limit is above the ask, and a sell's below the bid. A limit on the patient side is no
// distance at all.
func (j *judge) collar(v *reading) {
	v.ratio = true
	if j.o.Side() == trade.Sell {
		v.den = j.s.Quote.Bid
		v.num = v.den.Sub(j.o.LimitPrice())
	} else {
		v.den = j.s.Quote.Ask
		v.num = j.o.LimitPrice().Sub(v.den)
	}
	if v.num.Sign() < 0 {
		v.num = trade.Decimal{}
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
		v.count(Count{h.Rejections(l.per, since), true}, 0)
	default:
		v.count(Count{h.Denials(l.per, since), true}, 0)
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

// adds is what the order adds to the long side: a sell adds nothing to it.
func (j *judge) adds(d trade.Decimal) trade.Decimal {
	if j.o.Side() == trade.Sell {
		return trade.Decimal{}
	}
	return d
}

func (j *judge) position(v *reading) {
	if !j.f.PositionKnown || j.f.Position.Sign() < 0 || j.f.PendingBuys.Sign() < 0 {
		v.missing = PositionUnavailable
		return
	}
	v.num = j.f.Position.Add(j.f.PendingBuys).Add(j.adds(j.quantity))
}

func (j *judge) exposure(k kind, before *Known, v *reading) {
	if !before.Known || before.Value.Sign() < 0 {
		v.missing = ExposureUnavailable
		return
	}
	v.num = before.Value.Add(j.adds(j.notional))
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
