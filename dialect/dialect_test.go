package dialect_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sallyport/dialect"
	"sallyport/trade"
	"sallyport/wire"
)

// bench is a dialect that is in no table: fewer fields, and a fixed order type.
func bench() *dialect.Dialect {
	return &dialect.Dialect{
		Name: "place_order", Account: "bench",
		Fields: []dialect.Field{
			{Name: "symbol", Term: dialect.Symbol},
			{Name: "side", Term: dialect.Side},
			{Name: "quantity", Term: dialect.Quantity},
			{Name: "limit_price", Term: dialect.LimitPrice},
		},
		Fixed: []dialect.FixedTerm{{Term: dialect.OrderType, Value: "limit"}, {Term: dialect.TimeInForce, Value: "day"}},
	}
}

func all() []*dialect.Dialect { return append(dialect.Table(), bench()) }

func TestTableIsSoundAndInPublishedOrder(t *testing.T) {
	var names []string
	for _, d := range dialect.Table() {
		if err := d.Check(); err != nil {
			t.Error(err)
		}
		names = append(names, d.Name)
		if got, ok := dialect.Find(d.Name); !ok || got.Name != d.Name {
			t.Errorf("%s is not found", d.Name)
		}
	}
	if want := []string{"paper_place_order_a", "paper_place_order_b", "trade_check", "alpaca"}; !slices.Equal(names, want) {
		t.Errorf("the table is %v", names)
	}
	for _, name := range []string{"", "paper_place_order_c", "Alpaca", "alpaca ", "paper_place_order_a\x00"} {
		if d, ok := dialect.Find(name); ok || d != nil {
			t.Errorf("%q is found", name)
		}
	}
	mine, _ := dialect.Find("alpaca")
	mine.Fields[0].Name = "changed"
	if other, _ := dialect.Find("alpaca"); other.Fields[0].Name != "symbol" {
		t.Error("two callers share a dialect")
	}
}

func TestCheckFindsADialectThatIsIncomplete(t *testing.T) {
	for what, change := range map[string]func(d *dialect.Dialect){
		"no symbol":          func(d *dialect.Dialect) { d.Fields = d.Fields[1:] },
		"no time in force":   func(d *dialect.Dialect) { d.Fixed = d.Fixed[:1] },
		"a term twice":       func(d *dialect.Dialect) { d.Fixed = append(d.Fixed, d.Fixed[0]) },
		"a name twice":       func(d *dialect.Dialect) { d.Fields[1].Name = "symbol" },
		"an empty name":      func(d *dialect.Dialect) { d.Fields[1].Name = "" },
		"no term":            func(d *dialect.Dialect) { d.Fields[1].Term = 0 },
		"a term beyond":      func(d *dialect.Dialect) { d.Fields[1].Term = 99 },
		"an optional symbol": func(d *dialect.Dialect) { d.Fields[0].Optional = true },
		"a required reason": func(d *dialect.Dialect) {
			d.Fields = append(d.Fields, dialect.Field{Name: "reason", Term: dialect.Reason})
		},
		"a fixed id": func(d *dialect.Dialect) {
			d.Fixed = append(d.Fixed, dialect.FixedTerm{Term: dialect.ClientOrderID, Value: "x"})
		},
	} {
		d := bench()
		change(d)
		if d.Check() == nil {
			t.Errorf("%s passes", what)
		}
		o, _, _ := bench().Parse("", []byte(`{"symbol":"A","side":"buy","quantity":1,"limit_price":1}`))
		if out := d.Encode(o, ""); out != nil {
			t.Errorf("%s encodes as %s", what, out)
		}
	}
	if err := bench().Check(); err != nil {
		t.Error(err)
	}
}

// name returns the name that a dialect has for a term.
func name(d *dialect.Dialect, term dialect.Term) string {
	for _, f := range d.Fields {
		if f.Term == term {
			return f.Name
		}
	}
	return ""
}

// arguments writes valid arguments of a dialect, one term of which has another value.
func arguments(d *dialect.Dialect, term dialect.Term, value string) []byte {
	valid := map[dialect.Term]string{
		dialect.Symbol: `"AAPL"`, dialect.Side: `"buy"`, dialect.Quantity: `"10"`, dialect.OrderType: `"limit"`, dialect.LimitPrice: `"1.5"`,
		dialect.TimeInForce: `"day"`, dialect.ClientOrderID: `"id-1"`, dialect.Reason: `"why"`,
	}
	valid[term] = value
	dst := []byte{'{'}
	for _, f := range d.Fields {
		dst = append(wire.AppendName(dst, f.Name), valid[f.Term]...)
	}
	return append(dst, '}')
}

// hostile is every value that an issue or a real fault names, and what it is for each term.
var hostile = []struct {
	value string
	codes map[dialect.Term]trade.Code // where it is not the default
	code  trade.Code                  // default
}{
	{`null`, nil, trade.FieldTypeWrong},
	{`true`, nil, trade.FieldTypeWrong},
	{`false`, nil, trade.FieldTypeWrong},
	{`[]`, nil, trade.FieldTypeWrong},
	{`["AAPL"]`, nil, trade.FieldTypeWrong},
	{`{}`, nil, trade.FieldTypeWrong},
	{`1e3`, numbers(trade.QuantityMalformed, trade.PriceMalformed), trade.FieldTypeWrong},
	{`1E-3`, numbers(trade.QuantityMalformed, trade.PriceMalformed), trade.FieldTypeWrong},
	{`-1`, numbers(trade.QuantityMalformed, trade.PriceMalformed), trade.FieldTypeWrong},
	{`-0`, numbers(trade.QuantityMalformed, trade.PriceMalformed), trade.FieldTypeWrong},
	{`0`, numbers(trade.QuantityNotPositive, trade.PriceNotPositive), trade.FieldTypeWrong},
	{`0.000`, numbers(trade.QuantityNotPositive, trade.PriceNotPositive), trade.FieldTypeWrong},
	{`1234567890123456`, numbers(trade.QuantityMalformed, trade.PriceMalformed), trade.FieldTypeWrong},
	{`0.1234567891`, numbers(trade.QuantityMalformed, trade.PriceMalformed), trade.FieldTypeWrong},
	{`"NaN"`, numbers(trade.QuantityMalformed, trade.PriceMalformed), ""},
	{`"Infinity"`, numbers(trade.QuantityMalformed, trade.PriceMalformed), ""},
	{`"1e309"`, numbers(trade.QuantityMalformed, trade.PriceMalformed), ""},
	{`"-5"`, numbers(trade.QuantityMalformed, trade.PriceMalformed), ""},
	{`"+5"`, numbers(trade.QuantityMalformed, trade.PriceMalformed), ""},
	{`"1,000"`, numbers(trade.QuantityMalformed, trade.PriceMalformed), ""},
	{`"1.000,50"`, numbers(trade.QuantityMalformed, trade.PriceMalformed), ""},
	{`" 1"`, numbers(trade.QuantityMalformed, trade.PriceMalformed), ""},
	{`"1 "`, numbers(trade.QuantityMalformed, trade.PriceMalformed), ""},
	{`"0x10"`, numbers(trade.QuantityMalformed, trade.PriceMalformed), ""},
	{`"1_000"`, numbers(trade.QuantityMalformed, trade.PriceMalformed), ""},
	{`"01"`, numbers(trade.QuantityMalformed, trade.PriceMalformed), ""},
	{`"\uff11"`, numbers(trade.QuantityMalformed, trade.PriceMalformed), ""},
	{`""`, nil, ""},
	{`" "`, nil, ""},
	{`"\u0410APL"`, nil, ""},
	{`"AA\u200bPL"`, nil, ""},
	{`"buy\u0000"`, nil, ""},
	{`"\u202eyub"`, nil, ""},
}

func numbers(quantity, price trade.Code) map[dialect.Term]trade.Code {
	return map[dialect.Term]trade.Code{dialect.Quantity: quantity, dialect.LimitPrice: price}
}

// wordCodes are the faults of text off its grammar.
var wordCodes = map[dialect.Term]trade.Code{
	dialect.Symbol: trade.SymbolMalformed, dialect.Side: trade.SideUnknown, dialect.Quantity: trade.QuantityMalformed,
	dialect.OrderType: trade.OrderTypeUnknown, dialect.LimitPrice: trade.PriceMalformed, dialect.TimeInForce: trade.TimeInForceUnknown,
	dialect.ClientOrderID: trade.ClientOrderIDMalformed,
}

//fault:f94
//fault:f95
//fault:f96
//fault:f97
//fault:f98
func TestEveryDialectRefusesHostileValuesWithCodeAndField(t *testing.T) {
	for _, d := range all() {
		for _, f := range d.Fields {
			for _, h := range hostile {
				want, ok := h.codes[f.Term]
				if !ok {
					want = h.code
				}
				if want == "" {
					want = wordCodes[f.Term]
				}
				if f.Term == dialect.Reason && strings.HasPrefix(h.value, `"`) {
					continue // any text is a reason
				}
				if grammatical := f.Term == dialect.ClientOrderID || f.Term == dialect.Symbol; grammatical && want == wordCodes[f.Term] &&
					regexp.MustCompile(`^"[A-Za-z0-9._-]+"$`).MatchString(h.value) {
					continue // such as the symbol NAN or the id 0x10
				}
				raw := arguments(d, f.Term, h.value)
				o, _, faults := d.Parse("", raw)
				if len(faults) != 1 || faults[0].Code != want || faults[0].Field != f.Name || !o.IsZero() {
					t.Errorf("%s %s: %v, want %s of %s", d.Name, raw, faults, want, f.Name)
				}
			}
		}
	}
}

//fault:f99
func TestEveryDialectRefusesEachKeyMissingDoubledAndMisspelled(t *testing.T) {
	for _, d := range all() {
		base := string(arguments(d, 0, ""))
		if _, _, faults := d.Parse("", []byte(base)); len(faults) > 0 {
			t.Fatalf("%s: %v", base, faults)
		}
		for _, f := range d.Fields {
			quoted := `"` + f.Name + `":`
			if strings.Count(base, quoted) != 1 {
				t.Fatalf("%s is not there once in %s", quoted, base)
			}
			check := func(raw string, want ...string) {
				t.Helper()
				o, _, faults := d.Parse("", []byte(raw))
				var got []string
				for _, fault := range faults {
					got = append(got, string(fault.Code)+" "+fault.Field)
				}
				if !slices.Equal(got, want) || !o.IsZero() {
					t.Errorf("%s %s\ngot  %v\nwant %v", d.Name, raw, got, want)
				}
			}
			missing := "FIELD_MISSING " + f.Name
			upper := strings.ToUpper(f.Name)
			check(strings.Replace(base, quoted, quoted+`"A",`+quoted, 1), "FIELD_DUPLICATE "+f.Name)
			check(strings.Replace(base, quoted, `"`+upper+`":"A",`+quoted, 1), "FIELD_UNKNOWN "+upper)
			if f.Optional {
				check(strings.Replace(base, quoted, `"`+upper+`":`, 1), "FIELD_UNKNOWN "+upper)
			} else {
				check(strings.Replace(base, quoted, `"`+upper+`":`, 1), "FIELD_UNKNOWN "+upper, missing)
				check(strings.Replace(base, quoted, `"x":`, 1), "FIELD_UNKNOWN x", missing)
			}
		}
	}
}

func TestMessageOfACaseVariantNamesTheRightSpelling(t *testing.T) {
	for _, d := range all() {
		for _, f := range d.Fields {
			_, _, faults := d.Parse("", []byte(`{"`+strings.ToUpper(f.Name)+`":1}`))
			if len(faults) == 0 || !strings.HasSuffix(faults[0].Message, "use "+f.Name) {
				t.Errorf("%s: %v", d.Name, faults)
			}
		}
	}
}

// TestAllFaultsOfOneInputAreReported breaks every field at once.
func TestAllFaultsOfOneInputAreReported(t *testing.T) {
	d := find(t, "paper_place_order_a")
	_, _, faults := d.Parse("", []byte(`{"symbol":"?","side":"?","quantity":"?","order_type":"?","limit_price":"?",
		"client_order_id":"?","reason":"`+strings.Repeat("x", 2001)+`","x":1,"x":2,"Y":1}`))
	var got []string
	for _, f := range faults {
		got = append(got, string(f.Code))
	}
	want := []string{
		"FIELD_UNKNOWN", "FIELD_DUPLICATE", "FIELD_UNKNOWN", "SYMBOL_MALFORMED", "SIDE_UNKNOWN", "QUANTITY_MALFORMED", "ORDER_TYPE_UNKNOWN", "PRICE_MALFORMED",
		"CLIENT_ORDER_ID_MALFORMED", "REASON_TOO_LONG",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

//attack:dialect-bytes
func TestArgumentsOf64KiBAreReadAndOneByteMoreIsNot(t *testing.T) {
	for _, d := range all() {
		raw := arguments(d, 0, "")
		full := append(raw, strings.Repeat(" ", dialect.MaxBytes-len(raw))...)
		if _, _, faults := d.Parse("", full); len(full) != 65536 || len(faults) > 0 {
			t.Errorf("%s: %d bytes: %v", d.Name, len(full), faults)
		}
		// Too large is reported alone, whatever the bytes are.
		for _, more := range []string{" ", "x", "\xff"} {
			o, _, faults := d.Parse("", append(slices.Clip(full), more...))
			if len(faults) != 1 || faults[0].Code != trade.BodyTooLarge || faults[0].Field != "" || !o.IsZero() {
				t.Errorf("%s: %v", d.Name, faults)
			}
		}
	}
}

//attack:dialect-depth
func TestArgumentsNested32DeepAreReadAndOneLevelMoreIsNot(t *testing.T) {
	d := find(t, "paper_place_order_a")
	for _, depth := range []int{1, 2, 31, 32, 33, 1000, 30_000} {
		raw := `{"x":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + "}"
		if depth == 1 {
			raw = `{"x":1}`
		}
		_, _, faults := d.Parse("", []byte(raw))
		malformed := len(faults) == 1 && faults[0].Code == trade.JSONMalformed
		if malformed != (depth > 32) || !malformed && faults[0].Code != trade.FieldUnknown {
			t.Errorf("%d levels: %v", depth, faults)
		}
	}
}

//attack:dialect-strays
func TestAThousandUnknownFieldsAreCountedNotListed(t *testing.T) {
	d := find(t, "paper_place_order_a")
	for _, n := range []int{31, 32, 33, 1000, 6000} {
		var raw strings.Builder
		raw.WriteString(`{"symbol":"?","quantity":"1","quantity":"1"`)
		for i := range n {
			fmt.Fprintf(&raw, `,"%x":0`, i)
		}
		raw.WriteString("}")
		_, _, faults := d.Parse("", []byte(raw.String()))
		named, summary := 0, ""
		for _, f := range faults {
			if f.Code == trade.FieldUnknown && f.Field != "" {
				named++
			} else if f.Code == trade.FieldUnknown {
				summary = f.Message
			}
		}
		want := ""
		if n > 32 {
			want = fmt.Sprintf("%d more faults of unknown fields", n-32)
		}
		if named != min(n, 32) || summary != want {
			t.Errorf("%d unknown fields: %d named, %q", n, named, summary)
		}
		// The faults of known fields are never among those that are only counted.
		for _, code := range []trade.Code{trade.FieldDuplicate, trade.SymbolMalformed, trade.FieldMissing} {
			if !slices.ContainsFunc(faults, func(f trade.Fault) bool { return f.Code == code && f.Field != "" }) {
				t.Errorf("%d unknown fields: %s is lost", n, code)
			}
		}
	}
}

func TestAccountIsTheCallersAndNeverThePayloads(t *testing.T) {
	for _, d := range all() {
		o, _, _ := d.Parse("", arguments(d, 0, ""))
		other, _, _ := d.Parse("other", arguments(d, 0, ""))
		if o.Account() != d.Account || other.Account() != "other" || o.Digest() == other.Digest() {
			t.Errorf("%s: accounts %s and %s", d.Name, o.Account(), other.Account())
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, d := range all() {
		f.Add(arguments(d, 0, ""))
	}
	f.Add([]byte(`{"symbol":"AAPL","symbol":1,"SYMBOL":null,"quantity":1e3,"reason":"\u202e"}`))
	f.Add([]byte("{\"\xff\":1}"))
	f.Add([]byte(strings.Repeat("[", 40)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, d := range all() {
			o, tags, faults := d.Parse("", raw)
			if o.IsZero() != (len(faults) > 0) {
				t.Fatalf("%s: order %s, faults %v", d.Name, o.AppendJSON(nil), faults)
			}
			for _, fault := range faults {
				shown := string(fault.Code) + fault.Field + fault.Observed + fault.Message
				if fault.Code == "" || fault.Message == "" || strings.ContainsAny(shown, "\n\r\x00\x1b\u202e\u2066\u200b") {
					t.Fatalf("%s: %+v", d.Name, fault)
				}
				if alone := fault.Code == trade.JSONMalformed || fault.Code == trade.BodyTooLarge; alone && len(faults) > 1 {
					t.Fatalf("%s: %v is not alone", d.Name, faults)
				}
			}
			if len(faults) > 0 {
				continue
			}
			again, _, more := d.Parse("", d.Encode(o, tags.ClientOrderID))
			if len(more) > 0 || again.Digest() != o.Digest() {
				t.Fatalf("%s: %s is another order when it is written again: %v", d.Name, raw, more)
			}
		}
	})
}

func BenchmarkBytesToOrder(b *testing.B) {
	for _, d := range dialect.Table() {
		raw := arguments(d, dialect.Reason, `"Earnings beat; adding on the pullback."`)
		b.Run(d.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if o, _, faults := d.Parse("", raw); len(faults) > 0 || o.IsZero() {
					b.Fatal(faults)
				}
			}
		})
	}
}
