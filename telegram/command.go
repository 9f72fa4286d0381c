package telegram

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

const helpText = `/kill [everything|account:NAME|agent:NAME|symbol:NAME] REASON - stop now; without a scope, everything
/status - what is stopped, what is held, what is open
/pending - the proposals that wait for people
/reset SCOPE REASON - let go on what was stopped; without SCOPE only where one switch alone is engaged
/help - this text
Proposals are answered with the buttons of their messages.`

// maxCommand bounds what of a message is looked at.
//
//limit:telegram-command Of a command at most 1000 characters are looked at.
const maxCommand = 1000

// command is a message that is one.
type command struct {
	caller
	name, bot, rest string
	at              time.Time // when it was sent, by Telegram's clock, to the second
	foreign         bool      // its words are somebody else's: forwarded, or through another bot
}

// readCommand returns the command of a message, if it is one.
func readCommand(m *models.Message) (command, bool) {
	if m.From == nil || !strings.HasPrefix(m.Text, "/") {
		return command{}, false
	}
	word, rest, _ := strings.Cut(trade.Printable(strings.Join(strings.Fields(m.Text), " "), maxCommand), " ")
	name, bot, _ := strings.Cut(word[1:], "@")
	return command{
		caller: caller{user: m.From.ID, chat: m.Chat.ID}, name: strings.ToLower(name), bot: bot, rest: rest,
		at:      time.Unix(int64(m.Date), 0),
		foreign: m.From.IsBot || m.ForwardOrigin != nil || m.ViaBot != nil || m.SenderChat != nil || m.IsAutomaticForward,
	}, true
}

// commanded deals with a message. What is no command is nobody's business here.
//
//limit:telegram-own-words A command that was forwarded, or came through another bot or in the name of a chat, is refused.
func (b *Bot) commanded(ctx context.Context, m *models.Message) {
	c, ok := readCommand(m)
	if !ok || !b.meant(c) {
		return
	}
	person, known := b.admit(ctx, c.caller, "command")
	if !known {
		return
	}
	b.mu.Lock()
	fresh := b.seen.add(place{c.chat, m.ID})
	b.mu.Unlock()
	switch {
	case !fresh:
		return
	case c.foreign:
		b.refuse(ctx, c.caller, "command "+c.name, "person:"+person.Name(), "", &gate.Refusal{
			Code: policy.CommandNotOwn, Message: "the command was forwarded, or came through a bot or a chat",
		})
		b.reply(ctx, c.chat, "Refused: write the command yourself; one that was forwarded does not count.")
		return
	}
	work, cancel := finishing(ctx)
	defer cancel()
	switch c.name {
	case "kill":
		scope, reason := killTerms(c.rest)
		b.reply(ctx, c.chat, b.stop(work, person, scope, reason))
	case "reset":
		b.reply(ctx, c.chat, b.reset(work, person, c))
	case "status":
		b.reply(ctx, c.chat, b.status(ctx))
	case "pending":
		b.reply(ctx, c.chat, b.pending(ctx))
	case "help", "start":
		b.reply(ctx, c.chat, helpText)
	default:
		b.reply(ctx, c.chat, "There is no such command; nothing was done.\n"+helpText)
	}
}

// meant reports whether a command is for this bot. A stop is, too, while the bot does not know its own name.
func (b *Bot) meant(c command) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return c.bot == "" || strings.EqualFold(c.bot, b.name) || b.name == "" && c.name == "kill"
}

// killTerms reads a scope and a reason. What is no scope belongs to the reason, and everything is meant: a stop is never
// refused for its words.
func killTerms(rest string) (ledger.Scope, string) {
	word, reason, _ := strings.Cut(rest, " ")
	if scope, ok := readScope(word); ok {
		return scope, reason
	}
	return ledger.Scope{}, rest
}

// readScope reads a scope; a phone begins a sentence with a capital.
func readScope(word string) (ledger.Scope, bool) {
	kind, name, named := strings.Cut(word, ":")
	if kind = strings.ToLower(kind); named {
		kind += ":" + name
	}
	return ledger.ReadScope(kind)
}

// resetTerms reads a scope and a reason. Where one switch alone is engaged its scope need not be said. A first word that
// looks like a scope and is none is no reason: who meant another switch must not end this one.
func resetTerms(rest string, stops []ledger.Stop) (scope ledger.Scope, reason string, ok bool) {
	word, after, _ := strings.Cut(rest, " ")
	if scope, ok = readScope(word); ok {
		return scope, after, true
	}
	if len(stops) == 1 && !strings.ContainsAny(word, ":,;=/") {
		return stops[0].Scope, rest, true
	}
	return ledger.Scope{}, rest, false
}

// stop engages the kill switch and says what became of what was open.
func (b *Bot) stop(ctx context.Context, person gate.Person, scope ledger.Scope, reason string) string {
	rep, err := b.cfg.Gate.Kill(ctx, gate.StopRequest{Scope: scope, Reason: reason, Person: person})
	b.poke()
	switch {
	case err != nil:
		return fmt.Sprintf("NOT SURE TO BE STOPPED: %s. Stop it at the machine: sallyport kill", trade.Printable(err.Error(), 300))
	case !rep.Recorded:
		return fmt.Sprintf("STOPPED by a stop file, since the journal cannot be written: %s%s. What became of other orders is not known.",
			scope, countText(rep.Orders))
	}
	first := "STOPPED: "
	if rep.Repeated {
		first = "Was stopped already: "
	}
	none := "; no order was open there"
	if len(rep.Orders) > 0 {
		none = ""
	}
	return first + scope.String() + countText(rep.Orders) + none + "."
}

// countText says what became of how many orders.
func countText(orders []gate.StopOrder) (text string) {
	counts := map[gate.StopState]int{}
	for _, o := range orders {
		counts[o.State]++
	}
	for _, s := range []gate.StopState{gate.StopGone, gate.StopStillThere, gate.StopUnknown, gate.StopPending, gate.StopKept} {
		if n := counts[s]; n > 0 {
			text += fmt.Sprintf("; %d order(s) %s", n, strings.ReplaceAll(string(s), "_", " "))
		}
	}
	return text
}

// How old a reset may be. Telegram tells the time of a message to the second.
//
//limit:telegram-reset-age A reset counts within 2 minutes of its sending, and only for a stop that was engaged before it was sent.
const (
	resetWithin = 2 * time.Minute
	toTheSecond = time.Second
)

// reset lets go on what was stopped.
func (b *Bot) reset(ctx context.Context, person gate.Person, c command) string {
	stops, err := b.cfg.Gate.Stops(ctx)
	scope, reason, ok := resetTerms(c.rest, stops)
	age := b.cfg.Now().Sub(c.at)
	var no *gate.Refusal
	var stop ledger.Stop
	switch {
	case err != nil:
		return "Not done: " + trade.Printable(err.Error(), 300)
	case !ok:
		no = &gate.Refusal{Code: policy.ScopeUnknown, Message: "name the scope: /reset SCOPE REASON. " + engagedText(stops)}
	case age > resetWithin || age < -resetWithin:
		no = &gate.Refusal{Code: policy.CommandNotOwn, Message: "the command was sent too long ago; look again, and send it again"}
	default:
		for _, s := range stops {
			if s.Scope == scope {
				stop = s
			}
		}
		if stop.Since.After(c.at.Add(toTheSecond)) {
			no = &gate.Refusal{Code: policy.CommandNotOwn, Message: "it was engaged after the command was sent; look again, and send it again"}
		}
	}
	if no != nil {
		b.refuse(ctx, c.caller, "reset", "person:"+person.Name(), "", no)
		return fmt.Sprintf("Refused: %s: %s", no.Code, no.Message)
	}
	b.expect(scope, c.chat, true)
	if err := b.cfg.Gate.Reset(ctx, person, scope, reason); err != nil {
		b.expect(scope, c.chat, false)
		return refusalText(err) + " " + engagedText(stops)
	}
	b.poke()
	p, flat := b.flat(ctx)
	return resetText(stop, "person:"+person.Name(), reason, p, flat)
}

// expect lets the board know that a command answers for the end of a stop in its chat itself.
func (b *Bot) expect(scope ledger.Scope, chat int64, on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if on {
		b.told[scope] = chat
	} else {
		delete(b.told, scope)
	}
}

func refusalText(err error) string {
	var r *gate.Refusal
	if errors.As(err, &r) {
		return fmt.Sprintf("Refused: %s: %s.", r.Code, r.Message)
	}
	return "Not done: " + trade.Printable(err.Error(), 300)
}

func engagedText(stops []ledger.Stop) string {
	if len(stops) == 0 {
		return "No kill switch is engaged."
	}
	text := "Engaged:"
	for i, s := range stops {
		if i == maxShown {
			return text + fmt.Sprintf("\n+%d more", len(stops)-i)
		}
		text += fmt.Sprintf("\n%s by %s since %s: %s", s.Scope, trade.Printable(s.By, 64), clock(s.Since), trade.Printable(s.Reason, 150))
	}
	return text
}

// status says what is stopped, held and open.
func (b *Bot) status(ctx context.Context) string {
	stops, err := b.cfg.Gate.Stops(ctx)
	open, openErr := b.cfg.Gate.Proposals(ctx)
	if err = errors.Join(err, openErr); err != nil {
		return "The gate cannot be read: " + trade.Printable(err.Error(), 300)
	}
	p, flat := b.flat(ctx)
	cash := "unknown"
	if p.Cash != nil {
		cash = p.Cash.Money() + " USD"
	}
	return fmt.Sprintf("Account %s, %s, cash %s\n%s\n%d proposal(s) wait: /pending\n%s", p.Account, venue(p.Account), cash,
		engagedText(stops), len(open), flat)
}

// pending lists the open proposals.
func (b *Bot) pending(ctx context.Context) string {
	open, err := b.cfg.Gate.Proposals(ctx)
	switch {
	case err != nil:
		return "The gate cannot be read: " + trade.Printable(err.Error(), 300)
	case len(open) == 0:
		return "No proposal waits."
	}
	var text strings.Builder
	for i, d := range open {
		if i == maxShown {
			fmt.Fprintf(&text, "+%d more\n", len(open)-i)
			break
		}
		o := d.Order
		side := o.Side().String()
		fmt.Fprintf(&text, "%s of %s: %s%s, expires %s, approved by %d of %d\n", d.Intent, d.Agent, strings.ToUpper(side),
			strings.TrimPrefix(o.Line(), side), clock(d.Hold.Expires), len(d.ApprovedBy), d.Hold.Approvers)
	}
	return text.String() + "Answer with the buttons of their messages."
}
