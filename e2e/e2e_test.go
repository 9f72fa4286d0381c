// Package e2e_test drives the real agent programs, Claude Code and Codex, against the real daemon: the program's model
// is a script, its server of the Model Context Protocol is `sallyport mcp` at tier 1, and the person is the command line
// with the owner's credential. Everything listens on this machine alone.
//
// What needs the programs runs with -clients only, which `make e2e-clients CLIENTS=DIR` passes.
package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

var clients = flag.String("clients", "", "drive the clients that npm has installed in this `directory`")

// workDir is where the binary is built.
var workDir string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "sallyport-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	workDir = dir
	code := m.Run()
	if left := leftRunning(); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "the tests left processes of Sallyport running:", left)
		code = 1
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// sallyport builds the binary that is tested, from this module.
var sallyport = sync.OnceValues(func() (string, error) {
	path := filepath.Join(workDir, "sallyport")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, "sallyport/cmd/sallyport")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// leftRunning returns the processes of the built binary that have not ended, where the system shows them. One that has
// just lost its client is given the time to end.
func leftRunning() (found []string) {
	for range 100 {
		found = nil
		all, err := filepath.Glob("/proc/[0-9]*/exe")
		if err != nil {
			return nil
		}
		for _, p := range all {
			if to, err := os.Readlink(p); err == nil && to == filepath.Join(workDir, "sallyport") {
				found = append(found, p)
			}
		}
		if len(found) == 0 {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return found
}

// eachClient runs a test with every client. It is left out unless the clients are given; a client that was asked for
// and is not there is a failure.
func eachClient(t *testing.T, test func(t *testing.T, d *desk, s *session)) {
	t.Helper()
	if *clients == "" {
		t.Skip("the real clients are not given; make e2e-clients CLIENTS=DIR runs this")
	}
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			d := openDesk(t)
			test(t, d, start(t, d, p))
		})
	}
}

// order is what the scripted model wants to buy. The sample quotes fill it at once.
const order = `{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"150.00"}`

// tierOneTools are all that an agent may see that proposes and does not execute.
var tierOneTools = []string{
	"journal_query", "kill_switch_engage", "market_quote", "order_cancel", "portfolio_get", "proposal_get",
	"proposal_withdraw", "trade_audit", "trade_check", "trade_policy_get", "trade_propose",
}

// propose has the client's model propose the order, and returns the turn after it and what the model was told.
func propose(t *testing.T, d *desk, s *session) (*turn, decision) {
	t.Helper()
	s.turn().call("trade_propose", order)
	next := s.turn()
	told := next.decision()
	if told.Verdict != "hold" || told.State != "APPROVAL_PENDING" || told.Proposal == "" || len(told.Digest) != 64 {
		t.Fatalf("the proposal is answered %s", next.result)
	}
	waiting := d.proposals()
	if len(waiting) != 1 || waiting[0].Proposal != told.Proposal || waiting[0].Digest != told.Digest || waiting[0].Agent != agentName {
		t.Fatalf("the person is shown %+v, the agent was told %+v", waiting, told)
	}
	d.executed(0)
	return next, told
}

func TestClientProposesAPersonApprovesAndOneOrderIsExecuted(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk, s *session) {
		next, told := propose(t, d, s)

		d.refuses("PERSON_UNKNOWN", d.token, "approve", told.Proposal, "--digest", told.Digest)
		d.refuses("DIGEST_MISMATCH", d.credential, "approve", told.Proposal, "--digest", "0123456789abcdef")
		d.executed(0)

		approved := d.must(d.credential, "approve", told.Proposal, "--digest", told.Digest, "--json").decision(t)
		if approved.State != "EXECUTION_SUCCEEDED" || approved.OrderID == "" || !slices.Equal(approved.ApprovedBy, []string{ownerName}) {
			t.Fatalf("the approval is answered %+v", approved)
		}
		d.refuses("PROPOSAL_ENDED", d.credential, "approve", told.Proposal, "--digest", told.Digest)

		next.call("proposal_get", fmt.Sprintf(`{"proposal_id":%q}`, told.Proposal))
		last := s.turn()
		if known := last.decision(); known.State != "EXECUTION_SUCCEEDED" || known.OrderID != approved.OrderID || known.Digest != told.Digest {
			t.Errorf("the agent learns %s", last.result)
		}
		last.say("done")
		s.end()
		d.executed(1)
	})
}

// stopped makes sure that nothing comes of a proposal once a stop is engaged: not by its approval, and not by
// proposing again.
func stopped(t *testing.T, d *desk, s *session, next *turn, told decision) {
	t.Helper()
	d.refuses("KILL_SWITCH_ACTIVE", d.credential, "approve", told.Proposal, "--digest", told.Digest)
	d.executed(0)
	next.call("trade_propose", order)
	next = s.turn()
	if again := next.decision(); again.Error != "killswitch_active" || len(again.Stops) != 1 || again.Stops[0].Scope != "everything" || again.Stops[0].Reason != stopReason {
		t.Errorf("a proposal after the stop is answered %s", next.result)
	}
	next.say("done")
	s.end()
	d.executed(0)
	if waiting := d.proposals(); slices.ContainsFunc(waiting, func(p decision) bool { return p.Proposal != told.Proposal }) {
		t.Errorf("after the stop there wait %+v", waiting)
	}
}

const stopReason = "the feed is wrong"

func TestClientProposesAPersonStopsAndNoOrderIsExecuted(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk, s *session) {
		next, told := propose(t, d, s)
		d.must(d.credential, "kill", "--reason", stopReason)
		stopped(t, d, s, next, told)
	})
}

func TestClientStopsByItsToolAndNoOrderIsExecuted(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk, s *session) {
		next, told := propose(t, d, s)
		next.call("kill_switch_engage", fmt.Sprintf(`{"scope":"everything","reason":%q}`, stopReason))
		next = s.turn()
		if engaged := next.decision(); len(engaged.Stops) != 1 || engaged.Stops[0].By != "agent:"+agentName {
			t.Fatalf("the stop is answered %s", next.result)
		}
		stopped(t, d, s, next, told)
	})
}

func TestClientAtTierOneReachesNothingThatExecutes(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk, s *session) {
		next := s.turn()
		if slices.Sort(next.offered); !slices.Equal(next.offered, tierOneTools) {
			t.Errorf("the model is offered %v, want %v", next.offered, tierOneTools)
		}
		for _, name := range []string{"paper_place_order_a", "paper_place_order_b", "trade_execute"} {
			next.call(name, order)
			if next = s.turn(); next.result == "" {
				t.Errorf("the call of %s is not answered", name)
			}
			t.Logf("%s is answered %.120q", name, next.result)
		}
		next.say("done")
		s.end()
		d.executed(0)
	})
}

// TestServerThatClientsStartRefusesToExecute calls what is not listed past the clients, which refuse it themselves: the
// command and the environment are those that a client is given, and an environment that asks for more changes nothing.
func TestServerThatClientsStartRefusesToExecute(t *testing.T) {
	d := openDesk(t)
	for _, tier := range []string{"1", "2"} {
		calls := [][2]string{
			{"paper_place_order_a", order},
			{"paper_place_order_b", `{"instrument":"AAPL","action":"BUY","units":10,"kind":"LIMIT","price":"150.00"}`},
			{"trade_execute", `{"proposal_id":"01KB9Y2V6T3M8Q4W5X7Z0A1B2C"}`},
			{"trade_execute", `{}`},
		}
		for i, told := range d.callServer(tier, calls) {
			if told.Error != "permission_denied" || told.RequiredTier != 2 || told.CurrentTier == nil || *told.CurrentTier != 1 {
				t.Errorf("with SALLYPORT_TIER=%s %s is answered %+v", tier, calls[i][0], told)
			}
		}
	}
	d.executed(0)
}
