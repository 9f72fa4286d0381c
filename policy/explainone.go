package policy

import (
	"sallyport/trade"
)

// versionOne is what an explanation calls the one rule that a policy of version 1 is.
const versionOne = "version 1"

// Explain judges an order and shows every rule of a policy of version 1.
func (p *Policy) Explain(o trade.Order, f Facts) Explanation {
	e := Explanation{Verdict: p.Evaluate(o, f)}
	if !p.IsValid() {
		return e
	}
	for i := range rules {
		e.Rows = append(e.Rows, p.explained(rules[i], o, f))
	}
	return e
}

// explained shows one rule. One that cannot be evaluated denies, as Evaluate has it.
func (p *Policy) explained(r rule, o trade.Order, f Facts) (row ExplainedLimit) {
	row = ExplainedLimit{Rule: versionOne, Limit: r.name, Value: "unknown", Effect: denies.String(), Code: InternalError}
	defer func() { _ = recover() }()
	passed := r.passes(p, o, f)
	reason := r.reason(p, o, f)
	row.Value, row.Bound, row.Code = reason.Observed, reason.Limit, r.code
	if r.code == ShortSaleNotAllowed && o.Side() == trade.Buy {
		row.Value, row.Bound = "", "" // a buy sells nothing
	}
	if r.code == NotionalExceedsLimit && o.Side() == trade.Sell {
		row.Value, row.Bound, row.Effect, row.Code = "", "", "exempt", ""
		return row
	}
	observed, isNumber := trade.ParseDecimal(row.Value)
	limit, isBound := trade.ParseDecimal(row.Bound)
	if isNumber && isBound {
		row.Headroom, row.Bound = limit.Sub(observed).String(), denies.String()+" "+row.Bound
		if r.code == NotionalExceedsLimit {
			row.Headroom = limit.Sub(observed).Money()
		}
	}
	if passed {
		row.Effect, row.Code = passes.String(), ""
	}
	return row
}

// Headroom returns how much of an order's symbol and side passes now at its price, by a policy of version 1.
func (p *Policy) Headroom(o trade.Order, f Facts) Room {
	most, ok := sized(o, decimalText(mostQuantity))
	if !ok || !p.IsValid() {
		return Room{Binds: p.Evaluate(o, f).Reasons}
	}
	v := p.Evaluate(most, f)
	room := Room{Unbounded: v.Effect == Allow, Binds: v.Reasons}
	if room.Unbounded {
		room.Most = most.Quantity()
		return room
	}
	if v.MaxQuantity != nil {
		room.Most = *v.MaxQuantity
	}
	if more, ok := sized(o, room.Most.Add(trade.Whole(1))); ok {
		room.Binds = p.Evaluate(more, f).Reasons
	}
	return room
}
