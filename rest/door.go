package rest

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// door is what a connection itself says of its caller. The zero door says nothing.
type door struct {
	agent    trade.Agent // of a socket that belongs to one agent
	tier     trade.Tier  // at most
	conn     *conn       // nil of a connection that no listener of ours has accepted
	stopping <-chan struct{}
}

type doorKey struct{}

func withDoor(ctx context.Context, d door) context.Context {
	return context.WithValue(ctx, doorKey{}, d)
}

func doorOf(ctx context.Context) door {
	d, _ := ctx.Value(doorKey{}).(door)
	return d
}

// host refuses a request that was meant for another host, or that a web page made. A name that resolves to this machine
// for a moment is how a page in a browser reaches local services.
//
//limit:rest-host A Host header that is not the listener's own address, localhost with its port or a configured name is answered 421.
//limit:rest-origin An Origin header that is not the listener's own is answered 403, and no answer ever allows another origin.
func (a *api) host(q *request) *problem {
	own := q.hosts()
	if !slices.Contains(own, strings.ToLower(q.http.Host)) {
		return &problem{code: HostForeign, detail: "this listener is not that host", close: true}
	}
	for _, origin := range q.http.Header.Values("Origin") {
		rest, plain := strings.CutPrefix(strings.ToLower(origin), "http://")
		if !plain || !slices.Contains(own, rest) {
			return &problem{code: OriginForeign, detail: "no other web page may call this API", close: true}
		}
	}
	return nil
}

// hosts are the names that this request's listener has.
func (q *request) hosts() []string {
	switch at := q.http.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.UnixAddr:
		return []string{"localhost", socketHost}
	case *net.TCPAddr:
		_, port, err := net.SplitHostPort(at.String())
		if err != nil {
			return nil
		}
		own := []string{strings.ToLower(at.String())}
		if at.IP.IsLoopback() {
			own = append(own, "localhost:"+port)
		}
		for _, h := range q.api.cfg.Hosts {
			own = append(own, strings.ToLower(h))
		}
		return own
	}
	return nil
}

// socketHost is the Host that our client sends over a socket, which has no name of its own.
const socketHost = "sallyport"

// channel is how a caller over HTTP is named in records.
const channel = "http"

// bearer returns the one bearer token of a request.
func (q *request) bearer() (token string, found bool) {
	all := q.http.Header.Values("Authorization")
	if len(all) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(all[0], " ")
	return token, found && strings.EqualFold(scheme, "bearer") && token != ""
}

// TierHeader is the header by which a caller lowers its own tier.
const TierHeader = "X-Sallyport-Tier"

// admitAgent knows an agent by its token, or by the socket that belongs to it. Its name never comes from what it sends.
//
//limit:rest-no-credential Without a token, or a credential, nobody is let in: 401.
//limit:rest-socket-agent A socket that belongs to an agent lets nobody in under another name, whatever token is sent.
func (a *api) admitAgent(q *request) *problem {
	q.agent, q.tier = q.door.agent, q.door.tier
	token, sent := q.bearer()
	if sent || q.agent == "" {
		if !sent {
			return &problem{code: policy.TokenUnknown, detail: "a bearer token is needed"}
		}
		grant, err := a.cfg.Gate.Authenticate(q.http.Context(), token, channel)
		switch {
		case err != nil:
			return q.unknown(err)
		case q.agent == "":
			q.agent, q.tier = grant.Agent, grant.Tier
		case q.agent != grant.Agent:
			return &problem{code: SocketAgentMismatch, detail: "this socket belongs to another agent than the token"}
		}
		q.tier = min(q.tier, grant.Tier)
	}
	return q.lower()
}

// lower takes the tier that the caller asks for, if it is lower than the one that it has.
//
//limit:rest-tier-lower A caller's tier is the lower of its token's or socket's and its header's; nothing that a caller sends raises it.
func (q *request) lower() *problem {
	all := q.http.Header.Values(TierHeader)
	if len(all) == 0 {
		return nil
	}
	asked, valid := trade.ParseTier(all[0])
	if !valid || len(all) > 1 {
		return &problem{code: TierMalformed, detail: TierHeader + " is exactly one of 0, 1 and 2"}
	}
	q.tier = min(q.tier, asked)
	return nil
}

// admitPerson knows a person by the credential. A socket, a user or a header proves nothing.
func (a *api) admitPerson(q *request) *problem {
	credential, sent := q.bearer()
	if !sent {
		return &problem{code: policy.PersonUnknown, detail: "a person's credential is needed, as a bearer token"}
	}
	person, err := a.cfg.Gate.Identify(q.http.Context(), credential, channel)
	if err != nil {
		return q.unknown(err)
	}
	q.human = person
	return nil
}

// unknown is why a caller was not recognised.
func (q *request) unknown(err error) *problem {
	p := q.failed(err, noDecision())
	switch {
	case p.code == policy.JournalUnavailable:
		p.detail = "callers cannot be recognised now"
	case q.api.half == "people":
		p.detail = "the credential is nobody's"
	default:
		p.detail = "the token is nobody's"
	}
	return p
}

// open answers what anybody may ask who reaches the listener: whether it lives, whether it can record, and, of people's
// listener, its counters.
func (a *api) open(q *request) (answer, bool) {
	path := q.http.URL.Path
	metrics := path == "/metrics" && a.half == "people" && a.cfg.Metrics != nil
	if path != "/healthz" && path != "/readyz" && !metrics {
		return answer{}, false
	}
	switch {
	case q.http.Method != http.MethodGet:
		return (&problem{code: MethodNotAllowed, detail: "this path has another method", allow: "GET", close: true}).answer(), true
	case metrics:
		return a.cfg.Metrics.expose(q.http.Context(), a.cfg, &a.ready), true
	case path == "/readyz":
		if err := a.ready.ask(q.http.Context(), a.cfg); err != nil {
			a.cfg.Log.Error("not ready", "cause", err)
			return (&problem{code: policy.JournalUnavailable, detail: "nothing can be recorded now", retry: retrySoon}).answer(), true
		}
	}
	return ok([]byte(`{"status":"ok"}`)), true
}

// readiness remembers whether the journal could record, since the question takes the journal's lock and anybody may ask.
type readiness struct {
	mu   sync.Mutex
	at   time.Time
	last error
}

//limit:rest-ready-every The journal is asked at most once a second whether it can record, whoever asks how often.
const readyEvery = time.Second

func (r *readiness) ask(ctx context.Context, c Config) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := c.Now(); r.at.IsZero() || now.Sub(r.at) >= readyEvery || now.Before(r.at) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callDeadline)
		defer cancel()
		r.last, r.at = c.Gate.Ready(ctx), now
	}
	return r.last
}
