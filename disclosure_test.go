package sallyport_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestNothingOpensASocket makes an order through the server of the Model Context Protocol and looks at what the process
// has open. That no file of ours imports net, net/http or os/exec is the rule "imports".
func TestNothingOpensASocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows what a process has open in /proc")
	}
	home := filepath.Join(t.TempDir(), "home")
	runIn(t, home, "", "init", "--quotes-sample")
	answer, pid, end := askServer(t, home, `"method":"tools/call","params":{"name":"paper_place_order_a","arguments":`+
		`{"symbol":"AAPL","side":"buy","quantity":1,"order_type":"limit","limit_price":"400.00"}}`, "SALLYPORT_TIER=2")
	defer end()
	if !strings.Contains(answer, "EXECUTION_SUCCEEDED") {
		t.Fatalf("the order is answered %s", answer)
	}
	sockets, files := openFiles(t, pid)
	if len(sockets) > 0 {
		t.Errorf("sallyport mcp has the sockets %v open", sockets)
	}
	if files < 4 {
		t.Errorf("only %d open files were seen", files)
	}
	if children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid)); err == nil && len(children) > 0 {
		t.Errorf("sallyport mcp has the children %s", children)
	}
}

// openFiles returns the inodes of the sockets that a process has open, and how many files it has open in all.
func openFiles(t *testing.T, pid int) (sockets []string, files int) {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil {
			files++
			if inode, is := strings.CutPrefix(to, "socket:["); is {
				sockets = append(sockets, strings.TrimSuffix(inode, "]"))
			}
		}
	}
	return sockets, files
}

// TestServeListensOnThisMachineOnly starts a daemon without any configuration and looks at each socket that it has open:
// a unix socket in the data directory, or one on a loopback address.
//
//fault:f66
func TestServeListensOnThisMachineOnly(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows what a process has open in /proc")
	}
	s := newShell(t)
	s.run("sallyport init")
	if out := s.run("sallyport serve --listen-agents 0.0.0.0:0"); !strings.Contains(out, "not a loopback address") {
		t.Errorf("an address that other machines reach is answered %s", out)
	}
	if out := s.start(t, "sallyport serve --log json", []string{"…", `…"msg":"serving"…`}); !strings.Contains(out, `"msg":"serving"`) {
		t.Fatalf("the daemon says %s", out)
	}
	daemon := s.background[0].cmd.Process.Pid
	inodes, _ := openFiles(t, daemon)
	places := socketPlaces(t, daemon)
	for _, inode := range inodes {
		if place := places[inode]; !strings.HasPrefix(place, s.home+"/.sallyport/run/") && !strings.HasPrefix(place, "0100007F:") {
			t.Errorf("the daemon has a socket at %q", place)
		}
	}
	if len(inodes) < 2 {
		t.Errorf("the daemon has the sockets %v; two at least are its own", inodes)
	}
	if children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", daemon)); err == nil && len(children) > 0 {
		t.Errorf("the daemon has the children %s", children)
	}
}

// socketPlaces returns where each socket of the machine is, by its inode: a path, or an address as the system writes it.
func socketPlaces(t *testing.T, pid int) map[string]string {
	t.Helper()
	places := map[string]string{}
	for file, columns := range map[string][2]int{"unix": {6, 7}, "tcp": {9, 1}, "tcp6": {9, 1}, "udp": {9, 1}, "udp6": {9, 1}} {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, file))
		if err != nil && file != "tcp6" && file != "udp6" {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if words := append(strings.Fields(line), ""); len(words) > columns[0] {
				places[words[columns[0]]] = words[min(columns[1], len(words)-1)]
			}
		}
	}
	return places
}

// environmentCall is how a variable is read in the code.
var environmentCall = regexp.MustCompile(`(?i)^(a\.|e\.app\.|os\.)?(getenv|lookupenv)$`)

// environmentRead returns the names of the environment variables that a package reads, and the reads whose name is not
// known before the program runs.
func environmentRead(p *sourcePackage) (names []string, unknown []finding) {
	walk(p.production(), func(_ *sourceFile, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return
		}
		var name string
		switch f := call.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
		}
		if !environmentCall.MatchString(name) {
			return
		}
		if v := p.info.Types[call.Args[0]].Value; v != nil && v.Kind() == constant.String {
			names = append(names, constant.StringVal(v))
		} else {
			unknown = append(unknown, p.at(call.Pos(), "reads an environment variable whose name is computed"))
		}
	})
	return names, unknown
}

// TestREADMENamesEveryEnvironmentVariable compares the disclosure with the code, the plugin's included.
func TestREADMENamesEveryEnvironmentVariable(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, p := range module(t) {
		names, unknown := environmentRead(p)
		for _, name := range names {
			count++
			if !strings.Contains(string(readme), "`"+name+"`") {
				t.Errorf("%s reads %s, which the README does not name", p.path, name)
			}
		}
		if p.path != "cmd/sallyport" {
			for _, f := range unknown {
				t.Error(f)
			}
		}
	}
	if count == 0 {
		t.Error("no environment variable was found in the code")
	}
	python, err := filepath.Glob("plugins/hermes/*.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range python {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`environ(?:\.get\(|\[)\s*["'](\w+)`).FindAllStringSubmatch(string(src), -1) {
			if !strings.Contains(string(readme), "`"+m[1]+"`") {
				t.Errorf("%s reads %s, which the README does not name", file, m[1])
			}
		}
	}
}

func TestEnvironmentReadsAreFound(t *testing.T) {
	p := sample(t, "cmd/sallyport", "sample.go", "package main\n\nimport \"os\"\n\nconst v = \"A_B\"\n\nfunc f(getenv func(string) string, s string) {\n"+
		"\t_ = getenv(v)\n\t_ = os.Getenv(\"C\")\n\t_, _ = os.LookupEnv(s)\n}\n")
	names, unknown := environmentRead(p)
	if p.err != nil || strings.Join(names, " ") != "A_B C" || len(unknown) != 1 {
		t.Errorf("found %v and %v (%v)", names, unknown, p.err)
	}
}
