package dialect

// paperA is the first tool of the paper broker. All its orders are good for the day.
func paperA() *Dialect {
	return &Dialect{
		Name:    "paper_place_order_a",
		Account: "paper",
		Fields: []Field{
			{Name: "symbol", Term: Symbol},
			{Name: "side", Term: Side},
			{Name: "quantity", Term: Quantity},
			{Name: "order_type", Term: OrderType},
			{Name: "limit_price", Term: LimitPrice},
			{Name: "client_order_id", Term: ClientOrderID, Optional: true},
			{Name: "reason", Term: Reason, Optional: true},
		},
		Fixed:   []FixedTerm{{TimeInForce, "day"}},
		Outcome: PaperAnswer,
	}
}
