package trade

import "time"

// Quote is what a market showed for one symbol at one time. Bid and Ask are prices in dollars; a quote always has both.
type Quote struct {
	Symbol         Symbol
	Bid, Ask, Last Decimal
	At             time.Time
}
