// Package gate is the one road to a broker. It decides each order by the operator's policy on the ledger's state,
// records the decision durably before anything acts on it, sends what is allowed under a permit that only it can make,
// and records what became of it, unknown included.
package gate

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// Config says where a gate finds what it needs. Home, Now and Entropy are required.
type Config struct {
	Home        string           // the data directory
	Create      bool             // make the directory, the default policy and the journal if there is no journal
	PolicyFile  string           // default: policy.json in Home
	Broker      Broker           // nil for surfaces that only permit or read
	Holds       Holds            // what the broker holds, for a gate that does not reach it; nil: not known
	Account     trade.Account    // the broker's account; default "paper"
	RequireHook bool             // refuse to execute a call that no hook permitted
	Deadline    time.Duration    // after which a missing outcome is unknown; default 60 s
	SendWithin  time.Duration    // from the decision to the first byte; default 5 s
	BrokerWait  time.Duration    // for the broker's answer; default 10 s
	LockWait    time.Duration    // for the journal's lock; default 1 s
	Daemon      bool             // this process owns the data directory: it alone decides in it, from now on
	Approval    Approval         // how proposals wait for people
	Shared      bool             // others trade on the account too: what no decision explains is told and stops nothing
	Quotes      Quotes           // what people and agents are shown; nil for none
	Market      Market           // what a policy of version 2 judges by; nil: no quote and no session is known
	Trial       Trial            // runs a policy's own tests; nil: a policy that has some is not loaded
	ProveWithin time.Duration    // longer is not spent to find out whether a policy is sound; default: no bound
	Now         func() time.Time // the clock
	Entropy     func(*[10]byte)  // fills in random bytes

	step func(string)                         // tests end the process here
	slow func(time.Duration) <-chan time.Time // how wrong credentials wait; tests do not
}

// Holds says what a broker holds, without reaching it as one that sends orders does.
type Holds func(ctx context.Context) (Holdings, error)

// Default durations.
const (
	//limit:gate-deadline An allowed intent without an outcome is unknown 60 seconds after its decision, unless configured.
	defaultDeadline = 60 * time.Second
	//limit:gate-send-within A permit is good for 5 seconds after the decision, unless configured.
	defaultSendWithin = 5 * time.Second
	//limit:gate-broker-wait A broker that has not answered after 10 seconds, unless configured, leaves an unknown outcome.
	defaultBrokerWait = 10 * time.Second
	//limit:gate-lock-wait After 1 second of waiting for the journal's lock, unless configured, the answer is JOURNAL_UNAVAILABLE.
	defaultLockWait = time.Second
)

func (c *Config) complete() error {
	if c.Now == nil || c.Entropy == nil {
		return errors.New("gate: a clock and a source of entropy are required")
	}
	setDefault(&c.PolicyFile, filepath.Join(c.Home, PolicyName))
	setDefault(&c.Account, "paper")
	setDefault(&c.Deadline, defaultDeadline)
	setDefault(&c.SendWithin, defaultSendWithin)
	setDefault(&c.BrokerWait, defaultBrokerWait)
	setDefault(&c.LockWait, defaultLockWait)
	if err := c.Approval.complete(); err != nil {
		return err
	}
	if !c.Account.IsValid() {
		return errors.New("gate: the account's name is not 1 to 64 of A-Z a-z 0-9 . _ -")
	}
	if c.Deadline < 0 || c.SendWithin < 0 || c.BrokerWait < 0 || c.LockWait < 0 || c.ProveWithin < 0 {
		return errors.New("gate: a duration is negative")
	}
	if c.step == nil {
		c.step = func(string) {}
	}
	if c.slow == nil {
		c.slow = time.After
	}
	return nil
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Gate decides, records and sends. It is safe for concurrent use.
type Gate struct {
	cfg      Config
	policy   policyFile
	journal  records
	follow   *follower
	lease    lease
	flights  sync.WaitGroup // broker calls that have not come back
	news     news
	owner    *os.File               // the daemon's lock
	tripped  atomic.Pointer[string] // why nothing can be recorded, if that was found
	wrong    slowly                 // wrong credentials
	looked   time.Time              // when a stop file was last looked for; under the journal's lock
	halted   []ledger.Stop          // what limits have stopped in this update; under the journal's lock
	tokens   atomic.Pointer[tokens]
	looking  looking       // at the tokens
	changes  atomic.Int64  // of who may do what, by this process
	refusals refusals      // of agents
	lookedUp atomic.Uint64 // where the next lookup of orders begins
	peaked   atomic.Int64  // when a new peak of the day was looked for, in microseconds
	memory   *memory       // of a gate in memory; nil otherwise
}

// Open opens the data directory. Its errors name what is wrong and how to repair it.
func Open(ctx context.Context, cfg Config) (*Gate, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if err := PrepareHome(cfg.Home, cfg.Create); err != nil {
		return nil, err
	}
	g := &Gate{cfg: cfg, policy: policyFile{path: cfg.PolicyFile}, follow: newFollower()}
	g.policy.soundness, g.policy.world = g.sound, g.world
	var e [10]byte
	cfg.Entropy(&e)
	g.lease = lease{dir: filepath.Join(cfg.Home, runName), name: hex.EncodeToString(e[:])}
	if err := g.openJournal(ctx); err != nil {
		return nil, err
	}
	if err := g.start(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// start takes the data directory for the daemon, and settles what earlier processes left behind.
func (g *Gate) start(ctx context.Context) error {
	if err := g.own(ctx); err != nil {
		return err
	}
	switch {
	case g.cfg.Broker == nil && g.cfg.Create:
		return g.Prepare(ctx)
	case g.cfg.Broker == nil:
		return nil
	}
	g.lease.sweep()
	if err := g.Recover(ctx); err != nil {
		return err
	}
	if err := g.compareOrders(ctx); err != nil {
		return err
	}
	if err := g.cancelWanted(ctx); err != nil {
		return err
	}
	if err := g.cancelStopped(ctx); err != nil {
		return err
	}
	return g.Prepare(ctx)
}

func (g *Gate) openJournal(ctx context.Context) error {
	cfg := journal.Config{Path: filepath.Join(g.cfg.Home, JournalName), LockWait: g.cfg.LockWait, Follower: g.follow}
	j, err := journal.Open(ctx, cfg)
	if errors.Is(err, fs.ErrNotExist) && g.cfg.Create {
		err = flocked(filepath.Join(g.cfg.Home, "create.lock"), func() error { return g.create(ctx, cfg) })
		if err == nil {
			j, err = journal.Open(ctx, cfg)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no journal in %s; run sallyport init: %w", g.cfg.Home, err)
	}
	if err != nil {
		return fmt.Errorf("the journal cannot be used: %w", err)
	}
	g.journal = j
	return nil
}

// FoundedName is a file that stays when the journal is gone, so that a lost journal is not taken for a new beginning.
const FoundedName = "founded"

// ErrJournalLost says that the data directory had a journal and has none any more.
var ErrJournalLost = errors.New("the journal of this data directory is gone")

// create writes the default policy, unless the operator has put one there, and then the journal with its first record:
// the kill switch is off. Only the making of a journal does either; later a missing policy denies everything.
//
//limit:gate-journal-lost A data directory that had a journal gets no new one: it is restored, or another directory is used.
func (g *Gate) create(ctx context.Context, cfg journal.Config) error {
	founded := filepath.Join(g.cfg.Home, FoundedName)
	if _, err := os.Lstat(filepath.Join(g.cfg.Home, JournalName)); err == nil {
		return nil // another process was quicker
	}
	if _, err := os.Lstat(founded); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: put a backup in its place, or begin afresh in another directory", ErrJournalLost)
	}
	if g.cfg.PolicyFile == filepath.Join(g.cfg.Home, PolicyName) {
		if err := writeNew(g.cfg.PolicyFile, policy.Default()); err != nil {
			return fmt.Errorf("the default policy cannot be written: %w", err)
		}
	}
	g.cfg.step("policy written")
	cfg.Follower = newFollower()
	j, err := journal.Create(ctx, cfg, func(tx *journal.Tx) error {
		first := ledger.KillReset{By: bySallyport, Reason: "the journal was made"}
		tx.Append(streamKill, g.cfg.Now(), ledger.Encode(first))
		tx.Append(streamKill, g.cfg.Now(), ledger.Encode(ledger.HistoryBegan{FromStart: true}))
		return nil
	})
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was quicker
	}
	if err != nil {
		return err
	}
	g.cfg.step("journal made")
	note := "This data directory has a journal. If journal.db is gone, restore it from a backup.\n"
	return errors.Join(j.Close(), writeNew(founded, []byte(note)))
}

// Close waits for broker calls in flight, as long as a broker may take, and releases the journal.
func (g *Gate) Close() error {
	g.landed()
	if g.journal == nil {
		return nil
	}
	return errors.Join(g.lease.release(), g.journal.Close(), g.disown())
}

// landed waits for broker calls in flight, as long as a broker may take.
func (g *Gate) landed() {
	all := make(chan struct{})
	go func() {
		g.flights.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(g.cfg.BrokerWait):
	}
}

// follower keeps the ledger's state at the journal's head. The journal calls it, and every decide, under its lock.
type follower struct {
	state    *ledger.State
	lastSize int // of the last snapshot
	space    []byte
}

// snapshotEvery is how many bytes of records are folded at most before a small snapshot is worth its write; a larger
// one waits until as many bytes have come as it has itself, so that snapshots cost at most as much as the records.
const snapshotEvery = 32 << 10

func newFollower() *follower { return &follower{state: ledger.NewState()} }

// Restore implements journal.Follower.
func (f *follower) Restore(_ journal.Seq, snapshot []byte) error {
	f.state, f.lastSize = ledger.NewState(), len(snapshot)
	if len(snapshot) == 0 {
		return nil
	}
	s, err := ledger.ReadSnapshot(snapshot)
	if err == nil {
		f.state = s
	}
	return err
}

// Follow implements journal.Follower.
func (f *follower) Follow(r journal.Record) error {
	e, err := ledger.Decode(r.Body)
	if err != nil {
		return fmt.Errorf("record %d: %w", r.Seq, err)
	}
	f.state.Apply(r.At, e)
	return nil
}

// Snapshot implements journal.Follower.
func (f *follower) Snapshot(since, most int) []byte {
	if since < max(snapshotEvery, f.lastSize) || f.state.AtLeast() > most {
		return nil
	}
	f.space = f.state.AppendSnapshot(f.space[:0])
	f.lastSize = len(f.space)
	return f.space
}
