package ledger

import (
	"fmt"
	"testing"
	"time"

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

// TestAPersonsWordMeansWhatItMeantWhenItWasRecorded: a journal of an earlier version has accepted orders that are posted,
// and its snapshot says so.
//
//attack:ledger-resolved
func TestAPersonsWordMeansWhatItMeantWhenItWasRecorded(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "150.00")
	d := allowed(1, o, ClearsSend)
	d.Pending.NotAfter = t0.Add(time.Second)
	word := Concluded{Intent: intent(1), Outcome: trade.Accepted, Source: FromPerson, By: "anna", Message: "seen there"}
	s := began(d, Concluded{Intent: intent(1), Source: FromGate}, word)
	if posted, _, _ := s.Posted("paper", mustSymbol("AAPL")); s.Open(intent(1)) != nil || posted.String() != "10" {
		t.Errorf("%+v, posted %s", s.Open(intent(1)), posted)
	}
	word.Works = true
	back, err := Decode(Encode(word))
	if err != nil || back != Event(word) {
		t.Fatalf("%+v, %v", back, err)
	}
	if s = began(d, Concluded{Intent: intent(1), Source: FromGate}, back); s.Open(intent(1)).Phase != Working {
		t.Errorf("%+v", s.Open(intent(1)))
	}
	seen := d.Decision(t0)
	for _, e := range []Event{Concluded{Intent: intent(1), Source: FromGate}, Happened{
		Account: "paper", Number: 1, Intent: intent(1), What: WasExpired, Symbol: o.Symbol(), Side: trade.Buy, Quantity: o.Quantity(),
	}} {
		seen.Apply(e)
	}
	if seen.OrderStatus() != "expired" || seen.State != Succeeded {
		t.Errorf("an unknown order that the venue says has expired is %s, %s", seen.OrderStatus(), seen.State)
	}
}
