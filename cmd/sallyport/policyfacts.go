package main

import (
	"strconv"
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// facts are all facts that a made-up order is judged by, under the names that they have with --json.
func (d comparison) facts(c policy.Case) []row {
	rows := positionRows(c.Facts)
	if d.versionOne() {
		return rows
	}
	rows = append(rows, situationRows(&c.Situation)...)
	if h := c.Situation.History; h != nil {
		var ever time.Time
		rows = append(rows,
			row{"orders_sent", strconv.Itoa(h.Orders(policy.PerAccount, "", ever))},
			row{"notional_sent", h.Notional(policy.PerAccount, "", ever).Money()},
			row{"similar_orders", strconv.Itoa(h.Similar(ever))},
			row{"broker_rejections", number(h.Rejections(policy.PerAccount, ever))},
			row{"denials", number(h.Denials(policy.PerAccount, ever))},
		)
	}
	return rows
}

// situationRows are the facts that a policy of version 2 may know, but for what happened before.
func situationRows(s *policy.Situation) (rows []row) {
	if s.Quote.Code != "" {
		rows = append(rows, row{"quote", string(s.Quote.Code)})
	}
	if s.Quote.Ask.Sign() > 0 {
		rows = append(rows, row{"bid", s.Quote.Bid.Money()}, row{"ask", s.Quote.Ask.Money()}, row{"quote_age", s.Quote.Age.String()})
	}
	return append(rows,
		row{"session", sessionWord(s.Session)}, row{"reduces", trueOrFalse(s.Reduces)},
		row{"equity", amount(s.Equity)}, row{"peak", amount(s.Peak)}, row{"day_loss", amount(s.DayLoss)},
		row{"symbol_long", amount(s.SymbolLong)}, row{"gross_exposure", amount(s.Gross)}, row{"net_long", amount(s.NetLong)},
		row{"net_short", amount(s.NetShort)}, row{"open_orders", number(s.OpenOrders)}, row{"consecutive_losses", number(s.ConsecutiveLosses)},
	)
}

// positionRows are the facts about the position in the order's symbol.
func positionRows(f policy.Facts) []row {
	if !f.PositionKnown {
		return []row{{"position", "unknown"}}
	}
	return []row{{"position", f.Position.String()}, {"pending_buys", f.PendingBuys.String()}, {"pending_sells", f.PendingSells.String()}}
}

// unusual are the facts that a person needs to see: the position, the quote, and whatever is not calm.
func (d comparison) unusual(c policy.Case) (rows []row) {
	const rich = "1000000000.00"
	calm := map[string]string{
		"quote_age": "0s", "session": "regular", "equity": rich, "peak": rich, "reduces": trueOrFalse(c.Order.Side() == trade.Sell),
	}
	for _, r := range d.facts(c) {
		usual, named := calm[r.name]
		switch {
		case r.name == "position", r.name == "bid", r.name == "ask":
			rows = append(rows, r)
		case named && r.value == usual, !named && (r.value == "0" || r.value == "0.00"):
		default:
			rows = append(rows, r)
		}
	}
	return rows
}

func amount(k policy.Known) string {
	if !k.Known {
		return "unknown"
	}
	return k.Value.Money()
}

func number(c policy.Count) string {
	if !c.Known {
		return "unknown"
	}
	return strconv.Itoa(c.N)
}

func sessionWord(s policy.SessionFact) string {
	switch {
	case s.Code != "":
		return "unknown"
	case s.Regular:
		return "regular"
	case s.Extended:
		return "extended"
	}
	return "closed"
}
