package main

import (
	"context"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/ledger"
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

// openControl opens the data directory, or the daemon where one is named.
func (a *app) openControl(ctx context.Context, u use, credential string) (control, error) {
	return a.openAtHand(ctx, u, credential)
}

// openLists opens what lists people and agents. In the data directory it needs no credential: whoever can read the
// journal can read them.
func (a *app) openLists(ctx context.Context) (control, error) {
	g, _, err := a.openGate(ctx, reading)
	if err != nil {
		return nil, err
	}
	return atHand{opened: g}, nil
}

// openDaemonOrHere opens the daemon of the data directory if it answers, and else the data directory itself.
func (a *app) openDaemonOrHere(ctx context.Context, u use, credential string) (control, error) {
	return a.openAtHand(ctx, u, credential)
}

// stopByDaemon engages the kill switch through the daemon, if one can be asked and answers.
func (a *app) stopByDaemon(ctx context.Context, cfg config, r gate.StopRequest) (gate.StopReport, bool) {
	return gate.StopReport{}, false
}
