package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// maxRooms is how many symbols headroom is told of at once.
//
//limit:cli-headroom-symbols Headroom is told of at most 500 symbols at once; of more the symbols must be named.
const maxRooms = 500

func policyHeadroomCommand(a *app) *cobra.Command {
	var policyFile string
	c := &cobra.Command{
		Use: "headroom [SYMBOL]...", SuggestFor: []string{"room", "capacity"}, Short: "Say how much of each symbol passes now, and what ends it",
		Long: `Say for each symbol and side what the largest quantity is that the policy allows now
without a person, at the ask for a buy and the bid for a sell, and by which limits one
more does not pass. Without SYMBOL it is of the symbols that the policy names and
of those that are held. Agents share the account: what one uses, another does not have.

It goes by the policy in force, the quotes and the state of the data directory. With
--policy a draft is tried instead; without a data directory the account is then empty,
which is said. Each figure is by itself: after one order the others have changed.`,
		Example:           "  sallyport policy headroom\n  sallyport policy headroom AAPL MSFT --json",
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.Flags().StringVar(&policyFile, "policy", "", "go by the policy in `F` instead of the one in force")
	completes(c, "policy", files)
	withJSON(a, withAgent(a, c), "print one object")
	return runs(c, func(ctx context.Context, args []string) error {
		symbols, err := symbolsOf(args)
		if err != nil {
			return err
		}
		on, err := a.openAccount(ctx, policyFile)
		if err != nil {
			return err
		}
		if v := on.Policy(); v.Reason != nil {
			return policyProblem(v, policyRepair(v.Reason, on.file))
		}
		if len(symbols) == 0 {
			symbols = on.symbols()
		}
		if err := fewEnough(symbols); err != nil {
			return err
		}
		var rooms []gate.Room
		for _, s := range symbols {
			rooms = append(rooms, on.Headroom(on.cfg.Agent, paperAccount, s)...)
		}
		if a.json {
			return a.printJSON(on.appendRooms(nil, rooms))
		}
		return a.printLines(func(w *bufio.Writer) error {
			_, err := w.WriteString(on.describeRooms(rooms))
			return err
		})
	})
}

// fewEnough refuses to look at too many symbols at once.
func fewEnough(symbols []trade.Symbol) error {
	if len(symbols) > maxRooms {
		return usage("Name those that you want.", "%s symbols are meant, and headroom is told of at most %d at once", count(uint64(len(symbols))), maxRooms)
	}
	return nil
}

// symbolsOf reads symbols that were named.
func symbolsOf(args []string) (symbols []trade.Symbol, err error) {
	for _, arg := range args {
		s, ok := trade.ParseSymbol(arg)
		if !ok {
			return nil, usage("Name symbols such as AAPL.", "%q is not a symbol", show(arg))
		}
		symbols = append(symbols, s)
	}
	return symbols, nil
}

// symbols are those that the policy names and those that are held, in alphabetical order.
func (on onAccount) symbols() []trade.Symbol {
	v := on.Policy()
	all := append(on.Held(paperAccount), v.Book.Symbols()...)
	all = append(all, v.Policy.Symbols()...)
	slices.SortFunc(all, func(x, y trade.Symbol) int { return strings.Compare(x.String(), y.String()) })
	return slices.Compact(all)
}

func (on onAccount) appendRooms(b []byte, rooms []gate.Room) []byte {
	b = on.appendJSON(append(b, '{'))
	b = append(wire.AppendName(b, "stops"), '[')
	for i, s := range on.Stops() {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, s.Scope.String())
	}
	b = append(wire.AppendName(append(b, ']'), "headroom"), '[')
	for i, r := range rooms {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendRoom(b, r)
	}
	return append(b, "]}"...)
}

// appendRoom appends how much of one symbol and side passes. Where only the largest order that there can be ends it,
// unbounded is true; price is null without a quote.
func appendRoom(b []byte, r gate.Room) []byte {
	b = wire.AppendText(append(b, '{'), "symbol", r.Symbol.String())
	b = wire.AppendText(b, "side", r.Side.String())
	b = wire.AppendName(b, "price")
	if r.Price.Sign() > 0 {
		b = wire.AppendString(b, r.Price.Money())
	} else {
		b = append(b, "null"...)
	}
	b = wire.AppendText(b, "quantity", r.Policy.Most.String())
	b = append(wire.AppendName(b, "unbounded"), trueOrFalse(r.Policy.Unbounded)...)
	b = append(wire.AppendName(b, "binds"), '[')
	for i, reason := range r.Policy.Binds {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendText(append(b, '{'), "code", string(reason.Code))
		b = wire.AppendOptional(b, "rule", reason.Rule)
		b = wire.AppendOptional(b, "limit", reason.Field)
		b = append(wire.AppendName(b, "hold"), trueOrFalse(reason.Hold)...)
		b = append(wire.AppendText(b, "message", reason.Message), '}')
	}
	return append(b, "]}"...)
}

func (on onAccount) describeRooms(rooms []gate.Room) string {
	var b strings.Builder
	b.WriteString(fields([]row{{"policy", showPath(on.file)}, {"account", on.account(paperAccount)}}))
	for _, s := range on.Stops() {
		b.WriteString(indent("  ", "The kill switch is engaged, "+stopText(s)+". Until a person resets it nothing of that scope passes, whatever is said here."))
	}
	rows := [][]string{{"SYMBOL", "SIDE", "PRICE", "PASSES", "ONE MORE DOES NOT, BY"}}
	for _, r := range rooms {
		price := "none"
		if r.Price.Sign() > 0 {
			price = r.Price.Money()
		}
		most := r.Policy.Most.String()
		if r.Policy.Unbounded {
			most = "any"
		}
		rows = append(rows, []string{r.Symbol.String(), r.Side.String(), price, most, binding(r.Policy.Binds)})
	}
	return b.String() + "\n" + table(rows)
}

// binding says which limits end the headroom, each once. A fact that is missing is named instead of the limits that need it.
func binding(reasons []policy.Reason) string {
	var parts []string
	for _, r := range reasons {
		part := string(r.Code)
		_, isNumber := trade.ParseDecimal(r.Limit)
		switch {
		case r.Observed == "unknown" || strings.HasPrefix(part, "QUOTE"):
		case r.Rule != "" && r.Hold:
			part = fmt.Sprintf("%s of %s (a person decides)", show(r.Field), show(r.Rule))
		case r.Rule != "":
			part = fmt.Sprintf("%s of %s", show(r.Field), show(r.Rule))
		case isNumber:
			part += " (" + r.Limit + ")"
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}
