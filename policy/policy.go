package policy

import (
	"errors"

	"sallyport/trade"
)

// Policy is a valid policy. Only Parse makes one; the zero Policy denies everything.
type Policy struct{}

// Parse reads a policy file's bytes.
func Parse(raw []byte) (*Policy, error) { return nil, errors.New("not built yet") }

// Evaluate runs every rule.
func (p *Policy) Evaluate(o trade.Order, f Facts) Verdict { return Verdict{} }

// Default returns the bytes of the policy that a new data directory is given.
func Default() []byte {
	return []byte(`{
  "max_gross_buy_notional_usd": "10000.00",
  "max_quantity": 200,
  "symbol_allowlist": ["AAPL", "MSFT"],
  "order_type_allowlist": ["limit"],
  "side_allowlist": ["buy"]
}
`)
}
