package wire_test

import (
	"testing"

	"sallyport/wire"
)

const benchOrder = `{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"150.25","client_order_id":"run-7.order-3","reason":"Earnings beat; adding on the pullback."}`

func BenchmarkReadOrder(b *testing.B) {
	raw := []byte(benchOrder)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Read(raw, wire.Limits{Bytes: 65536, Depth: 32}); err != nil {
			b.Fatal(err)
		}
	}
}
