package trade

import (
	"math/big"

	"github.com/quagmt/udecimal"
)

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

// MulUp returns a × b rounded up at the ninth place, of operands that are not negative. A price that is worked out so is
// never understated, and its product with a quantity is exact again.
func (a Decimal) MulUp(b Decimal) Decimal {
	up := Decimal{a.d.Mul(b.d).RoundAwayFromZero(MaxFractionDigits)}
	if a.d.Prec()+b.d.Prec() > exactPlaces && CmpProduct(up, a, b) < 0 { // what was cut off was all that was left
		up = up.Add(smallest)
	}
	return up
}

// MulDown returns a × b rounded down at the ninth place, of operands that are not negative.
func (a Decimal) MulDown(b Decimal) Decimal {
	return Decimal{a.d.Mul(b.d).Trunc(MaxFractionDigits)}
}

// QuoUp returns a / b rounded up at the ninth place, for a ≥ 0 and b > 0; otherwise zero.
func (a Decimal) QuoUp(b Decimal) Decimal {
	if a.Sign() < 0 || b.Sign() <= 0 {
		return Decimal{}
	}
	q, err := a.d.Div(b.d)
	if err != nil {
		return Decimal{}
	}
	up := Decimal{q.RoundAwayFromZero(MaxFractionDigits)}
	if CmpProduct(a, up, b) > 0 {
		up = up.Add(smallest)
	}
	return up
}

// QuoDown returns a / b rounded down at the ninth place, for a ≥ 0 and b > 0; otherwise zero.
func (a Decimal) QuoDown(b Decimal) Decimal {
	if a.Sign() < 0 || b.Sign() <= 0 {
		return Decimal{}
	}
	q, err := a.d.Div(b.d)
	if err != nil {
		return Decimal{}
	}
	return Decimal{q.Trunc(MaxFractionDigits)}
}

// smallest is the smallest step of a Decimal from outside.
var smallest = Decimal{udecimal.MustFromUint64(1, MaxFractionDigits)}
