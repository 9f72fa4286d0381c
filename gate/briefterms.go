package gate

import (
	"fmt"
	"strings"
	"time"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// effectOf computes what an order does to a position, and what is held then. Neither is known where the position is not,
// nor of an amount against a short position: how many shares it buys is not known before it is filled.
func effectOf(o trade.Order, held policy.Known) (word string, after policy.Known) {
	if !held.Known || o.ByAmount() && held.Value.Sign() < 0 {
		return "", policy.Known{}
	}
	was := held.Value
	if o.ByAmount() {
		if was.Sign() == 0 {
			return "open", policy.Known{}
		}
		return "increase", policy.Known{}
	}
	after = policy.Known{Value: was.Add(o.Quantity()), Known: true}
	if o.Side() == trade.Sell {
		after.Value = was.Sub(o.Quantity())
	}
	switch is := after.Value.Sign(); {
	case is == 0:
		word = "close"
	case is == -was.Sign():
		word = "flip"
	case was.Sign() == 0 && o.Side() == trade.Sell:
		word = "short"
	case was.Sign() == 0:
		word = "open"
	case (is > 0) == (o.Side() == trade.Buy):
		word = "increase"
	default:
		word = "reduce"
	}
	return word, after
}

// terms says every term of the order: BUY TO OPEN 25 AAPL (shares) LIMIT 190.00 DAY.
func (b Brief) terms() string {
	o := b.Decision.Order
	size := o.Quantity().String() + " " + o.Symbol().String() + " (shares)"
	if o.ByAmount() {
		size = o.Amount().Money() + " USD of " + o.Symbol().String()
	}
	line := strings.ToUpper(o.Side().String()) + " "
	if effect, _ := effectOf(o, b.Position); effect != "" {
		line += "TO " + strings.ToUpper(effect) + " "
	}
	line += size + " " + strings.ToUpper(o.Type().String())
	switch o.Type() {
	case trade.Stop:
		line += " " + o.StopPrice().Money()
	case trade.StopLimit:
		line += " stop " + o.StopPrice().Money() + " limit " + o.LimitPrice().Money()
	case trade.Limit:
		line += " " + o.LimitPrice().Money()
	case trade.Market, trade.NoType:
	}
	line += " " + strings.ToUpper(o.TimeInForce().String())
	if o.ExtendedHours() {
		line += " EXTENDED HOURS"
	}
	return line + "\n"
}

// money says what the order may cost or bring, and what cash it leaves.
func (b Brief) money() string {
	o := b.Decision.Order
	worth, known := o.Notional()
	line := "Worst-case value UNKNOWN: the order has no limit price\n"
	if b.Unvalued { // the limit of a sell is the least that it brings, and a stop only where it begins
		known, line = false, "Worst-case value UNKNOWN: there was no quote to value it by when it was proposed\n"
	}
	byQuote := b.Worth.Sign() > 0 && (!known || b.Worth.Cmp(worth) != 0)
	if byQuote {
		worth, known = b.Worth, true
	}
	switch {
	case byQuote && b.Decision.Order.LimitPrice().Sign() == 0:
		line = fmt.Sprintf("Value %s USD at the quote when it was proposed; the market decides what it costs\n", worth.Money())
	case byQuote:
		line = fmt.Sprintf("Worst-case value %s USD (at the quote when it was proposed)\n", worth.Money())
	case known && o.ByAmount():
		line = fmt.Sprintf("Worst-case value %s USD (the amount to spend)\n", worth.Money())
	case known:
		line = fmt.Sprintf("Worst-case value %s USD (quantity x limit price)\n", worth.Money())
	}
	return line + b.cash(policy.Known{Value: worth, Known: known})
}

// cash says what the order leaves: a buy at least what is over once it has cost the most, a sale what it brings at least.
func (b Brief) cash(cost policy.Known) string {
	o := b.Decision.Order
	if b.Cash == nil {
		return "Cash unknown: the broker cannot be asked\n"
	}
	then := "unknown"
	switch {
	case o.Side() == trade.Sell && o.LimitPrice().Sign() > 0:
		then = "at least " + b.Cash.Add(o.Quantity().Mul(o.LimitPrice())).Money()
	case o.Side() == trade.Sell:
		then = "more, as the market pays"
	case cost.Known:
		then = b.Cash.Sub(cost.Value).Money()
	}
	return fmt.Sprintf("Cash %s USD -> %s\n", b.Cash.Money(), then)
}

// position says what is held now and once the order is filled.
func (b Brief) position() string {
	o, held, after, working := b.Decision.Order, "unknown", "unknown", "unknown"
	if b.Position.Known {
		held = b.Position.Value.String()
	}
	switch {
	case o.ByAmount():
		after = "more, as many as the amount buys"
	default:
		if _, then := effectOf(o, b.Position); then.Known {
			after = then.Value.String()
		}
	}
	if b.Working.Sign() >= 0 {
		working = b.Working.String()
	}
	return fmt.Sprintf("Position %s %s -> %s (pending buys %s, sells %s)\n", o.Symbol(), held, after, working, b.Selling)
}

// exits says which exits come with the order, and what is lost at the stop as far as the order's own terms say.
func (b Brief) exits() string {
	o := b.Decision.Order
	words := o.ExitWords()
	switch {
	case words == "":
		return "Exits: no stop loss, no take profit\n"
	case o.StopLoss().IsZero():
		return "Exits: no stop loss, " + words + "\n"
	case o.TakeProfit().Sign() == 0:
		words += ", no take profit"
	}
	if o.LimitPrice().Sign() == 0 {
		return "Exits: " + words + "\n"
	}
	loss := o.Quantity().Mul(o.LimitPrice().Sub(o.StopLoss().Stop))
	return fmt.Sprintf("Exits: %s; %s USD are lost between limit and stop\n", words, loss.Money())
}

// market compares the order with the last quote and its age.
func (b Brief) market() string {
	if b.Quote == nil {
		return "Market: NO QUOTE\n" + b.shown()
	}
	q := b.Quote
	age := b.Now.Sub(q.At).Truncate(time.Second)
	text := fmt.Sprintf("Market bid %s, ask %s, last %s; %s old\n", q.Bid.Money(), q.Ask.Money(), q.Last.Money(), age)
	o := b.Decision.Order
	if stop := o.StopPrice(); stop.Sign() > 0 {
		text += "Stop against last: " + stop.Sub(q.Last).Money() + " USD\n"
	}
	if limit := o.LimitPrice(); limit.Sign() > 0 {
		text += "Limit against last: " + limit.Sub(q.Last).Money() + " USD\n"
	}
	return text + b.shown()
}

// shown says which quote the order was proposed at, where the policy bounds how far it may move.
func (b Brief) shown() string {
	was := b.Decision.Hold.Shown
	switch {
	case b.Drift == "":
		return ""
	case was == (ledger.Mark{}):
		return "When proposed: NO QUOTE, so an approval will be refused\n"
	}
	return fmt.Sprintf("When proposed: bid %s, ask %s; an approval counts within %s basis points\n", was.Bid.Money(), was.Ask.Money(), b.Drift)
}
