package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sallyport/policy"
)

// drainDeadline is how long answers may take after the end of the input: every call has ended by then.
//
//limit:mcp-drain After the end of the input a session waits at most 130 seconds for its last answers.
const drainDeadline = callDeadline + 10*time.Second

// ServeStdio serves one session on the standard input and output of this process, which must be used for nothing else.
// See Serve. A client that goes away must not kill the process while an order is on its way, so a broken pipe becomes
// an error of the write.
func (t *Tools) ServeStdio(ctx context.Context) error {
	signal.Ignore(syscall.SIGPIPE)
	return t.Serve(ctx, os.Stdin, os.Stdout)
}

// Serve serves one session. It ends without an error at the end of in, or when ctx is done, after what was being worked
// on is finished and answered. A goroutine that reads in may outlive it until in ends.
func (t *Tools) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return t.serve(newConn(ctx.Done(), in, out, drainDeadline))
}

func (t *Tools) serve(c *conn) error {
	session, err := t.server().Connect(context.Background(), c, nil)
	if err != nil {
		return fmt.Errorf("mcp: starting the session: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("mcp: the session broke: %w", err)
		}
		return nil
	case <-c.stuck:
		return errStuck
	}
}

// server makes the SDK's server. Beside the tools it advertises nothing.
func (t *Tools) server() *sdk.Server {
	s := sdk.NewServer(
		&sdk.Implementation{Name: "sallyport", Title: "Sallyport", Version: t.cfg.Version},
		&sdk.ServerOptions{
			Instructions: instructions(t.cfg.Tier),
			Logger:       slog.New(grave{t.cfg.Log.Handler()}),
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		},
	)
	for _, row := range t.List() {
		s.AddTool(row.advertise(), t.handle)
	}
	s.AddReceivingMiddleware(t.receive)
	return s
}

// advertise describes the tool truthfully. Placing an order cannot be undone, and a plain repeat is a second order; the
// paper venue is on this machine, so no tool reaches an open world.
func (row Tool) advertise() *sdk.Tool {
	no := false
	return &sdk.Tool{
		Name: row.Name, Title: row.Title, Description: row.Description,
		InputSchema: json.RawMessage(row.Input), OutputSchema: json.RawMessage(row.Output),
		Annotations: &sdk.ToolAnnotations{
			Title:           row.Title,
			ReadOnlyHint:    row.ReadOnly,
			DestructiveHint: &row.Destructive,
			IdempotentHint:  row.Idempotent,
			OpenWorldHint:   &no,
		},
	}
}

// handle runs a tool on the arguments as the client wrote them: the SDK hands them on and does not look into them.
func (t *Tools) handle(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	var c call
	c.origin, c.faults = t.cfg.origin(req.Params.Name, req.Params.Meta)
	c.raw = req.Params.Arguments
	return t.call(ctx, req.Params.Name, c).protocol(), nil
}

func (r Result) protocol() *sdk.CallToolResult {
	return &sdk.CallToolResult{
		Content:           []sdk.Content{&sdk.TextContent{Text: r.Text}},
		StructuredContent: json.RawMessage(r.JSON),
		IsError:           r.IsError,
	}
}

// receive stands before every method: a tool that does not exist, or is not listed because the tier is too low, is
// answered as a tool would, so that a model reads it, and a panic is an answer and not the end of the process.
func (t *Tools) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				t.cfg.Log.Error("a method panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: string(policy.InternalError)}
			}
		}()
		if params, ok := req.GetParams().(*sdk.CallToolParamsRaw); ok && !t.has(params.Name) {
			return t.handle(ctx, &sdk.CallToolRequest{Params: params})
		}
		return next(ctx, method, req)
	}
}

// has reports whether the protocol's server was given the tool.
func (t *Tools) has(name string) bool {
	return slices.ContainsFunc(t.List(), func(row Tool) bool { return row.Name == name })
}

// grave leaves out what the SDK has to tell of every session.
type grave struct{ slog.Handler }

func (h grave) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}
