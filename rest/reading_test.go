package rest

import (
	"bytes"
	"testing"

	"sallyport/gate"
	"sallyport/trade"
)

// TestPortfolioReadsBackAsItIs: what is shown is read again, whatever its sign and its decimals.
func TestPortfolioReadsBackAsItIs(t *testing.T) {
	for _, text := range []string{"0", "100000", "98500.5", "-1500", "-0.000000001", "999999999999.999999999", "98549.80000013145", "0.123456789123456789", "-1000000000000000000.5"} {
		cash, valid := trade.ParseSum(text)
		if !valid {
			t.Fatalf("%s is no number", text)
		}
		want := gate.Portfolio{Account: "paper", Cash: &cash}
		r := read(appendPortfolio(nil, want))
		got := r.portfolio()
		if r.err != nil || got.Cash == nil || got.Cash.Cmp(cash) != 0 || !bytes.Equal(appendPortfolio(nil, got), appendPortfolio(nil, want)) {
			t.Errorf("%s is read as %v, %v", text, got.Cash, r.err)
		}
	}
	r := read(appendPortfolio(nil, gate.Portfolio{Account: "paper"}))
	if got := r.portfolio(); r.err != nil || got.Cash != nil {
		t.Errorf("no cash is read as %v, %v", got.Cash, r.err)
	}
}
