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
)

// Codes returns the published table of the venue's codes.
func Codes() []trade.CodeRow {
	return []trade.CodeRow{
		{Code: DuplicateID, Meaning: "The id belongs to another order.", Repair: "Send a new order under a new id."},
		{Code: InsufficientCash, Meaning: "Limit × quantity is over the cash that working buys leave free.", Repair: "Buy less, or cancel a working buy."},
		{Code: InsufficientPosition, Meaning: "The quantity is over the position that working sells leave free; the venue sells nothing short.", Repair: "Sell less, or cancel a working sell."},
		{Code: TooManyWorking, Meaning: "10,000 orders are working.", Repair: "Cancel some."},
		{Code: NeverReceived, Meaning: "No order of that id arrived while its permit was good; none can arrive any more.", Repair: "Send a new order if it is still wanted."},
		{Code: OrderNotFound, Meaning: "There is no such order to cancel.", Repair: "Look at the list of orders."},
		{Code: OrderFilled, Meaning: "The order to be cancelled is filled.", Repair: "Nothing is left to cancel."},
		{Code: QuotesUnusable, Meaning: "The file of quotes cannot be read.", Repair: "Repair the line that the message names."},
	}
}
