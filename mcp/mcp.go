// Package mcp offers the gate to AI agents as five tools, over the Model Context Protocol on standard input and output
// or to any other caller. It owns no rule: the dialects judge the arguments as received, the gate decides, and the
// answer is the decision object, so that a model can correct itself.
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
// for concurrent use.
type Gate interface {
	// Execute decides the call, records the decision and, if it is allowed, sends the order. A decision always comes
	// back, whatever went wrong; an outcome that is not known is never shown as another.
	Execute(ctx context.Context, c gate.Call) ledger.Decision
	// Check decides the call as Execute would now, and records, reserves and sends nothing.
	Check(ctx context.Context, c gate.Call) ledger.Decision
	// Policy reads the policy that would judge a call made now, or says why there is none.
	Policy() gate.PolicyView
	// Audit returns the newest intents, newest first, at most limit. An error means that the journal cannot be read.
	Audit(ctx context.Context, limit int) ([]ledger.Decision, error)
}

// Config says what the tools work on. Gate and Now are required.
type Config struct {
	Gate    Gate
	Now     func() time.Time
	Account trade.Account // that orders are for; empty: each dialect's own

	// What the server knows of whoever started it. Other callers of the tools name their own origin.
	Agent         trade.Agent
	ClaudeSession trade.Session // of the Claude Code session that started this process; empty if none did
	Version       string        // of this program, for the protocol

	Log *slog.Logger // for causes that the caller is not told; nil for none
}

// Validate reports the first required member that is missing.
func (c Config) Validate() error {
	switch {
	case c.Gate == nil:
		return errors.New("mcp: a gate is required")
	case c.Now == nil:
		return errors.New("mcp: a clock is required")
	}
	return nil
}

// limitOutOfRange is the one code that tools answer with beside those of faults, the policy and the gate.
const limitOutOfRange trade.Code = "LIMIT_OUT_OF_RANGE"

// Codes returns the published table of the codes that only this surface has.
func Codes() []trade.CodeRow {
	return []trade.CodeRow{
		{Code: limitOutOfRange, Meaning: "The limit of a list is not a whole number from 1 to 200.", Repair: "Send such a number, or leave it out for 20."},
	}
}
