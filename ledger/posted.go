package ledger

import (
	"errors"

	"sallyport/trade"
	"sallyport/wire"
)

// PostedEnded is a person's word that nothing is pending any more of what harnesses reported as accepted in a symbol, at
// a venue whose fills nobody tells: it was filled, cancelled or has expired there.
type PostedEnded struct {
	Account trade.Account
	Symbol  trade.Symbol
	By      string
	Reason  string
}

// Kind implements Event.
func (PostedEnded) Kind() string { return "posted_ended" }

// About implements Event.
func (PostedEnded) About() trade.IntentID { return "" }

func (e PostedEnded) append(dst []byte) []byte {
	dst = wire.AppendText(wire.AppendText(dst, "account", string(e.Account)), "symbol", e.Symbol.String())
	return wire.AppendText(wire.AppendText(dst, "by", e.By), "reason", e.Reason)
}

func (o *object) postedEnded() PostedEnded {
	e := PostedEnded{Account: trade.Account(o.text("account")), By: o.text("by"), Reason: o.text("reason")}
	var ok bool
	if e.Symbol, ok = trade.ParseSymbol(o.text("symbol")); !ok {
		o.fail(errors.New("symbol is not one"))
	}
	return e
}

// Posted returns what is pending in a symbol without an open intent, and of how many orders by amount nobody can say how
// many shares they are.
func (s *State) Posted(a trade.Account, sym trade.Symbol) (buys, sells trade.Decimal, unsized int) {
	acc := s.accounts[a]
	if acc == nil || acc.holdings[sym] == nil {
		return buys, sells, 0
	}
	h, own := acc.holdings[sym], s.openPending(a, sym)
	return h.pendingBuys.Sub(own.buys), h.pendingSells.Sub(own.sells), h.unsized - own.unsized
}

// openPending is what the open intents have pending in a symbol.
func (s *State) openPending(a trade.Account, sym trade.Symbol) (sum pending) {
	for _, o := range s.open {
		if o = o.load(); o.Order.Account() != a || o.Order.Symbol() != sym {
			continue
		}
		own := o.pending()
		sum.buys, sum.sells, sum.unsized = sum.buys.Add(own.buys), sum.sells.Add(own.sells), sum.unsized+own.unsized
	}
	return sum
}

// endPosted releases what is pending in a symbol without an open intent.
//
//limit:ledger-posted-ends What was reported as accepted at a venue that tells us nothing stays pending until a person says that it has ended; that leaves positions and open intents as they are.
func (s *State) endPosted(e PostedEnded) {
	acc := s.accounts[e.Account]
	if acc == nil || acc.holdings[e.Symbol] == nil {
		return
	}
	h, own := acc.holdings[e.Symbol], s.openPending(e.Account, e.Symbol)
	h.pendingBuys, h.pendingSells, h.unsized = own.buys, own.sells, own.unsized
	h.dearBuy, h.dearSell = trade.Decimal{}, trade.Decimal{}
	s.tidy(e.Account, e.Symbol)
}

// leave has what an intent has pending stay so without it, as posted exposure. Its own price is kept, since it may cost
// more than the market does.
//
//limit:ledger-posted What is pending without an open intent counts at the highest price of any such order, and where nobody can say how many shares one of them is, the exposure is not known.
func (s *State) leave(o *Open) {
	if !s.memory.on {
		return
	}
	price, left := o.worst(trade.Decimal{}, trade.Decimal{}), o.Remaining()
	if o.Order.ByAmount() && left.Sign() > 0 {
		price = o.left().QuoUp(left)
	}
	h := s.holding(o.Order.Account(), o.Order.Symbol())
	if o.Order.Side() == trade.Buy {
		h.dearBuy = larger(h.dearBuy, price)
	} else {
		h.dearSell = larger(h.dearSell, price)
	}
}
