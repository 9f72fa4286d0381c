package telegram

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// board is what the bot shows. One goroutine owns it; what presses look at too is under the bot's lock.
type board struct {
	cards   map[trade.IntentID]*card
	stops   map[ledger.Scope]ledger.Stop
	notices []notice
	pauses  map[int64]*pause
	failing bool // the gate could not be read last time
}

// card is one proposal in all chats.
type card struct {
	id       trade.IntentID
	digest   trade.Digest
	agent    trade.Agent
	expires  time.Time
	phase    string // what its outcome was made of
	outcome  string
	open     bool // people may still answer
	final    bool
	messages map[int64]*message
}

// message is a proposal in one chat.
type message struct {
	place
	base  string   // what it showed first, and shows to its end
	texts []string // what it has shown, newest last: a press brings what its presser saw
	shown string   // the outcome in it
	keys  []string // its buttons
	renew bool     // a button was used, and the proposal is still open
	blind bool     // it has no buttons, because something could not be shown
	lost  bool     // Telegram does not have it any more
}

// notice is a message about a stop, for one chat.
type notice struct {
	chat int64
	text string
}

// Bounds of the board.
const (
	//limit:telegram-cards The bot keeps messages of at most 200 proposals up to date; further open ones wait until one has ended.
	maxCards = 200
	//limit:telegram-notices At most 64 messages about stops wait for delivery; the oldest is dropped, and the log says so.
	maxNotices = 64
	//limit:telegram-follow A message is kept up to date until its order has ended, and at most 24 hours after the proposal's expiry.
	maxFollow = 24 * time.Hour
)

// calm is the least time between two looks at the gate, so that much news costs few looks.
const calm = 50 * time.Millisecond

// show keeps the chats up to date until the context ends.
func (b *Bot) show(ctx context.Context) {
	for ctx.Err() == nil {
		news := b.cfg.Gate.Watch()
		b.sync(ctx)
		select {
		case <-ctx.Done():
			return
		case <-news:
		case <-b.wake:
		case <-time.After(b.cfg.Every):
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(calm, b.cfg.Every)):
		}
	}
}

// sync brings the chats to what the gate says now.
func (b *Bot) sync(ctx context.Context) {
	b.learnName(ctx)
	b.watchStops(ctx)
	b.post(ctx)
	open, err := b.cfg.Gate.Proposals(ctx)
	if err != nil {
		b.unreadable(ctx, err)
		return
	}
	b.board.failing = false
	waiting := b.file(open)
	for _, id := range b.order() {
		c := b.board.cards[id]
		b.follow(ctx, c, open)
		for _, chat := range b.cfg.Chats {
			if ctx.Err() == nil && b.pauseOf(chat).over() {
				b.deliver(ctx, c, chat)
			}
			if c.open && c.messages[chat] == nil {
				waiting++
			}
		}
		if b.settled(c) {
			b.drop(c)
		}
	}
	b.client.undelivered(waiting)
}

func (b *Bot) unreadable(ctx context.Context, err error) {
	if ctx.Err() == nil && !b.board.failing {
		b.board.failing = true
		b.cfg.Log.Error("the gate cannot be read, so the chats are not up to date", "error", trade.Printable(err.Error(), 300))
	}
}

// learnName asks for the bot's name until it is known: commands that name another bot are not for this one. It asks again
// while Telegram is unreachable, so that its return is seen.
func (b *Bot) learnName(ctx context.Context) {
	p := b.pauseOf(0)
	b.mu.Lock()
	known := b.name != ""
	b.mu.Unlock()
	if known && !b.Health().Down || !p.over() {
		return
	}
	me, err := b.api.GetMe(ctx)
	if f := b.done(ctx, err); f != nil {
		p.failed(b.base, f.after)
		return
	}
	p.fails, p.until = 0, time.Now().Add(b.base)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.name = me.Username
}

func (b *Bot) pauseOf(chat int64) *pause {
	p := b.board.pauses[chat]
	if p == nil {
		p = &pause{}
		b.board.pauses[chat] = p
	}
	return p
}

// file makes a card of each open proposal, as many as there is room for, and returns in how many chats others wait.
func (b *Bot) file(open []ledger.Decision) (waiting int) {
	for _, d := range open {
		switch {
		case b.board.cards[d.Intent] != nil:
		case len(b.board.cards) >= maxCards:
			waiting += len(b.cfg.Chats)
		default:
			b.board.cards[d.Intent] = &card{
				id: d.Intent, digest: d.Order.Digest(), agent: d.Agent, expires: d.Hold.Expires, messages: map[int64]*message{},
			}
		}
	}
	return waiting
}

// order returns the cards, oldest first.
func (b *Bot) order() []trade.IntentID {
	ids := make([]trade.IntentID, 0, len(b.board.cards))
	for id := range b.board.cards {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// follow finds out what has become of a proposal.
func (b *Bot) follow(ctx context.Context, c *card, open []ledger.Decision) {
	i := slices.IndexFunc(open, func(d ledger.Decision) bool { return d.Intent == c.id })
	phase := ""
	if c.open = i >= 0 && open[i].State == ledger.ApprovalPending; i >= 0 {
		phase = fmt.Sprint(open[i].State, len(open[i].ApprovedBy))
	}
	if c.final || phase != "" && phase == c.phase || c.open && len(open[i].ApprovedBy) == 0 {
		return
	}
	d, entries, err := b.cfg.Gate.History(ctx, c.id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.final = true
	case err != nil:
		b.unreadable(ctx, err)
	default:
		c.phase = phase
		c.outcome, c.final = outcome(d, entries)
	}
}

// settled reports whether there is nothing more to show of a proposal.
func (b *Bot) settled(c *card) bool {
	if c.open {
		return false
	}
	shown := true
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range c.messages {
		shown = shown && (m.lost || m.shown == c.outcome && !m.renew)
	}
	return c.final && shown || b.cfg.Now().After(c.expires.Add(maxFollow))
}

func (b *Bot) drop(c *card) {
	for _, m := range c.messages {
		b.replaceKeys(m, nil, nil)
	}
	delete(b.board.cards, c.id)
}

// deliver brings one chat up to date about one proposal.
func (b *Bot) deliver(ctx context.Context, c *card, chat int64) {
	m := c.messages[chat]
	b.mu.Lock()
	stale := m != nil && (m.shown != c.outcome || m.renew || m.blind && c.open)
	b.mu.Unlock()
	var f *failure
	switch {
	case m == nil && c.open:
		f = b.announce(ctx, c, chat)
	case m == nil || m.lost || !stale:
		return
	default:
		f = b.update(ctx, c, m)
	}
	p := b.pauseOf(chat)
	if f == nil {
		p.fails = 0
		return
	}
	p.failed(b.base, f.after)
	b.cfg.Log.Warn("a chat is not up to date", "chat", chat, "proposal", string(c.id), "error", f.text)
}

// announce shows a proposal in a chat for the first time.
func (b *Bot) announce(ctx context.Context, c *card, chat int64) *failure {
	brief, err := b.cfg.Gate.Brief(ctx, c.id)
	var ended *gate.Refusal
	switch {
	case errors.As(err, &ended):
		return nil // the next look finds out how
	case err != nil:
		return &failure{text: trade.Printable(err.Error(), 300)}
	}
	m := &message{place: place{chat: chat}, shown: c.outcome}
	text, whole := compose(brief)
	m.base, m.blind = text, !whole
	keys, names := b.keyboard(c, m)
	sent, f := b.send(ctx, chat, m.full(c.outcome), keys)
	if f != nil {
		b.replaceKeys(m, nil, nil)
		return f
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	m.message, m.keys = sent.ID, names
	m.saw(m.full(c.outcome), sent.Text)
	c.messages[chat] = m
	return nil
}

// update edits a message: what it showed first stays, the outcome follows, and its buttons are new or gone.
//
//limit:telegram-original-kept A decided message keeps its first text; who decided, when, and what became of it follow, and the buttons are gone.
func (b *Bot) update(ctx context.Context, c *card, m *message) *failure {
	if m.blind && c.open {
		brief, err := b.cfg.Gate.Brief(ctx, c.id)
		if err != nil {
			return nil
		}
		text, whole := compose(brief)
		if !whole && m.shown == c.outcome {
			return nil
		}
		m.base, m.blind = text, !whole
	}
	b.mu.Lock()
	m.renew = false
	b.mu.Unlock()
	keys, names := b.keyboard(c, m)
	text := m.full(c.outcome)
	b.mu.Lock()
	m.saw(text) // a press can be quicker than the answer
	b.mu.Unlock()
	sent, f := b.edit(ctx, m.chat, m.message, text, keys)
	switch {
	case f == nil:
		b.replaceKeys(m, names, nil)
		b.mu.Lock()
		defer b.mu.Unlock()
		m.shown = c.outcome
		m.saw(sent.Text)
		return nil
	case f.rejected && c.open: // it was deleted, perhaps: show the proposal anew
		b.replaceKeys(m, nil, names)
		delete(c.messages, m.chat)
	case f.rejected:
		b.replaceKeys(m, nil, names)
		m.lost = true
	default:
		b.replaceKeys(m, m.keys, names)
		b.mu.Lock()
		defer b.mu.Unlock()
		m.renew = true // whatever the message shows now
	}
	return f
}

// full is the whole text of a message with an outcome.
func (m *message) full(outcome string) string {
	if outcome == "" {
		return m.base
	}
	return cutText(m.base+"\n----------\n"+outcome, maxMessage)
}

// saw notes what a message shows.
func (m *message) saw(texts ...string) {
	for _, t := range texts {
		if t = squeezed(t); t != "" && !slices.Contains(m.texts, t) {
			m.texts = append(m.texts, t)
		}
	}
	//limit:telegram-texts A press counts with one of the newest six texts of its message.
	if n := len(m.texts); n > 6 {
		m.texts = m.texts[n-6:]
	}
}

// squeezed lets texts be compared that differ in white space only, which Telegram trims.
func squeezed(s string) string { return strings.Join(strings.Fields(s), " ") }

// keyboard makes the buttons of a message, with new names; nil if it gets none.
func (b *Bot) keyboard(c *card, m *message) (*models.InlineKeyboardMarkup, []string) {
	if !c.open || m.blind {
		return nil, nil
	}
	rows := [...]struct {
		action action
		label  string
	}{{approve, "APPROVE once"}, {reject, "REJECT"}, {haltAgent, "HALT AGENT " + trade.Printable(string(c.agent), 40)}}
	keys := &models.InlineKeyboardMarkup{}
	var names []string
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range rows {
		name := b.newName()
		b.buttons[name] = &button{action: r.action, proposal: c.id, digest: c.digest, agent: c.agent, expires: c.expires, message: m}
		names = append(names, name)
		keys.InlineKeyboard = append(keys.InlineKeyboard, []models.InlineKeyboardButton{{Text: r.label, CallbackData: name}})
	}
	return keys, names
}

// newName makes a button's name: 160 random bits, which say nothing.
//
//limit:telegram-button-name A button carries 160 random bits and nothing else, in fewer than 64 bytes.
func (b *Bot) newName() string {
	var one, two [10]byte
	b.cfg.Entropy(&one)
	b.cfg.Entropy(&two)
	return base64.RawURLEncoding.EncodeToString(append(one[:], two[:]...))
}

// replaceKeys lets a message have exactly those buttons; the others that it had, and those in gone, are stale.
func (b *Bot) replaceKeys(m *message, keys, gone []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, k := range b.buttons {
		if k.message == m && !slices.Contains(keys, name) || slices.Contains(gone, name) {
			delete(b.buttons, name)
		}
	}
	m.keys = keys
}
