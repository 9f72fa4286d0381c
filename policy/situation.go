package policy

import (
	"time"

	"sallyport/trade"
)

// Situation is what a policy of version 2 may know beside the order and Facts. The gate makes it of the ledger's state,
// the market and the clock; all amounts are in the policy's currency. The zero Situation knows nothing, and a fact that
// is not known is a no to every limit that needs it.
type Situation struct {
	At    time.Time // of the judgement
	Day   Day       // that At lies in, in the policy's time zone
	Agent trade.Agent
	Quote QuoteFact // of the order's symbol

	Instrument InstrumentFact // of the order's symbol

	Equity       Known // of the account, at conservative marks
	Peak         Known // the highest Equity since Day.Start; the drawdown is what Equity is below it
	Cash         Known
	AveragePrice Known // of the position in the order's symbol
	DayLoss      Known // since Day.Start, realised plus unrealised at conservative marks; a profit is negative

	// Exposure, each without this order: positions at the mark, and orders that are working (their unfilled part),
	// reserved, held, in flight or of unknown outcome, a buy at the higher of its limit and the ask.
	SymbolLong  Known // of the order's symbol: the long position and every buy
	SymbolShort Known // of the order's symbol: the short position and every sell that the long one does not cover
	Gross       Known // of the account: every position and every order, without regard to the side
	NetLong     Known // of the account, if every buy is filled and no sell is
	NetShort    Known // of the account, if every sell is filled and no buy is: above zero if that is net short, else not

	OpenOrders        Count // working, reserved, held, in flight or of unknown outcome, without this order
	ConsecutiveLosses Count // closing fills in a row that lost, newest first
	Session           SessionFact
	Reduces           bool    // a verified reduction: computed from the position and pending closes
	History           History // what was sent, rejected and denied; nil: not known
}

// Known is an amount, or that there is none to go by.
type Known struct {
	Value trade.Decimal
	Known bool
}

// Count is a number of things, or that it is not known.
type Count struct {
	N     int
	Known bool
}

// Day is a day of the policy's time zone: from Start up to, and not with, End. The zero Day is not known.
type Day struct{ Start, End time.Time }

// QuoteFact is the quote to judge by, or why there is none. Limits on its age, spread and order are the policy's, and
// Evaluate holds it to them.
type QuoteFact struct {
	Code           trade.Code // why no quote can be used, such as QUOTE_UNAVAILABLE or QUOTES_DISAGREE; empty if one can
	Why            string     // the same in words, with the name of the source; empty where nobody says
	Bid, Ask, Last trade.Decimal
	Age            time.Duration

	// Of several sources Bid and Ask are the worst for whoever trades, and these the best: the highest bid, the lowest ask.
	// Zero: there is no other than Bid and Ask.
	BestBid, BestAsk trade.Decimal
}

// InstrumentFact is what an order in the symbol must fit, or why that is not known. One of another symbol than the
// order's is not known.
type InstrumentFact struct {
	Code trade.Code // SYMBOL_NOT_LISTED if the broker's list does not have it; empty if there is an instrument
	trade.Instrument
}

// SessionFact says which trading session At lies in.
type SessionFact struct {
	Code          trade.Code // CALENDAR_UNAVAILABLE if the calendar cannot say; empty if it can
	Regular       bool       // in the regular session
	Extended      bool       // in the hours before or after it
	RegularOpens  time.Time  // when the next regular session begins; zero if that is not known
	ExtendedOpens time.Time  // when the next session of either kind begins; zero likewise
}

// History counts what happened before this order, within its account. A window is (since, at]. What was sent counts at
// once and at its full value: buys, sells, reductions and orders that were cancelled later; what was denied, declined or
// expired was not sent. PerAgent, PerSymbol and PerRule narrow it to the order's own agent, its symbol, and what matched
// the rule of that id. Its methods allocate nothing and answer the same to the same question.
type History interface {
	// Orders counts orders that were sent.
	Orders(per Per, rule string, since time.Time) int
	// Notional adds up what they were worth when they were sent.
	Notional(per Per, rule string, since time.Time) trade.Decimal
	// Similar counts orders of the same account, symbol, side, type, quantity and prices.
	Similar(since time.Time) int
	// Rejections counts what the broker rejected; where that is not Known, N is the least that they are, or below zero.
	Rejections(per Per, since time.Time) Count
	// Denials counts what was denied, likewise.
	Denials(per Per, since time.Time) Count
}

// Per is what a counting limit counts together. The zero Per is the whole account.
type Per uint8

// What a limit may count per.
const (
	PerAccount Per = iota
	PerAgent
	PerSymbol
	PerRule
)

// String returns the word of the policy file.
func (p Per) String() string { return [...]string{"account", "agent", "symbol", "rule"}[p] }

// ParsePer reads what String writes.
func ParsePer(s string) (Per, bool) {
	for p := PerAccount; p <= PerRule; p++ {
		if p.String() == s {
			return p, true
		}
	}
	return PerAccount, false
}
