// Command sallyport decides the orders of AI agents by an operator's policy, records every decision, and executes on
// paper what is allowed. Its main function only dispatches; the commands are one file a group, and everything is wired
// by hand in wiring.go.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

func main() { os.Exit(run(newApp(), os.Args[1:])) }

// run executes one command and returns its exit code. Hooks are started once a tool call, so they never reach the
// command tree; neither does version.
func run(a *app, args []string) (code int) {
	if harness, ok := hookArguments(a, args); ok {
		return runHook(a, harness)
	}
	defer func() {
		if r := recover(); r != nil {
			code = a.report(&problem{
				exit: exitInternal, what: "internal error: " + show(fmt.Sprint(r)),
				repair: "What was recorded and sent is in 'sallyport audit list'. Please report this.",
			})
		}
	}()
	a.granted = readGrant(a.getenv)
	if len(args) == 1 && (args[0] == "version" || args[0] == "--version") {
		printVersion(a)
		if a.lost() != nil {
			return exitInternal
		}
		return exitFine
	}
	code = a.report(execute(a, args))
	if err := a.lost(); err != nil && code == exitFine {
		fmt.Fprintf(a.stderr, "sallyport: standard output cannot be written: %s\n", plain(err))
		code = exitInternal
	}
	return code
}

// report prints a command's error, with its repair, and returns the exit code. A command with --json prints it as one
// object on standard output, where a program looks for it; what is for people goes to standard error.
func (a *app) report(err error) int {
	var s silent
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &s):
		return int(s)
	}
	p := problemOf(err)
	if a.json {
		if err := a.printJSON(p.appendJSON(nil)); err == nil {
			return p.exit
		}
	}
	if text := string(p.code); text != "" && !strings.HasPrefix(p.what, text) {
		a.tell(text + ": " + p.what)
	} else {
		a.tell(p.what)
	}
	if p.repair != "" {
		fmt.Fprint(a.stderr, indent("", showLines(p.repair)))
	}
	return p.exit
}
