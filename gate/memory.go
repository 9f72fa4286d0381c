package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// records is the journal as a gate uses it: one on the disk, or one in memory, which only Memory has.
type records interface {
	Update(ctx context.Context, decide func(*journal.Tx) error) error
	Read(ctx context.Context, view func() error) error
	Find(ctx context.Context, k journal.Key) ([]journal.Record, error)
	Head(ctx context.Context) (journal.Head, error)
	Records(ctx context.Context, first journal.Seq) iter.Seq2[journal.Record, error]
	Backward(ctx context.Context) iter.Seq2[journal.Record, error]
	At(ctx context.Context, from, to time.Time) iter.Seq2[journal.Record, error]
	Close() error
}

// onDisk returns the journal as the file that it is. A gate in memory has none.
func (g *Gate) onDisk() (*journal.Journal, error) {
	j, is := g.journal.(*journal.Journal)
	if !is {
		return nil, errInMemory
	}
	return j, nil
}

var errInMemory = errors.New("gate: a gate in memory has no files")

// Desk stands for the broker of a gate in memory. It is no Broker, and a gate in memory takes none: nothing that such a
// gate decides can reach a venue. It is called by one goroutine at a time.
type Desk interface {
	// Submit answers an order, or says that it does not answer yet; then Memory.Answer does.
	Submit(c Cleared) (r Receipt, answered bool)
	// Cancel answers a cancel.
	Cancel(c Cleared) Receipt
	// Holdings returns the account as the venue has it; the error says that it is not known.
	Holdings() (Holdings, error)
	// Working returns the orders that are open at the venue.
	Working() []VenueOrder
}

// MemoryConfig says what a gate in memory goes by. Of Config the members Broker, Home, Create and PolicyFile and the
// durations of waiting have no meaning.
type MemoryConfig struct {
	Config Config
	Policy []byte // nil: there is none, and nothing is allowed
	Desk   Desk
	Proved bool // the policies were found to be sound already: that, and their own tests, are not gone through again
	// Seen is told every event as it is recorded. It must not call the gate.
	Seen func(at time.Time, e ledger.Event)
}

// Memory is a gate in memory: the code that decides, records and settles is the gate's own, on a clock that is handed in.
// It has no data directory, no other processes beside it and no stop file; it waits for nothing. It is for one goroutine.
type Memory struct {
	*Gate
	people map[string]Person
}

// memory is what a gate in memory has in the place of what it lacks.
type memory struct {
	desk Desk
	seen func(at time.Time, e ledger.Event)
}

// How much a gate in memory remembers.
const (
	//limit:gate-memory-records A gate in memory remembers the newest 16,384 records, and of the older ones those of intents that are open.
	memoryRecords = 16_384
	//limit:gate-memory-people A gate in memory knows at most 1,000 people.
	memoryPeople = 1000
)

// OpenMemory returns a gate over an empty journal in memory. The kill switch is off, and the account holds nothing.
func OpenMemory(ctx context.Context, c MemoryConfig) (*Memory, error) {
	cfg := c.Config
	cfg.Daemon, cfg.Home, cfg.PolicyFile = true, "", ""
	if c.Desk == nil || c.Seen == nil {
		return nil, errors.New("gate: a desk and somebody who sees are required")
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	g := &Gate{cfg: cfg, follow: newFollower(), memory: &memory{desk: c.Desk, seen: c.Seen}}
	g.cfg.Broker = counter{g}
	g.lease.name = "memory"
	g.journal = journal.NewMemory(journal.MemoryConfig{Newest: memoryRecords, Wanted: g.wanted})
	g.policy.world = g.world
	if !c.Proved {
		g.policy.soundness = func(v PolicyView) *policy.Reason { return soundness(v, cfg.Trial) }
	}
	m := &Memory{Gate: g, people: map[string]Person{}}
	m.SetPolicy(c.Policy)
	return m, g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		g.recordIn(tx, streamKill, at, ledger.KillReset{By: bySallyport, Reason: "the journal was made"})
		g.recordIn(tx, streamKill, at, ledger.HistoryBegan{FromStart: true})
		g.recordIn(tx, streamKill, at, ledger.AccountSeen{Account: cfg.Account})
		return nil
	})
}

// wanted reports whether a record is about an intent that is open.
func (g *Gate) wanted(r journal.Record) bool {
	id, ok := ledger.About(r.Body)
	return ok && g.follow.state.Open(id) != nil
}

// SetPolicy puts another policy in force.
func (m *Memory) SetPolicy(raw []byte) { m.policy.give(raw) }

// Approver returns a person of that name, who is listed as an approver from now on.
func (m *Memory) Approver(ctx context.Context, name string) (Person, error) {
	if p, known := m.people[name]; known {
		return p, nil
	}
	if len(m.people) >= memoryPeople {
		return Person{}, fmt.Errorf("more than %d people", memoryPeople)
	}
	p := Person{name: name, channel: "tape", hash: hashOf("in memory: " + name)}
	var refused *Refusal
	err := m.update(ctx, func(tx *journal.Tx) error {
		at, _ := m.moment(tx)
		if refused = freeName(m.follow.state, name); refused == nil {
			m.recordIn(tx, streamPeople, at, ledger.PersonSet{
				Person: ledger.Person{Name: name, Approver: true, Hash: p.hash}, By: bySallyport,
			})
		}
		return nil
	})
	switch {
	case err != nil:
		return Person{}, err
	case refused != nil:
		return Person{}, refused
	}
	m.people[name] = p
	return p, nil
}

// Halt engages the switch of a scope as the gate does by itself: what works is left to whoever settles the reason.
func (m *Memory) Halt(ctx context.Context, scope ledger.Scope, why string) error {
	return m.update(ctx, func(tx *journal.Tx) error {
		at, _ := m.moment(tx)
		m.halt(tx, at, scope, cut(why))
		return nil
	})
}

// Expire ends the proposals whose time is over.
func (m *Memory) Expire(ctx context.Context) error {
	return m.update(ctx, func(tx *journal.Tx) error {
		at, _ := m.moment(tx)
		m.expire(tx, at)
		return nil
	})
}

// Answer settles an order that is in flight by what the desk answers now. It is false if none of that id is.
func (m *Memory) Answer(ctx context.Context, id trade.IntentID, r Receipt) (bool, error) {
	open := m.follow.state.Open(id)
	if open == nil || open.Phase != ledger.Sending {
		return false, nil
	}
	wanted := open.Cancelling
	f := m.ask(id, func() (Receipt, error) { return r, nil })
	d := ledger.Decision{Intent: id, Order: open.Order, Account: open.Order.Account(), State: ledger.Allowed, Clears: ledger.ClearsSend}
	d = m.conclude(ctx, d, f)
	if d.Error != "" {
		return true, errors.New(d.Message)
	}
	if wanted && r.Outcome == trade.Accepted { // a stop came while it was in flight
		return true, m.cancelWanted(ctx)
	}
	return true, nil
}

// Happened takes in what happened at the venue.
func (m *Memory) Happened(ctx context.Context, events ...VenueEvent) error {
	return m.update(ctx, func(tx *journal.Tx) error {
		at, _ := m.moment(tx)
		if !m.recordVenue(tx, at, nil, events) {
			return errors.New("the venue's events are not numbered one by one")
		}
		return nil
	})
}

// Hold sets a position by the venue's word; average is what a share was paid, zero where it is not known.
func (m *Memory) Hold(ctx context.Context, s trade.Symbol, quantity, average trade.Decimal) error {
	return m.update(ctx, func(tx *journal.Tx) error {
		at, _ := m.moment(tx)
		m.record(tx, at, m.cfg.Account, ledger.PositionStated{Account: m.cfg.Account, Symbol: s, Quantity: quantity, Average: average})
		return nil
	})
}

// State is the ledger's, for reading between two calls.
func (m *Memory) State() *ledger.State { return m.follow.state }

// sendNow asks the desk at once. What it does not answer yet stays in flight.
func (g *Gate) sendNow(ctx context.Context, j *judgement) ledger.Decision {
	answered := true
	permit := mint(SubmitOrder, j.cleared)
	f := g.ask(j.decision.Intent, func() (Receipt, error) {
		c, err := permit.Use(SubmitOrder, g.cfg.Now())
		if err != nil {
			return Receipt{}, fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		var r Receipt
		r, answered = g.memory.desk.Submit(c)
		return r, nil
	})
	if !answered {
		return j.decision
	}
	return g.conclude(ctx, j.decision, f)
}

// counter is the desk as the rest of the gate asks it.
type counter struct{ g *Gate }

var _ Broker = counter{}

// Submit implements Broker. A gate in memory does not call it: see sendNow.
func (c counter) Submit(context.Context, Permit) (Receipt, error) { return Receipt{}, ErrNotSent }

// Cancel implements Broker.
func (c counter) Cancel(_ context.Context, p Permit) (Receipt, error) {
	cleared, err := p.Use(CancelOrder, c.g.cfg.Now())
	if err != nil {
		return Receipt{}, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return c.g.memory.desk.Cancel(cleared), nil
}

// Lookup implements Broker. What is not answered yet is not known here either.
func (c counter) Lookup(context.Context, trade.BrokerOrderID, time.Time) (Receipt, error) {
	return Receipt{}, nil
}

// Events implements Broker. What happens is handed in as it happens.
func (c counter) Events(context.Context, uint64) ([]VenueEvent, error) { return nil, nil }

// Holdings implements Broker.
func (c counter) Holdings(context.Context) (Holdings, error) { return c.g.memory.desk.Holdings() }

// Working implements Broker.
func (c counter) Working(context.Context) ([]VenueOrder, error) {
	return c.g.memory.desk.Working(), nil
}

// give makes a policy's bytes the policy, without a file.
func (p *policyFile) give(raw []byte) {
	v := PolicyView{Reason: &policy.Reason{
		Code: policy.PolicyUnreadable, Field: "policy", Message: "the policy cannot be used, so nothing is allowed: " + plain("", fs.ErrNotExist),
	}}
	if raw != nil {
		p.last = viewIn(raw, p.worldNow())
		p.prove()
		v = p.last
	}
	p.given = &v
}
