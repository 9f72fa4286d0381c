package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/replay"
	"sallyport/trade"
	"sallyport/wire"
)

// maxIntents is how many orders of a tape are compared.
//
//limit:cli-tape-intents On a tape with more than 1,000,000 orders no policy is tried or compared.
const maxIntents = 1_000_000

// maxTapeLine is the longest line that is read of what a replay prints, or of a tape that one has taken.
//
//limit:cli-tape-line A line of a tape or of its replay is read up to 2 MiB; a longer one ends the command.
const maxTapeLine = 2 << 20

// maxTapeDepth is how deep such a line may be nested.
//
//limit:cli-tape-depth A line of a tape or of its replay that is nested over 40 levels ends the command.
const maxTapeDepth = 40

// ruled is what a policy said of one order of a tape.
type ruled struct {
	intent   string
	agent    string
	verdict  policy.Effect
	codes    []string
	repeated bool // it answers an earlier one again

	symbol trade.Symbol
	side   trade.Side
	text   string // the order in a few words
	order  string // as an object; null for what is no order
}

// ruling takes in what a replay prints, line by line.
type ruling struct {
	part  []byte // of a line that is not whole yet
	each  func(ruled) error
	most  int // orders that are taken
	taken int
	final bool
	replayed
}

// replayed is what a replay came to.
type replayed struct {
	kill    []string        // the switches that are engaged at the end
	granted map[string]bool // the intents that people approved
}

var errTapeLine = errors.New("a line is too long")

// Write implements io.Writer.
func (r *ruling) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		r.part = append(r.part, line...)
		if len(r.part) > maxTapeLine {
			return 0, errTapeLine
		}
		if !whole {
			return n, nil
		}
		if err := r.line(r.part); err != nil {
			return 0, err
		}
		r.part, b = r.part[:0], rest
	}
}

func (r *ruling) line(line []byte) error {
	v, err := wire.Read(line, wire.Limits{Bytes: maxTapeLine, Depth: maxTapeDepth})
	if err != nil {
		return err
	}
	if final, n := v.Member("final"); n > 0 {
		kill, _ := final.Member("kill")
		for _, m := range kill.Members {
			r.kill = append(r.kill, m.Name)
		}
		r.final = true
		return nil
	}
	verdict, n := v.Member("verdict")
	if n == 0 {
		if textOf(v, "to") == string(ledger.ApprovalGranted) { // a change of an order that was decided before
			r.granted[textOf(v, "intent")] = true
		}
		return nil
	}
	if r.taken++; r.taken > r.most {
		return usage("Cut the tape.", "it has more than %s orders", count(uint64(r.most)))
	}
	d := ruled{intent: textOf(v, "intent"), agent: textOf(v, "agent"), order: "null"}
	d.verdict, _ = policy.ParseEffect(verdict.Text)
	repeated, _ := v.Member("repeated")
	d.repeated = repeated.Text == "true"
	reasons, _ := v.Member("reasons")
	for _, reason := range reasons.Elems {
		if code := textOf(reason, "code"); !slices.Contains(d.codes, code) {
			d.codes = append(d.codes, code)
		}
	}
	d.ofOrder(line, v)
	return r.each(d)
}

// ofOrder takes the order out of a decision.
func (d *ruled) ofOrder(line []byte, v wire.Value) {
	o, n := v.Member("order")
	if n == 0 || o.Kind != wire.Object {
		d.text = orderLine(trade.Order{})
		return
	}
	d.order = string(valueBytes(line, o.Offset))
	d.symbol, _ = trade.ParseSymbol(textOf(o, "symbol"))
	d.side, _ = trade.ParseSide(textOf(o, "side"))
	size := textOf(o, "quantity")
	if size == "" {
		size = textOf(o, "notional") + " USD of"
	}
	parts := []string{d.side.String(), size, d.symbol.String()}
	if t := textOf(o, "type"); t != trade.Limit.String() {
		parts = append(parts, t)
	}
	if p := textOf(o, "stop_price"); p != "" {
		parts = append(parts, "stop "+p)
	}
	if p := textOf(o, "limit_price"); p != "" {
		parts = append(parts, "at "+p)
	}
	d.text = strings.Join(parts, " ")
}

// textOf returns a member that is text; nothing if it is not there.
func textOf(v wire.Value, name string) string {
	m, _ := v.Member(name)
	if m.Kind != wire.String {
		return ""
	}
	return m.Text
}

// play replays a tape under a policy and calls each with what is said of each of its orders. The policies that the tape
// brings along are passed over.
func (a *app) play(ctx context.Context, f rulesFile, tape string, each func(ruled) error) (replayed, error) {
	in, done, err := a.openTape(ctx, tape)
	if err != nil {
		return replayed{}, err
	}
	defer done()
	r := &ruling{each: each, most: maxIntents, replayed: replayed{granted: map[string]bool{}}}
	err = replay.Run(ctx, replay.Config{Policy: f.raw, Only: true}, in, r)
	var p *problem
	var at *replay.Error
	switch {
	case errors.As(err, &p):
		return replayed{}, p
	case errors.As(err, &at):
		return replayed{}, usage("Correct the tape; 'sallyport replay' runs it alone.", "%s, %s", showPath(tape), plain(at))
	case err != nil:
		return replayed{}, fmt.Errorf("%s cannot be replayed: %w", tape, err)
	case !r.final:
		return replayed{}, fmt.Errorf("%s: its replay did not come to its end", tape)
	}
	return r.replayed, nil
}

// openTape opens a tape, which is read more than once.
func (a *app) openTape(ctx context.Context, path string) (io.Reader, func(), error) {
	const repair = "Name a tape, a file of JSON Lines; 'sallyport audit export --tape' writes one."
	if path == "-" {
		return nil, nil, usage(repair, "a tape is read more than once, so it cannot be standard input")
	}
	f, done, err := open(ctx, path)
	if err != nil {
		return nil, nil, usage(repair, "the tape cannot be read: %s", plain(err))
	}
	return f, done, nil
}
