package rest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/policy"
	"sallyport/rest"
	"sallyport/trade"
)

// unlimited is a rate that no benchmark reaches, and room for many proposals.
func unlimited(g *gate.Config, s *rest.ServerConfig) {
	g.Approval.MaxOpen = 1 << 30
	s.Rate = rest.Rate{PerSecond: 1_000_000, Burst: 1_000_000}
	s.Log, s.Metrics = nil, rest.NewMetrics()
}

// proposal is one of a row of different ones.
func proposal(b testing.TB, n int) gate.Call {
	return order(b, "buy", "AAPL", fmt.Sprint(1+n%100), fmt.Sprintf("%d.%02d", 1+n/100%1000, n/100_000%100))
}

func quantile(took []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[(len(sorted)-1)*percent/100]
}

// BenchmarkProposeThroughTheSocket measures propose-to-decision through the unix socket and in the process, one after the
// other in turns on the same gate, and reports the medians and their difference.
func BenchmarkProposeThroughTheSocket(b *testing.B) {
	r := newRig(b, unlimited)
	c := r.client("proposer", trade.TierPropose)
	var through, embedded []time.Duration
	n := 0
	one := func(list *[]time.Duration, propose func(gate.Call) policy.Effect) {
		k := proposal(b, n)
		k.Tier, k.Origin.Agent = trade.TierPropose, "proposer"
		n++
		began := time.Now()
		effect := propose(k)
		*list = append(*list, time.Since(began))
		if effect != policy.Hold {
			b.Fatal("a proposal is not held")
		}
		r.withdrawSome(b, n)
	}
	for b.Loop() {
		one(&through, func(k gate.Call) policy.Effect { return c.Propose(ctx, k).Verdict })
		one(&embedded, func(k gate.Call) policy.Effect { return r.gate.Propose(ctx, k).Verdict })
	}
	b.ReportMetric(float64(quantile(through, 50).Microseconds()), "socket-µs")
	b.ReportMetric(float64(quantile(embedded, 50).Microseconds()), "embedded-µs")
	b.ReportMetric(float64((quantile(through, 50) - quantile(embedded, 50)).Microseconds()), "difference-µs")
}

// withdrawSome keeps the number of open proposals small, as it is in use.
func (r *rig) withdrawSome(b testing.TB, n int) {
	if n%20 != 0 {
		return
	}
	all, err := r.gate.Proposals(ctx)
	if err != nil {
		b.Fatal(err)
	}
	for _, d := range all {
		if _, err := r.gate.Withdraw(ctx, gate.Origin{Agent: d.Agent, Surface: "test"}, trade.TierPropose, d.Intent, "bench"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkManyAgents measures the decisions of 200 agents, each with its token and its connection, against those of one
// agent alone: when all propose at the very same moment, and when each proposes once at its own moment of the same second.
func BenchmarkManyAgents(b *testing.B) {
	const agents = 200
	for _, c := range []struct {
		name   string
		spread time.Duration
	}{{"same-moment", 0}, {"same-second", time.Second}} {
		b.Run(c.name, func(b *testing.B) {
			r := newRig(b, unlimited)
			clients := r.connect(b, agents)
			var alone, together []time.Duration
			n := 0
			for b.Loop() {
				for range 20 {
					alone = append(alone, r.propose(b, clients[n%agents], n))
					n++
				}
				took := make([]time.Duration, agents)
				start := make(chan struct{})
				var wg sync.WaitGroup
				for i, client := range clients {
					m := n + i
					wg.Go(func() {
						<-start
						time.Sleep(c.spread * time.Duration(i*7919%agents) / agents)
						took[i] = r.propose(b, client, m)
					})
				}
				n += agents
				close(start)
				wg.Wait()
				together = append(together, took...)
				b.StopTimer()
				r.withdrawSome(b, 0)
				b.StartTimer()
			}
			b.ReportMetric(float64(quantile(alone, 99).Microseconds()), "one-p99-µs")
			b.ReportMetric(float64(quantile(together, 99).Microseconds()), "many-p99-µs")
			b.ReportMetric(float64(quantile(together, 99))/float64(quantile(alone, 99)), "many/one")
			b.ReportMetric(float64(peakMemory(b))/(1<<20), "peak-MB")
		})
	}
}

// connect makes agents and a connected client of each.
func (r *rig) connect(b testing.TB, agents int) []*rest.Client {
	owner := r.identify(r.owner)
	clients := make([]*rest.Client, agents)
	for i := range clients {
		token, err := r.gate.AddAgent(ctx, owner, trade.Agent(fmt.Sprintf("agent%d", i)), trade.TierPropose)
		if err != nil {
			b.Fatal(err)
		}
		clients[i], err = rest.Dial(rest.ClientConfig{Address: "unix:" + filepath.Join(r.dir, "agents.sock"), Token: token, Tier: trade.TierPropose})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { clients[i].Close() })
		if _, _, err := clients[i].Whoami(ctx); err != nil {
			b.Fatal(err)
		}
	}
	return clients
}

func (r *rig) propose(b testing.TB, c *rest.Client, n int) time.Duration {
	k := proposal(b, n)
	began := time.Now()
	if d := c.Propose(ctx, k); d.Verdict != policy.Hold {
		b.Errorf("a proposal is not held: %s", d.AppendJSON(nil))
	}
	return time.Since(began)
}

// peakMemory is the largest resident memory of this process so far, in bytes: of the daemon and its 200 clients together.
func peakMemory(b testing.TB) int {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("this system does not tell")
	}
	_, after, _ := strings.Cut(string(raw), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		b.Fatal(err)
	}
	return kb << 10
}
