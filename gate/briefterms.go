package gate

import (
	"fmt"
	"strings"
	"time"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// effectOf computes what an order does to a position. How many shares an amount buys is not known before it is filled.
func effectOf(o trade.Order, f policy.Facts) (word string, after trade.Decimal) {
	if o.Side() == trade.Buy {
		after = f.Position.Add(o.Quantity())
		if f.Position.Sign() > 0 {
			return "increase", after
		}
		return "open", after
	}
	after = f.Position.Sub(o.Quantity())
	switch after.Sign() {
	case 0:
		return "close", after
	case 1:
		return "reduce", after
	}
	return "SHORT", after
}

// terms says every term of the order: BUY TO OPEN 25 AAPL (shares) LIMIT 190.00 DAY.
func (b Brief) terms() string {
	o := b.Decision.Order
	size := o.Quantity().String() + " " + o.Symbol().String() + " (shares)"
	if o.ByAmount() {
		size = o.Amount().Money() + " USD of " + o.Symbol().String()
	}
	line := strings.ToUpper(o.Side().String()) + " TO " + strings.ToUpper(b.Effect) + " " + size + " " + strings.ToUpper(o.Type().String())
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
	case byQuote:
		line = fmt.Sprintf("Worst-case value %s USD (at the quote when it was proposed)\n", worth.Money())
	case known && o.ByAmount():
		line = fmt.Sprintf("Worst-case value %s USD (the amount to spend)\n", worth.Money())
	case known:
		line = fmt.Sprintf("Worst-case value %s USD (quantity x limit price)\n", worth.Money())
	}
	switch {
	case b.Cash == nil:
		return line + "Cash unknown: the broker cannot be asked\n"
	case !known:
		return line + fmt.Sprintf("Cash %s USD -> unknown\n", b.Cash.Money())
	case o.Side() == trade.Sell:
		return line + fmt.Sprintf("Cash %s USD -> %s\n", b.Cash.Money(), b.Cash.Add(worth).Money())
	}
	return line + fmt.Sprintf("Cash %s USD -> %s\n", b.Cash.Money(), b.Cash.Sub(worth).Money())
}

// position says what is held now and once the order is filled.
func (b Brief) position() string {
	o, after := b.Decision.Order, b.After.String()
	if o.ByAmount() {
		after = "more, as many as the amount buys"
	}
	working := b.Working.String()
	if b.Working.Sign() < 0 {
		working = "unknown"
	}
	return fmt.Sprintf("Position %s %s -> %s (pending buys %s, sells %s)\n", o.Symbol(), b.Position, after, working, b.Selling)
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
