package ledger

import (
	"strings"
	"testing"
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// desk plays the gate without one: it asks, judges by a policy of version 2 and records, and a venue answers.
type desk struct {
	t      *testing.T
	book   *policy.Rulebook
	state  *State
	zone   *time.Location
	at     time.Time
	mark   Mark
	cash   trade.Decimal
	number uint64
	n      int
}

// newDesk opens an account that holds 100 AAPL at 100 and has so much cash, at t0.
func newDesk(t *testing.T, limits string) *desk {
	raw := `{"version": 2, "currency": "USD", "timezone": "America/New_York",
		"quotes": {"sources": ["file"], "max_age": "30s", "max_spread_bps": "200", "max_divergence_bps": "100", "market_slippage_bps": "50"},
		"approval": {"expires": "30m", "execute_within": "15s", "two_approvers_above_notional": "25000.00", "max_price_drift_bps": "50", "max_open_proposals": "5"},
		"rules": [{"id": "r", "match": {"symbols": ["AAPL", "MSFT"], "sides": ["buy", "sell"], "order_types": ["limit"], "time_in_force": ["day"], "agents": ["*"], "asset_classes": ["us_equity"]},
			"limits": {` + limits + `}}]}`
	book, err := policy.ParseV2([]byte(raw), policy.World{})
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation(book.Timezone())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, book: book, state: began(), zone: zone, at: t0, mark: Mark{decimal("100"), decimal("100")}, cash: decimal("100000")}
	d.fill(trade.Buy, "100", "100")
	return d
}

func (d *desk) fill(side trade.Side, quantity, price string) {
	d.number++
	d.state.Apply(d.at, Happened{
		Account: "paper", Number: d.number, What: WasFilled, Symbol: mustSymbol("AAPL"), Side: side, Quantity: decimal(quantity), Price: decimal(price),
	})
}

// fine is an instrument that every price fits.
func fine(s trade.Symbol) policy.InstrumentFact {
	i := trade.USEquity(s)
	i.Tick = trade.NewUnit(decimal("0.000000001"))
	i.TickUnder1 = i.Tick
	return policy.InstrumentFact{Instrument: i}
}

// judge has an agent ask for an order as "a buy 10@100", and returns what the policy says, with its codes. What is allowed
// is sent, and accepted or rejected by the venue. Every fourth judgement is the first of a new process.
func (d *desk) judge(text string, venue trade.Outcome) string {
	d.t.Helper()
	f := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '@' })
	o, agent := order(d.t, f[1], "AAPL", f[2], f[3]), trade.Agent(f[0])
	d.n++
	if d.n%4 == 0 {
		d.state = restart(d.t, d.state)
	}
	q := Inquiry{
		At: d.at, Zone: d.zone, Agent: agent, Order: o, Cash: policy.Known{Value: d.cash, Known: true},
		Quote:      policy.QuoteFact{Bid: d.mark.Bid, Ask: d.mark.Ask, Last: d.mark.Bid},
		Instrument: fine(o.Symbol()), Session: policy.SessionFact{Regular: true}, Mark: func(trade.Symbol) (Mark, bool) { return d.mark, true },
	}
	for _, e := range d.state.Baseline(q) {
		d.state.Apply(d.at, e)
	}
	v := d.book.Evaluate(o, d.state.Facts("paper", o.Symbol(), ""), d.state.Situation(q, &History{}))
	e := Decided{
		Intent: intent(d.n), Origin: Origin{Agent: agent, Surface: "mcp"}, Account: "paper", Order: o,
		Ruling: Ruling{Effect: v.Effect, Reasons: v.Reasons, Rules: d.book.AppendMatching(nil, o, agent)},
	}
	said := v.Effect.String()
	for _, r := range v.Reasons {
		said += " " + string(r.Code)
	}
	if len(v.Halts) > 0 {
		said += " halts"
	}
	if v.Effect == policy.Allow {
		e.Clears, e.Pending = ClearsSend, Pending{Deadline: d.at.Add(time.Minute)}
	}
	d.state.Apply(d.at, e)
	if v.Effect == policy.Allow {
		d.state.Apply(d.at, Concluded{Intent: e.Intent, Outcome: venue, Source: FromBroker})
	}
	return said
}

func (d *desk) want(text, want string) {
	d.t.Helper()
	if got := d.judge(text, trade.Accepted); got != want {
		d.t.Errorf("%s at %s: %s, want %s", text, d.at.In(d.zone).Format(time.RFC3339Nano), got, want)
	}
}

// to sets the clock to a time of day in New York.
func (d *desk) to(clock string) {
	at, err := time.ParseInLocation("2006-01-02 15:04:05.000000", clock, d.zone)
	if err != nil {
		d.t.Fatal(err)
	}
	d.at = at.UTC()
}

// TestManySmallOrdersMeetTheDay is the first fault of the collection of faults: a hundred orders that each pass alone.
func TestManySmallOrdersMeetTheDay(t *testing.T) {
	for _, day := range []string{"2026-11-30", "2026-03-08", "2026-11-01"} { // an ordinary one, and both clock changes
		d := newDesk(t, `"notional_per_day": {"deny_above": "50095.00"}`)
		d.to(day + " 00:00:00.000000")
		allowed := 0
		for range 100 {
			if d.judge("a buy 99@101", trade.Rejected) == "allow" { // also what the broker rejects was sent
				allowed++
			}
			d.at = d.at.Add(10 * time.Minute)
		}
		if allowed != 5 {
			t.Errorf("%s: %d orders of 9999 passed a limit of 50095", day, allowed)
		}
		d.to(day + " 23:59:59.999999")
		d.want("a buy 1@100.000000001", "deny NOTIONAL_PER_DAY_EXCEEDS_LIMIT")
		d.want("a buy 1@100", "allow")
		d.at = d.at.Add(time.Microsecond)
		d.want("a buy 99@101", "allow")
	}
}

func TestOrdersAMinuteSlide(t *testing.T) {
	d := newDesk(t, `"orders_per_minute": {"deny_above": "3", "per": "agent"}`)
	first := d.at
	for range 3 {
		d.want("a buy 1@100", "allow")
		d.at = d.at.Add(time.Second)
	}
	d.want("a buy 1@100", "deny ORDERS_PER_MINUTE_EXCEED_LIMIT")
	d.want("b buy 1@100", "allow")
	d.at = first.Add(time.Minute - time.Microsecond)
	d.want("a buy 1@100", "deny ORDERS_PER_MINUTE_EXCEED_LIMIT")
	d.at = first.Add(time.Minute)
	d.want("a buy 1@100", "allow")
	d.want("a buy 1@100", "deny ORDERS_PER_MINUTE_EXCEED_LIMIT")
}

func TestSimilarOrdersAreHeldForTheirWindow(t *testing.T) {
	d := newDesk(t, `"similar_orders": {"hold_above": "0", "window": "30s"}`)
	first := d.at
	d.want("a buy 1@100", "allow")
	d.want("b buy 1@100", "hold SIMILAR_ORDERS_EXCEED_LIMIT") // another agent, the same account
	d.want("a buy 2@100", "allow")
	d.want("a buy 1@100.01", "allow")
	d.want("a sell 1@100", "allow")
	d.at = first.Add(30*time.Second - time.Microsecond)
	d.want("a buy 1@100", "hold SIMILAR_ORDERS_EXCEED_LIMIT")
	d.at = first.Add(30 * time.Second)
	d.want("a buy 1@100", "allow") // what was held was not sent
}

func TestRejectionsAndDenialsHaltUntilAPersonResets(t *testing.T) {
	d := newDesk(t, `"broker_rejections": {"halt_above": "2", "window": "5m"}, "order_quantity": {"deny_above": "50"}, "denials_per_minute": {"halt_above": "3", "per": "agent"}`)
	for range 3 {
		if got := d.judge("a buy 1@100", trade.Rejected); got != "allow" {
			t.Errorf("%s", got)
		}
	}
	d.want("a buy 1@100", "deny BROKER_REJECTIONS_EXCEED_LIMIT halts")
	d.state.Apply(d.at, KillReset{By: "p", Reason: "looked at it"})
	d.want("a buy 1@100", "allow")
	for range 4 {
		d.want("a buy 51@100", "deny QUANTITY_EXCEEDS_LIMIT")
	}
	d.want("a buy 1@100", "deny DENIALS_EXCEED_LIMIT halts")
	d.want("b buy 1@100", "allow")
	d.state.Apply(d.at, KillReset{Scope: Scope{OneAgent, "a"}, By: "p", Reason: "looked at it"})
	d.want("a buy 1@100", "allow")
}

//fault:f14
func TestLossOfTheDayHaltsAndLetsTheWayOut(t *testing.T) {
	d := newDesk(t, `"daily_loss": {"halt_above": "2000.00"}, "drawdown_percent": {"halt_above": "5"}`)
	d.want("a buy 1@100", "allow") // the day begins at 110000
	d.mark = Mark{decimal("80"), decimal("80")}
	d.want("a buy 1@100", "allow") // 2000 lost, which is the bound
	d.mark = Mark{decimal("79.99"), decimal("80")}
	d.want("a buy 1@100", "deny DAILY_LOSS_EXCEEDS_LIMIT halts")
	d.cash = decimal("500000") // money that is paid in hides no loss
	d.want("a buy 1@100", "deny DAILY_LOSS_EXCEEDS_LIMIT halts")
	d.want("a sell 100@70", "allow")
	d.want("a sell 1@70", "deny SHORT_SALE_NOT_ALLOWED DAILY_LOSS_EXCEEDS_LIMIT halts")
	d.at = d.at.Add(24 * time.Hour)
	d.want("a buy 1@100", "allow")
}

func TestLossesInARow(t *testing.T) {
	d := newDesk(t, `"consecutive_losses": {"hold_above": "1", "deny_above": "2"}`)
	for _, want := range []string{"allow", "allow", "hold CONSECUTIVE_LOSSES_EXCEED_LIMIT", "deny CONSECUTIVE_LOSSES_EXCEED_LIMIT"} {
		d.want("a buy 1@100", want)
		d.fill(trade.Sell, "1", "99")
	}
	d.want("a sell 1@100", "allow")
	d.fill(trade.Sell, "1", "100")
	d.want("a buy 1@100", "allow")
}

// TestPolicyThatCountsIsANoUntilTheStateRemembers: a journal of an earlier version, before and after it begins.
func TestPolicyThatCountsIsANoUntilTheStateRemembers(t *testing.T) {
	d := newDesk(t, `"orders_per_minute": {"deny_above": "3"}, "orders_per_day": {"deny_above": "10"}, "denials_per_minute": {"halt_above": "1"}`)
	d.state = fold(KillReset{By: "p"})
	d.fill(trade.Buy, "100", "100")
	d.want("a buy 1@100", "deny COUNT_UNAVAILABLE COUNT_UNAVAILABLE COUNT_UNAVAILABLE")
	d.state.Apply(d.at, HistoryBegan{})
	d.want("a buy 1@100", "deny COUNT_UNAVAILABLE COUNT_UNAVAILABLE COUNT_UNAVAILABLE")
	d.at = d.at.Add(time.Minute)
	d.want("a buy 1@100", "deny COUNT_UNAVAILABLE") // of the day, whose morning is not known
	d.to("2026-12-01 00:00:00.000000")
	d.want("a buy 1@100", "allow")
}
