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
