package main

import (
	"context"
	"path/filepath"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/rest"
	"sallyport/trade"
)

// far is a daemon that is asked for what is on record, where there is no data directory here. An agent sees its own, a
// person everything.
type far interface {
	Query(ctx context.Context, q gate.Query) (gate.Found, error)
	History(ctx context.Context, id trade.IntentID) (ledger.Decision, []ledger.Entry, error)
	Orders(ctx context.Context) ([]gate.WorkingOrder, error)
	Portfolio(ctx context.Context) (gate.Portfolio, error)
	Policy() gate.PolicyView
	Close() error
}

// farAgent is a daemon as an agent sees it.
type farAgent struct{ *rest.Client }

// History implements far. An agent is told where its order stands, and not what happened in between.
func (c farAgent) History(ctx context.Context, id trade.IntentID) (ledger.Decision, []ledger.Entry, error) {
	d, err := c.Intent(ctx, id)
	return d, nil, err
}

// Portfolio implements far.
func (c farAgent) Portfolio(ctx context.Context) (gate.Portfolio, error) {
	return c.Client.Portfolio(ctx, "")
}

// elsewhere returns the address of the daemon that is configured where there is no journal here; empty if there is none.
func (a *app) elsewhere(home string, cfg config) (string, error) {
	if exists(filepath.Join(home, gate.JournalName)) {
		return "", nil
	}
	address, err := a.daemonAddress(cfg)
	if address == "" && err == nil {
		if people, named, err := a.peopleAddress(cfg); named {
			return people, err
		}
	}
	return address, err
}

// far returns the daemon to ask; nil if the data directory is here, or no daemon is configured.
func (a *app) far(ctx context.Context) (far, error) {
	home, cfg, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	if address, err := a.elsewhere(home, cfg); address == "" || err != nil {
		return nil, err
	}
	if address, _ := a.daemonAddress(cfg); address == "" {
		c, err := a.asPerson(ctx)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	c, err := a.dialAgent(cfg, a.granted.tier)
	if err != nil {
		return nil, err
	}
	return farAgent{c}, nil
}

// read has one of two readers do it: the daemon's, or that of the data directory here.
func (a *app) read(ctx context.Context, u use, there func(far) error, here func(opened, config) error) error {
	f, err := a.far(ctx)
	if err != nil {
		return err
	}
	if f != nil {
		defer f.Close()
		return daemonProblem(there(f))
	}
	g, cfg, err := a.openGate(ctx, u)
	if err != nil {
		return err
	}
	defer g.Close()
	return here(g, cfg)
}
