package main

import (
	"context"

	"github.com/spf13/cobra"

	"sallyport/ledger"
	"sallyport/trade"
	"sallyport/wire"
)

func agentsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "agents", Short: "Say which agents the daemon lets in, and how far", GroupID: groupControl,
		Long: `An agent is let in by the daemon with a token of its own, which carries its name
and its highest tier: 0 reads, 1 proposes and may stop everything, 2 executes. The
environment of its process can only lower it. The token is shown once, when it is
made, and only its hash is kept. Only the owner adds, removes and rotates.`,
		Example: `  sallyport agents add desk --tier 1
  SALLYPORT_DAEMON=unix:$HOME/.sallyport/run/agents.sock \
      SALLYPORT_TOKEN_FILE=desk.token SALLYPORT_TIER=1 sallyport mcp`,
	}
	return parent(c, agentsAddCommand(a), agentsRemoveCommand(a), agentsRotateCommand(a), agentsListCommand(a))
}

func agentsAddCommand(a *app) *cobra.Command {
	tier := ""
	c := &cobra.Command{
		Use: "add NAME --tier N", Short: "Add an agent and show its token", Args: exactly(1),
		Long: `Add an agent with its highest tier, and show the token that is made for it, once.
Only the owner may.`,
		Example: "  sallyport agents add desk --tier 1",
	}
	c.Flags().StringVar(&tier, "tier", "", "the highest tier `N`: 0 read, 1 propose and stop, 2 execute (required)")
	completes(c, "tier", words("0", "1", "2"))
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if !c.Flags().Changed("tier") {
			return usage("Use 0 (read), 1 (propose, and stop everything) or 2 (execute).", "--tier is missing")
		}
		if _, ok := trade.ParseTier(tier); !ok {
			return usage("Use 0 (read), 1 (propose, and stop everything) or 2 (execute).", "--tier %q is no tier", show(tier))
		}
		return nil
	}
	return makes(a, c, "agent", "token", func(o control, ctx context.Context, name trade.Agent) (string, error) {
		t, _ := trade.ParseTier(tier)
		return o.AddAgent(ctx, name, t)
	})
}

func agentsRotateCommand(a *app) *cobra.Command {
	return makes(a, &cobra.Command{
		Use: "rotate NAME", Short: "Give an agent a new token; the old one ends", Args: exactly(1),
		Long:    "Give an agent a new token, shown once. The old one ends at once. Only the owner may.",
		Example: "  sallyport agents rotate desk",
	}, "agent", "token", control.RotateAgent)
}

func agentsRemoveCommand(a *app) *cobra.Command {
	return removes(a, &cobra.Command{
		Use: "remove NAME", Short: "End an agent's token", Args: exactly(1),
		Long:    "End an agent's token at once. Only the owner may. Its orders and proposals stay.",
		Example: "  sallyport agents remove desk",
	}, "agent", control.RemoveAgent)
}

func agentsListCommand(a *app) *cobra.Command {
	return lists(a, &cobra.Command{
		Use: "list", Short: "List the agents with a token", Args: exactly(0),
		Long:    "List the agents that the daemon lets in with a token, and their highest tier.",
		Example: "  sallyport agents list --json",
	}, control.Agents, appendGrant, describeAgents)
}

func describeAgents(all []ledger.Grant) string {
	if len(all) == 0 {
		return "No agent has a token, so the daemon lets nobody in. The owner makes one:\n  sallyport agents add NAME --tier 1\n"
	}
	rows := [][]string{{"AGENT", "TIER", "MAY"}}
	for _, g := range all {
		rows = append(rows, []string{show(string(g.Agent)), g.Tier.String(), tierText(g.Tier)})
	}
	return table(rows)
}

// tierText says what a tier may do.
func tierText(t trade.Tier) string {
	switch t {
	case trade.TierRead:
	case trade.TierPropose:
		return "read, propose, cancel its own, stop everything"
	case trade.TierExecute:
		return "read, propose, cancel its own, stop everything, execute"
	}
	return "read"
}

func appendGrant(b []byte, g ledger.Grant) []byte {
	b = wire.AppendText(append(b, '{'), "agent", string(g.Agent))
	return append(append(wire.AppendName(b, "tier"), g.Tier.String()...), '}')
}
