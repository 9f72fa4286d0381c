package policy

import (
	"slices"

	"sallyport/trade"
)

// Policy is a valid policy of the first version. Only Parse makes one; it never changes afterwards. The zero Policy and
// the nil *Policy deny everything.
type Policy struct {
	valid       bool
	maxNotional trade.Decimal // US dollars of one buy
	maxQuantity trade.Decimal // whole shares of one order
	symbols     map[trade.Symbol]bool
	types       [trade.StopLimit + 1]bool
	sides       [trade.Sell + 1]bool
	listed      lists
}

// lists holds the allowlists as they were written, for showing.
type lists struct {
	symbols []trade.Symbol
	types   []trade.OrderType
	sides   []trade.Side
}

// IsValid reports whether p came from Parse.
func (p *Policy) IsValid() bool { return p != nil && p.valid }

// MaxNotional returns the largest gross notional of one buy, in US dollars.
func (p *Policy) MaxNotional() trade.Decimal {
	if p == nil {
		return trade.Decimal{}
	}
	return p.maxNotional
}

// MaxQuantity returns the largest quantity of one order, in shares.
func (p *Policy) MaxQuantity() trade.Decimal {
	if p == nil {
		return trade.Decimal{}
	}
	return p.maxQuantity
}

// Symbols returns the symbols that are allowed, in the order of the file.
func (p *Policy) Symbols() []trade.Symbol {
	if p == nil {
		return nil
	}
	return slices.Clone(p.listed.symbols)
}

// OrderTypes returns the order types that are allowed, in the order of the file.
func (p *Policy) OrderTypes() []trade.OrderType {
	if p == nil {
		return nil
	}
	return slices.Clone(p.listed.types)
}

// Sides returns the sides that are allowed, in the order of the file.
func (p *Policy) Sides() []trade.Side {
	if p == nil {
		return nil
	}
	return slices.Clone(p.listed.sides)
}

// Default returns the bytes of the policy file that a new data directory gets.
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
