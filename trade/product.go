package trade

import "math/big"

// exactPlaces is how many fraction digits a product keeps.
const exactPlaces = 19

// CmpProducts returns -1, 0 or 1 as a × b is less than, equal to or greater than c × d, exactly for any operands. It is
// how ratios are compared without a division: a/d with c/b.
func CmpProducts(a, b, c, d Decimal) int {
	if a.d.Prec()+b.d.Prec() <= exactPlaces && c.d.Prec()+d.d.Prec() <= exactPlaces {
		return a.d.Mul(b.d).Cmp(c.d.Mul(d.d))
	}
	return product(a, b).Cmp(product(c, d))
}

func product(a, b Decimal) *big.Rat {
	x, y := new(big.Rat), new(big.Rat)
	x.SetString(a.String()) // what String writes is always a rational number
	y.SetString(b.String())
	return x.Mul(x, y)
}
