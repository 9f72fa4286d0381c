package market

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sallyport/trade"
)

func TestStepsWithTheirNeighbours(t *testing.T) {
	share := USEquity(symbol(t, "AAPL"))
	round := share
	round.Lot, round.Minimum = NewUnit(amount("100")), amount("200")
	coin := share
	coin.Lot, coin.Minimum = NewUnit(amount("0.000000001")), amount("0.00001")
	coin.Tick, coin.TickUnder1 = NewUnit(amount("0.05")), NewUnit(amount("0.05"))
	odd := share
	odd.Tick, odd.TickUnder1 = NewUnit(amount("0.03")), NewUnit(amount("0.03"))
	for _, c := range []struct {
		of          Instrument
		what, value string
		want        string // empty: it fits
	}{
		{share, "price", "41.08", ""},
		{share, "price", "41.085", "41.08 41.09"}, // F102
		{share, "price", "41.080000001", "41.08 41.09"},
		{share, "price", "1", ""},
		{share, "price", "1.00", ""},
		{share, "price", "1.0001", "1 1.01"},
		{share, "price", "0.9999", ""},
		{share, "price", "0.99995", "0.9999 1"},
		{share, "price", "0.0001", ""},
		{share, "price", "0.00005", "0 0.0001"}, // nothing is below it
		{share, "price", "0", "0 0"},
		{share, "price", "999999999999.99", ""},
		{share, "price", "999999999999.999999999", "999999999999.99 1000000000000"},
		{share, "quantity", "1", ""},
		{share, "quantity", "0.5", "0 1"},
		{share, "quantity", "1.5", "1 2"},
		{share, "quantity", "0", "0 1"},
		{round, "quantity", "200", ""},
		{round, "quantity", "250", "200 300"}, // F104
		{round, "quantity", "199", "0 200"},
		{round, "quantity", "150", "0 200"},
		{coin, "quantity", "0.000010001", ""},
		{coin, "quantity", "0.000009999", "0 0.00001"},
		{coin, "price", "100.05", ""},
		{coin, "price", "100.07", "100.05 100.1"},
		{odd, "price", "0.99", ""},
		{odd, "price", "1", "0.99 1.02"},
		{Instrument{}, "price", "1", "0 0"},
		{Instrument{}, "quantity", "1", "0 0"},
	} {
		s := c.of.Price(amount(c.value))
		if c.what == "quantity" {
			s = c.of.Quantity(amount(c.value))
		}
		got := ""
		if !s.Fits {
			got = s.Below.String() + " " + s.Above.String()
		}
		if got != c.want {
			t.Errorf("%s %s of %+v: %q, want %q", c.what, c.value, c.of, got, c.want)
		}
	}
}

// TestStepsAreExact compares with fractions of whole numbers: a value fits exactly if it is a whole number of units, and
// its neighbours do, and nothing that fits lies between.
func TestStepsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := amount(rapid.SampledFrom([]string{"1", "100", "0.01", "0.0001", "0.000000001", "0.05", "0.25", "0.03", "7", "1.5"}).Draw(t, "unit"))
		value := fmt.Sprintf("%d.%09d", rapid.IntRange(0, 1000).Draw(t, "whole"), rapid.SampledFrom([]int{1, 0, 10_000_000, 500_000_000, 250_000_000, 30_000_000}).Draw(t, "parts"))
		if rapid.Bool().Draw(t, "made to fit") {
			value = unit.Mul(trade.Whole(rapid.Uint32Range(1, 10000).Draw(t, "units"))).String()
		}
		v, _ := new(big.Rat).SetString(value)
		u, _ := new(big.Rat).SetString(unit.String())
		if v.Sign() == 0 {
			return
		}
		s := NewUnit(unit).step(amount(value))
		if want := new(big.Rat).Quo(v, u).IsInt(); s.Fits != want {
			t.Fatalf("%s in steps of %s fits: %t, want %t", value, unit, s.Fits, want)
		}
		if s.Fits {
			return
		}
		below, _ := new(big.Rat).SetString(s.Below.String())
		if !new(big.Rat).Quo(below, u).IsInt() || below.Cmp(v) >= 0 || s.Above.Sub(s.Below).Cmp(unit) != 0 || s.Above.Cmp(amount(value)) <= 0 {
			t.Fatalf("%s in steps of %s lies between %s and %s", value, unit, s.Below, s.Above)
		}
	})
}

const listed = `{"symbol":"AAPL","asset_class":"us_equity","currency":"USD","tick":"0.01","tick_under_1":"0.0001","lot":"1","minimum":"1","multiplier":"1"}
{"symbol":"BTC/USD","asset_class":"crypto","currency":"USD","tick":"0.05","lot":"0.000000001","minimum":"0.00001","multiplier":"1"}
`

//attack:market-instruments
func TestOnlyListedInstrumentsAreSome(t *testing.T) {
	l, err := ReadInstruments(strings.NewReader(listed))
	if err != nil || l.Len() != 2 {
		t.Fatal(l.Len(), err)
	}
	if i, ok := l.Of(symbol(t, "AAPL")); !ok || fmt.Sprint(i) != fmt.Sprint(USEquity(symbol(t, "AAPL"))) {
		t.Errorf("%+v, %t", i, ok)
	}
	if i, ok := l.Of(symbol(t, "BTC/USD")); !ok || i.TickUnder1 != i.Tick {
		t.Errorf("%+v, %t", i, ok)
	}
	if i, ok := l.Of(symbol(t, "MSFT")); ok || i.AssetClass != "" {
		t.Errorf("what is not listed is %+v", i)
	}
	var none *Instruments
	if i, ok := none.Of(symbol(t, "MSFT")); !ok || i.AssetClass != "us_equity" || none.Len() != 0 {
		t.Errorf("without a list: %+v, %t", i, ok)
	}
	if _, ok := none.Of(trade.Symbol{}); ok {
		t.Error("no symbol is an instrument")
	}
}

func TestInstrumentsThatAreNoneAreRefused(t *testing.T) {
	for name, c := range map[string][2]string{
		"an unknown member": {`"lot":"1"`, `"lots":"1","lot":"1"`}, "one too few": {`"currency":"USD",`, ``}, "one twice": {`"lot":"1"`, `"lot":"1","lot":"1"`},
		"not a symbol": {`"AAPL"`, `"AA PL"`}, "a symbol that is a number": {`"AAPL"`, `1`}, "not a class": {`"us_equity"`, `"US"`}, "no class": {`"us_equity"`, `""`},
		"not a currency": {`"USD"`, `"usd"`}, "a long currency": {`"USD"`, `"USDT"`}, "a tick of zero": {`"tick":"0.01"`, `"tick":"0"`}, "a tick that is none": {`"tick":"0.01"`, `"tick":"1e-2"`},
		"an under tick of zero": {`"0.0001"`, `"0"`}, "a null": {`"lot":"1"`, `"lot":null`}, "a negative": {`"lot":"1"`, `"lot":"-1"`}, "a minimum off its lot": {`"minimum":"1"`, `"minimum":"1.5"`},
		"one not on both ticks": {`"0.0001"`, `"0.03"`}, "one not on the other": {`"tick":"0.01"`, `"tick":"0.03"`}, "twice": {`BTC/USD`, `AAPL`}, "an empty line": {"\n", "\n\n"},
		"a list": {listed, "[]\n"}, "nothing": {listed, ""}, "not closed": {"}\n", "\n"}, "nested": {`"lot":"1"`, `"lot":{"a":1}`},
		"too long": {`"us_equity"`, `"` + strings.Repeat("a", MaxLine) + `"`}, "a comment": {`{"symbol":"AAPL"`, `// x` + "\n" + `{"symbol":"AAPL"`},
	} {
		bad := strings.Replace(listed, c[0], c[1], 1)
		if bad == listed {
			t.Fatalf("%s: nothing is changed", name)
		}
		l, err := ReadInstruments(strings.NewReader(bad))
		var e *Error
		if l != nil || !errors.As(err, &e) || e.Code != InstrumentsInvalid {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
	if _, err := ReadInstruments(failing{}); !errors.Is(err, errFailing) {
		t.Errorf("an error of reading: %v", err)
	}
	many := strings.NewReader(strings.Repeat(" ", MaxLine) + "\n")
	if _, err := ReadInstruments(many); err == nil {
		t.Error("a line of blanks is an instrument")
	}
}

func FuzzReadInstruments(f *testing.F) {
	f.Add(listed)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ReadInstruments(strings.NewReader(text))
		if err != nil {
			return
		}
		for s, i := range l.listed {
			if s != i.Symbol || i.Tick.Size().Sign() <= 0 || i.TickUnder1.Size().Sign() <= 0 || i.Lot.Size().Sign() <= 0 || i.Multiplier.Sign() <= 0 || !i.Quantity(i.Minimum).Fits {
				t.Fatalf("%+v", i)
			}
		}
	})
}

func BenchmarkPrice(b *testing.B) {
	i, p := USEquity(symbol(b, "AAPL")), amount("150.25")
	b.ReportAllocs()
	for b.Loop() {
		if !i.Price(p).Fits {
			b.Fatal("off")
		}
	}
}
