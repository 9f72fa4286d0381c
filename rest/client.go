package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// ClientConfig says where a daemon is and who calls. Address is required.
type ClientConfig struct {
	Address string        // unix:/path/to.sock, http://127.0.0.1:8371, or https://… for another machine
	Token   string        // of an agent, or a person's credential; empty on a socket that belongs to an agent
	Tier    trade.Tier    // of this process; the daemon takes the lower of it and the token's
	Agent   trade.Agent   // how decisions name the agent that this client must make itself
	Timeout time.Duration // of one call; default 30 seconds
	Now     func() time.Time
}

// Limits of a client.
const (
	//limit:rest-client-timeout A client waits 30 seconds for an answer, unless configured or its caller waits less; longer only where the call itself says how long it may take.
	defaultTimeout = 30 * time.Second
	//limit:rest-client-idle A client keeps at most 16 idle connections, each for 60 seconds.
	maxIdle  = 16
	idleWait = time.Minute
)

// connection is what both clients are made of.
type connection struct {
	cfg  ClientConfig
	base string // scheme and host
	http *http.Transport
}

// ErrUnreachable says that a call has no answer, and may have been carried out or not.
var ErrUnreachable = errors.New("the daemon did not answer")

// ErrNotReached says that a call never left, so that nothing was done.
var ErrNotReached = errors.New("the daemon cannot be reached")

// dial prepares a connection. Nothing is sent before the first call.
//
//limit:rest-client-plain A client sends a token over plain HTTP to this machine only.
func dial(cfg ClientConfig) (*connection, error) {
	c := &connection{cfg: cfg}
	setDefault(&c.cfg.Timeout, defaultTimeout)
	if c.cfg.Now == nil {
		c.cfg.Now = time.Now
	}
	dialer := &net.Dialer{} // a call's own deadline bounds its connecting too
	connect := dialer.DialContext
	if path, isSocket := strings.CutPrefix(cfg.Address, "unix:"); isSocket {
		if path == "" {
			return nil, errors.New("rest: the address has no path")
		}
		c.base = "http://" + socketHost
		connect = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, "unix", path) }
	} else {
		u, err := url.Parse(cfg.Address)
		if err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			return nil, errors.New("rest: the address is not unix:PATH, http://HOST:PORT or https://HOST:PORT")
		}
		if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
			return nil, errors.New("rest: a daemon on another machine is called over https only")
		}
		c.base = u.Scheme + "://" + u.Host
	}
	if strings.ContainsFunc(cfg.Token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("rest: the token has characters that none has")
	}
	c.http = &http.Transport{
		DialContext: connect, MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleWait, DisableCompression: true,
		MaxResponseHeaderBytes: maxHeader,
	}
	return c, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Close lets go of idle connections.
func (c *connection) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// reply is what a daemon answered.
type reply struct {
	status int
	kind   string
	body   []byte
}

// exchange sends one request and reads its answer. The error wraps ErrNotReached if nothing was sent, else ErrUnreachable.
//
//limit:rest-no-resend A client sends a call that changes something once; whatever fails after its first byte has left is not sent again.
func (c *connection) exchange(ctx context.Context, method, path string, body []byte, wait time.Duration) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout+wait)
	defer cancel()
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, reader)
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", ErrNotReached, err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.cfg.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	}
	r.Header.Set(TierHeader, c.cfg.Tier.String())
	res, err := c.http.RoundTrip(r) // which follows nothing and sends a body again only if no byte of it had left
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			return reply{}, fmt.Errorf("%w: %w", ErrNotReached, err)
		}
		return reply{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil && len(raw) > maxAnswer {
		err = errors.New("the answer is too long")
	}
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return reply{status: res.StatusCode, kind: res.Header.Get("Content-Type"), body: raw}, nil
}

// call sends one request and returns its answer as it is read; an error where the daemon said no.
func (c *connection) call(ctx context.Context, method, path string, body []byte, wait time.Duration) (*reading, ledger.Decision, error) {
	rep, err := c.exchange(ctx, method, path, body, wait)
	if err != nil {
		return nil, ledger.Decision{}, err
	}
	if rep.status >= http.StatusOK && rep.status < http.StatusMultipleChoices {
		if len(rep.body) == 0 {
			return &reading{}, ledger.Decision{}, nil
		}
		return read(rep.body), ledger.Decision{}, nil
	}
	told, d := rep.refusal()
	return nil, d, told
}

// refusal reads a problem. What is none is an answer that nothing can be concluded from.
func (rep reply) refusal() (error, ledger.Decision) {
	r := read(rep.body)
	told := &gate.Refusal{Code: trade.Code(r.text("code")), Message: r.text("detail")}
	if r.err != nil || rep.kind != "application/problem+json" || !isCode(string(told.Code)) {
		return fmt.Errorf("%w in words that are known: status %d", ErrUnreachable, rep.status), ledger.Decision{}
	}
	if _, n := r.v.Member("required_tier"); n > 0 {
		told.Tier = &ledger.TierGap{Required: r.tier("required_tier"), Current: r.tier("current_tier")}
	}
	var d ledger.Decision
	if v, n := r.v.Member("decision"); n > 0 {
		d = r.decisionOf(v)
	}
	return told, d
}
