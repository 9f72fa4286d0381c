package rest

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// pool keeps a client's connections. It is ours and not the library's for two reasons: whoever calls writes and reads
// itself, without handing its request to other goroutines and back, which is most of what a call over a socket costs; and
// it is known for certain whether a byte of a call has left.
type pool struct {
	dial func(ctx context.Context) (net.Conn, error)

	mu     sync.Mutex
	idle   []*kept // the one that was used last is last
	closed bool
}

// What a client keeps.
const (
	//limit:rest-client-idle A client keeps at most 16 idle connections.
	maxIdle = 16
	//limit:rest-client-idle-wait A client uses no connection that was idle for 60 seconds.
	idleWait = time.Minute
)

// kept is a connection with what was read ahead of it.
type kept struct {
	net.Conn
	left    io.LimitedReader // bounds one answer
	reader  *bufio.Reader
	since   time.Time // when it was put back
	release func() bool
}

// take returns an idle connection that the other side still holds open; nil if there is none.
func (p *pool) take() *kept {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		k := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if time.Since(k.since) < idleWait && quiet(k.Conn) {
			return k
		}
		_ = k.Close()
	}
	return nil
}

// put takes a connection back, or closes it.
func (p *pool) put(k *kept, whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !whole || p.closed || len(p.idle) == maxIdle || k.reader.Buffered() > 0 || k.SetDeadline(time.Time{}) != nil {
		_ = k.Close()
		return
	}
	k.since = time.Now()
	p.idle = append(p.idle, k)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, k := range p.idle {
		_ = k.Close()
	}
	p.idle = nil
}

func (p *pool) fresh(ctx context.Context) (*kept, error) {
	c, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	k := &kept{Conn: c}
	k.left.R = c
	k.reader = bufio.NewReader(&k.left)
	return k, nil
}

// send writes one request whole. A connection that was kept may have ended since; if no byte of the request could leave on
// it, another is made. The error wraps ErrNotReached if nothing was sent, else ErrUnreachable.
//
//limit:rest-no-resend A client sends a call once; after its first byte has left it is never sent again, whatever fails.
func (p *pool) send(ctx context.Context, request []byte) (*kept, error) {
	k := p.take()
	for reused := k != nil; ; reused = false {
		var err error
		if k == nil {
			if k, err = p.fresh(ctx); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrNotReached, err)
			}
		}
		n, err := k.begin(ctx, request)
		if err == nil {
			return k, nil
		}
		k.release()
		_ = k.Close()
		switch {
		case n > 0:
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
		case !reused || ctx.Err() != nil:
			return nil, fmt.Errorf("%w: %w", ErrNotReached, err)
		}
		k = nil
	}
}

// begin writes the request. From then on the end of ctx ends what waits for the connection, until it is released.
func (k *kept) begin(ctx context.Context, request []byte) (n int, err error) {
	k.release = context.AfterFunc(ctx, func() { _ = k.SetDeadline(time.Unix(1, 0)) })
	k.left.N = maxAnswer + maxHeader
	return k.Write(request)
}

// receive reads one answer. whole reports that the connection can serve another call.
func (k *kept) receive(method string) (rep reply, whole bool, err error) {
	res, err := http.ReadResponse(k.reader, &http.Request{Method: method})
	if err != nil {
		return reply{}, false, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil && len(raw) > maxAnswer {
		err = errors.New("the answer is too long")
	}
	if err != nil {
		return reply{}, false, err
	}
	rep = reply{status: res.StatusCode, kind: res.Header.Get("Content-Type"), body: raw}
	return rep, !res.Close && res.StatusCode >= http.StatusOK, nil
}

// quiet reports whether nothing has come on an idle connection: neither its end nor an answer that nobody has asked for.
func quiet(c net.Conn) bool {
	if secure, is := c.(*tls.Conn); is {
		c = secure.NetConn()
	}
	s, is := c.(syscall.Conn)
	if !is {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	var one [1]byte
	var peeked error
	err = raw.Read(func(fd uintptr) bool {
		_, _, peeked = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	return err == nil && (errors.Is(peeked, syscall.EAGAIN) || errors.Is(peeked, syscall.EWOULDBLOCK))
}
