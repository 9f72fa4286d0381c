package sallyport_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The ledger of faults. testdata/faults.json has every fault that has really hurt people whose programs place orders, with
// what must happen here instead. A line
//
//	//fault:f07
//
// directly above a test says that the test makes that fault and finds the outcome that the row names. In Python, and in a
// script of the command, the line is # fault:f07; a tape begins its name with the faults that it makes, as in
// f23-f24-what-rests-counts.tape.
type faultRow struct {
	ID      string `json:"id"`
	Fault   string `json:"fault"`
	Outcome string `json:"outcome"`
	// Rest is what of a fault that is tried belongs to a later capability.
	Rest string `json:"rest,omitempty"`
	// Untried is why a fault is not tried, and Belongs the capability that will bring it; of a fault that is tried neither.
	Untried string `json:"untried,omitempty"`
	Belongs string `json:"belongs,omitempty"`
}

type faultGroup struct {
	Title  string     `json:"title"`
	Faults []faultRow `json:"faults"`
}

// faultTrial is one place where a fault is tried.
type faultTrial struct {
	id, name string
	file     string // slash-separated, from the module's root
	pos      string
}

type faultsLedger struct {
	groups   []faultGroup
	trials   []faultTrial
	problems []finding
}

var (
	faultLine = regexp.MustCompile(`^(?://|# ?)fault:f([0-9]{2,3})$`)
	faultLike = regexp.MustCompile(`^(?://|#)\s*(?i:fault):`)
	faultTape = regexp.MustCompile(`^(?:f[0-9]{2,3}-)+[a-z0-9-]+\.tape$`)
	faultID   = regexp.MustCompile(`^F(0[1-9]|[1-9][0-9]|1[0-2][0-9]|13[0-4])$`)
)

const faultsFile = "testdata/faults.json"

func (l *faultsLedger) problem(pos, format string, args ...any) {
	l.problems = append(l.problems, finding{pos, fmt.Sprintf(format, args...)})
}

// read takes the rows, and complains of those that say too little.
func (l *faultsLedger) read(raw []byte) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l.groups); err != nil {
		l.problem(faultsFile, "%v", err)
	}
	last := ""
	for _, g := range l.groups {
		if g.Title == "" {
			l.problem(faultsFile, "a group has no title")
		}
		for _, r := range g.Faults {
			if !faultID.MatchString(r.ID) {
				l.problem(faultsFile, "%q is no number of a fault", r.ID)
			} else if n := fmt.Sprintf("%4s", r.ID[1:]); n <= last {
				l.problem(faultsFile, "%s does not come after the one before it", r.ID)
			} else {
				last = n
			}
			l.readRow(r)
		}
	}
}

func (l *faultsLedger) readRow(r faultRow) {
	for name, text := range map[string]string{"fault": r.Fault, "outcome": r.Outcome, "rest": r.Rest, "untried": r.Untried} {
		if must := name == "fault" || name == "outcome"; text == "" && !must {
			continue
		}
		if !strings.HasSuffix(text, ".") || strings.ContainsAny(text, "|\n") {
			l.problem(faultsFile, "the %s of %s is no sentence", name, r.ID)
		}
	}
	if (r.Untried == "") != (r.Belongs == "") {
		l.problem(faultsFile, "%s says why it is not tried or what it belongs to, and not both", r.ID)
	}
	if r.Untried != "" && r.Rest != "" {
		l.problem(faultsFile, "%s is not tried and has a rest", r.ID)
	}
}

// add takes one directive, which is number above the test of that name.
func (l *faultsLedger) add(number, name, file, pos string) {
	if name == "" {
		l.problem(pos, "the fault F%s does not stand directly above a test", number)
		return
	}
	l.trials = append(l.trials, faultTrial{id: "F" + number, name: name, file: file, pos: pos})
}

// scanGo takes the directives of one Go file.
func (l *faultsLedger) scanGo(fset *token.FileSet, f *sourceFile) {
	for _, g := range f.ast.Comments {
		for _, c := range g.List {
			if !faultLike.MatchString(c.Text) {
				continue
			}
			pos := fmt.Sprintf("%s:%d", f.name, fset.Position(c.Pos()).Line)
			switch m := faultLine.FindStringSubmatch(c.Text); {
			case m == nil:
				l.problem(pos, "%q names no fault: //fault:f07", c.Text)
			case !f.test:
				l.problem(pos, "faults are tried in tests")
			default:
				l.add(m[1], goTest(f.ast, g), f.name, pos)
			}
		}
	}
}

// scanLines takes the directives of a Python file, of which each stands above a test, or of a script, which is a test.
func (l *faultsLedger) scanLines(name string, src []byte) {
	lines := strings.Split(string(src), "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "#") || !faultLike.MatchString(line) {
			continue
		}
		pos := fmt.Sprintf("%s:%d", name, i+1)
		m := faultLine.FindStringSubmatch(line)
		if m == nil {
			l.problem(pos, "%q names no fault: # fault:f07", line)
			continue
		}
		test := path.Base(name)
		if path.Ext(name) == ".py" {
			test = pythonTest(lines[i+1:])
		}
		l.add(m[1], test, name, pos)
	}
}

// pythonTest names the test that the next line which is no comment begins.
func pythonTest(lines []string) string {
	for _, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		if def := pythonDef.FindStringSubmatch(line); def != nil && strings.HasPrefix(def[1], "test") {
			return def[1]
		}
		return ""
	}
	return ""
}

// scanTape takes the faults of which a tape's name tells. A tape has its expected output beside it.
func (l *faultsLedger) scanTape(name string, wanted bool) {
	base := path.Base(name)
	if !faultTape.MatchString(base) {
		l.problem(name, "the tape does not begin its name with the faults that it makes")
		return
	}
	if !wanted {
		l.problem(name, "the tape has no expected output beside it")
	}
	for part := range strings.SplitSeq(base, "-") {
		m := faultLine.FindStringSubmatch("#fault:" + part)
		if m == nil {
			break
		}
		l.add(m[1], base, name, name)
	}
}

// judge compares the rows with the trials.
func (l *faultsLedger) judge() []finding {
	found := slices.Clone(l.problems)
	rows, tried := map[string]bool{}, map[string]bool{}
	for _, g := range l.groups {
		for _, r := range g.Faults {
			rows[r.ID] = true
		}
	}
	for _, c := range l.trials {
		tried[c.id] = true
		if !rows[c.id] {
			found = append(found, finding{c.pos, fmt.Sprintf("%s has no row in %s", c.id, faultsFile)})
		}
	}
	for _, g := range l.groups {
		for _, r := range g.Faults {
			switch {
			case r.Untried == "" && !tried[r.ID]:
				found = append(found, finding{faultsFile, fmt.Sprintf("no test tries %s", r.ID)})
			case r.Untried != "" && tried[r.ID]:
				found = append(found, finding{faultsFile, fmt.Sprintf("%s is said not to be tried, and it is", r.ID)})
			}
		}
	}
	return found
}

// page writes docs/faults.md.
func (l *faultsLedger) page() []byte {
	tried, rows := 0, 0
	for _, g := range l.groups {
		for _, r := range g.Faults {
			rows++
			if r.Untried == "" {
				tried++
			}
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Faults\n\n<!-- Generated from the source by `make docs`. Do not edit. -->\n\n"+
		"What has really gone wrong for people whose programs place orders: at trading firms, in open programs that trade, and\n"+
		"with agents that had a broker's key. Of %d faults %d are made again by tests, which find that here the outcome is\n"+
		"another. The rest belong to what Sallyport does not do. Numbers are never given twice; some are not given.\n", rows, tried)
	for _, g := range l.groups {
		fmt.Fprintf(&b, "\n## %s\n\n| fault | what goes wrong | what must happen | tried by |\n|---|---|---|---|\n", g.Title)
		for _, r := range g.Faults {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.ID, r.Fault, r.Outcome, l.where(r))
		}
	}
	return b.Bytes()
}

// where says where a fault is tried, or why it is not.
func (l *faultsLedger) where(r faultRow) string {
	if r.Untried != "" {
		return fmt.Sprintf("Not tried: %s Belongs to %s.", r.Untried, r.Belongs)
	}
	var links []string
	for _, c := range l.trials {
		link := fmt.Sprintf("[`%s`](../%s)", c.name, c.file)
		if c.id == r.ID && !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	slices.Sort(links)
	text := strings.Join(links, ", ")
	if r.Rest != "" {
		text += ". Not tried: " + r.Rest
	}
	return text
}

// scanFaults takes the rows and the trials of the whole module.
func scanFaults(t *testing.T) *faultsLedger {
	t.Helper()
	l := &faultsLedger{}
	raw, err := os.ReadFile(faultsFile)
	if err != nil {
		t.Fatal(err)
	}
	l.read(raw)
	for _, p := range module(t) {
		for _, f := range p.files {
			l.scanGo(p.fset, f)
		}
	}
	for _, root := range []string{"plugins", "cmd/sallyport/testdata/script", "replay/testdata/faults"} {
		if err := l.scanTree(root); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l *faultsLedger) scanTree(root string) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) && name == root {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		slashed := filepath.ToSlash(name)
		switch filepath.Ext(name) {
		case ".py", ".txtar":
			src, err := os.ReadFile(name)
			l.scanLines(slashed, src)
			return err
		case ".tape":
			_, err := os.Stat(strings.TrimSuffix(name, ".tape") + ".want")
			l.scanTape(slashed, err == nil)
		}
		return nil
	})
}

// TestEveryFaultIsTried holds the rows against the tests.
func TestEveryFaultIsTried(t *testing.T) {
	l := scanFaults(t)
	for _, f := range l.judge() {
		t.Error(f)
	}
	rows := 0
	for _, g := range l.groups {
		rows += len(g.Faults)
	}
	if rows != 107 {
		t.Errorf("%d faults have a row, want 107", rows)
	}
}

// TestFaultsPageIsCurrent compares docs/faults.md with the source.
func TestFaultsPageIsCurrent(t *testing.T) { comparePage(t, "docs/faults.md", scanFaults(t).page()) }

// scanText is scanGo of a synthetic file.
func (l *faultsLedger) scanText(t *testing.T, name, src string) {
	t.Helper()
	l.scanGo(parseText(t, name, src))
}
