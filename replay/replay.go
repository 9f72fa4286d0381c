// Package replay runs tapes: JSON Lines of quotes, orders, answers of a broker and of people, and stops, in order of time.
// It runs them through the gate's own code, over a journal in memory and on the tape's clock, and says what was decided
// and what became of it. The same tape and configuration give the same bytes on every machine.
package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sallyport/gate"
	"sallyport/market"
	"sallyport/trade"
)

// Config says by what a tape is replayed.
type Config struct {
	Policy   []byte        // in force until the tape's own; nil: none, and nothing is allowed
	Only     bool          // the policies that the tape brings along are passed over
	Account  trade.Account // the broker's; default "paper"
	Approval gate.Approval // how proposals wait for people where the policy does not say it
	Shared   bool          // others trade on the account too

	Instruments *market.Instruments // what orders must fit; nil: every symbol is a US equity

	Fills   func(Fill)                                          // where set, is told of each fill that the tape has of its orders
	Closing func(newest func(trade.Symbol) (trade.Quote, bool)) // where set, is told at the end what the market showed last

	proved bool // the policy is being tested: it is not tested again
}

// Run replays a tape and writes what came of it, one JSON object a line; docs/tapes.md says what they are. The error is an
// Error, which names the line of the tape that is not one, after what came of the lines before it was written; or it says
// why the tape cannot be read or the output not be written, or is that of the context.
func Run(ctx context.Context, cfg Config, tape io.Reader, out io.Writer) error {
	w := bufio.NewWriterSize(out, 64<<10)
	p, err := newPlayer(ctx, cfg, func(line []byte) error {
		_, err := w.Write(append(line, '\n'))
		return err
	})
	if err == nil {
		err = p.play(ctx, tape)
	}
	if flushed := w.Flush(); err == nil {
		err = flushed
	}
	return err
}

// Error says which line of a tape is not one, and why.
type Error struct {
	Line int // from 1
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d of the tape: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// play runs the lines of a tape, and then says how all stands.
func (p *player) play(ctx context.Context, tape io.Reader) error {
	in := lines{in: bufio.NewReaderSize(tape, 64<<10)}
	for n := 1; ; n++ {
		raw, err := in.next()
		if errors.Is(err, io.EOF) {
			return p.end()
		}
		if err != nil && !errors.Is(err, errLong) && ctx.Err() == nil {
			return fmt.Errorf("the tape cannot be read: %w", err)
		}
		if err == nil {
			err = p.line(ctx, raw)
		}
		if n%1024 == 0 || err != nil {
			if stopped := ctx.Err(); stopped != nil {
				return stopped
			}
		}
		switch {
		case p.failed != nil: // which is nothing that the tape says
			return p.failed
		case err != nil:
			return &Error{Line: n, Err: err}
		}
	}
}

// line runs one line.
func (p *player) line(ctx context.Context, raw []byte) error {
	l := &p.now
	if !p.quick.quote(l, raw) {
		if err := readLine(l, raw); err != nil {
			return err
		}
	}
	return p.step(ctx, l)
}

// step runs one line that has been read: what ends by time before it ends first, at its own instant.
func (p *player) step(ctx context.Context, l *line) error {
	if l.at.Before(p.last) {
		return fmt.Errorf("it is of %s, which is before the line before it, of %s", l.at.Format(time.RFC3339Nano), p.last.Format(time.RFC3339Nano))
	}
	if err := p.expire(ctx, l.at); err != nil {
		return err
	}
	p.last, p.clock = l.at, l.at
	p.count.Lines++
	if err := acts[l.kind](p, ctx, l); err != nil {
		return err
	}
	return p.failed
}

// lines cuts a tape into lines.
type lines struct {
	in   *bufio.Reader
	long []byte
}

// errLong says that a line is over the bound.
var errLong = fmt.Errorf("it is over %d bytes", maxLine)

// next returns the next line without its newline, valid until the next call; io.EOF comes alone.
func (l *lines) next() ([]byte, error) {
	raw, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			if l.long = append(l.long, raw...); len(l.long) > maxLine {
				return nil, errLong
			}
			raw, err = l.in.ReadSlice('\n')
		}
		l.long = append(l.long, raw...)
		raw = l.long
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(raw) == 0) {
		return nil, err
	}
	if raw = bytes.TrimSuffix(raw, []byte{'\n'}); len(raw) > maxLine {
		return nil, errLong
	}
	return raw, nil
}
