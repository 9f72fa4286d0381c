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
			{Name: "quantity", Term: Quantity},
			{Name: "type", Term: OrderType},
			{Name: "limit_price", Term: LimitPrice},
			{Name: "time_in_force", Term: TimeInForce},
			{Name: "client_order_id", Term: ClientOrderID, Optional: true},
			{Name: "reason", Term: Reason, Optional: true},
		},
	}
}
