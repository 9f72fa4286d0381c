package policy_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"sallyport/broker/paper"
	"sallyport/market"
	"sallyport/mcp"
	"sallyport/policy"
	"sallyport/rest"
	"sallyport/trade"
)

var update = flag.Bool("update", false, "write the generated pages instead of comparing them")

// TestGeneratedPagesAreUpToDate compares docs/policy.md and docs/reasons.md with what the code says.
func TestGeneratedPagesAreUpToDate(t *testing.T) {
	for file, want := range map[string][]byte{
		"../docs/policy.md":  policy.AppendPolicyDoc(nil),
		"../docs/reasons.md": policy.AppendReasonsDoc(nil, otherCodes()...),
	} {
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: go test ./policy -update", file)
		}
	}
}

// fenced returns the first block of that language in a page.
func fenced(t *testing.T, page, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "```"+language+"\n")
	block, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("the page has no block of %s", language)
	}
	return block
}

// TestTheExampleOfThePageRuns judges the example of docs/policy.md by the policy that the page shows.
func TestTheExampleOfThePageRuns(t *testing.T) {
	raw, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	p := mustParse(t, fenced(t, page, "json"))
	v := p.Evaluate(order(t, "buy", "250", "AAPL", "150.00"), policy.Facts{})
	if v.Effect != policy.Deny || len(v.Reasons) != 2 || v.MaxQuantity.String() != "66" {
		t.Fatalf("the example comes to %+v", v)
	}
	for _, r := range v.Reasons {
		if !strings.Contains(page, "- `"+string(r.Code)+"`: "+r.Message+"\n") {
			t.Errorf("the page does not say %s: %s", r.Code, r.Message)
		}
	}
	if !strings.Contains(page, "At that price 66 shares would have passed.") {
		t.Error("the page does not say how many shares would have passed")
	}
}

func TestThePagesNameEveryRuleAndCode(t *testing.T) {
	rules, reasons := string(policy.AppendPolicyDoc(nil)), string(policy.AppendReasonsDoc(nil, otherCodes()...))
	for _, r := range policy.Rules() {
		if !strings.Contains(rules, "| `"+r.Name+"` | `"+string(r.Code)+"` |") {
			t.Errorf("the page of rules lacks %s", r.Name)
		}
	}
	for _, table := range [][]trade.CodeRow{trade.FaultCodes(), policy.Codes(), policy.SystemCodes(), policy.ControlCodes()} {
		for _, row := range table {
			if n := strings.Count(reasons, "\n| `"+string(row.Code)+"` | "); n != 1 {
				t.Errorf("the page of reasons has %s %d times", row.Code, n)
			}
		}
	}
	for _, row := range policy.RulebookCodes() { // surfaces that read may have the same code for the same thing
		if !strings.Contains(reasons, "\n| `"+string(row.Code)+"` | ") {
			t.Errorf("the page of reasons lacks %s", row.Code)
		}
	}
	for _, page := range []string{rules, reasons} {
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "|") && strings.Count(line, "|")-strings.Count(line, `\|`) < 3 {
				t.Errorf("a row of a table is broken: %s", line)
			}
		}
		if string(policy.AppendPolicyDoc([]byte("x"))) != "x"+rules {
			t.Error("the page is not appended")
		}
	}
}

// otherCodes are those of the surfaces and venues.
func otherCodes() []policy.CodeTable {
	return []policy.CodeTable{
		{Title: "HTTP API", Intro: "The request itself is refused. The body is a problem object (RFC 9457) with the code.", Rows: rest.Codes()},
		{Title: "MCP server", Intro: "An argument of a tool that reads is not what it takes.", Rows: mcp.Codes()},
		{Title: "Quotes", Intro: "There are no quotes, so the paper venue trades nothing and no quote is shown.", Rows: market.Codes()},
		{Title: "Paper venue", Intro: "The venue rejected an order that was allowed. The code stands in the record of the outcome.", Rows: paper.Codes()},
	}
}
