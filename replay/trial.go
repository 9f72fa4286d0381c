package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// Bounds on the tests that a policy brings along.
const (
	//limit:replay-trial-lines The tests of a policy have tapes of at most 2,000 lines in all.
	maxTrialLines = 2000
	//limit:replay-trial-time The tests of a policy run for at most 20 seconds in all.
	maxTrialTime = 20 * time.Second
)

// Trial runs the tests that a policy of version 2 brings along: each tape is replayed under the policy itself, in an
// account of its own, and what comes of it must have the expected objects in it, in their order. The error says which test
// failed, and at which line.
func Trial(raw []byte, book *policy.Rulebook) error {
	return trialWithin(maxTrialTime, raw, book)
}

func trialWithin(most time.Duration, raw []byte, book *policy.Rulebook) (err error) {
	trialsWithin(most, raw, book, func(t policy.Test, failed error) bool {
		if failed != nil {
			err = fmt.Errorf("test %q: %w", trade.Printable(t.Name, 64), failed)
		}
		return failed == nil
	})
	return err
}

// Trials runs the tests as Trial does and says of each, in their order, whether it failed, until it is told to stop.
func Trials(raw []byte, book *policy.Rulebook, tell func(t policy.Test, failed error) (more bool)) {
	trialsWithin(maxTrialTime, raw, book, tell)
}

func trialsWithin(most time.Duration, raw []byte, book *policy.Rulebook, tell func(t policy.Test, failed error) (more bool)) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	lines := 0
	for _, t := range book.Tests() {
		lines += len(t.Tape)
		err := fmt.Errorf("the tests have more than %d lines", maxTrialLines)
		if lines <= maxTrialLines {
			err = try(ctx, raw, t)
		}
		if !tell(t, err) {
			return
		}
	}
}

// try runs one test.
func try(ctx context.Context, raw []byte, t policy.Test) error {
	next := 0
	p, err := newPlayer(ctx, Config{Policy: raw, proved: true}, func(out []byte) error {
		if next == len(t.Expect) {
			return nil
		}
		v, err := wire.Read(out, wire.Limits{Bytes: len(out), Depth: maxDepth})
		if err == nil && matches(t.Expect[next], v) {
			next++
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range t.Tape {
		if err := p.trialLine(ctx, t.Tape[i]); err != nil {
			return fmt.Errorf("line %d of its tape: %w", i+1, err)
		}
	}
	if err := p.end(); err != nil {
		return err
	}
	if next < len(t.Expect) {
		return fmt.Errorf("line %d of what it expects did not come: %s", next+1, trade.Printable(string(appendValue(nil, t.Expect[next])), 200))
	}
	return nil
}

func (p *player) trialLine(ctx context.Context, v wire.Value) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the tests take too long: %w", err)
	}
	var l line
	if err := readLine(&l, appendValue(nil, v)); err != nil {
		return err
	}
	if l.kind == policyLine {
		return errors.New("a test is of the policy that it stands in, and brings no other")
	}
	return p.step(ctx, &l)
}

// matches reports whether a value has everything in it that is expected. An object may have more members, and an array
// more elements, than are expected; texts, numbers and booleans are equal as they are written.
func matches(want, got wire.Value) bool {
	if want.Kind != got.Kind || want.Text != got.Text {
		return false
	}
	for _, m := range want.Members {
		v, n := got.Member(m.Name)
		if n != 1 || !matches(m.Value, v) {
			return false
		}
	}
	next := 0
	for _, v := range got.Elems {
		if next < len(want.Elems) && matches(want.Elems[next], v) {
			next++
		}
	}
	return next == len(want.Elems)
}

// appendValue writes a value that was read, without its white space.
func appendValue(dst []byte, v wire.Value) []byte {
	switch v.Kind {
	case wire.String:
		return wire.AppendString(dst, v.Text)
	case wire.Null:
		return append(dst, "null"...)
	case wire.Array:
		dst = append(dst, '[')
		for i, e := range v.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, e)
		}
		return append(dst, ']')
	case wire.Object:
		dst = append(dst, '{')
		for i, m := range v.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(append(wire.AppendString(dst, m.Name), ':'), m.Value)
		}
		return append(dst, '}')
	case wire.Invalid, wire.Bool, wire.Number:
	}
	return append(dst, strings.TrimSpace(v.Text)...)
}
