// Package telegram shows proposals to people on their phones, takes their answers, and stops trading at their word. It
// asks Telegram for news by long polling, so that no port is open, and owns no rule: who may decide and what becomes of it
// is the gate's to say.
package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"time"

	api "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// Gate is what a bot needs of the gate. Its methods are *gate.Gate's own.
type Gate interface {
	Watch() <-chan struct{}
	Proposals(ctx context.Context) ([]ledger.Decision, error)
	Brief(ctx context.Context, id trade.IntentID) (gate.Brief, error)
	History(ctx context.Context, id trade.IntentID) (ledger.Decision, []ledger.Entry, error)
	Approve(ctx context.Context, p gate.Press) (ledger.Decision, error)
	Decline(ctx context.Context, p gate.Press) (ledger.Decision, error)
	Kill(ctx context.Context, r gate.StopRequest) (gate.StopReport, error)
	Stops(ctx context.Context) ([]ledger.Stop, error)
	Reset(ctx context.Context, by gate.Person, scope ledger.Scope, reason string) error
	People(ctx context.Context) ([]ledger.Person, error)
	IdentifyTelegram(ctx context.Context, user, chat int64) (gate.Person, error)
	RefuseAttempt(ctx context.Context, action, by, channel string, id trade.IntentID, code trade.Code, message string) error
	Portfolio(ctx context.Context, agent trade.Agent) (gate.Portfolio, error)
	Holdings(ctx context.Context) (gate.Holdings, error)
}

var _ Gate = (*gate.Gate)(nil)

// Token is a bot's secret. It prints as nothing of use, so that no log or error shows it by chance.
type Token string

// String implements fmt.Stringer.
func (Token) String() string { return "(the bot's token)" }

// GoString implements fmt.GoStringer.
func (Token) GoString() string { return "(the bot's token)" }

// LogValue implements slog.LogValuer.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// Config says how a bot works. Token, Chats, Gate, Now and Entropy are required.
type Config struct {
	Token   Token
	Chats   []int64 // where proposals are shown and answers are taken; nowhere else
	Gate    Gate
	Now     func() time.Time // the gate's clock
	Entropy func(*[10]byte)  // fills in random bytes
	Log     *slog.Logger     // nil for none
	BaseURL string           // of the Bot API; default https://api.telegram.org
	Poll    time.Duration    // how long one poll waits for news; default 50 s
	Wait    time.Duration    // for the answer of every other call; default 10 s
	Every   time.Duration    // between two looks at the gate that no news of it caused; default 1 s
}

const defaultURL = "https://api.telegram.org"

// Defaults.
const (
	//limit:telegram-poll One poll waits 50 seconds for news, unless configured, and then as long as any call for the answer.
	defaultPoll = 50 * time.Second
	//limit:telegram-wait A call to Telegram that has no answer after 10 seconds, unless configured, has failed.
	defaultWait = 10 * time.Second
	//limit:telegram-every The bot looks at the gate at least every second, unless configured.
	defaultEvery = time.Second
)

// maxChats bounds to how many chats one proposal goes.
//
//limit:telegram-chats A bot serves 1 to 16 chats; none listed is a refusal to start.
const maxChats = 16

func tokenForm() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,20}:[A-Za-z0-9_-]{10,100}$`) }

// complete checks the configuration. Its errors never say the token.
//
//limit:telegram-token-clear The bot's token goes over HTTPS only, or to this machine itself.
func (c *Config) complete() error {
	u, err := url.Parse(c.BaseURL)
	switch {
	case !tokenForm().MatchString(string(c.Token)):
		return errors.New("telegram: the bot's token does not have the form that Telegram gives it")
	case len(c.Chats) == 0 || len(c.Chats) > maxChats:
		return fmt.Errorf("telegram: 1 to %d chats are listed, not %d", maxChats, len(c.Chats))
	case slices.Contains(c.Chats, 0):
		return errors.New("telegram: a listed chat has the id 0")
	case c.Gate == nil || c.Now == nil || c.Entropy == nil:
		return errors.New("telegram: a gate, a clock and a source of entropy are required")
	case err != nil || c.BaseURL != "" && u.Scheme != "https" && !loopback(u):
		return errors.New("telegram: the address of the Bot API is not an https one")
	case c.Poll < 0 || c.Wait < 0 || c.Every < 0:
		return errors.New("telegram: a duration is negative")
	}
	setDefault(&c.BaseURL, defaultURL)
	setDefault(&c.Poll, defaultPoll)
	setDefault(&c.Wait, defaultWait)
	setDefault(&c.Every, defaultEvery)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Chats = slices.Compact(slices.Sorted(slices.Values(c.Chats)))
	return nil
}

func loopback(u *url.URL) bool {
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && err == nil && addr.IsLoopback()
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Bot is the surface. What it knows of its messages is in memory: after a restart the buttons of old messages are stale,
// and open proposals are shown anew.
type Bot struct {
	cfg    Config
	api    *api.Bot
	client *client
	base   time.Duration // the first pause after a failure
	wake   chan struct{} // the board has something to do

	mu      sync.Mutex
	name    string // the bot's user name, once Telegram has told it
	buttons map[string]*button
	seen    ring                   // commands that were taken, by chat and message
	told    map[ledger.Scope]int64 // changes of stops that a command is about to answer for, and in which chat
	refused map[int64]*bucket      // how much of what is refused is recorded, by listed user; 0 is everybody else

	board board // belongs to the one goroutine that shows proposals
}

// New makes a bot. It calls nobody: Telegram may be unreachable now.
func New(cfg Config) (*Bot, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	b := &Bot{
		cfg: cfg, client: newClient(cfg), base: firstBackoff, wake: make(chan struct{}, 1),
		buttons: map[string]*button{}, told: map[ledger.Scope]int64{}, refused: map[int64]*bucket{},
		board: board{cards: map[trade.IntentID]*card{}, stops: map[ledger.Scope]ledger.Stop{}, pauses: map[int64]*pause{}},
	}
	var err error
	b.api, err = api.New(string(cfg.Token), api.WithSkipGetMe(), api.WithServerURL(cfg.BaseURL),
		api.WithHTTPClient(cfg.Poll+libraryTakes, b.client),
		api.WithAllowedUpdates(api.AllowedUpdates{"message", "callback_query"}),
		api.WithErrorsHandler(b.client.pollFailed), api.WithDefaultHandler(b.handle),
		api.WithNotAsyncHandlers(), api.WithWorkers(maxWorkers), api.WithUpdatesChannelCap(maxWaitingUpdates))
	if err != nil {
		return nil, b.client.scrub(err)
	}
	return b, nil
}

// libraryTakes is what the library takes off the time of a poll.
const libraryTakes = time.Second

// How many updates are dealt with at once, and how many may wait. More stay at Telegram.
//
//limit:telegram-workers Eight updates are dealt with at once.
//limit:telegram-waiting 64 updates wait for it; the others stay at Telegram.
const (
	maxWorkers        = 8
	maxWaitingUpdates = 64
)

// Run shows proposals and takes answers until the context ends. A press that was begun is finished first.
func (b *Bot) Run(ctx context.Context) error {
	var group sync.WaitGroup
	group.Go(func() { b.api.Start(ctx) })
	group.Go(func() { b.show(ctx) })
	group.Wait()
	b.client.close()
	return ctx.Err()
}

// Health says whether people can be reached.
type Health struct {
	LastOK      time.Time // when Telegram last answered as it should; zero if never
	Down        bool      // the newest call found Telegram unreachable
	LastError   string    // the newest failure, without the token
	LastErrorAt time.Time
	Undelivered int // open proposals that some chat has not been shown
}

// Health returns how it stands.
func (b *Bot) Health() Health { return b.client.healthNow() }

// handle deals with one update. Whatever an update holds, the bot goes on.
func (b *Bot) handle(ctx context.Context, _ *api.Bot, u *models.Update) {
	defer func() {
		if r := recover(); r != nil {
			b.cfg.Log.Error("an update from Telegram met a defect of Sallyport; nothing was decided by it", "update", u.ID, "defect", fmt.Sprint(r))
		}
	}()
	switch {
	case u.CallbackQuery != nil:
		b.pressed(ctx, u.CallbackQuery)
	case u.Message != nil:
		b.commanded(ctx, u.Message)
	}
}

// poke lets the board look at once.
func (b *Bot) poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *Bot) listed(chat int64) bool { return slices.Contains(b.cfg.Chats, chat) }
