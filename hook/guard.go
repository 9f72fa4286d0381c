package hook

import (
	"fmt"
	"strings"

	"sallyport/dialect"
	"sallyport/trade"
	"sallyport/wire"
)

// Guard puts tools under guard. A tool under a guard is decided by the gate, denied, or passed; any other tool is none
// of the hook's business.
type Guard struct {
	Match   string        // a tool's name as a harness calls it, or a prefix that ends in *; see match.go for MCP names
	Dialect string        // that reads its orders; empty: every call is denied TOOL_UNKNOWN, unless Pass
	Account trade.Account // that its orders are for; empty: the dialect's own
	Pass    bool          // the tool places no orders, and is left to the harness
}

// ruled is the guard that holds for one tool.
type ruled struct {
	tool    string           // as it is recorded: our own tools without the server's name before them
	dialect *dialect.Dialect // nil: nothing reads its orders
	account trade.Account    // empty: the dialect's own
}

// dialectName is empty where nothing reads the tool's orders.
func (g ruled) dialectName() string {
	if g.dialect == nil {
		return ""
	}
	return g.dialect.Name
}

// ownTool returns the name of our own order tool that a harness's name stands for: the name itself, or one that ends
// in it after an underscore, as harnesses put the server's name before it. Such a name is always under guard.
func ownTool(name string) string {
	for _, own := range []string{"paper_place_order_a", "paper_place_order_b"} {
		if name == own || strings.HasSuffix(name, "_"+own) {
			return own
		}
	}
	return ""
}

// rule says what a guard makes of a tool.
func (c Config) rule(g Guard, tool, own string) ruled {
	r := ruled{tool: tool, account: g.Account}
	if own != "" {
		r.tool = own
	}
	if g.Dialect != "" {
		if d, found := c.dialect(g.Dialect); found {
			r.dialect = d
		}
	}
	return r
}

//limit:hook-guards A configuration has at most 256 guards.
const maxGuards = 256

//limit:hook-match-bytes What a guard matches is 1 to 256 printable ASCII characters without spaces, with one * at most, at the end.
const maxMatch = 256

// ParseGuards reads the guards of a configuration: an array of objects with match, and either dialect and perhaps
// account, or pass. nil dialects is dialect.Find. An error says which guard is wrong and how to repair it.
func ParseGuards(v wire.Value, dialects func(name string) (*dialect.Dialect, bool)) ([]Guard, error) {
	if v.Kind != wire.Array {
		return nil, fmt.Errorf("guards is %s; write an array of objects", v.Kind)
	}
	if len(v.Elems) > maxGuards {
		return nil, fmt.Errorf("guards has %d entries, at most %d are taken", len(v.Elems), maxGuards)
	}
	cfg := Config{Dialects: dialects}
	guards := make([]Guard, 0, len(v.Elems))
	for i, e := range v.Elems {
		g, err := parseGuard(e)
		if err == nil {
			err = g.check(cfg, guards)
		}
		if err != nil {
			return nil, fmt.Errorf("guards[%d]%w", i, err)
		}
		guards = append(guards, g)
	}
	return guards, nil
}

// dialectNames returns the names that a guard's dialect may have.
func dialectNames() []string {
	var names []string
	for _, d := range dialect.Table() {
		names = append(names, d.Name)
	}
	return names
}

func parseGuard(v wire.Value) (Guard, error) {
	var g Guard
	if v.Kind != wire.Object {
		return g, fmt.Errorf(" is %s; write an object with match and dialect", v.Kind)
	}
	for _, m := range v.Members {
		if _, n := v.Member(m.Name); n > 1 {
			return g, fmt.Errorf(".%s is given more than once", trade.Printable(m.Name, 64))
		}
		want := wire.String
		switch m.Name {
		case "match":
			g.Match = m.Value.Text
		case "dialect":
			g.Dialect = m.Value.Text
		case "account":
			g.Account = trade.Account(m.Value.Text)
		case "pass":
			want, g.Pass = wire.Bool, m.Value.Text == "true"
		default:
			return g, fmt.Errorf(" has no member %q; use match, dialect, account and pass", trade.Printable(m.Name, 64))
		}
		if m.Value.Kind != want {
			return g, fmt.Errorf(".%s is %s; write %s", m.Name, m.Value.Kind, want)
		}
		if want == wire.String && m.Value.Text == "" {
			return g, fmt.Errorf(".%s is empty; write a name, or leave it out", m.Name)
		}
	}
	return g, nil
}

// check refuses a guard that means nothing, or that would not do what it seems to.
func (g Guard) check(cfg Config, earlier []Guard) error {
	switch {
	case g.Match == "":
		return fmt.Errorf(" has no match; write a tool's name, or a prefix that ends in *")
	case !isMatch(g.Match):
		return fmt.Errorf(".match %q is not 1 to %d printable ASCII characters without spaces, with * at the end only", trade.Printable(g.Match, 64), maxMatch)
	case g.Pass && (g.Dialect != "" || g.Account != ""):
		return fmt.Errorf(" has pass beside a dialect or an account; a tool is read or passed, not both")
	case g.Pass && ownTool(g.Match) != "":
		return fmt.Errorf(".match %q is an order tool of Sallyport, which is always guarded; remove this guard", g.Match)
	case g.Account != "" && g.Dialect == "":
		return fmt.Errorf(" has an account and no dialect; name the dialect that reads its orders")
	case g.Account != "" && !isAccount(g.Account):
		return fmt.Errorf(".account %q is not 1 to 64 of A-Z a-z 0-9 . _ -", trade.Printable(string(g.Account), 64))
	}
	if g.Dialect != "" {
		if _, found := cfg.dialect(g.Dialect); !found {
			return fmt.Errorf(".dialect %q is not one that Sallyport has; use one of %s", trade.Printable(g.Dialect, 64), strings.Join(dialectNames(), ", "))
		}
	}
	for i := range earlier {
		if earlier[i].Match == g.Match {
			return fmt.Errorf(".match %q is matched by guards[%d] already; keep one of them", g.Match, i)
		}
	}
	return nil
}

func isMatch(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '*' && i != len(s)-1 {
			return false
		}
	}
	return len(s) <= maxMatch
}

// isAccount takes what a client order id may be made of, up to 64 characters.
func isAccount(a trade.Account) bool {
	_, ok := trade.ParseClientOrderID(string(a))
	return ok && len(a) <= 64
}

// AccountOf returns the account that the operator's guards name for a tool; empty where they leave it to its dialect.
func AccountOf(guards []Guard, tool string) trade.Account {
	ruled, _ := Config{Guards: guards}.guard(tool)
	return ruled.account
}
