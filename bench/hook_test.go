package bench_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// event is what Claude Code sends to a hook before a call. Each has a tool-call id of its own.
func event(id int) []byte {
	return fmt.Appendf(nil, `{"session_id":"bench","transcript_path":"/tmp/t.jsonl","cwd":"/tmp","permission_mode":"default",`+
		`"hook_event_name":"PreToolUse","tool_name":"mcp__sallyport__paper_place_order_a","tool_input":{"symbol":"AAPL",`+
		`"side":"buy","quantity":1,"order_type":"limit","limit_price":"150.00"},"tool_use_id":"toolu_%d_%d"}`, os.Getpid(), id)
}

// after is the event that follows that call: the venue has refused the order.
func after(id int) []byte {
	before := bytes.Replace(event(id), []byte("PreToolUse"), []byte("PostToolUse"), 1)
	return bytes.Replace(before, []byte(`"tool_use_id"`), []byte(`"tool_response":{"status":"ERROR","code":"MARKET_CLOSED","message":"closed"},"tool_use_id"`), 1)
}

// pythonHook does in Python what the hook does: it reads the event, opens its own database, judges, makes one decision
// durable and answers. Only the standard library is used.
const pythonHook = `
import json, sqlite3, sys, decimal, hashlib, time
event = json.load(sys.stdin)
args = event["tool_input"]
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA journal_mode=WAL"); db.execute("PRAGMA synchronous=FULL")
db.execute("CREATE TABLE IF NOT EXISTS records(seq INTEGER PRIMARY KEY, body BLOB, hash BLOB)")
allowed = decimal.Decimal(args["quantity"]) * decimal.Decimal(args["limit_price"]) <= decimal.Decimal("10000.00")
body = json.dumps({"id": event["tool_use_id"], "args": args, "allowed": allowed, "at": time.time()}).encode()
db.execute("BEGIN IMMEDIATE")
last = db.execute("SELECT hash FROM records ORDER BY seq DESC LIMIT 1").fetchone()
db.execute("INSERT INTO records(body, hash) VALUES(?, ?)", (body, hashlib.sha256((last[0] if last else b"") + body).digest()))
db.execute("COMMIT"); db.close()
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow" if allowed else "deny"}}))
`

// TestRatioOfHook measures the hook from start to exit.
func TestRatioOfHook(t *testing.T) {
	needMeasure(t)
	binary, empty := built(t, sallyport), built(t, nothing)
	where, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output() // not a wrapper of it
	if err != nil {
		t.Fatal(err)
	}
	python := strings.TrimSpace(string(where))
	script := filepath.Join(t.TempDir(), "hook.py")
	if err := os.WriteFile(script, []byte(pythonHook), 0o600); err != nil {
		t.Fatal(err)
	}
	small, large, busy := newHome(t, binary), aged(t, 100_000, 100), newHome(t, binary)
	fill(t, small, 10)
	fill(t, busy, 100_000)
	database := filepath.Join(t.TempDir(), "python.db")
	n := 0
	repeat := func(run func() time.Duration) func() time.Duration {
		return func() time.Duration {
			var ds []time.Duration
			for range 15 {
				n++
				ds = append(ds, run())
			}
			return median(ds)
		}
	}
	hookIn := func(home string) func() time.Duration {
		env := []string{"SALLYPORT_HOME=" + home}
		return repeat(func() time.Duration {
			took := timed(t, env, event(n), binary, "hook", "claude")
			timed(t, env, after(n), binary, "hook", "claude") // so that the state stays as small as it is in use
			return took
		})
	}
	times := turns(
		contender{"empty", repeat(func() time.Duration { return timed(t, nil, nil, empty) })},
		contender{"idle", repeat(func() time.Duration { return timed(t, nil, nil, binary, "version") })},
		contender{"hook", hookIn(small)},
		contender{"hook100k", hookIn(large)},
		contender{"busyday", hookIn(busy)},
		contender{"python", repeat(func() time.Duration { return timed(t, nil, event(n), python, script, database) })},
	)
	for _, name := range []string{"empty", "idle", "hook", "hook100k", "busyday", "python"} {
		fmt.Printf("%-72s %8.2f ms\n", name, median(times[name]).Seconds()*1000)
	}
	atMost(t, "hook / the same binary doing nothing", ratio(times["hook"], times["idle"]), 1.7)
	atMost(t, "the binary doing nothing / an empty Go program", ratio(times["idle"], times["empty"]), 2.5)
	atMost(t, "hook / Python's standard library doing the same", ratio(times["hook"], times["python"]), 0.5)
	atMost(t, "hook at 100,000 records of 100 days / hook at 10 records", ratio(times["hook100k"], times["hook"]), 1.1)
	atMost(t, "hook at 50,000 orders within a day / hook at 10 records", ratio(times["busyday"], times["hook"]), 4)
}
