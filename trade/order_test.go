package trade_test

import (
	"crypto/sha256"
	"testing"

	"pgregory.net/rapid"

	"sallyport/trade"
	"sallyport/wire"
)

func text(name, s string) trade.Text { return trade.Text{Name: name, Value: s, Kind: trade.IsText} }

func draft(side, quantity, symbol, price string) trade.Draft {
	return trade.Draft{
		Account: "paper", Symbol: text("symbol", symbol), Side: text("side", side), Quantity: text("quantity", quantity),
		Type: text("order_type", "limit"), LimitPrice: text("limit_price", price), TimeInForce: text("time_in_force", "day"),
	}
}

func order(t testing.TB, side, quantity, symbol, price string) trade.Order {
	t.Helper()
	o, _, faults := trade.Parse(draft(side, quantity, symbol, price))
	if len(faults) > 0 {
		t.Fatalf("%s %s %s at %s is not an order: %v", side, quantity, symbol, price, faults)
	}
	return o
}

func read(t testing.TB, raw []byte) wire.Value {
	t.Helper()
	v, err := wire.Read(raw, wire.Limits{Bytes: 1 << 16, Depth: 8})
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// TestDigestGoldenValues holds the digest to its text, byte for byte: digests stand in journals for years.
func TestDigestGoldenValues(t *testing.T) {
	for _, c := range []struct{ side, quantity, symbol, price, hashed, digest string }{
		{
			"buy", "250", "AAPL", "150.00",
			"sallyport order 1\naccount=paper\nasset_class=us_equity\nsymbol=AAPL\nside=buy\nquantity=250\nunit=shares\ntype=limit\nlimit_price=150\ntime_in_force=day\n",
			"9b5560cefc3d5027feba761170c84bda00068c506274a5a94d469c9b305c573b",
		},
		{
			"SELL", "1.0", "brk.b", "0.000000001",
			"sallyport order 1\naccount=paper\nasset_class=us_equity\nsymbol=BRK.B\nside=sell\nquantity=1\nunit=shares\ntype=limit\nlimit_price=0.000000001\ntime_in_force=day\n",
			"def3c09f9b8112927ef3f367c2c862052d4e85b8821c1b4a5a5f30896f11256a",
		},
	} {
		d := order(t, c.side, c.quantity, c.symbol, c.price).Digest()
		if want := trade.Digest(sha256.Sum256([]byte(c.hashed))); d != want {
			t.Errorf("%s %s %s at %s: digest %s, and its text has %s", c.side, c.quantity, c.symbol, c.price, d, want)
		}
		if c.digest != d.String() {
			t.Errorf("%s %s %s at %s: digest %s, not %s", c.side, c.quantity, c.symbol, c.price, d, c.digest)
		}
	}
}

//fault:f68
func TestDigestIsOfMeaningNotSpelling(t *testing.T) {
	want := order(t, "buy", "10", "AAPL", "150.5").Digest()
	for _, same := range []trade.Order{
		order(t, "BUY", "10.0", "aapl", "150.50"), order(t, "Buy", "10.000000000", "Aapl", "150.500000000"),
	} {
		if same.Digest() != want {
			t.Errorf("%+v has another digest", same)
		}
	}
	for _, other := range []trade.Order{
		order(t, "sell", "10", "AAPL", "150.5"), order(t, "buy", "11", "AAPL", "150.5"), order(t, "buy", "10", "AAPLX", "150.5"),
		order(t, "buy", "10", "AAPL", "150.500000001"), order(t, "buy", "10", "AAPL", "15.05"), order(t, "buy", "101", "AAP", "50.5"),
	} {
		if other.Digest() == want {
			t.Errorf("%+v has the same digest", other)
		}
	}
	d := draft("buy", "10", "AAPL", "150.5")
	d.Account = "live"
	live, _, _ := trade.Parse(d)
	if live.Digest() == want {
		t.Error("the account is not in the digest")
	}
	d.Account = "paper"
	d.ClientOrderID, d.Reason = text("client_order_id", "x"), text("reason", "why")
	tagged, tags, _ := trade.Parse(d)
	if tagged.Digest() != want || tags.ClientOrderID != "x" || tags.Reason != "why" {
		t.Errorf("tags are in the digest, or lost: %+v", tags)
	}
}

func TestOrderReadsBackFromItsJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draft(rapid.SampledFrom([]string{"buy", "SELL"}).Draw(rt, "side"), rapid.StringMatching(`[1-9][0-9]{0,11}(\.0{1,9})?`).Draw(rt, "quantity"),
			rapid.StringMatching(`[A-Za-z][A-Za-z0-9]{0,9}([./-][A-Za-z0-9]{1,5})?`).Draw(rt, "symbol"),
			rapid.StringMatching(`[1-9][0-9]{0,11}(\.[0-9]{1,9})?`).Draw(rt, "price"))
		d.Account = trade.Account(rapid.StringMatching(`[A-Za-z0-9._-]{1,64}`).Draw(rt, "account"))
		o, _, faults := trade.Parse(d)
		if len(faults) > 0 {
			rt.Fatalf("%+v: %v", d, faults)
		}
		back, ok := trade.ReadOrder(read(t, o.AppendJSON(nil)))
		if !ok || back.Digest() != o.Digest() || string(back.AppendJSON(nil)) != string(o.AppendJSON(nil)) {
			rt.Fatalf("%s reads back as %s", o.AppendJSON(nil), back.AppendJSON(nil))
		}
	})
}

func TestOrderJSONIsWhatTheDesignShows(t *testing.T) {
	want := `{"account":"paper","symbol":"AAPL","side":"buy","quantity":"250","type":"limit","limit_price":"150.00","time_in_force":"day"}`
	if got := string(order(t, "buy", "250", "AAPL", "150").AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, ok := order(t, "buy", "250", "AAPL", "150").Notional(); !ok || got.Money() != "37500.00" {
		t.Errorf("the notional is %s, %v", got, ok)
	}
}

func TestReadOrderRefusesWhatAppendJSONNeverWrites(t *testing.T) {
	for _, raw := range []string{
		`null`, `{}`, `[]`, `"x"`,
		`{"account":"paper","symbol":"AAPL","side":"buy","quantity":10,"type":"limit","limit_price":"1","time_in_force":"day"}`,
		`{"account":"paper","symbol":"AAPL","side":"buy","quantity":"10","quantity":"10","type":"limit","limit_price":"1","time_in_force":"day"}`,
		`{"account":"paper","symbol":"AAPL","side":"buy","quantity":"0","type":"limit","limit_price":"1","time_in_force":"day"}`,
		`{"account":"paper","symbol":"AAPL","side":"buy","quantity":"10","type":"market","limit_price":"1","time_in_force":"day"}`,
		`{"account":"paper","symbol":"AAPL","side":"buy","quantity":"10","type":"limit","limit_price":"1"}`,
	} {
		if o, ok := trade.ReadOrder(read(t, []byte(raw))); ok || !o.IsZero() {
			t.Errorf("%s reads as %s", raw, o.AppendJSON(nil))
		}
	}
}

func TestZeroOrderIsNoOrder(t *testing.T) {
	var o trade.Order
	if !o.IsZero() || string(o.AppendJSON(nil)) != "null" {
		t.Errorf("the zero order is %s", o.AppendJSON(nil))
	}
	if order(t, "sell", "1", "A", "1").IsZero() {
		t.Error("an order is the zero order")
	}
	if o.Digest() == order(t, "buy", "1", "A", "1").Digest() {
		t.Error("the zero order has an order's digest")
	}
}

func BenchmarkParseDraft(b *testing.B) {
	d := draft("buy", "10", "AAPL", "150.25")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, faults := trade.Parse(d); len(faults) > 0 {
			b.Fatal(faults)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	o := order(b, "buy", "10", "AAPL", "150.25")
	b.ReportAllocs()
	for b.Loop() {
		o.Digest()
	}
}
