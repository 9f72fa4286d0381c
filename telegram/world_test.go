package telegram

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/trade"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The people and chats of the tests. Alice is the owner and an approver, Bob an approver, Carol neither.
const (
	alice, bob, carol, mallory int64 = 101, 102, 103, 666
	group, second              int64 = -1001, -1002
)

// world is a real gate as a daemon has it, a bot before it, and a double of Telegram.
type world struct {
	t      *testing.T
	d      *double
	g      *gate.Gate
	broker *gatetest.Broker
	clock  *gatetest.Clock
	bot    *Bot
	home   string
	secret string // Alice's credential
	log    *gatetest.Output
	cfg    Config
	end    func()
}

// setting changes how a world is made.
type setting struct {
	gate func(*gate.Config)
	bot  func(*Config)
	idle bool // the bot is made and not run
}

func newWorld(t *testing.T, settings ...setting) *world {
	t.Helper()
	w := &world{t: t, clock: gatetest.NewClock(), log: &gatetest.Output{}, home: gatetest.Home(t)}
	w.broker = &gatetest.Broker{Now: w.clock.Now}
	cfg := gatetest.Config(w.home, w.broker)
	cfg.Now, cfg.Daemon = w.clock.Now, true
	for _, s := range settings {
		if s.gate != nil {
			s.gate(&cfg)
		}
	}
	w.g = gatetest.Open(t, cfg)
	ctx := context.Background()
	var err error
	if w.secret, err = w.g.MakeOwner(ctx, gate.PersonTerms{Name: "alice", Approver: true, Telegram: alice}); err != nil {
		t.Fatal(err)
	}
	owner := w.alice()
	for _, p := range []gate.PersonTerms{{Name: "bob", Approver: true, Telegram: bob}, {Name: "carol", Telegram: carol}} {
		if _, err := w.g.AddPerson(ctx, owner, p); err != nil {
			t.Fatal(err)
		}
	}
	w.d = newDouble(t, w.clock.Now)
	w.cfg = Config{
		Token: testToken, Chats: []int64{group}, Gate: w.g, Now: w.clock.Now, Entropy: gatetest.Entropy(7), BaseURL: w.d.srv.URL,
		Poll: 20 * time.Second, Wait: 10 * time.Second, Every: 5 * time.Millisecond, Log: slog.New(slog.NewTextHandler(w.log, nil)),
	}
	idle := false
	for _, s := range settings {
		if s.bot != nil {
			s.bot(&w.cfg)
		}
		idle = idle || s.idle
	}
	w.make()
	if !idle {
		w.run()
	}
	return w
}

func (w *world) make() {
	w.t.Helper()
	b, err := New(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	b.base = time.Millisecond
	w.bot = b
}

// run runs the bot until the test ends or stop is called.
func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.bot.Run(ctx)
	}()
	var once sync.Once
	w.end = func() {
		once.Do(func() {
			cancel()
			<-done
		})
	}
	w.t.Cleanup(w.end)
}

func (w *world) alice() gate.Person {
	w.t.Helper()
	p, err := w.g.Identify(context.Background(), w.secret, "terminal")
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// eventually waits for something that must come.
func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("never came: %s\nlog: %s", what, w.log)
		}
	}
}

// propose makes a proposal and returns its id.
func (w *world) propose(side, symbol, quantity, limit string, edit ...func(*gate.Call)) trade.IntentID {
	w.t.Helper()
	d := w.g.Propose(context.Background(), gatetest.Call(w.t, side, symbol, quantity, limit, edit...))
	if d.State != ledger.ApprovalPending {
		w.t.Fatalf("the proposal is %s: %v", d.State, d.Reasons)
	}
	return d.Intent
}

// message waits for the message of a proposal with its buttons.
func (w *world) message(id trade.IntentID, chat int64) shown {
	w.t.Helper()
	return w.see("the message of a proposal", func(m shown) bool {
		return m.chat == chat && strings.Contains(m.text, string(id)) && len(m.keys) == 3 && w.bound(m)
	})
}

// bound reports whether the bot knows the message by now.
func (w *world) bound(m shown) bool {
	w.bot.mu.Lock()
	defer w.bot.mu.Unlock()
	k := w.bot.buttons[m.keys["APPROVE"]]
	return k != nil && !k.used && k.message.message == m.message
}

func (w *world) see(what string, want func(shown) bool) shown {
	w.t.Helper()
	var m shown
	w.eventually(what, func() (ok bool) {
		m, ok = w.d.find(want)
		return ok
	})
	return m
}

// says waits until a message says something.
func (w *world) says(at place, text string) shown {
	w.t.Helper()
	return w.see("a message that says "+text, func(m shown) bool { return m.place == at && strings.Contains(m.text, text) })
}

// press presses and waits for the answer.
func (w *world) press(user int64, at place, data string, edit ...func(map[string]any)) string {
	w.t.Helper()
	id, update := w.d.press(user, at, data, edit...)
	w.d.push(update)
	return w.answer(id)
}

func (w *world) answer(id string) (text string) {
	w.t.Helper()
	w.eventually("the answer to "+id, func() (ok bool) {
		text, ok = w.d.answered(id)
		return ok
	})
	return text
}

// command writes a command and waits for the newest message that says something.
func (w *world) command(user, chat int64, text, want string) shown {
	w.t.Helper()
	w.d.push(w.d.written(user, chat, text))
	return w.see("an answer that says "+want, func(m shown) bool { return m.chat == chat && strings.Contains(m.text, want) })
}

func (w *world) state(id trade.IntentID) ledger.Decision {
	w.t.Helper()
	d, _, err := w.g.History(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// refusals returns the refused attempts that are recorded.
func (w *world) refusals() (all []ledger.AttemptRefused) {
	w.t.Helper()
	err := w.g.Export(context.Background(), func(r journal.Record) error {
		e, err := ledger.Decode(r.Body)
		if a, ok := e.(ledger.AttemptRefused); ok {
			all = append(all, a)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// submits checks how many orders have reached the broker.
func (w *world) submits(want int) {
	w.t.Helper()
	if got := len(w.broker.Submits()); got != want {
		w.t.Errorf("%d orders reached the broker, want %d", got, want)
	}
}

func (w *world) editPolicy(symbols ...string) {
	w.t.Helper()
	var list []trade.Symbol
	for _, s := range symbols {
		sym, _ := trade.ParseSymbol(s)
		list = append(list, sym)
	}
	if err := os.WriteFile(filepath.Join(w.home, gate.PolicyName), gatetest.Policy(list...), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// clean checks that the token is nowhere that people look.
func (w *world) clean() {
	w.t.Helper()
	_, secret, _ := strings.Cut(testToken, ":")
	for name, text := range map[string]string{"log": w.log.String(), "health": w.bot.Health().LastError} {
		if strings.Contains(text, secret) {
			w.t.Errorf("the %s holds the token: %s", name, text)
		}
	}
}

func rests(ctx context.Context, b *gatetest.Broker, c gate.Cleared) (gate.Receipt, error) {
	return gatetest.Rest(ctx, b, c)
}

// gone reports whether a button is stale by now.
func (w *world) gone(name string) bool {
	w.bot.mu.Lock()
	defer w.bot.mu.Unlock()
	return w.bot.buttons[name] == nil
}
