package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"sallyport/gate"
	"sallyport/hook"
	"sallyport/store"
)

// hookArguments reports whether the command line is a harness's hook, and which harness's: hook HARNESS, with
// --data-dir anywhere. Help and printing are the command tree's. Whatever else follows hook is answered as a hook would
// answer an unknown harness: a denial.
func hookArguments(a *app, args []string) (harness string, ok bool) {
	if len(args) == 0 || args[0] != "hook" {
		return "", false
	}
	var words []string
	for i := 1; i < len(args); i++ {
		dir, joined := strings.CutPrefix(args[i], "--data-dir=")
		switch {
		case args[i] == "--help" || args[i] == "-h":
			return "", false
		case joined:
			a.home = given{dir, true}
		case args[i] == "--data-dir" && i+1 < len(args):
			i++
			a.home = given{args[i], true}
		default:
			words = append(words, args[i])
		}
	}
	if len(words) > 0 && words[0] == "print" {
		a.home = given{}
		return "", false
	}
	return strings.Join(words, " "), true
}

// runHook answers one event of a harness. Whatever fails before the hook itself is reported through it, as a denial.
func runHook(a *app, harness string) int {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	defer time.AfterFunc(listenAfter, func() { stopWhenInterrupted(ctx, stop) }).Stop()
	return hook.Run(ctx, hookConfig(a, harness), a.stdin, a.stdout, a.stderr)
}

// listenAfter is how long a hook lives before it listens for signals. Most have ended by then: to listen takes as long
// as to open the journal's file, and a signal that comes earlier ends the process as one does that has not begun.
const listenAfter = 10 * time.Millisecond

// stopWhenInterrupted stops the work at a signal.
func stopWhenInterrupted(ctx context.Context, stop func()) {
	signalled, release := interrupted()
	defer release()
	select {
	case <-signalled.Done():
		stop()
	case <-ctx.Done():
	}
}

func hookConfig(a *app, harness string) (hc hook.Config) {
	hc.Harness = harness
	defer func() {
		if p := recover(); p != nil {
			hc.GuardsErr = fmt.Errorf("reading the configuration failed: %v", p)
		}
	}()
	a.granted = readGrant(a.getenv)
	home, cfg, err := a.dataDir()
	if err != nil {
		hc.GuardsErr = err
		return hc
	}
	hc.Guards, hc.Agent = cfg.Guards, cfg.Agent
	hc.Tier = a.granted.tier
	hc.Open = func(ctx context.Context) (hook.Gate, error) { return a.hookGate(ctx, home, cfg) }
	return hc
}

// leaving is the gate of a hook, whose process ends when it has answered. It sends nothing and holds no lease, so there
// is nothing to close but the journal.
type leaving struct {
	opened
	journal string // its path
}

func leavingGate(g opened, home string) leaving {
	return leaving{opened: g, journal: filepath.Join(home, gate.JournalName)}
}

// Close leaves the journal to the next process if that may be.
func (l leaving) Close() error {
	if store.MayLeave(l.journal) {
		return nil
	}
	return l.opened.Close()
}
