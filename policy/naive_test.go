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
	id             string
	symbols, sides []string
	agents         []string // nil: all
	deny           bool
	session        string
	limits         []naiveLimit
}

type naivePolicy struct {
	maxAge    time.Duration
	maxSpread string
	rules     []naiveRule
}

func (p naivePolicy) file() string {
	var rules []string
	list := func(words []string) string { return `["` + strings.Join(words, `", "`) + `"]` }
	for _, r := range p.rules {
		s := fmt.Sprintf(`{"id": %q, "match": {"symbols": %s, "sides": %s`, r.id, list(r.symbols), list(r.sides))
		if r.agents != nil {
			s += `, "agents": ` + list(r.agents)
		}
		s += "}"
		if r.session != "" {
			s += fmt.Sprintf(`, "require": {"session": %q}`, r.session)
		}
		if r.deny {
			rules = append(rules, s+`, "effect": "deny"}`)
			continue
		}
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
		"quotes": {"sources": ["file"], "max_age": "%ds", "max_spread_bps": %q}, "rules": [%s]}`,
		p.maxAge/time.Second, p.maxSpread, strings.Join(rules, ",\n"))
}

func r(d trade.Decimal) *big.Rat { return q(d.String()) }

func q(s string) *big.Rat {
	x, ok := new(big.Rat).SetString(s)
	if !ok {
		panic(s)
	}
	return x
}

// judge returns allow, hold, deny or halt.
func (p naivePolicy) judge(o trade.Order, f policy.Facts, s policy.Situation) string {
	free := new(big.Rat).Sub(r(f.Position), r(f.PendingSells))
	if free.Sign() < 0 || f.PendingSells.Sign() < 0 {
		free = new(big.Rat)
	}
	sells := o.Side() == trade.Sell
	covered := f.PositionKnown && r(o.Quantity()).Cmp(free) <= 0
	reduces := sells && covered && s.Reduces
	worst := 0
	rise := func(word string) { worst = max(worst, slices.Index(naiveWords, word)) }
	if sells && !covered {
		rise("deny")
	}
	matched := false
	for _, rule := range p.rules {
		if !slices.Contains(rule.symbols, o.Symbol().String()) || !slices.Contains(rule.sides, o.Side().String()) ||
			rule.agents != nil && !slices.Contains(rule.agents, string(s.Agent)) {
			continue
		}
		matched = true
		if rule.deny {
			if !reduces {
				rise("deny")
			}
			continue
		}
		open := rule.session == "" || s.Session.Code == "" && (s.Session.Regular || rule.session == "extended" && s.Session.Extended)
		if !open {
			rise("deny")
		}
		for _, l := range rule.limits {
			rise(p.limit(l, rule.id, o, f, s, reduces))
		}
	}
	if !matched && !reduces {
		rise("deny")
	}
	return naiveWords[worst]
}

var naiveWords = []string{"allow", "hold", "deny", "halt"}

func (p naivePolicy) limit(l naiveLimit, id string, o trade.Order, f policy.Facts, s policy.Situation, reduces bool) string {
	stillJudged := []string{"price_collar_bps", "similar_orders", "orders_per_minute"}
	if reduces && !slices.Contains(stillJudged, l.name) {
		return "allow"
	}
	v, known := p.value(l, id, o, f, s)
	if !known {
		return "deny"
	}
	for _, w := range []string{"halt", "deny", "hold"} {
		if b, ok := l.bounds[w]; ok && (v == nil || v.Cmp(q(b)) > 0) {
			return w
		}
	}
	return "allow"
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

// value returns what a limit measures; nil is more than every bound.
func (p naivePolicy) value(l naiveLimit, id string, o trade.Order, f policy.Facts, s policy.Situation) (*big.Rat, bool) {
	needsQuote := []string{
		"order_notional", "price_collar_bps", "notional_per_day", "position_notional", "position_equity_percent",
		"gross_exposure", "net_exposure", "leverage",
	}
	if slices.Contains(needsQuote, l.name) && !p.usable(s.Quote) {
		return nil, false
	}
	bid, ask, price := r(s.Quote.Bid), r(s.Quote.Ask), r(o.LimitPrice())
	worst := price
	if ask.Cmp(price) > 0 {
		worst = ask
	}
	notional := new(big.Rat).Mul(r(o.Quantity()), worst)
	buys := o.Side() == trade.Buy
	added := new(big.Rat)
	if buys {
		added = notional
	}
	sum := func(x policy.Known, and *big.Rat) (*big.Rat, bool) {
		return new(big.Rat).Add(r(x.Value), and), x.Known && x.Value.Sign() >= 0
	}
	ratio := func(x, of *big.Rat, scale string) *big.Rat {
		if of.Sign() <= 0 {
			if x.Sign() > 0 {
				return nil
			}
			return new(big.Rat)
		}
		return new(big.Rat).Quo(new(big.Rat).Mul(x, q(scale)), of)
	}
	whole := func(c policy.Count, more int64) (*big.Rat, bool) {
		return new(big.Rat).SetInt64(int64(c.N) + more), c.Known && c.N >= 0
	}
	positive := func(x *big.Rat) *big.Rat {
		if x.Sign() < 0 {
			return new(big.Rat)
		}
		return x
	}
	switch l.name {
	case "order_quantity":
		return r(o.Quantity()), true
	case "order_notional":
		return notional, true
	case "price_collar_bps":
		if buys {
			return positive(ratio(new(big.Rat).Sub(price, ask), ask, "10000")), true
		}
		return positive(ratio(new(big.Rat).Sub(bid, price), bid, "10000")), true
	case "position_quantity":
		x := new(big.Rat).Add(r(f.Position), r(f.PendingBuys))
		if buys {
			x.Add(x, r(o.Quantity()))
		}
		return x, f.PositionKnown && f.Position.Sign() >= 0 && f.PendingBuys.Sign() >= 0
	case "position_notional":
		return sum(s.SymbolLong, added)
	case "gross_exposure":
		return sum(s.Gross, added)
	case "position_equity_percent":
		x, ok := sum(s.SymbolLong, added)
		return ratio(x, r(s.Equity.Value), "100"), ok && s.Equity.Known
	case "leverage":
		x, ok := sum(s.Gross, added)
		return ratio(x, r(s.Equity.Value), "1"), ok && s.Equity.Known
	case "net_exposure":
		long, short := new(big.Rat).Add(r(s.NetLong.Value), added), r(s.NetShort.Value)
		if !buys {
			short.Add(short, notional)
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
		lost := positive(new(big.Rat).Sub(r(s.Peak.Value), r(s.Equity.Value)))
		return ratio(lost, r(s.Peak.Value), "100"), s.Equity.Known && s.Peak.Known && s.Peak.Value.Sign() > 0
	case "risk_per_order", "stop_distance_bps":
		return new(big.Rat).SetInt64(-1), true // below every bound
	}
	return naiveHistory(l, id, s, notional)
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
		b, err := policy.ParseV2([]byte(p.file()), policy.World{})
		if err != nil {
			t.Skip(err) // a policy that is not valid: a shadowed rule, a limit that no order can reach
		}
		for range 30 {
			o, f, s := drawCase(t)
			v := b.Evaluate(o, f, s)
			if got, want := verdictWord(v), p.judge(o, f, s); got != want {
				t.Fatalf("%s\n%s of %s %s at %s in %+v, %+v: %s, and naively %s: %+v",
					p.file(), o.Side(), o.Quantity(), o.Symbol(), o.LimitPrice(), f, s, got, want, v.Reasons)
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
