package trade

import (
	"fmt"
	"unicode/utf8"
)

// TextKind is how a field of a draft was written.
type TextKind uint8

// The kinds. Anything else, such as a boolean or null, is a fault of the reader's.
const (
	IsAbsent TextKind = iota
	IsText
	IsNumber // a bare JSON number; Value is its literal
	IsWrong  // of another JSON type; the reader has reported it, and Parse does not report it again
)

// Text is one field of a draft as received.
type Text struct {
	Name  string // as the caller wrote it, for faults
	Value string
	Kind  TextKind
}

// Draft is an order as received: text, nothing trusted. The account is the surface's, never the payload's.
type Draft struct {
	Account                                               Account
	Symbol, Side, Quantity, Type, LimitPrice, TimeInForce Text
	ClientOrderID, Reason                                 Text // optional
}

// Tags is what came with an order and is not part of it.
type Tags struct {
	ClientOrderID ClientOrderID
	Reason        string // the agent's own words: recorded, shown as untrusted, read by no rule
}

// MaxReason bounds the agent's own words, in characters.
//
//limit:trade-reason A reason has at most 2000 characters.
const MaxReason = 2000

// Parse makes an Order of a draft or says everything that is wrong with it, in the order of the draft's fields. There
// are no defaults, no rounding and no trimming.
func Parse(d Draft) (Order, Tags, []Fault) {
	var p parser
	o := Order{account: d.Account}
	if !d.Account.IsValid() {
		p.fault(Text{Name: "account", Value: string(d.Account)}, AccountMalformed, "is not 1 to 64 of A-Z a-z 0-9 . _ -")
	}
	o.symbol = parseField(&p, d.Symbol, SymbolMalformed, "is not a symbol such as AAPL", ParseSymbol)
	o.side = parseField(&p, d.Side, SideUnknown, "is not buy or sell", ParseSide)
	o.quantity = p.decimal(d.Quantity, QuantityMalformed, QuantityNotPositive)
	if o.quantity.Sign() > 0 && !o.quantity.IsWhole() {
		p.fault(d.Quantity, QuantityFractional, "is not a whole number of shares")
	}
	o.typ = parseField(&p, d.Type, OrderTypeUnknown, "is not an order type that is taken; use limit", parseLimitOnly)
	o.limitPrice = p.decimal(d.LimitPrice, PriceMalformed, PriceNotPositive)
	o.tif = parseField(&p, d.TimeInForce, TimeInForceUnknown, "is not a time in force that is taken; use day", ParseTimeInForce)
	tags := p.tags(d)
	if len(p.faults) > 0 {
		return Order{}, Tags{}, p.faults
	}
	return o, tags, nil
}

// parseLimitOnly takes the one order type that exists until a policy of version 2 does.
func parseLimitOnly(text string) (OrderType, bool) {
	t, ok := ParseOrderType(text)
	return t, ok && t == Limit
}

type parser struct{ faults []Fault }

func (p *parser) fault(t Text, c Code, what string) {
	seen := Printable(t.Value, 64)
	p.faults = append(p.faults, Fault{
		Code: c, Field: t.Name, Observed: seen, Message: fmt.Sprintf("%s \"%s\" %s%s", t.Name, seen, what, Foreign(t.Value)),
	})
}

// required reports whether there is a value to parse, and faults its absence.
func (p *parser) required(t Text) bool {
	if t.Kind == IsAbsent {
		p.faults = append(p.faults, Fault{Code: FieldMissing, Field: t.Name, Message: t.Name + " is required"})
	}
	return t.Kind == IsText || t.Kind == IsNumber
}

// textual faults a bare number where text is asked.
func (p *parser) textual(t Text) bool {
	if t.Kind == IsNumber {
		p.fault(t, FieldTypeWrong, "is a number; text is asked")
	}
	return t.Kind == IsText
}

func parseField[T any](p *parser, t Text, bad Code, what string, parse func(string) (T, bool)) T {
	var zero T
	if !p.required(t) || !p.textual(t) {
		return zero
	}
	v, ok := parse(t.Value)
	if !ok {
		p.fault(t, bad, what)
		return zero
	}
	return v
}

func (p *parser) decimal(t Text, malformed, notPositive Code) Decimal {
	if !p.required(t) {
		return Decimal{}
	}
	v, ok := ParseDecimal(t.Value)
	switch {
	case !ok:
		p.fault(t, malformed, "is not a plain decimal of at most 12 integer and 9 fraction digits")
	case t.Kind == IsNumber && significantDigits(t.Value) > MaxNumberDigits:
		p.fault(t, malformed, "is a bare number of more than 15 significant digits; send it as text")
	case v.Sign() == 0:
		p.fault(t, notPositive, "is not above zero")
	default:
		return v
	}
	return Decimal{}
}

func (p *parser) tags(d Draft) Tags {
	var t Tags
	if d.ClientOrderID.Kind != IsAbsent && p.textual(d.ClientOrderID) {
		id, ok := ParseClientOrderID(d.ClientOrderID.Value)
		if !ok {
			p.fault(d.ClientOrderID, ClientOrderIDMalformed, "is not 1 to 128 of A-Z a-z 0-9 . _ -")
		}
		t.ClientOrderID = id
	}
	if d.Reason.Kind != IsAbsent && p.textual(d.Reason) {
		if n := utf8.RuneCountInString(d.Reason.Value); n > MaxReason {
			p.faults = append(p.faults, Fault{
				Code: ReasonTooLong, Field: d.Reason.Name, Observed: fmt.Sprintf("%d characters", n),
				Message: fmt.Sprintf("%s has %d characters, at most %d are taken", d.Reason.Name, n, MaxReason),
			})
		}
		t.Reason = d.Reason.Value
	}
	return t
}
