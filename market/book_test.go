package market

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"sallyport/trade"

	"pgregory.net/rapid"
)

const good = `{"symbol":"AAPL","bid":"149.90","ask":"149.95","last":"149.93","at":"2026-11-30T14:30:00Z"}`

func symbol(t testing.TB, s string) trade.Symbol {
	t.Helper()
	v, ok := trade.ParseSymbol(s)
	if !ok {
		t.Fatalf("%q is no symbol", s)
	}
	return v
}

func decimal(t testing.TB, s string) trade.Decimal {
	t.Helper()
	v, ok := trade.ParseDecimal(s)
	if !ok {
		t.Fatalf("%q is no decimal", s)
	}
	return v
}

func TestReadTakesTextAndBareNumbers(t *testing.T) {
	b, err := Read(strings.NewReader(`{"at":"2026-11-30T09:30:00.5-05:00","last":1,"ask":149.95,"bid":"149.90","symbol":"brk.b"}` + "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	q, ok := b.Quote(symbol(t, "BRK.B"))
	if !ok || b.Len() != 1 {
		t.Fatalf("no quote of BRK.B among %d", b.Len())
	}
	at := time.Date(2026, 11, 30, 14, 30, 0, 5e8, time.UTC)
	if q.Bid.Money() != "149.90" || q.Ask.Money() != "149.95" || q.Last.Money() != "1.00" || !q.At.Equal(at) {
		t.Fatalf("quote = %v %v %v %v", q.Bid, q.Ask, q.Last, q.At)
	}
}

func TestReadRefusesWhatIsNotAQuote(t *testing.T) {
	edit := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the good line", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for _, c := range []struct{ name, line, want string }{
		{"an empty line", "", "incomplete"},
		{"white space", "  ", "incomplete"},
		{"not JSON", "AAPL 149.90", "column 1"},
		{"two values", good + good, "more than one"},
		{"bytes after the value", good + "x", "column"},
		{"an unclosed object", good[:len(good)-1], "column"},
		{"an array", "[" + good + "]", "nested"},
		{"text", `"AAPL"`, "text, where an object is asked"},
		{"a nested value", edit(`"149.90"`, `{"p":"149.90"}`), "nested"},
		{"an unknown member", edit(`"last"`, `"volume":"1","last"`), `"volume" is not a member`},
		{"a case variant", edit(`"bid"`, `"Bid"`), `"Bid" is not a member`},
		{"a duplicate", edit(`"ask"`, `"bid":"1","ask"`), `"bid" is given more than once`},
		{"a duplicate of an unknown member", edit(`"ask"`, `"x":1,"x":1,"ask"`), "more than once"},
		{"no symbol", edit(`"symbol":"AAPL",`, ``), "symbol is missing"},
		{"no bid", edit(`"bid":"149.90",`, ``), "bid is missing"},
		{"no ask", edit(`"ask":"149.95",`, ``), "ask is missing"},
		{"no last", edit(`"last":"149.93",`, ``), "last is missing"},
		{"no time", edit(`,"at":"2026-11-30T14:30:00Z"`, ``), "at is missing"},
		{"a look-alike letter", edit(`AAPL`, "\u0410APL"), "is not a symbol"},
		{"a symbol with a space", edit(`AAPL`, "AAPL "), "is not a symbol"},
		{"a symbol that is a number", edit(`"AAPL"`, `1`), "is not a symbol"},
		{"a symbol that is true", edit(`"AAPL"`, `true`), "is not a symbol"},
		{"a null price", edit(`"149.90"`, `null`), "bid null is not a plain decimal"},
		{"a boolean price", edit(`"149.90"`, `true`), "is not a plain decimal"},
		{"a negative price", edit(`"149.90"`, `-1`), "is not a plain decimal"},
		{"an exponent", edit(`"149.90"`, `1e2`), "is not a plain decimal"},
		{"NaN as text", edit(`149.90`, `NaN`), "is not a plain decimal"},
		{"a comma", edit(`149.90`, `1,000`), "is not a plain decimal"},
		{"ten fraction digits", edit(`149.90`, `0.0000000001`), "is not a plain decimal"},
		{"sixteen significant digits bare", edit(`"149.90"`, `123456789.1234567`), "15 significant digits"},
		{"zero", edit(`"149.95"`, `0.00`), "ask \"0.00\" is not above zero"},
		{"a time of one digit", edit(`T14:30:00Z`, `T4:30:00Z`), "RFC 3339"},
		{"a comma in the time", edit(`00Z`, `00,5Z`), "RFC 3339"},
		{"a time without a zone", edit(`00Z`, `00`), "RFC 3339"},
		{"ten fraction digits of a second", edit(`00Z`, `00.1234567890Z`), "RFC 3339"},
		{"a zone of 24 hours", edit(`00Z`, `00+24:00`), "RFC 3339"},
		{"a zone of 60 minutes", edit(`00Z`, `00+00:60`), "RFC 3339"},
		{"a time in small letters", edit(`T14:30:00Z`, `t14:30:00z`), "RFC 3339"},
		{"a time with a space", edit(`T14`, ` 14`), "RFC 3339"},
		{"a second of 60", edit(`30:00Z`, `30:60Z`), "RFC 3339"},
		{"a day that is none", edit(`-11-30T`, `-11-31T`), "RFC 3339"},
		{"a time that is a number", edit(`"2026-11-30T14:30:00Z"`, `1`), "RFC 3339"},
		{"invalid UTF-8", edit(`AAPL`, "A\xff"), "UTF-8"},
		{"a byte order mark", "\ufeff" + good, "column 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := Read(strings.NewReader(good + "\n" + c.line + "\n" + good + "\n"))
			var e *Error
			if !errors.As(err, &e) || e.Line != 2 || e.Code != QuotesInvalid || b != nil {
				t.Fatalf("Read = %v, %v; want an error of line 2", b, err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %q does not say %q", err, c.want)
			}
		})
	}
}

func TestReadNewestTimeWinsAndOfEqualTimesTheLaterLine(t *testing.T) {
	line := func(bid, at string) string {
		return fmt.Sprintf(`{"symbol":"AAPL","bid":%q,"ask":"200","last":"1","at":%q}`+"\n", bid, at)
	}
	for _, c := range []struct{ name, file, want string }{
		{"an older line after", line("2", "2026-11-30T14:30:01Z") + line("1", "2026-11-30T14:30:00Z"), "2"},
		{"a newer line after", line("1", "2026-11-30T14:30:00Z") + line("2", "2026-11-30T14:30:01Z"), "2"},
		{"the same time", line("1", "2026-11-30T14:30:00Z") + line("2", "2026-11-30T14:30:00Z"), "2"},
		{"the same time in another zone", line("1", "2026-11-30T14:30:00Z") + line("2", "2026-11-30T15:30:00+01:00"), "2"},
		{"earlier, though its text sorts later", line("2", "2026-11-30T14:30:00Z") + line("1", "2026-11-30T15:00:00+01:00"), "2"},
	} {
		b, err := Read(strings.NewReader(c.file))
		if err != nil {
			t.Fatal(err)
		}
		if q, _ := b.Quote(symbol(t, "AAPL")); q.Bid.String() != c.want {
			t.Errorf("%s: bid = %v, want %s", c.name, q.Bid, c.want)
		}
	}
}

func TestReadIgnoresALastLineThatIsStillBeingWritten(t *testing.T) {
	next := strings.Replace(good, "AAPL", "MSFT", 1)
	for n := range len(next) {
		b, err := Read(strings.NewReader(good + "\n" + next[:n]))
		if err != nil || b.Len() != 1 {
			t.Fatalf("after %d bytes of the next line, %q: %d quotes, %v", n, next[:n], b.Len(), err)
		}
	}
	for _, end := range []string{"", "\n"} {
		if b, err := Read(strings.NewReader(good + "\n" + next + end)); err != nil || b.Len() != 2 {
			t.Fatalf("with the whole line and %q: %d quotes, %v", end, b.Len(), err)
		}
	}
}

func TestReadRefusesALastLineThatCannotBecomeAQuote(t *testing.T) {
	for _, tail := range []string{"AAPL", "]", good + "}", good + " x", `{"symbol":"}`, `{"symbol":"AAPL"}`, good[:20] + "\n"} {
		if b, err := Read(strings.NewReader(good + "\n" + tail)); tail == `{"symbol":"}` {
			if err != nil || b.Len() != 1 {
				t.Errorf("%q, whose text is open: %v", tail, err)
			}
		} else if err == nil {
			t.Errorf("%q was taken as %d quotes", tail, b.Len())
		}
	}
}

//attack:market-line
func TestReadRefusesALineOverItsLimit(t *testing.T) {
	pad := func(n int) string { return "{" + strings.Repeat(" ", n-len(good)) + good[1:] }
	for _, end := range []string{"", "\n", "\n" + good + "\n"} {
		if _, err := Read(strings.NewReader(pad(MaxLine) + end)); err != nil {
			t.Errorf("a line of exactly the limit, then %q: %v", end, err)
		}
		var e *Error
		if _, err := Read(strings.NewReader(good + "\n" + pad(MaxLine+1) + end)); !errors.As(err, &e) || e.Line != 2 {
			t.Errorf("a line one byte over the limit, then %q: %v", end, err)
		}
	}
	if _, err := Read(strings.NewReader(pad(MaxLine + 9)[:MaxLine+1])); err == nil {
		t.Error("a line that is still being written passed the limit")
	}
}

// endless gives the same line for ever.
type endless struct {
	line []byte
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], e.line[e.at:])
		n, e.at = n+c, (e.at+c)%len(e.line)
	}
	return n, nil
}

//attack:market-file
func TestReadStopsAtTheLimitOfAFile(t *testing.T) {
	line := []byte("{" + strings.Repeat(" ", MaxLine-1-len(good)) + good[1:] + "\n") // 64 KiB with its newline
	if _, err := Read(io.LimitReader(&endless{line: line}, MaxFile)); err != nil {
		t.Errorf("a file of exactly the limit: %v", err)
	}
	if _, err := Read(&endless{line: line}); err == nil || !strings.Contains(err.Error(), "over 67108864 bytes") {
		t.Errorf("a file without end: %v", err)
	}
}

func TestReadPassesOnAReadersError(t *testing.T) {
	broken := errors.New("the disk is on fire")
	in := io.MultiReader(strings.NewReader(good+"\n"+good[:10]), iotest.ErrReader(broken))
	if b, err := Read(in); !errors.Is(err, broken) || b != nil {
		t.Fatalf("Read = %v, %v", b, err)
	}
}

func TestReadKeepsACrossedQuote(t *testing.T) {
	b, err := Read(strings.NewReader(strings.Replace(good, "149.90", "149.96", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if q, ok := b.Quote(symbol(t, "AAPL")); !ok || !Crossed(q) {
		t.Fatalf("quote = %v, %t; want it kept and crossed", q, ok)
	}
	locked := trade.Quote{Bid: decimal(t, "1"), Ask: decimal(t, "1.00")}
	if Crossed(locked) {
		t.Error("a bid that equals the ask is called crossed")
	}
}

func TestReadOfNothingIsAnEmptyBook(t *testing.T) {
	b, err := Read(strings.NewReader(""))
	if err != nil || b.Len() != 0 {
		t.Fatalf("Read = %d quotes, %v", b.Len(), err)
	}
	if _, ok := (*Book)(nil).Quote(symbol(t, "AAPL")); ok || (*Book)(nil).Len() != 0 {
		t.Error("the nil book has a quote")
	}
}

func TestSampleFillsABuyOfTheDefaultPolicy(t *testing.T) {
	b, err := Read(bytes.NewReader(Sample()))
	if err != nil {
		t.Fatal(err)
	}
	q, ok := b.Quote(symbol(t, "AAPL"))
	if !ok || Crossed(q) || q.Ask.Cmp(decimal(t, "150.00")) > 0 {
		t.Errorf("AAPL = %v, %t; want an ask of at most 150.00", q, ok)
	}
	if _, ok := b.Quote(symbol(t, "MSFT")); !ok {
		t.Error("no quote of MSFT")
	}
	Sample()[0] = 'x'
	if Sample()[0] != '{' {
		t.Error("a caller can change the sample")
	}
}

func TestReadKeepsTheNewestOfEachSymbol(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type key struct {
			sym string
			at  int
			bid int
		}
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) key {
			return key{rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "symbol"), rapid.IntRange(0, 9).Draw(t, "at"), rapid.IntRange(1, 99).Draw(t, "bid")}
		}), 0, 40).Draw(t, "rows")
		var file bytes.Buffer
		want := map[string]key{}
		for _, r := range rows {
			fmt.Fprintf(&file, `{"symbol":%q,"bid":%d,"ask":"100","last":1,"at":"2026-11-30T14:30:0%dZ"}`+"\n", r.sym, r.bid, r.at)
			if old, ok := want[r.sym]; !ok || r.at >= old.at {
				want[r.sym] = r
			}
		}
		b, err := Read(&file)
		if err != nil || b.Len() != len(want) {
			t.Fatalf("%d quotes, %v; want %d", b.Len(), err, len(want))
		}
		for s, w := range want {
			sym, _ := trade.ParseSymbol(s)
			if q, _ := b.Quote(sym); q.Bid.String() != fmt.Sprint(w.bid) || q.At.Second() != w.at {
				t.Fatalf("%s: bid %v at %v; want %v", s, q.Bid, q.At, w)
			}
		}
	})
}

func TestParseTimeTakesEveryFormOfRFC3339(t *testing.T) {
	for _, s := range []string{
		"2026-11-30T14:30:00Z", "2026-11-30T14:30:00.1Z", "2026-11-30T14:30:00.123456789Z",
		"2026-11-30T14:30:00+00:00", "2026-11-30T14:30:00.123456789-23:59", "0001-01-01T00:00:00Z",
	} {
		if _, ok := ParseTime(s); !ok {
			t.Errorf("%q is refused", s)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(Sample())
	f.Add([]byte(good))
	f.Add([]byte(good + "\n" + good[:40]))
	f.Add([]byte(`{"symbol":"AAPL","bid":1e9,"ask":null,"last":true,"at":""}` + "\n"))
	f.Add([]byte("\n\n"))
	f.Add([]byte(`{"symbol":"A","symbol":"B"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := Read(bytes.NewReader(raw))
		if err != nil {
			var e *Error
			if b != nil || !errors.As(err, &e) || e.Line < 1 || e.Reason == "" {
				t.Fatalf("book %v with error %#v", b, err)
			}
			return
		}
		zero := trade.Decimal{}
		for s, q := range b.newest {
			if s != q.Symbol || s.String() == "" || q.Bid.Cmp(zero) <= 0 || q.Ask.Cmp(zero) <= 0 || q.Last.Cmp(zero) <= 0 {
				t.Fatalf("%v has the quote %v", s, q)
			}
		}
		// Whatever was taken is taken again with a good line before it: no line is read differently for its place.
		again, err := Read(bytes.NewReader(append([]byte(good+"\n"), raw...)))
		if err != nil || again.Len() < b.Len() {
			t.Fatalf("behind a good line: %d quotes, %v", again.Len(), err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	raw := bytes.Repeat(Sample(), 200)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := Read(bytes.NewReader(raw)); err != nil {
			b.Fatal(err)
		}
	}
}
