package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/ledger"
)

func completionCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "completion SHELL", Short: "Print the completion script of a shell", GroupID: groupKeep,
		Args: oneOf("shell"), ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Long: `Print the script that lets a shell complete commands, flags and the ids of recent
intents: bash, zsh, fish or powershell.`,
		Example: `  source <(sallyport completion bash)
  sallyport completion fish > ~/.config/fish/completions/sallyport.fish`,
	}
	return runs(c, func(_ context.Context, args []string) error {
		switch args[0] {
		case "bash":
			return c.Root().GenBashCompletionV2(a.stdout, true)
		case "zsh":
			return c.Root().GenZshCompletion(a.stdout)
		case "fish":
			return c.Root().GenFishCompletion(a.stdout, true)
		}
		return c.Root().GenPowerShellCompletionWithDesc(a.stdout)
	})
}

// completion offers what may stand behind a flag or as an argument.
type completion = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective)

// completes gives a flag its completion. The flag is there, so this cannot fail.
func completes(c *cobra.Command, flag string, f completion) {
	_ = c.RegisterFlagCompletionFunc(flag, f)
}

// words offers fixed words.
func words(all ...string) completion {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// files offers files.
func files(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// directories offers directories.
func directories(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// offered is how many intents are offered.
//
//limit:cli-completions Completion offers the ids of at most 20 intents, the newest.
const offered = 20

// intents offers the newest intents that are wanted, and behind the id whatever next offers.
func (a *app) intents(wanted func(ledger.Decision) bool, next ...string) completion {
	return func(c *cobra.Command, args []string, _ string) (ids []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			if len(args) == 1 {
				ids = next
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		}
		ctx := c.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		g, _, err := a.openGate(ctx, reading)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer g.Close()
		ds, err := g.Audit(ctx, gate.MaxAudit)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ds = slices.DeleteFunc(ds, func(d ledger.Decision) bool { return !wanted(d) })
		for _, d := range ds[:min(len(ds), offered)] {
			ids = append(ids, cobra.CompletionWithDesc(string(d.Intent), stateWord(d)+" "+orderLine(d.Order)))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}
