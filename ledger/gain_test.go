package ledger

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sallyport/policy"
	"sallyport/trade"
)

// deal is a fill of an intent: its number, then what it does, as "+10@150" or "-4@149.5".
func deal(t interface{ Fatalf(string, ...any) }, number uint64, n int, text string) Happened {
	side, quantity, price := "buy", "", ""
	if text[0] == '-' {
		side = "sell"
	}
	if _, err := fmt.Sscanf(text[1:], "%s", &quantity); err != nil {
		t.Fatalf("%v", err)
	}
	for i := range quantity {
		if quantity[i] == '@' {
			quantity, price = quantity[:i], quantity[i+1:]
			break
		}
	}
	h := fill(number, n, order(t, side, "AAPL", "1", "1"), quantity)
	h.Price = decimal(price)
	return h
}

func TestGainsByAverageCost(t *testing.T) {
	for _, c := range []struct {
		name    string
		fills   []string
		average string // empty: not known
		gained  string // empty: not known
		losses  int
	}{
		{"nothing", nil, "", "0", 0},
		{"a buy", []string{"+10@150"}, "150", "0", 0},
		{"two buys", []string{"+10@150", "+30@154"}, "153", "0", 0},
		{"rounded up, against us", []string{"+1@1", "+2@1.000000001"}, "1.000000001", "0", 0},
		{"exact to nine places", []string{"+1@1", "+1@1.000000002"}, "1.000000001", "0", 0},
		{"a part is sold higher", []string{"+10@150", "-4@151"}, "150", "4", 0},
		{"a part is sold lower", []string{"+10@150", "-4@149.5"}, "150", "-2", 1},
		{"even", []string{"+10@150", "-4@150"}, "150", "0", 0},
		{"all is sold", []string{"+10@150", "-10@149"}, "", "-10", 1},
		{"bought again after all was sold", []string{"+10@150", "-10@149", "+1@7"}, "7", "-10", 1},
		{"a loss, a gain, a loss", []string{"+10@150", "-1@149", "-1@151", "-1@140"}, "150", "-10", 1},
		{"three losses", []string{"+10@150", "-1@149", "-1@149", "-1@149.999999999"}, "150", "-2.000000001", 3},
		{"more is sold than was held", []string{"+10@150", "-15@151"}, "151", "10", 0},
		{"short, bought back lower", []string{"-10@150", "+10@149"}, "", "10", 0},
		{"short, bought back higher", []string{"-10@150", "+4@151"}, "150", "-4", 1},
		{"short, rounded down, against us", []string{"-1@1", "-2@1.000000001"}, "1", "0", 0},
		{"through zero and back", []string{"+5@10", "-10@9", "+10@8"}, "8", "0", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := began()
			for i, text := range c.fills {
				s.Apply(t0, deal(t, uint64(i+1), i, text))
			}
			for range 2 {
				average, gained, losses := s.AveragePrice("paper", mustSymbol("AAPL")), s.Realised("paper", t0.Add(-time.Microsecond)), s.ConsecutiveLosses("paper")
				if average.Known != (c.average != "") || average.Known && average.Value.Cmp(decimal(c.average)) != 0 {
					t.Errorf("average %s, %t; want %q", average.Value, average.Known, c.average)
				}
				if !gained.Known || gained.Value.String() != c.gained {
					t.Errorf("gained %s, %t; want %s", gained.Value, gained.Known, c.gained)
				}
				if losses != (policy.Count{N: c.losses, Known: true}) {
					t.Errorf("losses %+v; want %d", losses, c.losses)
				}
				s = restart(t, s)
			}
		})
	}
}

func TestRealisedIsOfItsWindow(t *testing.T) {
	s := began(deal(t, 1, 1, "+10@100"))
	s.Apply(t0, deal(t, 2, 2, "-1@99"))
	s.Apply(t0.Add(time.Microsecond), deal(t, 3, 3, "-1@97"))
	for since, want := range map[time.Time]string{
		t0.Add(-time.Microsecond): "-4", t0: "-3", t0.Add(time.Microsecond): "0",
	} {
		if got := s.Realised("paper", since); !got.Known || got.Value.String() != want {
			t.Errorf("since %s: %s, %t; want %s", since, got.Value, got.Known, want)
		}
	}
	s.Apply(t0.Add(kept), deal(t, 4, 4, "-1@100"))
	if s.Realised("paper", t0.Add(-time.Microsecond)).Known || !s.Realised("paper", t0).Known {
		t.Error("what is forgotten is not known, and what is not is")
	}
	if got := s.Realised("other", t0); !got.Known || got.Value.Sign() != 0 {
		t.Error("an account without fills gained something")
	}
}

// TestFillsOfOneOrderAreOneLoss: an order that is filled in parts is one loss, whatever each part was.
func TestFillsOfOneOrderAreOneLoss(t *testing.T) {
	s := began(deal(t, 1, 1, "+100@10"))
	for i, c := range []struct {
		intent int
		text   string
		want   int
	}{
		{2, "-1@9", 1},
		{2, "-1@9", 1},
		{2, "-1@13", 0}, // together it gained
		{2, "-1@8", 1},
		{3, "-1@9", 2},
		{4, "-1@9", 3},
		{3, "-1@9", 4}, // in parts again, which is more and never less
		{5, "-1@10", 0},
		{6, "-1@9", 1},
	} {
		s.Apply(t0, deal(t, uint64(i+2), c.intent, c.text))
		if s = restart(t, s); s.ConsecutiveLosses("paper") != (policy.Count{N: c.want, Known: true}) {
			t.Fatalf("after %d fills: %+v, want %d", i+1, s.ConsecutiveLosses("paper"), c.want)
		}
	}
	unexplained := deal(t, 20, 1, "-1@9")
	unexplained.Intent = ""
	s.Apply(t0, unexplained)
	unexplained.Number++
	s.Apply(t0, unexplained)
	if n := s.ConsecutiveLosses("paper").N; n != 3 {
		t.Errorf("fills that no order explains count each: %d, want 3", n)
	}
	s.Apply(t0, KillReset{Scope: Scope{OneAgent, "a"}, By: "p"})
	if n := s.ConsecutiveLosses("paper").N; n != 3 {
		t.Errorf("an agent's reset is not the account's: %d", n)
	}
	s.Apply(t0, KillReset{Scope: Scope{OneAccount, "paper"}, By: "p"})
	if n := s.ConsecutiveLosses("paper"); n != (policy.Count{Known: true}) {
		t.Errorf("after a person's reset: %+v", n)
	}
}

// TestPositionFromBeforeHasNoAverage: what an earlier version kept has no cost, and nothing is made up for it.
//
//attack:ledger-gain
func TestPositionFromBeforeHasNoAverage(t *testing.T) {
	s := fold(deal(t, 1, 1, "+10@100"), HistoryBegan{})
	if s.ConsecutiveLosses("paper").Known || s.Realised("paper", t0.Add(-time.Microsecond)).Known {
		t.Error("what was before it began is known")
	}
	later := t0.Add(time.Second)
	s.Apply(later, deal(t, 2, 2, "+10@1"))
	if s.AveragePrice("paper", mustSymbol("AAPL")).Known {
		t.Error("half of a cost is an average")
	}
	s.Apply(later, deal(t, 3, 3, "-1@500"))
	if s.Realised("paper", t0).Known {
		t.Error("a gain without a cost is known")
	}
	if n := s.ConsecutiveLosses("paper"); n.Known || n.N != 1 {
		t.Errorf("a gain that is not known is a loss: %+v", n)
	}
	s.Apply(later, deal(t, 4, 4, "-19@500"))
	s.Apply(later, deal(t, 5, 5, "+1@10"))
	if a := s.AveragePrice("paper", mustSymbol("AAPL")); !a.Known || a.Value.String() != "10" {
		t.Errorf("a position that began later: %+v", a)
	}
	s.Apply(later.Add(time.Second), deal(t, 6, 6, "-1@11"))
	s = restart(t, s)
	if n := s.ConsecutiveLosses("paper"); n != (policy.Count{Known: true}) {
		t.Errorf("after a close that gained, none is in a row: %+v", n)
	}
	if g := s.Realised("paper", later); !g.Known || g.Value.String() != "1" {
		t.Errorf("gained %+v", g)
	}
}

// TestAverageIsExactCostRoundedAgainstUs compares with fractions of whole numbers: the average is never below the true
// one, by less than a billionth a fill, and what was gained is never above.
//
//attack:ledger-gain
func TestAverageIsExactCostRoundedAgainstUs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := began()
		held, cost, gained := new(big.Rat), new(big.Rat), new(big.Rat)
		buys := int64(0)
		for i := range rapid.IntRange(1, 30).Draw(t, "fills") {
			q := rapid.Int64Range(1, 1_000_000).Draw(t, "quantity")
			price := fmt.Sprintf("%d.%09d", rapid.IntRange(0, 5000).Draw(t, "dollars"), rapid.IntRange(1, 999_999_999).Draw(t, "parts"))
			p, _ := new(big.Rat).SetString(price)
			if have := held.Num().Int64(); rapid.Bool().Draw(t, "sell") && have > 0 {
				q = min(q, have)
				part := new(big.Rat).Mul(cost, big.NewRat(q, have))
				gained.Add(gained, new(big.Rat).Sub(new(big.Rat).Mul(p, big.NewRat(q, 1)), part))
				cost.Sub(cost, part)
				held.Sub(held, big.NewRat(q, 1))
				s.Apply(t0, deal(t, uint64(i+1), i, fmt.Sprintf("-%d@%s", q, price)))
			} else {
				buys++
				cost.Add(cost, new(big.Rat).Mul(p, big.NewRat(q, 1)))
				held.Add(held, big.NewRat(q, 1))
				s.Apply(t0, deal(t, uint64(i+1), i, fmt.Sprintf("+%d@%s", q, price)))
			}
		}
		if held.Sign() > 0 {
			is, _ := new(big.Rat).SetString(s.AveragePrice("paper", mustSymbol("AAPL")).Value.String())
			over := is.Sub(is, new(big.Rat).Quo(cost, held))
			if over.Sign() < 0 || over.Cmp(big.NewRat(buys, billion)) >= 0 {
				t.Fatalf("the average is off by %s after %d buys", over, buys)
			}
		}
		is, _ := new(big.Rat).SetString(s.Realised("paper", t0.Add(-time.Second)).Value.String())
		if is.Cmp(gained) > 0 {
			t.Fatalf("gained %s, and truly %s", is, gained)
		}
	})
}

//attack:ledger-day-baseline
//attack:ledger-day-peak
//fault:f109
func TestBaselineOfADayStays(t *testing.T) {
	day := func(date, equity string) Event {
		return DayBegan{Account: "paper", Date: date, Start: t0, Equity: decimal(equity)}
	}
	s := NewState()
	for i, c := range []struct {
		e    Event
		want string
	}{
		{Marked{Account: "paper", Equity: decimal("9")}, " 0 0"}, // no day has begun
		{day("2026-11-30", "100"), "2026-11-30 100 100"},
		{day("2026-11-30", "500"), "2026-11-30 100 100"},
		{day("2026-11-29", "500"), "2026-11-30 100 100"},
		{Marked{Account: "paper", Equity: decimal("99")}, "2026-11-30 100 100"},
		{Marked{Account: "paper", Equity: decimal("101.5")}, "2026-11-30 100 101.5"},
		{Marked{Account: "paper", Equity: decimal("101")}, "2026-11-30 100 101.5"},
		{day("2026-12-01", "7"), "2026-12-01 7 7"},
	} {
		s.Apply(t0, c.e)
		s = restart(t, s)
		if d := s.Day("paper"); fmt.Sprint(d.Date, " ", d.Equity, " ", d.Peak) != c.want {
			t.Errorf("after event %d: %+v, want %s", i, d, c.want)
		}
	}
}

func TestExposureAtWorst(t *testing.T) {
	aapl := mustSymbol("AAPL")
	buy := func(n int, symbol, quantity, price string, c Clearance) Event {
		return allowed(n, order(t, "buy", symbol, quantity, price), c)
	}
	sell := func(n int, symbol, quantity, price string, c Clearance) Event {
		return allowed(n, order(t, "sell", symbol, quantity, price), c)
	}
	marks := map[string]Mark{"AAPL": {decimal("9"), decimal("10")}, "MSFT": {decimal("99"), decimal("100")}}
	have := deal(t, 1, 100, "+20@9")
	for _, c := range []struct {
		name    string
		events  []Event
		without trade.IntentID
		want    string // symbol long, gross, net long, net short, positions, open orders
	}{
		{"an account that no event is about", nil, "", "? ? ? ? ? 0"},
		{"an account of which no venue told", []Event{buy(1, "AAPL", "1", "1", ClearsSend)}, "", "? ? ? ? ? 1"},
		{"a position", []Event{have}, "", "200 200 200 -180 180 0"},
		{"a buy below the ask", []Event{have, buy(1, "AAPL", "5", "8", ClearsSend)}, "", "250 250 250 -180 180 1"},
		{"a buy above the ask", []Event{have, buy(1, "AAPL", "5", "12", ClearsPermission)}, "", "260 260 260 -180 180 1"},
		{"a sell", []Event{have, sell(1, "AAPL", "5", "12", ClearsSend)}, "", "200 260 200 -135 180 1"},
		{"a sell of more than is held", []Event{have, sell(1, "AAPL", "25", "10", ClearsSend)}, "", "200 450 200 50 180 1"},
		{"sells of more than is held, above the market", []Event{have, sell(1, "AAPL", "15", "10", ClearsSend), sell(2, "AAPL", "10", "30", ClearsSend)}, "", "200 650 200 150 180 2"},
		{"sells of what is not held", []Event{sell(1, "MSFT", "5", "190", ClearsSend), sell(2, "MSFT", "5", "100", ClearsSend), have}, "", "200 1650 200 1270 180 2"},
		{"a sell of it that is judged again", []Event{have, sell(1, "AAPL", "25", "10", ClearsSend)}, intent(1), "200 200 200 -180 180 0"},
		{"a buy that is judged again", []Event{have, buy(1, "AAPL", "5", "12", ClearsSend)}, intent(1), "200 200 200 -180 180 0"},
		{"a held buy", []Event{have, heldOrder(1, order(t, "buy", "AAPL", "5", "12"), 1)}, "", "260 260 260 -180 180 1"},
		{"half is filled", []Event{have, buy(1, "AAPL", "10", "12", ClearsSend), fill(2, 1, order(t, "buy", "AAPL", "10", "12"), "4")}, "", "312 312 312 -216 216 1"},
		{"an accepted order of which nobody tells", []Event{have, buy(1, "AAPL", "5", "12", ClearsPermission), Concluded{Intent: intent(1), Outcome: trade.Accepted, Source: FromReport}}, "", "260 260 260 -180 180 0"},
		{"accepted ones below the ask", []Event{have, buy(1, "AAPL", "5", "8", ClearsPermission), Concluded{Intent: intent(1), Outcome: trade.Accepted, Source: FromReport}}, "", "250 250 250 -180 180 0"},
		{"accepted sells of more than is held, above the market", []Event{have, sell(1, "AAPL", "25", "30", ClearsPermission), Concluded{Intent: intent(1), Outcome: trade.Accepted, Source: FromReport}}, "", "200 950 200 150 180 0"},
		{"another symbol", []Event{have, buy(1, "MSFT", "1", "50", ClearsSend)}, "", "200 300 300 -180 180 1"},
		{"a symbol without a mark", []Event{have, buy(1, "IBM", "1", "50", ClearsSend)}, "", "200 ? ? ? ? 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := began(c.events...).Exposure("paper", aapl, c.without, func(s trade.Symbol) (Mark, bool) {
				m, ok := marks[s.String()]
				return m, ok
			})
			got := ""
			for _, k := range []policy.Known{x.SymbolLong, x.Gross, x.NetLong, x.NetShort, x.Positions} {
				if k.Known {
					got += k.Value.String() + " "
				} else {
					got += "? "
				}
			}
			if got += fmt.Sprint(x.OpenOrders); got != c.want {
				t.Errorf("%s; want %s", got, c.want)
			}
		})
	}
}

func TestHistoryAllocatesNothing(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "1.00")
	s := began()
	for n := range 1000 {
		s.Apply(t0.Add(time.Duration(n)*time.Second), sentBy(n, "a", o, "r"))
	}
	var h History
	s.History(&h, "a", o, "")
	if n := testing.AllocsPerRun(100, func() {
		s.History(&h, "a", o, "")
		for per := policy.PerAccount; per <= policy.PerRule; per++ {
			h.Orders(per, "r", t0)
			h.Notional(per, "r", t0)
			h.Rejections(per, t0)
			h.Denials(per, t0)
		}
		h.Similar(t0)
	}); n != 0 {
		t.Errorf("it allocates %v times", n)
	}
}

func BenchmarkApply(b *testing.B) {
	o := order(b, "buy", "AAPL", "10", "150.00")
	for name, s := range map[string]*State{"without a past": fold(), "with a past": began()} {
		e, out := sentBy(1, "a", o, "r"), Concluded{Intent: intent(1), Outcome: trade.Rejected, Source: FromPerson}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				at := t0.Add(time.Duration(i) * time.Second)
				s.Apply(at, e)
				s.Apply(at, out)
			}
		})
	}
}

func BenchmarkHistory(b *testing.B) {
	o := order(b, "buy", "AAPL", "10", "150.00")
	for _, n := range []int{100, 1000, 10_000} {
		s := began()
		for i := range n {
			s.Apply(t0.Add(time.Duration(i)*time.Second), sentBy(1, "a", o, "r"))
			s.Apply(t0, Concluded{Intent: intent(1), Outcome: trade.Rejected, Source: FromPerson})
		}
		raw := s.AppendSnapshot(nil)
		b.Run(fmt.Sprintf("read %d", n), func(b *testing.B) {
			b.ReportMetric(float64(len(raw))/float64(n), "bytes/order")
			for b.Loop() {
				if _, err := ReadSnapshot(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("read and ask %d", n), func(b *testing.B) {
			for b.Loop() {
				back, _ := ReadSnapshot(raw)
				var h History
				back.History(&h, "a", o, "")
			}
		})
		b.Run(fmt.Sprintf("ask %d", n), func(b *testing.B) {
			var h History
			since := t0.Add(time.Duration(n/2) * time.Second)
			for b.Loop() {
				s.History(&h, "a", o, "")
				h.Orders(policy.PerAgent, "", since)
				h.Notional(policy.PerRule, "r", since)
			}
		})
	}
}
