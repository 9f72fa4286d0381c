package paper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/store"
	"sallyport/trade"
)

//attack:paper-one-order-an-id
//fault:f33
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

//attack:paper-not-after
func TestPermitThatExpiresWhileTheVenueWaitsIsNotUsed(t *testing.T) {
	v := newVenue(t, "100000")
	c := v.cleared("1", "buy", "AAPL", "10", "150")
	v.set(c.NotAfter.Add(time.Microsecond))
	r, err := v.submit(context.Background(), c)
	if !errors.Is(err, gate.ErrNotSent) || !errors.Is(err, gate.ErrPermitExpired) || r.Outcome != trade.Unknown || r.OrderID != "" {
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
		if !errors.Is(err, gate.ErrNotSent) || !errors.Is(err, gate.ErrNoPermit) || r.Outcome != trade.Unknown || r.OrderID != "" {
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
	if !errors.Is(errSubmit, gate.ErrNotSent) || r.Outcome != trade.Unknown || r.OrderID != "" {
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

//attack:paper-one-order-an-id
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
//fault:f103
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
