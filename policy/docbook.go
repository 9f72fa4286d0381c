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

A file with ` + "`\"version\": 2`" + ` is in force like any other: it is read again, whole, on every guarded call, and what it says is
all that counts. Its bounds are proved and its tests are run once for each content: a policy with a bound that no order can
reach, or whose own tests fail, lets nothing pass.

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
| ` + "`quotes`" + ` | needed by every limit that needs a quote. ` + "`sources`, `max_age` and `max_spread_bps`" + ` are required in it, and with more than one source ` + "`max_divergence_bps`" + `; ` + "`market_slippage_bps`" + ` is how far beyond the quote an order at the market's price is valued, and required by limits that value one |
| ` + "`approval`" + ` | what wins over the configuration about proposals; every key in it may be left out. Without ` + "`max_price_drift_bps`" + ` the quote of an approved order that has no limit price may have moved by 100 |
| ` + "`rules`" + ` | 1 to 256 rules |
| ` + "`rules[].match`" + ` | which orders the rule is about; every list in it must take the order. ` + "`symbols`" + ` is required unless the rule denies. Left out, ` + "`sides`, `agents`" + ` take all; ` + "`order_types`, `time_in_force`, `asset_classes`" + ` take limit, day and us_equity, or everything if the rule denies. The words of ` + "`order_types`" + ` are limit, market, stop, stop_limit, those of ` + "`time_in_force`" + ` day, gtc, ioc, fok, opg, cls |
| ` + "`rules[].require`" + ` | ` + "`session`" + `: regular, or extended for that and the hours around it; ` + "`stop_loss`" + `: true, if every entry must bring one |
| ` + "`rules[].allow`" + ` | ` + "`short`" + `: sales of what is not held; ` + "`fractional`" + `: parts of a share and amounts of dollars; ` + "`extended_hours`" + `. What is not said is false, and every rule about an order must allow it |
| ` + "`rules[].limits`" + ` | at least one limit of the table below |
| ` + "`rules[].effect`" + ` | deny, in the place of require, allow and limits |
| ` + "`tests`" + ` | tests of the file: a name, a tape and what is expected, run when the file is loaded |

## What it means

- An order that no rule is about is denied: ` + "`NO_RULE_MATCHES`" + `.
- Every rule that is about the order applies, and the strictest effect wins: allow, hold, deny, halt. A hold waits for a
  person, whose approval lifts it; nothing lifts a denial. A halt is a denial that also stops what the limit counts per: the
  account, the agent or the symbol; where that is the rule, the account. Like a person's stop it cancels the orders that work there, but
  those stops that only sell what is held, and nothing of an agent passes there until a person resets it, reductions neither:
  a person's ` + "`sallyport reduce`" + ` passes.
- Bounds are inclusive: exactly the bound passes. A bound of zero means nothing. There is no word for unlimited.
- Percent, basis points and leverage are compared by multiplying, never by dividing, so that nothing is rounded. What a
  reason shows of such a value is rounded up at the ninth place.
- A missing fact is a denial with a code of its own. A quote is asked for only by a limit that needs one.
- A quote is not judged by if it is older than ` + "`max_age`" + ` or from the future, if its bid is above its ask, or if its spread
  in parts of the middle is over ` + "`max_spread_bps`" + `.
- Of several sources every one must have such a quote, within ` + "`max_divergence_bps`" + ` of the others. Orders and positions are valued by the lowest
  bid and the highest ask, and the price collar goes by the source that makes a limit furthest, so that no further source loosens anything.
- A window of w is (now − w, now]. A day is the policy's time zone's, from its first instant. What was sent counts once, at
  its full value, whatever became of it. What a hook permits counts when it is permitted, and when it is sent by an executing surface,
  or permitted anew after its deadline, it counts then instead, as what it is worth then: permissions that are collected slowly and
  used at once meet the limits of that moment. A limit counts everything that it counts per, whichever rule it matched; ` + "`per`" + ` rule counts
  what matched the rule.
- The worst price of a limit order is the higher of its limit and the ask; of an order at the market's price, a market or a
  stop order, the far side or its stop, whichever is higher, and ` + "`market_slippage_bps`" + ` beyond it. It is rounded up at the ninth place.
  An order by amount is worth its amount, and comes to the shares that it buys at the bid less the slippage, rounded up; how many is not
  known where that leaves nothing of the bid. Without a usable quote only a buy with a limit, at that, and an order by amount have a worth:
  that of any other is not known, which is above every amount that asks for a person, or for two.
- What an order makes of the position is worked out from the position and what waits. A verified reduction, a sell of no more than is held and
  free or a buy of no more than is owed and free, is exempt from limits that the table says so of, from ` + "`allow`, `stop_loss`, `NO_RULE_MATCHES`" + `
  and ` + "`effect: deny`" + `; not from the price collar, similar orders, orders a minute, the session and the instrument. One that no rule with limits
  matches is judged by these of the rules about its symbol, whatever else they match, and if there is none, of every rule.
- An order of more than closes the position is denied, ` + "`POSITION_FLIP_NOT_ALLOWED`" + `, with the two orders that would say the same. A sell
  of what is not held is ` + "`SHORT_SALE_NOT_ALLOWED`" + ` unless every rule about it allows ` + "`short`" + `; where a rule does, an order whose position
  is not known is ` + "`POSITION_UNAVAILABLE`" + `.
- Every order must fit its instrument, by the broker's list or as a US equity with a tick of 0.01, of 0.0001 under a dollar, and a lot of one:
  ` + "`SYMBOL_NOT_LISTED`, `INSTRUMENT_UNAVAILABLE`, `CURRENCY_NOT_ALLOWED`, `ASSET_CLASS_NOT_ALLOWED`, `PRICE_OFF_TICK`, `QUANTITY_OFF_LOT`" + `. Nothing is
  rounded: the message names both neighbours. Of a lot of one a part may be traded, where ` + "`fractional`" + ` allows it.
- A stop loss or take profit that would be executed at once is ` + "`EXIT_WRONG_SIDE`" + `, as far as the quote shows it.
- ` + "`session: regular`" + ` denies an order that may be executed outside it. An order for the opening auction passes before the regular session begins, and
  every other one within the session.
- What an account holds is known of the broker's account, whoever asks: a tool, a hook or a check. Of an account that a hook guards for
  somebody else's broker nobody tells the fills, with a daemon or without. There every sell is denied, and every buy that a limit of positions,
  exposure, leverage, losses or drawdown judges, or a rule that allows ` + "`short`" + `: ` + "`POSITION_UNAVAILABLE`" + `, ` + "`EXPOSURE_UNAVAILABLE`" + `,
  ` + "`EQUITY_UNAVAILABLE`" + `, ` + "`LOSS_UNAVAILABLE`" + `. What works there are the limits of one order, of what was sent and of open orders:
  ` + "`order_quantity`" + `, ` + "`order_notional`" + `, ` + "`price_collar_bps`" + `, ` + "`orders_per_minute`" + `, ` + "`orders_per_day`" + `, ` + "`notional_per_day`" + `, ` + "`similar_orders`" + `, ` + "`open_orders`" + `,
  ` + "`risk_per_order`" + `, ` + "`stop_distance_bps`" + `, ` + "`broker_rejections`" + ` and ` + "`denials_per_minute`" + `; the session and the instrument too. Give such an account
  a data directory of its own whose policy has these alone, and sell there by hand.
- A denial carries ` + "`max_quantity_now`" + `, the largest quantity of whole lots that would be allowed at the same price, and ` + "`retry_after`" + ` if time
  alone cures every denial; whether the market is open then it does not say. Neither is there if a stop is engaged.
- Reasons come in a fixed order: the position, the instrument, the exits, that no rule matches, then by rule in the order of the file its
  effect, what it allows and requires, its session and its limits in the order of the table.

## What is an error

Beside what version 1 refuses, each with its place: two rules with one id; a ` + "`hold_above`" + ` that is not below ` + "`deny_above`" + `, or
either that is not below ` + "`halt_above`" + `; a limit without a bound; a bound on a count that is not whole or is over 1,000,000; ` + "`per`" + `
or ` + "`window`" + ` at a limit that has none; a rule with neither limits nor an effect, or with both; an empty object; a limit that
needs a quote in a file without ` + "`quotes`" + `; a symbol that the broker does not list, where the list is known.

So is what can match no order, because it would look like a limit and be none: a rule that rules with ` + "`effect: deny`" + ` cover
whole; a limit from which a reduction is exempt in a rule about sells alone that allows no short ones; a limit on stop losses, or ` + "`stop_loss`" + `, where no
buy is day or gtc; something allowed that no order of the rule can have; a bound that no order can exceed. And so are limits that value orders at the
market's price in a file without ` + "`market_slippage_bps`" + `.

## The limits

Each takes ` + "`hold_above`, `deny_above` and `halt_above`" + `, at least one of them. The example of each passes, and then does not, over
a quote of 99.99 to 100.00 and an equity of 100000.00; a test runs it. In it sl=95.00 is a stop loss.
What each comes to at its bound and a unit beside it, without a fact or by an old one, over a restart, a new day and both changes of
the clocks, for a reduction and for an order in the place of another, stands in [ledger/testdata/limits](../ledger/testdata/limits), a file each; a
test runs those too.

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
	if s.Worse != "" {
		return fmt.Appendf(dst, "; with `%s` it does not.\n\n", s.Worse)
	}
	return fmt.Appendf(dst, "; `%s` does not.\n\n", s.Stops)
}
