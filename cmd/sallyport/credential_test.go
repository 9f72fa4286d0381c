package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/gatetest"
)

// TestTheOwnerIsMadeWhereSomebodyReadsIt runs init without a terminal and without a place for the credential.
//
//attack:cli-owner-terminal
func TestTheOwnerIsMadeWhereSomebodyReadsIt(t *testing.T) {
	d := newDesk(t)
	d.must(exitFine, "init")
	for _, args := range [][]string{{"people", "init"}, {"people", "init", "kim"}, {"people", "init", "--credential-fd", "1"}, {"people", "init", "--json"}} {
		if r := d.run(strings.NewReader("yes\n"), args...); r.code != exitUsage || strings.Contains(r.out+r.errOut, "sp-person-") {
			t.Errorf("%q: %d\n%s%s", args, r.code, r.out, r.errOut)
		}
	}
	if r := d.must(exitFine, "people", "list"); !strings.Contains(r.out, "Nobody is listed") {
		t.Errorf("somebody was made: %s", r.out)
	}
}

// TestAnOutcomeIsSettledByAPersonOnceThereIsOne lets everybody else try.
//
//attack:cli-resolve-person
func TestAnOutcomeIsSettledByAPersonOnceThereIsOne(t *testing.T) {
	h := newHouse(t, `{"deadlines": {"outcome": "1s"}}`)
	h.log = &gatetest.Output{}
	hooked := sallyport(t, h.home, "hook", "claude")
	hooked.Stdin = strings.NewReader(`{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"paper_place_order_a","tool_use_id":"t1","tool_input":` + compliant + `}`)
	if out, err := hooked.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	id := match(t, h.until("EXECUTION_OUTCOME_UNKNOWN", nil, "audit", "list", "--json").out, `"intent_id":"([^"]+)"`)
	wrong := filepath.Join(filepath.Dir(h.home), "wrong")
	if err := os.WriteFile(wrong, []byte("sp-person-"+strings.Repeat("a", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	h.must(exitUsage, []string{credentialVariable + "="}, "audit", "resolve", id, "rejected", "--reason", "x")
	h.must(exitDenied, []string{credentialVariable + "=" + wrong}, "audit", "resolve", id, "rejected", "--reason", "x")
	if r := h.must(exitFine, nil, "audit", "list", "--json"); !strings.Contains(r.out, "EXECUTION_OUTCOME_UNKNOWN") {
		t.Errorf("it was settled: %s", r.out)
	}
	h.must(exitFine, nil, "audit", "resolve", id, "rejected", "--reason", "not in the list")
	if r := h.must(exitFine, nil, "audit", "show", id); !strings.Contains(r.out, "as settled by kim") {
		t.Errorf("%s", r.out)
	}
}
