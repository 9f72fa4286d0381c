package gate_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// talking is a venue whose receipts tell of events, as tell edits them. It counts how often it is asked for any.
type talking struct {
	venue
	asked int
	tell  func(r *gate.Receipt)
}

func (v *talking) told(r gate.Receipt, before int, err error) (gate.Receipt, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil {
		r.Events, r.NextEvent = append(r.Events, v.events[before:]...), uint64(len(v.events)+1)
		if v.tell != nil {
			v.tell(&r)
		}
	}
	return r, err
}

func (v *talking) Submit(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
	before := len(v.events)
	r, err := v.venue.Submit(ctx, p)
	return v.told(r, before, err)
}

func (v *talking) Cancel(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
	before := len(v.events)
	r, err := v.venue.Cancel(ctx, p)
	return v.told(r, before, err)
}

func (v *talking) Events(ctx context.Context, after uint64) ([]gate.VenueEvent, error) {
	v.asked++
	return v.venue.Events(ctx, after)
}

// happen lets something happen that no receipt tells of: a fill of somebody else's order.
func (v *talking) happen(t *testing.T) {
	v.event(gate.VenueFill, gate.Cleared{Order: call(t, "buy", "MSFT", "1", "2.00").Order, ID: "other"}, trade.Whole(1))
}

// position is what the gate has recorded, without a question to the venue.
func position(t *testing.T, g *gate.Gate, v *talking) string {
	t.Helper()
	v.pageErr = errors.New("not now")
	defer func() { v.pageErr = nil }()
	d := g.Check(ctx, call(t, "sell", "AAPL", "200", "1.00")) // a denial tells the largest quantity that would pass
	if d.MaxQuantityNow == nil {
		return "none"
	}
	return d.MaxQuantityNow.String()
}

func TestReceiptThatTellsEverythingSavesAQuestion(t *testing.T) {
	v := &talking{}
	g := open(t, v)
	v.asked = 0
	d := g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00"))
	wantDecision(t, d, policy.Allow, ledger.Succeeded, "")
	if v.asked != 0 || d.Filled.String() != "10" || position(t, g, v) != "10" {
		t.Fatalf("%d questions, filled %v, position %s", v.asked, d.Filled, position(t, g, v))
	}
	v.rests = true
	working := g.Execute(ctx, call(t, "buy", "AAPL", "5", "1.00"))
	wantDecision(t, working, policy.Allow, ledger.Succeeded, "")
	if v.asked != 0 {
		t.Fatalf("%d questions about an order that rests", v.asked)
	}
	if _, err := g.Cancel(ctx, call(t, "buy", "AAPL", "5", "1.00").Origin, working.Intent); err != nil || v.asked != 2 {
		t.Fatalf("%d questions, %v; want the two before the cancel: from the last known event on, and that nothing follows", v.asked, err)
	}
	if open, err := g.Orders(ctx); err != nil || len(open) != 0 {
		t.Fatalf("open %+v, %v", open, err)
	}
}

func TestEventsThatAReceiptLacksAreAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		tell   func(*gate.Receipt)
		others bool // others' events come before
	}{
		"it tells nothing":             {func(r *gate.Receipt) { r.Events, r.NextEvent = nil, 0 }, false},
		"it tells nothing, and others": {func(r *gate.Receipt) { r.Events, r.NextEvent = nil, 0 }, true},
		"only that there are some":     {func(r *gate.Receipt) { r.Events = nil }, false},
		"others came before":           {func(*gate.Receipt) {}, true},
		"others came before, unsaid":   {func(r *gate.Receipt) { r.NextEvent = 0 }, true},
		"it numbers them wrongly":      {func(r *gate.Receipt) { r.Events[0].Number++ }, false},
		"it numbers them from zero":    {func(r *gate.Receipt) { r.Events[0].Number = 0 }, false},
		"it leaves the first one out":  {func(r *gate.Receipt) { r.Events = r.Events[1:] }, true},
		"it repeats itself":            {func(r *gate.Receipt) { r.Events = append(r.Events, r.Events...) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			v := &talking{}
			g := open(t, v, shared)
			v.tell = func(r *gate.Receipt) { c.tell(r) }
			if c.others {
				v.happen(t)
			}
			d := g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00"))
			wantDecision(t, d, policy.Allow, ledger.Succeeded, "")
			if d.Filled.String() != "10" || position(t, g, v) != "10" {
				t.Errorf("filled %v, position %s: %s", d.Filled, position(t, g, v), d.AppendJSON(nil))
			}
			wantRows(t, g, ledger.Succeeded)
		})
	}
}

// TestAnswerThatComesAfterItsFillIsOnRecord: another process records the fill before the one that sent the order has the
// broker's answer. What the venue calls the order is on record all the same, once.
func TestAnswerThatComesAfterItsFillIsOnRecord(t *testing.T) {
	v := &venue{}
	home := filepath.Join(t.TempDir(), "home")
	g, other := reopen(t, config(home, v)), reopen(t, config(home, v))
	v.answer = func(_ context.Context, c gate.Cleared) (gate.Receipt, error) {
		v.mu.Lock()
		v.event(gate.VenueFill, c, c.Order.Quantity())
		v.mu.Unlock()
		return gate.Receipt{Outcome: trade.Accepted, OrderID: "v-9"}, other.Recover(ctx)
	}
	d := g.Execute(ctx, buy(t, "10"))
	wantDecision(t, d, policy.Allow, ledger.Succeeded, "")
	if err := g.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	now, entries, err := g.History(ctx, d.Intent)
	concluded := 0
	for _, e := range entries {
		if e.Event == "concluded" {
			concluded++
		}
	}
	if err != nil || d.OrderID != "v-9" || now.OrderID != "v-9" || now.OutcomeBy != ledger.FromBroker || now.OrderStatus() != "filled" || concluded != 1 {
		t.Fatalf("%v, %d conclusions: %s", err, concluded, now.AppendJSON(nil))
	}
}

func TestReceiptThatPromisesTooMuchIsNotBelieved(t *testing.T) {
	v := &talking{tell: func(r *gate.Receipt) { r.NextEvent += 5 }}
	g := open(t, v)
	for i := range 3 {
		before := v.asked
		wantDecision(t, g.Execute(ctx, call(t, "buy", "AAPL", "1", "150.00")), policy.Allow, ledger.Succeeded, "")
		if v.asked > before+2 {
			t.Fatalf("order %d: %d questions", i, v.asked-before)
		}
	}
	if position(t, g, v) != "3" {
		t.Fatalf("position %s", position(t, g, v))
	}
}

func TestRejectionTellsOfOthersFillsToo(t *testing.T) {
	v := &talking{}
	g := open(t, v, shared)
	v.answer = func(_ context.Context, c gate.Cleared) (gate.Receipt, error) {
		other := c
		other.ID = "other"
		v.event(gate.VenueFill, other, trade.Whole(7))
		return gate.Receipt{Outcome: trade.Rejected, Code: "HALTED"}, nil
	}
	v.asked = 0
	wantDecision(t, g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00")), policy.Allow, ledger.Failed, "")
	if v.asked != 0 || position(t, g, v) != "7" {
		t.Fatalf("%d questions, position %s", v.asked, position(t, g, v))
	}
}

//attack:gate-venue-events
func TestMoreEventsThanOneAppendTakesAreTakenInParts(t *testing.T) {
	v := &talking{}
	const n = gate.MaxTaken + 1500
	order := call(t, "buy", "AAPL", "1", "1.00").Order
	many := func() {
		for range n {
			v.event(gate.VenueFill, gate.Cleared{Order: order, ID: "other"}, trade.Whole(1))
		}
	}
	many()
	g := open(t, v, shared)
	want := func(quantity uint32) {
		t.Helper()
		if ps, err := g.Positions(ctx); err != nil || ps[0].Quantity.Cmp(trade.Whole(quantity)) != 0 {
			t.Fatalf("position %+v, %v; want %d", ps, err, quantity)
		}
	}
	if head, err := g.Head(ctx); err != nil || head.Seq != gate.MaxTaken+2 { // and the journal's first two
		t.Fatalf("%d records after the first call, %v", head.Seq, err)
	}
	want(n)
	v.answer = func(context.Context, gate.Cleared) (gate.Receipt, error) {
		many()
		return gate.Receipt{Outcome: trade.Rejected, Code: "HALTED"}, nil
	}
	wantDecision(t, g.Execute(ctx, call(t, "buy", "AAPL", "1", "1.00")), policy.Allow, ledger.Failed, "")
	want(2 * n)
}

// BenchmarkExecute is a guarded order through a venue in memory: what the gate itself costs, two commits included.
func BenchmarkExecute(b *testing.B) {
	g, err := gate.Open(ctx, config(filepath.Join(b.TempDir(), "home"), &talking{}))
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	b.ReportAllocs()
	for b.Loop() {
		if d := g.Execute(ctx, call(b, "buy", "AAPL", "1", "150.00")); d.State != ledger.Succeeded {
			b.Fatalf("%s", d.AppendJSON(nil))
		}
	}
}
