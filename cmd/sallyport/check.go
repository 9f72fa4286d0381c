package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/ledger"
)

func checkCommand(a *app) *cobra.Command {
	var policyFile, tool string
	c := &cobra.Command{
		Use: "check [--policy F] [--tool T] [--json] [FILE|-]", Short: "Judge orders from JSON Lines without executing or recording them",
		GroupID: groupStart, Args: between(0, 1),
		Long: `Judge orders as a dry run: JSON Lines in, one decision a line out, in order, as
they come. Nothing is executed, reserved or recorded, and lines do not see each
other. With --tool each line is the arguments of that tool; without it each line
is {"tool":T,"args":{...}}. A blank line is a faulty line.

The policy and the state of the data directory are read once, at the start: one
run is one dry run over one policy, whose SHA-256 stands in every decision. With
--policy a draft is tried instead, wherever it lies; without a data directory
the account is then empty.

Exit codes: 0 all were allowed, 1 any was denied.`,
		Example: `  sallyport check --tool paper_place_order_a orders.jsonl
  sallyport check --policy draft.json --json < calls.jsonl | jq .verdict`,
	}
	c.Flags().StringVar(&policyFile, "policy", "", "judge by the policy in `F` instead of the one in force")
	toolFlag(c, &tool, "")
	withJSON(a, c, "print one decision object a line")
	return runs(c, func(ctx context.Context, args []string) error {
		checker, cfg, err := a.openChecker(ctx, policyFile)
		if err != nil {
			return err
		}
		s := &stream{check: checker.Check, cfg: cfg}
		if err := s.speak(tool); err != nil {
			return err
		}
		in, done, err := a.openInput(args)
		if err != nil {
			return err
		}
		defer done()
		return a.checkAll(ctx, s, in)
	})
}

// openChecker reads policy and state once.
func (a *app) openChecker(ctx context.Context, policyFile string) (*gate.Checker, config, error) {
	home, cfg, err := a.dataDir()
	if err != nil {
		return nil, config{}, err
	}
	var raw []byte
	if policyFile != "" {
		if raw, err = readPolicyDraft(policyFile); err != nil {
			return nil, config{}, err
		}
		if _, err := os.Stat(home); errors.Is(err, fs.ErrNotExist) {
			return gate.EmptyChecker(a.now, raw), cfg, nil
		}
	}
	g, cfg, err := a.openGate(ctx, reading)
	if err != nil {
		return nil, config{}, err
	}
	defer g.Close()
	c, err := g.Checker(ctx, raw)
	return c, cfg, err
}

// readPolicyDraft reads a policy that is not in force, whoever owns it.
func readPolicyDraft(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("Name a policy file, or leave --policy out for the policy in force.", "the policy cannot be read: %v", err)
	}
	defer f.Close()
	raw, err := readLimited(f, path)
	if err != nil {
		return nil, usage("A policy is a small JSON file.", "the policy cannot be read: %v", err)
	}
	return raw, nil
}

// openInput opens the file that the arguments name, or standard input.
func (a *app) openInput(args []string) (io.Reader, func(), error) {
	if len(args) == 0 || args[0] == "-" {
		if isTerminal(a.stdin) {
			a.note("reading JSON Lines from the terminal; end with Ctrl-D")
		}
		return a.stdin, func() {}, nil
	}
	f, err := os.Open(args[0])
	if err != nil {
		return nil, nil, usage("Name a file of JSON Lines, or - for standard input.", "the input cannot be read: %v", err)
	}
	return f, func() { f.Close() }, nil
}

// checkAll judges every line and prints a decision for each.
func (a *app) checkAll(ctx context.Context, s *stream, in io.Reader) error {
	show := appendCheckLine
	if a.json {
		show = func(dst []byte, _ uint64, d ledger.Decision, _ paint) []byte { return d.AppendJSON(dst) }
	}
	bar, color := a.startProgress("lines judged"), a.color()
	var denied uint64
	err := a.printLines(func(w *bufio.Writer) error {
		var buf []byte
		return s.each(ctx, in, func(n uint64, d ledger.Decision, more bool) error {
			if codeOfDecision(d) != exitFine {
				denied++
			}
			buf = append(show(buf[:0], n, d, color), '\n')
			if _, err := w.Write(buf); err != nil {
				return fmt.Errorf("standard output cannot be written: %w", err)
			}
			bar.at(n, 0)
			if !more { // whoever feeds lines one by one gets each answer at once
				return w.Flush()
			}
			return nil
		})
	})
	bar.end()
	if err != nil {
		return err
	}
	if !a.json {
		fmt.Fprintf(a.stderr, "%s judged, %s denied\n", count(s.lines), count(denied))
	}
	if denied > 0 {
		return result(exitDenied)
	}
	return nil
}

// appendCheckLine shows one decision on one line of at most 80 columns.
func appendCheckLine(dst []byte, n uint64, d ledger.Decision, p paint) []byte {
	var codes []string
	for i := range d.Reasons {
		codes = append(codes, string(d.Reasons[i].Code))
	}
	word := strings.ToLower(headline(d))
	head := fmt.Sprintf("%5d  %-7s  ", n, word)
	text := orderLine(d.Order)
	if len(codes) > 0 {
		text += ": " + strings.Join(codes, ", ")
	}
	text = clip(text, width-len(head))
	return append(dst, fmt.Sprintf("%5d  %s%*s  %s", n, p.verdict(d, word), 7-len(word), "", text)...)
}
