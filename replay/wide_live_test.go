package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/replay"
	"sallyport/trade"
	"sallyport/wire"
)

// parts is a venue that fills what it has in parts, entries and their exits in whatever order the test says. It books money
// in nine places, as the paper venue does.
type parts struct {
	clock  func() time.Time
	cash   trade.Decimal
	held   map[trade.Symbol]trade.Decimal
	orders []*parted
	events []gate.VenueEvent
}

type parted struct {
	gate.Cleared
	left, exits trade.Decimal // shares; of an order by amount dollars, in left
	over        bool          // the order itself
}

func (v *parts) find(id trade.BrokerOrderID) *parted {
	i := slices.IndexFunc(v.orders, func(p *parted) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return v.orders[i]
}

func (v *parts) Submit(_ context.Context, p gate.Permit) (gate.Receipt, error) {
	c, err := p.Use(gate.SubmitOrder, v.clock())
	if err != nil {
		return gate.Receipt{}, err
	}
	o := &parted{Cleared: c, left: c.Order.Quantity()}
	if c.Order.ByAmount() {
		o.left = c.Order.Amount()
	}
	v.orders = append(v.orders, o)
	return gate.Receipt{Outcome: trade.Accepted, OrderID: fmt.Sprint("p-", len(v.orders)), NextEvent: uint64(len(v.events) + 1)}, nil
}

func (v *parts) tell(o *parted, kind gate.VenueEventKind, exits bool, quantity, price trade.Decimal) {
	e := gate.VenueEvent{
		Number: uint64(len(v.events) + 1), Kind: kind, ID: o.ID, Symbol: o.Order.Symbol(), Side: o.Order.Side(), Quantity: quantity, Price: price,
		At: v.clock(), Exits: exits,
	}
	if exits {
		e.Side = trade.Sell
	}
	v.events = append(v.events, e)
	if kind != gate.VenueFill {
		return
	}
	worth := quantity.Mul(price)
	if e.Side == trade.Buy {
		v.cash, v.held[e.Symbol] = v.cash.Sub(worth.Up()), v.held[e.Symbol].Add(quantity)
	} else {
		v.cash, v.held[e.Symbol] = v.cash.Add(worth.Down()), v.held[e.Symbol].Sub(quantity)
	}
}

// fill fills a part, or all, of an order or of its exits.
func (v *parts) fill(o *parted, exits bool, part func(trade.Decimal) trade.Decimal, price trade.Decimal) {
	switch {
	case exits && o.exits.Sign() > 0:
		quantity := part(o.exits)
		o.exits = o.exits.Sub(quantity)
		v.tell(o, gate.VenueFill, true, quantity, price)
	case exits || o.over || o.left.Sign() <= 0:
	default:
		quantity := part(o.left)
		if o.Order.ByAmount() {
			quantity = o.left.QuoDown(price)
			o.over = true
		}
		o.left = o.left.Sub(quantity)
		if v.tell(o, gate.VenueFill, false, quantity, price); o.Order.HasExits() {
			o.exits = o.exits.Add(quantity)
		}
	}
}

// end cancels what is left of an order or of its exits, or lets it expire.
func (v *parts) end(o *parted, kind gate.VenueEventKind, exits bool) bool {
	switch {
	case exits && o.exits.Sign() > 0:
		v.tell(o, kind, true, o.exits, trade.Decimal{})
		o.exits = trade.Decimal{}
	case exits || o.over || o.left.Sign() <= 0:
		return false
	default:
		o.over = true
		v.tell(o, kind, false, o.left, trade.Decimal{})
	}
	return true
}

func (v *parts) Cancel(_ context.Context, p gate.Permit) (gate.Receipt, error) {
	c, err := p.Use(gate.CancelOrder, v.clock())
	if err != nil {
		return gate.Receipt{}, err
	}
	before, o := len(v.events), v.find(c.ID)
	r := gate.Receipt{Outcome: trade.Rejected}
	if o != nil && v.end(o, gate.VenueCancelled, c.Exits) {
		r.Outcome = trade.Accepted
	}
	r.Events, r.NextEvent = slices.Clone(v.events[before:]), uint64(len(v.events)+1)
	return r, nil
}

func (v *parts) Lookup(context.Context, trade.BrokerOrderID, time.Time) (gate.Receipt, error) {
	return gate.Receipt{}, nil
}

func (v *parts) Events(_ context.Context, after uint64) ([]gate.VenueEvent, error) {
	return slices.Clone(v.events[after:]), nil
}

func (v *parts) Holdings(context.Context) (gate.Holdings, error) {
	h := gate.Holdings{Cash: v.cash}
	for s, q := range v.held {
		if q.Sign() != 0 {
			h.Positions = append(h.Positions, gate.Holding{Symbol: s, Quantity: q})
		}
	}
	slices.SortFunc(h.Positions, func(a, b gate.Holding) int { return strings.Compare(a.Symbol.String(), b.Symbol.String()) })
	return h, nil
}

func (v *parts) Working(context.Context) (all []gate.VenueOrder, err error) {
	for _, o := range v.orders {
		w := gate.VenueOrder{ID: o.ID, Symbol: o.Order.Symbol(), Side: o.Order.Side(), Remaining: o.left}
		if !o.over && o.left.Sign() > 0 {
			all = append(all, w)
		}
		if w.Exits, w.Side, w.Remaining = true, trade.Sell, o.exits; o.exits.Sign() > 0 {
			all = append(all, w)
		}
	}
	return all, nil
}

func number(text string) trade.Decimal {
	d, _ := trade.ParseDecimal(text)
	return d
}

const wideLive = `{"version": 2, "currency": "USD", "timezone": "America/New_York",
  "quotes": {"sources": ["file"], "max_age": "30m", "max_spread_bps": "200", "market_slippage_bps": "50"},
  "approval": {"expires": "20m", "execute_within": "15s", "max_open_proposals": "5"},
  "rules": [{"id": "all",
    "match": {"symbols": ["AAPL", "MSFT"], "sides": ["buy", "sell"], "order_types": ["limit", "market", "stop", "stop_limit"],
      "time_in_force": ["day", "gtc", "ioc"], "agents": ["*"], "asset_classes": ["us_equity"]},
    "allow": {"fractional": true, "extended_hours": true},
    "limits": {
      "order_notional": {"hold_above": "3000.00", "deny_above": "5000.00"},
      "position_quantity": {"deny_above": "120"},
      "gross_exposure": {"deny_above": "30000.00"},
      "position_equity_percent": {"deny_above": "30"},
      "open_orders": {"deny_above": "15"},
      "daily_loss": {"deny_above": "40.00"},
      "drawdown_percent": {"deny_above": "0.2"},
      "consecutive_losses": {"deny_above": "6"}}}]}`

// wideLife drives orders of every kind.
type wideLife struct {
	*life
	venue   *parts
	reduced int // how often
}

// terms draws an order of some kind.
func (l *wideLife) terms() string {
	quantity := fmt.Sprintf("%d.%09d", l.rnd.IntN(30)+1, l.rnd.IntN(1e9))
	if l.rnd.IntN(2) == 0 {
		quantity = fmt.Sprint(l.rnd.IntN(40) + 1)
	}
	size := `"side":"buy","quantity":"` + quantity + `"`
	const exits = `,"stop_loss":"90.00","take_profit":"120.00"`
	return []string{
		size + `,"order_type":"limit","limit_price":"101.00"`,
		size + `,"order_type":"limit","limit_price":"101.00"` + exits,
		size + `,"order_type":"limit","limit_price":"101.00","time_in_force":"gtc"` + exits,
		size + `,"order_type":"market"` + exits,
		size + `,"order_type":"market","stop_loss":"91.00","stop_loss_limit":"90.00"`,
		`"side":"buy","notional":"` + fmt.Sprintf("%d.%02d", 50+l.rnd.IntN(2000), l.rnd.IntN(100)) + `","order_type":"market"`,
		`"side":"buy","notional":"700.00","order_type":"market","take_profit":"130.00"`,
		size + `,"order_type":"stop","stop_price":"102.00"`,
		size + `,"order_type":"stop_limit","stop_price":"102.00","limit_price":"103.00"` + exits,
		size + `,"order_type":"limit","limit_price":"99.50","extended_hours":true`,
		`"side":"sell","quantity":"` + quantity + `","order_type":"market"`,
		`"side":"sell","quantity":"` + quantity + `","order_type":"limit","limit_price":"98.00"`,
		`"side":"sell","quantity":"` + quantity + `","order_type":"stop","stop_price":"95.00","time_in_force":"gtc"`,
		size + `,"order_type":"market","limit_price":"1.00"`, // no order
	}[l.rnd.IntN(14)]
}

func (l *wideLife) order(propose bool) {
	l.place(`{"symbol":"`+[]string{"AAPL", "MSFT"}[l.rnd.IntN(2)]+`",`+l.terms()+`}`, propose)
}

func (l *wideLife) place(raw string, propose bool) {
	v, err := wire.Read([]byte(raw), wire.Limits{Bytes: 1 << 10, Depth: 4})
	if err != nil {
		l.t.Fatal(err)
	}
	tool, _ := dialect.Find("paper_place_order_a")
	order, tags, faults := tool.ParseValue("paper", v)
	c := gate.Call{
		Origin:  gate.Origin{Agent: "bot", Surface: "tape", Tool: tool.Name, ToolCallID: trade.ToolCallID(fmt.Sprint("call-", len(l.intents)))},
		Account: "paper", Order: order, Tags: tags, Faults: faults, Raw: []byte(raw), Tier: trade.TierExecute,
	}
	var d ledger.Decision
	if propose {
		c.Origin.Tool = "trade_propose"
		d = l.gate.Propose(l.t.Context(), c)
	} else {
		d = l.gate.Execute(l.t.Context(), c)
	}
	l.intents, l.orders[string(c.Origin.ToolCallID)] = append(l.intents, d.Intent), d.Intent
	l.decided(d)
}

func (l *wideLife) decided(d ledger.Decision) {
	j := judged{Verdict: d.Verdict.String()}
	if d.MaxQuantityNow != nil {
		j.Most = d.MaxQuantityNow.String()
	}
	for _, r := range d.Reasons {
		j.Codes += string(r.Code) + " "
	}
	l.said = append(l.said, j)
}

// part draws a part of what is left, or all of it.
func (l *wideLife) part(left trade.Decimal) trade.Decimal {
	if l.rnd.IntN(2) == 0 {
		return left
	}
	return left.Mul(number(fmt.Sprintf("0.%d", l.rnd.IntN(9)+1))).Up()
}

func (l *wideLife) step() {
	l.clock.Advance(time.Duration(l.rnd.IntN(40)+1) * time.Second)
	if l.rnd.IntN(30) == 0 {
		l.clock.Advance(time.Duration(l.rnd.IntN(20)) * time.Hour)
		for range 2 {
			l.shows()
		}
	}
	ctx := l.t.Context()
	var o *parted
	if n := len(l.venue.orders); n > 0 {
		o = l.venue.orders[max(0, n-1-l.rnd.IntN(8))]
	}
	switch n := l.rnd.IntN(23); {
	case n == 20:
		l.stopOrGo()
	case n > 20:
		l.reduce()
	case n < 5:
		l.shows()
	case n < 11:
		l.order(n == 10)
	case n == 11:
		l.press(l.rnd.IntN(4) > 0)
	case o == nil:
	case n < 17:
		l.venue.fill(o, n >= 15, l.part, number(fmt.Sprintf("%d.%02d", 97+l.rnd.IntN(6), l.rnd.IntN(100))))
	case n < 18:
		l.venue.end(o, gate.VenueExpired, l.rnd.IntN(2) == 0)
	default:
		who := gate.Origin{Agent: "bot", Surface: []string{"tape", "person"}[l.rnd.IntN(2)]}
		_, _ = l.gate.Cancel(ctx, who, trade.IntentID(strings.TrimPrefix(string(o.ID), "sp-")))
	}
	l.look()
}

// stopOrGo engages the kill switch, or resets it.
func (l *wideLife) stopOrGo() {
	ctx := l.t.Context()
	stops, err := l.gate.Stops(ctx)
	if err == nil && len(stops) == 0 {
		_, err = l.gate.Kill(ctx, gate.StopRequest{Person: l.ann, Reason: "drill", Keep: l.rnd.IntN(3) == 0, All: l.rnd.IntN(3) == 0})
	}
	for _, s := range stops {
		err = errors.Join(err, l.gate.Reset(ctx, l.ann, s.Scope, "over"))
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// reduce has a person sell of what is held, or of more than is held and free, which is refused and on no tape.
func (l *wideLife) reduce() {
	symbol, _ := trade.ParseSymbol([]string{"AAPL", "MSFT"}[l.rnd.IntN(2)])
	o, err := gatetest.ReadLine(fmt.Sprintf("sell %s %s at 98.00", l.part(l.venue.held[symbol]), symbol))
	if err != nil {
		return // nothing is held
	}
	d, err := l.gate.Reduce(l.t.Context(), l.ann, o)
	var refused *gate.Refusal
	if errors.As(err, &refused) {
		return
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.reduced++
	l.orders[fmt.Sprint("call-", len(l.intents))] = d.Intent
	l.intents = append(l.intents, d.Intent)
	l.decided(d)
}

// shows has the market show a quote, which the daemon sees a second later.
func (l *wideLife) shows() {
	l.quote()
	l.clock.Advance(time.Second)
	l.look()
	l.clock.Advance(time.Second)
}

// look is what a daemon does every second.
func (l *wideLife) look() {
	if err := errors.Join(l.gate.Recover(l.t.Context()), l.gate.Settle(l.t.Context())); err != nil {
		l.t.Fatal(err)
	}
}

// TestReplayEqualsLiveOfEveryKindOfOrder drives a gate by random scripts of orders of every kind, whose entries and exits
// are filled in parts and end in any order, with stops, and with reductions of people whether it is stopped or not, and
// replays what is exported of each: every decision, every end and all that the last line says is equal, in whatever zone and
// on however many processors.
func TestReplayEqualsLiveOfEveryKindOfOrder(t *testing.T) {
	reduced := 0
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			venue := &parts{cash: trade.Whole(100_000), held: map[trade.Symbol]trade.Decimal{}}
			l := &wideLife{venue: venue}
			l.life = openLife(t, []byte(wideLive), seed, func(x *life) gate.Broker { venue.clock = x.clock.Now; return venue })
			for range 200 {
				l.step()
			}
			reduced += l.reduced
			last := l.end()
			for name, state := range last {
				if state == "expired" { // which a tape says as a cancel
					last[name] = "cancelled"
				}
			}
			l.line(`"quote":{"symbol":"AAPL","bid":"1.00","ask":"1.00","last":"1.00"}`)
			tape := l.exported()
			o := replayed(t, []byte(wideLive), tape)
			o.last = byNumber(o.last, l.orders)
			l.compare("the exported tape", o, last, func(id trade.IntentID) string { return string(id) })
			if t.Failed() {
				t.Log(tape)
			}
			sameEverywhere(t, tape)
		})
	}
	if reduced < 24 {
		t.Errorf("%d reductions", reduced)
	}
}

// sameEverywhere replays a tape in several zones, on one processor and on several.
func sameEverywhere(t *testing.T, tape string) {
	t.Helper()
	zone, processors := time.Local, runtime.GOMAXPROCS(0)
	defer func() { time.Local = zone; runtime.GOMAXPROCS(processors) }()
	var first []byte
	for i, at := range []*time.Location{time.UTC, time.FixedZone("east", 14*3600), time.FixedZone("west", -12*3600)} {
		time.Local = at
		runtime.GOMAXPROCS(1 + 3*(i%2))
		var out bytes.Buffer
		if err := replay.Run(t.Context(), replay.Config{Policy: []byte(wideLive)}, strings.NewReader(tape), &out); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = bytes.Clone(out.Bytes())
		}
		if !bytes.Equal(first, out.Bytes()) {
			t.Fatalf("in the zone %s it comes to something else", at)
		}
	}
}
