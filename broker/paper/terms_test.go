package paper

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sallyport/gatetest"
	"sallyport/market"
	"sallyport/trade"

	"pgregory.net/rapid"
)

// nano is the smallest part of a share.
func nano(t interface{ Fatalf(string, ...any) }) trade.Decimal { return dec(t, "0.000000001") }

// at reads a time in New York of a Monday, 2026-11-30.
func at(t testing.TB, clock string) time.Time {
	t.Helper()
	v, err := time.ParseInLocation("2006-01-02 15:04:05", "2026-11-30 "+clock, newYork(t))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func calendar(t testing.TB) *market.Calendar {
	t.Helper()
	c, err := market.NewYork()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// seen is a quote of AAPL, such as "149.90 149.95", taken at a time of that Monday.
func seen(t testing.TB, prices, clock string) sight {
	t.Helper()
	var bid, ask string
	if _, err := fmt.Sscan(prices, &bid, &ask); err != nil {
		t.Fatal(err)
	}
	q := trade.Quote{Symbol: sym(t, "AAPL"), Bid: dec(t, bid), Ask: dec(t, ask), Last: dec(t, bid), At: at(t, clock)}
	return sight{q, calendar(t).Session(q.At)}
}

// came is an order as the venue has it when it came at ten.
func came(t testing.TB, text string) order {
	t.Helper()
	o := termsOf(gatetest.Line(t, text))
	if !o.lives(at(t, "10:00:00"), newYork(t), calendar(t)) {
		t.Fatalf("%s cannot be placed", text)
	}
	return o
}

func (m meeting) String() string {
	switch {
	case m.fills:
		return "fills at " + m.price.String()
	case m.triggers:
		return "triggered"
	}
	return "waits"
}

//attack:paper-stop
func TestOrdersMeetQuotesByTheirTerms(t *testing.T) {
	for _, c := range []struct{ order, quote, clock, want string }{
		{"buy 1 AAPL market", "149.90 149.95", "10:00:00", "fills at 149.95"},
		{"sell 1 AAPL market", "149.90 149.95", "10:00:00", "fills at 149.9"},
		{"buy 1 AAPL market", "149.96 149.95", "10:00:00", "waits"},
		{"buy 1 AAPL stop 150", "149.90 149.99", "10:00:00", "waits"},
		{"buy 1 AAPL stop 150", "149.90 150", "10:00:00", "fills at 150"},
		{"buy 1 AAPL stop 150", "155 156", "10:00:00", "fills at 156"},
		{"buy 1 AAPL stop 150", "156 155", "10:00:00", "waits"},
		{"sell 1 AAPL stop 150", "150.01 150.02", "10:00:00", "waits"},
		{"sell 1 AAPL stop 150", "150 150.02", "10:00:00", "fills at 150"},
		{"sell 1 AAPL stop 150", "120 150.02", "10:00:00", "fills at 120"},
		{"buy 1 AAPL stop 150 limit 151", "149 149.99", "10:00:00", "waits"},
		{"buy 1 AAPL stop 150 limit 151", "149 150", "10:00:00", "fills at 150"},
		{"buy 1 AAPL stop 150 limit 151", "149 151", "10:00:00", "fills at 151"},
		{"buy 1 AAPL stop 150 limit 151", "149 151.01", "10:00:00", "triggered"},
		{"sell 1 AAPL stop 150 limit 149", "149 151", "10:00:00", "fills at 149"},
		{"sell 1 AAPL stop 150 limit 149", "148.99 151", "10:00:00", "triggered"},
		{"sell 1 AAPL stop 150 limit 149", "150.01 151", "10:00:00", "waits"},
		{"buy 1.5 AAPL at 150", "149.90 150", "10:00:00", "fills at 150"},
		{"buy 1.5 AAPL at 150", "149.90 150.01", "10:00:00", "waits"},
	} {
		if got := came(t, c.order).meets(seen(t, c.quote, c.clock)).String(); got != c.want {
			t.Errorf("%s at %s: %s, want %s", c.order, c.quote, got, c.want)
		}
	}
}

//attack:paper-sessions
func TestOrdersMeetQuotesOfTheirSessionsOnly(t *testing.T) {
	clocks := []string{"03:59:59", "04:00:00", "09:29:59", "09:30:00", "15:59:59", "16:00:00", "19:59:59", "20:00:00"}
	for _, c := range []struct{ order, want string }{
		{"buy 1 AAPL at 150", "xxxxxxxx"}, // as it was before there were sessions
		{"buy 1.5 AAPL at 150", "___xx___"},
		{"buy 1 AAPL market", "___xx___"},
		{"buy 1 AAPL stop 140", "___xx___"},
		{"buy 1 AAPL at 150 gtc", "___xx___"},
		{"buy 1 AAPL at 150 extended", "_xxxxxx_"},
		{"buy 1 AAPL at 150 gtc extended", "_xxxxxx_"},
	} {
		got := ""
		for _, clock := range clocks {
			got += map[bool]string{true: "x", false: "_"}[came(t, c.order).meets(seen(t, "149 150", clock)).fills]
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s at %v", c.order, got, c.want, clocks)
		}
	}
	far := seen(t, "149 150", "10:00:00")
	far.At = time.Date(2029, 1, 2, 15, 0, 0, 0, time.UTC)
	far.Session = calendar(t).Session(far.At)
	if m := came(t, "buy 1 AAPL market").meets(far); m.fills {
		t.Errorf("on a day that the calendar does not cover: %v", m)
	}
}

//attack:paper-auction
func TestOrdersForAnAuctionMeetTheQuotesOfItsMinutesOnly(t *testing.T) {
	for _, c := range []struct{ tif, came, want string }{
		{"opg", "2026-11-30T09:00:00-05:00", "2026-11-30T09:30:00-05:00 2026-11-30T09:35:00-05:00"},
		{"opg", "2026-11-30T09:29:59-05:00", "2026-11-30T09:30:00-05:00 2026-11-30T09:35:00-05:00"},
		{"opg", "2026-11-30T09:30:00-05:00", "2026-12-01T09:30:00-05:00 2026-12-01T09:35:00-05:00"},
		{"opg", "2026-11-25T10:00:00-05:00", "2026-11-27T09:30:00-05:00 2026-11-27T09:35:00-05:00"}, // over Thanksgiving
		{"cls", "2026-11-30T09:00:00-05:00", "2026-11-30T15:55:00-05:00 2026-11-30T16:00:00-05:00"},
		{"cls", "2026-11-30T15:59:59-05:00", "2026-11-30T15:55:00-05:00 2026-11-30T16:00:00-05:00"},
		{"cls", "2026-11-30T16:00:00-05:00", "2026-12-01T15:55:00-05:00 2026-12-01T16:00:00-05:00"},
		{"cls", "2026-11-27T10:00:00-05:00", "2026-11-27T12:55:00-05:00 2026-11-27T13:00:00-05:00"}, // a half day
		{"cls", "2026-10-30T17:00:00-04:00", "2026-11-02T15:55:00-05:00 2026-11-02T16:00:00-05:00"}, // over the clocks' change
		{"opg", "2028-12-29T12:00:00-05:00", "unknown"},
		{"cls", "2028-12-29T17:00:00-05:00", "unknown"},
		{"opg", "2029-01-02T12:00:00-05:00", "unknown"},
	} {
		when, err := time.Parse(time.RFC3339, c.came)
		if err != nil {
			t.Fatal(err)
		}
		o := termsOf(gatetest.Line(t, "buy 1 AAPL at 150 "+c.tif))
		got := "unknown"
		if o.lives(when, newYork(t), calendar(t)) {
			got = o.from.In(newYork(t)).Format(time.RFC3339) + " " + o.expires.In(newYork(t)).Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%s that came %s: %s, want %s", c.tif, c.came, got, c.want)
		}
	}
	o := came(t, "buy 1 AAPL at 150 cls")
	for clock, want := range map[string]bool{"15:54:59": false, "15:55:00": true, "15:59:59": true, "16:00:00": false} {
		if m := o.meets(seen(t, "149 150", clock)); m.fills != want {
			t.Errorf("at %s: %v", clock, m)
		}
	}
}

//attack:paper-exits
//fault:f86
func TestExitsLeaveAtTheProfitOrAfterTheLoss(t *testing.T) {
	both, stop, profit := "sl=140 tp=160", "sl=140/139", "tp=160"
	for _, c := range []struct{ exits, quotes, want string }{
		{both, "150 151", "waits"},
		{both, "160 161", "fills at 160"},
		{both, "170 171", "fills at 170"},
		{both, "140 141", "fills at 140"},
		{both, "90 91", "fills at 90"},
		{both, "140.01 140.02", "waits"},
		{both, "161 139", "waits"}, // crossed
		{stop, "140 141", "fills at 140"},
		{stop, "139 141", "fills at 139"},
		{stop, "138 141", "triggered"},
		{stop, "138 141, 139.5 141", "fills at 139.5"},
		{stop, "138 141, 150 151", "fills at 150"},
		{stop, "170 171", "waits"},
		{profit, "1 2", "waits"},
		{profit, "160 161", "fills at 160"},
	} {
		o := came(t, "buy 7 AAPL at 150 day "+c.exits).exits()
		if c.exits == both && o.expires != never {
			t.Errorf("exits expire %v", o.expires)
		}
		var m meeting
		for _, quote := range strings.Split(c.quotes, ", ") {
			o.exitsOf = 1
			m = o.meets(seen(t, quote, "10:00:00"))
			o.triggered = m.triggers
		}
		if m.String() != c.want || o.side != trade.Sell || o.quantity.String() != "7" {
			t.Errorf("%s at %s: %v, want %s", c.exits, c.quotes, m, c.want)
		}
	}
}

//attack:paper-amount
//fault:f81
func TestAmountNeverBuysForMore(t *testing.T) {
	for _, c := range []struct{ amount, price, want string }{
		{"100", "150", "0.666666666"},
		{"150", "150", "1"},
		{"0.000000001", "1", "0.000000001"},
		{"0.000000001", "2", "none"},
		{"0.01", "999999999999", "none"},
		{"999999999999", "0.000000001", "none"},
		{"999999999999.999999999", "1", "999999999999.999999999"},
	} {
		got := "none"
		if q, ok := shares(dec(t, c.amount), dec(t, c.price)); ok {
			got = q.String()
		}
		if got != c.want {
			t.Errorf("%s at %s: %s, want %s", c.amount, c.price, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		amount, price := aDecimal.Draw(t, "amount"), aDecimal.Draw(t, "price")
		if amount.Sign() == 0 || price.Sign() == 0 {
			return
		}
		q, ok := shares(amount, price)
		if !ok {
			return
		}
		if q.Mul(price).Cmp(amount) > 0 || q.Add(nano(t)).Mul(price).Cmp(amount) <= 0 {
			t.Fatalf("%v at %v buys %v", amount, price, q)
		}
	})
}

//attack:paper-instrument
//fault:f102
//fault:f104
func TestOrdersFitTheirInstrument(t *testing.T) {
	listed := func(lines ...string) *market.Instruments {
		l, err := market.ReadInstruments(strings.NewReader(strings.Join(lines, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	line := `{"symbol":"AAPL","asset_class":"us_equity","currency":"USD","tick":"0.05","lot":"100","minimum":"200","multiplier":"1"}`
	hundreds := listed(line)
	parts := listed(`{"symbol":"AAPL","asset_class":"us_equity","currency":"USD","tick":"0.01","lot":"0.5","minimum":"0.5","multiplier":"1"}`)
	for _, c := range []struct {
		order string
		list  *market.Instruments
		want  string
	}{
		{"buy 1 AAPL at 150.001", nil, ""}, // as it was before there were instruments
		{"buy 1 AAPL at 150.001 gtc", nil, "PRICE_OFF_TICK AAPL has no price of 150.001; beside it are 150.00 and 150.01"},
		{"buy 1 AAPL at 0.0001 gtc", nil, ""},
		{"buy 1 AAPL at 0.00011 gtc", nil, "PRICE_OFF_TICK AAPL has no price of 0.00011; beside it are 0.0001 and 0.0002"},
		{"sell 1 AAPL stop 150.001", nil, "PRICE_OFF_TICK AAPL has no price of 150.001; beside it are 150.00 and 150.01"},
		{"buy 1 AAPL at 150 sl=140.001", nil, "PRICE_OFF_TICK AAPL has no price of 140.001; beside it are 140.00 and 140.01"},
		{"buy 1 AAPL at 150 sl=140/139.001", nil, "PRICE_OFF_TICK AAPL has no price of 139.001; beside it are 139.00 and 139.01"},
		{"buy 1 AAPL at 150 tp=160.001", nil, "PRICE_OFF_TICK AAPL has no price of 160.001; beside it are 160.00 and 160.01"},
		{"buy 0.5 AAPL market", nil, ""},
		{"buy 1.5 AAPL at 150", nil, ""},
		{"buy 200 AAPL at 150", hundreds, ""},
		{"buy 250 AAPL at 150", hundreds, "QUANTITY_OFF_LOT AAPL is not traded in a quantity of 250; beside it are 200 and 300"},
		{"buy 100 AAPL at 150", hundreds, "QUANTITY_OFF_LOT AAPL is not traded in a quantity of 100; beside it are 0 and 200"},
		{"buy 200.5 AAPL market", hundreds, "QUANTITY_OFF_LOT AAPL is not traded in a quantity of 200.5; beside it are 200 and 300"},
		{"buy 200 AAPL at 150.01", hundreds, "PRICE_OFF_TICK AAPL has no price of 150.01; beside it are 150.00 and 150.05"},
		{"buy 1 MSFT at 150", hundreds, "SYMBOL_NOT_LISTED MSFT is not in the list of instruments"},
		{"buy 1.5 AAPL market", parts, ""},
		{"buy 1.25 AAPL market", parts, "QUANTITY_OFF_LOT AAPL is not traded in a quantity of 1.25; beside it are 1 and 1.5"},
		{"buy $100 AAPL market", hundreds, ""},
	} {
		code, why := unfit(gatetest.Line(t, c.order), c.list)
		if got := strings.TrimSpace(string(code) + " " + why); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.order, got, c.want)
		}
	}
	for _, c := range []struct {
		amount string
		list   *market.Instruments
		want   string
	}{
		{"$100", nil, "0.666666666"},
		{"$100", parts, "AMOUNT_NOT_TRADABLE"},
		{"$75", parts, "0.5"},
		{"$45000", hundreds, "300"},
		{"$47000", hundreds, "AMOUNT_NOT_TRADABLE"},
		{"$15000", hundreds, "AMOUNT_NOT_TRADABLE"},
	} {
		o := came(t, "buy "+c.amount+" AAPL market")
		code, _ := o.divides(dec(t, "150"), c.list)
		if got := strings.TrimPrefix(string(code)+" "+o.quantity.String(), " "); strings.TrimSuffix(got, " 0") != c.want {
			t.Errorf("%s: %s, want %s", c.amount, got, c.want)
		}
	}
}
