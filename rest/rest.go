// Package rest offers the gate over HTTP: one API for agents and one for people, which share no listener and no table of
// paths, and the Go clients of both. It owns no rule: who calls is known from the connection, dialects judge the bytes
// of an order, and the gate decides.
package rest

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/trade"
)

// Config is what the handlers work on. Gate is required.
type Config struct {
	Gate    *gate.Gate
	Account trade.Account // that orders are for; empty: each dialect's own
	// AccountOf says which account a call is for that somebody else makes, by the tool as the harness calls it; nil or
	// an empty answer: the dialect's own. It is the operator's, since no caller chooses an account.
	AccountOf func(tool string, d *dialect.Dialect) trade.Account
	// Dialects finds a dialect by name; nil is dialect.Find.
	Dialects func(name string) (*dialect.Dialect, bool)
	Hosts    []string // names, with a port, that clients may call TCP listeners by, beside their own addresses
	Rate     Rate     // of each agent, and of each person
	InFlight int      // calls of one agent or person at a time; default 64
	Log      *slog.Logger
	Now      func() time.Time // the clock; nil is the system's
	Metrics  *Metrics         // nil: nothing is counted, and there is no /metrics
	Version  string           // of this program, for /metrics; empty: what the build says of itself
}

// Rate is a token bucket.
type Rate struct {
	PerSecond int // default 200
	Burst     int // default 400
}

// Defaults of how much one caller may do.
const (
	//limit:rest-rate An agent, and a person, may make 200 calls a second and 400 at once, unless configured; the next is answered 429, RATE_EXCEEDED, with when to come back.
	defaultPerSecond = 200
	defaultBurst     = 400
	//limit:rest-in-flight An agent, and a person, may have 64 calls unanswered at a time, unless configured; one more is answered 429, CALLS_EXCEED_LIMIT.
	defaultInFlight = 64
	// maxPerSecond keeps the time between two calls a whole number of nanoseconds that is not zero.
	//
	//limit:rest-rate-most A configured rate is at most 1,000,000 calls a second.
	maxPerSecond = 1_000_000
)

// Validate reports the first member that is missing or wrong.
func (c Config) Validate() error {
	switch {
	case c.Gate == nil:
		return errors.New("rest: a gate is required")
	case c.Rate.PerSecond < 0 || c.Rate.PerSecond > maxPerSecond || c.Rate.Burst < 0 || c.InFlight < 0:
		return errors.New("rest: a rate or a number of calls is out of range")
	}
	return nil
}

func (c Config) complete() Config {
	setDefault(&c.Rate.PerSecond, defaultPerSecond)
	setDefault(&c.Rate.Burst, defaultBurst)
	setDefault(&c.InFlight, defaultInFlight)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Dialects == nil {
		c.Dialects = knownDialects()
	}
	if info, known := debug.ReadBuildInfo(); c.Version == "" && known {
		c.Version = info.Main.Version
	}
	return c
}

// knownDialects finds our own dialects by name, in a table that is made once.
func knownDialects() func(string) (*dialect.Dialect, bool) {
	byName := map[string]*dialect.Dialect{}
	for _, d := range dialect.Table() {
		byName[d.Name] = d
	}
	return func(name string) (*dialect.Dialect, bool) {
		d, found := byName[name]
		return d, found
	}
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Agents returns the handler of the agents' listeners. Nothing of people's is reachable through it.
func Agents(cfg Config) http.Handler {
	return newAPI(cfg, "agents", agentRoutes(), (*api).admitAgent, agentsDocument)
}

// People returns the handler of people's listeners. Nothing of agents' is reachable through it.
func People(cfg Config) http.Handler {
	return newAPI(cfg, "people", personRoutes(), (*api).admitPerson, peopleDocument)
}
