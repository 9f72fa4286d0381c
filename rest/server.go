package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"sallyport/trade"
)

// ServerConfig says where a server listens. What is empty is not opened.
type ServerConfig struct {
	Config
	Agents       string   // address for agents, such as 127.0.0.1:8371
	People       string   // address for people
	AgentsSocket string   // path of a socket for agents that send a token
	PeopleSocket string   // path of a socket for people
	UIDs         []uint32 // operating-system users that may connect to the sockets, beside our own and root
	Sockets      []Socket // that belong to one agent each
	AllowRemote  bool     // an address may be one that other machines reach
}

// Socket is a socket that belongs to one agent: whoever may connect to it is that agent, without a token.
type Socket struct {
	Path  string
	Agent trade.Agent
	Tier  trade.Tier // at most
	UIDs  []uint32   // operating-system users that may connect, beside our own and root
}

// Limits of a server.
const (
	//limit:rest-header-bytes A request's headers are read up to 16 KiB, and what the library adds to it.
	maxHeader = 16 << 10
	//limit:rest-header-wait A request's headers must arrive within 5 seconds.
	headerWait = 5 * time.Second
	//limit:rest-read-wait A request must arrive whole within 10 seconds.
	readWait = 10 * time.Second
	//limit:rest-write-wait An answer must be taken within 150 seconds of its request.
	writeWait = 150 * time.Second
	//limit:rest-idle-wait A connection without a request is closed after 2 minutes.
	idleTimeout = 2 * time.Minute
	//limit:rest-drain A server that stops finishes what is in flight for up to 15 seconds.
	drainWait = 15 * time.Second
)

// Server serves both halves, each on listeners of its own.
type Server struct {
	log       *slog.Logger
	agents    *http.Server
	people    *http.Server
	listeners []*listener
	stopping  chan struct{}
	once      sync.Once
	drain     time.Duration
}

// Listen opens every listener. If one cannot be opened, none stays open.
func Listen(cfg ServerConfig) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Config = cfg.Config.complete()
	s := &Server{log: cfg.Log, stopping: make(chan struct{}), drain: drainWait}
	s.agents = s.half(Agents(cfg.Config))
	s.people = s.half(People(cfg.Config))
	if err := s.open(cfg); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if len(s.listeners) == 0 {
		return nil, errors.New("rest: no listener is configured")
	}
	return s, nil
}

func (s *Server) half(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerWait, ReadTimeout: readWait, WriteTimeout: writeWait, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			d := door{stopping: s.stopping}
			if own, is := c.(*conn); is {
				d.agent, d.tier, d.conn = own.l.agent, own.l.tier, own
			}
			return withDoor(ctx, d)
		},
	}
}

func (s *Server) open(cfg ServerConfig) error {
	sockets := []Socket{{Path: cfg.AgentsSocket, UIDs: cfg.UIDs}}
	for _, x := range cfg.Sockets {
		if x.Path == "" || !trade.Account(x.Agent).IsValid() || x.Tier > trade.TierExecute {
			return errors.New("rest: a socket of an agent needs a path, a name and a tier")
		}
		sockets = append(sockets, x)
	}
	for _, x := range sockets {
		if err := s.socket(s.agents, x, cfg.Log); err != nil {
			return err
		}
	}
	if err := s.socket(s.people, Socket{Path: cfg.PeopleSocket, UIDs: cfg.UIDs}, cfg.Log); err != nil {
		return err
	}
	if err := s.address(s.agents, cfg.Agents, cfg.AllowRemote); err != nil {
		return err
	}
	return s.address(s.people, cfg.People, cfg.AllowRemote)
}

func (s *Server) socket(half *http.Server, x Socket, log *slog.Logger) error {
	if x.Path == "" {
		return nil
	}
	l, err := listenSocket(x.Path, x.UIDs)
	if err != nil {
		return err
	}
	s.add(half, &listener{Listener: l, agent: x.Agent, tier: x.Tier, uids: x.UIDs, socket: true, log: log, path: x.Path})
	return nil
}

// address listens on a TCP address.
//
//limit:rest-loopback A server listens on loopback addresses only, unless it is configured to be reached by other machines.
func (s *Server) address(half *http.Server, address string, remote bool) error {
	if address == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("rest: the address %q: %w", trade.Printable(address, 64), err)
	}
	if ip := net.ParseIP(host); !remote && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("rest: %q is not a loopback address such as 127.0.0.1:8371", trade.Printable(address, 64))
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s.add(half, &listener{Listener: l, log: s.log})
	return nil
}

func (s *Server) add(half *http.Server, l *listener) {
	l.half = half
	l.places.most, l.places.ofUser, l.places.kept = maxConnections, maxConnections, keptForEnding
	if l.socket {
		l.places.ofUser = maxOfUser
	}
	s.listeners = append(s.listeners, l)
}

// Address is where a server listens.
type Address struct {
	Half    string // agents or people
	Address string // host and port, or unix: and a path
	Agent   trade.Agent
}

// Addresses returns where the server listens, as the system has it.
func (s *Server) Addresses() []Address {
	var all []Address
	for _, l := range s.listeners {
		a := Address{Half: "agents", Address: l.Addr().String(), Agent: l.agent}
		if l.half == s.people {
			a.Half = "people"
		}
		if l.socket {
			a.Address = "unix:" + l.path
		}
		all = append(all, a)
	}
	return all
}

// Serve serves until ctx is done. Then it takes no more calls, finishes those in flight, up to its deadline, and returns.
// The error is nil if every call was finished.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan error, len(s.listeners))
	for _, l := range s.listeners {
		go func() { ended <- l.half.Serve(l) }()
	}
	var first error
	waiting := len(s.listeners)
	select {
	case <-ctx.Done():
	case first = <-ended: // a listener that ends by itself ends the server
		waiting--
		first = fmt.Errorf("rest: a listener ended: %w", first)
	}
	s.once.Do(func() { close(s.stopping) })
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drain)
	defer cancel()
	errs := make(chan error, 2)
	for _, half := range [...]*http.Server{s.agents, s.people} {
		go func() { errs <- half.Shutdown(drain) }()
	}
	first = errors.Join(first, <-errs, <-errs)
	if first != nil {
		first = errors.Join(first, s.agents.Close(), s.people.Close())
	}
	for range waiting {
		<-ended
	}
	return first
}

// close closes listeners that nobody serves.
func (s *Server) close() (err error) {
	for _, l := range s.listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}
