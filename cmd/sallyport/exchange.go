package main

import (
	"sync"
	"time"

	"sallyport/gate"
	"sallyport/market"
	"sallyport/policy"
	"sallyport/trade"
)

// exchange is what a policy of version 2 is told of the world: quotes from files that are followed, by the names that a
// policy has for them, and the sessions of the New York exchanges. It implements gate.Market.
type exchange struct {
	sources map[string]*market.File
	listing market.Listing

	once     sync.Once // a process that judges by a policy of version 1 never reads the calendar
	calendar *market.Calendar
}

// newExchange returns the market of a configuration.
func newExchange(cfg config, quotes *market.File) *exchange {
	x := &exchange{
		sources: map[string]*market.File{"file": quotes},
		listing: market.Listing{Path: cfg.Instruments, Optional: !cfg.Listed},
	}
	for name, path := range cfg.Sources {
		x.sources[name] = &market.File{Path: path}
	}
	return x
}

// Look implements gate.Market. A file is read here, if it has changed, and not when the view is asked.
func (x *exchange) Look(by policy.Quotes) gate.View {
	x.once.Do(func() { x.calendar, _ = market.NewYork() }) // without one every session is unavailable
	v := &view{calendar: x.calendar, bounds: market.Bounds{
		MaxAge: by.MaxAge, MaxSpreadBPS: by.MaxSpread, MaxDivergenceBPS: by.MaxDivergence.Value,
	}}
	v.list, v.unlisted = x.listing.Instruments()
	for _, name := range by.Sources {
		from := market.Named{Name: name}
		if file := x.sources[name]; file != nil {
			book, err := file.Book()
			from.Source = page{book, err}
		}
		v.sources = append(v.sources, from)
	}
	return v
}

// page is a quotes file as it was read once.
type page struct {
	book *market.Book
	err  error
}

// Quote implements market.Source.
func (p page) Quote(s trade.Symbol) (trade.Quote, bool, error) {
	q, ok := p.book.Quote(s)
	return q, ok, p.err
}

// view is the market at one look.
type view struct {
	sources  []market.Named
	bounds   market.Bounds
	calendar *market.Calendar
	list     *market.Instruments
	unlisted error // why there is no list
}

// Instrument implements gate.View.
func (v *view) Instrument(s trade.Symbol) policy.InstrumentFact {
	if v.unlisted != nil {
		return policy.InstrumentFact{Code: policy.InstrumentUnavailable}
	}
	i, ok := v.list.Of(s)
	if !ok {
		return policy.InstrumentFact{Code: policy.SymbolNotListed}
	}
	return policy.InstrumentFact{Instrument: i}
}

// Quote implements gate.View.
func (v *view) Quote(s trade.Symbol, at time.Time) policy.QuoteFact {
	f := market.Look(v.sources, s, at, v.bounds)
	return policy.QuoteFact{Code: f.Code, Bid: f.Bid, Ask: f.Ask, Last: f.Last, Age: f.Age}
}

// Session implements gate.View.
func (v *view) Session(at time.Time) policy.SessionFact {
	s := v.calendar.Session(at)
	return policy.SessionFact{
		Code: s.Code, Regular: s.Regular, Extended: s.Extended, RegularOpens: s.RegularOpens, ExtendedOpens: s.ExtendedOpens,
	}
}
