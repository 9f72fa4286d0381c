package replay

import (
	"fmt"
	"slices"
	"time"

	"sallyport/gate"
	"sallyport/market"
	"sallyport/policy"
	"sallyport/trade"
)

// exchange is what the tape has shown of the market so far, under every name that a policy has for a source of quotes. It
// implements gate.Market and gate.View: it changes only between two calls of the gate.
type exchange struct {
	newest   map[trade.Symbol]trade.Quote
	calendar *market.Calendar
	list     *market.Instruments

	names   []string
	sources []market.Named
	bounds  market.Bounds
}

// newExchange returns a market that has shown nothing.
func newExchange(list *market.Instruments) (exchange, error) {
	calendar, err := market.NewYork()
	return exchange{newest: map[trade.Symbol]trade.Quote{}, calendar: calendar, list: list}, err
}

// show takes in a quote line.
func (x *exchange) show(l *line) error {
	if _, known := x.newest[l.symbol]; !known && len(x.newest) >= maxSymbols {
		return fmt.Errorf("it is of the symbol %s, beyond the first %d", l.symbol, maxSymbols)
	}
	x.newest[l.symbol] = trade.Quote{Symbol: l.symbol, Bid: l.bid, Ask: l.ask, Last: l.last, At: l.at}
	return nil
}

// tape is the exchange as one source of quotes.
type tape struct{ x *exchange }

// Quote implements market.Source.
func (t tape) Quote(s trade.Symbol) (trade.Quote, bool, error) {
	q, ok := t.x.newest[s]
	return q, ok, nil
}

// Look implements gate.Market.
func (x *exchange) Look(by policy.Quotes) gate.View {
	x.bounds = market.Bounds{MaxAge: by.MaxAge, MaxSpreadBPS: by.MaxSpread, MaxDivergenceBPS: by.MaxDivergence.Value}
	if !slices.Equal(x.names, by.Sources) {
		x.names, x.sources = by.Sources, nil
		for _, name := range by.Sources {
			x.sources = append(x.sources, market.Named{Name: name, Source: tape{x}})
		}
	}
	return x
}

// Quote implements gate.View.
func (x *exchange) Quote(s trade.Symbol, at time.Time) policy.QuoteFact {
	f := market.Look(x.sources, s, at, x.bounds)
	return policy.QuoteFact{Code: f.Code, Bid: f.Bid, Ask: f.Ask, Last: f.Last, Age: f.Age}
}

// Instrument implements gate.View.
func (x *exchange) Instrument(s trade.Symbol) policy.InstrumentFact {
	i, ok := x.list.Of(s)
	if !ok {
		return policy.InstrumentFact{Code: policy.SymbolNotListed}
	}
	return policy.InstrumentFact{Instrument: i}
}

// Session implements gate.View.
func (x *exchange) Session(at time.Time) policy.SessionFact {
	s := x.calendar.Session(at)
	return policy.SessionFact{
		Code: s.Code, Regular: s.Regular, Extended: s.Extended, RegularOpens: s.RegularOpens, ExtendedOpens: s.ExtendedOpens,
	}
}
