package trade_test

import (
	"testing"

	"sallyport/trade"
)

//attack:trade-tier
func TestParseTierTakesThreeTexts(t *testing.T) {
	for text, want := range map[string]trade.Tier{"0": trade.TierRead, "1": trade.TierPropose, "2": trade.TierExecute} {
		if got, ok := trade.ParseTier(text); !ok || got != want || got.String() != text {
			t.Errorf("%q is %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "3", "9", "-1", "+1", "02", "2 ", " 2", "2\n", "two", "\u0662", "\uff12", "1e0", "2.0"} {
		if got, ok := trade.ParseTier(text); ok || got != trade.TierRead {
			t.Errorf("%q is %v, %v; want no tier", text, got, ok)
		}
	}
}
