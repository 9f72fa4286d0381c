package main

import (
	"sync"

	"sallyport/gate"
	"sallyport/market"
	"sallyport/policy"
	"sallyport/replay"
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
func newExchange(cfg config) *exchange {
	x := &exchange{
		sources: map[string]*market.File{"file": {Path: cfg.Quotes}},
		listing: market.Listing{Path: cfg.Instruments, Optional: !cfg.Listed},
	}
	for name, path := range cfg.Sources {
		x.sources[name] = &market.File{Path: path}
	}
	return x
}

// quotes are what the policy knows as the source file, and what the paper venue fills by.
func (x *exchange) quotes() *market.File { return x.sources["file"] }

// Look implements gate.Market. A file is read here, if it has changed, and not when the view is asked.
func (x *exchange) Look(by policy.Quotes) gate.View {
	x.once.Do(func() { x.calendar, _ = market.NewYork() }) // without one every session is unavailable
	v := &replay.View{Calendar: x.calendar, Bounds: replay.BoundsOf(by)}
	v.List, v.Unlisted = x.listing.Instruments()
	for _, name := range by.Sources {
		from := market.Named{Name: name}
		if file := x.sources[name]; file != nil {
			book, err := file.Book()
			from.Source = page{book, err}
		}
		v.Sources = append(v.Sources, from)
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
