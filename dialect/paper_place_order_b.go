package dialect

// paperB is the second tool of the paper broker: the same orders in another broker's words.
func paperB() *Dialect {
	return &Dialect{
		Name:    "paper_place_order_b",
		Account: "paper",
		Fields:  paperFields("ticker", "direction", "qty", "price", true),
		Outcome: PaperAnswer,
	}
}
