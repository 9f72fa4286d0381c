// Package dialect turns other people's order schemas into the canonical order and back. A dialect is a table of field
// names: adding one is one file and one row of Table. The arguments are judged here, byte for byte, and nowhere else.
package dialect

import (
	"sallyport/trade"
)

// Dialect is one wire shape of an order.
type Dialect struct {
	Name    string        // of the tool or vendor: the key of the table
	Account trade.Account // the account that its orders are for, unless the operator configures another
	Fields  []Field       // in published order
	// Outcome reads the answer of the tool that this dialect places orders through. Only a definite answer is Accepted
	// or Rejected. nil: every answer is unknown.
	Outcome func(payload []byte) Answer
}

// Term names the part of a draft that a field fills.
type Term uint8

// The terms.
const (
	Symbol Term = iota + 1
	Side
	Quantity
	OrderType
	LimitPrice
	TimeInForce
	ClientOrderID
	Reason
)

// Field is one member of a dialect's object.
type Field struct {
	Name     string
	Term     Term
	Optional bool
	Doc      string // for the tool's schema
}

// Answer is what a dialect recognises in a tool's answer.
type Answer struct {
	Outcome trade.Outcome
	Status  string // the venue's word
	OrderID string
	Message string
}

// Parse reads the arguments of one call strictly. With faults there is no order.
func (d *Dialect) Parse(account trade.Account, raw []byte) (trade.Order, trade.Tags, []trade.Fault) {
	return trade.Order{}, trade.Tags{}, nil
}

// Encode writes an order as the arguments that this dialect's tool takes.
func (d *Dialect) Encode(o trade.Order, id trade.ClientOrderID) []byte { return nil }

// Schema returns the JSON Schema of the arguments, additional properties refused.
func (d *Dialect) Schema() []byte { return nil }

// Table returns the dialects, in published order.
func Table() []*Dialect { return nil }

// Find returns the table's dialect of that name.
func Find(name string) (*Dialect, bool) { return nil, false }
