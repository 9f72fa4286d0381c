package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sallyport/ledger"
	"sallyport/rest"
	"sallyport/trade"
)

func proposalsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "proposals", Short: "List the proposals that wait for people", GroupID: groupControl, Args: exactly(0),
		Long: `List the proposals that wait for people, or for their execution, oldest first: what
each would do, its worst-case value, for how long it can still be approved, and who
proposes it.`,
		Example: "  sallyport proposals\n  sallyport proposals --json | jq -r .proposal_id",
	}
	withJSON(a, withCredential(a, c, listCredential), "print one decision object a line")
	return runs(c, func(ctx context.Context, _ []string) error {
		all, err := a.proposals(ctx)
		if err != nil {
			return err
		}
		return a.printLines(func(w *bufio.Writer) error {
			if a.json {
				for _, d := range all {
					w.Write(append(d.AppendJSON(nil), '\n'))
				}
				return nil
			}
			w.WriteString(describeProposals(all, a.now()))
			return nil
		})
	})
}

// proposals reads the data directory, which needs no credential, or asks the daemon that SALLYPORT_PEOPLE names.
func (a *app) proposals(ctx context.Context) ([]ledger.Decision, error) {
	if a.getenv(peopleVariable) == "" {
		g, _, err := a.openGate(ctx, reading)
		if err != nil {
			return nil, err
		}
		defer g.Close()
		return g.Proposals(ctx)
	}
	credential, err := a.credential(ctx)
	if err != nil {
		return nil, err
	}
	c, err := a.needPeople(credential)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	all, err := c.Proposals(ctx)
	if err != nil {
		return nil, daemonProblem(err)
	}
	return all, nil
}

func describeProposals(all []ledger.Decision, now time.Time) string {
	if len(all) == 0 {
		return "Nothing waits for people.\n"
	}
	rows := [][]string{{"PROPOSAL", "EXPIRES IN", "ORDER"}}
	for _, d := range all {
		parts := append([]string{orderLine(d.Order) + ", " + d.Order.Notional().Money() + " in all"}, agentPart(d.Agent)...)
		switch {
		case d.State == ledger.ApprovalGranted:
			parts = append(parts, "approved")
		case d.Hold.Approvers > 1:
			parts = append(parts, fmt.Sprintf("approved by %d of %d", len(d.ApprovedBy), d.Hold.Approvers))
		}
		left := max(0, d.Hold.Expires.Sub(now).Truncate(time.Second))
		rows = append(rows, []string{string(d.Intent), left.String(), strings.Join(parts, "\n")})
	}
	return table(rows) + "\nTo see one in full and decide:\n  sallyport approve PROPOSAL\n  sallyport decline PROPOSAL --reason TEXT\n"
}

func approveCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "approve ID", Short: "Approve a proposal, for exactly the terms that it shows", GroupID: groupControl, Args: exactly(1),
		Long: `Show everything about a proposal and approve it. It asks for your credential, and
for the first 8 characters of the order's digest, so that you approve these terms
and no others. The last approval that is needed executes the order at once, after
everything was judged again; the answer says what came of it.

Exit codes: 0 executed or working, 1 it did not count or was not executed, 4 another
person must approve too.`,
		Example: `  sallyport approve 01KB9Y2V6T3M8Q4W5X7Z0A1B2C
  sallyport approve 01KB9Y2V6T3M8Q4W5X7Z0A1B2C --digest 5f3a9c01 \
      --credential-fd 3 3<kim.credential`,
	}
	digest := pressFlags(a, c)
	return runs(c, func(ctx context.Context, args []string) error {
		return a.press(ctx, args[0], *digest, "approve", func(p *rest.PeopleClient, id trade.IntentID, digest string) error {
			d, err := p.Approve(ctx, id, digest)
			if err != nil {
				return daemonProblem(err)
			}
			return a.decided(d)
		})
	})
}

func declineCommand(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "decline ID", Short: "Say no to a proposal", GroupID: groupControl, Args: exactly(1),
		Long: `Show everything about a proposal and say no to it. It asks for the same as approve.
The reason is shown to the agent.`,
		Example: "  sallyport decline 01KB9Y2V6T3M8Q4W5X7Z0A1B2C --reason \"not before the report\"",
	}
	c.Flags().StringVar(&reason, "reason", "", "why, `R`")
	digest := pressFlags(a, c)
	return runs(c, func(ctx context.Context, args []string) error {
		return a.press(ctx, args[0], *digest, "decline", func(p *rest.PeopleClient, id trade.IntentID, digest string) error {
			d, err := p.Decline(ctx, id, digest, strings.TrimSpace(reason))
			switch {
			case err != nil:
				return daemonProblem(err)
			case a.json:
				return a.printJSON(d.AppendJSON(nil))
			}
			a.printf("%s", describe(d, a.color()))
			return nil
		})
	})
}

func pressFlags(a *app, c *cobra.Command) (digest *string) {
	digest = c.Flags().String("digest", "", "the first 8 or more characters `D` of the order's digest (default: ask for them)")
	withJSON(a, withCredential(a, c, yourCredential), "print the decision object; the proposal goes to standard error")
	c.ValidArgsFunction = a.intents(func(d ledger.Decision) bool { return d.State == ledger.ApprovalPending })
	return digest
}

// untrusted begins the line of a brief that holds what the agent itself says, which comes last.
const untrusted = "The agent says"

// bar stands before every further line of it.
const bar = "    | "

// describeBrief shows a brief, each of its lines within the output's width. What is broken off stands further in, and
// what the agent says behind a bar: none of its words can stand where a line of ours begins.
//
//limit:cli-brief-lines Nothing that an agent writes begins a line of the message that an approver is shown.
func describeBrief(text string) string {
	var b strings.Builder
	said := false
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		own := l[:len(l)-len(strings.TrimLeft(l, " "))]
		first, more := own, own+"      "
		switch {
		case said:
			first, more = bar, bar
		case strings.HasPrefix(l, untrusted):
			said, more = true, bar
		}
		for i, part := range wrap(printable(l[len(own):]), width-len(own)-len(bar)) {
			if i > 0 {
				first = more
			}
			b.WriteString(strings.TrimRight(first+part, " ") + "\n")
		}
	}
	return b.String()
}

// press shows a proposal in full, has the person name its digest, and then answers it.
//
//limit:cli-approval-typed An approval or a no from the command line needs the person's credential and the first characters of the digest, typed or given beside it.
func (a *app) press(ctx context.Context, arg, digest, verb string, answer func(*rest.PeopleClient, trade.IntentID, string) error) error {
	id, err := intentArgument(arg)
	if err != nil {
		return err
	}
	credential, err := a.credential(ctx)
	if err != nil {
		return err
	}
	c, err := a.needPeople(credential)
	if err != nil {
		return err
	}
	defer c.Close()
	_, text, err := c.Brief(ctx, id)
	if err != nil {
		return daemonProblem(err)
	}
	out := a.stdout
	if a.json {
		out = a.stderr
	}
	fmt.Fprint(out, describeBrief(text)+"\n")
	if digest == "" {
		digest, err = a.askLine(ctx, "To "+verb+" exactly this, type the 8 characters of its order digest: ")
		if errors.Is(err, errNoTerminal) {
			return usage("Give it with --digest.", "the digest's first characters are asked on a terminal, and standard input is none")
		}
		if err != nil {
			return err
		}
	}
	return answer(c, id, digest)
}
