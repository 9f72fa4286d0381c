package dialect_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sallyport/dialect"
	"sallyport/trade"
)

func find(t testing.TB, name string) *dialect.Dialect {
	t.Helper()
	d, ok := dialect.Find(name)
	if !ok {
		t.Fatalf("there is no dialect %s", name)
	}
	return d
}

// input is the text of a test case; text that begins with a double quote is a Go string, for bytes that a text file
// cannot hold.
func input(t testing.TB, s string) []byte {
	t.Helper()
	if !strings.HasPrefix(s, `"`) {
		return []byte(s)
	}
	raw, err := strconv.Unquote(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return []byte(raw)
}

// TestCorpus runs the requests of testdata/corpus: what each becomes, byte for byte.
func TestCorpus(t *testing.T) {
	datadriven.Walk(t, "testdata/corpus", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "same" {
				return same(t, d)
			}
			return show(find(t, d.Cmd).Parse("", input(t, d.Input)))
		})
	})
}

func show(o trade.Order, tags trade.Tags, faults []trade.Fault) string {
	var out strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&out, "%s field=%q observed=%q\n  %s\n", f.Code, f.Field, f.Observed, f.Message)
	}
	if len(faults) > 0 {
		if !o.IsZero() || tags != (trade.Tags{}) {
			out.WriteString("AN ORDER COMES WITH THE FAULTS\n")
		}
		return out.String()
	}
	fmt.Fprintf(&out, "%s\n%s\n", o.AppendJSON(nil), o.Digest())
	if tags.ClientOrderID != "" {
		fmt.Fprintf(&out, "id %s\n", tags.ClientOrderID)
	}
	if tags.Reason != "" {
		fmt.Fprintf(&out, "reason %q\n", tags.Reason)
	}
	return out.String()
}

// same parses lines of "dialect arguments", for one account, and says which order all of them are.
func same(t *testing.T, d *datadriven.TestData) string {
	first := ""
	for line := range strings.Lines(d.Input) {
		name, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		o, _, faults := find(t, name).Parse("main", []byte(args))
		got := show(o, trade.Tags{}, faults)
		if first == "" {
			first = got
		}
		if got != first {
			return fmt.Sprintf("%s\ndiffers:\n%s", line, got)
		}
	}
	return first
}
