package paper

import (
	"context"
	"errors"
	"testing"
	"time"

	"sallyport/gate"
)

// TestStepThatFailsLeavesNothingOfAnOrder breaks each statement of an entry that fills and of the exits that follow it, and
// of exits that leave: all of it is there, or nothing, and the same id works once the step does.
func TestStepThatFailsLeavesNothingOfAnOrder(t *testing.T) {
	for name, step := range map[string]string{
		"the entry's row":     `BEFORE INSERT ON paper_ledger WHEN NEW.order_type = 'market'`,
		"its event":           `BEFORE INSERT ON paper_events`,
		"the exits' row":      `BEFORE INSERT ON paper_ledger WHEN NEW.order_type = 'exits'`,
		"the position":        `BEFORE INSERT ON paper_positions`,
		"the account":         `BEFORE UPDATE ON paper_account`,
		"after all the steps": ``,
	} {
		t.Run(name, func(t *testing.T) {
			v := newVenue(t, "100000")
			undo := breaks(t, v, step)
			c := v.clearedFor("1", "buy 10 AAPL market sl=140 tp=160")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if step == "" {
				v.cancelAfter(cancel)
			}
			r, err := v.submit(ctx, c)
			if !errors.Is(err, gate.ErrNotSent) || r.OrderID != "" || len(r.Events) != 0 {
				t.Fatalf("submit = %+v, %v", r, err)
			}
			undo()
			v.want("holdings", v.holdings()+v.working()+v.events(), "100000.00")
			audit(t, v.Broker)
			v.want("the same id", v.sends("1", "buy 10 AAPL market sl=140 tp=160"), "accepted paper-1 filled 10 AAPL at 149.95")
			v.want("exits", v.working(), "paper-2 sp-1 sell 10 exits")
			audit(t, v.Broker)
		})
	}
}

// TestStepThatFailsLeavesExitsAsTheyWere breaks each statement of exits that leave.
func TestStepThatFailsLeavesExitsAsTheyWere(t *testing.T) {
	for name, step := range map[string]string{
		"the exits' row": `BEFORE UPDATE ON paper_ledger`,
		"their event":    `BEFORE INSERT ON paper_events`,
		"the position":   `BEFORE DELETE ON paper_positions`,
		"the account":    `BEFORE UPDATE ON paper_account`,
	} {
		t.Run(name, func(t *testing.T) {
			v := newVenue(t, "100000")
			v.sends("1", "buy 10 AAPL market sl=140 tp=160")
			undo := breaks(t, v, step)
			v.quote("AAPL", "139", "139.50")
			if _, err := v.Match(context.Background()); err == nil {
				t.Fatal("it was matched")
			}
			undo()
			v.want("exits", v.working(), "paper-2 sp-1 sell 10 exits")
			audit(t, v.Broker)
			v.quote("AAPL", "161", "162")
			v.match()
			v.want("the profit alone", v.holdings()+" "+v.working(), "100110.50 ")
			audit(t, v.Broker)
		})
	}
}

// breaks makes a statement fail until undo is called.
func breaks(t *testing.T, v *venue, step string) (undo func()) {
	t.Helper()
	if step == "" {
		return func() {}
	}
	exec := func(text string) {
		if _, err := v.db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TRIGGER broken ` + step + ` BEGIN SELECT RAISE(ABORT, 'broken'); END`)
	return func() { exec(`DROP TRIGGER broken`) }
}

// cancelAfter ends the caller's patience once the venue has begun to work on the order.
func (v *venue) cancelAfter(cancel func()) {
	now := v.Broker.now
	v.Broker.now = func() (at time.Time) {
		cancel()
		v.Broker.now = now
		return now()
	}
}
