package dialect_test

import (
	"testing"

	"sallyport/dialect"
	"sallyport/trade"
)

// TestCanonicalSaysEveryOrder writes orders of every kind and reads the same back.
func TestCanonicalSaysEveryOrder(t *testing.T) {
	d := dialect.Canonical()
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{
		`{"symbol":"AAPL","side":"buy","quantity":"10","type":"limit","limit_price":"150.00"}`,
		`{"symbol":"AAPL","side":"sell","quantity":"0.5","type":"market"}`,
		`{"symbol":"AAPL","side":"buy","notional":"100.00","type":"market"}`,
		`{"symbol":"AAPL","side":"buy","quantity":"10","type":"stop_limit","limit_price":"151.00","stop_price":"150.00","time_in_force":"gtc"}`,
		`{"symbol":"AAPL","side":"buy","quantity":"10","type":"limit","limit_price":"150.00","extended_hours":true}`,
		`{"symbol":"AAPL","side":"buy","quantity":"10","type":"limit","limit_price":"150.00","stop_loss":"140.00","stop_loss_limit":"139.00","take_profit":"160.00"}`,
	} {
		o, _, faults := d.Parse("paper", []byte(raw))
		if len(faults) > 0 {
			t.Errorf("%s: %v", raw, faults)
			continue
		}
		back, tags, faults := d.Parse("paper", d.Encode(o, "mine"))
		if len(faults) > 0 || back.Digest() != o.Digest() || tags.ClientOrderID != trade.ClientOrderID("mine") {
			t.Errorf("%s is written as %s: %v", raw, d.Encode(o, "mine"), faults)
		}
	}
}
