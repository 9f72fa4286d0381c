package gate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// TestDayBeginsBeforeTheFirstOrder: what is lost before the first order of a day counts, once every holding has a quote.
//
//attack:gate-day-begins
//fault:f14
//fault:f109
func TestDayBeginsBeforeTheFirstOrder(t *testing.T) {
	r := newRoom(t, book(`"daily_loss": {"halt_above": "1000.00"}`))
	r.want(t, "buy AAPL 100@100.10", "allow")
	r.v.cash = "89990"
	days := func() (all []ledger.DayBegan) {
		for _, e := range events(t, r.Gate) {
			if e, is := e.(ledger.DayBegan); is {
				all = append(all, e)
			}
		}
		return all
	}
	if n := len(days()); n != 1 {
		t.Fatalf("%d days have begun", n)
	}
	r.x.sleep()
	r.clock.to("2026-12-01 00:00:00")
	for range 3 { // every quote is old at night
		if err := r.Settle(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(days()); n != 1 {
		t.Fatalf("%d days have begun", n)
	}
	r.clock.to("2026-12-01 04:00:00")
	r.x.slept = time.Time{}
	for range 3 {
		if err := r.Settle(ctx); err != nil {
			t.Fatal(err)
		}
	}
	all := days()
	if len(all) != 2 || all[1].Date != "2026-12-01" || all[1].Equity.String() != "99990" {
		t.Fatalf("%+v", all)
	}
	r.restart(t)
	r.x.set("AAPL", "89.99", "90")
	r.want(t, "buy AAPL 1@90", "deny DAILY_LOSS_EXCEEDS_LIMIT")
	if n := len(days()); n != 2 {
		t.Fatalf("%d days have begun", n)
	}
}

// TestJournalOfARelease: version 0.1.0 knew no history. Its journal is opened, folded and verified, and what counts over
// time is a no until there is something to count.
func TestJournalOfARelease(t *testing.T) {
	const release = "../testdata/releases/v0.1.0/home"
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, gate.HomeMode); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(release, gate.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	text := book(`"orders_per_minute": {"deny_above": "5"}, "notional_per_day": {"deny_above": "50000.00"}, "order_quantity": {"deny_above": "50"}`)
	err = errors.Join(os.WriteFile(filepath.Join(home, gate.JournalName), raw, gate.FileMode),
		os.WriteFile(filepath.Join(home, gate.PolicyName), []byte(text), gate.FileMode))
	if err != nil {
		t.Fatal(err)
	}
	r := newRoom(t, text)
	cfg := config(home, nil)
	cfg.Now, cfg.Market = r.clock.now, r.x
	r.clock.to("2027-01-04 10:00:00")
	g := reopen(t, cfg)
	c := func(quantity string) gate.Call { return call(t, "buy", "AAPL", quantity, "100", atHook) }
	if d := g.Authorize(ctx, c("1")); said(d) != "deny COUNT_UNAVAILABLE COUNT_UNAVAILABLE" {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	if d := g.Authorize(ctx, c("51")); said(d) != "deny QUANTITY_EXCEEDS_LIMIT COUNT_UNAVAILABLE COUNT_UNAVAILABLE" {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	r.clock.to("2027-01-05 00:00:00")
	if d := g.Authorize(ctx, c("1")); said(d) != "allow" {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	if _, err := g.Verify(ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
}

func TestPortfolioShowsWhatVersion2Leaves(t *testing.T) {
	r := newRoom(t, book(`"order_notional": {"deny_above": "1001.00"}, "orders_per_minute": {"deny_above": "1", "per": "agent"}`))
	left := func(agent trade.Agent) string {
		var parts []string
		for _, h := range must(r.Portfolio(ctx, agent))(t).Headroom {
			parts = append(parts, h.Symbol.String()+" "+h.Limit+" "+h.Left)
		}
		return strings.Join(parts, ", ")
	}
	if got := left("local"); got != "AAPL buyable 10, AAPL sellable 0, MSFT buyable 20, MSFT sellable 0" {
		t.Fatal(got)
	}
	r.want(t, "buy MSFT 10@50.05", "allow")
	if got := left("local"); got != "MSFT buyable 0, MSFT sellable 0, AAPL buyable 0, AAPL sellable 0" {
		t.Fatal(got)
	}
	if got := left("other"); got != "MSFT buyable 20, MSFT sellable 10, AAPL buyable 10, AAPL sellable 0" {
		t.Fatal(got)
	}
	r.x.remove("AAPL")
	if got := left("other"); !strings.Contains(got, "AAPL buyable 0") {
		t.Fatal(got)
	}
}

//attack:gate-headroom
func TestPortfolioIsBounded(t *testing.T) {
	var symbols []string
	for i := range 60 {
		symbols = append(symbols, `"A`+string(rune('A'+i/26))+string(rune('A'+i%26))+`"`)
	}
	r := newRoom(t, strings.Replace(book(`"order_quantity": {"deny_above": "5"}`), `["AAPL", "MSFT"]`, "["+strings.Join(symbols, ", ")+"]", 1))
	if n := len(must(r.Portfolio(ctx, "local"))(t).Headroom); n != 100 {
		t.Fatalf("%d rows", n)
	}
}

func TestBriefShowsWhatVersion2Holds(t *testing.T) {
	r := newRoom(t, book(`"order_notional": {"hold_above": "500.00", "deny_above": "5000.00"}`, approvalBlock(`"max_price_drift_bps": "50"`)))
	d := r.want(t, "buy AAPL 6@100", "hold NOTIONAL_EXCEEDS_LIMIT")
	text := must(r.Brief(ctx, d.Intent))(t).Text()
	for _, want := range []string{
		"Worst-case value 600.60 USD (at the quote when it was proposed)\n",
		"  NOTIONAL_EXCEEDS_LIMIT: order_notional is 600.60, above 500.00, so a person must decide (rule r)\n",
		"When proposed: bid 100.00, ask 100.10; an approval counts within 50 basis points\n",
	} {
		if !strings.Contains(text, want) {
			t.Fatalf("%q is not in\n%s", want, text)
		}
	}
	r.x.remove("AAPL")
	r.writePolicy(t, book(`"order_quantity": {"hold_above": "5"}`, approvalBlock(`"max_price_drift_bps": "50"`)))
	d = r.want(t, "buy AAPL 7@100", "hold QUANTITY_EXCEEDS_LIMIT")
	if text := must(r.Brief(ctx, d.Intent))(t).Text(); !strings.Contains(text, "When proposed: NO QUOTE, so an approval will be refused\n") {
		t.Fatal(text)
	}
}

// TestReductionPassesWhatIsMeantForEntries, and no more than what is held; a flip never.
//
//fault:f115
func TestReductionPassesWhatIsMeantForEntries(t *testing.T) {
	r := newRoom(t, book(`"order_quantity": {"deny_above": "10"}, "orders_per_day": {"deny_above": "2"}, "daily_loss": {"halt_above": "5.00"}`))
	r.want(t, "buy AAPL 10@100", "allow")
	r.want(t, "buy AAPL 10@100", "allow")
	r.v.cash = "98000"
	r.x.set("AAPL", "90", "90")
	r.want(t, "sell AAPL 12@89", "allow") // over the quantity, the orders of the day and the loss
	r.want(t, "sell AAPL 9@89", "deny POSITION_FLIP_NOT_ALLOWED ORDERS_PER_DAY_EXCEED_LIMIT DAILY_LOSS_EXCEEDS_LIMIT")
	if stops := must(r.Stops(ctx))(t); len(stops) != 1 { // the flip is an entry, and stops the account
		t.Fatalf("%+v", stops)
	}
}

// TestRetryAfterOnRecord: when it is cured is told of the decision's own time, however late it is looked up.
func TestRetryAfterOnRecord(t *testing.T) {
	r := newRoom(t, book(`"orders_per_minute": {"deny_above": "1"}`))
	r.want(t, "buy AAPL 1@100", "allow")
	r.clock.pass(20 * time.Second)
	d := r.want(t, "buy AAPL 1@100", "deny ORDERS_PER_MINUTE_EXCEED_LIMIT")
	if d.RetryAfter != 40*time.Second {
		t.Fatal(d.RetryAfter)
	}
	r.clock.pass(20 * time.Second)
	again, _, err := r.History(ctx, d.Intent)
	if err != nil || again.RetryAfter != 40*time.Second {
		t.Fatal(again.RetryAfter, err)
	}
	r.clock.pass(20 * time.Second)
	r.want(t, "buy AAPL 1@100", "allow")
	if d := r.Check(ctx, call(t, "buy", "AAPL", "1", "100")); d.Verdict != policy.Deny || d.RetryAfter != time.Minute {
		t.Fatal(said(d), d.RetryAfter)
	}
}

// TestSharesOfAnAmountAreOnRecord: an order by amount reserves the most shares that it can come to.
func TestSharesOfAnAmountAreOnRecord(t *testing.T) {
	text := strings.Replace(book(`"order_notional": {"deny_above": "1000.00"}, "position_quantity": {"deny_above": "10"}`),
		`"sides": ["buy", "sell"]}`, `"sides": ["buy", "sell"], "order_types": ["limit", "market"]}, "allow": {"fractional": true}`, 1)
	text = strings.Replace(text, `"max_spread_bps": "200"`, `"max_spread_bps": "200", "market_slippage_bps": "50"`, 1)
	r := newRoom(t, text)
	r.v.rests = true
	o := gatetest.Line(t, "buy $500.00 AAPL market")
	d := r.Execute(ctx, call(t, "buy", "AAPL", "1", "1", func(c *gate.Call) { c.Order = o }))
	if said(d) != "allow" {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	for _, e := range events(t, r.Gate) {
		if e, is := e.(ledger.Decided); is && (!e.Ruling.Shares.Known || e.Ruling.Shares.Value.Sign() <= 0 || e.Ruling.Value.String() != "500") {
			t.Fatalf("%+v", e.Ruling)
		}
	}
	r.want(t, "buy AAPL 6@100", "deny POSITION_QUANTITY_EXCEEDS_LIMIT")
}

// TestThePeakBetweenTwoOrdersCounts: the account rises for an hour and falls back, and nobody orders meanwhile.
//
//attack:gate-day-peak
func TestThePeakBetweenTwoOrdersCounts(t *testing.T) {
	r := newRoom(t, book(`"drawdown_percent": {"halt_above": "5"}`))
	r.want(t, "buy AAPL 100@100.10", "allow")
	r.v.cash = "90000"
	look := func() {
		t.Helper()
		if err := r.Settle(ctx); err != nil {
			t.Fatal(err)
		}
	}
	look()
	marks := func() (n int) {
		for _, e := range events(t, r.Gate) {
			if _, is := e.(ledger.Marked); is {
				n++
			}
		}
		return n
	}
	before := marks()
	r.x.set("AAPL", "200", "200.10")
	r.clock.pass(time.Minute)
	for range 3 { // once a minute, whatever else happens
		look()
		r.x.set("AAPL", "210", "210.10")
	}
	if n := marks() - before; n != 1 {
		t.Errorf("%d peaks are on record", n)
	}
	r.x.set("AAPL", "100", "100.10")
	r.clock.pass(time.Minute)
	look()
	r.restart(t)
	r.want(t, "buy AAPL 1@100.10", "deny DRAWDOWN_EXCEEDS_LIMIT")
}
