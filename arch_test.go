// The tests of this directory look at the module as a whole: what may import what, what the pure packages may use, how
// the source is written, which limit has which attack, and whether the documents are true.
package sallyport_test

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "sallyport"

// arrows says which of our packages each package may import. A directory under broker has the row of "broker/*". It
// binds files that are not tests; any test may import gatetest.
var arrows = map[string][]string{
	"wire":          {},
	"store":         {},
	"trade":         {"wire"},
	"policy":        {"trade", "wire"},
	"ledger":        {"trade", "policy", "wire"},
	"dialect":       {"trade", "wire"},
	"journal":       {"store"},
	"market":        {"trade", "wire"},
	"gate":          {"trade", "policy", "ledger", "journal", "wire"},
	"broker/*":      {"trade", "dialect", "market", "gate", "store", "wire"},
	"mcp":           {"trade", "policy", "ledger", "dialect", "gate", "wire"},
	"hook":          {"trade", "policy", "ledger", "dialect", "gate", "wire"},
	"rest":          {"trade", "policy", "ledger", "dialect", "gate", "wire"},
	"telegram":      {"trade", "policy", "ledger", "gate", "wire"},
	"replay":        {"wire", "trade", "policy", "ledger", "dialect", "market", "journal", "gate"},
	"gatetest":      {"trade", "policy", "ledger", "journal", "market", "gate"},
	"cmd/sallyport": {"*"},
}

// surfaces turn a protocol into calls of the gate.
var surfaces = []string{"mcp", "hook", "rest", "telegram"}

// outside says which packages may import a module that is not ours and not the standard library. Each has its part in
// docs/dependencies.md.
var outside = map[string][]string{
	"github.com/quagmt/udecimal":             {"trade"},
	"github.com/go-json-experiment/json":     {"wire", "hook", "rest", "cmd/sallyport"},
	"github.com/tailscale/hujson":            {"cmd/sallyport", "hook"},
	"modernc.org/sqlite":                     {"store"},
	"github.com/modelcontextprotocol/go-sdk": {"mcp", "cmd/sallyport"},
	"github.com/go-telegram/bot":             {"telegram"},
	"github.com/spf13/cobra":                 {"cmd/sallyport"},
	"github.com/spf13/pflag":                 {"cmd/sallyport"},
	"golang.org/x/term":                      {"cmd/sallyport"},
	"golang.org/x/sys":                       {"rest"},
	"github.com/google/jsonschema-go":        {},
	"pgregory.net/rapid":                     {},
	"github.com/rogpeppe/go-internal":        {},
	"github.com/cockroachdb/datadriven":      {},
	"go.uber.org/goleak":                     {},
	"github.com/cedar-policy/cedar-go":       {},
}

// sockets are the only packages that reach a network or are reached by one: the API and its client, the chat, and the
// command that wires them.
var sockets = []string{"rest", "telegram", "cmd/sallyport"}

// forbidden are packages of the standard library that no file of the product imports, except those of sockets the first
// two: what they do, Sallyport does not do, and the documents say so.
var forbidden = map[string]string{
	"net":            "this package opens no socket",
	"net/http":       "this package opens no socket",
	"net/rpc":        "no API but the documented one is served",
	"os/exec":        "the product starts no program",
	"plugin":         "nothing is loaded at run time",
	"unsafe":         "types hold only while nothing goes round them",
	"reflect":        "types hold only while nothing goes round them",
	"C":              "the product is built without cgo",
	"math/rand":      "randomness is an argument",
	"math/rand/v2":   "randomness is an argument",
	"encoding/gob":   "records are JSON of our own writing",
	"expvar":         "it serves to whoever asks",
	"net/http/pprof": "it serves to whoever asks",
}

func arrowsOf(pkg string) ([]string, bool) {
	if path.Dir(pkg) == "broker" {
		pkg = "broker/*"
	}
	row, ok := arrows[pkg]
	return row, ok
}

// checkImports holds a package to the tables above.
func checkImports(p *sourcePackage) (found []finding) {
	files := p.production()
	if len(files) == 0 {
		return nil
	}
	row, ok := arrowsOf(p.path)
	if !ok {
		return []finding{{p.path, "this package is not in the table of what may import what"}}
	}
	for _, f := range files {
		for _, spec := range f.ast.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			if complaint := judgeImport(p.path, row, name); complaint != "" {
				found = append(found, p.at(spec.Pos(), "%s", complaint))
			}
			if spec.Name != nil && spec.Name.Name == "." {
				found = append(found, p.at(spec.Pos(), "imports %s into its own name space", name))
			}
		}
	}
	return found
}

func judgeImport(pkg string, row []string, name string) string {
	mayConnect := (name == "net" || name == "net/http") && slices.Contains(sockets, pkg)
	if why, bad := forbidden[name]; bad && !mayConnect {
		return "imports " + name + ": " + why
	}
	if name == modulePath {
		return "imports the module's root, which holds tests only"
	}
	if own, ok := strings.CutPrefix(name, modulePath+"/"); ok {
		parent := path.Dir(own) + "/*"
		if slices.Contains(row, own) || slices.Contains(row, parent) || slices.Contains(row, "*") {
			return ""
		}
		return "imports " + own + ", which the table does not allow"
	}
	if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") {
		return ""
	}
	for mod, who := range outside {
		if name == mod || strings.HasPrefix(name, mod+"/") {
			if slices.Contains(who, pkg) {
				return ""
			}
		}
	}
	return "imports " + name + ", which this package has no need of by the table of modules"
}

// TestNoSurfaceReachesABroker reads the table itself: whatever is added to it, these stay true.
//
//fault:f16
//fault:f121
func TestNoSurfaceReachesABroker(t *testing.T) {
	for _, s := range surfaces {
		row, ok := arrowsOf(s)
		if !ok {
			t.Errorf("the surface %s has no row", s)
		}
		for _, to := range row {
			if to == "journal" || to == "store" || to == "*" || strings.HasPrefix(to, "broker") {
				t.Errorf("the surface %s may import %s", s, to)
			}
		}
	}
	if row, _ := arrowsOf("broker/paper"); slices.Contains(row, "journal") {
		t.Error("a broker may import the journal")
	}
}

// TestArrowsHaveNoCycle makes sure that the table is a layering and not only a list.
func TestArrowsHaveNoCycle(t *testing.T) {
	var visit func(at string, trail []string)
	visit = func(at string, trail []string) {
		if slices.Contains(trail, at) {
			t.Errorf("the table has a cycle: %v", append(trail, at))
			return
		}
		row, ok := arrowsOf(at)
		if !ok && at != "*" {
			t.Errorf("%s is allowed as an import and has no row", at)
		}
		for _, to := range row {
			if to != "*" {
				visit(to, append(slices.Clone(trail), at))
			}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(arrows)) {
		visit(at, nil)
	}
}

// rule is something that holds for every package.
type rule struct {
	name  string
	check func(*sourcePackage) []finding
}

// rules are in the order in which CONTRIBUTING.md explains them.
var rules = []rule{
	{"types", checkTypes},
	{"imports", checkImports},
	{"purity", checkPurity},
	{"floats", checkFloats},
	{"variables", checkVariables},
	{"init", checkInit},
	{"setters", checkSetters},
	{"permits", checkPermits},
	{"package comment", checkPackageComment},
	{"function length", checkFunctionLength},
	{"file length", checkFileLength},
}

func findRule(t *testing.T, name string) rule {
	t.Helper()
	i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
	if i < 0 {
		t.Fatalf("there is no rule %q", name)
	}
	return rules[i]
}

// TestModuleKeepsItsRules holds every package to every rule.
func TestModuleKeepsItsRules(t *testing.T) {
	pkgs := module(t)
	if len(pkgs) < 10 {
		t.Fatalf("only %d packages were found", len(pkgs))
	}
	for _, r := range rules {
		t.Run(strings.ReplaceAll(r.name, " ", "-"), func(t *testing.T) {
			for _, p := range pkgs {
				for _, f := range r.check(p) {
					t.Error(f)
				}
			}
		})
	}
}

// walk calls visit for every node of the files.
func walk(files []*sourceFile, visit func(*sourceFile, ast.Node)) {
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if n != nil {
				visit(f, n)
			}
			return true
		})
	}
}
