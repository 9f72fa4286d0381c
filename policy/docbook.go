package policy

import (
	_ "embed"
	"fmt"
)

//go:embed example.jsonc
var exampleV2 string

// ExampleV2 returns the bytes of a policy of version 2 that uses every key.
func ExampleV2() []byte { return []byte(exampleV2) }

const bookIntro = `
# The policy, version 2

**No gate enforces a policy of version 2 in this release.** A file with ` + "`\"version\": 2`" + ` is refused with ` + "`POLICY_INVALID`" + `
wherever a policy is read, so that nobody believes in a limit that is not there. What this part describes is built and
tested: reading the file, analysing it, judging an order in a given situation, and over that explaining an order limit by
limit, saying how much passes now, proving each bound by an order that it stops, comparing two policies, a JSON Schema, and
the conversion of version 1. Not there yet: the gate giving the situation (quotes, counts, losses, the calendar) and
engaging the kill switch on a halt; commands for these tools; running the file's own ` + "`tests`" + `; comparing two sources of quotes;
the ` + "`approval`" + ` block, which is read and has no effect.

A policy of version 1 keeps its meaning, byte for byte, for ever.

## The file

JSON in UTF-8 of at most 1 MiB, in which trailing commas and comments of both kinds that JavaScript has may stand. A comment holds only
characters that show as what they are. Keys are matched exactly. Numbers are text or bare numbers, as in version 1;
durations are a whole number of seconds, minutes or hours of at most 24 hours: ` + "`30s`, `5m`, `24h`" + `. Every problem of a file
is reported together, each with its line, column and path. This file uses every key:

` + "```text\n"

const bookKeys = "```\n" + `
| key | value |
|---|---|
| ` + "`currency`" + ` | USD, the only one of this release |
| ` + "`timezone`" + ` | the time zone whose days are counted by, such as America/New_York |
| ` + "`quotes`" + ` | needed by every limit that needs a quote. ` + "`sources`, `max_age` and `max_spread_bps`" + ` are required in it, and with more than one source ` + "`max_divergence_bps`" + `; ` + "`market_slippage_bps`" + ` is for market orders |
| ` + "`approval`" + ` | what wins over the configuration about proposals; every key in it may be left out |
| ` + "`rules`" + ` | 1 to 256 rules |
| ` + "`rules[].match`" + ` | which orders the rule is about; every list in it must take the order. ` + "`symbols`" + ` is required unless the rule denies. Left out, ` + "`sides`, `agents`" + ` take all; ` + "`order_types`, `time_in_force`, `asset_classes`" + ` take limit, day and us_equity, or everything if the rule denies |
| ` + "`rules[].require`" + ` | ` + "`session`" + `: regular, or extended for that and the hours around it; ` + "`stop_loss`" + `: false |
| ` + "`rules[].allow`" + ` | ` + "`short`, `fractional`, `extended_hours`" + `: false |
| ` + "`rules[].limits`" + ` | at least one limit of the table below |
| ` + "`rules[].effect`" + ` | deny, in the place of require, allow and limits |
| ` + "`tests`" + ` | tests of the file: a name, a tape and what is expected, each in shape only until there is a replay |

## What it means

- An order that no rule is about is denied: ` + "`NO_RULE_MATCHES`" + `.
- Every rule that is about the order applies, and the strictest effect wins: allow, hold, deny, halt. A hold waits for a
  person, whose approval lifts it; nothing lifts a denial. A halt is a denial that also stops what the limit counts per: the
  account, the agent or the symbol; where that is the rule, the account.
- Bounds are inclusive: exactly the bound passes. A bound of zero means nothing. There is no word for unlimited.
- Percent, basis points and leverage are compared by multiplying, never by dividing, so that nothing is rounded. What a
  reason shows of such a value is rounded up at the ninth place.
- A missing fact is a denial with a code of its own. A quote is asked for only by a limit that needs one.
- A quote is not judged by if it is older than ` + "`max_age`" + ` or from the future, if its bid is above its ask, or if its spread
  in parts of the middle is over ` + "`max_spread_bps`" + `.
- A window of w is (now − w, now]. A day is the policy's time zone's, from its first instant. What was sent counts once, at
  its full value, whatever became of it. A limit counts everything that it counts per, whichever rule it matched; ` + "`per`" + ` rule counts
  what matched the rule.
- A verified reduction, a sell of no more than is held and free, is exempt from limits that the table says so of, from
  ` + "`NO_RULE_MATCHES`" + ` and from ` + "`effect: deny`" + `; not from the price collar, similar orders, orders a minute and the session.
- A sell of more than is held and free is denied, ` + "`POSITION_FLIP_NOT_ALLOWED`" + ` or ` + "`SHORT_SALE_NOT_ALLOWED`" + `, whatever the rules say.
- A denial carries ` + "`max_quantity_now`" + `, the largest quantity that would be allowed at the same price, and ` + "`retry_after`" + ` if time
  alone cures every denial. Neither is there if a stop is engaged.
- Reasons come in a fixed order: the position, that no rule matches, then by rule in the order of the file its effect, its
  session and its limits in the order of the table.

## What is an error

Beside what version 1 refuses, each with its place: two rules with one id; a ` + "`hold_above`" + ` that is not below ` + "`deny_above`" + `, or
either that is not below ` + "`halt_above`" + `; a limit without a bound; a bound on a count that is not whole or is over 1,000,000; ` + "`per`" + `
or ` + "`window`" + ` at a limit that has none; a rule with neither limits nor an effect, or with both; an empty object; a limit that
needs a quote in a file without ` + "`quotes`" + `; a symbol that the broker does not list, where the list is known.

So is what can match no order, because it would look like a limit and be none: a rule that rules with ` + "`effect: deny`" + ` cover
whole; order types without limit; a limit from which a reduction is exempt in a rule about sells alone; a bound that no order
can exceed. A permission for orders that this release does not have (` + "`short`, `fractional`, `extended_hours`" + `: true) is an error
too, because it would begin to mean something with an upgrade. Limits on stop losses, market order types beside limit, and
slippage are accepted and decide nothing yet; they never loosen anything.

## The limits

Each takes ` + "`hold_above`, `deny_above` and `halt_above`" + `, at least one of them. The example of each passes, and then does not, over
a quote of 99.99 to 100.00 and an equity of 100000.00; a test runs it.

`

const bookSources = `
RTS 6 is Commission Delegated Regulation (EU) 2017/589, SEC 15c3-5 is 17 CFR 240.15c3-5, FIA is the FIA's Best Practices for
Automated Trading Risk Controls and System Safeguards. A policy does not make anyone compliant with them.
`

// appendBook appends the part of docs/policy.md about version 2.
func appendBook(dst []byte) []byte {
	dst = append(dst, bookIntro...)
	dst = append(dst, exampleV2...)
	dst = append(dst, bookKeys...)
	for _, l := range Limits() {
		dst = fmt.Appendf(dst, "### `%s`\n\n%s\n\n", l.Name, l.Meaning)
		dst = fmt.Appendf(dst, "| code | unit | per | needs | a missing fact | a verified reduction is | source |\n|---|---|---|---|---|---|---|\n")
		per := l.Per
		if per == "" {
			per = "nothing"
		}
		dst = fmt.Appendf(dst, "| `%s` | %s | %s | %s | %s | %s | %s |\n\n", l.Code, l.Unit, per, l.Facts, l.Missing, l.Reduces, l.Source)
		dst = appendSample(dst, l)
	}
	return append(dst, bookSources...)
}

func appendSample(dst []byte, l LimitRow) []byte {
	s := l.Sample
	so := func(facts string) string {
		if facts == "" {
			return ""
		}
		return " with `" + facts + "`"
	}
	dst = fmt.Appendf(dst, "With `\"%s\": %s`, `%s`%s passes", l.Name, s.Limit, s.Passes, so(s.Facts))
	switch {
	case s.Stops == "":
		return append(dst, "; no order of this release is stopped by it.\n\n"...)
	case s.Worse != "":
		return fmt.Appendf(dst, "; with `%s` it does not.\n\n", s.Worse)
	}
	return fmt.Appendf(dst, "; `%s` does not.\n\n", s.Stops)
}
