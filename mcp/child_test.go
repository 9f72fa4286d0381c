package mcp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// childMode makes the test binary a server on standard input and output.
const childMode = "SALLYPORT_TEST_MCP"

func child(mode string) int {
	var err error
	switch mode {
	case "fake":
		err = childFake()
	case "echo":
		err = childEcho()
	case "paper":
		err = childPaper()
	default:
		err = fmt.Errorf("no mode %q", mode)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// childFake serves a fake gate. An order whose reason is "wait" writes a byte to descriptor 4, waits for one on
// descriptor 3, and writes another when it is done.
func childFake() error {
	await, proceed := os.NewFile(3, "await"), os.NewFile(4, "proceed")
	g := &fakeGate{execute: func(_ context.Context, c gate.Call) ledger.Decision {
		if c.Tags.Reason == "wait" {
			b := make([]byte, 1)
			_, _ = proceed.Write(b)
			if _, err := await.Read(b); err != nil {
				return ledger.Decision{}
			}
			_, _ = proceed.Write(b)
		}
		return decide(c, ledger.Succeeded)
	}}
	tools, err := New(Config{Gate: g, Now: fakeNow, Tier: trade.TierExecute, Agent: "local", Version: "1.2.3"})
	if err != nil {
		return err
	}
	return tools.ServeStdio(context.Background())
}

func command(t testing.TB, mode string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), childMode+"="+mode), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// connect starts the server in a process of its own and connects the SDK's client to it.
func connect(t testing.TB, cmd *exec.Cmd, version string) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(context.Background(), &sdk.CommandTransport{Command: cmd}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
