package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sallyport/policy"
	"sallyport/trade"
)

// began is a state that has remembered from the start.
func began(events ...Event) *State {
	return fold(append([]Event{KillReset{By: "p", Reason: "r"}, HistoryBegan{FromStart: true}}, events...)...)
}

// sentBy is an allowed order of an agent, matched by rules.
func sentBy(n int, agent trade.Agent, o trade.Order, rules ...string) Decided {
	d := allowed(n, o, ClearsSend)
	d.Origin.Agent, d.Ruling.Rules = agent, rules
	return d
}

func exactly(n int) policy.Count { return policy.Count{N: n, Known: true} }

func deniedOrder(n int, agent trade.Agent, o trade.Order, code trade.Code) Decided {
	d := allowed(n, o, ClearsNothing)
	d.Origin.Agent, d.Pending = agent, Pending{}
	d.Ruling = Ruling{Effect: policy.Deny, Reasons: []policy.Reason{{Code: code, Message: "m"}}}
	return d
}

// ran is an order that was executed although nothing allows it.
func ran(n int, agent trade.Agent, o trade.Order, rules ...string) Ran {
	return Ran{Intent: intent(n), Agent: agent, Order: o, Rules: rules}
}

// ask returns the history of an order of agent a.
func ask(s *State, o trade.Order, without trade.IntentID) *History {
	var h History
	s.History(&h, "a", o, without)
	return &h
}

func TestWindowIsOpenAtItsBeginningToTheMicrosecond(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "150.00")
	s := began()
	for i, at := range []time.Time{t0, t0.Add(time.Microsecond), t0.Add(time.Minute)} {
		s.Apply(at, sentBy(i, "a", o, "r"))
	}
	h := ask(s, o, "")
	for name, c := range map[string]struct {
		since time.Time
		want  int
		worth string
	}{
		"a microsecond before the first":       {t0.Add(-time.Microsecond), 3, "4500"},
		"at the first, which is out":           {t0, 2, "3000"},
		"between two microseconds":             {t0.Add(999 * time.Nanosecond), 2, "3000"},
		"at the second":                        {t0.Add(time.Microsecond), 1, "1500"},
		"a microsecond before the last":        {t0.Add(time.Minute - time.Microsecond), 1, "1500"},
		"at the last":                          {t0.Add(time.Minute), 0, "0"},
		"after the last, by a clock gone back": {t0.Add(time.Hour), 0, "0"},
	} {
		for per := policy.PerAccount; per <= policy.PerRule; per++ {
			if n, worth := h.Orders(per, "r", c.since), h.Notional(per, "r", c.since); n != c.want || worth.String() != c.worth {
				t.Errorf("%s, per %s: %d orders of %s; want %d of %s", name, per, n, worth, c.want, c.worth)
			}
		}
		if n := h.Similar(c.since); n != c.want {
			t.Errorf("%s: %d similar orders; want %d", name, n, c.want)
		}
	}
}

func TestEachScopeCountsItsOwn(t *testing.T) {
	aapl, msft := order(t, "buy", "AAPL", "10", "1.00"), order(t, "sell", "MSFT", "3", "2.00")
	valued := sentBy(4, "b", aapl, "large", "all")
	valued.Ruling.Value = decimal("12.5") // what the policy valued it at, not its own notional
	s := began(
		sentBy(1, "a", aapl, "large"), sentBy(2, "a", msft), sentBy(3, "b", aapl), valued,
		deniedOrder(5, "a", aapl, "X"), deniedOrder(6, "b", msft, "X"), deniedOrder(7, "a", trade.Order{}, "X"),
		Concluded{Intent: intent(1), Outcome: trade.Rejected, Source: FromBroker},
		Concluded{Intent: intent(2), Outcome: trade.Rejected, Source: FromReport},
		Concluded{Intent: intent(3), Outcome: trade.Rejected, Source: FromGate},
	)
	before := t0.Add(-time.Microsecond)
	h := ask(s, aapl, "")
	got := fmt.Sprint(
		h.Orders(policy.PerAccount, "", before), h.Orders(policy.PerAgent, "", before), h.Orders(policy.PerSymbol, "", before),
		h.Orders(policy.PerRule, "large", before), h.Orders(policy.PerRule, "all", before), h.Orders(policy.PerRule, "none", before), "|",
		h.Notional(policy.PerAccount, "", before), h.Notional(policy.PerAgent, "", before), h.Notional(policy.PerSymbol, "", before),
		h.Notional(policy.PerRule, "large", before), "|",
		h.Denials(policy.PerAccount, before).N, h.Denials(policy.PerAgent, before).N, h.Denials(policy.PerSymbol, before).N, "|",
		h.Rejections(policy.PerAccount, before).N, h.Rejections(policy.PerAgent, before).N, h.Rejections(policy.PerSymbol, before).N, "|",
		h.Similar(before),
	)
	if want := "4 2 3 2 1 0|38.5 16 32.5 22.5|3 2 1|2 2 1|3"; got != want {
		t.Fatalf("%s\nwant\n%s", got, want)
	}
	if n := ask(s, order(t, "buy", "AAPL", "10", "1.01"), "").Similar(before); n != 0 {
		t.Errorf("an order at another price has %d like it", n)
	}
	other, _, faults := trade.Parse(trade.Draft{
		Account: "second", Symbol: text("symbol", "AAPL"), Side: text("side", "buy"), Quantity: text("quantity", "10"),
		Type: text("order_type", "limit"), LimitPrice: text("limit_price", "1.00"), TimeInForce: text("time_in_force", "day"),
	})
	if h := ask(s, other, ""); len(faults) > 0 || h.Orders(policy.PerAccount, "", before)+h.Similar(before)+h.Denials(policy.PerAccount, before).N != 0 {
		t.Error("another account sees this one's orders")
	}
}

// TestEachOrderCountsOnceWhenItIsSent walks every way to be sent, and every way not to be.
func TestEachOrderCountsOnceWhenItIsSent(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	hold := heldOrder(1, o, 1)
	yes := Approved{Intent: intent(1), Digest: o.Digest(), Person: "anna", Lapses: t0.Add(time.Second)}
	again := func(c Clearance) Event {
		return Rejudged{Intent: intent(1), Order: o, Clears: c, Ruling: Ruling{Effect: policy.Allow, Rules: []string{"r"}}}
	}
	no := Rejudged{Intent: intent(1), Order: o}
	by := func(out trade.Outcome, s Source) Event { return Concluded{Intent: intent(1), Outcome: out, Source: s} }
	for name, c := range map[string]struct {
		events []Event
		want   int
	}{
		"denied":                               {[]Event{deniedOrder(1, "a", o, "X")}, 0},
		"held":                                 {[]Event{hold}, 0},
		"held and declined":                    {[]Event{hold, ProposalEnded{Intent: intent(1), State: ApprovalDeclined}}, 0},
		"held, approved and expired":           {[]Event{hold, yes, ProposalEnded{Intent: intent(1), State: ApprovalExpired}}, 0},
		"held, approved and denied":            {[]Event{hold, yes, no}, 0},
		"held, approved and sent":              {[]Event{hold, yes, again(ClearsSend), by(trade.Accepted, FromBroker)}, 1},
		"held, approved and permitted":         {[]Event{hold, yes, again(ClearsPermission), again(ClearsSend)}, 1},
		"held, and run by a harness":           {[]Event{hold, by(trade.Accepted, FromReport)}, 1},
		"held, and filled all the same":        {[]Event{hold, fill(1, 1, o, "4"), fill(2, 1, o, "6")}, 1},
		"held, and refused by nobody's broker": {[]Event{hold, by(trade.Rejected, FromBroker)}, 0},
		"permitted":                            {[]Event{allowed(1, o, ClearsPermission)}, 1},
		"permitted, then sent":                 {[]Event{allowed(1, o, ClearsPermission), again(ClearsSend)}, 1},
		"permitted again and again, then sent": {[]Event{allowed(1, o, ClearsPermission), again(ClearsPermission), again(ClearsPermission), again(ClearsSend)}, 1},
		"permitted, then denied":               {[]Event{allowed(1, o, ClearsPermission), no}, 1},
		"permitted and reported":               {[]Event{allowed(1, o, ClearsPermission), by(trade.Accepted, FromReport)}, 1},
		"denied and run all the same":          {[]Event{deniedOrder(1, "a", o, "X"), ran(1, "a", o)}, 1},
		"permitted, and another one run":       {[]Event{allowed(1, o, ClearsPermission), ran(1, "a", o)}, 2},
		"sent and rejected":                    {[]Event{allowed(1, o, ClearsSend), by(trade.Rejected, FromBroker)}, 1},
		"sent and unknown, then looked up":     {[]Event{allowed(1, o, ClearsSend), by(trade.Unknown, FromGate), by(trade.Accepted, FromLookup)}, 1},
		"sent, filled and cancelled": {[]Event{
			allowed(1, o, ClearsSend), fill(1, 1, o, "4"), Happened{Account: "paper", Number: 2, What: WasCancelled, Intent: intent(1), Symbol: o.Symbol()},
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			before := t0.Add(-time.Microsecond)
			h := ask(began(c.events...), o, "")
			if n, worth := h.Orders(policy.PerAccount, "", before), h.Notional(policy.PerAccount, "", before); n != c.want || worth.Cmp(trade.Whole(uint32(10*c.want))) != 0 {
				t.Fatalf("%d orders of %s; want %d", n, worth, c.want)
			}
		})
	}
}

// TestSecondJudgementLeavesItsOwnCountOut: R6.
func TestSecondJudgementLeavesItsOwnCountOut(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	permitted := allowed(1, o, ClearsPermission)
	permitted.Origin.Agent, permitted.Ruling.Rules, permitted.Ruling.Value = "a", []string{"r"}, decimal("11")
	s := began(permitted, sentBy(2, "b", o, "r"))
	before := t0.Add(-time.Microsecond)
	for range 2 { // as it is, and as it is read back
		h := ask(s, o, intent(1))
		got := fmt.Sprint(h.Orders(policy.PerAccount, "", before), h.Orders(policy.PerAgent, "", before), h.Orders(policy.PerSymbol, "", before),
			h.Orders(policy.PerRule, "r", before), h.Orders(policy.PerRule, "q", before), h.Notional(policy.PerAccount, "", before), h.Similar(before), h.Orders(policy.PerAccount, "", t0))
		if want := "1 0 1 1 0 10 1 0"; got != want {
			t.Fatalf("without its own: %s, want %s", got, want)
		}
		if n := ask(s, o, "").Orders(policy.PerAccount, "", before); n != 2 {
			t.Fatalf("%d orders for another one; want 2", n)
		}
		s = restart(t, s)
	}
	s.Apply(t0, Rejudged{Intent: intent(1), Order: o, Clears: ClearsSend, Ruling: Ruling{Effect: policy.Allow}})
	if n := ask(s, o, intent(1)).Orders(policy.PerAccount, "", before); n != 2 {
		t.Errorf("once it is sent it is left out no more: %d", n)
	}
}

// TestWhatIsSentCountsFromWhenItIsSent: permissions that were collected slowly are sent at once, and count then; so do those
// that are given again. A state that was written in between, and one that has read nothing of it, count the same.
//
//attack:ledger-count-moves
func TestWhatIsSentCountsFromWhenItIsSent(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	for name, clears := range map[string]Clearance{"sent": ClearsSend, "given again": ClearsPermission} {
		for every, between := range map[string]func(*State) *State{
			"live": func(s *State) *State { return s }, "restarted": func(s *State) *State { return restart(t, s) },
			"asked": func(s *State) *State { ask(s, o, "").Orders(policy.PerRule, "r", t0); return s },
		} {
			s := began()
			for i := range 5 {
				d := allowed(1+i, o, ClearsPermission)
				d.Origin.Agent, d.Ruling.Rules, d.Ruling.Value = "a", []string{"r"}, decimal("11")
				s.Apply(t0.Add(time.Duration(i)*time.Hour), d)
			}
			late := t0.Add(20 * time.Hour)
			for i := range 4 {
				s = between(s)
				h := ask(s, o, intent(1+i))
				counts := [...]int{h.Orders(policy.PerAccount, "", late.Add(-time.Minute)), h.Orders(policy.PerRule, "q", late.Add(-time.Minute)), h.Similar(late.Add(-time.Minute)), h.Orders(policy.PerAgent, "", t0.Add(-1))}
				if counts != [...]int{i, i, i, 4} {
					t.Errorf("%s, %s: the %d. is judged after %v in a minute, and in all", name, every, i+1, counts)
				}
				s.Apply(late, Rejudged{Intent: intent(1 + i), Order: o, Clears: clears, Ruling: Ruling{Effect: policy.Allow, Rules: []string{"q"}, Value: decimal("12")}})
			}
			s = between(s)
			h, hour := ask(s, o, ""), late.Add(-time.Hour)
			got := fmt.Sprint(h.Orders(policy.PerRule, "q", hour), h.Notional(policy.PerRule, "q", hour), h.Orders(policy.PerRule, "r", t0.Add(-1)),
				h.Notional(policy.PerAccount, "", t0.Add(-1)), h.Orders(policy.PerAccount, "", late))
			if want := "4 48 1 59 0"; got != want {
				t.Errorf("%s, %s: %s, want %s", name, every, got, want)
			}
		}
	}
}

// TestPastIsReadOnlyByWhomAsksForIt counts what of the snapshot is unread, not how long anything takes.
func TestPastIsReadOnlyByWhomAsksForIt(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "150.00")
	whole := began()
	for i := range 500 {
		at := t0.Add(time.Duration(i) * time.Minute)
		whole.Apply(at, sentBy(1, "a", o, "r"))
		whole.Apply(at, Concluded{Intent: intent(1), Outcome: trade.Rejected, Source: FromBroker})
		whole.Apply(at, deniedOrder(2, "a", o, "X"))
		whole.Apply(at, fill(uint64(2*i+1), 3, o, "5"))
		whole.Apply(at, fill(uint64(2*i+2), 4, order(t, "sell", "AAPL", "5", "150.00"), "5"))
	}
	s := restart(t, whole)
	unread := s.Unread()
	if unread < 500*4*8 {
		t.Fatalf("%d bytes of the past are unread", unread)
	}
	msft := order(t, "buy", "MSFT", "3", "7.00")
	later := []struct {
		after time.Duration
		event Event
	}{
		{0, allowed(5, msft, ClearsPermission)}, // before the newest of the line: it gets that one's time
		{600 * time.Minute, deniedOrder(6, "b", msft, "X")},
		{40 * time.Hour, allowed(7, msft, ClearsPermission)}, // all of the line is too old now
		{40 * time.Hour, Concluded{Intent: intent(7), Outcome: trade.Rejected, Source: FromReport}},
		{41 * time.Hour, fill(1001, 3, o, "5")},
		{41 * time.Hour, fill(1002, 4, order(t, "sell", "AAPL", "5", "150.00"), "5")},
	}
	for _, l := range later {
		s.Apply(t0.Add(l.after), l.event)
		whole.Apply(t0.Add(l.after), l.event)
		if n := s.Unread(); n != unread {
			t.Fatalf("%s has read %d bytes of the past", l.event.Kind(), unread-n)
		}
	}
	if a, b := s.Open(intent(5)).Counted, whole.Open(intent(5)).Counted; !a.Equal(b) || !a.Equal(t0.Add(499*time.Minute)) {
		t.Errorf("counted at %s, and by who has read it all at %s", a, b)
	}
	if a, b := string(s.AppendSnapshot(nil)), string(whole.AppendSnapshot(nil)); a != b || s.Unread() != 0 {
		t.Fatalf("%d bytes are unread, and the state is\n%s\nwant\n%s", s.Unread(), a, b)
	}
	if n, size := s.AtLeast(), len(s.AppendSnapshot(nil)); n > size || n < size/2 {
		t.Errorf("the state has at least %d bytes, and %d in fact", n, size)
	}
	s = restart(t, s)
	if n, size := s.AtLeast(), len(s.AppendSnapshot(nil)); n > size || n < size/2 {
		t.Errorf("the state that is read back has at least %d bytes, and %d in fact", n, size)
	}
	ask(s, o, "")
	if p := &s.accounts["paper"].past; p.sent.lines != nil || p.rejected.lines != nil || p.denied.lines != nil || p.closed.lines == nil {
		t.Error("who asks for what was sent and refused reads the gains too, or not all of the rest")
	}
}

func restart(t interface {
	Fatalf(string, ...any)
}, s *State,
) *State {
	raw := s.AppendSnapshot(nil)
	back, err := ReadSnapshot(raw)
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return back
}

// TestWhatIsNotRememberedIsNotKnown: a state that cannot know says so by its counts.
//
//attack:ledger-history-window
//attack:ledger-history-began
func TestWhatIsNotRememberedIsNotKnown(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	known := func(name string, s *State, since time.Time, want bool) {
		t.Helper()
		h := ask(s, o, "")
		for per := policy.PerAccount; per <= policy.PerRule; per++ {
			n, worth := h.Orders(per, "r", since), h.Notional(per, "r", since)
			if got := n != NotKnown && worth.Sign() >= 0; got != want || n < NotKnown {
				t.Errorf("%s: orders and notional per %s are %d and %s; want them known: %t", name, per, n, worth, want)
			}
		}
		if n := h.Similar(since); (n >= 0) != want {
			t.Errorf("%s: %d similar orders; want them known: %t", name, n, want)
		}
	}
	known("a journal of an earlier version", fold(sentBy(1, "a", o)), t0, false)
	late := fold(sentBy(1, "a", o), HistoryBegan{FromStart: true}) // which is not so
	known("before it began", late, t0.Add(-time.Microsecond), false)
	known("since it began", late, t0, true)
	late.Apply(t0.Add(-time.Hour), HistoryBegan{})
	known("it begins once", late, t0.Add(-time.Microsecond), false)
	if h, not := ask(late, o, ""), (policy.Count{N: NotKnown}); h.Denials(policy.PerAgent, t0.Add(-time.Second)) != not || h.Rejections(policy.PerAgent, t0.Add(-time.Second)) != not {
		t.Error("denials and rejections before it began are counted")
	}
	s := began(sentBy(1, "a", o), deniedOrder(9, "a", o, "X"))
	s.Apply(t0.Add(kept-time.Microsecond), sentBy(2, "a", o))
	known("just inside the window", s, t0.Add(-time.Microsecond), true)
	s.Apply(t0.Add(kept), sentBy(3, "a", o))
	known("up to what is forgotten", s, t0.Add(-time.Microsecond), false)
	known("after what is forgotten", s, t0, true)
	known("after a restart", restart(t, s), t0.Add(-time.Microsecond), false)
	s.Apply(t0.Add(kept), deniedOrder(10, "a", o, "X"))
	if n := ask(s, o, "").Denials(policy.PerAgent, t0.Add(-time.Microsecond)); n.Known {
		t.Errorf("%d denials up to what is forgotten", n.N)
	}
}

//attack:ledger-history-sent
func TestMostThatIsRemembered(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	s := began()
	e := sentBy(1, "a", o)
	var h History
	for i := range maxSent {
		s.Apply(t0.Add(time.Duration(i)*time.Microsecond), e)
	}
	if s.History(&h, "a", o, ""); h.Orders(policy.PerAccount, "", t0.Add(-time.Microsecond)) != maxSent {
		t.Fatal("not all are counted")
	}
	s.Apply(t0.Add(maxSent*time.Microsecond), e)
	for range 2 {
		s.History(&h, "a", o, "")
		n, worth := h.Orders(policy.PerAccount, "", t0.Add(-time.Microsecond)), h.Notional(policy.PerAccount, "", t0.Add(-time.Microsecond))
		if n != Uncounted || n+1 < n || worth.Cmp(decimal("999999999999.999999999")) <= 0 {
			t.Fatalf("one over the most: %d of %s", n, worth)
		}
		if n := h.Orders(policy.PerAccount, "", t0); n != maxSent {
			t.Fatalf("without the forgotten one: %d", n)
		}
		s = restart(t, s)
	}
}

//attack:ledger-history-troubles
func TestMostDenialsAndRejectionsThatAreRemembered(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	s := began()
	for i := range maxTroubles + 1 {
		at := t0.Add(time.Duration(i) * time.Microsecond)
		s.Apply(at, deniedOrder(1, "a", o, "X"))
		s.Apply(at, allowed(2, o, ClearsSend))
		s.Apply(at, Concluded{Intent: intent(2), Outcome: trade.Rejected, Source: FromBroker})
		want := policy.Count{N: min(i+1, maxTroubles), Known: i < maxTroubles}
		h := ask(s, o, "")
		if d, r := h.Denials(policy.PerAgent, t0.Add(-time.Microsecond)), h.Rejections(policy.PerSymbol, t0.Add(-time.Microsecond)); d != want || r != want {
			t.Fatalf("after %d: %v denials, %v rejections", i+1, d, r)
		}
	}
	if n := ask(s, o, "").Denials(policy.PerAgent, t0); n != exactly(maxTroubles) {
		t.Fatalf("%v denials after the forgotten one", n)
	}
}

// TestManyScopesAreCountedAsOne asks about more symbols than are kept counted, between orders.
//
//attack:ledger-history-scopes
func TestManyScopesAreCountedAsOne(t *testing.T) {
	s := began()
	for i := range 3 * maxScopes {
		o := order(t, "buy", fmt.Sprint("S", i%(2*maxScopes)), "1", "1.00")
		s.Apply(t0, sentBy(i, "a", o))
		h, before := ask(s, o, ""), t0.Add(-time.Microsecond)
		if all, own := h.Orders(policy.PerAccount, "", before), h.Orders(policy.PerSymbol, "", before); all != i+1 || own != i/(2*maxScopes)+1 {
			t.Fatalf("after %d orders: %d of the account, %d of the symbol", i+1, all, own)
		}
		if n := len(s.accounts["paper"].past.index); n > maxScopes {
			t.Fatalf("%d scopes are kept", n)
		}
	}
}

// TestIndexForgetsWithTheLog: what the log has dropped is not kept for ever by what is counted from it.
func TestIndexForgetsWithTheLog(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	s := began()
	for i := range 5000 {
		at := t0.Add(time.Duration(i) * time.Hour)
		s.Apply(at, sentBy(1, "a", o, "r"))
		h := ask(s, o, "")
		for per := policy.PerAccount; per <= policy.PerRule; per++ {
			if n := h.Orders(per, "r", at.Add(-25*time.Hour)); n != min(i+1, 25) {
				t.Fatalf("after %d: %d", i+1, n)
			}
		}
		if n := len(s.accounts["paper"].past.index[scopeKey{}].at); n > 1200 {
			t.Fatalf("%d are kept", n)
		}
	}
}

// TestResetBeginsToCountTroublesAgainInItsScope: and takes nothing from the counts of another one.
//
//attack:ledger-pardon
func TestResetBeginsToCountTroublesAgainInItsScope(t *testing.T) {
	aapl, msft := order(t, "buy", "AAPL", "10", "1.00"), order(t, "buy", "MSFT", "10", "1.00")
	for scope, want := range map[Scope]string{ // denials and rejections per account, per agent a, per symbol AAPL
		{}: "0 0, 0 0, 0 0", {OneAccount, "paper"}: "0 0, 0 0, 0 0", {OneAccount, "PAPER"}: "0 0, 0 0, 0 0", {OneAccount, "other"}: "4 2, 2 1, 2 1",
		{OneAgent, "a"}: "4 2, 0 0, 2 1", {OneAgent, "A"}: "4 2, 0 0, 2 1", {OneAgent, "b"}: "4 2, 2 1, 2 1", {OneSymbol, "AAPL"}: "4 2, 2 1, 0 0",
		{OneSymbol, "X"}: "4 2, 2 1, 2 1",
	} {
		s := began()
		trouble := func() {
			for i, o := range []trade.Order{aapl, msft, aapl, msft} {
				agent := trade.Agent([]string{"a", "a", "b", "b"}[i])
				s.Apply(t0, deniedOrder(1, agent, o, "X"))
			}
			for i, o := range []trade.Order{aapl, msft} {
				s.Apply(t0, sentBy(10+i, trade.Agent([]string{"a", "b"}[i]), o))
				s.Apply(t0, Concluded{Intent: intent(10 + i), Outcome: trade.Rejected, Source: FromBroker})
			}
		}
		count := func() string {
			s = restart(t, s)
			h, before := ask(s, aapl, ""), t0.Add(-time.Microsecond)
			var all []string
			for _, per := range []policy.Per{policy.PerAccount, policy.PerAgent, policy.PerSymbol} {
				d, r := h.Denials(per, before), h.Rejections(per, before)
				if !d.Known || !r.Known {
					t.Errorf("%s: %+v %+v", scope, d, r)
				}
				all = append(all, fmt.Sprint(d.N, r.N))
			}
			return strings.Join(all, ", ")
		}
		trouble()
		s = restart(t, s)
		s.Apply(t0, KillReset{Scope: scope, By: "p"})
		if got := count(); got != want {
			t.Errorf("%s: %q, want %q", scope, got, want)
		}
		if ask(s, aapl, "").Orders(policy.PerAccount, "", t0.Add(-time.Microsecond)) != 2 {
			t.Errorf("%s: a reset takes back what was sent", scope)
		}
		trouble() // in the same microsecond
		var twice []string
		for _, n := range [][2]int{{4, 2}, {2, 1}, {2, 1}} {
			var d, r int
			if _, err := fmt.Sscanf(strings.Split(want, ", ")[len(twice)], "%d %d", &d, &r); err != nil {
				t.Fatal(err)
			}
			twice = append(twice, fmt.Sprint(d+n[0], r+n[1]))
		}
		if got := count(); got != strings.Join(twice, ", ") {
			t.Errorf("%s: with as many again %q, want %q", scope, got, twice)
		}
	}
}

func TestWhatAStopBlocksIsNoDenial(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	h := ask(began(deniedOrder(1, "a", o, policy.KillSwitchActive), deniedOrder(2, "a", o, "X")), o, "")
	if n := h.Denials(policy.PerAgent, t0.Add(-time.Second)); n != exactly(1) {
		t.Fatalf("%v denials, want 1", n)
	}
}

func TestJournalOfAnEarlierVersionFoldsToItsBytes(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "150.00")
	s := fold(KillReset{By: "p", Reason: "r"}, sentBy(1, "a", o), deniedOrder(2, "a", o, "X"), sentBy(3, "a", o),
		Concluded{Intent: intent(3), Outcome: trade.Rejected, Source: FromBroker},
		fill(1, 1, o, "5"), fill(2, 9, order(t, "sell", "AAPL", "2", "1.00"), "2"))
	for _, word := range []string{"rows", "memory", "average", "streak", "day", "counted_at", "rules", "value"} {
		if raw := string(s.AppendSnapshot(nil)); strings.Contains(raw, `"`+word+`":`) {
			t.Errorf("it has a member %s: %s", word, raw)
		}
	}
}

func TestDamagedLineOfThePastIsRefused(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "150.00")
	good := string(began(sentBy(1, "a", o, "r"), deniedOrder(2, "a", o, "X")).AppendSnapshot(nil))
	for name, c := range map[string][2]string{
		"kind": {`{"sent"`, `{"send"`}, "account": {`{"sent":0`, `{"sent":1`}, "no rows": {`"rows"`, `"row"`}, "side": {`"buy","limit","10"`, `"bye","limit","10"`},
		"type": {`"buy","limit","10"`, `"buy","limbo","10"`}, "quantity": {`"limit","10"`, `"limit","1e1"`}, "symbol": {`["a","AAPL"`, `["a","aapl "`},
		"name": {`,6,7]`, `,6,8]`}, "no quantity": {`,4,5,6`, `,6,5,6`}, "no price": {`,4,5,6`, `,4,6,6`}, "time": {`"rows":[[1`, `"rows":[[x`},
		"minus": {`,6,7]`, `,6,-7]`}, "an end": {`]],"names"`, `],"names"`}, "names": {`"names":["a",`, `"names":[1,`}, "a comma": {`,4,5,6`, `,4;5,6`},
		"twice": {`{"sent":0`, `{"denied":0`}, "forgotten": {`"forgotten":0`, `"forgotten":-1`},
	} {
		bad := strings.Replace(good, c[0], c[1], 1)
		if bad == good {
			t.Fatalf("%s: nothing is damaged in %s", name, good)
		}
		s, err := ReadSnapshot([]byte(bad))
		if err == nil && !panics(func() { ask(s, o, "") }) {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestDaysAcrossTheClockChanges counts by the policy's day on the days of 23, 24 and 25 hours.
func TestDaysAcrossTheClockChanges(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	for _, c := range []struct {
		zone, at, date, start string
		hours                 int
	}{
		{"America/New_York", "2026-03-08T06:30:00Z", "2026-03-08", "2026-03-08T05:00:00Z", 23},
		{"America/New_York", "2026-11-01T05:30:00Z", "2026-11-01", "2026-11-01T04:00:00Z", 25},
		{"America/New_York", "2026-11-01T06:30:00Z", "2026-11-01", "2026-11-01T04:00:00Z", 25},
		{"America/New_York", "2026-11-30T04:59:59Z", "2026-11-29", "2026-11-29T05:00:00Z", 24},
		{"America/New_York", "2026-11-30T05:00:00Z", "2026-11-30", "2026-11-30T05:00:00Z", 24},
		{"UTC", "2026-12-31T23:59:59Z", "2026-12-31", "2026-12-31T00:00:00Z", 24},
		{"America/Santiago", "2026-09-06T12:00:00Z", "2026-09-06", "2026-09-06T04:00:00Z", 23}, // no midnight
		{"America/Havana", "2026-11-01T12:00:00Z", "2026-11-01", "2026-11-01T04:00:00Z", 25},   // two midnights
		{"Australia/Lord_Howe", "2026-10-04T00:00:00Z", "2026-10-04", "2026-10-03T13:30:00Z", 0},
		{"Asia/Kathmandu", "2026-11-29T18:15:00Z", "2026-11-30", "2026-11-29T18:15:00Z", 24},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := time.Parse(time.RFC3339, c.at)
		date, day := DayOf(at, zone)
		long := day.End.Sub(day.Start)
		if date != c.date || day.Start.Format(time.RFC3339) != c.start || c.hours > 0 && long != time.Duration(c.hours)*time.Hour || long > kept-time.Hour {
			t.Errorf("%s in %s: %s from %s, %s long; want %s from %s, %d hours", c.at, c.zone, date, day.Start, long, c.date, c.start, c.hours)
		}
		s := began()
		for i, when := range []time.Time{day.Start.Add(-time.Microsecond), day.Start, day.End.Add(-time.Microsecond)} {
			s.Apply(when, sentBy(i, "a", o))
		}
		since := day.Start.Add(-time.Microsecond)
		if n := ask(s, o, "").Orders(policy.PerAccount, "", since); n != 2 {
			t.Errorf("%s: %d orders of the day, want 2: at its first and its last microsecond", c.at, n)
		}
		s.Apply(day.End, sentBy(5, "a", o))
		if n := ask(s, o, "").Orders(policy.PerAccount, "", day.End.Add(-time.Microsecond)); n != 1 {
			t.Errorf("%s: %d orders of the day after, want 1", c.at, n)
		}
	}
}

// occurrence is what the naive recount keeps.
type occurrence struct {
	at            time.Time
	agent, symbol string
	order         trade.Order
	worth         trade.Decimal
	rules         []string
	intent        trade.IntentID
	pardoned      [policy.PerRule + 1]bool
}

// recount is the second, naive reading of the same events: plain lists, and nothing is ever forgotten.
type recount struct {
	sent, denied, rejected []occurrence
	pardoned               time.Time // of the newest reset of an agent or a symbol
}

func (r *recount) take(s *State, at time.Time, e Event) {
	phase, open := NoPhase, s.Open(e.About())
	if open != nil {
		phase = open.Phase
	}
	add := func(list *[]occurrence, agent trade.Agent, o trade.Order, ruling Ruling) {
		if list != &r.sent && !r.pardoned.IsZero() && !at.After(r.pardoned) { // what comes after a reset has a later time
			at = r.pardoned.Add(time.Microsecond)
		}
		if n := len(*list); n > 0 && at.Before((*list)[n-1].at) {
			at = (*list)[n-1].at
		}
		v := occurrence{intent: e.About(), at: at, agent: string(agent), symbol: o.Symbol().String(), order: o, rules: ruling.Rules, worth: ruling.Value}
		if v.worth.Sign() == 0 && !o.IsZero() {
			v.worth = naiveWorth(s, o)
		}
		*list = append(*list, v)
	}
	waits := phase == OnHold || phase == Granted
	switch e := e.(type) {
	case Decided:
		if e.Ruling.Effect == policy.Deny {
			add(&r.denied, e.Origin.Agent, e.Order, e.Ruling)
		} else if e.Ruling.Effect == policy.Allow {
			add(&r.sent, e.Origin.Agent, e.Order, e.Ruling)
		}
	case Rejudged:
		switch {
		case e.Ruling.Effect == policy.Deny && (waits || phase == Permitted):
			add(&r.denied, open.Origin.Agent, open.Order, e.Ruling)
		case e.Ruling.Effect == policy.Allow && phase == Granted:
			agent := open.Origin.Agent
			if e.Clears == ClearsPermission {
				agent = e.Origin.Agent
			}
			add(&r.sent, agent, open.Order, e.Ruling)
		case e.Ruling.Effect == policy.Allow && phase == Permitted: // it counts in the place of its permission
			i := slices.IndexFunc(r.sent, func(v occurrence) bool { return v.intent == e.Intent })
			add(&r.sent, open.Origin.Agent, open.Order, e.Ruling)
			r.sent = slices.Delete(r.sent, i, i+1)
		}
	case Concluded:
		if waits && e.Source == FromReport && e.Outcome == trade.Accepted {
			add(&r.sent, open.Origin.Agent, open.Order, Ruling{Rules: open.Rules, Value: open.Value})
		}
		if (phase == Permitted || phase == Sending) && e.Outcome == trade.Rejected && (e.Source.Tracked() || e.Source == FromReport) {
			add(&r.rejected, open.Origin.Agent, open.Order, Ruling{})
		}
	case Ran:
		add(&r.sent, e.Agent, e.Order, Ruling{Rules: e.Rules, Value: e.Value})
		r.sent[len(r.sent)-1].intent = ""
	case Happened:
		if n, _ := s.Cursor(e.Account); waits && e.Number > n && e.What == WasFilled {
			add(&r.sent, open.Origin.Agent, open.Order, Ruling{Rules: open.Rules, Value: open.Value})
		}
	case KillReset:
		if s.accounts["paper"] != nil { // else there is nothing to begin again
			r.reset(at, e.Scope)
		}
	}
}

func (r *recount) reset(at time.Time, scope Scope) {
	per, narrow := map[ScopeKind]policy.Per{OneAgent: policy.PerAgent, OneSymbol: policy.PerSymbol}[scope.Kind]
	if !narrow {
		r.denied, r.rejected, r.pardoned = nil, nil, time.Time{}
		return
	}
	r.pardoned = at
	for _, list := range [][]occurrence{r.denied, r.rejected} {
		for i, v := range list {
			if v.at.After(r.pardoned) {
				r.pardoned = v.at
			}
			if scope.Covers("paper", trade.Agent(v.agent), mustSymbol(v.symbol)) {
				list[i].pardoned[per] = true
			}
		}
	}
}

// naiveWorth is what an order counts as of which nobody said what it is worth.
func naiveWorth(s *State, o trade.Order) trade.Decimal {
	price := o.LimitPrice()
	if o.ByAmount() {
		return o.Amount()
	}
	if o.Side() == trade.Sell {
		for _, p := range []trade.Decimal{o.StopPrice(), s.holding(o.Account(), o.Symbol()).average} {
			if p.Cmp(price) > 0 {
				price = p
			}
		}
		s.tidy(o.Account(), o.Symbol())
	}
	return price.MulUp(o.Quantity())
}

func within(list []occurrence, since time.Time, fits func(occurrence) bool) (n int, worth trade.Decimal) {
	blind := false
	for _, v := range list {
		if v.at.After(since) && fits(v) {
			n, worth = n+1, worth.Add(v.worth)
			blind = blind || v.worth.Sign() == 0
		}
	}
	if blind {
		worth = trade.Decimal{}.Sub(trade.Whole(1))
	}
	return n, worth
}

func TestFoldCountsWhatANaiveRecountCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live, naive, number, at := began(), &recount{}, uint64(0), t0
		whole := began()
		for i := range rapid.IntRange(1, 60).Draw(t, "events") {
			step := rapid.SampledFrom([]time.Duration{0, time.Microsecond, time.Second, time.Hour, 13 * time.Hour, -3 * time.Second}).Draw(t, "step")
			at = at.Add(step)
			e := randomEvent(t, &number)
			if d, ok := e.(Decided); ok {
				d.Origin.Agent = trade.Agent(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "agent"))
				e = d
			}
			naive.take(live, at, e)
			live.Apply(at, e)
			whole.Apply(at, e)
			if rapid.IntRange(0, 4).Draw(t, "restart") == 0 {
				live = restart(t, live)
			}
			if i%3 == 0 {
				compareCounts(t, live, naive, at)
			}
		}
		compareCounts(t, live, naive, at)
		if a, b := string(live.AppendSnapshot(nil)), string(whole.AppendSnapshot(nil)); a != b {
			t.Fatalf("restarts change the state:\n%s\n%s", a, b)
		}
	})
}

func compareCounts(t *rapid.T, s *State, naive *recount, at time.Time) {
	o := order(t, "buy", "AAPL", "10", "150.25")
	since := at.Add(-rapid.SampledFrom([]time.Duration{0, time.Microsecond, time.Minute, time.Hour, 25 * time.Hour}).Draw(t, "window"))
	h := ask(s, o, "")
	fits := map[policy.Per]func(occurrence) bool{
		policy.PerAccount: func(occurrence) bool { return true },
		policy.PerAgent:   func(v occurrence) bool { return v.agent == "a" },
		policy.PerSymbol:  func(v occurrence) bool { return v.symbol == "AAPL" },
		policy.PerRule:    func(v occurrence) bool { return len(v.rules) > 0 && v.rules[len(v.rules)-1] == "a" },
	}
	for per, fit := range fits {
		n, worth := within(naive.sent, since, fit)
		if gotN, got := h.Orders(per, "a", since), h.Notional(per, "a", since); gotN != n || got.Cmp(worth) != 0 {
			t.Fatalf("per %s since %s: %d orders of %s, the recount says %d of %s", per, since, gotN, got, n, worth)
		}
		if per == policy.PerRule {
			continue
		}
		fit := func(v occurrence) bool { return fit(v) && !v.pardoned[per] }
		if n, _ := within(naive.denied, since, fit); h.Denials(per, since) != exactly(n) {
			t.Fatalf("per %s since %s: %d denials, the recount says %d", per, since, h.Denials(per, since).N, n)
		}
		if n, _ := within(naive.rejected, since, fit); h.Rejections(per, since) != exactly(n) {
			t.Fatalf("per %s since %s: %d rejections, the recount says %d", per, since, h.Rejections(per, since).N, n)
		}
	}
	n, _ := within(naive.sent, since, func(v occurrence) bool {
		return v.symbol == "AAPL" && v.order.Side() == trade.Buy && v.order.Type() == trade.Limit && v.order.Quantity().Cmp(o.Quantity()) == 0
	})
	if h.Similar(since) != n {
		t.Fatalf("%d similar orders, the recount says %d", h.Similar(since), n)
	}
}
