package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOthersDoNotReadANewDataDirectory makes one in directories that others can read.
//
//attack:cli-home-private
func TestOthersDoNotReadANewDataDirectory(t *testing.T) {
	for _, args := range [][]string{{"init"}, {"order", resting}} {
		for name, c := range map[string]struct {
			mode  os.FileMode
			holds string // a file that is there already
			want  os.FileMode
			told  bool
		}{
			"empty":                 {0o755, "", 0o700, false},
			"empty, of a group":     {0o750, "", 0o700, false},
			"private":               {0o700, "x", 0o700, false},
			"with a file of theirs": {0o755, "x", 0o755, true},
		} {
			home := filepath.Join(t.TempDir(), "d")
			if err := os.Mkdir(home, c.mode); err != nil {
				t.Fatal(err)
			}
			if c.holds != "" {
				if err := os.WriteFile(filepath.Join(home, c.holds), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			h := &house{t: t, home: home}
			r := h.must(exitFine, []string{tierVariable + "=2"}, args...)
			fi, err := os.Stat(home)
			if err != nil {
				t.Fatal(err)
			}
			if told := strings.Contains(r.errOut, "others can read the data directory"); fi.Mode().Perm() != c.want || told != c.told {
				t.Errorf("%s, %s: mode %04o, want %04o; told %v, want %v: %s", args[0], name, fi.Mode().Perm(), c.want, told, c.told, r.errOut)
			}
		}
	}
}

func TestADefaultAddressThatIsTakenIsTold(t *testing.T) {
	missing := without([]string{"127.0.0.1:8371", "127.0.0.1:8372"}, []string{"", "127.0.0.1:8372"})
	if len(missing) != 1 || missing[0] != "127.0.0.1:8371" {
		t.Errorf("%q", missing)
	}
	if missing := without([]string{none, "127.0.0.1:8372"}, []string{"", "127.0.0.1:8372"}); len(missing) != 0 {
		t.Errorf("%q", missing)
	}
}
