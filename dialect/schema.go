package dialect

import (
	"fmt"
	"strings"

	"sallyport/trade"
	"sallyport/wire"
)

// Schema returns the JSON Schema (draft 2020-12) of the arguments, additional properties refused. It advertises the
// recommended spelling; Parse alone judges, and takes any ASCII case of a word besides.
func (d *Dialect) Schema() []byte {
	dst := append(make([]byte, 0, 2048), `{"type":"object","properties":{`...)
	var required []string
	for _, f := range d.Fields {
		dst = append(wire.AppendName(dst, f.Name), '{')
		dst = appendTerm(dst, f)
		dst = append(dst, '}')
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	dst = append(dst, `},"required":["`...)
	dst = append(dst, strings.Join(required, `","`)...)
	return append(dst, `"],"additionalProperties":false}`...)
}

// decimalPattern is the grammar of trade.ParseDecimal as a regular expression.
const decimalPattern = `^(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?$`

// appendTerm appends the keywords of one field.
func appendTerm(dst []byte, f Field) []byte {
	text := func(doc string, more ...string) []byte {
		dst = append(dst, `"type":"string"`...)
		for _, m := range more {
			dst = append(append(dst, ','), m...)
		}
		return wire.AppendText(dst, "description", describe(f, doc))
	}
	switch f.Term {
	case Symbol:
		return text("Exchange symbol of a US equity, such as AAPL or BRK.B; ASCII only.",
			`"pattern":"^[A-Za-z][A-Za-z0-9]{0,9}([./-][A-Za-z0-9]{1,5})?$"`, `"maxLength":16`)
	case Side:
		return text("Direction. A sell is for shares that are held; nothing is sold short.", `"enum":["buy","sell"]`)
	case OrderType:
		return text("Order type; only limit is taken.", `"enum":["limit"]`)
	case TimeInForce:
		return text("Time in force; only day is taken.", `"enum":["day"]`)
	case ClientOrderID:
		return text("Your own id of this order, used once: the same id with the same order answers with the first result.",
			fmt.Sprintf(`"pattern":"^[A-Za-z0-9._-]{1,%d}$"`, trade.MaxClientOrderID))
	case Reason:
		return text("Why you place the order, in your own words. It is recorded and decides nothing.",
			fmt.Sprintf(`"maxLength":%d`, trade.MaxReason))
	case Quantity:
		return appendDecimal(dst, describe(f, "Whole number of shares, above zero, in plain notation such as \"10\"."))
	case LimitPrice:
		return appendDecimal(dst, describe(f, "Limit in US dollars a share, above zero, in plain notation such as \"150.25\"."))
	}
	return text("")
}

func describe(f Field, doc string) string { return strings.TrimSpace(f.Doc + " " + doc) }

func appendDecimal(dst []byte, doc string) []byte {
	dst = append(dst, `"anyOf":[{"type":"string"`...)
	dst = wire.AppendText(dst, "pattern", decimalPattern)
	dst = append(dst, `},{"type":"number","exclusiveMinimum":0}]`...)
	return wire.AppendText(dst, "description", doc+" Text is best; a number may have at most 15 significant digits. "+
		"No sign, exponent, comma or space.")
}
