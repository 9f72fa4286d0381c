package policy

import "sallyport/trade"

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

// Dear is what a share may cost that is bought at the market's price: the ask, and the slippage beyond it.
func (q Quotes) Dear(ask trade.Decimal) trade.Decimal {
	if q.rise.Sign() <= 0 {
		return ask
	}
	return ask.MulUp(q.rise)
}

// Usable reports whether the policy lets a quote be judged by.
func (q Quotes) Usable(f QuoteFact) bool { return q.judge(&f) == "" }
