// Package policy holds the operator's limits and judges an order by them: Parse makes a Policy of a file's bytes or
// says what is wrong with them, Evaluate runs every rule over one order and the facts. It is pure and deterministic;
// what cannot be proved compliant is denied.
package policy

import (
	"time"

	"sallyport/trade"
)

// Effect is what a verdict comes to. The zero Effect is Deny.
type Effect uint8

// The effects, strictest first.
const (
	Deny Effect = iota
	Hold
	Allow
)

// String returns the word on the wire.
func (e Effect) String() string { return [...]string{"deny", "hold", "allow"}[e] }

// ParseEffect reads what String writes.
func ParseEffect(s string) (Effect, bool) {
	for e := Deny; e <= Allow; e++ {
		if e.String() == s {
			return e, true
		}
	}
	return Deny, false
}

// Reason is one cause of a verdict that is not Allow.
type Reason struct {
	Code     trade.Code
	Field    string // of the canonical order, or the caller's own name in a fault
	Limit    string // the bound in force, if the rule has one
	Observed string // what the order or the state had
	Message  string // a sentence that lets the caller repair it

	// Of a policy of version 2, where Field is the name of the limit.
	Rule string // the id of the rule; empty if no rule of the file says it
	Hold bool   // a person's approval lifts this reason; false is a denial
}

// Decisive returns the reason to name where there is room for one: the first that no approval lifts, and if there is
// none the first. It is the zero Reason if there are no reasons.
func Decisive(reasons []Reason) Reason {
	for _, r := range reasons {
		if !r.Hold {
			return r
		}
	}
	if len(reasons) > 0 {
		return reasons[0]
	}
	return Reason{}
}

// Verdict is the outcome of an evaluation. The zero Verdict denies.
type Verdict struct {
	Effect  Effect
	Reasons []Reason // every one, in the published order of the rules; empty only for Allow
	// MaxQuantity is the largest whole quantity that would have passed, all else equal; nil where no quantity would, or
	// for Allow.
	MaxQuantity *trade.Decimal

	// Of a policy of version 2.
	Halts      []Halt    // the stops to engage, beside the denial
	RetryAfter time.Time // when time alone will have cured every denial; zero if it will not, or there is none
}

// Halt is a stop that a limit asks for.
type Halt struct {
	Scope Per    // the account, the agent or the symbol of the order
	Name  string // of that account, agent or symbol
	Rule  string // the id of the rule
	Limit string // the name of the limit
}

// Facts is what an evaluation may know beside the order. It is taken from the ledger's state by the gate.
type Facts struct {
	// PositionKnown says that the ledger knows this account's position in the symbol; a missing fact is a no.
	PositionKnown bool
	Position      trade.Decimal // shares held long; never below zero in a long-only account
	PendingSells  trade.Decimal // shares of sells that are reserved, in flight, unknown or working
	PendingBuys   trade.Decimal // the same of buys; below zero: not known, since one is for an amount of dollars
}
