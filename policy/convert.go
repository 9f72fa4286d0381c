package policy

import (
	"fmt"
	"slices"
	"strings"

	"sallyport/trade"
	"sallyport/wire"
)

// Convert writes a policy of version 1 as one of version 2, and names each difference in meaning; they stand as comments
// in the file too. The error is that of Parse.
func Convert(raw []byte) (v2 []byte, differences []string, err error) {
	p, err := Parse(raw)
	if err != nil {
		return nil, nil, err
	}
	c := conversion{p: p, buys: p.sides[trade.Buy], sells: p.sides[trade.Sell], limit: p.types[trade.Limit]}
	rule := c.rule()
	out := []byte("// Converted from version 1. What it means otherwise:\n")
	for _, d := range c.differences() {
		out = fmt.Appendf(out, "// - %s\n", d)
	}
	out = append(out, "{\n  \"version\": 2, \"currency\": \"USD\", \"timezone\": \"America/New_York\",\n"...)
	if c.buys && c.limit {
		out = append(out, "  \"quotes\": {\"sources\": [\"file\"], \"max_age\": \"30s\", \"max_spread_bps\": \"200\"},\n"...)
	}
	out = append(out, "  \"rules\": [\n    "...)
	out = append(out, rule...)
	return append(out, "\n  ]\n}\n"...), c.differences(), nil
}

// conversion is a policy of version 1 on its way.
type conversion struct {
	p                  *Policy
	buys, sells, limit bool
}

// rule writes the one rule. Where version 1 lets no buy pass there is nothing to bound, and the rule denies.
func (c conversion) rule() []byte {
	out := []byte(`{"id": "version-1", "match": {"symbols": `)
	out = appendList(out, words(c.p.listed.symbols))
	if !c.buys || !c.limit {
		return append(out, `, "sides": ["buy"]}, "effect": "deny"}`...)
	}
	out = append(out, `, "sides": `...)
	out = appendList(out, words(c.p.listed.sides))
	out = append(out, `, "order_types": ["limit"]`...)
	out = append(out, `},`+"\n"+`     "limits": {`...)
	if c.bounded() {
		out = fmt.Appendf(out, `"order_quantity": {"deny_above": "%s"}, `, c.p.maxQuantity)
	}
	return fmt.Appendf(out, `"order_notional": {"deny_above": "%s"}}}`, c.p.maxNotional.Money())
}

// bounded reports whether there is an order above max_quantity.
func (c conversion) bounded() bool { return c.p.maxQuantity.Cmp(decimalText(mostQuantity)) < 0 }

func appendList(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = wire.AppendString(dst, s)
	}
	return append(dst, ']')
}

// differences says what the file of version 2 means otherwise, what is looser first.
func (c conversion) differences() []string {
	out := []string{
		"looser: a sell of no more than is held and free passes for every symbol, every agent and every kind of order, whether it is listed or not",
		"looser: max_quantity no longer bounds such a sell",
	}
	if !c.sells {
		out = append(out, "looser: sells were not allowed at all; such a sell now is")
	}
	if !c.limit {
		return append(out, "looser: order_type_allowlist has no limit, so version 1 lets nothing pass; such a sell now passes")
	}
	if !c.buys {
		return append(out, "the same: no buy passes")
	}
	out = append(out,
		"tighter: a buy is worth the higher of its limit price and the ask, where version 1 knew only its limit price",
		"tighter: a buy needs a quote of at most 30 s whose spread is at most 200 basis points; without one it is denied",
		"tighter: an order must fit the instrument of the broker's list: its currency, its tick, its lot",
		"different: a day is one in New York; nothing in this file counts days",
	)
	if !c.bounded() {
		out = append(out, "the same: max_quantity is left out, because no order can be larger")
	}
	if extra := c.otherTypes(); extra != "" {
		out = append(out, "the same: "+extra+" is left out of the order types, because version 1 lets no such order pass")
	}
	return out
}

func (c conversion) otherTypes() string {
	types := words(c.p.listed.types)
	types = slices.DeleteFunc(types, func(s string) bool { return s == trade.Limit.String() })
	return strings.Join(types, ", ")
}
