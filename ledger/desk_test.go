package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/market"
	"sallyport/policy"
	"sallyport/trade"
)

// desk plays the gate without one: it asks the state, judges by a policy of version 2 and records, and a venue answers. It
// engages no kill switch, so that what a limit says next is seen.
type desk struct {
	t        testing.TB
	limit    string // that is looked at
	limits   string // all, as the policy has them
	require  string
	book     *policy.Rulebook
	zone     *time.Location
	calendar *market.Calendar
	state    *ledger.State
	records  []record
	restless bool // every judgement is the first of a new process
	at       time.Time
	cash     policy.Known
	quotes   map[string]*feed
	venue    trade.Outcome // what it answers
	mute     bool          // it does not answer
	permits  bool          // somebody else makes the call that is allowed
	number   uint64        // of its newest event
	orders   map[string]ledger.Decided
	asked    []asked
	restarts int // that a file asked for
}

// record is an event as the journal has it.
type record struct {
	at   time.Time
	body []byte
}

// feed is what the market shows of a symbol: the newest quote, for as long as it is on, and then an older one.
type feed struct {
	bid, ask trade.Decimal
	off      time.Time // when it stopped; zero while it is on
}

// asked is one judgement.
type asked struct {
	line     string // without what it came to
	at       time.Time
	agent    string
	order    trade.Order
	replaced trade.Order // zero if it replaces nothing
	row      policy.ExplainedLimit
	verdict  policy.Verdict
	reduces  bool
	restarts int    // before it
	then     string // what came of a second judgement
}

// newDesk opens an account that holds nothing, has a cash of 100000.00 and remembers everything, on a Monday at ten. Every
// symbol is quoted at 100.00 on both sides, and the venue accepts every order.
func newDesk(t testing.TB) *desk {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	calendar, err := market.NewYork()
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, zone: zone, calendar: calendar, at: time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC), cash: known("100000.00"), venue: trade.Accepted}
	d.quotes, d.orders = map[string]*feed{}, map[string]ledger.Decided{}
	for _, symbol := range []string{"AAPL", "MSFT", "GME"} {
		d.quotes[symbol] = &feed{bid: gatetest.Decimal("100"), ask: gatetest.Decimal("100")}
	}
	d.anew()
	return d
}

// anew begins the journal of an account that holds nothing.
func (d *desk) anew() {
	d.open(ledger.KillReset{By: "p", Reason: "r"}, ledger.HistoryBegan{FromStart: true}, ledger.AccountSeen{Account: gatetest.Account})
}

// open begins a journal.
func (d *desk) open(events ...ledger.Event) {
	d.state, d.records, d.number = ledger.NewState(), nil, 0
	clear(d.orders)
	for _, e := range events {
		d.record(e)
	}
}

func (d *desk) record(e ledger.Event) {
	d.records = append(d.records, record{d.at, ledger.Encode(e)})
	d.state.Apply(d.at, e)
}

// restart opens the journal anew: from a snapshot of its first half and the records after it. What comes of that, and of
// all its records, is the state to the byte.
func (d *desk) restart() {
	d.t.Helper()
	whole, half := ledger.NewState(), ledger.NewState()
	for i, r := range d.records {
		if i == len(d.records)/2 {
			var err error
			if half, err = ledger.ReadSnapshot(half.AppendSnapshot(nil)); err != nil {
				d.t.Fatal(err)
			}
		}
		e, err := ledger.Decode(r.body)
		if err != nil {
			d.t.Fatalf("%s: %v", r.body, err)
		}
		whole.Apply(r.at, e)
		half.Apply(r.at, e)
	}
	want := string(d.state.AppendSnapshot(nil))
	for what, s := range map[string]*ledger.State{"all records": whole, "a snapshot and the records after it": half} {
		if got := string(s.AppendSnapshot(nil)); got != want {
			d.t.Errorf("%s come to\n%s\nand not to\n%s", what, got, want)
		}
	}
	d.state = half
}

func known(s string) policy.Known { return policy.Known{Value: gatetest.Decimal(s), Known: true} }

// quote is what the market shows of a symbol now.
func (d *desk) quote(symbol trade.Symbol) policy.QuoteFact {
	q := d.quotes[symbol.String()]
	if q == nil {
		return policy.QuoteFact{Code: policy.QuoteUnavailable}
	}
	f := policy.QuoteFact{Bid: q.bid, Ask: q.ask, Last: q.bid}
	if !q.off.IsZero() {
		f.Age = d.at.Sub(q.off)
	}
	return f
}

func (d *desk) inquiry(agent string, o trade.Order, without trade.IntentID) ledger.Inquiry {
	s := d.calendar.Session(d.at)
	return ledger.Inquiry{
		At: d.at, Zone: d.zone, Agent: trade.Agent(agent), Order: o, Without: without, Cash: d.cash, Quote: d.quote(o.Symbol()),
		Instrument: policy.InstrumentFact{Instrument: trade.USEquity(o.Symbol())},
		Session: policy.SessionFact{
			Code: s.Code, Regular: s.Regular, Extended: s.Extended, RegularOpens: s.RegularOpens, ExtendedOpens: s.ExtendedOpens,
		},
		Mark: func(sym trade.Symbol) (ledger.Mark, bool) {
			q := d.quote(sym)
			return ledger.Mark{Bid: q.Bid, Ask: q.Ask}, d.book.Quotes().Usable(q)
		},
		Dear: d.book.Quotes().Dear,
	}
}

// explain says what the policy makes of an order without an earlier one. What must be on record before it is recorded.
func (d *desk) explain(agent string, o trade.Order, without trade.IntentID) (policy.Explanation, policy.Situation) {
	q := d.inquiry(agent, o, without)
	for _, e := range d.state.Baseline(q) {
		d.record(e)
	}
	s := d.state.Situation(q, &ledger.History{})
	return d.book.Explain(o, d.state.Facts(o.Account(), o.Symbol(), without), s), s
}

// judge judges an order without an earlier one, which it replaces or is itself.
func (d *desk) judge(agent string, o trade.Order, without trade.IntentID) (asked, ledger.Ruling) {
	d.t.Helper()
	if d.restless {
		d.restart()
	}
	x, s := d.explain(agent, o, without)
	a := asked{restarts: d.restarts, at: d.at, agent: agent, order: o, verdict: x.Verdict, reduces: s.Reduces}
	for _, r := range x.Rows {
		if r.Rule == "r" && r.Limit == d.limit {
			a.row = r
		}
	}
	r := ledger.Ruling{Effect: x.Verdict.Effect, Reasons: x.Verdict.Reasons}
	if r.Effect != policy.Deny {
		r.Rules, r.Value = d.book.AppendJudging(nil, o, d.state.Facts(o.Account(), o.Symbol(), without), s), d.book.Worth(o, s).Value
		if o.ByAmount() {
			r.Shares = d.book.Shares(o, s)
		}
	}
	return a, r
}

// ask has an agent ask for an order, in the place of another where old names one, and sends what is allowed, or permits
// it to somebody else. What is held waits for a person.
func (d *desk) ask(name, agent string, o trade.Order, old string) asked {
	d.t.Helper()
	before := d.orders[old]
	a, ruling := d.judge(agent, o, before.Intent)
	a.replaced = before.Order
	e := ledger.Decided{
		Intent: trade.NewIntentID(d.at, [10]byte{8: byte(len(d.records) >> 8), 9: byte(len(d.records))}),
		Origin: ledger.Origin{Agent: trade.Agent(agent), Surface: "mcp"}, Account: o.Account(), Order: o, Ruling: ruling,
	}
	switch {
	case ruling.Effect == policy.Hold:
		e.Clears, e.Hold = ledger.ClearsApproval, ledger.Hold{Expires: d.at.Add(30 * time.Minute), Within: 15 * time.Second, Approvers: 1}
	case ruling.Effect == policy.Allow && d.permits:
		e.Clears, e.Pending = ledger.ClearsPermission, ledger.Pending{Deadline: d.at.Add(30 * time.Minute)}
	case ruling.Effect == policy.Allow:
		e.Clears, e.Pending = ledger.ClearsSend, ledger.Pending{Deadline: d.at.Add(time.Minute)}
	}
	d.record(e)
	if name != "" {
		d.orders[name] = e
	}
	if e.Clears == ledger.ClearsSend {
		d.sent(e, before)
	}
	return a
}

// again judges an order a second time, as it is executed: one that a person has just approved, or one that was permitted.
// What the person was shown holds it no more, and any other reason ends it.
func (d *desk) again(name string) (asked, error) {
	d.t.Helper()
	e := d.orders[name]
	o := d.state.Open(e.Intent)
	if o == nil || o.Phase != ledger.OnHold && o.Phase != ledger.Permitted {
		return asked{}, fmt.Errorf("%s waits for nobody", name)
	}
	if o.Phase == ledger.OnHold {
		d.record(ledger.Approved{Intent: e.Intent, Digest: e.Order.Digest(), Person: "p", Channel: "cli", Lapses: d.at.Add(15 * time.Second)})
	}
	a, ruling := d.judge(string(e.Origin.Agent), e.Order, e.Intent)
	r := ledger.Rejudged{Intent: e.Intent, Account: e.Account, Origin: e.Origin, Ruling: ruling, Order: e.Order, FirstAt: d.at}
	fresh := slices.DeleteFunc(slices.Clone(ruling.Reasons), func(why policy.Reason) bool {
		return why.Hold && slices.ContainsFunc(e.Ruling.Reasons, func(shown policy.Reason) bool {
			return shown.Code == why.Code && shown.Limit == why.Limit && shown.Rule == why.Rule
		})
	})
	r.Ruling.Effect, a.then = policy.Deny, "ended"
	if len(fresh) == 0 {
		r.Ruling.Effect, r.Clears, r.Pending = policy.Allow, ledger.ClearsSend, ledger.Pending{Deadline: d.at.Add(time.Minute)}
		a.then = "sent"
	}
	d.record(r)
	if r.Clears == ledger.ClearsSend {
		d.sent(e, ledger.Decided{})
	}
	return a, nil
}

// sent has the venue answer, unless it is silent. An order that another replaced is gone once that is accepted.
func (d *desk) sent(e, replaced ledger.Decided) {
	if d.mute {
		return
	}
	d.record(ledger.Concluded{Intent: e.Intent, Outcome: d.venue, Source: ledger.FromBroker})
	if replaced.Intent != "" && d.venue == trade.Accepted {
		d.end(replaced)
	}
}

// end ends an order that another has replaced, with its exits; or a proposal, of which the venue knows nothing.
func (d *desk) end(e ledger.Decided) {
	if d.state.Proposal(e.Intent) != nil {
		d.record(ledger.ProposalEnded{Intent: e.Intent, State: ledger.ApprovalWithdrawn, By: string(e.Origin.Agent), Reason: "r"})
		return
	}
	if e.Order.HasExits() {
		d.happens(ledger.WasCancelled, e, trade.Sell, "1", "0")
	}
	d.happens(ledger.WasCancelled, e, e.Order.Side(), "1", "0")
}

// happens has the venue tell of an order.
func (d *desk) happens(what string, e ledger.Decided, side trade.Side, quantity, price string) {
	d.number++
	h := ledger.Happened{Account: gatetest.Account, Number: d.number, What: what, Intent: e.Intent, Symbol: e.Order.Symbol(), Side: side, Quantity: gatetest.Decimal(quantity)}
	if what == ledger.WasFilled {
		h.Price = gatetest.Decimal(price)
	}
	d.record(h)
}

// write puts a policy in force. The rule r has the limits, and is about AAPL and MSFT; another lets everything pass, so
// that what r is not about has a rule.
func (d *desk) write() (err error) {
	const match = `"sides": ["buy", "sell"], "order_types": ["limit", "market", "stop", "stop_limit"],
			"time_in_force": ["day", "gtc", "ioc", "fok", "opg", "cls"]}, "allow": {"short": true, "fractional": true}`
	d.limit, _, _ = strings.Cut(strings.TrimPrefix(d.limits, `"`), `"`)
	require := d.require
	if require == "" {
		require = `{"stop_loss": false}`
	}
	d.book, err = policy.ParseV2(fmt.Appendf(nil, `{"version": 2, "currency": "USD", "timezone": "America/New_York",
		"quotes": {"sources": ["file"], "max_age": "30s", "max_spread_bps": "200", "market_slippage_bps": "50"}, "rules": [
		{"id": "r", "match": {"symbols": ["AAPL", "MSFT"], %s, "require": %s, "limits": {%s}},
		{"id": "free", "match": {"symbols": ["AAPL", "MSFT", "GME"], %s, "limits": {"open_orders": {"deny_above": "1000"}}}]}`,
		match, require, d.limits, match), policy.World{})
	return err
}

// do carries out one step of a file, and returns the line as the file ought to have it.
func (d *desk) do(line string) (string, error) {
	step, _, asks := strings.Cut(line, " => ")
	if asks {
		return d.doAsk(strings.TrimRight(step, " "))
	}
	w := strings.Fields(line)
	if len(w) < 5 {
		w = append(w, make([]string, 5-len(w))...)
	}
	_, text, _ := strings.Cut(line, " ")
	switch w[0] {
	case "limit":
		d.limits = text
		return line, d.write()
	case "require":
		d.require = text
		return line, d.write()
	case "at":
		at, err := time.Parse(time.RFC3339, w[1])
		if d.at = at.UTC(); err != nil {
			return line, err
		}
		if is := d.at.In(d.zone).Format(time.RFC3339Nano); is != w[1] {
			return line, fmt.Errorf("in New York that is %s", is)
		}
	case "wait":
		wait, err := time.ParseDuration(w[1])
		d.at = d.at.Add(wait)
		return line, err
	case "cash":
		if d.cash = (policy.Known{}); w[1] != "unknown" {
			d.cash = known(w[1])
		}
	case "quote":
		d.quotes[w[1]] = &feed{bid: gatetest.Decimal(w[2]), ask: gatetest.Decimal(w[3])}
	case "quotes": // quotes of AAPL stop, end
		switch q := d.quotes[w[2]]; {
		case q == nil || w[3] != "stop" && w[3] != "end":
			return line, errors.New("quotes of SYMBOL stop, or end")
		case w[3] == "end":
			delete(d.quotes, w[2])
		default:
			q.off = d.at
		}
	case "venue":
		words := map[string]trade.Outcome{"accepts": trade.Accepted, "rejects": trade.Rejected, "is silent": trade.Unknown}
		answer, is := words[strings.TrimSpace(w[1]+" "+w[2])]
		if d.venue, d.mute = answer, answer == trade.Unknown; !is {
			return line, errors.New("venue accepts, rejects, or is silent")
		}
	case "calls": // calls are permitted, or are sent
		d.permits = w[2] == "permitted"
	default:
		return line, d.doEvent(w)
	}
	return line, nil
}

// doEvent carries out what happens to the journal.
func (d *desk) doEvent(w []string) error {
	switch strings.TrimSpace(w[0] + " " + w[1]) {
	case "restart":
		d.restarts++
		d.restart()
		return nil
	case "account new":
		d.anew()
		return nil
	case "account unknown": // nobody has shown what it holds
		d.open(ledger.KillReset{By: "p"}, ledger.HistoryBegan{FromStart: true})
		return nil
	case "account seen":
		d.record(ledger.AccountSeen{Account: gatetest.Account})
		return nil
	case "history unknown": // the journal is of an earlier version
		d.open(ledger.KillReset{By: "p"}, ledger.AccountSeen{Account: gatetest.Account})
		return nil
	case "history begins":
		d.record(ledger.HistoryBegan{})
		return nil
	}
	o, is := d.orders[w[0]]
	scope, scoped := ledger.ParseScope(w[1])
	switch {
	case w[0] == "reset" && scoped: // reset everything, reset agent:bot
		d.record(ledger.KillReset{Scope: scope, By: "p", Reason: "looked at it"})
	case w[0] == "bought" || w[0] == "sold": // by nobody that we know: bought 10 AAPL at 90.00
		order, err := gatetest.ReadLine(strings.Join([]string{map[string]string{"bought": "buy", "sold": "sell"}[w[0]], w[1], w[2], w[3], w[4]}, " "))
		if err != nil {
			return err
		}
		d.happens(ledger.WasFilled, ledger.Decided{Order: order}, order.Side(), w[1], w[4])
	case is && w[1] == "filled": // a filled 10 at 90.00
		d.happens(ledger.WasFilled, o, o.Order.Side(), w[2], w[4])
	case is && w[1] == "exited": // the same of its exits
		d.happens(ledger.WasFilled, o, trade.Sell, w[2], w[4])
	case is && w[1] == "cancelled":
		d.happens(ledger.WasCancelled, o, o.Order.Side(), "1", "0")
	case is && w[1] == "declined":
		d.record(ledger.ProposalEnded{Intent: o.Intent, State: ledger.ApprovalDeclined, By: "p", Reason: "r"})
	default:
		return errors.New("no step is written so")
	}
	return nil
}

// doAsk reads NAME: AGENT ORDER instead of NAME, of which both names may be missing, or NAME again.
func (d *desk) doAsk(step string) (string, error) {
	if name, again := strings.CutSuffix(step, " again"); again {
		a, err := d.again(name)
		return d.said(a, step), err
	}
	text, old, _ := strings.Cut(step, " instead of ")
	name, rest, named := strings.Cut(text, ": ")
	if !named {
		name, rest = "", text
	}
	agent, line, _ := strings.Cut(rest, " ")
	o, err := gatetest.ReadLine(line)
	if err != nil {
		return step, err
	}
	if e, is := d.orders[old]; old != "" && (!is || d.state.Open(e.Intent) == nil) {
		return step, fmt.Errorf("no open order is called %s", old)
	}
	return d.said(d.ask(name, agent, o, old), step), nil
}

func (d *desk) said(a asked, step string) string {
	a.line = step
	d.asked = append(d.asked, a)
	return fmt.Sprintf("%-44s => %s", step, d.words(a))
}

// words says what a judgement comes to: the verdict, what the limit measured of which bound, what else stops the order,
// and when to come back.
func (d *desk) words(a asked) string {
	said := a.verdict.Effect.String()
	if len(a.verdict.Halts) > 0 {
		said = "halt"
	}
	switch r := a.row; {
	case r.Value == "unknown":
	case r.Value != "":
		said += " " + r.Value + " of " + strings.Fields(r.Bound)[1]
	case r.Effect != "":
		said += " " + r.Effect
	}
	for _, r := range a.verdict.Reasons {
		if r.Rule != "r" || r.Field != a.row.Limit || a.row.Value == "unknown" {
			said += " " + string(r.Code)
		}
	}
	if at := a.verdict.RetryAfter; !at.IsZero() {
		said += " until " + at.In(d.zone).Format(time.RFC3339Nano)
	}
	if a.then != "" {
		said += ", " + a.then
	}
	return said
}
