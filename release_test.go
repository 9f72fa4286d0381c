package sallyport_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var record = flag.String("record", "", "keep a data directory of this `version` as test data")

// releasesDir has, for each release, the data directory that its binary left behind (home) and what the same binary
// said of it (expected). Nothing in it is ever changed.
const releasesDir = "testdata/releases"

// runIn runs the binary on a data directory and returns its standard output. A command may end with a denial.
func runIn(t *testing.T, home, input string, args ...string) string {
	t.Helper()
	return runOpen(t, home, input, nil, args...)
}

// runOpen is runIn with a file that the binary has open as its descriptor 3.
func runOpen(t *testing.T, home, input string, open *os.File, args ...string) string {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Env = []string{"SALLYPORT_HOME=" + home, "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TZ=UTC", "SALLYPORT_TIER=2"}
	cmd.Stdin = strings.NewReader(input)
	if open != nil {
		cmd.ExtraFiles = []*os.File{open}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if code := cmd.ProcessState.ExitCode(); code != 1 && !(code == 2 && args[0] == "hook") && !(code == 4 && args[0] == "propose") {
			t.Fatalf("sallyport %v: %v\n%s%s", args, err, stdout.Bytes(), stderr.Bytes())
		}
	}
	return stdout.String()
}

// TestReleasesOpenVerifyAndFold opens the data directory of every release with the binary of today: the chain verifies
// up to the recorded head, every record and every fold is what the release's own binary said, and work goes on.
func TestReleasesOpenVerifyAndFold(t *testing.T) {
	releases, err := filepath.Glob(releasesDir + "/v*")
	if err != nil {
		t.Fatal(err)
	}
	if len(releases) == 0 {
		t.Fatal("no release is kept; make record-release keeps one")
	}
	for _, dir := range releases {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			home := copyHome(t, filepath.Join(dir, "home"))
			expected := func(name string) string {
				raw, err := os.ReadFile(filepath.Join(dir, "expected", name))
				if err != nil {
					t.Fatal(err)
				}
				return string(raw)
			}
			head := strings.TrimSpace(expected("head.txt"))
			if out := runIn(t, home, "", "audit", "verify", "--json", "--head", head); !strings.Contains(out, `"ok":true`) {
				t.Fatalf("the chain does not verify: %s", out)
			}
			for _, c := range releaseViews() {
				if got, want := strings.ReplaceAll(runIn(t, home, "", c.args...), home, "HOME"), expected(c.file); got != want {
					t.Errorf("sallyport %s says\n%s\nand its own release said\n%s", strings.Join(c.args, " "), got, want)
				}
			}
			goOn(t, home, strings.Contains(expected("export.jsonl"), `daemon_owned`))
			if out := runIn(t, home, "", "audit", "verify", "--json", "--head", head); !strings.Contains(out, `"ok":true`) {
				t.Errorf("after one more order the chain does not verify: %s", out)
			}
		})
	}
}

// goOn makes one more record: an order, or where a daemon owns the data directory a stop beside that daemon.
func goOn(t *testing.T, home string, owned bool) {
	t.Helper()
	if owned {
		end := startDaemon(t, home)
		if out := runIn(t, home, "", "kill", "--json", "--reason", "a test"); !strings.Contains(out, `"recorded":true`) {
			t.Errorf("the next stop is answered %s", out)
		}
		end()
		return
	}
	out := runIn(t, home, "", "order", "--json", `{"symbol":"MSFT","side":"buy","quantity":1,"order_type":"limit","limit_price":"1.00"}`)
	if !strings.Contains(out, `"verdict":"allow"`) {
		t.Errorf("the next order is answered %s", out)
	}
}

// startDaemon starts a daemon on its sockets only, and returns how to end it.
func startDaemon(t *testing.T, home string) (end func()) {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "serve", "--listen-agents", "none", "--listen-people", "none", "--log", "json")
	cmd.Env = []string{"SALLYPORT_HOME=" + home, "HOME=" + t.TempDir(), "TZ=UTC"}
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() && !strings.Contains(lines.Text(), `"msg":"serving"`) {
	}
	go io.Copy(io.Discard, log)
	return func() {
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
			t.Errorf("the daemon ended with %v", err)
		}
	}
}

// releaseView is one thing that a release's binary said of its own data directory, in a file. None of them depends on
// the time at which it is asked.
type releaseView struct {
	file string
	args []string
}

func releaseViews() []releaseView {
	return []releaseView{
		{"export.jsonl", []string{"audit", "export"}},
		{"audit.jsonl", []string{"audit", "list", "--json", "--limit", "200"}},
		{"policy.json", []string{"policy", "show", "--json"}},
	}
}

// copyHome copies a kept data directory with the modes that it had.
func copyHome(t *testing.T, from string) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Mkdir(filepath.Join(home, rel), 0o700)
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(home, rel), raw, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return home
}

// TestRecordRelease makes the data directory of a release with the binary of today. It runs only with -record, and
// never over one that is there.
func TestRecordRelease(t *testing.T) {
	if *record == "" {
		t.Skip("make record-release runs it")
	}
	dir := filepath.Join(releasesDir, *record)
	if _, err := os.Stat(dir); err == nil {
		t.Fatalf("%s is there; a release is kept as it was", dir)
	}
	home := filepath.Join(t.TempDir(), "home")
	live(t, home)
	keep := func(name, text string) {
		path := filepath.Join(dir, "expected", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	keep("head.txt", runIn(t, home, "", "audit", "head"))
	for _, c := range releaseViews() {
		keep(c.file, strings.ReplaceAll(runIn(t, home, "", c.args...), home, "HOME"))
	}
	for _, name := range []string{"journal.db", "paper.db", "policy.json", "quotes.jsonl", "sallyport.json"} {
		raw, err := os.ReadFile(filepath.Join(home, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "home"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "home", name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// live puts every kind of event that this release has into a data directory: orders that were executed, rejected,
// blocked and no orders at all, a repeat, permissions with and without a report, a cancel and a settlement.
func live(t *testing.T, home string) {
	t.Helper()
	runIn(t, home, "", "init", "--quotes-sample")
	config := []byte("{\n  // a missing outcome is unknown soon, so that it can be settled\n  \"deadlines\": {\"outcome\": \"1s\"},\n  \"approval\": {\"expires\": \"3s\"},\n}\n")
	if err := os.WriteFile(filepath.Join(home, "sallyport.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	order := func(args string, more ...string) string {
		return runIn(t, home, args, append(append([]string{"order", "--json"}, more...), "-")...)
	}
	order(`{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"400.00","client_order_id":"first","reason":"a first position"}`)
	order(`{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"400.00","client_order_id":"first"}`)
	order(`{"symbol":"AAPL","side":"buy","quantity":"11","order_type":"limit","limit_price":"400.00","client_order_id":"first"}`)
	order(`{"ticker":"AAPL","direction":"buy","qty":"300","order_type":"limit","price":"150.00"}`, "--tool", "paper_place_order_b")
	order(`{"symbol":"TSLA","side":"buy","quantity":"1","order_type":"limit","limit_price":"1.00"}`)
	order(`{"symbol":"AAPL","side":"sell","quantity":"1","order_type":"limit","limit_price":"1.00"}`)
	order(`{"symbol":"AAPL","side":"buy","quantity":1e1,"order_type":"market","limit_price":null,"hack":true}`)
	order(`not JSON`)
	working := intentOf(t, order(`{"symbol":"MSFT","side":"buy","quantity":"5","order_type":"limit","limit_price":"1.00"}`))
	runIn(t, home, "", "cancel", "--json", working)
	order(`{"symbol":"MSFT","side":"buy","quantity":"3","order_type":"limit","limit_price":"1.00"}`)

	event := func(kind, id, quantity, more string) string {
		return runIn(t, home, fmt.Sprintf(`{"session_id":"s1","hook_event_name":%q,"tool_name":"mcp__sallyport__paper_place_order_a",`+
			`"tool_input":{"symbol":"AAPL","side":"buy","quantity":%s,"order_type":"limit","limit_price":"100.00"},"tool_use_id":%q%s}`,
			kind, quantity, id, more), "hook", "claude")
	}
	response := `,"tool_response":"{\"status\":\"SUCCESS\",\"order_id\":\"X-1\"}"`
	event("PreToolUse", "call-1", "1", "")
	event("PostToolUse", "call-1", "1", response)
	event("PreToolUse", "call-2", "2", "")
	event("PostToolUse", "call-2", "3", response)
	event("PreToolUse", "call-3", "4", "")
	event("PreToolUse", "call-4", "4000", "")
	event("PreToolUse", "call-5", "5", "")
	serve(t, home, "EXECUTION_SUCCEEDED", `{"name":"paper_place_order_a","arguments":{"symbol":"AAPL","side":"buy","quantity":5,"order_type":"limit",`+
		`"limit_price":"100.00"},"_meta":{"claudecode/toolUseId":"call-5"}}`)
	for _, kind := range []string{"PreToolUse", "PermissionRequest"} {
		id := map[string]string{"PreToolUse": `,"tool_use_id":"call-6"`}[kind]
		runIn(t, home, fmt.Sprintf(`{"session_id":"s2","turn_id":"t1","hook_event_name":%q,"tool_name":"mcp__sallyport__paper_place_order_a",`+
			`"tool_input":{"symbol":"AAPL","side":"buy","quantity":6,"order_type":"limit","limit_price":"100.00"}%s}`, kind, id), "hook", "codex")
	}
	for range 50 { // enough for a snapshot
		order(`{"symbol":"AAPL","side":"buy","quantity":"201","order_type":"limit","limit_price":"1.00"}`)
	}
	time.Sleep(1100 * time.Millisecond) // the outcome's deadline; only a recording waits
	for _, d := range strings.Split(strings.TrimSpace(runIn(t, home, "", "audit", "list", "--json", "--limit", "200")), "\n") {
		if strings.Contains(d, "EXECUTION_ALLOWED") || strings.Contains(d, "EXECUTION_OUTCOME_UNKNOWN") {
			runIn(t, home, "", "audit", "resolve", "--json", intentOf(t, d), "rejected", "--reason", "not in the list of the broker")
		}
	}
	govern(t, home)
}

// govern puts every event of people in control into the data directory, which a daemon owns from then on: people and
// agents that come, change and go, an attempt with a wrong credential, stops and resets, and proposals that are
// approved, declined, withdrawn and left to expire.
func govern(t *testing.T, home string) {
	t.Helper()
	kim, wrong := filepath.Join(t.TempDir(), "kim"), filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("sp-person-wrong\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	as := func(credential string, args ...string) string {
		f, err := os.OpenFile(credential, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return runOpen(t, home, "", f, append(args, "--credential-fd", "3")...)
	}
	propose := func(quantity string) (intent, digest string) {
		out := runIn(t, home, "", "propose", "--json",
			`{"symbol":"AAPL","side":"buy","quantity":`+quantity+`,"order_type":"limit","limit_price":"400.00","reason":"a test"}`)
		_, digest, _ = strings.Cut(out, `"digest":"`)
		return intentOf(t, out), digest[:min(8, len(digest))]
	}
	as(kim, "people", "init", "kim")
	as(kim, "people", "add", "lee", "--approver", "--telegram-id", "4711")
	as(kim, "people", "rotate", "lee")
	as(kim, "people", "remove", "lee")
	as(wrong, "people", "add", "eve")
	as(kim, "agents", "add", "desk", "--tier", "1")
	as(kim, "agents", "rotate", "desk")
	as(kim, "agents", "add", "night", "--tier", "0")
	as(kim, "agents", "remove", "night")
	runIn(t, home, "", "kill", "--scope", "symbol:TSLA", "--reason", "a rumour")
	as(kim, "kill", "--reason", "everything too")
	for _, scope := range []string{"everything", "symbol:TSLA"} {
		as(kim, "kill", "reset", "--scope", scope, "--reason", "checked")
	}
	propose("9")
	time.Sleep(3100 * time.Millisecond) // its expiry; only a recording waits
	withdrawn, _ := propose("8")
	serve(t, home, "APPROVAL_WITHDRAWN", fmt.Sprintf(`{"name":"proposal_withdraw","arguments":{"proposal_id":%q,"reason":"changed"}}`, withdrawn))
	approved, digest := propose("7")
	declined, other := propose("6")
	defer startDaemon(t, home)()
	as(kim, "approve", approved, "--digest", other)
	if out := as(kim, "approve", approved, "--digest", digest, "--json"); !strings.Contains(out, "EXECUTION_SUCCEEDED") {
		t.Errorf("the approval is answered %s", out)
	}
	as(kim, "decline", declined, "--digest", other, "--reason", "enough")
	if out := as(kim, "reduce", "AAPL", "1", "--limit", "1.00", "--json"); !strings.Contains(out, "EXECUTION_SUCCEEDED") {
		t.Errorf("the reduction is answered %s", out)
	}
}

// serve makes one call of a tool through the server of the Model Context Protocol, in the session s1 of Claude Code.
func serve(t *testing.T, home, want, params string) {
	t.Helper()
	answer, _, end := askServer(t, home, `"method":"tools/call","params":`+params, "CLAUDE_CODE_SESSION_ID=s1", "SALLYPORT_TIER=2")
	if !strings.Contains(answer, want) {
		t.Errorf("the server answers %s", answer)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

func intentOf(t *testing.T, decision string) string {
	t.Helper()
	var d struct {
		Intent string `json:"intent_id"`
	}
	if err := json.Unmarshal([]byte(decision), &d); err != nil || d.Intent == "" {
		t.Fatalf("no intent in %q: %v", decision, err)
	}
	return d.Intent
}
