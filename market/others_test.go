package market

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFileThatEverybodyCanWriteIsNotUsed: also when it was read before, and only until that is taken away.
//
//attack:market-file-others
func TestFileThatEverybodyCanWriteIsNotUsed(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour) // so that what is read is kept
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		return path
	}
	quotes := &File{Path: write("quotes.jsonl", string(Sample()))}
	list := &Listing{Path: write("instruments.jsonl", `{"symbol":"AAPL","asset_class":"us_equity","currency":"USD","tick":"0.01","lot":"1","minimum":"1","multiplier":"1"}`+"\n")}
	for _, c := range []struct {
		mode os.FileMode
		used bool
	}{{0o600, true}, {0o602, false}, {0o644, true}, {0o666, false}, {0o600, true}} {
		for _, path := range []string{quotes.Path, list.Path} {
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
		}
		_, err := quotes.Book()
		_, listErr := list.Instruments()
		for _, err := range []error{err, listErr} {
			if (err == nil) != c.used || err != nil && !strings.Contains(err.Error(), "everybody can write it") {
				t.Errorf("mode %04o: %v", c.mode, err)
			}
		}
	}
}
