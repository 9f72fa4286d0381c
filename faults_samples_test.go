package sallyport_test

import (
	"path"
	"strings"
	"testing"
)

const (
	faultRows  = `[{"title":"A","faults":[{"id":"F07","fault":"It breaks.","outcome":"It holds."}]}]`
	faultTest  = "package gate\n\n// TestBreak breaks it.\n//\n//fault:f07\nfunc TestBreak(t *testing.T) {}\n"
	faultLater = `[{"title":"A","faults":[{"id":"F07","fault":"It breaks.","outcome":"It holds.","untried":"There is none.","belongs":"more"}]}]`
)

// TestFaultsLedgerFindsWhatItForbids gives the ledger synthetic rows and sources.
func TestFaultsLedgerFindsWhatItForbids(t *testing.T) {
	row := func(members string) string { return `[{"title":"A","faults":[` + members + `]}]` }
	other := `{"id":"F08","fault":"It breaks.","outcome":"It holds."}`
	seven := `{"id":"F07","fault":"It breaks.","outcome":"It holds."}`
	for name, c := range map[string]struct {
		rows  string
		files map[string]string
		want  string
	}{
		"whole":                   {faultRows, map[string]string{"gate/a_test.go": faultTest}, ""},
		"fuzz target":             {faultRows, map[string]string{"gate/a_test.go": strings.ReplaceAll(faultTest, "TestBreak", "FuzzBreak")}, ""},
		"not tried, and says why": {faultLater, nil, ""},
		"not tried":               {faultRows, nil, "no test tries F07"},
		"another one tried":       {row(seven + "," + other), map[string]string{"gate/a_test.go": faultTest}, "no test tries F08"},
		"unknown number": {
			faultRows, map[string]string{"gate/a_test.go": faultTest, "gate/b_test.go": strings.ReplaceAll(faultTest, "f07", "f08")}, "F08 has no row",
		},
		"tried though it is said not to be": {faultLater, map[string]string{"gate/a_test.go": faultTest}, "said not to be tried"},
		"on a helper":                       {faultRows, map[string]string{"gate/a_test.go": strings.ReplaceAll(faultTest, "TestBreak", "check")}, "directly above a test"},
		"on a benchmark":                    {faultRows, map[string]string{"gate/a_test.go": strings.ReplaceAll(faultTest, "TestBreak", "BenchmarkA")}, "directly above a test"},
		"on a method":                       {faultRows, map[string]string{"gate/a_test.go": strings.ReplaceAll(faultTest, "func Test", "func (s) Test")}, "directly above a test"},
		"with a gap":                        {faultRows, map[string]string{"gate/a_test.go": strings.ReplaceAll(faultTest, "f07\n", "f07\n\n")}, "directly above a test"},
		"inside a test":                     {faultRows, map[string]string{"gate/a_test.go": "package gate\n\nfunc TestA() {\n\t//fault:f07\n\tf()\n}\n"}, "directly above a test"},
		"in the code":                       {faultRows, map[string]string{"gate/a.go": faultTest}, "tried in tests"},
		"in upper case":                     {faultRows, map[string]string{"gate/a_test.go": strings.ReplaceAll(faultTest, "f07", "F07")}, "names no fault"},
		"misspelt with a space":             {faultRows, map[string]string{"gate/a_test.go": strings.ReplaceAll(faultTest, "//fault", "// fault")}, "names no fault"},
		"with more words":                   {faultRows, map[string]string{"gate/a_test.go": strings.ReplaceAll(faultTest, "f07", "f07 and f08")}, "names no fault"},
		"one digit":                         {faultRows, map[string]string{"gate/a_test.go": strings.ReplaceAll(faultTest, "f07", "f7")}, "names no fault"},
		"python whole":                      {faultRows, map[string]string{"plugins/test_a.py": "# fault:f07\n# another\ndef test_a():\n    pass\n"}, ""},
		"python on a helper":                {faultRows, map[string]string{"plugins/test_a.py": "# fault:f07\ndef check():\n    pass\n"}, "directly above a test"},
		"python with a gap":                 {faultRows, map[string]string{"plugins/test_a.py": "# fault:f07\n\ndef test_a():\n    pass\n"}, "directly above a test"},
		"python at the end":                 {faultRows, map[string]string{"plugins/test_a.py": "# fault:f07"}, "directly above a test"},
		"script whole":                      {faultRows, map[string]string{"cmd/a.txtar": "# fault:f07\nexec sallyport\n"}, ""},
		"script misspelt":                   {faultRows, map[string]string{"cmd/a.txtar": "# fault: f07\nexec sallyport\n"}, "names no fault"},
		"tape whole":                        {faultRows, map[string]string{"replay/f07-it-breaks.tape": "", "replay/f07-it-breaks.want": ""}, ""},
		"tape of two": {
			row(seven + "," + other), map[string]string{"replay/f07-f08-it-breaks.tape": "", "replay/f07-f08-it-breaks.want": ""}, "",
		},
		"tape without a number":   {faultRows, map[string]string{"replay/it-breaks.tape": "", "replay/it-breaks.want": ""}, "does not begin its name"},
		"tape with a number last": {faultRows, map[string]string{"replay/it-f07.tape": "", "replay/it-f07.want": ""}, "does not begin its name"},
		"tape without a want":     {faultRows, map[string]string{"replay/f07-it-breaks.tape": ""}, "no expected output"},
		"tape of an unknown one":  {faultRows, map[string]string{"replay/f08-it-breaks.tape": "", "replay/f08-it-breaks.want": ""}, "F08 has no row"},
		"rows twice":              {row(seven + "," + seven), nil, "does not come after"},
		"rows out of order":       {row(other + "," + seven), nil, "does not come after"},
		"row beyond":              {row(`{"id":"F135","fault":"A.","outcome":"B."}`), nil, "no number of a fault"},
		"row of nothing":          {row(`{"id":"F00","fault":"A.","outcome":"B."}`), nil, "no number of a fault"},
		"row with a key too many": {row(`{"id":"F07","fault":"A.","outcome":"B.","skip":true}`), nil, "unknown field"},
		"row without an outcome":  {row(`{"id":"F07","fault":"A."}`), nil, "the outcome of F07 is no sentence"},
		"row that breaks a table": {row(`{"id":"F07","fault":"A | b.","outcome":"B."}`), nil, "the fault of F07 is no sentence"},
		"reason without a home":   {row(`{"id":"F07","fault":"A.","outcome":"B.","untried":"C."}`), nil, "and not both"},
		"home without a reason":   {row(`{"id":"F07","fault":"A.","outcome":"B.","belongs":"C"}`), nil, "and not both"},
		"rest of nothing":         {row(`{"id":"F07","fault":"A.","outcome":"B.","untried":"C.","belongs":"D","rest":"E."}`), nil, "has a rest"},
		"group without a title":   {`[{"faults":[]}]`, nil, "no title"},
		"no JSON":                 {`[`, nil, faultsFile},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			found := scanSamples(t, c.rows, c.files).judge()
			if c.want == "" && len(found) > 0 {
				t.Errorf("found %v, want nothing", found)
			}
			if c.want != "" && !contains(found, c.want) && !strings.Contains(found[0].String(), c.want) {
				t.Errorf("found %v, want one that says %q", found, c.want)
			}
		})
	}
}

func scanSamples(t *testing.T, rows string, files map[string]string) *faultsLedger {
	t.Helper()
	l := &faultsLedger{}
	l.read([]byte(rows))
	for name, src := range files {
		switch path.Ext(name) {
		case ".go":
			l.scanText(t, name, src)
		case ".tape":
			_, wanted := files[strings.TrimSuffix(name, ".tape")+".want"]
			l.scanTape(name, wanted)
		case ".py", ".txtar":
			l.scanLines(name, []byte(src))
		}
	}
	return l
}

// TestFaultsPageSaysWhereEachIsTried writes the page of a synthetic ledger.
func TestFaultsPageSaysWhereEachIsTried(t *testing.T) {
	rows := `[{"title":"A","faults":[{"id":"F07","fault":"It breaks.","outcome":"It holds.","rest":"The other half."},
		{"id":"F08","fault":"It falls.","outcome":"It stands.","untried":"There is none.","belongs":"more"}]}]`
	page := string(scanSamples(t, rows, map[string]string{
		"gate/a_test.go": faultTest, "replay/f07-it-breaks.tape": "", "replay/f07-it-breaks.want": "",
	}).page())
	for _, want := range []string{
		"Of 2 faults 1 are made again", "\n## A\n",
		"| F07 | It breaks. | It holds. | [`TestBreak`](../gate/a_test.go), [`f07-it-breaks.tape`](../replay/f07-it-breaks.tape). Not tried: The other half. |\n",
		"| F08 | It falls. | It stands. | Not tried: There is none. Belongs to more. |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
