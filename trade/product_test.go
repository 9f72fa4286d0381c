package trade_test

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"sallyport/trade"
)

func TestCmpProductsIsExact(t *testing.T) {
	text := rapid.StringMatching(`(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?`)
	rapid.Check(t, func(t *rapid.T) {
		var d [4]trade.Decimal
		var r [4]*big.Rat
		for i := range d {
			a, _ := trade.ParseDecimal(text.Draw(t, fmt.Sprint("a", i)))
			b, _ := trade.ParseDecimal(text.Draw(t, fmt.Sprint("b", i)))
			d[i] = a
			if rapid.Bool().Draw(t, "product") {
				d[i] = a.Mul(b) // up to 18 places, so that a product of two has 36
			}
			r[i], _ = new(big.Rat).SetString(d[i].String())
		}
		if rapid.Bool().Draw(t, "equal") {
			d[2], d[3], r[2], r[3] = d[1], d[0], r[1], r[0]
		}
		x, y := new(big.Rat).Mul(r[0], r[1]), new(big.Rat).Mul(r[2], r[3])
		if got, want := trade.CmpProducts(d[0], d[1], d[2], d[3]), x.Cmp(y); got != want {
			t.Fatalf("%s × %s against %s × %s is %d, not %d", d[0], d[1], d[2], d[3], got, want)
		}
	})
}
