package ledger

import (
	"fmt"
	"testing"

	"sallyport/policy"
	"sallyport/trade"
)

// TestWhatIsPostedEndsByAPersonsWord: what a harness reported as accepted, beside an order that works and one that is held.
//
//attack:ledger-posted-ends
func TestWhatIsPostedEndsByAPersonsWord(t *testing.T) {
	sells, buys := order(t, "sell", "AAPL", "20", "150.00"), order(t, "buy", "AAPL", "10", "150.00")
	amount := allowed(5, wide(t, "buy AAPL notional=1000 type=market"), ClearsPermission)
	s := began(
		allowed(1, sells, ClearsPermission), allowed(2, buys, ClearsPermission), allowed(3, buys, ClearsSend), heldOrder(4, buys, 1), amount,
		allowed(6, order(t, "buy", "MSFT", "7", "1.00"), ClearsPermission),
	)
	report := func(n int) { s.Apply(t0, Concluded{Intent: intent(n), Outcome: trade.Accepted, Source: FromReport}) }
	for _, n := range []int{1, 2, 5, 6} {
		report(n)
	}
	stand := func() string {
		s = restart(t, s)
		buys, sells, unsized := s.Posted("paper", mustSymbol("AAPL"))
		f := s.Facts("paper", mustSymbol("AAPL"), "")
		return fmt.Sprintf("posted %s %s %d, pending %s %s", buys, sells, unsized, f.PendingBuys, f.PendingSells)
	}
	if got := stand(); got != "posted 10 20 1, pending -1 20" {
		t.Fatal(got)
	}
	for _, e := range []PostedEnded{{Account: "paper", Symbol: mustSymbol("TSLA")}, {Account: "other", Symbol: mustSymbol("AAPL")}} {
		s.Apply(t0, e)
	}
	if got := stand(); got != "posted 10 20 1, pending -1 20" {
		t.Fatalf("the word on another symbol, or account: %s", got)
	}
	end := PostedEnded{Account: "paper", Symbol: mustSymbol("AAPL"), By: "anna", Reason: "nothing is open there"}
	back, err := Decode(Encode(end))
	if err != nil || back != Event(end) {
		t.Fatalf("%+v, %v", back, err)
	}
	s.Apply(t0, back)
	if got := stand(); got != "posted 0 0 0, pending 20 0" {
		t.Errorf("ended: %s", got)
	}
	if h := s.accounts["paper"].holdings[mustSymbol("AAPL")]; h.dearBuy.Sign() != 0 || h.dearSell.Sign() != 0 {
		t.Errorf("what has ended still counts at its price: %+v", h)
	}
	if buys, _, _ := s.Posted("paper", mustSymbol("MSFT")); buys.String() != "7" || s.Open(intent(3)) == nil || s.Open(intent(4)) == nil {
		t.Error("another symbol, or an open intent, has ended")
	}
	report(1) // what is told once more changes nothing
	if got := stand(); got != "posted 0 0 0, pending 20 0" {
		t.Errorf("reported again: %s", got)
	}
	if n := ask(s, buys, "").Orders(policy.PerAccount, "", t0.Add(-1)); n == 0 {
		t.Error("what was sent counts no more")
	}
}
