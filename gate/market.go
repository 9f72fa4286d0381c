package gate

import (
	"context"
	"slices"
	"time"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// Market is where the gate learns what a policy of version 2 asks of the world: quotes, trading sessions, instruments.
type Market interface {
	// Look reads what there is to read, such as files that are followed, and returns what the market shows by the sources
	// and within the bounds of a policy. The gate calls it before it takes the journal's lock. What cannot be had is no
	// error: the view says of each symbol why it has no quote.
	Look(by policy.Quotes) View
}

// View is a market as it was at one look. It does not change and does no I/O, so that it may be asked under the journal's
// lock, and for whatever symbol and time. It is safe for concurrent use.
type View interface {
	// Quote returns the quote of a symbol to judge by at that time, or why there is none.
	Quote(s trade.Symbol, at time.Time) policy.QuoteFact
	// Instrument returns what an order in a symbol must fit, or that the symbol is not listed.
	Instrument(s trade.Symbol) policy.InstrumentFact
	// Session says which trading session the time lies in.
	Session(at time.Time) policy.SessionFact
}

// outlook is what a judgement by a policy of version 2 was told of the world before the journal's lock was taken. The zero
// outlook knows nothing, and is all that a policy of version 1 needs.
type outlook struct {
	view View
	held Holdings  // of the gate's account, as its broker says
	at   time.Time // when the broker was asked; zero: its answer is not known
	upTo uint64    // the venue's last event that the ledger had when the broker was asked
}

// basis is what a judgement goes by beside the ledger: the policy as it is read for this call, and the world.
type basis struct {
	policy PolicyView
	look   outlook
}

// basis reads the policy, and what it asks of the world.
func (g *Gate) basis(ctx context.Context) basis {
	v := g.policy.view()
	return basis{policy: v, look: g.look(ctx, v)}
}

// maxHoldingsAge bounds how old a broker's answer may be when it is judged by.
//
//limit:gate-holdings-age A broker's answer about cash and positions that is more than 5 seconds old when an order is judged is not judged by: EQUITY_UNAVAILABLE.
const maxHoldingsAge = 5 * time.Second

// look gathers what a policy of version 2 asks of the world. It waits for no lock, and a broker that does not answer in
// time has said nothing.
func (g *Gate) look(ctx context.Context, v PolicyView) outlook {
	var l outlook
	if holds := g.holds(); holds != nil && (v.Book != nil && v.Book.UsesEquity() || g.doubts(ctx, v)) {
		ask, cancel := context.WithTimeout(ctx, g.cfg.BrokerWait)
		asked, upTo := g.cfg.Now(), g.venueCursor(ctx)
		if h, err := holds(ask); err == nil && says(h) {
			l.held, l.at, l.upTo = h, asked, upTo
		}
		cancel()
	}
	if g.cfg.Market != nil && v.Book != nil {
		l.view = g.cfg.Market.Look(v.Book.Quotes())
	}
	return l
}

// holds is who says what the account holds: the broker, or who knows it where the gate does not reach the broker. So an
// order comes to one verdict, whether its gate could send it or not.
func (g *Gate) holds() Holds {
	if g.cfg.Broker != nil {
		return g.cfg.Broker.Holdings
	}
	return g.cfg.Holds
}

// untold adds to what could not be judged of an account that is not the gate's own why that is so.
//
//limit:gate-untold Of an account other than that of the gate's broker nobody tells the fills: its position, exposure, equity and loss are not known, and what needs them is denied.
func (j *judgement) untold(rs []policy.Reason) {
	if j.call.Account == j.g.cfg.Account || j.g.follow.state.Knows(j.call.Account) {
		return
	}
	for i := range rs {
		switch r := &rs[i]; {
		case r.Code == policy.ShortSaleNotAllowed && r.Limit == "unknown", r.Code == policy.PositionUnavailable, r.Code == policy.ExposureUnavailable,
			r.Code == policy.EquityUnavailable, r.Code == policy.LossUnavailable:
			r.Message += "; nobody tells Sallyport what the account " + trade.Printable(string(j.call.Account), 64) + " holds"
		}
	}
}

// says reports whether a broker's answer says anything. That an account has nothing at all, neither cash nor a position, is
// what a broker in trouble answers: it is no loss that stops an account, and it lets nothing pass either.
//
//limit:gate-nothing-held A broker's answer that an account has neither cash nor a position is not judged by: EQUITY_UNAVAILABLE.
func says(h Holdings) bool {
	return h.Cash.Sign() != 0 || slices.ContainsFunc(h.Positions, func(p Holding) bool { return p.Quantity.Sign() != 0 })
}

// shows reports whether the broker's answer can be judged by at a time.
func (l *outlook) shows(at time.Time) bool { return !l.at.IsZero() && at.Sub(l.at) <= maxHoldingsAge }

// quote returns the quote of a symbol, or why there is none.
func (l *outlook) quote(s trade.Symbol, at time.Time) policy.QuoteFact {
	if l.view == nil {
		return policy.QuoteFact{Code: policy.QuoteUnavailable}
	}
	return l.view.Quote(s, at)
}

// instrument returns what an order in a symbol must fit.
//
//limit:gate-multiplier An instrument whose multiplier is not 1 is not judged by, since positions and cash are counted in its units: INSTRUMENT_UNAVAILABLE.
func (l *outlook) instrument(s trade.Symbol) policy.InstrumentFact {
	if l.view == nil {
		return policy.InstrumentFact{Code: policy.InstrumentUnavailable}
	}
	i := l.view.Instrument(s)
	if i.Code == "" && i.Multiplier.Cmp(trade.Whole(1)) != 0 {
		return policy.InstrumentFact{Code: policy.InstrumentUnavailable}
	}
	return i
}

func (l *outlook) session(at time.Time) policy.SessionFact {
	if l.view == nil {
		return policy.SessionFact{Code: policy.CalendarUnavailable}
	}
	return l.view.Session(at)
}

// mark returns the two sides at which a position is valued, by a quote that the policy lets be used.
func (l *outlook) mark(book *policy.Rulebook, at time.Time) func(trade.Symbol) (ledger.Mark, bool) {
	by := book.Quotes()
	return func(s trade.Symbol) (ledger.Mark, bool) {
		q := l.quote(s, at)
		return ledger.Mark{Bid: q.Bid, Ask: q.Ask}, by.Usable(q)
	}
}

// contradicts reports whether the broker's answer shows another position than the ledger has where nothing is on its way
// and nothing came in since it was asked: half an answer, or one of another account, is no loss that stops an account.
//
//limit:gate-half-answer A broker's answer whose positions differ from the ledger's, where nothing is pending and nothing came in since, is not judged by: EQUITY_UNAVAILABLE.
func (l *outlook) contradicts(st *ledger.State, a trade.Account) bool {
	if cursor, _ := st.Cursor(a); cursor != l.upTo {
		return false
	}
	return slices.ContainsFunc(differing(positionDifferences(st, a, l.held)), func(s trade.Symbol) bool {
		f := st.Facts(a, s, "")
		return f.PendingBuys.Sign() == 0 && f.PendingSells.Sign() == 0
	})
}

// cash returns the account's cash by which its equity is what the broker's own answer comes to: the answer has cash and
// positions of one moment, and the ledger's positions may be of another. Between them lies what a trade costs and no more.
func (l *outlook) cash(st *ledger.State, a trade.Account, at time.Time, mark func(trade.Symbol) (ledger.Mark, bool)) policy.Known {
	if !l.shows(at) || l.contradicts(st, a) {
		return policy.Known{}
	}
	cash := l.held.Cash
	shift := func(s trade.Symbol, quantity trade.Decimal, add bool) bool {
		if quantity.Sign() == 0 {
			return true
		}
		m, ok := mark(s)
		price := m.Bid
		if quantity.Sign() < 0 {
			price = m.Ask
		}
		worth := quantity.Mul(price)
		if add {
			cash = cash.Add(worth)
		} else {
			cash = cash.Sub(worth)
		}
		return ok
	}
	known := true
	for _, h := range l.held.Positions {
		known = shift(h.Symbol, h.Quantity, true) && known
	}
	for _, h := range st.Holdings() {
		if h.Account == a {
			known = shift(h.Symbol, h.Quantity, false) && known
		}
	}
	return policy.Known{Value: cash, Known: known}
}
