package policy

import (
	"math/big"
	"strconv"
	"time"

	"sallyport/trade"
)

// cure returns when time alone will have brought a limit's value down to a bound, all else equal; zero if it will not.
func (j *judge) cure(r *bookRule, l *limit, at step) time.Time {
	switch l.kind {
	case ordersPerMinute, denialsPerMinute, similarOrders, brokerRejections:
		return j.slides(r, l, at)
	case ordersPerDay:
		return j.nextDay(trade.Whole(1).Cmp(l.bounds[at]) <= 0)
	case notionalPerDay:
		return j.nextDay(j.notional.Cmp(l.bounds[at]) <= 0)
	case dailyLoss:
		return j.nextDay(true)
	case drawdown: // of a peak that is nothing there is no part
		return j.nextDay(j.s.Equity.Value.Sign() > 0)
	}
	return time.Time{}
}

func (j *judge) nextDay(cures bool) time.Time {
	if !cures || !j.s.Day.End.After(j.s.At) {
		return time.Time{}
	}
	return j.s.Day.End
}

// slides returns when enough has left a window that slides. It looks for the latest beginning at which what is left still
// exceeds the bound; a nanosecond later it does not.
func (j *judge) slides(r *bookRule, l *limit, at step) time.Time {
	exceeds := func(since time.Time) bool {
		var v reading
		v.slide(j.s.History, r, l, since)
		return v.missing != "" || v.open || v.exceeds(l, at)
	}
	if exceeds(j.s.At) { // even with nothing but the order itself
		return time.Time{}
	}
	low, high := time.Duration(0), l.window // exceeds at −window + low, and not at −window + high
	for high-low > 1 {
		middle := low + (high-low)/2
		if exceeds(j.s.At.Add(middle - l.window)) {
			low = middle
		} else {
			high = middle
		}
	}
	return j.s.At.Add(high)
}

// largest returns the largest quantity of whole lots, up to most, that passes everything at the order's price; of an
// instrument whose lot is less than one, of whole shares. What a limit measures never falls with the quantity, so that
// halving finds it. Of an order by amount it is that of a market order which says its quantity.
func (j *judge) largest(most trade.Decimal) (trade.Decimal, bool) {
	lot := j.s.Instrument.Lot.Size()
	if one := trade.Whole(1); lot.Cmp(one) < 0 && j.s.Instrument.Lot.Step(one).Fits {
		lot = one
	}
	low, high := uint64(0), wholeOf(most.QuoWhole(lot))+1 // in lots: passes at low, unless it is nothing; does not at high
	for high-low > 1 {
		middle := low + (high-low)/2
		q := lots(middle, lot)
		if j.lets(&q) {
			low = middle
		} else {
			high = middle
		}
	}
	q := lots(low, lot)
	return q, low > 0 && q.Cmp(j.s.Instrument.Minimum) >= 0
}

func lots(n uint64, lot trade.Decimal) trade.Decimal {
	return lot.Mul(decimalOf(n))
}

// wholeOf returns the whole part of a quantity of an order.
func wholeOf(d trade.Decimal) uint64 {
	x := ratOf(d)
	n := new(big.Int).Quo(x.Num(), x.Denom())
	if !n.IsUint64() {
		return 0
	}
	return n.Uint64()
}

func decimalOf(n uint64) trade.Decimal {
	d, _ := trade.ParseDecimal(strconv.FormatUint(n, 10)) // what an order can have has at most twelve digits
	return d
}
