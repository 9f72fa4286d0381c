package ledger

import (
	"errors"

	"sallyport/trade"
	"sallyport/wire"
)

// PositionStated is the broker's word on one position, whatever fills have come to. It is no trade: nothing is realised
// by it.
type PositionStated struct {
	Account  trade.Account
	Symbol   trade.Symbol
	Quantity trade.Decimal
	Average  trade.Decimal // what a share was paid; zero where it is not known
}

// Kind implements Event.
func (PositionStated) Kind() string { return "position_stated" }

// About implements Event.
func (PositionStated) About() trade.IntentID { return "" }

func (e PositionStated) append(dst []byte) []byte {
	dst = wire.AppendText(wire.AppendText(dst, "account", string(e.Account)), "symbol", e.Symbol.String())
	dst = appendDecimal(dst, "quantity", e.Quantity)
	if e.Average.Sign() == 0 {
		return dst
	}
	return appendDecimal(dst, "average_price", e.Average)
}

func (o *object) positionStated() PositionStated {
	e := PositionStated{
		Account: trade.Account(o.text("account")), Quantity: o.decimal("quantity"), Average: o.known("average_price").Value,
	}
	var ok bool
	if e.Symbol, ok = trade.ParseSymbol(o.text("symbol")); !ok {
		o.fail(errors.New("symbol is not one"))
	}
	return e
}

// state sets a position. What is pending stays so.
//
//limit:ledger-position-stated The broker's word on a position replaces what fills came to; it realises nothing, and leaves what is pending.
func (s *State) state(e PositionStated) {
	h := s.holding(e.Account, e.Symbol)
	h.position, h.average, h.doubted = e.Quantity, e.Average, false
	if e.Quantity.Sign() == 0 {
		h.average = trade.Decimal{}
	}
	s.account(e.Account).seen = true
	s.tidy(e.Account, e.Symbol)
}
