package market

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sallyport/trade"
)

// fixed is a source that always says the same.
type fixed struct {
	q   trade.Quote
	ok  bool
	err error
}

func (f fixed) Quote(trade.Symbol) (trade.Quote, bool, error) { return f.q, f.ok, f.err }

func amount(s string) trade.Decimal {
	d, ok := trade.ParseDecimal(s)
	if !ok {
		panic("not a decimal: " + s)
	}
	return d
}

var noon = time.Date(2026, 11, 30, 17, 0, 0, 0, time.UTC)

// quoted is a source with a quote that is so old at noon.
func quoted(t testing.TB, bid, ask string, age time.Duration) Source {
	s := symbol(t, "AAPL")
	return fixed{q: trade.Quote{Symbol: s, Bid: amount(bid), Ask: amount(ask), Last: amount(bid), At: noon.Add(-age)}, ok: true}
}

func bounds(age time.Duration, spread, divergence string) Bounds {
	return Bounds{MaxAge: age, MaxSpreadBPS: amount(spread), MaxDivergenceBPS: amount(divergence)}
}

//attack:market-quote-age
//attack:market-quote-spread
//attack:market-quote-divergence
//fault:f105
func TestLookAtBoundsOverAndUnder(t *testing.T) {
	usual := bounds(30*time.Second, "200", "100")
	other := quoted(t, "100", "101", 0).(fixed)
	other.q.Symbol = symbol(t, "MSFT")
	timeless := other
	timeless.q.Symbol, timeless.q.At = symbol(t, "AAPL"), time.Time{}
	for _, c := range []struct {
		name    string
		bounds  Bounds
		sources []Source
		want    trade.Code
	}{
		{"fine", usual, []Source{quoted(t, "100", "101", 0)}, ""},
		{"no source", usual, nil, QuoteUnavailable},
		{"a source that is not there", usual, []Source{nil}, QuoteUnavailable},
		{"no quote", usual, []Source{fixed{}}, QuoteUnavailable},
		{"unreadable", usual, []Source{fixed{err: errors.New("e")}}, QuoteUnavailable},
		{"of another symbol", usual, []Source{other}, QuoteUnavailable},
		{"without a time", usual, []Source{timeless}, QuoteUnavailable},
		{"a bid of zero", usual, []Source{quoted(t, "0", "101", 0)}, QuoteUnavailable},
		{"an ask of zero", usual, []Source{quoted(t, "1", "0", 0)}, QuoteUnavailable},
		{"at the age", usual, []Source{quoted(t, "100", "101", 30*time.Second)}, ""},
		{"a nanosecond over the age", usual, []Source{quoted(t, "100", "101", 30*time.Second+1)}, QuoteStale},
		{"weeks old", usual, []Source{quoted(t, "100", "101", 40*24*time.Hour)}, QuoteStale},
		{"a nanosecond in the future", usual, []Source{quoted(t, "100", "101", -1)}, QuoteUnavailable},
		{"an age of nothing, now", bounds(0, "200", "100"), []Source{quoted(t, "100", "101", 0)}, ""},
		{"an age of nothing, before", bounds(0, "200", "100"), []Source{quoted(t, "100", "101", 1)}, QuoteStale},
		{"locked", usual, []Source{quoted(t, "100", "100", 0)}, ""},
		{"crossed by the smallest step", usual, []Source{quoted(t, "100.000000001", "100", 0)}, QuoteCrossed},
		{"at the spread", usual, []Source{quoted(t, "99", "101", 0)}, ""},
		{"over the spread by the smallest step", usual, []Source{quoted(t, "99", "101.000000001", 0)}, SpreadExceedsLimit},
		{"under it by the smallest step", usual, []Source{quoted(t, "99", "100.999999999", 0)}, ""},
		{"a spread of nothing, locked", bounds(time.Minute, "0", "0"), []Source{quoted(t, "100", "100", 0)}, ""},
		{"a spread of nothing", bounds(time.Minute, "0", "0"), []Source{quoted(t, "100", "100.01", 0)}, SpreadExceedsLimit},
		{"no bounds at all", Bounds{}, []Source{quoted(t, "100", "100.01", 0)}, SpreadExceedsLimit},
		{"two that agree", usual, []Source{quoted(t, "100", "100", 0), quoted(t, "100", "100", 0)}, ""},
		{"two at the bound", usual, []Source{quoted(t, "100", "100", 0), quoted(t, "101", "101", 0)}, ""},
		{"two over it", usual, []Source{quoted(t, "100", "100", 0), quoted(t, "101", "101.000000001", 0)}, QuotesDisagree},
		{"two over it, the other way round", usual, []Source{quoted(t, "101", "101.000000001", 0), quoted(t, "100", "100", 0)}, QuotesDisagree},
		{"the first and the third over it", usual, []Source{quoted(t, "100", "100", 0), quoted(t, "100.9", "100.9", 0), quoted(t, "101.1", "101.1", 0)}, QuotesDisagree},
		{"a divergence of nothing", bounds(time.Minute, "1", "0"), []Source{quoted(t, "100", "100", 0), quoted(t, "100", "100.000000001", 0)}, QuotesDisagree},
		{"one of two is stale", usual, []Source{quoted(t, "100", "100", 0), quoted(t, "100", "100", time.Hour)}, QuoteStale},
		{"one of two is silent", usual, []Source{fixed{}, quoted(t, "100", "100", 0)}, QuoteUnavailable},
		{"the first cause counts", usual, []Source{quoted(t, "2", "1", 0), quoted(t, "100", "100", time.Hour)}, QuoteCrossed},
	} {
		var named []Named
		for i, s := range c.sources {
			named = append(named, Named{Name: fmt.Sprint("s", i), Source: s})
		}
		f := Look(named, symbol(t, "AAPL"), noon, c.bounds)
		if f.Code != c.want || (f.Why == "") != (c.want == "") {
			t.Errorf("%s: %q, %q; want %q", c.name, f.Code, f.Why, c.want)
		}
	}
}

func TestLookShowsTheWorstOfAllSources(t *testing.T) {
	sources := []Named{{"a", quoted(t, "100", "100.5", 5*time.Second)}, {"b", quoted(t, "100.2", "100.4", time.Second)}, {"c", quoted(t, "99.9", "100.6", 2*time.Second)}}
	f := Look(sources, symbol(t, "AAPL"), noon, bounds(time.Minute, "200", "100"))
	if got := fmt.Sprint(f.Bid, " ", f.Ask, " ", f.Last, " ", f.Age, f.Code); got != "99.9 100.6 100.2 5s" {
		t.Errorf("%s", got)
	}
}

// TestLookComparesExactly compares with fractions of whole numbers, at prices of any size.
func TestLookComparesExactly(t *testing.T) {
	draw := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("%d.%09d", rapid.Int64Range(0, 999_999_999_999).Draw(t, "whole"), rapid.Int64Range(1, 999_999_999).Draw(t, "parts"))
	})
	rapid.Check(t, func(rt *rapid.T) {
		bid, bps := draw.Draw(rt, "bid"), draw.Draw(rt, "bps")
		b, _ := new(big.Rat).SetString(bid)
		l, _ := new(big.Rat).SetString(bps)
		ask := amount(bid).Add(amount(draw.Draw(rt, "more")))
		a, _ := new(big.Rat).SetString(ask.String())
		s := symbol(t, "AAPL")
		q := fixed{q: trade.Quote{Symbol: s, Bid: amount(bid), Ask: ask, Last: ask, At: noon}, ok: true}
		spread := new(big.Rat).Mul(new(big.Rat).Sub(a, b), big.NewRat(20_000, 1))
		want := trade.Code("")
		if spread.Cmp(new(big.Rat).Mul(l, new(big.Rat).Add(a, b))) > 0 {
			want = SpreadExceedsLimit
		}
		if f := Look([]Named{{"x", q}}, s, noon, Bounds{MaxSpreadBPS: amount(bps)}); f.Code != want {
			rt.Fatalf("bid %s, ask %s, %s bps: %q, want %q", bid, ask, bps, f.Code, want)
		}
	})
}

const tape = `{"at":"2026-11-30T17:00:00Z","quote":{"symbol":"AAPL","bid":"100","ask":"101","last":"100.5"}}
{"at":"2026-11-30T17:00:01Z","intent":{"id":"i1","tool":"t","args":{"a":[1,{"b":2}]}}}
{"at":"2026-11-30T17:00:02Z","quote":{"symbol":"MSFT","bid":"200","ask":"201","last":"200.5"}}
{"at":"2026-11-30T17:00:02Z","quote":{"symbol":"AAPL","bid":"110","ask":"111","last":"110.5"}}
{"at":"2026-11-30T17:00:02Z","quote":{"symbol":"AAPL","bid":"120","ask":"121","last":"120.5"}}
{"at":"2026-11-30T17:00:09Z","quote":{"symbol":"AAPL","bid":"130","ask":"131","last":"130.5"}}`

// counted counts the bytes that were asked for.
type counted struct {
	r io.Reader
	n int
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}

func TestTapeShowsWhatWasRecordedByItsClock(t *testing.T) {
	now := noon.Add(-time.Nanosecond)
	tp := NewTape(strings.NewReader(tape), func() time.Time { return now })
	for _, c := range []struct{ at, symbol, want string }{
		{"2026-11-30T16:59:59.999999999Z", "AAPL", ""},
		{"2026-11-30T17:00:00Z", "AAPL", "100"},
		{"2026-11-30T17:00:01.999999999Z", "AAPL", "100"},
		{"2026-11-30T17:00:01.999999999Z", "MSFT", ""},
		{"2026-11-30T17:00:02Z", "AAPL", "120"}, // ties go in the order of the file
		{"2026-11-30T17:00:02Z", "MSFT", "200"},
		{"2026-11-30T17:00:08Z", "AAPL", "120"},
		{"2026-11-30T17:00:09Z", "AAPL", "130"},
		{"2026-12-30T17:00:09Z", "AAPL", "130"},
		{"2026-12-30T17:00:09Z", "IBM", ""},
	} {
		now = instant(t, c.at)
		q, ok, err := tp.Quote(symbol(t, c.symbol))
		if err != nil || ok != (c.want != "") || ok && q.Bid.String() != c.want {
			t.Errorf("%s at %s: %v, %t, %v; want %q", c.symbol, c.at, q, ok, err, c.want)
		}
	}
}

func TestTapeReadsNoFurtherThanItsClock(t *testing.T) {
	long := &counted{r: strings.NewReader(tape + "\n" + strings.Repeat(strings.Replace(tape[strings.LastIndex(tape, "\n")+1:], ":09Z", ":10Z", 1)+"\n", 100_000))}
	now := noon
	tp := NewTape(long, func() time.Time { return now })
	if _, ok, err := tp.Quote(symbol(t, "AAPL")); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if long.n > 4*MaxLine {
		t.Errorf("%d bytes are read for the first line", long.n)
	}
	now = noon.Add(time.Hour)
	if q, ok, err := tp.Quote(symbol(t, "AAPL")); !ok || err != nil || q.Bid.String() != "130" || len(tp.newest) != 2 {
		t.Errorf("at its end: %v, %t, %v, and %d quotes are kept", q, ok, err, len(tp.newest))
	}
}

//attack:market-tape-depth
func TestTapeWithABadLineHasNoQuotesFromThereOn(t *testing.T) {
	for name, c := range map[string][2]string{
		"earlier than before": {"17:00:09Z", "17:00:01Z"}, "not JSON": {`"last":"130.5"}}`, `"last":"130.5"}`}, "no time": {`"at":"2026-11-30T17:00:09Z",`, ``},
		"a time inside": {`"last":"130.5"`, `"last":"130.5","at":"2026-11-30T17:00:09Z"`}, "an empty line": {`{"at":"2026-11-30T17:00:09Z"`, "\n" + `{"at":"2026-11-30T17:00:09Z"`},
		"something beside": {`"last":"130.5"}`, `"last":"130.5"},"fill":{}`}, "a member twice": {`"last":"130.5"`, `"last":"130.5","last":"130.5"`}, "a member too few": {`,"last":"130.5"`, ``},
		"an unknown member": {`"last":"130.5"`, `"last":"130.5","x":1`}, "a price of zero": {`"130.5"`, `"0"`}, "not an object": {`{"symbol":"AAPL","bid":"130","ask":"131","last":"130.5"}`, `[]`},
		"too long": {`"130.5"`, `"` + strings.Repeat("1", MaxLine) + `"`}, "a list": {`{"at":"2026-11-30T17:00:09Z"`, `[{"at":"2026-11-30T17:00:09Z"`},
		"nested far": {`"quote":{"symbol":"AAPL","bid":"130","ask":"131","last":"130.5"}`, `"x":` + strings.Repeat("[", maxTapeDepth+1) + strings.Repeat("]", maxTapeDepth+1)},
		"two times":  {`{"at":"2026-11-30T17:00:09Z",`, `{"at":"2026-11-30T17:00:09Z","at":"2026-11-30T17:00:09Z",`},
	} {
		bad := strings.Replace(tape, c[0], c[1], 1)
		if bad == tape {
			t.Fatalf("%s: nothing is changed", name)
		}
		now := noon.Add(time.Second)
		tp := NewTape(strings.NewReader(bad), func() time.Time { return now })
		if _, ok, err := tp.Quote(symbol(t, "AAPL")); !ok || err != nil {
			t.Errorf("%s: before it: %t, %v", name, ok, err)
		}
		for range 2 {
			now = noon.Add(time.Hour)
			_, ok, err := tp.Quote(symbol(t, "AAPL"))
			var e *Error
			if ok || !errors.As(err, &e) || e.Code != QuotesInvalid || e.Line != 6 {
				t.Errorf("%s: %t, %v", name, ok, err)
			}
		}
	}
}

func TestTapeOfWhichReadingFailsHasNoQuotes(t *testing.T) {
	tp := NewTape(failing{}, func() time.Time { return noon })
	if _, ok, err := tp.Quote(symbol(t, "AAPL")); ok || !errors.Is(err, errFailing) {
		t.Errorf("%t, %v", ok, err)
	}
}

var errFailing = errors.New("failing")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errFailing }
