package replay_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"sallyport/market"
	"sallyport/replay"
)

// wide allows orders of every kind.
const wide = `{"version": 2, "currency": "USD", "timezone": "America/New_York",
  "quotes": {"sources": ["file"], "max_age": "5m", "max_spread_bps": "200", "market_slippage_bps": "50"},
  "rules": [{"id": "all",
    "match": {"symbols": ["AAPL"], "sides": ["buy", "sell"], "order_types": ["limit", "market", "stop", "stop_limit"], "time_in_force": ["day", "gtc"], "agents": ["*"], "asset_classes": ["us_equity"]},
    "allow": {"fractional": true},
    "limits": {"order_notional": {"deny_above": "5000.00"}, "position_quantity": {"deny_above": "30"}}}]}`

func wideRun(t *testing.T, bodies ...string) string {
	t.Helper()
	var out bytes.Buffer
	quote := `"quote":{"symbol":"AAPL","bid":"149.99","ask":"150.01","last":"150.00"}`
	if err := replay.Run(t.Context(), replay.Config{Policy: []byte(wide)}, strings.NewReader(at(append([]string{quote}, bodies...)...)), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

func asks(id, order string) string {
	return `"intent":{"id":"` + id + `","agent":"bot","order":{"symbol":"AAPL",` + order + `}}`
}

func wants(t *testing.T, out string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("%s is not in\n%.3000s", text, out)
		}
	}
}

// TestExitsAreFilledAfterTheirOrder has an order that brings exits: once it is filled, a fill is one of its exits, which
// sells.
func TestExitsAreFilledAfterTheirOrder(t *testing.T) {
	const exits = `"side":"buy","quantity":"10","type":"limit","limit_price":"150.00","stop_loss":"140.00","take_profit":"160.00"`
	out := wideRun(t, asks("a", exits), `"fill":{"intent":"a","quantity":"4","price":"150.00"}`, `"fill":{"intent":"a","quantity":"6","price":"150.00"}`)
	wants(t, out, `"from":"partially_filled","to":"filled"`, `"positions":{"AAPL":{"average_price":"150.00","quantity":"10"}}`, `"reserved":{"AAPL":{"buys":"0","sells":"10"}}`)
	out = wideRun(t, asks("a", exits), `"fill":{"intent":"a","quantity":"10","price":"150.00"}`, `"fill":{"intent":"a","quantity":"10","price":"160.00"}`)
	wants(t, out, `"positions":{},"reserved":{},"working":{}`)
	out = wideRun(t, asks("a", exits), `"fill":{"intent":"a","quantity":"4","price":"150.00"}`, `"cancel":{"intent":"a"}`)
	wants(t, out, `"quantity":"4"`, `"reserved":{"AAPL":{"buys":"0","sells":"4"}}`)
	out = wideRun(t, asks("a", exits), `"fill":{"intent":"a","quantity":"4","price":"150.00"}`, `"cancel":{"intent":"a"}`, `"fill":{"intent":"a","quantity":"4","price":"160.00"}`)
	wants(t, out, `"positions":{},"reserved":{},"working":{}`)
	out = wideRun(t, asks("a", exits), `"fill":{"intent":"a","quantity":"10","price":"150.00"}`, `"cancel":{"intent":"a"}`, `"fill":{"intent":"a","quantity":"10","price":"160.00"}`)
	wants(t, out, `"quantity":"10"`, `"passed_over":1`, `"reserved":{},"working":{}`)
}

// TestOrdersOfEveryKindRunOnATape has an order by amount, one at the market and one that is too large at its worst price.
func TestOrdersOfEveryKindRunOnATape(t *testing.T) {
	out := wideRun(t, asks("amount", `"side":"buy","notional":"300.00","type":"market"`), `"fill":{"intent":"amount","quantity":"2","price":"150.00"}`,
		asks("market", `"side":"buy","quantity":"5","type":"market"`), asks("large", `"side":"buy","quantity":"40","type":"market"`),
		asks("stop", `"side":"buy","quantity":"1","type":"stop","stop_price":"155.00"`), asks("none", `"side":"buy","quantity":"1","type":"market","limit_price":"1.00"`))
	wants(t, out, `"intent":"amount","from":"EXECUTION_SUCCEEDED","to":"filled"`, `{"intent":"market","verdict":"allow"`, `{"intent":"large","verdict":"deny"`,
		`NOTIONAL_EXCEEDS_LIMIT`, `{"intent":"stop","verdict":"allow"`, `{"intent":"none","verdict":"deny"`, `PRICE_UNEXPECTED`)
	if strings.Contains(out, "UNAVAILABLE") {
		t.Error(out)
	}
}

// TestAccountsAreWhatTheBrokerSays has limits that need the equity: without an account line they deny.
func TestAccountsAreWhatTheBrokerSays(t *testing.T) {
	raw := strings.Replace(wide, `"limits": {`, `"limits": {"position_equity_percent": {"deny_above": "20"}, `, 1)
	run := func(bodies ...string) string {
		var out bytes.Buffer
		if err := replay.Run(t.Context(), replay.Config{Policy: []byte(raw)}, strings.NewReader(at(bodies...)), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	quote := `"quote":{"symbol":"AAPL","bid":"149.99","ask":"150.01","last":"150.00"}`
	order := asks("a", `"side":"buy","quantity":"10","type":"limit","limit_price":"150.00"`)
	wants(t, run(quote, order), `{"intent":"a","verdict":"deny"`, "UNAVAILABLE")
	wants(t, run(quote, `"account":{"cash":"7000.00","equity":"7000.00"}`, order), `{"intent":"a","verdict":"deny"`, "POSITION_EQUITY_PERCENT_EXCEEDS_LIMIT")
	wants(t, run(quote, `"account":{"cash":"8000.00","equity":"8000.00"}`, order), `{"intent":"a","verdict":"allow"`)
	wants(t, run(`"account":{"cash":"0","equity":"8000.00"}`, quote, order), `{"intent":"a","verdict":"allow"`) // what else it has counts
	wants(t, run(quote, `"account":{"cash":"8000.00","equity":"9000.00"}`, `"position":{"symbol":"AAPL","quantity":"5","average_price":"140.00"}`, order),
		`{"intent":"a","verdict":"deny"`, "POSITION_EQUITY_PERCENT_EXCEEDS_LIMIT")
}

// TestExitsHaveAnIDOfTheirOwn names the exits of an order while a part of it is to come, and what is no exits.
func TestExitsHaveAnIDOfTheirOwn(t *testing.T) {
	const bracket = `"side":"buy","quantity":"10","type":"limit","limit_price":"150.00","stop_loss":"140.00","take_profit":"160.00"`
	begin := []string{asks("a", bracket), `"fill":{"intent":"a","quantity":"6","price":"150.00"}`}
	sold := append(slices.Clone(begin), `"fill":{"intent":"a/exits","quantity":"4","price":"160.00"}`)
	wants(t, wideRun(t, sold...), `"positions":{"AAPL":{"average_price":"150.00","quantity":"2"}},"reserved":{"AAPL":{"buys":"4","sells":"2"}}`)
	wants(t, wideRun(t, append(sold, `"cancel":{"intent":"a/exits"}`, `"cancel":{"intent":"a/exits"}`)...), `"passed_over":1`,
		`"positions":{"AAPL":{"average_price":"150.00","quantity":"2"}},"reserved":{"AAPL":{"buys":"4","sells":"0"}}`)
	wants(t, wideRun(t, append(sold, `"fill":{"intent":"a","quantity":"4","price":"150.00"}`, `"fill":{"intent":"a","quantity":"6","price":"160.00"}`, `"cancel":{"intent":"a"}`)...),
		`"passed_over":1`, `"positions":{},"reserved":{},"working":{}`)
	wants(t, wideRun(t, asks("a", bracket), `"cancel":{"intent":"a/exits"}`), `"passed_over":1`, `"reserved":{"AAPL":{"buys":"10","sells":"0"}}`)
	wants(t, wideRun(t, asks("a", bracket), asks("a/exits", `"side":"buy","quantity":"1","type":"market"`), `"fill":{"intent":"a/exits","quantity":"1","price":"150.00"}`),
		`"quantity":"1"`, `"working":{"a":`)
	plain := asks("a", `"side":"buy","quantity":"1","type":"market"`)
	err := replay.Run(t.Context(), replay.Config{Policy: []byte(wide)}, strings.NewReader(at(plain, `"fill":{"intent":"a/exits","quantity":"1","price":"150.00"}`)), io.Discard)
	if err == nil || !strings.Contains(err.Error(), `line 2 of the tape: there is no intent "a/exits"`) {
		t.Error(err)
	}
}

// TestAccountsMayHaveManyDigits takes what a fraction at a price with cents leaves, and no sign.
func TestAccountsMayHaveManyDigits(t *testing.T) {
	run := func(cash string) error {
		return replay.Run(t.Context(), replay.Config{}, strings.NewReader(at(`"account":{"cash":`+cash+`,"equity":"100007.4666666648"}`)), io.Discard)
	}
	for _, cash := range []string{`"99807.53333338145"`, `"1.123456789123456789"`, `"9999999999999.50"`, `"1.5"`, `15`} {
		if err := run(cash); err != nil {
			t.Errorf("%s: %v", cash, err)
		}
	}
	for _, cash := range []string{`99807.53333338145`, `"-1.50"`, `"1.1234567891"`, `"1e3"`, `null`, `"1.12345678912345678912345"`} {
		if err := run(cash); (err == nil) != (cash == `"1.1234567891"`) {
			t.Errorf("%s: %v", cash, err)
		}
	}
}

// TestTheDayBeginsWithItsFirstQuote as it does live: what is lost before the first order of the day counts, also where
// quotes and fills came between.
func TestTheDayBeginsWithItsFirstQuote(t *testing.T) {
	raw := strings.Replace(wide, `"limits": {`, `"limits": {"daily_loss": {"deny_above": "50.00"}, `, 1)
	run := func(bodies ...string) string {
		var out bytes.Buffer
		if err := replay.Run(t.Context(), replay.Config{Policy: []byte(raw)}, strings.NewReader(at(bodies...)), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	quote := func(bid string) string {
		return `"quote":{"symbol":"AAPL","bid":"` + bid + `","ask":"` + bid + `","last":"` + bid + `"}`
	}
	account, held := `"account":{"cash":"8500.00","equity":"10000.00"}`, `"position":{"symbol":"AAPL","quantity":"10","average_price":"150.00"}`
	order := asks("a", `"side":"buy","quantity":"1","type":"limit","limit_price":"140.00"`)
	wants(t, run(account, held, quote("150.00"), quote("144.00"), order), `{"intent":"a","verdict":"deny"`, "DAILY_LOSS_EXCEEDS_LIMIT")
	wants(t, run(quote("150.00"), account, held, quote("144.00"), order), `{"intent":"a","verdict":"deny"`, "DAILY_LOSS_EXCEEDS_LIMIT")
	wants(t, run(quote("150.00"), account, held, quote("146.00"), order), `{"intent":"a","verdict":"allow"`)
	wants(t, run(quote("144.00"), account, held, order), `{"intent":"a","verdict":"allow"`)
}

// TestPolicyIsComparedWithTheInstruments as a live one is.
func TestPolicyIsComparedWithTheInstruments(t *testing.T) {
	list, err := market.ReadInstruments(strings.NewReader(`{"symbol":"MSFT","asset_class":"us_equity","currency":"USD","tick":"0.01","lot":"1","minimum":"1","multiplier":"1"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []replay.Config{{Policy: []byte(wide), Instruments: list}, {Instruments: list}} {
		var out bytes.Buffer
		tape := at(`"policy":`+strings.ReplaceAll(wide, "\n", ""), asks("a", `"side":"buy","quantity":"1","type":"limit","limit_price":"150.00"`))
		if cfg.Policy != nil {
			_, tape, _ = strings.Cut(tape, "\n")
		}
		if err := replay.Run(t.Context(), cfg, strings.NewReader(tape), &out); err != nil {
			t.Fatal(err)
		}
		wants(t, out.String(), `"verdict":"deny"`, "POLICY_INVALID", "AAPL")
	}
}
