package replay

import (
	"context"
	"time"

	"sallyport/policy"
)

// The bounds that tests attack.
const (
	MaxLine       = maxLine
	MaxDepth      = maxDepth
	MaxText       = maxText
	MaxReason     = maxReason
	MaxSymbols    = maxSymbols
	Remembered    = remembered
	MaxTrialLines = maxTrialLines
)

// ReadQuick and ReadSlow read one line both ways. The text is all that was read of it; quick says that the first way took it.
func ReadQuick(q *Quick, raw []byte) (read string, quick bool) {
	var l line
	quick = q.quote(&l, raw)
	return l.text(), quick
}

// Quick is the quick way.
type Quick = quick

// ReadSlow reads a line with care.
func ReadSlow(raw []byte) (read string, err error) {
	var l line
	err = readLine(&l, raw)
	return l.text(), err
}

func (l *line) text() string {
	return l.kind.String() + " " + l.at.String() + " " + l.symbol.String() + " " + l.bid.String() + " " + l.ask.String() + " " + l.last.String()
}

// TrialWithin is Trial in so much time.
func TrialWithin(most time.Duration, raw []byte, book *policy.Rulebook) error {
	return trialWithin(most, raw, book)
}

// Known returns how many intents, records of ended ones included, a replay of these lines knows at its end.
func Known(ctx context.Context, cfg Config, lines [][]byte) (int, error) {
	p, err := newPlayer(ctx, cfg, func([]byte) error { return nil })
	for _, raw := range lines {
		if err == nil {
			err = p.line(ctx, raw)
		}
	}
	return len(p.intents.byIntent), err
}

// ExportRemembers is exportRemembers.
const ExportRemembers = exportRemembers

// Named returns of how many intents, and of how many ids of agents, an exporter knows.
func (x *Exporter) Named() (intents, ids int) { return len(x.known), len(x.ids) }
