package policy

import (
	"time"

	"sallyport/trade"
)

// kind is one of the limits of a policy of version 2, in published order.
type kind uint8

const (
	orderQuantity kind = iota
	orderNotional
	priceCollar
	ordersPerMinute
	ordersPerDay
	notionalPerDay
	similarOrders
	positionQuantity
	positionNotional
	positionEquity
	grossExposure
	netExposure
	leverage
	openOrders
	riskPerOrder
	stopDistance
	dailyLoss
	drawdown
	consecutiveLosses
	brokerRejections
	denialsPerMinute
	kindCount
)

// unit is what a limit counts in, and so how its bounds are written and its values shown.
type unit uint8

const (
	inShares unit = iota
	inMoney
	inBps
	inPercent
	inTimes // a ratio
	inCount // whole
)

// perChoice says what a limit may count per.
type perChoice uint8

const (
	perNothing perChoice = iota // it does not count, and `per` is an error
	perSender                   // account, agent, symbol
	perAny                      // those and rule
)

// trait is what there is to know about a kind of limit apart from how its value is found.
type trait struct {
	name    string
	code    trade.Code
	unit    unit
	per     perChoice
	window  bool // the file gives the window
	exempts bool // a verified reduction is not judged by it (R12)
	quote   bool // it needs a quote
	day     bool // it needs the day
	stop    bool // it judges only orders that have a stop loss
}

// traits is the table of the limits.
//
//limit:policy-bounds What passes a bound of a limit of a version 2 policy is held, denied, or denied and halted, by its own code; exactly the bound passes.
var traits = [kindCount]trait{
	orderQuantity:     {name: "order_quantity", code: QuantityExceedsLimit, unit: inShares, exempts: true},
	orderNotional:     {name: "order_notional", code: NotionalExceedsLimit, unit: inMoney, exempts: true, quote: true},
	priceCollar:       {name: "price_collar_bps", code: PriceOutsideCollar, unit: inBps, quote: true},
	ordersPerMinute:   {name: "orders_per_minute", code: OrdersPerMinuteExceedLimit, unit: inCount, per: perAny},
	ordersPerDay:      {name: "orders_per_day", code: OrdersPerDayExceedLimit, unit: inCount, per: perAny, exempts: true, day: true},
	notionalPerDay:    {name: "notional_per_day", code: NotionalPerDayExceedsLimit, unit: inMoney, per: perAny, exempts: true, quote: true, day: true},
	similarOrders:     {name: "similar_orders", code: SimilarOrdersExceedLimit, unit: inCount, window: true},
	positionQuantity:  {name: "position_quantity", code: PositionQuantityExceedsLimit, unit: inShares, exempts: true},
	positionNotional:  {name: "position_notional", code: PositionNotionalExceedsLimit, unit: inMoney, exempts: true, quote: true},
	positionEquity:    {name: "position_equity_percent", code: PositionEquityPercentExceedsLimit, unit: inPercent, exempts: true, quote: true},
	grossExposure:     {name: "gross_exposure", code: GrossExposureExceedsLimit, unit: inMoney, exempts: true, quote: true},
	netExposure:       {name: "net_exposure", code: NetExposureExceedsLimit, unit: inMoney, exempts: true, quote: true},
	leverage:          {name: "leverage", code: LeverageExceedsLimit, unit: inTimes, exempts: true, quote: true},
	openOrders:        {name: "open_orders", code: OpenOrdersExceedLimit, unit: inCount, exempts: true},
	riskPerOrder:      {name: "risk_per_order", code: RiskExceedsLimit, unit: inMoney, exempts: true, quote: true, stop: true},
	stopDistance:      {name: "stop_distance_bps", code: StopDistanceExceedsLimit, unit: inBps, exempts: true, quote: true, stop: true},
	dailyLoss:         {name: "daily_loss", code: DailyLossExceedsLimit, unit: inMoney, exempts: true},
	drawdown:          {name: "drawdown_percent", code: DrawdownExceedsLimit, unit: inPercent, exempts: true},
	consecutiveLosses: {name: "consecutive_losses", code: ConsecutiveLossesExceedLimit, unit: inCount, exempts: true},
	brokerRejections:  {name: "broker_rejections", code: BrokerRejectionsExceedLimit, unit: inCount, per: perSender, window: true, exempts: true},
	denialsPerMinute:  {name: "denials_per_minute", code: DenialsExceedLimit, unit: inCount, per: perSender, exempts: true},
}

func (k kind) String() string { return traits[k].name }

func kindNames() []string {
	names := make([]string, kindCount)
	for k := range kindCount {
		names[k] = traits[k].name
	}
	return names
}

// step is what passing a bound comes to, in rising strictness. A limit has at most one bound a step.
type step uint8

const (
	passes step = iota
	holds
	denies
	halts
)

var stepWords = [...]string{"allow", "hold", "deny", "halt"}

func (s step) String() string { return stepWords[s] }

// key returns the word of the policy file for the bound of a step.
func (s step) key() string { return stepWords[s] + "_above" }

// limit is one limit of one rule.
type limit struct {
	kind   kind
	per    Per
	window time.Duration // of the kinds that slide
	first  step          // the mildest that has a bound, which is the lowest
	has    [halts + 1]bool
	bounds [halts + 1]trade.Decimal
	counts [halts + 1]uint32        // the bounds, of a limit that counts
	parts  [halts + 1]trade.Decimal // the bounds as parts of one, of a limit that is a ratio
}

// minute is the window of the limits that have it in their name.
//
//limit:policy-minute orders_per_minute and denials_per_minute count the 60 seconds up to the order.
const minute = 60 * time.Second

// hardest returns the bound of the strictest step, which an order can only pass by being stopped.
func (l *limit) hardest() trade.Decimal {
	for s := halts; s > passes; s-- {
		if l.has[s] {
			return l.bounds[s]
		}
	}
	return trade.Decimal{}
}

// scale is how many of a unit are one: 10,000 basis points, 100 percent.
func (u unit) scale() trade.Decimal {
	switch u {
	case inBps:
		return trade.Whole(10_000)
	case inPercent:
		return trade.Whole(100)
	}
	return trade.Whole(1)
}

// part returns so many of a unit as a part of one, exactly: a bound has nine places, and this at most four more.
func (u unit) part(d trade.Decimal) trade.Decimal {
	of := "1"
	switch u {
	case inBps:
		of = "0.0001"
	case inPercent:
		of = "0.01"
	}
	one, _ := trade.ParseDecimal(of)
	return d.Mul(one)
}

// show writes a value or a bound of this unit.
func (u unit) show(d trade.Decimal) string {
	if u == inMoney {
		return d.Money()
	}
	return d.String()
}

func (u unit) String() string {
	return [...]string{"shares", "money", "basis points", "percent", "times equity", "a whole number"}[u]
}
