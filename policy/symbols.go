package policy

import (
	"slices"
	"strings"

	"sallyport/trade"
)

// Symbols returns the symbols that the rules name, in alphabetical order.
func (b *Rulebook) Symbols() []trade.Symbol {
	var out []trade.Symbol
	if !b.IsValid() {
		return nil
	}
	for i := range b.rules {
		out = append(out, b.rules[i].match.listed.symbols...)
	}
	slices.SortFunc(out, func(x, y trade.Symbol) int { return strings.Compare(x.String(), y.String()) })
	return slices.Compact(out)
}
