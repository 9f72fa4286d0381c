package dialect

import (
	"fmt"
	"strings"

	"sallyport/trade"
	"sallyport/wire"
)

// Schema returns the JSON Schema (draft 2020-12) of the arguments, additional properties refused. It advertises the
// recommended spelling; Parse alone judges, and takes any ASCII case of a word besides.
func (d *Dialect) Schema() []byte { return d.appendObject(make([]byte, 0, 4096), "") }

// appendObject appends the schema of the arguments, or of one object in them.
func (d *Dialect) appendObject(dst []byte, in string) []byte {
	dst = append(dst, `{"type":"object","properties":{`...)
	var required []string
	for i := range d.Fields {
		f := &d.Fields[i]
		switch {
		case f.In == in:
			dst = append(wire.AppendName(dst, f.Name), '{')
			dst = append(appendTerm(dst, *f), '}')
			if !f.Optional {
				required = append(required, f.Name)
			}
		case in == "" && (i == 0 || d.Fields[i-1].In != f.In):
			dst = d.appendObject(wire.AppendName(dst, f.In), f.In)
		}
	}
	dst = append(dst, `},"required":["`...)
	dst = append(dst, strings.Join(required, `","`)...)
	dst = append(dst, `"],"additionalProperties":false`...)
	if in != "" {
		dst = wire.AppendText(dst, "description", "An exit that is placed once the order is filled.")
	}
	return append(dst, '}')
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
		return text("Order type. The operator's policy says which are allowed; limit always needs a limit price.",
			`"enum":["limit","market","stop","stop_limit"]`)
	case TimeInForce:
		return text(timeInForceDoc(f), `"enum":["day","gtc","ioc","fok","opg","cls"]`)
	case ExtendedHours:
		return wire.AppendText(append(dst, `"type":"boolean"`...), "description", describe(f, "Whether the order may also be executed before and after the regular session: a limit order that is day or gtc, without exits."))
	case OrderClass:
		return text("Which exits come with the order: bracket both, oto one of them, simple none.", `"enum":["simple","bracket","oto"]`)
	case ClientOrderID:
		return text("Your own id of this order, used once: the same id with the same order answers with the first result.",
			fmt.Sprintf(`"pattern":"^[A-Za-z0-9._-]{1,%d}$"`, trade.MaxClientOrderID))
	case Reason:
		return text("Why you place the order, in your own words. It is recorded and decides nothing.",
			fmt.Sprintf(`"maxLength":%d`, trade.MaxReason))
	}
	if doc := decimalDoc(f.Term); doc != "" {
		return appendDecimal(dst, describe(f, doc))
	}
	return text("")
}

// timeInForceDoc says what the absence of the field means, where it means something.
func timeInForceDoc(f Field) string {
	doc := "Time in force; stop orders and orders with exits are day or gtc."
	if f.Default != "" {
		doc += " Left out, it is " + f.Default + "."
	}
	return doc
}

// decimalDoc describes a term that is a number; empty for one that is none.
func decimalDoc(t Term) string {
	switch t {
	case Quantity:
		return "Number of shares, above zero, in plain notation such as \"10\". Required, unless the order is for an amount of dollars."
	case Notional:
		return "Amount of US dollars to buy for, in place of a quantity, in plain notation such as \"250.00\": market buys for the day only."
	case LimitPrice:
		return "Limit in US dollars a share, above zero, in plain notation such as \"150.25\". Required of limit and stop_limit orders, and of no other."
	case StopPrice:
		return "Price in US dollars a share that triggers the order. Required of stop and stop_limit orders, and of no other."
	case StopLoss:
		return "Stop, in US dollars a share, of a sell that is placed once a buy is filled; below the price of the buy."
	case StopLossLimit:
		return "Limit of the stop loss, in US dollars a share, at or below its stop; left out, it sells at market once it is triggered."
	case TakeProfit:
		return "Limit, in US dollars a share, of a sell that is placed once a buy is filled; above the price of the buy."
	}
	return ""
}

func describe(f Field, doc string) string { return strings.TrimSpace(f.Doc + " " + doc) }

func appendDecimal(dst []byte, doc string) []byte {
	dst = append(dst, `"anyOf":[{"type":"string"`...)
	dst = wire.AppendText(dst, "pattern", decimalPattern)
	dst = append(dst, `},{"type":"number","exclusiveMinimum":0}]`...)
	return wire.AppendText(dst, "description", doc+" Text is best; a number may have at most 15 significant digits. "+
		"No sign, exponent, comma or space.")
}
