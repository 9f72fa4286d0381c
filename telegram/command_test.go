package telegram

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

func (w *world) stops() string {
	w.t.Helper()
	stops, err := w.g.Stops(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, s := range stops {
		all = append(all, s.Scope.String())
	}
	return strings.Join(all, " ")
}

// stop engages a switch without Telegram.
func (w *world) stop(scope string) {
	w.t.Helper()
	s, ok := ledger.ParseScope(scope)
	if !ok {
		w.t.Fatal(scope)
	}
	if _, err := w.g.Kill(context.Background(), gate.StopRequest{Scope: s, Person: w.alice(), Reason: "test"}); err != nil {
		w.t.Fatal(err)
	}
}

func TestKillStopsByEveryWording(t *testing.T) {
	for text, want := range map[string]string{
		"/kill":                              "everything",
		"/kill everything it burns":          "everything",
		"/kill it burns":                     "everything",
		"/KILL@sallybot it burns":            "everything",
		"/kill agent:local it burns":         "agent:local",
		"/kill AGENT:local it burns":         "agent:local",
		"/kill symbol:aapl it burns":         "symbol:AAPL",
		"/kill account:paper it burns":       "account:paper",
		"/kill account: it burns":            "everything",
		"/kill agnt:local it burns":          "everything",
		"/kill agent:a\u202eb it burns":      "everything",
		"/kill\nagent:local\nit burns":       "agent:local",
		"/kill " + strings.Repeat("x", 4000): "everything",
	} {
		t.Run(text[:min(len(text), 30)], func(t *testing.T) {
			w := newWorld(t)
			w.eventually("the bot's name", func() bool { return w.d.count("getMe") > 0 && w.named() })
			w.command(carol, group, text, "STOPPED: "+want)
			if got := w.stops(); got != want {
				t.Errorf("engaged: %q, want %q", got, want)
			}
			news := w.see("the news of it", func(m shown) bool { return strings.Contains(m.text, "KILL SWITCH ENGAGED - "+want) })
			for _, part := range []string{"Account paper, PAPER", "By person:carol at 15:00:00 UTC: ", "FLAT: the broker shows no position", "/reset " + want + " REASON"} {
				if !strings.Contains(news.text, part) {
					t.Errorf("the news lacks %q:\n%s", part, news.text)
				}
			}
		})
	}
}

func (w *world) named() bool {
	w.bot.mu.Lock()
	defer w.bot.mu.Unlock()
	return w.bot.name != ""
}

//fault:f129
func TestKillCancelsWhatWorksAndSaysSo(t *testing.T) {
	w := newWorld(t)
	w.broker.Default = rests
	m := w.message(w.propose("buy", "AAPL", "10", "150.00"), group)
	if got := w.press(alice, m.place, m.keys["APPROVE"]); got != "At the broker, working, nothing filled yet" {
		t.Errorf("answered %q", got)
	}
	w.command(alice, group, "/kill it burns", "STOPPED: everything; 1 order(s) gone.")
	w.says(m.place, "nothing filled, and cancelled")
}

//fault:f129
func TestResetSaysWhatItDoesAndDoesNot(t *testing.T) {
	w := newWorld(t, setting{bot: func(c *Config) { c.Chats = []int64{group, second} }})
	m := w.message(w.propose("buy", "AAPL", "10", "150.00"), group)
	w.press(alice, m.place, m.keys["APPROVE"])
	w.stop("everything")
	w.stop("agent:local")
	w.see("the news", func(m shown) bool { return m.chat == second && strings.Contains(m.text, "ENGAGED - agent:local") })
	got := w.command(bob, group, "/reset everything false alarm", "KILL SWITCH RESET - everything")
	for _, part := range []string{
		"Account paper, PAPER", "By person:bob: false alarm", "engaged by person:alice since 15:00:00 UTC: test", "NOT FLAT: the broker shows 10 AAPL",
		"It executes nothing, approves nothing, restores no cancelled order", "leaves every other switch as it is",
	} {
		if !strings.Contains(got.text, part) {
			t.Errorf("the answer lacks %q:\n%s", part, got.text)
		}
	}
	w.see("the news in the other chat", func(m shown) bool { return m.chat == second && strings.Contains(m.text, "RESET - everything") })
	if got := w.stops(); got != "agent:local" {
		t.Errorf("still engaged: %q", got)
	}
}

//attack:telegram-reset-age
//attack:telegram-own-words
//attack:telegram-command
func TestResetThatMustNotCountIsRefused(t *testing.T) {
	ago := func(d time.Duration) func(map[string]any) {
		return func(m map[string]any) { m["date"] = m["date"].(int64) - int64(d.Seconds()) }
	}
	for name, c := range map[string]struct {
		user int64
		text string
		edit func(map[string]any)
		code trade.Code
	}{
		"a stranger":       {mallory, "/reset everything ok", nil, policy.PersonUnknown},
		"no reason":        {alice, "/reset everything", nil, policy.ReasonMissing},
		"nothing":          {alice, "/reset", nil, policy.ReasonMissing},
		"a scope mistyped": {alice, "/reset agent=local ok", nil, policy.ScopeUnknown},
		"another scope":    {alice, "/reset agent:local ok", nil, policy.NotEngaged},
		"two scopes":       {alice, "/reset everything,agent:local ok", nil, policy.ScopeUnknown},
		"old":              {alice, "/reset everything ok", ago(2*time.Minute + time.Second), policy.CommandNotOwn},
		"of tomorrow":      {alice, "/reset everything ok", ago(-24 * time.Hour), policy.CommandNotOwn},
		"before the stop":  {alice, "/reset everything ok", ago(2 * time.Second), policy.CommandNotOwn},
		"forwarded": {alice, "/reset everything ok", func(m map[string]any) {
			m["forward_origin"] = map[string]any{"type": "hidden_user", "date": 1, "sender_user_name": "x"}
		}, policy.CommandNotOwn},
		"through a bot":     {alice, "/reset everything ok", func(m map[string]any) { m["via_bot"] = map[string]any{"id": 5, "is_bot": true} }, policy.CommandNotOwn},
		"for a chat":        {alice, "/reset everything ok", func(m map[string]any) { m["sender_chat"] = map[string]any{"id": 5} }, policy.CommandNotOwn},
		"from another chat": {alice, "/reset everything ok", func(m map[string]any) { m["chat"] = map[string]any{"id": 5} }, policy.ChatNotListed},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			w := newWorld(t)
			w.stop("everything")
			before := len(w.refusals())
			update := w.d.written(c.user, group, c.text, func(m map[string]any) {
				if c.edit != nil {
					c.edit(m)
				}
			})
			w.d.push(update)
			w.eventually("the record", func() bool { return len(w.refusals()) > before })
			if r := w.refusals()[before]; r.Code != c.code {
				t.Errorf("recorded %+v, want %s", r, c.code)
			}
			if got := w.stops(); got != "everything" {
				t.Errorf("engaged: %q", got)
			}
		})
	}
}

// TestResetNeedsNoScopeWhereOneSwitchIsEngaged: with two engaged it does, and neither ends.
func TestResetNeedsNoScopeWhereOneSwitchIsEngaged(t *testing.T) {
	w := newWorld(t)
	w.stop("everything")
	w.stop("agent:local")
	before := len(w.refusals())
	w.d.push(w.d.written(alice, group, "/reset false alarm"))
	w.eventually("the record", func() bool { return len(w.refusals()) > before })
	if r := w.refusals()[before]; r.Code != policy.ScopeUnknown || !strings.Contains(w.stops(), "everything") || !strings.Contains(w.stops(), "agent:local") {
		t.Fatalf("recorded %+v, engaged: %q", r, w.stops())
	}
	w.d.push(w.d.written(alice, group, "/reset agent:local seen"))
	w.eventually("the first reset", func() bool { return w.stops() == "everything" })
	w.d.push(w.d.written(alice, group, "/reset false alarm"))
	w.eventually("the second reset", func() bool { return w.stops() == "" })
}

// TestReplayedResetDoesNotEndALaterStop replays a command that once was good, in this life of the bot and in the next.
//
//attack:telegram-remembered
func TestReplayedResetDoesNotEndALaterStop(t *testing.T) {
	w := newWorld(t)
	w.stop("everything")
	update := w.d.written(alice, group, "/reset everything ok")
	w.d.push(update)
	w.eventually("the reset", func() bool { return w.stops() == "" })
	w.stop("everything")
	w.d.replay()
	w.command(alice, group, "/status", "Engaged:\neverything by person:alice")
	w.clock.Advance(3 * time.Second)
	w.end()
	if err := w.g.Reset(context.Background(), w.alice(), ledger.Scope{}, "test"); err != nil {
		t.Fatal(err)
	}
	w.stop("everything")
	w.make()
	w.run() // Telegram has nothing confirmed for it, and sends all of it
	w.see("the refusal", func(m shown) bool { return strings.Contains(m.text, "engaged after the command was sent") })
	if got := w.stops(); got != "everything" {
		t.Errorf("engaged: %q", got)
	}
	var r ring
	for i := range 3 * maxRemembered {
		if !r.add(place{1, i}) || r.add(place{1, i}) {
			t.Fatalf("message %d is taken for another", i)
		}
	}
	if len(r.order) != maxRemembered || len(r.known) != maxRemembered {
		t.Errorf("%d and %d are remembered", len(r.order), len(r.known))
	}
}

func TestStatusPendingAndHelpAnswer(t *testing.T) {
	w := newWorld(t, setting{gate: func(c *gate.Config) { c.Approval.MaxOpen = 20 }})
	w.command(carol, group, "/pending", "No proposal waits.")
	for i := range 12 {
		w.propose("buy", "AAPL", "10", fmt.Sprintf("1%02d.00", i))
	}
	got := w.command(carol, group, "/pending", "Answer with the buttons")
	if n := strings.Count(got.text, "BUY 10 AAPL at 1"); n != maxShown || !strings.Contains(got.text, "+2 more") {
		t.Errorf("%d rows:\n%s", n, got.text)
	}
	w.command(carol, group, "/status", "cash 100000.00 USD\nNo kill switch is engaged.\n12 proposal(s) wait: /pending\n")
	w.command(carol, group, "/help", "/reset SCOPE REASON")
	w.command(carol, group, "/approve 12", "There is no such command; nothing was done.")
	w.submits(0)
}

// TestWhatIsNotForThisBotIsLeftAlone sends what must get no answer.
func TestWhatIsNotForThisBotIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.eventually("the bot's name", w.named)
	before := len(w.refusals())
	w.d.push(
		w.d.written(mallory, group, "hello"), w.d.written(alice, group, "kill everything"), w.d.written(alice, group, "/kill@OtherBot everything"),
		w.d.written(alice, group, "/reset@OtherBot everything x"),
		w.d.written(alice, group, "/kill", func(m map[string]any) { delete(m, "from") }),
		map[string]any{"edited_message": w.d.written(alice, group, "/kill everything")["message"]},
		map[string]any{"channel_post": w.d.written(alice, group, "/kill everything")["message"]},
		map[string]any{},
	)
	w.command(alice, group, "/status", "No kill switch is engaged.")
	if n := w.d.sent(group); n != 1 {
		t.Errorf("%d messages were sent", n)
	}
	if n := len(w.refusals()) - before; n != 0 {
		t.Errorf("%d attempts were recorded", n)
	}
}

//attack:telegram-attempts
func TestStrangersCannotFloodTheJournal(t *testing.T) {
	w := newWorld(t)
	m := w.message(w.propose("buy", "AAPL", "10", "150.00"), group)
	before := len(w.refusals())
	var flood []map[string]any
	for i := range int64(300) {
		_, press := w.d.press(mallory+i, m.place, m.keys["APPROVE"])
		_, elsewhere := w.d.press(mallory, place{-7 - i, 5}, "x")
		flood = append(flood, press, elsewhere, w.d.written(mallory+i, group, "/kill everything"), w.d.written(mallory, -7-i, "/kill everything"))
	}
	w.d.push(flood...)
	last, update := w.d.press(mallory, m.place, "x")
	w.d.push(update)
	w.answer(last)
	if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "EXECUTED") {
		t.Errorf("after the flood alice was answered %q", got)
	}
	// The bound is in real time; a slow machine lets a few more through.
	if n := len(w.refusals()) - before; n < 1 || n > 4*maxAttempts {
		t.Errorf("%d of 1201 attempts were recorded", n)
	}
	stale := len(w.refusals())
	var ids []string
	for range 100 {
		id, press := w.d.press(alice, m.place, "stale")
		ids = append(ids, id)
		w.d.push(press)
	}
	for _, id := range ids {
		w.answer(id)
	}
	if n := len(w.refusals()) - stale; n < 1 || n > 4*maxAttempts {
		t.Errorf("%d of 100 stale presses were recorded", n)
	}
	var k bucket
	now := time.Unix(1_000_000, 0)
	taken := 0
	for range 1000 {
		if k.take(now) {
			taken++
		}
	}
	if taken != maxAttempts || k.take(now.Add(attemptsEvery-1)) || !k.take(now.Add(attemptsEvery)) || k.take(now.Add(attemptsEvery)) {
		t.Errorf("%d were taken at once", taken)
	}
}
