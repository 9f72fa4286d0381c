package policy

import (
	"time"

	"sallyport/trade"
	"sallyport/wire"
)

// Rulebook is a policy of version 2. Only ParseV2 makes one; the zero Rulebook and the nil one deny everything. It does
// not change once it is made.
type Rulebook struct {
	valid    bool
	currency string
	timezone string
	quotes   Quotes
	approval Approval
	rules    []bookRule
	tests    []Test
	shorts   bool // a rule allows short sales, so that the position matters to a buy too
}

// Quotes says what a quote must be like to be judged by.
type Quotes struct {
	Sources       []string // in the order in which they are asked
	MaxAge        time.Duration
	MaxSpread     trade.Decimal // basis points of the middle between bid and ask
	MaxDivergence Known         // basis points between two sources; not known with one source
	Slippage      Known         // basis points beyond the far side at which a market order is valued

	halfSpread trade.Decimal // half of MaxSpread as a part of one
	slip       trade.Decimal // Slippage as a part of one, rounded up at the ninth place
	rise, fall trade.Decimal // one and slip, and one without it, which is above nothing in a policy that is valid
}

// slips works out what a slippage comes to. None is one of nothing.
func (q *Quotes) slips(bps Known) {
	one := trade.Whole(1)
	q.Slippage = bps
	q.slip = inBps.part(bps.Value).MulUp(one)
	q.rise, q.fall = one.Add(q.slip), one.Sub(q.slip)
	if q.fall.Sign() < 0 {
		q.fall = trade.Decimal{}
	}
}

// Approval is what the policy says about proposals. What is not known is left to the configuration.
type Approval struct {
	Expires        time.Duration // zero: not said
	ExecuteWithin  time.Duration // zero: not said
	TwoApprovers   Known         // a notional above which two people must approve
	MaxPriceDrift  Known         // basis points
	MaxProposals   Count         // open at once, of one agent
	configuredHere bool
}

// IsSet reports whether the policy has an approval block.
func (a Approval) IsSet() bool { return a.configuredHere }

// Test is a test that the policy brings along: its shape is checked, and running it is a replay's work.
type Test struct {
	Name         string
	Tape, Expect []wire.Value
}

// bookRule is one rule of the file.
type bookRule struct {
	id      string
	match   match
	deny    bool // effect: deny
	session session
	stop    bool // a stop loss is required of what opens
	allow   allowance
	limits  []limit // in published order
	offset  int     // in the file
}

// allowance is what a rule allows beyond plain orders.
type allowance struct{ short, fractional, extended bool }

// session is the trading session that a rule requires. The zero session requires none.
type session uint8

const (
	anySession session = iota
	regularSession
	extendedSession // regular, or the hours around it
)

var sessionWords = [...]string{"", "regular", "extended"}

// match is which orders a rule is about. Every list must take the order.
type match struct {
	symbols map[trade.Symbol]bool // nil: every symbol, of a rule that denies
	agents  map[trade.Agent]bool  // nil: every agent
	sides   [trade.Sell + 1]bool
	types   [trade.StopLimit + 1]bool
	tifs    [trade.CLS + 1]bool
	class   bool // of US equities

	listed struct { // as the file has them
		symbols []trade.Symbol
		agents  []trade.Agent
	}
}

// takes reports whether the rule is about this order.
func (m *match) takes(o trade.Order, agent trade.Agent) bool {
	return m.sides[o.Side()] && m.types[o.Type()] && m.tifs[o.TimeInForce()] && m.class &&
		(m.symbols == nil || m.symbols[o.Symbol()]) && (m.agents == nil || m.agents[agent])
}

// IsValid reports whether this is a policy that a file gave.
func (b *Rulebook) IsValid() bool { return b != nil && b.valid }

// Currency returns the currency of all amounts.
func (b *Rulebook) Currency() string { return b.currency }

// Timezone returns the name of the time zone whose days are counted by.
func (b *Rulebook) Timezone() string { return b.timezone }

// Quotes returns what a quote must be like.
func (b *Rulebook) Quotes() Quotes { return b.quotes }

// Approval returns what the policy says about proposals.
func (b *Rulebook) Approval() Approval { return b.approval }

// Tests returns the tests that the file brings along.
func (b *Rulebook) Tests() []Test { return b.tests }

// RuleIDs returns the ids of the rules in the order of the file.
func (b *Rulebook) RuleIDs() []string {
	ids := make([]string, len(b.rules))
	for i := range b.rules {
		ids[i] = b.rules[i].id
	}
	return ids
}

// Dormant names what the file says and decides nothing, in words.
func (b *Rulebook) Dormant() []string {
	var out []string
	if b.quotes.MaxDivergence.Known && len(b.quotes.Sources) < 2 {
		out = append(out, "quotes.max_divergence_bps compares two sources, and there is one")
	}
	return out
}
