package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/replay"
	"sallyport/trade"
	"sallyport/wire"
)

func auditResolveCommand(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "resolve ID accepted|rejected --reason TEXT", Short: "Settle an unknown outcome by a person's word", Args: exactly(2),
		Long: `Settle the outcome of an intent that is unknown, by your word: accepted keeps its
exposure as executed, rejected releases it. Look at the broker first. Your name and
the reason go on record: that of your credential, which is asked for as soon as the
data directory has an owner ('sallyport people init'), before that your user's.`,
		Example:           "  sallyport audit resolve 01KB9Y2V6T3M8Q4W5X7Z0A1B2C rejected \\\n      --reason \"not in the broker's order list of 30 November\"",
		ValidArgsFunction: a.intents(func(d ledger.Decision) bool { return d.State == ledger.OutcomeUnknown }, "accepted", "rejected"),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, `TEXT` of up to 500 characters (required)")
	withJSON(a, withCredential(a, c, yourCredential), "print the decision object")
	return runs(c, func(ctx context.Context, args []string) error {
		id, err := intentArgument(args[0])
		if err != nil {
			return err
		}
		outcome, err := trade.ParseOutcome(args[1])
		if err != nil || outcome == trade.Unknown {
			return usageOf(c, "%q is not accepted or rejected", show(args[1]))
		}
		g, by, err := a.settling(ctx, c, &reason)
		if err != nil {
			return err
		}
		defer g.Close()
		d, err := g.Resolve(ctx, gate.Resolution{Intent: id, Outcome: outcome, By: by, Reason: reason})
		switch {
		case errors.Is(err, gate.ErrNotUnknown):
			return finding("Only an unknown outcome can be settled; 'sallyport orders' lists those.", "the outcome of intent %s is not unknown: it is %s", id, stateWord(d))
		case err != nil:
			return notFound(err)
		}
		if a.json {
			return a.printJSON(d.AppendJSON(nil))
		}
		a.printf("%s", describe(d, a.color()))
		return nil
	})
}

// settling reads the reason of a settlement, opens the gate and names who settles.
func (a *app) settling(ctx context.Context, c *cobra.Command, reason *string) (g opened, by string, err error) {
	if !c.Flags().Changed("reason") {
		return g, "", usageOf(c, "--reason is missing")
	}
	*reason = strings.TrimSpace(*reason)
	//limit:cli-resolve-reason The reason of a settlement has 1 to 500 characters.
	if n := len([]rune(*reason)); n < 1 || n > 500 {
		return g, "", usageOf(c, "--reason has %d characters; 1 to 500 are asked", n)
	}
	if g, _, err = a.openGate(ctx, reading); err != nil {
		return g, "", err
	}
	if by, err = a.settler(ctx, g); err != nil {
		g.Close()
	}
	return g, by, err
}

func auditSettleCommand(a *app) *cobra.Command {
	var reason, account string
	c := &cobra.Command{
		Use: "settle SYMBOL --account NAME --reason TEXT", Short: "Say that nothing accepted elsewhere is pending any more", Args: exactly(1),
		Long: `What a harness reported as accepted at a venue that tells us nothing stays pending,
as 'sallyport positions' shows it: it may be filled at any time. Look at that broker
first; if none of it is open there any more, this releases it. Positions, and what
Sallyport itself has sent, stay as they are. Your name and the reason go on record.`,
		Example: "  sallyport audit settle AAPL --account alpaca \\\n      --reason \"no order is open at the broker on 30 November\"",
	}
	c.Flags().StringVar(&account, "account", "", "the account's `NAME`, as positions shows it (required)")
	c.Flags().StringVar(&reason, "reason", "", "why, `TEXT` of up to 500 characters (required)")
	withJSON(a, withCredential(a, c, yourCredential), "print what was pending as one object")
	return runs(c, func(ctx context.Context, args []string) error {
		symbol, ok := trade.ParseSymbol(args[0])
		if !ok {
			return usageOf(c, "%q is no symbol", show(args[0]))
		}
		if account == "" {
			return usageOf(c, "--account is missing")
		}
		g, by, err := a.settling(ctx, c, &reason)
		if err != nil {
			return err
		}
		defer g.Close()
		was, err := g.EndPosted(ctx, ledger.PostedEnded{Account: trade.Account(account), Symbol: symbol, By: by, Reason: reason})
		switch {
		case errors.Is(err, gate.ErrNothingPosted):
			return finding("'sallyport positions' shows what is pending; 'sallyport orders' what Sallyport itself has open.",
				"nothing that was reported as accepted is pending in %s of account %s", symbol, show(account))
		case err != nil:
			return err
		}
		if a.json {
			dst := wire.AppendText(wire.AppendText([]byte{'{'}, "account", account), "symbol", symbol.String())
			dst = wire.AppendText(wire.AppendText(dst, "pending_buys", was.PendingBuys.String()), "pending_sells", was.PendingSells.String())
			return a.printJSON(append(dst, '}'))
		}
		a.printf("SETTLED  %s of account %s: buys of %s and sells of %s are pending no more\n", symbol, show(account), was.PendingBuys, was.PendingSells)
		return nil
	})
}

// settler names who settles an outcome. Where people have credentials, only they do.
//
//limit:cli-resolve-person Once a data directory has an owner, an outcome is settled only with the credential of a listed person.
func (a *app) settler(ctx context.Context, g opened) (string, error) {
	people, err := g.People(ctx)
	if err != nil || len(people) == 0 {
		return person(), err
	}
	credential, err := a.credential(ctx)
	if err != nil {
		return "", err
	}
	who, err := g.Identify(ctx, credential, channelTerminal)
	if err != nil {
		return "", refused(err)
	}
	return who.Name(), nil
}

// person names the operating system's user, for the record.
func person() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return show(u.Username)
}

func auditExportCommand(a *app) *cobra.Command {
	var tape bool
	c := &cobra.Command{
		Use: "export", Short: "Write every record as JSON Lines, with the hashes", Args: exactly(0),
		Long: `Write every record, oldest first, one object a line: seq, stream, at, prev_hash,
hash, and body, the record itself as JSON. Decimals are text, times are UTC.

With --tape it writes what happened as a tape instead, which 'sallyport replay'
runs: orders, the broker's answers, fills, approvals and stops. docs/tapes.md says
what is not on record, such as the policies, and so is not on the tape.`,
		Example: "  sallyport audit export > audit.jsonl\n  sallyport audit export --tape > tape.jsonl",
	}
	c.Flags().BoolVar(&tape, "tape", false, "write a tape that 'sallyport replay' runs")
	withJSON(a, c, "print JSON Lines; export prints nothing else")
	return runs(c, func(ctx context.Context, _ []string) error {
		if c.Flags().Changed("json") && !a.json {
			return usageOf(c, "export prints nothing but JSON Lines")
		}
		g, _, err := a.openGate(ctx, reading)
		if err != nil {
			return err
		}
		defer g.Close()
		head, err := g.Head(ctx)
		if err != nil {
			return err
		}
		bar := a.startProgress("records written")
		defer bar.end()
		if tape {
			return a.exportTape(ctx, g, func(r journal.Record) { bar.at(uint64(r.Seq), uint64(max(head.Seq, r.Seq))) })
		}
		return a.printLines(func(w *bufio.Writer) error {
			var prev journal.Hash
			var buf []byte
			return g.Export(ctx, func(r journal.Record) error {
				buf = append(appendRecord(buf[:0], prev, r), '\n')
				prev = r.Hash
				bar.at(uint64(r.Seq), uint64(max(head.Seq, r.Seq)))
				if _, err := w.Write(buf); err != nil {
					return fmt.Errorf("standard output cannot be written: %w", err)
				}
				return nil
			})
		})
	})
}

// exportTape writes what is on record as a tape.
func (a *app) exportTape(ctx context.Context, g opened, told func(journal.Record)) error {
	absent := 0
	err := a.printLines(func(w *bufio.Writer) error {
		x := replay.NewExporter(w)
		err := g.Export(ctx, func(r journal.Record) error {
			told(r)
			return x.Record(r)
		})
		absent = x.Absent
		return err
	})
	if err == nil && absent > 0 {
		a.note("left out %s that were denied for what no tape says, such as the caller's tier", plural(uint64(absent), "order"))
	}
	return err
}

func appendRecord(b []byte, prev journal.Hash, r journal.Record) []byte {
	b = append(wire.AppendName(append(b, '{'), "seq"), uintText(uint64(r.Seq))...)
	b = wire.AppendText(b, "stream", r.Stream)
	b = wire.AppendText(b, "at", r.At.UTC().Format(ledger.TimeFormat))
	b = wire.AppendText(b, "prev_hash", hex.EncodeToString(prev[:]))
	b = wire.AppendText(b, "hash", hex.EncodeToString(r.Hash[:]))
	return append(appendCompact(wire.AppendName(b, "body"), r.Body), '}')
}

// appendCompact appends a JSON value without white space between its tokens; what is not JSON as text, so that a bad
// record can still be looked at.
func appendCompact(b, raw []byte) []byte {
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return wire.AppendString(b, string(raw))
	}
	return append(b, out.Bytes()...)
}
