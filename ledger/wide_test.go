package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sallyport/policy"
	"sallyport/trade"
)

// wide reads an order of any terms in one line: "buy AAPL quantity=10 type=market". It is for the day unless it says
// otherwise.
func wide(t interface{ Fatalf(string, ...any) }, line string) trade.Order {
	words := strings.Fields(line)
	d := trade.Draft{Account: "paper", Side: text("side", words[0]), Symbol: text("symbol", words[1]), TimeInForce: text("time_in_force", "day")}
	slots := map[string]*trade.Text{
		"quantity": &d.Quantity, "notional": &d.Notional, "type": &d.Type, "limit_price": &d.LimitPrice, "stop_price": &d.StopPrice,
		"time_in_force": &d.TimeInForce, "extended_hours": &d.ExtendedHours, "stop_loss": &d.StopLoss,
		"stop_loss_limit": &d.StopLossLimit, "take_profit": &d.TakeProfit,
	}
	for _, w := range words[2:] {
		name, value, _ := strings.Cut(w, "=")
		*slots[name] = text(name, value)
		if name == "extended_hours" {
			slots[name].Kind = trade.IsFlag
		}
	}
	o, _, faults := trade.Parse(d)
	if len(faults) > 0 {
		t.Fatalf("%s: %v", line, faults)
	}
	return o
}

// wideLines are orders of every kind that the first version did not have. Their prices read back as they are written.
var wideLines = []string{
	"buy AAPL quantity=10 type=market",
	"sell MSFT quantity=0.5 type=market",
	"buy AAPL notional=1000.25 type=market",
	"sell AAPL quantity=10 type=stop stop_price=140.25 time_in_force=gtc",
	"buy AAPL quantity=1 type=stop stop_price=160.25 stop_loss=150.25",
	"sell AAPL quantity=1 type=stop_limit stop_price=140.25 limit_price=139.25",
	"buy MSFT quantity=10 type=limit limit_price=150.25 take_profit=170.25 stop_loss=140.25 stop_loss_limit=139.25",
	"buy AAPL quantity=10 type=market take_profit=170.25",
	"buy AAPL quantity=1.25 type=limit limit_price=150.25 extended_hours=true",
}

// anyOrder draws an order, a wide one now and then.
func anyOrder(t *rapid.T) trade.Order {
	if rapid.IntRange(0, 2).Draw(t, "wide") == 0 {
		return wide(t, rapid.SampledFrom(wideLines).Draw(t, "order"))
	}
	return order(t, rapid.SampledFrom([]string{"buy", "sell"}).Draw(t, "side"), rapid.SampledFrom([]string{"AAPL", "MSFT"}).Draw(t, "symbol"),
		rapid.SampledFrom([]string{"1", "10", "999999999999"}).Draw(t, "quantity"), "150.25")
}

// anyHappened draws what a venue tells of an intent: fills and ends, of the order or of its exits.
func anyHappened(t *rapid.T, number uint64, n int, o trade.Order) Happened {
	h := fill(number, n, o, rapid.SampledFrom([]string{"1", "0.5", "10"}).Draw(t, "filled"))
	h.Price = rapid.SampledFrom([]trade.Decimal{decimal("100"), decimal("150.25")}).Draw(t, "fill price")
	if rapid.IntRange(0, 2).Draw(t, "other side") == 0 {
		h.Side = trade.Buy + trade.Sell - h.Side
	}
	if rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
		h.What, h.Price = rapid.SampledFrom([]string{WasCancelled, WasExpired}).Draw(t, "how"), trade.Decimal{}
	}
	return h
}

// written is an open intent whose sums are as they are read: 1.0 is 1.
func written(o *Open) Open {
	w := *o
	for _, d := range []*trade.Decimal{&w.Filled, &w.Exited, &w.Spent, &w.Price, &w.Value} {
		*d, _ = trade.ParseSum(d.String())
	}
	return w
}

// told tells the state what the venue says of intent 1.
func told(s *State, number uint64, words string) { s.Apply(t0, happenedOf(number, words)) }

// happenedOf reads what a venue says of intent 1: "+5@100" and "-5@100" are fills, "buy cancelled" is an end.
func happenedOf(number uint64, words string) Happened {
	h := Happened{Account: "paper", Number: number, Intent: intent(1), Symbol: mustSymbol("AAPL")}
	if side, how, ends := strings.Cut(words, " "); ends {
		h.Side, _ = trade.ParseSide(side)
		h.What, h.Quantity = how, decimal("1")
	} else {
		quantity, price, _ := strings.Cut(words[1:], "@")
		h.What, h.Side, h.Quantity, h.Price = WasFilled, trade.Buy, decimal(quantity), decimal(price)
		if words[0] == '-' {
			h.Side = trade.Sell
		}
	}
	return h
}

// stands shows what an intent and its symbol have: position, pending buys and sells, and whether the intent is open.
func stands(s *State) string {
	f := s.Facts("paper", mustSymbol("AAPL"), "")
	word := "ended"
	if o := s.Open(intent(1)); o != nil {
		word = fmt.Sprintf("open, %s filled, exits %s", o.Filled, o.Exits())
	}
	return fmt.Sprintf("%s +%s -%s %s", f.Position, f.PendingBuys, f.PendingSells, word)
}

// TestExitsArePendingFromTheFirstFillOnUntilTheyEnd follows orders with exits through what a venue can tell.
//
//attack:ledger-exits
//attack:ledger-filled
func TestExitsArePendingFromTheFirstFillOnUntilTheyEnd(t *testing.T) {
	const bracket = "buy AAPL quantity=10 type=limit limit_price=100 stop_loss=90 take_profit=120"
	for name, steps := range map[string][][2]string{
		"filled, then taken": {
			{"", "0 +10 -0 open, 0 filled, exits 0"}, {"+10@99", "10 +0 -10 open, 10 filled, exits 10"}, {"-10@120", "0 +0 -0 ended"},
		},
		"in parts on both sides": {
			{"+4@99", "4 +6 -4 open, 4 filled, exits 4"}, {"-1@120", "3 +6 -3 open, 4 filled, exits 3"},
			{"+6@99", "9 +0 -9 open, 10 filled, exits 9"}, {"-9@90", "0 +0 -0 ended"},
		},
		"the rest is cancelled, the exits stay": {
			{"+4@99", "4 +6 -4 open, 4 filled, exits 4"}, {"buy cancelled", "4 +0 -4 open, 4 filled, exits 4"}, {"-4@90", "0 +0 -0 ended"},
		},
		"nothing was filled, so nothing protects it": {{"buy expired", "0 +0 -0 ended"}},
		"the exits are cancelled": {
			{"+10@99", "10 +0 -10 open, 10 filled, exits 10"}, {"sell cancelled", "10 +0 -0 ended"},
		},
		"the exits of a part are cancelled": {
			{"+4@99", "4 +6 -4 open, 4 filled, exits 4"}, {"sell cancelled", "4 +6 -0 open, 4 filled, exits 0"},
			{"+6@99", "10 +0 -6 open, 10 filled, exits 6"}, {"sell expired", "10 +0 -0 ended"},
		},
		"an end of the order after it is filled ends no exit": {
			{"+10@99", "10 +0 -10 open, 10 filled, exits 10"}, {"buy cancelled", "10 +0 -10 open, 10 filled, exits 10"},
		},
		"an exit that fills more than there was": {{"+4@99", "4 +6 -4 open, 4 filled, exits 4"}, {"-5@90", "-1 +6 -0 open, 4 filled, exits 0"}},
		"an exit that fills before the order":    {{"-5@90", "-5 +10 -0 open, 0 filled, exits 0"}},
		"an overfill":                            {{"+11@99", "11 +0 -10 open, 10 filled, exits 10"}},
	} {
		follow(t, name, allowed(1, wide(t, bracket), ClearsSend), steps)
	}
}

// follow applies what a venue tells of a decision, step by step and with a restart after each, and compares how it stands.
func follow(t *testing.T, name string, d Decided, steps [][2]string) {
	t.Helper()
	s := fold(HistoryBegan{FromStart: true}, d)
	for i, step := range steps {
		if step[0] != "" {
			told(s, uint64(i+1), step[0])
		}
		s = restart(t, s)
		if got := stands(s); got != step[1] {
			t.Errorf("%s, %q: %s, want %s", name, step[0], got, step[1])
		}
	}
}

// TestAnAmountIsPendingForTheSharesThatItsDecisionSays follows orders by amount.
//
//attack:ledger-amount
func TestAnAmountIsPendingForTheSharesThatItsDecisionSays(t *testing.T) {
	for name, c := range map[string]struct {
		shares policy.Known
		steps  [][2]string
	}{
		"filled at once": {policy.Known{Value: decimal("11"), Known: true}, [][2]string{
			{"", "0 +11 -0 open, 0 filled, exits 0"}, {"+10@100", "10 +0 -0 ended"},
		}},
		"filled in parts, with less than a billionth of a share left": {policy.Known{Value: decimal("11"), Known: true}, [][2]string{
			{"+2@300", "2 +9 -0 open, 2 filled, exits 0"}, {"+1.333333333@300", "3.333333333 +0 -0 ended"},
		}},
		"a part, and the rest expires": {policy.Known{Value: decimal("11"), Known: true}, [][2]string{
			{"+2@300", "2 +9 -0 open, 2 filled, exits 0"}, {"buy expired", "2 +0 -0 ended"},
		}},
		"more than was ever expected": {policy.Known{Value: decimal("11"), Known: true}, [][2]string{
			{"+11@50", "11 +-1 -0 open, 11 filled, exits 0"}, {"+9@50", "20 +0 -0 ended"},
		}},
		"nobody could say": {policy.Known{}, [][2]string{
			{"", "0 +-1 -0 open, 0 filled, exits 0"}, {"+4@100", "4 +-1 -0 open, 4 filled, exits 0"}, {"+6@100", "10 +0 -0 ended"},
		}},
		"nobody could say, and it is cancelled": {policy.Known{}, [][2]string{{"buy cancelled", "0 +0 -0 ended"}}},
	} {
		d := allowed(1, wide(t, "buy AAPL notional=1000 type=market"), ClearsSend)
		d.Ruling.Shares = c.shares
		follow(t, name, d, c.steps)
	}
}

func TestASecondJudgementLeavesOutWhatItsOwnOrderHasPending(t *testing.T) {
	for line, want := range map[string]string{
		"buy AAPL notional=1000 type=market":                              "0 0",
		"sell AAPL quantity=10 type=stop stop_price=140":                  "0 0",
		"buy AAPL quantity=10 type=limit limit_price=100 take_profit=120": "0 0",
	} {
		s := fold(allowed(1, wide(t, line), ClearsPermission))
		f := s.Facts("paper", mustSymbol("AAPL"), intent(1))
		if got := fmt.Sprintf("%s %s", f.PendingBuys, f.PendingSells); got != want {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// TestExposureOfWideOrdersIsTheWorst values what is open at marks of 99 and 100.
func TestExposureOfWideOrdersIsTheWorst(t *testing.T) {
	value := func(v string) Ruling { return Ruling{Effect: policy.Allow, Value: decimal(v)} }
	for _, c := range []struct {
		name, line string
		ruling     Ruling
		told       string
		want       string // symbol long, gross, net long, net short
	}{
		{"a market buy as it was judged", "buy AAPL quantity=10 type=market", value("1010"), "", "1010 1010 1010 0"},
		{"a market buy that nobody could value, at the ask", "buy AAPL quantity=10 type=market", Ruling{Effect: policy.Allow}, "", "1000 1000 1000 0"},
		{"a market buy that the market has left behind", "buy AAPL quantity=10 type=market", value("10"), "", "1000 1000 1000 0"},
		{"the half that is left of one", "buy AAPL quantity=10 type=market", value("1010"), "+5@100", "1005 1005 1005 -495"},
		{"a third of a cent is rounded up", "buy AAPL quantity=3 type=market", value("310"), "", "310.000000002 310.000000002 310.000000002 0"},
		{"a stop above the market", "buy AAPL quantity=10 type=stop stop_price=120", Ruling{Effect: policy.Allow}, "", "1200 1200 1200 0"},
		{"a stop-limit at its limit", "buy AAPL quantity=10 type=stop_limit stop_price=120 limit_price=125", value("1"), "", "1250 1250 1250 0"},
		{"a stop that sells", "sell AAPL quantity=10 type=stop stop_price=90", Ruling{Effect: policy.Allow}, "", "0 1000 0 1000"},
		{"an amount", "buy AAPL notional=1000 type=market", Ruling{Effect: policy.Allow}, "", "1000 1000 1000 0"},
		{"what is left of an amount", "buy AAPL notional=1000 type=market", Ruling{Effect: policy.Allow}, "+4@100", "1000 1000 1000 -396"},
		{
			"exits add nothing to the position that they close", "buy AAPL quantity=10 type=limit limit_price=100 stop_loss=90 take_profit=120",
			Ruling{Effect: policy.Allow}, "+10@100", "1000 1000 1000 0",
		},
	} {
		d := allowed(1, wide(t, c.line), ClearsSend)
		d.Ruling = c.ruling
		s := fold(HistoryBegan{FromStart: true}, Happened{Account: "paper", Number: 1, What: WasExpired, Symbol: mustSymbol("AAPL"), Side: trade.Buy}, d)
		if c.told != "" {
			told(s, 2, c.told)
		}
		s = restart(t, s)
		x := s.Exposure("paper", mustSymbol("AAPL"), "", func(trade.Symbol) (Mark, bool) { return Mark{decimal("99"), decimal("100")}, true })
		if got := fmt.Sprintf("%s %s %s %s", show(x.SymbolLong), show(x.Gross), show(x.NetLong), show(x.NetShort)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		without := s.Exposure("paper", mustSymbol("AAPL"), "", func(trade.Symbol) (Mark, bool) { return Mark{}, false })
		if without.SymbolLong.Known || without.Gross.Known || without.NetShort.Known {
			t.Errorf("%s: without a mark it is %+v", c.name, without)
		}
	}
}

// TestAnOrderIsWorthNoLessOnceItIsPosted: a report ends the intent, and not what it may cost.
//
//attack:ledger-posted
func TestAnOrderIsWorthNoLessOnceItIsPosted(t *testing.T) {
	amount := wide(t, "buy AAPL notional=50000 type=market")
	s := began(AccountSeen{Account: "paper"}, allowed(1, amount, ClearsPermission), Concluded{Intent: intent(1), Outcome: trade.Accepted, Source: FromReport})
	mark := func(trade.Symbol) (Mark, bool) { return Mark{decimal("99"), decimal("100")}, true }
	if x := s.Exposure("paper", mustSymbol("MSFT"), "", mark); x.Gross.Known || x.NetLong.Known || !x.SymbolLong.Known || !x.NetShort.Known {
		t.Errorf("an amount of nobody knows how many shares is posted: %+v", x)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := began(AccountSeen{Account: "paper"}, Happened{
			Account: "paper", Number: 1, What: WasFilled, Symbol: mustSymbol("AAPL"), Side: trade.Buy, Quantity: decimal("7"), Price: decimal("90"),
		})
		n := rapid.IntRange(1, 4).Draw(t, "orders")
		for i := range n {
			o := anyOrder(t)
			d := allowed(1+i, o, rapid.SampledFrom([]Clearance{ClearsSend, ClearsPermission}).Draw(t, "clears"))
			d.Ruling.Value = rapid.SampledFrom([]trade.Decimal{{}, decimal("5"), decimal("1234.5")}).Draw(t, "value")
			if o.ByAmount() {
				d.Ruling.Shares = rapid.SampledFrom([]policy.Known{{}, {Value: decimal("5"), Known: true}}).Draw(t, "shares")
			}
			s.Apply(t0, d)
		}
		ask := trade.Whole(rapid.SampledFrom([]uint32{2, 100, 150, 400}).Draw(t, "ask"))
		look := func() [4]policy.Known {
			x := s.exposure("paper", mustSymbol("AAPL"), "", func(trade.Symbol) (Mark, bool) { return Mark{ask.Sub(trade.Whole(1)), ask}, true },
				func(ask trade.Decimal) trade.Decimal { return ask.Mul(decimal("1.1")) })
			return [4]policy.Known{x.SymbolLong, x.Gross, x.NetLong, x.NetShort}
		}
		was := look()
		for i := range n {
			s.Apply(t0, Concluded{Intent: intent(1 + i), Outcome: trade.Accepted, Source: FromReport})
			if rapid.Bool().Draw(t, "restart") {
				s = restart(t, s)
			}
			for j, k := range look() {
				if k.Known && (!was[j].Known || k.Value.Cmp(was[j].Value) < 0) {
					t.Fatalf("%d posted: exposure %d is %s, was %s", i+1, j, show(k), show(was[j]))
				}
			}
		}
	})
}

// TestOrdersAtTheMarketAreDearerThanTheAsk: what waits for the market is valued with the slippage at every quote.
func TestOrdersAtTheMarketAreDearerThanTheAsk(t *testing.T) {
	for line, want := range map[string]string{
		"buy AAPL quantity=10 type=market":                                  "1100",
		"buy AAPL quantity=10 type=stop stop_price=90":                      "1100",
		"buy AAPL quantity=10 type=limit limit_price=90":                    "1000",
		"buy AAPL quantity=10 type=stop_limit stop_price=90 limit_price=95": "1000",
	} {
		s := fold(HistoryBegan{FromStart: true}, Happened{Account: "paper", Number: 1, What: WasExpired, Symbol: mustSymbol("AAPL"), Side: trade.Buy}, allowed(1, wide(t, line), ClearsSend))
		q := Inquiry{
			Zone: time.UTC, Order: wide(t, line), Mark: func(trade.Symbol) (Mark, bool) { return Mark{decimal("99"), decimal("100")}, true },
			Dear: func(ask trade.Decimal) trade.Decimal { return ask.Mul(decimal("1.1")) },
		}
		if is := s.Situation(q, &History{}); show(is.Gross) != want || show(is.SymbolLong) != want || show(is.NetLong) != want {
			t.Errorf("%s: %s, want %s", line, show(is.Gross), want)
		}
	}
}

// TestExitsOfWhatIsHeldNoMoreAreShort sells the position away under its exits.
func TestExitsOfWhatIsHeldNoMoreAreShort(t *testing.T) {
	s := fold(HistoryBegan{FromStart: true}, allowed(1, wide(t, "buy AAPL quantity=10 type=limit limit_price=100 stop_loss=90"), ClearsSend))
	told(s, 1, "+10@100")
	h := Happened{Account: "paper", Number: 2, Intent: intent(2), Symbol: mustSymbol("AAPL"), What: WasFilled, Side: trade.Sell, Quantity: decimal("7"), Price: decimal("100")}
	s.Apply(t0, h)
	x := s.Exposure("paper", mustSymbol("AAPL"), "", func(trade.Symbol) (Mark, bool) { return Mark{decimal("99"), decimal("100")}, true })
	if got := fmt.Sprintf("%s %s", show(x.Gross), show(x.NetShort)); got != "1000 700" {
		t.Errorf("gross and net short are %s", got)
	}
}

// TestCountsOfOrdersThatNobodyCouldValueAreNotKnown: they count as orders, and what they add up to is a no.
func TestCountsOfOrdersThatNobodyCouldValueAreNotKnown(t *testing.T) {
	market := wide(t, "buy AAPL quantity=10 type=market")
	valued, blind := allowed(1, market, ClearsSend), allowed(2, market, ClearsPermission)
	valued.Ruling.Value = decimal("1000")
	since := t0.Add(-1)
	s := restart(t, began(valued))
	if h := ask(s, market, ""); h.Orders(policy.PerAccount, "", since) != 1 || h.Notional(policy.PerAccount, "", since).String() != "1000" {
		t.Errorf("one that was valued counts %s", h.Notional(policy.PerAccount, "", since))
	}
	s = restart(t, began(valued, blind))
	if h := ask(s, market, ""); h.Orders(policy.PerAccount, "", since) != 2 || h.Notional(policy.PerAccount, "", since).Sign() >= 0 {
		t.Errorf("with one that was not they count %s", h.Notional(policy.PerAccount, "", since))
	}
	if h := ask(s, market, blind.Intent); h.Notional(policy.PerAccount, "", since).String() != "1000" {
		t.Errorf("without its own earlier judgement they count %s", h.Notional(policy.PerAccount, "", since))
	}
}

// TestSimilarOrdersAreAlikeInWhatTheyTrade sends one order and asks for another.
func TestSimilarOrdersAreAlikeInWhatTheyTrade(t *testing.T) {
	for _, c := range []struct {
		sent, asked string
		want        int
	}{
		{"buy AAPL quantity=10 type=market", "buy AAPL quantity=10 type=market", 1},
		{"buy AAPL quantity=10 type=market", "buy AAPL quantity=10 type=market stop_loss=5", 1},
		{"buy AAPL quantity=10 type=market", "buy AAPL quantity=10 type=market time_in_force=gtc", 1},
		{"buy AAPL quantity=10 type=market", "buy AAPL quantity=10 type=limit limit_price=10", 0},
		{"buy AAPL notional=10 type=market", "buy AAPL notional=10.00 type=market", 1},
		{"buy AAPL notional=10 type=market", "buy AAPL notional=11 type=market", 0},
		{"buy AAPL notional=10 type=market", "buy AAPL quantity=10 type=market", 0},
		{"sell AAPL quantity=10 type=stop stop_price=5", "sell AAPL quantity=10 type=stop stop_price=5", 1},
		{"sell AAPL quantity=10 type=stop stop_price=5", "sell AAPL quantity=10 type=stop stop_price=5.01", 0},
		{"sell AAPL quantity=10 type=stop_limit stop_price=5 limit_price=4", "sell AAPL quantity=10 type=stop_limit stop_price=5 limit_price=4", 1},
		{"sell AAPL quantity=10 type=stop_limit stop_price=5 limit_price=4", "sell AAPL quantity=10 type=stop_limit stop_price=5 limit_price=3", 0},
	} {
		s := restart(t, restart(t, began(allowed(1, wide(t, c.sent), ClearsSend))))
		if h := ask(s, wide(t, c.asked), ""); h.Similar(t0.Add(-1)) != c.want {
			t.Errorf("after %s, of %s %d are similar", c.sent, c.asked, h.Similar(t0.Add(-1)))
		}
	}
}

// TestDecisionTellsFillsOfTheOrderFromThoseOfItsExits shows one decision as its events come in.
func TestDecisionTellsFillsOfTheOrderFromThoseOfItsExits(t *testing.T) {
	for name, steps := range map[string][][2]string{
		"buy AAPL quantity=10 type=limit limit_price=100 stop_loss=90 take_profit=120": {
			{"+4@99", "partially_filled filled=4@99 exits=0@0"}, {"-1@120", "partially_filled filled=4@99 exits=1@120"},
			{"+6@98", "filled filled=10@98 exits=1@120"}, {"sell expired", "filled filled=10@98 exits=1@120 expired"},
		},
		"buy AAPL notional=1000 type=market": {
			{"+2@300", "partially_filled filled=2@300 exits=0@0"}, {"+1.333333333@300", "filled filled=3.333333333@300 exits=0@0"},
		},
		"sell AAPL quantity=0.5 type=market": {{"-0.5@300", "filled filled=0.5@300 exits=0@0"}},
		"buy AAPL quantity=10 type=market":   {{"buy cancelled", "cancelled filled=0@0 exits=0@0"}},
	} {
		d := allowed(1, wide(t, name), ClearsSend).Decision(t0)
		d.Apply(Concluded{Intent: intent(1), Outcome: trade.Accepted, Source: FromBroker})
		for i, step := range steps {
			d.Apply(happenedOf(uint64(i+1), step[0]))
			shown, err := ReadDecision(d.AppendJSON(nil))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []Decision{d, shown} {
				got := fmt.Sprintf("%s filled=%s@%s exits=%s@%s", d.OrderStatus(), d.Filled, d.FillPrice, d.Exited, d.ExitPrice)
				if d.ExitsEnded != "" {
					got += " " + d.ExitsEnded
				}
				if got != step[1] {
					t.Errorf("%s, %q: %s, want %s", name, step[0], got, step[1])
				}
			}
		}
	}
}

// TestASecondJudgementSaysWhatIsPending: between a permission and its call the market has halved, so that the amount buys
// twice the shares, or a share costs twice as much.
//
//attack:ledger-resize
func TestASecondJudgementSaysWhatIsPending(t *testing.T) {
	o := wide(t, "buy AAPL notional=1000 type=market")
	first := allowed(1, o, ClearsPermission)
	first.Ruling.Shares = policy.Known{Value: decimal("10"), Known: true}
	again := Rejudged{Intent: intent(1), Order: o, Clears: ClearsSend, Ruling: Ruling{Effect: policy.Allow, Shares: policy.Known{Value: decimal("20"), Known: true}}}
	s := began(first, again)
	if got := stands(restart(t, s)); got != "0 +20 -0 open, 0 filled, exits 0" {
		t.Errorf("an amount: %s", got)
	}
	again.Ruling.Shares = policy.Known{}
	if got := stands(began(first, again)); got != "0 +-1 -0 open, 0 filled, exits 0" {
		t.Errorf("an amount of which nobody can say it any more: %s", got)
	}
	o = wide(t, "buy AAPL quantity=10 type=market")
	first, again.Order = allowed(1, o, ClearsPermission), o
	first.Ruling.Value, again.Ruling.Value = decimal("1000"), decimal("2000")
	if open := began(first, again).Open(intent(1)); open.Price.String() != "200" {
		t.Errorf("a market order: %s a share", open.Price)
	}
}

// TestASellOfWhichNobodySaidItsWorthIsNotCheap: a limit, or a stop, of a cent says nothing about what a sell moves.
//
//attack:ledger-own-worth
func TestASellOfWhichNobodySaidItsWorthIsNotCheap(t *testing.T) {
	bought := []Event{Happened{
		Account: "paper", Number: 1, What: WasFilled, Symbol: mustSymbol("AAPL"), Side: trade.Buy, Quantity: decimal("10"), Price: decimal("150"),
	}}
	for _, c := range []struct {
		held []Event
		line string
		want string
	}{
		{bought, "sell AAPL quantity=10 type=limit limit_price=0.01", "1500"},
		{bought, "sell AAPL quantity=10 type=limit limit_price=160", "1600"},
		{bought, "sell AAPL quantity=10 type=stop stop_price=0.01", "1500"},
		{bought, "sell AAPL quantity=10 type=stop_limit stop_price=151 limit_price=0.01", "1510"},
		{bought, "sell AAPL quantity=10 type=market", "1500"},
		{nil, "sell AAPL quantity=10 type=limit limit_price=2", "20"},
		{nil, "sell AAPL quantity=10 type=market", "-1"}, // not known
		{nil, "buy AAPL quantity=10 type=market", "-1"},
		{bought, "buy AAPL quantity=10 type=market", "-1"}, // what was paid is no bound of what it costs
		{nil, "buy AAPL quantity=10 type=limit limit_price=3", "30"},
		{nil, "buy AAPL notional=25 type=market", "25"},
	} {
		o := wide(t, c.line)
		s := began(append(c.held, allowed(1, o, ClearsPermission))...)
		before := t0.Add(-time.Microsecond)
		if got := ask(restart(t, s), o, "").Notional(policy.PerAccount, "", before).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.line, got, c.want)
		}
		if got := ask(s, o, intent(1)).Notional(policy.PerAccount, "", before); got.Sign() != 0 {
			t.Errorf("%s: its own second judgement is left with %s", c.line, got)
		}
	}
}

// TestAnEndOfExitsSpendsAPermissionForGood: a venue tells of the exits of an order of which we know a permission alone.
//
//attack:ledger-permission-once
func TestAnEndOfExitsSpendsAPermissionForGood(t *testing.T) {
	o := wide(t, "buy AAPL quantity=10 type=limit limit_price=100 stop_loss=90")
	s := began(allowed(1, o, ClearsPermission))
	told(s, 1, "sell cancelled")
	for name, s := range map[string]*State{"live": s, "after a restart": restart(t, s)} {
		if p := s.Unspent(Origin{Agent: "local", Tool: "t"}, o, anyOpen); p != nil || s.Open(intent(1)).Phase != Working {
			t.Errorf("%s: %v is still to be spent, %s", name, p, s.Open(intent(1)).Phase)
		}
	}
}
