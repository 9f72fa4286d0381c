package paper

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
)

// TestLookChangesNothing looks at a venue whose working order could be filled now, and whose day is over: both stay.
func TestLookChangesNothing(t *testing.T) {
	v := newVenue(t, "1000")
	v.quote("AAPL", "99", "100")
	v.send("a", "buy", "AAPL", "2", "100")
	v.send("b", "buy", "AAPL", "3", "50")
	v.quote("AAPL", "49", "50")
	before := v.events()
	for range 2 {
		h, err := Look(t.Context(), v.cfg.Path)
		if err != nil || h.Cash.String() != "800" || len(h.Positions) != 1 || h.Positions[0].Quantity.String() != "2" {
			t.Fatalf("%+v %v", h, err)
		}
	}
	v.want("the events", v.events(), before)
	if _, err := Look(t.Context(), filepath.Join(t.TempDir(), "none.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
