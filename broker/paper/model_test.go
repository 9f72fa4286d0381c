package paper

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sallyport/trade"

	"pgregory.net/rapid"
)

// audit recomputes the venue from its events and rows and compares: cash and positions are the fold of the fills,
// what is reserved is the sum over the working orders, nothing is below zero, and events and rows agree.
func audit(t interface {
	Helper()
	Fatalf(string, ...any)
}, b *Broker,
) {
	t.Helper()
	ctx := context.Background()
	var opening, reservedText, due string
	var working, disagree int64
	var events uint64
	err := b.db.QueryRow(`SELECT opening, reserved, working, due, events, (SELECT count(*) FROM paper_ledger l WHERE
		(l.status <> 'working') <> (SELECT count(*) FROM paper_events e WHERE e.order_id = l.id)) FROM paper_account`).
		Scan(&opening, &reservedText, &working, &due, &events, &disagree)
	if err != nil || disagree != 0 {
		t.Fatalf("%d orders whose status and events disagree, %v", disagree, err)
	}
	cash, _ := trade.ParseSum(opening)
	held := map[trade.Symbol]trade.Decimal{}
	last := uint64(0)
	for {
		page, err := b.Events(ctx, last)
		if err != nil {
			t.Fatalf("events: %v", err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			if e.Number != last+1 {
				t.Fatalf("event %d follows %d", e.Number, last)
			}
			last = e.Number
			amount := e.Quantity.Mul(e.Price)
			switch {
			case e.Kind.String() != "fill":
			case e.Side == trade.Buy:
				cash, held[e.Symbol] = cash.Sub(amount.Up()), held[e.Symbol].Add(e.Quantity)
			default:
				cash, held[e.Symbol] = cash.Add(amount.Down()), held[e.Symbol].Sub(e.Quantity)
			}
			if _, plain := trade.ParseDecimal(cash.String()); !plain {
				t.Fatalf("after event %d: the cash %v has more than nine places", e.Number, cash)
			}
			if cash.Sign() < 0 || held[e.Symbol].Sign() < 0 {
				t.Fatalf("after event %d: cash %v, %v of %v", e.Number, cash, held[e.Symbol], e.Symbol)
			}
		}
	}
	if events != last {
		t.Fatalf("the account counts %d events, and there are %d", events, last)
	}
	rows, err := b.Rows(ctx, 0, 1<<20)
	if err != nil {
		t.Fatalf("rows: %v", err)
	}
	var reserved trade.Decimal
	var count, exits int64
	selling := map[trade.Symbol]trade.Decimal{}
	ids := map[string]Row{}
	for _, r := range rows {
		key := string(r.ID)
		if r.ExitsOf != "" {
			key = r.ExitsOf
			if entry := ids[string(r.ID)]; entry.Status != Filled || entry.OrderID != r.ExitsOf || entry.Filled.Cmp(r.Quantity) != 0 || r.Side == entry.Side {
				t.Fatalf("%+v are the exits of %+v", r, entry)
			}
			exits++
		}
		if _, twice := ids[key]; twice {
			t.Fatalf("two rows have the id %s", key)
		}
		ids[key] = r
		if r.Status == Filled && !fitting(r) {
			t.Fatalf("filled outside its terms: %+v", r)
		}
		if r.Status == Filled && r.ExitsOf == "" && (!r.StopLoss.IsZero() || r.TakeProfit.Sign() > 0) {
			exits--
		}
		if r.Status != Working {
			continue
		}
		count++
		if due == "" || !r.ExpiresAt.IsZero() && due > stamp(r.ExpiresAt) {
			t.Fatalf("%s works until %s, and the account says that nothing is due before %q", r.OrderID, stamp(r.ExpiresAt), due)
		}
		if r.TimeInForce == trade.IOC || r.TimeInForce == trade.FOK {
			t.Fatalf("it may not wait, and works: %+v", r)
		}
		if r.Side == trade.Buy {
			reserved = reserved.Add(cost(r.Quantity, reckoned(r)))
		} else {
			selling[r.Symbol] = selling[r.Symbol].Add(r.Quantity)
		}
	}
	if exits != 0 {
		t.Fatalf("%d exits more than filled entries that have some", exits)
	}
	h, err := b.Holdings(ctx)
	if err != nil {
		t.Fatalf("holdings: %v", err)
	}
	if count == 0 && due != "" {
		t.Fatalf("nothing works, and something is due at %s", due)
	}
	if h.Cash.Cmp(cash) != 0 || reservedText != reserved.String() || working != count || cash.Cmp(reserved) < 0 {
		t.Fatalf("cash %v, reserved %s, %d working; the fold has %v, %v, %d", h.Cash, reservedText, working, cash, reserved, count)
	}
	for _, p := range h.Positions {
		if p.Quantity.Sign() <= 0 || p.Quantity.Cmp(held[p.Symbol]) != 0 {
			t.Fatalf("%v of %v; the fold has %v", p.Quantity, p.Symbol, held[p.Symbol])
		}
		delete(held, p.Symbol)
	}
	for s, q := range held {
		if q.Sign() != 0 {
			t.Fatalf("%v of %v is missing", q, s)
		}
	}
	auditPositions(t, b, selling)
}

// reckoned is the price at which a working buy holds cash.
func reckoned(r Row) trade.Decimal {
	if r.LimitPrice.Sign() > 0 {
		return r.LimitPrice
	}
	return r.StopPrice
}

// fitting reports whether a filled row keeps its terms.
func fitting(r Row) bool {
	sign := 1
	if r.Side == trade.Sell {
		sign = -1
	}
	price := r.FilledPrice
	switch {
	case r.Filled.Cmp(r.Quantity) != 0, price.Sign() <= 0:
		return false
	case r.Amount.Sign() > 0 && r.Filled.Mul(price).Cmp(r.Amount) > 0:
		return false
	case r.ExitsOf != "":
		profits := r.TakeProfit.Sign() > 0 && price.Cmp(r.TakeProfit) >= 0
		return profits || r.Triggered && price.Cmp(r.StopLoss.Limit) >= 0
	case r.LimitPrice.Sign() > 0 && sign*price.Cmp(r.LimitPrice) > 0:
		return false
	}
	return r.StopPrice.Sign() == 0 || r.Triggered
}

// auditPositions checks that no position is smaller than its working sells, and that those are what is stored.
func auditPositions(t interface {
	Helper()
	Fatalf(string, ...any)
}, b *Broker, selling map[trade.Symbol]trade.Decimal,
) {
	t.Helper()
	rows, err := b.db.Query(`SELECT symbol, quantity, selling FROM paper_positions`)
	if err != nil {
		t.Fatalf("positions: %v", err)
	}
	defer rows.Close()
	for rows.Next() {
		var symbol, quantity, sells string
		if err := rows.Scan(&symbol, &quantity, &sells); err != nil {
			t.Fatalf("positions: %v", err)
		}
		q, _ := trade.ParseSum(quantity)
		s := selling[sym(t, symbol)]
		if sells != s.String() || q.Cmp(s) < 0 || q.Sign() <= 0 {
			t.Fatalf("%s: %s held, %s selling, the rows have %v", symbol, quantity, sells, s)
		}
		delete(selling, sym(t, symbol))
	}
	if err := rows.Err(); err != nil || len(selling) != 0 {
		t.Fatalf("working sells without a position: %v, %v", selling, err)
	}
}

// inMemory returns a directory on a disk in memory, where there is one: thousands of commits that no test cuts off need
// not wait for a real disk.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "paper-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// rounds sets how many random sequences rapid tries, unless -rapid.checks says so: each of them makes a database, and the
// race detector slows those down much.
func rounds(t *testing.T, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if checks == nil || checks.Value.String() != checks.DefValue {
		return
	}
	if err := checks.Value.Set(fmt.Sprint(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Value.Set(checks.DefValue) }) // it took the same value before
}

// wider are the terms of orders beside the limit order for the day, but for quantity and symbol.
var wider = rapid.SampledFrom([]string{
	"buy %d %s market", "sell %d %s market", "buy $%d %s market", "buy 0.%d %s market", "sell 0.%d %s market", "buy 1.%d %s at 10", "buy 1.333333333 %[2]s market", "sell 0.777777777 %[2]s market", "buy 0.123456789 %[2]s at 10.5",
	"buy %d %s stop 10", "sell %d %s stop 9.5", "sell %d %s stop 9.5 gtc",
	"buy %d %s stop 10 limit 10.5", "sell %d %s stop 10 limit 9.5 gtc",
	"buy %d %s at 10 ioc", "sell %d %s at 10 fok", "buy %d %s at 9.5 gtc", "buy %d %s at 10.5 extended",
	"buy %d %s at 10.5 opg", "sell %d %s market cls",
	"buy %d %s market sl=9.5 tp=10.5", "buy %d %s at 10 sl=9.5/9 tp=10.5 gtc", "buy %d %s stop 10 sl=9.5",
	"buy %d %s market tp=10.01",
})

// TestRandomDaysKeepTheBooks runs random orders, quotes, cancels, lookups, days and openings, and after every third of
// them recomputes the books. Every id must keep its first answer.
func TestRandomDaysKeepTheBooks(t *testing.T) {
	rounds(t, 30)
	scratch, round := inMemory(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		dir := filepath.Join(scratch, fmt.Sprint(round))
		if err := os.Mkdir(dir, 0o700); err != nil {
			rt.Fatalf("%v", err)
		}
		v := newVenueIn(t, dir, "1000")
		defer v.Close()
		first, actions := map[string]string{}, 0
		sent := []string{}
		side := rapid.SampledFrom([]string{"buy", "buy", "sell"})
		symbol := rapid.SampledFrom([]string{"AAPL", "MSFT"})
		price := rapid.SampledFrom([]string{"1", "9.5", "10", "10.000000001", "10.5", "200"})
		terms := map[string]string{}
		submit := func(id string) {
			got := v.sends(id, terms[id])
			if was, ok := first[id]; ok && was != got {
				rt.Fatalf("%s was answered %q, now %q", id, was, got)
			}
			first[id] = got
		}
		rt.Repeat(map[string]func(*rapid.T){
			"order": func(rt *rapid.T) {
				id := fmt.Sprint(len(sent))
				sent = append(sent, id)
				terms[id] = fmt.Sprintf("%s %d %s at %s", side.Draw(rt, "side"), rapid.IntRange(1, 40).Draw(rt, "quantity"), symbol.Draw(rt, "symbol"), price.Draw(rt, "limit"))
				submit(id)
			},
			"wide order": func(rt *rapid.T) {
				id := fmt.Sprint(len(sent))
				sent = append(sent, id)
				terms[id] = fmt.Sprintf(wider.Draw(rt, "terms"), rapid.IntRange(1, 40).Draw(rt, "quantity"), symbol.Draw(rt, "symbol"))
				submit(id)
			},
			"again": func(rt *rapid.T) {
				if len(sent) > 0 {
					submit(rapid.SampledFrom(sent).Draw(rt, "id"))
				}
			},
			"cancel": func(rt *rapid.T) {
				if len(sent) == 0 {
					return
				}
				c := v.clearedFor(rapid.SampledFrom(sent).Draw(rt, "id"), terms[rapid.SampledFrom(sent).Draw(rt, "terms")])
				c.Exits = rapid.Bool().Draw(rt, "exits")
				if _, err := v.cancel(context.Background(), c); err != nil {
					rt.Fatalf("cancel: %v", err)
				}
			},
			"lookup": func(rt *rapid.T) {
				if len(sent) == 0 {
					return
				}
				id := rapid.SampledFrom(sent).Draw(rt, "id")
				r, err := v.Lookup(context.Background(), trade.BrokerOrderID("sp-"+id), v.clock().Add(-1))
				if err != nil || line(r) != first[id] {
					rt.Fatalf("lookup of %s: %v, %v; was answered %q", id, line(r), err, first[id])
				}
			},
			"quote": func(rt *rapid.T) { v.quote(symbol.Draw(rt, "symbol"), price.Draw(rt, "bid"), price.Draw(rt, "ask")) },
			"wait": func(rt *rapid.T) {
				v.set(v.clock().Add(time.Duration(rapid.IntRange(0, 30).Draw(rt, "hours")) * time.Hour))
			},
			"reopen": func(rt *rapid.T) { v.reopen() },
			"": func(rt *rapid.T) {
				if actions++; actions%3 == 0 {
					audit(rt, v.Broker)
				}
			},
		})
		audit(rt, v.Broker)
	})
}
