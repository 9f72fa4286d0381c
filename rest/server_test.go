package rest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/trade"
)

// site is what a server listens with, in a directory whose path is short.
type site struct {
	dir    string
	cfg    ServerConfig
	broker *gatetest.Broker
	gate   *gate.Gate
	token  string
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "sp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &site{dir: dir, broker: &gatetest.Broker{}}
	cfg := gatetest.Config(gatetest.Home(t), s.broker)
	cfg.Daemon = true
	s.gate = gatetest.Open(t, cfg)
	secret, err := s.gate.MakeOwner(t.Context(), gate.PersonTerms{Name: "olga", Approver: true})
	if err != nil {
		t.Fatal(err)
	}
	olga, err := s.gate.Identify(t.Context(), secret, "test")
	if err != nil {
		t.Fatal(err)
	}
	if s.token, err = s.gate.AddAgent(t.Context(), olga, "trader", trade.TierExecute); err != nil {
		t.Fatal(err)
	}
	s.cfg = ServerConfig{Config: Config{Gate: s.gate}, AgentsSocket: filepath.Join(dir, "agents.sock")}
	return s
}

func (s *site) listen(t *testing.T) *Server {
	t.Helper()
	server, err := Listen(s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// serve runs a server and returns how to stop it.
func serve(t *testing.T, s *Server) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

func (s *site) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", s.cfg.AgentsSocket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *site) head(method, path, more string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + s.token + "\r\n" + more
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

//attack:rest-header-wait
//attack:rest-read-wait
//attack:rest-idle-wait
//attack:rest-header-bytes
func TestSlowIdleAndLargeRequestsAreEnded(t *testing.T) {
	s := newSite(t)
	server := s.listen(t)
	a := server.agents
	if a.ReadHeaderTimeout != 5*time.Second || a.ReadTimeout != 10*time.Second || a.IdleTimeout != 2*time.Minute || a.MaxHeaderBytes != 16<<10 || a.WriteTimeout != 150*time.Second {
		t.Errorf("the server is %+v", a)
	}
	a.ReadHeaderTimeout, a.ReadTimeout, a.IdleTimeout = 50*time.Millisecond, 100*time.Millisecond, 50*time.Millisecond
	serve(t, server)

	slow := s.dial(t)
	send(t, slow, "GET /healthz HTTP/1.1\r\nHost: local")
	if got, _ := io.ReadAll(slow); len(got) != 0 {
		t.Errorf("half a header is answered %q", got)
	}
	half := s.dial(t)
	send(t, half, s.head("POST", "/v1/kill", "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"reason\":"))
	if got, _ := io.ReadAll(half); !strings.HasPrefix(string(got), "HTTP/1.1 400 ") || !strings.Contains(string(got), "BODY_INCOMPLETE") {
		t.Errorf("half a body is answered %q", got)
	}
	idle := s.dial(t)
	send(t, idle, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if got, err := io.ReadAll(idle); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 200 ") {
		t.Errorf("a connection without a further request ends with %v after %q", err, got)
	}
	large := s.dial(t)
	_, _ = io.WriteString(large, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 64<<10)+"\r\n\r\n")
	line, _ := bufio.NewReader(large).ReadString('\n')
	if !strings.HasPrefix(line, "HTTP/1.1 431 ") {
		t.Errorf("a large header is answered %q", line)
	}
	if stops, err := s.gate.Stops(t.Context()); err != nil || len(stops) != 0 {
		t.Errorf("half a body has stopped everything: %v, %v", stops, err)
	}
}

//attack:rest-write-wait
func TestAnswerThatNobodyTakesIsGivenUp(t *testing.T) {
	s := newSite(t)
	server := s.listen(t)
	server.agents.WriteTimeout = 100 * time.Millisecond
	var closed atomic.Int32
	server.agents.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed.Add(1)
		}
	}
	serve(t, server)
	c := s.dial(t)
	go func() { // more answers than a socket holds, and none is read
		for range 200 {
			if _, err := io.WriteString(c, s.head("GET", "/v1/openapi.json", "\r\n")); err != nil {
				return
			}
		}
	}()
	gatetest.Until(t, "a caller who reads nothing is served for ever", func() bool { return closed.Load() == 1 })
}

// TestConnectionsThatCallNothingKeepNoPlace: whoever only connects, or calls without a token, takes no place from those who
// call; with a call on each place, one is still free for a stop.
//
//attack:rest-connections
//attack:rest-user-connections
//attack:rest-ending-places
func TestConnectionsThatCallNothingKeepNoPlace(t *testing.T) {
	s := newSite(t)
	server := s.listen(t)
	p := &server.listeners[0].places
	if p.most != 1024 || p.ofUser != 768 || p.kept != 128 {
		t.Errorf("a listener has %d places, a user %d, and %d are kept", p.most, p.ofUser, p.kept)
	}
	p.most, p.ofUser, p.kept = 4, 4, 1
	serve(t, server)
	answers := func(c net.Conn, text string) string {
		_, _ = io.WriteString(c, text)
		line, _ := bufio.NewReader(c).ReadString('\n')
		return strings.TrimSpace(line)
	}
	whoami := s.head("GET", "/v1/whoami", "\r\n")
	var idle []net.Conn
	for range 40 {
		idle = append(idle, s.dial(t))
	}
	first := s.dial(t)
	if got := answers(first, whoami); got != "HTTP/1.1 200 OK" {
		t.Fatalf("beside connections that call nothing: %q", got)
	}
	for range 40 {
		idle = append(idle, s.dial(t))
	}
	if got := answers(first, whoami); got != "HTTP/1.1 200 OK" {
		t.Errorf("a connection whose caller is known was given up for those who call nothing: %q", got)
	}
	if got := answers(idle[0], whoami); got != "" {
		t.Errorf("the oldest connection that called nothing is still there: %q", got)
	}

	slow := "Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{" // a body that does not come
	for range 3 {
		send(t, s.dial(t), s.head("POST", "/v1/intents", slow))
	}
	gatetest.Until(t, "three calls are never on their way", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		n := 0
		for _, c := range p.all {
			if c.within {
				n++
			}
		}
		return n == 3
	})
	if got := answers(s.dial(t), whoami); got != "HTTP/1.1 429 Too Many Requests" {
		t.Errorf("a call on the place that is kept: %q", got)
	}
	for range 40 {
		send(t, s.dial(t), s.head("POST", "/v1/kill", slow))
	}
	stop := "{\"scope\":\"agent:trader\",\"reason\":\"a test\"}"
	if got := answers(s.dial(t), s.head("POST", "/v1/kill", fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(stop), stop))); got != "HTTP/1.1 200 OK" {
		t.Errorf("a stop beside three calls and forty stops that do not arrive: %q", got)
	}
}

// TestUserHasAShareOfThePlaces: one who fills it takes none from another.
//
//attack:rest-user-connections
func TestUserHasAShareOfThePlaces(t *testing.T) {
	l := &listener{}
	l.places.most, l.places.ofUser, l.places.kept = 4, 3, 1
	connect := func(uid uint32, within bool) *conn {
		near, far := net.Pipe()
		t.Cleanup(func() { near.Close(); far.Close() })
		c := &conn{Conn: near, l: l, uid: uid}
		if l.places.take(c) && within {
			c.enter(false)
		}
		return c
	}
	there := func(c *conn) bool { return slices.Contains(l.places.all, c) }
	own := []*conn{connect(1, true), connect(1, true), connect(1, false), connect(1, false)}
	if !there(own[0]) || !there(own[1]) || there(own[2]) || !there(own[3]) {
		t.Error("a fourth connection of a user does not give up the user's own that calls nothing")
	}
	other := []*conn{connect(2, false), connect(2, false)}
	if there(own[3]) || !there(other[0]) || !there(other[1]) {
		t.Error("at a full listener it is not the user with the most connections who gives one up")
	}
	if more := connect(1, false); !there(more) || len(l.places.all) != 4 {
		t.Error("a user below its share finds no place")
	}
	if err := other[1].Close(); err != nil || there(other[1]) {
		t.Error("a closed connection keeps its place")
	}
}

//attack:rest-drain
//attack:rest-await
func TestServerThatStopsFinishesWhatIsInFlight(t *testing.T) {
	s := newSite(t)
	server := s.listen(t)
	stop := serve(t, server)
	c, err := Dial(ClientConfig{Address: "unix:" + s.cfg.AgentsSocket, Token: s.token, Tier: trade.TierExecute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	held := c.Propose(t.Context(), gatetest.CallFor(gatetest.Order(t, "buy", "AAPL", "2", "150"), encoded))
	release := make(chan struct{})
	s.broker.Next(gatetest.Slow(release))
	executed, waited := make(chan string, 1), make(chan string, 1)
	go func() {
		d := c.Execute(context.Background(), gatetest.CallFor(gatetest.Order(t, "buy", "AAPL", "1", "150"), encoded))
		executed <- string(d.State)
	}()
	go func() {
		d, err := c.decision(context.Background(), "POST", "/v1/proposals/"+string(held.Intent)+"/await", []byte(`{"wait":"60s"}`), time.Minute)
		waited <- fmt.Sprint(d.State, err)
	}()
	gatetest.Until(t, "nothing is in flight", func() bool { return len(s.broker.Submits()) == 1 })
	time.Sleep(50 * time.Millisecond) // the waiting call has most probably arrived too
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	if got := <-waited; !strings.HasPrefix(got, "APPROVAL_PENDING") {
		t.Errorf("a call that waits for people is answered %s when the server stops", got)
	}
	gatetest.Until(t, "a server that stops takes connections", func() bool {
		again, err := net.Dial("unix", s.cfg.AgentsSocket)
		if err == nil {
			again.Close()
		}
		return err != nil
	})
	close(release)
	if got := <-executed; got != "EXECUTION_SUCCEEDED" {
		t.Errorf("an order in flight is answered %s", got)
	}
	if err := <-stopped; err != nil {
		t.Errorf("the server stopped with %v", err)
	}
}

// TestWaitingIsNotEndedByTheTimeForARequest: that time is over before the waiting is.
func TestWaitingIsNotEndedByTheTimeForARequest(t *testing.T) {
	s := newSite(t)
	server := s.listen(t)
	server.agents.ReadTimeout = 50 * time.Millisecond
	serve(t, server)
	c, err := Dial(ClientConfig{Address: "unix:" + s.cfg.AgentsSocket, Token: s.token, Tier: trade.TierExecute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	held := c.Propose(t.Context(), gatetest.CallFor(gatetest.Order(t, "buy", "AAPL", "2", "150"), encoded))
	began := time.Now()
	d, err := c.Await(t.Context(), gate.Origin{}, trade.TierExecute, held.Intent, 300*time.Millisecond)
	if took := time.Since(began); err != nil || d.State != held.State || took < 4*server.agents.ReadTimeout {
		t.Errorf("after %s the proposal is %s, %v", took, d.State, err)
	}
}

// encoded lets a call travel in the words of its dialect.
func encoded(k *gate.Call) { k.Raw = orderBytes(k.Order) }

func orderBytes(o trade.Order) []byte {
	return fmt.Appendf(nil, `{"symbol":%q,"side":%q,"quantity":%q,"order_type":"limit","limit_price":%q}`, o.Symbol(), o.Side(), o.Quantity(), o.LimitPrice().Money())
}

func TestServerThatCannotFinishSaysSo(t *testing.T) {
	s := newSite(t)
	server := s.listen(t)
	if server.drain != 15*time.Second {
		t.Errorf("a server waits %s for what is in flight", server.drain)
	}
	server.drain = 10 * time.Millisecond
	stop := serve(t, server)
	c, err := Dial(ClientConfig{Address: "unix:" + s.cfg.AgentsSocket, Token: s.token, Tier: trade.TierExecute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	release := make(chan struct{})
	defer close(release)
	s.broker.Next(gatetest.Slow(release))
	executed := make(chan string, 1)
	go func() {
		d := c.Execute(context.Background(), gatetest.CallFor(gatetest.Order(t, "buy", "AAPL", "1", "150"), encoded))
		executed <- string(d.State)
	}()
	gatetest.Until(t, "nothing is in flight", func() bool { return len(s.broker.Submits()) == 1 })
	if err := stop(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the server stopped with %v", err)
	}
	if got := <-executed; got != "EXECUTION_OUTCOME_UNKNOWN" {
		t.Errorf("an order that was cut off is %s to its caller", got)
	}
}

//attack:rest-loopback
//attack:rest-rate-most
func TestServerRefusesAddressesThatOthersReach(t *testing.T) {
	s := newSite(t)
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "localhost:0", "daemon.example:0", "127.0.0.1", "127.0.0.1:99999"} {
		for _, half := range []func(*ServerConfig){func(c *ServerConfig) { c.Agents = address }, func(c *ServerConfig) { c.People = address }} {
			cfg := ServerConfig{Config: s.cfg.Config}
			half(&cfg)
			if server, err := Listen(cfg); err == nil {
				t.Errorf("the server listens on %s", address)
				_ = server.close()
			}
		}
	}
	open := ServerConfig{Config: s.cfg.Config, Agents: "0.0.0.0:0", AllowRemote: true}
	server, err := Listen(open)
	if err != nil {
		t.Fatalf("an address that is allowed: %v", err)
	}
	_ = server.close()
	for name, cfg := range map[string]ServerConfig{
		"nothing":          {Config: s.cfg.Config},
		"no gate":          {AgentsSocket: s.cfg.AgentsSocket},
		"a rate too high":  {Config: Config{Gate: s.gate, Rate: Rate{PerSecond: 1_000_001}}, Agents: "127.0.0.1:0"},
		"a rate below 0":   {Config: Config{Gate: s.gate, Rate: Rate{PerSecond: -1}}, Agents: "127.0.0.1:0"},
		"a nameless agent": {Config: s.cfg.Config, Sockets: []Socket{{Path: filepath.Join(s.dir, "x")}}},
		"a tier too high":  {Config: s.cfg.Config, Sockets: []Socket{{Path: filepath.Join(s.dir, "x"), Agent: "a", Tier: 3}}},
		"a socket too":     {Config: s.cfg.Config, AgentsSocket: s.cfg.AgentsSocket, Agents: "192.0.2.1:0"},
	} {
		if server, err := Listen(cfg); err == nil {
			t.Errorf("%s: a server is made", name)
			_ = server.close()
		}
	}
	if _, err := os.Lstat(s.cfg.AgentsSocket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket is left of a server that could not listen: %v", err)
	}
}

//attack:rest-socket-mode
//attack:rest-socket-shared
//attack:rest-socket-umask
//attack:rest-socket-dir
//attack:rest-socket-dir-others
//attack:rest-socket-stale
func TestSocketIsOursAlone(t *testing.T) {
	s := newSite(t)
	mode := func(path string) fs.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	s.cfg.AgentsSocket = filepath.Join(s.dir, "run", "agents.sock")
	s.cfg.Sockets = []Socket{{Path: filepath.Join(s.dir, "run", "shared.sock"), Agent: "a", UIDs: []uint32{12345}}}
	server := s.listen(t)
	if got := mode(s.cfg.AgentsSocket); got != 0o600 {
		t.Errorf("the socket has mode %o", got)
	}
	if got := mode(s.cfg.Sockets[0].Path); got != 0o666 {
		t.Errorf("a socket for a listed user has mode %o", got)
	}
	if got := mode(filepath.Join(s.dir, "run")); got != 0o700 {
		t.Errorf("the directory has mode %o", got)
	}
	stop := serve(t, server)
	s.cfg.Sockets = nil
	if again, err := Listen(s.cfg); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("a socket that is listened on is taken: %v, %v", again, err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}

	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.cfg.AgentsSocket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	_ = s.listen(t).close()

	for name, put := range map[string]func(path string) error{
		"a file":      func(path string) error { return os.WriteFile(path, []byte("precious"), 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":      func(path string) error { return os.Symlink(filepath.Join(s.dir, "elsewhere"), path) },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		path := filepath.Join(s.dir, "run", strings.ReplaceAll(name, " ", ""))
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		if l, err := listenSocket(path, nil); err == nil {
			t.Errorf("%s is replaced", name)
			l.Close()
		}
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
	for _, open := range []fs.FileMode{0o777, 0o770, 0o722, 0o1777} {
		dir := filepath.Join(s.dir, fmt.Sprintf("d%o", open))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, open); err != nil {
			t.Fatal(err)
		}
		if l, err := listenSocket(filepath.Join(dir, "x.sock"), nil); err == nil {
			t.Errorf("a socket is made in a directory of mode %o", open)
			l.Close()
		}
	}
}

//attack:rest-peer
func TestOnlyListedUsersMayConnect(t *testing.T) {
	for _, c := range []struct {
		uid, own uint32
		listed   []uint32
		want     bool
	}{
		{1000, 1000, nil, true},
		{0, 1000, nil, true},
		{1001, 1000, nil, false},
		{1001, 0, nil, false},
		{1001, 1000, []uint32{1002}, false},
		{1002, 1000, []uint32{1001, 1002}, true},
		{1<<32 - 1, 1000, []uint32{1002}, false},
	} {
		if got := mayConnect(c.uid, c.own, c.listed); got != c.want {
			t.Errorf("user %d at a socket of %d with %v: %v", c.uid, c.own, c.listed, got)
		}
	}
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	l := &listener{socket: true, log: slog.New(slog.DiscardHandler)}
	if _, err := l.check(here); err == nil {
		t.Error("a connection of an unknown kind may connect to a socket")
	}
}

func TestDetachedCallsEndAfterTwoMinutesAndNotBefore(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(parent, "GET", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, done := (&request{http: r}).detached()
	defer done()
	cancel()
	end, has := ctx.Deadline()
	if left := time.Until(end); !has || left > 2*time.Minute || left < time.Minute || ctx.Err() != nil {
		t.Errorf("a call ends in %s, and is %v when its caller has gone", left, ctx.Err())
	}
	attached, done2 := (&request{http: r}).attached()
	defer done2()
	if attached.Err() == nil {
		t.Error("a call that only reads goes on when its caller has gone")
	}
}

//attack:rest-metrics-one
func TestCountersAreGatheredByOneCallAtATime(t *testing.T) {
	s := newSite(t)
	m := NewMetrics()
	m.gathering.Lock()
	done := make(chan answer, 3)
	for range 3 {
		go func() { done <- m.expose(context.Background(), Config{Gate: s.gate}.complete(), &readiness{}) }()
	}
	select {
	case <-done:
		t.Error("the counters are gathered twice at a time")
	case <-time.After(20 * time.Millisecond):
	}
	m.gathering.Unlock()
	for range 3 {
		if ans := <-done; ans.status != http.StatusOK || !strings.Contains(string(ans.body), "sallyport_stops_engaged 0") {
			t.Errorf("the counters are answered %d %s", ans.status, ans.body)
		}
	}
}
