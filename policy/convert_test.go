package policy_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"sallyport/policy"
	"sallyport/trade"
)

func TestConvertWritesTheDefaultPolicy(t *testing.T) {
	v2, differences, err := policy.Convert(policy.Default())
	if err != nil {
		t.Fatal(err)
	}
	want := `// Converted from version 1. What it means otherwise:
// - looser: a sell of no more than is held and free passes for every symbol, every agent and every kind of order, whether it is listed or not
// - looser: max_quantity no longer bounds such a sell
// - looser: sells were not allowed at all; such a sell now is
// - tighter: a buy is worth the higher of its limit price and the ask, where version 1 knew only its limit price
// - tighter: a buy needs a quote of at most 30 s whose spread is at most 200 basis points; without one it is denied
// - tighter: an order must fit the instrument of the broker's list: its currency, its tick, its lot
// - different: a day is one in New York; nothing in this file counts days
{
  "version": 2, "currency": "USD", "timezone": "America/New_York",
  "quotes": {"sources": ["file"], "max_age": "30s", "max_spread_bps": "200"},
  "rules": [
    {"id": "version-1", "match": {"symbols": ["AAPL", "MSFT"], "sides": ["buy"], "order_types": ["limit"]},
     "limits": {"order_quantity": {"deny_above": "200"}, "order_notional": {"deny_above": "10000.00"}}}
  ]
}
`
	if string(v2) != want || len(differences) != 7 {
		t.Errorf("%d differences\n%s", len(differences), v2)
	}
	if _, _, err := policy.Convert([]byte(`{}`)); err == nil {
		t.Error("what is no policy is converted")
	}
}

// TestConversionMeansTheSameButForWhatItNames: a buy that has a good quote at its own price gets the same verdict, and a
// sell is only let pass where it is a reduction.
func TestConversionMeansTheSameButForWhatItNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
		raw := fmt.Sprintf(`{"max_gross_buy_notional_usd": "%s", "max_quantity": "%s", "symbol_allowlist": [%s], "order_type_allowlist": [%s], "side_allowlist": [%s]}`,
			pick("notional", "0", "1000", "1000.01", "999999999999.999999999"), pick("quantity", "0", "10", "999999999999", "999999999998"),
			pick("symbols", `"AAPL"`, `"msft", "AAPL"`, `"GME"`), pick("types", `"limit"`, `"limit", "market"`, `"stop"`), pick("sides", `"buy"`, `"sell"`, `"sell", "buy"`))
		p, err := policy.Parse([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		v2, _, err := policy.Convert([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		b, err := policy.ParseV2(v2, policy.World{})
		if err != nil {
			t.Fatalf("%s\n%v", v2, err)
		}
		o, _, _ := trade.Parse(trade.Draft{
			Account: "paper", Symbol: text(pick("symbol", "AAPL", "MSFT")), Side: text(pick("side", "buy", "sell")), Type: text("limit"), TimeInForce: text("day"),
			Quantity: text(strconv.Itoa(rapid.IntRange(1, 12).Draw(t, "n"))), LimitPrice: text(pick("price", "100", "100.001", "90")),
		})
		f, s := calm()
		s.Instrument = instrument(o.Symbol().String())
		f.Position, s.Quote.Bid, s.Quote.Ask = dec("10"), o.LimitPrice(), o.LimitPrice()
		s.Reduces = o.Side() == trade.Sell && o.Quantity().Cmp(f.Position) <= 0
		was, is := p.Evaluate(o, f).Effect, b.Evaluate(o, f, s).Effect
		if was != is && (!s.Reduces || is != policy.Allow) {
			t.Fatalf("%s\n%s\n%s of %s %s at %s: %s, and converted %s", raw, v2, o.Side(), o.Quantity(), o.Symbol(), o.LimitPrice(), was, is)
		}
	})
}

func schema(t testing.TB) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(policy.Schema(), &s); err != nil {
		t.Fatalf("%v\n%s", err, policy.Schema())
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func validate(r *jsonschema.Resolved, raw []byte) error {
	var v any
	if err := json.Unmarshal(policy.Blank(raw), &v); err != nil {
		return err
	}
	return r.Validate(v)
}

func TestTheSchemaTakesWhatIsValidAndNotMuchElse(t *testing.T) {
	r := schema(t)
	v2, _, _ := policy.Convert(policy.Default())
	for _, raw := range [][]byte{policy.ExampleV2(), v2, []byte(oneLimit(`"open_orders": {"deny_above": 5}`))} {
		if err := validate(r, raw); err != nil {
			t.Errorf("%v\n%s", err, raw)
		}
	}
	for from, to := range map[string]string{
		`"version": 2`: `"version": 3`, `"USD"`: `"EUR"`, `"30s"`: `"30"`, `"deny_above": "200"`: `"deny_above": "2e2"`,
		`"per": "agent"`: `"per": "desk"`, `"hold_above": "2500.00"`: `"hold": "2500.00"`, `"short": false`: `"short": "false"`, `"stop_loss": false`: `"stop_loss": 0`,
		`"effect": "deny"`: `"effect": "allow"`, `"order_quantity": `: `"Order_Quantity": `, `"symbols": ["GME"]`: `"symbols": []`,
		`"window": "30s"`: `"windows": "30s"`, `"id": "large-caps",`: ``, `"leverage": `: `"leverages": `, `"tape": [`: `"tape": 1, "tap": [`,
	} {
		changed := strings.Replace(string(policy.ExampleV2()), from, to, 1)
		if changed == string(policy.ExampleV2()) {
			t.Fatalf("the example has no %s", from)
		}
		if validate(r, []byte(changed)) == nil {
			t.Errorf("with %s in the place of %s the schema takes it", to, from)
		}
		if _, err := policy.ParseV2([]byte(changed), policy.World{}); err == nil {
			t.Errorf("with %s in the place of %s the parser takes it", to, from)
		}
	}
}

func TestTheSchemaTakesEveryPolicyThatTheParserTakes(t *testing.T) {
	r := schema(t)
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(drawPolicy(t).file())
		if _, err := policy.ParseV2(raw, policy.World{}); err != nil {
			t.Skip(err)
		}
		if err := validate(r, raw); err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
	})
}
