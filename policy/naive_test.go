package policy_test

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sallyport/policy"
	"sallyport/trade"
)

// This file judges by a policy of version 2 a second time, as plainly as the documents put it, over rational numbers and
// over the words of the file. It shares nothing with the evaluator but the facts.

type naiveLimit struct {
	name, per string
	window    time.Duration
	bounds    map[string]string // hold, deny, halt
}

type naiveRule struct {
	id                          string
	symbols, sides, types, tifs []string
	agents                      []string // nil: all
	deny, stopLoss              bool
	short, fractional, extended bool
	session                     string
	limits                      []naiveLimit
}

type naivePolicy struct {
	maxAge              time.Duration
	maxSpread, slippage string
	rules               []naiveRule
}

func (p naivePolicy) file() string {
	var rules []string
	list := func(words []string) string { return `["` + strings.Join(words, `", "`) + `"]` }
	for _, r := range p.rules {
		s := fmt.Sprintf(`{"id": %q, "match": {"symbols": %s, "sides": %s, "order_types": %s, "time_in_force": %s`,
			r.id, list(r.symbols), list(r.sides), list(r.types), list(r.tifs))
		if r.agents != nil {
			s += `, "agents": ` + list(r.agents)
		}
		s += "}"
		if r.deny {
			rules = append(rules, s+`, "effect": "deny"}`)
			continue
		}
		require := fmt.Sprintf(`, "require": {"stop_loss": %t`, r.stopLoss)
		if r.session != "" {
			require += fmt.Sprintf(`, "session": %q`, r.session)
		}
		s += require + fmt.Sprintf(`}, "allow": {"short": %t, "fractional": %t, "extended_hours": %t}`, r.short, r.fractional, r.extended)
		var limits []string
		for _, l := range r.limits {
			var parts []string
			for _, w := range []string{"hold", "deny", "halt"} {
				if b, ok := l.bounds[w]; ok {
					parts = append(parts, fmt.Sprintf(`"%s_above": %q`, w, b))
				}
			}
			if l.per != "" {
				parts = append(parts, fmt.Sprintf(`"per": %q`, l.per))
			}
			if l.window != 0 {
				parts = append(parts, fmt.Sprintf(`"window": "%ds"`, l.window/time.Second))
			}
			limits = append(limits, fmt.Sprintf("%q: {%s}", l.name, strings.Join(parts, ", ")))
		}
		rules = append(rules, s+`, "limits": {`+strings.Join(limits, ", ")+"}}")
	}
	return fmt.Sprintf(`{"version": 2, "currency": "USD", "timezone": "UTC",
		"quotes": {"sources": ["file"], "max_age": "%ds", "max_spread_bps": %q, "market_slippage_bps": %q}, "rules": [%s]}`,
		p.maxAge/time.Second, p.maxSpread, p.slippage, strings.Join(rules, ",\n"))
}

func r(d trade.Decimal) *big.Rat { return q(d.String()) }

func q(s string) *big.Rat {
	x, ok := new(big.Rat).SetString(s)
	if !ok {
		panic(s)
	}
	return x
}

// naiveOrder is an order and what it comes to.
type naiveOrder struct {
	o                         trade.Order
	f                         policy.Facts
	s                         policy.Situation
	usable                    bool
	unsized                   bool // how many shares an amount buys is not known
	worst, quantity, notional *big.Rat
	effect                    string // blind, flip, short, reduce, open
}

// nine rounds at the ninth place, up or down.
func nine(x *big.Rat, up bool) *big.Rat {
	scaled := new(big.Rat).Mul(x, q("1000000000"))
	n := new(big.Int).Div(scaled.Num(), scaled.Denom())
	if up && !scaled.IsInt() {
		n.Add(n, big.NewInt(1))
	}
	return new(big.Rat).Quo(new(big.Rat).SetInt(n), q("1000000000"))
}

func most(of ...*big.Rat) *big.Rat {
	x := new(big.Rat)
	for _, y := range of {
		if y.Cmp(x) > 0 {
			x = y
		}
	}
	return x
}

func sub(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }
func add(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }
func mul(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }

func (p naivePolicy) order(o trade.Order, f policy.Facts, s policy.Situation) naiveOrder {
	n := naiveOrder{o: o, f: f, s: s, usable: p.usable(s.Quote)}
	slip := nine(new(big.Rat).Quo(q(p.slippage), q("10000")), true)
	market := o.Type() == trade.Market || o.Type() == trade.Stop
	far := r(o.StopPrice())
	n.worst = most(r(o.LimitPrice()), r(o.StopPrice()))
	if n.usable {
		n.worst = most(n.worst, r(s.Quote.Ask))
		if o.Side() == trade.Buy {
			far = most(far, r(s.Quote.Ask))
		} else {
			far = most(far, r(s.Quote.Bid))
		}
	}
	if market {
		n.worst = most(n.worst, nine(mul(far, add(q("1"), slip)), true))
	}
	n.quantity = r(o.Quantity())
	n.notional = mul(n.quantity, n.worst)
	if o.ByAmount() {
		n.notional, n.unsized = r(o.Amount()), true
		if low := nine(mul(r(s.Quote.Bid), sub(q("1"), slip)), false); n.usable && low.Sign() > 0 {
			n.quantity, n.unsized = nine(new(big.Rat).Quo(n.notional, low), true), false
		}
	}
	n.effect = p.effect(n)
	return n
}

// effect says what an order does to the position.
func (p naivePolicy) effect(n naiveOrder) string {
	shorts := slices.ContainsFunc(p.rules, func(r naiveRule) bool { return r.short && !r.deny })
	sells := n.o.Side() == trade.Sell
	position := r(n.f.Position)
	switch {
	case !sells && n.f.PendingBuys.Sign() < 0 || n.f.PendingSells.Sign() < 0:
		return "blind"
	case !n.f.PositionKnown && (sells || shorts):
		return "blind"
	case !n.f.PositionKnown:
		return "open"
	case sells:
		free := most(sub(position, r(n.f.PendingSells)))
		switch {
		case n.quantity.Cmp(free) <= 0 && n.s.Reduces:
			return "reduce"
		case n.quantity.Cmp(free) <= 0:
			return "open"
		case free.Sign() > 0 || position.Sign() > 0 && shorts:
			return "flip"
		}
		return "short"
	case position.Sign() >= 0:
		return "open"
	}
	owed := most(sub(new(big.Rat).Neg(position), r(n.f.PendingBuys)))
	switch {
	case n.quantity.Sign() == 0 || n.quantity.Cmp(owed) > 0 || n.o.HasExits():
		return "flip"
	case n.s.Reduces:
		return "reduce"
	}
	return "open"
}

// fits says whether the instrument takes the order.
func (n naiveOrder) fits() bool {
	i := n.s.Instrument
	if i.Code != "" || i.Symbol != n.o.Symbol() || i.Currency != "USD" || i.AssetClass != "us_equity" {
		return false
	}
	for _, price := range []trade.Decimal{n.o.LimitPrice(), n.o.StopPrice(), n.o.StopLoss().Stop, n.o.StopLoss().Limit, n.o.TakeProfit()} {
		tick := i.Tick.Size()
		if price.Cmp(trade.Whole(1)) < 0 {
			tick = i.TickUnder1.Size()
		}
		if !new(big.Rat).Quo(r(price), r(tick)).IsInt() {
			return false
		}
	}
	one := q("1")
	parts := r(i.Lot.Size()).Cmp(one) == 0 && r(i.Minimum).Cmp(one) <= 0
	whole := new(big.Rat).Quo(r(n.o.Quantity()), r(i.Lot.Size())).IsInt() && n.o.Quantity().Cmp(i.Minimum) >= 0
	if n.o.ByAmount() {
		return r(i.Lot.Size()).Cmp(one) <= 0 && r(i.Minimum).Cmp(one) <= 0
	}
	return whole || parts && !n.o.Quantity().IsWhole()
}

// exits says whether the exits wait.
func (n naiveOrder) exits() bool {
	stop, profit := n.o.StopLoss().Stop, n.o.TakeProfit()
	if stop.Sign() == 0 && profit.Sign() == 0 {
		return true
	}
	if !n.usable {
		return n.o.Type() != trade.Market
	}
	if n.o.StopPrice().Cmp(n.s.Quote.Ask) > 0 {
		return true
	}
	market := n.o.Type() == trade.Market || n.o.Type() == trade.Stop
	return (stop.Sign() == 0 || stop.Cmp(n.s.Quote.Bid) < 0) && !(market && profit.Sign() > 0 && profit.Cmp(n.s.Quote.Ask) <= 0)
}

// judge returns allow, hold, deny or halt.
func (p naivePolicy) judge(o trade.Order, f policy.Facts, s policy.Situation) string {
	n := p.order(o, f, s)
	worst := 0
	rise := func(word string) { worst = max(worst, slices.Index(naiveWords, word)) }
	if n.effect == "blind" || n.effect == "flip" || !n.fits() || !n.exits() {
		rise("deny")
	}
	matched, limited, named := false, false, false
	for _, rule := range p.rules {
		limited = limited || rule.matches(o, s.Agent) && !rule.deny
		named = named || slices.Contains(rule.symbols, o.Symbol().String()) && !rule.deny
	}
	for _, rule := range p.rules {
		strays := n.effect == "reduce" && !limited && !rule.deny && (!named || slices.Contains(rule.symbols, o.Symbol().String()))
		if !strays && !rule.matches(o, s.Agent) {
			continue
		}
		matched = true
		if rule.deny {
			if n.effect != "reduce" {
				rise("deny")
			}
			continue
		}
		if !rule.permits(n) || !rule.open(n) {
			rise("deny")
		}
		for _, l := range rule.limits {
			rise(p.limit(l, rule.id, n))
		}
	}
	if !matched && n.effect != "reduce" {
		rise("deny")
	}
	return naiveWords[worst]
}

func (rule naiveRule) matches(o trade.Order, agent trade.Agent) bool {
	return slices.Contains(rule.symbols, o.Symbol().String()) && slices.Contains(rule.sides, o.Side().String()) &&
		slices.Contains(rule.types, o.Type().String()) && slices.Contains(rule.tifs, o.TimeInForce().String()) &&
		(rule.agents == nil || slices.Contains(rule.agents, string(agent)))
}

func (rule naiveRule) permits(n naiveOrder) bool {
	if n.effect == "reduce" {
		return true
	}
	return (rule.fractional || n.o.Quantity().IsWhole() && !n.o.ByAmount()) && (rule.extended || !n.o.ExtendedHours()) &&
		(!rule.stopLoss || n.o.StopLoss().Stop.Sign() > 0) && (rule.short || n.effect != "short")
}

// open says whether the session is the one that the rule requires.
func (rule naiveRule) open(n naiveOrder) bool {
	s := n.s.Session
	switch {
	case rule.session == "":
		return true
	case s.Code != "" || rule.session == "regular" && n.o.ExtendedHours():
		return false
	case n.o.TimeInForce() == trade.OPG:
		return !s.Regular && s.RegularOpens.After(n.s.At)
	}
	return s.Regular || rule.session == "extended" && s.Extended
}

var naiveWords = []string{"allow", "hold", "deny", "halt"}

func (p naivePolicy) limit(l naiveLimit, id string, n naiveOrder) string {
	stillJudged := []string{"price_collar_bps", "similar_orders", "orders_per_minute"}
	if n.effect == "reduce" && !slices.Contains(stillJudged, l.name) {
		return "allow"
	}
	v, known := p.value(l, id, n)
	if !known {
		return "deny"
	}
	surely, perhaps := "allow", "allow"
	for _, w := range []string{"hold", "deny", "halt"} {
		b, ok := l.bounds[w]
		if ok {
			perhaps = w
		}
		if ok && (v == nil || v.Cmp(q(b)) > 0) {
			surely = w
		}
	}
	if perhaps == "halt" {
		perhaps = "deny"
	}
	if h, is := n.s.History.(*past); is && h.flooded && (l.name == "broker_rejections" || l.name == "denials_per_minute") {
		return naiveWords[max(slices.Index(naiveWords, surely), slices.Index(naiveWords, perhaps))]
	}
	return surely
}

// usable says whether the quote can be judged by.
func (p naivePolicy) usable(x policy.QuoteFact) bool {
	if x.Code != "" || x.Bid.Sign() <= 0 || x.Ask.Sign() <= 0 || x.Age < 0 || x.Age > p.maxAge {
		return false
	}
	bid, ask := r(x.Bid), r(x.Ask)
	if bid.Cmp(ask) > 0 {
		return false
	}
	middle := new(big.Rat).Quo(new(big.Rat).Add(bid, ask), q("2"))
	bps := new(big.Rat).Quo(new(big.Rat).Mul(new(big.Rat).Sub(ask, bid), q("10000")), middle)
	return bps.Cmp(q(p.maxSpread)) <= 0
}

// ratio is x of so much, in so many parts; nil is more than every bound.
func ratio(x, of *big.Rat, scale string) *big.Rat {
	if of.Sign() <= 0 {
		if x.Sign() > 0 {
			return nil
		}
		return new(big.Rat)
	}
	return new(big.Rat).Quo(mul(x, q(scale)), of)
}

// value returns what a limit measures; nil is more than every bound.
func (p naivePolicy) value(l naiveLimit, id string, n naiveOrder) (*big.Rat, bool) {
	needsQuote := []string{
		"order_notional", "price_collar_bps", "notional_per_day", "position_notional", "position_equity_percent",
		"gross_exposure", "net_exposure", "leverage", "risk_per_order", "stop_distance_bps",
	}
	stops, s, f := l.name == "risk_per_order" || l.name == "stop_distance_bps", n.s, n.f
	if stops && n.o.StopLoss().Stop.Sign() == 0 {
		return new(big.Rat).SetInt64(-1), true // below every bound
	}
	inShares := l.name == "order_quantity" || l.name == "position_quantity"
	if !n.usable && (slices.Contains(needsQuote, l.name) || inShares && n.o.ByAmount()) {
		return nil, false
	}
	if n.unsized && (inShares || l.name == "risk_per_order") {
		return nil, false
	}
	buys := n.o.Side() == trade.Buy
	side := s.SymbolLong
	if !buys {
		side = s.SymbolShort
	}
	sum := func(x policy.Known) (*big.Rat, bool) {
		return add(r(x.Value), n.notional), x.Known && x.Value.Sign() >= 0
	}
	whole := func(c policy.Count, more int64) (*big.Rat, bool) {
		return new(big.Rat).SetInt64(int64(c.N) + more), c.Known && c.N >= 0
	}
	switch l.name {
	case "order_quantity":
		return n.quantity, true
	case "order_notional":
		return n.notional, true
	case "price_collar_bps":
		return p.collar(n), true
	case "position_quantity":
		known := f.PositionKnown && f.PendingSells.Sign() >= 0
		if buys {
			return add(add(r(f.Position), r(f.PendingBuys)), n.quantity), known && f.Position.Sign() >= 0 && f.PendingBuys.Sign() >= 0
		}
		return add(sub(r(f.PendingSells), r(f.Position)), n.quantity), known
	case "position_notional":
		return sum(side)
	case "gross_exposure":
		return sum(s.Gross)
	case "position_equity_percent":
		x, ok := sum(side)
		return ratio(x, r(s.Equity.Value), "100"), ok && s.Equity.Known
	case "leverage":
		x, ok := sum(s.Gross)
		return ratio(x, r(s.Equity.Value), "1"), ok && s.Equity.Known
	case "net_exposure":
		long, short := r(s.NetLong.Value), r(s.NetShort.Value)
		if buys {
			long = add(long, n.notional)
		} else {
			short = add(short, n.notional)
		}
		if short.Cmp(long) > 0 {
			long = short
		}
		return long, s.NetLong.Known && s.NetShort.Known
	case "open_orders":
		return whole(s.OpenOrders, 1)
	case "consecutive_losses":
		return whole(s.ConsecutiveLosses, 0)
	case "daily_loss":
		return r(s.DayLoss.Value), s.DayLoss.Known
	case "drawdown_percent":
		lost := most(sub(r(s.Peak.Value), r(s.Equity.Value)))
		return ratio(lost, r(s.Peak.Value), "100"), s.Equity.Known && s.Peak.Known && s.Peak.Value.Sign() > 0
	case "risk_per_order":
		return mul(n.quantity, most(sub(n.worst, r(n.o.StopLoss().Stop)))), true
	case "stop_distance_bps":
		return ratio(most(sub(n.worst, r(n.o.StopLoss().Stop))), n.worst, "10000"), true
	}
	return naiveHistory(l, id, s, n.notional)
}

// collar is how far the prices of an order are on the aggressive side.
func (p naivePolicy) collar(n naiveOrder) *big.Rat {
	limit, stop, bid, ask := r(n.o.LimitPrice()), r(n.o.StopPrice()), r(n.s.Quote.Bid), r(n.s.Quote.Ask)
	var x *big.Rat
	switch {
	case n.o.Type() == trade.Market || n.o.Type() == trade.Stop:
		x = mul(nine(new(big.Rat).Quo(q(p.slippage), q("10000")), true), q("10000"))
	case n.o.Side() == trade.Buy:
		from := most(ask, stop)
		x = ratio(sub(limit, from), from, "10000")
	default:
		from := bid
		if stop.Sign() > 0 && stop.Cmp(bid) < 0 {
			from = stop
		}
		x = ratio(sub(from, limit), from, "10000")
	}
	if exit := n.o.StopLoss(); exit.Limit.Sign() > 0 {
		return most(x, ratio(sub(r(exit.Stop), r(exit.Limit)), r(exit.Stop), "10000"))
	}
	return most(x)
}

// naiveHistory counts the events itself.
func naiveHistory(l naiveLimit, id string, s policy.Situation, notional *big.Rat) (*big.Rat, bool) {
	h, ok := s.History.(*past)
	if !ok {
		return nil, false
	}
	daily := l.name == "orders_per_day" || l.name == "notional_per_day"
	if daily && (s.At.Before(s.Day.Start) || !s.At.Before(s.Day.End)) {
		return nil, false
	}
	window := l.window
	if window == 0 {
		window = time.Minute
	}
	what := map[string]string{
		"orders_per_minute": "sent", "orders_per_day": "sent", "notional_per_day": "sent", "similar_orders": "similar",
		"broker_rejections": "rejected", "denials_per_minute": "denied",
	}[l.name]
	n, sum := int64(0), new(big.Rat)
	for _, e := range h.events {
		inside := e.at.Unix() > s.At.Add(-window).Unix()
		if daily {
			inside = e.at.Unix() >= s.Day.Start.Unix()
		}
		scope := map[string]bool{
			"": true, "account": true, "agent": e.agent == s.Agent, "symbol": e.symbol == h.symbol, "rule": e.rule == id,
		}[l.per]
		if e.what == what && inside && scope {
			n++
			sum.Add(sum, r(e.notional))
		}
	}
	switch l.name {
	case "orders_per_minute", "orders_per_day":
		n++
	case "notional_per_day":
		return sum.Add(sum, notional), true
	}
	return new(big.Rat).SetInt64(n), true
}

func verdictWord(v policy.Verdict) string {
	if len(v.Halts) > 0 {
		return "halt"
	}
	return v.Effect.String()
}

// TestTwoEvaluatorsAgree judges thousands of random orders by random policies in random situations, twice.
func TestTwoEvaluatorsAgree(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		extreme := rapid.IntRange(0, 9).Draw(t, "extreme") == 0
		if extreme {
			p.slippage = "9999.99"
		}
		b, err := policy.ParseV2([]byte(p.file()), policy.World{})
		if err != nil {
			t.Skip(err) // a policy that is not valid: a shadowed rule, a limit that no order can reach
		}
		for range 80 {
			o, f, s := drawCase(t)
			if extreme && s.Quote.Code == "" { // at a price of which the slippage leaves nothing
				s.Quote.Bid, s.Quote.Ask = dec("0.000000001"), dec("0.000000001")
			}
			v := b.Evaluate(o, f, s)
			if got, want := verdictWord(v), p.judge(o, f, s); got != want {
				t.Fatalf("%s\n%s in %+v, %+v: %s, and naively %s: %+v", p.file(), o.Line(), f, s, got, want, v.Reasons)
			}
			if again := b.Evaluate(o, f, s); !reflect.DeepEqual(again, v) {
				t.Fatalf("judged twice: %+v and %+v", v, again)
			}
			seen[verdictWord(v)]++
		}
	})
	for _, w := range naiveWords {
		if seen[w] < 20 {
			t.Errorf("only %d of the cases came to %s: %v", seen[w], w, seen)
		}
	}
}
