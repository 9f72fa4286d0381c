// Package dialect turns other people's order schemas into the canonical order and back. A dialect is a table of field
// names: adding one is one file and one row of Table. The arguments are judged here, byte for byte, and nowhere else.
package dialect

import "sallyport/trade"

// Dialect is one wire shape of an order. Surfaces treat it as read only; a test may make one of its own.
type Dialect struct {
	Name    string        // of the tool or vendor: the key of the table
	Account trade.Account // the account that its orders are for, unless the operator configures another
	Fields  []Field       // in published order; a term occurs once, here or in Fixed
	Fixed   []FixedTerm   // what every order of this shape means without saying it
	// Outcome reads the answer of the tool that this dialect places orders through. Only a definite answer is Accepted
	// or Rejected. nil: every answer is unknown.
	Outcome func(payload []byte) Answer
}

// Term names the part of a draft that a field fills.
type Term uint8

// The terms. The zero Term is none.
const (
	Symbol Term = iota + 1
	Side
	Quantity
	Notional
	OrderType
	LimitPrice
	StopPrice
	TimeInForce
	ExtendedHours
	StopLoss
	StopLossLimit
	TakeProfit
	// OrderClass is a vendor's word for which exits come with an order: it says nothing more, and must say the same.
	OrderClass
	ClientOrderID
	Reason
)

// Field is one member of a dialect's object.
type Field struct {
	Name     string
	In       string // the member whose object has it; empty: the arguments themselves
	Term     Term
	Optional bool
	Default  string // what an order means that leaves it out; empty: nothing
	Doc      string // for the tool's schema, before what the term itself has to say of units and limits
}

// path names a field as faults do.
func (f *Field) path() string {
	if f.In == "" {
		return f.Name
	}
	return f.In + "." + f.Name
}

// FixedTerm is a term that a dialect has no field for, since all its orders have the same value there.
type FixedTerm struct {
	Term  Term
	Value string
}

// Answer is what a dialect recognises in a tool's answer. The zero Answer is unknown.
type Answer struct {
	Outcome trade.Outcome
	Status  string // the venue's word, such as SUCCESS or filled
	Code    string // the venue's code of a refusal
	OrderID string // the venue's own id of the order
	Message string // the venue's words, escaped and cut
}

// Table returns the dialects, in published order.
func Table() []*Dialect {
	return []*Dialect{
		paperA(),
		paperB(),
		tradeCheck(),
		alpaca(),
	}
}

// Find returns the table's dialect of that name.
func Find(name string) (*Dialect, bool) {
	for _, d := range Table() {
		if d.Name == name {
			return d, true
		}
	}
	return nil, false
}
