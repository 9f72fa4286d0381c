package trade

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Code is a stable reason code, SUBJECT_CONDITION in upper snake case. A code is never renamed and never used again
// for something else.
type Code string

// Fault says that an input is not an order: what is wrong, in which field as the caller named it, and how to repair it.
type Fault struct {
	Code     Code
	Field    string // the caller's own name of the field; empty for the input as a whole
	Observed string // what was there, cut and escaped; empty if there was nothing
	Message  string
}

// The codes of faults.
const (
	JSONMalformed          Code = "JSON_MALFORMED"
	BodyTooLarge           Code = "BODY_TOO_LARGE"
	FieldUnknown           Code = "FIELD_UNKNOWN"
	FieldMissing           Code = "FIELD_MISSING"
	FieldDuplicate         Code = "FIELD_DUPLICATE"
	FieldTypeWrong         Code = "FIELD_TYPE_WRONG"
	SymbolMalformed        Code = "SYMBOL_MALFORMED"
	SideUnknown            Code = "SIDE_UNKNOWN"
	QuantityMalformed      Code = "QUANTITY_MALFORMED"
	QuantityNotPositive    Code = "QUANTITY_NOT_POSITIVE"
	QuantityFractional     Code = "QUANTITY_FRACTIONAL"
	QuantityAmbiguous      Code = "QUANTITY_AMBIGUOUS"
	NotionalMalformed      Code = "NOTIONAL_MALFORMED"
	NotionalNotPositive    Code = "NOTIONAL_NOT_POSITIVE"
	NotionalNotTaken       Code = "NOTIONAL_NOT_TAKEN"
	OrderTypeUnknown       Code = "ORDER_TYPE_UNKNOWN"
	TimeInForceUnknown     Code = "TIME_IN_FORCE_UNKNOWN"
	TimeInForceNotTaken    Code = "TIME_IN_FORCE_NOT_TAKEN"
	ExtendedHoursNotTaken  Code = "EXTENDED_HOURS_NOT_TAKEN"
	PriceMalformed         Code = "PRICE_MALFORMED"
	PriceNotPositive       Code = "PRICE_NOT_POSITIVE"
	PriceMissing           Code = "PRICE_MISSING"
	PriceUnexpected        Code = "PRICE_UNEXPECTED"
	LimitPriceWrongSide    Code = "LIMIT_PRICE_WRONG_SIDE"
	ExitWrongSide          Code = "EXIT_WRONG_SIDE"
	ExitNotTaken           Code = "EXIT_NOT_TAKEN"
	OrderClassUnknown      Code = "ORDER_CLASS_UNKNOWN"
	OrderClassWrong        Code = "ORDER_CLASS_WRONG"
	ClientOrderIDMalformed Code = "CLIENT_ORDER_ID_MALFORMED"
	ReasonTooLong          Code = "REASON_TOO_LONG"
	AccountMalformed       Code = "ACCOUNT_MALFORMED"
	ToolUnknown            Code = "TOOL_UNKNOWN"
)

// CodeRow is one row of the published table of codes.
type CodeRow struct {
	Code    Code
	Meaning string // what it says
	Repair  string // what the caller can do
}

// FaultCodes returns the published table of fault codes, in order.
func FaultCodes() []CodeRow {
	return []CodeRow{
		{JSONMalformed, "The input is not exactly one JSON value in UTF-8, or is nested over 32 levels.", "Send one JSON object and nothing else."},
		{BodyTooLarge, "The input is over 64 KiB.", "Shorten it; a reason has at most 2,000 characters."},
		{FieldUnknown, "A field that this tool does not have; names are matched exactly, in case too.", "Remove it, or use the tool's own name."},
		{FieldMissing, "A required field is absent.", "Add it."},
		{FieldDuplicate, "A field is given more than once.", "Give it once."},
		{FieldTypeWrong, "A boolean, null, array or object, or a number where text is asked; or no boolean where one is asked.", "Send text; quantities and prices may be JSON numbers, and a field of yes or no is true or false."},
		{SymbolMalformed, "Not a symbol: a letter, up to nine letters or digits, and perhaps one of . / - with one to five more; ASCII only.", "Use the exchange's own symbol, such as AAPL or BRK.B."},
		{SideUnknown, "Not a side.", "Use buy or sell."},
		{QuantityMalformed, "Not a plain decimal: at most 12 integer and 9 fraction digits, no sign, exponent, comma or space; a bare number has at most 15 significant digits.", "Send a plain decimal such as \"10\"."},
		{QuantityNotPositive, "The quantity is zero.", "Send a quantity above zero."},
		{QuantityFractional, "The quantity is not a whole number of shares, and the policy in force or the order's own terms ask for one: only a limit or market order for the day, without exits, may have a fraction.", "Send whole shares."},
		{QuantityAmbiguous, "Both a number of shares and an amount of dollars.", "Send one of them."},
		{NotionalMalformed, "The amount is not a plain decimal: at most 12 integer and 9 fraction digits, no sign, exponent, comma or space; a bare number has at most 15 significant digits.", "Send a plain decimal such as \"250.00\"."},
		{NotionalNotPositive, "The amount is zero.", "Send an amount above zero."},
		{NotionalNotTaken, "Only a market buy for the day, without exits, may be for an amount of dollars.", "Send a quantity of shares."},
		{OrderTypeUnknown, "Not an order type.", "Use limit, market, stop or stop_limit, as far as the policy allows them."},
		{TimeInForceUnknown, "Not a time in force.", "Use day, gtc, ioc, fok, opg or cls, as far as the policy allows them."},
		{TimeInForceNotTaken, "The order type, or an order with exits, does not take this time in force: a stop or stop-limit order and one with exits is day or gtc.", "Use day."},
		{ExtendedHoursNotTaken, "Only a limit order that is day or gtc and has no exits may be executed in extended hours.", "Leave extended hours out, or send such an order."},
		{PriceMalformed, "Not a plain decimal: at most 12 integer and 9 fraction digits, no sign, exponent, comma or space; a bare number has at most 15 significant digits.", "Send a plain decimal such as \"150.25\"."},
		{PriceNotPositive, "The price is zero.", "Send a price above zero."},
		{PriceMissing, "The order type needs a price that is not there. Reserved: an order without a price of its type is FIELD_MISSING.", "Add the price."},
		{PriceUnexpected, "The order type takes no such price: a market order has none, a stop order no limit, a limit order no stop.", "Remove the price, or use the type that has it."},
		{LimitPriceWrongSide, "The limit of a stop-limit order or of a stop loss is on the wrong side of its stop: of a buy it is below, of a sell above.", "Move the limit to or past the stop."},
		{ExitWrongSide, "A stop loss that is not below, or a take profit that is not above, the price at which the order buys, or the two against each other: it would be executed at once.", "Move the exit to its side."},
		{ExitNotTaken, "Only a buy of whole shares brings exits with it.", "Leave the exits out, or place them as orders of their own."},
		{OrderClassUnknown, "Not an order class that is taken.", "Use simple, bracket or oto, or leave it out where there are no exits."},
		{OrderClassWrong, "The order class is not that of the exits which are there: bracket of a take profit and a stop loss, oto of one of them, simple of none.", "Send the class of the exits."},
		{ClientOrderIDMalformed, "Not 1 to 128 of A-Z a-z 0-9 . _ -", "Use those characters only, or leave it out."},
		{ReasonTooLong, "The reason is over 2,000 characters.", "Shorten it."},
		{AccountMalformed, "The surface's account name is not 1 to 64 of A-Z a-z 0-9 . _ -", "The operator names the account otherwise."},
		{ToolUnknown, "The tool is under a guard and no dialect reads its orders, or it is not a tool of this server.", "Call one of the tools that are listed."},
	}
}

// Printable returns text from outside as it may be shown to a person: control, format, bidirectional and invisible
// characters and bytes that are not UTF-8 are escaped, and what is left is cut to at most max characters, of which the last is then an
// ellipsis.
func Printable(s string, max int) string {
	var b strings.Builder
	n := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		piece := escape(r, size, s[i])
		i += size
		w := utf8.RuneCountInString(piece)
		if n+w > max || n+w == max && i < len(s) {
			b.WriteRune('…')
			break
		}
		b.WriteString(piece)
		n += w
	}
	return b.String()
}

// Foreign returns the end of a sentence about text from outside that names its first character beyond ASCII, since a
// look-alike letter cannot be seen; empty for text that is ASCII.
func Foreign(s string) string {
	for _, r := range s {
		if r > 0x7f {
			return fmt.Sprintf("; U+%04X in it is not ASCII", r)
		}
	}
	return ""
}

func escape(r rune, size int, first byte) string {
	switch {
	case r == utf8.RuneError && size <= 1:
		return fmt.Sprintf(`\x%02x`, first)
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r > 0xffff && !visible(r):
		return fmt.Sprintf(`\U%08x`, r)
	case !visible(r):
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}

// visible leaves out control and format characters (the bidirectional and zero-width ones among them), unassigned ones,
// spaces other than the ASCII one, and the few letters, marks and symbols that nothing is drawn for.
func visible(r rune) bool {
	const brailleBlank = 0x2800
	return unicode.IsPrint(r) && r != brailleBlank && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
