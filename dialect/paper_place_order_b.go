package dialect

// paperB is the second tool of the paper broker: the same orders in another broker's words.
func paperB() *Dialect {
	return &Dialect{
		Name:    "paper_place_order_b",
		Account: "paper",
		Fields: []Field{
			{Name: "ticker", Term: Symbol},
			{Name: "direction", Term: Side},
			{Name: "qty", Term: Quantity},
			{Name: "order_type", Term: OrderType},
			{Name: "price", Term: LimitPrice},
			{Name: "client_order_id", Term: ClientOrderID, Optional: true},
			{Name: "reason", Term: Reason, Optional: true},
		},
		Fixed:   []FixedTerm{{TimeInForce, "day"}},
		Outcome: PaperAnswer,
	}
}
