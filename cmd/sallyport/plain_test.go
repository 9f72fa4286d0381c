package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/journal"
)

func TestErrorsAreSaidWithoutWhatTheProgramIsMadeOf(t *testing.T) {
	for text, want := range map[string]string{
		"open /x/policy.json: no such file or directory":                                                          "there is no /x/policy.json",
		"the policy cannot be used, so nothing is allowed: open /x/p: permission denied":                          "the policy cannot be used, so nothing is allowed: /x/p: permission denied",
		"the journal cannot be used: store: others can read or write /x/j; run: chmod 600 /x/j":                   "the journal cannot be used: others can read or write /x/j; run: chmod 600 /x/j",
		"store: /x/j is not an SQLite database: file is not a database (26)":                                      "/x/j is not an SQLite database",
		"store: /x/j is locked by another process: database is locked (5)":                                        "/x/j is locked by another process",
		"journal: broken: record 2 does not have the hash":                                                        "record 2 does not have the hash",
		"paper: gate: not sent: journal: closed":                                                                  "not sent: closed",
		"link /x/copy.db.new123 /x/copy.db: operation not permitted":                                              "/x/copy.db: operation not permitted",
		"store: open /x/copy.db.new4711: no space left on device":                                                 "/x/copy.db: no space left on device",
		"mkdir /proc/1/x: no such file or directory":                                                              "there is no /proc/1/x",
		"there is no intent 01ARZ3NDEKTSV4RRFFQ69G5FAV: file does not exist":                                      "there is no intent 01ARZ3NDEKTSV4RRFFQ69G5FAV",
		"the broker's events cannot be read: context deadline exceeded":                                           "the broker's events cannot be read: it took too long",
		"strconv.ParseUint: parsing \"x\": invalid syntax":                                                        "parsing \"x\": invalid syntax",
		"sallyport.json: hujson: line 1, column 2: x":                                                             "sallyport.json: line 1, column 2: x",
		"read the paper: it is plain text: nothing is to be changed":                                              "read the paper: it is plain text: nothing is to be changed",
		"store: others can write to the directory /x (mode 0777)":                                                 "others can write to the directory /x (mode 0777)",
		"policy.json: line 2, column 3: max_quantity is -1; a bound is zero or more":                              "policy.json: line 2, column 3: max_quantity is -1; a bound is zero or more",
		"the default policy cannot be written: open /x/y/.new-1234567: permission denied":                         "the default policy cannot be written: /x/y: permission denied",
		"the broker did not answer within 10s; it may have the order: write /dev/stdout: device or resource busy": "the broker did not answer within 10s; it may have the order: /dev/stdout: device or resource busy",
		"the daemon cannot be reached: dial unix /x/run/agents.sock: connect: no such file or directory":          "the daemon cannot be reached: nobody listens on /x/run/agents.sock",
		"the daemon cannot be reached: dial tcp 127.0.0.1:8371: connect: connection refused":                      "the daemon cannot be reached: nobody listens on 127.0.0.1:8371",
		"the daemon cannot be reached: dial unix /x/agents.sock: connect: permission denied":                      "the daemon cannot be reached: /x/agents.sock: permission denied",
	} {
		if got := plainText(text); got != want {
			t.Errorf("%s\nis said as   %s\nand not as   %s", text, got, want)
		}
	}
	_, err := os.Open(filepath.Join(t.TempDir(), "no where"))
	if got := plain(err); !strings.HasPrefix(got, "there is no /") || !strings.HasSuffix(got, "/no where") {
		t.Error(got)
	}
}

// TestRepairsNameNoCommandThatIsRunning would go in circles.
func TestRepairsNameNoCommandThatIsRunning(t *testing.T) {
	for _, running := range []string{"init", "doctor", "audit verify", "audit list", "order"} {
		a := &app{running: running}
		for _, err := range []error{
			fs.ErrNotExist, fs.ErrPermission, &journal.Broken{Seq: 2, Reason: "x"}, journal.ErrBusy, gate.ErrOtherVenue, gate.ErrJournalLost,
			errors.New("the disk is gone"), errors.New("/x/journal.db is damaged: (11)"), errors.New("store: others can read or write /x; run: chmod 600 /x"),
			fmt.Errorf("there is no journal in /x; run sallyport init: %w", fs.ErrNotExist),
		} {
			p := problemOf(a.gateProblem(err))
			if strings.Contains(p.repair, "'sallyport "+running+"'") || strings.Contains(p.what, "run ") {
				t.Errorf("%s fails with %q and says: %s", running, p.what, p.repair)
			}
			if p.repair == "" && running != "doctor" {
				t.Errorf("%s fails with %q and says nothing", running, p.what)
			}
		}
	}
}

// TestFailuresAreOneObjectWithJSON fails every command that has --json, in several ways.
func TestFailuresAreOneObjectWithJSON(t *testing.T) {
	root := (&tree{app: &app{}}).root()
	tried := 0
	for _, line := range []string{
		"init", "check", "order {}", "orders", "positions", "cancel 01ARZ3NDEKTSV4RRFFQ69G5FAV", "hook print claude", "audit list",
		"audit show 01ARZ3NDEKTSV4RRFFQ69G5FAV", "audit verify", "audit head", "audit resolve 01ARZ3NDEKTSV4RRFFQ69G5FAV accepted --reason x",
		"audit export", "policy show", "policy validate", "policy hash", "backup x.db",
	} {
		args := strings.Fields(line)
		c, _, err := root.Find(args)
		if err != nil || c.Flags().Lookup("json") == nil {
			t.Fatalf("%s: %v", line, err)
		}
		b := newDesk(t)
		if err := os.WriteFile(b.home, []byte("a file"), 0o600); err != nil { // where the directory should be
			t.Fatal(err)
		}
		for _, more := range [][]string{{"--json"}, {"--bogus", "--json"}, {"--json", "--bogus"}} {
			r := b.run(strings.NewReader(""), append(args, more...)...)
			if r.code != exitUsage || !strings.HasPrefix(r.out, `{"error":{"message":"`) || strings.Count(r.out, "\n") != 1 ||
				!strings.Contains(r.out, `","repair":"`) || r.errOut != "" {
				t.Errorf("%s %v: %d, %q, %q", line, more, r.code, r.out, r.errOut)
			}
			tried++
		}
	}
	if tried != 51 {
		t.Errorf("%d runs", tried)
	}
	b := newDesk(t)
	b.now = func() time.Time { panic("no clock") }
	if r := b.run(nil, "init", "--json"); r.code != exitInternal || !strings.HasPrefix(r.out, `{"error":{"message":"`) {
		t.Errorf("a panic below the journal: %d, %q", r.code, r.out)
	}
	b.now = time.Now
	b.must(exitFine, "init")
	b.now = func() time.Time { panic("no clock") }
	if r := b.run(nil, "doctor", "--json"); r.code != exitInternal || !strings.HasPrefix(r.out, `{"error":{"message":"internal error: no clock","repair":"`) {
		t.Errorf("a panic: %d, %q", r.code, r.out)
	}
}

// TestCompletionOffersTheNewestIntents makes more of them than are offered.
//
//attack:cli-completions
func TestCompletionOffersTheNewestIntents(t *testing.T) {
	b := newDesk(t)
	offers := func(args ...string) []string {
		r := b.must(exitFine, append([]string{"__complete"}, args...)...)
		lines := strings.Split(strings.TrimSpace(r.out), "\n")
		return lines[:len(lines)-1] // the last is a directive
	}
	if got := offers("audit", "show", ""); len(got) != 0 {
		t.Errorf("without a data directory: %q", got)
	}
	for i := range offered {
		b.must(exitDenied, "order", "nonsense")
		if got := len(offers("audit", "show", "")); got != i+1 {
			t.Fatalf("%d of %d intents are offered", got, i+1)
		}
	}
	b.must(exitFine, "order", compliant)
	got := offers("audit", "show", "")
	if len(got) != offered || !strings.Contains(got[0], "working buy 10 AAPL at 150.00") {
		t.Errorf("%d are offered, the first %q", len(got), got[0])
	}
	if got := offers("cancel", ""); len(got) != 1 || !strings.Contains(got[0], "working") {
		t.Errorf("to be cancelled: %q", got)
	}
	if got := offers("audit", "resolve", ""); len(got) != 0 {
		t.Errorf("to be settled: %q", got)
	}
	for line, want := range map[string]string{
		"tool --surface ":                     "cli plugin",
		"tool trade_check --harness ":         "claude codex gemini qwen hermes",
		"doctor --harness ":                   "claude codex gemini qwen hermes",
		"order --tool ":                       "paper_place_order_a paper_place_order_b",
		"check --tool ":                       "paper_place_order_a paper_place_order_b trade_check alpaca",
		"completion ":                         "bash zsh fish powershell",
		"audit resolve " + string(home) + " ": "accepted rejected",
	} {
		if got := strings.Join(offers(strings.Split(line, " ")...), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestDoctorListsUnknownOutcomes leaves more of them than are listed.
//
//attack:doctor-outcomes
func TestDoctorListsUnknownOutcomes(t *testing.T) {
	b := newDesk(t)
	b.must(exitFine, "init")
	if err := os.WriteFile(filepath.Join(b.home, configName), []byte(`{"deadlines":{"outcome":"1s"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	at := b.now()
	b.now = func() time.Time { return at }
	permit := func(n int) {
		event := fmt.Sprintf(`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"mcp__b__paper_place_order_a","tool_use_id":"t%d","tool_input":%s}`, n, compliant)
		if r := b.run(strings.NewReader(event), "hook", "claude"); r.code != exitFine {
			t.Fatal(r)
		}
	}
	for n := range listedOutcomes {
		permit(n)
	}
	at = at.Add(2 * time.Second)
	r := b.must(exitDenied, "doctor")
	if n := strings.Count(r.out, "BAD   outcomes"); n != listedOutcomes || strings.Contains(r.out, "and 1 more") {
		t.Errorf("%d are listed:\n%s", n, r.out)
	}
	permit(listedOutcomes)
	at = at.Add(2 * time.Second)
	r = b.must(exitDenied, "doctor")
	if n := strings.Count(r.out, "BAD   outcomes"); n != listedOutcomes+1 || !strings.Contains(r.out, "and 1 more") {
		t.Errorf("%d are listed:\n%s", n, r.out)
	}
}
