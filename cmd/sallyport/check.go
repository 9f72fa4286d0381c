package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/rest"
	"sallyport/trade"
)

func checkCommand(a *app) *cobra.Command {
	var policyFile, tool string
	c := &cobra.Command{
		Use: "check [FILE|-]", Short: "Judge orders from JSON Lines without executing or recording them",
		GroupID: groupStart, Args: between(0, 1),
		Long: `Judge orders as a dry run: JSON Lines in, one decision a line out, in order, as
they come. Nothing is executed, reserved or recorded, and lines do not see each
other. With --tool each line is the arguments of that tool; without it each line
is {"tool":T,"args":{...}}. A blank line is a faulty line.

The policy and the state of the data directory are read once, at the start: one
run is one dry run over one policy, whose SHA-256 stands in every decision. With
--policy a draft is tried instead, wherever it lies; without a data directory
the account is then empty. Without a data directory here, and with a daemon
configured, each line is judged by the daemon. Whether a hook has permitted a call is not part of a
dry run: require_hook in sallyport.json changes nothing here.

With --json each decision has the number of its line as line.

Exit codes: 0 all were allowed, 1 any was denied.`,
		Example: `  sallyport check --tool paper_place_order_a orders.jsonl
  sallyport check --policy draft.json --json < calls.jsonl | jq .verdict`,
	}
	c.Flags().StringVar(&policyFile, "policy", "", "judge by the policy in `F` instead of the one in force")
	toolFlag(c, &tool, "", toolNames())
	completes(c, "policy", files)
	c.ValidArgsFunction = files
	withJSON(a, c, "print one decision object a line")
	return runs(c, func(ctx context.Context, args []string) error {
		check, cfg, err := a.openCheck(ctx, policyFile)
		if err != nil {
			return err
		}
		s := &stream{check: check, cfg: cfg}
		if err := s.speak(tool); err != nil {
			return err
		}
		in, done, err := a.openInput(ctx, args)
		if err != nil {
			return err
		}
		defer done()
		return a.checkAll(ctx, s, in)
	})
}

// openCheck returns what judges each line: the policy and the state of the data directory, or the daemon that is
// configured where there is no data directory here.
func (a *app) openCheck(ctx context.Context, policyFile string) (func(gate.Call) ledger.Decision, config, error) {
	home, cfg, err := a.dataDir()
	if err != nil {
		return nil, cfg, err
	}
	address, err := a.daemonAddress(cfg)
	if err != nil {
		return nil, cfg, err
	}
	if address == "" || policyFile != "" || exists(filepath.Join(home, gate.JournalName)) {
		on, err := a.openAccount(ctx, policyFile)
		if err != nil {
			return nil, cfg, err
		}
		return on.Check, on.cfg, nil
	}
	c, err := a.dialAgent(cfg, a.granted.tier)
	if err != nil {
		return nil, cfg, err
	}
	return func(call gate.Call) ledger.Decision {
		for {
			d := c.Check(ctx, call)
			if len(d.Reasons) != 1 || d.Reasons[0].Code != rest.RateExceeded || d.RetryAfter == 0 {
				return d
			}
			select {
			case <-time.After(d.RetryAfter):
			case <-ctx.Done():
				return d
			}
		}
	}, cfg, nil
}

// readPolicyDraft reads a policy that is not in force, whoever owns it.
func readPolicyDraft(ctx context.Context, path string) ([]byte, error) {
	f, done, err := open(ctx, path)
	if err != nil {
		return nil, usage("Name a policy file, or none for the policy in force.", "the policy cannot be read: %s", plain(err))
	}
	defer done()
	raw, err := readLimited(f, path)
	if err != nil {
		return nil, usage("A policy is a small JSON file.", "the policy cannot be read: %s", plain(err))
	}
	return raw, nil
}

// openInput opens the file that the arguments name, or standard input.
func (a *app) openInput(ctx context.Context, args []string) (io.Reader, func(), error) {
	if len(args) == 0 || args[0] == "-" {
		if isTerminal(a.stdin) {
			a.note("reading JSON Lines from the terminal; end with Ctrl-D")
		}
		return interruptible(ctx, a.stdin), func() {}, nil
	}
	f, done, err := open(ctx, args[0])
	if err != nil {
		return nil, nil, usage("Name a file of JSON Lines, or - for standard input.", "the input cannot be read: %s", plain(err))
	}
	return f, done, nil
}

// checkAll judges every line and prints a decision for each.
func (a *app) checkAll(ctx context.Context, s *stream, in io.Reader) error {
	show := appendCheckLine
	if a.json {
		show = appendCheckJSON
	}
	bar, color := a.startProgress("lines judged"), a.color()
	var denied, named, unnamed uint64
	err := a.printLines(func(w *bufio.Writer) error {
		var buf []byte
		return s.each(ctx, in, func(n uint64, d ledger.Decision, more bool) error {
			if codeOfDecision(d) != exitFine {
				denied++
			}
			switch {
			case d.Tool != "":
				named++
			case namesNoTool(d):
				unnamed++
			}
			buf = show(buf[:0], n, d, color)
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
	if unnamed > 0 && named == 0 {
		a.note("no line names its tool. If each is the arguments of one tool, say which: check --tool %s", defaultTool)
	}
	if denied > 0 {
		return result(exitDenied)
	}
	return nil
}

// namesNoTool reports whether a line lacks the wrapper around the arguments.
func namesNoTool(d ledger.Decision) bool {
	for i := range d.Reasons {
		if d.Reasons[i].Code == trade.FieldMissing && d.Reasons[i].Field == "tool" {
			return true
		}
	}
	return false
}

// appendCheckJSON appends one decision as an object, with the number of its line.
func appendCheckJSON(dst []byte, n uint64, d ledger.Decision, _ paint) []byte {
	dst = strconv.AppendUint(append(dst, `{"line":`...), n, 10)
	opened := len(dst)
	dst = d.AppendJSON(dst)
	dst[opened] = ','
	return append(dst, '\n')
}

// appendCheckLine shows one decision: what came of it, and below it every reason.
func appendCheckLine(dst []byte, n uint64, d ledger.Decision, p paint) []byte {
	word := strings.ToLower(headline(d))
	const margin = "                  "
	head := hang(fmt.Sprintf("%5d  %-7s  ", n, word), margin[:16], orderLine(d.Order))
	dst = append(dst, strings.Replace(head, word, p.verdict(d, word), 1)...)
	for i := 0; i < len(d.Reasons); {
		same := sameCode(d.Reasons[i:])
		text := indent(margin, string(d.Reasons[i].Code)+": "+sentences(d.Reasons[i:i+same]))
		dst = append(dst, margin[:16]...)
		dst = append(dst, strings.TrimPrefix(text, margin)...)
		i += same
	}
	return dst
}
