// Package hook answers the tool-call hooks of agent harnesses: Claude Code, Codex, Gemini CLI, Qwen Code and Hermes.
//
// A hook is a permitting surface. Somebody else makes the call after it said yes, so it decides, records and reserves
// through the gate before it answers, and learns from the event after the call what became of it. It fails closed:
// whatever goes wrong before a call, the answer is a denial that all five harnesses understand.
package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// Gate is what a hook needs of the gate. *gate.Gate is one.
type Gate interface {
	// Authorize decides and records a call, and reserves what it allowed. It always returns a decision.
	Authorize(ctx context.Context, c gate.Call) ledger.Decision
	// Report records the outcome of a call that was authorized; found is false where none matches.
	Report(ctx context.Context, r gate.Report) (d ledger.Decision, found bool, err error)
	Close() error
}

// Config is what Run needs. Harness and Open are required.
type Config struct {
	Harness   string  // claude, codex, gemini, qwen or hermes
	Guards    []Guard // the operator's, beside the names that are always guarded
	GuardsErr error   // why the guards could not be read; then every call is denied
	// Open opens the gate. It is called for a guarded call only.
	Open     func(ctx context.Context) (Gate, error)
	Agent    trade.Agent   // who the harness works for
	Tier     trade.Tier    // of this process; below tier 2 every order is denied
	Deadline time.Duration // for the whole answer; 0 is MaxWait
	// Dialects finds a dialect by name; nil is dialect.Find.
	Dialects func(name string) (*dialect.Dialect, bool)
}

//limit:hook-deadline A hook that has no answer after 2 seconds denies; harnesses are told to wait 5.
const MaxWait = 2 * time.Second

//limit:hook-event-bytes An event is read up to 1 MiB (1,048,576 bytes); a longer one is denied unread.
const maxEvent = 1 << 20

//limit:hook-write-wait Writing an answer that nobody reads is given up after 250 milliseconds, and the exit code denies.
const maxWrite = 250 * time.Millisecond

// The exit codes: every harness here takes 2 as a denial, and 1 as a hook that failed, which lets the call pass.
const (
	exitPass = 0
	exitDeny = 2
)

// Run reads one event of a harness from stdin, answers it on stdout and stderr, and returns the exit code: 0 with
// output allows, 0 without output leaves the call to the harness, 2 denies. Exactly one answer is written. An event
// after a call always returns 0, and what went wrong is said on stderr.
func Run(ctx context.Context, cfg Config, stdin io.Reader, stdout, stderr io.Writer) (exitCode int) {
	wait := cfg.Deadline
	if wait <= 0 {
		wait = MaxWait
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	r := &run{cfg: cfg, answered: make(chan answer, 1), closed: make(chan struct{})}
	go r.work(ctx, stdin)
	select {
	case a := <-r.answered:
		code := a.write(stdout, stderr)
		select { // the journal is released before the process goes, unless that takes longer than the answer may
		case <-r.closed:
		case <-ctx.Done():
		}
		return code
	case <-ctx.Done():
		return r.late(ctx.Err(), wait).write(stdout, stderr)
	}
}

// run is one event on its way. The worker alone touches it, except for the atomic member and the channels.
type run struct {
	cfg      Config
	seen     atomic.Pointer[event] // as far as it is known, for an answer that the worker no longer gives
	answered chan answer
	closed   chan struct{} // closed when the gate is released
}

// work computes the one answer. It may outlive Run: then nobody takes what it sends.
func (r *run) work(ctx context.Context, stdin io.Reader) {
	deepen()
	defer close(r.closed)
	defer func() {
		if p := recover(); p != nil {
			r.answered <- r.trouble(policy.InternalError, fmt.Sprintf("panic: %v", p))
		}
	}()
	if g := r.judge(ctx, stdin); g != nil {
		_ = g.Close() // what was decided is durable already
	}
}

// stackNeed is about what the work takes of a stack, in bytes.
const stackNeed = 24 << 10

// deepen gives the new goroutine at once the stack that it will take. Left alone it copies its stack at every doubling
// on the way down, with all that is on it.
//
//go:noinline
func deepen() {
	var space [stackNeed]byte
	touch(&space)
}

//go:noinline
func touch(space *[stackNeed]byte) { space[0] = 1 }

// judge sends the answer and returns the gate to be closed, if it was opened.
func (r *run) judge(ctx context.Context, stdin io.Reader) Gate {
	h, known := findHarness(r.cfg.Harness)
	if !known {
		r.answered <- deny(nil, misused(r.cfg.Harness))
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(stdin, maxEvent+1))
	ev, bad := h.read(raw)
	r.seen.Store(&ev)
	switch {
	case err != nil:
		r.answered <- r.trouble(trade.JSONMalformed, "the event cannot be read: "+err.Error())
	case bad != nil:
		r.answered <- r.trouble(bad.code, bad.text)
	case r.cfg.GuardsErr != nil:
		r.answered <- r.trouble(policy.GuardsUnreadable, "the list of guards cannot be read, so nothing is allowed: "+r.cfg.GuardsErr.Error())
	default:
		return r.rule(ctx, h, &ev)
	}
	return nil
}

// misused answers a hook that is armed for no harness: a call may hang on it, so it denies, and says what to write.
func misused(harness string) string {
	what := "no harness is named"
	if harness != "" {
		what = fmt.Sprintf("%q is no harness that is known", trade.Printable(harness, 64))
	}
	return "usage: sallyport hook HARNESS, with claude, codex, gemini, qwen or hermes; " + what + ", so nothing is allowed"
}

// rule finds the guard that holds for the event's tool, and only then opens the gate.
func (r *run) rule(ctx context.Context, h harness, ev *event) Gate {
	g, guarded := r.cfg.guard(ev.tool)
	if !guarded {
		r.answered <- answer{}
		return nil
	}
	if ev.kind.isAfter() && g.dialect == nil {
		r.answered <- answer{stderr: "this tool is under a guard that no dialect reads; its outcome was not recorded"}
		return nil
	}
	opened, err := r.cfg.open(ctx)
	if err != nil {
		r.answered <- r.trouble(policy.JournalUnavailable, "the gate cannot be opened: "+err.Error())
		return nil
	}
	if ev.kind.isAfter() {
		r.answered <- r.report(ctx, opened, h, ev, g)
	} else {
		r.answered <- r.authorize(ctx, opened, h, ev, g)
	}
	return opened
}

func (c Config) open(ctx context.Context) (Gate, error) {
	if c.Open == nil {
		return nil, errors.New("no gate is configured")
	}
	g, err := c.Open(ctx)
	if err == nil && g == nil {
		err = errors.New("no gate is configured")
	}
	return g, err
}

func (c Config) dialect(name string) (*dialect.Dialect, bool) {
	if c.Dialects != nil {
		return c.Dialects(name)
	}
	return dialect.Find(name)
}

// trouble answers an event for which no decision could be made.
func (r *run) trouble(code trade.Code, text string) answer {
	ev := r.seen.Load()
	if ev != nil && ev.kind.isAfter() {
		return answer{stderr: string(code) + ": " + text}
	}
	return deny(ev, string(code)+": "+text)
}

// late answers when the deadline came first or the caller gave up.
func (r *run) late(err error, wait time.Duration) answer {
	if errors.Is(err, context.DeadlineExceeded) {
		return r.trouble(policy.InternalError, fmt.Sprintf("no decision within %s; nothing was allowed", wait))
	}
	return r.trouble(policy.InternalError, "the hook was interrupted; nothing was allowed")
}
