package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// The ways in which an order of a tape is judged otherwise, in the order in which they are told.
const (
	nowBlocked = "blocked"
	nowHeld    = "held"
	nowAllowed = "allowed"
)

// reordered is an order of a tape that two policies judge otherwise, and what its fills come to.
type reordered struct {
	old, new ruled
	proceeds
}

// change says what the new policy makes of it that the old one did not.
func (o *reordered) change() string {
	switch o.new.verdict {
	case policy.Allow:
		return nowAllowed
	case policy.Hold:
		return nowHeld
	}
	return nowBlocked
}

// tapeDiff is what two policies make of one tape.
type tapeDiff struct {
	old, new         rulesFile
	tape             string
	intents          int
	orders           map[int]*reordered // by the number of the intent on the tape, from 0
	oldKill, newKill []string           // the switches that are engaged at the end
	oldSays, newSays tally
}

// tally counts orders by their verdicts.
type tally [policy.Allow + 1]uint64

// String says it to a person.
func (t tally) String() string {
	return fmt.Sprintf("%s allowed, %s held, %s denied", count(t[policy.Allow]), count(t[policy.Hold]), count(t[policy.Deny]))
}

func (t tally) appendJSON(b []byte) []byte {
	return fmt.Appendf(b, `{"allowed":%d,"held":%d,"denied":%d}`, t[policy.Allow], t[policy.Hold], t[policy.Deny])
}

// diffTape replays a tape under both policies, and finds the orders that they judge otherwise. Each policy sees the tape
// as it would have gone under it, so that an order that it blocks leads to no position, and a sell of that is blocked too.
// What the fills of an order come to is told by the replay under the policy that lets more of it pass.
func (a *app) diffTape(ctx context.Context, old, new rulesFile, tape string) (*tapeDiff, error) {
	d := &tapeDiff{old: old, new: new, tape: tape, orders: map[int]*reordered{}}
	var first []ruled
	before, err := a.play(ctx, old, tape, func(r ruled) error {
		d.oldSays[r.verdict]++
		first = append(first, ruled{intent: r.intent, verdict: r.verdict, codes: r.codes})
		return nil
	})
	if err != nil {
		return nil, err
	}
	after, err := a.play(ctx, new, tape, func(r ruled) error {
		n := d.intents
		if d.intents++; n >= len(first) || first[n].intent != r.intent {
			return fmt.Errorf("%s has changed while it was read", tape)
		}
		d.newSays[r.verdict]++
		if first[n].verdict != r.verdict {
			d.orders[n] = &reordered{old: first[n], new: r}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.oldKill, d.newKill = before.kill, after.kill
	for n, o := range d.orders {
		if o.old.verdict > o.new.verdict {
			o.proceeds = before.sent.of(n)
		} else {
			o.proceeds = after.sent.of(n)
		}
	}
	return d, nil
}

// of returns the orders that were changed in one way, in the order of the tape.
func (d *tapeDiff) of(change string) (all []*reordered) {
	for _, n := range slices.Sorted(maps.Keys(d.orders)) {
		if d.orders[n].change() == change {
			all = append(all, d.orders[n])
		}
	}
	return all
}

// profit adds up what the fills of orders come to, and counts those that cannot be valued.
func profit(orders []*reordered) (sum trade.Decimal, filled, unknown uint64) {
	for _, o := range orders {
		switch {
		case o.filled.Sign() == 0:
		case !o.known:
			filled++
			unknown++
		default:
			filled++
			sum = sum.Add(o.profit)
		}
	}
	return sum, filled, unknown
}

func (d *tapeDiff) appendJSON(b []byte) []byte {
	b = d.old.appendJSON(append(b, `{"old":`...))
	b = d.new.appendJSON(wire.AppendName(b, "new"))
	b = wire.AppendText(b, "tape", d.tape)
	b = strconv.AppendInt(wire.AppendName(b, "intents"), int64(d.intents), 10)
	b = d.oldSays.appendJSON(wire.AppendName(b, "old_verdicts"))
	b = d.newSays.appendJSON(wire.AppendName(b, "new_verdicts"))
	for _, change := range []string{nowBlocked, nowHeld, nowAllowed} {
		orders := d.of(change)
		sum, filled, unknown := profit(orders)
		b = append(wire.AppendName(b, change), '{')
		b = strconv.AppendInt(wire.AppendName(b, "orders"), int64(len(orders)), 10)
		b = strconv.AppendUint(wire.AppendName(b, "filled"), filled, 10)
		b = wire.AppendText(b, "profit_and_loss", sum.Money())
		b = strconv.AppendUint(wire.AppendName(b, "not_valued"), unknown, 10)
		b = append(wire.AppendName(b, "each"), '[')
		for i, o := range orders {
			if i > 0 {
				b = append(b, ',')
			}
			b = o.appendJSON(b)
		}
		b = append(b, "]}"...)
	}
	b = appendTexts(wire.AppendName(b, "stopped_by_old"), d.oldKill)
	return append(appendTexts(wire.AppendName(b, "stopped_by_new"), d.newKill), '}')
}

// appendJSON appends one order. profit_and_loss is null where the tape has no quote to value it by.
func (o *reordered) appendJSON(b []byte) []byte {
	b = wire.AppendText(append(b, '{'), "intent", o.new.intent)
	b = wire.AppendText(b, "agent", o.new.agent)
	b = append(wire.AppendName(b, "order"), o.new.order...)
	b = wire.AppendText(b, "old", o.old.verdict.String())
	b = appendTexts(wire.AppendName(b, "old_codes"), o.old.codes)
	b = wire.AppendText(b, "new", o.new.verdict.String())
	b = appendTexts(wire.AppendName(b, "new_codes"), o.new.codes)
	b = wire.AppendText(b, "filled", o.filled.String())
	b = wire.AppendName(b, "profit_and_loss")
	if !o.known {
		return append(b, "null}"...)
	}
	return append(wire.AppendString(b, o.profit.Money()), '}')
}

// tapeShown is how many orders of each kind are shown to a person.
//
//limit:cli-tape-shown Of the orders of a tape that are judged otherwise people are shown the first 20 of each kind.
const tapeShown = 20

// describe shows to a person what two policies make of a tape.
func (d *tapeDiff) describe() string {
	var b strings.Builder
	headings := map[string]string{nowBlocked: "NEWLY BLOCKED", nowHeld: "NEWLY HELD FOR A PERSON", nowAllowed: "NEWLY ALLOWED"}
	for _, change := range []string{nowBlocked, nowHeld, nowAllowed} {
		orders := d.of(change)
		if len(orders) == 0 {
			continue
		}
		sum, filled, unknown := profit(orders)
		fmt.Fprintf(&b, "%s: %s, %s filled on the tape\n  profit and loss %s\n", headings[change], plural(uint64(len(orders)), "order"), count(filled), sum.Money())
		for i, o := range orders {
			if i == tapeShown {
				b.WriteString("  and " + count(uint64(len(orders)-tapeShown)) + " more; --json has all\n")
				break
			}
			b.WriteString(o.describe())
		}
		if unknown > 0 {
			b.WriteString(indent("  ", plural(unknown, "order")+" cannot be valued, because the tape has no quote of the symbol"))
		}
		b.WriteString("\n")
	}
	for _, k := range []struct {
		who   string
		kill  []string
		other []string
	}{{"old", d.oldKill, d.newKill}, {"new", d.newKill, d.oldKill}} {
		if !slices.Equal(k.kill, k.other) && len(k.kill) > 0 {
			b.WriteString(indent("", "Under the "+k.who+" policy the tape ends with the kill switch engaged: "+show(strings.Join(k.kill, ", "))))
		}
	}
	fmt.Fprintf(&b, "%s on the tape\n  old: %s\n  new: %s\n", plural(uint64(d.intents), "order"), d.oldSays, d.newSays)
	if len(d.orders) == 0 {
		return b.String() + "Both policies judge each of them in the same way.\n"
	}
	return b.String() + indent("", "Profit and loss is what the account has at the end of the tape by these fills and would not have without them, with shares at the last bid.")
}

func (o *reordered) describe() string {
	money := ""
	switch {
	case o.filled.Sign() == 0:
		money = "not filled"
	case !o.known:
		money = o.filled.String() + " filled, not valued"
	default:
		money = o.filled.String() + " filled, profit and loss " + o.profit.Money()
	}
	text := fmt.Sprintf("%s by %s: %s before, %s after, %s", printable(o.new.text), show(o.new.agent), o.old.verdict, o.new.verdict, money)
	codes := o.new.codes
	if len(codes) == 0 {
		codes = o.old.codes
	}
	return hang("  "+show(o.new.intent)+"  ", "    ", text) + indent("    ", strings.Join(codes, ", "))
}

// diffOnTape compares two policies over a tape and prints what it finds.
func (a *app) diffOnTape(ctx context.Context, old, new rulesFile, tape string) error {
	d, err := a.diffTape(ctx, old, new, tape)
	if err != nil {
		return err
	}
	if a.json {
		return endOfDiff(len(d.orders), a.printJSON(d.appendJSON(nil)))
	}
	return endOfDiff(len(d.orders), a.printLines(func(w *bufio.Writer) error {
		_, err := w.WriteString(d.describe())
		return err
	}))
}
