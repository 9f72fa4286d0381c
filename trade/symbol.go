package trade

import (
	"fmt"
	"strings"
)

// Symbol is a valid instrument name in upper case: ^[A-Z][A-Z0-9]{0,9}([./-][A-Z0-9]{1,5})?$. ASCII only, so that no
// look-alike letter passes.
type Symbol struct{ s string }

// String returns the symbol's text; the zero Symbol's is empty.
func (s Symbol) String() string { return s.s }

// ParseSymbol folds ASCII case and checks the grammar. Nothing is trimmed.
func ParseSymbol(text string) (Symbol, bool) {
	//limit:trade-symbol-length A symbol has at most 16 characters.
	if len(text) == 0 || len(text) > 16 {
		return Symbol{}, false
	}
	up, ok := foldUpper(text)
	if !ok || up[0] < 'A' || up[0] > 'Z' {
		return Symbol{}, false
	}
	base, class, dotted := up, "", false
	if i := strings.IndexAny(up, "./-"); i >= 0 {
		base, class, dotted = up[:i], up[i+1:], true
	}
	//limit:trade-symbol-parts A symbol has at most 10 characters before its mark and 5 behind it.
	if len(base) > 10 || !alphanumeric(base) || dotted && (len(class) < 1 || len(class) > 5 || !alphanumeric(class)) {
		return Symbol{}, false
	}
	return Symbol{up}, true
}

// foldUpper folds ASCII lower case to upper and refuses every byte outside ASCII.
func foldUpper(s string) (string, bool) {
	lower := false
	for i := range len(s) {
		if s[i] >= 0x80 {
			return "", false
		}
		lower = lower || s[i] >= 'a' && s[i] <= 'z'
	}
	if !lower {
		return s, true
	}
	return strings.ToUpper(s), true
}

func alphanumeric(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// Side is the direction of an order. The zero Side is none.
type Side uint8

// The sides.
const (
	NoSide Side = iota
	Buy
	Sell
)

// String returns the word on the wire.
func (s Side) String() string { return [...]string{"none", "buy", "sell"}[s] }

// ParseSide reads buy or sell in any ASCII case.
func ParseSide(text string) (Side, bool) {
	switch {
	case asciiEqualFold(text, "buy"):
		return Buy, true
	case asciiEqualFold(text, "sell"):
		return Sell, true
	}
	return NoSide, false
}

// OrderType is how an order is priced. The zero OrderType is none.
type OrderType uint8

// The order types. A policy of version 1 allows Limit only.
const (
	NoType OrderType = iota
	Limit
	Market
	Stop
	StopLimit
)

// String returns the word on the wire.
func (t OrderType) String() string {
	return [...]string{"none", "limit", "market", "stop", "stop_limit"}[t]
}

// ParseOrderType reads one of the order types' words in any ASCII case.
func ParseOrderType(text string) (OrderType, bool) {
	for t := Limit; t <= StopLimit; t++ {
		if asciiEqualFold(text, t.String()) {
			return t, true
		}
	}
	return NoType, false
}

// TimeInForce is how long an order lives. The zero TimeInForce is none.
type TimeInForce uint8

// The times in force.
const (
	NoTIF TimeInForce = iota
	Day               // until the end of the trading day
	GTC               // until it is cancelled
	IOC               // at once, and what is not filled at once is cancelled
	FOK               // at once and as a whole, or not at all
	OPG               // in the opening auction
	CLS               // in the closing auction
)

// String returns the word on the wire.
func (t TimeInForce) String() string {
	return [...]string{"none", "day", "gtc", "ioc", "fok", "opg", "cls"}[t]
}

// ParseTimeInForce reads one of the times in force in any ASCII case.
func ParseTimeInForce(text string) (TimeInForce, bool) {
	for t := Day; t <= CLS; t++ {
		if asciiEqualFold(text, t.String()) {
			return t, true
		}
	}
	return NoTIF, false
}

func asciiEqualFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// Outcome is what became of an order that was sent. The zero Outcome is Unknown: nothing may be concluded from it.
type Outcome uint8

// The outcomes.
const (
	Unknown Outcome = iota
	Accepted
	Rejected
)

// String returns the word in records.
func (o Outcome) String() string { return [...]string{"unknown", "accepted", "rejected"}[o] }

// ParseOutcome reads what String writes.
func ParseOutcome(text string) (Outcome, error) {
	for o := Unknown; o <= Rejected; o++ {
		if o.String() == text {
			return o, nil
		}
	}
	return Unknown, fmt.Errorf("outcome %q is not one of unknown, accepted, rejected", Printable(text, 64))
}
