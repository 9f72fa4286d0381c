package market

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sallyport/trade"
)

const listed = `{"symbol":"AAPL","asset_class":"us_equity","currency":"USD","tick":"0.01","tick_under_1":"0.0001","lot":"1","minimum":"1","multiplier":"1"}
{"symbol":"BTC/USD","asset_class":"crypto","currency":"USD","tick":"0.05","lot":"0.000000001","minimum":"0.00001","multiplier":"1"}
`

//attack:market-instruments
func TestOnlyListedInstrumentsAreSome(t *testing.T) {
	l, err := ReadInstruments(strings.NewReader(listed))
	if err != nil || l.Len() != 2 {
		t.Fatal(l.Len(), err)
	}
	if i, ok := l.Of(symbol(t, "AAPL")); !ok || fmt.Sprint(i) != fmt.Sprint(trade.USEquity(symbol(t, "AAPL"))) {
		t.Errorf("%+v, %t", i, ok)
	}
	if i, ok := l.Of(symbol(t, "BTC/USD")); !ok || i.TickUnder1 != i.Tick {
		t.Errorf("%+v, %t", i, ok)
	}
	if i, ok := l.Of(symbol(t, "MSFT")); ok || i.AssetClass != "" {
		t.Errorf("what is not listed is %+v", i)
	}
	var none *Instruments
	if i, ok := none.Of(symbol(t, "MSFT")); !ok || i.AssetClass != "us_equity" || none.Len() != 0 {
		t.Errorf("without a list: %+v, %t", i, ok)
	}
	if _, ok := none.Of(trade.Symbol{}); ok {
		t.Error("no symbol is an instrument")
	}
}

//attack:market-multiplier
func TestInstrumentsThatAreNoneAreRefused(t *testing.T) {
	for name, c := range map[string][2]string{
		"an unknown member": {`"lot":"1"`, `"lots":"1","lot":"1"`}, "one too few": {`"currency":"USD",`, ``}, "one twice": {`"lot":"1"`, `"lot":"1","lot":"1"`},
		"not a symbol": {`"AAPL"`, `"AA PL"`}, "a symbol that is a number": {`"AAPL"`, `1`}, "not a class": {`"us_equity"`, `"US"`}, "no class": {`"us_equity"`, `""`},
		"not a currency": {`"USD"`, `"usd"`}, "a long currency": {`"USD"`, `"USDT"`}, "a tick of zero": {`"tick":"0.01"`, `"tick":"0"`}, "a tick that is none": {`"tick":"0.01"`, `"tick":"1e-2"`},
		"an under tick of zero": {`"0.0001"`, `"0"`}, "a null": {`"lot":"1"`, `"lot":null`}, "a negative": {`"lot":"1"`, `"lot":"-1"`}, "a minimum off its lot": {`"minimum":"1"`, `"minimum":"1.5"`},
		"one not on both ticks": {`"0.0001"`, `"0.03"`}, "one not on the other": {`"tick":"0.01"`, `"tick":"0.03"`}, "twice": {`BTC/USD`, `AAPL`}, "an empty line": {"\n", "\n\n"},
		"a list": {listed, "[]\n"}, "nothing": {listed, ""}, "not closed": {"}\n", "\n"}, "a contract of a hundred": {`"multiplier":"1"`, `"multiplier":"100"`}, "of nothing": {`"multiplier":"1"`, `"multiplier":"0"`}, "nested": {`"lot":"1"`, `"lot":{"a":1}`},
		"too long": {`"us_equity"`, `"` + strings.Repeat("a", MaxLine) + `"`}, "a comment": {`{"symbol":"AAPL"`, `// x` + "\n" + `{"symbol":"AAPL"`},
	} {
		bad := strings.Replace(listed, c[0], c[1], 1)
		if bad == listed {
			t.Fatalf("%s: nothing is changed", name)
		}
		l, err := ReadInstruments(strings.NewReader(bad))
		var e *Error
		if l != nil || !errors.As(err, &e) || e.Code != InstrumentsInvalid {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
	if _, err := ReadInstruments(failing{}); !errors.Is(err, errFailing) {
		t.Errorf("an error of reading: %v", err)
	}
	many := strings.NewReader(strings.Repeat(" ", MaxLine) + "\n")
	if _, err := ReadInstruments(many); err == nil {
		t.Error("a line of blanks is an instrument")
	}
}

func FuzzReadInstruments(f *testing.F) {
	f.Add(listed)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ReadInstruments(strings.NewReader(text))
		if err != nil {
			return
		}
		for s, i := range l.listed {
			if s != i.Symbol || i.Tick.Size().Sign() <= 0 || i.TickUnder1.Size().Sign() <= 0 || i.Lot.Size().Sign() <= 0 || i.Multiplier.Sign() <= 0 || !i.Quantity(i.Minimum).Fits {
				t.Fatalf("%+v", i)
			}
		}
	})
}
