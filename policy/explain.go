package policy

import (
	"fmt"
	"math/big"
	"strings"

	"sallyport/trade"
)

// Explanation is a verdict and every rule and limit that had a say in it, or was asked and had none.
type Explanation struct {
	Verdict Verdict
	Rows    []ExplainedLimit // by rule in the order of the file, then in the order of the limits
}

// ExplainedLimit is what one limit of one rule makes of an order.
type ExplainedLimit struct {
	Rule     string
	Limit    string // a limit's name, or effect or session
	Per      string // empty if it counts nothing
	Value    string // empty if there is none, unknown if a fact is missing
	Bound    string // with its word: of what is passed, else the next
	Headroom string // from the value to that bound; negative if it is passed
	Effect   string // allow, hold, deny, halt; exempt for a reduction; off for an order without the stop loss that it judges
	Code     trade.Code
}

// Explain judges an order and shows every rule that is about it.
func (b *Rulebook) Explain(o trade.Order, f Facts, s Situation) Explanation {
	e := Explanation{Verdict: b.Evaluate(o, f, s)}
	if !b.IsValid() {
		return e
	}
	j := judge{book: b, o: o, f: f, s: s}
	j.begin()
	for i := range b.rules {
		r := &b.rules[i]
		if !j.about(r) {
			continue
		}
		if r.deny {
			row := ExplainedLimit{Rule: r.id, Limit: "effect", Bound: "deny", Effect: "deny", Code: DeniedByRule}
			if j.effect == reduces {
				row.Effect, row.Code = "exempt", ""
			}
			e.Rows = append(e.Rows, row)
		}
		e.Rows = append(e.Rows, j.explainPermits(r)...)
		if r.session != anySession {
			row := ExplainedLimit{Rule: r.id, Limit: "session", Bound: sessionWords[r.session], Effect: "allow", Code: j.session(r)}
			if row.Code != "" {
				row.Effect = "deny"
			}
			e.Rows = append(e.Rows, row)
		}
		for k := range r.limits {
			e.Rows = append(e.Rows, j.explain(r, &r.limits[k]))
		}
	}
	return e
}

// explainPermits shows what the order has that a rule must allow, and what a rule requires of it.
func (j *judge) explainPermits(r *bookRule) (rows []ExplainedLimit) {
	if r.deny {
		return nil
	}
	bounds := [permitCount]bool{r.allow.fractional, r.allow.extended, r.stop}
	asked := [permitCount]bool{j.partial(), j.o.ExtendedHours(), r.stop}
	for p := range permitCount {
		if !asked[p] {
			continue
		}
		row := ExplainedLimit{Rule: r.id, Limit: permitNames[p], Bound: fmt.Sprint(bounds[p]), Effect: "allow", Code: j.refuses(r, p)}
		if row.Code != "" {
			row.Effect = "deny"
		}
		rows = append(rows, row)
	}
	return rows
}

// explain shows one limit. One that cannot be evaluated denies, as Evaluate has it.
func (j *judge) explain(r *bookRule, l *limit) (row ExplainedLimit) {
	t := traits[l.kind]
	row = ExplainedLimit{Rule: r.id, Limit: t.name, Effect: denies.String(), Code: InternalError, Value: "unknown"}
	defer func() { _ = recover() }()
	if t.per != perNothing {
		row.Per = l.per.String()
	}
	var v reading
	at := j.step(r, l, &v)
	row.Code = ""
	switch {
	case v.off && j.effect != reduces:
		row.Value, row.Effect = "", "off"
		return row
	case v.off:
		row.Value, row.Effect = "", "exempt"
		return row
	case v.missing != "":
		row.Code, row.Effect = v.missing, at.String()
		return row
	}
	bound := at
	for s := at + 1; at == passes && s <= halts && bound == passes; s++ {
		if l.has[s] {
			bound = s
		}
	}
	if at != passes {
		row.Code = t.code
	}
	row.Value, row.Effect = v.show(t.unit), at.String()
	row.Bound = bound.String() + " " + t.unit.show(l.bounds[bound])
	row.Headroom = v.room(l, bound)
	return row
}

// room is the difference from a value to a bound, rounded down at the ninth place.
func (v *reading) room(l *limit, s step) string {
	u := traits[l.kind].unit
	switch {
	case u == inCount:
		return fmt.Sprint(int64(l.counts[s]) - int64(v.n))
	case !v.ratio:
		return u.show(l.bounds[s].Sub(v.num))
	case v.den.Sign() <= 0:
		return "none"
	}
	x := ratOf(v.num)
	x.Mul(x, ratOf(u.scale())).Quo(x, ratOf(v.den))
	x.Sub(x, ratOf(l.bounds[s])) // how far the value is above, so that up is down
	if x.Sign() > 0 {
		return "-" + ceiling(x)
	}
	return floor(x.Neg(x))
}

// floor writes a rational number that is not negative, rounded down at the ninth place.
func floor(x *big.Rat) string {
	places := new(big.Int).Exp(big.NewInt(10), big.NewInt(trade.MaxFractionDigits), nil)
	n := new(big.Int).Mul(x.Num(), places)
	s := new(big.Rat).SetFrac(n.Quo(n, x.Denom()), places).FloatString(trade.MaxFractionDigits)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// explainWidths are the widths of the table's columns; with the two spaces between them they come to 99.
var explainWidths = [...]int{14, 23, 15, 16, 14, 7}

// AppendRows appends the rows as a table of at most 100 columns.
func (e Explanation) AppendRows(dst []byte) []byte {
	dst = appendCells(dst, "RULE", "LIMIT", "VALUE", "BOUND", "HEADROOM", "EFFECT")
	for _, r := range e.Rows {
		value := r.Value
		if r.Per != "" && value != "" {
			value += " " + r.Per
		}
		dst = appendCells(dst, r.Rule, r.Limit, value, r.Bound, r.Headroom, r.Effect)
	}
	return dst
}

func appendCells(dst []byte, cells ...string) []byte {
	start := len(dst)
	for i, c := range cells {
		dst = fmt.Appendf(dst, "%-*s  ", explainWidths[i], trade.Printable(c, explainWidths[i]))
	}
	for len(dst) > start && dst[len(dst)-1] == ' ' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '\n')
}
