package main

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/gate"
	"sallyport/policy"
)

// TestHeadroomOfTooManySymbolsIsNotTold: a policy may name many thousands, and each is judged several times.
//
//attack:cli-headroom-symbols
func TestHeadroomOfTooManySymbolsIsNotTold(t *testing.T) {
	names := make([]string, maxRooms+1)
	for i := range names {
		names[i] = fmt.Sprintf(`"A%d"`, i)
	}
	raw := func(n int) []byte {
		return []byte(`{"version": 2, "currency": "USD", "timezone": "UTC", "rules": [{"id": "one", "match": {"symbols": [` +
			strings.Join(names[:n], ",") + `]}, "limits": {"order_quantity": {"deny_above": "5"}}}]}`)
	}
	for n, want := range map[int]bool{maxRooms: true, maxRooms + 1: false} {
		b, err := policy.ParseV2(raw(n), gate.World(nil))
		if err != nil {
			t.Fatal(err)
		}
		symbols := b.Symbols()
		if got := fewEnough(symbols) == nil; got != want || len(symbols) != n {
			t.Errorf("%d symbols are told of: %v", n, got)
		}
	}
}

func TestBindingNamesEachLimitOnce(t *testing.T) {
	for want, reasons := range map[string][]policy.Reason{
		"": nil,
		"order_notional of a\\u202eb (a person decides), QUOTE_STALE": {
			{Code: policy.NotionalExceedsLimit, Field: "order_notional", Rule: "a\u202eb", Hold: true},
			{Code: policy.QuoteStale, Field: "gross_exposure", Rule: "one"}, {Code: policy.QuoteStale, Field: "leverage", Rule: "one"},
		},
		"QUANTITY_EXCEEDS_LIMIT (200), SHORT_SALE_NOT_ALLOWED": {
			{Code: policy.QuantityExceedsLimit, Limit: "200"}, {Code: policy.ShortSaleNotAllowed, Limit: "unknown"},
		},
	} {
		if got := binding(reasons); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if s, err := symbolsOf([]string{"aapl", "BRK.B"}); err != nil || len(s) != 2 || s[0].String() != "AAPL" {
		t.Errorf("%v %v", s, err)
	}
}
