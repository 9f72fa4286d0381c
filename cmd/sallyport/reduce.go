package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/trade"
	"sallyport/wire"
)

func reduceCommand(a *app) *cobra.Command {
	var limit string
	var cover bool
	c := &cobra.Command{
		Use: "reduce SYMBOL QUANTITY --limit PRICE", Short: "Sell from a position, or buy it back, whatever is stopped", GroupID: groupControl, Args: exactly(2),
		Long: `Sell shares of a position at a limit price, as a person, or with --cover buy back a
short one. It is checked against the position that the broker itself shows, never
trades more than is held, or owed, and not pending, and is stopped by no kill switch
and no limit that is meant for entries.`,
		Example: "  sallyport reduce AAPL 10 --limit 148.50",
	}
	c.Flags().StringVar(&limit, "limit", "", "the limit `PRICE` (required)")
	c.Flags().BoolVar(&cover, "cover", false, "buy back a short position")
	withJSON(a, withCredential(a, c, yourCredential), "print the decision object")
	return runs(c, func(ctx context.Context, args []string) error {
		if !c.Flags().Changed("limit") {
			return usage("Write it as: sallyport reduce AAPL 10 --limit 148.50", "--limit is missing")
		}
		order, err := reduction(args[0], args[1], limit, cover)
		if err != nil {
			return err
		}
		credential, err := a.credential(ctx)
		if err != nil {
			return err
		}
		o, err := a.openDaemonOrHere(ctx, trading, credential)
		if err != nil {
			return err
		}
		defer o.Close()
		d, err := o.Reduce(ctx, order)
		if err != nil {
			return daemonProblem(err)
		}
		return a.decided(d)
	})
}

// reduction reads the words of a reduction as strictly as an agent's order.
func reduction(symbol, quantity, limit string, cover bool) (trade.Order, error) {
	side := "sell"
	if cover {
		side = "buy"
	}
	d, err := findTool(toolA, toolNames())
	if err != nil {
		return trade.Order{}, err
	}
	raw := wire.AppendText(wire.AppendText([]byte{'{'}, "symbol", symbol), "side", side)
	raw = wire.AppendText(wire.AppendText(raw, "quantity", quantity), "order_type", "limit")
	order, _, faults := d.Parse(paperAccount, append(wire.AppendText(raw, "limit_price", limit), '}'))
	if len(faults) > 0 {
		var all []string
		for _, f := range faults {
			all = append(all, fmt.Sprintf("%s: %s", f.Code, printable(f.Message)))
		}
		return order, usage("Write it as: sallyport reduce AAPL 10 --limit 148.50", "that is no order: %s", strings.Join(all, "; "))
	}
	return order, nil
}
