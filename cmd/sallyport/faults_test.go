package main

import (
	"os"
	"strings"
	"testing"
)

// TestFaultRestartLiftsTheStop: the daemon is killed while everything is stopped, and a new one is started. Orders are denied
// until a person resets the stop and says why.
//
//fault:f12
//fault:f114
func TestFaultRestartLiftsTheStop(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`)
	h.serve()
	env := h.agent("hand", "2", "2")
	h.must(exitFine, env, "order", resting)
	h.must(exitFine, nil, "kill", "--reason", "enough")
	if code := h.stop(os.Kill); code == exitFine {
		t.Fatal("it ended by itself")
	}
	h.serve()
	r := h.must(exitDenied, env, "order", "--json", compliant)
	if !strings.Contains(r.out, `"error":"killswitch_active"`) || !strings.Contains(r.out, `"reason":"enough"`) {
		t.Errorf("after the restart: %s", r.out)
	}
	if r := h.must(exitFine, nil, "orders"); !strings.Contains(r.out, "No orders are open") {
		t.Errorf("what the stop cancelled works: %s", r.out)
	}
	h.must(exitUsage, nil, "kill", "reset")
	h.must(exitUsage, nil, "kill", "reset", "--reason", "")
	h.must(exitFine, nil, "kill", "reset", "--reason", "looked at")
	h.must(exitFine, env, "order", compliant)
	if r := h.must(exitFine, nil, "audit", "verify"); r.code != exitFine {
		t.Errorf("%+v", r)
	}
}
