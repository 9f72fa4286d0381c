package policy

import "sallyport/trade"

// LimitRow is one row of the published table of the limits of version 2.
type LimitRow struct {
	Name    string
	Code    trade.Code
	Meaning string // the value that is compared with the bounds
	Unit    string
	Per     string // what it may count per
	Facts   string // what it needs beside the order and the policy
	Missing string // what a missing fact does
	Reduces string // whether it judges a verified reduction
	Source  string // where the control comes from
	Breach  string // what the code says
	Repair  string // what the caller can do
	Sample  Sample
}

// Sample shows a limit at its bound and beyond it, over the quote of 99.99 to 100.00 and an equity of 100000.00. A test
// runs it.
type Sample struct {
	Limit  string // as it stands in the file
	Facts  string // what else is so, in the words of the test's files
	Passes string // an order that passes
	Worse  string // the facts of what does not, if they are others
	Stops  string // the order that does not
}

// Limits returns the published table of limits, in the order in which reasons are given.
func Limits() []LimitRow {
	rows := make([]LimitRow, 0, kindCount)
	for k := range kindCount {
		r := limitRows[k]
		t := traits[k]
		r.Name, r.Code, r.Unit = t.name, t.code, t.unit.String()
		r.Per = [...]string{"", "account, agent, symbol", "account, agent, symbol, rule"}[t.per]
		r.Missing = "denied"
		if r.Facts == "none" {
			r.Missing = "cannot be missing"
		}
		r.Reduces = "judged"
		if t.exempts {
			r.Reduces = "exempt"
		}
		rows = append(rows, r)
	}
	return rows
}

// limitRows is what there is to say about each limit.
var limitRows = [kindCount]LimitRow{
	orderQuantity: {
		Meaning: "The quantity of the order; of an order by amount the shares that it can buy at the bid less market_slippage_bps.",
		Facts:   "of an order by amount the quote; else none", Source: "RTS 6 Art. 15(1)(c); SEC 15c3-5(c)(1)(ii); FIA 1.1",
		Breach: "The quantity is over the policy's bound for one order.",
		Repair: "Send at most max_quantity_now, or the limit of the reason.",
		Sample: Sample{Limit: `{"deny_above": "200"}`, Facts: "", Passes: "buy 200 AAPL at 100.00", Stops: "buy 201 AAPL at 100.00"},
	},
	orderNotional: {
		Meaning: "What the order is worth at the worst price, for both sides: quantity × that price × the instrument's multiplier, or the amount.",
		Facts:   "the quote", Source: "RTS 6 Art. 15(1)(b); SEC 15c3-5(c)(1)(ii)",
		Breach: "The order is worth more than the policy's bound for one order.",
		Repair: "Send at most max_quantity_now at this price, or fewer at a higher one.",
		Sample: Sample{Limit: `{"hold_above": "2500.00", "deny_above": "10000.00"}`, Facts: "", Passes: "buy 25 AAPL at 100.00", Stops: "buy 26 AAPL at 100.00"},
	},
	priceCollar: {
		Meaning: "How far the limit of a buy is above the ask, or of a sell below the bid, in parts of that price, of several sources from the one that makes it furthest; on the patient side it is nothing. Behind a stop that the market has not reached it is measured from the stop. An order at the market's price is as far away as market_slippage_bps. The limit of a stop loss is measured from its stop, and the furthest counts; a stop and a take profit by themselves have no distance.",
		Facts:   "the quote", Source: "RTS 6 Art. 15(1)(a); SEC 15c3-5(c)(1)(ii); FIA 1.3, 3.1",
		Breach: "The limit price is further on the aggressive side of the quote than the policy lets it be.",
		Repair: "Use a limit nearer to the market, or wait for a person where the reason is a hold.",
		Sample: Sample{Limit: `{"deny_above": "300"}`, Facts: "", Passes: "buy 10 AAPL at 103.00", Stops: "buy 10 AAPL at 103.01"},
	},
	ordersPerMinute: {
		Meaning: "Orders sent in the last 60 seconds, this one with them.",
		Facts:   "what was sent", Source: "RTS 6 Art. 15(1)(d); FIA 3.4",
		Breach: "More orders would have been sent in a minute than the policy lets.",
		Repair: "Wait until retry_after.",
		Sample: Sample{Limit: `{"deny_above": "2"}`, Facts: "sent=(10s/bot/AAPL/one/100)", Passes: "buy 10 AAPL at 100.00", Worse: "sent=(10s/bot/AAPL/one/100,20s/bot/AAPL/one/100)", Stops: "buy 10 AAPL at 100.00"},
	},
	ordersPerDay: {
		Meaning: "Orders sent since the day began in the policy's time zone, this one with them.",
		Facts:   "what was sent; when the day began", Source: "RTS 6 Art. 15(3); FIA 3.2",
		Breach: "More orders would have been sent today than the policy lets.",
		Repair: "Wait until retry_after, the beginning of the next day.",
		Sample: Sample{Limit: `{"deny_above": "2"}`, Facts: "sent=(1h/bot/AAPL/one/100)", Passes: "buy 10 AAPL at 100.00", Worse: "sent=(1h/bot/AAPL/one/100,2h/bot/AAPL/one/100)", Stops: "buy 10 AAPL at 100.00"},
	},
	notionalPerDay: {
		Meaning: "What the orders sent since the day began were worth when they were sent, and what this one is worth as order_notional has it.",
		Facts:   "what was sent; when the day began; the quote", Source: "RTS 6 Art. 15(1)(b), 15(2); SEC 15c3-5(c)(1)(ii)",
		Breach: "The orders of the day would be worth more than the policy lets.",
		Repair: "Send at most max_quantity_now, or wait until retry_after.",
		Sample: Sample{Limit: `{"deny_above": "50000.00"}`, Facts: "sent=(1h/bot/AAPL/one/49000)", Passes: "buy 10 AAPL at 100.00", Stops: "buy 11 AAPL at 100.00"},
	},
	similarOrders: {
		Meaning: "Earlier orders in the window of the same account, symbol, side, type, quantity or amount, and prices.",
		Facts:   "what was sent", Source: "SEC 15c3-5(c)(1)(ii)",
		Breach: "The same order was sent a short while ago.",
		Repair: "If it is meant, wait until retry_after, or for a person where the reason is a hold.",
		Sample: Sample{Limit: `{"hold_above": "0", "window": "30s"}`, Facts: "similar=(30s)", Passes: "buy 10 AAPL at 100.00", Worse: "similar=(29s)", Stops: "buy 10 AAPL at 100.00"},
	},
	positionQuantity: {
		Meaning: "Of a buy, shares held and every buy that waits or is unknown, with this one; of a short sale, shares owed and every sell likewise.",
		Facts:   "the position and the buys that wait", Source: "RTS 6 Art. 17(4); FIA 1.2",
		Breach: "The position would be larger than the policy lets, if all buys are filled.",
		Repair: "Send at most max_quantity_now, or reduce the position.",
		Sample: Sample{Limit: `{"deny_above": "500"}`, Facts: "position=490", Passes: "buy 10 AAPL at 100.00", Stops: "buy 11 AAPL at 100.00"},
	},
	positionNotional: {
		Meaning: "What the position and the orders of the symbol are worth at worst on the side that the order adds to, with this one.",
		Facts:   "the exposure in the symbol; the quote", Source: "RTS 6 Art. 15(4), 17(4); SEC 15c3-5(c)(1)(i); FIA 1.2",
		Breach: "The position would be worth more than the policy lets, if all buys are filled.",
		Repair: "Send at most max_quantity_now, or reduce the position.",
		Sample: Sample{Limit: `{"deny_above": "40000.00"}`, Facts: "symbol_long=39000", Passes: "buy 10 AAPL at 100.00", Stops: "buy 11 AAPL at 100.00"},
	},
	positionEquity: {
		Meaning: "The same, in percent of the account's equity.",
		Facts:   "the exposure in the symbol; the equity; the quote", Source: "RTS 6 Art. 15(4); SEC 15c3-5(c)(1)(i)",
		Breach: "The position would be a larger part of the account than the policy lets.",
		Repair: "Send at most max_quantity_now, or reduce the position.",
		Sample: Sample{Limit: `{"deny_above": "20"}`, Facts: "symbol_long=19000", Passes: "buy 10 AAPL at 100.00", Stops: "buy 11 AAPL at 100.00"},
	},
	grossExposure: {
		Meaning: "What all positions and all orders are worth at worst without regard to their side, with this one.",
		Facts:   "the gross exposure; the quote", Source: "RTS 6 Art. 15(4); SEC 15c3-5(c)(1)(i); FIA 1.2",
		Breach: "The account's gross exposure would be larger than the policy lets.",
		Repair: "Send at most max_quantity_now, or reduce positions.",
		Sample: Sample{Limit: `{"deny_above": "100000.00"}`, Facts: "gross=99000", Passes: "buy 10 AAPL at 100.00", Stops: "buy 11 AAPL at 100.00"},
	},
	netExposure: {
		Meaning: "The larger of two: what the account is net long if every buy and no sell is filled, and net short if every sell and no buy is, with this one.",
		Facts:   "the net exposure of both sides; the quote", Source: "RTS 6 Art. 15(4); SEC 15c3-5(c)(1)(i)",
		Breach: "The account's net exposure would be larger than the policy lets.",
		Repair: "Send at most max_quantity_now, or reduce positions.",
		Sample: Sample{Limit: `{"deny_above": "60000.00"}`, Facts: "net_long=59000", Passes: "buy 10 AAPL at 100.00", Stops: "buy 11 AAPL at 100.00"},
	},
	leverage: {
		Meaning: "gross_exposure in times of the account's equity.",
		Facts:   "the gross exposure; the equity; the quote", Source: "RTS 6 Art. 15(4); SEC 15c3-5(c)(1)(i)",
		Breach: "The account's leverage would be higher than the policy lets.",
		Repair: "Send at most max_quantity_now, or reduce positions.",
		Sample: Sample{Limit: `{"deny_above": "1.5"}`, Facts: "gross=149000", Passes: "buy 10 AAPL at 100.00", Stops: "buy 11 AAPL at 100.00"},
	},
	openOrders: {
		Meaning: "Orders that wait, are in flight or unknown, this one with them. An order that a harness executed and reported counts until its report, since nobody tells when it ends.",
		Facts:   "the number of open orders", Source: "RTS 6 Art. 15(1)(d), 15(2)",
		Breach: "More orders would be open than the policy lets.",
		Repair: "Cancel one, or wait until one ends.",
		Sample: Sample{Limit: `{"deny_above": "10"}`, Facts: "open_orders=9", Passes: "buy 10 AAPL at 100.00", Worse: "open_orders=10", Stops: "buy 10 AAPL at 100.00"},
	},
	riskPerOrder: {
		Meaning: "What an order with a stop loss loses if it costs the worst price and is sold at its stop loss: the difference × quantity × multiplier. An order without one is not judged.",
		Facts:   "the quote", Source: "RTS 6 Art. 15(4)",
		Breach: "The order would lose more at its stop loss than the policy lets.",
		Repair: "Use a nearer stop loss or a smaller quantity.",
		Sample: Sample{Limit: `{"deny_above": "250.00"}`, Facts: "", Passes: "buy 50 AAPL at 100.00 sl=95.00", Stops: "buy 51 AAPL at 100.00 sl=95.00"},
	},
	stopDistance: {
		Meaning: "How far the stop loss of an order is below the worst price, in parts of that price. An order without one is not judged.",
		Facts:   "the quote", Source: "RTS 6 Art. 15(1)(a)",
		Breach: "The stop loss is further from the price than the policy lets.",
		Repair: "Use a nearer stop loss.",
		Sample: Sample{Limit: `{"deny_above": "500"}`, Facts: "", Passes: "buy 10 AAPL at 100.00 sl=95.00", Stops: "buy 10 AAPL at 100.00 sl=94.99"},
	},
	dailyLoss: {
		Meaning: "The loss since the day began, or on the first day since a policy of version 2 first judged the account; realised plus unrealised, at the side of the market that is worse.",
		Facts:   "the loss of the day", Source: "RTS 6 Art. 15(4)",
		Breach: "The account lost more today than the policy lets.",
		Repair: "Stop. Where the bound halts only a person's reduce passes until the stop is reset; an agent's reductions pass only where it denies.",
		Sample: Sample{Limit: `{"halt_above": "2000.00"}`, Facts: "day_loss=2000", Passes: "buy 10 AAPL at 100.00", Worse: "day_loss=2000.01", Stops: "buy 10 AAPL at 100.00"},
	},
	drawdown: {
		Meaning: "How far the equity is below its peak of the day, in percent of the peak: the highest at an order that was judged, and once a minute while a daemon runs.",
		Facts:   "the equity and its peak", Source: "RTS 6 Art. 15(4)",
		Breach: "The account fell further from its peak than the policy lets.",
		Repair: "Stop. Where the bound halts only a person's reduce passes until the stop is reset; an agent's reductions pass only where it denies.",
		Sample: Sample{Limit: `{"halt_above": "5"}`, Facts: "equity=95000", Passes: "buy 10 AAPL at 100.00", Worse: "equity=94999.99", Stops: "buy 10 AAPL at 100.00"},
	},
	consecutiveLosses: {
		Meaning: "Closing fills in a row that lost, since the last that did not, however little that gained. A reset of a stop of everything or of the account, for whatever reason it stood, begins the count anew; one of a symbol or an agent does not.",
		Facts:   "the number of losses in a row", Source: "RTS 6 Art. 15(3), 15(4)",
		Breach: "More trades in a row lost than the policy lets.",
		Repair: "Stop, or wait for a person where the reason is a hold. Reductions still pass, but after a halt a person's reduce alone.",
		Sample: Sample{Limit: `{"deny_above": "3"}`, Facts: "losses=3", Passes: "buy 10 AAPL at 100.00", Worse: "losses=4", Stops: "buy 10 AAPL at 100.00"},
	},
	brokerRejections: {
		Meaning: "Orders that the broker rejected in the window.",
		Facts:   "what was rejected", Source: "RTS 6 Art. 15(3), 16; FIA 3.2",
		Breach: "The broker rejected more orders than the policy lets.",
		Repair: "Stop and find out why. Reductions still pass, but after a halt a person's reduce alone.",
		Sample: Sample{Limit: `{"halt_above": "1", "window": "5m"}`, Facts: "rejected=(1m/bot/AAPL/one/0)", Passes: "buy 10 AAPL at 100.00", Worse: "rejected=(1m/bot/AAPL/one/0,2m/bot/AAPL/one/0)", Stops: "buy 10 AAPL at 100.00"},
	},
	denialsPerMinute: {
		Meaning: "Orders that were denied in the last 60 seconds, this one not with them.",
		Facts:   "what was denied", Source: "RTS 6 Art. 15(3), 16; FIA 3.2",
		Breach: "More orders were denied in a minute than the policy lets.",
		Repair: "Stop and find out why. Reductions still pass, but after a halt a person's reduce alone.",
		Sample: Sample{Limit: `{"halt_above": "1"}`, Facts: "denied=(10s/bot/AAPL/one/0)", Passes: "buy 10 AAPL at 100.00", Worse: "denied=(10s/bot/AAPL/one/0,20s/bot/AAPL/one/0)", Stops: "buy 10 AAPL at 100.00"},
	},
}
