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

// orders makes any valid order.
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
		MaxLength   int      `json:"maxLength"`
		Description string   `json:"description"`
	}
	var schema struct {
		Type                 string              `json:"type"`
		Properties           map[string]property `json:"properties"`
		Required             []string            `json:"required"`
		AdditionalProperties *bool               `json:"additionalProperties"`
	}
	for _, d := range all() {
		schema.Properties = nil
		raw := d.Schema()
		if v, err := wire.Read(raw, wire.Limits{Bytes: 1 << 16, Depth: 8}); err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		} else if name, twice := v.Duplicate(); twice {
			t.Errorf("%s: %s is there twice", d.Name, name)
		}
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		if schema.Type != "object" || schema.AdditionalProperties == nil || *schema.AdditionalProperties {
			t.Errorf("%s: the schema is open", d.Name)
		}
		var required []string
		for _, f := range d.Fields {
			if !f.Optional {
				required = append(required, f.Name)
			}
			p, ok := schema.Properties[f.Name]
			if !ok || p.Description == "" {
				t.Fatalf("%s: %s is not described", d.Name, f.Name)
			}
			for _, word := range p.Enum {
				if _, _, faults := d.Parse("", arguments(d, f.Term, `"`+word+`"`)); len(faults) > 0 {
					t.Errorf("%s: %s %q is advertised and refused: %v", d.Name, f.Name, word, faults)
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
			numeric := f.Term == dialect.Quantity || f.Term == dialect.LimitPrice
			if numeric && types != "stringnumber" || !numeric && types != "string" {
				t.Errorf("%s: %s is of type %s", d.Name, f.Name, types)
			}
		}
		if len(schema.Properties) != len(d.Fields) || !slices.Equal(schema.Required, required) {
			t.Errorf("%s: properties %v, required %v", d.Name, schema.Properties, schema.Required)
		}
	}
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
