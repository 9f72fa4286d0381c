package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxCalls is how many requests of a session are worked on at once. While there are as many, no further line is read,
// so that a client that does not wait for answers is slowed down and nothing piles up.
//
//limit:mcp-calls At most 64 requests of a session are worked on at once; reading waits for a free place.
const maxCalls = 64

// conn is the one connection of a server: lines from in, lines to out. It stands before the SDK, answers what must not
// reach it, and keeps the end of the input from it until every request has its answer: the SDK drops the answers that
// are ready later.
type conn struct {
	out   io.Writer
	stop  <-chan struct{} // no further line is taken; what is being worked on is finished
	lines <-chan line
	drain time.Duration // how long the answers may take after the end of the input

	slots  chan struct{} // one token for each request that is being worked on
	closed chan struct{}
	once   sync.Once
	stuck  chan struct{} // closed when drain has passed

	writing sync.Mutex // held for each line that is written
	mu      sync.Mutex
	pending map[jsonrpc.ID]struct{} // requests without an answer
}

// newConn starts the goroutine that reads. It ends with in, or when the connection is closed and the next line arrives.
func newConn(stop <-chan struct{}, in io.Reader, out io.Writer, drain time.Duration) *conn {
	lines := make(chan line)
	c := &conn{
		out: out, stop: stop, lines: lines, drain: drain,
		slots: make(chan struct{}, maxCalls), closed: make(chan struct{}), stuck: make(chan struct{}),
		pending: map[jsonrpc.ID]struct{}{},
	}
	go func() {
		for r := newLineReader(in); ; {
			l := r.next()
			select {
			case lines <- l:
			case <-c.closed:
				return
			}
			if l.err != nil {
				return
			}
		}
	}()
	return c
}

// Connect makes the connection its own transport: there is one session.
func (c *conn) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID is empty: a session on pipes has no name.
func (c *conn) SessionID() string { return "" }

// Close lets Read return. It closes neither in nor out, which belong to the caller.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Read returns the next message that the SDK may see, and io.EOF only when all answers are written. The SDK calls it
// from one goroutine.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		var l line
		select {
		case l = <-c.lines:
		case <-c.stop:
			return nil, c.finish(io.EOF)
		case <-c.closed:
			return nil, io.EOF
		}
		if l.err != nil {
			return nil, c.finish(l.err)
		}
		req, refused := c.take(l)
		if refused != nil {
			if err := c.write(refused.appendJSON(nil)); err != nil {
				return nil, err
			}
			continue
		}
		if req == nil {
			continue
		}
		if req.IsCall() && !c.begin(req.ID) {
			return nil, c.finish(io.EOF)
		}
		return req, nil
	}
}

func (c *conn) take(l line) (*jsonrpc.Request, *refusal) {
	if l.tooLong {
		return nil, unreadable("the message is over %d bytes", maxLine)
	}
	req, refused := readMessage(l.bytes)
	if refused != nil || req == nil || !req.IsCall() {
		return req, refused
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.pending[req.ID]; taken {
		// With its id the client would take this for the answer to the first request.
		return nil, invalid(nil, "the id is that of a request which is still being worked on")
	}
	return req, nil
}

// begin waits for a free place; it is false if the session ends first.
func (c *conn) begin(id jsonrpc.ID) bool {
	select {
	case c.slots <- struct{}{}:
	case <-c.stop:
		return false
	case <-c.closed:
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending[id] = struct{}{}
	return true
}

// finish waits until nothing is being worked on and returns end.
func (c *conn) finish(end error) error {
	limit := time.NewTimer(c.drain)
	defer limit.Stop()
	for range maxCalls {
		select {
		case c.slots <- struct{}{}:
		case <-c.closed:
			return end
		case <-limit.C:
			close(c.stuck)
			return end
		}
	}
	return end
}

// Write writes one message of the SDK. A client may use an id again as soon as it has the answer, and the session may
// end only when the answer is written.
func (c *conn) Write(_ context.Context, msg jsonrpc.Message) error {
	data, err := encode(msg)
	if response, ok := msg.(*jsonrpc.Response); ok && c.settle(response.ID) {
		defer func() { <-c.slots }()
	}
	if err != nil {
		return fmt.Errorf("writing a message: %w", err)
	}
	return c.write(data)
}

// encode writes a message as the SDK does, but reads no result again, which the SDK has made just now: in that time the
// client could have its answer.
func encode(msg jsonrpc.Message) ([]byte, error) {
	r, ok := msg.(*jsonrpc.Response)
	if !ok || r.Error != nil || len(r.Result) == 0 {
		return jsonrpc.EncodeMessage(msg)
	}
	id, err := json.Marshal(r.ID.Raw())
	if err != nil {
		return nil, err
	}
	const before, between = `{"jsonrpc":"2.0","id":`, `,"result":`
	dst := make([]byte, 0, len(before)+len(id)+len(between)+len(r.Result)+len("}\n"))
	dst = append(append(append(dst, before...), id...), between...)
	return append(append(dst, r.Result...), '}'), nil
}

func (c *conn) settle(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.pending[id]
	delete(c.pending, id)
	return ok
}

func (c *conn) write(data []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(data, '\n'))
	return err
}

var errStuck = errors.New("mcp: calls did not end in time after the end of the input")
