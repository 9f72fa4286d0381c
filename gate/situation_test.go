package gate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// TestParallelAgentsNeverPassTheExposure: 64 agents through several gates on one journal, some of whose orders rest, are
// filled, rejected or lost.
//
//fault:f22
//fault:f23
func TestParallelAgentsNeverPassTheExposure(t *testing.T) {
	const bound = "5005.00" // 50 shares at the ask
	r := newRoom(t, book(`"gross_exposure": {"deny_above": "`+bound+`"}, "net_exposure": {"deny_above": "`+bound+`"}`))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, gate.HomeMode); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, gate.PolicyName), []byte(book(`"gross_exposure": {"deny_above": "`+bound+`"}`)), gate.FileMode); err != nil {
		t.Fatal(err)
	}
	v := &venue{clock: r.clock.now}
	var gates []*gate.Gate
	for range 3 {
		cfg := config(home, v)
		cfg.Now, cfg.Market, cfg.LockWait = r.clock.now, r.x, time.Minute
		gates = append(gates, reopen(t, cfg))
	}
	var wg sync.WaitGroup
	allowed := make([]int, 64)
	for n := range 64 {
		wg.Go(func() {
			for i := range 3 {
				c := call(t, "buy", "AAPL", "1", "99", byAgent(trade.Agent(fmt.Sprintf("a%d", n))), withCall(fmt.Sprintf("c%d-%d", n, i)))
				d := gates[n%3].Execute(ctx, c)
				switch said(d) {
				case "allow":
					allowed[n]++
				case "deny GROSS_EXPOSURE_EXCEEDS_LIMIT":
				default:
					t.Errorf("%s", d.AppendJSON(nil))
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range allowed {
		sum += n
	}
	if sum != 50 || v.submits() != 50 {
		t.Fatalf("%d were allowed and %d sent", sum, v.submits())
	}
}

// TestCountsLastOverRestartsAndEndWithTheDay also tries the days on which the clocks change.
//
//fault:f109
func TestCountsLastOverRestartsAndEndWithTheDay(t *testing.T) {
	for _, day := range []string{"2026-11-30", "2027-03-14", "2027-11-07"} {
		r := newRoom(t, book(`"orders_per_day": {"deny_above": "2"}`))
		r.clock.to(day + " 11:00:00")
		r.want(t, "buy AAPL 1@100", "allow")
		r.restart(t)
		r.want(t, "buy AAPL 2@100", "allow")
		r.restart(t)
		d := r.want(t, "buy AAPL 3@100", "deny ORDERS_PER_DAY_EXCEED_LIMIT")
		if d.RetryAfter <= 0 || d.RetryAfter > 14*time.Hour {
			t.Fatalf("retry after %s", d.RetryAfter)
		}
		r.clock.pass(d.RetryAfter - time.Microsecond)
		r.want(t, "buy AAPL 3@100", "deny ORDERS_PER_DAY_EXCEED_LIMIT")
		r.clock.pass(time.Microsecond)
		r.want(t, "buy AAPL 3@100", "allow")
	}
}

//fault:f14
//fault:f113
func TestLossOfTheDayHaltsTheAccount(t *testing.T) {
	r := newRoom(t, book(`"daily_loss": {"halt_above": "1000.00"}, "leverage": {"deny_above": "1.5"}`))
	r.want(t, "buy AAPL 100@100", "allow") // at 100000 of equity, the venue's cash being what it is
	r.v.cash = "90000"
	r.x.set("AAPL", "90", "90")
	r.want(t, "buy AAPL 1@90", "allow") // 1000 is lost, which is the bound
	r.x.set("AAPL", "89.99", "90")
	c := r.Check(ctx, call(t, "buy", "AAPL", "1", "90"))
	if said(c) != "deny DAILY_LOSS_EXCEEDS_LIMIT" {
		t.Fatal(said(c))
	}
	if stops := must(r.Stops(ctx))(t); len(stops) != 0 {
		t.Fatal("a dry run has stopped the account")
	}
	r.want(t, "buy AAPL 1@90", "deny DAILY_LOSS_EXCEEDS_LIMIT")
	r.restart(t)
	r.want(t, "buy AAPL 1@90", "deny KILL_SWITCH_ACTIVE DAILY_LOSS_EXCEEDS_LIMIT")
	if err := r.Reset(ctx, r.anna, ledger.Scope{Kind: ledger.OneAccount, Name: "paper"}, "looked at it"); err != nil {
		t.Fatal(err)
	}
	r.want(t, "buy AAPL 1@90", "deny DAILY_LOSS_EXCEEDS_LIMIT")
}

//attack:gate-holdings-age
func TestBrokerThatAnsweredLongAgoIsNotJudgedBy(t *testing.T) {
	for _, c := range []struct {
		passes time.Duration
		want   string
	}{{5 * time.Second, "allow"}, {5*time.Second + time.Microsecond, "deny EQUITY_UNAVAILABLE"}} {
		r := newRoom(t, book(`"leverage": {"deny_above": "1.5"}`))
		cfg := gate.WithStep(r.cfg, func(step string) {
			if step == "before decide" {
				r.clock.pass(c.passes)
			}
		})
		if err := r.Gate.Close(); err != nil {
			t.Fatal(err)
		}
		r.Gate = reopen(t, cfg)
		r.want(t, "buy AAPL 1@100", c.want)
	}
}

// TestHookWithoutABrokerKnowsNoEquity: what is not known is a no.
//
//fault:f20
func TestHookWithoutABrokerKnowsNoEquity(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, gate.HomeMode); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, gate.PolicyName), []byte(book(`"leverage": {"deny_above": "1.5"}`)), gate.FileMode); err != nil {
		t.Fatal(err)
	}
	r := newRoom(t, book(`"leverage": {"deny_above": "1.5"}`))
	cfg := config(home, nil)
	cfg.Market, cfg.Now = r.x, r.clock.now
	g := reopen(t, cfg)
	if d := g.Authorize(ctx, call(t, "buy", "AAPL", "1", "100", atHook)); d.Verdict != policy.Deny {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Holds = func(context.Context) (gate.Holdings, error) { return gate.Holdings{Cash: dec("100000")}, nil }
	if d := reopen(t, cfg).Authorize(ctx, call(t, "buy", "AAPL", "1", "100", atHook)); said(d) != "allow" {
		t.Fatalf("told what the account holds: %s", d.AppendJSON(nil))
	}
}

// TestAccountWhoseFillsNobodyTellsSaysSo: that is why it is denied, and it holds for no other account.
//
//attack:gate-untold
func TestAccountWhoseFillsNobodyTellsSaysSo(t *testing.T) {
	r := newRoom(t, book(`"leverage": {"deny_above": "1.5"}, "position_quantity": {"deny_above": "100"}, "daily_loss": {"deny_above": "5"}`))
	for _, side := range []string{"buy", "sell"} {
		own, far := call(t, side, "AAPL", "1", "100", atHook), call(t, side, "AAPL", "1", "100", atHook, elsewhere(t, "alpaca"))
		if d := r.Authorize(ctx, own); strings.Contains(string(d.AppendJSON(nil)), "nobody tells") {
			t.Errorf("of the gate's own account: %s", d.AppendJSON(nil))
		}
		d := r.Authorize(ctx, far)
		if d.Verdict != policy.Deny || len(d.Reasons) == 0 {
			t.Errorf("%s", d.AppendJSON(nil))
		}
		for _, reason := range d.Reasons {
			if !strings.HasSuffix(reason.Message, "; nobody tells Sallyport what the account alpaca holds") {
				t.Errorf("%s: %s", reason.Code, reason.Message)
			}
		}
	}
}

// elsewhere makes a call one for another account.
func elsewhere(t *testing.T, a trade.Account) func(*gate.Call) {
	return func(c *gate.Call) {
		text := func(name, v string) trade.Text { return trade.Text{Name: name, Value: v, Kind: trade.IsText} }
		o, _, faults := trade.Parse(trade.Draft{
			Account: a, Symbol: text("symbol", c.Order.Symbol().String()), Side: text("side", c.Order.Side().String()),
			Quantity: text("quantity", c.Order.Quantity().String()), Type: text("order_type", "limit"),
			LimitPrice: text("limit_price", "100"), TimeInForce: text("time_in_force", "day"),
		})
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		c.Account, c.Order = a, o
	}
}

//attack:gate-remembers
func TestOlderJournalRemembersFromNowOn(t *testing.T) {
	r := newRoom(t, book(`"orders_per_minute": {"deny_above": "5"}, "orders_per_day": {"deny_above": "5"}`), gate.Forgetful)
	d := r.want(t, "buy AAPL 1@100", "deny COUNT_UNAVAILABLE COUNT_UNAVAILABLE")
	if d.RetryAfter != 0 {
		t.Fatalf("retry after %s", d.RetryAfter)
	}
	r.restart(t)
	r.clock.pass(time.Minute)
	r.want(t, "buy AAPL 1@100", "deny COUNT_UNAVAILABLE") // of the day, whose morning is not known
	r.clock.to("2026-12-01 00:00:00")
	r.want(t, "buy AAPL 1@100", "allow")
	began := 0
	for _, e := range events(t, r.Gate) {
		if e, is := e.(ledger.HistoryBegan); is {
			if began++; e.FromStart {
				t.Fatal("an older journal says that it remembers from its start")
			}
		}
	}
	if began != 1 {
		t.Fatalf("the state began to remember %d times", began)
	}
}

// TestShortProcessReadsNothingOfThePast: a hook's process opens the journal, decides or reports once, and ends. What it
// reads of the orders of the last day is what the policy asks for, and else all of it only where a new snapshot is due:
// over many processes no more than was appended since the last one. What counts is bytes, not time.
func TestShortProcessReadsNothingOfThePast(t *testing.T) {
	var cfg gate.Config
	g := open(t, nil, func(c *gate.Config) { cfg = *c })
	act := func(g *gate.Gate, i int) {
		t.Helper()
		c := call(t, "buy", "AAPL", "1", "150.00", atHook, withCall(fmt.Sprint("call-", i/2)))
		if i%2 == 0 {
			wantDecision(t, g.Authorize(ctx, c), policy.Allow, ledger.Allowed, "")
		} else if _, found, err := g.Report(ctx, report(c, trade.Rejected)); err != nil || !found {
			t.Fatal(found, err)
		}
	}
	const before, processes = 1000, 40
	for i := range before {
		act(g, i)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	read, readers, last := 0, 0, 0
	for i := range processes {
		p := reopen(t, cfg)
		last = gate.Unread(p)
		act(p, before+i)
		if n := last - gate.Unread(p); n > 0 {
			read, readers = read+n, readers+1
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if read > processes*1000+32<<10 || readers > 4 || last < before/2*10 {
		t.Errorf("%d of %d processes read %d bytes of the past; %d were there to be read", readers, processes, read, last)
	}
	if _, err := reopen(t, cfg).Verify(ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
}
