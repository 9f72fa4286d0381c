package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"sallyport/dialect"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// arguments are the members of a call that its tool knows, and what is wrong with the call.
type arguments struct {
	fields     map[string]wire.Value
	reasons    []policy.Reason
	unreadable bool // as a whole, so that no member is missing
}

func (a *arguments) wrong(r policy.Reason) { a.reasons = append(a.reasons, r) }

// text returns a member that is text; there is false if it is absent, or is no text.
func (a *arguments) text(name string) (text string, there bool) {
	switch v := a.fields[name]; v.Kind {
	case wire.String:
		return v.Text, true
	case wire.Invalid:
	default:
		a.wrong(wrongType(name, v.Kind, "text"))
	}
	return "", false
}

// need reports a member that must be there.
func (a *arguments) need(name string) {
	if _, there := a.fields[name]; !there && !a.unreadable {
		a.wrong(policy.Reason{Code: trade.FieldMissing, Field: name, Message: name + " is missing"})
	}
}

// malformed reports a text off its grammar.
func (a *arguments) malformed(code trade.Code, name, text, what string) {
	a.wrong(policy.Reason{Code: code, Field: name, Observed: trade.Printable(text, 64), Message: name + " is not " + what})
}

// intent returns the id of an intent, which must be there.
func (a *arguments) intent(name string) trade.IntentID {
	a.need(name)
	text, there := a.text(name)
	id, ok := trade.ParseIntentID(text)
	if there && !ok {
		a.malformed(intentMalformed, name, text, "an id that Sallyport made; send it as the decision has it")
	}
	return id
}

// symbol returns a symbol; the zero symbol if it is absent.
func (a *arguments) symbol(name string) trade.Symbol {
	text, there := a.text(name)
	s, ok := trade.ParseSymbol(text)
	if there && !ok {
		a.malformed(trade.SymbolMalformed, name, text, "a symbol, such as AAPL")
	}
	return s
}

// time returns a time; the zero time if it is absent.
func (a *arguments) time(name string) time.Time {
	text, there := a.text(name)
	if !there {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		a.malformed(timeMalformed, name, text, "a time, such as 2026-11-30T14:00:00Z")
	}
	return at
}

// state returns an audit state; empty if it is absent.
func (a *arguments) state(name string) ledger.AuditState {
	text, there := a.text(name)
	if there && !slices.Contains(ledger.AuditStates(), ledger.AuditState(text)) {
		a.malformed(stateUnknown, name, text, "an audit state, such as EXECUTION_BLOCKED")
	}
	return ledger.AuditState(text)
}

// scope returns what a stop is to cover; everything if it is absent.
func (a *arguments) scope(name string) ledger.Scope {
	text, there := a.text(name)
	if !there {
		return ledger.Scope{}
	}
	s, ok := ledger.ReadScope(text)
	if !ok {
		a.malformed(policy.ScopeUnknown, name, text, "everything, account:NAME, agent:NAME or symbol:NAME")
	}
	return s
}

// rows returns how many decisions are asked for; absent is the default.
func (a *arguments) rows(name string) int {
	v := a.fields[name]
	switch v.Kind {
	case wire.Invalid:
		return defaultAudit
	case wire.Number:
		if n, err := strconv.Atoi(v.Text); err == nil && 1 <= n && n <= maxAudit {
			return n
		}
		a.wrong(policy.Reason{
			Code: limitOutOfRange, Field: name, Limit: strconv.Itoa(maxAudit), Observed: trade.Printable(v.Text, 64),
			Message: fmt.Sprintf("%s is not a whole number from 1 to %d", name, maxAudit),
		})
	default:
		a.wrong(wrongType(name, v.Kind, "a whole number"))
	}
	return 0
}

func wrongType(field string, found wire.Kind, asked string) policy.Reason {
	return policy.Reason{
		Code: trade.FieldTypeWrong, Field: field, Observed: found.String(),
		Message: fmt.Sprintf("%s is %s; %s is asked", field, found, asked),
	}
}

// read reads the arguments of a tool that takes no order, as strictly as a dialect does and with the same codes.
//
//limit:mcp-arguments Arguments of over 65,536 bytes, nested over 32 levels or with over 32 faults are not read further.
func (c call) read(known ...string) *arguments {
	a := &arguments{fields: map[string]wire.Value{}}
	raw := c.arguments()
	v, err := wire.Read(raw, wire.Limits{Bytes: dialect.MaxBytes, Depth: dialect.MaxDepth})
	a.unreadable = err != nil || v.Kind != wire.Object
	var bad *wire.Error
	switch {
	case errors.As(err, &bad) && bad.TooLarge:
		a.wrong(policy.Reason{Code: trade.BodyTooLarge, Limit: strconv.Itoa(dialect.MaxBytes), Observed: strconv.Itoa(len(raw)), Message: bad.Error()})
	case err != nil:
		a.wrong(policy.Reason{Code: trade.JSONMalformed, Message: "the arguments are not one JSON object: " + trade.Printable(err.Error(), 128)})
	case v.Kind != wire.Object:
		a.wrong(wrongType("", v.Kind, "an object"))
	}
	seen := map[string]bool{}
	for _, m := range v.Members {
		if len(a.reasons) == dialect.MaxStrays {
			break
		}
		name := trade.Printable(m.Name, 64)
		switch {
		case seen[m.Name]:
			a.wrong(policy.Reason{Code: trade.FieldDuplicate, Field: name, Message: name + " is given more than once"})
		case !slices.Contains(known, m.Name):
			a.wrong(policy.Reason{Code: trade.FieldUnknown, Field: name, Message: name + " is not a field of this tool"})
		default:
			a.fields[m.Name] = m.Value
		}
		seen[m.Name] = true
	}
	return a
}
