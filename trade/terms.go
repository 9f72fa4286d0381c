package trade

// together judges what the terms of an order say beside each other, as far as they are known. Brokers refuse these, drop
// a term or execute at once, so none of them is an order here.
func (p *parser) together(d Draft, o Order) {
	p.fraction(d, o)
	p.amount(d, o)
	p.timeInForce(d, o)
	p.extendedHours(d, o)
	p.stopLimit(d, o)
	if d.StopLossLimit.Kind != IsAbsent && d.StopLoss.Kind == IsAbsent {
		p.required(d.StopLoss)
	}
	p.exits(d, o)
}

// fraction says where an order may not be for a part of a share.
//
//limit:trade-fraction Only a limit or market order for the day without exits is for a part of a share: QUANTITY_FRACTIONAL.
func (p *parser) fraction(d Draft, o Order) {
	typed := o.typ != Stop && o.typ != StopLimit
	timed := o.tif == NoTIF || o.tif == Day
	if o.quantity.IsWhole() || typed && timed && !o.HasExits() {
		return
	}
	p.fault(d.Quantity, QuantityFractional, "is not a whole number of shares; only a limit or market order for the day without exits takes a fraction")
}

// amount says where an order may not be for an amount of dollars.
//
//limit:trade-amount Only a market buy for the day without exits is for an amount of dollars: NOTIONAL_NOT_TAKEN.
func (p *parser) amount(d Draft, o Order) {
	if !o.ByAmount() || o.quantity.Sign() > 0 {
		return
	}
	bought := o.side == NoSide || o.side == Buy
	typed := o.typ == NoType || o.typ == Market
	timed := o.tif == NoTIF || o.tif == Day
	if !bought || !typed || !timed || o.HasExits() {
		p.fault(d.Notional, NotionalNotTaken, "is an amount of dollars; only a market buy for the day without exits takes one")
	}
}

// timeInForce says what does not live as long as is asked. A stop waits for its price, so it cannot be for now or for an
// auction; nor can the exits that wait behind an order.
//
//limit:trade-time-in-force A stop or stop-limit order, and one with exits, is day or gtc: TIME_IN_FORCE_NOT_TAKEN.
func (p *parser) timeInForce(d Draft, o Order) {
	if o.tif <= GTC {
		return
	}
	switch {
	case o.typ == Stop || o.typ == StopLimit:
		p.fault(d.TimeInForce, TimeInForceNotTaken, "is not taken of a "+o.typ.String()+" order, which is day or gtc")
	case o.HasExits():
		p.fault(d.TimeInForce, TimeInForceNotTaken, "is not taken of an order with exits, which is day or gtc")
	}
}

// extendedHours says what is not executed outside the regular session.
//
//limit:trade-extended-hours Only a limit order that is day or gtc and has no exits is executed in extended hours: EXTENDED_HOURS_NOT_TAKEN.
func (p *parser) extendedHours(d Draft, o Order) {
	typed := o.typ == NoType || o.typ == Limit
	if !o.ExtendedHours() || typed && o.tif <= GTC && !o.HasExits() {
		return
	}
	p.fault(d.ExtendedHours, ExtendedHoursNotTaken, "is taken of a limit order only that is day or gtc and has no exits")
}

// stopLimit says which limit could not be reached once its stop is.
func (p *parser) stopLimit(d Draft, o Order) {
	stop, limit := o.StopPrice(), o.limitPrice
	if stop.Sign() == 0 || limit.Sign() == 0 {
		return
	}
	switch {
	case o.side == Buy && limit.Cmp(stop) < 0:
		p.fault(d.LimitPrice, LimitPriceWrongSide, "is below the stop of a buy, "+stop.Money())
	case o.side == Sell && limit.Cmp(stop) > 0:
		p.fault(d.LimitPrice, LimitPriceWrongSide, "is above the stop of a sell, "+stop.Money())
	}
}

// exits judges the exits that come with an order. Accounts are long only, so that exits are sells and only a buy has
// them.
//
//limit:trade-exits Only a buy brings exits, a stop loss below and a take profit above its own prices: EXIT_NOT_TAKEN, EXIT_WRONG_SIDE.
func (p *parser) exits(d Draft, o Order) {
	stop, profit := o.StopLoss(), o.TakeProfit()
	if o.side == Sell {
		for _, t := range [...]Text{d.StopLoss, d.StopLossLimit, d.TakeProfit} {
			if t.Kind == IsText || t.Kind == IsNumber {
				p.fault(t, ExitNotTaken, "is an exit; only a buy brings one with it")
			}
		}
		return
	}
	if stop.Stop.Sign() > 0 && stop.Limit.Cmp(stop.Stop) > 0 {
		p.fault(d.StopLossLimit, LimitPriceWrongSide, "is above its stop, "+stop.Stop.Money())
	}
	low, high := o.limitPrice, o.limitPrice // at which the order buys, as far as its terms say
	if stop := o.StopPrice(); stop.Sign() > 0 {
		low = stop
		if high.Cmp(stop) < 0 {
			high = stop
		}
	}
	if low.Sign() > 0 && stop.Stop.Cmp(low) >= 0 {
		p.fault(d.StopLoss, ExitWrongSide, "is not below "+low.Money()+", at which the order buys")
	}
	if profit.Sign() == 0 {
		return
	}
	if profit.Cmp(high) <= 0 {
		p.fault(d.TakeProfit, ExitWrongSide, "is not above "+high.Money()+", at which the order buys")
	}
	if stop.Stop.Cmp(profit) >= 0 {
		p.fault(d.StopLoss, ExitWrongSide, "is not below the take profit, "+profit.Money())
	}
}
