package paper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"sallyport/gate"
	"sallyport/store"
)

// Look returns what the account of a venue holds, as it was left: nothing is matched, nothing expires, and the book of an
// earlier release stays one. Every release knows cash and positions in the same way. The error is fs.ErrNotExist where
// there is no venue.
func Look(ctx context.Context, path string) (h gate.Holdings, err error) {
	steps, err := fs.Sub(schema, "schema")
	if err != nil {
		return h, fmt.Errorf("paper: %w", err)
	}
	db, err := store.Open(ctx, store.Config{Path: path, AppID: appID, Migrations: steps, Busy: lockWait, Look: true})
	if err != nil {
		return h, fmt.Errorf("paper: %w", err)
	}
	b := &Broker{db: db}
	defer func() { err = errors.Join(err, b.Close()) }()
	return b.Holdings(ctx)
}
