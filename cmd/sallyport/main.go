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
			fmt.Fprintf(a.stderr, "sallyport: internal error: %v\nWhat was recorded and sent is in 'sallyport audit list'. Please report this.\n", show(fmt.Sprint(r)))
			code = exitInternal
		}
	}()
	if len(args) == 1 && (args[0] == "version" || args[0] == "--version") {
		printVersion(a)
		return exitFine
	}
	return a.report(execute(a, args))
}

// report prints a command's error, with its repair, and returns the exit code.
func (a *app) report(err error) int {
	var s silent
	var p *problem
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &s):
		return int(s)
	case errors.As(err, &p):
		fmt.Fprintf(a.stderr, "sallyport: %s\n", showLines(p.what))
		if p.repair != "" {
			fmt.Fprintf(a.stderr, "%s\n", strings.TrimSpace(p.repair))
		}
		return p.code
	}
	fmt.Fprintf(a.stderr, "sallyport: %s\n", showLines(err.Error()))
	return exitInternal
}
