package trade_test

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"sallyport/trade"
)

func symbolOf(t testing.TB, s string) trade.Symbol {
	t.Helper()
	v, ok := trade.ParseSymbol(s)
	if !ok {
		t.Fatalf("%s is no symbol", s)
	}
	return v
}

func TestSharesHaveTheUnitsThatTheirStepsHave(t *testing.T) {
	share := trade.USEquity(symbolOf(t, "AAPL"))
	for size, have := range map[string]trade.Unit{"0.01": share.Tick, "0.0001": share.TickUnder1, "1": share.Lot} {
		if want := trade.NewUnit(dec(size)); have != want {
			t.Errorf("%s: %+v, want %+v", size, have, want)
		}
	}
}

//fault:f102
//fault:f104
func TestStepsWithTheirNeighbours(t *testing.T) {
	share := trade.USEquity(symbolOf(t, "AAPL"))
	round := share
	round.Lot, round.Minimum = trade.NewUnit(dec("100")), dec("200")
	coin := share
	coin.Lot, coin.Minimum = trade.NewUnit(dec("0.000000001")), dec("0.00001")
	coin.Tick, coin.TickUnder1 = trade.NewUnit(dec("0.05")), trade.NewUnit(dec("0.05"))
	odd := share
	odd.Tick, odd.TickUnder1 = trade.NewUnit(dec("0.03")), trade.NewUnit(dec("0.03"))
	for _, c := range []struct {
		of          trade.Instrument
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
		{trade.Instrument{}, "price", "1", "0 0"},
		{trade.Instrument{}, "quantity", "1", "0 0"},
	} {
		s := c.of.Price(dec(c.value))
		if c.what == "quantity" {
			s = c.of.Quantity(dec(c.value))
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
//
//fault:f103
func TestStepsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := dec(rapid.SampledFrom([]string{"1", "100", "0.01", "0.0001", "0.000000001", "0.05", "0.25", "0.03", "7", "1.5"}).Draw(t, "unit"))
		value := fmt.Sprintf("%d.%09d", rapid.IntRange(0, 1000).Draw(t, "whole"), rapid.SampledFrom([]int{1, 0, 10_000_000, 500_000_000, 250_000_000, 30_000_000}).Draw(t, "parts"))
		if rapid.Bool().Draw(t, "made to fit") {
			value = unit.Mul(trade.Whole(rapid.Uint32Range(1, 10000).Draw(t, "units"))).String()
		}
		v, _ := new(big.Rat).SetString(value)
		u, _ := new(big.Rat).SetString(unit.String())
		if v.Sign() == 0 {
			return
		}
		s := trade.NewUnit(unit).Step(dec(value))
		if want := new(big.Rat).Quo(v, u).IsInt(); s.Fits != want {
			t.Fatalf("%s in steps of %s fits: %t, want %t", value, unit, s.Fits, want)
		}
		if s.Fits {
			return
		}
		below, _ := new(big.Rat).SetString(s.Below.String())
		if !new(big.Rat).Quo(below, u).IsInt() || below.Cmp(v) >= 0 || s.Above.Sub(s.Below).Cmp(unit) != 0 || s.Above.Cmp(dec(value)) <= 0 {
			t.Fatalf("%s in steps of %s lies between %s and %s", value, unit, s.Below, s.Above)
		}
	})
}

func BenchmarkPrice(b *testing.B) {
	i, p := trade.USEquity(symbolOf(b, "AAPL")), dec("150.25")
	b.ReportAllocs()
	for b.Loop() {
		if !i.Price(p).Fits {
			b.Fatal("off")
		}
	}
}

func TestAPartOfAShareIsOfALotOfOne(t *testing.T) {
	share := trade.USEquity(symbolOf(t, "AAPL"))
	round, coin, block := share, share, share
	round.Lot, round.Minimum = trade.NewUnit(dec("100")), dec("100")
	coin.Lot, coin.Minimum = trade.NewUnit(dec("0.1")), dec("0.1")
	block.Minimum = dec("10")
	for _, c := range []struct {
		of       trade.Instrument
		quantity string
		want     bool
	}{
		{share, "0.5", true}, {share, "10.000000001", true}, {share, "1", false}, {share, "0", false}, {round, "100.5", false},
		{coin, "0.15", false}, {block, "10.5", false}, {trade.Instrument{}, "0.5", false},
	} {
		if got := c.of.TakesPart(dec(c.quantity)); got != c.want {
			t.Errorf("a part of %s in lots of %s: %t", c.quantity, c.of.Lot.Size(), got)
		}
	}
}
