package dialect

// Canonical is the shape in which we write orders ourselves: that of the decision object's order, without its account. It
// is no tool's and stands in no table.
func Canonical() *Dialect {
	return &Dialect{
		Name:    "order",
		Account: "paper",
		Fields: []Field{
			{Name: "symbol", Term: Symbol},
			{Name: "side", Term: Side},
			{Name: "quantity", Term: Quantity, Optional: true},
			{Name: "notional", Term: Notional, Optional: true},
			{Name: "type", Term: OrderType},
			{Name: "limit_price", Term: LimitPrice, Optional: true},
			{Name: "stop_price", Term: StopPrice, Optional: true},
			{Name: "time_in_force", Term: TimeInForce, Optional: true, Default: "day"},
			{Name: "extended_hours", Term: ExtendedHours, Optional: true},
			{Name: "stop_loss", Term: StopLoss, Optional: true},
			{Name: "stop_loss_limit", Term: StopLossLimit, Optional: true},
			{Name: "take_profit", Term: TakeProfit, Optional: true},
			{Name: "client_order_id", Term: ClientOrderID, Optional: true},
			{Name: "reason", Term: Reason, Optional: true},
		},
	}
}
