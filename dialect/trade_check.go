package dialect

// tradeCheck is the tool that judges an order and never places it, so that none of its answers is an outcome.
func tradeCheck() *Dialect {
	return &Dialect{
		Name:    "trade_check",
		Account: "paper",
		Fields: []Field{
			{Name: "symbol", Term: Symbol},
			{Name: "side", Term: Side},
			{Name: "quantity", Term: Quantity},
			{Name: "order_type", Term: OrderType},
			{Name: "limit_price", Term: LimitPrice},
		},
		Fixed: []FixedTerm{{TimeInForce, "day"}},
	}
}
