package market

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"sallyport/trade"
	"sallyport/wire"
)

// Tape is a recorded tape as a source of quotes: JSON Lines in order of time, of which the lines
// {"at":…,"quote":{"symbol","bid","ask","last"}} are read and those of other kinds are passed over. It shows what had
// been recorded by the time of its clock, and reads no further than the next quote, so that it needs no more memory for a longer tape. Its
// clock may only go forward. Once a line is not one, there are no quotes any more. It is safe for concurrent use.
type Tape struct {
	now func() time.Time

	mu      sync.Mutex
	in      *bufio.Reader
	line    int
	newest  map[trade.Symbol]trade.Quote
	next    trade.Quote // the first that is not shown yet; it has a time
	last    time.Time   // of the newest line
	ended   bool
	problem error
}

// NewTape reads a tape by a clock.
func NewTape(r io.Reader, now func() time.Time) *Tape {
	return &Tape{now: now, in: bufio.NewReaderSize(r, MaxLine+1), newest: map[trade.Symbol]trade.Quote{}}
}

// Quote implements Source.
func (t *Tape) Quote(s trade.Symbol) (trade.Quote, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for t.problem == nil && !t.ended && !t.next.At.After(now) {
		t.show()
		t.advance()
	}
	if t.problem != nil {
		return trade.Quote{}, false, t.problem
	}
	q, ok := t.newest[s]
	return q, ok, nil
}

func (t *Tape) show() {
	if !t.next.At.IsZero() {
		t.newest[t.next.Symbol] = t.next
	}
	t.next = trade.Quote{}
}

// advance reads up to the next quote, or to the end.
func (t *Tape) advance() {
	for {
		raw, err := t.in.ReadSlice('\n')
		t.line++
		switch {
		case errors.Is(err, io.EOF) && len(raw) == 0:
			t.ended = true
			return
		case errors.Is(err, bufio.ErrBufferFull), len(bytes.TrimSuffix(raw, []byte{'\n'})) > MaxLine:
			t.fail(fmt.Errorf("over %d bytes", MaxLine))
			return
		case err != nil && !errors.Is(err, io.EOF):
			t.fail(err)
			return
		}
		q, is, err := parseTapeLine(bytes.TrimSuffix(raw, []byte{'\n'}))
		if err == nil && q.At.Before(t.last) {
			err = errors.New("earlier than the line before")
		}
		if err != nil {
			t.fail(err)
			return
		}
		if t.last = q.At; is {
			t.next = q
			return
		}
	}
}

func (t *Tape) fail(err error) {
	t.problem = &Error{Code: QuotesInvalid, Path: "", Line: t.line, Reason: err.Error(), Err: err}
}

// maxTapeDepth holds every kind of line: an intent has the arguments of its tool in it.
//
//limit:market-tape-depth A line of a tape that is nested over 32 levels is not read.
const maxTapeDepth = 32

// parseTapeLine reads a line's time, and its quote if it is of one.
func parseTapeLine(line []byte) (q trade.Quote, is bool, err error) {
	v, err := wire.Read(line, wire.Limits{Bytes: MaxLine, Depth: maxTapeDepth})
	if err != nil {
		return q, false, reason(err)
	}
	if v.Kind != wire.Object {
		return q, false, fmt.Errorf("%s, where an object is asked", v.Kind)
	}
	at, n := v.Member("at")
	if n != 1 {
		return q, false, errors.New("not exactly one time under at")
	}
	if err := field(&q, wire.Member{Name: "at", Value: at}); err != nil {
		return q, false, err
	}
	body, n := v.Member("quote")
	if n == 0 {
		return q, false, nil
	}
	if name, twice := v.Duplicate(); twice || n != 1 {
		return q, false, fmt.Errorf("%q is given more than once", trade.Printable(name, 64))
	}
	if body.Kind != wire.Object || len(v.Members) != 2 {
		return q, false, errors.New("a quote is an object, and nothing but at stands beside it")
	}
	for _, m := range body.Members {
		if m.Name == "at" {
			return q, false, errors.New(`"at" stands beside the quote, not in it`)
		}
		if err := field(&q, m); err != nil {
			return q, false, err
		}
	}
	for _, name := range [...]string{"symbol", "bid", "ask", "last"} {
		if _, n := body.Member(name); n == 0 {
			return q, false, fmt.Errorf("%s is missing", name)
		}
	}
	return q, true, nil
}
