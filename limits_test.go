package sallyport_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
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

var update = flag.Bool("update", false, "write the generated pages instead of comparing them")

// The limits ledger. A line
//
//	//limit:some-id One sentence.
//
// directly above what enforces a limit names it, and a line
//
//	//attack:some-id
//
// directly above a test names a limit that the test tries to break. In Python the lines begin with # instead of //.
type limitRow struct {
	id, text string
	pkg      string
	where    string // file and the declaration that holds it
	pos      string // file and line, for complaints
}

type attackRow struct {
	id, test string
	pos      string
}

// limitsLedger is every row of the source and what is wrong with the rows themselves.
type limitsLedger struct {
	limits   []limitRow
	attacks  []attackRow
	problems []finding
}

var (
	limitLine  = regexp.MustCompile(`^(?://|# ?)limit:([a-z0-9]+(?:-[a-z0-9]+)+) (\S.*\.)$`)
	attackLine = regexp.MustCompile(`^(?://|# ?)attack:([a-z0-9]+(?:-[a-z0-9]+)+)$`)
	anyLine    = regexp.MustCompile(`^(?://|#)\s*(limit|attack):`)
	pythonMax  = regexp.MustCompile(`^[A-Z_]*(SECONDS|BYTES|LIMIT|MAX|TIMEOUT|DEPTH)[A-Z_]* *=`)
	pythonDef  = regexp.MustCompile(`^\s*(?:async\s+)?(?:def|class)\s+(\w+)`)
)

// judge compares the two sides of the ledger.
func (l *limitsLedger) judge() []finding {
	found := slices.Clone(l.problems)
	limits, attacks := map[string]string{}, map[string]bool{}
	for _, a := range l.attacks {
		attacks[a.id] = true
	}
	for _, r := range l.limits {
		if first, twice := limits[r.id]; twice {
			found = append(found, finding{r.pos, fmt.Sprintf("the limit %s is already named at %s", r.id, first)})
		}
		limits[r.id] = r.pos
		if !attacks[r.id] {
			found = append(found, finding{r.pos, fmt.Sprintf("no test attacks the limit %s", r.id)})
		}
	}
	for _, a := range l.attacks {
		if limits[a.id] == "" {
			found = append(found, finding{a.pos, fmt.Sprintf("the attack %s is on a limit that no code names", a.id)})
		}
	}
	return found
}

// scanGo takes the rows of one Go file.
func (l *limitsLedger) scanGo(fset *token.FileSet, f *sourceFile) {
	dir := path.Dir(f.name)
	for _, g := range f.ast.Comments {
		for _, c := range g.List {
			if !anyLine.MatchString(c.Text) {
				continue
			}
			line := fset.Position(c.Pos()).Line
			pos := fmt.Sprintf("%s:%d", f.name, line)
			switch m, a := limitLine.FindStringSubmatch(c.Text), attackLine.FindStringSubmatch(c.Text); {
			case m != nil && !f.test:
				holder, problem := goHolder(fset, f.ast, g)
				l.addLimit(limitRow{id: m[1], text: m[2], pkg: dir, where: f.name + ", " + holder, pos: pos}, problem)
			case a != nil && f.test:
				l.addAttack(attackRow{id: a[1], test: goTest(f.ast, g), pos: pos})
			case m != nil || a != nil:
				l.problem(pos, "limits stand in the code and attacks in its tests")
			default:
				l.problem(pos, "%q is neither a limit nor an attack: //limit:some-id One sentence. or //attack:some-id", c.Text)
			}
		}
	}
}

func (l *limitsLedger) problem(pos, format string, args ...any) {
	l.problems = append(l.problems, finding{pos, fmt.Sprintf(format, args...)})
}

func (l *limitsLedger) addLimit(r limitRow, problem string) {
	if problem != "" {
		l.problem(r.pos, "the limit %s %s", r.id, problem)
		return
	}
	if prefixes := limitPrefixes(r.pkg, r.pos); !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(r.id, p) }) {
		l.problem(r.pos, "the limit %s does not begin with %s", r.id, strings.Join(prefixes, " or "))
	}
	l.limits = append(l.limits, r)
}

func (l *limitsLedger) addAttack(a attackRow) {
	if a.test == "" {
		l.problem(a.pos, "the attack %s does not stand directly above a test or a fuzz target", a.id)
		return
	}
	l.attacks = append(l.attacks, a)
}

// limitPrefixes is how the ids of a package may begin: with its name, and those of the command with what it is about or
// with its file.
func limitPrefixes(pkg, pos string) []string {
	if strings.HasPrefix(pkg, "cmd/") {
		file, _, _ := strings.Cut(path.Base(pos), ".")
		return []string{"cmd-", "config-", "cli-", "check-", file + "-"}
	}
	return []string{path.Base(pkg) + "-"}
}

// covered returns the node that a comment group stands directly above: the largest that begins on the next line.
func covered(fset *token.FileSet, f *ast.File, g *ast.CommentGroup) ast.Node {
	line := fset.Position(g.End()).Line + 1
	var found ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil || found != nil {
			return false
		}
		switch n.(type) {
		case *ast.File, *ast.Comment, *ast.CommentGroup:
			return true
		}
		if fset.Position(nodeStart(n)).Line == line {
			found = n
		}
		return found == nil
	})
	return found
}

// nodeStart is where a node's own text begins: behind its comment.
func nodeStart(n ast.Node) token.Pos {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return n.Type.Pos()
	case *ast.GenDecl:
		return n.TokPos
	case *ast.ValueSpec:
		return n.Names[0].Pos()
	case *ast.TypeSpec:
		return n.Name.Pos()
	case *ast.Field:
		if len(n.Names) > 0 {
			return n.Names[0].Pos()
		}
		return n.Type.Pos()
	}
	return n.Pos()
}

// goHolder names the declaration that holds what the comment stands above.
func goHolder(fset *token.FileSet, f *ast.File, g *ast.CommentGroup) (name, problem string) {
	n := covered(fset, f, g)
	if n == nil {
		return "", "does not stand directly above what enforces it"
	}
	for _, d := range f.Decls {
		if n.Pos() < d.Pos() || n.End() > d.End() {
			continue
		}
		switch d := d.(type) {
		case *ast.FuncDecl:
			return funcName(d), ""
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if n.End() < s.Pos() || n.Pos() > s.End() {
					continue
				}
				switch s := s.(type) {
				case *ast.ValueSpec:
					if _, group := n.(*ast.GenDecl); group && len(d.Specs) > 1 {
						return "the constants from " + s.Names[0].Name + " on", ""
					}
					return s.Names[0].Name, ""
				case *ast.TypeSpec:
					return s.Name.Name, ""
				}
			}
		}
	}
	return "", "does not stand in a declaration"
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + d.Name.Name
	}
	return d.Name.Name
}

// goTest names the test that a comment group belongs to.
func goTest(f *ast.File, g *ast.CommentGroup) string {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Doc == g && fn.Recv == nil && (strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Fuzz")) {
			return fn.Name.Name
		}
	}
	return ""
}

// scanPython takes the rows of one Python file.
func (l *limitsLedger) scanPython(name string, src []byte) {
	lines := strings.Split(string(src), "\n")
	isTest := strings.Contains(path.Base(name), "test")
	holder := "the module"
	for i, line := range lines {
		if m := pythonDef.FindStringSubmatch(line); m != nil {
			holder = m[1]
		}
		if pythonMax.MatchString(line) && !isTest && (i == 0 || !limitLine.MatchString(strings.TrimSpace(lines[i-1]))) {
			l.problem(fmt.Sprintf("%s:%d", name, i+1), "the constant %s has no # limit: line above it", strings.TrimSpace(line))
		}
		line = strings.TrimSpace(line)
		if !anyLine.MatchString(line) {
			continue
		}
		pos := fmt.Sprintf("%s:%d", name, i+1)
		next := i + 1
		for next < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[next]), "#") {
			next++
		}
		below := ""
		if next < len(lines) {
			below = lines[next]
		}
		def := pythonDef.FindStringSubmatch(below)
		switch m, a := limitLine.FindStringSubmatch(line), attackLine.FindStringSubmatch(line); {
		case m != nil && !isTest:
			problem, in := "", holder
			if def != nil {
				in = def[1]
			} else if strings.TrimSpace(below) == "" {
				problem = "does not stand directly above what enforces it"
			}
			l.addLimit(limitRow{id: m[1], text: m[2], pkg: path.Dir(name), where: name + ", " + in, pos: pos}, problem)
		case a != nil && isTest:
			test := ""
			if def != nil && strings.HasPrefix(def[1], "test") {
				test = def[1]
			}
			l.addAttack(attackRow{id: a[1], test: test, pos: pos})
		default:
			l.problem(pos, "%q is no limit of the code or attack of a test", line)
		}
	}
}

// scanModule takes the rows of the whole module. The tests of this directory speak of limits and hold none, apart from
// attacks on those that only the whole can be tried on.
func scanModule(t *testing.T) *limitsLedger {
	t.Helper()
	l := &limitsLedger{}
	for _, p := range module(t) {
		for _, f := range p.files {
			l.scanGo(p.fset, f)
		}
	}
	err := filepath.WalkDir("plugins", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".py" {
			return err
		}
		src, err := os.ReadFile(name)
		l.scanPython(filepath.ToSlash(name), src)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestEveryLimitHasAnAttack holds the two sides of the ledger against each other.
func TestEveryLimitHasAnAttack(t *testing.T) {
	l := scanModule(t)
	for _, f := range l.judge() {
		t.Error(f)
	}
	if len(l.limits) < 20 {
		t.Errorf("only %d limits were found", len(l.limits))
	}
}

// page writes docs/limits.md.
func (l *limitsLedger) page() []byte {
	var b bytes.Buffer
	b.WriteString("# Limits\n\n<!-- Generated from the source by `make docs`. Do not edit. -->\n\n" +
		"Every limit in the code, where it is enforced, and the tests that try to break it. A limit that no test\n" +
		"attacks fails the build, and so does a size, a deadline, a file mode or a rule in the code that has no row here.\n")
	rows := slices.Clone(l.limits)
	slices.SortFunc(rows, func(a, b limitRow) int {
		return strings.Compare(a.pkg+"\x00"+a.id, b.pkg+"\x00"+b.id)
	})
	pkg := ""
	for _, r := range rows {
		if r.pkg != pkg {
			pkg = r.pkg
			fmt.Fprintf(&b, "\n## %s\n\n| limit | what holds | enforced in | attacked by |\n|---|---|---|---|\n", pkg)
		}
		var tests []string
		for _, a := range l.attacks {
			if name := "`" + a.test + "`"; a.id == r.id && !slices.Contains(tests, name) {
				tests = append(tests, name)
			}
		}
		slices.Sort(tests)
		text := strings.ReplaceAll(r.text, "|", `\|`)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.id, text, r.where, strings.Join(tests, ", "))
	}
	return b.Bytes()
}

// TestLimitsPageIsCurrent compares docs/limits.md with the source.
func TestLimitsPageIsCurrent(t *testing.T) { comparePage(t, "docs/limits.md", scanModule(t).page()) }

// comparePage compares a generated page with what it should be, or writes it.
func comparePage(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v; make docs writes it", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the source says; make docs writes it anew", name)
	}
}

// scanText is scanGo of a synthetic file.
func (l *limitsLedger) scanText(t *testing.T, name, src string) {
	t.Helper()
	l.scanGo(parseText(t, name, src))
}

// parseText is a synthetic file.
func parseText(t *testing.T, name, src string) (*token.FileSet, *sourceFile) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return fset, &sourceFile{name: name, test: strings.HasSuffix(name, "_test.go"), ast: f}
}
