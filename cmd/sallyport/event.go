package main

import (
	"fmt"
	"strings"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// eventText says in a few words what an event of an intent's history was.
func eventText(e ledger.Entry) string {
	decoded, err := ledger.Decode(e.Body)
	if err != nil {
		return e.Event
	}
	switch x := decoded.(type) {
	case ledger.Decided:
		return decidedText(x)
	case ledger.Rejudged:
		return "judged again, for " + x.Origin.Surface + ": " + rulingText(x.Ruling, "allowed")
	case ledger.Concluded:
		return concludedText(x)
	case ledger.Happened:
		if x.What == ledger.WasFilled {
			return "fill " + x.Quantity.String() + " at " + x.Price.Money()
		}
		return x.What + ", " + x.Quantity.String() + " left unfilled"
	case ledger.Flagged:
		return colon("flagged "+x.Flag, x.Detail)
	case ledger.Ran:
		return "counted as executed: " + orderLine(x.Order)
	case ledger.Asked:
		return "the harness asked again for the same permission"
	case ledger.Approved, ledger.ProposalEnded, ledger.AttemptRefused:
		return controlText(x)
	case ledger.CancelAsked:
		return "cancel asked by " + show(string(x.Origin.Agent)) + " through " + x.Origin.Surface
	case ledger.CancelEnded:
		return colon("cancel "+x.Outcome.String(), x.Message)
	}
	return e.Event
}

// controlText says what people did about a proposal, or tried to.
func controlText(e ledger.Event) string {
	switch x := e.(type) {
	case ledger.Approved:
		return "approved by " + show(x.Person) + " through " + show(x.Channel)
	case ledger.ProposalEnded:
		return colon(holdWord(x.State)+" by "+show(x.By)+through(x.Channel), x.Reason)
	case ledger.AttemptRefused:
		return colon("refused to "+show(x.Action)+" for "+show(x.By)+through(x.Channel)+", "+show(string(x.Code)), x.Message)
	}
	return e.Kind()
}

func through(channel string) string {
	if channel == "" {
		return ""
	}
	return " through " + show(channel)
}

func decidedText(e ledger.Decided) string {
	allowed := "allowed"
	if e.Clears == ledger.ClearsPermission {
		allowed = "permitted; the harness makes the call"
	}
	return rulingText(e.Ruling, allowed)
}

func rulingText(r ledger.Ruling, allowed string) string {
	switch r.Effect {
	case policy.Allow:
		return allowed
	case policy.Hold:
		return "held for a person"
	case policy.Deny:
	}
	var codes []string
	for i := range r.Reasons {
		codes = append(codes, string(r.Reasons[i].Code))
	}
	return colon("denied", strings.Join(codes, ", "))
}

func concludedText(e ledger.Concluded) string {
	text := "outcome " + e.Outcome.String()
	switch e.Source {
	case ledger.FromBroker:
		text += " by broker"
	case ledger.FromLookup:
		text += " by broker, when asked"
	case ledger.FromReport:
		text += " by the harness's report"
	case ledger.FromPerson:
		text += " by " + show(e.By)
	case ledger.FromGate:
	}
	if e.OrderID != "" {
		text += " as " + show(e.OrderID)
	}
	message := e.Message
	if e.Outcome == trade.Accepted && e.Source != ledger.FromPerson {
		message = "" // the venue's confirmation
	}
	return colon(text, strings.TrimSpace(e.Code+" "+plainText(message)))
}

// colon puts more behind a text, if there is more.
func colon(text, more string) string {
	if more == "" {
		return text
	}
	return text + ": " + printable(more)
}

// describeHistory shows one intent in full: what was asked by whom, what came of it, and each event.
func describeHistory(d ledger.Decision, events []ledger.Entry, p paint) string {
	var b strings.Builder
	b.WriteString(describeHead(d, p))
	rows := []row{
		{"time", moment(d.At)},
		{"agent", show(string(d.Agent))},
		{"surface", show(d.Surface)},
		{"tool", show(d.Tool)},
		{"harness", show(string(d.Origin.Harness))},
		{"session", showPath(string(d.Origin.Session))},
		{"tool call", showPath(string(d.ToolCallID))},
	}
	b.WriteString(fields(append(append(rows, details(d)...), row{"input", inputText(events)})))
	b.WriteString(describeUnknown(d))
	b.WriteString("\n")
	for _, e := range events {
		const margin = "        "
		b.WriteString(hang(fmt.Sprintf("%6d  %s  ", e.Seq, moment(e.At)), margin, eventText(e)))
		b.WriteString(margin + e.Hash + "\n")
	}
	return b.String()
}

// inputText returns the first part of what was received and is no order.
func inputText(events []ledger.Entry) string {
	if len(events) == 0 {
		return ""
	}
	e, err := ledger.Decode(events[0].Body)
	if err != nil {
		return ""
	}
	d, ok := e.(ledger.Decided)
	if !ok || d.Input == nil {
		return ""
	}
	return fmt.Sprintf("%s: %s", plural(uint64(d.Input.Length), "byte"), trade.Printable(d.Input.Head, 300))
}
