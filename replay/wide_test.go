package replay_test

import (
	"bytes"
	"strings"
	"testing"

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
