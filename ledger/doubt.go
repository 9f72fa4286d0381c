package ledger

import (
	"cmp"
	"errors"
	"slices"

	"sallyport/trade"
	"sallyport/wire"
)

// PositionDoubted says that the broker showed another position than the ledger has, so that nobody knows it; Ended, that
// both agree again. It is no trade, and changes no quantity.
type PositionDoubted struct {
	Account trade.Account
	Symbol  trade.Symbol
	Ended   bool
}

// Kind implements Event.
func (PositionDoubted) Kind() string { return "position_doubted" }

// About implements Event.
func (PositionDoubted) About() trade.IntentID { return "" }

func (e PositionDoubted) append(dst []byte) []byte {
	dst = wire.AppendText(wire.AppendText(dst, "account", string(e.Account)), "symbol", e.Symbol.String())
	return appendFlag(dst, "ended", e.Ended)
}

func (o *object) positionDoubted() PositionDoubted {
	e := PositionDoubted{Account: trade.Account(o.text("account")), Ended: o.flag("ended")}
	var ok bool
	if e.Symbol, ok = trade.ParseSymbol(o.text("symbol")); !ok {
		o.fail(errors.New("symbol is not one"))
	}
	return e
}

// doubt takes in whether a position is known.
//
//limit:ledger-doubted A position of which the broker showed another number than the ledger has is not known until both agree, and neither is what counts all positions of the account.
func (s *State) doubt(e PositionDoubted) {
	s.holding(e.Account, e.Symbol).doubted = !e.Ended
	s.tidy(e.Account, e.Symbol)
}

// Seen reports whether the account was compared with what its broker shows since the ledger follows it.
func (s *State) Seen(a trade.Account) bool {
	acc := s.accounts[a]
	return acc != nil && acc.seen
}

// known reports whether the positions of an account are known, but for those that are doubted. Where a policy of version 2
// was ever in force, what fills came to is not enough: an account may have held something before the first.
//
//limit:ledger-seen Under a policy of version 2 the positions of an account are known once its broker has shown them, and not by the venue's first event.
func (s *State) known(acc *account) bool { return acc.seen || acc.cursor > 0 && s.loaded == "" }

// Doubted returns the symbols of the account whose position is not known, sorted.
func (s *State) Doubted(a trade.Account) (all []trade.Symbol) {
	acc := s.accounts[a]
	if acc == nil {
		return nil
	}
	for sym, h := range acc.holdings {
		if h.doubted {
			all = append(all, sym)
		}
	}
	slices.SortFunc(all, func(x, y trade.Symbol) int { return cmp.Compare(x.String(), y.String()) })
	return all
}
