package gatetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/trade"
)

// Account is the account that the builders' orders are for.
const Account trade.Account = "paper"

// Decimal reads a number as tests write it, which may be below zero. Anything else is a mistake in the test, and panics.
func Decimal(s string) trade.Decimal {
	d, ok := trade.ParseDecimal(strings.TrimPrefix(s, "-"))
	if !ok {
		panic(s + " is no decimal")
	}
	if strings.HasPrefix(s, "-") {
		return trade.Decimal{}.Sub(d)
	}
	return d
}

// Symbol reads a symbol as tests write it; anything else panics.
func Symbol(s string) trade.Symbol {
	v, ok := trade.ParseSymbol(s)
	if !ok {
		panic(s + " is no symbol")
	}
	return v
}

// draft is a limit order for the day in the canonical names.
func draft(side, symbol, quantity, limit string) trade.Draft {
	return trade.Draft{
		Account: Account, Symbol: term("symbol", symbol), Side: term("side", side), Quantity: term("quantity", quantity),
		Type: term("order_type", "limit"), LimitPrice: term("limit_price", limit), TimeInForce: term("time_in_force", "day"),
	}
}

// Order parses a limit order for the day. What is no order fails the test.
func Order(t testing.TB, side, symbol, quantity, limit string) trade.Order {
	t.Helper()
	o, _, faults := trade.Parse(draft(side, symbol, quantity, limit))
	if len(faults) > 0 {
		t.Fatalf("%s %s %s at %s is no order: %v", side, quantity, symbol, limit, faults)
	}
	return o
}

// Call builds the guarded call of an agent named local, of tier 2, through MCP. What is no order makes a call with faults.
func Call(t testing.TB, side, symbol, quantity, limit string, edit ...func(*gate.Call)) gate.Call {
	t.Helper()
	o, _, faults := trade.Parse(draft(side, symbol, quantity, limit))
	c := CallFor(o, edit...)
	c.Faults = faults
	c.Raw = fmt.Appendf(nil, `{"symbol":%q,"side":%q,"quantity":%q,"order_type":"limit","limit_price":%q}`, symbol, side, quantity, limit)
	return c
}

// CallFor builds the same of an order that is parsed already.
func CallFor(o trade.Order, edit ...func(*gate.Call)) gate.Call {
	account := o.Account()
	if o.IsZero() {
		account = Account
	}
	c := gate.Call{
		Origin:  gate.Origin{Agent: "local", Surface: "mcp", Harness: "claude", Session: "session-1", Tool: "paper_place_order_a"},
		Account: account, Order: o, Raw: o.AppendJSON(nil), Tier: trade.TierExecute, Dialect: "paper_place_order_a",
	}
	for _, f := range edit {
		f(&c)
	}
	return c
}

// WithToolCall gives a call the harness's id.
func WithToolCall(id trade.ToolCallID) func(*gate.Call) {
	return func(c *gate.Call) { c.Origin.ToolCallID = id }
}

// WithClientOrder gives a call the agent's own id.
func WithClientOrder(id trade.ClientOrderID) func(*gate.Call) {
	return func(c *gate.Call) { c.Tags.ClientOrderID = id }
}

// Policy returns a valid policy that allows every order in the symbols that sells no more than is held.
func Policy(symbols ...trade.Symbol) []byte {
	names := make([]string, 0, len(symbols))
	for _, s := range symbols {
		names = append(names, fmt.Sprintf("%q", s.String()))
	}
	return fmt.Appendf(nil, `{"max_gross_buy_notional_usd":"999999999999.99","max_quantity":999999999999,"symbol_allowlist":[%s],`+
		`"order_type_allowlist":["limit"],"side_allowlist":["buy","sell"]}`, strings.Join(names, ","))
}

// Book returns a policy of version 2 that allows every order in the symbols for which a quote says what it is worth.
func Book(symbols ...trade.Symbol) []byte {
	names := make([]string, 0, len(symbols))
	for _, s := range symbols {
		if name := fmt.Sprintf("%q", s.String()); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return fmt.Appendf(nil, `{"version": 2, "currency": "USD", "timezone": "America/New_York",
		"quotes": {"sources": ["file"], "max_age": "24h", "max_spread_bps": "10000", "market_slippage_bps": "50"},
		"rules": [{"id": "all", "match": {"symbols": [%s], "sides": ["buy", "sell"],
			"order_types": ["limit", "market", "stop", "stop_limit"], "time_in_force": ["day", "gtc", "ioc", "fok", "opg", "cls"]}, "allow": {"fractional": true, "extended_hours": true},
			"limits": {"order_quantity": {"deny_above": "999999999998"}}}]}`, strings.Join(names, ","))
}

// Home makes a data directory with a policy that allows every order in AAPL and MSFT.
func Home(t testing.TB) string {
	t.Helper()
	return home(t, Symbol("AAPL"), Symbol("MSFT"))
}

func home(t testing.TB, symbols ...trade.Symbol) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "policy.json"), Policy(symbols...), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Config returns the configuration of a gate in a directory that Home made, on the system's clock, with a wait for locks
// that suits a busy machine.
func Config(home string, b gate.Broker) gate.Config {
	return gate.Config{
		Home: home, Create: true, Broker: b, Account: Account, LockWait: 10 * time.Second,
		Now: time.Now, Entropy: Entropy(uint64(time.Now().UnixNano())),
	}
}

// Open opens a gate and closes it when the test ends.
func Open(t testing.TB, cfg gate.Config) *gate.Gate {
	t.Helper()
	g, err := gate.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// Wide parses an order of any terms, by their canonical names: quantity or notional, type, limit_price, stop_price,
// time_in_force, extended_hours, stop_loss, stop_loss_limit and take_profit. The time in force is day unless it is there.
// What is no order fails the test.
func Wide(t testing.TB, side, symbol string, terms map[string]string) trade.Order {
	t.Helper()
	d := draft(side, symbol, "", "")
	slots := map[string]*trade.Text{
		"quantity": &d.Quantity, "notional": &d.Notional, "type": &d.Type, "limit_price": &d.LimitPrice, "stop_price": &d.StopPrice,
		"time_in_force": &d.TimeInForce, "extended_hours": &d.ExtendedHours, "stop_loss": &d.StopLoss,
		"stop_loss_limit": &d.StopLossLimit, "take_profit": &d.TakeProfit,
	}
	for name, slot := range slots {
		value, there := terms[name]
		switch {
		case !there && name == "time_in_force":
			value, there = "day", true
		case name == "extended_hours" && there:
			*slot = trade.Text{Name: name, Value: value, Kind: trade.IsFlag}
			continue
		}
		*slot = trade.Text{Name: name}
		if there {
			*slot = trade.Text{Name: name, Value: value, Kind: trade.IsText}
		}
	}
	for name := range terms {
		if slots[name] == nil {
			t.Fatalf("%s is no term of an order", name)
		}
	}
	o, _, faults := trade.Parse(d)
	if len(faults) > 0 {
		t.Fatalf("%s %s %v is no order: %v", side, symbol, terms, faults)
	}
	return o
}
