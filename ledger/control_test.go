package ledger

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sallyport/policy"
	"sallyport/trade"
)

// heldOrder is the first judgement of an order that so many people must approve.
func heldOrder(n int, o trade.Order, approvers int) Decided {
	d := allowed(n, o, ClearsApproval)
	d.Pending = Pending{}
	d.Ruling = Ruling{Effect: policy.Hold, Reasons: []policy.Reason{{Code: "APPROVAL_REQUIRED", Field: "notional", Limit: "1", Message: "m"}}}
	d.Hold = Hold{Expires: t0.Add(time.Minute), Within: time.Second, Approvers: approvers}
	return d
}

// randomControl draws an event of people in control.
func randomControl(t *rapid.T, id trade.IntentID, o trade.Order, number *uint64) Event {
	word := rapid.StringN(0, 20, 60)
	name := rapid.SampledFrom([]string{"anna", "ben", "olga"})
	scope := rapid.SampledFrom([]Scope{{}, {OneAccount, "paper"}, {OneAgent, "a"}, {OneSymbol, "AAPL"}})
	switch rapid.IntRange(0, 9).Draw(t, "control") {
	case 0, 1:
		d := heldOrder(0, o, rapid.IntRange(1, 2).Draw(t, "approvers"))
		d.Intent = intent(1000 + int(*number))
		d.Hold.Permits = rapid.Bool().Draw(t, "permits")
		*number++
		return d
	case 2:
		return Approved{Intent: id, Digest: o.Digest(), Person: name.Draw(t, "person"), Channel: word.Draw(t, "channel"), Lapses: t0.Add(time.Second), Needs: rapid.IntRange(0, 3).Draw(t, "needs")}
	case 3:
		r := Rejudged{Intent: id, Account: "paper", Origin: Origin{Agent: "a", Surface: "mcp"}, Order: o, FirstAt: t0}
		if rapid.Bool().Draw(t, "allow") {
			r.Ruling.Effect, r.Pending = policy.Allow, Pending{NotAfter: t0, Deadline: t0}
			r.Clears = rapid.SampledFrom([]Clearance{ClearsSend, ClearsPermission}).Draw(t, "clears")
		}
		return r
	case 4:
		return ProposalEnded{Intent: id, State: ApprovalDeclined, By: name.Draw(t, "by"), Reason: word.Draw(t, "why")}
	case 5:
		return KillEngaged{Scope: scope.Draw(t, "scope"), By: word.Draw(t, "by"), Reason: word.Draw(t, "why")}
	case 6:
		return KillReset{Scope: scope.Draw(t, "scope"), By: word.Draw(t, "by"), Reason: word.Draw(t, "why")}
	case 7:
		return rapid.SampledFrom([]Event{
			PersonSet{Person: Person{Name: name.Draw(t, "name"), Approver: rapid.Bool().Draw(t, "approver"), Telegram: 5, Hash: word.Draw(t, "hash")}, By: "olga"},
			PersonRemoved{Name: name.Draw(t, "gone"), By: "olga"},
		}).Draw(t, "person event")
	case 8:
		return rapid.SampledFrom([]Event{
			GrantSet{Grant: Grant{Agent: trade.Agent(name.Draw(t, "agent")), Tier: trade.TierPropose, Hash: word.Draw(t, "token")}, By: "olga"},
			GrantRemoved{Agent: trade.Agent(name.Draw(t, "gone agent")), By: "olga"},
			DaemonOwned{By: "x"},
		}).Draw(t, "grant event")
	}
	return AttemptRefused{Intent: id, Action: "approve", By: word.Draw(t, "who"), Code: "X", Message: word.Draw(t, "what")}
}

//attack:ledger-approval
//attack:ledger-resume
//attack:ledger-proposal-ended
func TestApprovalNeedsTheDigestAndDifferentPersons(t *testing.T) {
	o, other := order(t, "buy", "AAPL", "10", "1.00"), order(t, "buy", "AAPL", "11", "1.00")
	lapses := t0.Add(time.Second)
	approve := func(o trade.Order, person string, lapses time.Time) Event {
		return Approved{Intent: intent(1), Digest: o.Digest(), Person: person, Lapses: lapses}
	}
	for name, c := range map[string]struct {
		events []Event
		want   Phase
	}{
		"one of two":                   {[]Event{approve(o, "a", lapses)}, OnHold},
		"the same twice":               {[]Event{approve(o, "a", lapses), approve(o, "a", lapses)}, OnHold},
		"another digest":               {[]Event{approve(other, "a", lapses), approve(other, "b", lapses)}, OnHold},
		"two":                          {[]Event{approve(o, "a", time.Time{}), approve(o, "b", lapses)}, Granted},
		"two, and none is the last":    {[]Event{approve(o, "a", time.Time{}), approve(o, "b", time.Time{})}, OnHold},
		"an allow without an approval": {[]Event{Rejudged{Intent: intent(1), Order: o, Ruling: Ruling{Effect: policy.Allow}, Clears: ClearsSend}}, OnHold},
		"declined":                     {[]Event{ProposalEnded{Intent: intent(1), State: ApprovalDeclined}}, NoPhase},
		"declined, then approved": {
			[]Event{ProposalEnded{Intent: intent(1), State: ApprovalDeclined}, approve(o, "a", lapses), approve(o, "b", lapses)}, NoPhase,
		},
		"rejected by a broker that never had it": {[]Event{Concluded{Intent: intent(1), Outcome: trade.Rejected, Source: FromBroker}}, OnHold},
		"run by a harness all the same":          {[]Event{Concluded{Intent: intent(1), Outcome: trade.Accepted, Source: FromReport}}, NoPhase},
		"judged again and denied":                {[]Event{Rejudged{Intent: intent(1), Order: o}}, NoPhase},
	} {
		t.Run(name, func(t *testing.T) {
			s := fold(append([]Event{heldOrder(1, o, 2)}, c.events...)...)
			got := NoPhase
			if open := s.Open(intent(1)); open != nil {
				got = open.Phase
			}
			if got != c.want {
				t.Fatalf("phase %s; want %s", got, c.want)
			}
		})
	}
}

//attack:ledger-proposal-expiry
func TestProposalIsDueAtItsVeryMicrosecond(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	s := fold(heldOrder(1, o, 1))
	expires := t0.Add(time.Minute)
	if len(s.Due(expires.Add(-time.Microsecond))) != 0 || len(s.Due(expires)) != 1 {
		t.Fatal("a proposal is due exactly at its expiry")
	}
	s.Apply(t0, Approved{Intent: intent(1), Digest: o.Digest(), Person: "a", Lapses: t0.Add(time.Second)})
	if len(s.Due(t0.Add(time.Second-time.Microsecond))) != 0 || len(s.Due(t0.Add(time.Second))) != 1 {
		t.Fatal("an approval is due exactly at its lapse")
	}
}

//attack:ledger-kill-latched
//attack:ledger-kill-reset
func TestStopKeepsItsFirstCause(t *testing.T) {
	symbol := Scope{OneSymbol, "AAPL"}
	s := fold(KillReset{By: "p"}, KillEngaged{Scope: symbol, By: "first"}, KillEngaged{Scope: symbol, By: "second"}, KillEngaged{By: "third"}, KillEngaged{By: "fourth"})
	stops := s.Stops()
	if len(stops) != 2 || stops[0].By != "third" || stops[1].By != "first" {
		t.Fatalf("%+v", stops)
	}
	s.Apply(t0, KillReset{By: "p"})
	if stops = s.Stops(); len(stops) != 1 || stops[0].Scope != symbol {
		t.Fatalf("a reset of everything is not one of %s: %+v", symbol, stops)
	}
}

//attack:ledger-hold-reserve
func TestHeldOrderIsReservedUntilItEnds(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	s := fold(heldOrder(1, o, 1))
	if f := s.Facts("paper", o.Symbol(), ""); f.PendingBuys.String() != "10" {
		t.Fatalf("%+v", f)
	}
	s.Apply(t0, Approved{Intent: intent(1), Digest: o.Digest(), Person: "a", Lapses: t0.Add(time.Second)})
	allow := Rejudged{Intent: intent(1), Order: o, Ruling: Ruling{Effect: policy.Allow}, Clears: ClearsSend, Pending: Pending{NotAfter: t0, Deadline: t0}}
	s.Apply(t0, allow)
	s.Apply(t0, allow)
	s.Apply(t0, ProposalEnded{Intent: intent(1), State: ApprovalExpired}) // it has gone on
	if f := s.Facts("paper", o.Symbol(), ""); f.PendingBuys.String() != "10" || s.Open(intent(1)).Phase != Sending {
		t.Fatalf("%+v, %+v", f, s.Open(intent(1)))
	}
	s = fold(heldOrder(1, o, 1), ProposalEnded{Intent: intent(1), State: ApprovalWithdrawn})
	if f := s.Facts("paper", o.Symbol(), ""); f.PendingBuys.Sign() != 0 || s.OpenCount() != 0 {
		t.Fatalf("%+v", f)
	}
}

//attack:ledger-refusals
func TestOnlyTheBrokersOwnRejectionsCount(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	s := fold()
	rejected := func(n int, source Source) {
		s.Apply(t0, allowed(n, o, ClearsSend))
		s.Apply(t0, Concluded{Intent: intent(n), Outcome: trade.Rejected, Source: source})
		s.Apply(t0, Concluded{Intent: intent(n), Outcome: trade.Rejected, Source: source}) // it is settled already
	}
	for n, source := range []Source{FromBroker, FromGate, FromPerson, FromReport, FromLookup} {
		rejected(n+1, source)
	}
	if s.Refusals("paper") != 2 {
		t.Fatalf("%d in a row; want those that the broker said, by its answer or when asked", s.Refusals("paper"))
	}
	s.Apply(t0, allowed(9, o, ClearsSend))
	s.Apply(t0, Concluded{Intent: intent(9), Outcome: trade.Accepted, Source: FromBroker})
	if s.Refusals("paper") != 0 {
		t.Fatalf("%d in a row after an acceptance", s.Refusals("paper"))
	}
	for number, what := range []string{WasFilled, WasCancelled} { // which another process took in before the answer came
		rejected(20+number, FromBroker)
		s.Apply(t0, allowed(30+number, o, ClearsSend))
		e := fill(uint64(2+2*number), 30+number, o, "10")
		e.What = what
		s.Apply(t0, e)
		if s.Refusals("paper") != 0 {
			t.Fatalf("%d in a row after an order was %s", s.Refusals("paper"), what)
		}
		rejected(40+number, FromBroker)
		s.Apply(t0, allowed(50+number, o, ClearsSend))
		s.Apply(t0, Concluded{Intent: intent(50 + number), Outcome: trade.Accepted, Source: FromBroker})
		rejected(60+number, FromBroker)
		if e.Number++; what == WasFilled {
			e.Intent = intent(50)
			s.Apply(t0, e) // of one that had been accepted before
			if s.Refusals("paper") != 1 {
				t.Fatalf("%d in a row; a fill of what worked already ends no row", s.Refusals("paper"))
			}
		}
	}
}

func grantByHash(s *State, hash string) (Grant, bool) {
	for _, g := range s.Grants() {
		if g.Hash == hash {
			return g, true
		}
	}
	return Grant{}, false
}

//attack:ledger-cancelling
func TestCancelStaysWantedUntilItIsAnswered(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	s := fold(allowed(1, o, ClearsSend), CancelAsked{Intent: intent(1), NotAfter: t0, Wanted: true})
	restored, err := ReadSnapshot(s.AppendSnapshot(nil))
	if err != nil || !s.Open(intent(1)).Cancelling || !restored.Open(intent(1)).Cancelling {
		t.Fatalf("a cancel that was asked for is forgotten: %v", err)
	}
	s.Apply(t0, CancelEnded{Intent: intent(1), Outcome: trade.Unknown})
	if !s.Open(intent(1)).Cancelling {
		t.Fatal("a cancel whose answer is not clear is not wanted any more")
	}
	s.Apply(t0, CancelEnded{Intent: intent(1), Outcome: trade.Rejected})
	if s.Open(intent(1)).Cancelling {
		t.Fatal("a cancel that was answered is still wanted")
	}
}

//attack:ledger-people
func TestRightsAreThoseOfTheNewestRecord(t *testing.T) {
	set := func(hash string, approver bool) Event {
		return PersonSet{Person: Person{Name: "anna", Approver: approver, Telegram: 5, Hash: hash}}
	}
	s := fold(set("h1", true), set("h2", false), GrantSet{Grant: Grant{Agent: "bot", Tier: trade.TierExecute, Hash: "t1"}},
		GrantSet{Grant: Grant{Agent: "bot", Tier: trade.TierRead, Hash: "t2"}})
	if _, found := s.PersonByHash("h1"); found {
		t.Fatal("an old credential is good")
	}
	if p, found := s.PersonByHash("h2"); !found || p.Approver {
		t.Fatalf("%+v, %v", p, found)
	}
	if _, found := grantByHash(s, "t1"); found {
		t.Fatal("an old token is good")
	}
	if g, found := grantByHash(s, "t2"); !found || g.Tier != trade.TierRead {
		t.Fatalf("%+v, %v", g, found)
	}
	if _, found := s.PersonByTelegram(0); found {
		t.Fatal("nobody's user id is somebody's")
	}
	s.Apply(t0, PersonRemoved{Name: "anna"})
	s.Apply(t0, GrantRemoved{Agent: "bot"})
	_, person := s.PersonByHash("h2")
	_, grant := grantByHash(s, "t2")
	_, user := s.PersonByTelegram(5)
	if person || grant || user || len(s.People())+len(s.Grants()) != 0 {
		t.Fatal("what was removed is still good")
	}
}

func TestScopesReadBackAndNothingElseIsOne(t *testing.T) {
	for _, text := range []string{"everything", "account:paper", "agent:a.b-c_1", "symbol:BRK.B"} {
		if s, ok := ParseScope(text); !ok || s.String() != text {
			t.Errorf("%q: %v, %v", text, s, ok)
		}
		if s, ok := ReadScope(text); !ok || s.String() != text {
			t.Errorf("%q is read as %v, %v", text, s, ok)
		}
	}
	for _, text := range []string{
		"", "Everything", "everything:", "everything:x", "all", "account", "account:", "agent:a b", "agent:\x00", "symbol:aapl", "symbol:", "symbol:AAPL ",
		"agent:" + strings.Repeat("a", 65), "agent:a:b", "user:x",
	} {
		if s, ok := ParseScope(text); ok {
			t.Errorf("%q is %v", text, s)
		}
		if s, ok := ReadScope(text); ok != (text == "symbol:aapl") || ok && s.String() != "symbol:AAPL" {
			t.Errorf("%q is read as %v, %v", text, s, ok)
		}
	}
}

// TestDecisionReadsBackAsItWasShown: a client of a gate in another process sees the same object.
func TestDecisionReadsBackAsItWasShown(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	most := decimal("7")
	held := heldOrder(1, o, 2).Decision(t0)
	held.ApprovedBy = []string{"anna"}
	ended := held
	ended.Apply(ProposalEnded{Intent: intent(1), State: ApprovalDeclined, By: "person:anna", Reason: "no"})
	denied := Decision{
		State: Blocked, At: t0, Agent: "a", Surface: "mcp", Reasons: []policy.Reason{{Code: "X", Field: "f", Limit: "1", Observed: "2", Message: "m"}, {Code: "Y", Message: "n", Rule: "large-caps", Hold: true}},
		MaxQuantityNow: &most, RetryAfter: 1500 * time.Millisecond, Error: "killswitch_active",
		Stops: []Stop{{Scope: Scope{OneAgent, "a"}, By: "b", Reason: "c", Since: t0}}, Tier: &TierGap{Required: 2, Current: 1}, Flags: []string{"F", "G"},
	}
	sent := allowed(1, o, ClearsSend).Decision(t0)
	sent.Apply(Concluded{Intent: intent(1), Outcome: trade.Accepted, Source: FromBroker, Status: "SUCCESS", OrderID: "x", Message: "y"})
	sent.Apply(fill(1, 1, o, "10"))
	sent.Repeated, sent.AgentReason = true, "\u202e because"
	for _, d := range []Decision{held, ended, denied, sent} {
		raw := d.AppendJSON(nil)
		back, err := ReadDecision(raw)
		if err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		if again := back.AppendJSON(nil); string(again) != string(raw) {
			t.Errorf("got\n%s\nwant\n%s", again, raw)
		}
	}
	for _, bad := range []string{"", "{}", "[]", `{"verdict":"maybe"}`, strings.Replace(string(denied.AppendJSON(nil)), "EXECUTION_BLOCKED", "FINE", 1)} {
		if d, err := ReadDecision([]byte(bad)); err == nil {
			t.Errorf("%s is %+v", bad, d)
		}
	}
}
