package bench_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cedar-policy/cedar-go"

	"sallyport/dialect"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// counter is an account with 50 positions, 20 working orders and a past, and an order that the whole example policy allows.
type counter struct {
	book    *policy.Rulebook
	state   *ledger.State
	order   trade.Order
	inquiry ledger.Inquiry
	history *ledger.History
}

func draft(t testing.TB, side, symbol, quantity, price string) trade.Order {
	t.Helper()
	raw := fmt.Appendf(nil, `{"symbol":%q,"side":%q,"quantity":%q,"order_type":"limit","limit_price":%q}`, symbol, side, quantity, price)
	d, _ := dialect.Find("paper_place_order_a")
	o, _, faults := d.Parse("paper", raw)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return o
}

// newCounter makes the account out of the events that a gate records.
func newCounter(t testing.TB) *counter {
	t.Helper()
	book, err := policy.ParseV2(policy.ExampleV2(), policy.World{})
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation(book.Timezone())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, time.November, 30, 17, 0, 0, 0, time.UTC)
	s, before := ledger.NewState(), at.Add(-20*time.Hour) // the day before
	s.Apply(before, ledger.KillReset{By: "p", Reason: "r"})
	s.Apply(before, ledger.HistoryBegan{FromStart: true})
	symbol := func(i int) string {
		if i == 0 {
			return "AAPL"
		}
		return fmt.Sprint("S", i)
	}
	for i := range positions {
		o := draft(t, "buy", symbol(i), "10", "100.00")
		s.Apply(before, ledger.Happened{
			Account: "paper", Number: uint64(i + 1), What: ledger.WasFilled, Symbol: o.Symbol(), Side: o.Side(),
			Quantity: o.Quantity(), Price: o.LimitPrice(),
		})
	}
	for i := range 20 {
		o := draft(t, "buy", symbol(i+1), "4", "100.00")
		id := trade.IntentID(fmt.Sprintf("01JDESK%019d", i))
		s.Apply(before, ledger.Decided{
			Intent: id, Origin: ledger.Origin{Agent: "bot", Surface: "mcp"}, Account: "paper", Order: o,
			Ruling: ledger.Ruling{Effect: policy.Allow, Rules: []string{"large-caps"}}, Clears: ledger.ClearsSend, Pending: ledger.Pending{Deadline: at},
		})
		s.Apply(before, ledger.Concluded{Intent: id, Outcome: trade.Accepted, Source: ledger.FromBroker})
	}
	mark := ledger.Mark{Bid: gatetest.Decimal("99.99"), Ask: gatetest.Decimal("100")}
	d := &counter{book: book, state: s, order: draft(t, "buy", "AAPL", "10", "100.00")}
	d.inquiry = ledger.Inquiry{
		At: at, Zone: zone, Agent: "bot", Order: d.order, Cash: policy.Known{Value: gatetest.Decimal("1000000"), Known: true},
		Quote:      policy.QuoteFact{Bid: mark.Bid, Ask: mark.Ask, Last: mark.Bid, Age: time.Second},
		Instrument: policy.InstrumentFact{Instrument: trade.USEquity(d.order.Symbol())},
		Session:    policy.SessionFact{Regular: true}, Mark: func(trade.Symbol) (ledger.Mark, bool) { return mark, true },
	}
	for _, e := range s.Baseline(d.inquiry) {
		s.Apply(before, e)
	}
	d.live(t)
	d.history = &ledger.History{}
	d.state.Situation(d.inquiry, d.history)
	return d
}

// What happened in the account on the day of the order, which the limits of the example count.
const (
	positions = 50
	sentToday = 4000 // and accepted, of all agents: three in every 30 seconds, the newest a second ago
	ownToday  = 19   // of them the order's agent's, nine of them in the last minute
	troubles  = 1000 // denials, and rejections: as many as are remembered
)

// live makes the account's past. What was sent is of another quantity than the order, and was cancelled, so that it counts
// and is open no more. All counts that the example asks for are within its bounds, and none of them but that of similar
// orders is zero: see TestTheCounterIsAllowed.
func (d *counter) live(t testing.TB) {
	t.Helper()
	type happening struct {
		ago   time.Duration
		agent trade.Agent
		what  string
	}
	var all []happening
	for i := range sentToday - ownToday {
		agent := trade.Agent(fmt.Sprint("agent", i%300)) // so that nobody has more than 20 of the day
		all = append(all, happening{time.Second + time.Duration(i/3)*30*time.Second, agent, "sent"})
	}
	for i := range ownToday {
		ago := time.Duration(i+1) * 6 * time.Second
		if i > 8 {
			ago = time.Duration(i) * 30 * time.Minute
		}
		all = append(all, happening{ago, "bot", "sent"})
	}
	for i := range troubles {
		agent := trade.Agent(fmt.Sprint("agent", i%4))
		if i%5 == 0 {
			agent = "bot"
		}
		all = append(all, happening{time.Duration(i+1) * 1500 * time.Millisecond, agent, "denied"})
		all = append(all, happening{time.Duration(i+1) * 71 * time.Second, trade.Agent(fmt.Sprint("agent", i%300)), "rejected"})
	}
	slices.SortStableFunc(all, func(a, b happening) int { return cmp.Compare(b.ago, a.ago) })
	o, number := draft(t, "buy", "AAPL", "1", "9.00"), uint64(positions)
	for i, h := range all {
		at, id := d.inquiry.At.Add(-h.ago), trade.IntentID(fmt.Sprintf("01JPAST%019d", i))
		e := ledger.Decided{Intent: id, Origin: ledger.Origin{Agent: h.agent, Surface: "mcp"}, Account: "paper", Order: o}
		if h.what == "denied" {
			e.Ruling = ledger.Ruling{Effect: policy.Deny, Reasons: []policy.Reason{{Code: policy.QuantityExceedsLimit}}}
			d.state.Apply(at, e)
			continue
		}
		e.Ruling, e.Clears = ledger.Ruling{Effect: policy.Allow, Rules: []string{"large-caps"}}, ledger.ClearsSend
		e.Pending = ledger.Pending{Deadline: at}
		d.state.Apply(at, e)
		if h.what == "rejected" {
			d.state.Apply(at, ledger.Concluded{Intent: id, Outcome: trade.Rejected, Source: ledger.FromBroker})
			continue
		}
		number++
		d.state.Apply(at, ledger.Concluded{Intent: id, Outcome: trade.Accepted, Source: ledger.FromBroker})
		d.state.Apply(at, ledger.Happened{
			Account: "paper", Number: number, Intent: id, What: ledger.WasCancelled, Symbol: o.Symbol(), Side: o.Side(), Quantity: o.Quantity(),
		})
	}
}

// wide is the example with bounds that the account is within: it has 20 working orders.
func (d *counter) wide(t testing.TB) {
	t.Helper()
	raw := string(policy.ExampleV2())
	for _, r := range [][2]string{{`"open_orders":       {"deny_above": "10"}`, `"open_orders":       {"deny_above": "30"}`}} {
		raw = replaced(t, raw, r[0], r[1])
	}
	book, err := policy.ParseV2([]byte(raw), policy.World{})
	if err != nil {
		t.Fatal(err)
	}
	d.book = book
}

func replaced(t testing.TB, raw, from, to string) string {
	t.Helper()
	for i := range raw {
		if len(raw)-i >= len(from) && raw[i:i+len(from)] == from {
			return raw[:i] + to + raw[i+len(from):]
		}
	}
	t.Fatalf("the example has no %s", from)
	return ""
}

// subset is what of the example Cedar can say: lists, and whole numbers that are compared, of facts that it is given.
// Prices are in cents; it has no exact decimals that can be multiplied, no counting, no holding, and no reasons.
const subset = `permit(principal, action == Action::"order", resource) when {
	["AAPL", "MSFT"].contains(context.symbol) && ["buy", "sell"].contains(context.side) &&
	["limit", "market"].contains(context.type) && context.time_in_force == "day" && context.session == "regular" &&
	context.quantity <= 200 && context.quantity * context.worst <= 1000000 &&
	(context.limit - context.ask) * 10000 <= 300 * context.ask &&
	context.minute + 1 <= 10 && context.day + 1 <= 20 && context.day_notional + context.quantity * context.worst <= 5000000 &&
	context.similar <= 0 && context.position + context.quantity <= 500 &&
	context.symbol_long + context.quantity * context.worst <= 4000000 &&
	(context.symbol_long + context.quantity * context.worst) * 100 <= 20 * context.equity &&
	context.gross + context.quantity * context.worst <= 10000000 && context.net + context.quantity * context.worst <= 6000000 &&
	(context.gross + context.quantity * context.worst) * 2 <= 3 * context.equity && context.open + 1 <= 30 &&
	context.loss <= 200000 && (context.peak - context.equity) * 100 <= 5 * context.peak && context.losses <= 3 &&
	context.rejections <= 4 && context.denials <= 20
};
forbid(principal, action == Action::"order", resource) when { context.symbol == "GME" };`

// cedarRequest is the order with the facts of the situation as Cedar takes them.
func cedarRequest(t testing.TB) (*cedar.PolicySet, cedar.Request) {
	t.Helper()
	set, err := cedar.NewPolicySetFromBytes("subset.cedar", []byte(subset))
	if err != nil {
		t.Fatal(err)
	}
	facts := cedar.RecordMap{
		"symbol": cedar.String("AAPL"), "side": cedar.String("buy"), "type": cedar.String("limit"),
		"time_in_force": cedar.String("day"), "session": cedar.String("regular"),
	}
	for name, n := range map[string]int64{
		"quantity": 10, "worst": 10000, "limit": 10000, "ask": 10000, "minute": 0, "day": 0, "day_notional": 0, "similar": 0, "position": 10,
		"symbol_long": 100000, "equity": 104999500, "gross": 6000000, "net": 5000000, "open": 20, "loss": 0, "peak": 104999500, "losses": 0,
		"rejections": 0, "denials": 0,
	} {
		facts[cedar.String(name)] = cedar.Long(n)
	}
	return set, cedar.Request{
		Principal: cedar.NewEntityUID("Agent", "bot"), Action: cedar.NewEntityUID("Action", "order"),
		Resource: cedar.NewEntityUID("Account", "paper"), Context: cedar.NewRecord(facts),
	}
}

// TestRatioOfVersion2 times the whole example policy over the situation of an account with 50 positions, 20 working orders
// and a past, made of a ledger, and in the same run Cedar with what of it Cedar can say. What happened before is counted
// while it is timed, each time; the first question about a scope, which indexes it, comes before.
func TestRatioOfVersion2(t *testing.T) {
	needMeasure(t)
	d := newCounter(t)
	d.wide(t)
	facts := d.state.Facts("paper", d.order.Symbol(), "")
	situation := d.state.Situation(d.inquiry, d.history)
	if v := d.book.Evaluate(d.order, facts, situation); v.Effect != policy.Allow {
		t.Fatalf("the order of the measurement is not allowed: %+v", v.Reasons)
	}
	set, request := cedarRequest(t)
	const each = 20_000 // judgements a turn
	turn := func(judge func() bool) func() time.Duration {
		return func() time.Duration {
			start := time.Now()
			for range each {
				if !judge() {
					t.Fatal("not allowed")
				}
			}
			return time.Since(start)
		}
	}
	ours := func() bool { return d.book.Evaluate(d.order, facts, situation).Effect == policy.Allow }
	times := turns(
		contender{"ours", turn(ours)},
		contender{"cedar", turn(func() bool {
			yes, _ := cedar.Authorize(set, cedar.EntityMap{}, request)
			return yes == cedar.Allow
		})},
		contender{"situation", turn(func() bool { return d.state.Situation(d.inquiry, d.history).Equity.Known })},
	)
	fastest := func(name string) float64 { return float64(slices.Min(times[name]).Nanoseconds()) / each }
	fmt.Printf("policy version 2, the whole example: %.0f ns; cedar-go on the part of it that Cedar can say: %.0f ns\n", fastest("ours"), fastest("cedar"))
	fmt.Printf("the making of that situation, of 50 positions and 20 working orders: %.0f ns\n", fastest("situation"))
	atMost(t, "policy version 2, the whole example, allow path, ns", fastest("ours"), 2000)
	atMost(t, "its allocations", testing.AllocsPerRun(100, func() { ours() }), 0)
	atMost(t, "policy version 2, whole / cedar-go on a part of it", ratio(times["ours"], times["cedar"]), 1)
}

// TestTheCounterIsAllowed keeps the measurement's order one that passes, also where nothing is measured.
func TestTheCounterIsAllowed(t *testing.T) {
	d := newCounter(t)
	d.wide(t)
	v := d.book.Evaluate(d.order, d.state.Facts("paper", d.order.Symbol(), ""), d.state.Situation(d.inquiry, d.history))
	if v.Effect != policy.Allow {
		t.Errorf("%+v", v.Reasons)
	}
	h, since := d.history, func(ago time.Duration) time.Time { return d.inquiry.At.Add(-ago) }
	_, day := ledger.DayOf(d.inquiry.At, d.inquiry.Zone)
	got := fmt.Sprint(
		h.Orders(policy.PerAgent, "", since(time.Minute)), h.Orders(policy.PerAgent, "", day.Start), h.Orders(policy.PerAccount, "", day.Start),
		h.Notional(policy.PerAccount, "", day.Start), h.Similar(since(30*time.Second)), h.Rejections(policy.PerAccount, since(5*time.Minute)).N,
		h.Denials(policy.PerAgent, since(time.Minute)).N, h.Denials(policy.PerAccount, since(time.Minute)).N,
	)
	if got != "9 19 4608 41472 0 4 8 39" {
		t.Errorf("what happened before: %s", got)
	}
	set, request := cedarRequest(t)
	if yes, diagnostic := cedar.Authorize(set, cedar.EntityMap{}, request); yes != cedar.Allow {
		t.Errorf("%+v", diagnostic)
	}
}
