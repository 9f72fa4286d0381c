package gate_test

import (
	"context"
	"strings"
	"testing"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// TestFillsThatTheirOrderDoesNotExplain: that a fill bears an id of ours does not make it what was decided. The order buys
// 10 AAPL at 150.00 at most.
//
//attack:gate-fill-fits
func TestFillsThatTheirOrderDoesNotExplain(t *testing.T) {
	msft, _ := trade.ParseSymbol("MSFT")
	type fills []func(*gate.VenueEvent)
	of := func(n uint32) func(*gate.VenueEvent) {
		return func(e *gate.VenueEvent) { e.Quantity = trade.Whole(n) }
	}
	cancelled := func(n uint32) func(*gate.VenueEvent) {
		return func(e *gate.VenueEvent) { e.Kind, e.Quantity = gate.VenueCancelled, trade.Whole(n) }
	}
	for name, c := range map[string]struct {
		fills    fills
		stops    bool
		rejected bool // by the broker, before anything is filled
	}{
		"all of it":                        {fills{of(10)}, false, false},
		"in parts":                         {fills{of(3), of(3), of(4)}, false, false},
		"cheaper":                          {fills{func(e *gate.VenueEvent) { e.Price = dec("99.00") }}, false, false},
		"a part, after the cancel":         {fills{of(3), cancelled(7), of(7)}, false, false},
		"more than was asked for":          {fills{of(100)}, true, false},
		"in parts, more than was asked":    {fills{of(6), of(5)}, true, false},
		"another symbol":                   {fills{func(e *gate.VenueEvent) { e.Symbol = msft }}, true, false},
		"the other side":                   {fills{func(e *gate.VenueEvent) { e.Side = trade.Sell }}, true, false},
		"dearer than its limit":            {fills{func(e *gate.VenueEvent) { e.Price = dec("150.01") }}, true, false},
		"the whole a second time":          {fills{of(10), of(10)}, true, false},
		"one share more":                   {fills{of(10), of(1)}, true, false},
		"sold again, without exits":        {fills{of(10), func(e *gate.VenueEvent) { e.Side = trade.Sell }}, true, false},
		"more than was left at its end":    {fills{of(3), cancelled(7), of(8)}, true, false},
		"another symbol after its end":     {fills{of(3), cancelled(7), func(e *gate.VenueEvent) { e.Symbol = msft }}, true, false},
		"the cancelled rest, and it twice": {fills{cancelled(10), of(10), of(10)}, true, false},
		"dearer after the cancel":          {fills{cancelled(10), func(e *gate.VenueEvent) { e.Price = dec("900.00") }}, true, false},
		"rejected, and filled":             {fills{of(10)}, false, true},
		"rejected, and filled in parts":    {fills{of(4), of(6)}, false, true},
		"rejected, and filled twice":       {fills{of(10), of(10)}, true, true},
		"rejected, and another symbol":     {fills{func(e *gate.VenueEvent) { e.Symbol = msft }}, true, true},
		"rejected, and the other side":     {fills{func(e *gate.VenueEvent) { e.Side = trade.Sell }}, true, true},
		"rejected, and dearer":             {fills{func(e *gate.VenueEvent) { e.Price = dec("150.01") }}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			o.v.rests = true
			if c.rejected {
				o.v.answer = func(context.Context, gate.Cleared) (gate.Receipt, error) {
					return gate.Receipt{Outcome: trade.Rejected}, nil
				}
			}
			o.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00"))
			for i, edit := range c.fills {
				o.v.mu.Lock()
				o.v.event(gate.VenueFill, o.v.sent[0], trade.Whole(10))
				edit(&o.v.events[i])
				o.v.mu.Unlock()
				if err := o.Recover(ctx); err != nil {
					t.Fatal(err)
				}
				stops, last := must(o.Stops(ctx))(t), i == len(c.fills)-1
				if want := c.stops && last; (len(stops) > 0) != want {
					t.Fatalf("after %d: %+v", i+1, stops)
				}
				if len(stops) > 0 && (stops[0].Scope != scopeOf(t, "account:paper") || !strings.Contains(stops[0].Reason, "the broker filled") ||
					!strings.Contains(stops[0].Reason, "its order")) {
					t.Errorf("%s", stops[0].Reason)
				}
			}
			cursor := 0
			for _, e := range events(t, o.Gate) { // what was filled is true, explained or not
				if _, is := e.(ledger.Happened); is {
					cursor++
				}
			}
			if cursor != len(c.fills) {
				t.Errorf("%d events on record", cursor)
			}
		})
	}
}

// TestExitsExplainNoMoreThanTheyHave: what an entry bought is sold by its exits once.
//
//attack:gate-fill-fits
func TestExitsExplainNoMoreThanTheyHave(t *testing.T) {
	for name, c := range map[string]struct {
		sells []string
		stops bool
	}{"whole": {[]string{"10"}, false}, "in parts": {[]string{"4", "6"}, false}, "more": {[]string{"11"}, true}, "twice": {[]string{"10", "10"}, true}} {
		b := newBracket(t)
		after := 1 // the entry's fill
		for _, q := range c.sells {
			if err := gate.HandIn(ctx, b.Gate, gate.VenueEvent{
				Number: uint64(after + 1), Kind: gate.VenueFill, ID: b.entry.Intent.BrokerOrderID(), Symbol: b.entry.Order.Symbol(),
				Side: trade.Sell, Quantity: dec(q), Price: dec("89.50"), Exits: true,
			}); err != nil {
				t.Fatal(err)
			}
			after++
		}
		if stops := must(b.Stops(ctx))(t); (len(stops) > 0) != c.stops {
			t.Errorf("%s: %+v", name, stops)
		}
	}
}

// TestOpenOrderThatDiffersIsSeen: under our id the venue works something else.
//
//attack:gate-reconcile
func TestOpenOrderThatDiffersIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*gate.VenueOrder) []gate.VenueOrder
		says string
	}{
		"the same":       {func(*gate.VenueOrder) []gate.VenueOrder { return nil }, ""},
		"more":           {func(o *gate.VenueOrder) []gate.VenueOrder { o.Remaining = trade.Whole(1000); return nil }, "buy 1000 open"},
		"less":           {func(o *gate.VenueOrder) []gate.VenueOrder { o.Remaining = trade.Whole(9); return nil }, "buy 9 open"},
		"other side":     {func(o *gate.VenueOrder) []gate.VenueOrder { o.Side = trade.Sell; return nil }, "sell 10 open"},
		"another symbol": {func(o *gate.VenueOrder) []gate.VenueOrder { o.Symbol, _ = trade.ParseSymbol("MSFT"); return nil }, "in MSFT"},
		"twice":          {func(o *gate.VenueOrder) []gate.VenueOrder { return []gate.VenueOrder{*o} }, "once more"},
		"exits of nothing": {func(o *gate.VenueOrder) []gate.VenueOrder {
			o.Exits, o.Side = true, trade.Sell
			return nil
		}, "sell 10 open"},
	} {
		o := newOffice(t)
		o.v.rests = true
		o.Execute(ctx, buy(t, "10"))
		o.v.shows = func(all []gate.VenueOrder) []gate.VenueOrder { return append(all, c.edit(&all[0])...) }
		rec := must(o.Reconcile(ctx))(t)
		stops := must(o.Stops(ctx))(t)
		if c.says == "" {
			if len(stops)+len(rec.Differences) > 0 {
				t.Errorf("%s: %+v", name, rec)
			}
			continue
		}
		if len(stops) != 1 || !strings.Contains(stops[0].Reason, c.says) || !strings.Contains(stops[0].Reason, "buy 10 open") {
			t.Errorf("%s: %+v, %+v", name, rec, stops)
		}
	}
}
