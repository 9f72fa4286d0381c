package trade_test

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sallyport/trade"
)

// plain is the grammar of DESIGN section 6, written independently of the parser.
var plain = regexp.MustCompile(`^(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?$`)

func dec(s string) trade.Decimal {
	d, ok := trade.ParseDecimal(s)
	if !ok {
		panic(s + " is not taken")
	}
	return d
}

func rat(t testing.TB, s string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("%q is no number", s)
	}
	return r
}

var decimals = rapid.OneOf(
	rapid.StringMatching(`(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?`),
	rapid.StringMatching(`[1-9][0-9]{11}\.[0-9]{9}`), // as long as they may be
	rapid.StringMatching(`0\.0{0,8}[0-9]`),           // as small
	rapid.SampledFrom([]string{"0", "0.0", "0.000000000", "1", "1.0", "10", "0.1", "0.2", "999999999999.999999999"}),
)

// TestDecimalAgreesWithRationalNumbers compares every operation with math/big.
//
//fault:f103
func TestDecimalAgreesWithRationalNumbers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x, y, z := decimals.Draw(rt, "x"), decimals.Draw(rt, "y"), decimals.Draw(rt, "z")
		a, b, c := dec(x), dec(y), dec(z)
		ra, rb, rc := rat(t, x), rat(t, y), rat(t, z)
		same := func(what string, got trade.Decimal, want *big.Rat) {
			if rat(t, got.String()).Cmp(want) != 0 {
				rt.Fatalf("%s of %s and %s is %s, not %s", what, x, y, got, want.RatString())
			}
			if string(got.Append(nil)) != got.String() {
				rt.Fatalf("%s is appended as %s", got, got.Append(nil))
			}
			if got.Sign() != want.Sign() || got.IsWhole() != want.IsInt() {
				rt.Fatalf("%s: sign %d, whole %v", got, got.Sign(), got.IsWhole())
			}
			if back, ok := trade.ParseSum(got.String()); !ok || back.Cmp(got) != 0 {
				rt.Fatalf("%s does not read back", got)
			}
			money(rt, got)
		}
		same("value", a, ra)
		same("sum", a.Add(b), new(big.Rat).Add(ra, rb))
		same("difference", a.Sub(b), new(big.Rat).Sub(ra, rb))
		same("product", a.Mul(b), new(big.Rat).Mul(ra, rb))
		same("sum of products", a.Mul(b).Add(b.Mul(c)).Sub(c), new(big.Rat).Sub(new(big.Rat).Add(new(big.Rat).Mul(ra, rb), new(big.Rat).Mul(rb, rc)), rc))
		if a.Cmp(b) != ra.Cmp(rb) || a.Mul(b).Cmp(c) != new(big.Rat).Mul(ra, rb).Cmp(rc) {
			rt.Fatalf("%s and %s compare as %d", x, y, a.Cmp(b))
		}
		quotient(rt, a, b, ra, rb)
		quotient(rt, a.Mul(b), c, new(big.Rat).Mul(ra, rb), rc)
	})
}

// quotient checks that n × b ≤ a < (n + 1) × b.
func quotient(rt *rapid.T, a, b trade.Decimal, ra, rb *big.Rat) {
	n := a.QuoWhole(b)
	if b.Sign() == 0 || a.Sign() == 0 {
		if n.Sign() != 0 {
			rt.Fatalf("%s over %s is %s", a, b, n)
		}
		return
	}
	rn, _ := new(big.Rat).SetString(n.String())
	if !rn.IsInt() || new(big.Rat).Mul(rn, rb).Cmp(ra) > 0 || new(big.Rat).Mul(rn.Add(rn, big.NewRat(1, 1)), rb).Cmp(ra) <= 0 {
		rt.Fatalf("%s over %s is %s", a, b, n)
	}
}

var moneyForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)\.[0-9]{2}([0-9]*[1-9])?$`)

func money(rt *rapid.T, d trade.Decimal) {
	m := d.Money()
	back, ok := new(big.Rat).SetString(m)
	want, _ := new(big.Rat).SetString(d.String())
	if !ok || back.Cmp(want) != 0 || !moneyForm.MatchString(m) {
		rt.Fatalf("%s as money is %s", d, m)
	}
	if string(d.AppendMoney([]byte("1.5 "))) != "1.5 "+m {
		rt.Fatalf("%s is appended behind text as %s", d, d.AppendMoney([]byte("1.5 ")))
	}
}

func TestMoneyHasAtLeastTwoDecimalsAndNoFurtherZeros(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0.00", "150": "150.00", "0.5": "0.50", "150.25": "150.25", "1.100": "1.10", "1.123": "1.123", "41.085": "41.085",
		"1.000000001": "1.000000001", "999999999999.99": "999999999999.99",
	} {
		if got := dec(in).Money(); got != want {
			t.Errorf("%s as money is %s, not %s", in, got, want)
		}
	}
	if got := (trade.Decimal{}).Sub(dec("0.5")).Money(); got != "-0.50" {
		t.Errorf("a debt is written as %s", got)
	}
}

func TestZeroDecimalIsZero(t *testing.T) {
	var z trade.Decimal
	if z.Sign() != 0 || z.String() != "0" || !z.IsWhole() || z.Cmp(dec("0.000")) != 0 {
		t.Errorf("the zero Decimal is %s", z)
	}
}

func TestQuoWholeOfNothingAndByNothingIsZero(t *testing.T) {
	debt := trade.Decimal{}.Sub(trade.Whole(5))
	for _, q := range []trade.Decimal{trade.Whole(5).QuoWhole(trade.Decimal{}), debt.QuoWhole(trade.Whole(1)), trade.Whole(5).QuoWhole(debt)} {
		if q.Sign() != 0 {
			t.Errorf("a quotient without a meaning is %s", q)
		}
	}
	if got := trade.Whole(4294967295).String(); got != "4294967295" {
		t.Errorf("the largest whole number is %s", got)
	}
}

//attack:trade-integer-digits
//attack:trade-fraction-digits
func TestParseDecimalTakesTwelveAndNineDigitsAndNoMore(t *testing.T) {
	for whole := 1; whole < 16; whole++ {
		for frac := range 13 {
			s := strings.Repeat("9", whole)
			if frac > 0 {
				s += "." + strings.Repeat("9", frac)
			}
			if _, ok := trade.ParseDecimal(s); ok != (whole <= 12 && frac <= 9) {
				t.Errorf("%s: taken is %v", s, ok)
			}
		}
	}
}

func TestParseDecimalRefusesEveryOtherNotation(t *testing.T) {
	for _, s := range []string{
		"", " ", ".", "1.", ".5", "..1", "1..2", "1.2.3", "00", "01", "007", "0x10", "0b1", "0o7", "1e3", "1E3", "1e-3", "+1", "-1", "-0", "1-", "1,000", "1.000,50",
		"1 000", "1_000", " 1", "1 ", "1\n", "\t1", "$1", "1%", "10 shares", "NaN", "nan", "Inf", "Infinity", "1e309", "null", "true", "１０", "1０", "٣",
		"1\u200b0", "1\u00a0000", "1\x00", "\xff", "0.", "-", "e", "1/2", "²", "1'000", "(1)", "1d", "1f",
	} {
		if d, ok := trade.ParseDecimal(s); ok {
			t.Errorf("%q is taken as %s", s, d)
		}
		if d, ok := trade.ParseNumber(s); ok {
			t.Errorf("%q is taken as the bare number %s", s, d)
		}
	}
}

//attack:trade-number-digits
func TestParseNumberTakesFifteenSignificantDigits(t *testing.T) {
	for s, want := range map[string]bool{
		"123456789012.345":      true, // 15
		"123456789012.3456":     false,
		"100000000000.000":      true, // zeros behind the first digit count
		"100000000000.0000":     false,
		"0.000000001":           true, // zeros before it do not
		"0.123456789":           true,
		"999999999999":          true,
		"0":                     true,
		"0.000000000":           true,
		"9007199254740993":      false, // 16, which a float cannot hold
		"900719925474.0993":     false,
		"1.23456789":            true,
		"123456.123456789":      true,
		"1234567.123456789":     false,
		"999999999999.99999999": false,
	} {
		if d, ok := trade.ParseNumber(s); ok != want {
			t.Errorf("%s: taken is %v (%s)", s, ok, d)
		}
	}
}

// TestBareNumbersSurviveAFloat is why 15 is the limit: every number of at most 15 digits goes through a float unchanged.
//
//fault:f103
func TestBareNumbersSurviveAFloat(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := decimals.Draw(rt, "literal")
		d, ok := trade.ParseNumber(s)
		if !ok {
			return
		}
		f, _ := rat(t, s).Float64()
		if got := strconv.FormatFloat(f, 'f', -1, 64); rat(t, got).Cmp(rat(t, d.String())) != 0 {
			rt.Fatalf("%s comes back from a float as %s", s, got)
		}
	})
}

func FuzzParseDecimalAgreesWithItsGrammar(f *testing.F) {
	for _, s := range []string{"0", "1", "0.5", "150.25", "999999999999.999999999", "1e3", "-1", "01", "1.", "1,0", "\u0661", "0.0000000000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := trade.ParseDecimal(s)
		if ok != plain.MatchString(s) || strings.HasSuffix(s, "\n") && ok {
			t.Fatalf("%q: taken is %v", s, ok)
		}
		if !ok {
			if d.Sign() != 0 {
				t.Fatalf("%q is refused and comes back as %s", s, d)
			}
			return
		}
		if rat(t, d.String()).Cmp(rat(t, s)) != 0 {
			t.Fatalf("%q is read as %s", s, d)
		}
	})
}

//attack:trade-sum-length
func FuzzParseSumTakesOnlyItsOwnNotation(f *testing.F) {
	for _, s := range []string{"0", "-0", "1.50", "-1.5", "999999999999000000000000.000000000000000001", "1e3", "+1", strings.Repeat("9", 60), strings.Repeat("9", 61), "NaN"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := trade.ParseSum(s)
		if ok && (d.String() != s || len(s) > 60) {
			t.Fatalf("%q is read as %s", s, d)
		}
		if !ok && d.Sign() != 0 {
			t.Fatalf("%q is refused and comes back as %s", s, d)
		}
	})
}

func TestSumsReachFarBeyondTheirOperands(t *testing.T) {
	largest := dec("999999999999.999999999")
	product := largest.Mul(largest)
	want := new(big.Rat).Mul(rat(t, largest.String()), rat(t, largest.String()))
	sum, rsum := product, want
	for range 1000 {
		sum, rsum = sum.Add(product), new(big.Rat).Add(rsum, want)
	}
	if rat(t, sum.String()).Cmp(rsum) != 0 {
		t.Errorf("1001 of the largest products add up to %s", sum)
	}
	if back, ok := trade.ParseSum(sum.String()); !ok || back.Cmp(sum) != 0 {
		t.Errorf("%s does not read back", sum)
	}
}

func TestQuoUpIsTheLeastOfNinePlacesThatIsEnough(t *testing.T) {
	for _, c := range [][3]string{
		{"1", "3", "0.333333334"}, {"1", "1", "1"}, {"0", "3", "0"}, {"10", "4", "2.5"}, {"1", "0", "0"}, {"0.000000001", "999999999999", "0.000000001"},
		{"999999999999.999999999", "0.000000001", "999999999999999999999"}, {"100.5", "7", "14.357142858"},
	} {
		a, b := dec(c[0]), dec(c[1])
		if got := a.QuoUp(b).String(); got != c[2] {
			t.Errorf("%s / %s is %s, want %s", c[0], c[1], got, c[2])
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) trade.Decimal {
			return dec(rapid.StringMatching(`[1-9][0-9]{0,8}(\.[0-9]{1,9})?`).Draw(rt, name))
		}
		a, b := draw("a"), draw("b")
		q, smallest := a.QuoUp(b), dec("0.000000001")
		if q.Mul(b).Cmp(a) < 0 || q.Sub(smallest).Mul(b).Cmp(a) >= 0 {
			rt.Fatalf("%s / %s is %s", a, b, q)
		}
	})
}

func TestDownAndUpEncloseADecimal(t *testing.T) {
	smallest := dec("0.000000001")
	rapid.Check(t, func(t *rapid.T) {
		a := product(t).Sub(product(t))
		down, up := a.Down(), a.Up()
		if down.Cmp(a) > 0 || up.Cmp(a) < 0 || up.Sub(down).Cmp(smallest) > 0 || down.Down().Cmp(down) != 0 || up.Down().Cmp(up) != 0 {
			t.Fatalf("%v lies between %v and %v", a, down, up)
		}
		if (down == a) != (up == a) {
			t.Fatalf("%v has nine places for one side alone: %v, %v", a, down, up)
		}
	})
}

// TestMoneyReadsBack has products and sums of any sign: what Money writes is read as it is, and nothing else is.
func TestMoneyReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := product(t).Sub(product(t))
		if back, ok := trade.ParseMoney(a.Money()); !ok || back.Cmp(a) != 0 {
			t.Fatalf("%s is read as %v", a.Money(), back)
		}
	})
	for _, bad := range []string{"", "1", "1.5", "1.500", "-0.00", "+1.00", "1e3", "01.00", ".50", "1,000.00", "NaN", " 1.00", strings.Repeat("9", 64)} {
		if d, ok := trade.ParseMoney(bad); ok || d.Sign() != 0 {
			t.Errorf("%q is read as %v", bad, d)
		}
	}
}

func product(t *rapid.T) trade.Decimal {
	one := func(name string) trade.Decimal {
		text := rapid.StringMatching(`(0|[1-9][0-9]{0,5})(\.[0-9]{1,9})?`).Draw(t, name)
		d, ok := trade.ParseDecimal(text)
		if !ok {
			t.Fatalf("%q is no decimal", text)
		}
		return d
	}
	return one("a").Mul(one("b"))
}
