package paper

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/trade"
)

// told shows what a receipt tells of events: number, kind and id of each, then the number of the next.
func told(r gate.Receipt) string {
	s := ""
	for _, e := range r.Events {
		s += fmt.Sprintf("%d %s %s, ", e.Number, e.Kind, e.ID)
	}
	return s + fmt.Sprintf("next %d", r.NextEvent)
}

// submits sends an order and returns what the receipt tells, which must be what Events says.
func (v *venue) submits(id, side, symbol, quantity, limit string) string {
	v.t.Helper()
	r, err := v.submit(context.Background(), v.cleared(id, side, symbol, quantity, limit))
	if err != nil {
		v.t.Fatal(err)
	}
	v.wantEvents(r)
	return told(r)
}

// wantEvents checks a receipt's events against those that the venue has.
func (v *venue) wantEvents(r gate.Receipt) {
	v.t.Helper()
	after := r.NextEvent - 1 - uint64(len(r.Events))
	page, err := v.Events(context.Background(), after)
	if err != nil || fmt.Sprint(page) != fmt.Sprint(r.Events) && len(r.Events)+len(page) > 0 {
		v.t.Errorf("the receipt tells of %+v; the venue has %+v, %v", r.Events, page, err)
	}
}

func TestReceiptTellsOfEveryEventOfItsTransaction(t *testing.T) {
	v := newVenue(t, "100000")
	v.want("a fill", v.submits("1", "buy", "AAPL", "10", "150"), "1 fill sp-1, next 2")
	v.want("an order that rests", v.submits("2", "buy", "AAPL", "10", "140"), "next 2")
	v.want("another", v.submits("3", "buy", "AAPL", "1", "141"), "next 2")
	v.want("a known id", v.submits("1", "buy", "AAPL", "10", "150"), "next 2")
	v.want("a rejection", v.submits("4", "sell", "AAPL", "99", "1"), "next 2")
	v.quote("AAPL", "139", "140")
	v.want("a fill that sweeps", v.submits("5", "sell", "AAPL", "2", "130"), "2 fill sp-2, 3 fill sp-3, 4 fill sp-5, next 5")
	v.submits("6", "buy", "AAPL", "1", "100")
	v.quote("AAPL", "99", "99.5")
	v.want("a rejection that sweeps", v.submits("7", "sell", "AAPL", "999", "1"), "5 fill sp-6, next 6")
	v.submits("8", "buy", "AAPL", "1", "50")
	v.submits("9", "buy", "AAPL", "1", "51")
	r, err := v.cancel(context.Background(), v.cleared("8", "buy", "AAPL", "1", "50"))
	if err != nil {
		t.Fatal(err)
	}
	v.want("a cancel", told(r), "6 cancelled sp-8, next 7")
	v.wantEvents(r)
	v.set(monday.Add(24 * time.Hour))
	v.want("the next day", v.submits("10", "buy", "AAPL", "1", "200"), "7 expired sp-9, 8 fill sp-10, next 9")
	audit(t, v.Broker)
}

func TestRolledBackEventsLeaveNoGap(t *testing.T) {
	v := newVenue(t, "100000")
	v.submits("1", "buy", "AAPL", "1", "150")
	broken := errors.New("broken")
	for i := range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := v.once(ctx, v.cleared("2", "buy", "AAPL", "1", "150"), func(d *desk) (gate.Receipt, error) {
			book, _ := v.book()
			r, err := d.take(v.cleared("2", "buy", "AAPL", "1", "150"), v.Broker, book, nil)
			if err != nil || len(d.events) != 1 {
				t.Fatalf("%d events, %v", len(d.events), err)
			}
			switch i {
			case 0:
				err = broken
			case 1:
				cancel()
			case 2: // the order has ended, and cannot end again
				err = d.end(resting{order: order{number: 2, quantity: trade.Whole(1)}}, gate.VenueCancelled, trade.Decimal{}, d.now)
			}
			return r, err
		})
		cancel()
		if !errors.Is(err, gate.ErrNotSent) {
			t.Fatalf("attempt %d: %v", i, err)
		}
	}
	v.want("after the rollbacks", v.submits("3", "buy", "AAPL", "1", "150"), "2 fill sp-3, next 3")
	v.reopen()
	v.want("after a restart", v.submits("4", "buy", "AAPL", "1", "150"), "3 fill sp-4, next 4")
	audit(t, v.Broker)
}
