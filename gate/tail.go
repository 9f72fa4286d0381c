package gate

import (
	"context"

	"sallyport/journal"
)

// Tail hands every record from first on to read, oldest first, up to the one that is the newest now.
func (g *Gate) Tail(ctx context.Context, first journal.Seq, read func(journal.Record) error) error {
	for r, err := range g.journal.Records(ctx, first) {
		if err != nil {
			return err
		}
		if err := read(r); err != nil {
			return err
		}
	}
	return nil
}
