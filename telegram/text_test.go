package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// brief is a proposal with the longest words that anybody can write.
func brief(t *testing.T, words string) gate.Brief {
	cash := trade.Whole(100)
	b := gate.Brief{Account: "paper", Session: trade.Session(strings.Repeat(words, 64)), Position: policy.Known{Known: true}, Cash: &cash, Now: gatetest.Start()}
	b.Decision = ledger.Decision{
		Intent: trade.NewIntentID(gatetest.Start(), [10]byte{1}), Agent: "local", Order: gatetest.Order(t, "buy", "AAPL", "10", "150.00"),
		AgentReason: strings.Repeat(words, 500), PolicySHA256: strings.Repeat("ab", 32),
		Hold: ledger.Hold{Expires: gatetest.Start().Add(time.Hour), Approvers: 1},
	}
	for range 9 {
		b.Decision.Reasons = append(b.Decision.Reasons, policy.Reason{Code: "SOME_RULE", Message: strings.Repeat(words, 200)})
	}
	return b
}

//attack:telegram-message
//attack:telegram-outcome-room
//fault:f64
func TestMessageIsCutButNeverTheOrderOrTheBinding(t *testing.T) {
	for _, words := range []string{"x", "\"", "\u202e", "\xff", "𝄞", "_*[`", "\n\n"} {
		text, whole := compose(brief(t, words))
		if !whole || units(text) > maxFirst {
			t.Errorf("%q: whole %v, %d units", words, whole, units(text))
		}
		for _, part := range []string{"BUY TO OPEN 10 AAPL (shares) LIMIT 150.00 DAY", "1500.00 USD", "Position AAPL", "Order digest ", "policy abababab"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q: the message lacks %q:\n%s", words, part, text)
			}
		}
		long := (&message{base: text}).full(strings.Repeat("𝄞", 5000))
		if units(long) > maxMessage || !strings.HasPrefix(long, text) || !strings.HasSuffix(long, "(cut)") {
			t.Errorf("%q: with an outcome it has %d units", words, units(long))
		}
	}
	text, _ := compose(brief(t, "𝄞"))
	if !strings.Contains(text, "Cut here to fit; all of it: sallyport audit show ") {
		t.Errorf("it is cut in silence:\n%s", text)
	}
	if text, _ := compose(brief(t, "x")); strings.Contains(text, "Cut here") {
		t.Errorf("it is cut without need:\n%s", text)
	}
}

//attack:telegram-no-blind-buttons
func TestProposalThatCannotBeShownGetsNoButtons(t *testing.T) {
	b := brief(t, "x")
	b.Cash = nil
	if text, whole := compose(b); whole || !strings.Contains(text, "NO BUTTONS: the cash is unknown") {
		t.Errorf("without cash: %v\n%s", whole, text)
	}
	b = brief(t, "x")
	b.Decision.Order = trade.Order{}
	if text, whole := compose(b); whole || !strings.Contains(text, "NO BUTTONS: the order cannot be shown") {
		t.Errorf("without an order: %v\n%s", whole, text)
	}
	w := newWorld(t, setting{bot: func(c *Config) { c.Gate = &poor{Gate: c.Gate, known: make(chan struct{}, 1)} }})
	id := w.propose("buy", "AAPL", "10", "150.00")
	first := w.see("the message", func(m shown) bool { return strings.Contains(m.text, "NO BUTTONS") })
	if len(first.keys) != 0 {
		t.Errorf("it has %v", first.keys)
	}
	w.bot.cfg.Gate.(*poor).known <- struct{}{}
	m := w.message(id, group)
	if m.place != first.place || strings.Contains(m.text, "NO BUTTONS") {
		t.Errorf("later it is\n%s", m.text)
	}
	if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "EXECUTED") {
		t.Errorf("answered %q", got)
	}
}

// poor is a gate that does not know the cash at first. Its Brief is called by one goroutine.
type poor struct {
	Gate
	known chan struct{}
	rich  bool
}

func (p *poor) Brief(ctx context.Context, id trade.IntentID) (gate.Brief, error) {
	b, err := p.Gate.Brief(ctx, id)
	select {
	case <-p.known:
		p.rich = true
	default:
	}
	if !p.rich {
		b.Cash = nil
	}
	return b, err
}

//attack:telegram-answer-text
//attack:telegram-list
//attack:telegram-broker-wait
func TestAnswersStayWithinTheirBounds(t *testing.T) {
	w := newWorld(t, setting{bot: func(c *Config) { c.Gate = wordy{c.Gate} }})
	m := w.message(w.propose("buy", "AAPL", "10", "150.00"), group)
	if got := w.press(alice, m.place, m.keys["APPROVE"]); len([]rune(got)) > maxAnswerText || !strings.HasPrefix(got, "Refused: X: ") {
		t.Errorf("answered %q", got) // and the double would not take a longer one
	}
	w.command(alice, group, "/status", "NOT FLAT: the broker shows 1 AAPL, 1 AAPL")
	got := w.see("the list", func(m shown) bool { return strings.Contains(m.text, "NOT FLAT") })
	if strings.Count(got.text, "1 AAPL") != maxShown || !strings.Contains(got.text, "and 20 more") {
		t.Errorf("the list is\n%s", got.text)
	}
}

// wordy is a gate that says and has too much, and that can only be asked about the broker within a time.
type wordy struct{ Gate }

func (wordy) Approve(context.Context, gate.Press) (ledger.Decision, error) {
	return ledger.Decision{}, &gate.Refusal{Code: "X", Message: strings.Repeat("𝄞", 1000)}
}

func (wordy) Holdings(ctx context.Context) (gate.Holdings, error) {
	if end, ok := ctx.Deadline(); !ok || time.Until(end) > time.Minute {
		return gate.Holdings{}, fmt.Errorf("asked for ever")
	}
	symbol := gatetest.Symbol("AAPL")
	h := gate.Holdings{}
	for range 30 {
		h.Positions = append(h.Positions, gate.Holding{Symbol: symbol, Quantity: trade.Whole(1)})
	}
	return h, nil
}

//attack:telegram-cards
//attack:telegram-notices
//attack:telegram-texts
//attack:telegram-follow
func TestTheBoardStaysBounded(t *testing.T) {
	now := gatetest.NewClock()
	b, err := New(Config{
		Token: testToken, Chats: []int64{1, 2}, Gate: blind{}, Now: now.Now, Entropy: gatetest.Entropy(1), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	var open []ledger.Decision
	for i := range maxCards + 50 {
		open = append(open, ledger.Decision{Intent: trade.NewIntentID(gatetest.Start(), [10]byte{byte(i), byte(i >> 8)}), State: ledger.ApprovalPending})
	}
	if waiting := b.file(open); len(b.board.cards) != maxCards || waiting != 100 {
		t.Errorf("%d cards, %d messages wait", len(b.board.cards), waiting)
	}
	for range 100 {
		b.tell("x", 0)
	}
	b.tell("last", 0)
	if n := len(b.board.notices); n != maxNotices || b.board.notices[n-1].text != "last" {
		t.Errorf("%d notices wait", n)
	}
	m := &message{}
	for i := range 100 {
		m.saw(fmt.Sprint("text ", i), "", "text  1")
	}
	if len(m.texts) > 6 {
		t.Errorf("%d texts count", len(m.texts))
	}
	c := &card{expires: now.Now(), messages: map[int64]*message{1: {shown: "working"}}, outcome: "working"}
	now.Advance(maxFollow)
	if b.settled(c) {
		t.Error("it is given up too early")
	}
	if now.Advance(time.Second); !b.settled(c) {
		t.Error("it is followed for ever")
	}
}

// TestOutcomeSaysWhatTheRecordsSay covers the states that no other test reaches.
func TestOutcomeSaysWhatTheRecordsSay(t *testing.T) {
	order := gatetest.Order(t, "buy", "AAPL", "10", "150.00")
	four := trade.Whole(4)
	price := trade.Whole(149)
	for want, d := range map[string]ledger.Decision{
		"EXECUTED 4 @ 149.00 of 10, partially_filled":                          {State: ledger.Succeeded, Filled: four, FillPrice: price},
		"EXECUTED 4 @ 149.00 of 10, cancelled":                                 {State: ledger.Succeeded, Filled: four, FillPrice: price, Ended: "cancelled"},
		"OUTCOME UNKNOWN: the order may or may not be at the broker":           {State: ledger.OutcomeUnknown},
		"ACCEPTED by the venue, which tells us of no fills":                    {State: ledger.Succeeded},
		"Sent; the outcome is awaited":                                         {State: ledger.Allowed, Clears: ledger.ClearsSend},
		"The agent's own tool makes the call":                                  {State: ledger.Allowed, Clears: ledger.ClearsPermission},
		"Execution is on its way":                                              {State: ledger.ApprovalGranted},
		"The agent's own tool may now make this call once, until 15:00:00 UTC": {State: ledger.ApprovalGranted, Hold: ledger.Hold{Permits: true, Expires: gatetest.Start()}},
		"The re-check at then refused: INTERNAL_ERROR":                         {State: ledger.Blocked},
		"REJECTED by the broker: no\\u202ewords":                               {State: ledger.Failed, Message: "no\u202ewords"},
	} {
		d.Order = order
		if got, _ := fate(d, false, "", "then"); got != want {
			t.Errorf("%s: %q, want %q", d.State, got, want)
		}
	}
}
