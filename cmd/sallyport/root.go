package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups of commands in the help.
const (
	groupStart  = "start"
	groupOrders = "orders"
	groupAgents = "agents"
	groupKeep   = "keep"
)

// execute runs the command tree.
func execute(a *app, args []string) error {
	ctx, stop := interrupted()
	defer stop()
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var p *problem
	var s silent
	if err == nil || errors.As(err, &p) || errors.As(err, &s) {
		return err
	}
	// What the commands return is classified, so this is cobra's own complaint about the words of the command line.
	return usage("Run 'sallyport --help' for the commands.", "%s", strings.TrimSpace(err.Error()))
}

// newRoot builds the command tree.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "sallyport",
		Short: "Decide the orders of AI agents by your policy, before a broker sees them",
		Long: `Sallyport stands between AI agents and brokers. An agent proposes an order; your
policy decides it; the decision is recorded before anything acts on it; only
what is allowed executes, on paper. What cannot be proved compliant does not
execute.`,
		Example: `  sallyport demo
  sallyport init --quotes-sample
  sallyport order '{"symbol":"AAPL","side":"buy","quantity":"10",
      "order_type":"limit","limit_price":"150.00"}'
  sallyport audit list`,
		SilenceErrors: true, SilenceUsage: true,
		Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddGroup(
		&cobra.Group{ID: groupStart, Title: "Start here:"}, &cobra.Group{ID: groupOrders, Title: "Orders:"},
		&cobra.Group{ID: groupAgents, Title: "For agents and their harnesses:"}, &cobra.Group{ID: groupKeep, Title: "Keeping watch:"},
	)
	root.AddCommand(
		demoCommand(a), initCommand(a), checkCommand(a), orderCommand(a), ordersCommand(a), positionsCommand(a),
		cancelCommand(a), toolCommand(a), mcpCommand(a), hookCommand(a), auditCommand(a), policyCommand(a),
		doctorCommand(a), backupCommand(a), versionCommand(a),
	)
	root.PersistentFlags().StringVar(&a.home, "data-dir", "", "the data directory `D` (default $SALLYPORT_HOME, else ~/.sallyport)")
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetHelpFunc(help)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageOf(c, "%v", err) })
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveDefault)
	return root
}

// usageOf returns a usage problem that points to the command's help.
func usageOf(c *cobra.Command, format string, args ...any) *problem {
	return usage("Run '"+c.CommandPath()+" --help' for its usage.", format, args...)
}

// exactly wants n arguments.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

// between wants a number of arguments within bounds.
func between(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > most && c.HasAvailableSubCommands():
			return usageOf(c, "%q is not a command of %s", show(args[most]), c.CommandPath())
		case len(args) > most:
			return usageOf(c, "unexpected argument %q", show(args[most]))
		case len(args) < least:
			return usageOf(c, "an argument is missing: %s", c.UseLine())
		}
		return nil
	}
}

// parent is a command that only holds others.
func parent(c *cobra.Command, children ...*cobra.Command) *cobra.Command {
	c.Args = exactly(0)
	c.DisableFlagsInUseLine = true
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(children...)
	return c
}

// runs makes f what a command does. What f returns without a class is a failure of ours.
func runs(c *cobra.Command, f func(ctx context.Context, args []string) error) *cobra.Command {
	c.DisableFlagsInUseLine = true
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
	c.Flags().StringVar(&a.agent, "agent", "", "who proposes: `NAME` (default $SALLYPORT_AGENT, else the configuration's, else local)")
	return c
}

// help prints a command's help within 80 columns.
func help(c *cobra.Command, _ []string) {
	var b strings.Builder
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	b.WriteString(reflow(text) + "\nUsage:\n")
	if !c.HasAvailableSubCommands() || strings.Contains(c.Use, " ") {
		b.WriteString("  " + c.UseLine() + "\n")
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("  " + c.CommandPath() + " COMMAND\n")
	}
	if c.HasExample() {
		b.WriteString("\nExamples:\n" + strings.TrimRight(c.Example, "\n") + "\n")
	}
	helpCommands(&b, c)
	helpFlags(&b, "Flags:", c.LocalFlags())
	helpFlags(&b, "Flags of every command:", c.InheritedFlags())
	if !c.HasParent() {
		b.WriteString("\nExit codes:\n  0 allowed or fine, 1 denied or a finding, 2 usage or configuration,\n  3 a failure of Sallyport's own, 4 held for a person\n")
		b.WriteString("\nRun 'sallyport COMMAND --help' for more about a command.\n")
	}
	fmt.Fprint(c.OutOrStdout(), b.String())
}

// reflow wraps each paragraph to the output's width; one that is indented stays as it is.
func reflow(text string) string {
	var b strings.Builder
	for i, para := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		if strings.HasPrefix(para, " ") {
			b.WriteString(para + "\n")
		} else {
			b.WriteString(indent("", strings.ReplaceAll(para, "\n", " ")))
		}
	}
	return b.String()
}

func helpCommands(b *strings.Builder, c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	subs := slices.Clone(c.Commands()) // in alphabetical order; the help has one that teaches
	slices.SortStableFunc(subs, func(x, y *cobra.Command) int { return rank(x.Name()) - rank(y.Name()) })
	groups := append(slices.Clone(c.Groups()), &cobra.Group{Title: "Commands:"})
	for i, g := range groups {
		var rows [][]string
		for _, sub := range subs {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help" && i == len(groups)-1) {
				rows = append(rows, []string{"  " + sub.Name(), sub.Short})
			}
		}
		if len(rows) > 0 {
			b.WriteString("\n" + g.Title + "\n" + table(rows))
		}
	}
}

// rank says where a command stands in the help, within its group.
func rank(name string) int {
	return slices.Index([]string{
		"demo", "init", "check", "order", "orders", "positions", "cancel", "mcp", "hook", "tool",
		"audit", "policy", "doctor", "backup", "version", "list", "show", "verify", "head", "resolve", "export",
	}, name)
}

func helpFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if flags.HasAvailableFlags() {
		b.WriteString("\n" + title + "\n" + flags.FlagUsagesWrapped(width))
	}
}
