package policy

import (
	"fmt"
	"strings"

	"sallyport/trade"
)

const policyIntro = `# The policy, version 1

<!-- Generated from the code. Do not edit: a test compares it, and -update writes it. -->

The policy is one file that the operator owns: ` + "`policy.json`" + ` in the data directory, or the file that the
configuration names. No tool, command or call edits it. It is read again, whole, on every guarded call, so an edit counts
from the next call on. Every decision records the SHA-256 of the bytes that it was made by.

## The file

Exactly these five keys, all required. This is the file that a new data directory gets:

` + "```json\n"

const policyKeys = "```\n" + `
| key | value |
|---|---|
| ` + "`max_gross_buy_notional_usd`" + ` | the largest notional of one buy, in US dollars; text, or a bare number of at most 15 significant digits |
| ` + "`max_quantity`" + ` | the largest quantity of one order, in whole shares; text or a bare number likewise |
| ` + "`symbol_allowlist`" + ` | the symbols that may be traded; at least one |
| ` + "`order_type_allowlist`" + ` | of limit, market, stop, stop_limit; at least one |
| ` + "`side_allowlist`" + ` | of buy, sell; at least one |

- Bounds are inclusive: exactly the bound passes. A bound of zero is valid and lets nothing pass that it bounds.
- Numbers are plain: no sign, exponent, comma or space, at most 12 digits before the point and 9 after it.
- Words and symbols fold ASCII case; an entry that is there twice is an error.
- The file is plain JSON in UTF-8 of at most 1 MiB, without comments. A file with the key ` + "`version`" + `
  is of version 2, below.
- An unknown, missing, repeated or differently spelled key, a wrong type, an empty list, a malformed or negative number,
  text after the object and malformed JSON are configuration errors. While one stands, every guarded call is denied
  ` + "`POLICY_INVALID`" + ` (` + "`POLICY_UNREADABLE`" + ` if the file cannot be read, or could be written by another user). The message
  names the first ten problems with line, column and key; ` + "`sallyport policy validate`" + ` prints all.

## The rules

Every rule runs on every order, and every reason is reported, in this order. A rule that lacks a fact denies; so does a
rule that fails to run. All numbers are exact decimals.

| rule | code | what passes | unit | facts | a missing fact | source |
|---|---|---|---|---|---|---|
`

const policySources = `
RTS 6 is Commission Delegated Regulation (EU) 2017/589. SEC 15c3-5 is 17 CFR 240.15c3-5. FIA is the FIA's Best Practices
for Automated Trading Risk Controls and System Safeguards. They are where the controls come from; a policy does not make
anyone compliant with them.

` + "`max_quantity_now`" + ` in a denial is the largest whole quantity that passes every rule at the same price. It is left out
where no quantity would pass.

Version 1 judges each order by itself. It has no limit on how many orders there are or on what they add up to, and looks
at no quote: a buy is valued at its own limit price, which is the most that it can cost.

## An example

`

// AppendPolicyDoc appends the page docs/policy.md. Its example is evaluated, not written down.
func AppendPolicyDoc(dst []byte) []byte {
	dst = append(dst, policyIntro...)
	dst = append(dst, Default()...)
	dst = append(dst, policyKeys...)
	for _, r := range Rules() {
		dst = fmt.Appendf(dst, "| `%s` | `%s` | %s | %s | %s | %s | %s |\n", r.Name, r.Code, r.Meaning, r.Unit, r.Facts, r.Missing, r.Source)
	}
	dst = append(dst, policySources...)
	return appendBook(appendExample(dst, "250", "150.00"))
}

// appendExample judges a buy of AAPL by the default policy.
func appendExample(dst []byte, quantity, price string) []byte {
	text := func(s string) trade.Text { return trade.Text{Name: "example", Value: s, Kind: trade.IsText} }
	o, _, _ := trade.Parse(trade.Draft{
		Account: "paper", Symbol: text("AAPL"), Side: text("buy"), Quantity: text(quantity), Type: text("limit"),
		LimitPrice: text(price), TimeInForce: text("day"),
	})
	p, err := Parse(Default())
	if err != nil {
		return fmt.Appendf(dst, "The default policy is not valid: %v\n", err)
	}
	v := p.Evaluate(o, Facts{})
	dst = fmt.Appendf(dst, "By the policy above, a buy of %s AAPL at %s gets the verdict `%s`:\n\n", quantity, price, v.Effect)
	for _, r := range v.Reasons {
		dst = fmt.Appendf(dst, "- `%s`: %s\n", r.Code, r.Message)
	}
	if v.MaxQuantity != nil {
		dst = fmt.Appendf(dst, "\nAt that price %s shares would have passed.\n", v.MaxQuantity)
	}
	return dst
}

const reasonsIntro = `# Reason codes

<!-- Generated from the code. Do not edit: a test compares it, and -update writes it. -->

Every refusal carries one or more reasons, each with a stable code and a sentence. A code is never renamed and never used
again for something else; codes may be added. All reasons of one call are given together.
`

// CodeTable is one more table of the page of reasons: codes that a surface or a venue has of its own.
type CodeTable struct {
	Title, Intro string
	Rows         []trade.CodeRow
}

// AppendReasonsDoc appends the page docs/reasons.md. This package does not know the surfaces and venues, so the caller
// brings their tables.
func AppendReasonsDoc(dst []byte, others ...CodeTable) []byte {
	dst = append(dst, reasonsIntro...)
	dst = appendCodes(dst, "Faults", "The input is not an order. `field` is the caller's own name of the field.", trade.FaultCodes())
	dst = appendCodes(dst, "Policy", "The input is an order, and the policy says no. `field` is of the canonical order.", Codes())
	dst = appendCodes(dst, "Policy, version 2", "The same of a policy of version 2. `field` is the name of the limit.", RulebookCodes())
	dst = appendCodes(dst, "System", "What stands around the policy says no, whatever the order is.", SystemCodes())
	dst = appendCodes(dst, "People in control", "A person or an agent wants to change something, and may not, or not any more. Every such attempt is recorded.", ControlCodes())
	for _, t := range others {
		dst = appendCodes(dst, t.Title, t.Intro, t.Rows)
	}
	return dst
}

func appendCodes(dst []byte, title, intro string, rows []trade.CodeRow) []byte {
	dst = fmt.Appendf(dst, "\n## %s\n\n%s\n\n| code | meaning | repair |\n|---|---|---|\n", title, intro)
	for _, r := range rows {
		dst = fmt.Appendf(dst, "| `%s` | %s | %s |\n", r.Code, cell(r.Meaning), cell(r.Repair))
	}
	return dst
}

// cell escapes what would end a cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
