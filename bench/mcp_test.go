package bench_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// playEcho is the yardstick of a guarded order: a server on the SDK that answers what it was sent, after three durable
// appends of a record's size.
func playEcho(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	record := []byte(strings.Repeat("x", 900))
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for range 3 {
				if _, err := f.Write(record); err != nil {
					return nil, err
				}
				if err := fdatasync(f); err != nil {
					return nil, err
				}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

func connect(t *testing.T, cmd *exec.Cmd) *mcp.ClientSession {
	t.Helper()
	cmd.Stderr = os.Stderr
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// TestRatioOfMCP compares a guarded order over MCP on stdio with the SDK's own echo plus three durable appends, and
// looks at the memory of the server.
func TestRatioOfMCP(t *testing.T) {
	needMeasure(t)
	binary := built(t, sallyport)
	home := newHome(t, binary)
	guarded := exec.Command(binary, "mcp", "--data-dir", home)
	echo := exec.Command(os.Args[0])
	echo.Env = append(os.Environ(), roleVariable+"=echo "+home+"/echo")
	order, yardstick := connect(t, guarded), connect(t, echo)
	n := 0
	call := func(s *mcp.ClientSession, tool string) func() time.Duration {
		return func() time.Duration {
			var ds []time.Duration
			for range 200 {
				n++
				args := map[string]any{
					"symbol": "AAPL", "side": "buy", "quantity": 1, "order_type": "limit", "limit_price": "1.00",
					"client_order_id": "bench-" + strconv.Itoa(n),
				}
				start := time.Now()
				r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
				ds = append(ds, time.Since(start))
				if err != nil || r.IsError {
					t.Fatalf("%s: %v, %+v", tool, err, r)
				}
			}
			return median(ds)
		}
	}
	times := turns(contender{"order", call(order, "paper_place_order_a")}, contender{"echo", call(yardstick, "echo")})
	fmt.Printf("a guarded order over MCP: %.2f ms; echo and three durable appends: %.2f ms\n",
		median(times["order"]).Seconds()*1000, median(times["echo"]).Seconds()*1000)
	atMost(t, "guarded order over MCP / the SDK's echo and three durable appends", ratio(times["order"], times["echo"]), 1.6)
	if kb := residentKB(t, guarded.Process.Pid); kb > 0 {
		atMost(t, "resident memory of sallyport mcp in MB", float64(kb)/1000, 40)
	}
}

// residentKB reads the resident size of a process; 0 where the system does not show it.
func residentKB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kb
		}
	}
	return 0
}

// TestRatioOfSize weighs the stripped binary.
func TestRatioOfSize(t *testing.T) {
	needMeasure(t)
	info, err := os.Stat(built(t, sallyport))
	if err != nil {
		t.Fatal(err)
	}
	atMost(t, "stripped binary in MB", float64(info.Size())/1e6, 25)
}
