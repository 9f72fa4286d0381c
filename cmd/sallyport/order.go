package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
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
		Use: "order [--tool T] JSON|-", Short: "Propose one order: decide it, record it, execute it on paper",
		GroupID: groupOrders, Args: exactly(1),
		Long: `Send one guarded order through the gate to the paper venue. The decision is
recorded before anything acts on it. JSON is the arguments of the tool T; with -
they are read from standard input.

Exit codes: 0 executed, 1 denied, rejected or not known to be executed, 4 held.`,
		Example: `  sallyport order '{"symbol":"AAPL","side":"buy","quantity":"10",
      "order_type":"limit","limit_price":"150.00"}'
  sallyport order --json --tool paper_place_order_b - < order.json`,
	}
	toolFlag(c, &tool, defaultTool)
	withJSON(a, withAgent(a, c), "print the decision object")
	return runs(c, func(ctx context.Context, args []string) error {
		d, err := findTool(tool)
		if err != nil {
			return err
		}
		raw, err := a.body(args[0])
		if err != nil {
			return err
		}
		g, cfg, err := a.openGate(ctx, trading)
		if err != nil {
			return err
		}
		defer g.Close()
		call := callOf(d, raw, gate.Origin{Agent: cfg.Agent, Surface: "cli", Tool: tool})
		return a.decided(g.Execute(ctx, call))
	})
}

// toolFlag gives a command the flag --tool with its completions.
func toolFlag(c *cobra.Command, tool *string, value string) {
	c.Flags().StringVar(tool, "tool", value, "the tool `T` whose arguments are given: "+strings.Join(toolNames(), ", "))
	_ = c.RegisterFlagCompletionFunc("tool", cobra.FixedCompletions(toolNames(), cobra.ShellCompDirectiveNoFileComp))
}

func toolNames() []string {
	var names []string
	for _, d := range dialect.Table() {
		names = append(names, d.Name)
	}
	return names
}

func findTool(name string) (*dialect.Dialect, error) {
	if d, ok := dialect.Find(name); ok {
		return d, nil
	}
	return nil, usage("Use one of "+strings.Join(toolNames(), ", ")+".", "the tool %q is not known", show(name))
}

// body returns the argument itself, or what standard input holds.
func (a *app) body(arg string) ([]byte, error) {
	if arg != "-" {
		return []byte(arg), nil
	}
	raw, err := io.ReadAll(io.LimitReader(a.stdin, maxBody))
	if err != nil {
		return nil, internal(fmt.Errorf("standard input cannot be read: %w", err))
	}
	return raw, nil
}

// callOf parses the arguments of one tool into a guarded call for the paper venue.
func callOf(d *dialect.Dialect, raw []byte, o gate.Origin) gate.Call {
	order, tags, faults := d.Parse(paperAccount, raw)
	return gate.Call{Origin: o, Account: paperAccount, Order: order, Tags: tags, Faults: faults, Raw: raw}
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

// headline says in one word what came of a decision.
func headline(d ledger.Decision) string {
	switch {
	case d.Verdict == policy.Deny:
		return "DENIED"
	case d.Verdict == policy.Hold:
		return "HELD"
	}
	switch d.State {
	case ledger.Succeeded:
		if d.Clears == ledger.ClearsSend && d.Filled.Sign() == 0 {
			return "ACCEPTED" // it rests at the venue, or ended there unfilled
		}
		return "EXECUTED"
	case ledger.Failed:
		return "REJECTED"
	case ledger.OutcomeUnknown:
		return "UNKNOWN"
	}
	return "ALLOWED"
}

// describe shows one decision to a person.
func describe(d ledger.Decision, p paint) string {
	var b strings.Builder
	head := headline(d)
	b.WriteString(p.bold(p.verdict(d, head)) + "  " + orderLine(d.Order))
	if !d.Order.IsZero() {
		b.WriteString(", " + d.Order.Notional().Money() + " in all")
	}
	b.WriteString("\n")
	for i := range d.Reasons {
		r := &d.Reasons[i]
		b.WriteString("  " + p.bold(string(r.Code)) + "\n" + indent("    ", printable(r.Message)))
		if r.Limit != "" || r.Observed != "" {
			b.WriteString(indent("    ", limits(r)))
		}
	}
	b.WriteString(table(details(d)))
	if d.State == ledger.OutcomeUnknown {
		b.WriteString(indent("  ", "Whether it executed is not known; its exposure stays reserved. Look with sallyport audit show, settle it with sallyport audit resolve."))
	}
	return b.String()
}

// printable shows a sentence of ours that may hold text from outside.
func printable(s string) string { return trade.Printable(s, 600) }

func limits(r *policy.Reason) string {
	var parts []string
	if r.Limit != "" {
		parts = append(parts, "limit "+show(r.Limit))
	}
	if r.Observed != "" {
		parts = append(parts, "observed "+show(r.Observed))
	}
	return strings.Join(parts, ", ")
}

// details are the rows below a decision.
func details(d ledger.Decision) [][]string {
	var rows [][]string
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{"  " + name, value})
		}
	}
	if d.Filled.Sign() > 0 {
		add("filled", d.Filled.String()+" at "+d.FillPrice.Money())
	} else if d.State == ledger.Succeeded && d.Ended == "" {
		add("filled", "nothing yet; the order is working")
	}
	add("ended", d.Ended)
	add("venue", strings.TrimSpace(show(d.Status)+" "+show(d.OrderID)))
	if d.State != ledger.Succeeded {
		add("message", clip(show(d.Message), width-14))
	}
	if d.MaxQuantityNow != nil {
		add("would pass", "at most "+d.MaxQuantityNow.String()+" shares, all else equal")
	}
	if d.RetryAfter > 0 {
		add("try again", "after "+d.RetryAfter.String())
	}
	if d.Repeated {
		add("repeated", "this id was decided before; nothing was executed again")
	}
	if len(d.Flags) > 0 {
		add("flags", strings.Join(d.Flags, ", "))
	}
	add("client id", string(d.ClientOrderID))
	add("agent says", clip(show(d.AgentReason), width-14))
	add("intent", string(d.Intent))
	add("state", string(d.State))
	add("policy", d.PolicySHA256)
	return rows
}

func ordersCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "orders", Short: "List the orders that are open", GroupID: groupOrders, Args: exactly(0),
		Long: `List the orders that the ledger holds open, oldest first: permitted to somebody
else, in flight, of unknown outcome, or working at the venue.`,
		Example: "  sallyport orders\n  sallyport orders --json",
	}
	withJSON(a, c, "print one object a line")
	return runs(c, func(ctx context.Context, _ []string) error {
		g, _, err := a.openGate(ctx, venue)
		if err != nil {
			return err
		}
		defer g.Close()
		open, err := g.Orders(ctx)
		if err != nil {
			return err
		}
		if a.json {
			return a.printLines(func(w *bufio.Writer) error {
				for i := range open {
					w.Write(append(appendWorking(nil, &open[i]), '\n'))
				}
				return nil
			})
		}
		if len(open) == 0 {
			a.printf("No orders are open.\n")
			return nil
		}
		rows := [][]string{{"SINCE", "INTENT", "STATE", "ORDER", "FILLED"}}
		for _, o := range open {
			since := o.At.UTC().Format("15:04:05")
			rows = append(rows, []string{since, string(o.Intent), o.State, clip(orderLine(o.Order), 23), o.Filled.String()})
		}
		a.printf("%s", table(rows))
		return nil
	})
}

func appendWorking(b []byte, o *gate.WorkingOrder) []byte {
	b = wire.AppendText(append(b, '{'), "intent_id", string(o.Intent))
	b = wire.AppendText(b, "broker_order_id", string(o.ID))
	b = wire.AppendText(b, "agent", string(o.Agent))
	b = wire.AppendText(b, "state", o.State)
	b = o.Order.AppendJSON(wire.AppendName(b, "order"))
	b = wire.AppendText(b, "filled_quantity", o.Filled.String())
	b = wire.AppendText(b, "at", o.At.UTC().Format(ledger.TimeFormat))
	if !o.NotAfter.IsZero() {
		b = wire.AppendText(b, "not_after", o.NotAfter.UTC().Format(ledger.TimeFormat))
	}
	return append(b, '}')
}
