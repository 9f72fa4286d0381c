package dialect_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sallyport/dialect"
	"sallyport/trade"
	"sallyport/wire"
)

// kinds are orders of every kind that is wider than a limit order for the day and whole shares.
func kinds() []string {
	return []string{
		`{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"market"}`,
		`{"symbol":"AAPL","side":"sell","quantity":"0.25","order_type":"market"}`,
		`{"symbol":"AAPL","side":"buy","notional":"99.99","order_type":"market"}`,
		`{"symbol":"AAPL","side":"sell","quantity":"10","order_type":"stop","stop_price":"140.5","time_in_force":"gtc"}`,
		`{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"stop_limit","stop_price":"140.5","limit_price":"141"}`,
		`{"symbol":"AAPL","side":"buy","quantity":"1.5","order_type":"limit","limit_price":"141","extended_hours":true}`,
		`{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"141","time_in_force":"fok"}`,
		`{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"market","time_in_force":"opg"}`,
		`{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"141","time_in_force":"gtc","stop_loss":"130","stop_loss_limit":"129.5","take_profit":"160"}`,
		`{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"market","take_profit":"160"}`,
		`{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"stop","stop_price":"141","stop_loss":"130"}`,
	}
}

func TestEveryKindOfOrderGoesThroughEveryDialectOfTheTable(t *testing.T) {
	for _, raw := range kinds() {
		o, _, faults := find(t, "paper_place_order_a").Parse("main", []byte(raw))
		if len(faults) > 0 {
			t.Fatalf("%s: %v", raw, faults)
		}
		if out := find(t, "paper_place_order_a").Encode(o, ""); string(out) == "" || bench().Encode(o, "") != nil {
			t.Errorf("%s is written as %s, and by a dialect without its terms as %s", raw, out, bench().Encode(o, ""))
		}
		for _, d := range dialect.Table() {
			back, _, faults := d.Parse("main", d.Encode(o, "id"))
			if back.Digest() != o.Digest() {
				t.Errorf("%s: %s is written as %s: %v", d.Name, raw, d.Encode(o, "id"), faults)
			}
		}
	}
}

// orders makes any valid order of the first version.
func orders(t *rapid.T) trade.Order {
	text := func(s string) trade.Text { return trade.Text{Name: "x", Value: s, Kind: trade.IsText} }
	o, _, faults := trade.Parse(trade.Draft{
		Account: "main", Symbol: text(rapid.StringMatching(`[A-Z][A-Z0-9]{0,9}([./-][A-Z0-9]{1,5})?`).Draw(t, "symbol")),
		Side:     text(rapid.SampledFrom([]string{"buy", "sell"}).Draw(t, "side")),
		Quantity: text(rapid.StringMatching(`[1-9][0-9]{0,11}`).Draw(t, "quantity")), Type: text("limit"),
		LimitPrice: text(rapid.StringMatching(`([1-9][0-9]{0,11}(\.[0-9]{1,9})?|0\.[0-9]{0,8}[1-9])`).Draw(t, "price")), TimeInForce: text("day"),
	})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return o
}

//fault:f99
func TestParseOfEncodeIsTheSameOrderInEveryDialect(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := orders(rt)
		id := trade.ClientOrderID(rapid.StringMatching(`[A-Za-z0-9._-]{0,128}`).Draw(rt, "id"))
		for _, d := range all() {
			raw := d.Encode(o, id)
			back, tags, faults := d.Parse("main", raw)
			if len(faults) > 0 || back.Digest() != o.Digest() || string(back.AppendJSON(nil)) != string(o.AppendJSON(nil)) {
				rt.Fatalf("%s: %s reads back as %s %v", d.Name, raw, back.AppendJSON(nil), faults)
			}
			wantID := id
			if name(d, dialect.ClientOrderID) == "" {
				wantID = ""
			}
			if tags.ClientOrderID != wantID || tags.Reason != "" {
				rt.Fatalf("%s: %s has the tags %+v", d.Name, raw, tags)
			}
		}
	})
}

func TestEncodeRefusesTheZeroOrderAndWhatAFixedTermContradicts(t *testing.T) {
	o, _, _ := bench().Parse("", arguments(bench(), 0, ""))
	market := bench()
	market.Fixed[0].Value = "market"
	for what, out := range map[string][]byte{
		"the zero order":   bench().Encode(trade.Order{}, "x"),
		"another type":     market.Encode(o, ""),
		"nothing to say":   (&dialect.Dialect{}).Encode(o, ""),
		"without a symbol": (&dialect.Dialect{Fields: bench().Fields[1:], Fixed: bench().Fixed}).Encode(o, ""),
	} {
		if out != nil {
			t.Errorf("%s is written as %s", what, out)
		}
	}
}

func TestEncodeGoldenBytes(t *testing.T) {
	o, _, _ := bench().Parse("", arguments(bench(), 0, ""))
	for tool, want := range map[string]string{
		"paper_place_order_a": `{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"1.50","client_order_id":"sp-1"}`,
		"paper_place_order_b": `{"ticker":"AAPL","direction":"buy","qty":"10","order_type":"limit","price":"1.50","client_order_id":"sp-1"}`,
		"trade_check":         `{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"1.50"}`,
		"alpaca":              `{"symbol":"AAPL","qty":"10","side":"buy","type":"limit","limit_price":"1.50","time_in_force":"day","client_order_id":"sp-1"}`,
	} {
		if got := string(find(t, tool).Encode(o, "sp-1")); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", tool, got, want)
		}
	}
}

// TestSchemaAdvertisesWhatParseTakes compares each schema with the parser.
func TestSchemaAdvertisesWhatParseTakes(t *testing.T) {
	type property struct {
		Type    string `json:"type"`
		Pattern string `json:"pattern"`
		AnyOf   []struct {
			Type    string `json:"type"`
			Pattern string `json:"pattern"`
		} `json:"anyOf"`
		Enum        []string `json:"enum"`
		Description string   `json:"description"`
		// Of an object.
		Properties           map[string]property `json:"properties"`
		Required             []string            `json:"required"`
		AdditionalProperties *bool               `json:"additionalProperties"`
	}
	for _, d := range all() {
		var schema property
		raw := d.Schema()
		if v, err := wire.Read(raw, wire.Limits{Bytes: 1 << 16, Depth: 8}); err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		} else if name, twice := v.Duplicate(); twice {
			t.Errorf("%s: %s is there twice", d.Name, name)
		}
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		objects, required, count := map[string]property{"": schema}, map[string][]string{}, map[string]int{}
		for _, f := range d.Fields {
			if _, ok := objects[f.In]; !ok {
				objects[f.In] = schema.Properties[f.In]
				count[""]++
			}
			count[f.In]++
			if !f.Optional {
				required[f.In] = append(required[f.In], f.Name)
			}
			p, ok := objects[f.In].Properties[f.Name]
			if !ok || p.Description == "" {
				t.Fatalf("%s: %s is not described", d.Name, path(f))
			}
			for _, word := range p.Enum {
				if !takes(d, f.Term, word) {
					t.Errorf("%s: %s %q is advertised and refused", d.Name, path(f), word)
				}
			}
			types := p.Type
			for _, a := range p.AnyOf {
				types += a.Type
				p.Pattern += a.Pattern
			}
			if p.Pattern != "" {
				patternAgrees(t, d, f, regexp.MustCompile(p.Pattern))
			}
			if want := typeOf(f.Term); types != want {
				t.Errorf("%s: %s is of type %s, want %s", d.Name, path(f), types, want)
			}
		}
		for in, o := range objects {
			if o.Type != "object" || o.AdditionalProperties == nil || *o.AdditionalProperties {
				t.Errorf("%s %s: the schema is open", d.Name, in)
			}
			if len(o.Properties) != count[in] || !slices.Equal(o.Required, required[in]) {
				t.Errorf("%s %s: properties %v, required %v", d.Name, in, o.Properties, o.Required)
			}
		}
	}
}

// typeOf is how a term is written.
func typeOf(t dialect.Term) string {
	switch t {
	case dialect.Quantity, dialect.Notional, dialect.LimitPrice, dialect.StopPrice, dialect.StopLoss, dialect.StopLossLimit, dialect.TakeProfit:
		return "stringnumber"
	case dialect.ExtendedHours:
		return "boolean"
	}
	return "string"
}

// takes reports whether the parser knows a word, whatever else it says of an order that has it.
func takes(d *dialect.Dialect, term dialect.Term, word string) bool {
	_, _, faults := d.Parse("", arguments(d, term, `"`+word+`"`))
	return !slices.ContainsFunc(faults, func(f trade.Fault) bool {
		return strings.HasSuffix(string(f.Code), "_UNKNOWN") || f.Code == trade.FieldTypeWrong
	})
}

// patternAgrees holds a schema's pattern and the parser together: what the one takes, the other calls well-formed.
func patternAgrees(t *testing.T, d *dialect.Dialect, f dialect.Field, pattern *regexp.Regexp) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9._/-]{0,18}`), rapid.StringMatching(`[0-9]{0,13}(\.[0-9]{0,10})?`), rapid.String()).Draw(rt, "value")
		_, _, faults := d.Parse("paper", arguments(d, f.Term, string(wire.AppendString(nil, s))))
		malformed := slices.ContainsFunc(faults, func(x trade.Fault) bool { return strings.HasSuffix(string(x.Code), "_MALFORMED") })
		if malformed == pattern.MatchString(s) {
			rt.Fatalf("%s %s: the pattern takes %q: %v; the parser says %v", d.Name, f.Name, s, pattern.MatchString(s), faults)
		}
	})
}
