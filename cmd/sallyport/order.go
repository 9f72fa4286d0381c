package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
	"sallyport/wire"
)

// maxBody is what is read of one order: one byte more than a dialect takes, so that the dialect refuses the rest.
//
//limit:cli-body-bytes Of the arguments of one order at most 65,537 bytes are read, one more than any dialect takes.
const maxBody = 64<<10 + 1

// defaultTool is the dialect that order and check speak unless they are told otherwise.
const defaultTool = "paper_place_order_a"

func orderCommand(a *app) *cobra.Command {
	var tool string
	c := &cobra.Command{
		Use: "order JSON|-", Short: "Send one order: decide it, record it, execute it on paper",
		GroupID: groupOrders, Args: exactly(1),
		Long: `Send one guarded order through the gate to the paper venue. The decision is
recorded before anything acts on it. JSON is the arguments of the tool T, which is
paper_place_order_a or paper_place_order_b; with - they are read from standard
input. To try an order without executing it there is check.

It needs tier 2: SALLYPORT_TIER=2. With a daemon configured (SALLYPORT_DAEMON, or
daemon in sallyport.json) the daemon decides and executes, and the tier is the
lower of its token's and the environment's.

Exit codes: 0 executed or working, 1 denied, rejected or not known to be executed,
4 held: a person must approve it first.`,
		Example: `  export SALLYPORT_TIER=2
  sallyport order '{"symbol":"AAPL","side":"buy","quantity":"10",
      "order_type":"limit","limit_price":"150.00"}'
  sallyport order --json --tool paper_place_order_b - < order.json`,
	}
	toolFlag(c, &tool, defaultTool, executingTools())
	withJSON(a, withAgent(a, c), "print the decision object")
	return runs(c, func(ctx context.Context, args []string) error {
		return a.submit(ctx, args[0], tool, trading, agentGate.Execute)
	})
}

func proposeCommand(a *app) *cobra.Command {
	var tool string
	c := &cobra.Command{
		Use: "propose JSON|-", Short: "Propose one order to a person: it executes once they approve",
		GroupID: groupOrders, Args: exactly(1),
		Long: `File an order as a proposal. The whole policy judges it at once; what it denies
never reaches a person, and everything else waits for one. An approved proposal is
executed by the daemon. JSON is as for order.

It needs tier 1: SALLYPORT_TIER=1.

Exit codes: 4 held, 1 denied.`,
		Example: `  SALLYPORT_TIER=1 sallyport propose '{"symbol":"AAPL","side":"buy",
      "quantity":"10","order_type":"limit","limit_price":"150.00"}'`,
	}
	toolFlag(c, &tool, defaultTool, executingTools())
	withJSON(a, withAgent(a, c), "print the decision object")
	return runs(c, func(ctx context.Context, args []string) error {
		return a.submit(ctx, args[0], tool, founding, agentGate.Propose)
	})
}

// submit reads an order of one of the tools, has it decided, and says what came of it.
func (a *app) submit(ctx context.Context, arg, tool string, u use, decide func(agentGate, context.Context, gate.Call) ledger.Decision) error {
	d, err := findTool(tool, executingTools())
	if err != nil {
		return err
	}
	raw, err := a.body(ctx, arg)
	if err != nil {
		return err
	}
	g, who, err := a.openAgent(ctx, u)
	if err != nil {
		return err
	}
	defer g.Close()
	call := callOf(d, raw, gate.Origin{Agent: who.agent, Surface: "cli", Tool: tool})
	call.Tier = who.tier
	return a.decided(decide(g, ctx, call))
}

// toolFlag gives a command the flag --tool with its completions.
func toolFlag(c *cobra.Command, tool *string, value string, names []string) {
	c.Flags().StringVar(tool, "tool", value, "the tool `T` whose arguments are given: "+strings.Join(names, ", "))
	completes(c, "tool", words(names...))
}

// toolNames returns the names of all tools whose arguments can be read.
func toolNames() []string {
	var names []string
	for _, d := range dialect.Table() {
		names = append(names, d.Name)
	}
	return names
}

// executingTools returns the tools that place orders at the paper venue. The others only check, or are read for
// somebody else who makes the call.
func executingTools() []string { return []string{toolA, toolB} }

// findTool returns the dialect of one of the tools.
func findTool(name string, names []string) (*dialect.Dialect, error) {
	d, ok := dialect.Find(name)
	switch {
	case ok && slices.Contains(names, name):
		return d, nil
	case ok:
		return nil, usage("Use "+strings.Join(names, " or ")+"; check judges an order of any tool.", "the tool %s places no orders at the paper venue", name)
	}
	return nil, usage("Use one of "+strings.Join(names, ", ")+".", "the tool %q is not known%s", show(name), perhaps("", nearest(name, names)))
}

// body returns the argument itself, or what standard input holds.
func (a *app) body(ctx context.Context, arg string) ([]byte, error) {
	if arg != "-" {
		return []byte(arg), nil
	}
	raw, err := io.ReadAll(io.LimitReader(interruptible(ctx, a.stdin), maxBody))
	if err != nil {
		return nil, internal(fmt.Errorf("standard input cannot be read: %w", err))
	}
	return raw, nil
}

// callOf parses the arguments of one tool into a guarded call, for the account that the tool's orders are for.
func callOf(d *dialect.Dialect, raw []byte, o gate.Origin) gate.Call {
	order, tags, faults := d.Parse(d.Account, raw)
	return gate.Call{Origin: o, Dialect: d.Name, Account: d.Account, Order: order, Tags: tags, Faults: faults, Raw: raw}
}

// decided prints a decision and ends the command with its code.
func (a *app) decided(d ledger.Decision) error {
	code := codeOfDecision(d)
	if a.json {
		if err := a.printJSON(d.AppendJSON(nil)); err != nil {
			return err
		}
		return result(code)
	}
	err := a.printLines(func(w *bufio.Writer) error {
		_, err := w.WriteString(describe(d, a.color()))
		return err
	})
	if err != nil {
		return err
	}
	return result(code)
}

func ordersCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "orders", Short: "List the orders that are open", GroupID: groupOrders, Args: exactly(0),
		Long: `List the orders that the ledger holds open, oldest first: permitted (a harness may
make the call), sending, unknown, working or partly filled at the venue. Times are
UTC. Without a data directory here it asks the configured daemon: an agent sees its
own.`,
		Example: "  sallyport orders\n  sallyport orders --json",
	}
	withJSON(a, c, "print one object a line")
	return runs(c, func(ctx context.Context, _ []string) error {
		var open []openOrder
		err := a.read(ctx, venue, func(f far) (err error) {
			open, err = openOrders(ctx, f)
			return err
		}, func(g opened, _ config) (err error) {
			open, err = openOrders(ctx, g)
			return err
		})
		if err != nil {
			return err
		}
		if a.json {
			return a.printLines(func(w *bufio.Writer) error {
				for i := range open {
					w.Write(append(appendOpen(nil, &open[i]), '\n'))
				}
				return nil
			})
		}
		if len(open) == 0 {
			a.printf("No orders are open.\n")
			return nil
		}
		a.printf("%s", describeOrders(open))
		return nil
	})
}

// openOrder is an open order with what the record says of it.
type openOrder struct {
	gate.WorkingOrder
	decision ledger.Decision
}

// openOrders returns the orders that are open, oldest first. It first takes in what the venue has to tell.
func openOrders(ctx context.Context, g interface {
	Orders(ctx context.Context) ([]gate.WorkingOrder, error)
	History(ctx context.Context, id trade.IntentID) (ledger.Decision, []ledger.Entry, error)
},
) ([]openOrder, error) {
	working, err := g.Orders(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]openOrder, 0, len(working))
	for _, w := range working {
		d, _, err := g.History(ctx, w.Intent)
		if err != nil {
			return nil, err
		}
		all = append(all, openOrder{w, d})
	}
	return all, nil
}

func describeOrders(open []openOrder) string {
	rows := [][]string{{timeHeader, "INTENT", "STATE", "ORDER"}}
	unknown := false
	for _, o := range open {
		parts := []string{orderLine(o.Order)}
		if o.Filled.Sign() > 0 {
			parts = append(parts, o.Filled.String()+" filled")
		}
		text := strings.Join(append(parts, agentPart(o.Agent)...), "\n")
		unknown = unknown || o.decision.State == ledger.OutcomeUnknown
		rows = append(rows, []string{clock(o.At), string(o.Intent), stateWord(o.decision), text})
	}
	text := table(rows)
	if unknown {
		text += "\n" + indent("", "What is unknown keeps its exposure reserved. Look at the broker, then settle it, as accepted or rejected:") +
			"  sallyport audit resolve INTENT accepted --reason TEXT\n"
	}
	return text
}

// appendOpen appends an open order. sent_as is the id under which the venue was sent it, order_id the venue's own.
func appendOpen(b []byte, o *openOrder) []byte {
	b = wire.AppendText(append(b, '{'), "intent_id", string(o.Intent))
	b = wire.AppendText(b, "order_status", o.decision.OrderStatus())
	b = wire.AppendText(b, "agent", string(o.Agent))
	b = o.Order.AppendJSON(wire.AppendName(b, "order"))
	b = wire.AppendText(b, "filled_quantity", o.Filled.String())
	if o.decision.Clears == ledger.ClearsSend {
		b = wire.AppendText(b, "sent_as", string(o.ID))
	}
	b = wire.AppendOptional(b, "order_id", o.decision.OrderID)
	b = wire.AppendText(b, "at", o.At.UTC().Format(ledger.TimeFormat))
	if o.decision.State == ledger.Allowed && !o.Deadline.IsZero() { // then a missing outcome is unknown
		b = wire.AppendText(b, "deadline", o.Deadline.UTC().Format(ledger.TimeFormat))
	}
	return append(b, '}')
}
