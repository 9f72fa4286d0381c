package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

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
func TestRulesAtTheirLimits(t *testing.T) {
	seen := map[string]bool{}
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, path string) {
		seen[strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".txt")] = true
		var p *policy.Policy
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
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
	})
	for _, r := range policy.Rules() {
		if !seen[r.Name] {
			t.Errorf("the rule %s has no file in testdata/rules", r.Name)
		}
	}
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
		var side, quantity, symbol, price string
		if _, err := fmt.Sscanf(line, "%s %s %s at %s", &side, &quantity, &symbol, &price); err != nil {
			d.Fatalf(t, "%q: %v", line, err)
		}
		v := p.Evaluate(order(t, side, quantity, symbol, price), f)
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
	if len(rows) != 7 {
		t.Fatalf("%d rules are published, not 7", len(rows))
	}
	codes := policy.Codes()
	for i, r := range rows {
		if codes[i].Code != r.Code {
			t.Errorf("code %d is %s, and the rule's is %s", i, codes[i].Code, r.Code)
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
