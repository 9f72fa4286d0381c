package replay

import (
	"fmt"
	"slices"

	"sallyport/gate"
	"sallyport/market"
	"sallyport/policy"
	"sallyport/trade"
)

// exchange is what the tape has shown of the market so far, under every name that a policy has for a source of quotes. It
// implements gate.Market: its view changes only between two calls of the gate.
type exchange struct {
	newest map[trade.Symbol]trade.Quote
	names  []string // of the view's sources
	view   View
}

// newExchange returns a market that has shown nothing.
func newExchange(list *market.Instruments) (exchange, error) {
	calendar, err := market.NewYork()
	return exchange{newest: map[trade.Symbol]trade.Quote{}, view: View{Calendar: calendar, List: list}}, err
}

// show takes in a quote line, and says whether it is the first of its symbol.
func (x *exchange) show(l *line) (first bool, err error) {
	_, known := x.newest[l.symbol]
	if !known && len(x.newest) >= maxSymbols {
		return false, errSymbols(l.symbol)
	}
	x.newest[l.symbol] = trade.Quote{Symbol: l.symbol, Bid: l.bid, Ask: l.ask, Last: l.last, At: l.at}
	return !known, nil
}

func errSymbols(s trade.Symbol) error {
	return fmt.Errorf("it is of the symbol %s, beyond the first %d", s, maxSymbols)
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
	x.view.Bounds = BoundsOf(by)
	if !slices.Equal(x.names, by.Sources) {
		x.names, x.view.Sources = by.Sources, nil
		for _, name := range by.Sources {
			x.view.Sources = append(x.view.Sources, market.Named{Name: name, Source: tape{x}})
		}
	}
	return &x.view
}
