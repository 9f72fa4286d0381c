package gatetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/trade"
)

// flawEnv names the flaw of the broker in the processes that TestSuiteFindsEveryFlaw starts.
const flawEnv = "GATETEST_FLAW"

// flaws are what a broker may get wrong, and the part of the suite that must notice.
var flaws = map[string]string{
	"takes the zero permit":           "ZeroPermitIsRefused",
	"answers a spent permit":          "PermitIsGoodOnce",
	"takes any permit to cancel":      "PermitIsGoodForOneActionOnly",
	"looks at no clock":               "ExpiredPermitIsRefused",
	"makes every submit an order":     "SameIDAndOrderIsOneOrder",
	"makes every submit an order, 2":  "SameIDFromManyGatesIsOneOrder",
	"compares no terms":               "SameIDAndOtherOrderIsRejected",
	"forgets rejections":              "RejectionKeepsItsAnswer",
	"finds nothing":                   "AnswerLostIsFoundByLookup",
	"gives up at once":                "OrderLostIsRejectedOnceItsPermitHasExpired",
	"never gives up":                  "OrderLostIsRejectedOnceItsPermitHasExpired",
	"takes what it gave up":           "LookupThatSaysNeverReceivedIsFinal",
	"says not sent and sends":         "CancelledContextLeavesAWholeOrderOrNone",
	"cancels in words only":           "CancelEndsAWorkingOrder",
	"cancels what is filled":          "CancelOfAFilledOrderIsRejected",
	"numbers each page from one":      "EventsAreNumberedWithoutGaps",
	"skips a number":                  "EventsAreNumberedWithoutGaps",
	"tells of a later number":         "ReceiptsTellOfTheEventsThatTheyCaused",
	"tells of another id":             "ReceiptsTellOfTheEventsThatTheyCaused",
	"tells of more than happened":     "ReceiptsTellOfTheEventsThatTheyCaused",
	"tells the same again":            "ReceiptsTellOfTheEventsThatTheyCaused",
	"promises an event":               "ReceiptsTellOfTheEventsThatTheyCaused",
	"says that nothing happened":      "ReceiptsTellOfTheEventsThatTheyCaused",
	"tells of others' events too":     "ReceiptsTellEachEventOnceForManyAtATime",
	"shows yesterday's holdings":      "HoldingsAreTheSumOfTheFills",
	"forgets orders when it restarts": "ReopenedVenueKnowsEverything",

	"buys at the bid":                    "MarketOrderIsExecutedAtTheFarSide",
	"fills a stop as a market order":     "StopWaitsForItsPrice",
	"forgets that its stop was reached":  "StopWaitsForItsPrice",
	"ignores the time in force":          "TimeInForceEndsTheOrder",
	"ends what is good until it is done": "TimeInForceEndsTheOrder",
	"buys for twice the amount":          "OrderByAmountBuysForNoMore",
	"drops the stop loss":                "ExitsFollowTheFill",
	"drops the take profit":              "OneExitEndsTheOther",
	"keeps both exits alive":             "OneExitEndsTheOther",
	"ends the exits with the entry":      "CancelOfAnEntryLeavesItsExits",
	"forgets exits when it restarts":     "WiderOrderIsOneOrder",
}

// flawedTerms are what a broker may do to the terms of an order.
var flawedTerms = map[string]func(terms map[string]string){
	"fills a stop as a market order": func(terms map[string]string) {
		if strings.HasPrefix(terms["type"], "stop") {
			terms["type"] = "market"
			delete(terms, "stop_price")
			delete(terms, "limit_price")
		}
	},
	"ignores the time in force": func(terms map[string]string) { terms["time_in_force"] = "gtc" },
	"ends what is good until it is done": func(terms map[string]string) {
		if terms["time_in_force"] == "gtc" {
			terms["time_in_force"] = "day"
		}
	},
	"buys for twice the amount": func(terms map[string]string) {
		if terms["notional"] != "" {
			terms["notional"] = "2000"
		}
	},
	"drops the stop loss":   func(terms map[string]string) { delete(terms, "stop_loss") },
	"drops the take profit": func(terms map[string]string) { delete(terms, "take_profit") },
}

// misread is an order whose terms a flaw has changed.
func misread(t *testing.T, o trade.Order, flaw func(map[string]string)) trade.Order {
	terms := map[string]string{"type": o.Type().String(), "time_in_force": o.TimeInForce().String()}
	for name, d := range map[string]trade.Decimal{
		"quantity": o.Quantity(), "notional": o.Amount(), "limit_price": o.LimitPrice(), "stop_price": o.StopPrice(),
		"stop_loss": o.StopLoss().Stop, "stop_loss_limit": o.StopLoss().Limit, "take_profit": o.TakeProfit(),
	} {
		if d.Sign() > 0 {
			terms[name] = d.String()
		}
	}
	flaw(terms)
	return Wide(t, o.Side().String(), o.Symbol().String(), terms)
}

// show shows the market to a flawed broker.
func (f *flawed) show(s trade.Symbol, bid, ask trade.Decimal) {
	if f.is("buys at the bid") {
		ask = bid
	}
	f.Show(s, bid, ask)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.exits {
		p.working = p.working || f.is("keeps both exits alive")
	}
	for _, p := range f.orders {
		p.triggered = p.triggered && !f.is("forgets that its stop was reached")
	}
}

// flawed is the broker in memory with one flaw.
type flawed struct {
	*Broker
	flaw string
	n    int
}

func (f *flawed) is(flaw string) bool { return f.flaw == flaw }

func (f *flawed) Submit(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
	switch {
	case f.is("looks at no clock"):
		c, err := p.Use(gate.SubmitOrder, time.Time{})
		if err != nil {
			return gate.Receipt{}, errors.Join(gate.ErrNotSent, err)
		}
		return f.Accept(c, true), nil
	case f.flaw == "makes every submit an order" || f.flaw == "makes every submit an order, 2":
		c, err := p.Use(gate.SubmitOrder, f.now())
		if err != nil {
			return gate.Receipt{}, err
		}
		f.mu.Lock()
		f.n++
		c.ID += trade.BrokerOrderID(fmt.Sprint(f.n))
		f.mu.Unlock()
		return f.Accept(c, true), nil
	case f.is("says not sent and sends") && ctx.Err() != nil:
		_, _ = f.Broker.Submit(ctx, p)
		return gate.Receipt{}, gate.ErrNotSent
	}
	r, err := f.Broker.Submit(ctx, p)
	switch {
	case f.is("takes the zero permit") && errors.Is(err, gate.ErrNoPermit), f.is("answers a spent permit") && errors.Is(err, gate.ErrPermitUsed):
		return gate.Receipt{Outcome: trade.Accepted}, nil
	case f.is("compares no terms") && r.Code == "DUPLICATE_ID":
		return gate.Receipt{Outcome: trade.Accepted, OrderID: "fake-1"}, nil
	case f.is("forgets rejections"), f.is("takes what it gave up"):
		if r.Outcome == trade.Rejected {
			f.mu.Lock()
			clear(f.refused)
			f.mu.Unlock()
		}
	}
	return f.misreport(r), err
}

// misreport changes what a receipt tells of events.
func (f *flawed) misreport(r gate.Receipt) gate.Receipt {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch n := len(r.Events); {
	case f.is("tells the same again"):
		r.Events = slices.Clone(f.events)
	case f.is("tells of others' events too"):
		r.Events = slices.Clone(f.events[max(0, len(f.events)-2):])
	case f.is("promises an event"):
		r.NextEvent++
	case n == 0:
	case f.is("tells of a later number"):
		r.Events[n-1].Number++
	case f.is("tells of another id"):
		r.Events[n-1].ID = "sp-another"
	case f.is("tells of more than happened"):
		more := r.Events[n-1]
		more.Number++
		r.Events, r.NextEvent = append(r.Events, more), r.NextEvent+1
	case f.is("says that nothing happened"):
		r.Events = nil
	}
	return r
}

func (f *flawed) Cancel(ctx context.Context, p gate.Permit) (gate.Receipt, error) {
	r, err := f.Broker.Cancel(ctx, p)
	switch {
	case f.is("takes any permit to cancel") && errors.Is(err, gate.ErrPermitAction), f.is("cancels what is filled") && err == nil:
		return gate.Receipt{Outcome: trade.Accepted}, nil
	case f.is("ends the exits with the entry"):
		f.mu.Lock()
		f.exits = nil
		f.mu.Unlock()
	case f.is("cancels in words only"):
		f.mu.Lock()
		f.events = nil
		f.mu.Unlock()
	}
	return r, err
}

func (f *flawed) Lookup(ctx context.Context, id trade.BrokerOrderID, notAfter time.Time) (gate.Receipt, error) {
	switch {
	case f.is("finds nothing"), f.is("never gives up"):
		return gate.Receipt{}, nil
	case f.is("gives up at once"):
		return gate.Receipt{Outcome: trade.Rejected, Code: "NEVER_RECEIVED"}, nil
	}
	r, err := f.Broker.Lookup(ctx, id, notAfter)
	if f.is("takes what it gave up") {
		f.mu.Lock()
		clear(f.refused)
		f.mu.Unlock()
	}
	return r, err
}

func (f *flawed) Events(ctx context.Context, after uint64) ([]gate.VenueEvent, error) {
	page, err := f.Broker.Events(ctx, after)
	for i := range page {
		if f.is("numbers each page from one") {
			page[i].Number = uint64(i + 1)
		}
		if f.is("skips a number") && page[i].Number > 2 {
			page[i].Number++
		}
	}
	return page, err
}

func (f *flawed) Holdings(ctx context.Context) (gate.Holdings, error) {
	if f.is("shows yesterday's holdings") {
		return gate.Holdings{Cash: trade.Whole(openingCash)}, nil
	}
	return f.Broker.Holdings(ctx)
}

// TestFlawedBroker runs the suite on a flawed broker; run by itself it does nothing.
func TestFlawedBroker(t *testing.T) {
	flaw := os.Getenv(flawEnv)
	if flaw == "" {
		t.Skip("it is a program for another test")
	}
	TestBroker(t, func(t *testing.T) Fixture {
		fx := memoryFixture(t)
		b := &flawed{Broker: fx.Broker.(*Broker), flaw: flaw}
		fx.Broker = b
		if change := flawedTerms[flaw]; change != nil {
			rightly := b.Default
			b.Default = func(ctx context.Context, inner *Broker, c gate.Cleared) (gate.Receipt, error) {
				c.Order = misread(t, c.Order, change)
				return rightly(ctx, inner, c)
			}
		}
		fx.Wider.Show = func(bid, ask string) { b.show(fx.Wider.Symbol, Decimal(bid), Decimal(ask)) }
		fx.Reopen = func() gate.Broker {
			if b.is("forgets orders when it restarts") {
				clear(b.orders)
			}
			if b.is("forgets exits when it restarts") {
				b.exits = nil
			}
			return b
		}
		return fx
	})
}

func TestSuiteFindsEveryFlaw(t *testing.T) {
	for flaw, part := range flaws {
		t.Run(flaw, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestFlawedBroker$/^"+part+"$")
			cmd.Env = append(os.Environ(), flawEnv+"="+flaw)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestFlawedBroker/"+part) {
				t.Errorf("the suite did not notice: %v\n%s", err, out)
			}
		})
	}
}
