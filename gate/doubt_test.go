package gate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
)

const twoBounds = `"position_quantity": {"deny_above": "500"}, "gross_exposure": {"deny_above": "20000.00"}`

// TestWhatWasHeldBeforeIsNotNothing: the account holds shares from before the ledger, and then an order in another symbol
// brings the venue's first event.
//
//attack:gate-held-before
//attack:ledger-seen
func TestWhatWasHeldBeforeIsNotNothing(t *testing.T) {
	for name, edit := range map[string]func(*gate.Config){"exclusive": func(*gate.Config) {}, "shared": shared} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, `{"version": 2, "currency": "USD", "timezone": "UTC", "quotes": {"sources": ["file"], "max_age": "30s", "max_spread_bps": "200"},
				"rules": [{"id": "bounded", "match": {"symbols": ["AAPL"], "sides": ["buy", "sell"]}, "limits": {`+twoBounds+`}},
				{"id": "free", "match": {"symbols": ["MSFT"], "sides": ["buy", "sell"]}, "limits": {"order_quantity": {"deny_above": "50"}}}]}`, edit, holdingBefore("490"))
			r.want(t, "buy AAPL 100@99", "deny POSITION_UNAVAILABLE EXPOSURE_UNAVAILABLE")
			r.want(t, "buy MSFT 1@50", "allow")
			r.want(t, "buy AAPL 100@99", "deny POSITION_UNAVAILABLE EXPOSURE_UNAVAILABLE")
			r.want(t, "sell MSFT 1@50", "allow") // the way out of what is known
			r.restart(t)
			r.want(t, "buy AAPL 100@99", "deny POSITION_UNAVAILABLE EXPOSURE_UNAVAILABLE")
			r.v.before = "" // sold elsewhere: both agree
			r.want(t, "buy AAPL 100@99", "allow")
			r.want(t, "sell AAPL 100@99", "allow")
		})
	}
}

// holdingBefore makes the broker hold so many AAPL before anything is opened.
func holdingBefore(n string) func(*gate.Config) {
	return func(c *gate.Config) { c.Broker.(*venue).before = n }
}

// TestBrokerThatNeverShowedTheAccountLetsNothingBeKnown: a fill alone does not say what was held before it.
//
//attack:ledger-seen
func TestBrokerThatNeverShowedTheAccountLetsNothingBeKnown(t *testing.T) {
	r := newRoom(t, book(`"order_quantity": {"deny_above": "50"}`), func(c *gate.Config) { c.Broker.(*venue).holdErr = context.DeadlineExceeded })
	r.want(t, "buy AAPL 10@100.10", "allow")
	r.want(t, "sell AAPL 10@99", "deny POSITION_UNAVAILABLE")
	r.v.holdErr = nil
	r.want(t, "sell AAPL 10@99", "allow")
}

// TestDifferenceMakesAPositionUnknownUntilBothAgree: others trade on the account, so nothing is stopped.
//
//attack:gate-difference-unknown
//attack:ledger-doubted
func TestDifferenceMakesAPositionUnknownUntilBothAgree(t *testing.T) {
	r := newRoom(t, book(twoBounds), shared)
	r.want(t, "buy AAPL 100@100.10", "allow")
	r.v.before = "390"
	if rec := must(r.Reconcile(ctx))(t); len(rec.Differences) != 1 {
		t.Fatalf("%+v", rec)
	}
	r.want(t, "buy AAPL 50@99", "deny POSITION_UNAVAILABLE EXPOSURE_UNAVAILABLE")
	r.restart(t)
	r.want(t, "buy AAPL 50@99", "deny POSITION_UNAVAILABLE EXPOSURE_UNAVAILABLE")
	r.want(t, "buy MSFT 1@50", "deny EXPOSURE_UNAVAILABLE")
	if stops := must(r.Stops(ctx))(t); len(stops) != 0 {
		t.Fatalf("%+v", stops)
	}
	r.v.before = ""
	must(r.Reconcile(ctx))(t)
	r.want(t, "buy AAPL 50@99", "allow")
	if n := doubts(t, r.Gate); n != 2 {
		t.Fatalf("%d records of a doubt and its end", n)
	}
}

func doubts(t *testing.T, g *gate.Gate) (n int) {
	t.Helper()
	for _, e := range events(t, g) {
		if _, is := e.(ledger.PositionDoubted); is {
			n++
		}
	}
	return n
}

// TestDifferencesComeInOrder: which one a stop names is no chance.
func TestDifferencesComeInOrder(t *testing.T) {
	for range 8 {
		r := newRoom(t, book(`"order_quantity": {"deny_above": "50"}`))
		r.want(t, "buy MSFT 1@51", "allow")
		r.want(t, "buy AAPL 1@101", "allow")
		r.v.blank = true
		must(r.Reconcile(ctx))(t)
		if stops := must(r.Stops(ctx))(t); len(stops) != 1 || !strings.Contains(stops[0].Reason, "position of AAPL") {
			t.Fatalf("%+v", stops)
		}
	}
}

// TestAgeOfAnAnswerBeginsWithTheQuestion: what was long on its way is as old as that.
//
//attack:gate-holdings-age
func TestAgeOfAnAnswerBeginsWithTheQuestion(t *testing.T) {
	for took, want := range map[time.Duration]string{5 * time.Second: "allow", 9 * time.Second: "deny EQUITY_UNAVAILABLE"} {
		r := newRoom(t, book(`"leverage": {"deny_above": "1.5"}`))
		r.v.asked = func() { r.clock.pass(took) }
		r.want(t, "buy AAPL 1@100", want)
	}
}
