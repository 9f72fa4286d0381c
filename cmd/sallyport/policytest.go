package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/policy"
	"sallyport/replay"
	"sallyport/wire"
)

func policyTestCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "test FILE [TAPE]...", SuggestFor: []string{"try"}, Short: "Run a policy's own tests, and try it on tapes",
		Args: between(1, maxTapes+1),
		Long: `Test a policy before it is in force. Of a policy of version 2 every bound must stop
some order, and its own tests must pass: a policy that fails here is not loaded.

Each TAPE is then replayed under it, with the policies that the tape brings along
passed over. What is filled on the tape must pass: an order that was filled there, and
that this policy denies, or holds and nobody on the tape approves, is a finding. So
the tapes of good days say what a draft would have stopped. For what a draft would
have let through see 'sallyport policy diff --tape'.

Nothing is sent or recorded, and no data directory is needed or touched.

Exit codes: 0 all is well, 1 a finding, 2 a file cannot be read.`,
		Example: `  sallyport policy test draft.json
  sallyport policy test draft.json monday.jsonl tuesday.jsonl --json`,
		ValidArgsFunction: files,
	}
	withJSON(a, c, "print one object")
	return runs(c, func(ctx context.Context, args []string) error {
		f, err := a.readRules(ctx, args[0])
		if err != nil {
			return err
		}
		if f.V1 != nil && len(args) == 1 {
			return usage("Name the tapes to try it on.", "%s is of version 1, which brings no tests", showPath(f.path))
		}
		t := &policyTest{rules: f}
		if f.V2 != nil {
			t.bounds()
			t.own()
		}
		t.loads = t.failed() == 0
		for _, tape := range args[1:] {
			if !t.loads {
				t.all = append(t.all, tested{kind: "tape", name: tape, detail: "not tried: what fails above is not loaded, and denies everything"})
			} else if err := t.tape(ctx, a, tape); err != nil {
				return err
			}
		}
		if a.json {
			err = a.printJSON(t.appendJSON(nil))
		} else {
			err = a.printLines(func(w *bufio.Writer) error {
				_, err := w.WriteString(t.describe(a.color()))
				return err
			})
		}
		return endOfDiff(t.failed(), err)
	})
}

// maxTapes is how many tapes one test takes.
//
//limit:cli-test-tapes A policy is tried on at most 1,000 tapes at once.
const maxTapes = 1000

// tested is one thing that was tried.
type tested struct {
	kind, name string
	passed     bool
	detail     string
	points     []string // what is wrong, one by one
}

// policyTest is a policy that is being tested.
type policyTest struct {
	rules rulesFile
	all   []tested
	loads bool // nothing keeps a gate from loading it
}

func (t *policyTest) failed() (n int) {
	for _, x := range t.all {
		if !x.passed {
			n++
		}
	}
	return n
}

// bounds proves that each bound of each limit stops an order.
func (t *policyTest) bounds() {
	x := tested{kind: "bounds"}
	proofs := t.rules.V2.Prove()
	for _, p := range proofs {
		if p.Stops == nil {
			x.points = append(x.points, fmt.Sprintf("no order can pass the bound %s of %s in the rule %s", p.Bound, p.Limit, p.Rule))
		}
	}
	x.passed = len(x.points) == 0
	x.detail = plural(uint64(len(proofs)), "bound") + ", each of which stops an order"
	if !x.passed {
		x.detail = count(uint64(len(x.points))) + " of " + plural(uint64(len(proofs)), "bound") + " can stop nothing"
	}
	t.all = append(t.all, x)
}

// own runs the tests that the file brings along.
func (t *policyTest) own() {
	if len(t.rules.V2.Tests()) == 0 {
		t.all = append(t.all, tested{kind: "tests", passed: true, detail: "it brings none along"})
		return
	}
	replay.Trials(t.rules.raw, t.rules.V2, func(test policy.Test, err error) bool {
		x := tested{kind: "test", name: test.Name, passed: err == nil}
		if err != nil {
			x.detail = plain(err)
		}
		t.all = append(t.all, x)
		return true
	})
}

// tape tries the policy on a tape: what was filled there must pass.
func (t *policyTest) tape(ctx context.Context, a *app, path string) error {
	stopped, said, n := map[int]ruled{}, tally{}, 0
	run, err := a.play(ctx, t.rules, path, func(r ruled) error {
		if said[r.verdict]++; r.verdict != policy.Allow {
			stopped[n] = r
		}
		n++
		return nil
	})
	if err != nil {
		return err
	}
	x := tested{kind: "tape", name: path, detail: plural(uint64(n), "order") + ": " + said.String()}
	for _, i := range slices.Sorted(maps.Keys(run.missed)) {
		r, filled := stopped[i], run.missed[i].filled
		x.points = append(x.points, fmt.Sprintf("%s, %s by %s: %s filled on the tape, and %s", r.intent, r.text, r.agent, filled, r.because(run.refused[r.intent])))
	}
	if x.passed = len(x.points) == 0; !x.passed {
		x.detail += "; " + plural(uint64(len(x.points)), "order") + " that the tape fills would not pass"
	}
	if len(run.kill) > 0 {
		x.detail += "; it ends with the kill switch engaged: " + strings.Join(run.kill, ", ")
	}
	t.all = append(t.all, x)
	return nil
}

// because says what the policy says of an order that does not pass; refused is why its approval did not count.
func (r ruled) because(refused string) string {
	switch {
	case r.verdict == policy.Hold && refused != "":
		return "held, and denied when it was approved: " + refused
	case r.verdict == policy.Hold:
		return "held, with nobody to approve it: " + strings.Join(r.codes, ", ")
	}
	return "denied: " + strings.Join(r.codes, ", ")
}

func (t *policyTest) describe(p paint) string {
	var b strings.Builder
	for _, x := range t.all {
		word := p.green("ok  ")
		if !x.passed {
			word = p.red("BAD ")
		}
		const margin = "              "
		name := x.name
		if name != "" && x.detail != "" {
			name += ": "
		}
		text := indent(margin, printable(name)+showLines(printable(x.detail)))
		fmt.Fprintf(&b, "%s  %-6s  %s", word, x.kind, strings.TrimPrefix(text, margin))
		for i, point := range x.points {
			if i == tapeShown {
				b.WriteString(indent(margin, "and "+count(uint64(len(x.points)-i))+" more; --json has all"))
				break
			}
			b.WriteString(hang(margin+"- ", margin+"  ", printable(point)))
		}
	}
	if n := t.failed(); n > 0 {
		return b.String() + "\n" + plural(uint64(n), "finding") + ".\n"
	}
	return b.String() + "\nAll is well.\n"
}

func (t *policyTest) appendJSON(b []byte) []byte {
	b = append(wire.AppendName(append(b, '{'), "ok"), trueOrFalse(t.failed() == 0)...)
	b = t.rules.appendJSON(wire.AppendName(b, "policy"))
	b = append(wire.AppendName(b, "checks"), '[')
	for i, x := range t.all {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendText(append(b, '{'), "kind", x.kind)
		b = wire.AppendOptional(b, "name", x.name)
		b = append(wire.AppendName(b, "ok"), trueOrFalse(x.passed)...)
		b = wire.AppendOptional(b, "detail", x.detail)
		b = append(appendTexts(wire.AppendName(b, "findings"), x.points), '}')
	}
	return append(b, "]}"...)
}
