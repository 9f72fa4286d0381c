package trade_test

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"sallyport/trade"
)

//fault:f103
func TestCmpProductIsExact(t *testing.T) {
	text := rapid.StringMatching(`(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?`)
	rapid.Check(t, func(t *rapid.T) {
		var d [3]trade.Decimal
		var r [3]*big.Rat
		for i := range d {
			a, _ := trade.ParseDecimal(text.Draw(t, fmt.Sprint("a", i)))
			b, _ := trade.ParseDecimal(text.Draw(t, fmt.Sprint("b", i)))
			d[i] = a
			if rapid.Bool().Draw(t, "product") {
				d[i] = a.Mul(b) // up to 18 places, so that a product of two has 36
			}
			r[i], _ = new(big.Rat).SetString(d[i].String())
		}
		if a, b := d[1], d[2]; rapid.Bool().Draw(t, "equal") {
			d[0] = a.Mul(b) // exact for plain operands, cut off for products
			r[0], _ = new(big.Rat).SetString(d[0].String())
		}
		if got, want := trade.CmpProduct(d[0], d[1], d[2]), r[0].Cmp(new(big.Rat).Mul(r[1], r[2])); got != want {
			t.Fatalf("%s against %s × %s is %d, not %d", d[0], d[1], d[2], got, want)
		}
	})
}

// TestRoundingGoesToItsSide: what is rounded up is the least number of nine places that is not below the true value, and
// what is rounded down the greatest that is not above it.
func TestRoundingGoesToItsSide(t *testing.T) {
	text := rapid.StringMatching(`(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?`)
	step := big.NewRat(1, 1_000_000_000)
	rapid.Check(t, func(t *rapid.T) {
		a, _ := trade.ParseDecimal(text.Draw(t, "a"))
		b, _ := trade.ParseDecimal(text.Draw(t, "b"))
		if rapid.Bool().Draw(t, "small") {
			b = b.Mul(trade.Whole(1).MulDown(b)).MulDown(trade.Whole(1))
		}
		x, _ := new(big.Rat).SetString(a.String())
		y, _ := new(big.Rat).SetString(b.String())
		near := func(name string, got trade.Decimal, want *big.Rat, up bool) {
			g, _ := new(big.Rat).SetString(got.String())
			off := new(big.Rat).Sub(g, want)
			if !up {
				off.Neg(off)
			}
			if off.Sign() < 0 || off.Cmp(step) >= 0 || new(big.Rat).Quo(g, step).IsInt() == false {
				t.Fatalf("%s of %s and %s is %s", name, a, b, got)
			}
		}
		near("the product, up,", a.MulUp(b), new(big.Rat).Mul(x, y), true)
		near("the product, down,", a.MulDown(b), new(big.Rat).Mul(x, y), false)
		if y.Sign() == 0 {
			if a.QuoUp(b).Sign() != 0 || a.QuoDown(b).Sign() != 0 {
				t.Fatal("something is divided by nothing")
			}
			return
		}
		near("the quotient, up,", a.QuoUp(b), new(big.Rat).Quo(x, y), true)
		near("the quotient, down,", a.QuoDown(b), new(big.Rat).Quo(x, y), false)
	})
}

func TestRoundingUpSeesWhatIsCutOff(t *testing.T) {
	tiny, _ := trade.ParseDecimal("0.000000001")
	third := tiny.Mul(tiny) // eighteen places
	if got := third.MulUp(third).String(); got != "0.000000001" {
		t.Errorf("the least product is rounded up to %s", got)
	}
	if got := third.QuoUp(trade.Whole(1_000_000)).String(); got != "0.000000001" {
		t.Errorf("the least quotient is rounded up to %s", got)
	}
	if got := trade.Whole(1).QuoUp(trade.Whole(3)).String(); got != "0.333333334" {
		t.Errorf("a third is rounded up to %s", got)
	}
	if got := trade.Whole(1).Sub(trade.Whole(2)).QuoUp(trade.Whole(3)); got.Sign() != 0 {
		t.Errorf("less than nothing is divided: %s", got)
	}
}
