package main

import (
	"bufio"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/trade"
	"sallyport/wire"
)

// clock shows a time in tables: UTC, to the second, without the year.
func clock(t time.Time) string { return t.UTC().Format("01-02 15:04:05") }

func positionsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "positions", Short: "Show positions, pending orders and the venue's cash", GroupID: groupOrders, Args: exactly(0),
		Long: `Show what the ledger knows of each position: shares held, shares of buys and
sells that are pending, and beside it what the venue itself says. The two must
agree; a difference is marked.`,
		Example: "  sallyport positions\n  sallyport positions --json",
	}
	withJSON(a, c, "print one object")
	return runs(c, func(ctx context.Context, _ []string) error {
		g, cfg, err := a.openGate(ctx, venue)
		if err != nil {
			return err
		}
		defer g.Close()
		held, err := g.Positions(ctx)
		if err != nil {
			return err
		}
		theirs := gate.Holdings{Cash: cfg.Cash} // what the venue will open with
		if g.venue != nil {
			if theirs, err = g.Holdings(ctx); err != nil {
				return err
			}
		}
		if a.json {
			return a.printJSON(appendPositions(nil, held, theirs))
		}
		return a.printLines(func(w *bufio.Writer) error {
			w.WriteString(describePositions(held, theirs))
			return nil
		})
	})
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

func describePositions(held []gate.Position, h gate.Holdings) string {
	text := "account  " + string(paperAccount) + "\ncash     " + h.Cash.Money() + "\n"
	if len(held) == 0 && len(h.Positions) == 0 {
		return text + "No positions.\n"
	}
	rows := [][]string{{"SYMBOL", "HELD", "BUYS PENDING", "SELLS PENDING", "AT THE VENUE"}}
	listed := map[trade.Symbol]bool{}
	for _, p := range held {
		theirs := venueQuantity(h, p.Symbol).String()
		if p.Account != paperAccount {
			theirs = "account " + show(string(p.Account))
		} else {
			listed[p.Symbol] = true
			if theirs != p.Quantity.String() {
				theirs += "  differs"
			}
		}
		rows = append(rows, []string{p.Symbol.String(), p.Quantity.String(), p.PendingBuys.String(), p.PendingSells.String(), theirs})
	}
	for _, p := range h.Positions {
		if !listed[p.Symbol] {
			rows = append(rows, []string{p.Symbol.String(), "0", "0", "0", p.Quantity.String() + "  differs"})
		}
	}
	return text + "\n" + table(rows)
}

func appendPositions(b []byte, held []gate.Position, h gate.Holdings) []byte {
	b = wire.AppendText(append(b, '{'), "account", string(paperAccount))
	b = wire.AppendText(b, "cash", h.Cash.Money())
	b = append(wire.AppendName(b, "positions"), '[')
	for i, p := range held {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendText(append(b, '{'), "account", string(p.Account))
		b = wire.AppendText(b, "symbol", p.Symbol.String())
		b = wire.AppendText(b, "quantity", p.Quantity.String())
		b = wire.AppendText(b, "pending_buys", p.PendingBuys.String())
		b = append(wire.AppendText(b, "pending_sells", p.PendingSells.String()), '}')
	}
	b = append(wire.AppendName(append(b, ']'), "venue"), '[')
	for i, p := range h.Positions {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendText(append(b, '{'), "symbol", p.Symbol.String())
		b = append(wire.AppendText(b, "quantity", p.Quantity.String()), '}')
	}
	return append(b, "]}"...)
}

func cancelCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "cancel ID", Short: "Cancel a working order", GroupID: groupOrders, Args: exactly(1),
		Long: `Ask the venue to cancel the order of the intent ID, as shown by orders. Exit code
0 means that no further fill can come; 1 that there is no such order or that the
venue said no.`,
		Example: "  sallyport cancel 01KB9Y2V6T3M8Q4W5X7Z0A1B2C",
	}
	withJSON(a, withAgent(a, c), "print one object")
	return runs(c, func(ctx context.Context, args []string) error {
		id, err := intentArgument(args[0])
		if err != nil {
			return err
		}
		g, cfg, err := a.openGate(ctx, venue)
		if err != nil {
			return err
		}
		defer g.Close()
		open, err := g.Orders(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(open, func(o gate.WorkingOrder) bool { return o.Intent == id }) {
			return finding("'sallyport orders' lists the open ones.", "intent %s has no open order", id)
		}
		r, err := g.Cancel(ctx, gate.Origin{Agent: cfg.Agent, Surface: "cli", Tool: "cancel"}, id)
		if err != nil {
			return err
		}
		return a.cancelled(r)
	})
}

func (a *app) cancelled(r gate.CancelResult) error {
	code := exitDenied
	if r.Outcome == trade.Accepted {
		code = exitFine
	}
	if a.json {
		b := wire.AppendText([]byte{'{'}, "intent_id", string(r.Intent))
		b = wire.AppendText(b, "outcome", r.Outcome.String())
		b = append(wire.AppendOptional(b, "message", r.Message), '}')
		if err := a.printJSON(b); err != nil {
			return err
		}
		return result(code)
	}
	switch r.Outcome {
	case trade.Accepted:
		a.printf("Cancelled %s.\n", r.Intent)
	case trade.Rejected:
		a.printf("Not cancelled %s: %s\n", r.Intent, show(r.Message))
	case trade.Unknown:
		a.printf("Whether %s is cancelled is not known: %s\n", r.Intent, show(r.Message))
	}
	return result(code)
}
