package gate_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// TestFaultThousandfoldAfterACrash: the process ends, the agent has forgotten what it held, and sends a thousand times the
// amount. The limits go by the record and by the broker, which have not.
//
//fault:f04
func TestFaultThousandfoldAfterACrash(t *testing.T) {
	r := newRoom(t, book(`"order_quantity": {"deny_above": "60000"}, "position_quantity": {"deny_above": "60000"}, "position_equity_percent": {"hold_above": "60", "deny_above": "90"}`))
	r.x.set("AAPL", "1", "1.00")
	r.want(t, "buy AAPL 52439@1.00", "allow")
	r.restart(t)
	r.want(t, "buy AAPL 52439000@1.00", "deny QUANTITY_EXCEEDS_LIMIT POSITION_QUANTITY_EXCEEDS_LIMIT POSITION_EQUITY_PERCENT_EXCEEDS_LIMIT")
	r.want(t, "buy AAPL 52439@1.00", "deny POSITION_QUANTITY_EXCEEDS_LIMIT POSITION_EQUITY_PERCENT_EXCEEDS_LIMIT") // as if nothing were held
	r.want(t, "buy AAPL 7561@1.00", "allow")                                                                       // 60,000 of 100,000
	r.want(t, "sell AAPL 1@1.00", "allow")
	r.v.rests = true
	r.want(t, "buy AAPL 1@1.00", "allow")
	if r.v.submits() != 4 {
		t.Fatalf("%d submits", r.v.submits())
	}
}

// TestFaultEachSeesTheOldTotal: ten orders of $600 at the same time under a day's bound of $1000, again and again. Each time
// one of them is sent.
//
//fault:f22
func TestFaultEachSeesTheOldTotal(t *testing.T) {
	for _, limit := range []string{`"notional_per_day": {"deny_above": "1000.00"}`, `"gross_exposure": {"deny_above": "1000.00"}`, `"position_quantity": {"deny_above": "10"}`} {
		t.Run(strings.Fields(limit)[0], func(t *testing.T) {
			t.Parallel()
			for range 20 {
				r := newRoom(t, book(limit))
				r.v.rests = true
				var wg sync.WaitGroup
				var mu sync.Mutex
				verdicts := map[policy.Effect]int{}
				for i := range 10 {
					c := call(t, "buy", "AAPL", "6", "100", byAgent(trade.Agent(fmt.Sprint("agent-", i))))
					wg.Go(func() {
						d := r.Execute(ctx, c)
						mu.Lock()
						defer mu.Unlock()
						verdicts[d.Verdict]++
					})
				}
				wg.Wait()
				if verdicts[policy.Allow] != 1 || verdicts[policy.Deny] != 9 || r.v.submits() != 1 {
					t.Fatalf("%v, %d submits", verdicts, r.v.submits())
				}
			}
		})
	}
}

// TestFaultRuleHoldsOnOneWayOnly holds each kind of rule against each way in. The order before has come by another way.
//
//fault:f16
//fault:f117
func TestFaultRuleHoldsOnOneWayOnly(t *testing.T) {
	ways := map[string]func(*room, gate.Call) ledger.Decision{
		"execute": func(r *room, c gate.Call) ledger.Decision { return r.Execute(ctx, c) },
		"permit": func(r *room, c gate.Call) ledger.Decision {
			atHook(&c)
			return r.Authorize(ctx, c)
		},
		"propose": func(r *room, c gate.Call) ledger.Decision { return r.Propose(ctx, c) },
		"check":   func(r *room, c gate.Call) ledger.Decision { return r.Check(ctx, c) },
		"execute what a hook has permitted": func(r *room, c gate.Call) ledger.Decision {
			c.Origin.ToolCallID = "c1"
			d := r.Authorize(ctx, c)
			if d.Verdict != policy.Allow {
				return d
			}
			return r.Execute(ctx, c)
		},
	}
	for limit, c := range map[string]struct{ before, order, want string }{
		`"order_quantity": {"deny_above": "10"}`:                    {"", "buy AAPL 11@100", "QUANTITY_EXCEEDS_LIMIT"},
		`"order_notional": {"deny_above": "1000.00"}`:               {"", "buy AAPL 10@100", "NOTIONAL_EXCEEDS_LIMIT"},
		`"price_collar_bps": {"deny_above": "100"}`:                 {"", "buy AAPL 1@102", "PRICE_OUTSIDE_COLLAR"},
		`"orders_per_minute": {"deny_above": "1"}`:                  {"buy AAPL 1@100", "buy AAPL 2@100", "ORDERS_PER_MINUTE_EXCEED_LIMIT"},
		`"orders_per_day": {"deny_above": "1"}`:                     {"buy MSFT 1@50", "buy AAPL 2@100", "ORDERS_PER_DAY_EXCEED_LIMIT"},
		`"notional_per_day": {"deny_above": "1000.00"}`:             {"buy AAPL 6@100", "buy AAPL 5@100", "NOTIONAL_PER_DAY_EXCEEDS_LIMIT"},
		`"similar_orders": {"deny_above": "0", "window": "30s"}`:    {"buy AAPL 1@100", "buy AAPL 1@100", "SIMILAR_ORDERS_EXCEED_LIMIT"},
		`"position_quantity": {"deny_above": "10"}`:                 {"buy AAPL 6@100", "buy AAPL 5@100", "POSITION_QUANTITY_EXCEEDS_LIMIT"},
		`"gross_exposure": {"deny_above": "1000.00"}`:               {"buy MSFT 10@50", "buy AAPL 5@100", "GROSS_EXPOSURE_EXCEEDS_LIMIT"},
		`"open_orders": {"deny_above": "1"}`:                        {"buy AAPL 1@90", "buy AAPL 2@90", "OPEN_ORDERS_EXCEED_LIMIT"},
		`"order_quantity": {"hold_above": "9", "deny_above": "10"}`: {"", "sell AAPL 1@100", "SHORT_SALE_NOT_ALLOWED"},
		`"position_equity_percent": {"deny_above": "0.5"}`:          {"", "buy AAPL 5@100", "POSITION_EQUITY_PERCENT_EXCEEDS_LIMIT"},
		`"leverage": {"deny_above": "0.01"}`:                        {"buy AAPL 5@100", "buy AAPL 5@100", "LEVERAGE_EXCEEDS_LIMIT"},
		`"net_exposure": {"deny_above": "1000.00"}`:                 {"buy AAPL 6@100", "buy AAPL 5@100", "NET_EXPOSURE_EXCEEDS_LIMIT"},
	} {
		for way, try := range ways {
			t.Run(c.want+"/"+way, func(t *testing.T) {
				r := newRoom(t, book(limit))
				r.v.rests = true
				if c.before != "" {
					r.want(t, c.before, "allow")
				}
				submits := r.v.submits()
				f := strings.FieldsFunc(c.order, func(r rune) bool { return r == ' ' || r == '@' })
				if d := try(r, call(t, f[0], f[1], f[2], f[3])); d.Verdict != policy.Deny || !strings.Contains(codes(d), c.want) || r.v.submits() != submits {
					t.Fatalf("%d submits: %s", r.v.submits()-submits, d.AppendJSON(nil))
				}
			})
		}
	}
}

// TestFaultBaselineBeginsAnew: of a bound of 5,000 a day, 4,000 are lost, the process is started again, and 4,000 more are
// lost.
//
//fault:f109
func TestFaultBaselineBeginsAnew(t *testing.T) {
	r := newRoom(t, book(`"daily_loss": {"deny_above": "5000.00"}`))
	r.want(t, "buy AAPL 400@100.10", "allow")
	r.v.cash = "59960"
	r.x.set("AAPL", "90.10", "90.10")
	r.want(t, "buy AAPL 1@90.10", "allow") // 4,000 are lost
	r.restart(t)
	r.want(t, "buy AAPL 1@90.10", "allow")
	r.x.set("AAPL", "80.10", "80.10")
	r.restart(t)
	d := r.want(t, "buy AAPL 1@80.10", "deny DAILY_LOSS_EXCEEDS_LIMIT")
	if !strings.HasPrefix(d.Reasons[0].Observed, "8020.00") {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	r.clock.to("2026-12-01 10:00:00")
	r.want(t, "buy AAPL 1@80.10", "allow")
}

// TestFaultOneBadReadingOfTheBalance: for one look the broker does not answer, or answers that there is nothing at all.
// Nothing that adds risk passes, the switch is not engaged, what works goes on, and the next look finds all as it was.
//
//attack:gate-nothing-held
//fault:f112
func TestFaultOneBadReadingOfTheBalance(t *testing.T) {
	for name, harm := range map[string]func(*venue){
		"no answer": func(v *venue) { v.holdErr = errors.New("502 bad gateway") },
		"nothing":   func(v *venue) { v.cash, v.blank = "0", true },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, book(`"drawdown_percent": {"halt_above": "5"}, "daily_loss": {"halt_above": "1000.00"}, "leverage": {"deny_above": "1.5"}`))
			r.want(t, "buy AAPL 10@100.10", "allow")
			r.v.rests = true
			working := r.want(t, "buy AAPL 1@90", "allow")
			harm(r.v)
			d := r.want(t, "buy AAPL 1@100", "deny EQUITY_UNAVAILABLE LOSS_UNAVAILABLE EQUITY_UNAVAILABLE")
			if stops := must(r.Stops(ctx))(t); len(stops) != 0 || d.Error != "" {
				t.Fatalf("%v: %s", stops, d.AppendJSON(nil))
			}
			if now, _, err := r.History(ctx, working.Intent); err != nil || now.OrderStatus() != "working" {
				t.Fatalf("%v: %s", err, now.AppendJSON(nil))
			}
			r.want(t, "sell AAPL 10@100", "allow") // the way out
			r.v.holdErr, r.v.cash, r.v.blank = nil, "", false
			r.want(t, "buy AAPL 1@100", "allow")
		})
	}
}

// TestFaultExitsThatNobodySaw: an order is approved with a stop loss at 95, and arrives with one at 1, or with none. It is
// another order; and who approves was shown every price.
//
//fault:f58
func TestFaultExitsThatNobodySaw(t *testing.T) {
	r := newRoom(t, book(holdsAbove5))
	text := func(name, v string) trade.Text { return trade.Text{Name: name, Value: v, Kind: trade.IsText} }
	with := func(stop, profit string) gate.Call {
		c := call(t, "buy", "AAPL", "6", "100", atHook)
		d := trade.Draft{
			Account: "paper", Symbol: text("symbol", "AAPL"), Side: text("side", "buy"), Quantity: text("quantity", "6"), Type: text("order_type", "limit"),
			LimitPrice: text("limit_price", "100"), TimeInForce: text("time_in_force", "day"), TakeProfit: text("take_profit", profit),
		}
		if stop != "" {
			d.StopLoss = text("stop_loss", stop)
		}
		var faults []trade.Fault
		if c.Order, _, faults = trade.Parse(d); len(faults) > 0 {
			t.Fatal(faults)
		}
		return c
	}
	shown := r.Authorize(ctx, with("95.00", "110.00"))
	if shown.State != ledger.ApprovalPending {
		t.Fatalf("%s", shown.AppendJSON(nil))
	}
	brief := must(r.Brief(ctx, shown.Intent))(t).Text()
	for _, price := range []string{"LIMIT 100.00", "95.00", "110.00"} {
		if !strings.Contains(brief, price) {
			t.Errorf("who approves is not shown %s:\n%s", price, brief)
		}
	}
	if d := must(r.Approve(ctx, press(r.anna, shown)))(t); d.State != ledger.ApprovalGranted {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	for _, other := range []gate.Call{with("1.00", "110.00"), with("", "110.00"), with("95.00", "111.00"), call(t, "buy", "AAPL", "6", "100", atHook)} {
		if d := r.Authorize(ctx, other); d.Verdict != policy.Hold || d.Intent == shown.Intent {
			t.Errorf("%s", d.AppendJSON(nil))
		}
		p := press(r.anna, shown)
		p.Digest = other.Order.Digest()
		if _, err := r.Approve(ctx, p); err == nil {
			t.Error("another digest was approved")
		}
	}
	wantDecision(t, r.Authorize(ctx, with("95.00", "110.00")), policy.Allow, ledger.Allowed, "")
}

// TestFaultSendsWithoutEnd: an agent sends order after order with new ids, none of which is filled. It is stopped at the
// bound, stops itself by its denials, and one command cancels all.
//
//fault:f01
//fault:f23
func TestFaultSendsWithoutEnd(t *testing.T) {
	r := newRoom(t, book(`"gross_exposure": {"deny_above": "20000.00"}, "denials_per_minute": {"halt_above": "10", "per": "agent"}`))
	r.v.rests = true
	loop := func(n int) (allowed int) {
		for i := range n {
			if d := r.Execute(ctx, call(t, "buy", "AAPL", "10", "100", byAgent("loop"), withOrder(fmt.Sprint("o", i)))); d.Verdict == policy.Allow {
				allowed++
			}
			r.clock.pass(time.Millisecond)
		}
		return allowed
	}
	if n := loop(200); n != 19 { // at 1001.00 each, the ask being what they may cost
		t.Fatalf("%d orders were sent", n)
	}
	stops := must(r.Stops(ctx))(t)
	if len(stops) != 1 || stops[0].Scope.String() != "agent:loop" || r.v.submits() != 19 {
		t.Fatalf("%v, %d submits", stops, r.v.submits())
	}
	if left := must(r.v.Working(ctx))(t); len(left) != 0 {
		t.Fatalf("%d still work", len(left))
	}
	rep := must(r.Kill(context.Background(), stop("enough")))(t)
	if d := r.Execute(ctx, call(t, "buy", "AAPL", "1", "100")); !rep.Recorded || d.Error != "killswitch_active" {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
}

// lockJournal keeps the journal's lock, as another process that does not come to its end, until it is told to release it.
func (o *office) lockJournal(t *testing.T) (release func()) {
	t.Helper()
	j, err := journal.Open(ctx, journal.Config{Path: filepath.Join(o.cfg.Home, gate.JournalName), LockWait: time.Second, Follower: noFollower{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() }) // it was only to hold the lock
	held, over, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- j.Update(ctx, func(*journal.Tx) error {
			close(held)
			<-over
			return nil
		})
	}()
	<-held
	return func() {
		close(over)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestFaultWriteFailsAndTheDayLooksEmpty: of a day's bound a part is used, and then nothing can be written. What cannot be
// recorded is denied, and when the journal can be written again the day has what was sent before, and nothing else.
//
//fault:f18
func TestFaultWriteFailsAndTheDayLooksEmpty(t *testing.T) {
	r := newRoom(t, book(`"notional_per_day": {"deny_above": "1000.00"}`), func(c *gate.Config) { c.LockWait = 50 * time.Millisecond })
	r.v.rests = true
	r.want(t, "buy AAPL 6@100.10", "allow")
	release := r.lockJournal(t)
	for range 2 {
		if d := r.Execute(ctx, call(t, "buy", "AAPL", "6", "100.10")); d.Verdict != policy.Deny || d.Error != "journal_unavailable" {
			t.Errorf("%s", d.AppendJSON(nil))
		}
	}
	release()
	r.want(t, "buy AAPL 6@100.10", "deny NOTIONAL_PER_DAY_EXCEEDS_LIMIT")
	r.want(t, "buy AAPL 3@100.10", "allow")
	if r.v.submits() != 2 {
		t.Errorf("%d submits", r.v.submits())
	}
}
