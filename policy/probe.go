package policy

import (
	"fmt"
	"time"

	"sallyport/trade"
)

// Case is one order and all that is known when it is judged: made up, to show what a policy does.
type Case struct {
	Order     trade.Order
	Facts     Facts
	Situation Situation
	Says      string // what is not calm in it, in words
}

// String says what the order is and what is not calm.
func (c Case) String() string {
	s := c.Order.Line() + " by " + string(c.Situation.Agent)
	if c.Says != "" {
		s += ", " + c.Says
	}
	return s
}

// spot is where a made-up order comes from.
type spot struct {
	book   *Rulebook // whose slippage an order at the market is valued with
	symbol trade.Symbol
	side   trade.Side
	agent  trade.Agent
	typ    trade.OrderType
	tif    trade.TimeInForce
	short  bool // a sell of what is not held
	stop   bool // a buy brings a stop loss
}

// someAgent stands for an agent that no rule names.
const someAgent trade.Agent = "agent"

// calm is an order that costs so much a share, with a quote at its own price, in a situation in which nothing has happened
// and little is at stake. A sell is one of shares that are held, unless it is a short sale.
func (p spot) calm(quantity, price trade.Decimal) (Case, bool) {
	quote := price
	if atMarket(p.typ) {
		quote = price.QuoUp(p.book.quotes.rise)
	}
	return p.at(quantity, price, quote)
}

// at is a calm order over another quote than its own price. One with a stop has it there.
func (p spot) at(quantity, price, quote trade.Decimal) (Case, bool) {
	d := trade.Draft{
		Account: "paper", Symbol: written(p.symbol.String()), Side: written(p.side.String()), Quantity: amountText(quantity),
		Type: written(p.typ.String()), TimeInForce: written(p.tif.String()),
	}
	if !atMarket(p.typ) {
		d.LimitPrice = amountText(price)
	}
	if p.typ == trade.Stop || p.typ == trade.StopLimit {
		d.StopPrice = amountText(quote)
	}
	if p.stop && p.side == trade.Buy {
		d.StopLoss = amountText(less(quote, decimalText("0.000000001")))
	}
	return p.drafted(d, quote)
}

// drafted is a draft of this spot in the calm situation.
func (p spot) drafted(d trade.Draft, quote trade.Decimal) (Case, bool) {
	o, ok := drafted(d)
	at := time.Date(2026, time.January, 5, 15, 0, 0, 0, time.UTC)
	zero, rich := Known{Known: true}, Known{Value: decimalOf(1_000_000_000), Known: true}
	none := Count{Known: true}
	c := Case{Order: o, Facts: Facts{PositionKnown: true}}
	c.Situation = Situation{
		At: at, Day: Day{Start: at.Add(-maxDuration / 2), End: at.Add(maxDuration / 2)}, Agent: p.agent,
		Quote: QuoteFact{Bid: quote, Ask: quote, Last: quote}, Instrument: fine(p.symbol),
		Equity: rich, Peak: rich, Cash: rich, AveragePrice: zero, DayLoss: zero,
		SymbolLong: zero, SymbolShort: zero, Gross: zero, NetLong: zero, NetShort: zero, OpenOrders: none, ConsecutiveLosses: none,
		Session: SessionFact{Regular: true}, History: made{}, Reduces: p.side == trade.Sell && !p.short,
	}
	if p.tif == trade.OPG { // it is sent before the market opens
		c.Situation.Session = SessionFact{RegularOpens: at.Add(minute)}
	}
	if c.Situation.Reduces {
		c.Facts.Position = o.Quantity()
	}
	return c, ok
}

// fine is an instrument that every price and every quantity fits.
func fine(s trade.Symbol) InstrumentFact {
	i := trade.USEquity(s)
	i.Tick = trade.NewUnit(decimalText("0.000000001"))
	i.TickUnder1 = i.Tick
	return InstrumentFact{Instrument: i}
}

// little is the calm order that most limits let pass.
func (p spot) little() (Case, bool) { return p.calm(trade.Whole(1), decimalText("0.01")) }

// decimalText reads a constant of this package.
func decimalText(s string) trade.Decimal {
	d, _ := trade.ParseDecimal(s)
	return d
}

// made is a History in which one thing happened n times, at one moment, within one scope and all that are wider.
type made struct {
	kind     kind
	n        int
	notional trade.Decimal
	at       time.Time
	scope    Per // account: the others saw none of it
}

func (m made) count(k kind, per Per, since time.Time) int {
	if m.kind != k || !m.at.After(since) || per != PerAccount && per != m.scope {
		return 0
	}
	return m.n
}

func (m made) Orders(per Per, _ string, since time.Time) int {
	return m.count(ordersPerDay, per, since)
}

func (m made) Notional(per Per, _ string, since time.Time) trade.Decimal {
	if m.count(ordersPerDay, per, since) == 0 {
		return trade.Decimal{}
	}
	return m.notional
}

func (m made) Similar(since time.Time) int { return m.count(similarOrders, PerAccount, since) }

func (m made) Rejections(per Per, since time.Time) Count {
	return Count{m.count(brokerRejections, per, since), true}
}

func (m made) Denials(per Per, since time.Time) Count {
	return Count{m.count(denialsPerMinute, per, since), true}
}

// with makes cases in which a limit of that kind measures v, or as little more as the least order does, and everything
// else is as calm as it can be. There is none where no order measures that.
func (p spot) with(l *limit, v trade.Decimal) []Case {
	var out []Case
	add := func(c Case, ok bool, says string) {
		if ok {
			c.Says = says
			out = append(out, c)
		}
	}
	switch l.kind {
	case orderQuantity:
		c, ok := p.calm(v, decimalText("0.01"))
		add(c, ok, "")
		c, ok = p.calm(v, decimalText("0.000000001"))
		add(c, ok, "")
	case orderNotional:
		c, ok := p.calm(trade.Whole(1), v)
		add(c, ok, "")
		if atMarket(p.typ) {
			c, ok = p.at(trade.Whole(1), v, v.QuoDown(p.book.quotes.rise))
			add(c, ok, "")
		}
	case priceCollar:
		for _, at := range []string{"10000", "1", "0.01"} {
			c, ok := p.collared(decimalText(at), v)
			add(c, ok, fmt.Sprintf("with a quote of %s", at))
		}
		if atMarket(p.typ) {
			c, ok := p.exitCollared(v)
			add(c, ok, "")
		}
	case positionEquity, leverage:
		for _, equity := range []uint64{1_000_000_000, 1_000, 1} {
			c, ok := p.ofEquity(l.kind, decimalOf(equity), v)
			add(c, ok, fmt.Sprintf("with an equity of %d and %s at %s", equity, l.kind, v))
		}
	case riskPerOrder:
		for _, price := range []trade.Decimal{v.Add(trade.Whole(1)), v.Add(v)} {
			c, ok := p.stopped(price, func(worst trade.Decimal) trade.Decimal { return less(worst, v) })
			add(c, ok, "")
		}
		for _, c := range p.risked(v) {
			add(c, true, "")
		}
		c, ok := p.stopped(decimalText("0.000000004"), func(trade.Decimal) trade.Decimal { return decimalText("0.000000001") })
		add(c, ok, "") // the least that a buy with so much slippage can risk
	case stopDistance:
		part := inBps.part(v)
		c, ok := p.stopped(trade.Whole(10_000), func(worst trade.Decimal) trade.Decimal {
			return less(worst.QuoDown(p.book.quotes.rise), decimalText("0.000000001"))
		})
		add(c, ok, "") // the least that an order at the market has
		for _, price := range []trade.Decimal{trade.Whole(10_000), trade.Whole(1)} {
			c, ok := p.stopped(price, func(worst trade.Decimal) trade.Decimal { return less(worst, worst.MulUp(part)) })
			add(c, ok, "")
			c, ok = p.stopped(price, func(worst trade.Decimal) trade.Decimal { return less(worst, worst.MulDown(part)) })
			add(c, ok, "")
		}
	default:
		c, ok := p.little()
		add(c, ok && c.set(l, v, p.book.Worth(c.Order, c.Situation).Value), fmt.Sprintf("with %s at %s", l.kind, v))
	}
	return out
}

// stopped is a buy of one share with a stop loss, which is worked out of what the share may cost.
func (p spot) stopped(price trade.Decimal, stop func(worst trade.Decimal) trade.Decimal) (Case, bool) {
	return p.stoppedOf(trade.Whole(1), price, stop)
}

func (p spot) stoppedOf(n, price trade.Decimal, stop func(worst trade.Decimal) trade.Decimal) (Case, bool) {
	p.stop = false
	c, ok := p.calm(trade.Whole(1), price)
	if !ok || p.side != trade.Buy {
		return c, false
	}
	d := draftOf(c.Order, n)
	d.StopLoss = amountText(stop(p.book.Worth(c.Order, c.Situation).Value))
	if d.StopLoss.Kind == trade.IsAbsent {
		return c, false
	}
	return p.drafted(d, c.Situation.Quote.Ask)
}

// risked are buys of more than one share with a stop loss at several distances, that together risk v or, where it does
// not divide, a little less and a little more: whatever a policy says about quantities and distances, some of them pass.
func (p spot) risked(v trade.Decimal) (out []Case) {
	for _, bps := range []uint32{10, 100, 450} {
		for _, price := range []uint32{1, 10, 100, 1000} {
			distance := trade.Whole(price).Mul(inBps.part(trade.Whole(bps)))
			n := wholeOf(v.QuoUp(distance))
			if n == 0 || n > mostCounted {
				continue
			}
			for _, each := range []trade.Decimal{v.QuoDown(decimalOf(n)), v.QuoUp(decimalOf(n))} {
				c, ok := p.stoppedOf(decimalOf(n), trade.Whole(price), func(worst trade.Decimal) trade.Decimal { return less(worst, each) })
				if ok {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// collared is an order whose limit is v basis points on the aggressive side of a quote. One at the market's price is as
// far away as it always is.
func (p spot) collared(quote, v trade.Decimal) (Case, bool) {
	distance := quote.Mul(inBps.part(v))
	price := quote.Add(distance)
	if p.side == trade.Sell {
		price = quote.Sub(distance)
	}
	return p.at(trade.Whole(1), price, quote)
}

// exitCollared is an order at the market with a stop loss whose limit is v basis points below its stop.
func (p spot) exitCollared(v trade.Decimal) (Case, bool) {
	p.stop = false
	c, ok := p.calm(trade.Whole(1), trade.Whole(20_000))
	if !ok {
		return c, false
	}
	d, stop := draftOf(c.Order, c.Order.Quantity()), trade.Whole(10_000)
	d.StopLoss, d.StopLossLimit = amountText(stop), amountText(less(stop, stop.Mul(inBps.part(v))))
	return p.drafted(d, c.Situation.Quote.Ask)
}

// ofEquity is an order after which the exposure is v of the equity.
func (p spot) ofEquity(k kind, equity, v trade.Decimal) (Case, bool) {
	c, ok := p.little()
	worth := p.book.Worth(c.Order, c.Situation).Value
	before := Known{Value: less(equity.Mul(traits[k].unit.part(v)), worth), Known: true}
	c.Situation.Equity = Known{Value: equity, Known: true}
	c.Situation.Peak = c.Situation.Equity
	switch {
	case k == leverage:
		c.Situation.Gross = before
	case p.side == trade.Sell:
		c.Situation.SymbolShort = before
	default:
		c.Situation.SymbolLong = before
	}
	return c, ok
}

// less returns a − b, or nothing if that is below it: what comes before an order is never less than nothing, so that the
// least that can be measured is the order itself.
func less(a, b trade.Decimal) trade.Decimal {
	if d := a.Sub(b); d.Sign() > 0 {
		return d
	}
	return trade.Decimal{}
}

// set makes the situation one in which a limit measures v, if it can, with an order that is worth so much.
func (c *Case) set(l *limit, v, worth trade.Decimal) bool {
	s := &c.Situation
	buys := c.Order.Side() == trade.Buy
	rest := Known{Value: less(v, worth), Known: true}
	n := int(min(wholeOf(v), mostCounted+1))
	happens := func(k kind, n int) { s.History = made{kind: k, n: n, at: c.ago(l), scope: l.per} }
	switch l.kind {
	case ordersPerMinute, ordersPerDay:
		happens(ordersPerDay, max(0, n-1))
	case notionalPerDay:
		s.History = made{kind: ordersPerDay, n: 1, notional: rest.Value, at: c.ago(l), scope: l.per}
	case similarOrders, brokerRejections, denialsPerMinute:
		happens(l.kind, n)
	case positionQuantity:
		if held := less(v, c.Order.Quantity()); buys {
			c.Facts.Position = held
		} else {
			c.Facts.PendingSells = held
		}
	case positionNotional:
		if buys {
			s.SymbolLong = rest
		} else {
			s.SymbolShort = rest
		}
	case grossExposure:
		s.Gross = rest
	case netExposure:
		if buys {
			s.NetLong = rest
		} else {
			s.NetShort = rest
		}
	case openOrders:
		s.OpenOrders.N = max(0, n-1)
	case consecutiveLosses:
		s.ConsecutiveLosses.N = n
	case dailyLoss:
		s.DayLoss.Value = v
	case drawdown:
		s.Equity.Value = s.Peak.Value.Sub(s.Peak.Value.Mul(inPercent.part(v)))
	default:
		return false
	}
	return true
}

// ago is a moment within the window of a limit, as early as it can be: what happened then is counted by no limit with a
// shorter window.
func (c *Case) ago(l *limit) time.Time {
	switch {
	case traits[l.kind].day:
		return c.Situation.Day.Start.Add(1)
	case l.window == 0:
		return c.Situation.At
	}
	return c.Situation.At.Add(1 - l.window)
}

// beyond is the least value above a bound that an order can measure; at is the greatest that is not.
func (u unit) beyond(bound trade.Decimal) trade.Decimal {
	if u == inShares || u == inCount {
		return decimalOf(wholeOf(bound) + 1)
	}
	return bound.Add(decimalText("0.000000001"))
}

func (u unit) at(bound trade.Decimal) trade.Decimal {
	if u == inShares || u == inCount {
		return decimalOf(wholeOf(bound))
	}
	return bound
}
