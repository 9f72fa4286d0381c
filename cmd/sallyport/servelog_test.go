package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/market"
)

// logged waits until the daemon's log has a line.
func (h *house) logged(want string) {
	h.t.Helper()
	for end := time.Now().Add(30 * time.Second); !strings.Contains(h.log.String(), want); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("the daemon never logs %q\n%s", want, h.log)
		}
	}
}

// TestTheLogTellsWhatIsRecordedOnce has agents and people do what they do, through the daemon and beside it, and reads the
// log: each thing is there once, under one spelling of who did it, and no secret is.
func TestTheLogTellsWhatIsRecordedOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`)
	h.must(exitFine, nil, "kill", "--scope", "symbol:MSFT", "--reason", "before the start")
	h.serve()
	env := h.agent("desk", "2", "2")
	token := strings.TrimPrefix(env[1], tokenVariable+"=")
	h.must(exitDenied, env, "order", "--json", strings.ReplaceAll(resting, `"10"`, `"1000000"`))
	h.must(exitFine, env, "order", "--json", resting)
	r := h.must(exitHeld, env, "propose", "--json", compliant)
	id, digest := match(t, r.out, `"proposal_id":"([^"]+)"`), match(t, r.out, `"digest":"([^"]+)"`)
	h.must(exitDenied, nil, "approve", id, "--digest", strings.Repeat("0", 8))
	h.must(exitFine, nil, "approve", id, "--digest", digest)
	h.must(exitFine, nil, "people", "add", "lee", "--approver")
	h.must(exitFine, nil, "agents", "remove", "desk")
	h.must(exitFine, nil, "kill", "--reason", "enough")
	h.logged(`scope=everything by=person:kim reason=enough`)
	h.must(exitFine, nil, "kill", "reset", "--reason", "well")
	h.logged(`reason=well`)
	h.write("policy.json", "{}")
	h.logged("every order is denied")
	h.must(exitFine, nil, "kill", "--scope", "symbol:MSFT", "--reason", "again") // which was engaged all the time
	if code := h.stop(syscall.SIGTERM); code != exitFine {
		t.Errorf("the daemon ends with %d", code)
	}
	log := h.log.String()
	for want, n := range map[string]int{
		`msg="an order is denied" intent=`:           1,
		`msg="an order is allowed and sent" intent=`: 1,
		`msg="an order is proposed and held" intent=` + id + ` agent=desk surface=cli order="buy 10 AAPL at`: 1,
		`msg="a proposal is approved" intent=` + id + ` by=person:kim channel=http`:                          1,
		`msg="an attempt is refused" action=approve intent=` + id + ` by=person:kim`:                         1,
		`msg="at the venue: fill" intent=` + id:                                                              1,
		`msg="a person is listed" person=lee owner=false approver=true by=person:kim`:                        1,
		`msg="an agent has a token" agent=desk tier=2 by=person:kim`:                                         1,
		`msg="an agent's token is ended" agent=desk by=person:kim`:                                           1,
		`msg="the kill switch is engaged" scope=symbol:MSFT by=person:kim reason="before the start"`:         1,
		`msg="the kill switch is engaged" scope=everything by=person:kim reason=enough`:                      1,
		`msg="the kill switch is reset" scope=everything by=person:kim reason=well`:                          1,
		`msg="the kill switch is engaged"`:                                                                   2,
		`msg="the policy cannot be used, so every order is denied" code=POLICY_INVALID`:                      1,
		token: 0, "sp-person-": 0, "sp-agent-": 0, "by=kim": 0,
	} {
		if got := strings.Count(log, want); got != n {
			t.Errorf("%s is logged %d times, want %d", want, got, n)
		}
	}
	if t.Failed() {
		t.Logf("the log:\n%s", log)
	}
}

// TestADaemonMatchesWhatRests: an order that rests, such as a stop loss, waits for no other order to arrive.
func TestADaemonMatchesWhatRests(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`)
	h.write("quotes.jsonl", string(market.Sample()))
	h.serve()
	env := h.agent("hand", "2", "2")
	h.must(exitFine, env, "order", resting)
	if r := h.must(exitFine, env, "orders"); !strings.Contains(r.out, "working") {
		t.Fatalf("it does not rest: %s", r.out)
	}
	h.write("quotes.jsonl", `{"symbol":"AAPL","bid":"98","ask":"99","last":"98","at":"2026-11-30T15:00:00Z"}`+"\n")
	h.until("No orders are open", env, "orders")
	if r := h.must(exitFine, env, "positions"); !strings.Contains(r.out, "AAPL") {
		t.Errorf("it was not filled: %s", r.out)
	}
}
