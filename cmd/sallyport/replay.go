package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/replay"
	"sallyport/trade"
	"sallyport/wire"
)

func replayCommand(a *app) *cobra.Command {
	var policyFile string
	c := &cobra.Command{
		Use: "replay TAPE|-", Short: "Run a tape of quotes, orders and answers through the policy", GroupID: groupKeep,
		Args: exactly(1),
		Long: `Run a tape through the very code that decides live, on the tape's own clock: JSON
Lines of quotes, orders, fills, approvals and stops in order of time. Nothing is
sent, recorded or changed. docs/tapes.md describes each kind of line, and
'sallyport audit export --tape' writes what really happened as a tape.

The policy is that of --policy, else the one in force here, until a line of the
tape brings another. Without either, a tape that begins with no policy is denied
everything. How proposals wait, where the policy does not say it, and the instruments
are those of this data directory too: the same tape, policy, settings and instruments
give the same output on every machine. With a --data-dir that is not there they are
what a new one would have.

Exit codes: 0 the tape was run to its end, whatever was decided; 2 a line of it is
not one.`,
		Example: `  sallyport audit export --tape > tape.jsonl
  sallyport replay tape.jsonl
  sallyport replay --policy draft.json --json tape.jsonl |
      jq -c 'select(.verdict=="deny")'`,
	}
	c.Flags().StringVar(&policyFile, "policy", "", "judge by the policy in `F` instead of the one in force")
	completes(c, "policy", files)
	c.ValidArgsFunction = files
	withJSON(a, c, "print one object a line, as docs/tapes.md has them")
	return runs(c, func(ctx context.Context, args []string) error {
		cfg, err := a.replayConfig(ctx, policyFile)
		if err != nil {
			return err
		}
		in, done, err := a.openInput(ctx, args)
		if err != nil {
			return err
		}
		defer done()
		return a.printLines(func(w *bufio.Writer) error {
			var out io.Writer = w
			if !a.json {
				out = &printed{each: (&reel{out: w}).line}
			}
			return replayProblem(args[0], replay.Run(ctx, cfg, in, out))
		})
	})
}

// replayConfig finds the policy to begin with, and how proposals wait here.
func (a *app) replayConfig(ctx context.Context, policyFile string) (c replay.Config, err error) {
	in, err := a.installation()
	if err != nil {
		return c, err
	}
	var raw []byte
	if policyFile != "" {
		raw, err = readPolicyDraft(ctx, policyFile)
	} else if raw, _, err = readOwned(in.cfg.Policy); errors.Is(err, fs.ErrNotExist) {
		raw, err = nil, nil // the tape may bring its own; without any nothing is allowed
	} else if err != nil {
		err = usage("Repair it, or name another with --policy.", "the policy in force cannot be read: %s", plain(err))
	}
	if err != nil {
		return c, err
	}
	return in.tape(raw)
}

// replayProblem classifies why a tape was not run to its end.
func replayProblem(tape string, err error) error {
	var at *replay.Error
	var p *problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return p
	case errors.Is(err, context.Canceled):
		return &problem{exit: exitInternal, what: "it was interrupted"}
	case errors.As(err, &at):
		name := showPath(tape)
		if tape == "-" {
			name = "standard input"
		}
		return usage("docs/tapes.md describes every kind of line.", "%s, line %d: %s", name, at.Line, trade.Printable(at.Err.Error(), 1000))
	}
	return internal(err)
}

// reel shows the lines of a replay to people: a line a decision or a change, and at the end how all stands.
type reel struct {
	out  *bufio.Writer
	date string
}

const (
	reelMargin = "                          "
	reelIntent = 12
)

func (r *reel) line(v wire.Value) error {
	if final, n := v.Member("final"); n > 0 {
		return r.final(final)
	}
	text := func(name string) string { return memberText(v, name) }
	at := text("at")
	date, clock, _ := strings.Cut(at, "T")
	if date != r.date {
		r.date = date
		fmt.Fprintf(r.out, "%s UTC\n", date)
	}
	lead := fmt.Sprintf("%-12.12s  %-*s", clock, reelIntent, clip(show(text("intent")), reelIntent))
	if text("verdict") == "" {
		_, err := r.out.WriteString(hang(lead+"  ", reelMargin+"  ", reelWord(text("to"))+": "+printable(text("reason"))))
		return err
	}
	_, err := r.out.WriteString(hang(lead+"  ", reelMargin+"  ", reelDecision(v)))
	return err
}

// reelDecision says what was decided, and why it was not allowed.
func reelDecision(v wire.Value) string {
	word := map[string]string{"allow": "allowed", "hold": "held", "deny": "denied"}[memberText(v, "verdict")]
	if m, n := v.Member("repeated"); n > 0 && m.Text == "true" {
		word = "repeated"
	}
	said := word + ": " + orderIn(v).Line()
	var reasons []policy.Reason
	list, _ := v.Member("reasons")
	for _, r := range list.Elems {
		reasons = append(reasons, policy.Reason{Code: trade.Code(memberText(r, "code")), Message: memberText(r, "message")})
	}
	for len(reasons) > 0 {
		same := sameCode(reasons)
		said += "\n" + string(reasons[0].Code) + ": " + sentences(reasons[:same])
		reasons = reasons[same:]
	}
	return said
}

// orderIn returns the order in an object that a replay prints; the zero Order if there is none.
func orderIn(v wire.Value) trade.Order {
	m, _ := v.Member("order")
	o, _ := trade.ReadOrder(m)
	return o
}

// reelWord is a state in the words of people.
func reelWord(state string) string {
	switch ledger.AuditState(state) {
	case ledger.Allowed:
		return "sent"
	case ledger.Succeeded:
		return "accepted"
	case ledger.Failed:
		return "rejected"
	case ledger.OutcomeUnknown:
		return "unknown"
	case ledger.Blocked:
		return "blocked"
	}
	word := strings.ToLower(strings.TrimPrefix(state, "APPROVAL_"))
	return strings.ReplaceAll(word, "_", " ")
}

// final shows how all stands at the end.
func (r *reel) final(v wire.Value) error {
	r.out.WriteString("At the end:\n")
	for _, m := range v.Members {
		fmt.Fprintf(r.out, "  %s", m.Name)
		if len(m.Value.Members) == 0 {
			r.out.WriteString(": none")
		}
		r.out.WriteByte('\n')
		for _, x := range m.Value.Members {
			said := x.Value.Text
			for _, y := range x.Value.Members {
				switch {
				case y.Name == "order":
					said += "  " + orderIn(x.Value).Line()
				default:
					said += "  " + y.Name + " " + printable(y.Value.Text)
				}
			}
			r.out.WriteString(hang("    "+clip(show(x.Name), 24)+" ", "        ", strings.TrimSpace(said)))
		}
	}
	return nil
}

// memberText returns a member that is text, a number or a boolean; nothing if it is not there.
func memberText(v wire.Value, name string) string {
	m, _ := v.Member(name)
	return m.Text
}
