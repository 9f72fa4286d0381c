package policy_test

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sallyport/policy"
	"sallyport/trade"
)

// resized is the same order of another quantity.
func resized(t testing.TB, o trade.Order, n int) trade.Order {
	return withQuantity(t, o, trade.Whole(uint32(n)))
}

// TestTheLargestQuantityIsTheLargest counts down from the order that was denied, and asks the naive evaluator.
func TestTheLargestQuantityIsTheLargest(t *testing.T) {
	offered := 0
	rapid.Check(t, func(rt *rapid.T) {
		p, b := drawBook(rt)
		for range 40 {
			o, f, s := drawCase(rt)
			v := b.Evaluate(o, f, s)
			if v.Effect != policy.Deny || len(v.Halts) > 0 {
				if v.MaxQuantity != nil {
					rt.Fatalf("a quantity is offered with %+v", v)
				}
				continue
			}
			shares := b.Shares(o, s).Value
			if free := freeOf(o, f); free.Sign() > 0 && shares.Cmp(free) > 0 {
				s.Reduces = true // of what is free it would be one
			}
			n, _ := strconv.Atoi(shares.QuoWhole(trade.Whole(1)).String())
			for ; n > 0 && p.judge(resized(t, o, n), f, s) != "allow"; n-- {
			}
			if got := "0"; v.MaxQuantity != nil {
				if got = v.MaxQuantity.String(); got != strconv.Itoa(n) {
					rt.Fatalf("%s\n%s: %s is offered, not %d: %+v", p.file(), o.Line(), got, n, v.Reasons)
				}
				offered++
			} else if n > 0 {
				rt.Fatalf("%s\n%s: nothing is offered, and %d passes", p.file(), o.Line(), n)
			}
		}
	})
	if offered < 20 {
		t.Errorf("only %d quantities were offered", offered)
	}
}

// TestRetryAfterIsWhenItIsCured moves the clock and nothing else: at that moment nothing denies any more, and a nanosecond
// earlier something does.
func TestRetryAfterIsWhenItIsCured(t *testing.T) {
	cured := 0
	rapid.Check(t, func(t *rapid.T) {
		p, b := drawBook(t)
		for range 200 {
			o, f, s := drawCase(t)
			v := b.Evaluate(o, f, s)
			if v.RetryAfter.IsZero() {
				continue
			}
			if v.Effect != policy.Deny || len(v.Halts) > 0 || !v.RetryAfter.After(s.At) {
				t.Fatalf("a time is given with %+v", v)
			}
			if at := b.Evaluate(o, f, later(o, s, v.RetryAfter)); at.Effect == policy.Deny {
				t.Fatalf("%s\n%s later it is still denied: %+v", p.file(), v.RetryAfter.Sub(s.At), at.Reasons)
			}
			if at := b.Evaluate(o, f, later(o, s, v.RetryAfter.Add(-1))); at.Effect != policy.Deny {
				t.Fatalf("%s\na nanosecond before %s it is denied no more", p.file(), v.RetryAfter.Sub(s.At))
			}
			cured++
		}
	})
	if cured < 20 {
		t.Errorf("only %d denials were cured by time", cured)
	}
}

// later is the same situation at another time. A new day begins without a loss.
func later(o trade.Order, s policy.Situation, at time.Time) policy.Situation {
	s.At = at
	if opens := s.Session.RegularOpens; !opens.IsZero() && !at.Before(opens) {
		s.Session.Regular, s.Session.RegularOpens = o.TimeInForce() != trade.OPG, at.Add(time.Hour) // an auction has another day
	}
	if !at.Before(s.Day.End) {
		s.Day = policy.Day{Start: s.Day.End, End: s.Day.End.Add(24 * time.Hour)}
		if s.DayLoss.Value.Sign() > 0 {
			s.DayLoss.Value = trade.Decimal{}
		}
		if s.Equity.Value.Sign() > 0 {
			s.Peak = s.Equity
		}
	}
	return s
}
