package gatetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// The parts of the suite about orders beside the limit order for the day. They move the market of one symbol, and look at
// what the venue did: at its events, its open orders and its holdings.

// Wider is what those parts need of a venue that takes such orders.
type Wider struct {
	Symbol trade.Symbol
	// Show sets the market of the symbol as of the clock's time, which is in a regular session, and lets the venue match.
	Show func(bid, ask string)
}

// floor is a rig whose gates allow every order, and whose market can be moved.
type floor struct {
	*rig
	wider *Wider
	*quoted
	calls int
}

// wide makes a part of one that needs a market.
func wide(part func(*floor)) func(*rig) {
	return func(r *rig) {
		if r.fx.Wider == nil {
			r.t.Skip("the fixture has no market that can be moved")
		}
		part(&floor{rig: r, wider: r.fx.Wider, quoted: &quoted{}})
	}
}

// quoted is the market as the gates of the suite see it: one fresh quote, in the regular session. It is safe for
// concurrent use.
type quoted struct {
	mu sync.Mutex
	q  trade.Quote
}

func (m *quoted) set(q trade.Quote) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.q = q
}

// Look implements gate.Market.
func (m *quoted) Look(policy.Quotes) gate.View {
	m.mu.Lock()
	defer m.mu.Unlock()
	return sight{m.q}
}

type sight struct{ q trade.Quote }

// Quote implements gate.View.
func (v sight) Quote(s trade.Symbol, _ time.Time) policy.QuoteFact {
	if s != v.q.Symbol {
		return policy.QuoteFact{Code: policy.QuoteUnavailable}
	}
	return policy.QuoteFact{Bid: v.q.Bid, Ask: v.q.Ask, Last: v.q.Last}
}

// Instrument implements gate.View.
func (v sight) Instrument(s trade.Symbol) policy.InstrumentFact {
	return policy.InstrumentFact{Instrument: trade.USEquity(s)}
}

// Session implements gate.View.
func (v sight) Session(time.Time) policy.SessionFact { return policy.SessionFact{Regular: true} }

// show moves the market, for the venue and for the gates.
func (f *floor) show(bid, ask string) {
	f.t.Helper()
	f.set(trade.Quote{Symbol: f.wider.Symbol, Bid: Decimal(bid), Ask: Decimal(ask), Last: Decimal(bid)})
	f.wider.Show(bid, ask)
}

func (f *floor) gate(seed uint64) *gate.Gate {
	f.t.Helper()
	cfg := f.config(seed)
	cfg.Market = f.quoted
	if err := os.WriteFile(filepath.Join(cfg.Home, gate.PolicyName), Book(f.wider.Symbol), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return Open(f.t, cfg)
}

func (f *floor) order(side string, terms map[string]string) trade.Order {
	f.t.Helper()
	return Wide(f.t, side, f.wider.Symbol.String(), terms)
}

// sends executes an order that the venue takes.
func (f *floor) sends(g *gate.Gate, side string, terms map[string]string) ledger.Decision {
	f.t.Helper()
	f.calls++
	return f.execute(g, f.order(side, terms), ledger.Succeeded, call(f.calls))
}

// wantTold checks what the venue tells of an order since the event numbered after, in words such as "sell 10 at 101",
// "buy 10 expired", and returns the number of the newest event.
func (f *floor) wantTold(after int, d ledger.Decision, want ...string) int {
	f.t.Helper()
	all := f.events()
	var got []string
	for _, e := range all[min(after, len(all)):] {
		if e.ID != id(d) {
			f.t.Errorf("an event is told of %s: %+v", e.ID, e)
		}
		text := fmt.Sprintf("%v %v %v", e.Side, e.Quantity, e.Kind)
		if e.Kind == gate.VenueFill {
			text = fmt.Sprintf("%v %v at %v", e.Side, e.Quantity, e.Price)
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		f.t.Errorf("the venue tells %q, want %q", got, want)
	}
	return len(all)
}

// wantOpen checks what is open at the venue: whether the order itself is, and whether its exits are.
func (f *floor) wantOpen(d ledger.Decision, itself, exits bool) {
	f.t.Helper()
	open, err := f.fx.Broker.Working(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	var is, has bool
	for _, o := range open {
		if o.ID == id(d) {
			is, has = is || !o.Exits, has || o.Exits
		}
	}
	if is != itself || has != exits {
		f.t.Errorf("open at the venue: the order %v, want %v; its exits %v, want %v", is, itself, has, exits)
	}
}

// wantHeld checks what the venue holds of the symbol.
func (f *floor) wantHeld(want string) {
	f.t.Helper()
	h, err := f.fx.Broker.Holdings(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	var held trade.Decimal
	for _, p := range h.Positions {
		if p.Symbol == f.wider.Symbol {
			held = p.Quantity
		}
	}
	if held.String() != want {
		f.t.Errorf("the venue holds %v of %v, want %s", held, f.wider.Symbol, want)
	}
}

func marketOrder(f *floor) {
	g := f.gate(1)
	f.show("100", "101")
	bought := f.sends(g, "buy", map[string]string{"type": "market", "quantity": "10"})
	n := f.wantTold(0, bought, "buy 10 at 101")
	f.show("99", "102")
	sold := f.sends(g, "sell", map[string]string{"type": "market", "quantity": "4"})
	f.wantTold(n, sold, "sell 4 at 99")
	f.wantHeld("6")
}

func stopOrder(f *floor) {
	g := f.gate(1)
	f.show("100", "101")
	n := f.wantTold(0, f.sends(g, "buy", map[string]string{"type": "market", "quantity": "10"}), "buy 10 at 101")
	sell := f.sends(g, "sell", map[string]string{"type": "stop", "stop_price": "90", "quantity": "10", "time_in_force": "gtc"})
	f.wantTold(n, sell)
	f.show("90.01", "91")
	f.wantTold(n, sell)
	f.wantOpen(sell, true, false)
	f.show("88", "89")
	n = f.wantTold(n, sell, "sell 10 at 88")
	buy := f.sends(g, "buy", map[string]string{"type": "stop_limit", "stop_price": "95", "limit_price": "96", "quantity": "1", "time_in_force": "gtc"})
	f.show("93", "94.99")
	f.wantTold(n, buy)
	f.show("96", "97")
	f.wantTold(n, buy)
	f.wantOpen(buy, true, false)
	f.show("93", "94") // its stop was reached, and that is not forgotten
	f.wantTold(n, buy, "buy 1 at 94")
	f.wantHeld("1")
}

func timeInForce(f *floor) {
	g := f.gate(1)
	f.show("100", "101")
	limit := func(tif string) ledger.Decision {
		return f.sends(g, "buy", map[string]string{"type": "limit", "limit_price": "99", "quantity": "1.0", "time_in_force": tif})
	}
	n := 0
	for _, tif := range []string{"ioc", "fok"} {
		d := limit(tif)
		f.wantOpen(d, false, false)
		n = f.wantTold(n, d, "buy 1 expired")
	}
	gtc, day := limit("gtc"), limit("day")
	f.wantOpen(gtc, true, false)
	f.wantOpen(day, true, false)
	f.fx.Clock.Advance(7 * 24 * time.Hour)
	f.show("100", "101")
	f.wantOpen(gtc, true, false)
	f.wantOpen(day, false, false)
	n = f.wantTold(n, day, "buy 1 expired")
	f.show("98", "99")
	f.wantTold(n, gtc, "buy 1 at 99")
}

func byAmount(f *floor) {
	g := f.gate(1)
	f.show("100", "101.01")
	before, err := f.fx.Broker.Holdings(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	d := f.sends(g, "buy", map[string]string{"type": "market", "notional": "1000"})
	all := f.events()
	if len(all) != 1 || all[0].ID != id(d) || all[0].Kind != gate.VenueFill || all[0].Price.String() != "101.01" {
		f.t.Fatalf("%+v; want one fill of %s at 101.01", all, id(d))
	}
	after, err := f.fx.Broker.Holdings(context.Background())
	spent := before.Cash.Sub(after.Cash)
	if err != nil || spent.Cmp(d.Order.Amount()) > 0 || spent.Cmp(Decimal("990")) < 0 {
		f.t.Errorf("it spent %v of %v, %v", spent, d.Order.Amount(), err)
	}
	f.wantHeld(all[0].Quantity.String())
}

func exitsFollow(f *floor) {
	g := f.gate(1)
	f.show("100", "101")
	terms := map[string]string{"type": "limit", "limit_price": "99", "quantity": "10", "stop_loss": "90", "take_profit": "120"}
	d := f.sends(g, "buy", terms)
	f.wantOpen(d, true, false)
	f.show("98", "99")
	n := f.wantTold(0, d, "buy 10 at 99")
	f.wantOpen(d, false, true)
	f.show("90.01", "91")
	f.wantOpen(d, false, true)
	f.show("89", "90") // the stop loss
	n = f.wantTold(n, d, "sell 10 at 89")
	f.wantOpen(d, false, false)
	f.wantHeld("0")
	f.show("130", "131") // the take profit is gone with it
	f.wantTold(n, d)
	f.wantHeld("0")
}

func exitsProfit(f *floor) {
	g := f.gate(1)
	f.show("100", "101")
	d := f.sends(g, "buy", map[string]string{"type": "market", "quantity": "10", "stop_loss": "90", "take_profit": "120"})
	n := f.wantTold(0, d, "buy 10 at 101")
	f.show("119.99", "120.50")
	f.wantOpen(d, false, true)
	f.show("121", "122")
	n = f.wantTold(n, d, "sell 10 at 121")
	f.show("80", "81") // the stop loss is gone with it
	f.wantTold(n, d)
	f.wantOpen(d, false, false)
	f.wantHeld("0")
}

// exitsStay checks that a cancel that meant an entry, and which its fill overtook, leaves the exits.
func exitsStay(f *floor) {
	f.tap.deaf = true // so that the gate thinks that the entry works
	g := f.gate(1)
	f.show("100", "101")
	d := f.sends(g, "buy", map[string]string{"type": "market", "quantity": "10", "stop_loss": "90"})
	res, err := g.Cancel(context.Background(), CallFor(d.Order).Origin, d.Intent)
	if err != nil || res.Outcome != rejected {
		f.t.Errorf("cancel of a filled entry: %+v, %v", res, err)
	}
	f.wantOpen(d, false, true)
	f.show("85", "86")
	f.wantTold(1, d, "sell 10 at 85")
}

// widerOnce checks that an order of many terms is one order however often it is sent, and after the venue was opened again.
func widerOnce(f *floor) {
	f.show("100", "101")
	terms := map[string]string{"type": "market", "quantity": "10", "stop_loss": "90", "take_profit": "120"}
	a, b, c := f.gate(7), f.gate(7), f.gate(7)
	one := f.execute(a, f.order("buy", terms), ledger.Succeeded)
	two := f.execute(b, f.order("buy", terms), ledger.Succeeded)
	if id(one) != id(two) || one.OrderID != two.OrderID {
		f.t.Errorf("one id is the orders %s and %s", one.OrderID, two.OrderID)
	}
	terms["stop_loss"] = "89"
	f.execute(c, f.order("buy", terms), ledger.Failed) // another stop loss under the id is another order
	f.wantTold(0, one, "buy 10 at 101")
	if f.fx.Reopen != nil {
		f.fx.Broker = f.fx.Reopen()
		f.tap.Broker = f.fx.Broker
	}
	f.wantOpen(one, false, true)
	f.show("89", "90")
	f.wantTold(1, one, "sell 10 at 89")
	f.wantHeld("0")
}
