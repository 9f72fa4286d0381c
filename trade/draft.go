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
	IsFlag   // a JSON boolean; Value is true or false. Only extended hours may be written so
)

// Text is one field of a draft as received.
type Text struct {
	Name  string // as the caller wrote it, for faults
	Value string
	Kind  TextKind
}

// Draft is an order as received: text, nothing trusted. The account is the surface's, never the payload's.
type Draft struct {
	Account            Account
	Symbol, Side       Text
	Quantity, Notional Text // shares or dollars: one of them
	Type               Text
	LimitPrice         Text // where the type has one
	StopPrice          Text // where the type has one
	TimeInForce        Text
	ExtendedHours      Text // optional, like all that follow
	StopLoss           Text
	StopLossLimit      Text
	TakeProfit         Text
	ClientOrderID      Text
	Reason             Text
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

// Parse makes an Order of a draft or says everything that is wrong with it: first with each term, in the order of the
// draft's fields, then with what the terms say together. There are no defaults, no rounding and no trimming.
func Parse(d Draft) (Order, Tags, []Fault) {
	var p parser
	o := Order{account: d.Account}
	if !d.Account.IsValid() {
		p.fault(Text{Name: "account", Value: string(d.Account)}, AccountMalformed, "is not 1 to 64 of A-Z a-z 0-9 . _ -")
	}
	o.symbol = parseField(&p, d.Symbol, SymbolMalformed, "is not a symbol such as AAPL", ParseSymbol)
	o.side = parseField(&p, d.Side, SideUnknown, "is not buy or sell", ParseSide)
	var t terms
	o.quantity, t.amount = p.size(d)
	o.typ = parseField(&p, d.Type, OrderTypeUnknown, "is not limit, market, stop or stop_limit", ParseOrderType)
	o.limitPrice = p.price(d.LimitPrice, o.typ, o.typ != Market && o.typ != Stop)
	t.stopPrice = p.price(d.StopPrice, o.typ, o.typ == Stop || o.typ == StopLimit)
	o.tif = parseField(&p, d.TimeInForce, TimeInForceUnknown, "is not day, gtc, ioc, fok, opg or cls", ParseTimeInForce)
	t.extendedHours = p.flag(d.ExtendedHours)
	t.stopLoss = Exit{Stop: p.optional(d.StopLoss), Limit: p.optional(d.StopLossLimit)}
	t.takeProfit = p.optional(d.TakeProfit)
	if t != (terms{}) {
		o.more = &t
	}
	p.together(d, o)
	tags := p.tags(d)
	if len(p.faults) > 0 {
		return Order{}, Tags{}, p.faults
	}
	return o, tags, nil
}

// size reads how much is traded: shares, or dollars in their place.
func (p *parser) size(d Draft) (quantity, amount Decimal) {
	if d.Notional.Kind == IsAbsent {
		return p.decimal(d.Quantity, QuantityMalformed, QuantityNotPositive), Decimal{}
	}
	if d.Quantity.Kind != IsAbsent {
		quantity = p.decimal(d.Quantity, QuantityMalformed, QuantityNotPositive)
		p.fault(d.Notional, QuantityAmbiguous, "is beside a "+d.Quantity.Name+"; an order is for shares or for dollars")
	}
	return quantity, p.decimal(d.Notional, NotionalMalformed, NotionalNotPositive)
}

// price reads a price that the order type takes. One that it does not take is a fault whatever it is, since nobody can
// say what was meant by it.
func (p *parser) price(t Text, typ OrderType, takes bool) Decimal {
	if takes {
		return p.decimal(t, PriceMalformed, PriceNotPositive)
	}
	if typ != NoType && (t.Kind == IsText || t.Kind == IsNumber || t.Kind == IsFlag) {
		p.fault(t, PriceUnexpected, "is no price of a "+typ.String()+" order")
	}
	return Decimal{}
}

// optional reads a price that need not be there.
func (p *parser) optional(t Text) Decimal {
	if t.Kind == IsAbsent {
		return Decimal{}
	}
	return p.decimal(t, PriceMalformed, PriceNotPositive)
}

func (p *parser) flag(t Text) bool {
	switch {
	case t.Kind == IsAbsent, t.Kind == IsWrong:
		return false
	case t.Kind != IsFlag:
		p.fault(t, FieldTypeWrong, "is no boolean; true or false is asked")
	}
	return t.Kind == IsFlag && t.Value == "true"
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
	switch t.Kind {
	case IsAbsent:
		p.faults = append(p.faults, Fault{Code: FieldMissing, Field: t.Name, Message: t.Name + " is required"})
	case IsFlag:
		p.fault(t, FieldTypeWrong, "is a boolean, which it may not be")
	case IsText, IsNumber, IsWrong:
	}
	return t.Kind == IsText || t.Kind == IsNumber
}

// textual faults a bare number or a boolean where text is asked.
func (p *parser) textual(t Text) bool {
	switch t.Kind {
	case IsNumber:
		p.fault(t, FieldTypeWrong, "is a number; text is asked")
	case IsFlag:
		p.fault(t, FieldTypeWrong, "is a boolean; text is asked")
	case IsAbsent, IsText, IsWrong:
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
