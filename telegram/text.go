package telegram

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

const (
	//limit:telegram-message A message has at most 4096 UTF-16 units, as Telegram wants it; what others wrote is cut for it, never the order or the binding.
	maxMessage = 4096
	//limit:telegram-outcome-room The first text of a proposal leaves 1200 units for what becomes of it.
	maxFirst = maxMessage - 1200
)

// units counts a text as Telegram does.
func units(s string) (n int) {
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// cutText cuts a text of ours to so many units, and says so at its end.
func cutText(s string, most int) string {
	const mark = "\n(cut)"
	if units(s) <= most {
		return s
	}
	n := units(mark)
	for i, r := range s {
		if n += max(utf16.RuneLen(r), 1); n > most {
			return s[:i] + mark
		}
	}
	return s
}

// compose returns the message of a proposal, and whether it shows the order, the money and the position, without which
// it gets no buttons.
//
//limit:telegram-no-blind-buttons A proposal whose order, money or position cannot be shown gets no buttons.
func compose(b gate.Brief) (text string, whole bool) {
	d := b.Decision
	elsewhere := fmt.Sprintf("\nNO BUTTONS: %%s. Look again later, or decide with sallyport approve|decline %s\n", d.Intent)
	if d.Order.IsZero() {
		return fmt.Sprintf("Proposal %s"+elsewhere, d.Intent, "the order cannot be shown"), false
	}
	for _, words := range []int{-1, 100, 0} {
		text = shortened(b, words)
		if units(text) <= maxFirst-units(elsewhere) {
			break
		}
	}
	switch {
	case units(text) > maxFirst-units(elsewhere):
		return fmt.Sprintf("Proposal %s"+elsewhere, d.Intent, "it is too long to be shown here"), false
	case b.Cash == nil:
		return text + fmt.Sprintf(elsewhere, "the cash is unknown"), false
	}
	return text, true
}

// shortened is the brief's own text, with the agent's words cut to so many characters; at 0 the reasons are cut too. A
// negative number cuts nothing.
func shortened(b gate.Brief, words int) string {
	if words < 0 {
		return b.Text()
	}
	reason := b.Decision.AgentReason
	b.Decision.AgentReason = ""
	if words > 0 {
		b.Decision.AgentReason = trade.Printable(reason, words)
	} else {
		reasons := b.Decision.Reasons
		b.Decision.Reasons = nil
		for _, r := range reasons {
			r.Message = trade.Printable(r.Message, 60)
			b.Decision.Reasons = append(b.Decision.Reasons, r)
		}
	}
	return b.Text() + fmt.Sprintf("Cut here to fit; all of it: sallyport audit show %s\n", b.Decision.Intent)
}

// outcome says what became of a proposal, from its records, and whether nothing more can come.
func outcome(d ledger.Decision, entries []ledger.Entry) (text string, final bool) {
	var lines []string
	refused := ledger.AttemptRefused{}
	var last time.Time
	for _, e := range entries {
		event, err := ledger.Decode(e.Body)
		if err != nil {
			continue // it is no decision of a person
		}
		last = e.At
		switch event := event.(type) {
		case ledger.Approved:
			lines = append(lines, fmt.Sprintf("Approved by %s at %s", event.Person, clock(e.At)))
		case ledger.AttemptRefused:
			if event.Action == "approve" {
				refused = event
			}
		}
	}
	word, final := fate(d, len(lines) > 0, strings.TrimPrefix(refused.By, "person:"), clock(last))
	if word != "" {
		lines = append(lines, word)
	}
	return strings.Join(lines, "\n"), final
}

// fate is the last line of an outcome.
func fate(d ledger.Decision, approved bool, presser, at string) (text string, final bool) {
	said := ""
	if d.Message != "" {
		said = ": " + trade.Printable(d.Message, 200)
	}
	by := trade.Printable(strings.TrimPrefix(d.EndedBy, "person:"), 64)
	switch d.State {
	case ledger.ApprovalPending:
		if left := d.Hold.Approvers - len(d.ApprovedBy); approved {
			return fmt.Sprintf("NOT YET: %d more person(s) must approve", left), false
		}
		return "", false
	case ledger.ApprovalGranted:
		if d.Hold.Permits {
			return "The agent's own tool may now make this call once, until " + clock(d.Hold.Expires), false
		}
		return "Execution is on its way", false
	case ledger.ApprovalDeclined:
		return fmt.Sprintf("DECLINED by %s at %s%s", by, at, said), true
	case ledger.ApprovalWithdrawn:
		return fmt.Sprintf("WITHDRAWN by %s at %s%s", by, at, said), true
	case ledger.ApprovalExpired:
		return "EXPIRED: nothing was executed", true
	case ledger.Blocked:
		return blocked(d, approved, trade.Printable(presser, 64), at), true
	}
	return executed(d, said)
}

func blocked(d ledger.Decision, approved bool, presser, at string) string {
	code, why := "INTERNAL_ERROR", ""
	if r := policy.Decisive(d.Reasons); r.Code != "" {
		code, why = string(r.Code), ": "+trade.Printable(r.Message, 200)
	}
	if !approved && presser != "" {
		return fmt.Sprintf("%s pressed approve, but the re-check at %s refused: %s%s", presser, at, code, why)
	}
	return fmt.Sprintf("The re-check at %s refused: %s%s", at, code, why)
}

func executed(d ledger.Decision, said string) (string, bool) {
	switch d.OrderStatus() {
	case "filled", "partially_filled", "cancelled", "expired":
		if d.Filled.Sign() == 0 {
			return fmt.Sprintf("At the broker, nothing filled, and %s", d.OrderStatus()), true
		}
		text := fmt.Sprintf("EXECUTED %s @ %s", d.Filled, d.FillPrice.Money())
		if d.Filled.Cmp(d.Order.Quantity()) < 0 {
			text += fmt.Sprintf(" of %s, %s", d.Order.Quantity(), d.OrderStatus())
		}
		return text, d.OrderStatus() != "partially_filled"
	case "working":
		return "At the broker, working, nothing filled yet", false
	case "accepted":
		return "ACCEPTED by the venue, which tells us of no fills", true
	case "rejected":
		return "REJECTED by the broker" + said, true
	case "unknown":
		return "OUTCOME UNKNOWN: the order may or may not be at the broker", false
	case "permitted":
		return "The agent's own tool makes the call", false
	}
	return "Sent; the outcome is awaited", false
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05 UTC") }

func venue(a trade.Account) string {
	if a == "paper" {
		return "PAPER"
	}
	return "LIVE"
}

// stopText tells of a switch that was engaged.
func stopText(s ledger.Stop, p gate.Portfolio, flat string) string {
	return fmt.Sprintf("KILL SWITCH ENGAGED - %s\nAccount %s, %s\nBy %s at %s: %s\n%s\n"+
		"No order in this scope leaves any more. Orders that work at the broker are cancelled unless they were to be kept; positions stay.\n"+
		"A person ends it with /reset %s REASON", s.Scope, p.Account, venue(p.Account), trade.Printable(s.By, 64), clock(s.Since),
		trade.Printable(s.Reason, 500), flat, s.Scope)
}

// resetText tells of a switch that was reset. why and by are empty where it was done elsewhere.
func resetText(s ledger.Stop, by, why string, p gate.Portfolio, flat string) string {
	who := "By a person, on another channel"
	if by != "" {
		who = fmt.Sprintf("By %s: %s", by, trade.Printable(why, 500))
	}
	return fmt.Sprintf("KILL SWITCH RESET - %s\nAccount %s, %s\n%s\nIt had been engaged by %s since %s: %s\n%s\n"+
		"A reset lets new orders of this scope be judged again. It executes nothing, approves nothing, restores no cancelled order, changes no "+
		"limit, and leaves every other switch as it is.", s.Scope, p.Account, venue(p.Account), who, trade.Printable(s.By, 64), clock(s.Since),
		trade.Printable(s.Reason, 500), flat)
}

// flat says whether the account is flat, which only the broker can know.
func (b *Bot) flat(ctx context.Context) (gate.Portfolio, string) {
	//limit:telegram-broker-wait A message about a stop waits at most 15 seconds for what the broker knows.
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	p, err := b.cfg.Gate.Portfolio(ctx, "")
	h, venueErr := b.cfg.Gate.Holdings(ctx)
	switch {
	case err != nil || venueErr != nil:
		return p, "Whether the account is flat is NOT KNOWN: the broker or the journal cannot be asked."
	case len(h.Positions) == 0 && len(p.Orders) == 0:
		return p, "FLAT: the broker shows no position, and no order of ours is open."
	}
	var held []string
	for i, x := range h.Positions {
		if i == maxShown {
			held = append(held, fmt.Sprintf("and %d more", len(h.Positions)-i))
			break
		}
		held = append(held, fmt.Sprintf("%s %s", x.Quantity, x.Symbol))
	}
	unknown := 0
	for _, o := range p.Orders {
		if o.State == "unknown" {
			unknown++
		}
	}
	positions := "no position"
	if len(held) > 0 {
		positions = strings.Join(held, ", ")
	}
	return p, fmt.Sprintf("NOT FLAT: the broker shows %s; %d order(s) of ours are open, %d of them with an unknown outcome.", positions, len(p.Orders), unknown)
}

// maxShown bounds the lists in a message.
//
//limit:telegram-list A list in a message has at most 10 rows, and says how many more there are.
const maxShown = 10
