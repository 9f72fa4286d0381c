package paper

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/market"
	"sallyport/trade"
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
	v := newVenueIn(t, t.TempDir(), cash)
	t.Cleanup(func() { v.Close() })
	return v
}

func newVenueIn(t testing.TB, dir, cash string) *venue {
	t.Helper()
	v := &venue{t: t, at: monday}
	v.cfg = Config{
		Path: filepath.Join(dir, "paper.db"), Quotes: &market.File{Path: filepath.Join(dir, "quotes.jsonl")},
		Cash: dec(t.(interface{ Fatalf(string, ...any) }), cash), Now: v.clock,
	}
	v.quote("AAPL", "149.90", "149.95")
	v.reopen()
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

func (v *venue) cleared(id, side, symbol, quantity, limit string) gate.Cleared {
	v.t.Helper()
	return gate.Cleared{
		Order: gatetest.Order(v.t, side, symbol, quantity, limit), ID: trade.BrokerOrderID("sp-" + id), NotAfter: v.clock().Add(5 * time.Second),
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
	if _, err := v.Match(context.Background()); err != nil {
		t.Fatal(err)
	}
	v.want("holdings", v.holdings(), "100050.60")
	audit(t, v.Broker)
}

//attack:paper-crossed-quote
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
