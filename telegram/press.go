package telegram

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-telegram/bot/models"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// action is what a button does.
type action string

// The buttons. There is none that answers for more than one proposal.
const (
	approve   action = "approve"
	reject    action = "decline"
	haltAgent action = "halt agent"
)

// button is what a random name stands for.
type button struct {
	action   action
	proposal trade.IntentID
	digest   trade.Digest
	agent    trade.Agent
	expires  time.Time
	message  *message
	used     bool
}

// caller is who pressed or wrote, as Telegram says, and where.
type caller struct {
	user int64
	chat int64
}

func (c caller) who() string     { return fmt.Sprintf("telegram user %d", c.user) }
func (c caller) channel() string { return fmt.Sprintf("telegram:%d", c.chat) }

// maxFinish bounds what was begun when the bot is to end.
//
//limit:telegram-finish A press or a command that was begun is finished, within a minute, also when the bot is to end.
const maxFinish = time.Minute

func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), maxFinish)
}

// pressed deals with a button.
func (b *Bot) pressed(ctx context.Context, q *models.CallbackQuery) {
	at, text := placeOf(q)
	who := caller{user: q.From.ID, chat: at.chat}
	if q.From.IsBot {
		who.user = 0 // nobody has that id
	}
	person, known := b.admit(ctx, who, "press a button")
	if !known {
		if b.listed(at.chat) {
			b.answer(ctx, q.ID, "Refused: you are not listed here.")
		}
		return
	}
	k, refused := b.use(q.Data, at, text)
	if refused != nil {
		b.refuse(ctx, who, "press a button", "person:"+person.Name(), k.proposal, refused)
		b.answer(ctx, q.ID, "Refused: "+refused.Message)
		return
	}
	work, cancel := finishing(ctx)
	defer cancel()
	said := b.act(work, person, k)
	b.mu.Lock()
	k.message.renew = true
	b.mu.Unlock()
	b.poke()
	b.answer(ctx, q.ID, said)
}

// placeOf returns the message that a button was under, and what it showed; zero where Telegram does not say.
func placeOf(q *models.CallbackQuery) (place, string) {
	m := q.Message.Message
	if m == nil {
		return place{}, ""
	}
	return place{m.Chat.ID, m.ID}, m.Text
}

// use finds what a button stands for and uses it up. A refusal uses up nothing.
//
//limit:telegram-button-bound A button counts once, in the chat and under the message that it was made for, with the text that we wrote, and before its proposal expires.
func (b *Bot) use(name string, at place, text string) (button, *gate.Refusal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.buttons[name]
	no := func(code trade.Code, message string) (button, *gate.Refusal) {
		id := trade.IntentID("")
		if k != nil {
			id = k.proposal
		}
		return button{proposal: id}, &gate.Refusal{Code: code, Message: message}
	}
	switch {
	case k == nil:
		return no(policy.ButtonUnknown, "this button is stale; see the newest message of the proposal")
	case at != k.message.place:
		return no(policy.ButtonUnknown, "this button is not that of this message; see the newest message of the proposal")
	case !slices.Contains(k.message.texts, squeezed(text)):
		return no(policy.ButtonUnknown, "this message does not say what Sallyport wrote; see sallyport proposals")
	case k.used:
		return no(policy.ButtonUnknown, "this button was pressed already; the message will say what came of it")
	case !b.cfg.Now().Before(k.expires):
		return no(policy.ProposalExpired, "the proposal has expired")
	}
	k.used = true
	return *k, nil
}

// act does what a button stands for, and returns what its presser is told.
func (b *Bot) act(ctx context.Context, person gate.Person, k button) string {
	press := gate.Press{By: person, Proposal: k.proposal, Digest: k.digest}
	switch k.action {
	case approve:
		d, err := b.cfg.Gate.Approve(ctx, press)
		return told(d, err, clock(b.cfg.Now()))
	case reject:
		press.Reason = "rejected with the button"
		d, err := b.cfg.Gate.Decline(ctx, press)
		return told(d, err, clock(b.cfg.Now()))
	case haltAgent:
		scope := ledger.Scope{Kind: ledger.OneAgent, Name: string(k.agent)}
		return b.stop(ctx, person, scope, "halted with the button of proposal "+string(k.proposal))
	}
	return "Refused: this button does nothing."
}

// told is the answer to a press that reached the gate.
func told(d ledger.Decision, err error, at string) string {
	var refused *gate.Refusal
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("Refused: %s: %s", refused.Code, refused.Message)
	case err != nil:
		return "Not done: " + trade.Printable(err.Error(), 150)
	}
	text, _ := fate(d, len(d.ApprovedBy) > 0, "", at)
	if text == "" {
		return "Counted."
	}
	return text
}

// admit recognises a listed person in a listed chat. Everybody else is nobody, which is recorded, within bounds.
//
//limit:telegram-listed Only a listed person in a listed chat is heard; everybody else is refused, and that is recorded.
func (b *Bot) admit(ctx context.Context, who caller, what string) (gate.Person, bool) {
	if !b.listed(who.chat) {
		b.refuse(ctx, who, what, who.who(), "", &gate.Refusal{Code: policy.ChatNotListed, Message: "the chat is not listed"})
		return gate.Person{}, false
	}
	people, err := b.cfg.Gate.People(ctx)
	known := err == nil && slices.ContainsFunc(people, func(p ledger.Person) bool { return p.Telegram != 0 && p.Telegram == who.user })
	if !known && !b.mayRecord(0) {
		return gate.Person{}, false
	}
	person, err := b.cfg.Gate.IdentifyTelegram(ctx, who.user, who.chat) // which records who is nobody
	if err != nil {
		var nobody *gate.Refusal
		if !errors.As(err, &nobody) {
			b.cfg.Log.Error("somebody could not be recognised", "user", who.user, "error", trade.Printable(err.Error(), 300))
		}
		return gate.Person{}, false
	}
	return person, true
}

// refuse records an attempt, within bounds.
func (b *Bot) refuse(ctx context.Context, who caller, what, by string, id trade.IntentID, r *gate.Refusal) {
	account := int64(0)
	if b.listed(who.chat) {
		account = who.user
	}
	if !b.mayRecord(account) {
		return
	}
	if err := b.cfg.Gate.RefuseAttempt(ctx, what, by, who.channel(), id, r.Code, r.Message); err != nil {
		b.cfg.Log.Error("a refused attempt could not be recorded", "by", by, "channel", who.channel(), "error", trade.Printable(err.Error(), 300))
	}
}

// mayRecord reports whether one more attempt of a listed person, or with 0 of the others together, is to be recorded.
func (b *Bot) mayRecord(user int64) bool {
	b.mu.Lock()
	k := b.refused[user]
	if k == nil {
		k = &bucket{}
		b.refused[user] = k
	}
	ok, lost := k.take(time.Now()), k.lost
	if ok {
		k.lost = 0
	}
	b.mu.Unlock()
	if ok && lost > 0 {
		b.cfg.Log.Warn("refused attempts on Telegram were too many to be recorded", "user", user, "not_recorded", lost)
	}
	return ok
}
