package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups of commands in the help.
const (
	groupStart   = "start"
	groupOrders  = "orders"
	groupAgents  = "agents"
	groupControl = "control"
	groupKeep    = "keep"
)

// execute runs the command tree.
func execute(a *app, args []string) error {
	ctx, stop := interrupted()
	defer stop()
	t := &tree{app: a}
	root := t.root()
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		return t.strayed
	}
	var p *problem
	var s silent
	if !errors.As(err, &p) && !errors.As(err, &s) {
		// What the commands return is classified, so this is cobra's own complaint about the words of the command line.
		err = usage("Run 'sallyport --help' for the commands.", "%s", strings.TrimSpace(err.Error()))
	}
	if c != nil && c.Flags().Lookup("json") != nil && slices.Contains(args, "--json") {
		a.json = true // it may stand behind the word that is wrong
	}
	return err
}

// tree is the command tree, and what its help could not print.
type tree struct {
	app     *app
	strayed error
}

// root builds the command tree.
func (t *tree) root() *cobra.Command {
	a := t.app
	root := &cobra.Command{
		Use:   "sallyport",
		Short: "Decide the orders of AI agents by your policy, before a broker sees them",
		Long: `Sallyport stands between AI agents and brokers. An agent proposes an order; your
policy decides it; a person approves what you want approved; the decision is
recorded before anything acts on it; only what is allowed executes, on paper. What
cannot be proved compliant does not execute, and anyone can stop everything.`,
		Example: `  sallyport demo
  sallyport init --quotes-sample
  export SALLYPORT_TIER=2
  sallyport order '{"symbol":"AAPL","side":"buy","quantity":"10",
      "order_type":"limit","limit_price":"150.00"}'
  sallyport audit list`,
		SilenceErrors: true, SilenceUsage: true,
		Args:             exactly(0),
		RunE:             func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRun: func(c *cobra.Command, _ []string) { a.running = strings.TrimPrefix(c.CommandPath(), "sallyport ") },
	}
	root.AddGroup(
		&cobra.Group{ID: groupStart, Title: "Start here:"}, &cobra.Group{ID: groupOrders, Title: "Orders:"},
		&cobra.Group{ID: groupControl, Title: "People in control:"},
		&cobra.Group{ID: groupAgents, Title: "For agents and their harnesses:"}, &cobra.Group{ID: groupKeep, Title: "Keeping watch:"},
	)
	root.AddCommand(
		demoCommand(a), initCommand(a), checkCommand(a), orderCommand(a), proposeCommand(a), ordersCommand(a), positionsCommand(a),
		cancelCommand(a), serveCommand(a), peopleCommand(a), agentsCommand(a), proposalsCommand(a), approveCommand(a), declineCommand(a), killCommand(a), reduceCommand(a), toolCommand(a), mcpCommand(a), hookCommand(a), auditCommand(a), policyCommand(a), replayCommand(a),
		doctorCommand(a), backupCommand(a), versionCommand(a), completionCommand(a),
	)
	root.SetHelpCommand(helpCommand())
	root.PersistentFlags().Var(&a.home, "data-dir", "the data directory `D` (default $SALLYPORT_HOME, else ~/.sallyport)")
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetHelpFunc(t.help)
	root.SetFlagErrorFunc(flagProblem)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	completes(root, "data-dir", directories)
	return root
}

// usageOf returns a usage problem that points to the command's help.
func usageOf(c *cobra.Command, format string, args ...any) *problem {
	return usage("Run '"+c.CommandPath()+" --help' for its usage.", format, args...)
}

// flagProblem says what is wrong with a flag, in our words.
func flagProblem(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var valueless *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			return usageOf(c, "unknown flag: -%s", show(letters))
		}
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return usageOf(c, "unknown flag: --%s%s", show(name), perhaps("--", nearest(name, names)))
	case errors.As(err, &valueless):
		return usageOf(c, "--%s needs a value", show(valueless.GetSpecifiedName()))
	case errors.As(err, &invalid):
		f, asked := invalid.GetFlag(), "another value is asked"
		switch f.Value.Type() {
		case "bool":
			asked = "write --" + f.Name + " alone"
		case "uint":
			asked = "a whole number is asked"
		}
		return usageOf(c, "--%s %q is not valid; %s", f.Name, show(invalid.GetValue()), asked)
	}
	return usageOf(c, "%s", show(err.Error()))
}

// nearest returns the names that one, mistyped, may have been meant for.
func nearest(typed string, names []string) (near []string) {
	for _, n := range names {
		if n != "" && (strings.HasPrefix(n, typed) && len(typed) > 1 || distance(strings.ToLower(typed), n) <= min(2, len(n)/2)) {
			near = append(near, n)
		}
	}
	slices.Sort(near)
	return near
}

// distance counts the letters that must be put in, taken out, or changed to make one word of another; of words whose
// lengths alone differ by more than two it says only that.
func distance(a, b string) int {
	if d := len(a) - len(b); d > 2 || d < -2 {
		return max(d, -d)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := last
			if a[i] != b[j] {
				change++
			}
			last = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// perhaps is the end of a sentence about a word that is not known.
func perhaps(mark string, near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + mark + strings.Join(near, " or "+mark) + "?"
}

// noCommand says that a command has no such command below it, and which may have been meant: one of a similar name, one
// that is called so elsewhere, or one of the same name further down.
func noCommand(c *cobra.Command, word string) *problem {
	var names, near []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			names = append(names, sub.Name())
		}
		if slices.Contains(sub.SuggestFor, word) {
			near = append(near, sub.Name())
		}
		for _, below := range sub.Commands() {
			if below.Name() == word && below.IsAvailableCommand() {
				near = append(near, sub.Name()+" "+word)
			}
		}
	}
	near = append(nearest(word, names), near...)
	return usageOf(c, "%q is not a command of %s%s", show(word), c.CommandPath(), perhaps("", near))
}

// exactly wants n arguments.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

// between wants a number of arguments within bounds.
func between(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > most && c.HasAvailableSubCommands():
			return noCommand(c, args[most])
		case len(args) > most:
			return usageOf(c, "unexpected argument %q", show(args[most]))
		case len(args) < least:
			return usageOf(c, "an argument is missing: %s", c.UseLine())
		}
		return nil
	}
}

// oneOf wants exactly one argument, which is one of the command's valid ones.
func oneOf(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := exactly(1)(c, args); err != nil || slices.Contains(c.ValidArgs, args[0]) {
			return err
		}
		return usage("Use one of "+strings.Join(c.ValidArgs, ", ")+".", "the %s %q is not known%s", what, show(args[0]), perhaps("", nearest(args[0], c.ValidArgs)))
	}
}

// parent is a command that only holds others.
func parent(c *cobra.Command, children ...*cobra.Command) *cobra.Command {
	c.Args = exactly(0)
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(children...)
	return c
}

// runs makes f what a command does. What f returns without a class is a failure of ours.
func runs(c *cobra.Command, f func(ctx context.Context, args []string) error) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		err := f(c.Context(), args)
		var p *problem
		var s silent
		if err == nil || errors.As(err, &p) || errors.As(err, &s) {
			return err
		}
		return internal(err)
	}
	return c
}

// withJSON gives a command the flag --json.
func withJSON(a *app, c *cobra.Command, what string) *cobra.Command {
	c.Flags().BoolVar(&a.json, "json", false, what)
	return c
}

// withAgent gives a command the flag --agent.
func withAgent(a *app, c *cobra.Command) *cobra.Command {
	c.Flags().Var(&a.agent, "agent", "who proposes: `NAME` (default $SALLYPORT_AGENT, else the configuration's, else local)")
	return c
}
