package policy

import "sallyport/trade"

// Symbols returns the symbols that the rules name which do not deny, in the order of the file.
func (b *Rulebook) Symbols() []trade.Symbol {
	if !b.IsValid() {
		return nil
	}
	var all []trade.Symbol
	seen := map[trade.Symbol]bool{}
	for i := range b.rules {
		for _, s := range b.rules[i].match.listed.symbols {
			if !b.rules[i].deny && !seen[s] {
				seen[s], all = true, append(all, s)
			}
		}
	}
	return all
}

// UsesEquity reports whether a limit of the policy looks at what the account is worth, so that whoever judges by it knows
// whether a broker must be asked.
func (b *Rulebook) UsesEquity() bool {
	if !b.IsValid() {
		return false
	}
	for i := range b.rules {
		for _, l := range b.rules[i].limits {
			switch l.kind {
			case positionEquity, leverage, dailyLoss, drawdown:
				return true
			}
		}
	}
	return false
}

// Usable reports whether the policy lets a quote be judged by.
func (q Quotes) Usable(f QuoteFact) bool { return q.judge(&f) == "" }
