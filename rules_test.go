package sallyport_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestRulesFindWhatTheyForbid gives each rule a source that breaks it: a rule that finds nothing there would hold
// nothing anywhere.
func TestRulesFindWhatTheyForbid(t *testing.T) {
	for _, c := range slices.Concat(badImports(), badPurity(), badState()) {
		t.Run(strings.ReplaceAll(c.rule+"/"+c.want, " ", "-"), func(t *testing.T) {
			found := findRule(t, c.rule).check(sample(t, c.pkg, c.fileName(), c.source()))
			for _, f := range found {
				if strings.Contains(f.what, c.want) {
					return
				}
			}
			t.Errorf("the rule found %v, want one that says %q in\n%s", found, c.want, c.source())
		})
	}
}

// TestRulesLetGoodSourcePass gives the rules what they must not complain of.
func TestRulesLetGoodSourcePass(t *testing.T) {
	for _, c := range goodSamples() {
		t.Run(strings.ReplaceAll(c.rule+"/"+c.want, " ", "-"), func(t *testing.T) {
			p := sample(t, c.pkg, c.fileName(), c.source())
			for _, f := range append(findRule(t, c.rule).check(p), checkTypes(p)...) {
				t.Errorf("%v in\n%s", f, c.source())
			}
		})
	}
}

// sampleCase is one synthetic source. In bad samples want is a part of what the rule must say; in good ones it is a
// name.
type sampleCase struct {
	rule, pkg, want, body string
	test                  bool // the file is a test
}

func (c sampleCase) fileName() string {
	if c.test {
		return "sample_test.go"
	}
	return "sample.go"
}

func (c sampleCase) source() string {
	if strings.Contains(c.body, "package ") {
		return c.body
	}
	return fmt.Sprintf("// Package %[1]s is a sample.\npackage %[1]s\n\n%[2]s\n", path.Base(c.pkg), c.body)
}

func bad(rule, pkg, want, body string) sampleCase {
	return sampleCase{rule: rule, pkg: pkg, want: want, body: body}
}

func badImports() []sampleCase {
	return []sampleCase{
		bad("types", "trade", "undefined", "var x = y"),

		bad("imports", "trade", "imports gate", `import _ "sallyport/gate"`),
		bad("imports", "mcp", "imports broker/paper", `import _ "sallyport/broker/paper"`),
		bad("imports", "mcp", "imports journal", `import _ "sallyport/journal"`),
		bad("imports", "hook", "imports journal", `import _ "sallyport/journal"`),
		bad("imports", "broker/paper", "imports journal", `import _ "sallyport/journal"`),
		bad("imports", "broker/other", "imports broker/paper", `import _ "sallyport/broker/paper"`),
		bad("imports", "journal", "imports trade", `import _ "sallyport/trade"`),
		bad("imports", "ledger", "imports gatetest", `import _ "sallyport/gatetest"`),
		bad("imports", "ledger", "imports the module's root", `import _ "sallyport"`),
		bad("imports", "helpers", "not in the table", ""),
		bad("imports", "gate", "opens no socket", `import _ "net/http"`),
		bad("imports", "hook", "starts no program", `import _ "os/exec"`),
		bad("imports", "trade", "imports unsafe", `import _ "unsafe"`),
		bad("imports", "gate", "modernc.org/sqlite", `import _ "modernc.org/sqlite"`),
		bad("imports", "ledger", "udecimal", `import _ "github.com/quagmt/udecimal"`),
		bad("imports", "trade", "example.com/new", `import _ "example.com/new"`),
		bad("imports", "ledger", "name space", `import . "sallyport/trade"`),
	}
}

func badPurity() []sampleCase {
	return []sampleCase{
		bad("purity", "trade", "uses time.Now", `import "time"; func f() time.Time { return time.Now() }`),
		bad("purity", "trade", "uses time.Since", `import "time"; func f(t time.Time) time.Duration { return time.Since(t) }`),
		bad("purity", "policy", "uses time.After", `import "time"; func f() { time.After(1) }`),
		bad("purity", "policy", "uses time.Sleep", `import clock "time"; func f() { clock.Sleep(1) }`),
		bad("purity", "policy", "uses time.NewTimer", `import "time"; func f() { _ = time.NewTimer(1) }`),
		bad("purity", "ledger", "uses time.Local", `import "time"; func f(t time.Time) time.Time { return t.Local() }`),
		bad("purity", "ledger", "starts a goroutine", `func f() { go f() }`),
		bad("purity", "ledger", "has a channel", `func f(c chan int) {}`),
		bad("purity", "dialect", "has a channel", `func f() { select {} }`),
		bad("purity", "wire", "imports os", `import _ "os"`),
		bad("purity", "wire", "imports net", `import _ "net"`),
		bad("purity", "wire", "imports io/fs", `import _ "io/fs"`),
		bad("purity", "wire", "imports sync", `import _ "sync"`),
		bad("purity", "wire", "imports context", `import _ "context"`),
		bad("purity", "wire", "imports math/rand", `import _ "math/rand"`),
		bad("purity", "wire", "uses io.ReadAll", `import "io"; func f(r io.Reader) { _, _ = io.ReadAll(r) }`),
		bad("purity", "trade", "uses fmt.Println", `import "fmt"; func f() { fmt.Println() }`),
		bad("purity", "trade", "uses println", `func f() { println() }`),
		bad("purity", "trade", "math/big.NewFloat", `import "math/big"; func f() { _ = big.NewFloat }`),

		bad("floats", "trade", "float64 is a float", `type price float64`),
		bad("floats", "policy", "is a float", `import "time"; func f(d time.Duration) bool { return d.Seconds() > 1 }`),
		bad("floats", "gate", "literal 0.5", `const half = 0.5`),
		bad("floats", "gate", "is a float", `func f(x []float32) {}`),
		bad("floats", "ledger", "is a float", `import "strconv"; func f() { x, _ := strconv.ParseFloat("1", 64); _ = x }`),
		bad("floats", "broker/paper", "is a float", `import "encoding/json"; func f(n json.Number) { _, _ = n.Float64() }`),
	}
}

func badState() []sampleCase {
	long := "func long() {\n" + strings.Repeat("\t_ = 1\n", maxFunctionLines-1) + "}"
	return []sampleCase{
		bad("variables", "gate", "without a value", `var count int`),
		bad("variables", "gate", "without a value", `import "sync"; var mu sync.Mutex`),
		bad("variables", "gate", "is exported", `var Table = []string{"a"}`),
		bad("variables", "gate", "function value", `import "time"; var now = time.Now`),
		bad("variables", "gate", "shared state", `import "sync"; var pool = &sync.Pool{}`),
		bad("variables", "gate", "assigns to", `var limit = 1; func f() { limit = 2 }`),
		bad("variables", "gate", "assigns to", `var limits = map[string]int{}; func f() { limits["a"] = 2 }`),
		bad("variables", "gate", "assigns to", `var s = struct{ n int }{1}; func f() { s.n = 2 }`),
		bad("variables", "gate", "counts", `var n = 1; func f() { n++ }`),
		bad("variables", "gate", "takes the address of", `var n = 1; func f() *int { return &n }`),
		bad("variables", "gate", "deletes", `var m = map[string]int{}; func f() { delete(m, "a") }`),
		bad("variables", "gate", "on the address of", `import "strings"; var b = strings.Builder{}; func f() { b.Reset() }`),
		bad("variables", "gate", "assigns to", `import "errors"; var errA = errors.New("a"); func f() { errA = nil }`),

		bad("init", "gate", "init function", `func init() {}`),
		bad("setters", "trade", "SetDefaultPrecision", `import "github.com/quagmt/udecimal"; func f() { udecimal.SetDefaultPrecision(3) }`),
		{
			rule: "setters", pkg: "trade", want: "SetDefaultParseMode", test: true,
			body: `import "github.com/quagmt/udecimal"; func f() { udecimal.SetDefaultParseMode(0) }`,
		},

		bad("permits", "hook", "names gate.Permit", `import "sallyport/gate"; func f(p gate.Permit) {}`),
		bad("permits", "broker/paper", "go:linkname", "import _ \"unsafe\"\n\n//go:linkname mint sallyport/gate.mint\nfunc mint()"),
		bad("permits", "gate", "outside mint", permitTypes+`func forge() Permit { return Permit{&clearance{}} }`),
		bad("permits", "gate", "outside mint", permitTypes+`func forge() *clearance { return &clearance{used: true} }`),
		bad("permits", "gate", "hands out a permit", permitTypes+`func Forge() (p Permit) { return mint() }`),
		bad("permits", "gate", "hands out a permit", permitTypes+`type Gate struct{}; func (*Gate) Lend() *Permit { return nil }`),
		bad("permits", "gate", "keeps a permit", permitTypes+`var kept = mint()`),
		bad("permits", "gate", "exported field", permitTypes+`type Sent struct{ P Permit }`),

		bad("package comment", "gate", "no file has", "package gate"),
		bad("function length", "gate", "has 71 lines", long),
		bad("file length", "gate", "at most 500 are allowed", strings.Repeat("// A line.\n", maxFileLines)),
		{rule: "file length", pkg: "gate", want: "at most 800 are allowed", body: strings.Repeat("// A line.\n", maxTestFileLines), test: true},
	}
}

const permitTypes = `type Permit struct{ c *clearance }; type clearance struct{ used bool }
func mint() Permit { return Permit{&clearance{used: true}} }
`

func goodSamples() []sampleCase {
	good := func(rule, pkg, name, body string) sampleCase {
		return sampleCase{rule: rule, pkg: pkg, want: name, body: body}
	}
	return []sampleCase{
		good("imports", "trade", "allowed modules", `import (_ "fmt"; _ "sallyport/wire"; _ "github.com/quagmt/udecimal")`),
		{rule: "imports", pkg: "trade", want: "tests may import", body: `import _ "os/exec"`, test: true},
		good("purity", "ledger", "comparing times", `import "time"; func f(a, b time.Time) bool { return a.After(b.Add(time.Second)) }`),
		good("purity", "gate", "the shell has a clock", `import "time"; func f() time.Time { return time.Now() }`),
		good("purity", "wire", "the end of an input", `import "io"; func f(err error) bool { return err == io.EOF }`),
		good("floats", "trade", "whole numbers", `import "math/big"; func f() *big.Rat { return big.NewRat(1, 3) }`),
		good("variables", "gate", "errors", `import "errors"; var ErrA = errors.New("a"); func f() error { return ErrA }`),
		good("variables", "gate", "a constant table", `var words = [...]string{"a", "b"}; func f(i int) string { return words[i] }`),
		good("variables", "gate", "an assertion", `var _ error = (*e)(nil); type e struct{}; func (*e) Error() string { return "" }`),
		good("variables", "gate", "a method on a pointer", `import "encoding/base32"; var enc = base32.NewEncoding("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"); func f() string { return enc.EncodeToString(nil) }`),
		good("permits", "gate", "mint", permitTypes+`func (p Permit) Use() bool { return p.c != nil }`),
		good("function length", "gate", "the longest", "func long() {\n"+strings.Repeat("\t_ = 1\n", maxFunctionLines-2)+"}"),
		{
			rule: "function length", pkg: "gate", want: "a long test", test: true,
			body: "func TestLong() {\n" + strings.Repeat("\t_ = 1\n", 2*maxFunctionLines) + "}",
		},
		good("init", "gate", "a method called init", `type t struct{}; func (t) init() {}`),
	}
}
