package policy

import (
	"errors"
	"fmt"

	"sallyport/trade"
	"sallyport/wire"
)

// Limits of a policy file.
const (
	//limit:policy-bytes A policy of more than 1048576 bytes is a configuration error.
	MaxBytes = 1 << 20
	//limit:policy-depth A policy nested more than 32 levels deep is a configuration error.
	maxDepth = 32
	//limit:policy-problems At most 1000 problems of one policy of version 2 are told, since each place is looked for in the file.
	maxProblems = 1000
)

// The keys of a policy of the first version, in published order. All are required.
const (
	keyNotional = "max_gross_buy_notional_usd"
	keyQuantity = "max_quantity"
	keySymbols  = "symbol_allowlist"
	keyTypes    = "order_type_allowlist"
	keySides    = "side_allowlist"
)

func keys() []string { return []string{keyNotional, keyQuantity, keySymbols, keyTypes, keySides} }

// Parse reads the bytes of a policy file of the first version: one JSON object, without comments, with exactly the five
// keys. The error is a *ConfigError with every problem.
func Parse(raw []byte) (*Policy, error) {
	c := config{raw: raw, p: &Policy{}}
	v, err := wire.Read(raw, wire.Limits{Bytes: MaxBytes, Depth: maxDepth})
	switch _, versions := v.Member("version"); {
	case err != nil:
		c.unreadable(err)
	case v.Kind != wire.Object:
		c.problem(v.Offset, "", "the policy is %s; an object is asked", v.Kind)
	case versions > 0:
		c.version(v)
	default:
		c.object(v)
	}
	if len(c.problems) > 0 {
		return nil, &ConfigError{Problems: c.problems}
	}
	c.p.valid = true
	return c.p, nil
}

// config collects a policy and its problems.
type config struct {
	raw      []byte
	p        *Policy // nil if it is of version 2
	problems []Problem
}

func (c *config) problem(offset int, key, format string, args ...any) {
	if c.p == nil && len(c.problems) >= maxProblems {
		return
	}
	line, column := wire.Position(c.raw, offset)
	c.problems = append(c.problems, Problem{Line: line, Column: column, Key: key, Message: fmt.Sprintf(format, args...)})
}

func (c *config) unreadable(err error) {
	var e *wire.Error
	if !errors.As(err, &e) || e.TooLarge {
		c.problems = append(c.problems, Problem{Message: "the policy is too large: " + err.Error()})
		return
	}
	hint := ""
	if c.p != nil && e.Offset < len(c.raw) && c.raw[e.Offset] == '/' {
		hint = "; a policy without \"version\" is plain JSON, without comments"
	}
	c.problem(e.Offset, "", "the policy is not one JSON value: %s%s", trade.Printable(e.Reason, 120), hint)
}

func (c *config) version(v wire.Value) {
	for _, m := range v.Members {
		if m.Name == "version" {
			c.problem(m.Offset, "version", "version is %s; a policy of the first version has none, and one of the second has the number 2", shownValue(m.Value))
			return
		}
	}
}

func (c *config) object(v wire.Value) {
	first := map[string]wire.Member{}
	for _, m := range v.Members {
		key := trade.Printable(m.Name, 64)
		earlier, again := first[m.Name]
		if again {
			line, column := wire.Position(c.raw, earlier.Offset)
			c.problem(m.Offset, key, "%s is there again; it is first at line %d, column %d", quoted(m.Name), line, column)
			continue
		}
		first[m.Name] = m
		if right, known := spelling(m.Name); !known {
			c.problem(m.Offset, key, "%s is not a key of a policy%s%s", quoted(m.Name), right, trade.Foreign(m.Name))
		}
	}
	for _, key := range keys() {
		m, ok := first[key]
		if !ok {
			c.problem(v.Offset, key, "%s is missing", key)
			continue
		}
		c.value(key, m.Value)
	}
}

func (c *config) value(key string, v wire.Value) {
	switch key {
	case keyNotional:
		c.p.maxNotional = c.decimal(key, v)
	case keyQuantity:
		c.p.maxQuantity = c.decimal(key, v)
		if !c.p.maxQuantity.IsWhole() {
			c.problem(v.Offset, key, "%s is %s; a whole number of shares is asked", key, c.p.maxQuantity)
		}
	case keySymbols:
		c.p.listed.symbols = list(c, key, v, "a symbol such as AAPL", trade.ParseSymbol)
		c.p.symbols = make(map[trade.Symbol]bool, len(c.p.listed.symbols))
		for _, s := range c.p.listed.symbols {
			c.p.symbols[s] = true
		}
	case keyTypes:
		c.p.listed.types = list(c, key, v, "one of limit, market, stop, stop_limit", trade.ParseOrderType)
		for _, t := range c.p.listed.types {
			c.p.types[t] = true
		}
	case keySides:
		c.p.listed.sides = list(c, key, v, "one of buy, sell", trade.ParseSide)
		for _, s := range c.p.listed.sides {
			c.p.sides[s] = true
		}
	}
}

// decimal reads a bound: zero or more, as text or as a bare number.
func (c *config) decimal(key string, v wire.Value) trade.Decimal {
	const plain = "zero or more in plain notation, at most 12 integer and 9 fraction digits"
	switch v.Kind {
	case wire.String:
		d, ok := trade.ParseDecimal(v.Text)
		if !ok {
			c.problem(v.Offset, key, "%s is %s; a bound is %s%s", key, quoted(v.Text), plain, trade.Foreign(v.Text))
		}
		return d
	case wire.Number:
		d, ok := trade.ParseNumber(v.Text)
		if _, asText := trade.ParseDecimal(v.Text); asText && !ok {
			c.problem(v.Offset, key, "%s is a bare number of more than %d significant digits; write it as text",
				key, trade.MaxNumberDigits)
		} else if !ok {
			c.problem(v.Offset, key, "%s is %s; a bound is %s", key, trade.Printable(v.Text, 64), plain)
		}
		return d
	}
	c.problem(v.Offset, key, "%s is %s; text or a number is asked", key, v.Kind)
	return trade.Decimal{}
}

// list reads an allowlist: at least one entry, each known, none twice after folding.
func list[T comparable](c *config, key string, v wire.Value, what string, parse func(string) (T, bool)) []T {
	if v.Kind != wire.Array {
		c.problem(v.Offset, key, "%s is %s; a list is asked", key, v.Kind)
		return nil
	}
	if len(v.Elems) == 0 {
		c.problem(v.Offset, key, "%s is empty, which allows nothing; name at least one", key)
	}
	out := make([]T, 0, len(v.Elems))
	seen := make(map[T]bool, len(v.Elems))
	for _, e := range v.Elems {
		if e.Kind != wire.String {
			c.problem(e.Offset, key, "%s holds %s; text is asked", key, e.Kind)
			continue
		}
		entry, ok := parse(e.Text)
		switch {
		case !ok:
			c.problem(e.Offset, key, "%s holds %s, which is not %s%s", key, quoted(e.Text), what, trade.Foreign(e.Text))
		case seen[entry]:
			c.problem(e.Offset, key, "%s holds %s twice; case does not count", key, quoted(e.Text))
		default:
			seen[entry] = true
			out = append(out, entry)
		}
	}
	return out
}
