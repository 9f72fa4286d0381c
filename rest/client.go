package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
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

//limit:rest-client-timeout A client waits 30 seconds for an answer, unless configured or its caller waits less; longer only where the call itself says how long it may take.
const defaultTimeout = 30 * time.Second

// connection is what both clients are made of.
type connection struct {
	cfg  ClientConfig
	head string // what every request says after its first line
	pool pool
	// The agent that the daemon takes this client for, once it has said so.
	agent atomic.Pointer[trade.Agent]
}

// silence is the error of a call that has no answer of the daemon's.
type silence struct {
	text string
	sent bool
}

func (s *silence) Error() string { return s.text }

// Unanswered reports whether the call may have been carried out all the same. By this method surfaces tell a daemon that
// does not answer from a gate that says no.
func (s *silence) Unanswered() (mayBeDone bool) { return s.sent }

// ErrUnreachable says that a call has no answer, and may have been carried out or not.
var ErrUnreachable error = &silence{"the daemon did not answer", true}

// ErrNotReached says that a call never left, so that nothing was done.
var ErrNotReached error = &silence{"the daemon cannot be reached", false}

// dial prepares a connection. Nothing is sent before the first call.
//
//limit:rest-client-plain A client sends a token over plain HTTP to this machine only.
func dial(cfg ClientConfig) (*connection, error) {
	c := &connection{cfg: cfg}
	setDefault(&c.cfg.Timeout, defaultTimeout)
	if c.cfg.Now == nil {
		c.cfg.Now = time.Now
	}
	host := socketHost
	dialer := &net.Dialer{} // a call's own deadline bounds its connecting too
	if path, isSocket := strings.CutPrefix(cfg.Address, "unix:"); isSocket {
		if path == "" {
			return nil, errors.New("rest: the address has no path")
		}
		c.pool.dial = func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "unix", path) }
	} else {
		u, err := parseAddress(cfg.Address)
		if err != nil {
			return nil, err
		}
		host = u.Host
		c.pool.dial = dialTo(u, dialer)
	}
	if strings.ContainsFunc(cfg.Token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("rest: the token has characters that none has")
	}
	c.head = " HTTP/1.1\r\nHost: " + host + "\r\n" + TierHeader + ": " + cfg.Tier.String() + "\r\n"
	if cfg.Token != "" {
		c.head += "Authorization: Bearer " + cfg.Token + "\r\n"
	}
	return c, nil
}

func parseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, errors.New("rest: the address is not unix:PATH, http://HOST:PORT or https://HOST:PORT")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return nil, errors.New("rest: a daemon on another machine is called over https only")
	}
	return u, nil
}

func dialTo(u *url.URL, dialer *net.Dialer) func(context.Context) (net.Conn, error) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	address := net.JoinHostPort(u.Hostname(), port)
	if u.Scheme == "https" {
		secure := &tls.Dialer{NetDialer: dialer, Config: &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS13}}
		return func(ctx context.Context) (net.Conn, error) { return secure.DialContext(ctx, "tcp", address) }
	}
	return func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", address) }
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Close lets go of idle connections.
func (c *connection) Close() error {
	c.pool.close()
	return nil
}

// reply is what a daemon answered.
type reply struct {
	status int
	kind   string
	body   []byte
}

// exchange sends one request and reads its answer. The error wraps ErrNotReached if nothing was sent, else ErrUnreachable.
func (c *connection) exchange(ctx context.Context, method, path string, body []byte, wait time.Duration) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout+wait)
	defer cancel()
	out := make([]byte, 0, len(method)+len(path)+len(c.head)+len(body)+80)
	out = append(append(append(append(out, method...), ' '), path...), c.head...)
	if body != nil {
		out = append(out, "Content-Type: application/json\r\nContent-Length: "...)
		out = append(strconv.AppendInt(out, int64(len(body)), 10), "\r\n"...)
	}
	out = append(append(out, "\r\n"...), body...)
	k, err := c.pool.send(ctx, out)
	if err != nil {
		return reply{}, err
	}
	rep, whole, err := k.receive(method)
	if !k.release() && err == nil {
		whole = false // its time was just over: the connection is of no more use
	}
	if c.pool.put(k, whole); err != nil {
		return reply{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return rep, nil
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
	d, err := rep.refusal()
	return nil, d, err
}

// refusal reads a problem. What is none is an answer that nothing can be concluded from.
func (rep reply) refusal() (ledger.Decision, error) {
	r := read(rep.body)
	told := &gate.Refusal{Code: trade.Code(r.text("code")), Message: r.text("detail")}
	if r.err != nil || rep.kind != "application/problem+json" || !isCode(string(told.Code)) {
		return ledger.Decision{}, fmt.Errorf("%w in words that are known: status %d", ErrUnreachable, rep.status)
	}
	if _, n := r.v.Member("required_tier"); n > 0 {
		told.Tier = &ledger.TierGap{Required: r.tier("required_tier"), Current: r.tier("current_tier")}
	}
	var d ledger.Decision
	if v, n := r.v.Member("decision"); n > 0 {
		d = r.decisionOf(v)
	}
	return d, told
}
