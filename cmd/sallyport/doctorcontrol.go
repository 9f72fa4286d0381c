package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"sallyport/gate"
	"sallyport/rest"
	"sallyport/trade"
)

// tier says what agents' commands may do that are started with this environment.
func (e *examination) tier() {
	const name = "tier"
	tier, err := e.app.tier()
	switch {
	case err != nil:
		e.problem(name, err)
	case e.app.getenv(tierVariable) == "":
		e.note(name, "%s is not set here, so a process like this one may only read; 1 lets an agent propose, 2 execute", tierVariable)
	default:
		e.ok(name, "%s: %s", tier, tierText(tier))
	}
}

// stopped finds kill switches that are engaged, and a stop file.
func (e *examination) stopped(ctx context.Context, g *gate.Gate) {
	const name = "kill switch"
	stops, err := g.Stops(ctx)
	if err != nil {
		e.finding(name, "See that the disk is in order.", "it cannot be read, so everything is stopped: %s", plain(err))
		return
	}
	for _, s := range stops {
		e.finding(name, "A person lifts it: sallyport kill reset --scope "+s.Scope.String()+" --reason TEXT", "engaged: %s", stopText(s))
	}
	if file := filepath.Join(e.home, gate.StopName); exists(file) && len(stops) == 0 {
		e.finding(name, "'sallyport kill reset' records and removes it.", "there is a stop file %s", showPath(file))
	}
	if len(stops) == 0 {
		e.ok(name, "off")
	}
}

// daemonLock is there where a daemon has owned the data directory.
const daemonLock = "daemon.lock"

// control examines who may approve and who is let in, where a daemon has the data directory.
func (e *examination) control(ctx context.Context, g *gate.Gate) {
	owned := exists(filepath.Join(e.home, daemonLock))
	if !owned {
		e.ok("people", "no daemon has owned this data directory; every command decides by itself")
		return
	}
	people, err := g.People(ctx)
	if err != nil {
		e.problem("people", err)
		return
	}
	approvers := uint64(0)
	for _, p := range people {
		if p.Approver {
			approvers++
		}
	}
	switch {
	case len(people) == 0:
		e.finding("people", "'sallyport people init' makes the owner.", "%s", noApprover)
	case approvers == 0:
		e.finding("people", "'sallyport people add NAME --approver' adds one.", "%s", noApprover)
	default:
		e.ok("people", "%s", plural(approvers, "approver"))
	}
	agents, err := g.Agents(ctx)
	switch {
	case err != nil:
		e.problem("agents", err)
	case len(agents) == 0 && len(e.cfg.Serve.Sockets) == 0:
		e.finding("agents", "'sallyport agents add NAME --tier N' makes one.", "%s", noAgent)
	default:
		e.ok("agents", "%s", plural(uint64(len(agents)), "token"))
	}
	if !answers(e.cfg.Serve.PeopleSocket) {
		e.finding("daemon", "'sallyport serve' starts it; until then nobody decides in this data directory.", "it does not run: nobody listens on %s", showPath(e.cfg.Serve.PeopleSocket))
		return
	}
	e.ok("daemon", "it listens on %s", showPath(e.cfg.Serve.PeopleSocket))
}

// away examines the connection alone where there is no data directory here and a daemon is configured; false if none is.
func (e *examination) away(ctx context.Context) bool {
	e.cfg = defaultConfig(e.home)
	address, err := e.app.elsewhere(e.home, e.cfg)
	if err != nil {
		e.problem("connection", err)
		return true
	}
	if address == "" {
		return false
	}
	e.ok("data directory", "none here; the daemon at %s has it", showPath(address))
	if e.app.getenv(daemonVariable) != "" {
		e.tier()
	}
	e.connection(ctx)
	e.person(ctx)
	e.others()
	return true
}

// person asks the daemon that SALLYPORT_PEOPLE names whom it takes a person's commands for. Nothing is asked on the terminal.
func (e *examination) person(ctx context.Context) {
	const name = "person"
	address, named, err := e.app.peopleAddress(e.cfg)
	if !named {
		return
	}
	if err == nil && e.app.secret.file == nil && e.app.getenv(credentialVariable) == "" {
		e.note(name, "your credential is not at hand here, so the commands that need it ask for it; $%s names its file", credentialVariable)
		return
	}
	if err != nil {
		e.problem(name, err)
		return
	}
	c, err := e.app.asPerson(ctx)
	if err != nil {
		e.problem(name, err)
		return
	}
	defer c.Close()
	who, err := c.Whoami(ctx)
	if err != nil {
		e.problem(name, daemonProblem(err))
		return
	}
	e.ok(name, "%s takes you for %s, who may %s", showPath(address), show(who.Name), strings.Join(rights(who), ", "))
}

// connection asks the configured daemon whom it takes this process for.
func (e *examination) connection(ctx context.Context) {
	const name = "connection"
	address, err := e.app.daemonAddress(e.cfg)
	if err != nil {
		e.problem(name, err)
		return
	}
	if address == "" {
		return
	}
	tier, err := e.app.tier()
	if err != nil {
		return // told as the tier already
	}
	c, err := e.app.dialAgent(e.cfg, tier)
	if err != nil {
		e.problem(name, err)
		return
	}
	defer c.Close()
	who, highest, err := c.Whoami(ctx)
	var refusal *gate.Refusal
	switch {
	case errors.As(err, &refusal):
		e.problem(name, refused(err))
	case errors.Is(err, rest.ErrNotReached):
		e.finding(name, "'sallyport serve' starts the daemon; until then every order is denied.", "no daemon answers at %s", showPath(address))
	case err != nil:
		e.problem(name, daemonProblem(err))
	default:
		e.ok(name, "%s takes this process for the agent %s, tier %s", showPath(address), show(string(who)), trade.Tier(min(tier, highest)))
	}
}

// secrets examines the files that hold secrets.
func (e *examination) secrets() {
	if path := e.cfg.Serve.TelegramTokenFile; path != "" {
		if _, err := readSecret(path, "Telegram token"); err != nil {
			e.problem("secrets", err)
		}
	}
}
