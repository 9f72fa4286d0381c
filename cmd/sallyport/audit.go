package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/trade"
	"sallyport/wire"
)

func auditCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "audit", Short: "Read, verify, export and settle the record of every decision", GroupID: groupKeep,
		Long: `Every guarded order call is on record, whatever came of it, in a chain of hashes:
whoever changes, removes or inserts a record breaks it. Keep a head elsewhere to
notice also a chain that was cut or made anew.`,
		Example: `  sallyport audit list --limit 50
  sallyport audit verify
  sallyport audit head > head.txt
  sallyport audit verify --head "$(cat head.txt)"`,
	}
	return parent(c, auditListCommand(a), auditShowCommand(a), auditVerifyCommand(a), auditHeadCommand(a),
		auditResolveCommand(a), auditExportCommand(a))
}

func auditListCommand(a *app) *cobra.Command {
	var limit uint
	c := &cobra.Command{
		Use: "list", Short: "List the newest intents, newest first, one row each", Args: exactly(0),
		Long:    "List the newest intents, newest first, one row each, with what became of them.\nTimes are UTC.",
		Example: "  sallyport audit list --limit 50\n  sallyport audit list --json | jq -r .state",
	}
	c.Flags().UintVar(&limit, "limit", 20, fmt.Sprintf("show at most `N` intents, 1 to %d", gate.MaxAudit))
	withJSON(a, c, "print one decision object a line")
	return runs(c, func(ctx context.Context, _ []string) error {
		if limit < 1 || limit > gate.MaxAudit {
			return usage("'sallyport audit export' has all of them.", "--limit %d is not between 1 and %d", limit, gate.MaxAudit)
		}
		g, _, err := a.openGate(ctx, reading)
		if err != nil {
			return err
		}
		defer g.Close()
		ds, err := g.Audit(ctx, int(limit))
		if err != nil {
			return err
		}
		return a.printLines(func(w *bufio.Writer) error {
			if a.json {
				for _, d := range ds {
					w.Write(append(d.AppendJSON(nil), '\n'))
				}
				return nil
			}
			if len(ds) == 0 {
				w.WriteString("Nothing is on record yet.\n")
				return nil
			}
			rows := [][]string{{"TIME", "INTENT", "STATE", "ORDER"}}
			for _, d := range ds {
				rows = append(rows, []string{clock(d.At), string(d.Intent), stateWord(d), clip(auditLine(d), 25)})
			}
			w.WriteString(table(rows))
			return nil
		})
	})
}

// stateWord is the audit state in one short word.
func stateWord(d ledger.Decision) string {
	switch d.State {
	case ledger.OutcomeUnknown:
		return "unknown"
	case ledger.Succeeded, ledger.Failed, ledger.Allowed, ledger.Blocked:
	}
	return strings.ToLower(strings.TrimPrefix(string(d.State), "EXECUTION_"))
}

// auditLine says what was asked; of what is no order, what was wrong.
func auditLine(d ledger.Decision) string {
	if !d.Order.IsZero() {
		return orderLine(d.Order)
	}
	if len(d.Reasons) > 0 {
		return string(d.Reasons[0].Code)
	}
	return "not an order"
}

// intentArgument reads the id of an intent from the command line.
func intentArgument(s string) (trade.IntentID, error) {
	id, ok := trade.ParseIntentID(strings.ToUpper(s))
	if !ok {
		return "", usage("'sallyport audit list' shows the ids.", "%q is not the id of an intent: 26 letters and digits", show(s))
	}
	return id, nil
}

// notFound classifies the error of a command about one intent.
func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return finding("'sallyport audit list' shows the intents on record.", "%v", err)
	}
	return err
}

func auditShowCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "show ID", Short: "Show one intent: its decision and every event of it", Args: exactly(1),
		Long:    "Show the decision on one intent as it stands, and every event of it, oldest first,\nwith the hash of its record.",
		Example: "  sallyport audit show 01KB9Y2V6T3M8Q4W5X7Z0A1B2C",
	}
	withJSON(a, c, "print one object: the decision and its events")
	return runs(c, func(ctx context.Context, args []string) error {
		id, err := intentArgument(args[0])
		if err != nil {
			return err
		}
		g, _, err := a.openGate(ctx, reading)
		if err != nil {
			return err
		}
		defer g.Close()
		d, events, err := g.History(ctx, id)
		if err != nil {
			return notFound(err)
		}
		if a.json {
			return a.printJSON(appendHistory(nil, d, events))
		}
		return a.printLines(func(w *bufio.Writer) error {
			w.WriteString(describe(d, a.color()) + "\n")
			for _, e := range events {
				fmt.Fprintf(w, "%6d  %s  %-12s  %s\n        %s\n", e.Seq, e.At.UTC().Format(ledger.TimeFormat), e.Event, e.State, e.Hash)
			}
			return nil
		})
	})
}

func appendHistory(b []byte, d ledger.Decision, events []ledger.Entry) []byte {
	b = d.AppendJSON(wire.AppendName(append(b, '{'), "decision"))
	b = append(wire.AppendName(b, "events"), '[')
	for i, e := range events {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(wire.AppendName(append(b, '{'), "seq"), uintText(e.Seq)...)
		b = wire.AppendText(b, "at", e.At.UTC().Format(ledger.TimeFormat))
		b = wire.AppendText(b, "event", e.Event)
		b = wire.AppendText(b, "state", string(e.State))
		b = append(wire.AppendName(b, "body"), e.Body...)
		b = append(wire.AppendText(b, "hash", e.Hash), '}')
	}
	return append(b, "]}"...)
}

func uintText(n uint64) string { return strconv.FormatUint(n, 10) }

// headText is a head as it is kept elsewhere: SEQ:HASH.
func headText(h journal.Head) string {
	return uintText(uint64(h.Seq)) + ":" + hex.EncodeToString(h.Hash[:])
}

// shortHead is a head for people who only compare.
func shortHead(h journal.Head) string { return clip(headText(h), 24) }

// parseHead reads what headText writes.
func parseHead(s string) (journal.Head, bool) {
	seq, hash, ok := strings.Cut(strings.TrimSpace(s), ":")
	n, err := strconv.ParseUint(seq, 10, 64)
	raw, errHash := hex.DecodeString(hash)
	h := journal.Head{Seq: journal.Seq(n)}
	if !ok || err != nil || errHash != nil || n == 0 || len(raw) != len(h.Hash) {
		return journal.Head{}, false
	}
	copy(h.Hash[:], raw)
	return h, true
}

func auditVerifyCommand(a *app) *cobra.Command {
	var kept string
	c := &cobra.Command{
		Use: "verify", Short: "Walk the whole chain and name the first bad record", Args: exactly(0),
		Long: `Walk the chain from the first record to the last and recompute every hash, the
index and the snapshot. With --head it must also contain that earlier head, which
finds a chain that was cut, or made anew as a whole.

Exit code 0 means that everything is as it was recorded; 1 names the first record
that is not.`,
		Example: "  sallyport audit verify\n  sallyport audit verify --head \"$(cat head.txt)\"",
	}
	c.Flags().StringVar(&kept, "head", "", "an earlier head, `SEQ:HASH`, that must be contained")
	withJSON(a, c, "print one object")
	return runs(c, func(ctx context.Context, _ []string) error {
		var contains *journal.Head
		if c.Flags().Changed("head") {
			h, ok := parseHead(kept)
			if !ok {
				return usage("'sallyport audit head' prints one.", "--head %q is not SEQ:HASH, a number and 64 hexadecimal digits", show(kept))
			}
			contains = &h
		}
		home, cfg, err := a.dataDir()
		if err != nil {
			return err
		}
		if err := founded(home); err != nil {
			return err
		}
		bar := a.startProgress("records verified")
		head, err := a.verify(ctx, home, cfg, contains, bar)
		bar.end()
		return a.verified(head, err)
	})
}

// verify walks the journal of a data directory. One that is too broken to be opened by the gate is walked all the same,
// so that the first bad record is named and not only the one that opening came upon.
func (a *app) verify(ctx context.Context, home string, cfg config, contains *journal.Head, bar *progress) (journal.Head, error) {
	step := func(done, total journal.Seq) { bar.at(uint64(done), uint64(total)) }
	g, err := a.wire(ctx, reading, home, cfg)
	if err == nil {
		defer g.Close()
		return g.Verify(ctx, contains, step)
	}
	var broken *journal.Broken
	if !errors.As(err, &broken) {
		return journal.Head{}, err
	}
	j, errOpen := journal.Open(ctx, journal.Config{Path: filepath.Join(home, gate.JournalName), LockWait: max(cfg.Deadlines.Lock, time.Millisecond)}) // no lock is taken
	if errOpen != nil {
		return journal.Head{}, err
	}
	defer j.Close()
	if _, errChain := j.Verify(ctx, journal.Verification{Contains: contains, Progress: step}); errors.As(errChain, &broken) {
		return journal.Head{}, errChain
	}
	return journal.Head{}, err
}

// verified prints what came of a verification.
func (a *app) verified(head journal.Head, err error) error {
	var broken *journal.Broken
	if err != nil && !errors.As(err, &broken) {
		return gateProblem(err)
	}
	if a.json {
		b := append(wire.AppendName([]byte{'{'}, "ok"), trueOrFalse(broken == nil)...)
		if broken == nil {
			b = append(wire.AppendName(b, "records"), uintText(uint64(head.Seq))...)
			b = wire.AppendText(b, "head", headText(head))
		} else {
			b = append(wire.AppendName(b, "first_bad_seq"), uintText(uint64(broken.Seq))...)
			b = wire.AppendText(b, "reason", broken.Error())
		}
		if err := a.printJSON(append(b, '}')); err != nil {
			return err
		}
		if broken != nil {
			return result(exitDenied)
		}
		return nil
	}
	if broken != nil {
		return finding("Keep the file as it is, and compare it with a backup.",
			"%s", brokenText(broken))
	}
	a.printf("%s, all as recorded.\nhead %s\n", plural(uint64(head.Seq), "record"), headText(head))
	return nil
}

// brokenText names the first bad record.
func brokenText(b *journal.Broken) string {
	if b.Seq == 0 { // of no record: the schema, for instance
		return "the journal is not as it was made: " + printable(b.Reason)
	}
	return fmt.Sprintf("record %d is the first that is not as it was recorded: %s", b.Seq, printable(b.Reason))
}

func auditHeadCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "head", Short: "Print the head of the chain, SEQ:HASH, to be kept elsewhere", Args: exactly(0),
		Long:    "Print the newest record's number and hash. Kept where nobody here can change it, it\nproves later with 'audit verify --head' that nothing before it was touched.",
		Example: "  sallyport audit head >> /mnt/elsewhere/heads.txt",
	}
	withJSON(a, c, "print one object")
	return runs(c, func(ctx context.Context, _ []string) error {
		g, _, err := a.openGate(ctx, reading)
		if err != nil {
			return err
		}
		defer g.Close()
		h, err := g.Head(ctx)
		if err != nil {
			return err
		}
		if a.json {
			b := append(wire.AppendName([]byte{'{'}, "seq"), uintText(uint64(h.Seq))...)
			return a.printJSON(append(wire.AppendText(b, "hash", hex.EncodeToString(h.Hash[:])), '}'))
		}
		a.printf("%s\n", headText(h))
		return nil
	})
}
