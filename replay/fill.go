package replay

import (
	"sallyport/ledger"
	"sallyport/trade"
)

// Fill is a fill that a tape has of one of its orders, as the replay comes to it.
type Fill struct {
	Intent   int // the number of the intent's line among the intents of the tape, from 0
	Symbol   trade.Symbol
	Side     trade.Side // the order's own; of its exits the one that sells
	Exits    bool
	Quantity trade.Decimal
	Price    trade.Decimal
	// Sent says that the replay took it in. Otherwise its order was never sent in this replay, so that it changed nothing,
	// and says what came of the order where the tape was made. Of a fill that comes after its order's end nobody is told.
	Sent bool
}

// told tells of a fill.
func (p *player) told(in *intent, side trade.Side, l *line, sent bool) {
	p.fills(Fill{
		Intent: in.number, Symbol: in.order.Symbol(), Side: side, Exits: side != in.order.Side(),
		Quantity: l.quantity, Price: l.price, Sent: sent,
	})
}

// fate is what the tape says of an order that was never sent in this replay: of the order itself until that is filled or
// cancelled there, and of its exits from then on, as of one that was sent.
type fate struct{ ledger.Decision }

// exits returns how many shares the exits might still sell.
func (f *fate) exits() trade.Decimal {
	if !f.Order.HasExits() {
		return trade.Decimal{}
	}
	return f.Filled.Sub(f.Exited)
}

// side is which part of the order a line is about, as the side of a fill; ok is false if nothing can come of that part.
// exits says that the line names the exits.
func (f *fate) side(exits bool) (s trade.Side, ok bool) {
	over := f.Ended != "" || f.OrderStatus() == "filled"
	if exits || over && f.exits().Sign() > 0 {
		return trade.Sell, f.Ended == "" || f.exits().Sign() > 0
	}
	return f.Order.Side(), f.Ended == ""
}

// missed tells of a fill of an order that was never sent.
func (p *player) missed(in *intent, exits bool, l *line) {
	f := p.fateOf(in)
	if f == nil {
		return
	}
	if side, ok := f.side(exits); ok {
		f.Apply(ledger.Happened{What: ledger.WasFilled, Symbol: in.order.Symbol(), Side: side, Quantity: l.quantity, Price: l.price})
		p.told(in, side, l, false)
	}
}

// dropped takes in the cancel of an order that was never sent.
func (p *player) dropped(in *intent, exits bool) {
	f := p.fateOf(in)
	if f == nil || !exits && f.Ended != "" {
		return
	}
	if side, ok := f.side(exits); ok && side == in.order.Side() {
		f.Ended = ledger.WasCancelled
	} else {
		f.Exited = f.Filled
	}
}

// fateOf returns what is known of the fate of an order that was never sent; nil if it was, or if nobody asks for it.
func (p *player) fateOf(in *intent) *fate {
	if p.fills == nil || in.venue != never || in.order.IsZero() {
		return nil
	}
	if in.fate == nil {
		in.fate = &fate{ledger.Decision{Order: in.order, State: ledger.Succeeded}}
	}
	return in.fate
}
