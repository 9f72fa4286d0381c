package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sallyport/trade"
)

// app is what the commands share: the process's own streams, environment, clock and randomness, and the flags that
// every command has.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	getenv func(string) string
	now    func() time.Time
	random func(*[10]byte)
	proves time.Duration // how long a hook looks whether a policy is sound

	granted grant // what this process may do, read once
	secret  descriptor
	lines   *bufio.Reader // what is typed, once a line was asked for

	home  given // --data-dir
	agent given // --agent
	json  bool  // --json

	running string // the command, without the program's name, such as audit list
}

// given is a flag's text that knows whether it was given: an empty one is no default.
type given struct {
	text string
	set  bool
}

// String implements pflag.Value.
func (g *given) String() string { return g.text }

// Set implements pflag.Value.
func (g *given) Set(text string) error {
	g.text, g.set = text, true
	return nil
}

// Type implements pflag.Value.
func (g *given) Type() string { return "string" }

// newApp returns the app of this process.
func newApp() *app {
	return &app{stdin: os.Stdin, stdout: &output{file: os.Stdout}, stderr: os.Stderr, getenv: os.Getenv, now: time.Now, random: fillRandom, proves: proveWithin}
}

// fillRandom never fails: without the system's randomness crypto/rand ends the program.
func fillRandom(b *[10]byte) { _, _ = rand.Read(b[:]) }

// color returns the paint of standard output.
func (a *app) color() paint { return paint{wantsColor(a.stdout, a.getenv)} }

// interrupted returns a context that ends with SIGINT or SIGTERM, or when its terminal goes away.
func interrupted() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// unlessInterrupted does what takes its time and looks at no signal. What is interrupted goes on until the process ends, and
// nobody waits for it.
func unlessInterrupted[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := work()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, &problem{exit: exitInterrupted, what: "it was interrupted; nothing was changed"}
	}
}

// dataDir returns the data directory and its configuration, checked. It need not exist.
func (a *app) dataDir() (string, config, error) {
	home, err := resolveHome(a.home, a.getenv)
	if err != nil {
		return "", config{}, err
	}
	exists, err := checkHome(home)
	if err != nil {
		return "", config{}, err
	}
	c := defaultConfig(home)
	if exists {
		if c, err = loadConfig(home); err != nil {
			return "", config{}, err
		}
	}
	c.Agent, err = a.agentName(c.Agent)
	return home, c, err
}

// agentName returns who proposes: the flag, else SALLYPORT_AGENT, else what the configuration says.
func (a *app) agentName(configured trade.Agent) (trade.Agent, error) {
	name := a.getenv(agentVariable)
	if a.agent.set {
		name = a.agent.text
	}
	switch {
	case name == "" && !a.agent.set:
		return configured, nil
	case !isName(name):
		return "", usage("Use 1 to 64 of A-Z a-z 0-9 . _ -", "the agent's name %q is not valid", show(name))
	}
	return trade.Agent(name), nil
}

// printLines calls f with a buffered standard output and flushes it. A reader that has gone away ends the command
// quietly, as for every filter.
func (a *app) printLines(f func(w *bufio.Writer) error) error {
	w := bufio.NewWriterSize(a.stdout, 1<<16)
	if err := f(w); err != nil {
		w.Flush()
		return err
	}
	if err := w.Flush(); err != nil {
		return internal(fmt.Errorf("standard output cannot be written: %w", err))
	}
	return nil
}

// printJSON writes one object and a line feed.
func (a *app) printJSON(object []byte) error {
	return a.printLines(func(w *bufio.Writer) error {
		w.Write(object)
		return w.WriteByte('\n')
	})
}

// printf writes for people.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.stdout, format, args...) }

// note writes a remark for people to standard error.
func (a *app) note(format string, args ...any) { a.tell(fmt.Sprintf(format, args...)) }

// tell writes lines for people to standard error, under the program's name and within the output's width.
func (a *app) tell(text string) {
	fmt.Fprint(a.stderr, indent("", showLines("sallyport: "+text)))
}

// other returns a sentence that sends people to a command, unless it is the one that is running.
func (a *app) other(command, sentence string) string {
	if a.running == command {
		return ""
	}
	return sentence
}
