package policy

import "sallyport/trade"

// The codes of a policy of version 2 about the terms of an order and the instrument that it is in.
const (
	SymbolNotListed         trade.Code = "SYMBOL_NOT_LISTED"
	InstrumentUnavailable   trade.Code = "INSTRUMENT_UNAVAILABLE"
	CurrencyNotAllowed      trade.Code = "CURRENCY_NOT_ALLOWED"
	AssetClassNotAllowed    trade.Code = "ASSET_CLASS_NOT_ALLOWED"
	PriceOffTick            trade.Code = "PRICE_OFF_TICK"
	QuantityOffLot          trade.Code = "QUANTITY_OFF_LOT"
	ExtendedHoursNotAllowed trade.Code = "EXTENDED_HOURS_NOT_ALLOWED"
	StopLossRequired        trade.Code = "STOP_LOSS_REQUIRED"
)

func termCodes() []trade.CodeRow {
	return []trade.CodeRow{
		{Code: SymbolNotListed, Meaning: "The broker's list of instruments does not have the symbol.", Repair: "Use a symbol that the broker lists."},
		{Code: InstrumentUnavailable, Meaning: "What an order in the symbol must fit is not known.", Repair: "The operator checks the list of instruments."},
		{Code: CurrencyNotAllowed, Meaning: "The instrument is priced in another currency than the policy's.", Repair: "Trade an instrument of the policy's currency."},
		{Code: AssetClassNotAllowed, Meaning: "The instrument is of another asset class than the order.", Repair: "The operator checks the list of instruments."},
		{Code: PriceOffTick, Meaning: "A price of the order is not a whole number of the instrument's ticks.", Repair: "Use one of the two prices that the message names."},
		{Code: QuantityOffLot, Meaning: "The quantity is not a whole number of the instrument's lots, or is below its minimum.", Repair: "Use one of the quantities that the message names."},
		{Code: ExtendedHoursNotAllowed, Meaning: "A rule about the order does not allow that it is executed outside the regular session.", Repair: "Leave extended hours out."},
		{Code: StopLossRequired, Meaning: "A rule about the order requires that it brings a stop loss with it.", Repair: "Send a stop loss with the order."},
	}
}
