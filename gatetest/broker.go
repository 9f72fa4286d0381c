package gatetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"sallyport/gate"
	"sallyport/trade"
)

// Broker is a venue in memory that does what the test says. Each new order is answered by the next Answer of its script,
// then by Default. It keeps the contract of gate.Broker in all else: permits are used, ids are idempotent, events are
// numbered, and receipts tell of them. It is safe for concurrent use.
type Broker struct {
	Now     func() time.Time // nil means the system's clock
	Default Answer           // nil means Fill
	Silent  bool             // receipts tell of no events

	mu       sync.Mutex
	script   []Answer
	calls    []BrokerCall
	orders   map[trade.BrokerOrderID]*placed
	refused  map[trade.BrokerOrderID]refusal
	events   []gate.VenueEvent
	spent    trade.Decimal // on fills; proceeds of sells are taken off
	held     map[trade.Symbol]trade.Decimal
	accepted int
	exits    []*placed
	shown    map[trade.Symbol]trade.Quote
}

var _ gate.Broker = (*Broker)(nil)

// BrokerCall is one call that the broker got.
type BrokerCall struct {
	Method  string // Submit, Cancel, Lookup, Events, Holdings, Working
	Cleared gate.Cleared
	ID      trade.BrokerOrderID // of a lookup
	Refused error               // why the permit was refused; nil if it was good
}

type placed struct {
	cleared   gate.Cleared
	receipt   gate.Receipt
	side      trade.Side
	shares    trade.Decimal
	number    int // of its acceptance
	working   bool
	triggered bool      // its stop was reached
	exits     bool      // they are the exits of the order, and not the order itself
	at        time.Time // of its acceptance
}

type refusal struct {
	digest  trade.Digest
	any     bool // a lookup closed the id to every order
	receipt gate.Receipt
}

// openingCash is what the broker begins with, in dollars.
const openingCash = 100_000

// Next puts answers at the end of the script.
func (b *Broker) Next(answers ...Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.script = append(b.script, answers...)
}

// Calls returns the calls so far, in order of arrival.
func (b *Broker) Calls() []BrokerCall {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// Submits returns what the good permits of Submit cleared, in order of arrival, whatever became of it.
func (b *Broker) Submits() []gate.Cleared {
	var all []gate.Cleared
	for _, c := range b.Calls() {
		if c.Method == "Submit" && c.Refused == nil {
			all = append(all, c.Cleared)
		}
	}
	return all
}

// Orders returns the accepted orders' ids in the order of their acceptance.
func (b *Broker) Orders() []trade.BrokerOrderID {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := make([]trade.BrokerOrderID, b.accepted)
	for id, p := range b.orders {
		var n int
		if _, err := fmt.Sscanf(p.receipt.OrderID, "fake-%d", &n); err == nil {
			ids[n-1] = id
		}
	}
	return ids
}

func (b *Broker) now() time.Time {
	if b.Now == nil {
		return time.Now()
	}
	return b.Now()
}

// begin records a call and spends its permit.
func (b *Broker) begin(method string, a gate.Action, p gate.Permit) (gate.Cleared, error) {
	c, err := p.Use(a, b.now())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, BrokerCall{Method: method, Cleared: c, ID: c.ID, Refused: err})
	if err != nil {
		return gate.Cleared{}, fmt.Errorf("gatetest: %w: %w", gate.ErrNotSent, err)
	}
	return c, nil
}

// Submit implements gate.Broker.
func (b *Broker) Submit(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
	c, err := b.begin("Submit", gate.SubmitOrder, p)
	if err != nil {
		return gate.Receipt{}, err
	}
	b.mu.Lock()
	if r, known := b.known(c); known {
		defer b.mu.Unlock()
		return b.tell(r, len(b.events)), nil
	}
	answer := b.Default
	if answer == nil {
		answer = Fill
	}
	if len(b.script) > 0 {
		answer, b.script = b.script[0], b.script[1:]
	}
	b.mu.Unlock()
	return answer(ctx, b, c)
}

// tell puts into a receipt what has happened since there were so many events.
func (b *Broker) tell(r gate.Receipt, before int) gate.Receipt {
	if !b.Silent {
		r.Events, r.NextEvent = slices.Clone(b.events[before:]), uint64(len(b.events)+1)
	}
	return r
}

// known returns the first receipt of an id that the venue has seen.
func (b *Broker) known(c gate.Cleared) (gate.Receipt, bool) {
	duplicate := gate.Receipt{Outcome: trade.Rejected, Code: "DUPLICATE_ID", Message: "the id belongs to another order"}
	if p, ok := b.orders[c.ID]; ok {
		if p.cleared.Order.Digest() != c.Order.Digest() {
			return duplicate, true
		}
		return p.receipt, true
	}
	if r, ok := b.refused[c.ID]; ok {
		if !r.any && r.digest != c.Order.Digest() {
			return duplicate, true
		}
		return r.receipt, true
	}
	return gate.Receipt{}, false
}

// Accept takes an order as a venue does that has enough of everything but cash: it fills at once at its limit, or
// rests. Answers call it; an id that is known keeps its first receipt.
func (b *Broker) Accept(c gate.Cleared, fill bool) gate.Receipt {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.events)
	return b.tell(b.accept(c, fill), before)
}

func (b *Broker) accept(c gate.Cleared, fill bool) gate.Receipt {
	if r, known := b.known(c); known {
		return r
	}
	shares, price := dealt(c.Order)
	if cash := trade.Whole(openingCash).Sub(b.spent); c.Order.Side() == trade.Buy && shares.Mul(price).Cmp(cash) > 0 {
		return b.refuse(c.ID, refusal{digest: c.Order.Digest()}, "INSUFFICIENT_CASH", "there is not enough cash")
	}
	p := b.place(c, shares)
	if fill {
		b.fill(p, price)
	}
	return p.receipt
}

// place stores an order that is accepted and works.
func (b *Broker) place(c gate.Cleared, shares trade.Decimal) *placed {
	b.accepted++
	p := &placed{
		cleared: c, side: c.Order.Side(), shares: shares, number: b.accepted, working: true, at: b.now(),
		receipt: gate.Receipt{Outcome: trade.Accepted, OrderID: fmt.Sprintf("fake-%d", b.accepted)},
	}
	if b.orders == nil {
		b.orders = map[trade.BrokerOrderID]*placed{}
	}
	b.orders[c.ID] = p
	return p
}

// Refuse rejects an order. Answers call it; an id that is known keeps its first receipt.
func (b *Broker) Refuse(c gate.Cleared, code, message string) gate.Receipt {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, known := b.known(c)
	if !known {
		r = b.refuse(c.ID, refusal{digest: c.Order.Digest()}, code, message)
	}
	return b.tell(r, len(b.events))
}

func (b *Broker) refuse(id trade.BrokerOrderID, r refusal, code, message string) gate.Receipt {
	r.receipt = gate.Receipt{Outcome: trade.Rejected, Code: code, Message: message}
	if b.refused == nil {
		b.refused = map[trade.BrokerOrderID]refusal{}
	}
	b.refused[id] = r
	return r.receipt
}

// FillWorking fills a working order at its limit, as if a quote had reached it. It reports whether there was one.
func (b *Broker) FillWorking(id trade.BrokerOrderID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.orders[id]
	if !ok || !p.working {
		return false
	}
	_, price := dealt(p.cleared.Order)
	b.fill(p, price)
	return true
}

func (b *Broker) fill(p *placed, price trade.Decimal) {
	if b.held == nil {
		b.held = map[trade.Symbol]trade.Decimal{}
	}
	s, amount := p.cleared.Order.Symbol(), p.shares.Mul(price)
	if p.side == trade.Buy {
		b.spent, b.held[s] = b.spent.Add(amount), b.held[s].Add(p.shares)
	} else {
		b.spent, b.held[s] = b.spent.Sub(amount), b.held[s].Sub(p.shares)
	}
	b.end(p, gate.VenueFill, price)
}

// dealt says how many shares an order fills and at which price: at its limit. What has none fills at a dollar a share, so
// that an amount buys as many shares as it has dollars.
func dealt(o trade.Order) (shares, price trade.Decimal) {
	shares, price = o.Quantity(), o.LimitPrice()
	if price.Sign() == 0 {
		price = trade.Whole(1)
	}
	if o.ByAmount() {
		shares = o.Amount()
	}
	return shares, price
}

func (b *Broker) end(p *placed, kind gate.VenueEventKind, price trade.Decimal) {
	p.working = false
	b.events = append(b.events, gate.VenueEvent{
		Number: uint64(len(b.events) + 1), Kind: kind, ID: p.cleared.ID, Symbol: p.cleared.Order.Symbol(), Side: p.side,
		Quantity: p.shares, Price: price, At: b.now(), Exits: p.exits,
	})
}

// Cancel implements gate.Broker.
func (b *Broker) Cancel(_ context.Context, p gate.Permit) (gate.Receipt, error) {
	c, err := b.begin("Cancel", gate.CancelOrder, p)
	if err != nil {
		return gate.Receipt{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.events)
	return b.tell(b.cancel(c.ID, c.Exits), before), nil
}

func (b *Broker) cancel(id trade.BrokerOrderID, exits bool) gate.Receipt {
	o, ok := b.orders[id]
	if exits {
		o, ok = nil, false
		for _, p := range b.exits {
			if p.cleared.ID == id {
				o, ok = p, true
			}
		}
	}
	switch {
	case !ok:
		return gate.Receipt{Outcome: trade.Rejected, Code: "ORDER_NOT_FOUND"}
	case o.working:
		b.end(o, gate.VenueCancelled, trade.Decimal{})
	case b.filled(id, exits):
		return gate.Receipt{Outcome: trade.Rejected, OrderID: o.receipt.OrderID, Code: "ORDER_FILLED"}
	}
	return gate.Receipt{Outcome: trade.Accepted, OrderID: o.receipt.OrderID}
}

func (b *Broker) filled(id trade.BrokerOrderID, exits bool) bool {
	return slices.ContainsFunc(b.events, func(e gate.VenueEvent) bool { return e.ID == id && e.Exits == exits && e.Kind == gate.VenueFill })
}

// Lookup implements gate.Broker.
func (b *Broker) Lookup(_ context.Context, id trade.BrokerOrderID, notAfter time.Time) (gate.Receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, BrokerCall{Method: "Lookup", ID: id})
	if p, ok := b.orders[id]; ok {
		return p.receipt, nil
	}
	if r, ok := b.refused[id]; ok {
		return r.receipt, nil
	}
	if !b.now().After(notAfter) {
		return gate.Receipt{}, nil
	}
	return b.refuse(id, refusal{any: true}, "NEVER_RECEIVED", "no order of this id arrived in time"), nil
}

// eventPage is small, so that tests of those who read events meet more than one page.
const eventPage = 3

// Events implements gate.Broker.
func (b *Broker) Events(_ context.Context, after uint64) ([]gate.VenueEvent, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, BrokerCall{Method: "Events"})
	rest := b.events[min(after, uint64(len(b.events))):]
	return slices.Clone(rest[:min(len(rest), eventPage)]), nil
}

// Holdings implements gate.Broker.
func (b *Broker) Holdings(context.Context) (gate.Holdings, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, BrokerCall{Method: "Holdings"})
	h := gate.Holdings{Cash: trade.Whole(openingCash).Sub(b.spent)}
	for s, q := range b.held {
		if q.Sign() != 0 {
			h.Positions = append(h.Positions, gate.Holding{Symbol: s, Quantity: q})
		}
	}
	slices.SortFunc(h.Positions, func(x, y gate.Holding) int { return strings.Compare(x.Symbol.String(), y.Symbol.String()) })
	return h, nil
}

// Working implements gate.Broker.
func (b *Broker) Working(context.Context) ([]gate.VenueOrder, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, BrokerCall{Method: "Working"})
	var all []gate.VenueOrder
	for _, p := range slices.Concat(slices.Collect(maps.Values(b.orders)), b.exits) {
		if p.working {
			all = append(all, gate.VenueOrder{
				ID: p.cleared.ID, OrderID: p.receipt.OrderID, Symbol: p.cleared.Order.Symbol(), Side: p.side, Remaining: p.shares, Exits: p.exits,
			})
		}
	}
	slices.SortFunc(all, func(x, y gate.VenueOrder) int { return strings.Compare(x.OrderID, y.OrderID) })
	return all, nil
}

// errLost is what a connection that broke says.
var errLost = errors.New("gatetest: the connection broke")
