// Package mcp offers the gate to AI agents as tools, over the Model Context Protocol on standard input and output or to
// any other caller. It owns no rule: the dialects judge the arguments as received, the gate decides, and the answer is
// the decision object, so that a model can correct itself. No tool approves, resets, or changes a tier or the policy.
package mcp

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// Gate is what the tools need of a gate: one in this process, or a client of one that another process owns. It is safe
// for concurrent use. What is refused beside a decision is a *gate.Refusal.
type Gate interface {
	// Execute decides the call, records the decision and, if it is allowed, sends the order. A decision always comes
	// back, whatever went wrong; an outcome that is not known is never shown as another.
	Execute(ctx context.Context, c gate.Call) ledger.Decision
	// Propose decides the call and records the decision. What the policy does not deny waits for a person.
	Propose(ctx context.Context, c gate.Call) ledger.Decision
	// Check decides the call as Execute would now, and records, reserves and sends nothing.
	Check(ctx context.Context, c gate.Call) ledger.Decision
	// Policy reads the policy that would judge a call made now, or says why there is none.
	Policy() gate.PolicyView
	// Query returns the newest intents that match. An error means that the journal cannot be read.
	Query(ctx context.Context, q gate.Query) (gate.Found, error)
	// Portfolio returns what the account holds, the agent's own orders, and what is left of each limit.
	Portfolio(ctx context.Context, agent trade.Agent) (gate.Portfolio, error)
	// Quote returns what the market shows of a symbol; found is false where it shows nothing.
	Quote(ctx context.Context, s trade.Symbol) (q trade.Quote, found bool, err error)
	// Proposal returns the agent's own proposal as it stands.
	Proposal(ctx context.Context, agent trade.Agent, id trade.IntentID) (ledger.Decision, error)
	// Await waits for the outcome of the agent's own proposal. It starts nothing.
	Await(ctx context.Context, o gate.Origin, tier trade.Tier, id trade.IntentID, wait time.Duration) (ledger.Decision, error)
	// Withdraw ends the agent's own proposal.
	Withdraw(ctx context.Context, o gate.Origin, tier trade.Tier, id trade.IntentID, reason string) (ledger.Decision, error)
	// CancelOwn asks the broker to cancel the agent's own order.
	CancelOwn(ctx context.Context, o gate.Origin, tier trade.Tier, id trade.IntentID) (gate.CancelResult, error)
	// Kill engages the kill switch. An error means that it could not be engaged for other processes.
	Kill(ctx context.Context, r gate.StopRequest) (gate.StopReport, error)
	// Stops returns the kill switches that are engaged. With an error they cannot all be known.
	Stops(ctx context.Context) ([]ledger.Stop, error)
}

// Config says what the tools work on. Gate, Now and Agent are required.
type Config struct {
	Gate    Gate
	Now     func() time.Time
	Account trade.Account // that orders are for; empty: each dialect's own
	Tier    trade.Tier    // of this process; no call changes it

	// What the server knows of whoever started it. Other callers of the tools name their own origin.
	Agent         trade.Agent
	ClaudeSession trade.Session // of the Claude Code session that started this process; empty if none did
	Version       string        // of this program, for the protocol

	Log *slog.Logger // for causes that the caller is not told; nil for none
}

// Validate reports the first required member that is missing. Without an agent's name a question would be one about all
// agents.
func (c Config) Validate() error {
	switch {
	case c.Gate == nil:
		return errors.New("mcp: a gate is required")
	case c.Now == nil:
		return errors.New("mcp: a clock is required")
	case c.Agent == "":
		return errors.New("mcp: the name of the agent is required")
	case c.Tier > trade.TierExecute:
		return errors.New("mcp: there is no such tier")
	}
	return nil
}

// The codes that tools answer with beside those of faults, the policy and the gate.
const (
	limitOutOfRange  trade.Code = "LIMIT_OUT_OF_RANGE"
	agentNotYours    trade.Code = "AGENT_NOT_YOURS"
	stateUnknown     trade.Code = "STATE_UNKNOWN"
	timeMalformed    trade.Code = "TIME_MALFORMED"
	intentMalformed  trade.Code = "INTENT_ID_MALFORMED"
	quoteUnavailable trade.Code = "QUOTE_UNAVAILABLE"
)

// Codes returns the published table of the codes that only this surface has.
func Codes() []trade.CodeRow {
	return []trade.CodeRow{
		{Code: limitOutOfRange, Meaning: "The limit of a list is not a whole number from 1 to 200.", Repair: "Send such a number, or leave it out for 20."},
		{Code: agentNotYours, Meaning: "The records asked for are another agent's.", Repair: "Ask for your own, or leave the agent out."},
		{Code: stateUnknown, Meaning: "Not an audit state.", Repair: "Use one of the states that the tool's schema lists."},
		{Code: timeMalformed, Meaning: "Not a time.", Repair: "Write it as RFC 3339, such as `2026-11-30T14:00:00Z`."},
		{Code: intentMalformed, Meaning: "Not the id of an intent or a proposal.", Repair: "Send the `intent_id` or `proposal_id` of a decision as it is."},
		{Code: quoteUnavailable, Meaning: "The market shows nothing for this symbol now.", Repair: "Ask for another symbol, or later."},
	}
}
