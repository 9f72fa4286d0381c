package dialect

// tradeCheck is the tool that judges an order and never places it, so that none of its answers is an outcome.
func tradeCheck() *Dialect {
	return &Dialect{
		Name:    "trade_check",
		Account: "paper",
		Fields:  paperFields("symbol", "side", "quantity", "limit_price", false),
	}
}
