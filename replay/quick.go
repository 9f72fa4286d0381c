package replay

import (
	"strings"
	"time"

	"sallyport/trade"
)

// quick reads a line that is a quote and is written plainly: nothing escaped, no white space, decimals as text, a time in
// UTC. Most lines of a tape are such. Of every other line, right or wrong, it says only that it is not one: then readLine
// reads it with care. Of the same line both read the same.
type quick struct {
	symbols map[string]trade.Symbol // that were read before
	date    string                  // of the last time
	day     time.Time               // its first instant
}

func (q *quick) quote(l *line, raw []byte) bool {
	rest, ok := strings.CutPrefix(string(raw), `{"at":"`)
	if !ok {
		return false
	}
	clock, rest, ok := strings.Cut(rest, `","quote":{`)
	if !ok || !strings.HasSuffix(rest, `"}}`) {
		return false
	}
	*l = line{kind: quoteLine}
	if l.at, ok = q.time(clock); !ok {
		return false
	}
	rest = rest[:len(rest)-len(`"}}`)]
	for seen := 0; ; {
		member, more, cut := strings.Cut(rest, `",`)
		name, value, ok := strings.Cut(member, `":"`)
		if !ok || !plain(value) {
			return false
		}
		bit := 0
		switch name {
		case `"symbol`:
			bit, ok = 1, q.symbol(&l.symbol, value)
		case `"bid`:
			bit, ok = 2, price(&l.bid, value)
		case `"ask`:
			bit, ok = 4, price(&l.ask, value)
		case `"last`:
			bit, ok = 8, price(&l.last, value)
		}
		if !ok || bit == 0 || seen&bit != 0 {
			return false
		}
		if seen |= bit; !cut {
			return seen == 15
		}
		rest = more
	}
}

// plain reports whether a text means what it is written as: ASCII that needs no escape.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func price(d *trade.Decimal, text string) (ok bool) {
	*d, ok = trade.ParseDecimal(text)
	return ok && d.Sign() > 0
}

// maxSymbols bounds how many symbols a tape quotes.
//
//limit:replay-symbols A tape has quotes and positions of at most 50,000 symbols.
const maxSymbols = 50_000

func (q *quick) symbol(s *trade.Symbol, text string) (ok bool) {
	if *s, ok = q.symbols[text]; ok {
		return true
	}
	if *s, ok = trade.ParseSymbol(strings.Clone(text)); ok && len(q.symbols) < maxSymbols {
		if q.symbols == nil {
			q.symbols = map[string]trade.Symbol{}
		}
		q.symbols[strings.Clone(text)] = *s
	}
	return ok
}

// time reads 2026-11-30T14:30:00Z with up to nine fraction digits. The day is read as readLine reads it, once.
func (q *quick) time(s string) (time.Time, bool) {
	const date, clock = len("2026-11-30"), len("2026-11-30T14:30:00")
	if len(s) <= clock || s[date] != 'T' || s[date+3] != ':' || s[date+6] != ':' || s[len(s)-1] != 'Z' {
		return time.Time{}, false
	}
	hour, ok1 := digits(s[date+1 : date+3])
	minute, ok2 := digits(s[date+4 : date+6])
	second, ok3 := digits(s[date+7 : clock])
	if !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	nano := 0
	if frac := s[clock : len(s)-1]; frac != "" {
		n, ok := digits(frac[1:])
		if frac[0] != '.' || !ok || len(frac) > len(".123456789") {
			return time.Time{}, false
		}
		for range len(".123456789") - len(frac) {
			n *= 10
		}
		nano = n
	}
	if s[:date] != q.date {
		day, ok := parseTime(s[:date] + "T00:00:00Z")
		if !ok {
			return time.Time{}, false
		}
		q.date, q.day = strings.Clone(s[:date]), day
	}
	return time.Unix(q.day.Unix()+int64(hour*3600+minute*60+second), int64(nano)).UTC(), true
}

func digits(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = 10*n + int(s[i]-'0')
	}
	return n, len(s) > 0
}
