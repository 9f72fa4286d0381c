package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"sallyport/broker/paper"
	"sallyport/gate"
	"sallyport/market"
	"sallyport/policy"
	"sallyport/replay"
)

// installation is what an operator has beside the policy: the data directory, the configuration, and the market that it
// names. Every command that judges a draft or a tape takes it from here, so that a draft is judged as it will be once it
// is in force, and a tape as its orders would be now.
type installation struct {
	home     string
	cfg      config
	exchange *exchange
}

// installation returns that of the data directory, or where there is none what a new one would have.
func (a *app) installation() (in installation, err error) {
	home, cfg, err := a.dataDir()
	return installationOf(home, cfg), err
}

func installationOf(home string, cfg config) installation {
	return installation{home: home, cfg: cfg, exchange: newExchange(cfg)}
}

// world is what a policy is compared with beyond itself.
func (in installation) world() policy.World { return gate.World(in.exchange) }

// gate is what a gate is told of an installation, without a venue.
func (in installation) gate(a *app) gate.Config {
	return gate.Config{
		Home: in.home, PolicyFile: in.cfg.Policy, RequireHook: in.cfg.RequireHook, Now: a.now, Entropy: a.random,
		Deadline: in.cfg.Deadlines.Outcome, SendWithin: in.cfg.Deadlines.Send, BrokerWait: in.cfg.Deadlines.Broker, LockWait: in.cfg.Deadlines.Lock,
		Approval: in.cfg.Approval, Shared: in.cfg.Shared, Quotes: in.exchange.quotes(), Account: paperAccount,
		Market: in.exchange, Trial: replay.Trial, Holds: in.holds,
	}
}

// holds is what the venue holds, or will begin with. It does not open the venue: that would match what works there.
func (in installation) holds(ctx context.Context) (gate.Holdings, error) {
	h, err := paper.Look(ctx, filepath.Join(in.home, paperName))
	if errors.Is(err, fs.ErrNotExist) {
		return gate.Holdings{Cash: in.cfg.Cash}, nil
	}
	return h, err
}

// draft judges a policy that is not in force as one that is: it is read, its bounds are proved and its tests run.
func (in installation) draft(a *app, raw []byte) gate.PolicyView {
	return gate.EmptyChecker(in.gate(a), raw).Policy()
}

// empty judges by a draft on an account that has nothing but the cash that a venue begins with.
func (in installation) empty(a *app, raw []byte) *gate.Checker {
	c := gate.EmptyChecker(in.gate(a), raw)
	c.Believe(gate.Holdings{Cash: in.cfg.Cash})
	return c
}

// tape is how a tape is replayed here, under a policy; nil: none until the tape brings one.
func (in installation) tape(raw []byte) (replay.Config, error) {
	list, err := in.listed()
	if err != nil {
		return replay.Config{}, usage(in.repairList()+".", "%s", plain(err))
	}
	return replay.Config{Policy: raw, Account: paperAccount, Approval: in.cfg.Approval, Shared: in.cfg.Shared, Instruments: list}, nil
}

// repairList says what helps where the instruments cannot be read.
func (in installation) repairList() string {
	if in.cfg.Listed {
		return "Correct the line, write the file anew, or take instruments out of " + configName
	}
	return "Correct the line, or write the file anew, or remove it"
}

// listed returns the instruments that the configuration names; nil where every symbol is a US equity.
func (in installation) listed() (*market.Instruments, error) {
	return in.exchange.listing.Instruments()
}
