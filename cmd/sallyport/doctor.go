package main

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/hook"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/market"
	"sallyport/policy"
)

func doctorCommand(a *app) *cobra.Command {
	var harness, settings string
	c := &cobra.Command{
		Use: "doctor", SuggestFor: []string{"status"}, Short: "Check that everything is in order, and armed", GroupID: groupKeep, Args: exactly(0),
		Long: `Check the data directory: permissions, configuration, policy, journal (opened as
every command opens it, schema and durability settings read back, the whole chain
walked), clock, quotes, and that the gate denies a canary order that no policy
can allow; that the paper venue is the one that the journal knows; and outcomes
that nobody knows; kill switches and the stop file; and where a daemon has the data
directory, that it runs, that somebody can approve, and whom it takes this process
for. Where there is no data directory here it looks at the connection to the
configured daemon alone. With --harness and --settings also that the hook is really armed in that
settings file. Other data directories are named: limits hold within one.

Exit code 0 means that all is well, 1 that there is a finding; each comes with
what to do about it.`,
		Example: "  sallyport doctor\n  sallyport doctor --harness claude --settings ~/.claude/settings.json",
	}
	c.Flags().StringVar(&harness, "harness", "", "the harness `H` whose settings are inspected: "+strings.Join(harnesses(), ", "))
	c.Flags().StringVar(&settings, "settings", "", "the settings `FILE` of that harness")
	withJSON(a, c, "print one object")
	completes(c, "harness", words(harnesses()...))
	completes(c, "settings", files)
	return runs(c, func(ctx context.Context, _ []string) error {
		if (harness == "") != (settings == "") {
			return usageOf(c, "--harness and --settings are given together")
		}
		e := &examination{app: a}
		e.examine(ctx)
		if harness != "" {
			if err := e.inspect(ctx, harness, settings); err != nil {
				return err
			}
		}
		return e.report()
	})
}

// examine looks at everything, one step after the other.
func (e *examination) examine(ctx context.Context) {
	var err error
	if e.home, err = resolveHome(e.app.home, e.app.getenv); err != nil {
		e.problem("data directory", err)
		return
	}
	if !exists(e.home) && e.away(ctx) {
		return
	}
	if !e.directory() {
		e.others()
		return
	}
	if _, e.cfg, err = e.app.dataDir(); err != nil {
		e.problem("configuration", err)
		e.others()
		return
	}
	if exists(filepath.Join(e.home, configName)) {
		e.ok("configuration", "%s is valid", configName)
	} else {
		e.ok("configuration", "no %s; the defaults hold", configName)
	}
	e.tier()
	e.files()
	e.secrets()
	e.quotes()
	e.instruments()
	e.gate(ctx)
	e.connection(ctx)
	e.person(ctx)
	e.others()
}

// directory examines the data directory itself; without it there is nothing more to see.
func (e *examination) directory() bool {
	const name = "data directory"
	there, err := checkHome(e.home)
	switch {
	case err != nil:
		e.problem(name, err)
		return false
	case !there:
		e.finding(name, "Run 'sallyport init', or name another by SALLYPORT_HOME or --data-dir.", "there is none at %s", showPath(e.home))
		return false
	}
	if fi, err := os.Stat(e.home); err == nil && fi.Mode().Perm()&0o077 != 0 {
		e.finding(name, "chmod 700 "+showPath(e.home), "others can read %s (mode %04o)", showPath(e.home), fi.Mode().Perm())
		return true
	}
	e.ok(name, "%s, private", showPath(e.home))
	return true
}

// files examines who can change or read what lies in the data directory.
func (e *examination) files() {
	good := true
	given := e.given()
	paths := slices.Clone(given)
	for _, n := range []string{configName, gate.JournalName, gate.JournalName + "-wal", gate.JournalName + "-shm", paperName, paperName + "-wal", paperName + "-shm"} {
		paths = append(paths, filepath.Join(e.home, n))
	}
	for i, path := range paths {
		fi, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			e.finding("files", "Make it readable for this user.", "%s", plain(err))
		case othersCanChange(fi) != "":
			e.finding("files", "chmod 600 "+showPath(path)+" as its owner.", "%s %s", showPath(path), othersCanChange(fi))
		case i >= len(given) && filepath.Base(path) == configName && fi.Mode().Perm()&0o077 != 0:
			e.note("files", "others can read %s (mode %04o); it holds no secret", showPath(path), fi.Mode().Perm())
			continue
		case i >= len(given) && fi.Mode().Perm()&0o077 != 0:
			e.finding("files", "chmod 600 "+showPath(path), "others can read %s (mode %04o)", showPath(path), fi.Mode().Perm())
		default:
			continue
		}
		good = false
	}
	for _, path := range given { // who can write the directory can replace the file
		dir := filepath.Dir(path)
		fi, err := os.Stat(dir)
		if err == nil && dir != e.home && fi.Mode()&os.ModeSticky == 0 && othersCanChange(fi) != "" {
			e.finding("files", "Move "+showPath(path)+" into a directory of this user's own.", "the directory %s %s", showPath(dir), othersCanChange(fi))
			good = false
		}
	}
	if good {
		e.ok("files", "nobody else can change them")
	}
}

// given are the files that the operator gives: by them it is judged, and who can write them decides.
func (e *examination) given() []string {
	paths := []string{e.cfg.Policy, e.cfg.Quotes, e.cfg.Instruments}
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Sources)) {
		paths = append(paths, e.cfg.Sources[name])
	}
	return paths
}

func (e *examination) quotes() {
	book, err := (&market.File{Path: e.cfg.Quotes}).Book()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.note("quotes", "no %s; paper orders rest until there is one ('sallyport init --quotes-sample' writes a sample)", showPath(e.cfg.Quotes))
	case err != nil:
		e.finding("quotes", "Correct the line, or write the file anew.", "%s", plain(err))
	default:
		e.ok("quotes", "%s", plural(uint64(book.Len()), "symbol"))
	}
}

// gate opens the gate as every command does, and asks it.
func (e *examination) gate(ctx context.Context) {
	if address, err := e.app.elsewhere(e.home, e.cfg); address != "" && err == nil {
		e.ok("journal", "none here; the daemon at %s has it", showPath(address))
		return
	}
	err := e.app.founded(e.home)
	var g opened
	if err == nil {
		g, err = e.app.wire(ctx, reading, e.home, e.cfg)
	}
	if err != nil {
		e.problem("journal", e.app.gateProblem(err))
		e.policy(nil)
		for _, s := range fileStops(e.home) {
			e.finding("kill switch", "Put the journal in order; then a person lifts it: sallyport kill reset --scope "+s.Scope.String()+" --reason TEXT", "engaged: %s", stopText(s))
		}
		return
	}
	defer g.Close()
	e.ok("journal", "opened; schema is this version's, synchronous FULL, as read back")
	v := g.Policy()
	e.policy(&v)
	e.hooks(v)
	e.prepared(ctx, g.Gate, v)
	if err := g.Ready(ctx); err != nil {
		e.finding("locks", "Put the data directory in order: journal.db.next, journal.db.main and run are Sallyport's own.",
			"nothing can be recorded: %s", plain(err))
	} else {
		e.ok("locks", "the journal's lock was taken and given back")
	}
	e.chain(ctx, g.Gate)
	e.clock(ctx, g.Gate)
	e.canary(ctx, g.Gate)
	e.stopped(ctx, g.Gate)
	e.control(ctx, g.Gate)
	e.venue(ctx)
	e.outcomes(ctx, g)
}

func (e *examination) chain(ctx context.Context, g *gate.Gate) {
	const name = "chain"
	bar := e.app.startProgress("records verified")
	head, err := g.Verify(ctx, nil, func(done, total journal.Seq) { bar.at(uint64(done), uint64(total)) })
	bar.end()
	var broken *journal.Broken
	switch {
	case errors.As(err, &broken):
		e.finding(name, "Keep the file as it is, and compare it with a backup.", "%s", brokenText(broken))
	case err != nil:
		e.finding(name, "Try again; see that the disk is in order.", "it cannot be walked: %s", plain(err))
	default:
		e.ok(name, "%s, head %s", plural(uint64(head.Seq), "record"), shortHead(head))
	}
}

// clockTolerance is how far the clock may be behind the newest record: beyond it the gate denies every order.
//
//limit:doctor-clock A clock more than 5 seconds behind the newest record is a finding.
const clockTolerance = 5 * time.Second

func (e *examination) clock(ctx context.Context, g *gate.Gate) {
	newest, err := g.Newest(ctx)
	now := e.app.now()
	switch {
	case err != nil:
		e.finding("clock", "Try again; see that the disk is in order.", "the newest record cannot be read: %s", plain(err))
	case newest.Sub(now) > clockTolerance:
		e.finding("clock", "Set the clock; until then every order is denied.", "it is %v behind the newest record", newest.Sub(now).Round(time.Second))
	default:
		e.ok("clock", "%s UTC, not behind the newest record", now.UTC().Format(time.DateTime))
	}
}

// canaryOrder is an order that no policy can allow: its value passes the largest number that a policy can hold.
const canaryOrder = `{"symbol":"CANARY","side":"buy","quantity":"999999999999","order_type":"limit","limit_price":"999999999999"}`

// canary checks that the gate denies. It is a dry run: nothing is recorded.
func (e *examination) canary(ctx context.Context, g *gate.Gate) {
	d, err := findTool(defaultTool, toolNames())
	if err != nil {
		e.problem("canary", err)
		return
	}
	on := onAccount{installation: installationOf(e.home, e.cfg)}
	if on.Checker, err = g.Checker(ctx, nil); err != nil {
		e.problem("canary", e.app.gateProblem(err))
		return
	}
	on.look(ctx, e.app)
	r := on.Check(callOf(d, []byte(canaryOrder), gate.Origin{Agent: e.cfg.Agent, Surface: "cli", Tool: defaultTool}))
	if r.Verdict != policy.Deny || r.Order.IsZero() {
		e.finding("canary", "Stop all agents and report this.", "the gate did not deny an order that no policy can allow: %s", r.Verdict)
		return
	}
	var codes []string
	for i := range r.Reasons {
		code := r.Reasons[i].Code
		if code == policy.PositionUnavailable {
			e.finding("canary", "'sallyport positions' compares them; until they are known no order is allowed that needs them.", "what the account holds is not known: %s", code)
			return
		}
		codes = append(codes, string(code))
	}
	e.ok("canary", "an order that no policy can allow is denied: %s", strings.Join(codes, ", "))
}

// venue opens the paper venue as every command that executes does, if there is one.
func (e *examination) venue(ctx context.Context) {
	const name = "venue"
	if !exists(filepath.Join(e.home, paperName)) {
		e.ok(name, "no %s yet; the first order makes one", paperName)
		return
	}
	g, err := e.app.wire(ctx, venue, e.home, e.cfg)
	if err != nil {
		e.problem(name, e.app.gateProblem(err))
		return
	}
	defer g.Close()
	e.ok(name, "%s opens, and has what this journal knows of it", paperName)
}

// listedOutcomes is how many unknown outcomes are listed.
//
//limit:doctor-outcomes The doctor lists at most 10 unknown outcomes, and counts the rest.
const listedOutcomes = 10

// outcomes finds orders of which nobody knows whether they executed.
func (e *examination) outcomes(ctx context.Context, g opened) {
	const name = "outcomes"
	open, err := openOrders(ctx, g)
	if err != nil {
		e.finding(name, "Try again; see that the disk is in order.", "the open orders cannot be read: %s", plain(err))
		return
	}
	n := 0
	for _, o := range open {
		if o.decision.State != ledger.OutcomeUnknown {
			continue
		}
		if n++; n <= listedOutcomes {
			e.finding(name, "Look at the broker, then: "+resolveCommand(o.Intent)+", or rejected.", "intent %s is unknown: %s, since %s UTC; its exposure stays reserved",
				o.Intent, orderLine(o.Order), clock(o.At))
		}
	}
	switch {
	case n > listedOutcomes:
		e.finding(name, "'sallyport orders' lists them.", "and %s more", count(uint64(n-listedOutcomes)))
	case n == 0:
		e.ok(name, "none is unknown")
	}
}

// readSettings reads a harness's settings, which are small.
func readSettings(ctx context.Context, path string) ([]byte, error) {
	f, done, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer done()
	return readLimited(f, path)
}

// inspect says whether the hook is armed in a harness's settings file.
func (e *examination) inspect(ctx context.Context, harness, settings string) error {
	target, err := e.app.target(harness)
	if err != nil {
		return err
	}
	target.Starts = func(path string) bool {
		fi, err := os.Stat(path)
		return err == nil && fi.Mode().IsRegular() && fi.Mode().Perm()&0o111 != 0
	}
	name := harness + " hook"
	raw, err := readSettings(ctx, settings)
	if err != nil {
		e.finding(name, "Put there what 'sallyport hook print "+harness+"' shows.", "not armed: %s", plain(err))
		return nil
	}
	for _, f := range hook.Inspect(target, raw) {
		switch f.Severity {
		case hook.OK:
			e.ok(name, "%s", f.Text)
		case hook.Warn:
			e.note(name, "%s", f.Text)
		case hook.Fail:
			e.finding(name, "", "%s", f.Text)
		}
	}
	return nil
}

// others names data directories beside this one: each has limits of its own.
func (e *examination) others() {
	user := e.app.getenv("HOME")
	dirs := []string{e.app.getenv(homeVariable)}
	if user != "" {
		dirs = append(dirs, filepath.Join(user, ".sallyport"))
	}
	hermes := []string{e.app.getenv("HERMES_HOME")}
	if user != "" {
		hermes = append(hermes, filepath.Join(user, ".hermes"))
		profiles, err := filepath.Glob(filepath.Join(user, ".hermes", "profiles", "*"))
		if err == nil {
			hermes = append(hermes, profiles...)
		}
	}
	for _, h := range hermes {
		if h != "" {
			dirs = append(dirs, filepath.Join(h, "plugin-data", "sallyport"))
		}
	}
	seen := map[string]bool{e.home: true}
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if dir == "" || err != nil || seen[abs] {
			continue
		}
		seen[abs] = true
		if exists(filepath.Join(abs, gate.JournalName)) {
			e.note("elsewhere", "%s is a data directory too; it has its own policy, limits and record", showPath(abs))
		}
	}
}
