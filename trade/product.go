package trade

import "math/big"

// exactPlaces is how many fraction digits a product keeps.
const exactPlaces = 19

// CmpProduct returns -1, 0 or 1 as a is less than, equal to or greater than b × c, exactly for any operands. It is how a
// ratio is compared without a division: a/b with c.
func CmpProduct(a, b, c Decimal) int {
	if b.d.Prec()+c.d.Prec() <= exactPlaces {
		return a.d.Cmp(b.d.Mul(c.d))
	}
	x, y, z := new(big.Rat), new(big.Rat), new(big.Rat)
	x.SetString(a.String()) // what String writes is always a rational number
	y.SetString(b.String())
	z.SetString(c.String())
	return x.Cmp(y.Mul(y, z))
}
