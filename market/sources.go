package market

import (
	"errors"
	"fmt"
	"time"

	"sallyport/trade"
)

// The codes that say why a quote cannot be used.
const (
	QuoteUnavailable   trade.Code = "QUOTE_UNAVAILABLE"    // there is none, or it says nothing that can be used
	QuoteStale         trade.Code = "QUOTE_STALE"          // it is older than the bound
	QuoteCrossed       trade.Code = "QUOTE_CROSSED"        // its bid is above its ask
	SpreadExceedsLimit trade.Code = "SPREAD_EXCEEDS_LIMIT" // its bid and ask are too far apart
	QuotesDisagree     trade.Code = "QUOTES_DISAGREE"      // two sources are too far apart
)

// Source is where quotes come from: a *File, a *Tape. Quote returns the newest quote of a symbol; ok is false if it has
// none, and an error says that the source as a whole cannot be read now. It is safe for concurrent use.
type Source interface {
	Quote(s trade.Symbol) (q trade.Quote, ok bool, err error)
}

// Bounds says which quotes can be used. Each bound itself passes. The zero Bounds take hardly any quote: nothing means
// nothing, and there is no word for unlimited.
type Bounds struct {
	MaxAge           time.Duration
	MaxSpreadBPS     trade.Decimal // of the middle of bid and ask
	MaxDivergenceBPS trade.Decimal // between the middles of two sources, of the lower one
}

// Named is a source under the name that the policy has for it.
type Named struct {
	Name string
	Source
}

// Found is what the sources together say of a symbol.
type Found struct {
	Code trade.Code // why no quote can be used; empty if one can
	Why  string     // the same for people, with the source's name; empty likewise

	// The worst of all sources: the lowest bid and the highest ask. Last is that of the newest quote, Age that of the
	// oldest. They are set as far as they are known, whatever the code.
	Bid, Ask, Last trade.Decimal
	Age            time.Duration

	BestBid, BestAsk trade.Decimal // the highest bid and the lowest ask of all sources
}

// Look asks every source for a symbol at a time. All of them must have a quote that can be used, and none may be too far
// from another: a source that is silent cannot agree. The reason is that of the first source that has one, and sources
// are compared only when each is fine by itself.
func Look(sources []Named, s trade.Symbol, now time.Time, b Bounds) Found {
	if len(sources) == 0 {
		return Found{Code: QuoteUnavailable, Why: "there is no source of quotes"}
	}
	var f Found
	var low, high, newest trade.Quote
	for i, from := range sources {
		q, code, why := b.ask(from, s, now)
		if code != "" {
			f.refuse(code, fmt.Sprintf("the source %s %s", from.Name, why))
		}
		if q.At.IsZero() {
			continue
		}
		if first := newest.At.IsZero(); first || q.Bid.Cmp(f.Bid) < 0 {
			f.Bid = q.Bid
		}
		if q.Bid.Cmp(f.BestBid) > 0 {
			f.BestBid = q.Bid
		}
		if f.BestAsk.Sign() == 0 || q.Ask.Cmp(f.BestAsk) < 0 {
			f.BestAsk = q.Ask
		}
		if q.Ask.Cmp(f.Ask) > 0 {
			f.Ask = q.Ask
		}
		if newest.At.IsZero() || q.At.After(newest.At) {
			newest, f.Last = q, q.Last
		}
		f.Age = max(f.Age, now.Sub(q.At))
		if i == 0 || ends(q).Cmp(ends(low)) < 0 {
			low = q
		}
		if i == 0 || ends(q).Cmp(ends(high)) > 0 {
			high = q
		}
	}
	if f.Code == "" && !near(low, high, b.MaxDivergenceBPS) {
		f.refuse(QuotesDisagree, fmt.Sprintf("two sources have the middle of the market more than %s basis points apart", b.MaxDivergenceBPS))
	}
	return f
}

func (f *Found) refuse(code trade.Code, why string) {
	if f.Code == "" {
		f.Code, f.Why = code, why
	}
}

// ask returns one source's quote, and why it cannot be used.
//
//limit:market-quote-age A quote that is older than max_age is not used, nor one from the future: QUOTE_STALE, QUOTE_UNAVAILABLE.
//limit:market-quote-spread A quote whose bid is above its ask, or whose spread is over max_spread_bps, is not used: QUOTE_CROSSED, SPREAD_EXCEEDS_LIMIT.
func (b Bounds) ask(from Named, s trade.Symbol, now time.Time) (q trade.Quote, code trade.Code, why string) {
	if from.Source == nil {
		return trade.Quote{}, QuoteUnavailable, "is not there"
	}
	q, ok, err := from.Quote(s)
	switch {
	case err != nil:
		return trade.Quote{}, QuoteUnavailable, "cannot be read: " + trade.Printable(nameless(err), 200)
	case !ok, q.Symbol != s:
		return trade.Quote{}, QuoteUnavailable, "has no quote of " + s.String()
	case q.Bid.Sign() <= 0, q.Ask.Sign() <= 0, q.Last.Sign() <= 0, q.At.IsZero():
		return trade.Quote{}, QuoteUnavailable, "has a quote with a price that is not above zero, or without a time"
	}
	age := now.Sub(q.At)
	switch {
	case q.At.After(now):
		return q, QuoteUnavailable, "has a quote from the future, " + q.At.UTC().Format(time.RFC3339Nano)
	case age > b.MaxAge:
		return q, QuoteStale, fmt.Sprintf("has a quote that is %s old, and %s is allowed", age, b.MaxAge)
	case Crossed(q):
		return q, QuoteCrossed, fmt.Sprintf("has a bid of %s above an ask of %s", q.Bid.Money(), q.Ask.Money())
	case trade.CmpProduct(q.Ask.Sub(q.Bid).Mul(trade.Whole(20_000)), b.MaxSpreadBPS, ends(q)) > 0:
		return q, SpreadExceedsLimit, fmt.Sprintf("has %s bid and %s asked, more than %s basis points apart", q.Bid.Money(), q.Ask.Money(), b.MaxSpreadBPS)
	}
	return q, "", ""
}

// nameless is an error without the file's path, which is nothing to whoever sends an order.
func nameless(err error) string {
	if e, is := errors.AsType[*Error](err); is {
		own := *e
		own.Path = ""
		return own.Error()
	}
	return err.Error()
}

// ends is bid and ask together: twice the middle.
func ends(q trade.Quote) trade.Decimal { return q.Bid.Add(q.Ask) }

// near reports whether the middle of the higher quote is at most so many basis points above that of the lower.
//
//limit:market-quote-divergence Sources whose middles are over max_divergence_bps apart are not used: QUOTES_DISAGREE.
func near(low, high trade.Quote, bps trade.Decimal) bool {
	apart := ends(high).Sub(ends(low)).Mul(trade.Whole(10_000))
	return trade.CmpProduct(apart, bps, ends(low)) <= 0
}
