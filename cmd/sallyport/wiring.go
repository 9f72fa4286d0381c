package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sallyport/broker/paper"
	"sallyport/gate"
	"sallyport/journal"
	"sallyport/mcp"
	"sallyport/policy"
	"sallyport/trade"
)

// paperAccount is the account of the paper venue.
const paperAccount trade.Account = "paper"

// paperName is the paper venue's database file in the data directory.
const paperName = "paper.db"

// use is what a command wants of the gate.
type use uint8

const (
	reading    use = iota // what is on record; creates nothing, reaches no venue
	permitting            // decide for somebody else to execute; creates nothing, reaches no venue
	venue                 // what is on record and at the venue; creates nothing
	trading               // decide and execute; creates what is missing
	founding              // create what is missing, and no more
	serving               // decide and execute for everybody else, from now on; creates what is missing
)

// proveWithin is how long a hook looks whether a policy is sound that nobody has found sound yet.
//
//limit:cli-hook-proof A hook takes at most 1 second of its 2 to find out whether a policy is sound; beyond it denies POLICY_UNPROVED, until an operator's command has left on record that it is.
const proveWithin = time.Second

// creates reports whether a use makes a data directory where there is none.
func (u use) creates() bool { return u == trading || u == founding || u == serving }

// opened is a gate with the venue behind it, if the use has one. Where the data directory is a daemon's, the venue can
// only be looked at: the gate does not reach it.
type opened struct {
	*gate.Gate
	venue   *paper.Broker
	daemons bool
}

// Close closes the gate and then the venue.
func (o opened) Close() error {
	err := o.Gate.Close()
	if o.venue != nil {
		err = errors.Join(err, o.venue.Close())
	}
	return err
}

// openGate wires a gate as flags, environment and configuration say.
func (a *app) openGate(ctx context.Context, u use) (opened, config, error) {
	home, cfg, err := a.dataDir()
	if err != nil {
		return opened{}, cfg, err
	}
	if !u.creates() {
		if err := a.founded(home); err != nil {
			return opened{}, cfg, err
		}
	}
	if u.creates() && u != serving { // which tells it in its log
		if warning := exposed(home); warning != "" {
			a.note("%s", warning)
		}
	}
	fresh := !exists(filepath.Join(home, gate.JournalName))
	o, err := a.wire(ctx, u, home, cfg)
	if err == nil && fresh && a.running != "init" && a.running != "serve" { // which tell it in their own way
		a.tellFounded(home, cfg, o.Policy())
	}
	return o, cfg, a.gateProblem(err)
}

// tellFounded says that a command has made the data directory because there was none.
func (a *app) tellFounded(home string, cfg config, v gate.PolicyView) {
	which := "the policy is " + showPath(cfg.Policy)
	if v.SHA256 == hashOf(policy.Default()) {
		which = "the default policy is in force"
	}
	a.note("made a new data directory at %s; %s", showPath(home), which)
}

// founded refuses a data directory without a journal.
func (a *app) founded(home string) error {
	switch {
	case exists(filepath.Join(home, gate.JournalName)):
		return nil
	case exists(filepath.Join(home, gate.FoundedName)):
		return a.gateProblem(gate.ErrJournalLost)
	}
	cfg, err := loadConfig(home)
	if err != nil {
		cfg = defaultConfig(home)
	}
	return usage(a.whereHome(home, cfg), "there is no data directory with a journal at %s", showPath(home))
}

// noHome is what helps where there is no data directory.
const noHome = "'sallyport init' makes one; SALLYPORT_HOME or --data-dir names another."

// whereHome is what helps where there is no data directory: where a daemon has it, making another would not.
func (a *app) whereHome(home string, cfg config) string {
	address, err := a.elsewhere(home, cfg)
	if address == "" || err != nil {
		return noHome
	}
	return "The daemon at " + showPath(address) + " has it: run this where the daemon runs, or name the data directory by SALLYPORT_HOME or --data-dir."
}

// wire puts together the venue with its quotes, and the gate in front of it.
func (a *app) wire(ctx context.Context, u use, home string, cfg config) (o opened, err error) {
	if err := gate.PrepareHome(home, u.creates()); err != nil {
		return opened{}, err
	}
	path := filepath.Join(home, paperName)
	_, missing := os.Stat(path)
	in := installationOf(home, cfg)
	gc := in.gate(a)
	gc.Create, gc.Daemon = u.creates(), u == serving
	if u == permitting {
		gc.ProveWithin = a.proves
	}
	if u == trading || u == serving || u == venue && missing == nil {
		o.venue, err = paper.Open(ctx, paper.Config{Path: path, Quotes: in.exchange.quotes(), Instruments: in.listed, Cash: cfg.Cash, Now: a.now})
		if err != nil {
			return opened{}, err
		}
		gc.Broker = o.venue
	}
	o.Gate, err = gate.Open(ctx, gc)
	if u == venue && errors.Is(err, gate.ErrDaemonRequired) {
		gc.Broker, o.daemons = nil, true
		o.Gate, err = gate.Open(ctx, gc)
	}
	if err != nil {
		if o.venue != nil {
			err = errors.Join(err, o.venue.Close())
		}
		return opened{}, err
	}
	return o, nil
}

// gateProblem classifies why a gate could not be opened, or failed.
func (a *app) gateProblem(err error) error {
	var broken *journal.Broken
	var p *problem
	switch {
	case err == nil, errors.As(err, &p):
		return err
	case errors.As(err, &broken):
		return finding(strings.TrimSpace(a.other("audit verify", "'sallyport audit verify' walks the whole chain.")+
			" Keep the file as it is, and compare it with a backup."), "the journal cannot be used: %s", brokenText(broken))
	case errors.Is(err, gate.ErrJournalLost):
		return finding("Put a backup of "+gate.JournalName+" in its place, or begin afresh in another directory.", "%s", gate.ErrJournalLost)
	case errors.Is(err, gate.ErrOtherVenue):
		return finding("Put back the "+paperName+" that belongs to this journal, or name a new data directory; nothing is executed until then.", "%s", plain(err))
	case errors.Is(err, gate.ErrProtects):
		return finding("A person ends them through the daemon: start 'sallyport serve', and name your credential in SALLYPORT_CREDENTIAL_FILE; then cancel again.",
			"%s", plain(err)).coded(policy.ApprovalRequired)
	case errors.Is(err, gate.ErrDaemonRequired):
		return daemonRequired()
	case errors.Is(err, gate.ErrDaemonRuns):
		return usage("Stop it first, or name another data directory by SALLYPORT_HOME or --data-dir.", "%s", gate.ErrDaemonRuns)
	case errors.Is(err, journal.ErrBusy):
		return (&problem{exit: exitInternal, what: "another process holds the journal's lock", repair: "Try again."}).coded(policy.JournalUnavailable)
	case errors.Is(err, fs.ErrPermission):
		return usage("Make it readable and writable for this user, or name another by SALLYPORT_HOME or --data-dir.", "%s", plain(err))
	case errors.Is(err, fs.ErrNotExist):
		what, _, _ := strings.Cut(plain(err), "; run sallyport init")
		return usage(strings.TrimSpace(a.other("init", "'sallyport init' makes one;")+" SALLYPORT_HOME or --data-dir names another."), "%s", what)
	case isDamaged(plain(err)):
		return finding("Keep the file as it is, and put a backup in its place.", "%s", plain(err))
	}
	if what, command, ok := strings.Cut(strings.Replace(plain(err), "; run: ", "; run ", 1), "; run chmod "); ok {
		return usage("Run chmod "+command, "%s", what)
	}
	if home, cfgErr := a.whereData(); cfgErr == nil && diskFull(home) {
		return (&problem{
			exit: exitInternal, what: "nothing can be recorded: the disk is full that has " + showPath(home),
			repair: "Make room there, then try again; 'sallyport kill' works without it.",
		}).coded(policy.JournalUnavailable)
	}
	return &problem{exit: exitInternal, what: plain(err), repair: a.other("doctor", "'sallyport doctor' looks for the cause.")}
}

// whereData is the data directory that was meant.
func (a *app) whereData() (string, error) {
	if a.getenv == nil {
		return "", errors.New("there is no environment")
	}
	return resolveHome(a.home, a.getenv)
}

// diskFull reports whether the disk of a directory has no room for a record.
func diskFull(dir string) bool {
	var st syscall.Statfs_t
	return syscall.Statfs(dir, &st) == nil && st.Bavail*uint64(st.Bsize) < 64<<10
}

// daemonRequired says that the data directory is a daemon's, and how to reach it.
func daemonRequired() *problem {
	return usage("'sallyport serve' starts it. Connect to it: SALLYPORT_DAEMON=unix:DIR/run/agents.sock with the agent's token in SALLYPORT_TOKEN_FILE.",
		"this data directory belongs to a daemon, and nobody else decides in it").coded(policy.DaemonRequired)
}

// isDamaged reports whether an error says that a database file is none, or not whole.
func isDamaged(text string) bool {
	return strings.Contains(text, " is not an SQLite database") || strings.Contains(text, " is damaged")
}

// tools wires the tools to a gate. Beside the origin that a caller names, the server of the Model Context
// Protocol knows the Claude Code session that started it.
func (a *app) tools(g agentGate, who caller) (*mcp.Tools, error) {
	return mcp.New(mcp.Config{
		Gate: g, Now: a.now, Agent: who.agent, Tier: who.tier, ClaudeSession: trade.Session(a.getenv("CLAUDE_CODE_SESSION_ID")),
		Version: version, Log: a.log(),
	})
}
