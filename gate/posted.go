package gate

import (
	"context"
	"errors"

	"sallyport/journal"
	"sallyport/ledger"
)

// ErrNothingPosted says that nothing is pending that a person could end.
var ErrNothingPosted = errors.New("nothing is pending there that was reported as accepted")

// EndPosted releases, by a person's word, what harnesses reported as accepted in a symbol at a venue whose fills nobody
// tells us. Its answer is what was pending.
func (g *Gate) EndPosted(ctx context.Context, e ledger.PostedEnded) (ledger.Held, error) {
	was := ledger.Held{Account: e.Account, Symbol: e.Symbol}
	if e.By == "" || e.Reason == "" {
		return was, errors.New("an end of what is pending needs who says so, and why")
	}
	err := g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		var unsized int
		was.PendingBuys, was.PendingSells, unsized = g.follow.state.Posted(e.Account, e.Symbol)
		if was.PendingBuys.Sign() == 0 && was.PendingSells.Sign() == 0 && unsized == 0 {
			return ErrNothingPosted
		}
		g.record(tx, at, e.Account, e)
		return nil
	})
	return was, err
}
