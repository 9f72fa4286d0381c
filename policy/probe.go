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
	s := fmt.Sprintf("%s %s %s at %s by %s", c.Order.Side(), c.Order.Quantity(), c.Order.Symbol(), c.Order.LimitPrice().Money(), c.Situation.Agent)
	if c.Says != "" {
		s += ", " + c.Says
	}
	return s
}

// spot is where a made-up order comes from.
type spot struct {
	symbol trade.Symbol
	side   trade.Side
	agent  trade.Agent
}

// someAgent stands for an agent that no rule names.
const someAgent trade.Agent = "agent"

// calm is an order, with a quote at its own price, in a situation in which nothing has happened and little is at stake.
// A sell is one of shares that are held.
func (p spot) calm(quantity, price trade.Decimal) (Case, bool) {
	o, ok := limitOrder("paper", p.symbol, p.side, quantity, price)
	at := time.Date(2026, time.January, 5, 15, 0, 0, 0, time.UTC)
	zero, rich := Known{Known: true}, Known{Value: decimalOf(1_000_000_000), Known: true}
	none := Count{Known: true}
	c := Case{Order: o, Facts: Facts{PositionKnown: true}}
	c.Situation = Situation{
		At: at, Day: Day{Start: at.Add(-maxDuration / 2), End: at.Add(maxDuration / 2)}, Agent: p.agent,
		Quote:  QuoteFact{Bid: price, Ask: price, Last: price},
		Equity: rich, Peak: rich, Cash: rich, AveragePrice: zero, DayLoss: zero,
		SymbolLong: zero, Gross: zero, NetLong: zero, NetShort: zero, OpenOrders: none, ConsecutiveLosses: none,
		Session: SessionFact{Regular: true}, History: made{}, Reduces: p.side == trade.Sell,
	}
	if p.side == trade.Sell {
		c.Facts.Position = quantity
	}
	return c, ok
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

func (m made) Rejections(per Per, since time.Time) int { return m.count(brokerRejections, per, since) }

func (m made) Denials(per Per, since time.Time) int { return m.count(denialsPerMinute, per, since) }

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
	case priceCollar:
		for _, at := range []string{"10000", "1", "0.01"} {
			c, ok := p.collared(decimalText(at), v)
			add(c, ok, fmt.Sprintf("with a quote of %s", at))
		}
	case positionEquity, leverage:
		for _, equity := range []uint64{1_000_000_000, 1_000, 1} {
			c, ok := p.ofEquity(l.kind, decimalOf(equity), v)
			add(c, ok, fmt.Sprintf("with an equity of %d and %s at %s", equity, l.kind, v))
		}
	default:
		c, ok := p.little()
		add(c, ok && c.set(l, v), fmt.Sprintf("with %s at %s", l.kind, v))
	}
	return out
}

// collared is an order whose limit is v basis points on the aggressive side of a quote.
func (p spot) collared(quote, v trade.Decimal) (Case, bool) {
	distance := quote.Mul(inBps.part(v))
	price := quote.Add(distance)
	if p.side == trade.Sell {
		price = quote.Sub(distance)
	}
	c, ok := p.calm(trade.Whole(1), price)
	c.Situation.Quote = QuoteFact{Bid: quote, Ask: quote, Last: quote}
	return c, ok
}

// ofEquity is an order after which the exposure is v of the equity.
func (p spot) ofEquity(k kind, equity, v trade.Decimal) (Case, bool) {
	c, ok := p.little()
	worth, _ := c.Order.Notional()
	before := Known{Value: less(equity.Mul(traits[k].unit.part(v)), worth), Known: true}
	c.Situation.Equity = Known{Value: equity, Known: true}
	c.Situation.Peak = c.Situation.Equity
	if k == leverage {
		c.Situation.Gross = before
	} else {
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

// set makes the situation one in which a limit measures v, if it can.
func (c *Case) set(l *limit, v trade.Decimal) bool {
	s := &c.Situation
	worth, _ := c.Order.Notional()
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
		c.Facts.Position = less(v, c.Order.Quantity())
	case positionNotional:
		s.SymbolLong = rest
	case grossExposure:
		s.Gross = rest
	case netExposure:
		s.NetLong = rest
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

// ago is a moment within the window of a limit, as early as it can be.
func (c *Case) ago(l *limit) time.Time {
	if l.window == 0 {
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
