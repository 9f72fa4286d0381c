package replay

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"sallyport/ledger"
	"sallyport/market"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// Bounds on a tape.
const (
	//limit:replay-line A line of a tape has at most 1,114,112 bytes, its newline not counted: a policy of the largest size fits.
	maxLine = policy.MaxBytes + 64<<10
	//limit:replay-depth A line of a tape that is nested over 40 levels is not read.
	maxDepth = 40
	//limit:replay-text The id of an intent and the name of an agent have 1 to 256 bytes of UTF-8 without control characters.
	maxText = 256 // as many as the gate takes of a caller
	//limit:replay-reason The reason of a stop or a reset has 1 to 2,000 bytes of UTF-8 without control characters.
	maxReason = 2000
)

// kind is what a line is. The zero kind is none.
type kind uint8

const (
	noKind kind = iota
	quoteLine
	accountLine
	positionLine
	policyLine
	intentLine
	brokerLine
	fillLine
	cancelLine
	approveLine
	declineLine
	killLine
	resetLine
)

var kindWords = [...]string{
	"none", "quote", "account", "position", "policy", "intent", "broker", "fill", "cancel", "approve", "decline", "kill", "reset",
}

func (k kind) String() string { return kindWords[k] }

func parseKind(name string) kind {
	for k := quoteLine; k <= resetLine; k++ {
		if name == kindWords[k] {
			return k
		}
	}
	return noKind
}

// reply is what the broker makes of an order. The zero reply accepts it.
type reply uint8

const (
	accepts reply = iota
	rejects
	unclear // its answer says nothing: the outcome is unknown
	waits   // it answers by a line of its own
)

var replyWords = [...]string{"accepted", "rejected", "unknown", "wait"}

func parseReply(text string) (reply, bool) {
	for r := accepts; r <= waits; r++ {
		if text == replyWords[r] {
			return r, true
		}
	}
	return accepts, false
}

// line is one line of a tape. Which members are set depends on the kind.
type line struct {
	kind kind
	at   time.Time

	symbol         trade.Symbol
	bid, ask, last trade.Decimal // of a quote
	cash, equity   trade.Decimal // of an account
	quantity       trade.Decimal // of a position or a fill
	price          trade.Decimal // of a fill; the average price of a position, zero where it is not known
	policy         []byte        // the bytes of the object as they stand in the line

	id    string // of the intent that the line is about
	agent string
	tool  string     // empty for an intent with an order
	args  wire.Value // of the tool; or the order
	raw   []byte     // the same, as it stands in the line
	reply reply      // of an intent and of a broker
	code  string     // of a rejection

	scope      ledger.Scope
	by, reason string
	keep       bool // of a stop: what works is left as it is
	all        bool // and of another: exits are cancelled too
	replied    bool // of an intent: it says what becomes of it
}

// errNotObject and the like are what a line is refused for; the line's number is the caller's to add.
var errNotObject = errors.New("an object is asked")

// readLine reads a line strictly. What it returns may refer to raw.
func readLine(l *line, raw []byte) error {
	v, err := wire.Read(raw, wire.Limits{Bytes: maxLine, Depth: maxDepth})
	if err != nil {
		var e *wire.Error
		if errors.As(err, &e) && !e.TooLarge {
			return fmt.Errorf("column %d: %s", e.Column, trade.Printable(e.Reason, 64))
		}
		return err
	}
	if v.Kind != wire.Object {
		return fmt.Errorf("it is %s; %w", v.Kind, errNotObject)
	}
	*l = line{}
	f := fields{raw: raw}
	body, err := l.envelope(&f, v)
	if err != nil {
		return err
	}
	if body.Kind != wire.Object {
		return fmt.Errorf("%s is %s; %w", l.kind, body.Kind, errNotObject)
	}
	readers[l.kind](l, f.in(body))
	return f.err
}

// envelope reads the time and the kind of a line, and returns the object of that kind.
func (l *line) envelope(f *fields, v wire.Value) (body wire.Value, err error) {
	f.members = v.Members
	l.at = f.time("at")
	for _, m := range v.Members {
		k := parseKind(m.Name)
		switch {
		case m.Name == "at":
		case k == brokerLine && m.Value.Kind == wire.String: // of an intent: what becomes of it
		case k == noKind:
			return body, fmt.Errorf("%q is no kind of line", trade.Printable(m.Name, 64))
		case l.kind != noKind:
			return body, fmt.Errorf("%s and %s in one line", l.kind, k)
		default:
			l.kind, body = k, m.Value
		}
	}
	if l.kind == noKind {
		return body, errors.New("nothing but a time")
	}
	if m, n := v.Member("broker"); l.kind != brokerLine && n > 0 {
		if l.kind != intentLine || n > 1 {
			return body, fmt.Errorf("%s and broker in one line", l.kind)
		}
		l.reply, l.replied = f.replyOf(m), true
	}
	return body, f.err
}

// readers are how the objects of each kind are read.
var readers = [...]func(*line, *fields){
	quoteLine: (*line).readQuote,
	accountLine: func(l *line, f *fields) {
		l.cash, l.equity = f.sum("cash"), f.sum("equity")
		f.only("cash", "equity")
	},
	positionLine: (*line).readPosition,
	policyLine:   func(l *line, f *fields) { l.policy = f.raw },
	intentLine:   (*line).readIntent,
	brokerLine:   (*line).readBroker,
	fillLine:     (*line).readFill,
	cancelLine:   func(l *line, f *fields) { l.id = f.id("intent"); f.only("intent") },
	approveLine:  (*line).readPress,
	declineLine:  (*line).readPress,
	killLine:     (*line).readStop,
	resetLine:    (*line).readStop,
}

func (l *line) readQuote(f *fields) {
	l.symbol = f.symbol("symbol")
	l.bid, l.ask, l.last = f.price("bid"), f.price("ask"), f.price("last")
	f.only("symbol", "bid", "ask", "last")
}

func (l *line) readPosition(f *fields) {
	l.symbol, l.quantity, l.price = f.symbol("symbol"), f.amount("quantity"), f.amount("average_price")
	f.only("symbol", "quantity", "average_price")
}

// readIntent reads who wants what. Whether the arguments are an order is for the gate to say: a fault is a decision.
func (l *line) readIntent(f *fields) {
	l.id, l.agent = f.id("id"), f.id("agent")
	if m, n := f.member("broker"); n > 0 {
		if l.replied || n > 1 {
			f.fail("broker is given more than once")
			return
		}
		l.reply = f.replyOf(m)
	}
	name := "order"
	if _, n := f.member(name); n == 0 {
		name, l.tool = "args", f.text("tool", maxText)
	}
	args, n := f.member(name)
	if n != 1 {
		f.fail("an intent has a tool and its args, or an order")
		return
	}
	l.args, l.raw = args, wire.Cut(f.raw, args.Offset-f.offset)
	if name == "order" {
		f.only("id", "agent", "order", "broker")
		return
	}
	f.only("id", "agent", "tool", "args", "broker")
}

func (l *line) readBroker(f *fields) {
	l.id = f.id("intent")
	result := f.text("result", maxText)
	var ok bool
	if l.reply, ok = parseReply(result); f.err == nil && (!ok || l.reply == waits) {
		f.fail("result %q is not accepted, rejected or unknown", trade.Printable(result, 64))
	}
	if _, n := f.member("code"); n > 0 {
		l.code = f.text("code", maxText)
		if f.err == nil && l.reply != rejects {
			f.fail("only a rejection has a code")
		}
	}
	f.only("intent", "result", "code")
}

func (l *line) readFill(f *fields) {
	l.id, l.quantity, l.price = f.id("intent"), f.price("quantity"), f.price("price")
	f.only("intent", "quantity", "price")
}

func (l *line) readPress(f *fields) {
	l.id, l.by = f.id("intent"), f.text("by", maxText)
	f.only("intent", "by")
}

func (l *line) readStop(f *fields) {
	text := f.text("scope", maxText)
	var ok bool
	if l.scope, ok = ledger.ReadScope(text); f.err == nil && !ok {
		f.fail("scope %q is not everything, account:NAME, agent:NAME or symbol:NAME", trade.Printable(text, 64))
	}
	l.by, l.reason = f.text("by", maxText), f.text("reason", maxReason)
	if l.kind == resetLine {
		f.only("scope", "by", "reason")
		return
	}
	l.keep, l.all = f.flag("keep"), f.flag("all")
	f.only("scope", "by", "reason", "keep", "all")
}

// fields reads the members of one object. The first thing that is wrong is kept.
type fields struct {
	members []wire.Member
	raw     []byte // of the object
	offset  int    // of the object in its line
	err     error
}

// in goes on with an object within.
func (f *fields) in(v wire.Value) *fields {
	f.members, f.raw, f.offset = v.Members, wire.Cut(f.raw, v.Offset), v.Offset
	return f
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

func (f *fields) member(name string) (wire.Value, int) {
	return wire.Value{Members: f.members}.Member(name)
}

// only refuses every other member. What is given twice was refused when it was read.
func (f *fields) only(names ...string) {
	for _, m := range f.members {
		known := false
		for _, name := range names {
			known = known || name == m.Name
		}
		if !known {
			f.fail("%q is not a member of it", trade.Printable(m.Name, 64))
		}
	}
}

// one returns the member of that name, which must be there once.
func (f *fields) one(name string) (v wire.Value, ok bool) {
	v, n := f.member(name)
	switch n {
	case 0:
		f.fail("%s is missing", name)
	case 1:
		return v, true
	default:
		f.fail("%s is given more than once", name)
	}
	return v, false
}

func (f *fields) text(name string, most int) string {
	v, ok := f.one(name)
	switch {
	case !ok:
	case v.Kind != wire.String:
		f.fail("%s is %s; text is asked", name, v.Kind)
	case len(v.Text) == 0 || len(v.Text) > most:
		f.fail("%s has %d bytes; 1 to %d are taken", name, len(v.Text), most)
	case strings.ContainsFunc(v.Text, control), !utf8.ValidString(v.Text):
		f.fail("%s holds a control character", name)
	default:
		return v.Text
	}
	return ""
}

// flag reads a member that need not be there.
func (f *fields) flag(name string) bool {
	if _, n := f.member(name); n == 0 {
		return false
	}
	v, ok := f.one(name)
	if ok && v.Kind != wire.Bool {
		f.fail("%s is %s; true or false is asked", name, v.Kind)
	}
	return v.Text == "true"
}

func control(r rune) bool { return r < 0x20 || r == 0x7f }

func (f *fields) id(name string) string { return f.text(name, maxText) }

func (f *fields) symbol(name string) trade.Symbol {
	text := f.text(name, maxText)
	s, ok := trade.ParseSymbol(text)
	if !ok {
		f.fail("%s %q is not a symbol such as AAPL", name, trade.Printable(text, 64))
	}
	return s
}

// amount reads a decimal by the rules of the wire: text, or a bare number of few enough digits that no float altered it.
func (f *fields) amount(name string) trade.Decimal {
	v, ok := f.one(name)
	if !ok {
		return trade.Decimal{}
	}
	d, isDecimal := trade.ParseDecimal(v.Text)
	_, exact := trade.ParseNumber(v.Text)
	switch {
	case v.Kind != wire.String && v.Kind != wire.Number:
		f.fail("%s is %s; a decimal is asked", name, v.Kind)
	case !isDecimal:
		f.fail("%s %q is not a plain decimal of at most 12 integer and 9 fraction digits", name, trade.Printable(v.Text, 64))
	case v.Kind == wire.Number && !exact:
		f.fail("%s is a bare number of more than %d significant digits; write it as text", name, trade.MaxNumberDigits)
	}
	return d
}

// sum reads an amount, or as text a sum that is not negative and may have more digits: what an account has is made of
// products of a quantity and a price.
func (f *fields) sum(name string) trade.Decimal {
	v, _ := f.member(name)
	if d, ok := trade.ParseMoney(v.Text); ok && v.Kind == wire.String && d.Sign() >= 0 {
		return d
	}
	return f.amount(name)
}

// price is an amount above zero.
func (f *fields) price(name string) trade.Decimal {
	d := f.amount(name)
	if d.Sign() <= 0 {
		f.fail("%s is not above zero", name)
	}
	return d
}

func (f *fields) time(name string) time.Time {
	v, ok := f.one(name)
	if !ok {
		return time.Time{}
	}
	at, ok := parseTime(v.Text)
	if !ok || v.Kind != wire.String {
		f.fail("%s %q is not a time in RFC 3339 such as 2026-11-30T14:30:00Z", name, trade.Printable(v.Text, 64))
	}
	return at
}

func (f *fields) replyOf(v wire.Value) reply {
	r, ok := parseReply(v.Text)
	if !ok || v.Kind != wire.String {
		f.fail("broker %q is not accepted, rejected, unknown or wait", trade.Printable(v.Text, 64))
	}
	return r
}

// parseTime reads a time as market.ParseTime does, of the years 1970 to 2199.
//
//limit:replay-time A time of a tape is RFC 3339 in the years 1970 to 2199 with at most nine fraction digits.
func parseTime(s string) (time.Time, bool) {
	at, ok := market.ParseTime(s)
	return at, ok && at.Year() >= 1970 && at.Year() < 2200
}
