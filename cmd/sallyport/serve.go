package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/hook"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/rest"
	"sallyport/telegram"
	"sallyport/trade"
)

// How often the daemon looks after what nobody asks for.
const (
	//limit:cli-serve-settle The daemon ends what is over by time every second.
	settleEvery = time.Second
	//limit:cli-serve-reconcile The daemon compares with the broker at its start and every 30 seconds.
	reconcileEvery = 30 * time.Second
)

func serveCommand(a *app) *cobra.Command {
	var agents, people given
	format := ""
	c := &cobra.Command{
		Use: "serve", SuggestFor: []string{"daemon", "start"}, Short: "Run the daemon: it alone decides and executes, for every agent", GroupID: groupControl, Args: exactly(0),
		Long: `Run the daemon. It owns the data directory from now on: the journal, the policy and
the broker. Agents' commands (mcp, hook, order, propose) connect to it and decide
nothing themselves. It executes what people have approved, compares with the broker
every 30 seconds, and ends cleanly on SIGTERM or SIGINT: it finishes what is in
flight; a second signal ends it at once.

It works without configuration: it listens on two sockets in the data directory,
run/agents.sock and run/people.sock, and on 127.0.0.1 ports 8371 (agents) and 8372
(people), as far as those are free. serve in sallyport.json says otherwise, and adds
Telegram. Agents need a token each ('sallyport agents add'), and until the owner
exists ('sallyport people init') nobody can approve.`,
		Example: `  sallyport serve
  sallyport serve --listen-agents none --listen-people none --log json`,
	}
	c.Flags().Var(&agents, "listen-agents", "listen for agents on the loopback address `A`, such as 127.0.0.1:8371; none for sockets alone")
	c.Flags().Var(&people, "listen-people", "listen for people on the loopback address `A`")
	c.Flags().StringVar(&format, "log", "", "write the log as `F`: text or json (default: text on a terminal, json elsewhere)")
	completes(c, "log", words("text", "json"))
	return runs(c, func(ctx context.Context, _ []string) error {
		if format != "" && format != "text" && format != "json" {
			return usage("Use text or json.", "--log %q is not known", show(format))
		}
		d := newDaemon(a, format == "json" || format == "" && !isTerminal(a.stderr))
		for flag, g := range map[string]given{"--listen-agents": agents, "--listen-people": people} {
			if g.set && !isLoopback(g.text) {
				return usage(`Write an address such as 127.0.0.1:8371, or none.`, "%s %q is not a loopback address with its port", flag, show(g.text))
			}
		}
		return d.ended(d.serve(ctx, agents, people))
	})
}

// newDaemon makes a daemon that writes its log as text, or as JSON.
func newDaemon(a *app, json bool) *daemon {
	d := &daemon{app: a, json: json, stops: map[ledger.Scope]bool{}, toldStop: map[ledger.Scope]bool{}, metrics: rest.NewMetrics()}
	d.log = slog.New(slog.NewTextHandler(a.stderr, nil))
	if json {
		d.log = slog.New(slog.NewJSONHandler(a.stderr, nil))
	}
	return d
}

// ended says why the daemon has ended, in the log where that is for programs.
func (d *daemon) ended(err error) error {
	if err == nil || !d.json {
		return err
	}
	p := problemOf(err)
	d.log.Error("the daemon has ended", "cause", masked(p.what), "repair", masked(p.repair), "exit_code", p.exit)
	return silent(p.exit)
}

// daemon is the process that owns a data directory.
type daemon struct {
	app     *app
	json    bool
	log     *slog.Logger
	gate    opened
	cfg     config
	server  *rest.Server
	metrics *rest.Metrics
	bot     *telegram.Bot         // nil without Telegram
	taken   []string              // default addresses on which somebody else listens
	stops   map[ledger.Scope]bool // that are engaged

	told     journal.Seq           // the newest record that the log tells of
	toldStop map[ledger.Scope]bool // stops that the log tells of
	policy   string                // the policy that the log tells of
	heard    uint64                // the venue's newest event that was taken in
}

// serve runs until ctx ends.
func (d *daemon) serve(ctx context.Context, agents, people given) (err error) {
	home, _, err := d.app.dataDir()
	if err != nil {
		return err
	}
	if warning := exposed(home); warning != "" {
		d.log.Warn(warning)
	}
	fresh := !exists(filepath.Join(home, gate.JournalName))
	if d.gate, d.cfg, err = d.app.openGate(ctx, serving); err != nil {
		return err
	}
	switch {
	case fresh && d.json:
		d.log.Info("made a new data directory", "path", home)
	case fresh:
		d.app.tellFounded(home, d.cfg, d.gate.Policy())
	}
	defer func() { err = errors.Join(err, d.gate.Close()) }()
	if err := d.begin(ctx); err != nil {
		return err
	}
	if agents.set {
		d.cfg.Serve.Agents, d.cfg.Serve.AgentsGiven = agents.text, true
	}
	if people.set {
		d.cfg.Serve.People, d.cfg.Serve.PeopleGiven = people.text, true
	}
	if err := d.makeBot(); err != nil {
		return err
	}
	d.reconcile(ctx)
	if err := d.checkSockets(ctx); err != nil {
		return err
	}
	if err := d.listen(); err != nil {
		return err
	}
	if err := d.introduce(ctx); err != nil {
		return errors.Join(err, d.run(cancelled()))
	}
	return d.run(ctx)
}

// cancelled is a context that has ended.
func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// run serves until ctx ends, or a part of the daemon does.
func (d *daemon) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var parts sync.WaitGroup
	parts.Go(func() { d.every(ctx, settleEvery, d.settle) })
	parts.Go(func() { d.every(ctx, reconcileEvery, d.reconcile) })
	if d.bot != nil {
		parts.Go(func() {
			if err := d.bot.Run(ctx); err != nil && ctx.Err() == nil {
				d.log.Error("Telegram has ended; holds stay held", "cause", err)
			}
		})
	}
	parts.Go(func() {
		<-ctx.Done()
		signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // the next one ends the process at once
		d.log.Info("stopping: finishing what is in flight")
		d.tellSystem("STOPPING=1")
	})
	d.tellSystem("READY=1")
	err := d.server.Serve(ctx)
	stop()
	parts.Wait()
	d.tellRecord(context.WithoutCancel(ctx))
	if err != nil {
		d.log.Error("stopped, and not everything was finished", "cause", err)
		return internal(err)
	}
	d.log.Info("stopped")
	return nil
}

func (d *daemon) tellSystem(state string) {
	if err := tellSystem(d.app.getenv, state); err != nil {
		d.log.Warn("the service manager could not be told", "state", state, "cause", err)
	}
}

// every does something again and again.
func (d *daemon) every(ctx context.Context, interval time.Duration, do func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do(ctx)
		}
	}
}

// settle lets the venue match, ends what is over by time, tells what is new, and carries out a stop that another process
// has engaged.
func (d *daemon) settle(ctx context.Context) {
	d.match(ctx)
	if err := d.gate.Settle(ctx); err != nil && ctx.Err() == nil {
		d.log.Error("proposals could not be settled", "cause", err)
	}
	d.tellRecord(ctx)
	d.tellPolicy()
	if d.newStops(ctx) {
		d.reconcile(ctx) // which cancels what works under it
	}
}

// match lets the paper venue look at its quotes, so that a stop loss waits for no new order to arrive, and takes in what
// came of it, or of another process that had the venue open.
func (d *daemon) match(ctx context.Context) {
	if d.gate.venue == nil {
		return
	}
	newest, err := d.gate.venue.Match(ctx)
	if err == nil && newest > d.heard {
		if err = d.gate.Recover(ctx); err == nil {
			d.heard = newest
		}
	}
	if err != nil && ctx.Err() == nil {
		d.log.Error("the venue's orders could not be matched", "cause", err)
	}
}

// newStops reports whether a stop is new, and tells of those that are on no record, or were engaged before.
func (d *daemon) newStops(ctx context.Context) (found bool) {
	all, err := d.gate.Stops(ctx)
	if err != nil {
		if ctx.Err() == nil {
			d.log.Error("the kill switches cannot be read; everything is stopped", "cause", err)
		}
		return false
	}
	now := map[ledger.Scope]bool{}
	for _, s := range all {
		now[s.Scope] = true
		found = found || !d.stops[s.Scope]
		if !d.toldStop[s.Scope] {
			d.toldStop[s.Scope] = true
			line := stopEngaged(s)
			d.log.Log(ctx, line.level, line.what, line.args...)
		}
	}
	d.stops = now
	return found
}

// reconcile compares with the broker.
func (d *daemon) reconcile(ctx context.Context) {
	r, err := d.gate.Reconcile(ctx)
	if err != nil {
		if ctx.Err() == nil {
			d.log.Error("the broker could not be compared with", "cause", err)
		}
		return
	}
	d.metrics.Reconciled(r)
	for _, x := range r.Differences {
		d.log.Error("the broker and the ledger differ", "difference", x.String(), "shared", d.cfg.Shared)
	}
	if r.Unknown > 0 {
		d.log.Warn("outcomes are not known", "orders", r.Unknown)
	}
}

// makeBot prepares Telegram, if it is configured.
func (d *daemon) makeBot() error {
	path := d.cfg.Serve.TelegramTokenFile
	if path == "" {
		return nil
	}
	token, err := readSecret(path, "Telegram token")
	if err != nil {
		return err
	}
	d.bot, err = telegram.New(telegram.Config{
		Token: telegram.Token(token), Chats: d.cfg.Serve.TelegramChats, Gate: d.gate.Gate, Now: d.app.now, Entropy: d.app.random, Log: d.log,
	})
	if err != nil {
		return usage("Correct serve.telegram in "+configName+".", "Telegram cannot be used: %s", plain(err))
	}
	return nil
}

// checkSockets refuses sockets whose agent could be taken for somebody else.
func (d *daemon) checkSockets(ctx context.Context) error {
	people, err := d.gate.People(ctx)
	if err != nil {
		return err
	}
	agents, err := d.gate.Agents(ctx)
	if err != nil {
		return err
	}
	if why := socketConflict(d.cfg.Serve.Sockets, people, agents); why != "" {
		return usage("Give the agent of that socket a name of its own in "+configName+", or a tier that its token has.", "%s", why)
	}
	return nil
}

// listen opens the listeners. A default port that is taken is left out: the sockets are there in any case.
func (d *daemon) listen() error {
	s := d.cfg.Serve
	cfg := rest.ServerConfig{
		Config: rest.Config{
			Gate: d.gate.Gate, Now: d.app.now, Log: d.log, Metrics: d.metrics, Version: version,
			AccountOf: func(tool string, _ *dialect.Dialect) trade.Account { return hook.AccountOf(d.cfg.Guards, tool) },
		},
		AgentsSocket: s.AgentsSocket, PeopleSocket: s.PeopleSocket, UIDs: s.UIDs,
	}
	for _, x := range s.Sockets {
		cfg.Sockets = append(cfg.Sockets, rest.Socket{Path: x.Path, Agent: x.Agent, Tier: x.Tier, UIDs: x.UIDs})
	}
	for _, try := range d.addresses() {
		var err error
		cfg.Agents, cfg.People = try[0], try[1]
		d.server, err = rest.Listen(cfg)
		switch {
		case err == nil:
			d.taken = without([]string{s.Agents, s.People}, try[:])
			return nil
		case errors.Is(err, syscall.EINVAL):
			return usage("Name shorter ones by agents_socket, people_socket and sockets in serve of "+configName+": the system takes about 100 bytes.",
				"the daemon cannot listen: the path of a socket is too long:\n%s", showPath(longest(append(socketPaths(s.Sockets), s.AgentsSocket, s.PeopleSocket))))
		case !errors.Is(err, syscall.EADDRINUSE):
			return usage("Correct serve in "+configName+"; a socket's directory belongs to this user, and its path is short.", "the daemon cannot listen: %s", plain(err))
		}
	}
	return usage("End what listens there, or name other addresses by --listen-agents and --listen-people.", "an address to listen on is taken: %s, %s", s.Agents, s.People)
}

// longest returns the longest of some paths.
func longest(paths []string) (found string) {
	for _, p := range paths {
		if len(p) > len(found) {
			found = p
		}
	}
	return found
}

// without returns the addresses that were to be listened on and are not.
func without(wanted, got []string) (missing []string) {
	for i, a := range wanted {
		if a != none && got[i] == "" {
			missing = append(missing, a)
		}
	}
	return missing
}

// addresses returns what to try to listen on, the best first: an address that nobody has asked for may be left out.
func (d *daemon) addresses() (all [][2]string) {
	either := func(address string, asked bool) []string {
		switch {
		case address == none:
			return []string{""}
		case asked:
			return []string{address}
		}
		return []string{address, ""}
	}
	for _, agents := range either(d.cfg.Serve.Agents, d.cfg.Serve.AgentsGiven) {
		for _, people := range either(d.cfg.Serve.People, d.cfg.Serve.PeopleGiven) {
			all = append(all, [2]string{agents, people})
		}
	}
	return all
}

// introduce says what the daemon is, where it listens, who may do what, and what to do next.
func (d *daemon) introduce(ctx context.Context) error {
	people, err := d.gate.People(ctx)
	if err != nil {
		return err
	}
	agents, err := d.gate.Agents(ctx)
	if err != nil {
		return err
	}
	approvers := 0
	for _, p := range people {
		if p.Approver {
			approvers++
		}
	}
	if d.json {
		d.introduceJSON(approvers, len(agents))
	} else {
		fmt.Fprint(d.app.stderr, d.greeting(approvers, len(agents), len(people) > 0))
	}
	d.tellPolicy()
	d.newStops(ctx)
	return nil
}

// noApprover and noAgent are what is missing before a daemon is of use.
const (
	noApprover = "no approver is listed: nothing can be approved"
	noAgent    = "no agent has a token: nobody is let in"
)

// somebodyListens is said of a default address that is left out.
const somebodyListens = "the address is taken, so the daemon does not listen there"

func (d *daemon) introduceJSON(approvers, agents int) {
	for _, l := range d.server.Addresses() {
		args := []any{"for", l.Half, "address", l.Address}
		if l.Agent != "" {
			args = append(args, "agent", string(l.Agent))
		}
		d.log.Info("listening", args...)
	}
	for _, address := range d.taken {
		d.log.Warn(somebodyListens, "address", address, "repair", "end what listens there, or name another address in "+configName)
	}
	if approvers == 0 {
		d.log.Warn(noApprover, "repair", "sallyport people init")
	}
	if agents == 0 && len(d.cfg.Serve.Sockets) == 0 {
		d.log.Warn(noAgent, "repair", "sallyport agents add NAME --tier N")
	}
	d.log.Info("serving", "version", version, "approvers", approvers, "agents", agents, "telegram", d.bot != nil)
}

func (d *daemon) greeting(approvers, agents int, owner bool) string {
	var b strings.Builder
	b.WriteString("Sallyport " + version + ": this daemon alone decides and executes, on paper.\n")
	var rows [][]string
	for _, l := range d.server.Addresses() {
		who := l.Half
		if l.Agent != "" {
			who = "agent " + string(l.Agent)
		}
		rows = append(rows, []string{"  for " + who, showPath(l.Address)})
	}
	b.WriteString(table(rows))
	for _, address := range d.taken {
		b.WriteString(indent("  ", address+": "+somebodyListens))
	}
	if d.bot != nil {
		fmt.Fprintf(&b, "  for people on Telegram, in %s\n", plural(uint64(len(d.cfg.Serve.TelegramChats)), "chat"))
	}
	next := func(what, command string) { b.WriteString(indent("", what+"; run") + "  " + command + "\n") }
	if approvers == 0 && !owner {
		next(noApprover, "sallyport people init")
	} else if approvers == 0 {
		next(noApprover, "sallyport people add NAME --approver")
	}
	if agents == 0 && len(d.cfg.Serve.Sockets) == 0 {
		next(noAgent, "sallyport agents add NAME --tier 1")
	}
	if agents > 0 {
		b.WriteString("An agent connects with its token:\n  SALLYPORT_DAEMON=unix:" + showPath(d.cfg.Serve.AgentsSocket) +
			" \\\n      SALLYPORT_TOKEN_FILE=FILE SALLYPORT_TIER=1 sallyport mcp\n")
	}
	b.WriteString("Proposals: 'sallyport proposals'. To stop everything: 'sallyport kill'.\n")
	return b.String()
}
