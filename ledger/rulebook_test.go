package ledger_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

var update = flag.Bool("update", false, "write what the cases come to into their files instead of comparing it")

// part is one part of a file: the steps of a case, or why there can be none.
type part struct {
	name   string
	cannot string
	steps  []string
	at     int // the line of its first step
}

// cutParts reads a file. A part begins with a line == NAME, or == NAME cannot be: SENTENCE. What is behind # is for readers.
func cutParts(lines []string) (parts []part) {
	for i, line := range lines {
		switch name, begins := strings.CutPrefix(line, "== "); {
		case begins:
			name, why, _ := strings.Cut(name, " cannot be: ")
			parts = append(parts, part{name: name, cannot: why, at: i + 1})
		case len(parts) > 0:
			p := &parts[len(parts)-1]
			p.steps = append(p.steps, line)
		}
	}
	return parts
}

// play carries out the steps of a part, and returns them as they ought to stand there.
func (p *part) play(t *testing.T, restless bool) (*desk, []string) {
	t.Helper()
	d := newDesk(t)
	d.restless = restless
	out := slices.Clone(p.steps)
	for i, line := range out {
		if line == "" || line[0] == '#' {
			continue
		}
		is, err := d.do(line)
		if err != nil {
			t.Fatalf("line %d: %s: %v", p.at+i+1, line, err)
		}
		out[i] = is
	}
	return d, out
}

// TestLimitsInEveryCase runs the files of testdata/limits, each step as it stands and again with a restart before every
// judgement, and holds each to what its parts must show. A limit of the policy without its file fails, and so does a file
// that lacks a case and does not say in a sentence why there can be none.
//
//attack:policy-bounds
//fault:f14
func TestLimitsInEveryCase(t *testing.T) {
	files, err := filepath.Glob("testdata/limits/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(raw), "\n")
			parts, desks := cutParts(lines), map[string]*desk{}
			for i := range parts {
				p := &parts[i]
				d, is := p.play(t, false)
				_, again := p.play(t, true)
				for k := range is {
					if is[k] != p.steps[k] && !*update || again[k] != is[k] {
						t.Errorf("line %d:\n%s\nis\n%s\nand after a restart\n%s", p.at+k+1, p.steps[k], is[k], again[k])
					}
				}
				copy(lines[p.at:], is)
				desks[p.name] = d
			}
			if *update {
				if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, complaint := range complaints(name, parts, desks) {
				t.Error(complaint)
			}
		})
	}
	for _, r := range policy.Limits() {
		if !seen[r.Name] {
			t.Errorf("the limit %s has no file in testdata/limits", r.Name)
		}
	}
}

// cases are what the file of a limit must show, and how it is seen that it does; per is there once for each word.
var cases = map[string]func(policy.LimitRow, *desk) string{
	"bounds": showsBounds, "missing": showsMissing, "stale": showsStale, "restart": showsRestart, "day": showsDay,
	"spring": showsSwitch(time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC)), "autumn": showsSwitch(time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)),
	"reduction": showsReduction, "replace": showsReplace,
}

// sentence is what a file says instead of a case.
var sentence = regexp.MustCompile(`^[A-Z][^.]{20,}\.$`)

// complaints holds the file of a limit to its cases. A file of anything else has what parts it likes.
func complaints(name string, parts []part, desks map[string]*desk) (found []string) {
	i := slices.IndexFunc(policy.Limits(), func(r policy.LimitRow) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	row := policy.Limits()[i]
	wanted := map[string]func(policy.LimitRow, *desk) string{}
	for c, shows := range cases {
		wanted[c] = shows
	}
	if row.Per == "" {
		wanted["per"] = func(policy.LimitRow, *desk) string { return "counts nothing per anything" }
	} else {
		for _, per := range strings.Split(row.Per, ", ") {
			wanted["per "+per] = showsPer(per)
		}
	}
	for _, p := range parts {
		shows := wanted[p.name]
		delete(wanted, p.name)
		switch {
		case shows == nil:
			found = append(found, fmt.Sprintf("== %s: there is no such case of it, or it is there twice", p.name))
		case p.cannot != "":
			step := func(line string) bool { return line != "" && line[0] != '#' }
			if !sentence.MatchString(p.cannot) || !mayLack(p.name) || slices.ContainsFunc(p.steps, step) {
				found = append(found, fmt.Sprintf("== %s cannot be: not for a reason that is one sentence and all there is", p.name))
			}
		default:
			if why := shows(row, desks[p.name]); why != "" {
				found = append(found, fmt.Sprintf("== %s: %s", p.name, why))
			}
		}
	}
	for c := range wanted {
		found = append(found, "there is no == "+c+", nor why it cannot be")
	}
	return found
}

// mayLack reports whether there may be a limit of which such a case cannot be. Every limit has bounds, is judged at every
// time, and meets reductions and orders in the place of others.
func mayLack(name string) bool { return name == "per" || name == "missing" || name == "stale" }

func (d *desk) any(is func(asked) bool) bool { return slices.ContainsFunc(d.asked, is) }

// passes reports whether the limit judged the order and let it be sent.
func (a asked) passes() bool { return a.verdict.Effect == policy.Allow && a.row.Effect == "allow" }

// stopped reports whether the limit stopped it, by what it measured.
func (a asked) stopped() bool {
	return a.row.Value != "unknown" && a.row.Code != "" && a.verdict.Effect != policy.Allow
}

// room is how far the value is from the bound.
func (a asked) room() trade.Decimal {
	room, ok := trade.ParseSum(a.row.Headroom)
	if !ok {
		if room, ok = trade.ParseMoney(a.row.Headroom); !ok {
			return trade.Whole(1_000_000)
		}
	}
	return room
}

// showsBounds wants an order at the bound, one that is one unit over it and one that is one under: a cent, a share, a
// thing that is counted. Of a ratio it is not more than one.
func showsBounds(r policy.LimitRow, d *desk) string {
	unit := trade.Whole(1)
	if r.Unit == "money" {
		unit = gatetest.Decimal("0.01")
	}
	one := func(room trade.Decimal) bool {
		if r.Unit == "money" || r.Unit == "shares" || r.Unit == "a whole number" {
			return room.Cmp(unit) == 0
		}
		return room.Sign() > 0 && room.Cmp(unit) <= 0
	}
	switch {
	case !d.any(func(a asked) bool { return a.passes() && a.room().Sign() == 0 }):
		return "no order at the bound passes"
	case !d.any(func(a asked) bool { return a.stopped() && one(trade.Decimal{}.Sub(a.room())) }):
		return "no order that is one unit over the bound is stopped"
	case !d.any(func(a asked) bool { return a.passes() && one(a.room()) }):
		return "no order that is one unit under the bound passes"
	}
	return ""
}

// unknowns are the codes of facts that are not known, by what the table of the limits calls them. When a day began is
// always known to the ledger.
var unknowns = map[string]trade.Code{
	"quote": policy.QuoteUnavailable, "sent": policy.CountUnavailable, "rejected": policy.CountUnavailable,
	"denied": policy.CountUnavailable, "losses": policy.CountUnavailable, "exposure": policy.ExposureUnavailable,
	"equity": policy.EquityUnavailable, "position": policy.PositionUnavailable, "loss": policy.LossUnavailable,
}

// unknown reports whether an order is stopped because a fact is not known, by any of some codes, and passes where it is.
func (d *desk) unknown(by func(trade.Code) bool) bool {
	return d.any(func(a asked) bool {
		return a.row.Value == "unknown" && by(a.row.Code) && d.any(func(b asked) bool { return b.line == a.line && b.passes() })
	})
}

// showsMissing wants an order that is stopped for lack of each fact that the limit needs.
func showsMissing(r policy.LimitRow, d *desk) string {
	for fact := range strings.SplitSeq(r.Facts, "; ") {
		for word := range strings.FieldsSeq(fact) {
			if code := unknowns[word]; code != "" && !d.unknown(func(c trade.Code) bool { return c == code }) {
				return fmt.Sprintf("no order is stopped by %s for lack of a fact (%s), and passes with it", code, fact)
			}
		}
	}
	return ""
}

// showsStale wants an order that is stopped because a fact is too old, and passes while it is not.
func showsStale(_ policy.LimitRow, d *desk) string {
	if !d.unknown(func(c trade.Code) bool { return c != "" }) {
		return "no order is stopped by a fact that is too old, and passes by a newer one"
	}
	return ""
}

// showsPer wants that what one agent, symbol or rule has used up is used up for nobody else; or, of an account, for all.
func showsPer(per string) func(policy.LimitRow, *desk) string {
	return func(_ policy.LimitRow, d *desk) string {
		own := func(a asked) string {
			return map[string]string{"agent": a.agent, "symbol": a.order.Symbol().String(), "rule": a.row.Rule}[per]
		}
		for _, a := range d.asked {
			if !a.stopped() || a.row.Per != per {
				continue
			}
			if per != "account" && d.any(func(b asked) bool { return b.at.Equal(a.at) && own(b) != own(a) && b.verdict.Effect == policy.Allow }) {
				return ""
			}
			if per == "account" && d.any(func(b asked) bool { return b.stopped() && b.agent != a.agent && b.order.Symbol() != a.order.Symbol() }) {
				return ""
			}
		}
		return "it does not show who is stopped and who is not"
	}
}

// showsRestart wants orders that pass before a restart, and one that is stopped after it.
func showsRestart(_ policy.LimitRow, d *desk) string {
	if !d.any(func(a asked) bool { return a.restarts == 0 && a.passes() }) || !d.any(func(a asked) bool { return a.restarts > 0 && a.stopped() }) {
		return "no order passes before a restart, or none is stopped after it"
	}
	return ""
}

// showsDay wants orders that are judged on two days, and one that is stopped.
func showsDay(_ policy.LimitRow, d *desk) string {
	days := map[string]bool{}
	for _, a := range d.asked {
		days[a.at.In(d.zone).Format(time.DateOnly)] = true
	}
	if len(days) < 2 || !d.any(asked.stopped) || !d.any(asked.passes) {
		return "no order is judged on a second day, or none is stopped, or none passes"
	}
	return ""
}

// showsSwitch wants orders on both sides of a change of the clocks, on its day, of which one is stopped and one passes; of
// a limit that knows days also at the first and the last microsecond of that day, and at the first of the next.
func showsSwitch(at time.Time) func(policy.LimitRow, *desk) string {
	return func(r policy.LimitRow, d *desk) string {
		_, day := ledger.DayOf(at, d.zone)
		before := d.any(func(a asked) bool { return !a.at.Before(day.Start) && a.at.Before(at) })
		after := d.any(func(a asked) bool { return !a.at.Before(at) && a.at.Before(day.End) })
		if !before || !after || !d.any(asked.stopped) || !d.any(asked.passes) {
			return "no order is judged on both sides of the change, or none is stopped, or none passes"
		}
		for _, edge := range []time.Time{day.Start, day.End.Add(-time.Microsecond), day.End} {
			if strings.Contains(r.Meaning, "day") && !d.any(func(a asked) bool { return a.at.Equal(edge) }) {
				return "no order is judged at " + edge.In(d.zone).Format(time.RFC3339Nano)
			}
		}
		return ""
	}
}

// showsReduction wants a reduction while an entry is stopped: it passes, or is stopped as well where the limit judges it.
func showsReduction(r policy.LimitRow, d *desk) string {
	entry := d.any(func(a asked) bool { return a.stopped() && !a.reduces })
	out := d.any(func(a asked) bool { return a.reduces && a.row.Effect == "exempt" && a.verdict.Effect == policy.Allow })
	if r.Reduces == "judged" {
		out = d.any(func(a asked) bool { return a.reduces && a.stopped() }) && d.any(func(a asked) bool { return a.reduces && a.passes() })
	}
	if !entry || !out {
		return "no entry is stopped, or no reduction shows whether it is " + r.Reduces
	}
	return ""
}

// showsReplace wants orders in the place of another that are for more, for less and on the other side, of which one passes
// and one is stopped.
func showsReplace(_ policy.LimitRow, d *desk) string {
	more, less, turned, passed, stopped := false, false, false, false, false
	for _, a := range d.asked {
		if a.replaced.IsZero() {
			continue
		}
		same := a.order.Side() == a.replaced.Side()
		more = more || same && a.order.Quantity().Cmp(a.replaced.Quantity()) > 0
		less = less || same && a.order.Quantity().Cmp(a.replaced.Quantity()) < 0
		turned = turned || !same
		passed, stopped = passed || a.passes(), stopped || a.stopped()
	}
	if !more || !less || !turned || !passed || !stopped {
		return fmt.Sprintf("of the orders in the place of another one is for more: %v, for less: %v, on the other side: %v, passes: %v, is stopped: %v",
			more, less, turned, passed, stopped)
	}
	return ""
}

// TestFileThatLacksACaseIsFound takes each part out of a file, empties it, and has it say that there can be none.
func TestFileThatLacksACaseIsFound(t *testing.T) {
	raw, err := os.ReadFile("testdata/limits/orders_per_minute.txt")
	if err != nil {
		t.Fatal(err)
	}
	parts := cutParts(strings.Split(string(raw), "\n"))
	desks := map[string]*desk{}
	for i := range parts {
		desks[parts[i].name], _ = parts[i].play(t, false)
	}
	found := func(parts []part, desks map[string]*desk) int {
		return len(complaints("orders_per_minute", parts, desks))
	}
	if n := found(parts, desks); n != 0 {
		t.Fatalf("%d complaints of a file that lacks nothing", n)
	}
	for i, p := range parts {
		without, empty, waived, twice := slices.Delete(slices.Clone(parts), i, i+1), maps.Clone(desks), slices.Clone(parts), append(slices.Clone(parts), p)
		empty[p.name] = &desk{zone: time.UTC}
		waived[i] = part{name: p.name, cannot: "There is nobody who would want to see such a case."}
		for what, n := range map[string]int{
			"taken out": found(without, desks), "emptied": found(parts, empty), "twice": found(twice, desks), "waived": found(waived, desks),
		} {
			if may := what == "waived" && mayLack(p.name); (n == 0) != may {
				t.Errorf("%s %s: %d complaints", p.name, what, n)
			}
		}
	}
	parts[0] = part{name: "per", cannot: "no"}
	if n := found(parts, desks); n != 2 {
		t.Errorf("%d complaints, want that bounds are not there and that per is no case of it", n)
	}
}

// TestManySmallOrdersMeetTheDay is the first fault of the collection of faults: a hundred orders that each pass alone, on
// an ordinary day and on those of both changes of the clocks.
func TestManySmallOrdersMeetTheDay(t *testing.T) {
	for _, day := range []string{"2026-11-30T00:00:00-05:00", "2026-03-08T00:00:00-05:00", "2026-11-01T00:00:00-04:00"} {
		d := newDesk(t)
		for _, step := range []string{`limit "notional_per_day": {"deny_above": "50095.00"}`, "at " + day, "venue rejects"} {
			if _, err := d.do(step); err != nil { // what the broker rejects was sent too
				t.Fatal(err)
			}
		}
		allowed := 0
		for range 100 {
			if d.ask("", "bot", gatetest.Line(t, "buy 99 AAPL at 101.00"), "").passes() {
				allowed++
			}
			d.at = d.at.Add(10 * time.Minute)
		}
		if allowed != 5 {
			t.Errorf("%s: %d orders of 9999 passed a limit of 50095", day, allowed)
		}
	}
}
