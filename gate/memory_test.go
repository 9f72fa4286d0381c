package gate_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// desk accepts everything, answers at once or later, and holds what it accepted.
type desk struct {
	next    uint64
	silent  bool
	working []gate.VenueOrder
}

func (d *desk) Submit(c gate.Cleared) (gate.Receipt, bool) {
	if d.silent {
		return gate.Receipt{}, false
	}
	d.working = append(d.working, gate.VenueOrder{ID: c.ID, Symbol: c.Order.Symbol(), Side: c.Order.Side(), Remaining: c.Order.Quantity()})
	return gate.Receipt{Outcome: trade.Accepted, NextEvent: d.next + 1}, true
}

func (d *desk) Cancel(c gate.Cleared) gate.Receipt {
	for i, o := range d.working {
		if o.ID == c.ID {
			d.working = append(d.working[:i:i], d.working[i+1:]...)
			d.next++
			return gate.Receipt{Outcome: trade.Accepted, NextEvent: d.next + 1, Events: []gate.VenueEvent{{
				Number: d.next, Kind: gate.VenueCancelled, ID: c.ID, Symbol: c.Order.Symbol(), Side: c.Order.Side(), Quantity: o.Remaining,
			}}}
		}
	}
	return gate.Receipt{}
}

func (d *desk) Holdings() (gate.Holdings, error) { return gate.Holdings{}, nil }
func (d *desk) Working() []gate.VenueOrder       { return d.working }

func inMemory(t *testing.T, d *desk, now *time.Time, edit ...func(*gate.Config)) (*gate.Memory, *[]ledger.Event) {
	t.Helper()
	t.Chdir(t.TempDir())
	var seen []ledger.Event
	n := uint64(0)
	cfg := gate.Config{Now: func() time.Time { return *now }, Entropy: func(b *[10]byte) { n++; binary.BigEndian.PutUint64(b[2:], n) }}
	for _, e := range edit {
		e(&cfg)
	}
	m, err := gate.OpenMemory(t.Context(), gate.MemoryConfig{
		Config: cfg, Policy: policy.Default(), Desk: d, Seen: func(_ time.Time, e ledger.Event) { seen = append(seen, e) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir("."); len(left) > 0 {
			t.Errorf("a gate in memory has made %v", left)
		}
	})
	return m, &seen
}

// TestMemoryDecidesAsAGateDoes walks one order and one proposal through their lives, on a clock that only the test moves.
func TestMemoryDecidesAsAGateDoes(t *testing.T) {
	now := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	d := &desk{}
	m, _ := inMemory(t, d, &now)
	ctx := t.Context()
	first := m.Execute(ctx, call(t, "buy", "AAPL", "10", "100.00", withCall("a")))
	wantDecision(t, first, policy.Allow, ledger.Succeeded, "")
	wantDecision(t, m.Execute(ctx, call(t, "buy", "AAPL", "1000", "100.00", withCall("b"))), policy.Deny, ledger.Blocked,
		"QUANTITY_EXCEEDS_LIMIT NOTIONAL_EXCEEDS_LIMIT ")
	d.next++
	err := m.Happened(ctx, gate.VenueEvent{
		Number: d.next, Kind: gate.VenueFill, ID: first.Intent.BrokerOrderID(), Symbol: first.Order.Symbol(), Side: trade.Buy,
		Quantity: trade.Whole(10), Price: first.Order.LimitPrice(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if f := m.State().Facts("paper", first.Order.Symbol(), ""); f.Position.String() != "10" || f.PendingBuys.Sign() != 0 {
		t.Errorf("%+v", f)
	}
	held := m.Propose(ctx, call(t, "buy", "AAPL", "1", "100.00", withCall("c")))
	wantDecision(t, held, policy.Hold, ledger.ApprovalPending, "APPROVAL_REQUIRED ")
	ann, err := m.Approver(ctx, "ann")
	if err != nil {
		t.Fatal(err)
	}
	done, err := m.Approve(ctx, gate.Press{By: ann, Proposal: held.Intent, Digest: held.Order.Digest()})
	if err != nil {
		t.Fatal(err)
	}
	wantDecision(t, done, policy.Allow, ledger.Succeeded, "")
	late := m.Propose(ctx, call(t, "buy", "MSFT", "1", "100.00", withCall("d")))
	now = now.Add(30 * time.Minute)
	if err := m.Expire(ctx); err != nil {
		t.Fatal(err)
	}
	if got, _, err := m.History(ctx, late.Intent); err != nil || got.State != ledger.ApprovalExpired {
		t.Error(got.State, err)
	}
}

// TestAStopInMemoryWaitsForNothing engages the switch while an order is in flight: the cancel is wanted, and is asked as
// soon as the order has landed.
func TestAStopInMemoryWaitsForNothing(t *testing.T) {
	now := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	d := &desk{silent: true}
	m, _ := inMemory(t, d, &now)
	ctx := t.Context()
	flying := m.Execute(ctx, call(t, "buy", "AAPL", "10", "100.00", withCall("a")))
	wantDecision(t, flying, policy.Allow, ledger.Allowed, "")
	again := m.Execute(ctx, call(t, "buy", "AAPL", "10", "100.00", withCall("a")))
	if !again.Repeated || again.State != ledger.Allowed {
		t.Errorf("a repeat is answered %+v", again)
	}
	rep, err := m.Kill(ctx, gate.StopRequest{Local: "test", Reason: "enough"})
	if err != nil || !rep.Recorded || len(rep.Orders) != 1 {
		t.Fatal(rep, err)
	}
	if d.working = append(d.working, gate.VenueOrder{ID: flying.Intent.BrokerOrderID(), Remaining: trade.Whole(10)}); true {
		if was, err := m.Answer(ctx, flying.Intent, gate.Receipt{Outcome: trade.Accepted, NextEvent: 1}); !was || err != nil {
			t.Fatal(was, err)
		}
	}
	if m.State().Open(flying.Intent) != nil || len(d.working) != 0 {
		t.Error("the order works under the stop")
	}
	ann, err := m.Approver(ctx, "ann")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Reset(ctx, ann, ledger.Scope{}, "looked at it"); err != nil {
		t.Error(err)
	}
}

//attack:gate-memory-records
func TestMemoryForgetsWhatHasEndedAndNothingElse(t *testing.T) {
	now := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	m, seen := inMemory(t, &desk{}, &now)
	ctx := t.Context()
	open := m.Execute(ctx, call(t, "buy", "AAPL", "10", "100.00", withCall("open")))
	denied := m.Execute(ctx, call(t, "buy", "GME", "10", "100.00", withCall("denied")))
	for i := range gate.MemoryRecords + 10 {
		m.Execute(ctx, call(t, "buy", "GME", "10", "100.00", withCall(fmt.Sprint(i))))
	}
	*seen = nil
	if _, _, err := m.History(ctx, open.Intent); err != nil {
		t.Error(err)
	}
	if again := m.Execute(ctx, call(t, "buy", "AAPL", "10", "100.00", withCall("open"))); again.Intent != open.Intent || !again.Repeated {
		t.Errorf("the id of an order that works was given away: %+v", again)
	}
	if _, _, err := m.History(ctx, denied.Intent); err == nil {
		t.Error("a denial of long ago is still in memory")
	}
}

//attack:gate-memory-people
func TestMemoryKnowsSoManyPeopleAndNoMore(t *testing.T) {
	now := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	m, _ := inMemory(t, &desk{}, &now)
	for i := range gate.MemoryPeople {
		if _, err := m.Approver(t.Context(), fmt.Sprint("p", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Approver(t.Context(), "one-more"); err == nil {
		t.Error("no bound")
	}
	if _, err := m.Approver(t.Context(), "p0"); err != nil {
		t.Error(err)
	}
	if err := m.Backup(t.Context(), "backup.db"); err == nil {
		t.Error("it has files")
	}
}
