// Package market reads the quotes that orders are judged and matched by: from a file of JSON Lines, strictly. A line
// that is not a quote makes the whole file unreadable, because a wrong price is worse than none.
package market

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sallyport/trade"
	"sallyport/wire"
)

// Limits on a quotes file, in bytes.
const (
	//limit:market-line A line of a quotes file has at most 65,536 bytes, its newline not counted.
	MaxLine = 64 << 10
	//limit:market-file A quotes file has at most 67,108,864 bytes.
	MaxFile = 64 << 20
)

// The codes of unusable quotes.
const (
	QuotesUnreadable trade.Code = "QUOTES_UNREADABLE" // the file cannot be read
	QuotesInvalid    trade.Code = "QUOTES_INVALID"    // a line is not a quote, or a limit is passed
)

// Codes returns the published table of the codes that only this package has.
func Codes() []trade.CodeRow {
	return []trade.CodeRow{
		{Code: QuotesUnreadable, Meaning: "The file of quotes cannot be read.", Repair: "The operator repairs the file's place or permissions."},
		{Code: QuotesInvalid, Meaning: "A line of the file is not a quote, or the file or a line is too long.", Repair: "The operator repairs the line that the message names."},
		{Code: InstrumentsInvalid, Meaning: "A line of the file of instruments is not an instrument, or the file or a line is too long.", Repair: "The operator repairs the line that the message names."},
	}
}

// Error says why there are no quotes. What it shows of the file is cut and escaped.
type Error struct {
	Code   trade.Code
	Path   string // empty for quotes that came from no file
	Line   int    // from 1; 0 for the file as a whole
	Reason string
	Err    error // the cause, if there is one
}

// Error returns path, line and reason.
func (e *Error) Error() string {
	where := "quotes"
	if e.Code == InstrumentsInvalid {
		where = "instruments"
	}
	if e.Path != "" {
		where += " file " + e.Path
	}
	if e.Line > 0 {
		where += fmt.Sprintf(", line %d", e.Line)
	}
	return where + ": " + e.Reason
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Book is the newest quote of each symbol. It does not change once it is made. A nil Book has no quotes.
type Book struct{ newest map[trade.Symbol]trade.Quote }

// Quote returns the newest quote of a symbol. Its bid may be above its ask: whoever matches orders must refuse to do
// so on a crossed quote.
func (b *Book) Quote(s trade.Symbol) (trade.Quote, bool) {
	if b == nil {
		return trade.Quote{}, false
	}
	q, ok := b.newest[s]
	return q, ok
}

// Len returns the number of symbols that have a quote.
func (b *Book) Len() int {
	if b == nil {
		return 0
	}
	return len(b.newest)
}

// Newest returns the time of the newest quote of all symbols; zero if there is none.
func (b *Book) Newest() (at time.Time) {
	if b == nil {
		return at
	}
	for _, q := range b.newest {
		if q.At.After(at) {
			at = q.At
		}
	}
	return at
}

//go:embed sample.jsonl
var sample string

// Sample returns the bytes of a small quotes file. With the default policy a buy of 10 AAPL at a limit of 150.00
// fills on it.
func Sample() []byte { return []byte(sample) }

// Read reads JSON Lines of quotes: of each symbol the newest time wins, of equal times the later line. A last line
// without a newline whose object is not closed is still being written and is left out; every other line must be
// exactly a quote. The error is an *Error, or what r returned.
func Read(r io.Reader) (*Book, error) {
	b := &Book{newest: map[trade.Symbol]trade.Quote{}}
	in := bufio.NewReaderSize(io.LimitReader(r, MaxFile+1), MaxLine+1)
	total := 0
	for line := 1; ; line++ {
		raw, err := in.ReadSlice('\n')
		total += len(raw)
		ended := err == nil
		switch {
		case total > MaxFile:
			return nil, &Error{Code: QuotesInvalid, Reason: fmt.Sprintf("over %d bytes", MaxFile)}
		case errors.Is(err, bufio.ErrBufferFull), !ended && len(raw) > MaxLine:
			return nil, &Error{Code: QuotesInvalid, Line: line, Reason: fmt.Sprintf("over %d bytes", MaxLine)}
		case !ended && !errors.Is(err, io.EOF):
			return nil, err
		case !ended && (len(raw) == 0 || unclosed(raw)):
			return b, nil
		}
		q, err := parse(bytes.TrimSuffix(raw, []byte{'\n'}))
		if err != nil {
			return nil, &Error{Code: QuotesInvalid, Line: line, Reason: err.Error()}
		}
		if old, ok := b.newest[q.Symbol]; !ok || !q.At.Before(old.At) {
			b.newest[q.Symbol] = q
		}
		if !ended {
			return b, nil
		}
	}
}

// unclosed reports whether raw begins an object and ends before that object does.
func unclosed(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r")
	if len(raw) == 0 {
		return true
	}
	if raw[0] != '{' {
		return false
	}
	depth, quoted, escaped := 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return false
			}
		}
	}
	return true
}

// parse reads one line, which must be an object of exactly the five members of a quote.
func parse(line []byte) (trade.Quote, error) {
	v, err := wire.Read(line, wire.Limits{Bytes: MaxLine, Depth: 1})
	if err != nil {
		return trade.Quote{}, reason(err)
	}
	if v.Kind != wire.Object {
		return trade.Quote{}, fmt.Errorf("%s, where an object is asked", v.Kind)
	}
	if name, twice := v.Duplicate(); twice {
		return trade.Quote{}, fmt.Errorf("%q is given more than once", trade.Printable(name, 64))
	}
	var q trade.Quote
	for i := range v.Members {
		if err := field(&q, v.Members[i]); err != nil {
			return trade.Quote{}, err
		}
	}
	for _, name := range [...]string{"symbol", "bid", "ask", "last", "at"} {
		if _, n := v.Member(name); n == 0 {
			return trade.Quote{}, fmt.Errorf("%s is missing", name)
		}
	}
	return q, nil
}

// reason says where in its line the JSON is wrong; the line's number is the caller's to add.
func reason(err error) error {
	var e *wire.Error
	if errors.As(err, &e) && !e.TooLarge {
		return fmt.Errorf("column %d: %s", e.Column, trade.Printable(e.Reason, 64))
	}
	return err
}

func field(q *trade.Quote, m wire.Member) error {
	var err error
	switch m.Name {
	case "symbol":
		var ok bool
		if q.Symbol, ok = trade.ParseSymbol(m.Value.Text); !ok || m.Value.Kind != wire.String {
			return wrong(m, "is not a symbol such as AAPL")
		}
	case "bid":
		q.Bid, err = price(m)
	case "ask":
		q.Ask, err = price(m)
	case "last":
		q.Last, err = price(m)
	case "at":
		var ok bool
		if q.At, ok = ParseTime(m.Value.Text); !ok || m.Value.Kind != wire.String {
			return wrong(m, "is not a time in RFC 3339 such as 2026-11-30T14:30:00Z")
		}
	default:
		return fmt.Errorf("%q is not a member of a quote", trade.Printable(m.Name, 64))
	}
	return err
}

// ParseTime reads RFC 3339 in capital letters with at most nine fraction digits. The standard library's reading alone is
// wider: it takes an hour of one digit, a comma before the fraction, digits beyond the ninth and a zone of 24:60.
func ParseTime(s string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil || len(s) < len("2006-01-02T15:04:05Z") || len(s) > len("2006-01-02T15:04:05.123456789+00:00") {
		return time.Time{}, false
	}
	clock, zone := s[11:19], s[19:]
	i := strings.IndexAny(zone, "Z+-")
	if i < 0 || i > len(".123456789") || zone[0] == ',' || clock[2] != ':' {
		return time.Time{}, false
	}
	if zone = zone[i:]; zone[0] != 'Z' && (zone[1:3] > "23" || zone[4:] > "59") {
		return time.Time{}, false
	}
	return at.UTC(), true
}

// price reads a decimal by the rules of the wire: text, or a bare number of few enough digits that no float altered it.
func price(m wire.Member) (trade.Decimal, error) {
	d, ok := trade.ParseDecimal(m.Value.Text)
	_, exact := trade.ParseNumber(m.Value.Text)
	switch {
	case m.Value.Kind != wire.String && m.Value.Kind != wire.Number, !ok:
		return trade.Decimal{}, wrong(m, "is not a plain decimal of at most 12 integer and 9 fraction digits")
	case m.Value.Kind == wire.Number && !exact:
		return trade.Decimal{}, wrong(m, "is a bare number of more than 15 significant digits; write it as text")
	case d.Sign() == 0:
		return trade.Decimal{}, wrong(m, "is not above zero")
	}
	return d, nil
}

func wrong(m wire.Member, what string) error {
	seen := m.Value.Kind.String()
	if m.Value.Kind == wire.String || m.Value.Kind == wire.Number {
		seen = fmt.Sprintf("%q", trade.Printable(m.Value.Text, 64))
	}
	return fmt.Errorf("%s %s %s", m.Name, seen, what)
}

// Crossed reports whether a quote's bid is above its ask. Such a quote is stale or wrong on one side, and nothing may
// be matched on it.
func Crossed(q trade.Quote) bool { return q.Bid.Cmp(q.Ask) > 0 }
