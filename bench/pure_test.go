package bench_test

import (
	"testing"

	"sallyport/dialect"
	"sallyport/policy"
	"sallyport/trade"
)

// TestRatioOfPureCode times the two steps that have bounds of their own, on the way of an order that is allowed.
func TestRatioOfPureCode(t *testing.T) {
	needMeasure(t)
	raw := []byte(`{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"150.00"}`)
	d, _ := dialect.Find("paper_place_order_a")
	o, _, faults := d.Parse("paper", raw)
	p, err := policy.Parse(policy.Default())
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	evaluate := best(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if v := p.Evaluate(o, policy.Facts{PositionKnown: true, Position: trade.Whole(5)}); v.Effect != policy.Allow {
				b.Fatal(v)
			}
		}
	})
	atMost(t, "policy version 1, allow path, ns", float64(evaluate.NsPerOp()), 250)
	atMost(t, "its allocations", float64(evaluate.AllocsPerOp()), 0)
	parse := best(func(b *testing.B) {
		for b.Loop() {
			if _, _, faults := d.Parse("paper", raw); len(faults) > 0 {
				b.Fatal(faults)
			}
		}
	})
	atMost(t, "bytes of a tool call to an order, ns", float64(parse.NsPerOp()), 3000)
}

// best is the fastest of several runs: what the code takes while nothing else runs.
func best(f func(*testing.B)) (fastest testing.BenchmarkResult) {
	for i := range *rounds {
		if r := testing.Benchmark(f); i == 0 || r.NsPerOp() < fastest.NsPerOp() {
			fastest = r
		}
	}
	return fastest
}
