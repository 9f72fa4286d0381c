package paper

import (
	"errors"
	"io/fs"
	"os"
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

// TestLookLeavesTheBookOfAnEarlierReleaseAsItIs looks at the venue that v0.1.0 left, whose schema is older than this
// program's.
func TestLookLeavesTheBookOfAnEarlierReleaseAsItIs(t *testing.T) {
	book, err := os.ReadFile("../../testdata/releases/v0.1.0/home/paper.db")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "paper.db")
	if err := errors.Join(os.Chmod(dir, 0o700), os.WriteFile(path, book, 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h, err := Look(t.Context(), path)
		if err != nil || h.Cash.String() != "98500.5" || len(h.Positions) != 1 || h.Positions[0].Quantity.String() != "10" {
			t.Fatalf("%+v %v", h, err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(book) {
		t.Errorf("the book has changed, or %v", err)
	}
	if beside, err := filepath.Glob(path + "?*"); err != nil || len(beside) > 0 {
		t.Errorf("%v %v", beside, err)
	}
}
