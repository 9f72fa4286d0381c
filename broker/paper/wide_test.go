package paper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/market"
	"sallyport/trade"
)

// clearedFor is what a permit of an order clears, in a line as gatetest reads it.
func (v *venue) clearedFor(id, text string) gate.Cleared {
	v.t.Helper()
	return gate.Cleared{Order: gatetest.Line(v.t, text), ID: trade.BrokerOrderID("sp-" + id), NotAfter: v.clock().Add(5 * time.Second)}
}

// sends submits such an order and returns the receipt in one line.
func (v *venue) sends(id, text string) string {
	v.t.Helper()
	r, err := v.submit(context.Background(), v.clearedFor(id, text))
	if err != nil {
		v.t.Fatalf("submit %s: %v", id, err)
	}
	v.wantEvents(r)
	return line(r)
}

// quoteAt replaces the quotes by one of AAPL that was taken at a time of the Monday, and sets the clock to it.
func (v *venue) quoteAt(clock, bid, ask string) {
	v.t.Helper()
	taken := at(v.t, clock)
	v.set(taken)
	v.quotes(fmt.Sprintf(`{"symbol":"AAPL","bid":%q,"ask":%q,"last":%q,"at":%q}`+"\n", bid, ask, bid, taken.Format(time.RFC3339)))
	v.match()
}

func (v *venue) match() {
	v.t.Helper()
	if _, err := v.Match(context.Background()); err != nil {
		v.t.Fatal(err)
	}
}

// working shows the open orders.
func (v *venue) working() string {
	v.t.Helper()
	all, err := v.Working(context.Background())
	if err != nil {
		v.t.Fatal(err)
	}
	var s []string
	for _, o := range all {
		text := fmt.Sprintf("%s %s %v %v", o.OrderID, o.ID, o.Side, o.Remaining)
		if o.Exits {
			text += " exits"
		}
		s = append(s, text)
	}
	return strings.Join(s, "; ")
}

func (v *venue) cancels(id string, exits bool) string {
	v.t.Helper()
	r, err := v.cancel(context.Background(), gate.Cleared{ID: trade.BrokerOrderID("sp-" + id), NotAfter: v.clock(), Exits: exits})
	if err != nil {
		v.t.Fatal(err)
	}
	v.wantEvents(r)
	return line(r)
}

//attack:paper-market-order
//fault:f19
func TestMarketOrderIsExecutedAtTheFarSideOrRejected(t *testing.T) {
	v := newVenue(t, "100000")
	v.want("a buy", v.sends("1", "buy 10 AAPL market"), "accepted paper-1 filled 10 AAPL at 149.95")
	v.want("a sell", v.sends("2", "sell 4 AAPL market"), "accepted paper-2 filled 4 AAPL at 149.90")
	v.want("holdings", v.holdings(), "99100.10 6×AAPL")
	none := "rejected MARKET_UNAVAILABLE there is no quote of %s at which a market order is executed now"
	v.want("no quote", v.sends("3", "buy 1 MSFT market"), fmt.Sprintf(none, "MSFT"))
	for i, tif := range []string{"gtc", "ioc", "fok"} {
		v.want("no quote, "+tif, v.sends("4"+tif, "sell 1 MSFT market "+tif), fmt.Sprintf(none, "MSFT"))
		v.want("a quote, "+tif, v.sends("5"+tif, "sell 1 AAPL market "+tif), fmt.Sprintf("accepted paper-%d filled 1 AAPL at 149.90", 3+i))
	}
	v.quote("AAPL", "150", "149")
	v.want("a crossed quote", v.sends("6", "buy 1 AAPL market"), fmt.Sprintf(none, "AAPL"))
	v.quoteAt("16:00:00", "149", "150")
	v.want("a quote after the close", v.sends("7", "sell 1 AAPL market"), fmt.Sprintf(none, "AAPL"))
	v.quoteAt("15:59:59", "149", "150")
	v.want("the same id once there is one", v.sends("7", "sell 1 AAPL market"), fmt.Sprintf(none, "AAPL"))
	v.want("another id", v.sends("8", "sell 1 AAPL market"), "accepted paper-6 filled 1 AAPL at 149.00")
	if err := os.Remove(v.cfg.Quotes.Path); err != nil {
		t.Fatal(err)
	}
	v.want("no file", v.sends("9", "buy 1 AAPL market"), fmt.Sprintf(none, "AAPL"))
	audit(t, v.Broker)
}

//attack:paper-cash
func TestMarketBuyNeedsItsWorstPrice(t *testing.T) {
	v := newVenue(t, "1499.50")
	v.want("one share too many", v.sends("1", "buy 11 AAPL market"), "rejected INSUFFICIENT_CASH a buy of 11 AAPL needs 1649.45 and 1499.50 is free")
	v.want("by amount, a billionth of a dollar too many", v.sends("2", "buy $1499.500000001 AAPL market"),
		"rejected INSUFFICIENT_CASH a buy of 10 AAPL needs 1499.500000001 and 1499.50 is free")
	v.want("exactly the cash", v.sends("3", "buy 10 AAPL market"), "accepted paper-1 filled 10 AAPL at 149.95")
	v.want("holdings", v.holdings(), "0.00 10×AAPL")
	audit(t, v.Broker)
}

//attack:paper-dear-buy
func TestStopBuyThatBecameTooDearIsNotFilled(t *testing.T) {
	v := newVenue(t, "1600")
	v.want("more than the cash at its stop", v.sends("1", "buy 10 AAPL stop 160.01"), "rejected INSUFFICIENT_CASH a buy of 10 AAPL from 160.01 on needs 1600.10 and 1600.00 is free")
	v.want("within it", v.sends("2", "buy 5 AAPL stop 160"), "accepted paper-1 working until 2026-11-30T21:00:00Z")
	v.want("cash that it holds", v.sends("3", "buy 6 AAPL market"), "rejected INSUFFICIENT_CASH a buy of 6 AAPL needs 899.70 and 800.00 is free")
	v.want("the rest", v.sends("4", "buy 5 AAPL stop 160 gtc"), "accepted paper-2 working until it is cancelled")
	v.quoteAt("10:30:00", "199", "200")
	v.want("the dear one took what the other had held", v.events(), "1 cancelled sp-2 buy AAPL 5@0 15:30; 2 fill sp-4 buy AAPL 5@200 15:30")
	audit(t, v.Broker)
}

//attack:paper-stop
//fault:f86
func TestStopWaitsForItsPrice(t *testing.T) {
	v := newVenue(t, "100000")
	v.want("a position", v.sends("1", "buy 10 AAPL market"), "accepted paper-1 filled 10 AAPL at 149.95")
	v.want("a stop below the bid", v.sends("2", "sell 4 AAPL stop 140 gtc"), "accepted paper-2 working until it is cancelled")
	v.want("a stop limit", v.sends("3", "sell 4 AAPL stop 140 limit 139 gtc"), "accepted paper-3 working until it is cancelled")
	v.want("a stop that is reached already", v.sends("4", "buy 1 AAPL stop 140"), "accepted paper-4 filled 1 AAPL at 149.95")
	v.want("more than is free", v.sends("5", "sell 4 AAPL stop 140"), "rejected INSUFFICIENT_POSITION a sell of 4 AAPL needs as many shares and 3 are free")
	v.quoteAt("10:30:00", "140.01", "140.02")
	v.want("a tick above", v.working(), "paper-2 sp-2 sell 4; paper-3 sp-3 sell 4")
	v.quoteAt("10:31:00", "138", "138.02")
	v.want("past both", v.working(), "paper-3 sp-3 sell 4")
	v.reopen()
	v.quoteAt("10:32:00", "150", "150.02") // above its stop again: that it was reached is not forgotten
	v.want("the limit is reached", v.working(), "")
	v.want("events", v.events(), "1 fill sp-1 buy AAPL 10@149.95 15:00; 2 fill sp-4 buy AAPL 1@149.95 15:00; "+
		"3 fill sp-2 sell AAPL 4@138 15:31; 4 fill sp-3 sell AAPL 4@150 15:32")
	audit(t, v.Broker)
}

//attack:paper-at-once
func TestTimeInForceEndsOrders(t *testing.T) {
	v := newVenue(t, "100000")
	for i, tif := range []string{"ioc", "fok"} {
		v.want(tif+" that fills", v.sends("1"+tif, "buy 1 AAPL at 150 "+tif), fmt.Sprintf("accepted paper-%d filled 1 AAPL at 149.95", 1+i*3))
		want := fmt.Sprintf("accepted paper-%d ended at once: nothing is there to execute it", 2+i*3)
		v.want(tif+" that does not", v.sends("2"+tif, "buy 1 AAPL at 149.94 "+tif), want)
		v.want("the same again", v.sends("2"+tif, "buy 1 AAPL at 149.94 "+tif), want)
		v.want(tif+" without a quote", v.sends("3"+tif, "buy 1 MSFT at 400 "+tif), strings.Replace(want, fmt.Sprint(2+i*3), fmt.Sprint(3+i*3), 1))
		v.want("its cancel", v.cancels("2"+tif, false), fmt.Sprintf("accepted paper-%d the order is expired", 2+i*3))
	}
	v.want("working", v.working(), "")
	v.want("events", v.events(), "1 fill sp-1ioc buy AAPL 1@149.95 15:00; 2 expired sp-2ioc buy AAPL 1@0 15:00; 3 expired sp-3ioc buy MSFT 1@0 15:00; "+
		"4 fill sp-1fok buy AAPL 1@149.95 15:00; 5 expired sp-2fok buy AAPL 1@0 15:00; 6 expired sp-3fok buy MSFT 1@0 15:00")
	audit(t, v.Broker)
}

//attack:paper-day-order
func TestGTCSurvivesTheDayAndDayDoesNot(t *testing.T) {
	v := newVenue(t, "100000")
	v.sends("1", "buy 1 AAPL at 100 gtc")
	v.sends("2", "buy 1 AAPL stop 200")
	v.sends("3", "buy 1 AAPL at 100 extended")
	v.sends("4", "buy 1.5 AAPL at 100")
	v.set(at(t, "16:00:00"))
	v.reopen()
	v.want("after four", v.working(), "paper-1 sp-1 buy 1; paper-3 sp-3 buy 1")
	v.set(at(t, "20:00:00"))
	v.match()
	v.want("after eight", v.working(), "paper-1 sp-1 buy 1")
	v.set(monday.AddDate(2, 0, 0))
	v.reopen()
	v.want("after two years", v.working(), "paper-1 sp-1 buy 1")
	v.want("cancelled", v.cancels("1", false), "accepted paper-1 the order is cancelled")
	audit(t, v.Broker)
}

// TestExtendedHoursOfAHalfDayEndAtFive: the order works on until eight, and no quote is one that it meets.
//
//attack:paper-sessions
func TestExtendedHoursOfAHalfDayEndAtFive(t *testing.T) {
	v := newVenue(t, "100000")
	friday := time.Date(2026, 11, 27, 0, 0, 0, 0, newYork(t)) // after Thanksgiving
	see := func(hour, minute int, bid, ask string) {
		taken := friday.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
		v.set(taken)
		v.quotes(fmt.Sprintf(`{"symbol":"AAPL","bid":%q,"ask":%q,"last":%q,"at":%q}`+"\n", bid, ask, bid, taken.Format(time.RFC3339)))
		v.match()
	}
	see(12, 0, "150", "151")
	v.sends("1", "buy 1 AAPL at 140 extended")
	v.sends("2", "buy 1 AAPL at 130 extended")
	v.sends("3", "buy 1 AAPL at 130 gtc")
	see(16, 59, "139", "140")
	v.want("before five", v.working(), "paper-2 sp-2 buy 1; paper-3 sp-3 buy 1")
	see(17, 0, "129", "130")
	v.want("after five", v.working(), "paper-2 sp-2 buy 1; paper-3 sp-3 buy 1")
	v.set(friday.Add(20 * time.Hour))
	v.match()
	v.want("after eight", v.working(), "paper-3 sp-3 buy 1")
	audit(t, v.Broker)
}

//attack:paper-auction
func TestAuctionOrdersEndWithTheirMinutes(t *testing.T) {
	v := newVenue(t, "100000")
	v.set(at(t, "08:00:00"))
	v.want("for the opening", v.sends("1", "buy 1 AAPL market opg"), "accepted paper-1 working until 2026-11-30T14:35:00Z")
	v.want("with a limit", v.sends("2", "buy 1 AAPL at 140 opg"), "accepted paper-2 working until 2026-11-30T14:35:00Z")
	v.want("for the close", v.sends("3", "buy 1 AAPL at 160 cls"), "accepted paper-3 working until 2026-11-30T21:00:00Z")
	v.want("without a quote to reckon by", v.sends("4", "buy 1 MSFT market opg"), "rejected MARKET_UNAVAILABLE there is no quote of MSFT at which a market order is executed now")
	v.want("more than the cash", v.sends("5", "buy 700 AAPL market opg"), "rejected INSUFFICIENT_CASH a buy of 700 AAPL needs 104965.00 and 99550.05 is free")
	v.quoteAt("09:29:59", "150", "151")
	v.want("a second before", v.events(), "")
	v.quoteAt("09:30:00", "150", "151")
	v.want("the opening", v.events(), "1 fill sp-1 buy AAPL 1@151 14:30")
	v.quoteAt("09:36:00", "130", "131")
	v.want("its minutes are over", v.working(), "paper-3 sp-3 buy 1")
	v.quoteAt("15:54:59", "150", "152")
	v.want("before the close", v.working(), "paper-3 sp-3 buy 1")
	v.quoteAt("15:55:00", "150", "153")
	v.want("events", v.events(), "1 fill sp-1 buy AAPL 1@151 14:30; 2 expired sp-2 buy AAPL 1@0 14:35; 3 fill sp-3 buy AAPL 1@153 20:55")
	v.want("a sell", v.sends("6", "sell 1 AAPL market cls"), "accepted paper-4 filled 1 AAPL at 150.00")
	v.set(time.Date(2029, 1, 2, 15, 0, 0, 0, time.UTC))
	v.want("a day that no calendar covers", v.sends("7", "buy 1 AAPL at 1 gtc"), "rejected SESSION_UNKNOWN the calendar of the exchanges does not cover 2029-01-02T15:00:00.000000Z")
	audit(t, v.Broker)
}

//attack:paper-amount
//fault:f81
func TestOrderByAmountBuysNoMoreThanIt(t *testing.T) {
	v := newVenue(t, "100000")
	v.want("a hundred dollars", v.sends("1", "buy $100 AAPL market"), "accepted paper-1 filled 0.666888962 AAPL at 149.95")
	v.want("holdings", v.holdings(), "99900.000000148 0.666888962×AAPL")
	v.want("too little", v.sends("2", "buy $0.000000001 AAPL market"), "rejected AMOUNT_NOT_TRADABLE 0.000000001 dollars buy no quantity of AAPL at 149.95 that can be traded")
	v.want("no quote", v.sends("3", "buy $100 MSFT market"), "rejected MARKET_UNAVAILABLE there is no quote of MSFT at which a market order is executed now")
	v.want("events", v.events(), "1 fill sp-1 buy AAPL 0.666888962@149.95 15:00")
	v.want("a part of it is sold", v.sends("4", "sell 0.666888962 AAPL market"), "accepted paper-2 filled 0.666888962 AAPL at 149.90")
	rows, err := v.Rows(context.Background(), 0, 1)
	if err != nil || len(rows) != 1 || rows[0].Amount.String() != "100" || rows[0].Quantity.String() != "0.666888962" {
		t.Errorf("%+v, %v", rows, err)
	}
	audit(t, v.Broker)
}

//attack:paper-exits
func TestExitsFollowTheFillAndOneEndsBoth(t *testing.T) {
	v := newVenue(t, "100000")
	v.want("an entry that rests", v.sends("1", "buy 10 AAPL at 145 gtc sl=140 tp=160"), "accepted paper-1 working until it is cancelled")
	v.want("no exits before it fills", v.working(), "paper-1 sp-1 buy 10")
	v.quoteAt("10:30:00", "144", "145")
	v.want("exits", v.working(), "paper-2 sp-1 sell 10 exits")
	v.want("shares that they hold", v.sends("2", "sell 1 AAPL market"), "rejected INSUFFICIENT_POSITION a sell of 1 AAPL needs as many shares and 0 are free")
	v.quoteAt("10:31:00", "140.01", "140.02")
	v.reopen()
	v.want("a tick above the loss", v.working(), "paper-2 sp-1 sell 10 exits")
	v.quoteAt("10:32:00", "139", "139.02")
	v.want("the loss", v.working(), "")
	v.quoteAt("10:33:00", "170", "171")
	v.want("holdings, and the profit is gone with it", v.holdings(), "99940.00")
	v.want("events", v.events(), "1 fill sp-1 buy AAPL 10@145 15:30; 2 fill sp-1 sell AAPL 10@139 15:32")
	v.want("its answer is what it was", v.sends("1", "buy 10 AAPL at 145 gtc sl=140 tp=160"), "accepted paper-1 working until it is cancelled")
	es, err := v.Events(context.Background(), 1)
	if err != nil || len(es) != 1 || !es[0].Exits {
		t.Errorf("%+v, %v", es, err)
	}
	v.want("an entry that fills at once", v.sends("3", "buy 10 AAPL market sl=160 tp=180"), "accepted paper-3 filled 10 AAPL at 171.00")
	v.quoteAt("10:34:00", "181", "182")
	v.quoteAt("10:35:00", "100", "101")
	v.want("events", v.events(), "1 fill sp-1 buy AAPL 10@145 15:30; 2 fill sp-1 sell AAPL 10@139 15:32; "+
		"3 fill sp-3 buy AAPL 10@171 15:33; 4 fill sp-3 sell AAPL 10@181 15:34")
	audit(t, v.Broker)
}

func TestExitsOfADayOrderStayOvernight(t *testing.T) {
	v := newVenue(t, "100000")
	v.sends("1", "buy 10 AAPL at 150 sl=140")
	v.set(monday.Add(24 * time.Hour))
	v.reopen()
	v.want("the next day", v.working(), "paper-2 sp-1 sell 10 exits")
	rows, err := v.Rows(context.Background(), 1, 10)
	if err != nil || len(rows) != 1 || rows[0].ExitsOf != "paper-1" || !rows[0].ExpiresAt.IsZero() || rows[0].ID != "sp-1" || rows[0].StopLoss.Stop.String() != "140" {
		t.Errorf("%+v, %v", rows, err)
	}
	v.quoteAt("17:00:00", "130", "131")
	v.want("a quote after the close", v.working(), "paper-2 sp-1 sell 10 exits")
	audit(t, v.Broker)
}

//attack:paper-cancel-exits
func TestCancelOfAnEntryLeavesItsExits(t *testing.T) {
	v := newVenue(t, "100000")
	v.sends("1", "buy 10 AAPL at 150 sl=140 tp=160")
	v.want("the entry, which a fill has overtaken", v.cancels("1", false), "rejected paper-1 ORDER_FILLED the order is filled")
	v.want("exits", v.working(), "paper-2 sp-1 sell 10 exits")
	v.want("a stored id is none that can be sent", v.refuses("1/exits"), "true")
	v.want("the exits", v.cancels("1", true), "accepted paper-1 the exits are cancelled")
	v.want("once more", v.cancels("1", true), "accepted paper-1 the exits are cancelled")
	v.want("working", v.working(), "")
	v.want("events", v.events(), "1 fill sp-1 buy AAPL 10@149.95 15:00; 2 cancelled sp-1 sell AAPL 10@0 15:00")
	v.sends("2", "buy 10 AAPL at 140 sl=130")
	v.want("exits that are not there yet", v.cancels("2", true), "rejected ORDER_NOT_FOUND the order sp-2 has no exits")
	v.want("an entry that works", v.cancels("2", false), "accepted paper-3 the order is cancelled")
	v.quoteAt("10:30:00", "120", "121")
	v.want("no exits of what was not filled", v.working(), "")
	v.sends("3", "buy 10 AAPL market tp=130")
	v.quoteAt("10:31:00", "131", "132")
	v.want("exits that are filled", v.cancels("3", true), "rejected paper-4 ORDER_FILLED the exits are filled")
	v.want("exits of an unknown order", v.cancels("9", true), "rejected ORDER_NOT_FOUND no such order has the id sp-9")
	audit(t, v.Broker)
}

// refuses reports whether the venue takes no order, cancel or look under an id.
func (v *venue) refuses(id string) string {
	ctx := context.Background()
	c := v.clearedFor(id, "sell 10 AAPL at 1")
	_, errSubmit := v.submit(ctx, c)
	_, errCancel := v.cancel(ctx, c)
	r, err := v.Lookup(ctx, c.ID, monday.AddDate(1, 0, 0))
	return fmt.Sprint(errSubmit != nil && errCancel != nil && err == nil && r.OrderID == "" && r.Outcome != trade.Accepted)
}

//attack:paper-instrument
func TestOrdersThatDoNotFitAreRejected(t *testing.T) {
	v := newVenue(t, "100000")
	v.want("off the tick", v.sends("1", "buy 1 AAPL at 150.005 gtc"), "rejected PRICE_OFF_TICK AAPL has no price of 150.005; beside it are 150.00 and 150.01")
	list, err := market.ReadInstruments(strings.NewReader(`{"symbol":"AAPL","asset_class":"us_equity","currency":"USD","tick":"0.01","lot":"10","minimum":"10","multiplier":"1"}`))
	if err != nil {
		t.Fatal(err)
	}
	var broken error
	v.cfg.Instruments = func() (*market.Instruments, error) { return list, broken }
	v.reopen()
	v.want("its first answer", v.sends("1", "buy 1 AAPL at 150.005 gtc"), "rejected PRICE_OFF_TICK AAPL has no price of 150.005; beside it are 150.00 and 150.01")
	v.want("off the lot", v.sends("2", "buy 11 AAPL at 150"), "rejected QUANTITY_OFF_LOT AAPL is not traded in a quantity of 11; beside it are 10 and 20")
	v.want("not listed", v.sends("3", "buy 10 MSFT at 150"), "rejected SYMBOL_NOT_LISTED MSFT is not in the list of instruments")
	broken = errors.New("line 3 is rubbish")
	v.want("a list that cannot be read", v.sends("5", "buy 10 AAPL at 150"), "rejected INSTRUMENTS_UNUSABLE line 3 is rubbish")
	broken = nil
	v.want("an amount", v.sends("4", "buy $2999 AAPL market"), "accepted paper-1 filled 20 AAPL at 149.95")
	audit(t, v.Broker)
}

// TestVenueOfTheFirstReleaseOpens opens the file that release 0.1.0 made: its rows read as they did then, and it trades on.
func TestVenueOfTheFirstReleaseOpens(t *testing.T) {
	dir := t.TempDir()
	raw, err := os.ReadFile("../../testdata/releases/v0.1.0/home/paper.db")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "paper.db"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	v := newVenueIn(t, dir, "7")
	defer v.Close()
	rows, err := v.Rows(context.Background(), 0, 100)
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, r := range rows {
		if r.Type != trade.Limit || r.TimeInForce != trade.Day || r.LimitPrice.Sign() <= 0 || r.ExitsOf != "" || r.Amount.Sign() != 0 || r.ExpiresAt.IsZero() || r.Digest == (trade.Digest{}) {
			t.Errorf("%+v", r)
		}
	}
	var anywhere int
	if err := v.db.QueryRow(`SELECT count(*) FROM paper_ledger WHERE hours = 'any' AND held IS NULL`).Scan(&anywhere); err != nil || anywhere != len(rows) {
		t.Errorf("%d of %d rows meet any quote, %v", anywhere, len(rows), err)
	}
	audit(t, v.Broker)
	v.sends("new", "buy 1 AAPL market sl=140")
	audit(t, v.Broker)
}
