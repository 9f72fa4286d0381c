package policy

import "sallyport/trade"

// RuleRow is one row of the published table of rules.
type RuleRow struct {
	Name    string // the key of the policy file that holds its bound, or a name of its own
	Code    trade.Code
	Meaning string // what passes
	Unit    string
	Facts   string // what it reads beside the order and the policy
	Missing string // what a missing fact does
	Source  string // where the control comes from
	Breach  string // what the code says
	Repair  string // what the caller can do
}

// Rules returns the published table of rules, in the order in which reasons are given.
func Rules() []RuleRow {
	const none = "none"
	return append([]RuleRow{
		{
			Name: "symbol_allowlist", Code: SymbolNotAllowed,
			Meaning: "The symbol is one of the list.",
			Unit:    "symbols, ASCII case folded", Facts: none, Missing: "cannot be missing",
			Source: "RTS 6 Art. 15(5); SEC 15c3-5(c)(2)(ii)",
			Breach: "The symbol is not on the policy's list.",
			Repair: "Trade a symbol of the list, which `trade_policy_get` shows.",
		},
		{
			Name: "side_allowlist", Code: SideNotAllowed,
			Meaning: "The side is one of the list.",
			Unit:    "buy, sell", Facts: none, Missing: "cannot be missing",
			Source: "RTS 6 Art. 15(5); SEC 15c3-5(c)(2)(ii)",
			Breach: "The side is not on the policy's list.",
			Repair: "Only the operator can allow the side.",
		},
		{
			Name: "order_type_allowlist", Code: OrderTypeNotAllowed,
			Meaning: "The order type is one of the list.",
			Unit:    "limit, market, stop, stop_limit", Facts: none, Missing: "cannot be missing",
			Source: "RTS 6 Art. 15(5); SEC 15c3-5(c)(2)(ii)",
			Breach: "The order type is not on the policy's list.",
			Repair: "Use an order type of the list.",
		},
		{
			Name: "max_quantity", Code: QuantityExceedsLimit,
			Meaning: "The quantity is at most the bound; an amount of dollars is not. It holds for buys and for sells.",
			Unit:    "whole shares of one order", Facts: none, Missing: "cannot be missing",
			Source: "RTS 6 Art. 15(1)(c); SEC 15c3-5(c)(1)(ii); FIA 1.1",
			Breach: "The quantity is over the policy's bound for one order.",
			Repair: "Send at most max_quantity_now, or the limit of the reason.",
		},
		{
			Name: "max_gross_buy_notional_usd", Code: NotionalExceedsLimit,
			Meaning: "Of a buy, quantity × limit price is at most the bound; without a limit price it is not. A sell passes.",
			Unit:    "US dollars of one order", Facts: none, Missing: "cannot be missing",
			Source: "RTS 6 Art. 15(1)(b); SEC 15c3-5(c)(1)(ii)",
			Breach: "The buy is worth more, at its limit price, than the policy's bound for one order.",
			Repair: "Send at most max_quantity_now at this price, or fewer at a higher one.",
		},
		{
			Name: "no_short", Code: ShortSaleNotAllowed,
			Meaning: "Of a sell, the quantity is at most the position less what other sells may still take from it. A buy passes.",
			Unit:    "shares",
			Facts:   "the account's position in the symbol; sells that are reserved, in flight, working or of unknown outcome",
			Missing: "every sell is denied",
			Source:  "SEC 15c3-5(c)(2)(i); Regulation SHO, 17 CFR 242.200 to 203",
			Breach:  "The sell is for more shares than are known to be held and not yet being sold, so it may open a short.",
			Repair:  "Sell at most the limit of the reason, or wait until pending sells are settled.",
		},
	}, versionRows()...)
}

// versionRows are the rules that have no key.
func versionRows() []RuleRow {
	const none = "none"
	return []RuleRow{
		{
			Name: "whole_shares", Code: trade.QuantityFractional,
			Meaning: "The quantity is a whole number of shares. No key changes this.",
			Unit:    "shares of one order", Facts: none, Missing: "cannot be missing",
			Source: "RTS 6 Art. 8, controlled deployment",
			Breach: "A policy of version 1 allows no part of a share.",
			Repair: "Send whole shares.",
		},
		{
			Name: "version_1", Code: OrderNotInVersion1,
			Meaning: "The order is a day limit order for shares of a US equity, without exits and extended hours. No key changes this.",
			Unit:    none, Facts: none, Missing: "cannot be missing",
			Source: "RTS 6 Art. 8, controlled deployment",
			Breach: "A policy of version 1 allows only day limit orders for whole shares of US equities, without exits and extended hours.",
			Repair: "Send such an order.",
		},
	}
}
