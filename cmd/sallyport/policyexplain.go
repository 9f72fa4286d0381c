package main

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// onAccount is a checker, and on which account it judges.
type onAccount struct {
	installation
	*gate.Checker
	file  string // where the policy lies
	empty bool   // there is no data directory, so the account has nothing
}

// openAccount reads the policy, the state and the market once: of the data directory, or with a policy that is named and
// without a data directory of an account that has nothing. It changes nothing.
func (a *app) openAccount(ctx context.Context, policyFile string) (on onAccount, err error) {
	if on.installation, err = a.installation(); err != nil {
		return on, err
	}
	on.file = on.cfg.Policy
	var raw []byte
	if policyFile != "" {
		on.file = policyFile
		if raw, err = readPolicyDraft(ctx, policyFile); err != nil {
			return on, err
		}
		if _, err := os.Stat(on.home); errors.Is(err, fs.ErrNotExist) {
			on.empty, on.Checker = true, on.installation.empty(a, raw)
			return on, nil
		}
	}
	g, _, err := a.openGate(ctx, reading)
	if err != nil {
		return on, err
	}
	defer g.Close()
	if on.Checker, err = g.Checker(ctx, raw); err != nil {
		return on, err
	}
	on.look(ctx, a)
	return on, nil
}

// look has the checker go by what the venue holds, without opening the venue: that would match what works there.
func (on onAccount) look(ctx context.Context, a *app) {
	if on.Policy().Book == nil {
		return
	}
	h, err := on.holds(ctx)
	if err != nil {
		a.note("the venue cannot be looked at, so what the account is worth is not known: %s", plain(err))
		return
	}
	on.Believe(h)
}

// account says whose state an answer is of: of an account of the data directory, of which paper need not be named.
func (on onAccount) account(of trade.Account) string {
	switch {
	case on.empty:
		return "an empty account: there is no data directory at " + showPath(on.home)
	case of != paperAccount:
		return show(string(of)) + ", by " + showPath(on.home)
	}
	return showPath(on.home)
}

// appendJSON appends by which policy and on which account was judged; account is null for an empty one.
func (on onAccount) appendJSON(b []byte) []byte {
	v := on.Policy()
	b = wire.AppendText(append(wire.AppendName(b, "policy"), '{'), "path", on.file)
	b = wire.AppendText(b, "sha256", v.SHA256)
	b = append(append(wire.AppendName(b, "version"), versionOf(v)...), '}')
	b = wire.AppendName(b, "account")
	if on.empty {
		return append(b, "null"...)
	}
	return wire.AppendString(b, on.home)
}

// versionOf returns the version of a policy; null if it is not valid.
func versionOf(v gate.PolicyView) string {
	switch {
	case v.Book != nil:
		return "2"
	case v.Policy != nil:
		return "1"
	}
	return "null"
}

func policyExplainCommand(a *app) *cobra.Command {
	var policyFile, tool string
	c := &cobra.Command{
		Use: "explain JSON|-", SuggestFor: []string{"why"}, Short: "Say what every rule and limit makes of one order, and why", Args: exactly(1),
		Long: `Judge one order now as a dry run, and show every rule and limit that is about it:
its value with this order, the bound that is next or is passed, the headroom to it,
and what it comes to. Nothing is executed, reserved or recorded. JSON is the arguments
of the tool T, or with - they are read from standard input.

It goes by the policy in force and the state of the data directory. With --policy a
draft is tried instead, wherever it lies; without a data directory the account is then
empty, which is said. The table has at most 100 columns and cuts long names; --json
has them whole.

Exit codes: 0 allowed, 1 denied, 4 held for a person.`,
		Example: `  sallyport policy explain '{"symbol":"AAPL","side":"buy","quantity":"10",
      "order_type":"limit","limit_price":"150.00"}'
  sallyport policy explain --policy draft.json --json - < order.json`,
		ValidArgsFunction: words("-"),
	}
	c.Flags().StringVar(&policyFile, "policy", "", "judge by the policy in `F` instead of the one in force")
	completes(c, "policy", files)
	toolFlag(c, &tool, defaultTool, toolNames())
	withJSON(a, withAgent(a, c), "print one object")
	return runs(c, func(ctx context.Context, args []string) error {
		d, err := findTool(tool, toolNames())
		if err != nil {
			return err
		}
		raw, err := a.body(ctx, args[0])
		if err != nil {
			return err
		}
		on, err := a.openAccount(ctx, policyFile)
		if err != nil {
			return err
		}
		e := on.Explain(callOf(d, raw, gate.Origin{Agent: on.cfg.Agent, Surface: "cli", Tool: tool}))
		if a.json {
			return errors.Join(a.printJSON(on.appendExplained(nil, e)), result(codeOfDecision(e.Decision)))
		}
		err = a.printLines(func(w *bufio.Writer) error {
			_, err := w.WriteString(on.describe(e, a.color()))
			return err
		})
		return errors.Join(err, result(codeOfDecision(e.Decision)))
	})
}

// describe shows an explanation: what it comes to, by what, and every limit.
func (on onAccount) describe(e gate.Explained, p paint) string {
	of := e.Decision.Account
	if of == "" {
		of = paperAccount
	}
	rows := []row{{"policy", showPath(on.file)}, {"account", on.account(of)}}
	for _, f := range factRows(e) {
		if f.value != "0" && f.value != "0.00" {
			rows = append(rows, row{strings.ReplaceAll(f.name, "_", " "), f.value})
		}
	}
	if e.Decision.MaxQuantityNow != nil {
		rows = append(rows, row{"would pass", "at most " + e.Decision.MaxQuantityNow.String() + " shares, all else equal"})
	}
	if e.Decision.RetryAfter > 0 {
		rows = append(rows, row{"try again", "after " + e.Decision.RetryAfter.String()})
	}
	text := describeHead(e.Decision, p) + fields(rows)
	if len(e.Explanation.Rows) == 0 { // no rule is about the order
		return text
	}
	return text + "\n" + string(e.Explanation.AppendRows(nil))
}

// factRows are the facts that an order was judged by; none of what is no order, or where no policy is in force.
func factRows(e gate.Explained) []row {
	if e.Decision.Order.IsZero() || e.Policy.Reason != nil {
		return nil
	}
	rows := positionRows(e.Facts)
	if e.Policy.Book != nil {
		rows = append(rows, situationRows(&e.Situation)...)
	}
	return rows
}

func (on onAccount) appendExplained(b []byte, e gate.Explained) []byte {
	b = e.Decision.AppendJSON(append(b, `{"decision":`...))
	b = on.appendJSON(b)
	b = append(wire.AppendName(b, "facts"), '{')
	for _, f := range factRows(e) {
		b = wire.AppendText(b, f.name, f.value)
	}
	b = append(wire.AppendName(append(b, '}'), "limits"), '[')
	for i, r := range e.Explanation.Rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendLimit(b, r)
	}
	return append(b, "]}"...)
}

// appendLimit appends what one limit makes of an order. What it does not have is left out.
func appendLimit(b []byte, r policy.ExplainedLimit) []byte {
	b = wire.AppendText(append(b, '{'), "rule", r.Rule)
	b = wire.AppendText(b, "limit", r.Limit)
	b = wire.AppendOptional(b, "per", r.Per)
	b = wire.AppendOptional(b, "value", r.Value)
	b = wire.AppendOptional(b, "bound", r.Bound)
	b = wire.AppendOptional(b, "headroom", r.Headroom)
	b = wire.AppendText(b, "effect", r.Effect)
	return append(wire.AppendOptional(b, "code", string(r.Code)), '}')
}
