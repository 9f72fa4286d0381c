package bench_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/rest"
	"sallyport/trade"
)

// agents is how many propose at once.
const agents = 200

// desk is a data directory of a daemon, with agents of tier 1.
type desk struct {
	home   string
	tokens []string
}

func newDesk(t *testing.T) desk {
	t.Helper()
	dir, err := os.MkdirTemp("", "sp-") // short, since the path of a socket is
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := desk{home: filepath.Join(dir, "h")}
	g := d.open(t)
	ctx := t.Context()
	secret, err := g.MakeOwner(ctx, gate.PersonTerms{Name: "owner", Approver: true})
	if err != nil {
		t.Fatal(err)
	}
	owner, err := g.Identify(ctx, secret, "bench")
	if err != nil {
		t.Fatal(err)
	}
	for i := range agents {
		token, err := g.AddAgent(ctx, owner, trade.Agent(fmt.Sprintf("agent-%d", i)), trade.TierPropose)
		if err != nil {
			t.Fatal(err)
		}
		d.tokens = append(d.tokens, token)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d desk) open(t *testing.T) *gate.Gate {
	t.Helper()
	g, err := gate.Open(t.Context(), gate.Config{
		Home: d.home, Create: true, Daemon: true, Now: time.Now, Entropy: func(b *[10]byte) { rand.Read(b[:]) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// serve starts the daemon and connects every agent.
func (d desk) serve(t *testing.T) (pid int, clients []*rest.Client) {
	t.Helper()
	cmd := exec.Command(built(t, sallyport), "serve", "--data-dir", d.home, "--listen-agents", "none", "--listen-people", "none")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the daemon: %v", err)
		}
	})
	address := "unix:" + filepath.Join(d.home, "run", "agents.sock")
	for _, token := range d.tokens {
		c, err := rest.Dial(rest.ClientConfig{Address: address, Token: token, Tier: trade.TierPropose})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if _, _, err = c.Whoami(t.Context()); err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
		clients = append(clients, c)
	}
	return cmd.Process.Pid, clients
}

// proposer is a gate in this process or in the daemon.
type proposer interface {
	Propose(ctx context.Context, c gate.Call) ledger.Decision
	Withdraw(ctx context.Context, o gate.Origin, tier trade.Tier, id trade.IntentID, reason string) (ledger.Decision, error)
}

// propose measures one proposal. It returns how to withdraw it, so that as few are open as in use.
func propose(t *testing.T, p proposer, agent, n int) (took time.Duration, withdraw func()) {
	c := gatetest.Call(t, "buy", "AAPL", fmt.Sprint(1+n%50), fmt.Sprintf("%d.00", 1+n/50%100), func(c *gate.Call) {
		c.Origin.Agent, c.Tier = trade.Agent(fmt.Sprintf("agent-%d", agent)), trade.TierPropose
	})
	began := time.Now()
	d := p.Propose(t.Context(), c)
	took = time.Since(began)
	if d.State != ledger.ApprovalPending {
		t.Errorf("proposed: %s", d.AppendJSON(nil))
		return took, func() {}
	}
	return took, func() {
		if _, err := p.Withdraw(t.Context(), c.Origin, trade.TierPropose, d.Intent, "measured"); err != nil {
			t.Error(err)
		}
	}
}

// alone lets one agent propose one after another, so few that it stays under the rate that an agent may have.
func alone(t *testing.T, p proposer, times int) (took []time.Duration) {
	for n := range times {
		one, withdraw := propose(t, p, 0, n)
		took = append(took, one)
		withdraw()
	}
	return took
}

// together lets every agent propose once, at its own moment of a while.
func together(t *testing.T, clients []*rest.Client, n int, while time.Duration) []time.Duration {
	took, withdraw := make([]time.Duration, len(clients)), make([]func(), len(clients))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			<-start
			time.Sleep(while * time.Duration(i*7919%agents) / agents)
			took[i], withdraw[i] = propose(t, c, i, n)
		})
	}
	close(start)
	wg.Wait()
	for _, w := range withdraw {
		w()
	}
	return took
}

func TestRatioOfDaemon(t *testing.T) {
	needMeasure(t)
	embedded := newDesk(t).open(t)
	defer embedded.Close()
	pid, clients := newDesk(t).serve(t)
	var here, there, second, moment []time.Duration
	for n := range *rounds {
		here = append(here, alone(t, embedded, 100)...)
		there = append(there, alone(t, clients[0], 100)...)
		second = append(second, together(t, clients, n, time.Second)...)
		moment = append(moment, together(t, clients, n, 0)...)
	}
	show := func(what string, took []time.Duration) {
		fmt.Printf("%-60s median %8.0f us, p99 %8.0f us\n", what, float64(median(took).Microseconds()), float64(percentile(took, 99).Microseconds()))
	}
	show("a proposal in the process", here)
	show("a proposal through the unix socket", there)
	show("of 200 agents within one second", second)
	show("of 200 agents at the same moment", moment)
	atMost(t, "what the socket adds to a proposal, median, us", float64((median(there) - median(here)).Microseconds()), 300)
	one := percentile(there, 99).Seconds()
	atMost(t, "p99 of 200 agents that propose within one second / of one", percentile(second, 99).Seconds()/one, 5)
	atMost(t, "p99 of 200 agents that propose at the same moment / of one", percentile(moment, 99).Seconds()/one, 5)
	atMost(t, "resident memory of the daemon with 200 agents in MB", float64(residentKB(t, pid))/1024, 80)
}
