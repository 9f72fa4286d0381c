package main

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/wire"
)

func killCommand(a *app) *cobra.Command {
	c := a.engageCommand("kill", `Stop every order that opens risk, at once: nothing more is executed or permitted in
the scope, what was on its way is awaited, and working orders are cancelled, unless
they are to be kept. The stop is latched and durable; only a person lifts it, with 'sallyport kill reset'.
Cancels, and a person's 'sallyport reduce', stay possible. Positions stay as they are, and so do the
exits that protect them, unless --all is given.

It works when the daemon is down and when the journal cannot be written, by a stop
file in the data directory that every process heeds.

Exit codes: 0 the stop stands, 3 it could not be engaged.`)
	c.Use, c.DisableFlagsInUseLine, c.GroupID = "kill [--scope S] [--reason R] [--keep | --all]", true, groupControl
	engage := a.engageCommand("engage", "Stop, as 'sallyport kill' alone does.")
	c.AddCommand(engage, killStatusCommand(a), killResetCommand(a))
	for _, stops := range []*cobra.Command{c, engage} {
		stops.Args = func(stops *cobra.Command, args []string) error { return saysNotStopped(stops, exactly(0)(stops, args)) }
		stops.SetFlagErrorFunc(func(of *cobra.Command, err error) error {
			if of != stops {
				return flagProblem(of, err)
			}
			return saysNotStopped(of, flagProblem(of, err))
		})
	}
	return c
}

// notStopped is what somebody must know first whose words to stop were not understood.
const notStopped = "Nothing was stopped. 'sallyport kill' alone stops everything."

// saysNotStopped adds it to a problem with the words of a command that stops.
func saysNotStopped(c *cobra.Command, err error) error {
	var p *problem
	if errors.As(err, &p) {
		return usage(notStopped+" "+p.repair, "%s", p.what)
	}
	return err
}

// engageCommand is kill, and kill engage.
func (a *app) engageCommand(name, long string) *cobra.Command {
	var scope, reason string
	keep, all := false, false
	c := &cobra.Command{
		Use: name, Short: "Stop every order that opens risk, at once", Args: exactly(0), Long: long,
		Example: "  sallyport kill\n  sallyport kill --scope symbol:AAPL --reason \"a rumour\"",
	}
	scopeFlag(c, &scope)
	c.Flags().StringVar(&reason, "reason", "", "why, `R`; a stop is never refused for lack of it")
	c.Flags().BoolVar(&keep, "keep", false, "leave the orders that work already as they are")
	c.Flags().BoolVar(&all, "all", false, "cancel the exits that protect positions as well")
	withJSON(a, withCredential(a, c, stopCredential), "print one object")
	return runs(c, func(ctx context.Context, _ []string) error {
		if keep && all {
			return usage(notStopped, "--keep and --all say the opposite of each other")
		}
		s, err := parseScope(scope, notStopped)
		if err != nil {
			return err
		}
		home, err := resolveHome(a.home, a.getenv)
		if err != nil {
			return err
		}
		return a.stop(ctx, home, gate.StopRequest{Scope: s, Reason: strings.TrimSpace(reason), Local: person(), Keep: keep, All: all})
	})
}

func scopeFlag(c *cobra.Command, scope *string) {
	c.Flags().StringVar(scope, "scope", "everything", "what the stop covers, `S`: everything, account:NAME, agent:NAME or symbol:NAME")
	completes(c, "scope", words("everything", "account:"+string(paperAccount), "agent:", "symbol:"))
}

// parseScope reads a scope, a symbol in any case. What it cannot read is never taken for a narrower one than was meant.
func parseScope(text, consequence string) (ledger.Scope, error) {
	if name, ok := strings.CutPrefix(text, "symbol:"); ok {
		text = "symbol:" + strings.ToUpper(name)
	}
	s, ok := ledger.ParseScope(text)
	if !ok {
		return s, usage(strings.TrimPrefix(consequence+" Use ", " ")+"everything, account:NAME, agent:NAME or symbol:NAME.", "--scope %q is no scope", show(text))
	}
	return s, nil
}

// stop engages the kill switch by whatever still works: the daemon, the journal, or a stop file.
func (a *app) stop(ctx context.Context, home string, r gate.StopRequest) error {
	cfg, err := loadConfig(home)
	if err != nil { // a stop does not wait for a configuration to be corrected
		cfg = defaultConfig(home)
	}
	credential := ""
	away := a.getenv(peopleVariable) != "" && !exists(home) // only the daemon can be asked
	if a.secret.file != nil || a.getenv(credentialVariable) != "" || away {
		if credential, err = a.credential(ctx); err != nil {
			a.note("%s. Stopping without it", plain(err))
		}
	}
	rep, done, why := a.askDaemon(ctx, home, cfg, credential, r)
	if done {
		return a.stopped(rep, a.waiting(ctx, home, cfg, r.Scope))
	}
	if why != nil {
		a.note("the daemon did not stop it: %s. Going on without it", plain(why))
	}
	if _, err := os.Stat(home); errors.Is(err, fs.ErrNotExist) {
		return &problem{exit: exitInternal, what: "NOTHING WAS STOPPED: there is no data directory at " + showPath(home), repair: a.whereHome(home, cfg)}
	}
	rep, err = a.stopHere(ctx, home, cfg, credential, r)
	if err != nil {
		return &problem{
			exit: exitInternal, what: "NOTHING WAS STOPPED: " + plain(err),
			repair: "End the agents' processes and the daemon; then make the file " + showPath(filepath.Join(home, gate.StopName)) + " by hand.",
		}
	}
	return a.stopped(rep, a.waiting(ctx, home, cfg, r.Scope))
}

// waiting counts the proposals that a stop covers; 0 where they cannot be read.
func (a *app) waiting(ctx context.Context, home string, cfg config, scope ledger.Scope) (n uint64) {
	if !exists(filepath.Join(home, gate.JournalName)) {
		return 0
	}
	open, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	g, err := a.wire(open, reading, home, cfg)
	if err != nil {
		return 0
	}
	defer g.Close()
	all, _ := g.Proposals(open) // none is told where they cannot be read
	for _, d := range all {
		if scope.Covers(d.Order.Account(), d.Agent, d.Order.Symbol()) {
			n++
		}
	}
	return n
}

// openWithin bounds how long a stop waits for the journal to be opened before it writes a stop file.
//
//limit:cli-kill-open A stop that cannot open the journal within 3 seconds writes a stop file instead.
const openWithin = 3 * time.Second

// stopHere engages the kill switch in the data directory itself.
func (a *app) stopHere(ctx context.Context, home string, cfg config, credential string, r gate.StopRequest) (gate.StopReport, error) {
	open, cancel := context.WithTimeout(ctx, openWithin)
	g, err := a.wire(open, reading, home, cfg)
	cancel()
	if err != nil {
		return a.stopByFile(home, cfg, r)
	}
	if credential != "" {
		r.Person, _ = g.Identify(ctx, credential, channelTerminal) // a stop is not refused for a wrong credential
	}
	rep, err := g.Kill(ctx, r)
	closed := g.Close()
	if err == nil {
		a.carryStop(ctx, home, cfg, &rep)
	}
	return rep, errors.Join(err, closed)
}

// stopByFile engages the kill switch without the journal. It returns when nothing that was cleared before can leave.
func (a *app) stopByFile(home string, cfg config, r gate.StopRequest) (gate.StopReport, error) {
	stop := a.stopFor(r)
	path, err := gate.WriteStopFile(home, stop)
	if err != nil {
		return gate.StopReport{Stop: stop}, err
	}
	within := cfg.Deadlines.Send
	if within == 0 {
		within = defaultSend
	}
	a.note("the journal cannot be used; the stop file is written. Waiting %s for what may be on its way", within)
	time.Sleep(within)
	return gate.StopReport{Stop: stop, StopFile: path}, nil
}

// defaultSend is the gate's own time from a decision to the first byte that leaves.
const defaultSend = 5 * time.Second

// awaitDaemon bounds how long a stop waits for the daemon to cancel what works.
//
//limit:cli-kill-await After a stop is recorded, the command waits at most 5 seconds to see the working orders cancelled.
const awaitDaemon = 5 * time.Second

// carryStop has working orders cancelled, after the stop was recorded, and looks what became of them.
func (a *app) carryStop(ctx context.Context, home string, cfg config, rep *gate.StopReport) {
	for i := range rep.Orders {
		if o := &rep.Orders[i]; rep.Stop.Keep && o.State == gate.StopPending {
			o.State, o.Message = gate.StopKept, ""
		}
	}
	if !rep.Recorded || !pending(rep) {
		return
	}
	open, cancel := context.WithTimeout(ctx, 2*awaitDaemon)
	defer cancel()
	g, err := a.wire(open, venue, home, cfg) // a gate that reaches the venue cancels what a stop covers when it opens
	if err != nil {
		return // they stay pending
	}
	defer g.Close()
	for end := time.Now().Add(awaitDaemon); ; time.Sleep(100 * time.Millisecond) {
		for i := range rep.Orders {
			lookAgain(open, g, &rep.Orders[i])
		}
		if !g.daemons || !answers(cfg.Serve.PeopleSocket) || !pending(rep) || time.Now().After(end) || open.Err() != nil {
			return
		}
	}
}

func pending(rep *gate.StopReport) bool {
	for _, o := range rep.Orders {
		if o.State == gate.StopPending {
			return true
		}
	}
	return false
}

// lookAgain says what became of an order that was pending.
func lookAgain(ctx context.Context, g opened, o *gate.StopOrder) {
	if o.State != gate.StopPending {
		return
	}
	d, _, err := g.History(ctx, o.Intent)
	if err != nil {
		return
	}
	switch s := d.OrderStatus(); s {
	case "cancelled", "expired", "filled", "rejected":
		if s == "filled" && d.Order.HasExits() && d.ExitsEnded == "" && d.Exited.Cmp(d.Filled) < 0 {
			return // of its exits nothing is known yet
		}
		o.State, o.Message = gate.StopGone, "it is "+s
	case "unknown":
		o.State, o.Message = gate.StopUnknown, "its outcome is not known"
	case "working", "partially_filled":
		if !g.daemons {
			o.State, o.Message = gate.StopStillThere, "the venue did not cancel it"
		}
	}
}

// stopped says what a stop has done.
func (a *app) stopped(rep gate.StopReport, waiting uint64) error {
	if a.json {
		return a.printJSON(appendStopReport(nil, rep, waiting))
	}
	return a.printLines(func(w *bufio.Writer) error {
		w.WriteString(describeStopReport(rep, waiting, a.color()))
		return nil
	})
}

func describeStopReport(rep gate.StopReport, waiting uint64, p paint) string {
	var b strings.Builder
	again := ""
	if rep.Repeated {
		again = " (it was engaged already)"
	}
	b.WriteString(p.bold(p.red("STOPPED")) + "  " + rep.Stop.Scope.String() + again + "\n")
	b.WriteString(fields(append(stopRows(rep.Stop), row{"stop file", showPath(rep.StopFile)})))
	if !rep.Recorded {
		b.WriteString(indent("  ", "The journal could not be written, so the stop file alone holds it: every process heeds it, and records it as soon as it can. What became of orders is not known."))
	}
	if len(rep.Orders) > 0 {
		rows := [][]string{{"INTENT", "STATE", "ORDER"}}
		for _, o := range rep.Orders {
			text := append([]string{orderLine(o.Order)}, agentPart(o.Agent)...)
			if o.Message != "" {
				text = append(text, "("+plainText(printable(o.Message))+")")
			}
			rows = append(rows, []string{string(o.Intent), strings.ReplaceAll(string(o.State), "_", " "), strings.Join(text, "\n")})
		}
		b.WriteString("\n" + table(rows))
	} else if rep.Recorded {
		b.WriteString("  No order was working or on its way.\n")
	}
	if waiting > 0 {
		b.WriteString(indent("  ", plural(waiting, "proposal")+" that it covers can still be declined, and not be approved while it stands."))
	}
	b.WriteString("\n" + indent("", "Positions stay as they are: 'sallyport positions' shows them, 'sallyport reduce' sells from them, 'sallyport kill reset' lets orders pass again."))
	return b.String()
}

func appendStopReport(b []byte, rep gate.StopReport, waiting uint64) []byte {
	b = append(wire.AppendName(append(b, '{'), "stops"), ledger.AppendStops(nil, []ledger.Stop{rep.Stop})...)
	b = append(wire.AppendName(b, "repeated"), trueOrFalse(rep.Repeated)...)
	b = append(wire.AppendName(b, "recorded"), trueOrFalse(rep.Recorded)...)
	b = wire.AppendOptional(b, "stop_file", rep.StopFile)
	b = append(wire.AppendName(b, "proposals_waiting"), uintText(waiting)...)
	b = append(wire.AppendName(b, "orders"), '[')
	for i, o := range rep.Orders {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendText(append(b, '{'), "intent_id", string(o.Intent))
		b = wire.AppendText(b, "agent", string(o.Agent))
		b = o.Order.AppendJSON(wire.AppendName(b, "order"))
		b = wire.AppendText(b, "state", string(o.State))
		b = append(wire.AppendOptional(b, "message", o.Message), '}')
	}
	return append(b, "]}"...)
}

func killStatusCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "status", Short: "Say what is stopped, by whom and why", Args: exactly(0),
		Long: `Say which kill switches are engaged. A journal that cannot be read reads as
engaged. Exit code 0 means that none is, 1 that one is.`,
		Example: "  sallyport kill status --json",
	}
	withJSON(a, c, "print one object")
	return runs(c, func(ctx context.Context, _ []string) error {
		home, err := resolveHome(a.home, a.getenv)
		if err != nil {
			return err
		}
		cfg, err := loadConfig(home)
		if err != nil { // what is stopped is told whatever the configuration says
			a.note("%s\nLooking without it", plain(err))
			cfg = defaultConfig(home)
		}
		stops, err := a.stops(ctx, home, cfg)
		if err != nil {
			return err
		}
		if a.json {
			b := append(wire.AppendName([]byte{'{'}, "engaged"), trueOrFalse(len(stops) > 0)...)
			b = append(wire.AppendName(b, "stops"), ledger.AppendStops(nil, stops)...)
			return errors.Join(a.printJSON(append(b, '}')), resultIf(len(stops) > 0))
		}
		if len(stops) == 0 {
			a.printf("Nothing is stopped.\n")
			return nil
		}
		for _, s := range stops {
			a.printf("%s  %s\n%s", a.color().bold(a.color().red("STOPPED")), s.Scope, fields(stopRows(s)))
		}
		return silent(exitDenied)
	})
}

// stopRows are the rows of a stop: who engaged it, since when, why, and what it does beyond the usual to what worked.
func stopRows(s ledger.Stop) []row {
	since, orders := "", ""
	if !s.Since.IsZero() {
		since = moment(s.Since)
	}
	switch {
	case s.Keep:
		orders = "left as they were"
	case s.All:
		orders = "cancelled, exits of positions as well"
	}
	return []row{{"by", show(s.By)}, {"since", since}, {"reason", printable(s.Reason)}, {"orders", orders}}
}

// stops reads which kill switches are engaged, here or at the daemon that is named where there is no journal here.
func (a *app) stops(ctx context.Context, home string, cfg config) ([]ledger.Stop, error) {
	address, err := a.daemonAddress(cfg)
	switch {
	case err != nil:
		return nil, err
	case exists(filepath.Join(home, gate.JournalName)):
	case address != "":
		c, err := a.dialAgent(cfg, a.granted.tier)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		stops, err := c.Stops(ctx)
		return stops, daemonProblem(err)
	case a.getenv(peopleVariable) != "":
		credential, err := a.credential(ctx)
		if err != nil {
			return nil, err
		}
		c, err := a.needPeople(credential)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		stops, err := c.Stops(ctx)
		return stops, daemonProblem(err)
	}
	return a.stopsHere(ctx, home, cfg)
}

// stopsHere reads which kill switches are engaged. What cannot be read is engaged.
func (a *app) stopsHere(ctx context.Context, home string, cfg config) ([]ledger.Stop, error) {
	if err := a.founded(home); err != nil && !exists(filepath.Join(home, gate.StopName)) {
		return nil, err
	}
	g, err := a.wire(ctx, reading, home, cfg)
	if err != nil {
		unreadable := ledger.Stop{By: "sallyport", Reason: "the journal cannot be read: " + plain(a.gateProblem(err)), Since: a.now()}
		return append(fileStops(home), unreadable), nil
	}
	defer g.Close()
	stops, _ := g.Stops(ctx) // with an error they hold that everything is stopped
	return stops, nil
}

// fileStops returns what the stop file says, if there is one, without the journal.
func fileStops(home string) []ledger.Stop {
	stop, there := gate.StopFile(home)
	if !there {
		return nil
	}
	if fi, err := os.Lstat(filepath.Join(home, gate.StopName)); err == nil {
		stop.Since = fi.ModTime()
	}
	return []ledger.Stop{stop}
}

func killResetCommand(a *app) *cobra.Command {
	var scope, reason string
	c := &cobra.Command{
		Use: "reset --scope S --reason R", Short: "Let orders pass again: a person, with a reason", Args: exactly(0),
		Long: `Lift the stop of exactly one scope. Only a person may, with their credential and a
reason, which go on record. Other stops stay engaged.`,
		Example: "  sallyport kill reset --scope everything --reason \"the feed is right again\"",
	}
	scopeFlag(c, &scope)
	c.Flags().StringVar(&reason, "reason", "", "why, `R` (required)")
	withJSON(a, withCredential(a, c, yourCredential), "print one object")
	c.PreRunE = func(*cobra.Command, []string) error {
		if !c.Flags().Changed("reason") {
			return usageOf(c, "--reason is missing; a reset needs one")
		}
		if strings.TrimSpace(reason) == "" {
			return usageOf(c, "--reason is empty; a reset needs one")
		}
		_, err := parseScope(scope, "")
		return err
	}
	return runs(c, func(ctx context.Context, _ []string) error {
		s, err := parseScope(scope, "")
		if err != nil {
			return err
		}
		credential, err := a.credential(ctx)
		if err != nil {
			return err
		}
		o, err := a.openDaemonOrHere(ctx, reading, credential)
		if err != nil {
			return err
		}
		defer o.Close()
		if err := o.Reset(ctx, s, strings.TrimSpace(reason)); err != nil {
			return daemonProblem(err)
		}
		if a.json {
			b := wire.AppendText([]byte{'{'}, "scope", s.String())
			return a.printJSON(append(append(wire.AppendName(b, "reset"), "true"...), '}'))
		}
		a.printf("Orders of %s may pass again.\n", s)
		return nil
	})
}
