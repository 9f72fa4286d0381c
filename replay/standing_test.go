package replay_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// standing is all that the last line of a replay says.
type standing struct {
	Counters  map[string]int
	Kill      map[string]struct{ By, Reason, Since string }
	Positions map[string]holding
	Reserved  map[string]struct{ Buys, Sells string }
	Working   map[string]struct{ Filled, Status, Order string }
}

type holding struct {
	Average  string `json:"average_price"`
	Quantity string
}

// UnmarshalJSON keeps orders as they are written.
func (s *standing) UnmarshalJSON(b []byte) error {
	type same standing
	var x struct {
		same
		Working map[string]struct {
			Filled, Status string
			Order          json.RawMessage
		}
	}
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	*s = standing(x.same)
	s.Working = map[string]struct{ Filled, Status, Order string }{}
	for name, w := range x.Working {
		s.Working[name] = struct{ Filled, Status, Order string }{w.Filled, w.Status, string(w.Order)}
	}
	return nil
}

// standing is how the live world stands by its records, with the counters that they tell of. name is what the tape calls
// an intent.
func (l *life) standing(name func(trade.IntentID) string) standing {
	st, shown := ledger.NewState(), map[trade.IntentID]*ledger.Decision{}
	s := standing{
		Counters: map[string]int{}, Kill: map[string]struct{ By, Reason, Since string }{}, Positions: map[string]holding{},
		Reserved: map[string]struct{ Buys, Sells string }{}, Working: map[string]struct{ Filled, Status, Order string }{},
	}
	err := l.gate.Export(l.t.Context(), func(r journal.Record) error {
		e, err := ledger.Decode(r.Body)
		if err != nil {
			return err
		}
		s.count(e)
		if st.Apply(r.At, e); e.About() == "" {
			return nil
		}
		if first, is := e.(ledger.Decided); is {
			d := first.Decision(r.At)
			shown[first.Intent] = &d
		} else if d := shown[e.About()]; d != nil {
			before := d.Ended
			if d.Apply(e); d.Ended != before {
				s.Counters["cancelled"]++
			}
		}
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, x := range st.Stops() {
		s.Kill[x.Scope.String()] = struct{ By, Reason, Since string }{x.By, x.Reason, string(ledger.AppendTime(nil, x.Since))}
	}
	for _, h := range st.Holdings() {
		if h.Quantity.Sign() != 0 {
			s.Positions[h.Symbol.String()] = holding{st.AveragePrice(h.Account, h.Symbol).Value.Money(), h.Quantity.String()}
		}
		if h.PendingBuys.Sign() != 0 || h.PendingSells.Sign() != 0 {
			s.Reserved[h.Symbol.String()] = struct{ Buys, Sells string }{h.PendingBuys.String(), h.PendingSells.String()}
		}
	}
	for _, o := range st.Opens() {
		if o.Phase != ledger.OnHold && o.Phase != ledger.Granted {
			d := shown[o.Intent]
			status := d.OrderStatus()
			if status == ledger.WasExpired { // which a tape says as a cancel
				status = ledger.WasCancelled
			}
			s.Working[name(o.Intent)] = struct{ Filled, Status, Order string }{d.Filled.String(), status, sorted(l.t, o.Order.AppendJSON(nil))}
		}
	}
	return s
}

// sorted is an object with its keys sorted.
func sorted(t *testing.T, object []byte) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(object, &m); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// count counts a record of the live world.
func (s standing) count(e ledger.Event) {
	switch e := e.(type) {
	case ledger.Decided:
		s.Counters["intents"]++
		s.Counters[map[policy.Effect]string{policy.Allow: "allowed", policy.Hold: "held", policy.Deny: "denied"}[e.Ruling.Effect]]++
	case ledger.Happened:
		if e.What == ledger.WasFilled {
			s.Counters["fills"]++
		}
	case ledger.Approved:
		s.Counters["approved"]++
	case ledger.ProposalEnded:
		if e.State == ledger.ApprovalExpired {
			s.Counters["expired"]++
		} else {
			s.Counters["declined"]++
		}
	case ledger.Concluded:
		s.Counters[e.Outcome.String()]++
	}
}

// compareStanding compares everything.
func (l *life) compareStanding(what string, got, want standing) {
	l.t.Helper()
	for name, n := range got.Counters {
		if name != "lines" && name != "passed_over" && want.Counters[name] != n { // which are the tape's alone
			l.t.Errorf("%s: %d %s, and there were %d", what, n, name, want.Counters[name])
		}
	}
	for _, part := range []struct {
		name      string
		got, want any
	}{{"kill", got.Kill, want.Kill}, {"positions", got.Positions, want.Positions}, {"reserved", got.Reserved, want.Reserved}, {"working", got.Working, want.Working}} {
		if !reflect.DeepEqual(part.got, part.want) {
			l.t.Errorf("%s: %s are\n%v, and were\n%v", what, part.name, part.got, part.want)
		}
	}
}
