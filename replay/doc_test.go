package replay_test

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"sallyport/policy"
	"sallyport/replay"
	"sallyport/wire"
)

var update = flag.Bool("update", false, "write the outputs of docs/tapes.md and of testdata anew")

var example = regexp.MustCompile("(?s)```jsonl\n(.*?)```\n\n```jsonl\n(.*?)```")

// TestExamplesOfThePageAreWhatReplayPrints runs every tape of docs/tapes.md.
func TestExamplesOfThePageAreWhatReplayPrints(t *testing.T) {
	const path = "../docs/tapes.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	fresh := example.ReplaceAllFunc(page, func(b []byte) []byte {
		found++
		m := example.FindSubmatch(b)
		var out bytes.Buffer
		if err := replay.Run(t.Context(), replay.Config{Policy: policy.Default()}, bytes.NewReader(m[1]), &out); err != nil {
			t.Error(err)
		}
		if out.String() != string(m[2]) && !*update {
			t.Errorf("the tape\n%scomes to\n%sand the page says\n%s", m[1], out.String(), m[2])
		}
		lastLineIsSorted(t, out.Bytes())
		return []byte("```jsonl\n" + string(m[1]) + "```\n\n```jsonl\n" + out.String() + "```")
	})
	if found < 2 {
		t.Errorf("%d examples", found)
	}
	if *update {
		if err := os.WriteFile(path, fresh, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range strings.Fields("quote account position policy intent broker fill cancel approve decline kill reset") {
		if !bytes.Contains(page, []byte(`Z","`+kind+`":{`)) {
			t.Errorf("no example has a line of the kind %s", kind)
		}
	}
}

// lastLineIsSorted reads the last line of a replay: the keys of every object in it are in order, and none comes twice.
func lastLineIsSorted(t *testing.T, out []byte) {
	t.Helper()
	lines := bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n"))
	v, err := wire.Read(lines[len(lines)-1], wire.Limits{Bytes: 1 << 20, Depth: 8})
	if err != nil || len(v.Members) != 1 || v.Members[0].Name != "final" {
		t.Fatalf("%v: %s", err, lines[len(lines)-1])
	}
	var walk func(v wire.Value)
	walk = func(v wire.Value) {
		for i, m := range v.Members {
			if i > 0 && v.Members[i-1].Name >= m.Name {
				t.Errorf("%s comes after %s", m.Name, v.Members[i-1].Name)
			}
			walk(m.Value)
		}
	}
	walk(v)
}
