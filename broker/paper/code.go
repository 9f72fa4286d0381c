package paper

import "sallyport/trade"

// Code says why the venue refused. A Receipt carries it as text.
type Code = trade.Code

// The codes of the venue.
const (
	DuplicateID          Code = "DUPLICATE_ID"
	InsufficientCash     Code = "INSUFFICIENT_CASH"
	InsufficientPosition Code = "INSUFFICIENT_POSITION"
	TooManyWorking       Code = "TOO_MANY_WORKING_ORDERS"
	NeverReceived        Code = "NEVER_RECEIVED"
	OrderNotFound        Code = "ORDER_NOT_FOUND"
	OrderFilled          Code = "ORDER_FILLED"
	QuotesUnusable       Code = "QUOTES_UNUSABLE"
	MarketUnavailable    Code = "MARKET_UNAVAILABLE"
	AmountNotTradable    Code = "AMOUNT_NOT_TRADABLE"
	SymbolNotListed      Code = "SYMBOL_NOT_LISTED"
	InstrumentsUnusable  Code = "INSTRUMENTS_UNUSABLE"
	PriceOffTick         Code = "PRICE_OFF_TICK"
	QuantityOffLot       Code = "QUANTITY_OFF_LOT"
	SessionUnknown       Code = "SESSION_UNKNOWN"
)

// Codes returns the published table of the venue's codes.
func Codes() []trade.CodeRow {
	return []trade.CodeRow{
		{Code: DuplicateID, Meaning: "The id belongs to another order.", Repair: "Send a new order under a new id."},
		{Code: InsufficientCash, Meaning: "What the buy would hold is over the cash that working buys leave free: its quantity at its limit, at its stop, or at the ask, or its amount.", Repair: "Buy less, or cancel a working buy."},
		{Code: InsufficientPosition, Meaning: "The quantity is over the position that working sells leave free; the venue sells nothing short.", Repair: "Sell less, or cancel a working sell."},
		{Code: TooManyWorking, Meaning: "10,000 orders are working.", Repair: "Cancel some."},
		{Code: NeverReceived, Meaning: "No order of that id arrived while its permit was good; none can arrive any more.", Repair: "Send a new order if it is still wanted."},
		{Code: OrderNotFound, Meaning: "There is no such order to cancel.", Repair: "Look at the list of orders."},
		{Code: OrderFilled, Meaning: "The order to be cancelled is filled.", Repair: "Nothing is left to cancel."},
		{Code: QuotesUnusable, Meaning: "The file of quotes cannot be read.", Repair: "Repair the line that the message names."},
		{Code: MarketUnavailable, Meaning: "A market order has no quote to be executed at: there is none of the symbol, its bid is above its ask, or it was taken outside the regular session.", Repair: "Wait for a quote of the regular session, or send a limit order."},
		{Code: AmountNotTradable, Meaning: "The amount buys no part of a share, more shares than an order can have, or parts of a share where none are traded.", Repair: "Send another amount, or a quantity."},
		{Code: SymbolNotListed, Meaning: "The symbol is not in the venue's list of instruments.", Repair: "Trade a symbol of the list; the operator may add to it."},
		{Code: InstrumentsUnusable, Meaning: "The file of instruments cannot be read.", Repair: "Repair the line that the message names."},
		{Code: PriceOffTick, Meaning: "A price of the order is not a whole number of the instrument's ticks.", Repair: "Use one of the two neighbours that the message names."},
		{Code: QuantityOffLot, Meaning: "The quantity is under the instrument's minimum or not a whole number of its lots.", Repair: "Use one of the neighbours that the message names."},
		{Code: SessionUnknown, Meaning: "The calendar of the exchanges does not cover the order's time, so that nobody can say which session is on.", Repair: "Use a release whose calendar covers it."},
	}
}
