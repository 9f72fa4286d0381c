package policy_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sallyport/gatetest"
	"sallyport/policy"
	"sallyport/trade"
)

// TestRulesAtTheirLimits runs the files of testdata/rules: one a rule, each at the limit, one tick over, one under, and
// without the fact that the rule reads.
//
//attack:policy-symbol
//attack:policy-side
//attack:policy-order-type
//attack:policy-quantity
//attack:policy-notional
//attack:policy-short
//attack:policy-whole-shares
func TestRulesAtTheirLimits(t *testing.T) {
	var p *policy.Policy
	seen := walk(t, "testdata/rules", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "policy":
			p = mustParse(t, d.Input)
			return "valid\n"
		case "none":
			p = nil
			return "no policy\n"
		case "judge":
			return judge(t, p, d)
		}
		d.Fatalf(t, "unknown command %s", d.Cmd)
		return ""
	})
	for _, r := range policy.Rules() {
		if !seen[r.Name] {
			t.Errorf("the rule %s has no file in testdata/rules", r.Name)
		}
	}
}

// walk runs the files of a directory, and returns their names.
func walk(t *testing.T, dir string, run func(*testing.T, *datadriven.TestData) string) map[string]bool {
	seen := map[string]bool{}
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		seen[strings.TrimSuffix(filepath.Base(path), ".txt")] = true
		datadriven.RunTest(t, path, run)
	})
	return seen
}

// judge evaluates each line, such as "buy 10 AAPL at 1.00", with the facts of the command's arguments.
func judge(t *testing.T, p *policy.Policy, d *datadriven.TestData) string {
	var f policy.Facts
	for _, arg := range d.CmdArgs {
		v, ok := trade.ParseDecimal(arg.Vals[0])
		if !ok {
			d.Fatalf(t, "%s is not a decimal", arg.Vals[0])
		}
		switch arg.Key {
		case "position":
			f.PositionKnown, f.Position = true, v
		case "pending_sells":
			f.PendingSells = v
		case "pending_buys":
			f.PendingBuys = v
		default:
			d.Fatalf(t, "unknown fact %s", arg.Key)
		}
	}
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		v := p.Evaluate(gatetest.Line(t, line), f)
		out.WriteString(v.Effect.String())
		if v.MaxQuantity != nil {
			fmt.Fprintf(&out, " (at most %s)", v.MaxQuantity)
		}
		out.WriteByte('\n')
		for _, r := range v.Reasons {
			fmt.Fprintf(&out, "  %s %s limit=%q observed=%q\n    %s\n", r.Code, r.Field, r.Limit, r.Observed, r.Message)
		}
	}
	return out.String()
}

// TestEveryRuleIsPublishedInOrder holds the table of rules, the rows of the documents and the codes together.
func TestEveryRuleIsPublishedInOrder(t *testing.T) {
	rows := policy.Rules()
	if len(rows) != 8 {
		t.Fatalf("%d rules are published, not 8", len(rows))
	}
	codes := policy.Codes()
	for _, r := range rows {
		if r.Code != trade.QuantityFractional { // which has its row among the faults
			if codes[0].Code != r.Code {
				t.Errorf("the next code is %s, and the rule's is %s", codes[0].Code, r.Code)
			}
			codes = codes[1:]
		}
		if slices.Contains([]string{r.Name, r.Meaning, r.Unit, r.Facts, r.Missing, r.Source, r.Breach, r.Repair}, "") {
			t.Errorf("the row of %s has an empty cell: %+v", r.Name, r)
		}
	}
}

// TestEveryCodeIsThereOnce keeps codes from being given two meanings.
func TestEveryCodeIsThereOnce(t *testing.T) {
	seen := map[trade.Code]bool{}
	for _, row := range slices.Concat(trade.FaultCodes(), policy.Codes(), policy.RulebookCodes(), policy.SystemCodes(), policy.ControlCodes()) {
		if seen[row.Code] {
			t.Errorf("%s is there twice", row.Code)
		}
		seen[row.Code] = true
		if strings.ToUpper(string(row.Code)) != string(row.Code) || row.Meaning == "" || row.Repair == "" {
			t.Errorf("the row of %s is not complete: %+v", row.Code, row)
		}
	}
	for _, c := range []trade.Code{
		policy.PolicyUnreadable, policy.PolicyInvalid, policy.KillSwitchActive, policy.JournalUnavailable, policy.IDReused,
		policy.TierTooLow, policy.PolicyChanged, policy.DaemonRequired, policy.InternalError, policy.HookRequired,
		policy.ClockBehind, policy.PermissionSpent, policy.ApprovalRequired, policy.OriginMalformed, policy.CallNotJudged,
	} {
		if !seen[c] {
			t.Errorf("%s has no row", c)
		}
	}
}
