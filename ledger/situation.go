package ledger

import (
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// Inquiry is what a judgement by a policy of version 2 asks the state, and what it must be told of the market for it.
type Inquiry struct {
	At      time.Time
	Zone    *time.Location // of the policy
	Agent   trade.Agent
	Order   trade.Order
	Without trade.IntentID // the intent whose second judgement this is; empty for none

	Cash       policy.Known // of the order's account, as its broker says
	Quote      policy.QuoteFact
	Instrument policy.InstrumentFact
	Session    policy.SessionFact
	Mark       func(trade.Symbol) (Mark, bool)       // of any symbol of the account, by quotes that can be used
	Dear       func(ask trade.Decimal) trade.Decimal // what a share may cost at the market's price; nil: the ask
}

// Situation answers an inquiry. History is filled in and handed out with it: it is good until the next event. Of a day
// that has not begun the loss and the peak are not known: see Baseline.
func (s *State) Situation(q Inquiry, h *History) policy.Situation {
	a, sym := q.Order.Account(), q.Order.Symbol()
	s.History(h, q.Agent, q.Order, q.Without)
	x := s.exposure(a, sym, q.Without, q.Mark, q.Dear)
	date, day := DayOf(q.At, q.Zone)
	is := policy.Situation{
		At: q.At, Day: day, Agent: q.Agent, Quote: q.Quote, Instrument: q.Instrument,
		Session: q.Session, Cash: q.Cash,
		Equity: equity(q.Cash, x), AveragePrice: s.AveragePrice(a, sym),
		SymbolLong: x.SymbolLong, SymbolShort: x.SymbolShort, Gross: x.Gross, NetLong: x.NetLong, NetShort: x.NetShort,
		OpenOrders: policy.Count{N: x.OpenOrders, Known: true}, ConsecutiveLosses: s.ConsecutiveLosses(a),
		Reduces: s.reduces(q.Order, q.Without), History: h,
	}
	if began := s.Day(a); began.Date == date && is.Equity.Known {
		is.Peak = policy.Known{Value: larger(began.Peak, is.Equity.Value), Known: true}
		is.DayLoss = s.loss(a, began, is.Equity.Value, x.Unrealised)
	}
	return is
}

// Baseline returns what is to be recorded before an inquiry is answered: the beginning of a day, or a new peak. Nothing
// can be said, and nothing is returned, while the equity is not known.
func (s *State) Baseline(q Inquiry) []Event { return s.BaselineOf(q.Order.Account(), q) }

// BaselineOf returns the same of an account, for an inquiry without an order.
func (s *State) BaselineOf(a trade.Account, q Inquiry) []Event {
	x := s.inHand(a, q.Mark)
	worth := equity(q.Cash, x)
	if !worth.Known {
		return nil
	}
	date, day := DayOf(q.At, q.Zone)
	began := s.Day(a)
	switch {
	case began.Date < date:
		return []Event{DayBegan{Account: a, Date: date, Start: day.Start, Equity: worth.Value, Unrealised: x.Unrealised}}
	case began.Date == date && worth.Value.Cmp(began.Peak) > 0:
		return []Event{Marked{Account: a, Equity: worth.Value}}
	}
	return nil
}

// inHand returns what the positions of an account are worth; of its exposure nothing else.
func (s *State) inHand(a trade.Account, mark func(trade.Symbol) (Mark, bool)) (x Exposure) {
	acc := s.accounts[a]
	if acc == nil {
		return x
	}
	x.Positions.Known, x.Unrealised.Known = s.known(acc), s.known(acc)
	for name, h := range acc.holdings {
		t := tide{}
		t.mark, t.marked = mark(name)
		x.add(h, &t, false)
	}
	return x
}

// equity is cash and what the positions would bring.
func equity(cash policy.Known, x Exposure) policy.Known {
	if !cash.Known || !x.Positions.Known {
		return policy.Known{}
	}
	return policy.Known{Value: cash.Value.Add(x.Positions.Value), Known: true}
}

// loss is what the account lost since the day began. By its equity, which also has fees and dividends in it, and which
// money that is paid in would hide; and by what its fills realised and its positions gained since, which has neither. It
// is the larger of both, as far as both are known.
func (s *State) loss(a trade.Account, began Day, equity trade.Decimal, unrealised policy.Known) policy.Known {
	loss := policy.Known{Value: began.Equity.Sub(equity), Known: true}
	realised := s.Realised(a, began.Start.Add(-time.Microsecond))
	if realised.Known && unrealised.Known && began.Unrealised.Known {
		loss.Value = larger(loss.Value, began.Unrealised.Value.Sub(unrealised.Value).Sub(realised.Value))
	}
	return loss
}

func larger(a, b trade.Decimal) trade.Decimal {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

// reduces reports whether an order only reduces the position, whatever becomes of what is pending: R12. Of an order by
// amount that is not known.
func (s *State) reduces(o trade.Order, without trade.IntentID) bool {
	f := s.Facts(o.Account(), o.Symbol(), without)
	free := f.Position.Sub(f.PendingSells)
	counted := f.PendingSells.Sign() >= 0
	if o.Side() == trade.Buy {
		free = trade.Decimal{}.Sub(f.Position).Sub(f.PendingBuys)
		counted = f.PendingBuys.Sign() >= 0
	}
	return f.PositionKnown && counted && !o.ByAmount() && o.Quantity().Cmp(free) <= 0
}
