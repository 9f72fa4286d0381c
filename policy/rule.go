package policy

import (
	"fmt"
	"strings"

	"sallyport/trade"
)

// rule is one row of the table. Its functions are pure and run in any order.
type rule struct {
	name   string
	code   trade.Code
	passes func(p *Policy, o trade.Order, f Facts) bool
	reason func(p *Policy, o trade.Order, f Facts) Reason // of a no; the code is filled in
	// most returns the largest whole quantity that passes this rule, all else equal. nil: no quantity changes what the
	// rule says.
	most func(p *Policy, o trade.Order, f Facts) trade.Decimal
}

// ruleCount is the published number of rules. It stands apart from the table, so that a rule that is lost denies.
const ruleCount = 8

// rules is the table, in published order.
var rules = []rule{
	{"symbol_allowlist", SymbolNotAllowed, symbolPasses, symbolReason, nil},
	{"side_allowlist", SideNotAllowed, sidePasses, sideReason, nil},
	{"order_type_allowlist", OrderTypeNotAllowed, typePasses, typeReason, nil},
	{"max_quantity", QuantityExceedsLimit, quantityPasses, quantityReason, quantityMost},
	{"max_gross_buy_notional_usd", NotionalExceedsLimit, notionalPasses, notionalReason, notionalMost},
	{"no_short", ShortSaleNotAllowed, shortPasses, shortReason, shortMost},
	{"whole_shares", trade.QuantityFractional, wholePasses, wholeReason, wholeMost},
	{"version_1", OrderNotInVersion1, versionPasses, versionReason, nil},
}

//limit:policy-symbol An order for a symbol that is not on the policy's list is denied: SYMBOL_NOT_ALLOWED.
func symbolPasses(p *Policy, o trade.Order, _ Facts) bool { return p.symbols[o.Symbol()] }

func symbolReason(p *Policy, o trade.Order, _ Facts) Reason {
	return listReason("symbol", o.Symbol().String(), words(p.listed.symbols))
}

//limit:policy-side An order of a side that is not on the policy's list is denied: SIDE_NOT_ALLOWED.
func sidePasses(p *Policy, o trade.Order, _ Facts) bool { return p.sides[o.Side()] }

func sideReason(p *Policy, o trade.Order, _ Facts) Reason {
	return listReason("side", o.Side().String(), words(p.listed.sides))
}

//limit:policy-order-type An order of a type that is not on the policy's list is denied: ORDER_TYPE_NOT_ALLOWED.
func typePasses(p *Policy, o trade.Order, _ Facts) bool { return p.types[o.Type()] }

func typeReason(p *Policy, o trade.Order, _ Facts) Reason {
	return listReason("type", o.Type().String(), words(p.listed.types))
}

//limit:policy-quantity An order of more shares than max_quantity is denied, buys and sells alike: QUANTITY_EXCEEDS_LIMIT.
func quantityPasses(p *Policy, o trade.Order, _ Facts) bool {
	return !o.ByAmount() && o.Quantity().Cmp(p.maxQuantity) <= 0
}

func quantityReason(p *Policy, o trade.Order, _ Facts) Reason {
	limit, observed := p.maxQuantity.String(), o.Quantity().String()
	if o.ByAmount() {
		return Reason{
			Field: "quantity", Limit: limit, Observed: "unknown",
			Message: fmt.Sprintf("how many shares an amount of %s buys is not known to this policy, whose limit is %s", o.Amount().Money(), limit),
		}
	}
	return Reason{
		Field: "quantity", Limit: limit, Observed: observed,
		Message: fmt.Sprintf("quantity %s exceeds the limit of %s", observed, limit),
	}
}

func quantityMost(p *Policy, _ trade.Order, _ Facts) trade.Decimal { return p.maxQuantity }

// notionalPasses values a buy at its own limit price. What only a quote could value is worth more than any bound.
//
//limit:policy-notional A buy of more dollars at its limit price than max_gross_buy_notional_usd is denied, and so is one without a limit price: NOTIONAL_EXCEEDS_LIMIT.
func notionalPasses(p *Policy, o trade.Order, _ Facts) bool {
	worth, known := o.Notional()
	return o.Side() == trade.Sell || known && worth.Cmp(p.maxNotional) <= 0
}

func notionalReason(p *Policy, o trade.Order, _ Facts) Reason {
	worth, known := o.Notional()
	limit, observed := p.maxNotional.Money(), worth.Money()
	if !known {
		return Reason{
			Field: "notional", Limit: limit, Observed: "unknown",
			Message: fmt.Sprintf("what a %s order costs is not known to this policy, whose limit is %s US dollars for one buy", o.Type(), limit),
		}
	}
	return Reason{
		Field: "notional", Limit: limit, Observed: observed,
		Message: fmt.Sprintf("notional %s exceeds the limit of %s US dollars for one buy", observed, limit),
	}
}

func notionalMost(p *Policy, o trade.Order, _ Facts) trade.Decimal {
	if o.Side() == trade.Sell {
		return p.maxQuantity
	}
	return p.maxNotional.QuoWhole(o.LimitPrice())
}

//limit:policy-short A sell of more shares than are known to be held and not yet being sold is denied: SHORT_SALE_NOT_ALLOWED.
func shortPasses(p *Policy, o trade.Order, f Facts) bool {
	return o.Side() == trade.Buy || f.PositionKnown && o.Quantity().Cmp(available(f)) <= 0
}

// available returns the shares that may still be sold.
func available(f Facts) trade.Decimal {
	left := f.Position.Sub(f.PendingSells)
	if !f.PositionKnown || f.PendingSells.Sign() < 0 || left.Sign() < 0 {
		return trade.Decimal{}
	}
	return left
}

func shortReason(_ *Policy, o trade.Order, f Facts) Reason {
	r := Reason{Field: "quantity", Limit: "unknown", Observed: o.Quantity().String()}
	if !f.PositionKnown {
		r.Message = fmt.Sprintf("the position in %s is not known, so the sell may open a short", o.Symbol())
		return r
	}
	r.Limit = available(f).String()
	r.Message = fmt.Sprintf("a sell of %s exceeds the %s shares that are held and not yet being sold (position %s, pending sells %s)",
		r.Observed, r.Limit, f.Position, f.PendingSells)
	return r
}

func shortMost(p *Policy, o trade.Order, f Facts) trade.Decimal {
	if o.Side() == trade.Buy {
		return p.maxQuantity
	}
	return available(f).QuoWhole(trade.Whole(1))
}

//limit:policy-whole-shares A policy of version 1 allows no part of a share: QUANTITY_FRACTIONAL.
func wholePasses(_ *Policy, o trade.Order, _ Facts) bool { return o.Quantity().IsWhole() }

func wholeReason(_ *Policy, o trade.Order, _ Facts) Reason {
	return Reason{
		Field: "quantity", Limit: "whole shares", Observed: o.Quantity().String(),
		Message: fmt.Sprintf("quantity %s is not a whole number of shares, and a policy of version 1 allows no part of one", o.Quantity()),
	}
}

func wholeMost(p *Policy, _ trade.Order, _ Facts) trade.Decimal { return p.maxQuantity }

// versionPasses is what a policy of the first version allows for ever, whatever orders there will be.
//
//limit:policy-version-1 A policy of version 1 allows only day limit orders for shares of US equities, without exits or extended hours: ORDER_NOT_IN_VERSION_1.
func versionPasses(_ *Policy, o trade.Order, _ Facts) bool {
	side := o.Side() == trade.Buy || o.Side() == trade.Sell
	return side && o.AssetClass() == "us_equity" && o.Type() == trade.Limit && o.TimeInForce() == trade.Day &&
		o.Quantity().Sign() > 0 && o.LimitPrice().Sign() > 0 && o.StopPrice().Sign() == 0 &&
		!o.ByAmount() && !o.ExtendedHours() && !o.HasExits()
}

func versionReason(_ *Policy, o trade.Order, _ Facts) Reason {
	observed := fmt.Sprintf("%s %s %s", o.Type(), o.TimeInForce(), o.AssetClass())
	for _, more := range []struct {
		is   bool
		says string
	}{{o.ByAmount(), "by amount"}, {o.ExtendedHours(), "extended hours"}, {o.HasExits(), "exits"}} {
		if more.is {
			observed += ", " + more.says
		}
	}
	return Reason{
		Field: "order", Limit: "limit day us_equity", Observed: observed,
		Message: "a policy of version 1 allows only day limit orders for whole shares of US equities, without exits and extended hours",
	}
}

func listReason(field, observed string, list []string) Reason {
	limit := shorten(list)
	return Reason{
		Field: field, Limit: limit, Observed: observed,
		Message: fmt.Sprintf("%s %q is not on the policy's list: %s", field, observed, limit),
	}
}

func words[T fmt.Stringer](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.String()
	}
	return out
}

// shorten names the first ten of a list and how many are left.
func shorten(list []string) string {
	const shown = 10
	if len(list) <= shown {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:shown], ", "), len(list)-shown)
}
