package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/rest"
	"sallyport/trade"
)

// control is what a person can do: in the data directory itself, or through the daemon. Each call is made as the person
// whose credential it was opened with. What is refused is a *gate.Refusal.
type control interface {
	AddPerson(ctx context.Context, p gate.PersonTerms) (secret string, err error)
	RotatePerson(ctx context.Context, name string) (secret string, err error)
	RemovePerson(ctx context.Context, name string) error
	AddAgent(ctx context.Context, agent trade.Agent, tier trade.Tier) (token string, err error)
	RotateAgent(ctx context.Context, agent trade.Agent) (token string, err error)
	RemoveAgent(ctx context.Context, agent trade.Agent) error
	People(ctx context.Context) ([]ledger.Person, error)
	Agents(ctx context.Context) ([]ledger.Grant, error)
	Reset(ctx context.Context, scope ledger.Scope, reason string) error
	Reduce(ctx context.Context, order trade.Order) (ledger.Decision, error)
	Close() error
}

// atHand is control of a data directory that this process has opened.
type atHand struct {
	opened
	by gate.Person
}

// AddPerson implements control, and so do the others.
func (h atHand) AddPerson(ctx context.Context, p gate.PersonTerms) (string, error) {
	return h.Gate.AddPerson(ctx, h.by, p)
}

func (h atHand) RotatePerson(ctx context.Context, name string) (string, error) {
	return h.Gate.RotatePerson(ctx, h.by, name)
}

func (h atHand) RemovePerson(ctx context.Context, name string) error {
	return h.Gate.RemovePerson(ctx, h.by, name)
}

func (h atHand) AddAgent(ctx context.Context, agent trade.Agent, tier trade.Tier) (string, error) {
	return h.Gate.AddAgent(ctx, h.by, agent, tier)
}

func (h atHand) RotateAgent(ctx context.Context, agent trade.Agent) (string, error) {
	return h.Gate.RotateAgent(ctx, h.by, agent)
}

func (h atHand) RemoveAgent(ctx context.Context, agent trade.Agent) error {
	return h.Gate.RemoveAgent(ctx, h.by, agent)
}

func (h atHand) Reset(ctx context.Context, scope ledger.Scope, reason string) error {
	return h.Gate.Reset(ctx, h.by, scope, reason)
}

func (h atHand) Reduce(ctx context.Context, order trade.Order) (ledger.Decision, error) {
	return h.Gate.Reduce(ctx, h.by, order)
}

// channelTerminal is how a person comes who gives a command here.
const channelTerminal = "terminal"

// openAtHand opens the data directory as the person whose credential it is.
func (a *app) openAtHand(ctx context.Context, u use, credential string) (control, error) {
	g, _, err := a.openGate(ctx, u)
	if err != nil {
		return nil, err
	}
	who, err := g.Identify(ctx, credential, channelTerminal)
	if err != nil {
		g.Close()
		return nil, refused(err)
	}
	return atHand{g, who}, nil
}

// asOwner makes f what a command does with the owner's credential.
func (a *app) asOwner(c *cobra.Command, f func(ctx context.Context, o control, args []string) error) *cobra.Command {
	return runs(c, func(ctx context.Context, args []string) error {
		credential, err := a.credential(ctx)
		if err != nil {
			return err
		}
		o, err := a.openControl(ctx, reading, credential)
		if err != nil {
			return err
		}
		defer o.Close()
		return f(ctx, o, args)
	})
}

// peopleAddress returns where people speak to the daemon, and whether it was named: by default on the socket in the data
// directory.
func (a *app) peopleAddress(cfg config) (address string, named bool, err error) {
	s := a.getenv(peopleVariable)
	switch {
	case s == "":
		return "unix:" + cfg.Serve.PeopleSocket, false, nil
	case !isDaemonAddress(s):
		return "", true, usage("Write unix:/PATH or http://127.0.0.1:PORT, or leave it unset.", "%s is %q, which is no address", peopleVariable, show(s))
	}
	return s, true, nil
}

// dialPeople returns a client of the daemon; nil where none is named and none answers.
func (a *app) dialPeople(cfg config, credential string) (*rest.PeopleClient, error) {
	address, named, err := a.peopleAddress(cfg)
	if err != nil || !named && !answers(cfg.Serve.PeopleSocket) {
		return nil, err
	}
	c, err := rest.DialPeople(rest.ClientConfig{Address: address, Token: credential, Now: a.now})
	if err != nil {
		return nil, usage("Write unix:/PATH or http://127.0.0.1:PORT.", "the daemon's address is not valid: %s", plain(err))
	}
	return c, nil
}

// needPeople returns a client of the daemon, without which nothing can be approved.
func (a *app) needPeople(credential string) (*rest.PeopleClient, error) {
	_, cfg, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	c, err := a.dialPeople(cfg, credential)
	if err == nil && c == nil {
		err = noDaemon(cfg, "Only the daemon executes what people approve")
	}
	return c, err
}

// noDaemon tells a person that the daemon does not run.
func noDaemon(cfg config, why string) *problem {
	return (&problem{
		exit: exitInternal, what: "no daemon listens on " + showPath(cfg.Serve.PeopleSocket),
		repair: "'sallyport serve' starts it. " + why + "; SALLYPORT_PEOPLE names another.",
	}).coded(policy.DaemonRequired)
}

// throughDaemon is control through the daemon.
type throughDaemon struct{ *rest.PeopleClient }

// Reset implements control.
func (d throughDaemon) Reset(ctx context.Context, scope ledger.Scope, reason string) error {
	_, err := d.PeopleClient.Reset(ctx, scope, reason)
	return err
}

// openControl opens the daemon that SALLYPORT_PEOPLE names, or else the data directory itself.
func (a *app) openControl(ctx context.Context, u use, credential string) (control, error) {
	if a.getenv(peopleVariable) == "" {
		return a.openAtHand(ctx, u, credential)
	}
	return a.openDaemonOrHere(ctx, u, credential)
}

// openDaemonOrHere opens the daemon if one is named or answers, and else the data directory itself.
func (a *app) openDaemonOrHere(ctx context.Context, u use, credential string) (control, error) {
	_, cfg, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	c, err := a.dialPeople(cfg, credential)
	switch {
	case err != nil:
		return nil, err
	case c != nil:
		return throughDaemon{c}, nil
	}
	o, err := a.openAtHand(ctx, u, credential)
	if p := new(problem); errors.As(err, &p) && p.code == policy.DaemonRequired {
		return nil, noDaemon(cfg, "It alone executes in this data directory")
	}
	return o, err
}

// openLists opens what lists people and agents. In the data directory it needs no credential: whoever can read the
// journal can read them.
func (a *app) openLists(ctx context.Context) (control, error) {
	if a.getenv(peopleVariable) != "" {
		credential, err := a.credential(ctx)
		if err != nil {
			return nil, err
		}
		return a.openDaemonOrHere(ctx, reading, credential)
	}
	g, _, err := a.openGate(ctx, reading)
	if err != nil {
		return nil, err
	}
	return atHand{opened: g}, nil
}

// stopByDaemon engages the kill switch through the daemon: as the person whose credential is at hand, or as the agent
// whose token is. Nothing is asked for, since a stop must not wait. The error says why a daemon that was asked did not.
func (a *app) stopByDaemon(ctx context.Context, cfg config, credential string, r gate.StopRequest) (rep gate.StopReport, done bool, err error) {
	if credential != "" {
		c, err := a.dialPeople(cfg, credential)
		if err != nil || c == nil {
			return rep, false, err
		}
		defer c.Close()
		rep, err = c.Kill(ctx, r)
		return rep, err == nil, err
	}
	c, err := a.dialAgent(cfg, a.granted.tier)
	if err != nil || c == nil {
		return rep, false, err
	}
	defer c.Close()
	if r.All {
		a.note("the daemon takes this for an agent's stop, and only a person ends exits: they stay")
	}
	rep, err = c.Kill(ctx, r)
	return rep, err == nil, err
}
