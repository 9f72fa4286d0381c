package ledger

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sallyport/policy"
	"sallyport/trade"
)

var t0 = time.Date(2026, 11, 30, 14, 3, 22, 123456000, time.UTC)

func text(name, value string) trade.Text {
	return trade.Text{Name: name, Value: value, Kind: trade.IsText}
}

func order(t interface{ Fatalf(string, ...any) }, side, symbol, quantity, price string) trade.Order {
	o, _, faults := trade.Parse(trade.Draft{
		Account: "paper", Symbol: text("symbol", symbol), Side: text("side", side), Quantity: text("quantity", quantity),
		Type: text("order_type", "limit"), LimitPrice: text("limit_price", price), TimeInForce: text("time_in_force", "day"),
	})
	if len(faults) > 0 {
		t.Fatalf("not an order: %v", faults)
	}
	return o
}

func decimal(s string) trade.Decimal {
	d, ok := trade.ParseDecimal(s)
	if !ok {
		panic("not a decimal: " + s)
	}
	return d
}

func intent(n int) trade.IntentID {
	return trade.NewIntentID(t0.Add(time.Duration(n)*time.Millisecond), [10]byte{9: byte(n), 8: byte(n >> 8)})
}

func allowed(n int, o trade.Order, c Clearance) Decided {
	return Decided{
		Intent: intent(n), Origin: Origin{Agent: "local", Surface: "mcp", Harness: "claude", Session: "s", Tool: "t", ToolCallID: trade.ToolCallID(fmt.Sprint("call_", n))},
		Account: "paper", Order: o, Ruling: Ruling{Effect: policy.Allow}, Clears: c, Pending: Pending{Deadline: t0.Add(time.Minute)},
	}
}

func fill(number uint64, n int, o trade.Order, quantity string) Happened {
	return Happened{
		Account: "paper", Number: number, What: WasFilled, Intent: intent(n), Symbol: o.Symbol(), Side: o.Side(),
		Quantity: decimal(quantity), Price: o.LimitPrice(),
	}
}

func fold(events ...Event) *State {
	s := NewState()
	for _, e := range events {
		s.Apply(t0, e)
	}
	return s
}

func facts(s *State) string {
	f := s.Facts("paper", mustSymbol("AAPL"), "")
	return fmt.Sprintf("known=%v position=%s buys=%s sells=%s", f.PositionKnown, f.Position, f.PendingBuys, f.PendingSells)
}

func mustSymbol(s string) trade.Symbol {
	sym, _ := trade.ParseSymbol(s)
	return sym
}

func TestEmptyStateHasTheKillSwitchEngaged(t *testing.T) {
	if stops := NewState().Stops(); len(stops) != 1 || stops[0].Scope != (Scope{}) || stops[0].Reason == "" {
		t.Fatalf("stops = %v; want one of everything, with a reason", stops)
	}
	if stops := fold(KillReset{By: "p", Reason: "r"}).Stops(); len(stops) != 0 {
		t.Fatalf("stops after a reset: %v", stops)
	}
	if stops := fold(KillReset{By: "p", Reason: "r"}, KillEngaged{By: "agent", Reason: "x"}).Stops(); len(stops) != 1 || stops[0].By != "agent" {
		t.Fatalf("stops = %v; want one by agent", stops)
	}
}

// TestTransitions applies every event to an intent in every phase and compares what is reserved and held after it.
//
//attack:ledger-reserve
//attack:ledger-permission-once
//attack:ledger-final
func TestTransitions(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "150.00")
	accepted := Concluded{Intent: intent(1), Outcome: trade.Accepted, Source: FromBroker}
	phases := map[string][]Event{
		"none":      nil,
		"permitted": {allowed(1, o, ClearsPermission)},
		"sending":   {allowed(1, o, ClearsSend)},
		"unknown":   {allowed(1, o, ClearsSend), Concluded{Intent: intent(1), Source: FromGate}},
		"working":   {allowed(1, o, ClearsSend), accepted},
		"part":      {allowed(1, o, ClearsSend), accepted, fill(1, 1, o, "4")},
		"filled":    {allowed(1, o, ClearsSend), accepted, fill(1, 1, o, "10")},
		"rejected":  {allowed(1, o, ClearsSend), Concluded{Intent: intent(1), Outcome: trade.Rejected, Source: FromBroker}},
	}
	events := map[string]Event{
		"rejudged allow": Rejudged{Intent: intent(1), Order: o, Clears: ClearsSend, Ruling: Ruling{Effect: policy.Allow}, Pending: Pending{Deadline: t0}},
		"rejudged deny":  Rejudged{Intent: intent(1)},
		"accepted":       accepted,
		"reported":       Concluded{Intent: intent(1), Outcome: trade.Accepted, Source: FromReport},
		"rejected":       Concluded{Intent: intent(1), Outcome: trade.Rejected, Source: FromBroker},
		"unknown":        Concluded{Intent: intent(1), Source: FromGate},
		"fill":           fill(7, 1, o, "6"),
		"cancelled":      Happened{Account: "paper", Number: 7, What: WasCancelled, Intent: intent(1), Symbol: o.Symbol(), Side: o.Side()},
	}
	// phase after, position, pending buys
	want := map[string]string{
		"none/rejudged allow": "none 0 0", "none/rejudged deny": "none 0 0", "none/accepted": "none 0 0", "none/reported": "none 0 0",
		"none/rejected": "none 0 0", "none/unknown": "none 0 0", "none/fill": "none 6 0", "none/cancelled": "none 0 0",
		"permitted/rejudged allow": "sending 0 10", "permitted/rejudged deny": "none 0 0", "permitted/accepted": "working 0 10",
		"permitted/reported": "none 0 10", "permitted/rejected": "none 0 0", "permitted/unknown": "sending 0 10",
		"permitted/fill": "working 6 4", "permitted/cancelled": "none 0 0",
		"sending/rejudged allow": "sending 0 10", "sending/rejudged deny": "sending 0 10", "sending/accepted": "working 0 10",
		"sending/reported": "none 0 10", "sending/rejected": "none 0 0", "sending/unknown": "sending 0 10",
		"sending/fill": "working 6 4", "sending/cancelled": "none 0 0",
		"unknown/rejudged allow": "sending 0 10", "unknown/rejudged deny": "sending 0 10", "unknown/accepted": "working 0 10",
		"unknown/reported": "none 0 10", "unknown/rejected": "none 0 0", "unknown/unknown": "sending 0 10",
		"unknown/fill": "working 6 4", "unknown/cancelled": "none 0 0",
		"working/rejudged allow": "working 0 10", "working/rejudged deny": "working 0 10", "working/accepted": "working 0 10",
		"working/reported": "working 0 10", "working/rejected": "working 0 10", "working/unknown": "working 0 10",
		"working/fill": "working 6 4", "working/cancelled": "none 0 0",
		"part/rejudged allow": "working 4 6", "part/rejudged deny": "working 4 6", "part/accepted": "working 4 6",
		"part/reported": "working 4 6", "part/rejected": "working 4 6", "part/unknown": "working 4 6",
		"part/fill": "none 10 0", "part/cancelled": "none 4 0",
		"filled/rejudged allow": "none 10 0", "filled/rejudged deny": "none 10 0", "filled/accepted": "none 10 0",
		"filled/reported": "none 10 0", "filled/rejected": "none 10 0", "filled/unknown": "none 10 0",
		"filled/fill": "none 16 0", "filled/cancelled": "none 10 0",
		"rejected/rejudged allow": "none 0 0", "rejected/rejudged deny": "none 0 0", "rejected/accepted": "none 0 0",
		"rejected/reported": "none 0 0", "rejected/rejected": "none 0 0", "rejected/unknown": "none 0 0",
		"rejected/fill": "none 6 0", "rejected/cancelled": "none 0 0",
	}
	if len(want) != len(phases)*len(events) {
		t.Fatalf("%d cases for %d phases and %d events", len(want), len(phases), len(events))
	}
	for phase, before := range phases {
		for name, e := range events {
			s := fold(append(append([]Event{}, before...), e)...)
			got := NoPhase
			if open := s.Open(intent(1)); open != nil {
				got = open.Phase
			}
			f := s.Facts("paper", o.Symbol(), "")
			is := fmt.Sprintf("%s %s %s", got, f.Position, f.PendingBuys)
			if is != want[phase+"/"+name] {
				t.Errorf("%s, then %s: %q, want %q", phase, name, is, want[phase+"/"+name])
			}
			if s.Unspent(Origin{Agent: "local", Tool: "t"}, o, anyOpen) != nil && got != Permitted {
				t.Errorf("%s, then %s: a permission can be spent in phase %s", phase, name, got)
			}
		}
	}
}

//attack:ledger-venue-once
func TestVenueEventCountsOnce(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "150.00")
	events := []Event{
		allowed(1, o, ClearsSend),
		Concluded{Intent: intent(1), Outcome: trade.Accepted, Source: FromBroker},
		fill(5, 1, o, "4"), fill(5, 1, o, "4"), fill(3, 1, o, "4"), fill(6, 1, o, "1"),
	}
	if got, want := facts(fold(events...)), "known=true position=5 buys=5 sells=0"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
}

func TestSellReservesUntilItEnds(t *testing.T) {
	sell := order(t, "sell", "AAPL", "10", "150.00")
	s := fold(fill(1, 9, order(t, "buy", "AAPL", "15", "1.00"), "15"), allowed(1, sell, ClearsSend))
	if got, want := facts(s), "known=true position=15 buys=0 sells=10"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	if f := s.Facts("paper", sell.Symbol(), intent(1)); f.PendingSells.Sign() != 0 {
		t.Fatalf("without its own reservation %s shares are pending, want none", f.PendingSells)
	}
	s.Apply(t0, Concluded{Intent: intent(1), Source: FromGate}) // unknown keeps it
	if got, want := facts(s), "known=true position=15 buys=0 sells=10"; got != want {
		t.Fatalf("after an unknown outcome: %s, want %s", got, want)
	}
	s.Apply(t0, Concluded{Intent: intent(1), Outcome: trade.Rejected, Source: FromPerson, By: "p"})
	if got, want := facts(s), "known=true position=15 buys=0 sells=0"; got != want {
		t.Fatalf("after it was settled: %s, want %s", got, want)
	}
}

// anyOpen fits.
func anyOpen(*Open) bool { return true }

func TestUnspentMatchesOldestOfSameSessionToolAndOrder(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "150.00")
	noID := func(n int) Decided { d := allowed(n, o, ClearsPermission); d.Origin.ToolCallID = ""; return d }
	s := fold(noID(1), noID(2))
	ask := Origin{Agent: "local", Harness: "claude", Session: "s", Tool: "t"}
	tests := map[string]struct {
		edit func(*Origin)
		want trade.IntentID
	}{
		"same":                  {func(*Origin) {}, intent(1)},
		"with an id of its own": {func(o *Origin) { o.ToolCallID = "x" }, intent(1)},
		"no session":            {func(o *Origin) { o.Session = "" }, intent(1)},
		"other session":         {func(o *Origin) { o.Session = "z" }, ""},
		"other agent":           {func(o *Origin) { o.Agent = "z" }, ""},
		"other tool":            {func(o *Origin) { o.Tool = "z" }, ""},
		"other harness":         {func(o *Origin) { o.Harness = "codex" }, ""},
	}
	for name, tt := range tests {
		from := ask
		tt.edit(&from)
		var got trade.IntentID
		if p := s.Unspent(from, o, anyOpen); p != nil {
			got = p.Intent
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	if s.Unspent(ask, order(t, "buy", "AAPL", "11", "150.00"), anyOpen) != nil {
		t.Error("another order matches")
	}
	s.Apply(t0, Asked{Intent: intent(1)})
	if p := s.Unspent(ask, o, func(p *Open) bool { return !p.Asked }); p == nil || p.Intent != intent(2) {
		t.Error("a permission that was asked for is granted to a second request")
	}
	both := fold(allowed(1, o, ClearsPermission))
	ask.ToolCallID = "call_2"
	if both.Unspent(ask, o, anyOpen) != nil {
		t.Error("a permission for another tool call matches")
	}
	ask.ToolCallID, ask.Session = "call_1", ""
	if both.Unspent(ask, o, anyOpen) == nil {
		t.Error("the same tool call does not match because one side knows no session")
	}
}

// TestOldestOfLikePermissionsIsTheSameAfterARestart: one that was held first and approved last is still the oldest.
func TestOldestOfLikePermissionsIsTheSameAfterARestart(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	held, second := heldOrder(1, o, 1), allowed(2, o, ClearsPermission)
	held.Hold.Permits, held.Origin.ToolCallID, second.Origin.ToolCallID = true, "", ""
	s := began(held, second, Approved{Intent: intent(1), Digest: o.Digest(), Person: "anna", Lapses: t0.Add(time.Minute)},
		Rejudged{Intent: intent(1), Account: "paper", Origin: held.Origin, Order: o, Clears: ClearsPermission, Ruling: Ruling{Effect: policy.Allow}})
	for name, s := range map[string]*State{"live": s, "restarted": restart(t, s)} {
		if p := s.Unspent(held.Origin, o, anyOpen); p == nil || p.Intent != intent(1) {
			t.Errorf("%s: %+v is spent first", name, p)
		}
	}
	s = began()
	later, sooner := allowed(1, o, ClearsPermission), allowed(2, o, ClearsPermission) // an id says the millisecond
	later.Origin.ToolCallID, sooner.Origin.ToolCallID = "", ""
	s.Apply(t0, sooner)
	s.Apply(t0.Add(time.Microsecond), later)
	for name, s := range map[string]*State{"live": s, "restarted": restart(t, s)} {
		if p := s.Unspent(later.Origin, o, anyOpen); p == nil || p.Intent != intent(2) {
			t.Errorf("%s, within a millisecond: %+v is spent first", name, p)
		}
	}
}

//attack:ledger-outcome-deadline
func TestMissingOutcomeIsUnknownAfterDeadlineAndAfterTheSenderEnded(t *testing.T) {
	e := allowed(1, order(t, "buy", "AAPL", "10", "150.00"), ClearsSend)
	e.Pending.Instance = "i"
	d := e.Decision(t0)
	yes, no := func(string) bool { return true }, func(string) bool { return false }
	for name, tt := range map[string]struct {
		now   time.Time
		alive func(string) bool
		want  AuditState
	}{
		"in time":          {t0.Add(time.Minute - time.Microsecond), yes, Allowed},
		"at the deadline":  {t0.Add(time.Minute), yes, OutcomeUnknown},
		"the sender ended": {t0, no, OutcomeUnknown},
	} {
		if got := d.Present(tt.now, tt.alive).State; got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	d.Apply(Concluded{Intent: e.Intent, Outcome: trade.Accepted, Source: FromBroker})
	if got := d.Present(t0.Add(time.Hour), no).State; got != Succeeded {
		t.Errorf("with an outcome: %s", got)
	}
}

func TestFinalOutcomeOfADecisionStays(t *testing.T) {
	e := allowed(1, order(t, "buy", "AAPL", "10", "150.00"), ClearsSend)
	for _, first := range []trade.Outcome{trade.Accepted, trade.Rejected} {
		d := e.Decision(t0)
		d.Apply(Concluded{Intent: e.Intent, Outcome: first, Source: FromBroker})
		want := d.State
		for _, second := range []trade.Outcome{trade.Accepted, trade.Rejected, trade.Unknown} {
			d.Apply(Concluded{Intent: e.Intent, Outcome: second, Source: FromReport})
			if d.State != want {
				t.Fatalf("%s, then %s: %s, want %s", first, second, d.State, want)
			}
		}
	}
}

func TestOrderStatus(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "150.00")
	send, permission := allowed(1, o, ClearsSend), allowed(1, o, ClearsPermission)
	denied := allowed(1, o, ClearsNothing)
	denied.Ruling.Effect = policy.Deny
	by := func(out trade.Outcome, s Source) Event { return Concluded{Intent: intent(1), Outcome: out, Source: s} }
	ended := func(what string) Event { return Happened{Account: "paper", Number: 9, What: what, Intent: intent(1)} }
	for want, tt := range map[string]struct {
		first Decided
		then  []Event
	}{
		"":                 {denied, nil},
		"permitted":        {permission, nil},
		"sending":          {send, nil},
		"working":          {send, []Event{by(trade.Accepted, FromBroker)}},
		"partially_filled": {send, []Event{by(trade.Accepted, FromBroker), fill(1, 1, o, "4")}},
		"filled":           {send, []Event{by(trade.Accepted, FromLookup), fill(1, 1, o, "4"), fill(2, 1, o, "6")}},
		"cancelled":        {send, []Event{by(trade.Accepted, FromBroker), fill(1, 1, o, "4"), ended(WasCancelled)}},
		"expired":          {send, []Event{by(trade.Accepted, FromBroker), ended(WasExpired)}},
		"rejected":         {send, []Event{by(trade.Rejected, FromBroker)}},
		"unknown":          {send, []Event{by(trade.Unknown, FromGate)}},
		"accepted":         {permission, []Event{by(trade.Accepted, FromReport)}},
	} {
		d := tt.first.Decision(t0)
		for _, e := range tt.then {
			d.Apply(e)
		}
		if got := d.OrderStatus(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := strings.Contains(string(d.AppendJSON(nil)), `"order_status":"`+want+`"`); got != (want != "") {
			t.Errorf("%q: %s", want, d.AppendJSON(nil))
		}
	}
}

func TestSnapshotWithADamagedLineIsRefused(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "150.00")
	good := string(fold(allowed(1, o, ClearsPermission), allowed(2, o, ClearsSend)).AppendSnapshot(nil))
	for name, bad := range map[string]string{
		"no intent": strings.Replace(good, `{"intent":"`, `{"intend":"`, 1), "bad id": strings.Replace(good, string(intent(1)), "x", 1),
		"bad phase": strings.Replace(good, "permitted", "permuted", 1), "bad digest": strings.Replace(good, o.Digest().String(), "00", 1),
		"cut off": good[:len(good)-40], "empty line": good + "\n",
	} {
		s, err := ReadSnapshot([]byte(bad))
		if err == nil && !panics(func() { s.Opens() }) {
			t.Errorf("%s: taken", name)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func BenchmarkReadSnapshotWithManyOpen(b *testing.B) {
	o := order(b, "buy", "AAPL", "10", "150.00")
	s := NewState()
	for n := range 10_000 {
		s.Apply(t0, allowed(n+1, o, ClearsPermission))
	}
	raw := s.AppendSnapshot(nil)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := ReadSnapshot(raw); err != nil {
			b.Fatal(err)
		}
	}
}

//attack:ledger-event-bytes
//attack:ledger-nesting
func TestDecodeRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, body := range map[string]string{
		"empty": "", "not JSON": "{", "no kind": `{"v":1}`, "other version": `{"v":2,"kind":"asked"}`,
		"other kind": `{"v":1,"kind":"surprise"}`, "no intent": `{"v":1,"kind":"asked"}`,
		"bad intent":   `{"v":1,"kind":"asked","intent":"x"}`,
		"two kinds":    `{"v":1,"kind":"asked","kind":"kill_reset"}`,
		"bad outcome":  `{"v":1,"kind":"cancel_ended","intent":"` + string(intent(1)) + `","outcome":"maybe"}`,
		"bad order":    `{"v":1,"kind":"decided","intent":"` + string(intent(1)) + `","order":{},"verdict":"deny"}`,
		"over a MiB":   `{"v":1,"kind":"kill_reset","by":"` + strings.Repeat("x", maxEvent) + `","reason":"r"}`,
		"nested far":   strings.Repeat("[", maxNesting+1) + strings.Repeat("]", maxNesting+1),
		"bad snapshot": `{"v":1,"accounts":0}`,
	} {
		if e, err := Decode([]byte(body)); err == nil {
			t.Errorf("%s: decoded to %#v", name, e)
		}
		if s, err := ReadSnapshot([]byte(body)); err == nil {
			t.Errorf("%s: a snapshot of %d open intents", name, len(s.open))
		}
	}
}

//attack:ledger-snapshot-bytes
func TestReadSnapshotRefusesOneThatIsTooLarge(t *testing.T) {
	huge := make([]byte, maxSnapshot+1) // never touched, so it costs no memory
	if _, err := ReadSnapshot(huge); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Fatalf("%v", err)
	}
}

func TestEncodingRoundTripsAndStateIsTheFoldByteForByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live, replayed := NewState(), NewState()
		number := uint64(0)
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			e := randomEvent(t, &number)
			raw := Encode(e)
			back, err := Decode(raw)
			if err != nil {
				t.Fatalf("%v\n%s", err, raw)
			}
			if again := Encode(back); string(again) != string(raw) {
				t.Fatalf("encoded again:\n%s\n%s", again, raw)
			}
			if !reflect.DeepEqual(Keys(e), Keys(back)) {
				t.Fatalf("keys %v, want %v", Keys(back), Keys(e))
			}
			live.Apply(t0, e)
			replayed.Apply(t0, back)
		}
		a, b := live.AppendSnapshot(nil), replayed.AppendSnapshot(nil)
		if string(a) != string(b) {
			t.Fatalf("states differ:\n%s\n%s", a, b)
		}
		restored, err := ReadSnapshot(a)
		if err != nil {
			t.Fatal(err)
		}
		if c := restored.AppendSnapshot(nil); string(c) != string(a) {
			t.Fatalf("restored state differs:\n%s\n%s", c, a)
		}
		restored, err = ReadSnapshot(a) // as it is before anything is read
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(restored.waiting, live.waiting) {
			t.Fatalf("waiting permissions differ: %v, %v", restored.waiting, live.waiting)
		}
		if !reflect.DeepEqual(restored.held, live.held) {
			t.Fatalf("proposals differ: %v, %v", restored.held, live.held)
		}
		if !reflect.DeepEqual(restored.asking, live.asking) || len(restored.alike) != len(live.alike) {
			t.Fatalf("who asks for what differs: %v %v, %v %v", restored.asking, restored.alike, live.asking, live.alike)
		}
		for _, at := range []time.Time{t0, t0.Add(time.Second), t0.Add(time.Hour)} {
			if a, b := restored.Due(at), live.Due(at); !reflect.DeepEqual(a, b) {
				t.Fatalf("due at %s: %v, %v", at, a, b)
			}
		}
		for _, o := range restored.Opens() {
			if was := live.Open(o.Intent); !reflect.DeepEqual(written(o), written(was)) {
				t.Fatalf("restored %+v, was %+v", o, was)
			}
		}
		checkSums(t, live)
	})
}

// checkSums recomputes what the state keeps as sums: no open intent is missing from them, none is counted twice.
func checkSums(t *rapid.T, s *State) {
	for _, h := range s.Holdings() {
		var buys, sells trade.Decimal
		for _, o := range s.Opens() {
			if o.Order.Account() != h.Account || o.Order.Symbol() != h.Symbol {
				continue
			}
			own := o.pending()
			buys, sells = buys.Add(own.buys), sells.Add(own.sells)
			if own.buys.Sign() < 0 || own.sells.Sign() < 0 {
				t.Fatalf("%s has %+v pending", o.Intent, own)
			}
		}
		// What reports posted stays pending beside the open intents, so the sums may be higher, never lower.
		if h.PendingBuys.Cmp(buys) < 0 || h.PendingSells.Cmp(sells) < 0 {
			t.Fatalf("%s: pending %s/%s, open intents reserve %s/%s", h.Symbol, h.PendingBuys, h.PendingSells, buys, sells)
		}
	}
}

func randomEvent(t *rapid.T, number *uint64) Event {
	n := rapid.IntRange(1, 6).Draw(t, "intent")
	o := anyOrder(t)
	word := rapid.StringN(0, 20, 60)
	ruling := Ruling{
		Effect: rapid.SampledFrom([]policy.Effect{policy.Deny, policy.Allow}).Draw(t, "effect"), PolicySHA256: word.Draw(t, "sha"),
		Facts: &policy.Facts{PositionKnown: true, Position: decimal("5")},
		Rules: rapid.SampledFrom([][]string{nil, {"a"}, {"b \u202e\"", "a"}}).Draw(t, "rules"),
		Value: rapid.SampledFrom([]trade.Decimal{{}, decimal("5"), decimal("0.000000001")}).Draw(t, "value"),
	}
	if o.ByAmount() {
		ruling.Shares = rapid.SampledFrom([]policy.Known{{}, {Value: decimal("5"), Known: true}, {Value: decimal("9.5"), Known: true}}).Draw(t, "shares")
	}
	if ruling.Effect == policy.Deny {
		ruling.Reasons = []policy.Reason{{Code: "X", Field: word.Draw(t, "field"), Message: word.Draw(t, "message"), Rule: word.Draw(t, "rule"), Hold: rapid.Bool().Draw(t, "hold")}}
	}
	switch rapid.IntRange(0, 23).Draw(t, "kind") {
	case 23:
		return Ran{Intent: intent(1000 + n), Agent: "b", Order: o, Rules: ruling.Rules, Value: ruling.Value, Shares: ruling.Shares}
	case 19, 20:
		return HistoryBegan{FromStart: rapid.Bool().Draw(t, "from start")}
	case 21:
		return DayBegan{
			Account: "paper", Date: rapid.SampledFrom([]string{"2026-11-30", "2026-12-01"}).Draw(t, "date"), Start: t0, Equity: decimal("7"),
			Unrealised: rapid.SampledFrom([]policy.Known{{}, {Known: true}, {Value: trade.Decimal{}.Sub(decimal("1.5")), Known: true}}).Draw(t, "unrealised"),
		}
	case 22:
		return Marked{Account: rapid.SampledFrom([]trade.Account{"paper", "a\"b"}).Draw(t, "account"), Equity: trade.Whole(rapid.Uint32().Draw(t, "equity"))}
	case 10, 11, 12, 13, 14, 15, 16, 17:
		return randomControl(t, intent(1000+n), o, number)
	case 0, 1, 2:
		d := allowed(n, o, rapid.SampledFrom([]Clearance{ClearsSend, ClearsPermission}).Draw(t, "clears"))
		d.Ruling, d.AgentReason, d.ClientOrderID = ruling, word.Draw(t, "reason"), "c-1"
		d.Intent = intent(1000 + int(*number))
		*number++
		if ruling.Effect == policy.Deny {
			d.Clears, d.Pending = ClearsNothing, Pending{}
		}
		return d
	case 3:
		return Decided{
			Intent: intent(n), Origin: Origin{Agent: "a", Surface: "hook"}, Account: "paper",
			Input: &Input{Length: 3, SHA256: "x", Head: word.Draw(t, "head")}, Ruling: Ruling{Reasons: ruling.Reasons},
		}
	case 4:
		r := Rejudged{
			Intent: intent(1000 + n), Account: "paper", Origin: Origin{Agent: "a", Surface: "mcp", ToolCallID: "c"}, Ruling: ruling,
			Order: o, ClientOrderID: "c-1", FirstAt: t0,
		}
		if ruling.Effect == policy.Allow {
			r.Clears, r.Pending = ClearsSend, Pending{NotAfter: t0, Deadline: t0, Instance: "i"}
		}
		return r
	case 5, 6:
		return Concluded{
			Intent: intent(1000 + n), Outcome: trade.Outcome(rapid.IntRange(0, 2).Draw(t, "outcome")),
			Source: rapid.SampledFrom([]Source{FromBroker, FromReport, FromGate, FromPerson}).Draw(t, "source"), Message: word.Draw(t, "m"),
		}
	case 7:
		*number++
		return anyHappened(t, *number, 1000+n, o)
	case 8:
		return Flagged{Intent: intent(n), Flag: ArgumentsChanged, Detail: word.Draw(t, "detail")}
	}
	return KillReset{By: word.Draw(t, "by"), Reason: word.Draw(t, "why")}
}

func FuzzDecode(f *testing.F) {
	o := order(f, "buy", "AAPL", "10", "150.00")
	for _, e := range []Event{
		allowed(1, o, ClearsSend),
		Rejudged{Intent: intent(1), Order: o},
		Concluded{Intent: intent(1)},
		fill(1, 1, o, "1"),
		Flagged{Intent: intent(1), Flag: "X"},
		PostedEnded{Account: "paper", Symbol: mustSymbol("AAPL"), By: "p", Reason: "r"},
		Asked{intent(1)},
		CancelAsked{Intent: intent(1), NotAfter: t0, Wanted: true},
		CancelEnded{Intent: intent(1)},
		KillEngaged{},
		KillReset{},
		KillEngaged{Scope: Scope{OneSymbol, "AAPL"}},
		Approved{Intent: intent(1), Lapses: t0},
		ProposalEnded{Intent: intent(1), State: ApprovalExpired},
		AttemptRefused{},
		PersonSet{Person: Person{Name: "a", Owner: true, Telegram: -5}},
		PersonRemoved{},
		GrantSet{},
		GrantRemoved{},
		DaemonOwned{},
		heldOrder(1, o, 2),
		HistoryBegan{FromStart: true},
		DayBegan{Date: "2026-11-30"},
		Marked{},
		Decided{Intent: intent(1), Order: o, Ruling: Ruling{Rules: []string{"a"}, Value: decimal("1")}},
		allowed(1, wide(f, "buy AAPL notional=1000 type=market"), ClearsSend),
		allowed(1, wide(f, "buy AAPL quantity=10 type=stop_limit stop_price=9 limit_price=9.5 take_profit=12 stop_loss=8 stop_loss_limit=7"), ClearsSend),
		Decided{Intent: intent(1), Order: o, Ruling: Ruling{Shares: policy.Known{Value: decimal("1.5"), Known: true}}},
	} {
		f.Add(Encode(e))
	}
	f.Add([]byte(`{"v":1,"kind":"decided","intent":"","input":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := Decode(raw)
		if err != nil {
			return
		}
		again, err := Decode(Encode(e))
		if err != nil || string(Encode(again)) != string(Encode(e)) {
			t.Fatalf("%v: %s", err, raw)
		}
		s := NewState()
		s.Apply(t0, e)
		if _, err := ReadSnapshot(s.AppendSnapshot(nil)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDecisionObject(t *testing.T) {
	e := allowed(1, order(t, "buy", "AAPL", "250", "150"), ClearsNothing)
	e.Ruling = Ruling{
		PolicySHA256: strings.Repeat("a", 64),
		Reasons:      []policy.Reason{{Code: "QUANTITY_EXCEEDS_LIMIT", Field: "quantity", Limit: "200", Observed: "250", Message: "quantity 250 exceeds the limit of 200"}},
	}
	got := string(e.Decision(t0).AppendJSON(nil))
	want := `{"verdict":"deny","state":"EXECUTION_BLOCKED","intent_id":"` + string(intent(1)) + `","tool_call_id":"call_1","client_order_id":null,` +
		`"agent":"local","surface":"mcp","tool":"t","digest":"` + e.Order.Digest().String() + `",` +
		`"order":{"account":"paper","symbol":"AAPL","side":"buy","quantity":"250","type":"limit","limit_price":"150.00","time_in_force":"day"},` +
		`"notional":"37500.00","reasons":[{"code":"QUANTITY_EXCEEDS_LIMIT","field":"quantity","limit":"200","observed":"250",` +
		`"message":"quantity 250 exceeds the limit of 200"}],"policy_sha256":"` + strings.Repeat("a", 64) + `","at":"2026-11-30T14:03:22.123456Z"}`
	if got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	faulty := string(Decision{State: Blocked}.AppendJSON(nil))
	for _, part := range []string{`"order":null`, `"notional":null`, `"digest":null`, `"intent_id":null`, `"policy_sha256":null`, `"verdict":"deny"`} {
		if !strings.Contains(faulty, part) {
			t.Errorf("%s lacks %s", faulty, part)
		}
	}
}
