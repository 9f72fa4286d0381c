package policy_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sallyport/gatetest"
	"sallyport/policy"
	"sallyport/trade"
)

// The limits, and bounds among which random situations fall on both sides.
var drawnBounds = map[string][]string{
	"order_quantity": {"0", "5", "10", "20"}, "order_notional": {"0", "500", "1000.00", "1010.5", "2000"},
	"price_collar_bps": {"0", "50", "100", "300", "333.333333333"}, "orders_per_minute": {"0", "1", "2", "3"},
	"orders_per_day": {"1", "3", "4", "5"}, "notional_per_day": {"0", "1200", "2000.01", "3000"}, "similar_orders": {"0", "1", "2"},
	"position_quantity": {"10", "20", "30"}, "position_notional": {"1000", "2000", "3000.01"},
	"position_equity_percent": {"1", "2.000000001", "20"}, "gross_exposure": {"2000", "3000"}, "net_exposure": {"1000", "3000"},
	"leverage": {"0.01", "0.02", "1.5"}, "open_orders": {"1", "2", "10"}, "risk_per_order": {"0", "1", "10", "50"},
	"stop_distance_bps": {"0", "1", "100", "500"}, "daily_loss": {"0", "100", "100.01"}, "drawdown_percent": {"0", "1", "5"},
	"consecutive_losses": {"1", "3", "5"}, "broker_rejections": {"0", "1", "2"}, "denials_per_minute": {"0", "1", "2"},
}

func drawPolicy(t *rapid.T) naivePolicy {
	p := naivePolicy{maxAge: 30 * time.Second, maxSpread: rapid.SampledFrom([]string{"200", "100.5", "500"}).Draw(t, "spread"),
		slippage: rapid.SampledFrom([]string{"0", "50", "33.333333333", "7.5"}).Draw(t, "slippage")}
	for i := range rapid.IntRange(1, 3).Draw(t, "rules") {
		p.rules = append(p.rules, drawRule(t, fmt.Sprint("r", i)))
	}
	return p
}

func drawRule(t *rapid.T, id string) naiveRule {
	subset := func(of []string, what string) []string {
		keep := rapid.IntRange(1, 1<<len(of)-1).Draw(t, what)
		var out []string
		for i, s := range of {
			if keep>>i&1 == 1 {
				out = append(out, s)
			}
		}
		return out
	}
	r := naiveRule{id: id, symbols: subset([]string{"AAPL", "MSFT"}, "symbols"), sides: subset([]string{"buy", "sell"}, "sides")}
	if rapid.IntRange(0, 3).Draw(t, "some agents") == 0 {
		r.agents = subset([]string{"bot", "other"}, "agents")
	}
	r.types, r.tifs = []string{"limit"}, []string{"day"}
	if rapid.IntRange(0, 2).Draw(t, "plain") > 0 {
		r.types = subset([]string{"limit", "market", "stop", "stop_limit"}, "types")
		r.tifs = subset([]string{"day", "gtc", "ioc", "opg", "cls"}, "times in force")
	}
	if r.deny = rapid.IntRange(0, 7).Draw(t, "deny") == 0; r.deny {
		return r
	}
	r.short, r.fractional = rapid.IntRange(0, 2).Draw(t, "short") == 0, rapid.IntRange(0, 2).Draw(t, "fractional") == 0
	r.extended, r.stopLoss = rapid.IntRange(0, 3).Draw(t, "extended hours") == 0, rapid.IntRange(0, 5).Draw(t, "stop loss") == 0
	r = r.possible()
	r.session = rapid.SampledFrom([]string{"", "", "", "regular", "extended"}).Draw(t, "session")
	if r.session == "regular" {
		r.extended = false
	}
	names := slices.Sorted(maps.Keys(drawnBounds))
	for range rapid.IntRange(1, 4).Draw(t, "limits") {
		name := rapid.SampledFrom(names).Draw(t, "limit")
		if !slices.ContainsFunc(r.limits, func(l naiveLimit) bool { return l.name == name }) {
			r.limits = append(r.limits, drawLimit(t, name))
		}
	}
	return r
}

// possible takes out what no order that a rule is about could use, since that would be no policy.
func (r naiveRule) possible() naiveRule {
	has := slices.Contains[[]string]
	rests := has(r.tifs, "day") || has(r.tifs, "gtc")
	r.stopLoss = r.stopLoss && has(r.sides, "buy") && rests
	r.short = r.short && has(r.sides, "sell") && !r.stopLoss
	bound := r.stopLoss && !has(r.sides, "sell")
	r.fractional = r.fractional && !bound && has(r.tifs, "day") && (has(r.types, "limit") || has(r.types, "market"))
	r.extended = r.extended && !bound && has(r.types, "limit") && rests
	return r
}

func drawLimit(t *rapid.T, name string) naiveLimit {
	l := naiveLimit{name: name, bounds: map[string]string{}}
	switch name {
	case "similar_orders", "broker_rejections":
		l.window = time.Duration(rapid.IntRange(1, 300).Draw(t, "window")) * time.Second
	}
	switch name {
	case "orders_per_minute", "orders_per_day", "notional_per_day":
		l.per = rapid.SampledFrom([]string{"", "account", "agent", "symbol", "rule"}).Draw(t, "per")
	case "broker_rejections", "denials_per_minute":
		l.per = rapid.SampledFrom([]string{"", "account", "agent", "symbol"}).Draw(t, "per")
	}
	bounds := drawnBounds[name]
	first := rapid.IntRange(0, len(bounds)-1).Draw(t, "bound")
	words := rapid.SampledFrom([][]string{{"hold"}, {"deny"}, {"halt"}, {"hold", "deny"}, {"deny", "halt"}, {"hold", "halt"}}).Draw(t, "words")
	if name == "risk_per_order" || name == "stop_distance_bps" {
		words = words[:1] // the slippage of a stop order alone may be beyond the first bound and the second
	}
	for i, w := range words {
		if first+i < len(bounds) {
			l.bounds[w] = bounds[first+i]
		}
	}
	return l
}

func drawKnown(t *rapid.T, name string, values ...string) policy.Known {
	if rapid.IntRange(0, 19).Draw(t, name+" is not known") == 0 {
		return policy.Known{}
	}
	return known(rapid.SampledFrom(values).Draw(t, name))
}

func drawCount(t *rapid.T, name string) policy.Count {
	if rapid.IntRange(0, 19).Draw(t, name+" is not known") == 0 {
		return policy.Count{}
	}
	return count(rapid.IntRange(0, 6).Draw(t, name))
}

// drawOrder draws a valid order of any kind.
func drawOrder(t *rapid.T) trade.Order {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	prices := []string{"99", "100", "100.00", "100.5", "101", "103", "103.000000001", "97", "3.333333333"}
	for range 20 {
		quantity := strconv.Itoa(rapid.IntRange(1, 22).Draw(t, "quantity")) + pick("part", "", "", "", ".5")
		if rapid.IntRange(0, 9).Draw(t, "by amount") == 0 {
			quantity = "$" + pick("amount", "50", "999.99", "1000", "1010.5")
		}
		line := fmt.Sprintf("%s %s %s ", pick("side", "buy", "buy", "buy", "sell"), quantity, pick("symbol", "AAPL", "AAPL", "MSFT"))
		switch pick("type", "limit", "limit", "market", "stop", "stop_limit") {
		case "limit":
			line += "at " + pick("price", prices...)
		case "market":
			line += "market"
		case "stop":
			line += "stop " + pick("stop", prices...)
		case "stop_limit":
			line += "stop " + pick("stop", prices...) + " limit " + pick("price", prices...)
		}
		line += pick("time in force", "", "", "", " gtc", " ioc", " opg", " cls") + pick("hours", "", "", "", "", " extended") +
			pick("stop loss", "", "", "", " sl=95", " sl=99.98", " sl=90/89", " sl=98/94") + pick("take profit", "", "", "", " tp=105", " tp=100.01")
		if o, err := gatetest.ReadLine(line); err == nil {
			return o
		}
	}
	t.Skip("no order")
	return trade.Order{}
}

func drawCase(t *rapid.T) (trade.Order, policy.Facts, policy.Situation) {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	o := drawOrder(t)
	symbol := o.Symbol().String()
	f := policy.Facts{
		PositionKnown: rapid.IntRange(0, 9).Draw(t, "position is known") > 0,
		Position:      dec(pick("position", "0", "5", "10", "20", "-5", "-20", "10.5")), PendingSells: dec(pick("pending sells", "0", "0", "5")),
		PendingBuys: dec(pick("pending buys", "0", "0", "9")),
	}
	s := policy.Situation{
		At: noon, Day: policy.Day{Start: noon.Add(-time.Hour), End: noon.Add(time.Hour)}, Agent: trade.Agent(pick("agent", "bot", "other")),
		Quote:  policy.QuoteFact{Bid: dec(pick("bid", "99.99", "98", "100")), Ask: dec(pick("ask", "100", "100.01", "101")), Age: time.Second},
		Equity: drawKnown(t, "equity", "100000", "95000", "98765.43", "0", "-3"), Peak: drawKnown(t, "peak", "100000", "99999.99", "0"),
		DayLoss: drawKnown(t, "loss", "0", "-50", "100", "100.01", "500"), SymbolLong: drawKnown(t, "symbol long", "0", "990", "1000", "2000.01", "-1"),
		SymbolShort: drawKnown(t, "symbol short", "0", "990", "1500"), Instrument: instrument(symbol),
		Gross: drawKnown(t, "gross", "0", "1000", "2000"), NetLong: drawKnown(t, "net long", "0", "990", "2000"),
		NetShort: drawKnown(t, "net short", "0", "-2000", "1000.01"), OpenOrders: drawCount(t, "open orders"),
		ConsecutiveLosses: drawCount(t, "losses"), Reduces: rapid.IntRange(0, 3).Draw(t, "reduces") > 0,
		Session: policy.SessionFact{Regular: rapid.Bool().Draw(t, "regular"), Extended: rapid.Bool().Draw(t, "extended")},
	}
	if rapid.Bool().Draw(t, "opens") {
		s.Session.RegularOpens = noon.Add(time.Minute)
	}
	switch pick("spoilt", "", "", "", "", "", "", "quote", "age", "calendar", "day", "history", "instrument", "pending") {
	case "instrument":
		drawInstrument(t, &s.Instrument)
	case "pending":
		f.PendingBuys = dec("-1")
	case "quote":
		s.Quote.Code = policy.QuotesDisagree
	case "age":
		s.Quote.Age = rapid.SampledFrom([]time.Duration{-1, 0, 30 * time.Second, 30*time.Second + 1}).Draw(t, "age")
	case "calendar":
		s.Session.Code = policy.CalendarUnavailable
	case "day":
		s.Day.End = s.At
	case "history":
		return o, f, s
	}
	s.History = drawPast(t, s.Agent, symbol)
	return o, f, s
}

func drawInstrument(t *rapid.T, i *policy.InstrumentFact) {
	switch rapid.IntRange(0, 5).Draw(t, "instrument") {
	case 0:
		i.Code = policy.SymbolNotListed
	case 1:
		i.Instrument = trade.Instrument{}
	case 2:
		i.Currency = "EUR"
	case 3:
		i.Tick, i.TickUnder1 = trade.NewUnit(dec("0.5")), trade.NewUnit(dec("0.5"))
	case 4:
		i.Lot, i.Minimum = trade.NewUnit(dec("5")), dec("5")
	case 5:
		i.AssetClass = "crypto"
	}
}

// drawBook draws a policy that is valid, with the naive one that it ought to judge as.
func drawBook(t *rapid.T) (naivePolicy, *policy.Rulebook) {
	p := drawPolicy(t)
	b, err := policy.ParseV2([]byte(p.file()), policy.World{})
	if err != nil {
		t.Skip(err)
	}
	return p, b
}

func drawPast(t *rapid.T, agent trade.Agent, symbol string) *past {
	h := &past{agent: agent, symbol: symbol, flooded: rapid.IntRange(0, 5).Draw(t, "flooded") == 0}
	for range rapid.IntRange(0, 6).Draw(t, "events") {
		h.events = append(h.events, happened{
			what:  rapid.SampledFrom([]string{"sent", "sent", "similar", "rejected", "denied"}).Draw(t, "what"),
			at:    noon.Add(-time.Duration(rapid.SampledFrom([]int{0, 1, 59, 60, 61, 299, 300, 3600, 3601}).Draw(t, "age")) * time.Second),
			agent: rapid.SampledFrom([]trade.Agent{"bot", "other"}).Draw(t, "whose"), symbol: rapid.SampledFrom([]string{"AAPL", "MSFT"}).Draw(t, "of"),
			rule: rapid.SampledFrom([]string{"r0", "r1"}).Draw(t, "rule"), notional: dec(rapid.SampledFrom([]string{"0.01", "100", "999.99"}).Draw(t, "notional")),
		})
	}
	return h
}

// TestStricterPoliciesNeverLoosen lowers a bound, adds a bound and adds a rule beside one that matches already.
func TestStricterPoliciesNeverLoosen(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		p, before := drawBook(t)
		stricter := p
		stricter.rules = slices.Clone(p.rules)
		i := rapid.IntRange(0, len(p.rules)-1).Draw(t, "which rule")
		added := rapid.Bool().Draw(t, "a rule is added")
		if added {
			stricter.rules = append(stricter.rules, drawRule(t, "added"))
		} else if !lowerBound(t, &stricter.rules[i]) {
			t.Skip("nothing to lower")
		}
		after, err := policy.ParseV2([]byte(stricter.file()), policy.World{})
		if err != nil {
			t.Skip(err)
		}
		for range 30 {
			o, f, s := drawCase(t)
			if added && !slices.ContainsFunc(p.rules, func(r naiveRule) bool { return !r.deny && r.matches(o, s.Agent) }) {
				continue
			}
			was, is := verdictWord(before.Evaluate(o, f, s)), verdictWord(after.Evaluate(o, f, s))
			if slices.Index(naiveWords, is) < slices.Index(naiveWords, was) {
				t.Fatalf("%s\nsays %s, and the stricter\n%s\nsays %s to %s", p.file(), was, stricter.file(), is, o.Line())
			}
			compared++
		}
	})
	if compared < 100 {
		t.Errorf("only %d cases were compared", compared)
	}
}

// lowerBound lowers one bound of a rule, if there is one to lower.
func lowerBound(t *rapid.T, r *naiveRule) bool {
	if len(r.limits) == 0 {
		return false
	}
	r.limits = slices.Clone(r.limits)
	l := &r.limits[rapid.IntRange(0, len(r.limits)-1).Draw(t, "which limit")]
	l.bounds = maps.Clone(l.bounds)
	for _, w := range []string{"hold", "deny", "halt"} {
		if at := slices.Index(drawnBounds[l.name], l.bounds[w]); at > 0 {
			l.bounds[w] = drawnBounds[l.name][at-1]
			return true
		}
	}
	return false
}
