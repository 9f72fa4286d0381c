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

// beside are the terms of a valid order that has a term which not every order has.
func beside(term dialect.Term) map[dialect.Term]string {
	valid := map[dialect.Term]string{
		dialect.Symbol: `"AAPL"`, dialect.Side: `"buy"`, dialect.Quantity: `"10"`, dialect.OrderType: `"limit"`, dialect.LimitPrice: `"1.5"`,
		dialect.TimeInForce: `"day"`, dialect.ClientOrderID: `"id-1"`, dialect.Reason: `"why"`,
	}
	switch term {
	case dialect.Notional:
		delete(valid, dialect.Quantity)
		delete(valid, dialect.LimitPrice)
		valid[dialect.OrderType], valid[term] = `"market"`, `"500"`
	case dialect.StopPrice:
		valid[dialect.OrderType], valid[term] = `"stop_limit"`, `"1"`
	case dialect.ExtendedHours:
		valid[term] = `true`
	case dialect.StopLoss, dialect.StopLossLimit, dialect.TakeProfit, dialect.OrderClass:
		valid[dialect.StopLoss], valid[dialect.StopLossLimit], valid[dialect.TakeProfit] = `"1.25"`, `"1"`, `"2"`
		valid[dialect.OrderClass] = `"bracket"`
	}
	return valid
}

// arguments writes valid arguments of a dialect, one term of which has another value.
func arguments(d *dialect.Dialect, term dialect.Term, value string) []byte {
	valid := beside(term)
	if term != 0 {
		valid[term] = value
	}
	dst, in := []byte{'{'}, ""
	for _, f := range d.Fields {
		if valid[f.Term] == "" {
			continue
		}
		if f.In != in {
			if in != "" {
				dst = append(dst, '}')
			}
			if in = f.In; in != "" {
				dst = append(wire.AppendName(dst, in), '{')
			}
		}
		dst = append(wire.AppendName(dst, f.Name), valid[f.Term]...)
	}
	if in != "" {
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// path names a field as faults do.
func path(f dialect.Field) string {
	if f.In == "" {
		return f.Name
	}
	return f.In + "." + f.Name
}

// hostile is every value that an issue or a real fault names, and what it is for each term.
var hostile = []struct {
	value string
	codes map[dialect.Term]trade.Code // where it is not the default
	code  trade.Code                  // default
}{
	{`null`, nil, trade.FieldTypeWrong},
	{`true`, notFlags(), trade.FieldTypeWrong},
	{`false`, notFlags(), trade.FieldTypeWrong},
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
	amount := trade.NotionalMalformed
	if quantity == trade.QuantityNotPositive {
		amount = trade.NotionalNotPositive
	}
	return map[dialect.Term]trade.Code{
		dialect.Quantity: quantity, dialect.LimitPrice: price, dialect.Notional: amount, dialect.StopPrice: price, dialect.StopLoss: price,
		dialect.StopLossLimit: price, dialect.TakeProfit: price,
	}
}

// notFlags says that a boolean is no fault where one is asked.
func notFlags() map[dialect.Term]trade.Code {
	return map[dialect.Term]trade.Code{dialect.ExtendedHours: none}
}

const none trade.Code = "none"

// wordCodes are the faults of text off its grammar.
var wordCodes = map[dialect.Term]trade.Code{
	dialect.Symbol: trade.SymbolMalformed, dialect.Side: trade.SideUnknown, dialect.Quantity: trade.QuantityMalformed,
	dialect.OrderType: trade.OrderTypeUnknown, dialect.LimitPrice: trade.PriceMalformed, dialect.TimeInForce: trade.TimeInForceUnknown,
	dialect.ClientOrderID: trade.ClientOrderIDMalformed, dialect.Notional: trade.NotionalMalformed, dialect.StopPrice: trade.PriceMalformed,
	dialect.ExtendedHours: trade.FieldTypeWrong, dialect.StopLoss: trade.PriceMalformed, dialect.StopLossLimit: trade.PriceMalformed,
	dialect.TakeProfit: trade.PriceMalformed, dialect.OrderClass: trade.OrderClassUnknown,
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
				if want == none {
					if len(faults) > 0 {
						t.Errorf("%s %s: %v", d.Name, raw, faults)
					}
					continue
				}
				if len(faults) != 1 || faults[0].Code != want || faults[0].Field != path(f) || !o.IsZero() {
					t.Errorf("%s %s: %v, want %s of %s", d.Name, raw, faults, want, path(f))
				}
			}
		}
	}
}

//fault:f99
func TestEveryDialectRefusesEachKeyMissingDoubledAndMisspelled(t *testing.T) {
	for _, d := range all() {
		for _, f := range d.Fields {
			base := string(arguments(d, f.Term, beside(f.Term)[f.Term]))
			if _, _, faults := d.Parse("", []byte(base)); len(faults) > 0 {
				t.Fatalf("%s: %v", base, faults)
			}
			before, quoted := "", `"`+f.Name+`":`
			if f.In != "" { // the same name may stand outside
				before = base[:strings.Index(base, `"`+f.In+`":{`)]
			}
			rest := strings.TrimPrefix(base, before)
			change := func(to string) []byte { return []byte(before + strings.Replace(rest, quoted, to, 1)) }
			check := func(raw []byte, want ...string) {
				t.Helper()
				o, _, faults := d.Parse("", raw)
				var got []string
				for _, fault := range faults {
					got = append(got, string(fault.Code)+" "+fault.Field)
				}
				if len(got) < len(want) || !slices.Equal(got[:len(want)], want) || !o.IsZero() {
					t.Errorf("%s %s\ngot  %v\nwant %v", d.Name, raw, got, want)
				}
			}
			inner := ""
			if f.In != "" {
				inner = f.In + "."
			}
			upper := strings.ToUpper(f.Name)
			check(change(quoted+`"A",`+quoted), "FIELD_DUPLICATE "+path(f))
			check(change(`"`+upper+`":"A",`+quoted), "FIELD_UNKNOWN "+inner+upper)
			check(change(`"`+upper+`":`), "FIELD_UNKNOWN "+inner+upper)
			if !f.Optional {
				check(change(`"x":`), "FIELD_UNKNOWN "+inner+"x", "FIELD_MISSING "+path(f))
			}
		}
	}
}

// TestObjectsInArgumentsAreAsStrictAsTheArguments tries the objects of exits.
//
//fault:f99
//fault:f100
func TestObjectsInArgumentsAreAsStrictAsTheArguments(t *testing.T) {
	const base = `{"symbol":"AAPL","qty":"10","side":"buy","type":"limit","limit_price":"150","time_in_force":"day"`
	for more, want := range map[string]string{
		`,"order_class":"bracket","take_profit":{"limit_price":"160"},"stop_loss":{"stop_price":"140","limit_price":"139"}`: "",
		`,"order_class":"oto","take_profit":{"limit_price":160}`:                                                            "",
		`,"order_class":"oto","stop_loss":{"stop_price":"140"}`:                                                             "",
		`,"order_class":"simple"`: "",
		`,"order_class":""`:       "ORDER_CLASS_UNKNOWN order_class",
		`,"order_class":"Bracket","take_profit":{"limit_price":"160"},"stop_loss":{"stop_price":"140"}`: "ORDER_CLASS_UNKNOWN order_class",
		`,"order_class":"oco","take_profit":{"limit_price":"160"}`:                                      "ORDER_CLASS_UNKNOWN order_class",
		`,"order_class":"mleg"`:    "ORDER_CLASS_UNKNOWN order_class",
		`,"order_class":7`:         "FIELD_TYPE_WRONG order_class",
		`,"order_class":"bracket"`: "ORDER_CLASS_WRONG order_class",
		`,"order_class":"bracket","take_profit":{"limit_price":"160"}`:                                 "ORDER_CLASS_WRONG order_class",
		`,"order_class":"simple","take_profit":{"limit_price":"160"}`:                                  "ORDER_CLASS_WRONG order_class",
		`,"take_profit":{"limit_price":"160"}`:                                                         "ORDER_CLASS_WRONG order_class",
		`,"order_class":"oto","take_profit":{"limit_price":"140"}`:                                     "EXIT_WRONG_SIDE take_profit.limit_price",
		`,"order_class":"oto","take_profit":{"limit_price":"160","limit_price":"9"}`:                   "FIELD_DUPLICATE take_profit.limit_price",
		`,"order_class":"oto","take_profit":{"limit_price":"160","Limit_Price":"9"}`:                   "FIELD_UNKNOWN take_profit.Limit_Price",
		`,"order_class":"oto","take_profit":{"limit_price":"160","stop_price":"9"}`:                    "FIELD_UNKNOWN take_profit.stop_price",
		`,"order_class":"oto","take_profit":{"limit_price":"160","x":{"limit_price":"9"}}`:             "FIELD_UNKNOWN take_profit.x",
		`,"order_class":"oto","take_profit":{"limit_price":"160"},"take_profit":{"limit_price":"160"}`: "FIELD_DUPLICATE take_profit",
		`,"order_class":"oto","take_profit":{}`:                                                        "FIELD_MISSING take_profit.limit_price",
		`,"order_class":"oto","take_profit":{"limit_price":null}`:                                      "FIELD_TYPE_WRONG take_profit.limit_price",
		`,"order_class":"oto","take_profit":{"limit_price":true}`:                                      "FIELD_TYPE_WRONG take_profit.limit_price",
		`,"order_class":"oto","take_profit":{"limit_price":["160"]}`:                                   "FIELD_TYPE_WRONG take_profit.limit_price",
		`,"order_class":"oto","take_profit":null`:                                                      "FIELD_TYPE_WRONG take_profit",
		`,"order_class":"oto","take_profit":"160"`:                                                     "FIELD_TYPE_WRONG take_profit",
		`,"order_class":"oto","take_profit":160`:                                                       "FIELD_TYPE_WRONG take_profit",
		`,"order_class":"oto","take_profit":[{"limit_price":"160"}]`:                                   "FIELD_TYPE_WRONG take_profit",
		`,"order_class":"oto","take_profit":"{\"limit_price\":\"160\"}"`:                               "FIELD_TYPE_WRONG take_profit",
		`,"order_class":"oto","stop_loss":{"limit_price":"139"}`:                                       "FIELD_MISSING stop_loss.stop_price",
		`,"order_class":"oto","stop_loss":{"stop_price":"140","limit_price":"141"}`:                    "LIMIT_PRICE_WRONG_SIDE stop_loss.limit_price",
		`,"Take_Profit":{"limit_price":"160"}`:                                                         "FIELD_UNKNOWN Take_Profit",
		`,"take_profit.limit_price":"160"`:                                                             "FIELD_UNKNOWN take_profit.limit_price",
		`,"trail_price":"1"`:                                                                           "FIELD_UNKNOWN trail_price",
		`,"position_intent":"buy_to_open"`:                                                             "FIELD_UNKNOWN position_intent",
	} {
		d := find(t, "alpaca")
		o, tags, faults := d.Parse("", []byte(base+more+"}"))
		got := ""
		if len(faults) > 0 {
			got = string(faults[0].Code) + " " + faults[0].Field
		}
		if got != want || len(faults) > 1 || o.IsZero() != (want != "") {
			t.Errorf("%s: %v, want %s", more, faults, want)
			continue
		}
		if want == "" {
			if back, _, faults := d.Parse("", d.Encode(o, tags.ClientOrderID)); back.Digest() != o.Digest() {
				t.Errorf("%s is written as %s: %v", more, d.Encode(o, ""), faults)
			}
		}
	}
}

func TestMessageOfACaseVariantNamesTheRightSpelling(t *testing.T) {
	for _, d := range all() {
		for _, f := range d.Fields {
			raw := `{"` + strings.ToUpper(f.Name) + `":1}`
			if f.In != "" {
				raw = `{"` + f.In + `":` + raw + `}`
			}
			_, _, faults := d.Parse("", []byte(raw))
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
		for _, field := range d.Fields {
			f.Add(arguments(d, field.Term, beside(field.Term)[field.Term]))
			f.Add(arguments(d, field.Term, `null`))
		}
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
