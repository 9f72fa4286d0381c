package policy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sallyport/gatetest"
	"sallyport/policy"
)

// TestTheExamplesOfTheLimitsRun runs the example of each limit as docs/policy.md tells it.
func TestTheExamplesOfTheLimitsRun(t *testing.T) {
	page, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range policy.Limits() {
		b := mustBook(t, oneLimit(fmt.Sprintf("%q: %s", l.Name, l.Sample.Limit)))
		if got := sampleVerdict(t, b, l.Sample.Facts, l.Sample.Passes); got != "" {
			t.Errorf("%s: what passes comes to %s", l.Name, got)
		}
		for _, cell := range []string{l.Meaning, l.Unit, l.Facts, l.Missing, l.Source, l.Breach, l.Repair, l.Sample.Limit, l.Sample.Passes} {
			if cell == "" || strings.Contains(cell, "|") {
				t.Errorf("the row of %s has a cell that is empty or no cell: %+v", l.Name, l)
			}
		}
		if !strings.Contains(string(page), "With `\""+l.Name+"\": "+l.Sample.Limit+"`, `"+l.Sample.Passes+"`") {
			t.Errorf("the page does not show the example of %s", l.Name)
		}
		facts := l.Sample.Facts
		if l.Sample.Worse != "" {
			facts = l.Sample.Worse
		}
		if got := sampleVerdict(t, b, facts, l.Sample.Stops); got != string(l.Code) {
			t.Errorf("%s: what does not pass comes to %q", l.Name, got)
		}
	}
}

// sampleVerdict returns the code of the only reason, or nothing if the order is allowed.
func sampleVerdict(t *testing.T, b *policy.Rulebook, facts, line string) string {
	t.Helper()
	f, s := calm()
	cmd := &datadriven.TestData{Cmd: "judge"}
	if facts != "" {
		_, args, err := datadriven.ParseLine("judge " + facts)
		if err != nil {
			t.Fatal(err)
		}
		for _, arg := range args {
			change(t, cmd, &f, &s, arg)
		}
	}
	v := b.Evaluate(gatetest.Line(t, line), f, s)
	if v.Effect == policy.Allow {
		return ""
	}
	if len(v.Reasons) != 1 {
		return fmt.Sprint(v.Reasons)
	}
	return string(v.Reasons[0].Code)
}

func TestThePageOfVersion2ShowsAFileThatIsInForce(t *testing.T) {
	page := string(policy.AppendPolicyDoc(nil))
	if !strings.Contains(page, "is in force like any other") || strings.Contains(page, "of this release is stopped") {
		t.Error("the page does not say that it is in force")
	}
	_, after, _ := strings.Cut(page, "```text\n")
	file, _, ok := strings.Cut(after, "```")
	if b, err := policy.ParseV2([]byte(file), policy.World{}); !ok || err != nil || !b.IsValid() {
		t.Errorf("the file of the page is not valid: %v", err)
	}
	if file != string(policy.ExampleV2()) {
		t.Error("the page shows another file than the package")
	}
}
