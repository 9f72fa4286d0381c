package gate

import (
	"context"
	"path/filepath"
	"sallyport/journal"
	"sallyport/ledger"
	"time"
)

// WithStep lets a test act at each step of an order.
func WithStep(c Config, step func(string)) Config {
	c.step = step
	return c
}

// Impatient answers wrong credentials at once.
func Impatient(c *Config) {
	c.slow = func(time.Duration) <-chan time.Time { return time.After(0) }
}

// Patient answers them as in use.
func Patient(c *Config) { c.slow = nil }

// Mint makes a permit as the gate does.
func Mint(a Action, c Cleared) Permit { return mint(a, c) }

// HomeMode, FileMode and MaxPolicy are what the tests hold the files to.
const (
	HomeMode      = homeMode
	FileMode      = fileMode
	MaxPolicy     = maxPolicy
	MaxOriginText = maxOriginText
	LookBack      = lookBack
	MaxOpen       = maxOpen
	MaxOpenAgent  = maxOpenAgent
	MaxPages      = maxPages
	MaxTaken      = maxTaken
	MaxWaiting    = maxWaiting
	MaxWrong      = maxWrong
	TokensFor     = tokensFor
	MemoryRecords = memoryRecords
	MemoryPeople  = memoryPeople
)

// Scanning lets a query look at that many records only.
func Scanning(q Query, n int) Query {
	q.scan = n
	return q
}

// StateBytes returns the gate's state in its canonical form.
func StateBytes(g *Gate) ([]byte, error) {
	var raw []byte
	err := g.journal.Read(context.Background(), func() error {
		raw = g.follow.state.AppendSnapshot(nil)
		return nil
	})
	return raw, err
}

// Unread returns how many bytes of the snapshot the gate has not read.
func Unread(g *Gate) int { return g.follow.state.Unread() }

// Forgetful makes a journal as earlier releases did, which remembers nothing.
func Forgetful(c *Config) {
	cfg := *c
	if err := cfg.complete(); err != nil {
		panic(err)
	}
	path := filepath.Join(c.Home, JournalName)
	j, err := journal.Create(context.Background(), journal.Config{Path: path, LockWait: cfg.LockWait, Follower: newFollower()}, func(tx *journal.Tx) error {
		tx.Append(streamKill, c.Now(), ledger.Encode(ledger.KillReset{By: bySallyport, Reason: "the journal was made"}))
		return nil
	})
	if err == nil {
		err = j.Close()
	}
	if err != nil {
		panic(err)
	}
}

// HandIn takes in what happened at the venue, as the gate does when it asks.
func HandIn(ctx context.Context, g *Gate, events ...VenueEvent) error {
	return g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		g.recordVenue(tx, at, nil, events)
		return nil
	})
}
