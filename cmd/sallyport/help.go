package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpCommand prints the help of the command that its words name.
func helpCommand() *cobra.Command {
	find := func(c *cobra.Command, words []string) (*cobra.Command, error) {
		at := c.Root()
		for _, w := range words {
			i := slices.IndexFunc(at.Commands(), func(sub *cobra.Command) bool { return sub.Name() == w })
			switch {
			case i >= 0:
				at = at.Commands()[i]
			case slices.Contains(at.ValidArgs, w):
				return at, nil
			default:
				return nil, noCommand(at, w)
			}
		}
		return at, nil
	}
	return &cobra.Command{
		Use: "help [COMMAND]...", Short: "Print the help of a command", GroupID: groupKeep,
		Long:    "Print the help of a command, as COMMAND --help does.",
		Example: "  sallyport help audit verify",
		RunE: func(c *cobra.Command, words []string) error {
			of, err := find(c, words)
			if err != nil {
				return err
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, words []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			if at, err := find(c, words); err == nil {
				for _, sub := range at.Commands() {
					if sub.IsAvailableCommand() {
						names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// help prints a command's help within 80 columns.
func (t *tree) help(c *cobra.Command, _ []string) {
	if words := c.Flags().Args(); len(words) > 0 && c.HasAvailableSubCommands() && !slices.Contains(c.ValidArgs, words[0]) {
		t.strayed = noCommand(c, words[0])
		return
	}
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
	if c.HasParent() && !c.HasAvailableSubCommands() && !strings.Contains(text, "xit code") {
		b.WriteString("\nExit codes:\n  0 done, 1 refused or not found, 2 usage or configuration, 3 a failure\n")
	}
	if c.HasExample() {
		b.WriteString("\nExamples:\n" + strings.TrimRight(c.Example, "\n") + "\n")
	}
	helpCommands(&b, c)
	helpFlags(&b, "Flags:", c.LocalFlags())
	helpFlags(&b, "Flags of every command:", c.InheritedFlags())
	if !c.HasParent() {
		b.WriteString("\nExit codes:\n  0 allowed or fine, 1 denied or a finding, 2 usage or configuration,\n  3 a failure of Sallyport's own, 4 held for a person,\n  130 interrupted at a question or in a search\n")
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
	for _, g := range groups {
		var rows [][]string
		for _, sub := range subs {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
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
		"demo", "init", "check", "order", "propose", "orders", "positions", "cancel", "serve", "people", "agents", "proposals", "approve",
		"decline", "kill", "reduce", "mcp", "hook", "tool", "audit", "policy", "replay", "doctor", "backup", "version", "completion", "help", "add", "remove", "rotate", "list", "show", "verify", "head", "resolve", "settle", "export", "validate", "explain", "headroom", "test", "diff", "convert", "schema", "hash", "default",
	}, name)
}

func helpFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if flags.HasAvailableFlags() {
		b.WriteString("\n" + title + "\n" + flags.FlagUsagesWrapped(width))
	}
}
