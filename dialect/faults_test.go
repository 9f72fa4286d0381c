package dialect_test

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/dialect"
	"sallyport/trade"
)

// with writes valid arguments of a dialect and one member more.
func with(d *dialect.Dialect, member string) []byte {
	raw := arguments(d, 0, "")
	return append(append(raw[:len(raw)-1], ','), member+"}"...)
}

// TestFaultFieldThatWouldBeLost: each field would change what the order means, where a reader drops what it does not know: an
// approval, an amount of money, a dry run, a protection. No dialect drops one and none obeys it.
//
//fault:f51
//fault:f77
//fault:f78
//fault:f80
//fault:f120
func TestFaultFieldThatWouldBeLost(t *testing.T) {
	for _, d := range all() {
		for _, member := range []string{
			`"confirm":true`, `"approval_confirmed":true`, `"approved_by":"olga"`, `"proposal_id":"01M8Q1KZD2BVJHH0XMW6MMPXER"`,
			`"amount":"5"`, `"size":"5"`, `"lots":"1"`, `"unit":"usd"`, `"dry_run":true`, `"test":true`, `"live":false`, `"mode":"paper"`,
			`"reduce_only":true`, `"close_position":true`, `"account":"live"`, `"no_shorting":false`, `"max_quantity":"1000000"`,
		} {
			name, _, _ := strings.Cut(strings.TrimPrefix(member, `"`), `"`)
			o, _, faults := d.Parse("", with(d, member))
			if len(faults) != 1 || faults[0].Code != trade.FieldUnknown || faults[0].Field != name || !o.IsZero() {
				t.Errorf("%s with %s: %v", d.Name, member, faults)
			}
		}
		quantity := name(d, dialect.Quantity)
		o, _, faults := d.Parse("", []byte(strings.Replace(string(arguments(d, 0, "")), `"`+quantity+`":`, `"amount":`, 1)))
		if len(faults) == 0 || faults[0].Code != trade.FieldUnknown || faults[0].Field != "amount" || !o.IsZero() {
			t.Errorf("%s with an amount in place of its quantity: %v", d.Name, faults)
		}
	}
}

// TestFaultNumberThatIsNone: what other readers take for a number, or compare as one.
//
//fault:f95
//fault:f96
//fault:f97
//fault:f98
func TestFaultNumberThatIsNone(t *testing.T) {
	for _, d := range all() {
		for term, code := range map[dialect.Term]trade.Code{dialect.Quantity: trade.QuantityMalformed, dialect.LimitPrice: trade.PriceMalformed} {
			for _, value := range []string{
				`"NaN"`, `"nan"`, `"Infinity"`, `"-Infinity"`, `"inf"`, `1e309`, `"1e309"`, `-0`, `"-0"`, `-5`, `"-5"`, `"+5"`, `"−5"`,
				`"1,000"`, `"1.000,50"`, `"1 000"`, `"1'000"`, `"1_000"`, `"0x1p4"`, `"１０"`, `"10 shares"`, `"$10"`, `"½"`,
			} {
				o, _, faults := d.Parse("", arguments(d, term, value))
				if len(faults) != 1 || faults[0].Code != code || faults[0].Field != name(d, term) || !o.IsZero() {
					t.Errorf("%s, %s of %s: %v", d.Name, value, name(d, term), faults)
				}
			}
			for _, value := range []string{`NaN`, `Infinity`, `+5`, `.5`, `5.`, `0x10`, `1_000`} {
				o, _, faults := d.Parse("", arguments(d, term, value))
				if len(faults) != 1 || faults[0].Code != trade.JSONMalformed || !o.IsZero() {
					t.Errorf("%s, the bare %s of %s: %v", d.Name, value, name(d, term), faults)
				}
			}
		}
	}
}

// TestFaultKeyStandsTwice: the checker reads one and the broker the other.
//
//fault:f99
func TestFaultKeyStandsTwice(t *testing.T) {
	for _, d := range all() {
		quantity := name(d, dialect.Quantity)
		for key, code := range map[string]trade.Code{
			quantity: trade.FieldDuplicate, strings.ToUpper(quantity): trade.FieldUnknown, strings.ToUpper(quantity[:1]) + quantity[1:]: trade.FieldUnknown,
			`\u0071` + quantity[1:]: trade.FieldDuplicate, quantity + " ": trade.FieldUnknown, quantity + `\u0000`: trade.FieldUnknown,
		} {
			o, _, faults := d.Parse("", with(d, fmt.Sprintf(`"%s":"1000"`, key)))
			if len(faults) != 1 || faults[0].Code != code || !o.IsZero() {
				t.Errorf("%s with %s again: %v", d.Name, key, faults)
			}
		}
	}
}

// TestFaultPartOfAnotherType: an object as text, a list, a nested order. The fault names the field and the type that it has to
// have, which a model can correct; a number where text stands is taken, since both are written the same.
//
//fault:f100
func TestFaultPartOfAnotherType(t *testing.T) {
	for _, d := range all() {
		for _, value := range []string{`{"value":"10"}`, `["10"]`, `[10]`, `true`, `null`, `{}`} {
			for _, f := range d.Fields {
				if f.Term > dialect.LimitPrice {
					continue
				}
				o, _, faults := d.Parse("", arguments(d, f.Term, value))
				if len(faults) != 1 || faults[0].Code != trade.FieldTypeWrong || faults[0].Field != f.Name || !o.IsZero() {
					t.Errorf("%s, %s of %s: %v", d.Name, value, f.Name, faults)
				} else if m := faults[0].Message; !strings.HasPrefix(m, f.Name+" is ") || !strings.HasSuffix(m, " is asked") {
					t.Errorf("%s, %s of %s: the message is %q", d.Name, value, f.Name, m)
				}
			}
		}
		text, _, faults := d.Parse("", arguments(d, dialect.Quantity, `"10"`))
		number, _, more := d.Parse("", arguments(d, dialect.Quantity, `10`))
		if len(faults)+len(more) > 0 || text.Digest() != number.Digest() {
			t.Errorf("%s: ten as text and as a number are two orders: %v %v", d.Name, faults, more)
		}
		for _, whole := range []string{`"{\"legs\":[{}]}"`, `[{}]`, `[[{"symbol":"AAPL"}]]`, `10`, `null`} {
			if o, _, faults := d.Parse("", []byte(whole)); len(faults) == 0 || !o.IsZero() {
				t.Errorf("%s takes %s", d.Name, whole)
			}
		}
	}
}

// TestFaultForeignLetter: names that look like AAPL. No one is a symbol, and the message names the character by its number.
//
//fault:f94
func TestFaultForeignLetter(t *testing.T) {
	for _, d := range all() {
		for symbol, character := range map[string]string{
			"\u0410APL": "U+0410", "AA\u200bPL": "U+200B", "\uff21APL": "U+FF21", "AAPL\u202e": "U+202E", "\u13aaAPL": "U+13AA", "AAP\u2113": "U+2113",
			"\ufeffAAPL": "U+FEFF", "A\u00adAPL": "U+00AD", "AAPL\u0301": "U+0301",
		} {
			o, _, faults := d.Parse("", arguments(d, dialect.Symbol, `"`+symbol+`"`))
			if len(faults) != 1 || faults[0].Code != trade.SymbolMalformed || !strings.Contains(faults[0].Message, character+" in it is not ASCII") || !o.IsZero() {
				t.Errorf("%s, %q: %v", d.Name, symbol, faults)
			}
		}
	}
}

// TestFaultNameIsSearchedFor: what is nearly a name is that name or none. No spelling becomes another symbol on its way in and
// out again.
//
//fault:f90
//fault:f92
func TestFaultNameIsSearchedFor(t *testing.T) {
	for _, d := range all() {
		seen := map[string]string{}
		for _, c := range []struct{ written, symbol string }{
			{"EGY", "EGY"},
			{"egy", "EGY"},
			{"APPL", "APPL"},
			{"ABCD", "ABCD"},
			{"BRK.B", "BRK.B"},
			{"brk.b", "BRK.B"},
			{"BRK/B", "BRK/B"},
			{"BRK-B", "BRK-B"},
			{"BRK B", ""},
			{"BRK_B", ""},
			{"BRKB ", ""},
			{"Apple", "APPLE"},
			{"Apple Inc", ""},
			{"$AAPL", ""},
			{"AAPL*", ""},
			{"AAPL,MSFT", ""},
			{"NASDAQ:AAPL", ""},
			{"%", ""},
		} {
			o, _, faults := d.Parse("", arguments(d, dialect.Symbol, `"`+c.written+`"`))
			if c.symbol == "" {
				if len(faults) != 1 || faults[0].Code != trade.SymbolMalformed || !o.IsZero() {
					t.Errorf("%s, %q: %v", d.Name, c.written, faults)
				}
				continue
			}
			if len(faults) > 0 || o.Symbol().String() != c.symbol {
				t.Errorf("%s, %q is %s, %v", d.Name, c.written, o.Symbol(), faults)
			}
			digest := o.Digest().String()
			if other, there := seen[digest]; there && other != c.symbol {
				t.Errorf("%s: %s and %s are one order", d.Name, other, c.symbol)
			}
			seen[digest] = c.symbol
			back, _, faults := d.Parse("", d.Encode(o, ""))
			if len(faults) > 0 || back.Symbol() != o.Symbol() {
				t.Errorf("%s: %s went out as %s, %v", d.Name, c.symbol, back.Symbol(), faults)
			}
		}
		if len(seen) != 7 {
			t.Errorf("%s: %d orders of 7 symbols", d.Name, len(seen))
		}
	}
}

// TestFaultStopWrittenAsALimit: a stop loss at 95 that arrived as a limit order at 95 would be filled at once. Each dialect
// writes a stop where it has a stop, and no other price beside it.
//
//fault:f86
func TestFaultStopWrittenAsALimit(t *testing.T) {
	for raw, want := range map[string]map[string]string{
		`{"symbol":"AAPL","side":"sell","quantity":"10","order_type":"stop","stop_price":"95"}`: {
			"paper_place_order_a": `{"symbol":"AAPL","side":"sell","quantity":"10","order_type":"stop","stop_price":"95.00"}`,
			"alpaca":              `{"symbol":"AAPL","qty":"10","side":"sell","type":"stop","stop_price":"95.00","time_in_force":"day"}`,
		},
		`{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"100","stop_loss":"95","take_profit":"110"}`: {
			"paper_place_order_a": `{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"100.00","stop_loss":"95.00","take_profit":"110.00"}`,
			"alpaca": `{"symbol":"AAPL","qty":"10","side":"buy","type":"limit","limit_price":"100.00","time_in_force":"day","order_class":"bracket",` +
				`"take_profit":{"limit_price":"110.00"},"stop_loss":{"stop_price":"95.00"}}`,
		},
		`{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"market","stop_loss":"95","stop_loss_limit":"94"}`: {
			"alpaca": `{"symbol":"AAPL","qty":"10","side":"buy","type":"market","time_in_force":"day","order_class":"oto","stop_loss":{"stop_price":"95.00","limit_price":"94.00"}}`,
		},
	} {
		o, _, faults := find(t, "paper_place_order_a").Parse("", []byte(raw))
		if len(faults) > 0 {
			t.Fatalf("%s: %v", raw, faults)
		}
		for name, bytes := range want {
			if got := string(find(t, name).Encode(o, "")); got != bytes {
				t.Errorf("%s writes\n%s\nwant\n%s", name, got, bytes)
			}
		}
	}
}
