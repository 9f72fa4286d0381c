package sallyport_test

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// ledgerSample is a synthetic source of the ledger: files by name, and a part of each complaint that it must bring.
type ledgerSample struct {
	name  string
	files map[string]string
	wants []string
}

const (
	goodLimit  = "package gate\n\n//limit:gate-size At most 10 bytes.\nconst maxSize = 10\n"
	goodAttack = "package gate\n\n// TestSize tries 11.\n//\n//attack:gate-size\nfunc TestSize(t *testing.T) {}\n"
)

func ledgerSamples() []ledgerSample {
	return []ledgerSample{
		{"whole", map[string]string{"gate/a.go": goodLimit, "gate/a_test.go": goodAttack}, nil},
		{"fuzz target", map[string]string{
			"gate/a.go":      goodLimit,
			"gate/a_test.go": "package gate\n\n//attack:gate-size\nfunc FuzzSize(f *testing.F) {}\n",
		}, nil},
		{"limit above a line", map[string]string{
			"gate/a_test.go": goodAttack,
			"gate/a.go":      "package gate\n\nfunc f(n int) bool {\n\t//limit:gate-size At most 10 bytes.\n\tif n > 10 {\n\t\treturn false\n\t}\n\treturn true\n}\n",
		}, nil},
		{"limit without attack", map[string]string{"gate/a.go": goodLimit}, []string{"no test attacks the limit gate-size"}},
		{"attack without limit", map[string]string{"gate/a_test.go": goodAttack}, []string{"on a limit that no code names"}},
		{
			"two limits of one id",
			map[string]string{"gate/a.go": goodLimit, "gate/b.go": goodLimit, "gate/a_test.go": goodAttack},
			[]string{"already named"},
		},
		{
			"attack on a helper",
			map[string]string{
				"gate/a.go":      goodLimit,
				"gate/a_test.go": strings.ReplaceAll(goodAttack, "TestSize", "checkSize"),
			},
			[]string{"directly above a test", "no test attacks"},
		},
		{"attack on a benchmark", map[string]string{
			"gate/a.go":      goodLimit,
			"gate/a_test.go": strings.ReplaceAll(goodAttack, "TestSize", "BenchmarkSize"),
		}, []string{"directly above a test"}},
		{"attack on a method", map[string]string{
			"gate/a.go":      goodLimit,
			"gate/a_test.go": strings.ReplaceAll(goodAttack, "func Test", "func (suite) Test"),
		}, []string{"directly above a test"}},
		{"attack with a gap", map[string]string{
			"gate/a.go":      goodLimit,
			"gate/a_test.go": strings.ReplaceAll(goodAttack, "gate-size\n", "gate-size\n\n"),
		}, []string{"directly above a test"}},
		{"attack inside a test", map[string]string{
			"gate/a.go":      goodLimit,
			"gate/a_test.go": "package gate\n\nfunc TestSize() {\n\t//attack:gate-size\n\tf()\n}\n",
		}, []string{"directly above a test"}},
		{"limit with a gap", map[string]string{
			"gate/a_test.go": goodAttack,
			"gate/a.go":      strings.ReplaceAll(goodLimit, "bytes.\n", "bytes.\n\n"),
		}, []string{"directly above what enforces it"}},
		{"limit in a test", map[string]string{"gate/a_test.go": goodLimit}, []string{"limits stand in the code"}},
		{"attack in the code", map[string]string{"gate/a.go": goodAttack}, []string{"limits stand in the code"}},
		{
			"limit of another package",
			map[string]string{"trade/a.go": goodLimit, "trade/a_test.go": goodAttack},
			[]string{"does not begin with trade-"},
		},
		{
			"limit without a sentence",
			map[string]string{"gate/a.go": strings.ReplaceAll(goodLimit, " At most 10 bytes.", "")},
			[]string{"neither a limit nor an attack"},
		},
		{
			"limit in upper case",
			map[string]string{"gate/a.go": strings.ReplaceAll(goodLimit, "gate-size", "gate-Size")},
			[]string{"neither a limit nor an attack"},
		},
		{
			"misspelt with a space",
			map[string]string{"gate/a.go": strings.ReplaceAll(goodLimit, "//limit", "// limit")},
			[]string{"neither a limit nor an attack"},
		},
		{"python whole", map[string]string{
			"plugins/hermes/a.py":      "import x\n\n# limit:hermes-wait At most 5 seconds.\nWAIT = 5\n",
			"plugins/hermes/test_a.py": "# attack:hermes-wait\ndef test_wait():\n    pass\n",
		}, nil},
		{
			"python alone",
			map[string]string{"plugins/hermes/a.py": "# limit:hermes-wait At most 5 seconds.\nWAIT = 5\n"},
			[]string{"no test attacks"},
		},
		{"python without a row", map[string]string{"plugins/hermes/a.py": "HOOK_SECONDS = 5\n"}, []string{"has no # limit: line"}},
		{
			"python gap",
			map[string]string{"plugins/hermes/a.py": "# limit:hermes-wait At most 5 seconds.\n\nWAIT = 5\n"},
			[]string{"directly above what enforces it"},
		},
		{
			"python attack on a class",
			map[string]string{"plugins/hermes/test_a.py": "# attack:hermes-wait\nclass test:\n"},
			[]string{"no code names"},
		},
		{
			"python attack on nothing",
			map[string]string{"plugins/hermes/test_a.py": "# attack:hermes-wait\nx = 1\n"},
			[]string{"directly above a test"},
		},
	}
}

// TestLedgerFindsWhatItForbids gives the ledger synthetic sources.
func TestLedgerFindsWhatItForbids(t *testing.T) {
	for _, c := range ledgerSamples() {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			l := &limitsLedger{}
			for name, src := range c.files {
				if strings.HasSuffix(name, ".py") {
					l.scanPython(name, []byte(src))
				} else {
					l.scanText(t, name, src)
				}
			}
			found := l.judge()
			if len(c.wants) == 0 && len(found) > 0 {
				t.Errorf("found %v, want nothing", found)
			}
			for _, want := range c.wants {
				if !contains(found, want) {
					t.Errorf("found %v, want one that says %q", found, want)
				}
			}
		})
	}
}

func contains(found []finding, want string) bool {
	for _, f := range found {
		if strings.Contains(f.what, want) {
			return true
		}
	}
	return false
}

// TestLedgerSeesLimitsWithoutARow gives the completeness rule sources with a limit that has no directive, and the same
// with one.
func TestLedgerSeesLimitsWithoutARow(t *testing.T) {
	const row = "//limit:gate-x At most so much.\n"
	for _, c := range []struct{ name, want, open, covered string }{
		{"constant", "maxBody", "const maxBody = 1 << 16", row + "const maxBody = 1 << 16"},
		{
			"constant by its use", "maxBody", "const maxBody = 9\nfunc f(n int) bool { return n > maxBody }",
			"const maxBody = 9\nfunc f(n int) bool {\n" + row + "\treturn n > maxBody\n}",
		},
		{"exported", "MaxDepth", "const (\n\tMaxDepth = 32\n)", "const (\n" + row + "\tMaxDepth = 32\n)"},
		{
			"deadline", "callDeadline", `import "time"; const callDeadline = time.Second`,
			"import \"time\"\n\n" + row + "const callDeadline = time.Second",
		},
		{
			"two in a group", "maxB", "const (\n" + row + "\tmaxA = 1\n\tmaxB = 2\n)",
			row + strings.ReplaceAll(row, "gate-x", "gate-y") + "const (\n\tmaxA = 1\n\tmaxB = 2\n)",
		},
		{
			"two under one directive", "maxB", row + "const (\n\tmaxA = 1\n\tmaxB = 2\n)",
			row + "const (\n\tmaxA = 1\n\tother = 2\n)",
		},
		{
			"mode", "the mode given to os.Mkdir", `import "os"; func f() error { return os.Mkdir("d", 0o700) }`,
			"import \"os\"\n\n" + row + `func f() error { return os.Mkdir("d", 0o700) }`,
		},
		{"mode of a constant", "the constant private", "const private = 0o600", row + "const private = 0o600"},
		{
			"method", "the mode given to f.Chmod", `import "os"; func f(f *os.File) error { return f.Chmod(0o644) }`,
			"import \"os\"\n\nfunc f(f *os.File) error {\n" + row + "\treturn f.Chmod(0o644)\n}",
		},
		{
			"created", "the mode that os.Create", `import "os"; func f() { _, _ = os.Create("x") }`,
			"import \"os\"\n\n" + row + `func f() { _, _ = os.Create("x") }`,
		},
		{
			"duration", "the duration of time.Second", "import (\"context\"; \"time\")\nfunc f() { _, _ = context.WithTimeout(nil, 3*time.Second) }",
			"import (\"context\"; \"time\")\nfunc f() {\n" + row + "\t_, _ = context.WithTimeout(nil, 3*time.Second)\n}",
		},
		{
			"short duration", "the duration of time.Millisecond", "import \"time\"\nfunc f() { time.AfterFunc(50*time.Millisecond, nil) }",
			"import \"time\"\nfunc f() {\n" + row + "\ttime.AfterFunc(50*time.Millisecond, nil)\n}",
		},
		{
			"reader", "the bound given to io.LimitReader", `import "io"; func f(r io.Reader) io.Reader { return io.LimitReader(r, 100) }`,
			"import \"io\"\n\n" + row + "const maxRead = 100\nfunc f(r io.Reader) io.Reader { return io.LimitReader(r, maxRead+1) }",
		},
		{"length", "the length compared with 16", `func f(s string) bool { return len(s) > 16 }`, row + `func f(s string) bool { return len(s) > 16 }`},
		{"length turned", "the length compared with 16", `func f(s string) bool { return 16 <= len(s) }`, row + `func f(s string) bool { return 16 <= len(s) }`},
		{
			"wire", "the limit 100 of what is read", `import "sallyport/wire"; func f() wire.Limits { return wire.Limits{Bytes: 100} }`,
			"import \"sallyport/wire\"\n\nfunc f() wire.Limits {\n" + row + "\treturn wire.Limits{Bytes: 100}\n}",
		},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			open := sample(t, "gate", "sample.go", "// Package gate is a sample.\npackage gate\n\n"+c.open+"\n")
			if found := checkLimits(open); open.err != nil || !contains(found, c.want) {
				t.Errorf("found %v (%v), want one that says %q", found, open.err, c.want)
			}
			covered := sample(t, "gate", "sample.go", "// Package gate is a sample.\npackage gate\n\n"+c.covered+"\n")
			if found := checkLimits(covered); covered.err != nil || len(found) > 0 {
				t.Errorf("found %v (%v) in\n%s", found, covered.err, c.covered)
			}
		})
	}
}

// TestLedgerLeavesOtherNumbersAlone gives the completeness rule what is no limit.
func TestLedgerLeavesOtherNumbersAlone(t *testing.T) {
	for name, body := range map[string]string{
		"enumeration": "const (\n\tNoType = iota\n\tLimit\n\tStopLimit\n)",
		"text":        `const PriceLimit = "PRICE"`,
		"rounding":    `import "time"; func f(d time.Duration) time.Duration { return d.Round(time.Millisecond) }`,
		"division":    `import "time"; func f(d time.Duration) int64 { return int64(d / time.Millisecond) }`,
		"lower bound": `func f(b []byte) bool { return len(b) < 8 }`,
		"short pause": `import "time"; func f(t time.Time) time.Time { return t.Add(5 * time.Millisecond) }`,
		"reading":     `import "os"; func f() { _, _ = os.OpenFile("x", os.O_RDONLY, 0) }`,
	} {
		p := sample(t, "gate", "sample.go", "// Package gate is a sample.\npackage gate\n\n"+body+"\n")
		if found := checkLimits(p); len(found) > 0 || p.err != nil {
			t.Errorf("%s: found %v (%v)", name, found, p.err)
		}
	}
}

// TestLimitsPageHasEveryRow writes the page of a synthetic ledger.
func TestLimitsPageHasEveryRow(t *testing.T) {
	l := &limitsLedger{}
	l.scanText(t, "gate/a.go", goodLimit)
	l.scanText(t, "gate/a_test.go", goodAttack)
	page := string(l.page())
	for _, want := range []string{"## gate", "| `gate-size` | At most 10 bytes. | gate/a.go, maxSize | `TestSize` |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// TestSamplesParse keeps the samples honest: one that does not parse would show nothing.
func TestSamplesParse(t *testing.T) {
	for _, c := range ledgerSamples() {
		for name, src := range c.files {
			if strings.HasSuffix(name, ".go") {
				if _, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}
		}
	}
}
