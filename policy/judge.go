package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sallyport/trade"
)

// Evaluate judges one order by a policy of version 2. Every rule that is about the order applies, and the strictest
// effect wins. It never panics and depends on nothing but its arguments. On Allow it allocates nothing.
//
// A verified reduction is exempt from what is meant for entries (R12); that it is one is believed only if the facts show
// it too.
func (b *Rulebook) Evaluate(o trade.Order, f Facts, s Situation) Verdict {
	if !b.IsValid() {
		return Verdict{Reasons: []Reason{{Code: PolicyInvalid, Message: "no valid policy is in force, so nothing is allowed"}}}
	}
	j := judge{book: b, o: o, f: f, s: s}
	if j.lets(nil) {
		return Verdict{Effect: Allow}
	}
	return j.verdict()
}

// lets reports whether the order passes everything, or would with another quantity. Whatever does not come to its end
// says no.
func (j *judge) lets(quantity *trade.Decimal) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	j.begin()
	if j.sized = quantity != nil; j.sized {
		j.resize(*quantity)
	}
	if j.effect == unseen || j.effect == flips || j.fits() != "" || j.exits() != "" {
		return false
	}
	var v reading
	matched := j.effect == reduces
	for i := range j.book.rules {
		r := &j.book.rules[i]
		if !j.about(r) {
			continue
		}
		matched = true
		if r.deny && j.effect == reduces {
			continue
		}
		if r.deny || !j.permits(r) || j.session(r) != "" {
			return false
		}
		for k := range r.limits {
			if j.step(r, &r.limits[k], &v) != passes {
				return false
			}
		}
	}
	return matched
}

// permits reports whether a rule allows what the order has.
func (j *judge) permits(r *bookRule) bool {
	if j.effect == shorts && !r.allow.short {
		return false
	}
	for p := range permitCount {
		if j.refuses(r, p) != "" {
			return false
		}
	}
	return true
}

// step says what one limit of one rule comes to, and leaves in v by which value.
func (j *judge) step(r *bookRule, l *limit, v *reading) step {
	*v = reading{}
	if v.off = j.effect == reduces && traits[l.kind].exempts; v.off {
		return passes
	}
	j.read(r, l, v)
	switch {
	case v.off:
		return passes
	case v.missing != "":
		return denies
	case v.open:
		return v.atLeast(l)
	case !v.exceeds(l, l.first):
		return passes
	}
	return v.strictest(l)
}

// strictest is the strictest step whose bound the value exceeds; the mildest one if it exceeds none.
func (v *reading) strictest(l *limit) step {
	s := halts
	for s > l.first && !(l.has[s] && v.exceeds(l, s)) {
		s--
	}
	return s
}

// atLeast is what a count comes to of which only the least is known. It is over every bound, as far as it holds or denies;
// it halts only where the least is over that bound.
//
//limit:policy-count-open A count of which only the least is known counts as over every bound at which it holds or denies, COUNT_UNAVAILABLE, and halts only if the least is over that bound.
func (v *reading) atLeast(l *limit) step {
	surely := passes
	if v.exceeds(l, l.first) {
		surely = v.strictest(l)
	}
	perhaps := halts
	for !l.has[perhaps] {
		perhaps--
	}
	perhaps = min(perhaps, denies)
	if surely >= perhaps {
		return surely
	}
	v.missing = CountUnavailable
	return perhaps
}

// sentence collects the reasons of a verdict that is not Allow.
type sentence struct {
	v       Verdict
	denied  bool
	cures   bool      // every denial so far is cured by time
	retryAt time.Time // when
}

// deny adds a reason that time cures at cure, or never if that is zero.
func (c *sentence) deny(r Reason, cure time.Time) {
	if cure.IsZero() {
		c.cures = false
	} else if cure.After(c.retryAt) {
		c.retryAt = cure
	}
	c.denied = true
	c.v.Reasons = append(c.v.Reasons, r)
}

// never adds a reason that time does not cure.
func (c *sentence) never(r Reason) { c.deny(r, time.Time{}) }

// verdict collects every reason: those of the position, the instrument and the exits, that no rule matches, then by rule
// in the order of the file its effect, what it allows, its session and its limits in the order in which they are published.
func (j *judge) verdict() Verdict {
	c := j.collect()
	return j.finish(&c)
}

func (j *judge) collect() sentence {
	c := sentence{cures: true}
	j.sized = false
	j.protect(&c, "", "no_short", j.positionReason)
	j.protect(&c, "", "instrument", j.instrumentReason)
	j.protect(&c, "", "exits", j.exitReason)
	matched := false
	for i := range j.book.rules {
		r := &j.book.rules[i]
		matched = matched || r.match.takes(j.o, j.s.Agent)
	}
	if !matched && j.effect != reduces {
		c.never(Reason{
			Code: NoRuleMatches, Field: "rules", Observed: j.o.Symbol().String(),
			Message: "no rule of the policy is about " + j.words() + ", so it is not allowed",
		})
	}
	for i := range j.book.rules {
		if r := &j.book.rules[i]; j.about(r) {
			j.ruleReasons(&c, r)
		}
	}
	return c
}

func (j *judge) finish(c *sentence) Verdict {
	if len(c.v.Reasons) == 0 { // what said no the first time and not the second is a defect
		c.deny(defect("the evaluation did not come to its end"), time.Time{})
	}
	if !c.denied {
		c.v.Effect = Hold
		return c.v
	}
	if len(c.v.Halts) > 0 {
		return c.v
	}
	if c.cures {
		c.v.RetryAfter = c.retryAt
	}
	j.begin()
	if most, ok := j.largest(j.shares().Value); ok {
		c.v.MaxQuantity = &most
	}
	return c.v
}

// protect runs one part of a verdict; a panic in it is a denial.
func (j *judge) protect(c *sentence, rule, what string, part func(*sentence)) {
	before := len(c.v.Reasons)
	defer func() {
		if recover() != nil {
			c.v.Reasons = c.v.Reasons[:before]
			d := defect(what + " could not be evaluated")
			d.Rule, d.Field = rule, what
			c.deny(d, time.Time{})
		}
	}()
	part(c)
}

// positionReason says what an order would make of the position that is not allowed.
//
//limit:policy-flip An order of more shares than close the position, by a policy of version 2, is denied, and so is a short sale unless the rules allow it: POSITION_FLIP_NOT_ALLOWED, SHORT_SALE_NOT_ALLOWED, POSITION_UNAVAILABLE.
func (j *judge) positionReason(c *sentence) {
	j.begin()
	switch {
	case j.effect == unseen:
		c.never(Reason{
			Code: PositionUnavailable, Field: "no_short", Limit: "unknown", Observed: j.o.Quantity().String(),
			Message: fmt.Sprintf("the position in %s is not known, so the %s may open a short or turn the position round", j.o.Symbol(), j.o.Side()),
		})
	case j.effect == flips:
		c.never(j.flipReason())
	case j.effect == shorts && !j.mayShort():
		r := shortReason(nil, j.o, j.f)
		r.Code, r.Field = ShortSaleNotAllowed, "no_short"
		c.never(r)
	}
}

func (j *judge) ruleReasons(c *sentence, r *bookRule) {
	if r.deny {
		if j.effect != reduces {
			c.never(Reason{
				Code: DeniedByRule, Field: "effect", Limit: "deny", Observed: j.o.Symbol().String(), Rule: r.id,
				Message: fmt.Sprintf("the rule %s denies %s", r.id, j.words()),
			})
		}
		return
	}
	for p := range permitCount {
		j.protect(c, r.id, permitNames[p], func(c *sentence) { j.permitReason(c, r, p) })
	}
	j.protect(c, r.id, "session", func(c *sentence) { j.sessionReason(c, r) })
	for k := range r.limits {
		l := &r.limits[k]
		j.protect(c, r.id, l.kind.String(), func(c *sentence) { j.limitReason(c, r, l) })
	}
}

func (j *judge) sessionReason(c *sentence, r *bookRule) {
	code := j.session(r)
	if code == "" {
		return
	}
	reason := Reason{
		Code: code, Field: "session", Limit: sessionWords[r.session], Observed: "closed", Rule: r.id,
		Message: fmt.Sprintf("the rule %s requires the %s session, and the market is not in it", r.id, sessionWords[r.session]),
	}
	opens := j.s.Session.RegularOpens
	switch {
	case code != SessionNotAllowed:
		reason.Observed, opens = "unknown", time.Time{}
		reason.Message = fmt.Sprintf("the rule %s requires the %s session, and the calendar cannot say which it is", r.id, sessionWords[r.session])
	case r.session == regularSession && j.o.ExtendedHours():
		reason.Observed, opens = "extended_hours", time.Time{}
		reason.Message = fmt.Sprintf("the rule %s requires the regular session, and the order may be executed outside it", r.id)
	case j.o.TimeInForce() == trade.OPG:
		reason.Observed, opens = "regular", time.Time{}
		reason.Message = fmt.Sprintf("the rule %s requires a session, and an order for the opening auction is sent before the regular one begins", r.id)
	case r.session == extendedSession:
		opens = j.s.Session.ExtendedOpens
	case j.s.Session.Extended:
		reason.Observed = "extended"
	}
	if !opens.After(j.s.At) {
		opens = time.Time{}
	}
	c.deny(reason, opens)
}

func (j *judge) limitReason(c *sentence, r *bookRule, l *limit) {
	var v reading
	at := j.step(r, l, &v)
	if at == passes {
		return
	}
	u := traits[l.kind].unit
	reason := Reason{Code: traits[l.kind].code, Field: l.kind.String(), Rule: r.id, Hold: at == holds}
	if v.missing != "" {
		reason.Code, reason.Limit, reason.Observed = v.missing, u.show(l.hardest()), "unknown"
		reason.Message = fmt.Sprintf("%s cannot be judged: %s", l.kind, j.missing(v.missing))
		if !reason.Hold {
			c.deny(reason, time.Time{})
			return
		}
		c.v.Reasons = append(c.v.Reasons, reason)
		return
	}
	reason.Limit, reason.Observed = u.show(l.bounds[at]), v.show(u)
	reason.Message = l.sentence(r, at, reason.Observed, reason.Limit)
	switch at {
	case holds:
		c.v.Reasons = append(c.v.Reasons, reason)
	case halts:
		c.v.Halts = append(c.v.Halts, j.halt(r, l))
		c.deny(reason, time.Time{})
	default:
		c.deny(reason, j.cure(r, l, at))
	}
}

// sentence says what passed which bound.
func (l *limit) sentence(r *bookRule, at step, observed, bound string) string {
	var b strings.Builder
	b.WriteString(l.kind.String())
	if traits[l.kind].per != perNothing {
		b.WriteString(" per " + l.per.String())
	}
	if traits[l.kind].window {
		b.WriteString(" in " + strconv.Itoa(int(l.window/time.Second)) + " s")
	}
	fmt.Fprintf(&b, " is %s, above %s", observed, bound)
	b.WriteString(map[step]string{
		holds: ", so a person must decide", denies: "", halts: ", which engages the kill switch",
	}[at])
	return b.String() + " (rule " + r.id + ")"
}

// halt is the stop that a limit asks for: of what it counts per. A rule is no scope of a stop, so there it is the
// account.
func (j *judge) halt(r *bookRule, l *limit) Halt {
	h := Halt{Scope: PerAccount, Name: string(j.o.Account()), Rule: r.id, Limit: l.kind.String()}
	switch l.per {
	case PerAgent:
		h.Scope, h.Name = PerAgent, string(j.s.Agent)
	case PerSymbol:
		h.Scope, h.Name = PerSymbol, j.o.Symbol().String()
	}
	return h
}

// missing says in words which fact is not there.
func (j *judge) missing(code trade.Code) string {
	q, by := &j.s.Quote, &j.book.quotes
	if q.Code == code && q.Why != "" {
		return q.Why
	}
	switch code {
	case QuoteStale:
		return fmt.Sprintf("the quote is %s old, and at most %s is allowed", q.Age, by.MaxAge)
	case QuoteCrossed:
		return fmt.Sprintf("the bid %s is above the ask %s", q.Bid, q.Ask)
	case SpreadExceedsLimit:
		return fmt.Sprintf("the spread of %s to %s is wider than %s basis points", q.Bid, q.Ask, by.MaxSpread)
	case QuotesDisagree:
		return "the sources of quotes differ too much"
	case PositionUnavailable:
		return "the position is not known"
	case EquityUnavailable:
		return "the equity is not known"
	case ExposureUnavailable:
		return "the exposure is not known"
	case LossUnavailable:
		return "the loss of the day is not known"
	case CountUnavailable:
		return "what it counts is not known"
	case DayUnavailable:
		return "it is not known when the day began"
	}
	return "there is no quote that can be used"
}
