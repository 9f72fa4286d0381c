// Package trade holds the values of trading: exact decimals, symbols, ids, and the one canonical Order that every
// surface parses into and every broker is sent. It is pure: no clock, no file, no network, no goroutine, no float.
package trade

import (
	"math/big"

	"github.com/quagmt/udecimal"
)

// Decimal is an exact decimal number. What Parse accepts has at most 12 integer and 9 fraction digits, so products of
// two have at most 18 places and every sum and product here is exact. The zero Decimal is 0.
type Decimal struct{ d udecimal.Decimal }

// Limits of a parsed Decimal, in digits.
const (
	//limit:trade-integer-digits A decimal from outside has at most 12 digits before the point.
	MaxIntegerDigits = 12
	//limit:trade-fraction-digits A decimal from outside has at most 9 digits after the point.
	MaxFractionDigits = 9
	// More digits of a bare JSON number may have been altered by a float on the way.
	//
	//limit:trade-number-digits A bare JSON number has at most 15 significant digits.
	MaxNumberDigits = 15
	//limit:trade-sum-length A decimal of our own records has at most 60 characters.
	maxSum = 60
)

// ParseDecimal reads the plain notation ^(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?$ and nothing else: no sign, exponent,
// comma, space or underscore. It does not say why; the caller knows the field.
func ParseDecimal(s string) (Decimal, bool) {
	whole, frac, dot := 0, 0, false
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.' && !dot && whole > 0:
			dot = true
		case c < '0' || c > '9':
			return Decimal{}, false
		case dot:
			frac++
		default:
			whole++
		}
	}
	leadingZero := whole > 1 && s[0] == '0'
	if whole == 0 || whole > MaxIntegerDigits || leadingZero || frac > MaxFractionDigits || dot && frac == 0 {
		return Decimal{}, false
	}
	d, err := udecimal.Parse(s)
	return Decimal{d}, err == nil
}

// ParseNumber reads a bare JSON number by its literal: the notation of ParseDecimal, of at most MaxNumberDigits
// significant digits, counted from the first that is not zero to the last written.
func ParseNumber(literal string) (Decimal, bool) {
	d, ok := ParseDecimal(literal)
	return d, ok && significantDigits(literal) <= MaxNumberDigits
}

// significantDigits counts from the first digit that is not zero to the last written.
func significantDigits(literal string) int {
	n := 0
	for i := range len(literal) {
		if c := literal[i]; c != '.' && (n > 0 || c != '0') {
			n++
		}
	}
	return n
}

// ParseSum reads what Decimal.String wrote, whose magnitude may pass that of an operand: a product or a sum, perhaps
// negative. It is for our own records; input from outside goes through ParseDecimal.
func ParseSum(s string) (Decimal, bool) {
	if len(s) > maxSum {
		return Decimal{}, false
	}
	d, err := udecimal.Parse(s)
	if err != nil || d.String() != s {
		return Decimal{}, false
	}
	return Decimal{d}, true
}

// ParseMoney reads what Decimal.Money wrote, of whatever magnitude, perhaps negative. It is for what we wrote ourselves.
func ParseMoney(s string) (Decimal, bool) {
	if len(s) > maxSum+len(".00") {
		return Decimal{}, false
	}
	d, err := udecimal.Parse(s)
	if err != nil || (Decimal{d}).Money() != s {
		return Decimal{}, false
	}
	return Decimal{d}, true
}

// Down returns the largest decimal of at most nine places, as many as an operand has, that is not above a.
func (a Decimal) Down() Decimal {
	if a.Sign() < 0 {
		return Decimal{a.d.RoundAwayFromZero(MaxFractionDigits)}
	}
	return Decimal{a.d.Trunc(MaxFractionDigits)}
}

// Up returns the smallest such decimal that is not below a.
func (a Decimal) Up() Decimal { return Decimal{}.Sub(Decimal{}.Sub(a).Down()) }

// Whole returns the Decimal of a whole number.
func Whole(n uint32) Decimal { return Decimal{udecimal.MustFromUint64(uint64(n), 0)} }

// Add returns a + b.
func (a Decimal) Add(b Decimal) Decimal { return Decimal{a.d.Add(b.d)} }

// Sub returns a - b, which may be negative.
func (a Decimal) Sub(b Decimal) Decimal { return Decimal{a.d.Sub(b.d)} }

// Mul returns a × b. Both must come from ParseDecimal or be sums of such, so that the product has at most 18 places.
func (a Decimal) Mul(b Decimal) Decimal { return Decimal{a.d.Mul(b.d)} }

// Cmp returns -1, 0 or 1 as a is less than, equal to or greater than b.
func (a Decimal) Cmp(b Decimal) int { return a.d.Cmp(b.d) }

// Sign returns -1, 0 or 1.
func (a Decimal) Sign() int { return a.d.Sign() }

// IsWhole reports whether a has no fractional part, by value: 1.0 is whole.
func (a Decimal) IsWhole() bool { return a.d.Trunc(0).Cmp(a.d) == 0 }

// QuoWhole returns the largest whole number n with n × b ≤ a, for a ≥ 0 and b > 0; otherwise zero.
func (a Decimal) QuoWhole(b Decimal) Decimal {
	if a.Sign() < 0 || b.Sign() <= 0 {
		return Decimal{}
	}
	x, okX := new(big.Rat).SetString(a.String())
	y, okY := new(big.Rat).SetString(b.String())
	if !okX || !okY {
		return Decimal{}
	}
	q := x.Quo(x, y)
	n := new(big.Int).Quo(q.Num(), q.Denom())
	d, err := udecimal.Parse(n.String())
	if err != nil {
		return Decimal{}
	}
	return Decimal{d}
}

// String returns plain notation without trailing zeros: 1, 0.5, 150.25.
func (a Decimal) String() string { return a.d.String() }

// Append appends what String returns.
func (a Decimal) Append(dst []byte) []byte {
	out, err := a.d.AppendText(dst)
	if err != nil {
		return append(dst, a.d.String()...)
	}
	return out
}

// AppendMoney appends plain notation with at least two decimals and no further trailing zeros: 150.00, 0.5 as 0.50.
func (a Decimal) AppendMoney(dst []byte) []byte {
	start := len(dst)
	dst = a.Append(dst)
	for i := start; i < len(dst); i++ {
		if dst[i] == '.' {
			if len(dst)-i == 2 {
				dst = append(dst, '0')
			}
			return dst
		}
	}
	return append(dst, ".00"...)
}

// Money returns what AppendMoney appends.
func (a Decimal) Money() string { return string(a.AppendMoney(nil)) }
