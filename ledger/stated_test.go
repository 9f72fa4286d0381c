package ledger_test

import (
	"bytes"
	"testing"
	"time"

	"sallyport/ledger"
	"sallyport/trade"
)

//attack:ledger-position-stated
func TestAStatedPositionReplacesFillsAndRealisesNothing(t *testing.T) {
	at := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	sym, _ := trade.ParseSymbol("AAPL")
	dec := func(s string) trade.Decimal { d, _ := trade.ParseDecimal(s); return d }
	s := ledger.NewState()
	apply := func(e ledger.Event) {
		back, err := ledger.Decode(ledger.Encode(e))
		if err != nil || !bytes.Equal(ledger.Encode(back), ledger.Encode(e)) {
			t.Fatalf("%s is read as %+v: %v", ledger.Encode(e), back, err)
		}
		at = at.Add(time.Second)
		s.Apply(at, back)
	}
	apply(ledger.HistoryBegan{FromStart: true})
	apply(ledger.Happened{Account: "paper", Number: 1, What: ledger.WasFilled, Symbol: sym, Side: trade.Buy, Quantity: dec("10"), Price: dec("100.00")})
	apply(ledger.PositionStated{Account: "paper", Symbol: sym, Quantity: dec("4"), Average: dec("90.00")})
	f := s.Facts("paper", sym, "")
	if avg := s.AveragePrice("paper", sym); f.Position.String() != "4" || !f.PositionKnown || avg.Value.Money() != "90.00" {
		t.Errorf("%+v, %+v", f, avg)
	}
	if r := s.Realised("paper", at.Add(-time.Hour)); !r.Known || r.Value.Sign() != 0 {
		t.Errorf("%+v was realised", r)
	}
	apply(ledger.PositionStated{Account: "paper", Symbol: sym, Quantity: dec("7")})
	if avg := s.AveragePrice("paper", sym); avg.Known {
		t.Errorf("an average that nobody said is %s", avg.Value)
	}
	apply(ledger.PositionStated{Account: "paper", Symbol: sym})
	if f := s.Facts("paper", sym, ""); f.Position.Sign() != 0 || !f.PositionKnown || len(s.Holdings()) != 0 {
		t.Errorf("%+v", f)
	}
	other := ledger.NewState()
	other.Apply(at, ledger.PositionStated{Account: "other", Symbol: sym, Quantity: dec("1")})
	if !other.Knows("other") || other.Knows("paper") {
		t.Error("whose positions are known is not right")
	}
}
