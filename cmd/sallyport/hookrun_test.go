package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/gate"
	"sallyport/store"
)

// TestHooksLeaveAShortLogAndFoldInALongOne starts hooks one after another. Each leaves its decision in the write-ahead
// log, where the next process finds it, until the log has grown long.
func TestHooksLeaveAShortLogAndFoldInALongOne(t *testing.T) {
	b := newDesk(t)
	b.must(exitFine, "init")
	log := filepath.Join(b.home, gate.JournalName+"-wal")
	reason := strings.Repeat("a reason of some length; ", 75)
	hooks, longest, folded := 0, int64(0), false
	for ; hooks < 100 && !folded; hooks++ {
		cmd := sallyport(t, b.home, "hook", "claude")
		cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"mcp__sallyport__paper_place_order_a",`+
			`"tool_input":{"symbol":"AAPL","side":"buy","quantity":1,"order_type":"limit","limit_price":"150.00","reason":%q},"tool_use_id":"t%d"}`, reason, hooks))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), `"permissionDecision":"allow"`) {
			t.Fatalf("%v: %s", err, out)
		}
		info, err := os.Stat(log)
		switch {
		case err == nil && info.Size() > 0:
			longest = max(longest, info.Size())
		case longest > 0:
			folded = true
		default:
			t.Fatalf("the first hook left no log: %v", err)
		}
	}
	if !folded || longest > store.ShortLog {
		t.Errorf("after %d hooks the longest log had %d bytes, folded in: %v", hooks, longest, folded)
	}
	listed := b.must(exitFine, "audit", "list", "--json", "--limit", "200")
	if n := strings.Count(listed.out, `"EXECUTION_ALLOWED"`); n != hooks {
		t.Errorf("%d decisions on record of %d", n, hooks)
	}
	b.must(exitFine, "audit", "verify")
}
