package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	api "github.com/go-telegram/bot"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/trade"
)

// until makes trouble for so many calls of some methods.
func until(n int, x trouble, methods ...string) func(string, int, int64) *trouble {
	return func(method string, call int, _ int64) *trouble {
		if call > n || !strings.Contains(strings.Join(methods, " "), method) {
			return nil
		}
		return &x
	}
}

const everyMethod = "getMe getUpdates sendMessage editMessageText answerCallbackQuery"

//attack:telegram-token-hidden
//attack:telegram-wait
//attack:telegram-poll
//fault:f53
//fault:f65
func TestProposalIsDeliveredOnceTelegramIsBack(t *testing.T) {
	long := strings.Repeat(`{"ok":true,"result":[`, 1+maxAnswer/20)
	for name, x := range map[string]trouble{
		"error 500":           {status: 500, body: `{"ok":false,"error_code":500,"description":"Internal Server Error /bot` + testToken + `/x"}`},
		"error 502 in HTML":   {status: 502, body: "<html>bad gateway " + testToken + "</html>"},
		"garbage":             {status: 200, body: "\x00\xff{{{ " + testToken},
		"nothing":             {status: 200, body: ""},
		"ok without a result": {status: 200, body: `{"ok":true}`},
		"another type":        {status: 200, body: `{"ok":true,"result":"yes"}`},
		"unauthorized":        {status: 401, body: `{"ok":false,"error_code":401,"description":"Unauthorized"}`},
		"two pollers":         {status: 409, body: `{"ok":false,"error_code":409,"description":"Conflict: terminated by other getUpdates request"}`},
		"too long":            {status: 200, body: long},
		"elsewhere":           {status: 302, body: ""},
		"hangs":               {hang: true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			w := newWorld(t, setting{idle: true, bot: func(c *Config) {
				if c.Poll = time.Second; x.hang {
					c.Wait = 50 * time.Millisecond
				}
			}})
			w.d.troubled(until(2, x, everyMethod))
			w.run()
			id := w.propose("buy", "AAPL", "10", "150.00")
			w.eventually("the failure", func() bool { return w.bot.Health().LastError != "" })
			if d := w.state(id); d.State != ledger.ApprovalPending {
				t.Errorf("the proposal is %s", d.State)
			}
			w.submits(0)
			m := w.message(id, group)
			w.eventually("a clean bill", func() bool {
				h := w.bot.Health()
				return h.Undelivered == 0 && !h.Down && !h.LastOK.IsZero()
			})
			w.d.troubled(nil)
			if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "EXECUTED") {
				t.Errorf("answered %q", got)
			}
			w.submits(1)
			if text := w.log.String(); name != "ok without a result" && !strings.Contains(text, "holds stay held") {
				t.Errorf("the log does not say it: %s", text)
			}
			w.clean()
		})
	}
}

//fault:f65
func TestUnreachableTelegramIsSaidWithoutTheToken(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	w := newWorld(t, setting{bot: func(c *Config) { c.BaseURL = gone.URL }})
	id := w.propose("buy", "AAPL", "10", "150.00")
	w.eventually("the failure", func() bool {
		h := w.bot.Health()
		return h.Down && h.Undelivered == 1 && h.LastOK.IsZero() && h.LastError != "" && !h.LastErrorAt.IsZero()
	})
	if d := w.state(id); d.State != ledger.ApprovalPending {
		t.Errorf("the proposal is %s", d.State)
	}
	w.clean()
	for _, text := range []string{
		fmt.Sprint(w.cfg.Token), fmt.Sprintf("%v %+v %#v %s %q", w.cfg, w.cfg, w.cfg.Token, w.cfg.Token, w.cfg.Token), w.cfg.Token.LogValue().String(),
	} {
		if strings.Contains(text, testToken[10:]) {
			t.Errorf("it prints as %s", text)
		}
	}
	if text := w.bot.client.scrub(fmt.Errorf("Post %q: secret %s", "https://x/bot"+testToken+"/y", testToken[10:])).Error(); strings.Contains(text, testToken[10:]) {
		t.Errorf("scrubbed: %s", text)
	}
}

//attack:telegram-retry-after
func TestPauseThatTelegramAsksForIsKept(t *testing.T) {
	busy := func(seconds string) trouble {
		return trouble{status: 429, body: `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":` + seconds + `}}`}
	}
	t.Run("sends", func(t *testing.T) {
		w := newWorld(t)
		w.d.troubled(until(1<<30, busy("600"), "sendMessage"))
		id := w.propose("buy", "AAPL", "10", "150.00")
		w.eventually("the pause", func() bool { return w.d.count("sendMessage") == 1 && w.bot.Health().LastError != "" })
		w.d.troubled(nil)
		for range 20 {
			if _, f := w.bot.send(context.Background(), group, "x", nil); f == nil || f.after < 9*time.Minute {
				t.Fatalf("a send in the pause: %v", f)
			}
		}
		if n := w.d.count("sendMessage"); n != 1 {
			t.Errorf("%d sends in the pause", n)
		}
		w.bot.client.mu.Lock()
		clear(w.bot.client.pauses)
		w.bot.client.mu.Unlock()
		if w.bot.Health().Undelivered != 1 {
			t.Error("nothing is undelivered")
		}
		if d := w.state(id); d.State != ledger.ApprovalPending {
			t.Errorf("the proposal is %s", d.State)
		}
	})
	t.Run("polls", func(t *testing.T) {
		w := newWorld(t, setting{idle: true})
		w.d.troubled(until(1, busy("1"), "getUpdates"))
		began := time.Now()
		w.run()
		w.eventually("another poll", func() bool { return w.d.count("getUpdates") > 1 })
		if took := time.Since(began); took < 900*time.Millisecond {
			t.Errorf("the next poll came after %s", took)
		}
	})
	c := newClient(Config{Token: testToken, Now: gatetest.Start, Log: slog.New(slog.DiscardHandler)})
	for asked, want := range map[int]time.Duration{-5: time.Second, 0: time.Second, 30: 30 * time.Second, 1 << 30: time.Hour, 1 << 62: time.Hour} {
		if f := c.judge(&api.TooManyRequestsError{RetryAfter: asked}, lane{chat: 1}); f.after != want {
			t.Errorf("asked for %d s, waits %s, want %s", asked, f.after, want)
		}
	}
}

// TestSendThatLandedWithoutAnAnswerIsNoTrap lets a message arrive whose answer is lost: its buttons are stale.
func TestSendThatLandedWithoutAnAnswerIsNoTrap(t *testing.T) {
	w := newWorld(t, setting{idle: true})
	w.d.troubled(until(1, trouble{cut: true}, "sendMessage"))
	w.run()
	id := w.propose("buy", "AAPL", "10", "150.00")
	m := w.message(id, group)
	if w.d.sent(group) < 2 {
		t.Fatal("there is only one message")
	}
	lost := shown{}
	w.eventually("the first message", func() (ok bool) {
		lost, ok = w.d.find(func(x shown) bool { return x.place != m.place && strings.Contains(x.text, string(id)) })
		return ok
	})
	if got := w.press(alice, lost.place, lost.keys["APPROVE"]); !strings.Contains(got, "stale") {
		t.Errorf("answered %q", got)
	}
	w.submits(0)
	if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "EXECUTED") {
		t.Errorf("answered %q", got)
	}
	w.submits(1)
}

func TestMessageThatIsGoneIsShownAnewAndAnOutcomeSurvivesFailingEdits(t *testing.T) {
	above := trade.Whole(1000)
	w := newWorld(t, setting{gate: func(c *gate.Config) { c.Approval.TwoAbove = &above }})
	id := w.propose("buy", "AAPL", "10", "150.00")
	m := w.message(id, group)
	w.d.mu.Lock()
	delete(w.d.messages, m.place)
	w.d.order = w.d.order[:0]
	w.d.messages[place{group, 1}] = &shown{place: place{group, 1}}
	w.d.order = append(w.d.order, place{group, 1}, place{group, 1}, place{group, 1})
	w.d.mu.Unlock()
	if got := w.press(alice, m.place, m.keys["APPROVE"], func(q map[string]any) { q["message"].(map[string]any)["text"] = m.text }); !strings.Contains(got, "NOT YET") {
		t.Errorf("answered %q", got)
	}
	m = w.see("the new message", func(x shown) bool {
		return strings.Contains(x.text, "NOT YET") && x.place != m.place && len(x.keys) == 3
	})
	m = w.message(id, group)
	w.d.troubled(func(method string, n int, _ int64) *trouble {
		if method == "editMessageText" && n < 5 {
			return &trouble{status: 500, body: "no"}
		}
		return nil
	})
	if got := w.press(bob, m.place, m.keys["APPROVE"]); !strings.Contains(got, "EXECUTED") {
		t.Errorf("answered %q", got)
	}
	w.says(m.place, "EXECUTED")
	w.submits(1)
}

//attack:telegram-backoff
func TestOneChatThatFailsDoesNotHoldUpTheOther(t *testing.T) {
	w := newWorld(t, setting{bot: func(c *Config) { c.Chats = []int64{group, second} }})
	w.d.troubled(func(method string, _ int, chat int64) *trouble {
		if method == "sendMessage" && chat == group {
			return &trouble{status: 403, body: `{"ok":false,"error_code":403,"description":"Forbidden: bot was kicked"}`}
		}
		return nil
	})
	id := w.propose("buy", "AAPL", "10", "150.00")
	m := w.message(id, second)
	w.eventually("the count", func() bool { return w.bot.Health().Undelivered == 1 })
	if h := w.bot.Health(); h.Down || !strings.Contains(h.LastError, "kicked") {
		t.Errorf("health: %+v", h)
	}
	if got := w.press(alice, m.place, m.keys["APPROVE"]); !strings.Contains(got, "EXECUTED") {
		t.Errorf("answered %q", got)
	}
	var p pause
	last := time.Duration(0)
	for range 40 {
		now := time.Now()
		p.failed(time.Second, 0)
		wait := p.until.Sub(now)
		if wait < last-time.Second || wait > maxBackoff+time.Minute || p.over() {
			t.Fatalf("after %s it waits %s", last, wait)
		}
		last = wait
	}
	if last < maxBackoff {
		t.Errorf("it waits %s at last", last)
	}
	if p.failed(time.Second, 30*time.Minute); time.Until(p.until) < 29*time.Minute {
		t.Error("the pause that Telegram asks for is shortened")
	}
}

// TestUpdateThatCannotBeReadIsLeftBehind sends one that the library's types refuse, before a stop.
func TestUpdateThatCannotBeReadIsLeftBehind(t *testing.T) {
	w := newWorld(t)
	odd := w.d.written(mallory, group, "x", func(m map[string]any) { m["forward_origin"] = map[string]any{"type": "from the future"} })
	w.d.push(odd, map[string]any{"message": 7}, map[string]any{"callback_query": map[string]any{"id": 9, "from": "x"}}, w.d.written(alice, group, "/kill it burns"))
	w.see("the stop", func(m shown) bool { return strings.Contains(m.text, "STOPPED: everything") })
	for _, body := range []string{"", "[]", `{"ok":true}`, `{"ok":true,"result":[null]}`, `{"ok":true,"result":{}}`, `{"ok":true,"result":[{"message":3}]}`} {
		readable([]byte(body)) // does not panic
	}
}

//attack:telegram-answer
//attack:telegram-redirects
func TestAnswerWithoutEndIsCutAndNoRedirectionIsFollowed(t *testing.T) {
	followed := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bot" + testToken + "/getMe":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "/elsewhere":
			followed++
			fmt.Fprint(w, `{"ok":true,"result":{}}`)
		default:
			for line := []byte(strings.Repeat("x", 1<<16)); ; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		}
	}))
	defer srv.Close()
	w := newWorld(t, setting{idle: true, bot: func(c *Config) { c.BaseURL = srv.URL }})
	defer w.bot.client.close()
	if _, err := w.bot.api.GetMe(context.Background()); err == nil || followed > 0 {
		t.Errorf("redirected: %v, followed %d times", err, followed)
	}
	if _, f := w.bot.send(context.Background(), group, "x", nil); f == nil || !strings.Contains(f.text, errAnswerTooLong.Error()) {
		t.Errorf("an answer without end: %v", f)
	}
}

func TestRunEndsWhileTelegramHangs(t *testing.T) {
	w := newWorld(t, setting{idle: true})
	w.d.troubled(until(1<<30, trouble{hang: true}, everyMethod))
	w.run()
	w.eventually("the calls", func() bool { return w.d.count("getMe") > 0 && w.d.count("getUpdates") > 0 })
	w.end()
}

func TestCancellationThatIsNotOursDoesNotEndThePolling(t *testing.T) {
	c := newClient(Config{Token: testToken, Now: gatetest.Start})
	if err := c.own(context.Background(), fmt.Errorf("x: %w", context.Canceled)); errors.Is(err, context.Canceled) {
		t.Error("it would end the polling")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.own(ctx, ctx.Err()); !errors.Is(err, context.Canceled) {
		t.Error("the end of the bot would not end the polling")
	}
}

func TestDefectInAnUpdateDoesNotEndTheBot(t *testing.T) {
	w := newWorld(t, setting{bot: func(c *Config) { c.Gate = broken{c.Gate} }})
	w.d.push(w.d.written(mallory, group, "/status"))
	w.eventually("the log", func() bool { return strings.Contains(w.log.String(), "met a defect of Sallyport") })
	w.propose("buy", "AAPL", "1", "1.00")
	w.see("a message", func(m shown) bool { return len(m.keys) == 3 })
}

type broken struct{ Gate }

func (broken) People(context.Context) ([]ledger.Person, error) { panic("broken") }

//attack:telegram-token-clear
//attack:telegram-chats
//attack:telegram-every
//fault:f54
func TestConfigurationThatIsNotSafeIsRefused(t *testing.T) {
	good := Config{Token: testToken, Chats: []int64{1}, Gate: blind{}, Now: gatetest.Start, Entropy: gatetest.Entropy(1)}
	for name, edit := range map[string]func(*Config){
		"no token":         func(c *Config) { c.Token = "" },
		"half a token":     func(c *Config) { c.Token = "123456789" },
		"token and a line": func(c *Config) { c.Token += "\n" },
		"token and a path": func(c *Config) { c.Token = testToken + "/../x" },
		"no chat":          func(c *Config) { c.Chats = nil },
		"chat 0":           func(c *Config) { c.Chats = []int64{0} },
		"17 chats":         func(c *Config) { c.Chats = make([]int64, maxChats+1) },
		"no gate":          func(c *Config) { c.Gate = nil },
		"no clock":         func(c *Config) { c.Now = nil },
		"no entropy":       func(c *Config) { c.Entropy = nil },
		"clear text":       func(c *Config) { c.BaseURL = "http://api.telegram.org" },
		"named loopback":   func(c *Config) { c.BaseURL = "http://localhost" },
		"no address":       func(c *Config) { c.BaseURL = "://" },
		"negative":         func(c *Config) { c.Wait = -1 },
		"negative look":    func(c *Config) { c.Every = -1 },
	} {
		c := good
		edit(&c)
		if _, err := New(c); err == nil || c.Token != "" && strings.Contains(err.Error(), testToken[10:]) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	if b.cfg.Every != time.Second || b.cfg.Wait != 10*time.Second || b.cfg.Poll != 50*time.Second || b.cfg.BaseURL != defaultURL {
		t.Errorf("the defaults are %s, %s, %s, %s", b.cfg.Every, b.cfg.Wait, b.cfg.Poll, b.cfg.BaseURL)
	}
	if b.Health() != (Health{}) {
		t.Errorf("health before it ran: %+v", b.Health())
	}
}
