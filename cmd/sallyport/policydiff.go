package main

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/policy"
	"sallyport/wire"
)

func policyDiffCommand(a *app) *cobra.Command {
	var tape given
	c := &cobra.Command{
		Use: "diff [OLD] NEW", Short: "Say what a change of the policy makes tighter and what looser", Args: between(1, 2),
		Long: `Compare two policies by what they mean: each change by itself, whether it makes the
old policy tighter or looser, and an order that one lets pass and the other does
not, with the facts that it was judged by. The order is found by search over the
bounds of both, the same one every time; where none is found it says among how many.
Without OLD the policy in force is meant. One of the two may be - for standard
input. A policy of version 1 beside one of version 2 is compared as 'sallyport
policy convert' writes it.

With --tape the two are compared over what is on a tape: the orders that NEW blocks,
holds or allows and OLD did not, and the profit and loss that they made there: what
the account has at the end of the tape by their fills and would not have without
them, with shares at the last bid. Both sides of a round trip add up to what it
earned. Each policy sees the tape as it would have gone under it: where a buy is
blocked, so is the sell of what it would have bought.

Exit codes: 0 they say the same, 1 they differ, 2 one cannot be read or is not valid.`,
		Example: `  sallyport policy diff draft.json
  sallyport policy diff old.json new.json --json
  sallyport policy diff --tape yesterday.jsonl draft.json`,
		ValidArgsFunction: twoFiles,
	}
	c.Flags().Var(&tape, "tape", "compare over the orders of the tape `T`")
	completes(c, "tape", files)
	withJSON(a, c, "print one object")
	return runs(c, func(ctx context.Context, args []string) error {
		old, new, err := a.readBoth(ctx, args)
		if err != nil {
			return err
		}
		if tape.set {
			return a.diffOnTape(ctx, old, new, tape.text)
		}
		d, err := unlessInterrupted(ctx, func() (comparison, error) { return compare(old, new) })
		if err != nil {
			return err
		}
		if a.json {
			return endOfDiff(len(d.changes), a.printJSON(d.appendJSON(nil)))
		}
		return endOfDiff(len(d.changes), a.printLines(func(w *bufio.Writer) error {
			_, err := w.WriteString(d.describe())
			return err
		}))
	})
}

// endOfDiff ends a comparison with the exit code of what it found.
func endOfDiff(found int, err error) error {
	if err != nil {
		return err
	}
	return resultIf(found > 0)
}

// twoFiles offers files for two arguments.
func twoFiles(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return files(c, args, typed)
}

// readBoth reads the old and the new policy; with one argument the old one is that in force.
func (a *app) readBoth(ctx context.Context, args []string) (old, new rulesFile, err error) {
	if len(args) == 1 {
		args = []string{"", args[0]}
	}
	if args[0] == "-" && args[1] == "-" {
		return old, new, usage("Name a file for the other.", "only one of the two policies can be standard input")
	}
	if old, err = a.readRules(ctx, args[0]); err != nil {
		return old, new, err
	}
	new, err = a.readRules(ctx, args[1])
	return old, new, err
}

// comparison is what two policies say otherwise.
type comparison struct {
	old, new  rulesFile
	converted []string // what the conversion means otherwise, if one of the two was converted
	changes   []policy.Change
}

func compare(old, new rulesFile) (d comparison, err error) {
	d = comparison{old: old, new: new}
	if old.V1 != nil && new.V1 != nil {
		d.changes = policy.DiffV1(old.V1, new.V1)
		return d, nil
	}
	was, differences, err := old.asVersion2()
	if err != nil {
		return d, err
	}
	is, more, err := new.asVersion2()
	d.converted, d.changes = append(differences, more...), policy.Diff(was, is)
	return d, err
}

// versionOne reports whether both policies are of version 1, which knows no fact but the position.
func (d comparison) versionOne() bool { return d.old.V1 != nil && d.new.V1 != nil }

func (d comparison) appendJSON(b []byte) []byte {
	b = d.old.appendJSON(append(b, `{"old":`...))
	b = d.new.appendJSON(wire.AppendName(b, "new"))
	b = appendTexts(wire.AppendName(b, "converted"), d.converted)
	b = append(wire.AppendName(b, "changes"), '[')
	for i, c := range d.changes {
		if i > 0 {
			b = append(b, ',')
		}
		b = d.appendChange(b, c)
	}
	return append(b, "]}"...)
}

func (d comparison) appendChange(b []byte, c policy.Change) []byte {
	b = wire.AppendText(append(b, '{'), "path", c.Path)
	b = wire.AppendText(b, "old", c.Old)
	b = wire.AppendText(b, "new", c.New)
	b = wire.AppendText(b, "direction", c.Word())
	b = strconv.AppendInt(wire.AppendName(b, "tried"), int64(c.Tried), 10)
	b = d.appendWitness(wire.AppendName(b, "tighter"), c.Tighter)
	return append(d.appendWitness(wire.AppendName(b, "looser"), c.Looser), '}')
}

// appendWitness appends an order that shows a change: what the old policy says of it, what the old one with this change
// alone says, and what the whole new one says.
func (d comparison) appendWitness(b []byte, w *policy.Witness) []byte {
	if w == nil {
		return append(b, "null"...)
	}
	b = w.Order.AppendJSON(append(b, `{"order":`...))
	b = wire.AppendText(b, "agent", string(w.Situation.Agent))
	b = wire.AppendText(b, "before", w.Before)
	b = wire.AppendText(b, "after", w.After)
	b = wire.AppendText(b, "whole", w.Whole)
	b = wire.AppendOptional(b, "says", w.Says)
	b = append(wire.AppendName(b, "facts"), '{')
	for _, r := range d.facts(w.Case) {
		b = wire.AppendText(b, r.name, r.value)
	}
	return append(b, "}}"...)
}

// describe shows a comparison to a person.
func (d comparison) describe() string {
	var b strings.Builder
	for i, s := range d.converted {
		if i == 0 {
			b.WriteString(indent("", "The policy of version 1 is compared as 'sallyport policy convert' writes it, which means otherwise:"))
		}
		b.WriteString(hang("- ", "  ", s))
	}
	if len(d.converted) > 0 {
		b.WriteString("\n")
	}
	if len(d.changes) == 0 {
		return b.String() + "The policies say the same.\n"
	}
	for _, c := range d.changes {
		b.WriteString(d.describeChange(c) + "\n")
	}
	b.WriteString(indent("", d.sum()))
	if !d.versionOne() {
		b.WriteString(indent("", "Before is by the old policy, after by the old one with this change alone. The orders are made up. A fact that is not named is calm: the regular session, a fresh quote, an equity of 1000000000.00, nothing held, open, lost or counted."))
	}
	return b.String()
}

// sum counts the changes by where they go.
func (d comparison) sum() string {
	counts := map[string]uint64{}
	for _, c := range d.changes {
		counts[c.Word()]++
	}
	var parts []string
	for _, word := range []string{"tighter", "looser", "tighter and looser", "different"} {
		if counts[word] > 0 {
			parts = append(parts, count(counts[word])+" "+word)
		}
	}
	return plural(uint64(len(d.changes)), "change") + ": " + strings.Join(parts, ", ") + "."
}

func (d comparison) describeChange(c policy.Change) string {
	var b strings.Builder
	b.WriteString(hang(strings.ToUpper(c.Word())+"  ", "  ", show(c.Path)))
	b.WriteString(indent("  ", said(c.Old)+" -> "+said(c.New)))
	for _, w := range []*policy.Witness{c.Tighter, c.Looser} {
		if w == nil {
			continue
		}
		text := fmt.Sprintf("%s: %s before, %s after", w.Case, w.Before, w.After)
		if w.Whole != w.After {
			text += ", and " + w.Whole + " by the whole new policy"
		}
		b.WriteString(hang("    ", "      ", text))
		var facts []string
		for _, r := range d.unusual(w.Case) {
			facts = append(facts, strings.ReplaceAll(r.name, "_", " ")+" "+r.value)
		}
		b.WriteString(hang("      ", "        ", "facts: "+strings.Join(facts, ", ")))
	}
	if c.Tighter == nil && c.Looser == nil {
		none := "none found among " + count(uint64(c.Tried))
		if c.Tried == 0 {
			none += ", because no order by itself shows it"
		}
		b.WriteString(hang("    ", "      ", "an order that one lets pass and the other does not: "+none))
	}
	return b.String()
}

// said shows what a policy says at a place.
func said(s string) string {
	if s == "" {
		return "nothing"
	}
	return printable(s)
}
