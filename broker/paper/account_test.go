package paper

import (
	"fmt"
	"testing"

	"sallyport/trade"

	"pgregory.net/rapid"
)

func dec(t interface{ Fatalf(string, ...any) }, s string) trade.Decimal {
	v, ok := trade.ParseDecimal(s)
	if !ok {
		t.Fatalf("%q is no decimal", s)
	}
	return v
}

func sym(t interface{ Fatalf(string, ...any) }, s string) trade.Symbol {
	v, ok := trade.ParseSymbol(s)
	if !ok {
		t.Fatalf("%q is no symbol", s)
	}
	return v
}

func anOrder(t interface{ Fatalf(string, ...any) }, side trade.Side, quantity, limit string) order {
	o := order{symbol: sym(t, "AAPL"), side: side, quantity: dec(t, quantity), kind: trade.Limit, limit: dec(t, limit), tif: trade.Day, hours: anyHours}
	o.held = o.holds(o.limit)
	return o
}

func with(t interface{ Fatalf(string, ...any) }, cash, quantity string) *account {
	return &account{cash: dec(t, cash), positions: map[trade.Symbol]position{sym(t, "AAPL"): {quantity: dec(t, quantity)}}}
}

//attack:paper-cash
func TestAccountRefusesABuyThatCashDoesNotCover(t *testing.T) {
	a := with(t, "1500.00", "0")
	if code, why := a.refuse(anOrder(t, trade.Buy, "10", "150.00")); code != "" {
		t.Fatalf("exactly the cash: %s %s", code, why)
	}
	if code, _ := a.refuse(anOrder(t, trade.Buy, "10", "150.000000001")); code != InsufficientCash {
		t.Fatalf("a billionth of a dollar over it a share: %q", code)
	}
	a.accept(anOrder(t, trade.Buy, "4", "150.00"))
	if code, _ := a.refuse(anOrder(t, trade.Buy, "6", "150.00")); code != "" {
		t.Fatalf("exactly what a working buy leaves: %q", code)
	}
	if code, _ := a.refuse(anOrder(t, trade.Buy, "7", "150.00")); code != InsufficientCash {
		t.Fatalf("cash that a working buy has reserved was spent again: %q", code)
	}
	if code, _ := a.refuse(anOrder(t, trade.Buy, "999999999999", "999999999999.999999999")); code != InsufficientCash {
		t.Fatalf("the largest order there is: %q", code)
	}
}

//attack:paper-long-only
func TestAccountRefusesASellBeyondThePosition(t *testing.T) {
	a := with(t, "0", "10")
	if code, _ := a.refuse(anOrder(t, trade.Sell, "10", "150")); code != "" {
		t.Fatalf("the whole position: %q", code)
	}
	if code, _ := a.refuse(anOrder(t, trade.Sell, "11", "150")); code != InsufficientPosition {
		t.Fatalf("one share short: %q", code)
	}
	a.accept(anOrder(t, trade.Sell, "4", "150"))
	if code, _ := a.refuse(anOrder(t, trade.Sell, "7", "150")); code != InsufficientPosition {
		t.Fatalf("shares that a working sell has promised were promised again: %q", code)
	}
	other := anOrder(t, trade.Sell, "1", "150")
	other.symbol = sym(t, "MSFT")
	if code, _ := a.refuse(other); code != InsufficientPosition {
		t.Fatalf("a symbol without a position: %q", code)
	}
}

//attack:paper-working-orders
func TestAccountRefusesOneWorkingOrderTooMany(t *testing.T) {
	a := with(t, "100", "10")
	a.working = maxWorking - 1
	if code, _ := a.refuse(anOrder(t, trade.Buy, "1", "1")); code != "" {
		t.Fatalf("the last one: %q", code)
	}
	a.accept(anOrder(t, trade.Buy, "1", "1"))
	if code, _ := a.refuse(anOrder(t, trade.Buy, "1", "1")); code != TooManyWorking {
		t.Fatalf("one more: %q", code)
	}
}

//attack:paper-crossed-quote
func TestMatchFillsAtTheQuoteOrNotAtAll(t *testing.T) {
	q := trade.Quote{Bid: dec(t, "149.90"), Ask: dec(t, "149.95")}
	crossed := trade.Quote{Bid: dec(t, "149.96"), Ask: dec(t, "149.95")}
	locked := trade.Quote{Bid: dec(t, "149.95"), Ask: dec(t, "149.95")}
	for _, c := range []struct {
		name  string
		side  trade.Side
		limit string
		q     trade.Quote
		want  string
	}{
		{"a buy above the ask", trade.Buy, "150", q, "149.95"},
		{"a buy at the ask", trade.Buy, "149.95", q, "149.95"},
		{"a buy a tick below the ask", trade.Buy, "149.949999999", q, "none"},
		{"a sell below the bid", trade.Sell, "149", q, "149.9"},
		{"a sell at the bid", trade.Sell, "149.9", q, "149.9"},
		{"a sell a tick above the bid", trade.Sell, "149.900000001", q, "none"},
		{"a buy on a crossed quote", trade.Buy, "150", crossed, "none"},
		{"a sell on a crossed quote", trade.Sell, "149", crossed, "none"},
		{"a buy where bid equals ask", trade.Buy, "150", locked, "149.95"},
		{"a sell where bid equals ask", trade.Sell, "149", locked, "149.95"},
		{"no side", trade.NoSide, "150", q, "none"},
	} {
		m := anOrder(t, c.side, "1", c.limit).meets(sight{Quote: c.q})
		got := m.price.String()
		if !m.fills {
			got = "none"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

var aDecimal = rapid.Custom(func(t *rapid.T) trade.Decimal {
	text := fmt.Sprint(rapid.Int64Range(0, 999_999_999_999).Draw(t, "whole"))
	if n := rapid.IntRange(0, 9).Draw(t, "digits"); n > 0 {
		text += fmt.Sprintf(".%0*d", n, rapid.IntRange(0, 9).Draw(t, "last"))
	}
	return dec(t, text)
})

func TestPriceKeySortsAsPricesDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := aDecimal.Draw(t, "a"), aDecimal.Draw(t, "b")
		ka, kb := priceKey(a), priceKey(b)
		if len(ka) != 21 || len(kb) != 21 {
			t.Fatalf("keys %q and %q", ka, kb)
		}
		got := 0
		if ka < kb {
			got = -1
		} else if ka > kb {
			got = 1
		}
		if got != a.Cmp(b) {
			t.Fatalf("%v and %v compare %d, their keys %d", a, b, a.Cmp(b), got)
		}
	})
}

// TestMoneyHasNinePlaces fills random fractions: what is booked has nine places, is never more than what it comes to
// exactly, and less by no more than a billionth of a dollar a fill.
//
//attack:paper-money
func TestMoneyHasNinePlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := with(t, "100000", "1000")
		exact, most := a.cash, trade.Decimal{}
		for range rapid.IntRange(1, 30).Draw(t, "fills") {
			o := anOrder(t, trade.Buy, "1", "1")
			o.quantity, o.limit = aDecimal.Draw(t, "quantity"), aDecimal.Draw(t, "price")
			o.held = o.holds(o.limit)
			amount := o.quantity.Mul(o.limit)
			if o.side = rapid.SampledFrom([]trade.Side{trade.Buy, trade.Sell}).Draw(t, "side"); o.side == trade.Buy {
				amount = trade.Decimal{}.Sub(amount)
			}
			if code, _ := a.refuse(o); code != "" {
				continue
			}
			a.accept(o)
			a.fill(o, o.limit)
			exact, most = exact.Add(amount), most.Add(nano(t))
			short := exact.Sub(a.cash)
			if a.cash.Cmp(a.cash.Down()) != 0 || short.Sign() < 0 || short.Cmp(most) >= 0 || a.cash.Sign() < 0 || a.reserved.Sign() != 0 {
				t.Fatalf("%v at %v: the cash is %v, exactly %v; %v are reserved", o.quantity, o.limit, a.cash, exact, a.reserved)
			}
		}
	})
}
