package dialect

// paperA is the first tool of the paper broker. An order that does not say how long it lives is good for the day.
func paperA() *Dialect {
	return &Dialect{
		Name:    "paper_place_order_a",
		Account: "paper",
		Fields:  paperFields("symbol", "side", "quantity", "limit_price", true),
		Outcome: PaperAnswer,
	}
}
