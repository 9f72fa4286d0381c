package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// connectHere connects the SDK's client to a server in this process.
func connectHere(t testing.TB, tools *Tools, version string) *sdk.ClientSession {
	t.Helper()
	inR, inW := net.Pipe()
	outR, outW := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := tools.Serve(context.Background(), inR, outW)
		_ = outW.Close()
		ended <- err
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(context.Background(), &sdk.IOTransport{Reader: outR, Writer: inW}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return s
}

// TestClientOfEveryProtocolVersion is one conversation, over pipes in this process and over a process of its own, in
// every version of the protocol that the SDK speaks.
func TestClientOfEveryProtocolVersion(t *testing.T) {
	for _, version := range sdk.SupportedProtocolVersions() {
		t.Run("here/"+version, func(t *testing.T) {
			converse(t, connectHere(t, newTools(t, &fakeGate{}), version), version)
		})
		t.Run("process/"+version, func(t *testing.T) {
			cmd := command(t, "fake")
			s := connect(t, cmd, version)
			converse(t, s, version)
			if err := s.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
			if !cmd.ProcessState.Success() {
				t.Errorf("the server exited with %v", cmd.ProcessState)
			}
		})
	}
}

func converse(t *testing.T, s *sdk.ClientSession, version string) {
	t.Helper()
	hello := s.InitializeResult()
	if hello.ProtocolVersion != version || hello.Instructions == "" {
		t.Errorf("version %s, instructions %q", hello.ProtocolVersion, hello.Instructions)
	}
	if hello.ServerInfo == nil && version < "2026-07-28" || hello.ServerInfo != nil && hello.ServerInfo.Name != "sallyport" {
		t.Errorf("the server is %+v", hello.ServerInfo)
	}
	caps, _ := json.Marshal(hello.Capabilities)
	if string(caps) != `{"tools":{}}` {
		t.Errorf("capabilities %s", caps)
	}
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != len(published) {
		t.Fatalf("tools: %v, %v", list, err)
	}
	for _, tool := range list.Tools {
		checkAdvertised(t, tool)
	}
	call := func(name, args string) (*sdk.CallToolResult, answered) {
		t.Helper()
		r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
		if err != nil {
			t.Fatalf("%s %s: %v", name, args, err)
		}
		text := r.Content[0].(*sdk.TextContent).Text
		structured, err := json.Marshal(r.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(structured, &a) != nil || json.Unmarshal([]byte(text), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s: the text %s is not the structured content %s", name, text, structured)
		}
		return r, object(t, []byte(text))
	}
	if r, a := call("paper_place_order_a", goodA); r.IsError || a.State != "EXECUTION_SUCCEEDED" {
		t.Errorf("an allowed order: isError %v, %s", r.IsError, a.State)
	}
	if r, a := call("paper_place_order_b", `{"ticker":"AAPL","qty":1e2}`); !r.IsError || a.State != "EXECUTION_BLOCKED" || !strings.Contains(a.codes(), "QUANTITY_MALFORMED") {
		t.Errorf("a faulty order: isError %v, %s %s", r.IsError, a.State, a.codes())
	}
	if r, a := call("trade_check", `{"symbol":"AAPL"}`); r.IsError || a.Verdict != "deny" {
		t.Errorf("a check that denies: isError %v, %s", r.IsError, a.Verdict)
	}
	if r, a := call("trade_policy_get", `{}`); r.IsError || a.Valid == nil || !*a.Valid {
		t.Errorf("the policy: isError %v, %+v", r.IsError, a)
	}
	if r, _ := call("trade_audit", `{"limit":3}`); r.IsError {
		t.Error("the audit is an error")
	}
	if r, a := call("place_order", goodA); !r.IsError || a.codes() != "TOOL_UNKNOWN" {
		t.Errorf("an unknown tool: isError %v, %s", r.IsError, a.codes())
	}
	if r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "trade_policy_get"}); err != nil || r.IsError {
		t.Errorf("no arguments at all: %v, %v", r, err)
	}
}

// checkAdvertised holds what a client is told of a tool to the truth: placing an order cannot be undone, and a plain
// repeat is a second order.
func checkAdvertised(t *testing.T, tool *sdk.Tool) {
	t.Helper()
	a := tool.Annotations
	for _, want := range published {
		if want.name == tool.Name && (a == nil || a.ReadOnlyHint != want.readOnly || a.DestructiveHint == nil || *a.DestructiveHint != want.ends ||
			a.OpenWorldHint == nil || *a.OpenWorldHint || strings.HasPrefix(tool.Name, "paper_place_order_") && a.IdempotentHint) {
			t.Errorf("%s: annotations %+v", tool.Name, a)
		}
	}
	in, _ := tool.InputSchema.(map[string]any)
	if in["additionalProperties"] != false || tool.OutputSchema == nil || tool.Description == "" || tool.Title == "" {
		t.Errorf("%s: schema %v, output %v, %q, %q", tool.Name, in, tool.OutputSchema, tool.Title, tool.Description)
	}
}

func TestServerProcessEndsWithItsInput(t *testing.T) {
	cmd := command(t, "fake")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Everything at once, the input closed before anything is read: all answers come all the same.
	lines := []string{initialize, callLine(1, "paper_place_order_a", goodA), "rubbish", callLine(2, "trade_check", goodCheck)}
	if _, err := io.WriteString(in, strings.Join(lines, "\n")); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	seen := map[string]bool{}
	for s := bufio.NewScanner(out); s.Scan(); {
		var m message
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			t.Fatalf("%q: %v", s.Bytes(), err)
		}
		seen[string(m.ID)] = m.Error == nil
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server exited with %v", err)
	}
	if fmt.Sprint(seen) != "map[0:true 1:true 2:true null:false]" {
		t.Errorf("answers without an error: %v", seen)
	}
}

// TestServerProcessOutlivesItsReader kills a client's reading end while two orders are on their way: a broken pipe must
// not end the process before both have their outcome.
func TestServerProcessOutlivesItsReader(t *testing.T) {
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	goR, goW := pipe()
	doneR, doneW := pipe()
	cmd := command(t, "fake")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, io.Discard
	cmd.ExtraFiles = []*os.File{goR, doneW}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{inR, outW, goR, doneW} {
		_ = f.Close()
	}
	waiting := strings.Replace(goodA, `{`, `{"reason":"wait",`, 1)
	for _, line := range []string{initialize, callLine(1, "paper_place_order_a", waiting), callLine(2, "paper_place_order_a", waiting)} {
		if _, err := io.WriteString(inW, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bufio.NewReader(outR).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_ = outR.Close()
	done := make([]byte, 1)
	if _, err := io.ReadFull(doneR, make([]byte, 2)); err != nil { // both are on their way
		t.Fatal(err)
	}
	for i := range 2 {
		if _, err := goW.Write([]byte{'x'}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(doneR, done); err != nil {
			t.Errorf("order %d has no outcome: %v", i+1, err)
		}
	}
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the server ended with %v; want the exit of an error, not a signal", cmd.ProcessState)
	}
	for _, f := range []*os.File{inW, goW, doneR} {
		_ = f.Close()
	}
}
