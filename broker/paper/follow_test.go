package paper

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/store"
	"sallyport/trade"
)

//attack:paper-day-order
func TestDayOrdersExpireAtTheClose(t *testing.T) {
	v := newVenue(t, "100000")
	v.send("1", "buy", "AAPL", "10", "140")
	v.quote("AAPL", "139", "139.50")
	v.set(time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC))
	v.reopen()
	v.want("holdings", v.holdings(), "100000.00")
	v.want("events", v.events(), "1 expired sp-1 buy AAPL 10@0 21:00")
	v.want("all cash is free again", v.send("2", "buy", "AAPL", "1", "100000"), "accepted paper-2 filled 1 AAPL at 139.50")
	audit(t, v.Broker)
}

//attack:paper-day-order
func TestExpiryIsStampedWithTheCloseEvenIfItIsSeenLater(t *testing.T) {
	v := newVenue(t, "100000")
	v.send("1", "buy", "AAPL", "10", "140")
	v.set(time.Date(2026, 12, 3, 3, 0, 0, 0, time.UTC))
	v.send("2", "buy", "AAPL", "10", "140")
	rows, err := v.Rows(context.Background(), 0, 10)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if r := rows[0]; r.Status != Expired || !r.ClosedAt.Equal(r.ExpiresAt) || !r.ExpiresAt.Equal(time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC)) {
		t.Errorf("the first row: %+v", r)
	}
	if r := rows[1]; r.Status != Working || !r.ClosedAt.IsZero() || r.Filled.Sign() != 0 {
		t.Errorf("the second row: %+v", r)
	}
	v.set(time.Date(2026, 12, 3, 20, 59, 59, 999_999_000, time.UTC))
	v.reopen()
	v.want("a microsecond before the close", v.events(), "1 expired sp-1 buy AAPL 10@0 21:00")
}

func TestCancelEndsAWorkingOrder(t *testing.T) {
	v := newVenue(t, "100000")
	cancel := func(id, side, quantity, limit string) string {
		t.Helper()
		r, err := v.cancel(context.Background(), v.cleared(id, side, "AAPL", quantity, limit))
		if err != nil {
			t.Fatal(err)
		}
		return line(r)
	}
	v.send("1", "buy", "AAPL", "10", "140")
	v.want("other terms under the id", cancel("1", "buy", "9", "140"), "rejected ORDER_NOT_FOUND no such order has the id sp-1")
	v.want("an id that is not there", cancel("9", "buy", "9", "140"), "rejected ORDER_NOT_FOUND no such order has the id sp-9")
	v.want("the order", cancel("1", "buy", "10", "140"), "accepted paper-1 the order is cancelled")
	v.want("once more", cancel("1", "buy", "10", "140"), "accepted paper-1 the order is cancelled")
	v.quote("AAPL", "100", "101")
	v.reopen()
	v.want("holdings", v.holdings(), "100000.00")
	v.want("events", v.events(), "1 cancelled sp-1 buy AAPL 10@0 15:00")
	v.send("2", "buy", "AAPL", "10", "140")
	v.want("a filled order", cancel("2", "buy", "10", "140"), "rejected paper-2 ORDER_FILLED the order is filled")
	v.send("3", "buy", "AAPL", "10", "90")
	v.set(monday.Add(24 * time.Hour))
	v.want("an order whose day is over", cancel("3", "buy", "10", "90"), "accepted paper-3 the order is expired")
	v.send("4", "sell", "AAPL", "99", "90")
	v.want("a rejected order", cancel("4", "sell", "99", "90"), "rejected ORDER_NOT_FOUND no such order has the id sp-4")
	r, err := v.cancel(context.Background(), gate.Cleared{ID: "sp-3", NotAfter: v.clock()})
	if err != nil || r.Outcome != trade.Accepted {
		t.Errorf("by id alone: %v, %v", r, err)
	}
	audit(t, v.Broker)
}

func TestLookupAnswersAsTheFirstReceiptDid(t *testing.T) {
	v := newVenue(t, "100000")
	look := func(id string, notAfter time.Time) string {
		t.Helper()
		r, err := v.Lookup(context.Background(), trade.BrokerOrderID("sp-"+id), notAfter)
		if err != nil {
			t.Fatal(err)
		}
		return line(r)
	}
	filled, refused := v.send("1", "buy", "AAPL", "10", "150"), v.send("2", "sell", "AAPL", "11", "1")
	v.want("accepted", look("1", monday.Add(time.Hour)), filled)
	v.want("rejected", look("2", monday.Add(-time.Hour)), refused)
	v.want("not there, and its permit is still good", look("3", monday), "unknown")
	v.want("an order that arrives after all", v.send("3", "buy", "AAPL", "1", "150"), "accepted paper-2 filled 1 AAPL at 149.95")
	v.want("not there, and its permit has expired", look("4", monday.Add(-time.Microsecond)), "rejected NEVER_RECEIVED no order of this id arrived in time")
	v.want("asked again with a later time", look("4", monday.Add(time.Hour)), "rejected NEVER_RECEIVED no order of this id arrived in time")
}

//attack:paper-not-after
func TestLookupThatSaysNeverReceivedClosesTheID(t *testing.T) {
	v := newVenue(t, "100000")
	c := v.cleared("1", "buy", "AAPL", "10", "150")
	v.set(c.NotAfter.Add(time.Second))
	if r, err := v.Lookup(context.Background(), c.ID, c.NotAfter); err != nil || r.Code != string(NeverReceived) {
		t.Fatalf("Lookup = %v, %v", r, err)
	}
	v.set(monday) // the clock is put back, so that the permit is good again
	r, err := v.submit(context.Background(), c)
	if err != nil || r.Outcome != trade.Rejected || r.Code != string(NeverReceived) {
		t.Fatalf("an order that was reported as never received: %v, %v", r, err)
	}
	v.want("holdings", v.holdings(), "100000.00")
}

//attack:paper-id
func TestLookupOfAnIDThatCannotBeStoresNothing(t *testing.T) {
	v := newVenue(t, "100000")
	for _, id := range []string{"", strings.Repeat("x", 129), "a b", "\x00", "é"} {
		if r, err := v.Lookup(context.Background(), trade.BrokerOrderID(id), monday.Add(-1)); err != nil || r.Outcome != trade.Rejected {
			t.Errorf("Lookup(%q) = %v, %v", id, r, err)
		}
		c := v.cleared("1", "buy", "AAPL", "10", "150")
		c.ID = trade.BrokerOrderID(id)
		if r, err := v.submit(context.Background(), c); !errors.Is(err, gate.ErrNotSent) {
			t.Errorf("submit(%q) = %v, %v", id, r, err)
		}
	}
	var n int
	if err := v.db.QueryRow(`SELECT count(*) FROM paper_rejections`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rejections stored, %v", n, err)
	}
}

//attack:paper-events-page
func TestEventsComeInPagesWithoutGaps(t *testing.T) {
	v := newVenue(t, "100000")
	const n = maxEvents + 3
	err := store.Immediate(context.Background(), v.db, func(tx *store.Tx) error {
		d, err := v.sit(tx)
		if err != nil {
			return err
		}
		book, err := v.book()
		if err != nil {
			return err
		}
		for i := range n {
			if _, err := d.take(v.cleared(fmt.Sprint(i), "buy", "AAPL", "1", "150"), v.Broker, book, nil); err != nil {
				return err
			}
		}
		return d.flush()
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []gate.VenueEvent
	for _, want := range []int{maxEvents, 3, 0} {
		page, err := v.Events(context.Background(), uint64(len(all)))
		if err != nil || len(page) != want {
			t.Fatalf("after %d: %d events, %v; want %d", len(all), len(page), err, want)
		}
		all = append(all, page...)
	}
	for i, e := range all {
		if e.Number != uint64(i+1) {
			t.Fatalf("event %d has the number %d", i+1, e.Number)
		}
	}
	for _, after := range []uint64{1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
		if page, err := v.Events(context.Background(), after); err != nil || len(page) != 0 {
			t.Errorf("after %d: %d events, %v", after, len(page), err)
		}
	}
	audit(t, v.Broker)
}

func TestRowsShowTheLedger(t *testing.T) {
	v := newVenue(t, "100000")
	v.send("1", "buy", "AAPL", "10", "150")
	v.send("2", "buy", "AAPL", "1", "1")
	rows, err := v.Rows(context.Background(), 0, 10)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	c := v.cleared("1", "buy", "AAPL", "10", "150")
	want := Row{
		OrderID: "paper-1", ID: "sp-1", Digest: c.Order.Digest(), Symbol: sym(t, "AAPL"), Side: trade.Buy,
		Quantity: dec(t, "10"), LimitPrice: dec(t, "150"), Type: trade.Limit, TimeInForce: trade.Day,
		Status: Filled, Filled: dec(t, "10"), FilledPrice: dec(t, "149.95"),
		AcceptedAt: monday, ExpiresAt: time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC), ClosedAt: monday,
	}
	if !reflect.DeepEqual(rows[0], want) {
		t.Errorf("row = %+v\nwant  %+v", rows[0], want)
	}
	for _, c := range []struct {
		after uint64
		limit int
		want  int
	}{{0, 1, 1}, {1, 10, 1}, {2, 10, 0}, {1<<64 - 1, 10, 0}, {0, 0, 0}, {0, -1, 0}} {
		if rows, err := v.Rows(context.Background(), c.after, c.limit); err != nil || len(rows) != c.want {
			t.Errorf("Rows(%d, %d) = %d rows, %v", c.after, c.limit, len(rows), err)
		}
	}
}

func TestPayloadsAreRecognisable(t *testing.T) {
	v := newVenue(t, "100000")
	v.send("1", "buy", "AAPL", "10", "150")
	v.send("2", "sell", "AAPL", "11", "150")
	v.send("3", "buy", "AAPL", "1", "1.5")
	for id, want := range map[string]string{
		"1": `{"status":"SUCCESS","order_id":"paper-1","client_order_id":"sp-1","symbol":"AAPL","side":"buy","quantity":"10","limit_price":"150.00","filled_quantity":"10"}`,
		"2": `{"status":"ERROR","code":"INSUFFICIENT_POSITION","message":"a sell of 11 AAPL needs as many shares and 10 are free"}`,
		"3": `{"status":"SUCCESS","order_id":"paper-2","client_order_id":"sp-3","symbol":"AAPL","side":"buy","quantity":"1","limit_price":"1.50","filled_quantity":"0"}`,
		"4": ``,
	} {
		got, found, err := v.Payload(context.Background(), trade.BrokerOrderID("sp-"+id))
		if err != nil || string(got) != want || found != (want != "") {
			t.Errorf("%s: %s, %t, %v\nwant %s", id, got, found, err, want)
		}
		outcome := map[byte]trade.Outcome{'S': trade.Accepted, 'E': trade.Rejected}
		if found && dialect.PaperAnswer(got).Outcome != outcome[got[len(`{"status":"`)]] {
			t.Errorf("the dialect reads %s as %+v", got, dialect.PaperAnswer(got))
		}
	}
}

func TestCodesTableHoldsEveryCodeOnce(t *testing.T) {
	seen := map[trade.Code]bool{}
	for _, row := range Codes() {
		if seen[row.Code] || row.Meaning == "" || row.Repair == "" {
			t.Errorf("row %+v", row)
		}
		seen[row.Code] = true
	}
	if len(seen) != 15 {
		t.Errorf("%d codes", len(seen))
	}
}
