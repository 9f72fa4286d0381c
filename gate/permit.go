package gate

import (
	"errors"
	"sync/atomic"
	"time"

	"sallyport/trade"
)

// Action is what a permit clears. The zero Action is nothing.
type Action uint8

// The actions.
const (
	NoAction Action = iota
	SubmitOrder
	CancelOrder
)

// Permit is the proof that an intent is cleared and durably recorded. Only this package makes one, a broker takes
// nothing else, and it is good once: copies share their use. The zero Permit clears nothing.
type Permit struct{ c *clearance }

type clearance struct {
	used    atomic.Bool
	action  Action
	cleared Cleared
}

// Cleared is what a permit opens to.
type Cleared struct {
	Order    trade.Order         // what to submit; for a cancel, the order to be cancelled
	ID       trade.BrokerOrderID // the client order id to send, or that of the order to cancel
	NotAfter time.Time           // checked last, before the first byte leaves
	Exits    bool                // of a cancel: what is to be cancelled are the exits of that order, and not the order
}

// What Permit.Use refuses.
var (
	ErrNoPermit      = errors.New("gate: no permit")
	ErrPermitUsed    = errors.New("gate: the permit has been used")
	ErrPermitExpired = errors.New("gate: the permit has expired")
	ErrPermitAction  = errors.New("gate: the permit is for something else")
)

// Use spends the permit and returns what it clears. A broker calls it first, with its own clock, and checks
// Cleared.NotAfter again where its own work may have waited. Every error here means that nothing was sent.
func (p Permit) Use(a Action, now time.Time) (Cleared, error) {
	switch {
	case p.c == nil:
		return Cleared{}, ErrNoPermit
	case p.c.action != a || a == NoAction:
		return Cleared{}, ErrPermitAction
	case p.c.used.Swap(true):
		return Cleared{}, ErrPermitUsed
	case now.After(p.c.cleared.NotAfter):
		return Cleared{}, ErrPermitExpired
	}
	return p.c.cleared, nil
}

// mint is the only maker of permits. Its callers hold a durable record of the same order.
func mint(a Action, c Cleared) Permit {
	return Permit{&clearance{action: a, cleared: c}}
}
