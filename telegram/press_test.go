package telegram

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

//attack:telegram-original-kept
//fault:f74
func TestApprovalExecutesOnceAndTheMessageKeepsWhatWasDecided(t *testing.T) {
	w := newWorld(t)
	id := w.propose("buy", "AAPL", "10", "150.00")
	m := w.message(id, group)
	for _, part := range []string{"PAPER", "BUY TO OPEN 10 AAPL (shares) LIMIT 150.00 DAY", "1500.00 USD", "Position AAPL 0 -> 10", "Order digest"} {
		if !strings.Contains(m.text, part) {
			t.Errorf("the message lacks %q:\n%s", part, m.text)
		}
	}
	if got := w.press(alice, m.place, m.keys["APPROVE"]); got != "EXECUTED 10 @ 150.00" {
		t.Errorf("the press was answered %q", got)
	}
	after := w.says(m.place, "EXECUTED 10 @ 150.00")
	if !strings.HasPrefix(after.text, after.first) || !strings.Contains(after.text, "Approved by alice at 15:00:00 UTC") || len(after.keys) != 0 {
		t.Errorf("the message became %v:\n%s", after.keys, after.text)
	}
	w.submits(1)
	if d := w.state(id); d.State != ledger.Succeeded || len(d.ApprovedBy) != 1 || d.ApprovedBy[0] != "alice" {
		t.Errorf("the proposal is %s, approved by %v", d.State, d.ApprovedBy)
	}
}

// refusedPress is a press that must change nothing.
type refusedPress struct {
	name   string
	user   int64
	at     func(own, other shown) place
	data   func(own, other shown) string
	edit   func(map[string]any)
	answer string // empty: there is none
	code   trade.Code
}

func refusedPresses() []refusedPress {
	own := func(m, _ shown) place { return m.place }
	yes := func(m, _ shown) string { return m.keys["APPROVE"] }
	said := func(text string) func(shown, shown) string { return func(shown, shown) string { return text } }
	message := func(q map[string]any) map[string]any { return q["message"].(map[string]any) }
	return []refusedPress{
		{"stranger in the chat", mallory, own, yes, nil, "not listed", policy.PersonUnknown},
		{"no user", 0, own, yes, nil, "not listed", policy.PersonUnknown},
		{"approver in a chat that is not listed", alice, own, yes, func(q map[string]any) { message(q)["chat"] = map[string]any{"id": -5} }, "", policy.ChatNotListed},
		{"approver in another listed chat", alice, own, yes, func(q map[string]any) { message(q)["chat"] = map[string]any{"id": second} }, "not that of this message", policy.ButtonUnknown},
		{"the button of another proposal", alice, own, func(_, other shown) string { return other.keys["APPROVE"] }, nil, "not that of this message", policy.ButtonUnknown},
		{"under the message of another proposal", alice, func(_, other shown) place { return other.place }, yes, nil, "not that of this message", policy.ButtonUnknown},
		{"forged", alice, own, said("AAAAAAAAAAAAAAAAAAAAAAAAAAA"), nil, "stale", policy.ButtonUnknown},
		{"empty", alice, own, said(""), nil, "stale", policy.ButtonUnknown},
		{"cut", alice, own, func(m, _ shown) string { return m.keys["APPROVE"][:26] }, nil, "stale", policy.ButtonUnknown},
		{"longer", alice, own, func(m, _ shown) string { return m.keys["APPROVE"] + "A" }, nil, "stale", policy.ButtonUnknown},
		{"an id and a word", alice, own, said("approve:01JD"), nil, "stale", policy.ButtonUnknown},
		{"a message that was edited", alice, own, yes, func(q map[string]any) { message(q)["text"] = "BUY TO OPEN 1 AAPL" }, "does not say what", policy.ButtonUnknown},
		{"a message whose amount was edited", alice, own, yes, func(q map[string]any) {
			message(q)["text"] = strings.Replace(message(q)["text"].(string), "OPEN 10 AAPL", "OPEN 1 AAPL", 1)
		}, "does not say what", policy.ButtonUnknown},
		{"a message that is not accessible", alice, own, yes, func(q map[string]any) { message(q)["date"] = 0 }, "", policy.ChatNotListed},
		{"no message", alice, own, yes, func(q map[string]any) {
			delete(q, "message")
			q["inline_message_id"] = "7"
		}, "", policy.ChatNotListed},
		{"a person who is no approver", carol, own, yes, nil, "NOT_AN_APPROVER", policy.NotAnApprover},
	}
}

//attack:telegram-button-bound
//attack:telegram-listed
//fault:f55
func TestRefusedPressChangesNothingAndIsRecorded(t *testing.T) {
	for _, c := range refusedPresses() {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			w := newWorld(t, setting{bot: func(c *Config) { c.Chats = []int64{group, second} }})
			id, otherID := w.propose("buy", "AAPL", "10", "150.00"), w.propose("buy", "MSFT", "99", "20.00")
			own, other := w.message(id, group), w.message(otherID, group)
			query, update := w.d.press(c.user, c.at(own, other), c.data(own, other), func(q map[string]any) {
				if c.edit != nil {
					c.edit(q)
				}
			})
			before := len(w.refusals())
			w.d.push(update)
			w.eventually("the record", func() bool { return len(w.refusals()) == before+1 })
			if r := w.refusals()[before]; r.Code != c.code || !strings.HasPrefix(r.Channel, "telegram:") || r.By == "" {
				t.Errorf("recorded %+v, want %s", r, c.code)
			}
			if c.answer != "" {
				if got := w.answer(query); !strings.Contains(got, c.answer) {
					t.Errorf("answered %q, want %q", got, c.answer)
				}
			}
			w.submits(0)
			for _, id := range []trade.IntentID{id, otherID} {
				if d := w.state(id); d.State != ledger.ApprovalPending || len(d.ApprovedBy) > 0 {
					t.Errorf("%s is %s, approved by %v", id, d.State, d.ApprovedBy)
				}
			}
			own = w.message(id, group) // perhaps with new buttons
			if got := w.press(bob, own.place, own.keys["APPROVE"]); !strings.Contains(got, "EXECUTED 10") {
				t.Errorf("the approver's press was answered %q", got)
			}
			w.submits(1)
		})
	}
}

func TestTwoPressesAtOnceExecuteOnce(t *testing.T) {
	for _, gap := range []time.Duration{0, 10 * time.Millisecond} {
		t.Run(gap.String(), func(t *testing.T) {
			w := newWorld(t)
			m := w.message(w.propose("buy", "AAPL", "10", "150.00"), group)
			var ids []string
			for i := range 6 {
				q, update := w.d.press([]int64{alice, bob}[i%2], m.place, m.keys["APPROVE"])
				ids = append(ids, q)
				w.d.push(update)
				time.Sleep(gap)
			}
			executed := 0
			for _, q := range ids {
				if strings.Contains(w.answer(q), "EXECUTED") {
					executed++
				}
			}
			if executed != 1 {
				t.Errorf("%d presses were told that they executed", executed)
			}
			w.says(m.place, "EXECUTED")
			w.submits(1)
		})
	}
}

func TestApproveAndRejectAtOnceDecideOnce(t *testing.T) {
	w := newWorld(t)
	for i := range 8 {
		id := w.propose("buy", "AAPL", "1", fmt.Sprintf("1%d.00", i))
		m := w.message(id, group)
		yes, first := w.d.press(alice, m.place, m.keys["APPROVE"])
		no, then := w.d.press(bob, m.place, m.keys["REJECT"])
		w.d.push(first, then)
		a, b := w.answer(yes), w.answer(no)
		if strings.Contains(a, "EXECUTED") == strings.Contains(b, "DECLINED") {
			t.Errorf("approve was told %q and reject %q", a, b)
		}
	}
}

// TestReplayedAndReorderedUpdatesExecuteOnce lets the server send everything again, and the newest first.
func TestReplayedAndReorderedUpdatesExecuteOnce(t *testing.T) {
	w := newWorld(t)
	a, b := w.propose("buy", "AAPL", "1", "11.00"), w.propose("buy", "AAPL", "2", "12.00")
	first, then := w.message(a, group), w.message(b, group)
	qa, pressA := w.d.press(alice, first.place, first.keys["APPROVE"])
	qb, pressB := w.d.press(bob, then.place, then.keys["APPROVE"])
	pressA["update_id"], pressB["update_id"] = 7, 3
	w.d.last = 7
	w.d.push(pressA, pressB, pressA, pressB)
	w.answer(qa)
	w.answer(qb)
	for range 3 {
		polls := w.d.count("getUpdates")
		w.d.replay()
		w.eventually("another poll", func() bool { return w.d.count("getUpdates") > polls })
	}
	again, update := w.d.press(alice, first.place, first.keys["APPROVE"])
	w.d.push(update)
	if got := w.answer(again); !strings.Contains(got, "Refused") {
		t.Errorf("a replayed press was answered %q", got)
	}
	w.says(first.place, "EXECUTED 1 @ 11.00")
	w.says(then.place, "EXECUTED 2 @ 12.00")
	w.submits(2)
}

func TestPressAfterTheExpiryIsRefused(t *testing.T) {
	t.Run("before the message says so", func(t *testing.T) {
		w := newWorld(t, setting{bot: func(c *Config) { c.Every = time.Hour }})
		id := w.propose("buy", "AAPL", "10", "150.00")
		m := w.message(id, group)
		w.clock.Advance(30 * time.Minute)
		if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "expired") {
			t.Errorf("answered %q", got)
		}
		all := w.refusals()
		if r := all[len(all)-1]; r.Code != policy.ProposalExpired || r.Intent != id || r.By != "person:alice" {
			t.Errorf("recorded %+v", r)
		}
		w.submits(0)
	})
	t.Run("after the message says so", func(t *testing.T) {
		w := newWorld(t)
		m := w.message(w.propose("buy", "AAPL", "10", "150.00"), group)
		w.clock.Advance(30 * time.Minute)
		if after := w.says(m.place, "EXPIRED"); len(after.keys) != 0 {
			t.Errorf("the buttons are still there: %v", after.keys)
		}
		w.eventually("the end of the buttons", func() bool { return !w.bound(m) })
		if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "stale") {
			t.Errorf("answered %q", got)
		}
		w.submits(0)
	})
}

func TestPressAfterAKillIsRefusedAndItsReplayAfterAResetToo(t *testing.T) {
	w := newWorld(t)
	id := w.propose("buy", "AAPL", "10", "150.00")
	m := w.message(id, group)
	if _, err := w.g.Kill(context.Background(), gate.StopRequest{Person: w.alice(), Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	w.d.troubled(until(3, trouble{status: 500}, "editMessageText")) // the new buttons come all the same
	if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "KILL_SWITCH_ACTIVE") {
		t.Errorf("answered %q", got)
	}
	w.eventually("new buttons", func() bool { return !w.bound(m) })
	if err := w.g.Reset(context.Background(), w.alice(), ledger.Scope{}, "over"); err != nil {
		t.Fatal(err)
	}
	w.d.replay()
	if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "Refused: this button") {
		t.Errorf("a press of before the kill was answered %q", got)
	}
	w.submits(0)
	m = w.message(id, group)
	if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "EXECUTED") {
		t.Errorf("the new press was answered %q", got)
	}
	w.submits(1)
}

func TestPressAfterThePolicyChangedEndsTheProposal(t *testing.T) {
	w := newWorld(t)
	m := w.message(w.propose("buy", "AAPL", "10", "150.00"), group)
	w.editPolicy("AAPL")
	if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "POLICY_CHANGED") {
		t.Errorf("answered %q", got)
	}
	after := w.says(m.place, "alice pressed approve, but the re-check at 15:00:00 UTC refused: POLICY_CHANGED")
	if len(after.keys) != 0 {
		t.Error("the buttons are still there")
	}
	w.submits(0)
}

// TestWhatIsDecidedElsewhereIsShown decides by other means than the buttons.
func TestWhatIsDecidedElsewhereIsShown(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		do   func(*world, trade.IntentID) error
		want string
	}{
		"approved": {func(w *world, id trade.IntentID) error {
			_, err := w.g.Approve(ctx, gate.Press{By: w.alice(), Proposal: id, Digest: w.state(id).Order.Digest()})
			return err
		}, "Approved by alice at 15:00:00 UTC\nEXECUTED 10 @ 150.00"},
		"declined": {func(w *world, id trade.IntentID) error {
			_, err := w.g.Decline(ctx, gate.Press{By: w.alice(), Proposal: id, Digest: w.state(id).Order.Digest(), Reason: "too much\u202e"})
			return err
		}, `DECLINED by alice at 15:00:00 UTC: too much\u202e`},
		"withdrawn": {func(w *world, id trade.IntentID) error {
			_, err := w.g.Withdraw(ctx, gate.Origin{Agent: "local", Surface: "mcp"}, trade.TierPropose, id, "news")
			return err
		}, "WITHDRAWN by agent:local at 15:00:00 UTC: news"},
		"rejected by the broker": {func(w *world, id trade.IntentID) error {
			w.broker.Next(gatetest.Reject("NO"))
			_, err := w.g.Approve(ctx, gate.Press{By: w.alice(), Proposal: id, Digest: w.state(id).Order.Digest()})
			return err
		}, "REJECTED by the broker"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			w := newWorld(t)
			id := w.propose("buy", "AAPL", "10", "150.00")
			m := w.message(id, group)
			if err := c.do(w, id); err != nil {
				t.Fatal(err)
			}
			if after := w.says(m.place, c.want); len(after.keys) != 0 || !strings.HasPrefix(after.text, after.first) {
				t.Errorf("the message became %v:\n%s", after.keys, after.text)
			}
		})
	}
}

func TestRejectDeclines(t *testing.T) {
	w := newWorld(t)
	id := w.propose("buy", "AAPL", "10", "150.00")
	m := w.message(id, group)
	if got := w.press(bob, m.place, m.keys["REJECT"]); !strings.HasPrefix(got, "DECLINED by bob") {
		t.Errorf("answered %q", got)
	}
	w.says(m.place, "DECLINED by bob at 15:00:00 UTC: rejected with the button")
	w.submits(0)
	if d := w.state(id); d.State != ledger.ApprovalDeclined {
		t.Errorf("the proposal is %s", d.State)
	}
}

func TestHaltAgentStopsThatAgentOnly(t *testing.T) {
	w := newWorld(t)
	id := w.propose("buy", "AAPL", "10", "150.00")
	m := w.message(id, group)
	if got := w.press(carol, m.place, m.keys["HALT"]); !strings.HasPrefix(got, "STOPPED: agent:local") {
		t.Errorf("answered %q", got)
	}
	w.see("the news of the stop", func(m shown) bool { return strings.Contains(m.text, "KILL SWITCH ENGAGED - agent:local") })
	w.eventually("the end of the old buttons", func() bool { return w.gone(m.keys["APPROVE"]) })
	m = w.message(id, group)
	if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "KILL_SWITCH_ACTIVE") {
		t.Errorf("an approval after it was answered %q", got)
	}
	w.propose("buy", "MSFT", "1", "5.00", func(c *gate.Call) { c.Origin.Agent = "other" })
	w.submits(0)
}

func TestTwoApproversAreTwoPersons(t *testing.T) {
	above := trade.Whole(1000)
	w := newWorld(t, setting{gate: func(c *gate.Config) { c.Approval.TwoAbove = &above }})
	id := w.propose("buy", "AAPL", "10", "150.00")
	m := w.message(id, group)
	if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "NOT YET: 1 more") {
		t.Errorf("the first approval was answered %q", got)
	}
	w.says(m.place, "Approved by alice at 15:00:00 UTC\nNOT YET: 1 more person(s) must approve")
	w.eventually("the end of the old buttons", func() bool { return w.gone(m.keys["REJECT"]) })
	if got := w.press(bob, m.place, m.keys["REJECT"]); !strings.Contains(got, "stale") {
		t.Errorf("a button of before the first approval was answered %q", got)
	}
	m = w.message(id, group)
	if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "ALREADY_APPROVED") {
		t.Errorf("the second press of one person was answered %q", got)
	}
	w.submits(0)
	w.eventually("new buttons", func() bool { return !w.bound(m) })
	m = w.message(id, group)
	if got := w.press(bob, m.place, m.keys["APPROVE"]); !strings.Contains(got, "EXECUTED") {
		t.Errorf("the second person was answered %q", got)
	}
	w.submits(1)
}

//fault:f59
func TestAfterARestartOldButtonsAreStaleAndProposalsAreShownAnew(t *testing.T) {
	w := newWorld(t)
	id := w.propose("buy", "AAPL", "10", "150.00")
	old := w.message(id, group)
	w.end()
	w.cfg.Entropy = gatetest.Entropy(8)
	w.make()
	w.run()
	m := w.message(id, group)
	if m.place == old.place {
		t.Fatal("there is no new message")
	}
	if got := w.press(alice, old.place, old.keys["APPROVE"]); !strings.Contains(got, "stale; see the newest message") {
		t.Errorf("the old button was answered %q", got)
	}
	w.submits(0)
	if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "EXECUTED") {
		t.Errorf("the new button was answered %q", got)
	}
	w.submits(1)
}

// TestEveryChatIsShownTheOutcome presses in one chat of two.
func TestEveryChatIsShownTheOutcome(t *testing.T) {
	w := newWorld(t, setting{bot: func(c *Config) { c.Chats = []int64{group, second} }})
	id := w.propose("buy", "AAPL", "10", "150.00")
	a, b := w.message(id, group), w.message(id, second)
	if a.keys["APPROVE"] == b.keys["APPROVE"] {
		t.Error("two chats have the same button")
	}
	w.press(alice, a.place, a.keys["APPROVE"])
	w.says(a.place, "EXECUTED")
	if after := w.says(b.place, "EXECUTED"); len(after.keys) != 0 {
		t.Error("the other chat still has buttons")
	}
	if got := w.press(bob, b.place, b.keys["APPROVE"]); !strings.Contains(got, "Refused") {
		t.Errorf("the other chat's button was answered %q", got)
	}
	w.submits(1)
}

//attack:telegram-button-name
func TestButtonNamesAreLongRandomAndNeverUsedTwice(t *testing.T) {
	b, err := New(Config{Token: testToken, Chats: []int64{group}, Gate: blind{}, Now: gatetest.Start, Entropy: gatetest.Entropy(3)})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 10_000 {
		name := b.newName()
		if len(name) < 22 || len(name) >= 64 || seen[name] {
			t.Fatalf("the name %q is short, long or was there before", name)
		}
		seen[name] = true
	}
}

// blind is a gate that a test must not reach.
type blind struct{ Gate }

// slow is a gate whose people take long to look up.
type slow struct {
	*gate.Gate
	mu        sync.Mutex
	now, most int
	total     int
	free      chan struct{}
}

func (s *slow) People(ctx context.Context) ([]ledger.Person, error) {
	s.mu.Lock()
	s.now++
	s.total++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	<-s.free
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
	return s.Gate.People(ctx)
}

//attack:telegram-workers
//attack:telegram-waiting
func TestUpdatesThatTakeLongAreBoundedAndDoNotStopThePolling(t *testing.T) {
	s := &slow{free: make(chan struct{})}
	w := newWorld(t, setting{bot: func(c *Config) {
		s.Gate = c.Gate.(*gate.Gate)
		c.Gate = s
	}})
	var many []map[string]any
	for i := range 30 {
		many = append(many, w.d.written(alice, group, fmt.Sprint("/help ", i)))
	}
	polls := w.d.count("getUpdates")
	w.d.push(many...)
	w.eventually("eight at work, and another poll", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.now == maxWorkers && w.d.count("getUpdates") > polls
	})
	flood := make([]map[string]any, 200)
	for i := range flood {
		flood[i] = w.d.written(alice, group, fmt.Sprint("/help ", i))
	}
	w.d.push(flood...)
	if n := s.count(); n != maxWorkers {
		t.Errorf("%d updates are at work", n)
	}
	close(s.free)
	w.eventually("the rest", func() bool { return s.count() >= 230 })
	if s.most > maxWorkers {
		t.Errorf("%d updates were dealt with at once", s.most)
	}
}

func (s *slow) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

//attack:telegram-finish
func TestPressThatWasBegunIsFinishedWhenTheBotEnds(t *testing.T) {
	w := newWorld(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	w.broker.Next(func(_ context.Context, b *gatetest.Broker, c gate.Cleared) (gate.Receipt, error) {
		close(begun)
		<-goOn
		return b.Accept(c, true), nil
	})
	id := w.propose("buy", "AAPL", "10", "150.00")
	m := w.message(id, group)
	_, update := w.d.press(alice, m.place, m.keys["APPROVE"])
	w.d.push(update)
	<-begun
	ended := make(chan struct{})
	go func() {
		w.end()
		close(ended)
	}()
	close(goOn)
	<-ended
	if d := w.state(id); d.State != ledger.Succeeded {
		t.Errorf("the approved order is %s", d.State)
	}
	over, end := context.WithCancel(context.Background())
	end()
	ctx, cancel := finishing(over)
	defer cancel()
	if last, ok := ctx.Deadline(); !ok || time.Until(last) > maxFinish || ctx.Err() != nil {
		t.Errorf("what was begun may take until %s, and has ended with %v", last, ctx.Err())
	}
}

// TestRefusedAttemptIsRecordedInTheJournal looks at the gate's own method for it.
func TestRefusedAttemptIsRecordedInTheJournal(t *testing.T) {
	w := newWorld(t, setting{idle: true})
	err := w.g.RefuseAttempt(context.Background(), "press a button", "telegram user 6\u202e", "telegram:1", "no id", policy.ButtonUnknown, "stale")
	if err != nil {
		t.Fatal(err)
	}
	all := w.refusals()
	if r := all[len(all)-1]; r.Intent != "" || r.Code != policy.ButtonUnknown || !strings.Contains(r.By, `\u202e`) {
		t.Errorf("recorded %+v", r)
	}
	if err := w.g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.g.RefuseAttempt(context.Background(), "a", "b", "c", "", policy.ButtonUnknown, "d"); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("with a closed journal: %v", err)
	}
}
