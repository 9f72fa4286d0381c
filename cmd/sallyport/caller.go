package main

import (
	"context"

	"sallyport/mcp"
	"sallyport/trade"
)

// agentGate is what the commands of an agent need of a gate: one in this process, or the daemon's.
type agentGate interface {
	mcp.Gate
	Close() error
}

// caller is who an agent's command calls as, and how far.
type caller struct {
	agent trade.Agent
	tier  trade.Tier
}

// openAgent opens the gate for an agent's command.
func (a *app) openAgent(ctx context.Context, u use) (agentGate, caller, error) {
	tier, err := a.tier()
	if err != nil {
		return nil, caller{}, err
	}
	g, cfg, err := a.openGate(ctx, u)
	return g, caller{cfg.Agent, tier}, err
}
