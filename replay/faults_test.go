package replay_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sallyport/replay"
)

// TestFaultTapes runs each tape of testdata/faults, whose name says which faults it makes, and compares what came of it, in
// a line each, with the file of the same name that ends in want.
func TestFaultTapes(t *testing.T) {
	tapes, err := filepath.Glob("testdata/faults/*.tape")
	if err != nil || len(tapes) < 20 {
		t.Fatalf("%d tapes, %v", len(tapes), err)
	}
	for _, name := range tapes {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".tape"), func(t *testing.T) {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := replay.Run(t.Context(), replay.Config{}, bytes.NewReader(raw), &out); err != nil {
				t.Fatal(err)
			}
			got := inWords(t, out.Bytes())
			path := strings.TrimSuffix(name, "tape") + "want"
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || got != string(want) {
				t.Errorf("%v: it comes to\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

// anID is the id of an intent, which depends on how much was recorded before.
var anID = regexp.MustCompile(`\b0[0-9A-HJKMNP-TV-Z]{25}\b`)

// printed is a line of what a tape came to: a decision, a change or the end.
type printed struct {
	At, Intent, Verdict, To, Reason, Error string
	Repeated                               bool
	MaxQuantity                            string `json:"max_quantity_now"`
	RetryAfter                             string `json:"retry_after"`
	Reasons                                []struct{ Code, Message string }
	Final                                  *struct {
		Positions map[string]struct{ Quantity string }
		Reserved  map[string]struct{ Buys, Sells string }
		Working   map[string]struct{ Status string }
		Kill      map[string]struct{ By, Reason string }
	}
}

// inWords writes what a tape came to in words.
func inWords(t *testing.T, out []byte) string {
	t.Helper()
	var b strings.Builder
	for line := range bytes.Lines(out) {
		var o printed
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatal(err)
		}
		switch {
		case o.Final != nil:
			o.end(&b)
		case o.Verdict == "":
			fmt.Fprintf(&b, "%s %s is %s: %s\n", o.At, o.Intent, o.To, o.Reason)
		default:
			o.decision(&b)
		}
	}
	return anID.ReplaceAllString(b.String(), "ID")
}

func (o *printed) decision(b *strings.Builder) {
	fmt.Fprintf(b, "%s %s: %s", o.At, o.Intent, o.Verdict)
	if o.Repeated {
		b.WriteString(", repeated")
	}
	if o.Error == "killswitch_active" {
		b.WriteString(", stopped")
	}
	if o.MaxQuantity != "" {
		b.WriteString(", at most " + o.MaxQuantity)
	}
	if o.RetryAfter != "" {
		b.WriteString(", in " + o.RetryAfter)
	}
	b.WriteByte('\n')
	for _, r := range o.Reasons {
		fmt.Fprintf(b, "\t%s: %s\n", r.Code, r.Message)
	}
}

func (o *printed) end(b *strings.Builder) {
	b.WriteString("at the end\n")
	for _, s := range slices.Sorted(maps.Keys(o.Final.Positions)) {
		fmt.Fprintf(b, "\t%s %s held\n", o.Final.Positions[s].Quantity, s)
	}
	for _, s := range slices.Sorted(maps.Keys(o.Final.Reserved)) {
		fmt.Fprintf(b, "\t%s reserved: buys %s, sells %s\n", s, o.Final.Reserved[s].Buys, o.Final.Reserved[s].Sells)
	}
	for _, id := range slices.Sorted(maps.Keys(o.Final.Working)) {
		fmt.Fprintf(b, "\t%s %s\n", id, o.Final.Working[id].Status)
	}
	for _, scope := range slices.Sorted(maps.Keys(o.Final.Kill)) {
		fmt.Fprintf(b, "\tstopped %s by %s: %s\n", scope, o.Final.Kill[scope].By, o.Final.Kill[scope].Reason)
	}
}
