package sallyport_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"

	"sallyport/gatetest"
	"sallyport/wire"
)

// document is one Markdown file of the module.
type document struct {
	name   string // slash-separated, from the module's root
	text   string
	blocks []block
}

// block is one fenced part of a document. The word behind the fence says what it is, and so what is done with it here:
//
//	console  commands behind "$ " and what they print: run, and compared; "…" stands for any text, and alone on a line
//	         for any lines. Exports and umask hold until the end of the document. A command that ends with "&"
//	         goes on in the background; what it prints first is compared, and SIGTERM ends it at the end of the document
//	sh       commands that are not run here; ours must exist, with their flags
//	json     one strict JSON value; jsonl: one on each line. With sallyport.json or policy.json behind the word the
//	         binary must take it as such a file
//	jsonc    the same with comments, sallyport.json only
//	text     anything else
type block struct {
	doc  string
	line int // of the opening fence
	kind string
	file string // the second word
	body string
}

func (b block) where() string { return fmt.Sprintf("%s:%d", b.doc, b.line) }

var blockKinds = []string{"console", "sh", "json", "jsonl", "jsonc", "text", "toml", "yaml", "go"}

// documents returns every Markdown file that is not test data.
func documents(t testing.TB) (docs []document) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name()[0] == '.' || d.Name() == "testdata" || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		docs = append(docs, parseDocument(filepath.ToSlash(name), string(text)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func parseDocument(name, text string) document {
	d := document{name: name, text: text}
	var open *block
	for i, line := range strings.Split(text, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
		switch {
		case isFence && open == nil:
			kind, file, _ := strings.Cut(strings.TrimSpace(fence), " ")
			open = &block{doc: name, line: i + 1, kind: kind, file: file}
		case isFence:
			d.blocks = append(d.blocks, *open)
			open = nil
		case open != nil:
			open.body += line + "\n"
		}
	}
	if open != nil {
		open.kind = "a fence that is never closed"
		d.blocks = append(d.blocks, *open)
	}
	return d
}

// TestDocumentBlocksSayWhatTheyAre makes sure that no example is left out below because nobody said what it is.
func TestDocumentBlocksSayWhatTheyAre(t *testing.T) {
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if !slices.Contains(blockKinds, b.kind) {
				t.Errorf("%s: the block is %q, want one of %v", b.where(), b.kind, blockKinds)
			}
		}
	}
}

// TestDocumentJSONIsStrict reads every JSON example as the product would.
func TestDocumentJSONIsStrict(t *testing.T) {
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if err := b.checkJSON(); err != nil {
				t.Errorf("%s: %v", b.where(), err)
			}
		}
	}
}

func (b block) checkJSON() error {
	texts := []string{b.body}
	switch b.kind {
	case "json":
	case "jsonl":
		texts = strings.Split(strings.TrimSuffix(b.body, "\n"), "\n")
	default:
		return nil
	}
	for _, text := range texts {
		v, err := wire.Read([]byte(text), wire.Limits{Bytes: 1 << 20, Depth: 32})
		if err != nil {
			return err
		}
		if name, twice := v.Duplicate(); twice {
			return fmt.Errorf("%q occurs twice", name)
		}
	}
	return nil
}

// TestDocumentFilesAreTaken gives every example of a file of ours to the binary.
func TestDocumentFilesAreTaken(t *testing.T) {
	seen := map[string]int{}
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.file == "" && b.kind != "jsonc" {
				continue
			}
			seen[b.file]++
			if complaint := checkFile(t, b); complaint != "" {
				t.Errorf("%s: %s", b.where(), complaint)
			}
		}
	}
	for _, name := range []string{"sallyport.json", "policy.json"} {
		if seen[name] == 0 {
			t.Errorf("no document shows a %s", name)
		}
	}
}

// checkFile puts the block into a new data directory as the file that it is said to be.
func checkFile(t *testing.T, b block) string {
	t.Helper()
	if b.file != "sallyport.json" && b.file != "policy.json" {
		return "there is no file " + b.file + " of ours"
	}
	s := newShell(t)
	out := s.run("sallyport init >/dev/null && cat >.sallyport/" + b.file + " <<'END'\n" + b.body + "END\n" +
		"chmod 600 .sallyport/" + b.file + " && sallyport policy validate && echo taken")
	if !strings.HasSuffix(strings.TrimSpace(out), "taken") {
		return out
	}
	return ""
}

func TestFilesThatAreNotTakenAreFound(t *testing.T) {
	for _, b := range []block{
		{file: "sallyport.json", body: "{\"agnt\": \"local\"}\n"}, {file: "policy.json", body: "{}\n"}, {file: "other.json", body: "{}\n"},
	} {
		if checkFile(t, b) == "" {
			t.Errorf("%s is taken as %s", b.body, b.file)
		}
	}
}

// command is one "$ " line of a console block and what the document says that it prints.
type command struct {
	line   int
	script string
	want   []string
}

func (b block) commands() (cmds []command, err error) {
	lines := strings.Split(strings.TrimSuffix(b.body, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		script, isCommand := strings.CutPrefix(lines[i], "$ ")
		switch {
		case isCommand:
			c := command{line: b.line + 1 + i, script: script}
			for strings.HasSuffix(c.script, `\`) && i+1 < len(lines) {
				i++
				c.script += "\n" + lines[i]
			}
			cmds = append(cmds, c)
		case len(cmds) == 0:
			return nil, fmt.Errorf("the console block does not begin with a command")
		default:
			cmds[len(cmds)-1].want = append(cmds[len(cmds)-1].want, lines[i])
		}
	}
	return cmds, nil
}

// binaryDir is where the binary for the tests of this directory is built.
var binaryDir string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "sallyport-root-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaryDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// binary builds sallyport once.
var binary = sync.OnceValues(func() (string, error) {
	name := filepath.Join(binaryDir, "sallyport")
	if out, err := exec.Command("go", "build", "-o", name, "./cmd/sallyport").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return name, nil
})

// shell runs commands as a reader of a document would: in one home, one after the other, with nothing else set.
type shell struct {
	home, root, bin string
	exported        string // what the commands so far have exported, and the mask that they have set
	masked          string
	background      []*background
}

func newShell(t *testing.T) *shell {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "doc-") // the path of a socket in it must be short
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{home: home, root: root, bin: filepath.Dir(name)}
	t.Cleanup(func() {
		for _, b := range s.background {
			b.end(t)
		}
		os.RemoveAll(home)
	})
	return s
}

// command prepares a command that begins with what was exported.
func (s *shell) command(script string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", s.exported+script)
	cmd.Dir = s.home
	cmd.Env = []string{
		"HOME=" + s.home, "PATH=" + s.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "NO_COLOR=1", "TZ=UTC",
		"LANG=C.UTF-8", "TMPDIR=" + os.TempDir(), "GOCACHE=" + goCaches()[0], "GOMODCACHE=" + goCaches()[1],
	}
	return cmd
}

func (s *shell) run(script string) string {
	if rest, ok := strings.CutPrefix(script, "make "); ok {
		script = "make -s -C '" + s.root + "' " + rest
	}
	out, err := s.command(script).CombinedOutput()
	if err != nil && len(out) == 0 {
		return err.Error()
	}
	switch {
	case err == nil && strings.HasPrefix(script, "export "):
		exports, _ := s.command(script + "\nexport -p").Output()
		s.exported = s.masked + string(exports)
	case err == nil && strings.HasPrefix(script, "umask "):
		s.masked = script + "\n"
		s.exported = s.masked + s.exported
	}
	return strings.ReplaceAll(string(out), s.home, "~")
}

// background is a program that goes on while the document goes on.
type background struct {
	cmd    *exec.Cmd
	out    gatetest.Output
	waited chan error
}

// start runs a command in the background until the end of the document, and returns what it has printed once that is
// what is wanted, or after 30 seconds.
func (s *shell) start(t *testing.T, script string, want []string) string {
	t.Helper()
	b := &background{cmd: s.command("exec " + script), waited: make(chan error, 1)}
	b.cmd.Stdout, b.cmd.Stderr = &b.out, &b.out
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { b.waited <- b.cmd.Wait() }()
	s.background = append(s.background, b)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got := strings.ReplaceAll(b.out.String(), s.home, "~")
		if matches(want, got) || time.Now().After(end) {
			return got
		}
	}
}

// end ends it as a service manager would, and makes sure that it ends well.
func (b *background) end(t *testing.T) {
	t.Helper()
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	select {
	case err := <-b.waited:
		if err != nil {
			t.Errorf("%v ended with %v:\n%s", b.cmd.Args, err, b.out.String())
		}
	case <-time.After(30 * time.Second):
		t.Errorf("%v does not end:\n%s", b.cmd.Args, b.out.String())
		_ = b.cmd.Process.Kill()
		<-b.waited
	}
}

// goCaches are where the go command keeps what it has built and fetched: a home of its own has neither.
var goCaches = sync.OnceValue(func() [2]string {
	out, _ := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	lines := append(strings.Split(string(out), "\n"), "", "")
	return [2]string{lines[0], lines[1]}
})

// TestDocumentCommandsPrintWhatTheDocumentsSay runs every console block. Those of one document share a home, in order.
func TestDocumentCommandsPrintWhatTheDocumentsSay(t *testing.T) {
	for _, d := range documents(t) {
		t.Run(strings.ReplaceAll(d.name, "/", "-"), func(t *testing.T) {
			var s *shell
			for _, b := range d.blocks {
				if b.kind != "console" {
					continue
				}
				cmds, err := b.commands()
				if err != nil {
					t.Fatalf("%s: %v", b.where(), err)
				}
				if _, err := exec.LookPath("curl"); err != nil && strings.Contains(b.body, "$ curl ") {
					t.Logf("%s is left out: there is no curl here", b.where())
					continue
				}
				if s == nil {
					s = newShell(t)
				}
				for _, c := range cmds {
					got := ""
					if script, goesOn := strings.CutSuffix(c.script, " &"); goesOn {
						got = s.start(t, script, c.want)
					} else {
						got = s.run(c.script)
					}
					if !matches(c.want, got) {
						t.Errorf("%s:%d: %s\nprints\n%s\nand the document says\n%s", b.doc, c.line, c.script, got, strings.Join(c.want, "\n"))
					}
				}
			}
		})
	}
}

// matches compares what a document says with what was printed, both without trailing white space.
func matches(want []string, got string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for _, line := range want {
		line = strings.TrimRight(line, " ")
		if line == "…" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		parts := strings.Split(line, "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern.WriteString(strings.Join(parts, `.*?`) + `[ \t]*\n`)
	}
	pattern.WriteString(`\n*\z`)
	if !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	if got == "\n" && len(want) == 0 {
		return true
	}
	return regexp.MustCompile(pattern.String()).MatchString(strings.TrimRightFunc(got, unicode.IsSpace) + "\n")
}

func TestMatchesComparesOutput(t *testing.T) {
	for _, c := range []struct {
		want string
		got  string
		same bool
	}{
		{"a\nb", "a\nb\n", true},
		{"a\nb", "a\nc\n", false},
		{"a", "a\nb\n", false},
		{"a\nb", "a\n", false},
		{"a … c", "a b c\n", true},
		{"a … c", "a b d\n", false},
		{"…\nlast", "1\n2\nlast\n", true},
		{"…\nlast", "1\n2\n", false},
		{"first\n…", "first\nmore\n", true},
		{"first\n…", "second\nmore\n", false},
		{"a.c", "abc\n", false},
		{"", "", true},
	} {
		if got := matches(strings.Split(c.want, "\n"), c.got); got != c.same {
			t.Errorf("%q against %q: %v, want %v", c.want, c.got, got, c.same)
		}
	}
}

// TestDocumentBlocksThatAreWrongAreFound gives the tests above documents that are wrong.
func TestDocumentBlocksThatAreWrongAreFound(t *testing.T) {
	d := parseDocument("x.md", "```json\n{\"a\":1,\"a\":2}\n```\ntext\n```json\n{\"a\":1,}\n```\n```jsonl\n{}\n{} x\n```\n```\nopen\n")
	if len(d.blocks) != 4 {
		t.Fatalf("%d blocks, want 4", len(d.blocks))
	}
	for _, b := range d.blocks[:3] {
		if b.checkJSON() == nil {
			t.Errorf("%s: %q passes as %s", b.where(), b.body, b.kind)
		}
	}
	if slices.Contains(blockKinds, d.blocks[3].kind) {
		t.Error("a fence that is never closed passes")
	}
	if _, err := (block{kind: "console", body: "no command\n"}).commands(); err == nil {
		t.Error("a console block without a command passes")
	}
	cmds, err := block{line: 1, body: "$ a \\\n  b\nout\n$ c\n"}.commands()
	if err != nil || len(cmds) != 2 || cmds[0].script != "a \\\n  b" || len(cmds[0].want) != 1 || cmds[1].line != 5 {
		t.Errorf("commands are read as %+v, %v", cmds, err)
	}
}
