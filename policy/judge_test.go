package policy_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"sallyport/gatetest"
	"sallyport/policy"
	"sallyport/trade"
)

// noon is a moment of a trading day in New York.
var noon = time.Date(2026, 11, 30, 17, 0, 0, 0, time.UTC)

// past is a History out of lists.
type past struct {
	agent   trade.Agent
	symbol  string
	events  []happened
	flooded bool // there were more rejections and denials than are remembered
}

type happened struct {
	what     string // sent, similar, rejected, denied
	at       time.Time
	agent    trade.Agent
	symbol   string
	rule     string
	notional trade.Decimal
}

func (p *past) count(what string, per policy.Per, rule string, since time.Time) (n int, sum trade.Decimal) {
	for i := range p.events {
		e := &p.events[i]
		if e.what != what || !e.at.After(since) ||
			per == policy.PerAgent && e.agent != p.agent || per == policy.PerSymbol && e.symbol != p.symbol ||
			per == policy.PerRule && e.rule != rule {
			continue
		}
		n++
		sum = sum.Add(e.notional)
	}
	return n, sum
}

func (p *past) Orders(per policy.Per, rule string, since time.Time) int {
	n, _ := p.count("sent", per, rule, since)
	return n
}

func (p *past) Notional(per policy.Per, rule string, since time.Time) trade.Decimal {
	_, sum := p.count("sent", per, rule, since)
	return sum
}

func (p *past) Similar(since time.Time) int {
	n, _ := p.count("similar", policy.PerAccount, "", since)
	return n
}

func (p *past) Rejections(per policy.Per, since time.Time) policy.Count {
	n, _ := p.count("rejected", per, "", since)
	return policy.Count{N: n, Known: !p.flooded}
}

func (p *past) Denials(per policy.Per, since time.Time) policy.Count {
	n, _ := p.count("denied", per, "", since)
	return policy.Count{N: n, Known: !p.flooded}
}

func dec(s string) trade.Decimal { return gatetest.Decimal(s) }

func known(s string) policy.Known { return policy.Known{Value: dec(s), Known: true} }

func count(n int) policy.Count { return policy.Count{N: n, Known: true} }

// calm is a situation in which nothing stands against an order of AAPL at 100.00.
func calm() (policy.Facts, policy.Situation) {
	return policy.Facts{PositionKnown: true}, policy.Situation{
		At: noon, Day: policy.Day{Start: noon.Add(-12 * time.Hour), End: noon.Add(12 * time.Hour)}, Agent: "bot",
		Quote:  policy.QuoteFact{Bid: dec("99.99"), Ask: dec("100"), Last: dec("100"), Age: time.Second},
		Equity: known("100000"), Peak: known("100000"), Cash: known("100000"), AveragePrice: known("0"), DayLoss: known("0"),
		Instrument: instrument("AAPL"), SymbolLong: known("0"), SymbolShort: known("0"), Gross: known("0"), NetLong: known("0"), NetShort: known("0"),
		OpenOrders: count(0), ConsecutiveLosses: count(0), Session: policy.SessionFact{Regular: true},
		History: &past{agent: "bot", symbol: "AAPL"},
	}
}

// instrument is one that every price fits.
func instrument(symbol string) policy.InstrumentFact {
	i := trade.USEquity(gatetest.Symbol(symbol))
	i.Tick = trade.NewUnit(dec("0.000000001"))
	i.TickUnder1 = i.Tick
	return policy.InstrumentFact{Instrument: i}
}

func mustBook(t testing.TB, raw string) *policy.Rulebook {
	t.Helper()
	b, err := policy.ParseV2([]byte(raw), policy.World{})
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return b
}

func example(t testing.TB) *policy.Rulebook {
	t.Helper()
	raw, err := os.ReadFile("example.jsonc")
	if err != nil {
		t.Fatal(err)
	}
	return mustBook(t, string(raw))
}

// TestLimitsAtTheirBounds runs the files of testdata/limits: one a limit, and some for what stands around them.
//
//attack:policy-bounds
//attack:policy-collar-sources
//attack:policy-amount-shares
//attack:policy-minute
//attack:policy-quote-age
//attack:policy-quote-spread
//attack:policy-session
//attack:policy-flip
//attack:policy-instrument
//attack:policy-exits
//attack:policy-allow
//attack:policy-stop-loss
func TestLimitsAtTheirBounds(t *testing.T) {
	var b *policy.Rulebook
	seen := walk(t, "testdata/limits", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "policy":
			b = mustBook(t, d.Input)
			return "valid\n"
		case "limit": // a policy of one rule with one limit
			b = mustBook(t, oneLimit(d.Input))
			return "valid\n"
		case "wide": // the same of a rule that takes every kind of order
			b = mustBook(t, wideLimit(d.Input))
			return "valid\n"
		case "judge":
			return judgeV2(t, b, d)
		}
		d.Fatalf(t, "unknown command %s", d.Cmd)
		return ""
	})
	for _, r := range policy.Limits() {
		if !seen[r.Name] {
			t.Errorf("the limit %s has no file in testdata/limits", r.Name)
		}
	}
}

func oneLimit(limits string) string {
	return `{"version": 2, "currency": "USD", "timezone": "America/New_York",
		"quotes": {"sources": ["file"], "max_age": "30s", "max_spread_bps": "200", "market_slippage_bps": "50"},
		"rules": [{"id": "one", "match": {"symbols": ["AAPL", "MSFT"]}, "limits": {` + limits + `}}]}`
}

// wideLimit is a policy of one rule that takes every kind of order.
func wideLimit(limits string) string {
	return strings.Replace(oneLimit(limits), `"MSFT"]}`, `"MSFT"], "order_types": ["limit", "market", "stop", "stop_limit"],
			"time_in_force": ["day", "gtc", "ioc", "fok", "opg", "cls"]},
		"allow": {"short": true, "fractional": true, "extended_hours": true}`, 1)
}

// judgeV2 evaluates each line, such as "buy 10 AAPL at 1.00", in a calm situation but for the command's arguments.
func judgeV2(t *testing.T, b *policy.Rulebook, d *datadriven.TestData) string {
	f, s := calm()
	for _, arg := range d.CmdArgs {
		change(t, d, &f, &s, arg)
	}
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		o := gatetest.Line(t, line)
		if h, ok := s.History.(*past); ok {
			h.agent, h.symbol = s.Agent, o.Symbol().String()
		}
		if s.Instrument.Symbol.String() == "AAPL" {
			s.Instrument.Symbol = o.Symbol()
		}
		v := b.Evaluate(o, f, s)
		checkV2(t, b, o, f, s, v)
		out.WriteString(v.Effect.String())
		if v.MaxQuantity != nil {
			fmt.Fprintf(&out, " (at most %s)", v.MaxQuantity)
		}
		if !v.RetryAfter.IsZero() {
			fmt.Fprintf(&out, " (in %s)", v.RetryAfter.Sub(s.At))
		}
		out.WriteByte('\n')
		for _, r := range v.Reasons {
			what := ""
			if r.Hold {
				what = " hold"
			}
			fmt.Fprintf(&out, "  %s%s %s limit=%q observed=%q\n    %s\n", r.Code, what, r.Field, r.Limit, r.Observed, r.Message)
		}
		for _, h := range v.Halts {
			fmt.Fprintf(&out, "  halt %s %s: %s of %s\n", h.Scope, h.Name, h.Limit, h.Rule)
		}
	}
	return out.String()
}

func change(t *testing.T, d *datadriven.TestData, f *policy.Facts, s *policy.Situation, arg datadriven.CmdArg) {
	t.Helper()
	value := ""
	if len(arg.Vals) > 0 {
		value = arg.Vals[0]
	}
	known := map[string]*policy.Known{
		"equity": &s.Equity, "peak": &s.Peak, "day_loss": &s.DayLoss, "symbol_long": &s.SymbolLong, "gross": &s.Gross,
		"symbol_short": &s.SymbolShort, "net_long": &s.NetLong, "net_short": &s.NetShort,
	}
	counts := map[string]*policy.Count{"open_orders": &s.OpenOrders, "losses": &s.ConsecutiveLosses}
	decimals := map[string]*trade.Decimal{
		"position": &f.Position, "pending_sells": &f.PendingSells, "pending_buys": &f.PendingBuys, "best_bid": &s.Quote.BestBid, "best_ask": &s.Quote.BestAsk, "bid": &s.Quote.Bid, "ask": &s.Quote.Ask,
	}
	durations := map[string]func(time.Duration){
		"age":      func(x time.Duration) { s.Quote.Age = x },
		"began":    func(x time.Duration) { s.Day.Start = s.At.Add(-x) },
		"ends":     func(x time.Duration) { s.Day.End = s.At.Add(x) },
		"opens":    func(x time.Duration) { s.Session.RegularOpens = s.At.Add(x) },
		"extended": func(x time.Duration) { s.Session.ExtendedOpens = s.At.Add(x) },
	}
	switch k, c, x, at := known[arg.Key], counts[arg.Key], decimals[arg.Key], durations[arg.Key]; {
	case k != nil && value == "unknown":
		*k = policy.Known{}
	case k != nil:
		*k = policy.Known{Value: dec(value), Known: true}
	case c != nil && value == "unknown":
		*c = policy.Count{}
	case c != nil:
		n, err := strconv.Atoi(value)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		*c = count(n)
	case x != nil && value == "unknown":
		f.PositionKnown = false
	case x != nil:
		*x = dec(value)
	case at != nil:
		w, err := time.ParseDuration(value)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		at(w)
	default:
		changeMore(t, d, s, arg, value)
	}
}

func changeMore(t *testing.T, d *datadriven.TestData, s *policy.Situation, arg datadriven.CmdArg, value string) {
	t.Helper()
	switch arg.Key {
	case "reduces":
		s.Reduces = true
	case "agent":
		s.Agent = trade.Agent(value)
	case "instrument":
		changeInstrument(t, d, s, arg.Vals)
	case "quote":
		s.Quote = policy.QuoteFact{Code: trade.Code(value)}
	case "day":
		s.Day = policy.Day{}
	case "history":
		s.History = nil
	case "session":
		s.Session.Regular, s.Session.Extended = value == "regular", value == "extended"
		if strings.ToUpper(value) == value {
			s.Session.Code = trade.Code(value)
		}
	case "sent", "similar", "rejected", "denied":
		h := s.History.(*past)
		for _, v := range arg.Vals {
			part := strings.Split(v, "/") // age/agent/symbol/rule/notional
			age, err := time.ParseDuration(part[0])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			e := happened{what: arg.Key, at: s.At.Add(-age)}
			if len(part) > 1 {
				e.agent, e.symbol, e.rule, e.notional = trade.Agent(part[1]), part[2], part[3], dec(part[4])
			}
			h.events = append(h.events, e)
		}
	default:
		d.Fatalf(t, "unknown fact %s", arg.Key)
	}
}

// changeInstrument takes a code, or a list of symbol:MSFT, currency:EUR, class:crypto, tick:0.01, under:0.0001, lot:1,
// minimum:1, multiplier:100, on top of a US equity.
func changeInstrument(t *testing.T, d *datadriven.TestData, s *policy.Situation, vals []string) {
	t.Helper()
	i := trade.USEquity(s.Instrument.Symbol)
	s.Instrument = policy.InstrumentFact{}
	for _, v := range vals {
		key, value, _ := strings.Cut(v, ":")
		switch key {
		case "us_equity":
		case "symbol":
			i.Symbol, _ = trade.ParseSymbol(value)
		case "currency":
			i.Currency = value
		case "class":
			i.AssetClass = value
		case "tick":
			i.Tick = trade.NewUnit(dec(value))
		case "under":
			i.TickUnder1 = trade.NewUnit(dec(value))
		case "lot":
			i.Lot = trade.NewUnit(dec(value))
		case "minimum":
			i.Minimum = dec(value)
		case "multiplier":
			i.Multiplier = dec(value)
		case "none":
			return
		default:
			if strings.ToUpper(v) != v {
				d.Fatalf(t, "unknown word %s", v)
			}
			s.Instrument.Code = trade.Code(v)
			return
		}
	}
	s.Instrument.Instrument = i
}

// checkV2 holds a verdict to what must be true of every one.
func checkV2(t *testing.T, b *policy.Rulebook, o trade.Order, f policy.Facts, s policy.Situation, v policy.Verdict) {
	t.Helper()
	denied := false
	for _, r := range v.Reasons {
		denied = denied || !r.Hold
		if r.Code == "" || r.Message == "" || r.Field == "" {
			t.Errorf("a reason is not complete: %+v", r)
		}
	}
	switch {
	case v.Effect == policy.Allow && (len(v.Reasons) > 0 || len(v.Halts) > 0):
		t.Errorf("an order is allowed and has reasons: %+v", v)
	case v.Effect == policy.Hold && (denied || len(v.Reasons) == 0):
		t.Errorf("an order is held, by %+v", v.Reasons)
	case v.Effect == policy.Deny && !denied:
		t.Errorf("an order is denied without a reason that says so: %+v", v)
	}
	if v.MaxQuantity == nil {
		return
	}
	at := func(q trade.Decimal) policy.Effect { return b.Evaluate(withQuantity(t, o, q), f, s).Effect }
	if free := freeOf(o, f); free.Sign() > 0 && b.Shares(o, s).Value.Cmp(free) > 0 {
		s.Reduces = true // of what is free it would be one
	}
	if at(*v.MaxQuantity) != policy.Allow {
		t.Errorf("%s, said to pass, does not", v.MaxQuantity)
	}
	lot := s.Instrument.Lot.Size()
	if lot.Cmp(dec("1")) < 0 {
		lot = dec("1")
	}
	if more := v.MaxQuantity.Add(lot); at(more) == policy.Allow && (o.ByAmount() || more.Cmp(o.Quantity()) < 0) {
		t.Errorf("a lot more than %s passes", v.MaxQuantity)
	}
}

// freeOf is how many shares an order could close.
func freeOf(o trade.Order, f policy.Facts) trade.Decimal {
	if o.Side() == trade.Buy {
		return dec("0").Sub(f.Position).Sub(f.PendingBuys)
	}
	return f.Position.Sub(f.PendingSells)
}

// withQuantity is the same order of so many shares.
func withQuantity(t testing.TB, o trade.Order, q trade.Decimal) trade.Order {
	t.Helper()
	line := fmt.Sprintf("%s %s %s", o.Side(), q, o.Symbol())
	if o.StopPrice().Sign() > 0 {
		line += " stop " + o.StopPrice().String()
	}
	switch {
	case o.Type() == trade.Limit:
		line += " at " + o.LimitPrice().String()
	case o.Type() == trade.StopLimit:
		line += " limit " + o.LimitPrice().String()
	case o.Type() == trade.Market:
		line += " market"
	}
	line += " " + o.TimeInForce().String()
	if o.ExtendedHours() {
		line += " extended"
	}
	if sl := o.StopLoss(); sl.Limit.Sign() > 0 {
		line += " sl=" + sl.Stop.String() + "/" + sl.Limit.String()
	} else if sl.Stop.Sign() > 0 {
		line += " sl=" + sl.Stop.String()
	}
	if o.TakeProfit().Sign() > 0 {
		line += " tp=" + o.TakeProfit().String()
	}
	return gatetest.Line(t, line)
}

func TestV2ExampleAllowsAndAllocatesNothing(t *testing.T) {
	b := example(t)
	f, s := calm()
	o := order(t, "buy", "10", "AAPL", "100.00")
	if v := b.Evaluate(o, f, s); v.Effect != policy.Allow {
		t.Fatalf("%+v", v)
	}
	if n := testing.AllocsPerRun(100, func() { b.Evaluate(o, f, s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkV2Allow is the allow path of the full example, over counters that answer at once.
func BenchmarkV2Allow(bench *testing.B) { benchmark(bench, "buy 10 AAPL at 100.00", policy.Allow) }

// BenchmarkV2Deny is a denial of the same with its reasons and the largest quantity.
func BenchmarkV2Deny(bench *testing.B) { benchmark(bench, "buy 1000 AAPL at 100.00", policy.Deny) }

func benchmark(bench *testing.B, line string, want policy.Effect) {
	b := example(bench)
	f, s := calm()
	o := gatetest.Line(bench, line)
	bench.ReportAllocs()
	for bench.Loop() {
		if got := b.Evaluate(o, f, s).Effect; got != want {
			bench.Fatalf("%s, want %s", got, want)
		}
	}
}
