package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/rest"
	"sallyport/trade"
)

func proposalsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "proposals [ID]", Short: "List the proposals that wait for people, or show one", GroupID: groupControl, Args: between(0, 1),
		Long: `List the proposals that wait for people, or for their execution, oldest first: what
each would do, its worst-case value, for how long it can still be approved, and who
proposes it. With ID show everything about that one, and decide nothing.`,
		Example: "  sallyport proposals\n  sallyport proposals 01KB9Y2V6T3M8Q4W5X7Z0A1B2C\n  sallyport proposals --json | jq -r .proposal_id",
	}
	withJSON(a, withCredential(a, c, listCredential), "print one decision object a line")
	c.ValidArgsFunction = a.intents(func(d ledger.Decision) bool { return d.State == ledger.ApprovalPending })
	return runs(c, func(ctx context.Context, args []string) error {
		if len(args) == 1 {
			return a.showProposal(ctx, args[0])
		}
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

// showProposal shows one proposal as an approver is shown it.
func (a *app) showProposal(ctx context.Context, arg string) error {
	id, err := intentArgument(arg)
	if err != nil {
		return err
	}
	d, text, err := a.brief(ctx, id)
	switch {
	case err != nil:
		return pressProblem(err, id)
	case a.json:
		return a.printJSON(d.AppendJSON(nil))
	}
	a.printf("%s", describeBrief(text))
	return nil
}

// brief reads the data directory, which needs no credential, or asks the daemon that SALLYPORT_PEOPLE names.
func (a *app) brief(ctx context.Context, id trade.IntentID) (ledger.Decision, string, error) {
	if a.getenv(peopleVariable) != "" {
		c, err := a.asPerson(ctx)
		if err != nil {
			return ledger.Decision{}, "", err
		}
		defer c.Close()
		return c.Brief(ctx, id)
	}
	g, _, err := a.openGate(ctx, venue)
	if err != nil {
		return ledger.Decision{}, "", err
	}
	defer g.Close()
	b, err := g.Brief(ctx, id)
	if err != nil {
		return ledger.Decision{}, "", err
	}
	if b.Cash == nil && g.venue != nil {
		if h, err := g.venue.Holdings(ctx); err == nil {
			b.Cash = &h.Cash
		}
	}
	return b.Decision, b.Text(), nil
}

// asPerson asks for the credential and returns a client of the daemon.
func (a *app) asPerson(ctx context.Context) (*rest.PeopleClient, error) {
	credential, err := a.credential(ctx)
	if err != nil {
		return nil, err
	}
	return a.needPeople(credential)
}

// proposals reads the data directory, which needs no credential, or asks the daemon that SALLYPORT_PEOPLE names. It tells
// why nothing could be approved now.
func (a *app) proposals(ctx context.Context) ([]ledger.Decision, error) {
	if a.getenv(peopleVariable) == "" {
		g, cfg, err := a.openGate(ctx, reading)
		if err != nil {
			return nil, err
		}
		defer g.Close()
		if home, _, err := a.dataDir(); err == nil && exists(filepath.Join(home, daemonLock)) && !answers(cfg.Serve.PeopleSocket) {
			a.note("the daemon does not run, so nothing can be approved; 'sallyport serve' starts it")
		}
		stops, err := g.Stops(ctx)
		a.tellStops(stops, err)
		return g.Proposals(ctx)
	}
	c, err := a.asPerson(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	all, err := c.Proposals(ctx)
	if err != nil {
		return nil, daemonProblem(err)
	}
	stops, err := c.Stops(ctx)
	a.tellStops(stops, err)
	return all, nil
}

// tellStops says what is stopped, beside what a command shows.
func (a *app) tellStops(stops []ledger.Stop, err error) {
	for _, s := range stops {
		a.note("STOPPED, so nothing there can be approved:\n  %s", stopText(s)) // its reason may be an agent's: it begins no line
	}
	if err != nil && len(stops) == 0 {
		a.note("the kill switches cannot be read: %s", plain(err))
	}
}

func describeProposals(all []ledger.Decision, now time.Time) string {
	if len(all) == 0 {
		return "Nothing waits for people.\n"
	}
	rows := [][]string{{"PROPOSAL", "EXPIRES IN", "ORDER"}}
	for _, d := range all {
		parts := append([]string{pricedLine(d.Order)}, agentPart(d.Agent)...)
		switch {
		case d.State == ledger.ApprovalGranted:
			parts = append(parts, "approved")
		case d.Hold.Approvers > 1:
			parts = append(parts, fmt.Sprintf("approved by %d of %d", len(d.ApprovedBy), d.Hold.Approvers))
		}
		left := max(0, d.Hold.Expires.Sub(now).Truncate(time.Second))
		rows = append(rows, []string{string(d.Intent), left.String(), strings.Join(parts, "\n")})
	}
	return table(rows) + "\nTo see one in full, and to decide:\n  sallyport proposals PROPOSAL\n  sallyport approve PROPOSAL\n  sallyport decline PROPOSAL --reason TEXT\n"
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
		d, err := a.press(ctx, args[0], *digest, "approve", (*rest.PeopleClient).Approve)
		if err != nil {
			return err
		}
		return a.decided(d)
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
		d, err := a.press(ctx, args[0], *digest, "decline", func(p *rest.PeopleClient, ctx context.Context, id trade.IntentID, digest string) (ledger.Decision, error) {
			return p.Decline(ctx, id, digest, strings.TrimSpace(reason))
		})
		switch {
		case err != nil:
			return err
		case a.json:
			return a.printJSON(d.AppendJSON(nil))
		}
		a.printf("%s", describe(d, a.color()))
		return nil
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

// answer is what a person says to a proposal.
type answer func(p *rest.PeopleClient, ctx context.Context, id trade.IntentID, digest string) (ledger.Decision, error)

// noDigest is the digest of no order.
var noDigest = strings.Repeat("0", 64)

// press shows a proposal in full, has the person name its digest, and then answers it. Where there is nothing to show the
// answer is sent for no terms at all, so that the attempt is on record and the daemon says why it is refused.
//
//limit:cli-approval-typed An approval or a no from the command line needs the person's credential and the first characters of the digest, typed or given beside it.
func (a *app) press(ctx context.Context, arg, digest, verb string, say answer) (d ledger.Decision, err error) {
	id, err := intentArgument(arg)
	if err != nil {
		return d, err
	}
	c, err := a.asPerson(ctx)
	if err != nil {
		return d, err
	}
	defer c.Close()
	_, text, err := c.Brief(ctx, id)
	switch codeOf(err) {
	case policy.ProposalEnded, policy.ProposalUnknown, policy.ProposalExpired:
		_, err = say(c, ctx, id, noDigest)
	}
	if err != nil {
		return d, pressProblem(err, id)
	}
	out := a.stdout
	if a.json {
		out = a.stderr
	}
	fmt.Fprint(out, describeBrief(text)+"\n")
	if digest != "" {
		d, err = say(c, ctx, id, digest)
	} else {
		d, err = a.typed(ctx, c, id, verb, say)
	}
	if err != nil {
		return d, pressProblem(err, id)
	}
	return d, nil
}

// typed has the digest typed.
//
//limit:cli-digest-tries A digest may be typed three times; each wrong one is a refused attempt.
func (a *app) typed(ctx context.Context, c *rest.PeopleClient, id trade.IntentID, verb string, say answer) (d ledger.Decision, err error) {
	for range 3 {
		digest, err := a.askLine(ctx, "To "+verb+" exactly this, type the 8 characters of its order digest: ")
		if errors.Is(err, errNoTerminal) {
			return d, usage("Give it with --digest.", "the digest's first characters are asked on a terminal, and standard input is none")
		}
		if err != nil {
			return d, err
		}
		if d, err = say(c, ctx, id, digest); codeOf(err) != policy.DigestMismatch {
			return d, err
		}
		a.note("that is not the digest that is shown; nothing was done")
	}
	return d, finding("'sallyport proposals "+string(id)+"' shows it.", "%s: the digest was not that of this proposal three times", policy.DigestMismatch).coded(policy.DigestMismatch)
}

// codeOf returns the code of a refusal; empty for any other error.
func codeOf(err error) trade.Code {
	var r *gate.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

// pressProblem says why a proposal was not answered, and what helps the person.
func pressProblem(err error, id trade.IntentID) error {
	classified := daemonProblem(err)
	var p *problem
	if !errors.As(classified, &p) {
		return classified
	}
	switch p.code {
	case policy.ProposalEnded, policy.ProposalExpired:
		p.repair = "'sallyport audit show " + string(id) + "' shows what became of it."
	case policy.ProposalUnknown:
		p.repair = "'sallyport proposals' lists those that wait."
	case policy.DigestMismatch:
		p.repair = "Give at least the first 8 characters of the order digest as it is shown; 'sallyport proposals " + string(id) + "' shows it."
	}
	return p
}
