package main

import (
	"context"
	"errors"

	"sallyport/gate"
	"sallyport/hook"
	"sallyport/mcp"
	"sallyport/policy"
	"sallyport/rest"
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

// openAgent opens the gate for an agent's command: the daemon's where one is configured, else one in this process.
//
//limit:cli-tier-lower With a daemon a command has the lower of the tiers of its token and of its environment; embedded the environment's alone.
func (a *app) openAgent(ctx context.Context, u use) (agentGate, caller, error) {
	tier, err := a.tier()
	if err != nil {
		return nil, caller{}, err
	}
	_, cfg, err := a.dataDir()
	if err != nil {
		return nil, caller{}, err
	}
	client, err := a.dialAgent(cfg, tier)
	if err != nil {
		return nil, caller{}, err
	}
	if client == nil {
		g, cfg, err := a.openGate(ctx, u)
		return g, caller{cfg.Agent, tier}, err
	}
	who, highest, err := client.Whoami(ctx)
	if patient := a.running == "mcp" || a.running == "tool"; patient && errors.Is(err, rest.ErrNotReached) {
		return client, caller{cfg.Agent, tier}, nil // each call says that the daemon is not there, until it is
	}
	if err != nil {
		client.Close()
		return nil, caller{}, daemonProblem(err)
	}
	return client, caller{who, min(tier, highest)}, nil
}

// dialAgent returns a client of the configured daemon; nil if there is none. It sends nothing.
func (a *app) dialAgent(cfg config, tier trade.Tier) (*rest.Client, error) {
	address, err := a.daemonAddress(cfg)
	if err != nil || address == "" {
		return nil, err
	}
	token, err := a.agentToken(cfg)
	if err != nil {
		return nil, err
	}
	c, err := rest.Dial(rest.ClientConfig{Address: address, Token: token, Tier: tier, Agent: cfg.Agent, Now: a.now})
	if err != nil {
		return nil, usage("Write unix:/PATH or http://127.0.0.1:PORT.", "the daemon's address or token is not valid: %s", plain(err))
	}
	return c, nil
}

// hookGate opens the gate for a hook.
func (a *app) hookGate(ctx context.Context, home string, cfg config) (hook.Gate, error) {
	tier, err := a.tier()
	if err != nil {
		return nil, err
	}
	client, err := a.dialAgent(cfg, tier)
	switch {
	case err != nil:
		return nil, err
	case client != nil:
		return client, nil
	}
	g, err := a.wire(ctx, permitting, home, cfg)
	if err != nil {
		return nil, internal(err)
	}
	return leavingGate(g, home), nil
}

// daemonProblem classifies why a daemon did not do what was asked.
func daemonProblem(err error) error {
	var r *gate.Refusal
	switch {
	case errors.As(err, &r):
		return refused(err)
	case errors.Is(err, rest.ErrNotReached):
		return (&problem{
			exit: exitInternal, what: plain(err),
			repair: "'sallyport serve' starts it; 'sallyport kill' works without it.",
		}).coded(policy.DaemonUnreachable)
	case errors.Is(err, rest.ErrUnreachable):
		return (&problem{
			exit: exitInternal, what: plain(err),
			repair: "Whether it was done is not known. Look it up before you do it again: 'sallyport audit list'.",
		}).coded(policy.DaemonUnreachable)
	}
	return err
}
