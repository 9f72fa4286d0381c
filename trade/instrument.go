package trade

// Instrument is what an order in a symbol must fit. Nothing is ever rounded to fit: an order that does not is refused,
// with the nearest values that would.
type Instrument struct {
	Symbol     Symbol
	AssetClass string  // us_equity and the like
	Currency   string  // three capital letters
	Tick       Unit    // the smallest step of a price
	TickUnder1 Unit    // the same of prices under 1; equal to Tick where that makes no difference
	Lot        Unit    // the smallest step of a quantity
	Minimum    Decimal // the smallest quantity
	Multiplier Decimal // of the price of one, for its value
}

// USEquity is what an instrument is if no file says otherwise: a share in dollars, with the smallest steps of SEC Rule 612
// of Regulation NMS, 0.01 from a dollar on and 0.0001 under it.
func USEquity(s Symbol) Instrument {
	i := usEquity
	i.Symbol = s
	return i
}

// usEquity is worked out once, because it is asked for with every order.
var usEquity = func() Instrument {
	one := Whole(1)
	return Instrument{
		AssetClass: "us_equity", Currency: "USD", Tick: unit("0.01", 100), TickUnder1: unit("0.0001", 10_000),
		Lot: unit("1", 1), Minimum: one, Multiplier: one,
	}
}()

// unit is NewUnit of a size of which it is known how many make 1: a process that has only begun need not divide.
func unit(size string, per1 uint32) Unit {
	d, _ := ParseDecimal(size)
	return Unit{size: d, per1: Whole(per1)}
}

// Unit is a smallest step. The zero Unit fits nothing.
type Unit struct {
	size Decimal
	per1 Decimal // how many make exactly 1; zero if no whole number of them does
}

// NewUnit returns the unit of a size above zero.
func NewUnit(size Decimal) Unit {
	one := Whole(1)
	u := Unit{size: size, per1: one.QuoWhole(size)}
	if u.per1.Mul(size).Cmp(one) != 0 {
		u.per1 = Decimal{}
	}
	return u
}

// Size returns the size of the step.
func (u Unit) Size() Decimal { return u.size }

// Step says whether a value is one that an instrument has, and which it has beside it.
type Step struct {
	Fits         bool
	Below, Above Decimal // the neighbours of a value that does not fit; a Below of zero is none
}

// Price says whether a price is on its tick.
func (i Instrument) Price(price Decimal) Step {
	if price.Cmp(Whole(1)) < 0 {
		return i.TickUnder1.Step(price)
	}
	return i.Tick.Step(price)
}

// Quantity says whether a quantity is a whole number of lots and at least the minimum. The neighbours of one under the
// minimum are none, and the minimum.
func (i Instrument) Quantity(quantity Decimal) Step {
	if quantity.Cmp(i.Minimum) < 0 {
		return Step{Above: i.Minimum}
	}
	s := i.Lot.Step(quantity)
	if s.Below.Cmp(i.Minimum) < 0 {
		s.Below = Decimal{}
	}
	return s
}

// TakesPart reports whether a quantity has a part of a share and is of an instrument of which brokers trade parts, though
// its lot on an exchange is one. Whether a part is allowed is another matter.
func (i Instrument) TakesPart(quantity Decimal) bool {
	one := Whole(1)
	return quantity.Sign() > 0 && !quantity.IsWhole() && i.Lot.size.Cmp(one) == 0 && i.Minimum.Cmp(one) <= 0
}

// Step says whether a value is a whole number of steps, and what is beside it if it is not.
func (u Unit) Step(value Decimal) Step {
	if value.Sign() <= 0 || u.size.Sign() <= 0 {
		return Step{}
	}
	if u.per1.Sign() > 0 && value.Mul(u.per1).IsWhole() { // the quick way, for what nearly every unit is
		return Step{Fits: true}
	}
	below := value.QuoWhole(u.size).Mul(u.size)
	if below.Cmp(value) == 0 {
		return Step{Fits: true}
	}
	return Step{Below: below, Above: below.Add(u.size)}
}
