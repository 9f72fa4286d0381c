package market

import (
	"errors"
	"fmt"
	"math/big"
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
	if got := fmt.Sprint(f.Bid, " ", f.Ask, " ", f.Last, " ", f.Age, " ", f.BestBid, " ", f.BestAsk, f.Code); got != "99.9 100.6 100.2 5s 100.2 100.4" {
		t.Errorf("%s", got)
	}
}

// TestLookSaysWhichSourceAndWhatOfIt: the reason is for whoever puts it right, and names no path to whoever asks.
func TestLookSaysWhichSourceAndWhatOfIt(t *testing.T) {
	torn := &Error{Code: QuotesInvalid, Path: "/var/secret/q.jsonl", Line: 3, Reason: "not JSON"}
	for want, bad := range map[string]Source{
		"the source b has a quote from the future, 2026-11-30T18:00:00Z":             quoted(t, "100", "100.5", -time.Hour),
		"the source b has a bid of 152.00 above an ask of 150.00":                    quoted(t, "152", "150", 0),
		"the source b has a quote that is 1h0m0s old, and 1m0s is allowed":           quoted(t, "100", "100.5", time.Hour),
		"the source b cannot be read: quotes, line 3: not JSON":                      fixed{err: torn},
		"the source b cannot be read: e":                                             fixed{err: errors.New("e")},
		"the source b has no quote of AAPL":                                          fixed{},
		"two sources have the middle of the market more than 100 basis points apart": quoted(t, "120", "120.5", 0),
	} {
		f := Look([]Named{{"a", quoted(t, "100", "100.5", 0)}, {"b", bad}}, symbol(t, "AAPL"), noon, bounds(time.Minute, "200", "100"))
		if f.Why != want {
			t.Errorf("%q, want %q", f.Why, want)
		}
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

var errFailing = errors.New("failing")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errFailing }
