package dialect_test

import (
	"testing"

	"sallyport/dialect"
)

func BenchmarkBytesToOrder(b *testing.B) {
	d, _ := dialect.Find("paper_place_order_a")
	raw := []byte(`{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"150.25","client_order_id":"run-7.order-3","reason":"Earnings beat; adding on the pullback."}`)
	b.ReportAllocs()
	for b.Loop() {
		if o, _, faults := d.Parse("", raw); len(faults) > 0 || o.IsZero() {
			b.Fatal(faults)
		}
	}
}
