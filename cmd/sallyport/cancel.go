package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
	"sallyport/wire"
)

func cancelCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "cancel ID", Short: "Cancel a working order", GroupID: groupOrders, Args: exactly(1),
		Long: `Ask the venue to cancel an order. ID is its intent, as shown by orders, the id that
the venue was sent (sp-...), or the venue's own (paper-1). No kill switch stops it.
Where the data directory is a daemon's, it asks the daemon: as the agent of the
configured token, which cancels its own orders at tier 1, or else as you, with your
credential. Exit code 0 means that no further fill can come; 1 that there is no such
order that is open, or that the venue said no.`,
		Example: "  sallyport cancel 01KB9Y2V6T3M8Q4W5X7Z0A1B2C\n  sallyport cancel paper-3",
	}
	c.ValidArgsFunction = a.intents(func(d ledger.Decision) bool {
		return d.Clears == ledger.ClearsSend && (d.OrderStatus() == "working" || d.OrderStatus() == "partially_filled")
	})
	withJSON(a, withCredential(a, withAgent(a, c), yourCredential), "print one object")
	return runs(c, func(ctx context.Context, args []string) error {
		number, id, err := orderArgument(args[0])
		if err != nil {
			return err
		}
		_, cfg, err := a.dataDir()
		if err != nil {
			return err
		}
		address, err := a.daemonAddress(cfg)
		switch {
		case err != nil:
			return err
		case address != "" && number == 0:
			return a.cancelAsAgent(ctx, cfg, id)
		case a.getenv(peopleVariable) != "" && number == 0:
			return a.cancelAsPerson(ctx, id)
		}
		return a.cancelHere(ctx, number, id)
	})
}

// cancelHere cancels an order in the data directory, or has its daemon do so.
func (a *app) cancelHere(ctx context.Context, number uint64, id trade.IntentID) error {
	g, cfg, err := a.openGate(ctx, venue)
	if err != nil {
		return err
	}
	defer g.Close()
	if number > 0 {
		if id, err = g.intentOf(ctx, number); err != nil {
			return err
		}
	}
	if g.venue == nil { // nothing was ever sent
		return g.notCancelled(ctx, id)
	}
	if g.daemons {
		return a.cancelAsPerson(ctx, id)
	}
	r, err := g.Cancel(ctx, gate.Origin{Agent: cfg.Agent, Surface: "cli", Tool: "cancel"}, id)
	switch {
	case errors.Is(err, gate.ErrNoOpenOrder):
		return g.notCancelled(ctx, id)
	case err != nil:
		return a.gateProblem(err)
	}
	return a.cancelled(r)
}

// cancelAsAgent has the daemon cancel an order of the agent whose token is configured.
func (a *app) cancelAsAgent(ctx context.Context, cfg config, id trade.IntentID) error {
	tier, err := a.tier()
	if err != nil {
		return err
	}
	c, err := a.dialAgent(cfg, tier)
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := c.CancelOwn(ctx, gate.Origin{Surface: "cli", Tool: "cancel"}, tier, id)
	if err != nil {
		return daemonProblem(err)
	}
	return a.cancelled(r)
}

// cancelAsPerson has the daemon cancel an order at a person's word.
func (a *app) cancelAsPerson(ctx context.Context, id trade.IntentID) error {
	credential, err := a.credential(ctx)
	if err != nil {
		return err
	}
	c, err := a.needPeople(credential)
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := c.Cancel(ctx, id)
	if err != nil {
		return daemonProblem(err)
	}
	return a.cancelled(r)
}

// orderArgument reads what names an order: its intent, the id that the venue was sent, or the number of the venue's own.
func orderArgument(s string) (number uint64, id trade.IntentID, err error) {
	if digits, ok := strings.CutPrefix(s, "paper-"); ok {
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || n == 0 {
			return 0, "", usage("'sallyport orders --json' shows the venue's ids.", "%q is not an order's id at the paper venue", show(s))
		}
		return n, "", nil
	}
	id, err = intentArgument(strings.TrimPrefix(s, "sp-"))
	return 0, id, err
}

// intentOf returns the intent of an order at the venue.
func (o opened) intentOf(ctx context.Context, number uint64) (trade.IntentID, error) {
	if o.venue != nil {
		rows, err := o.venue.Rows(ctx, number-1, 1)
		if err != nil {
			return "", err
		}
		if len(rows) == 1 && rows[0].OrderID == fmt.Sprintf("paper-%d", number) {
			if id, ok := trade.ParseIntentID(strings.TrimPrefix(string(rows[0].ID), "sp-")); ok {
				return id, nil
			}
		}
	}
	return "", finding(seeOrders, "the paper venue has no order paper-%d", number)
}

// seeOrders is what helps where there is nothing to cancel.
const seeOrders = "'sallyport orders' lists the open ones."

// notCancelled says why there is no order that could be cancelled.
func (o opened) notCancelled(ctx context.Context, id trade.IntentID) error {
	d, _, err := o.History(ctx, id)
	if err != nil {
		return notFound(err)
	}
	repair := seeOrders
	why := "is not open at the venue"
	switch s := d.OrderStatus(); {
	case s == "" && d.State == ledger.Blocked:
		why = "was denied, so nothing was sent"
	case s == "filled":
		why = "is filled; what is filled cannot be cancelled"
	case s == "cancelled", s == "expired", s == "rejected":
		why = "is " + s + " already"
	case s == "permitted", s == "accepted":
		why = "was permitted to a harness, which makes the call itself; cancel it where the harness sent it"
	case s == "unknown":
		why = "has an unknown outcome: somebody else was permitted to make the call, and nobody has told what came of it"
		repair = "Look at the broker, then settle it with 'sallyport audit resolve'. " + seeOrders
	}
	return finding(repair, "the order of intent %s %s", id, why)
}

// cancelled prints what came of a cancel.
func (a *app) cancelled(r gate.CancelResult) error {
	if a.json {
		b := wire.AppendText([]byte{'{'}, "intent_id", string(r.Intent))
		b = wire.AppendText(b, "outcome", r.Outcome.String())
		b = append(wire.AppendOptional(b, "message", r.Message), '}')
		return errors.Join(a.printJSON(b), resultIf(r.Outcome != trade.Accepted))
	}
	switch r.Outcome {
	case trade.Accepted:
		a.printf("Cancelled %s.\n", r.Intent)
		return nil
	case trade.Rejected:
		return finding(seeOrders, "%s is not cancelled: %s", r.Intent, printable(r.Message))
	case trade.Unknown:
	}
	return finding("Try again. "+seeOrders, "whether %s is cancelled is not known: %s", r.Intent, plainText(printable(r.Message)))
}
