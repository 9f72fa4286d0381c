// Package gate is the one road to a broker. It decides each order by the operator's policy on the ledger's state,
// records the decision durably before anything acts on it, sends what is allowed under a permit that only it can make,
// and records what became of it, unknown included.
package gate

import (
	"context"
	"errors"
	"time"

	"sallyport/ledger"
	"sallyport/trade"
)

// Config says where a gate finds what it needs. Home, Now and Entropy are required.
type Config struct {
	Home        string           // the data directory
	Create      bool             // make the directory, the default policy and the journal if there is no journal
	PolicyFile  string           // default: policy.json in Home
	Broker      Broker           // nil for surfaces that only permit or read
	Account     trade.Account    // the broker's account; default "paper"
	RequireHook bool             // refuse to execute a call that no hook permitted
	Deadline    time.Duration    // after which a missing outcome is unknown; default 60 s
	SendWithin  time.Duration    // from the decision to the first byte; default 5 s
	BrokerWait  time.Duration    // for the broker's answer; default 10 s
	LockWait    time.Duration    // for the journal's lock; default 1 s
	Now         func() time.Time // the clock
	Entropy     func(*[10]byte)  // fills in random bytes
}

// Gate decides, records and sends. It is safe for concurrent use.
type Gate struct {
	cfg Config
}

// Open opens the data directory. Its errors name what is wrong and how to repair it.
func Open(ctx context.Context, cfg Config) (*Gate, error) {
	return nil, errors.New("gate: not built yet")
}

// Close releases the journal; what is in flight is finished first.
func (g *Gate) Close() error { return nil }

// Execute decides the call and, if it is allowed, sends the order to the broker and waits for its answer. The decision
// always comes back, whatever went wrong.
func (g *Gate) Execute(ctx context.Context, c Call) ledger.Decision { return ledger.Decision{} }

// Authorize decides the call and, if it is allowed, records a permission for somebody else to make it, once.
func (g *Gate) Authorize(ctx context.Context, c Call) ledger.Decision { return ledger.Decision{} }

// Check decides the call without recording or reserving anything.
func (g *Gate) Check(ctx context.Context, c Call) ledger.Decision { return ledger.Decision{} }

// Report records the outcome of a call that Authorize allowed. It returns the intent's decision as it stands, with
// found false where no permission matches.
func (g *Gate) Report(ctx context.Context, r Report) (d ledger.Decision, found bool, err error) {
	return ledger.Decision{}, false, nil
}

// Policy returns the policy as it would judge a call made now.
func (g *Gate) Policy() PolicyView { return PolicyView{} }

// Audit returns the newest intents, one decision each in its present state, newest first, at most limit.
func (g *Gate) Audit(ctx context.Context, limit int) ([]ledger.Decision, error) { return nil, nil }

// History returns one intent's decision as it stands and every event of it, oldest first.
func (g *Gate) History(ctx context.Context, id trade.IntentID) (ledger.Decision, []ledger.Entry, error) {
	return ledger.Decision{}, nil, nil
}

// Resolve settles an unknown outcome by a person's word.
func (g *Gate) Resolve(ctx context.Context, r Resolution) (ledger.Decision, error) {
	return ledger.Decision{}, nil
}

// Orders returns the orders that are open in the ledger, oldest first.
func (g *Gate) Orders(ctx context.Context) ([]WorkingOrder, error) { return nil, nil }

// Positions returns what the ledger knows, sorted by account and symbol.
func (g *Gate) Positions(ctx context.Context) ([]Position, error) { return nil, nil }

// Holdings returns the broker's own view of the account.
func (g *Gate) Holdings(ctx context.Context) (Holdings, error) { return Holdings{}, nil }

// Cancel cancels a working order at the broker.
func (g *Gate) Cancel(ctx context.Context, o Origin, id trade.IntentID) (CancelResult, error) {
	return CancelResult{}, nil
}

// CancelResult says what became of a cancel.
type CancelResult struct {
	Intent  trade.IntentID
	Outcome trade.Outcome
	Message string
}

// Recover settles what earlier processes left behind: it asks the broker about orders without an outcome and takes in
// the venue's events. Open calls it where there is a broker.
func (g *Gate) Recover(ctx context.Context) error { return nil }
