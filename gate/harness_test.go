package gate_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// venue is a broker in memory whose answer each test picks. By default it accepts and fills at once.
type venue struct {
	mu      sync.Mutex
	clock   func() time.Time
	answer  func(context.Context, gate.Cleared) (gate.Receipt, error)
	lookup  func(trade.BrokerOrderID) (gate.Receipt, error)
	rests   bool // accept without a fill
	sent    []gate.Cleared
	events  []gate.VenueEvent
	pageErr error

	cancelErr error                                     // of a cancel that does not arrive
	blank     bool                                      // it says that it holds nothing
	holdErr   error                                     // of a question what it holds
	half      bool                                      // it shows cash, and no positions
	short     bool                                      // it holds one share less of everything than its fills say
	splits    int64                                     // it holds that many times what its fills say, where it is not zero
	strange   trade.Order                               // an order that works there and is not ours
	forgets   bool                                      // it shows no working order
	before    string                                    // how many AAPL it holds beside what its fills say
	asked     func()                                    // called whenever it is asked what it holds
	shows     func([]gate.VenueOrder) []gate.VenueOrder // what it says of its working orders, where it is not what is true
	moves     bool                                      // something happens whenever it is asked
	cash      string                                    // that it holds; 100000 unless it says otherwise
}

func (v *venue) now() time.Time {
	if v.clock == nil {
		return time.Now()
	}
	return v.clock()
}

func (v *venue) Submit(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
	c, err := p.Use(gate.SubmitOrder, v.now())
	if err != nil {
		return gate.Receipt{}, errors.Join(gate.ErrNotSent, err)
	}
	v.mu.Lock()
	v.sent = append(v.sent, c)
	answer := v.answer
	v.mu.Unlock()
	if answer != nil {
		return answer(ctx, c)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.rests {
		v.event(gate.VenueFill, c, c.Order.Quantity())
	}
	return gate.Receipt{Outcome: trade.Accepted, OrderID: "v-" + string(c.ID)}, nil
}

func (v *venue) event(k gate.VenueEventKind, c gate.Cleared, quantity trade.Decimal) {
	price := c.Order.LimitPrice()
	if price.Sign() == 0 {
		price = trade.Whole(100)
	}
	v.events = append(v.events, gate.VenueEvent{
		Number: uint64(len(v.events) + 1), Kind: k, ID: c.ID, Symbol: c.Order.Symbol(), Side: c.Order.Side(), Quantity: quantity,
		Price: price, At: time.Now(),
	})
}

func (v *venue) Cancel(_ context.Context, p gate.Permit) (gate.Receipt, error) {
	c, err := p.Use(gate.CancelOrder, v.now())
	if err != nil {
		return gate.Receipt{}, errors.Join(gate.ErrNotSent, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cancelErr != nil {
		return gate.Receipt{}, v.cancelErr
	}
	v.event(gate.VenueCancelled, c, c.Order.Quantity())
	return gate.Receipt{Outcome: trade.Accepted}, nil
}

func (v *venue) Lookup(_ context.Context, id trade.BrokerOrderID, _ time.Time) (gate.Receipt, error) {
	if v.lookup != nil {
		return v.lookup(id)
	}
	return gate.Receipt{}, nil
}

func (v *venue) Events(_ context.Context, after uint64) ([]gate.VenueEvent, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.pageErr != nil {
		return nil, v.pageErr
	}
	if after >= uint64(len(v.events)) {
		return nil, nil
	}
	return append([]gate.VenueEvent(nil), v.events[after:]...), nil
}

func (v *venue) Holdings(context.Context) (gate.Holdings, error) {
	if v.asked != nil {
		v.asked()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	h := gate.Holdings{Cash: trade.Whole(100_000)}
	if v.holdErr != nil {
		return gate.Holdings{}, v.holdErr
	}
	if v.cash != "" {
		h.Cash, _ = trade.ParseDecimal(v.cash)
	}
	held := map[trade.Symbol]trade.Decimal{}
	if v.before != "" {
		aapl, _ := trade.ParseSymbol("AAPL")
		held[aapl] = dec(v.before)
	}
	for _, e := range v.events {
		switch {
		case e.Kind == gate.VenueFill && e.Side == trade.Buy:
			held[e.Symbol] = held[e.Symbol].Add(e.Quantity)
		case e.Kind == gate.VenueFill:
			held[e.Symbol] = held[e.Symbol].Sub(e.Quantity)
		}
	}
	for sym, q := range held {
		if v.blank || v.half {
			break
		}
		if v.short {
			q = q.Sub(trade.Whole(1))
		}
		for range v.splits - 1 {
			q = q.Add(held[sym])
		}
		h.Positions = append(h.Positions, gate.Holding{Symbol: sym, Quantity: q})
	}
	if v.moves && len(v.sent) > 0 {
		v.event(gate.VenueCancelled, v.sent[0], trade.Whole(1))
	}
	return h, nil
}

func (v *venue) Working(context.Context) (all []gate.VenueOrder, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if o := v.strange; !o.IsZero() {
		all = append(all, gate.VenueOrder{ID: "theirs", Symbol: o.Symbol(), Side: o.Side(), Remaining: o.Quantity()})
	}
	for _, c := range v.sent {
		ended := slices.ContainsFunc(v.events, func(e gate.VenueEvent) bool { return e.ID == c.ID })
		if v.rests && !ended && !v.forgets {
			all = append(all, gate.VenueOrder{ID: c.ID, Symbol: c.Order.Symbol(), Side: c.Order.Side(), Remaining: c.Order.Quantity()})
		}
	}
	if v.shows != nil && len(all) > 0 {
		all = v.shows(all)
	}
	return all, nil
}

func (v *venue) submits() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.sent)
}

const openPolicy = `{"max_gross_buy_notional_usd":"10000.00","max_quantity":200,"symbol_allowlist":["AAPL","MSFT"],` +
	`"order_type_allowlist":["limit"],"side_allowlist":["buy","sell"]}`

func config(home string, b gate.Broker) gate.Config {
	return gate.Config{
		Home: home, Create: true, Broker: b, Now: time.Now, Entropy: func(b *[10]byte) { rand.Read(b[:]) },
		LockWait: 5 * time.Second, // the tests share two cores
	}
}

// open opens a gate on a fresh home whose policy allows sells too.
func open(t testing.TB, b gate.Broker, edit ...func(*gate.Config)) *gate.Gate {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	cfg := config(home, b)
	if err := os.Mkdir(home, gate.HomeMode); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, gate.PolicyName), []byte(openPolicy), gate.FileMode); err != nil {
		t.Fatal(err)
	}
	for _, f := range edit {
		f(&cfg)
	}
	return reopen(t, cfg)
}

// shared lets others trade on the account.
func shared(c *gate.Config) { c.Shared = true }

func reopen(t testing.TB, cfg gate.Config) *gate.Gate {
	t.Helper()
	return gatetest.Open(t, cfg)
}

// call builds a call; what is no order becomes its faults.
func call(t testing.TB, side, symbol, quantity, price string, edit ...func(*gate.Call)) gate.Call {
	t.Helper()
	c := gatetest.Call(t, side, symbol, quantity, price)
	c.Origin.Session, c.Dialect, c.Raw = "s1", "", []byte(side+" "+quantity+" "+symbol+" "+price)
	for _, f := range edit {
		f(&c)
	}
	return c
}

func withCall(id string) func(*gate.Call) {
	return func(c *gate.Call) { c.Origin.ToolCallID = trade.ToolCallID(id) }
}

func withOrder(id string) func(*gate.Call) {
	return func(c *gate.Call) { c.Tags.ClientOrderID = trade.ClientOrderID(id) }
}

func atHook(c *gate.Call) { c.Origin.Surface = "hook" }

func report(c gate.Call, out trade.Outcome) gate.Report {
	return gate.Report{Origin: c.Origin, Tier: trade.TierExecute, Account: c.Account, Order: c.Order, Faults: c.Faults, Raw: c.Raw, Outcome: out, Status: "SUCCESS"}
}

func codes(d ledger.Decision) string {
	s := ""
	for _, r := range d.Reasons {
		s += string(r.Code) + " "
	}
	return s
}

func wantDecision(t testing.TB, d ledger.Decision, v policy.Effect, s ledger.AuditState, reasons string) {
	t.Helper()
	if d.Verdict != v || d.State != s || codes(d) != reasons {
		t.Fatalf("verdict %s, state %s, reasons %q; want %s, %s, %q\n%s", d.Verdict, d.State, codes(d), v, s, reasons, d.AppendJSON(nil))
	}
}

func audit(t testing.TB, g *gate.Gate) []ledger.Decision {
	t.Helper()
	rows, err := g.Audit(context.Background(), gate.MaxAudit)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// wantRows checks that the audit has exactly these intents in these states, newest first, and that the journal verifies.
func wantRows(t testing.TB, g *gate.Gate, states ...ledger.AuditState) []ledger.Decision {
	t.Helper()
	rows := audit(t, g)
	if len(rows) != len(states) {
		t.Fatalf("%d audit rows, want %d", len(rows), len(states))
	}
	for i, r := range rows {
		if r.State != states[i] {
			t.Fatalf("audit row %d is %s, want %s", i, r.State, states[i])
		}
	}
	if _, err := g.Verify(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	return rows
}

// events decodes the whole journal.
func events(t testing.TB, g *gate.Gate) (all []ledger.Event) {
	t.Helper()
	err := g.Export(ctx, func(r journal.Record) error {
		e, err := ledger.Decode(r.Body)
		all = append(all, e)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
