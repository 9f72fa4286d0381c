package paper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/market"
	"sallyport/store"
	"sallyport/trade"
	"sallyport/wire"
)

// venue is one venue under test, its quotes and its clock.
type venue struct {
	*Broker
	t   testing.TB
	cfg Config
	mu  sync.Mutex
	at  time.Time
}

var monday = time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC) // ten in the morning in New York

func newVenue(t testing.TB, cash string) *venue {
	t.Helper()
	dir := t.TempDir()
	v := &venue{t: t, at: monday}
	v.cfg = Config{
		Path: filepath.Join(dir, "paper.db"), Quotes: &market.File{Path: filepath.Join(dir, "quotes.jsonl")},
		Cash: dec(t.(interface{ Fatalf(string, ...any) }), cash), Now: v.clock,
	}
	v.quote("AAPL", "149.90", "149.95")
	v.reopen()
	t.Cleanup(func() { v.Close() })
	return v
}

func (v *venue) clock() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.at
}

func (v *venue) set(at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at = at
}

func (v *venue) reopen() {
	v.t.Helper()
	if v.Broker != nil {
		if err := v.Close(); err != nil {
			v.t.Fatal(err)
		}
	}
	b, err := Open(context.Background(), v.cfg)
	if err != nil {
		v.t.Fatal(err)
	}
	v.Broker = b
}

// quote replaces the file of quotes by one line.
func (v *venue) quote(symbol, bid, ask string) {
	v.t.Helper()
	v.quotes(fmt.Sprintf(`{"symbol":%q,"bid":%q,"ask":%q,"last":%q,"at":"2026-11-30T14:59:00Z"}`+"\n", symbol, bid, ask, bid))
}

func (v *venue) quotes(text string) {
	v.t.Helper()
	next := v.cfg.Quotes.Path + ".new"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		v.t.Fatal(err)
	}
	if err := os.Rename(next, v.cfg.Quotes.Path); err != nil {
		v.t.Fatal(err)
	}
}

func parsed(t testing.TB, side, symbol, quantity, limit string) trade.Order {
	t.Helper()
	text := func(s string) trade.Text { return trade.Text{Name: "field", Value: s, Kind: trade.IsText} }
	o, _, faults := trade.Parse(trade.Draft{
		Account: "paper", Symbol: text(symbol), Side: text(side), Quantity: text(quantity), Type: text("limit"),
		LimitPrice: text(limit), TimeInForce: text("day"),
	})
	if len(faults) > 0 {
		t.Fatalf("%s %s %s %s: %v", side, symbol, quantity, limit, faults)
	}
	return o
}

func (v *venue) cleared(id, side, symbol, quantity, limit string) gate.Cleared {
	v.t.Helper()
	return gate.Cleared{
		Order: parsed(v.t, side, symbol, quantity, limit), ID: trade.BrokerOrderID("sp-" + id), NotAfter: v.clock().Add(5 * time.Second),
	}
}

// send submits and returns the receipt in one line.
func (v *venue) send(id, side, symbol, quantity, limit string) string {
	v.t.Helper()
	r, err := v.submit(context.Background(), v.cleared(id, side, symbol, quantity, limit))
	if err != nil {
		v.t.Fatalf("submit %s: %v", id, err)
	}
	return line(r)
}

func line(r gate.Receipt) string {
	return strings.Join(strings.Fields(fmt.Sprintln(r.Outcome, r.OrderID, r.Code, r.Message)), " ")
}

func (v *venue) want(what, got, want string) {
	v.t.Helper()
	if got != want {
		v.t.Fatalf("%s: %s\nwant: %s", what, got, want)
	}
}

func (v *venue) holdings() string {
	v.t.Helper()
	h, err := v.Holdings(context.Background())
	if err != nil {
		v.t.Fatal(err)
	}
	s := h.Cash.Money()
	for _, p := range h.Positions {
		s += fmt.Sprintf(" %v×%v", p.Quantity, p.Symbol)
	}
	return s
}

func (v *venue) events() string {
	v.t.Helper()
	es, err := v.Events(context.Background(), 0)
	if err != nil {
		v.t.Fatal(err)
	}
	var s []string
	for _, e := range es {
		s = append(s, fmt.Sprintf("%d %v %s %v %v %v@%v %s", e.Number, e.Kind, e.ID, e.Side, e.Symbol, e.Quantity, e.Price, e.At.Format("15:04")))
	}
	return strings.Join(s, "; ")
}

func TestBuyFillsAtTheAskAndASellAtTheBid(t *testing.T) {
	v := newVenue(t, "100000")
	v.want("a buy", v.send("1", "buy", "AAPL", "10", "150.00"), "accepted paper-1 filled 10 AAPL at 149.95")
	v.want("holdings", v.holdings(), "98500.50 10×AAPL")
	v.want("a sell", v.send("2", "sell", "AAPL", "4", "149.90"), "accepted paper-2 filled 4 AAPL at 149.90")
	v.want("holdings", v.holdings(), "99100.10 6×AAPL")
	v.want("events", v.events(), "1 fill sp-1 buy AAPL 10@149.95 15:00; 2 fill sp-2 sell AAPL 4@149.9 15:00")
	v.want("the rest", v.send("3", "sell", "AAPL", "6", "1"), "accepted paper-3 filled 6 AAPL at 149.90")
	v.want("holdings", v.holdings(), "99999.50")
	audit(t, v.Broker)
}

func TestDefaultCashIsGivenOnce(t *testing.T) {
	v := newVenue(t, "0")
	v.want("holdings", v.holdings(), "100000.00")
	v.send("1", "buy", "AAPL", "10", "150.00")
	v.cfg.Cash = dec(t, "7")
	v.reopen()
	v.want("holdings after another configuration", v.holdings(), "98500.50 10×AAPL")
	v.cfg.Cash = dec(t, "0").Sub(dec(t, "1"))
	if _, err := Open(context.Background(), v.cfg); err == nil {
		t.Error("cash below zero was taken")
	}
}

func TestOrderRestsUntilAQuoteReachesIt(t *testing.T) {
	v := newVenue(t, "100000")
	v.want("a buy below the ask", v.send("1", "buy", "AAPL", "10", "140"), "accepted paper-1 working until 2026-11-30T21:00:00Z")
	v.want("an order without a quote", v.send("2", "buy", "MSFT", "1", "400"), "accepted paper-2 working until 2026-11-30T21:00:00Z")
	v.quote("AAPL", "139", "139.50")
	v.want("holdings before anything arrives", v.holdings(), "100000.00")
	v.want("an order that arrives", v.send("3", "buy", "MSFT", "1", "400"), "accepted paper-3 working until 2026-11-30T21:00:00Z")
	v.want("holdings", v.holdings(), "98605.00 10×AAPL")
	v.quote("MSFT", "390", "395")
	v.reopen()
	v.want("holdings after the venue was opened", v.holdings(), "97815.00 10×AAPL 2×MSFT")
	v.want("events", v.events(), "1 fill sp-1 buy AAPL 10@139.5 15:00; 2 fill sp-2 buy MSFT 1@395 15:00; 3 fill sp-3 buy MSFT 1@395 15:00")
	audit(t, v.Broker)
}

func TestWorkingSellFillsWhenTheBidRises(t *testing.T) {
	v := newVenue(t, "100000")
	v.send("1", "buy", "AAPL", "10", "150")
	v.want("a sell above the bid", v.send("2", "sell", "AAPL", "10", "155"), "accepted paper-2 working until 2026-11-30T21:00:00Z")
	v.quote("AAPL", "155.01", "155.02")
	if err := v.Match(context.Background()); err != nil {
		t.Fatal(err)
	}
	v.want("holdings", v.holdings(), "100050.60")
	audit(t, v.Broker)
}

func TestNothingIsMatchedOnACrossedQuote(t *testing.T) {
	v := newVenue(t, "100000")
	v.quote("AAPL", "150", "149")
	v.want("a buy", v.send("1", "buy", "AAPL", "10", "160"), "accepted paper-1 working until 2026-11-30T21:00:00Z")
	v.reopen()
	v.want("holdings", v.holdings(), "100000.00")
	v.quote("AAPL", "149", "149")
	v.reopen()
	v.want("holdings once it is not crossed", v.holdings(), "98510.00 10×AAPL")
}

func TestWithoutAFileOfQuotesOrdersRest(t *testing.T) {
	v := newVenue(t, "100000")
	if err := os.Remove(v.cfg.Quotes.Path); err != nil {
		t.Fatal(err)
	}
	v.want("no file", v.send("1", "buy", "AAPL", "10", "160"), "accepted paper-1 working until 2026-11-30T21:00:00Z")
	v.cfg.Quotes = nil
	v.reopen()
	v.want("no market", v.send("2", "buy", "AAPL", "10", "160"), "accepted paper-2 working until 2026-11-30T21:00:00Z")
}

func TestBadQuotesRejectOrdersAndMatchNothing(t *testing.T) {
	v := newVenue(t, "100000")
	v.send("1", "buy", "AAPL", "10", "140")
	v.quotes(`{"symbol":"AAPL","bid":"1","ask":"1","last":"1","at":"2026-11-30T15:00:00Z"}` + "\nrubbish\n")
	got := v.send("2", "buy", "AAPL", "10", "150")
	if !strings.HasPrefix(got, "rejected QUOTES_UNUSABLE") || !strings.Contains(got, "line 2") {
		t.Fatalf("an order: %s", got)
	}
	v.reopen()
	v.want("holdings", v.holdings(), "100000.00")
	v.quote("AAPL", "139", "139.50")
	v.want("the same id once they are repaired", v.send("2", "buy", "AAPL", "10", "150"), got)
	v.want("holdings", v.holdings(), "98605.00 10×AAPL")
}

func TestSameIDAnswersWithTheFirstReceipt(t *testing.T) {
	v := newVenue(t, "100000")
	filled := v.send("1", "buy", "AAPL", "10", "150")
	working := v.send("2", "buy", "AAPL", "10", "140")
	refused := v.send("3", "sell", "AAPL", "11", "140")
	v.want("a sell beyond the position", refused, "rejected INSUFFICIENT_POSITION a sell of 11 AAPL needs as many shares and 10 are free")
	before := v.holdings()
	again := func(what string) {
		t.Helper()
		v.want(what+", filled", v.send("1", "buy", "AAPL", "10.0", "150.00"), filled)
		v.want(what+", working", v.send("2", "buy", "AAPL", "10", "140"), working)
		v.want(what+", rejected", v.send("3", "sell", "AAPL", "11", "140"), refused)
		v.want(what+", other content", v.send("1", "buy", "AAPL", "11", "150"), "rejected DUPLICATE_ID the id sp-1 belongs to another order")
		v.want(what+", other content of a rejected id", v.send("3", "sell", "AAPL", "1", "140"), "rejected DUPLICATE_ID the id sp-3 belongs to another order")
	}
	again("at once")
	v.want("holdings", v.holdings(), before)
	v.reopen()
	again("after it was opened again")
	v.quote("AAPL", "138", "139")
	v.send("4", "buy", "AAPL", "1", "1")
	again("after it filled")
	v.set(monday.Add(48 * time.Hour))
	again("two days later")
	if rows, err := v.Rows(context.Background(), 0, 100); err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v; want 3", len(rows), err)
	}
	audit(t, v.Broker)
}

//attack:paper-cash
func TestCashIsReservedByWorkingBuysInEveryProcess(t *testing.T) {
	v := newVenue(t, "1500")
	v.want("a working buy", v.send("1", "buy", "AAPL", "6", "100"), "accepted paper-1 working until 2026-11-30T21:00:00Z")
	other, err := Open(context.Background(), v.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	r, err := other.submit(context.Background(), v.cleared("2", "buy", "AAPL", "9", "100.01"))
	if err != nil {
		t.Fatal(err)
	}
	v.want("through another handle", line(r), "rejected INSUFFICIENT_CASH a buy of 9 AAPL at 100.01 needs 900.09 and 900.00 is free")
	v.want("exactly what is free", v.send("3", "buy", "AAPL", "9", "100"), "accepted paper-2 working until 2026-11-30T21:00:00Z")
	v.want("one cent more", v.send("4", "buy", "AAPL", "1", "0.01"), "rejected INSUFFICIENT_CASH a buy of 1 AAPL at 0.01 needs 0.01 and 0.00 is free")
	audit(t, v.Broker)
}

//attack:paper-long-only
func TestSellsCannotUseTheSameSharesTwice(t *testing.T) {
	v := newVenue(t, "100000")
	v.want("nothing held", v.send("0", "sell", "AAPL", "1", "1"), "rejected INSUFFICIENT_POSITION a sell of 1 AAPL needs as many shares and 0 are free")
	v.send("1", "buy", "AAPL", "10", "150")
	v.send("2", "sell", "AAPL", "6", "200")
	v.want("beyond what is free", v.send("3", "sell", "AAPL", "5", "1"), "rejected INSUFFICIENT_POSITION a sell of 5 AAPL needs as many shares and 4 are free")
	v.want("what is free", v.send("4", "sell", "AAPL", "4", "1"), "accepted paper-3 filled 4 AAPL at 149.90")
	r, err := v.cancel(context.Background(), v.cleared("2", "sell", "AAPL", "6", "200"))
	if err != nil || r.Outcome != trade.Accepted {
		t.Fatalf("cancel: %v, %v", r, err)
	}
	v.want("after a cancel", v.send("5", "sell", "AAPL", "6", "1"), "accepted paper-4 filled 6 AAPL at 149.90")
	audit(t, v.Broker)
}

//attack:paper-working-orders
func TestOneWorkingOrderTooManyIsRejected(t *testing.T) {
	v := newVenue(t, "100000")
	v.send("1", "buy", "AAPL", "1", "1")
	if _, err := v.db.Exec(`UPDATE paper_account SET working = ?`, maxWorking-1); err != nil {
		t.Fatal(err)
	}
	v.send("2", "buy", "AAPL", "1", "1")
	v.want("one more", v.send("3", "buy", "AAPL", "1", "1"), "rejected TOO_MANY_WORKING_ORDERS 10000 orders are working, at most 10000 may")
}

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

//attack:paper-not-after
func TestPermitThatExpiresWhileTheVenueWaitsIsNotUsed(t *testing.T) {
	v := newVenue(t, "100000")
	c := v.cleared("1", "buy", "AAPL", "10", "150")
	v.set(c.NotAfter.Add(time.Microsecond))
	r, err := v.submit(context.Background(), c)
	if !errors.Is(err, gate.ErrNotSent) || !errors.Is(err, gate.ErrPermitExpired) || r != (gate.Receipt{}) {
		t.Fatalf("submit = %v, %v", r, err)
	}
	v.set(c.NotAfter)
	if r, err := v.submit(context.Background(), c); err != nil || r.Outcome != trade.Accepted {
		t.Fatalf("at its not-after time: %v, %v", r, err)
	}
	w := v.cleared("2", "buy", "AAPL", "1", "1")
	if _, err := v.submit(context.Background(), w); err != nil {
		t.Fatal(err)
	}
	v.set(w.NotAfter.Add(time.Microsecond))
	if r, err := v.cancel(context.Background(), w); !errors.Is(err, gate.ErrPermitExpired) {
		t.Fatalf("cancel = %v, %v", r, err)
	}
	audit(t, v.Broker)
}

func TestZeroPermitIsRefused(t *testing.T) {
	v := newVenue(t, "100000")
	for name, call := range map[string]func(context.Context, gate.Permit) (gate.Receipt, error){"Submit": v.Submit, "Cancel": v.Cancel} {
		r, err := call(context.Background(), gate.Permit{})
		if !errors.Is(err, gate.ErrNotSent) || !errors.Is(err, gate.ErrNoPermit) || r != (gate.Receipt{}) {
			t.Errorf("%s = %v, %v", name, r, err)
		}
	}
	if r, err := v.submit(context.Background(), gate.Cleared{ID: "sp-1", NotAfter: monday}); !errors.Is(err, gate.ErrNotSent) {
		t.Errorf("no order: %v, %v", r, err)
	}
	v.want("events", v.events(), "")
}

func TestCancelledContextStoresNothing(t *testing.T) {
	v := newVenue(t, "100000")
	v.send("0", "buy", "AAPL", "1", "1")
	ctx, cancel := context.WithCancel(context.Background())
	v.Broker.now = func() time.Time { // called once the lock is held
		cancel()
		return monday
	}
	c := v.cleared("1", "buy", "AAPL", "10", "150")
	for name, call := range map[string]func(context.Context, gate.Cleared) (gate.Receipt, error){"submit": v.submit, "cancel": v.cancel} {
		if r, err := call(ctx, c); !errors.Is(err, context.Canceled) || !errors.Is(err, gate.ErrNotSent) {
			t.Errorf("%s = %v, %v", name, r, err)
		}
	}
	v.Broker.now = v.clock
	rows, err := v.Rows(context.Background(), 0, 10)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v; want the first one alone", len(rows), err)
	}
	v.want("the same order later", v.send("1", "buy", "AAPL", "10", "150"), "accepted paper-2 filled 10 AAPL at 149.95")
	audit(t, v.Broker)
}

//attack:paper-lock-wait
func TestCallGivesUpWaitingForTheLock(t *testing.T) {
	v := newVenue(t, "100000")
	b, err := open(context.Background(), v.cfg, 30*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	held, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := store.Immediate(context.Background(), v.db, func(*store.Tx) error {
			close(held)
			<-release
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-held
	c := v.cleared("1", "buy", "AAPL", "10", "150")
	r, errSubmit := b.submit(context.Background(), c)
	l, errLookup := b.Lookup(context.Background(), c.ID, monday.Add(-1))
	h, errHoldings := b.Holdings(context.Background())
	close(release)
	wg.Wait()
	if !errors.Is(errSubmit, gate.ErrNotSent) || r != (gate.Receipt{}) {
		t.Errorf("submit = %v, %v", r, errSubmit)
	}
	if errLookup == nil || l.Outcome != trade.Unknown {
		t.Errorf("Lookup while a commit may be in progress = %v, %v", l, errLookup)
	}
	if errHoldings != nil || h.Cash.String() != "100000" {
		t.Errorf("Holdings = %v, %v; a reader waits for nobody", h, errHoldings)
	}
	if lockWait != 5*time.Second {
		t.Errorf("the wait is %v", lockWait)
	}
	if r, err := b.submit(context.Background(), c); err != nil || r.Outcome != trade.Accepted {
		t.Errorf("once the lock is free: %v, %v", r, err)
	}
}

func TestClosedVenueSendsNothing(t *testing.T) {
	v := newVenue(t, "100000")
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := v.submit(context.Background(), v.cleared("1", "buy", "AAPL", "10", "150")); !errors.Is(err, gate.ErrNotSent) {
		t.Errorf("submit = %v, %v", r, err)
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
		Quantity: dec(t, "10"), LimitPrice: dec(t, "150"), Status: Filled, Filled: dec(t, "10"), FilledPrice: dec(t, "149.95"),
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
		if found {
			if _, err := wire.Read(got, wire.Limits{Bytes: 1 << 10, Depth: 1}); err != nil {
				t.Errorf("%s is not JSON: %v", got, err)
			}
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
	if len(seen) != 8 {
		t.Errorf("%d codes", len(seen))
	}
}

func TestConcurrentOrdersOfOneIDAreOneOrder(t *testing.T) {
	v := newVenue(t, "100000")
	other, err := Open(context.Background(), v.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	c := v.cleared("1", "buy", "AAPL", "10", "150")
	var wg sync.WaitGroup
	for i := range 32 {
		b := []*Broker{v.Broker, other}[i%2]
		wg.Go(func() {
			r, err := b.submit(context.Background(), c)
			if err != nil || line(r) != "accepted paper-1 filled 10 AAPL at 149.95" {
				t.Errorf("submit = %v, %v", line(r), err)
			}
		})
	}
	wg.Wait()
	v.want("holdings", v.holdings(), "98500.50 10×AAPL")
	audit(t, v.Broker)
}

//attack:paper-cash
func TestConcurrentBuysCannotEachFitTheLastDollar(t *testing.T) {
	v := newVenue(t, "450")
	var wg sync.WaitGroup
	var mu sync.Mutex
	count := map[trade.Outcome]int{}
	for i := range 16 {
		c := v.cleared(fmt.Sprint(i), "buy", "AAPL", "1", "150")
		wg.Go(func() {
			r, err := v.submit(context.Background(), c)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			count[r.Outcome]++
		})
	}
	wg.Wait()
	if count[trade.Accepted] != 3 || count[trade.Rejected] != 13 {
		t.Errorf("%v; want 3 accepted", count)
	}
	audit(t, v.Broker)
}

func BenchmarkSubmit(b *testing.B) {
	v := newVenue(b, "999999999999")
	i := 0
	for b.Loop() {
		i++
		if _, err := v.submit(context.Background(), v.cleared(fmt.Sprint(i), "buy", "AAPL", "1", "150")); err != nil {
			b.Fatal(err)
		}
	}
}
