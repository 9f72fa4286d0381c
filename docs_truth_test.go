package sallyport_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	linkRef    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	testName   = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)[A-Z]\w*$`)
	headingRef = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	flagRef    = regexp.MustCompile(`(?:^|\s)(--[a-z][a-z-]*)`)
)

// TestDocumentLinksResolve follows every relative link, and its heading.
func TestDocumentLinksResolve(t *testing.T) {
	for _, d := range documents(t) {
		for _, m := range linkRef.FindAllStringSubmatch(d.prose(), -1) {
			if complaint := checkLink(d, m[1]); complaint != "" {
				t.Errorf("%s: %s", d.name, complaint)
			}
		}
	}
}

func checkLink(d document, ref string) string {
	if strings.HasPrefix(ref, "https://") {
		return ""
	}
	if strings.Contains(ref, ":") || strings.HasPrefix(ref, "/") {
		return "the link " + ref + " is neither relative nor https"
	}
	file, fragment, _ := strings.Cut(ref, "#")
	text := d.text
	if file != "" {
		raw, err := os.ReadFile(path.Join(path.Dir(d.name), file))
		if stat, statErr := os.Stat(path.Join(path.Dir(d.name), file)); statErr == nil && stat.IsDir() {
			return ""
		}
		if err != nil {
			return "the link " + ref + " leads nowhere"
		}
		text = string(raw)
	}
	if fragment == "" {
		return ""
	}
	for _, h := range headingRef.FindAllStringSubmatch(text, -1) {
		if anchor(h[1]) == fragment {
			return ""
		}
	}
	return "the link " + ref + " names a heading that is not there"
}

// anchor is what a heading is linked by.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

func TestLinksThatLeadNowhereAreFound(t *testing.T) {
	d := parseDocument("x.md", "# The first heading\n")
	for ref, ok := range map[string]bool{
		"#the-first-heading": true, "#the-second": false, "go.mod": true, "no.md": false, "/etc/hosts": false,
		"http://example.com": false, "https://example.com": true, "docs/": true,
	} {
		if got := checkLink(d, ref) == ""; got != ok {
			t.Errorf("the link %s passes: %v, want %v", ref, got, ok)
		}
	}
}

// prose is the document without its fenced blocks.
func (d document) prose() string {
	text := d.text
	for _, b := range d.blocks {
		text = strings.Replace(text, b.body, "", 1)
	}
	return text
}

// TestDocumentsNameTestsAndCommandsThatExist checks every code span that is the name of a test, a command of ours or a
// make target, and every sh block.
func TestDocumentsNameTestsAndCommandsThatExist(t *testing.T) {
	tests := testNames(t)
	for _, d := range documents(t) {
		for _, m := range codeSpan.FindAllStringSubmatch(d.prose(), -1) {
			if span := m[1]; testName.MatchString(span) && !tests[span] {
				t.Errorf("%s names the test %s, which is not there", d.name, span)
			} else if complaint := checkCommand(t, span); complaint != "" {
				t.Errorf("%s: %s", d.name, complaint)
			}
		}
		for _, b := range d.blocks {
			for line := range strings.Lines(b.body) {
				if complaint := checkCommand(t, strings.TrimSpace(line)); b.kind == "sh" && complaint != "" {
					t.Errorf("%s: %s", b.where(), complaint)
				}
			}
		}
	}
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, p := range module(t) {
		for _, f := range p.files {
			for _, decl := range f.ast.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && f.test && fn.Recv == nil {
					names[fn.Name.Name] = true
				}
			}
		}
	}
	return names
}

// checkCommand says what is wrong with a command of ours, be it alone or behind another program's "--".
func checkCommand(t *testing.T, line string) string {
	t.Helper()
	if target, ok := strings.CutPrefix(line, "make "); ok {
		target, _, _ = strings.Cut(target, " ")
		if makefile, err := os.ReadFile("Makefile"); err != nil || !bytes.Contains(makefile, []byte("\n"+target+": ")) {
			return "there is no make target " + target
		}
		return ""
	}
	if _, behind, ok := strings.Cut(line, " -- "); ok && !strings.HasPrefix(line, "sallyport ") {
		line = behind
	}
	rest, ok := strings.CutPrefix(line, "sallyport ")
	if !ok {
		return ""
	}
	return checkArguments(t, strings.Fields(rest), line)
}

func checkArguments(t *testing.T, words []string, line string) string {
	t.Helper()
	var sub []string
	for _, w := range words {
		if !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(w) {
			break
		}
		sub = append(sub, w)
	}
	// An argument such as a harness's name may follow the command itself.
	help, ok := "", false
	if len(sub) == 0 && len(words) > 0 && strings.HasPrefix(words[0], "--") {
		help, ok = helpOf(t, "")
	}
	for n := len(sub); n > 0 && !ok; n-- {
		help, ok = helpOf(t, strings.Join(sub[:n], " "))
	}
	if !ok {
		return "there is no command in: " + line
	}
	for _, m := range flagRef.FindAllStringSubmatch(strings.Join(words, " "), -1) {
		if !strings.Contains(help, m[1]) {
			return "the command has no flag " + m[1] + ": " + line
		}
	}
	return ""
}

var (
	helpLock  sync.Mutex
	helpTexts = map[string]string{}
)

// helpOf returns the help of a command, and whether there is such a command.
func helpOf(t *testing.T, sub string) (string, bool) {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	helpLock.Lock()
	defer helpLock.Unlock()
	text, known := helpTexts[sub]
	if !known {
		out, err := exec.Command(name, append(strings.Fields(sub), "--help")...).CombinedOutput()
		// A parent command answers for a child that it does not have, and its usage line gives it away.
		if err == nil && bytes.Contains(out, []byte("sallyport "+sub)) {
			text = string(out)
		}
		helpTexts[sub] = text
	}
	return text, text != ""
}

func TestCommandsThatDoNotExistAreFound(t *testing.T) {
	for line, ok := range map[string]bool{
		"make test": true, "make nothing": false, "sallyport demo": true, "sallyport dance": false, "sallyport check --json": true,
		"sallyport check --dance": false, "sallyport audit list": true, "claude mcp add sallyport -- sallyport mcp": true,
		"claude mcp add sallyport -- sallyport dance": false, "ls": true,
	} {
		if complaint := checkCommand(t, line); (complaint == "") != ok {
			t.Errorf("%q: %q, want it to pass: %v", line, complaint, ok)
		}
	}
}

// forbiddenWords must not stand in any file: paths and hosts of the machines on which the project is made, and words
// that sell instead of saying. They are written in two halves, so that this file does not hold them.
var forbiddenWords = [][2]string{
	{"/wo", "rk/"},
	{"/ro", "ot/"},
	{"../sha", "red"},
	{"proxy.go", "lang.org"},
	{"registry.np", "mjs"},
	{"py", "pi.org"},
	{"as an ", "AI"},
	{"generated with ", "Claude"},
	{"co-authored", "-by"},
	{"brief", ".md"},
	{"DESIGN", ".md"},
	{"STYLE", ".md"},
	{"MEASURED", ".md"},
	{"HARNESSES", ".md"},
	{"RISK", ".md"},
	{"TO", "DO"},
	{"FIX", "ME"},
	{"not built ", "yet"},
	{"blazing", "ly"},
	{"seam", "less"},
	{"cutting", "-edge"},
	{"world", "-class"},
	{"bullet", "proof"},
	{"un", "hackable"},
	{"military", "-grade"},
	{"game", "-chang"},
	{"revolution", "ary"},
}

// TestNoFileSaysWhatMustNotBeSaid reads every file that the repository keeps.
func TestNoFileSaysWhatMustNotBeSaid(t *testing.T) {
	names := keptFiles(t)
	if len(names) < 50 {
		t.Fatalf("only %d files were found", len(names))
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // removed and not yet committed
		}
		for _, word := range saidAmiss(text) {
			t.Errorf("%s says %q", name, word)
		}
	}
}

func saidAmiss(text []byte) (words []string) {
	lower := bytes.ToLower(text)
	for _, halves := range forbiddenWords {
		word := halves[0] + halves[1]
		found := bytes.Contains(text, []byte(word))
		if word != strings.ToUpper(word) { // a word all in capitals is looked for as it is
			found = bytes.Contains(lower, []byte(strings.ToLower(word)))
		}
		if found {
			words = append(words, word)
		}
	}
	return words
}

// keptFiles are the files that git keeps or would keep; outside a clone, all of them.
func keptFiles(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		out, err = exec.Command("find", ".", "-type", "f", "-not", "-path", "./.git/*", "-not", "-path", "./bin/*", "-print0").Output()
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.DeleteFunc(strings.Split(string(out), "\x00"), func(s string) bool { return s == "" })
}

func TestWordsThatMustNotBeSaidAreFound(t *testing.T) {
	for _, halves := range forbiddenWords {
		word := halves[0] + halves[1]
		if len(saidAmiss([]byte("a "+word+" b"))) == 0 {
			t.Errorf("%q is not found", word)
		}
	}
	if words := saidAmiss([]byte("a gate for orders, to do with care")); len(words) > 0 {
		t.Errorf("found %v in a plain sentence", words)
	}
}

// TestDocumentsHaveTheirParts holds the README, the architecture and the security page to what each must have.
func TestDocumentsHaveTheirParts(t *testing.T) {
	parts := map[string][]string{
		"README.md": {
			"make demo\nmake test\n", "## Guarded, and not guarded", "| not guarded |", "## Not there yet", "## What it touches",
			"**Claude Code**", "**Codex**", "**Hermes**", "**Any other MCP client**", "## Configuration",
			"## People in control", "### The daemon, in five commands", "### The kill switch, in one step",
			"\n| network |", "\n| telemetry |", "\n| subprocesses |", "\n| background processes |", "\n| credentials |",
			"\n| reads |", "\n| writes |",
		},
		"ARCHITECTURE.md": {"## Words", "## How one order goes", "## How a proposal goes", "## The kill switch", "## The daemon"},
		"SECURITY.md": {
			"## Two kinds of surface", "same operating-system user", "## What a kept head proves", "paper.db",
			"## People in control", "**A credential**", "**Who holds the bot's token**", "**The stop file**", "packaging/sallyport.service",
		},
		"CHANGELOG.md": {"## 0.1.0"},
		"LICENSE":      {"MIT License"},
	}
	for name, wants := range parts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, want := range wants {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
		if lines := bytes.Count(text, []byte("\n")); name == "ARCHITECTURE.md" && lines > 300 {
			t.Errorf("%s has %d lines, at most 300 are allowed", name, lines)
		}
	}
	security, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 13 {
		if row := fmt.Sprintf("\n| I%d | ", i+1); !bytes.Contains(security, []byte(row)) {
			t.Errorf("SECURITY.md has no row for the invariant I%d", i+1)
		}
	}
}
