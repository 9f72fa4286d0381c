package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/journal"
	"sallyport/wire"
)

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
		Use: "verify", SuggestFor: []string{"check", "validate"}, Short: "Walk the whole chain and name the first bad record", Args: exactly(0),
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
		if err := a.founded(home); err != nil {
			return err
		}
		bar := a.startProgress("records verified")
		v := a.verify(ctx, home, cfg, contains, bar)
		bar.end()
		return a.verified(v)
	})
}

// verification is what came of walking the chain.
type verification struct {
	head   journal.Head // the newest record, as far as it can be read
	broken *journal.Broken
	kept   *journal.Head // the head that was kept elsewhere, if it alone does not fit
	err    error         // why nothing could be walked
}

// verify walks the journal of a data directory. One that is too broken to be opened by the gate is walked all the same,
// so that the first bad record is named and not only the one that opening came upon.
func (a *app) verify(ctx context.Context, home string, cfg config, contains *journal.Head, bar *progress) (v verification) {
	step := func(done, total journal.Seq) { bar.at(uint64(done), uint64(total)) }
	g, err := a.wire(ctx, reading, home, cfg)
	if err != nil {
		return verifyUnopened(ctx, err, home, cfg, contains, step)
	}
	defer g.Close()
	v.head, err = g.Verify(ctx, contains, step)
	if err == nil {
		return v
	}
	if !errors.As(err, &v.broken) {
		return verification{err: err}
	}
	if head, errHead := g.Head(ctx); errHead == nil {
		v.head = head
	}
	if contains == nil {
		return v
	}
	if _, errAlone := g.Verify(ctx, nil, step); errAlone == nil {
		v.kept = contains
	}
	return v
}

// verifyUnopened walks what the gate could not open, for the reason that err says.
func verifyUnopened(ctx context.Context, err error, home string, cfg config, contains *journal.Head, step func(done, total journal.Seq)) (v verification) {
	if !errors.As(err, &v.broken) {
		return verification{err: err}
	}
	j, errOpen := journal.Open(ctx, journal.Config{Path: filepath.Join(home, gate.JournalName), LockWait: max(cfg.Deadlines.Lock, time.Millisecond)}) // no lock is taken
	if errOpen != nil {
		return v
	}
	defer j.Close()
	if head, errHead := j.Head(ctx); errHead == nil {
		v.head = head
	}
	var first *journal.Broken
	if _, errChain := j.Verify(ctx, journal.Verification{Contains: contains, Progress: step}); errors.As(errChain, &first) {
		v.broken = first
	}
	return v
}

// verified prints what came of a verification.
func (a *app) verified(v verification) error {
	switch {
	case v.err != nil:
		return a.gateProblem(v.err)
	case a.json:
		return errors.Join(a.printJSON(v.appendJSON(nil)), result(v.code()))
	case v.broken != nil:
		return finding(v.repair(), "%s", v.text())
	}
	a.printf("%s, all as recorded.\nhead %s\n", plural(uint64(v.head.Seq), "record"), headText(v.head))
	return nil
}

func (v verification) code() int {
	if v.broken != nil {
		return exitDenied
	}
	return exitFine
}

func (v verification) appendJSON(b []byte) []byte {
	b = append(wire.AppendName(append(b, '{'), "ok"), trueOrFalse(v.broken == nil)...)
	if v.head.Seq > 0 {
		b = append(wire.AppendName(b, "records"), uintText(uint64(v.head.Seq))...)
		b = wire.AppendText(b, "head", headText(v.head))
	}
	if v.broken != nil {
		if v.kept == nil && v.broken.Seq > 0 {
			b = append(wire.AppendName(b, "first_bad_seq"), uintText(uint64(v.broken.Seq))...)
		}
		b = wire.AppendText(b, "reason", v.text())
		b = wire.AppendText(b, "repair", v.repair())
	}
	return append(b, '}')
}

// text says what is wrong.
func (v verification) text() string {
	switch k := v.kept; {
	case k == nil:
		return brokenText(v.broken)
	case k.Seq > v.head.Seq:
		return fmt.Sprintf("the head that was kept is of record %d, and this journal ends at record %d; all of it is as recorded", k.Seq, v.head.Seq)
	default:
		return fmt.Sprintf("record %d does not have the hash that was kept; all of this journal is as recorded", k.Seq)
	}
}

func (v verification) repair() string {
	if v.kept != nil {
		return "Either the head is of another journal, or this journal is another than it was then: cut, restored from an older copy, or made anew. Compare it with a backup."
	}
	return "Keep the file as it is, and compare it with a backup."
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
			b := wire.AppendText([]byte{'{'}, "head", headText(h))
			b = append(wire.AppendName(b, "seq"), uintText(uint64(h.Seq))...)
			return a.printJSON(append(wire.AppendText(b, "hash", hex.EncodeToString(h.Hash[:])), '}'))
		}
		a.printf("%s\n", headText(h))
		return nil
	})
}
