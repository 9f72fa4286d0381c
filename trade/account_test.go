package trade_test

import (
	"strings"
	"testing"

	"sallyport/trade"
)

//attack:trade-account
func TestParseRefusesAccountNamesThatCouldForgeADigest(t *testing.T) {
	text := func(name, v string) trade.Text { return trade.Text{Name: name, Value: v, Kind: trade.IsText} }
	for name, ok := range map[string]bool{
		"paper": true, "live-1.a_B": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a b": false, "a\nside=sell": false, "é": false, "a=b": false,
	} {
		_, _, faults := trade.Parse(trade.Draft{
			Account: trade.Account(name), Symbol: text("s", "AAPL"), Side: text("side", "buy"), Quantity: text("q", "1"),
			Type: text("t", "limit"), LimitPrice: text("p", "1.00"), TimeInForce: text("tif", "day"),
		})
		if got := len(faults) == 0; got != ok {
			t.Errorf("account %q: %v", name, faults)
		}
		if !ok && (len(faults) != 1 || faults[0].Code != trade.AccountMalformed) {
			t.Errorf("account %q: %v", name, faults)
		}
	}
}
