package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/market"
	"sallyport/policy"
	"sallyport/replay"
	"sallyport/trade"
)

// life is a gate with a journal on the disk that goes through what a script says, and the tape of the same.
type life struct {
	t     *testing.T
	rnd   *rand.Rand
	gate  *gate.Gate
	venue *gatetest.Broker
	clock *gatetest.Clock
	ann   gate.Person
	shown *quotes

	tape    bytes.Buffer
	said    []judged
	intents []trade.IntentID // by number
	orders  map[string]trade.IntentID
}

// mute is a venue that never says later what it did not say at once.
type mute struct{ *gatetest.Broker }

func (mute) Lookup(context.Context, trade.BrokerOrderID, time.Time) (gate.Receipt, error) {
	return gate.Receipt{}, nil
}

// judged is what a decision comes to.
type judged struct{ Verdict, Codes, Most string }

// quotes is what both markets show.
type quotes struct {
	newest   map[trade.Symbol]trade.Quote
	calendar *market.Calendar
}

func (q *quotes) Quote(s trade.Symbol) (trade.Quote, bool, error) {
	x, ok := q.newest[s]
	return x, ok, nil
}

// Look is the live gate's market.
func (q *quotes) Look(by policy.Quotes) gate.View {
	return &replay.View{Sources: []market.Named{{Name: "file", Source: q}}, Bounds: replay.BoundsOf(by), Calendar: q.calendar}
}

func newLife(t *testing.T, raw []byte, seed uint64) *life {
	t.Helper()
	return openLife(t, raw, seed, func(l *life) gate.Broker {
		l.venue = &gatetest.Broker{Now: l.clock.Now, Default: gatetest.Rest}
		return mute{l.venue}
	})
}

// openLife begins a life at a venue.
func openLife(t *testing.T, raw []byte, seed uint64, venue func(*life) gate.Broker) *life {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, gate.PolicyName), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	calendar, err := market.NewYork()
	if err != nil {
		t.Fatal(err)
	}
	l := &life{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), clock: gatetest.NewClock(), orders: map[string]trade.IntentID{},
		shown: &quotes{newest: map[trade.Symbol]trade.Quote{}, calendar: calendar},
	}
	l.gate, err = gate.Open(t.Context(), gate.Config{
		Home: home, Create: true, Broker: venue(l), Now: l.clock.Now, Entropy: gatetest.Entropy(seed), Daemon: true, Market: l.shown, Trial: replay.Trial,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.gate.Close() })
	secret, err := l.gate.MakeOwner(t.Context(), gate.PersonTerms{Name: "ann", Approver: true})
	if err != nil {
		t.Fatal(err)
	}
	if l.ann, err = l.gate.Identify(t.Context(), secret, "terminal"); err != nil {
		t.Fatal(err)
	}
	l.line(`"account":{"cash":"100000.00","equity":"100000.00"}`)
	return l
}

func (l *life) line(format string, args ...any) {
	fmt.Fprintf(&l.tape, `{"at":"%s",`+format+"}\n", append([]any{l.clock.Now().Format(time.RFC3339Nano)}, args...)...)
}

// step does one thing in both worlds.
func (l *life) step() {
	l.clock.Advance(time.Duration(l.rnd.IntN(40)+1) * time.Second)
	if l.rnd.IntN(12) == 0 {
		l.clock.Advance(time.Duration(l.rnd.IntN(40)) * time.Minute)
	}
	ctx := l.t.Context()
	switch n := l.rnd.IntN(20); {
	case n < 5:
		l.quote()
	case n < 12:
		l.order(n == 11)
	case n < 14:
		l.fill()
	case n < 15:
		if id, name := l.any(); id != "" {
			who := gate.Origin{Agent: "bot", Surface: "tape"}
			if _, err := l.gate.Withdraw(ctx, who, trade.TierPropose, id, ""); err != nil {
				_, _ = l.gate.Cancel(ctx, who, id)
			}
			l.line(`"cancel":{"intent":"%s"}`, name)
		}
	case n < 18:
		l.press(n < 17)
	case n < 19 && l.rnd.IntN(4) == 0:
		scope := []ledger.Scope{{}, {Kind: ledger.OneSymbol, Name: "AAPL"}, {Kind: ledger.OneAgent, Name: "bot"}}[l.rnd.IntN(3)]
		if _, err := l.gate.Kill(ctx, gate.StopRequest{Scope: scope, Person: l.ann, Reason: "drill"}); err != nil {
			l.t.Fatal(err)
		}
		l.line(`"kill":{"scope":"%s","by":"ann","reason":"drill"}`, scope)
	default:
		stops, err := l.gate.Stops(ctx)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, s := range stops {
			if err := l.gate.Reset(ctx, l.ann, s.Scope, "over"); err != nil {
				l.t.Fatal(err)
			}
			l.line(`"reset":{"scope":"%s","by":"ann","reason":"over"}`, s.Scope)
		}
	}
}

func (l *life) quote() {
	name := []string{"AAPL", "MSFT"}[l.rnd.IntN(2)]
	cents := 9_900 + l.rnd.IntN(200)
	money := func(c int) string { return fmt.Sprintf("%d.%02d", c/100, c%100) }
	sym, _ := trade.ParseSymbol(name)
	q := trade.Quote{Symbol: sym, At: l.clock.Now()}
	q.Bid, _ = trade.ParseDecimal(money(cents))
	q.Ask, _ = trade.ParseDecimal(money(cents + 4))
	q.Last = q.Bid
	l.shown.newest[sym] = q
	l.line(`"quote":{"symbol":"%s","bid":"%s","ask":"%s","last":"%s"}`, name, money(cents), money(cents+4), money(cents))
}

func (l *life) call(side, symbol, quantity, limit string) gate.Call {
	c := gatetest.Call(l.t, side, symbol, quantity, limit)
	c.Origin = gate.Origin{Agent: "bot", Surface: "tape", Tool: "paper_place_order_a"}
	return c
}

func (l *life) order(propose bool) {
	side := []string{"buy", "buy", "sell"}[l.rnd.IntN(3)]
	name := []string{"AAPL", "MSFT", "AAPL", "GME"}[l.rnd.IntN(4)]
	quantity := fmt.Sprint(1 + l.rnd.IntN(40))
	if l.rnd.IntN(10) == 0 {
		quantity = "1.5.5" // no order
	}
	limit := fmt.Sprintf("%d.00", 95+l.rnd.IntN(10))
	answer, word := gatetest.Rest, ""
	switch l.rnd.IntN(8) {
	case 0:
		answer, word = gatetest.Reject("NO"), `,"broker":"rejected"`
	case 1:
		answer, word = gatetest.Unclear, `,"broker":"unknown"`
	}
	id := fmt.Sprint("call-", len(l.intents))
	c := l.call(side, name, quantity, limit)
	c.Origin.ToolCallID = trade.ToolCallID(id)
	var d ledger.Decision
	if propose {
		c.Origin.Tool = "trade_propose"
		d, word = l.gate.Propose(l.t.Context(), c), ""
	} else {
		before := len(l.venue.Submits())
		l.venue.Default = answer
		d = l.gate.Execute(l.t.Context(), c)
		l.venue.Default = gatetest.Rest
		if len(l.venue.Submits()) == before {
			word = ""
		}
	}
	l.intents, l.orders[id] = append(l.intents, d.Intent), d.Intent
	most := ""
	if d.MaxQuantityNow != nil {
		most = d.MaxQuantityNow.String()
	}
	j := judged{Verdict: d.Verdict.String(), Most: most}
	for _, r := range d.Reasons {
		j.Codes += string(r.Code) + " "
	}
	l.said = append(l.said, j)
	l.line(`"intent":{"id":"%s","agent":"bot","tool":"%s","args":{"symbol":"%s","side":"%s","quantity":"%s","order_type":"limit","limit_price":"%s"}}`+word,
		id, c.Origin.Tool, name, side, quantity, limit)
}

// any picks an intent.
func (l *life) any() (trade.IntentID, string) {
	if len(l.intents) == 0 {
		return "", ""
	}
	n := max(0, len(l.intents)-1-l.rnd.IntN(6))
	return l.intents[n], fmt.Sprint("call-", n)
}

func (l *life) fill() {
	id, name := l.any()
	if id == "" || !l.venue.FillWorking(id.BrokerOrderID()) {
		return
	}
	d, _, err := l.gate.History(l.t.Context(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	if err := l.gate.Recover(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	l.line(`"fill":{"intent":"%s","quantity":"%s","price":"%s"}`, name, d.Order.Quantity(), d.Order.LimitPrice().Money())
}

func (l *life) press(yes bool) {
	open, err := l.gate.Proposals(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	if len(open) == 0 {
		return
	}
	p := gate.Press{By: l.ann, Proposal: open[0].Intent, Digest: open[0].Order.Digest(), Reason: "no"}
	word, wrong := "approve", p
	wrong.Digest[0]++ // refused, so that it did nothing and no tape has it
	if _, err := l.gate.Approve(l.t.Context(), wrong); err == nil {
		l.t.Fatal("a press for other terms counted")
	}
	if yes {
		_, _ = l.gate.Approve(l.t.Context(), p)
	} else {
		_, _ = l.gate.Decline(l.t.Context(), p)
		word = "decline"
	}
	l.line(`"%s":{"intent":"%s","by":"ann"}`, word, open[0].ToolCallID)
}

// outcome is what a replay said, by intent in the order of the tape.
type outcome struct {
	said  []judged
	last  map[string]string // the state of each intent at the end
	final standing
}

func replayed(t *testing.T, raw []byte, tape string) outcome {
	t.Helper()
	var out bytes.Buffer
	if err := replay.Run(t.Context(), replay.Config{Policy: raw}, strings.NewReader(tape), &out); err != nil {
		t.Fatalf("%v\n%s", err, tape)
	}
	o := outcome{last: map[string]string{}}
	for text := range strings.Lines(out.String()) {
		var x struct {
			Intent, Verdict, State, To string
			Most                       string `json:"max_quantity_now"`
			Reasons                    []struct{ Code string }
			Final                      *standing
		}
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			t.Fatal(err)
		}
		switch {
		case x.Final != nil:
			o.final = *x.Final
		case x.Verdict != "":
			j := judged{Verdict: x.Verdict, Most: x.Most}
			for _, r := range x.Reasons {
				j.Codes += r.Code + " "
			}
			o.said = append(o.said, j)
			o.last[x.Intent] = x.State
		default:
			o.last[x.Intent] = x.To
		}
	}
	return o
}

// end is where the intents of the live world stand, in the words of a replay.
func (l *life) end() (last map[string]string) {
	ctx := l.t.Context()
	if err := l.gate.Settle(ctx); err != nil {
		l.t.Fatal(err)
	}
	last = map[string]string{}
	for name, id := range l.orders {
		d, _, err := l.gate.History(ctx, id)
		if err != nil {
			l.t.Fatal(err)
		}
		if last[name] = string(d.State); d.State == ledger.Succeeded && d.OrderStatus() != "working" {
			last[name] = d.OrderStatus()
		}
	}
	return last
}

const versionOne = `{"max_gross_buy_notional_usd":"3000.00","max_quantity":30,"symbol_allowlist":["AAPL","MSFT"],"order_type_allowlist":["limit"],"side_allowlist":["buy","sell"]}`

const versionTwo = `{"version": 2, "currency": "USD", "timezone": "America/New_York",
  "quotes": {"sources": ["file"], "max_age": "3m", "max_spread_bps": "200"},
  "approval": {"expires": "20m", "execute_within": "15s", "max_open_proposals": "5"},
  "rules": [{"id": "large-caps",
    "match": {"symbols": ["AAPL", "MSFT"], "sides": ["buy", "sell"], "order_types": ["limit"], "time_in_force": ["day"], "agents": ["*"], "asset_classes": ["us_equity"]},
    "limits": {
      "order_quantity": {"hold_above": "25", "deny_above": "35"},
      "price_collar_bps": {"hold_above": "200", "deny_above": "400"},
      "orders_per_minute": {"deny_above": "3", "per": "agent"},
      "notional_per_day": {"deny_above": "60000.00"},
      "position_quantity": {"deny_above": "90"},
      "gross_exposure": {"deny_above": "12000.00"},
      "open_orders": {"deny_above": "6"},
      "daily_loss": {"halt_above": "150.00"},
      "consecutive_losses": {"hold_above": "2", "deny_above": "4"},
      "broker_rejections": {"halt_above": "3", "window": "10m"}}}]}`

// scripts is how many scripts are gone through for each version.
const scripts = 4

// TestReplayEqualsLive drives a gate with a journal on the disk by random scripts, and replays the tape of each script and
// the tape that is exported of the journal, with the quotes put in: every decision, every intent's end, and all that the
// last line says is equal.
func TestReplayEqualsLive(t *testing.T) {
	for name, raw := range map[string]string{"version 1": versionOne, "version 2": versionTwo} {
		for seed := range uint64(scripts) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				l := newLife(t, []byte(raw), seed)
				for range 150 {
					l.step()
				}
				last := l.end()
				l.line(`"quote":{"symbol":"AAPL","bid":"1.00","ask":"1.00","last":"1.00"}`) // so that it ends at the same time
				o := replayed(t, []byte(raw), l.tape.String())
				l.compare("the tape", o, last, func(id trade.IntentID) string { return l.named()[id] })
				o = replayed(t, []byte(raw), l.exported())
				o.last = byNumber(o.last, l.orders)
				l.compare("the exported tape", o, last, func(id trade.IntentID) string { return string(id) })
			})
		}
	}
}

// byNumber gives intents that an exported tape names by their ids the names of the script.
func byNumber(last map[string]string, orders map[string]trade.IntentID) map[string]string {
	named := map[string]string{}
	for name, id := range orders {
		named[name] = last[string(id)]
	}
	return named
}

func (l *life) exported() string {
	var b bytes.Buffer
	x := replay.NewExporter(&b)
	if err := l.gate.Export(l.t.Context(), func(r journal.Record) error { return x.Record(r) }); err != nil {
		l.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for line := range strings.Lines(l.tape.String()) { // quotes are not on record
		if strings.Contains(line, `"quote":`) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int { return timeOf(a).Compare(timeOf(b)) })
	return strings.Join(lines, "\n")
}

func timeOf(line string) time.Time {
	text, _, _ := strings.Cut(strings.TrimPrefix(line, `{"at":"`), `"`)
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at
}

// named returns the names of the script by what the gate calls its intents.
func (l *life) named() map[trade.IntentID]string {
	all := map[trade.IntentID]string{}
	for name, id := range l.orders {
		all[id] = name
	}
	return all
}

func (l *life) compare(what string, o outcome, last map[string]string, name func(trade.IntentID) string) {
	l.t.Helper()
	if len(o.said) != len(l.said) {
		l.t.Fatalf("%s has %d decisions, and there were %d", what, len(o.said), len(l.said))
	}
	for i := range o.said {
		if o.said[i] != l.said[i] {
			l.t.Errorf("%s: intent %d was %+v live, and is %+v", what, i, l.said[i], o.said[i])
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if o.last[name] != last[name] {
			l.t.Errorf("%s: %s ended as %s live, and does as %s", what, name, last[name], o.last[name])
		}
	}
	l.compareStanding(what, o.final, l.standing(name))
}
