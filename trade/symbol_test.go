package trade_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sallyport/trade"
)

var symbolGrammar = regexp.MustCompile(`^[A-Z][A-Z0-9]{0,9}([./-][A-Z0-9]{1,5})?$`)

// foldASCII folds ASCII lower case and nothing else.
func foldASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

func checkSymbol(t testing.TB, s string) {
	t.Helper()
	got, ok := trade.ParseSymbol(s)
	folded := foldASCII(s)
	want := symbolGrammar.MatchString(folded) && !strings.HasSuffix(s, "\n")
	if ok != want {
		t.Fatalf("%q: taken is %v", s, ok)
	}
	if ok && got.String() != folded || !ok && got != (trade.Symbol{}) {
		t.Fatalf("%q is read as %q", s, got)
	}
}

func FuzzParseSymbolAgreesWithItsGrammar(f *testing.F) {
	for _, s := range []string{
		"AAPL", "aapl", "brk.b", "BRK/B", "BRK-B", "BRK B", "A", "A1", "1A", "", ".", "A.", ".A", "A.B.C", "A..B", "АAPL", "AA\u200bPL", "\uff21APL",
		"ﬀ", "ı", "K", "ſ", "AAPL\n", " AAPL", "AAPL ", "AAPL\x00", "\xff", "BTC/USD", "EURUSD.m", "ABCDEFGHIJ.KLMNO", "ABCDEFGHIJK", "A.BCDEFG",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkSymbol(t, s) })
}

func TestParseSymbolAgreesWithItsGrammarOnNearMisses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		checkSymbol(t, rapid.StringMatching(`[A-Ca-c0-2]{0,11}[./ -]?[A-Ca-c0-2]{0,6}[./-]?`).Draw(rt, "symbol"))
	})
}

//attack:trade-symbol-length
//attack:trade-symbol-parts
func TestParseSymbolTakesTenAndFiveCharactersAndNoMore(t *testing.T) {
	for base := range 20 {
		for class := range 10 {
			s := strings.Repeat("A", base) + "." + strings.Repeat("B", class)
			if _, ok := trade.ParseSymbol(s); ok != (base >= 1 && base <= 10 && class >= 1 && class <= 5) {
				t.Errorf("%s: taken is %v", s, ok)
			}
		}
		s := strings.Repeat("A", base)
		if _, ok := trade.ParseSymbol(s); ok != (base >= 1 && base <= 10) {
			t.Errorf("%s: taken is %v", s, ok)
		}
	}
	if _, ok := trade.ParseSymbol(strings.Repeat("A", 1<<20)); ok {
		t.Error("a symbol of a mebibyte is taken")
	}
}

func TestWordsFoldASCIICaseOnly(t *testing.T) {
	for _, s := range []string{"buy", "BUY", "Buy", "bUy"} {
		if got, ok := trade.ParseSide(s); !ok || got != trade.Buy {
			t.Errorf("%q is read as %s", s, got)
		}
	}
	for _, s := range []string{"", "b", "buys", " buy", "buy ", "long", "bought", "buу" /* Cyrillic */, "ＢＵＹ", "none", "short", "sell_short", "ſell"} {
		if got, ok := trade.ParseSide(s); ok || got != trade.NoSide {
			t.Errorf("%q is read as %s", s, got)
		}
	}
	for s, want := range map[string]trade.OrderType{"limit": trade.Limit, "LIMIT": trade.Limit, "Market": trade.Market, "stop": trade.Stop, "STOP_limit": trade.StopLimit} {
		if got, ok := trade.ParseOrderType(s); !ok || got != want {
			t.Errorf("%q is read as %s", s, got)
		}
	}
	for _, s := range []string{"", "none", "stoplimit", "stop-limit", "lımit", "trailing_stop", "limit\x00", "limıt"} {
		if got, ok := trade.ParseOrderType(s); ok || got != trade.NoType {
			t.Errorf("%q is read as %s", s, got)
		}
	}
	for s, want := range map[string]trade.TimeInForce{
		"day": trade.Day, "DAY": trade.Day, "gtc": trade.GTC, "Ioc": trade.IOC, "FOK": trade.FOK, "opg": trade.OPG, "cls": trade.CLS,
		"": trade.NoTIF, "none": trade.NoTIF, "day ": trade.NoTIF, "gtd": trade.NoTIF, "gtx": trade.NoTIF, "good": trade.NoTIF, "opɡ": trade.NoTIF,
	} {
		if got, ok := trade.ParseTimeInForce(s); got != want || ok != (want != trade.NoTIF) {
			t.Errorf("%q is read as %s, %v", s, got, ok)
		}
	}
}

func TestZeroValuesOfWordsAreNone(t *testing.T) {
	if trade.NoSide.String() != "none" || trade.NoType.String() != "none" || trade.NoTIF.String() != "none" || trade.Outcome(0) != trade.Unknown {
		t.Error("a zero value means something")
	}
	for o := trade.Unknown; o <= trade.Rejected; o++ {
		if got, err := trade.ParseOutcome(o.String()); err != nil || got != o {
			t.Errorf("%s reads back as %v, %v", o, got, err)
		}
	}
	for _, s := range []string{"", "Accepted", "done", "accepted\u202e"} {
		if got, err := trade.ParseOutcome(s); err == nil || got != trade.Unknown || strings.Contains(err.Error(), "\u202e") {
			t.Errorf("%q reads as %v, %v", s, got, err)
		}
	}
}
