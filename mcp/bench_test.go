package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sallyport/broker/paper"
	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/trade"
)

// BenchmarkReadMessage reads one order call.
func BenchmarkReadMessage(b *testing.B) {
	line := []byte(callLine(17, "paper_place_order_a", goodA))
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, r := readMessage(line); r != nil {
			b.Fatal(r.message)
		}
	}
}

// BenchmarkOrderOverStdio places orders through a server process with the real gate and the paper venue, in turns with
// the yardstick: an echo on the SDK that makes three durable appends of a record's size. It reports both medians and
// their ratio. With SALLYPORT_TEST_APPENDS=0 neither side touches a disk: what is left is the protocol.
func BenchmarkOrderOverStdio(b *testing.B) {
	appends, mode := "3", "paper"
	if os.Getenv("SALLYPORT_TEST_APPENDS") == "0" {
		appends, mode = "0", "fake"
	}
	dir := b.TempDir()
	order := connect(b, command(b, mode, "SALLYPORT_TEST_HOME="+filepath.Join(dir, "home")), "")
	echo := connect(b, command(b, "echo", "SALLYPORT_TEST_HOME="+dir, "SALLYPORT_TEST_APPENDS="+appends), "")
	n := 0
	timed := func(s *sdk.ClientSession, tool string) time.Duration {
		n++
		args := json.RawMessage(strings.Replace(goodA, `{`, `{"client_order_id":"bench-`+strconv.Itoa(n)+`",`, 1))
		args = json.RawMessage(strings.Replace(string(args), `"quantity":"10"`, `"quantity":"1"`, 1))
		args = json.RawMessage(strings.Replace(string(args), "150.00", "0.10", 1))
		start := time.Now()
		r, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: args})
		took := time.Since(start)
		if err != nil || r.IsError {
			b.Fatalf("%s: %v, %+v", tool, err, r)
		}
		return took
	}
	for range 50 { // warm up
		timed(order, "paper_place_order_a")
		timed(echo, "echo")
	}
	var orders, echoes []time.Duration
	for b.Loop() {
		for range 10 { // in turns, so that the machine treats both alike
			orders = append(orders, timed(order, "paper_place_order_a"))
			echoes = append(echoes, timed(echo, "echo"))
		}
	}
	slices.Sort(orders)
	slices.Sort(echoes)
	o, e := orders[len(orders)/2], echoes[len(echoes)/2]
	b.ReportMetric(o.Seconds()*1000, "order-ms")
	b.ReportMetric(e.Seconds()*1000, "echo-ms")
	b.ReportMetric(o.Seconds()/e.Seconds(), "ratio")
	_ = order.Close()
	_ = echo.Close()
}

// childEcho is the yardstick.
func childEcho() error {
	f, err := os.Create(filepath.Join(os.Getenv("SALLYPORT_TEST_HOME"), "echo"))
	if err != nil {
		return err
	}
	defer f.Close()
	appends, err := strconv.Atoi(os.Getenv("SALLYPORT_TEST_APPENDS"))
	if err != nil {
		return err
	}
	record := []byte(strings.Repeat("x", 900))
	s := sdk.NewServer(&sdk.Implementation{Name: "echo", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			for range appends {
				if _, err := f.Write(record); err != nil {
					return nil, err
				}
				if err := f.Sync(); err != nil {
					return nil, err
				}
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	return s.Run(context.Background(), &sdk.StdioTransport{})
}

// childPaper serves the real gate on a paper venue.
func childPaper() error {
	home := os.Getenv("SALLYPORT_TEST_HOME")
	if err := gate.PrepareHome(home, true); err != nil {
		return err
	}
	venue, err := paper.Open(context.Background(), paper.Config{Path: filepath.Join(home, "paper.db")})
	if err != nil {
		return err
	}
	defer venue.Close()
	g, err := gate.Open(context.Background(), gate.Config{Home: home, Create: true, Broker: venue, Now: time.Now, Entropy: gatetest.Entropy(uint64(os.Getpid()))})
	if err != nil {
		return err
	}
	defer g.Close()
	tools, err := New(Config{Gate: g, Now: time.Now, Tier: trade.TierExecute, Agent: "local", Version: "1.2.3"})
	if err != nil {
		return err
	}
	return tools.ServeStdio(context.Background())
}
