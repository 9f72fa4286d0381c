package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"sallyport/hook"
)

// TestMain lets the scripts run this test binary as sallyport, and as one whose hooks have no time to look whether a policy
// is sound.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sallyport": main, "hurried": func() {
		a := newApp()
		a.proves = time.Microsecond
		os.Exit(run(a, os.Args[1:]))
	}})
}

// TestHookLooksForASecondWhetherAPolicyIsSound: what the bound does is in proof.txtar.
//
//attack:cli-hook-proof
func TestHookLooksForASecondWhetherAPolicyIsSound(t *testing.T) {
	if got := newApp().proves; got != time.Second || got > hook.MaxWait/2 {
		t.Errorf("%s of %s", got, hook.MaxWait)
	}
}

// TestScript runs the scripts of testdata/script, which are examples of every command too. Each has a home directory of
// its own, and begins without a data directory. Under the race detector only those run whose processes have more than
// one goroutine at work: the others start hundreds of short processes, and would find nothing there.
//
//attack:cli-hook-proof
//attack:cli-masked
func TestScript(t *testing.T) {
	var files []string
	if raceEnabled {
		files = append(files, "demo.txtar", "hook.txtar", "mcp.txtar", "serve.txtar", "tool.txtar")
	}
	for i, f := range files {
		files[i] = filepath.Join("testdata", "script", f)
	}
	dir := filepath.Join("testdata", "script")
	if len(files) > 0 {
		dir = ""
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Files: files,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("SALLYPORT_HOME", filepath.Join(e.WorkDir, "data"))
			e.Setenv("SALLYPORT_TIER", "2")          // the scripts of tiers set it themselves
			short, err := os.MkdirTemp("/tmp", "sp") // a socket's path has at most 104 bytes, and the scripts' own are long
			e.Setenv("SHORT", short)
			e.Defer(func() { os.RemoveAll(short) })
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "capture": capture, "columns": columns, "jsonlines": jsonLines, "change": change, "says": says, "listens": listens, "quote": quote,
			"largest": largest,
		},
		RequireExplicitExec: true,
	})
}

// exits N PROGRAM ARG... runs a program that must end with exit code N. What it wrote is then stdout and stderr.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\nstdout:\n%sstderr:\n%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
	if all := ts.ReadFile("stdout") + ts.ReadFile("stderr"); strings.Contains(all, "goroutine ") {
		ts.Fatalf("a stack trace was shown")
	}
}

// capture VAR PATTERN sets VAR to what the pattern's group finds first in standard output.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture VAR pattern")
	}
	m := regexp.MustCompile(`(?m)` + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) != 2 {
		ts.Fatalf("nothing in standard output matches %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// columns FILE wants lines of at most 80 characters, and no escape sequence.
func columns(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: columns file")
	}
	for line := range strings.SplitSeq(ts.ReadFile(args[0]), "\n") {
		if n := utf8.RuneCountInString(line); n > width && !strings.Contains(line, "/") {
			ts.Fatalf("%d columns: %s", n, line)
		}
		if strings.Contains(line, "\x1b") {
			ts.Fatalf("an escape sequence: %q", line)
		}
	}
}

// says FILE PATTERN wants a match in a file's text, wherever its lines are broken.
func says(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: says file pattern")
	}
	text := strings.Join(strings.Fields(ts.ReadFile(args[0])), " ")
	if regexp.MustCompile(args[1]).MatchString(text) == neg {
		ts.Fatalf("%s says %s", args[0], text)
	}
}

// quote FILE SYMBOL BID ASK adds a quote of now to a file.
func quote(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: quote file symbol bid ask")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	ts.Check(err)
	_, err = fmt.Fprintf(f, `{"symbol":%q,"bid":%q,"ask":%q,"last":%q,"at":%q}`+"\n", args[1], args[2], args[3], args[2], time.Now().UTC().Format(time.RFC3339))
	ts.Check(errors.Join(err, f.Close()))
}

// largest FILE writes a policy with as many rules as there may be, and tests of its own.
func largest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: largest file")
	}
	const limits = `"order_quantity":{"hold_above":"%d","deny_above":"%d"},"orders_per_minute":{"deny_above":"100"},` +
		`"orders_per_day":{"hold_above":"200","deny_above":"300"},"similar_orders":{"deny_above":"50","window":"30s"},"open_orders":{"deny_above":"200"},` +
		`"denials_per_minute":{"halt_above":"500","per":"agent"},"broker_rejections":{"halt_above":"50","window":"5m"}`
	const order = `{"symbol":"AAPL","side":"buy","quantity":"10","type":"limit","limit_price":"150.00","time_in_force":"day"}`
	var rules, tests []string
	for i := range 256 {
		rules = append(rules, fmt.Sprintf(`{"id":"r%d","match":{"symbols":["AAPL","X%c%c"]},"limits":{`+limits+`}}`, i, 'A'+i/26, 'A'+i%26, 100+i, 500+i))
	}
	for i := range 60 {
		tests = append(tests, fmt.Sprintf(`{"name":"t%d","tape":[{"at":"2026-11-30T15:00:01Z","intent":{"id":"a","agent":"bot","order":%s}}],"expect":[{"intent":"a","verdict":"allow"}]}`, i, order))
	}
	text := `{"version":2,"currency":"USD","timezone":"America/New_York","rules":[` + strings.Join(rules, ",\n") + `],"tests":[` + strings.Join(tests, ",\n") + "]}\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// listens SOCKET waits until somebody listens there; ! listens SOCKET until nobody does.
func listens(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: listens socket")
	}
	for end := time.Now().Add(20 * time.Second); answers(args[0]) == neg; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("%s: listened to is %v", args[0], !neg)
		}
	}
}

// jsonlines FILE [N] wants one JSON object a line, N of them.
func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: jsonlines file [count]")
	}
	text := strings.TrimSuffix(ts.ReadFile(args[0]), "\n")
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		if text == "" {
			break
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("not an object: %v: %s", err, line)
		}
		n++
	}
	if len(args) == 2 && strconv.Itoa(n) != args[1] {
		ts.Fatalf("%d lines, want %s", n, args[1])
	}
}

// change FILE OLD NEW replaces bytes of a file by as many others.
func change(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || len(args[1]) != len(args[2]) {
		ts.Fatalf("usage: change file old new")
	}
	raw := []byte(ts.ReadFile(args[0]))
	if !bytes.Contains(raw, []byte(args[1])) {
		ts.Fatalf("%s does not hold %s", args[0], args[1])
	}
	writeBack(ts, args[0], bytes.ReplaceAll(raw, []byte(args[1]), []byte(args[2])))
}
