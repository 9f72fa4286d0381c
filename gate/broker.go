package gate

import (
	"context"
	"errors"
	"time"

	"sallyport/trade"
)

// Broker is a venue that orders are sent to. Implementations are safe for concurrent use. gatetest has the suite that
// every one must pass.
type Broker interface {
	// Submit sends the order that the permit clears, under the id that it names, once. The id is the venue's key for
	// idempotency: an id that it already knows with the same order answers with the first receipt; with another order
	// it is rejected. An error means that nothing may be concluded: the gate records Unknown. Only an error that wraps
	// ErrNotSent says that no byte left.
	Submit(ctx context.Context, p Permit) (Receipt, error)
	// Cancel asks the venue to cancel the order that the permit names. Accepted means that no further fill can come;
	// Rejected that the venue said no, for instance because the order is filled. The exits of an entry stay, unless the
	// permit is for them.
	Cancel(ctx context.Context, p Permit) (Receipt, error)
	// Lookup asks what became of an id. Accepted and Rejected are definite; so is not having it after notAfter, which
	// is Rejected: a permit of that id can no longer be used. Anything else is Unknown.
	Lookup(ctx context.Context, id trade.BrokerOrderID, notAfter time.Time) (Receipt, error)
	// Events returns what happened to orders since the event numbered after, oldest first, at most a page of them.
	Events(ctx context.Context, after uint64) ([]VenueEvent, error)
	// Holdings returns the venue's own view of the account.
	Holdings(ctx context.Context) (Holdings, error)
	// Working returns every order that is open at the venue in this account, whoever sent it, oldest first.
	Working(ctx context.Context) ([]VenueOrder, error)
}

// VenueOrder is an order that is open at a venue.
type VenueOrder struct {
	ID        trade.BrokerOrderID // the client order id that it was sent under; empty if it has none
	OrderID   string              // the venue's own id
	Symbol    trade.Symbol
	Side      trade.Side
	Remaining trade.Decimal // what is not filled
	Exits     bool          // the exits of the entry that ID names, and not that order itself: of the two one alone can be filled
}

// Quotes says what a market shows; found is false where it shows nothing of a symbol.
type Quotes interface {
	Quote(s trade.Symbol) (q trade.Quote, found bool, err error)
}

// ErrNotSent says that a request failed before its first byte left, so that the order cannot exist at the broker.
var ErrNotSent = errors.New("gate: not sent")

// Receipt is a venue's answer, read by a dialect or made by the venue itself. The zero Receipt is Unknown.
type Receipt struct {
	Outcome trade.Outcome
	OrderID string // the venue's own id, where it gave one
	Code    string // the venue's code of a rejection
	Message string // its words, as received
	// Events are what a submission or a cancel caused at once, such as a fill, of whatever order, in order and with the
	// venue's own numbers. A venue may leave them out.
	Events []VenueEvent
	// NextEvent is the number that the venue's next event will have, as of this answer; zero from a venue that does not
	// say. Who says it tells all Events too. If the gate has recorded every event before it, it need not ask for any.
	NextEvent uint64
}

// VenueEventKind says what happened to a working order.
type VenueEventKind uint8

// The kinds. The zero kind is none.
const (
	NoVenueEvent VenueEventKind = iota
	VenueFill
	VenueCancelled
	VenueExpired
)

// String returns the word in records.
func (k VenueEventKind) String() string {
	return [...]string{"none", "fill", "cancelled", "expired"}[k]
}

// VenueEvent is one thing that happened to an order at a venue.
type VenueEvent struct {
	Number   uint64 // the venue's own sequence, from 1, without gaps to the reader
	Kind     VenueEventKind
	ID       trade.BrokerOrderID
	Symbol   trade.Symbol
	Side     trade.Side
	Quantity trade.Decimal // filled now; for the others what was left unfilled
	Price    trade.Decimal // of a fill
	At       time.Time
	Exits    bool // it happened to the exits of the entry that ID names
}

// Holdings is a venue's own view of one account.
type Holdings struct {
	Cash      trade.Decimal
	Positions []Holding // sorted by symbol
}

// of returns what is held of a symbol.
func (h Holdings) of(s trade.Symbol) trade.Decimal {
	for _, p := range h.Positions {
		if p.Symbol == s {
			return p.Quantity
		}
	}
	return trade.Decimal{}
}

// Holding is one position.
type Holding struct {
	Symbol   trade.Symbol
	Quantity trade.Decimal
}
