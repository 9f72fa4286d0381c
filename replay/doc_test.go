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
