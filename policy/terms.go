package policy

import (
	"fmt"
	"strings"

	"sallyport/trade"
)

// fits says why the instrument does not take the order: nothing is ever rounded to fit.
//
//limit:policy-instrument An order that is not in a listed instrument of the policy's currency, with every price on its tick and the quantity on its lot, is denied: SYMBOL_NOT_LISTED, INSTRUMENT_UNAVAILABLE, CURRENCY_NOT_ALLOWED, ASSET_CLASS_NOT_ALLOWED, PRICE_OFF_TICK, QUANTITY_OFF_LOT.
func (j *judge) fits() trade.Code {
	i := &j.s.Instrument
	switch {
	case i.Code != "":
		return i.Code
	case i.Symbol != j.o.Symbol() || i.Multiplier.Sign() <= 0:
		return InstrumentUnavailable
	case i.Currency != j.book.currency:
		return CurrencyNotAllowed
	case i.AssetClass != j.o.AssetClass():
		return AssetClassNotAllowed
	}
	for k := range priceNames {
		if p := j.priceOf(k); p.Sign() > 0 && !i.Price(*p).Fits {
			return PriceOffTick
		}
	}
	if !j.sized && !j.lot() {
		return QuantityOffLot
	}
	return ""
}

// priceNames are the prices that an order may have, by the names that it gives them.
var priceNames = [...]string{"limit_price", "stop_price", "stop_loss", "stop_loss_limit", "take_profit"}

// priceOf returns the price of one of the names; zero if the order has none.
func (j *judge) priceOf(k int) *trade.Decimal {
	return [...]*trade.Decimal{&j.limit, &j.stop, &j.exit.Stop, &j.exit.Limit, &j.profit}[k]
}

// lot reports whether the instrument is traded in the quantity of the order. An amount of dollars comes to any part of a
// share, so that only an instrument of which parts are traded takes one.
func (j *judge) lot() bool {
	i := &j.s.Instrument
	if j.byAmount {
		return i.Lot.Size().Sign() > 0 && i.Lot.Size().Cmp(one) <= 0 && i.Minimum.Cmp(one) <= 0
	}
	return i.Quantity(j.asked).Fits || i.TakesPart(j.asked)
}

func (j *judge) hasExits() bool { return !j.exit.IsZero() || j.profit.Sign() > 0 }

// exits says why an exit would be executed at once, as far as the quote shows it: what the order's own prices show is a
// fault. Only an order at the market has no price of its own, so that it needs the quote for it.
//
//limit:policy-exits A buy that would be executed at once with a stop loss that is not below the bid, or at the market with a take profit that is not above what it would cost, is denied: EXIT_WRONG_SIDE.
func (j *judge) exits() trade.Code {
	if !j.hasExits() {
		return ""
	}
	if j.quote != "" {
		if j.o.Type() == trade.Market {
			return j.quote
		}
		return ""
	}
	q := &j.s.Quote
	if j.stop.Cmp(q.Ask) > 0 { // it waits for the market to rise
		return ""
	}
	if j.exit.Stop.Cmp(q.Bid) >= 0 {
		return trade.ExitWrongSide
	}
	if atMarket(j.o.Type()) && j.profit.Sign() > 0 && j.profit.Cmp(q.Ask) <= 0 {
		return trade.ExitWrongSide
	}
	return ""
}

// permit is one thing that a rule must allow, or that an order must bring.
type permit uint8

const (
	fractionPermit permit = iota
	hoursPermit
	stopPermit
	permitCount
)

var permitNames = [permitCount]string{"allow.fractional", "allow.extended_hours", "require.stop_loss"}

// refuses says why a rule does not let the order have what it has, or lacks. All of it is meant for entries, so that a
// verified reduction is exempt: what is held may be a part of a share, and the way out may be before the market opens.
//
//limit:policy-allow An order for a part of a share or an amount of dollars, in extended hours, or a short sale is denied unless every rule about it allows that: QUANTITY_FRACTIONAL, EXTENDED_HOURS_NOT_ALLOWED, SHORT_SALE_NOT_ALLOWED.
//limit:policy-stop-loss An order that a rule requires a stop loss of, and that has none, is denied: STOP_LOSS_REQUIRED.
func (j *judge) refuses(r *bookRule, p permit) trade.Code {
	switch {
	case j.effect == reduces:
		return ""
	case p == fractionPermit && !r.allow.fractional && j.partial():
		return trade.QuantityFractional
	case p == hoursPermit && !r.allow.extended && j.outOfHours:
		return ExtendedHoursNotAllowed
	case p == stopPermit && r.stop && j.exit.IsZero():
		return StopLossRequired
	}
	return ""
}

// partial reports whether the order is for a part of a share, or for an amount of dollars, which comes to one.
func (j *judge) partial() bool {
	return j.byAmount && !j.sized || !j.quantity.IsWhole()
}

// mayShort reports whether every rule about the order allows short sales, and there is one.
func (j *judge) mayShort() (yes bool) {
	for i := range j.book.rules {
		r := &j.book.rules[i]
		if r.match.takes(j.o, j.s.Agent) {
			if !r.deny && !r.allow.short {
				return false
			}
			yes = true
		}
	}
	return yes
}

// session says why the rule's trading session does not let the order pass. What is executed outside the regular session
// is not what a rule means that requires it; an order for the opening auction waits for the next regular session, so it
// is sent before that begins.
//
//limit:policy-session An order outside the trading session that its rule requires, or one that may be executed outside it, is denied: SESSION_NOT_ALLOWED, CALENDAR_UNAVAILABLE.
func (j *judge) session(r *bookRule) trade.Code {
	s := &j.s.Session
	switch {
	case r.session == anySession:
		return ""
	case s.Code != "":
		return s.Code
	case r.session == regularSession && j.outOfHours:
		return SessionNotAllowed
	case j.o.TimeInForce() == trade.OPG && !s.Regular:
		if !s.RegularOpens.After(j.s.At) {
			return CalendarUnavailable
		}
		return ""
	case j.o.TimeInForce() == trade.OPG:
		return SessionNotAllowed
	case s.Regular || r.session == extendedSession && s.Extended:
		return ""
	}
	return SessionNotAllowed
}

// instrumentReason says what does not fit the instrument; of a price or a quantity, with the neighbours that would.
func (j *judge) instrumentReason(c *sentence) {
	code := j.fits()
	i := &j.s.Instrument
	r := Reason{Code: code, Field: "instrument", Limit: "unknown", Observed: j.o.Symbol().String()}
	switch code {
	case "":
		return
	case SymbolNotListed:
		r.Limit = "listed"
		r.Message = fmt.Sprintf("%s is not in the broker's list of instruments", j.o.Symbol())
	case CurrencyNotAllowed:
		r.Limit, r.Observed = j.book.currency, i.Currency
		r.Message = fmt.Sprintf("%s is priced in %s, and the policy's currency is %s", j.o.Symbol(), i.Currency, j.book.currency)
	case AssetClassNotAllowed:
		r.Limit, r.Observed = i.AssetClass, j.o.AssetClass()
		r.Message = fmt.Sprintf("%s is %s, and the order is for %s", j.o.Symbol(), i.AssetClass, j.o.AssetClass())
	case PriceOffTick:
		j.tickReasons(c)
		return
	case QuantityOffLot:
		r = j.lotReason()
	default:
		r.Message = fmt.Sprintf("what an order in %s must fit is not known", j.o.Symbol())
	}
	c.never(r)
}

// tickReasons names every price that is off its tick, and the quantity if it is off its lot too.
func (j *judge) tickReasons(c *sentence) {
	i := &j.s.Instrument
	for k, name := range priceNames {
		p := *j.priceOf(k)
		if p.Sign() <= 0 {
			continue
		}
		if s := i.Price(p); !s.Fits {
			tick := i.Tick.Size()
			if p.Cmp(trade.Whole(1)) < 0 {
				tick = i.TickUnder1.Size()
			}
			c.never(Reason{
				Code: PriceOffTick, Field: name, Limit: tick.String(), Observed: p.Money(),
				Message: fmt.Sprintf("%s has no price of %s: its tick is %s; %s", j.o.Symbol(), p.Money(), tick, beside(s, trade.Decimal.Money)),
			})
		}
	}
	if !j.lot() {
		c.never(j.lotReason())
	}
}

func (j *judge) lotReason() Reason {
	i := &j.s.Instrument
	r := Reason{Code: QuantityOffLot, Field: "quantity", Limit: i.Lot.Size().String(), Observed: j.o.Quantity().String()}
	if j.o.ByAmount() {
		r.Field, r.Observed = "notional", j.o.Amount().Money()
		r.Message = fmt.Sprintf("an amount of %s comes to a part of a lot, and %s is traded in lots of %s; send a quantity", r.Observed, j.o.Symbol(), i.Lot.Size())
		return r
	}
	r.Message = fmt.Sprintf("%s is traded in lots of %s and at least %s, not in %s; %s", j.o.Symbol(), i.Lot.Size(), i.Minimum, r.Observed,
		beside(i.Quantity(j.o.Quantity()), trade.Decimal.String))
	return r
}

// beside names the neighbours of a value that does not fit.
func beside(s trade.Step, show func(trade.Decimal) string) string {
	if s.Below.Sign() <= 0 {
		return "the least is " + show(s.Above)
	}
	return fmt.Sprintf("beside it are %s and %s", show(s.Below), show(s.Above))
}

func (j *judge) exitReason(c *sentence) {
	code := j.exits()
	switch code {
	case "":
	case trade.ExitWrongSide:
		q := &j.s.Quote
		c.never(Reason{
			Code: code, Field: "exits", Limit: q.Bid.Money() + " to " + q.Ask.Money(), Observed: j.o.ExitWords(),
			Message: fmt.Sprintf("with a quote of %s to %s the exits would be executed at once: %s", q.Bid.Money(), q.Ask.Money(), j.o.ExitWords()),
		})
	default:
		c.never(Reason{
			Code: code, Field: "exits", Limit: "unknown", Observed: j.o.ExitWords(),
			Message: "on which side of the market the exits are cannot be judged: " + j.missing(code),
		})
	}
}

func (j *judge) permitReason(c *sentence, r *bookRule, p permit) {
	code := j.refuses(r, p)
	reason := Reason{Code: code, Field: permitNames[p], Limit: "false", Observed: "true", Rule: r.id}
	switch code {
	case "":
		return
	case trade.QuantityFractional:
		reason.Observed = j.o.Quantity().String()
		if j.o.ByAmount() {
			reason.Observed = j.o.Amount().Money() + " " + j.book.currency
		}
		reason.Message = fmt.Sprintf("the rule %s allows whole shares only, and the order is for %s", r.id, reason.Observed)
	case ExtendedHoursNotAllowed:
		reason.Message = fmt.Sprintf("the rule %s does not allow extended hours", r.id)
	default:
		reason.Limit, reason.Observed = "true", "none"
		reason.Message = fmt.Sprintf("the rule %s requires a stop loss, and the order has none", r.id)
	}
	c.never(reason)
}

// flipReason says an order that would turn the position round as the two that it is.
func (j *judge) flipReason() Reason {
	free, closing, opening, held, side := available(j.f), "sell", "sell short", "held", "a short"
	if j.o.Side() == trade.Buy {
		free, closing, opening, held, side = owed(&j.f), "buy back", "buy", "owed", "a long position"
	}
	r := Reason{Code: PositionFlip, Field: "no_flip", Limit: free.String(), Observed: j.quantity.String()}
	size := j.quantity.String()
	if j.o.ByAmount() {
		r.Observed = j.o.Amount().Money() + " " + j.book.currency
		size = r.Observed
	}
	rest := j.quantity.Sub(free)
	switch {
	case j.o.Side() == trade.Buy && j.quantity.Sign() > 0 && rest.Sign() <= 0:
		r.Message = fmt.Sprintf("the exits of the order would stay behind once the %s that are owed are bought back; send it without exits", free)
	case free.Sign() == 0:
		r.Message = fmt.Sprintf("the position of %s is being closed already, so a %s of %s would open the other side behind it; wait until it is closed", j.f.Position, j.o.Side(), size)
	case rest.Sign() <= 0:
		r.Message = fmt.Sprintf("how many shares %s buys is not known, and %s are owed; buy them back by quantity, and say the rest as an order of its own", size, free)
	default:
		r.Message = fmt.Sprintf("a %s of %s would close the %s that are %s and free and open %s of %s; say it as two orders: %s %s, and %s %s",
			j.o.Side(), size, free, held, side, rest, closing, free, opening, rest)
	}
	if !j.mayShort() && j.o.Side() == trade.Sell {
		r.Message += ", which is not allowed"
	}
	return r
}

// words says in short what an order is.
func (j *judge) words() string {
	var b strings.Builder
	fmt.Fprintf(&b, "a %s of %s", j.o.Side(), j.o.Symbol())
	if !j.o.IsPlain() {
		fmt.Fprintf(&b, " (%s, %s)", j.o.Type(), j.o.TimeInForce())
	}
	fmt.Fprintf(&b, " by %s", trade.Printable(string(j.s.Agent), 64))
	return b.String()
}
