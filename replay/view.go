package replay

import (
	"time"

	"sallyport/gate"
	"sallyport/market"
	"sallyport/policy"
	"sallyport/trade"
)

// View is the market at one look: what its sources of quotes say, its sessions and its instruments, in the words of a
// policy. A replay and the live gates see their markets through it. It implements gate.View.
type View struct {
	Sources  []market.Named
	Bounds   market.Bounds // see BoundsOf
	Calendar *market.Calendar
	List     *market.Instruments
	Unlisted error // why there is no list
}

var _ gate.View = (*View)(nil)

// BoundsOf is within what a policy takes quotes.
func BoundsOf(by policy.Quotes) market.Bounds {
	return market.Bounds{MaxAge: by.MaxAge, MaxSpreadBPS: by.MaxSpread, MaxDivergenceBPS: by.MaxDivergence.Value}
}

// Quote implements gate.View.
func (v *View) Quote(s trade.Symbol, at time.Time) policy.QuoteFact {
	f := market.Look(v.Sources, s, at, v.Bounds)
	return policy.QuoteFact{Code: f.Code, Why: f.Why, Bid: f.Bid, Ask: f.Ask, Last: f.Last, Age: f.Age, BestBid: f.BestBid, BestAsk: f.BestAsk}
}

// Instrument implements gate.View.
func (v *View) Instrument(s trade.Symbol) policy.InstrumentFact {
	if v.Unlisted != nil {
		return policy.InstrumentFact{Code: policy.InstrumentUnavailable}
	}
	i, ok := v.List.Of(s)
	if !ok {
		return policy.InstrumentFact{Code: policy.SymbolNotListed}
	}
	return policy.InstrumentFact{Instrument: i}
}

// Session implements gate.View. Without a calendar every session is unavailable.
func (v *View) Session(at time.Time) policy.SessionFact {
	s := v.Calendar.Session(at)
	return policy.SessionFact{
		Code: s.Code, Regular: s.Regular, Extended: s.Extended, RegularOpens: s.RegularOpens, ExtendedOpens: s.ExtendedOpens,
	}
}
