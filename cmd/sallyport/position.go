package main

import (
	"bufio"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/trade"
	"sallyport/wire"
)

func positionsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "positions", Short: "Show positions, pending orders and the venue's cash", GroupID: groupOrders, Args: exactly(0),
		Long: `Show what the ledger knows of each position: shares held, shares of buys and
sells that are pending, and beside it what the venue itself says. The two must
agree; a difference is marked. Positions at venues whose fills nobody tells us,
which are those of tools under a hook, are not known: what was accepted there
stays pending. Without a data directory here it asks the configured daemon, which
compares with the venue itself.`,
		Example: "  sallyport positions\n  sallyport positions --json",
	}
	withJSON(a, c, "print one object")
	return runs(c, func(ctx context.Context, _ []string) error {
		return a.read(ctx, venue, func(f far) error {
			p, err := f.Portfolio(ctx)
			if err != nil {
				return err
			}
			return a.positions(book{cash: p.Cash, held: p.Positions})
		}, func(g opened, cfg config) error {
			held, err := g.Positions(ctx)
			if err != nil {
				return err
			}
			theirs := gate.Holdings{Cash: cfg.Cash} // what the venue will open with
			if g.venue != nil {
				if theirs, err = g.venue.Holdings(ctx); err != nil {
					return err
				}
			}
			return a.positions(book{&theirs.Cash, held, &theirs})
		})
	})
}

// book is what the ledger holds, and what the venue says: nothing where a daemon elsewhere compares with it.
type book struct {
	cash   *trade.Decimal // nil where the venue cannot be asked
	held   []gate.Position
	theirs *gate.Holdings
}

func (a *app) positions(k book) error {
	if a.json {
		return a.printJSON(appendPositions(nil, k))
	}
	return a.printLines(func(w *bufio.Writer) error {
		w.WriteString(describePositions(k))
		return nil
	})
}

func (k book) cashText() string {
	if k.cash == nil {
		return "not known: the venue cannot be asked"
	}
	return k.cash.Money()
}

// venueQuantity returns what the venue says it holds of a symbol.
func venueQuantity(h gate.Holdings, s trade.Symbol) trade.Decimal {
	for _, p := range h.Positions {
		if p.Symbol == s {
			return p.Quantity
		}
	}
	return trade.Decimal{}
}

// line is one symbol as the ledger holds it, and as the venue does.
type line struct {
	gate.Position
	ours   bool // an account of our venue
	theirs trade.Decimal
}

func (l line) differs() bool { return l.ours && l.theirs.Cmp(l.Quantity) != 0 }

// positionLines puts what the ledger knows beside what the venue says.
func positionLines(k book) (lines []line) {
	listed := map[trade.Symbol]bool{}
	for _, p := range k.held {
		l := line{Position: p, ours: p.Account == paperAccount && k.theirs != nil}
		if l.ours {
			l.theirs = venueQuantity(*k.theirs, p.Symbol)
			listed[p.Symbol] = true
		}
		lines = append(lines, l)
	}
	if k.theirs == nil {
		return lines
	}
	for _, p := range k.theirs.Positions {
		if !listed[p.Symbol] {
			lines = append(lines, line{gate.Position{Account: paperAccount, Symbol: p.Symbol}, true, p.Quantity})
		}
	}
	return lines
}

func describePositions(k book) string {
	text := "account  " + string(paperAccount) + "\ncash     " + k.cashText() + "\n"
	lines := positionLines(k)
	if len(lines) == 0 {
		return text + "No positions.\n"
	}
	rows := [][]string{{"SYMBOL", "HELD", "BUYS PENDING", "SELLS PENDING", "AT THE VENUE"}}
	differs := false
	for _, l := range lines {
		theirs := "account " + show(string(l.Account))
		switch {
		case l.ours:
			theirs = l.theirs.String()
		case k.theirs == nil && l.Account == paperAccount:
			theirs = "not asked"
		}
		if l.differs() {
			theirs += "  differs"
			differs = true
		}
		rows = append(rows, []string{l.Symbol.String(), l.Quantity.String(), l.PendingBuys.String(), l.PendingSells.String(), theirs})
	}
	text += "\n" + table(rows)
	if differs {
		text += "\n" + indent("", "Where the venue differs, something traded past this journal. Compare 'sallyport audit list' with the venue's own book.")
	}
	return text
}

func appendPositions(b []byte, k book) []byte {
	lines := positionLines(k)
	b = wire.AppendText(append(b, '{'), "account", string(paperAccount))
	if k.cash != nil {
		b = wire.AppendText(b, "cash", k.cash.Money())
	}
	b = append(wire.AppendName(b, "differs"), trueOrFalse(slices.ContainsFunc(lines, line.differs))...)
	b = append(wire.AppendName(b, "positions"), '[')
	for i, l := range lines {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendText(append(b, '{'), "account", string(l.Account))
		b = wire.AppendText(b, "symbol", l.Symbol.String())
		b = wire.AppendText(b, "quantity", l.Quantity.String())
		b = wire.AppendText(b, "pending_buys", l.PendingBuys.String())
		b = wire.AppendText(b, "pending_sells", l.PendingSells.String())
		if l.ours {
			b = wire.AppendText(b, "venue_quantity", l.theirs.String())
		}
		b = append(append(wire.AppendName(b, "differs"), trueOrFalse(l.differs())...), '}')
	}
	return append(b, "]}"...)
}
