package paper_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"sallyport/broker/paper"
	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/market"
	"sallyport/trade"
)

// BenchmarkGuardedOrder sends orders through the real gate to the venue, in turns with the yardstick: three durable
// appends of a record's size to a plain file. It reports both medians and their ratio, and the processor time of an order,
// which a busy machine changes least; the time per operation is that of a turn of both.
func BenchmarkGuardedOrder(b *testing.B) {
	for _, c := range []struct{ name, limit string }{{"rests", "1.00"}, {"fills", "150.00"}} {
		b.Run(c.name, func(b *testing.B) {
			order := benchedOrder(b, gatetest.Order(b, "buy", "AAPL", "1", c.limit))
			appends := threeAppends(b)
			var orders, yards []time.Duration
			var worked time.Duration
			turn := func() {
				before := processor(b)
				orders = append(orders, timed(order))
				worked += processor(b) - before
				yards = append(yards, timed(appends))
			}
			for range 200 { // warm up: the logs grow to their size
				turn()
			}
			orders, yards, worked = orders[:0], yards[:0], 0
			for b.Loop() {
				turn()
			}
			slices.Sort(orders)
			slices.Sort(yards)
			o, y := orders[len(orders)/2], yards[len(yards)/2]
			b.ReportMetric(o.Seconds()*1000, "order-ms")
			b.ReportMetric(y.Seconds()*1000, "appends-ms")
			b.ReportMetric(o.Seconds()/y.Seconds(), "ratio")
			b.ReportMetric(worked.Seconds()*1000/float64(len(orders)), "cpu-ms")
		})
	}
}

// processor is the processor time that this process has used.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func benchedOrder(b *testing.B, o trade.Order) func() {
	cfg := gatetest.Config(gatetest.Home(b), nil)
	cfg.Now = time.Now
	quotes := filepath.Join(cfg.Home, "quotes.jsonl")
	if err := os.WriteFile(quotes, market.Sample(), 0o600); err != nil {
		b.Fatal(err)
	}
	venue, err := paper.Open(context.Background(), paper.Config{
		Path: filepath.Join(cfg.Home, "paper.db"), Quotes: &market.File{Path: quotes}, Cash: trade.Whole(100_000_000),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { venue.Close() })
	cfg.Broker = venue
	g, err := gate.Open(context.Background(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { g.Close() })
	return func() {
		if d := g.Execute(context.Background(), gatetest.CallFor(o)); d.State != ledger.Succeeded {
			b.Fatalf("the order ended as %s", d.AppendJSON(nil))
		}
	}
}

func threeAppends(b *testing.B) func() {
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	record := bytes.Repeat([]byte{'x'}, 900)
	return func() {
		for range 3 {
			if _, err := f.Write(record); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
