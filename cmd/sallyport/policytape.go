package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/replay"
	"sallyport/wire"
)

// maxIntents is how many orders of a tape are compared.
//
//limit:cli-tape-intents On a tape with more than 1,000,000 orders no policy is tried or compared.
const maxIntents = 1_000_000

// ruled is what a policy said of one order of a tape.
type ruled struct {
	intent  string
	agent   string
	verdict policy.Effect
	codes   []string
	text    string // the order in words
	order   string // as an object; null for what is no order
}

// ruling takes in what a replay prints, line by line.
type ruling struct {
	each  func(ruled) error
	most  int // orders that are taken
	taken int
	final bool
	replayed
}

// replayed is what a replay came to.
type replayed struct {
	kill    []string          // the switches that are engaged at the end
	refused map[string]string // why an intent was denied although people approved it
	sent    fills             // of orders that the policy let through
	missed  fills             // of orders that it stopped
}

func (r *ruling) line(v wire.Value) error {
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
		if textOf(v, "from") == string(ledger.ApprovalPending) && textOf(v, "to") == string(ledger.Blocked) {
			r.refused[textOf(v, "intent")] = textOf(v, "reason")
		}
		return nil // a change of an order that was decided before
	}
	if r.taken++; r.taken > r.most {
		return usage("Cut the tape.", "it has more than %s orders", count(uint64(r.most)))
	}
	d := ruled{intent: textOf(v, "intent"), agent: textOf(v, "agent"), order: "null"}
	d.verdict, _ = policy.ParseEffect(verdict.Text)
	reasons, _ := v.Member("reasons")
	for _, reason := range reasons.Elems {
		if code := textOf(reason, "code"); !slices.Contains(d.codes, code) {
			d.codes = append(d.codes, code)
		}
	}
	o := orderIn(v)
	if d.text = o.Line(); !o.IsZero() {
		d.order = string(o.AppendJSON(nil))
	}
	return r.each(d)
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
	cfg, err := f.in.tape(f.raw)
	if err != nil {
		return replayed{}, err
	}
	r := &ruling{each: each, most: maxIntents, replayed: replayed{refused: map[string]string{}, sent: fills{}, missed: fills{}}}
	cfg.Only, cfg.Fills, cfg.Closing = true, r.fill, r.sent.close
	err = replay.Run(ctx, cfg, in, &printed{each: r.line})
	switch {
	case err != nil:
		return replayed{}, replayProblem(tape, err)
	case !r.final:
		return replayed{}, fmt.Errorf("%s: its replay did not come to its end", tape)
	}
	return r.replayed, nil
}

// fill takes in a fill that the tape has.
func (r *ruling) fill(f replay.Fill) {
	if f.Sent {
		r.sent.take(f)
	} else {
		r.missed.take(f)
	}
}

// openTape opens a tape, which may be read more than once.
func (a *app) openTape(ctx context.Context, path string) (io.Reader, func(), error) {
	const repair = "Name a tape, a file of JSON Lines; 'sallyport audit export --tape' writes one."
	if path == "-" {
		return nil, nil, usage(repair, "a tape may be read more than once, so it cannot be standard input")
	}
	f, done, err := open(ctx, path)
	if err != nil {
		return nil, nil, usage(repair, "the tape cannot be read: %s", plain(err))
	}
	return f, done, nil
}
