package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sallyport/wire"
)

var wide = wire.Limits{Bytes: 1 << 20, Depth: 64}

func mustRead(t testing.TB, raw string) wire.Value {
	t.Helper()
	v, err := wire.Read([]byte(raw), wide)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

func TestReadKeepsWhatALenientDecoderLoses(t *testing.T) {
	v := mustRead(t, ` {"qty":"1", "QTY" : 1000 ,"qty":1e2,"n":null,"t":true,"l":[-0.0,"\u0041"] } `)
	var names []string
	for _, m := range v.Members {
		names = append(names, fmt.Sprintf("%s=%s %q", m.Name, m.Value.Kind, m.Value.Text))
	}
	want := `qty=text "1"|QTY=a number "1000"|qty=a number "1e2"|n=null ""|t=a boolean "true"|l=an array ""`
	if got := strings.Join(names, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if last, n := v.Member("qty"); n != 2 || last.Text != "1e2" {
		t.Errorf("qty is there %d times and ends as %q", n, last.Text)
	}
	if _, n := v.Member("Qty"); n != 0 {
		t.Error("a name is found in another case")
	}
	l, _ := v.Member("l")
	if len(l.Elems) != 2 || l.Elems[0].Text != "-0.0" || l.Elems[1].Text != "A" {
		t.Errorf("l is %+v", l.Elems)
	}
	if name, found := v.Duplicate(); !found || name != "qty" {
		t.Errorf("the duplicate is %q, %v", name, found)
	}
}

func TestDuplicateIsFoundAtAnyDepthAndNowhereElse(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":1,"A":2}`:               "",
		`{"a":{"a":1},"b":[{"a":1}]}`: "",
		`{"a":1,"a":1}`:               "a",
		`{"a":{"b":1,"b":2}}`:         "b",
		`[[{"c":1,"d":2,"c":3}]]`:     "c",
		`{"\u0061":1,"a":1}`:          "a",
		`"a"`:                         "",
	} {
		if got, found := mustRead(t, raw).Duplicate(); got != want || found != (want != "") {
			t.Errorf("%s: %q, %v", raw, got, found)
		}
	}
}

// TestOffsetsPointAtTheFirstByte checks every value and name against the input.
func TestOffsetsPointAtTheFirstByte(t *testing.T) {
	raw := "\r\n\t {\"a\" : [ 1 ,\n \"x\\n\" , {\"b\":-2.50e+1,\"\\u0063\":\"\"} , null,true ,false,[ ] ],\"d\":{}}"
	starts := func(offset int, with string) {
		t.Helper()
		if offset >= len(raw) || !strings.HasPrefix(raw[offset:], with) {
			t.Errorf("offset %d does not begin with %s", offset, with)
		}
	}
	var walk func(v wire.Value)
	walk = func(v wire.Value) {
		starts(v.Offset, map[wire.Kind]string{
			wire.Null: "null", wire.Bool: v.Text, wire.Number: v.Text, wire.String: `"`, wire.Array: "[", wire.Object: "{",
		}[v.Kind])
		for _, e := range v.Elems {
			walk(e)
		}
		for _, m := range v.Members {
			starts(m.Offset, `"`)
			walk(m.Value)
		}
	}
	walk(mustRead(t, raw))
	x := mustRead(t, raw).Members[0].Value.Elems[1]
	if line, column := wire.Position([]byte(raw), x.Offset); line != 3 || column != 2 {
		t.Errorf("the text is at line %d, column %d", line, column)
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	for raw, want := range map[string]string{
		``:                     "line 1, column 1: the JSON value is incomplete",
		"\n\n  ":               "line 3, column 3: the JSON value is incomplete",
		`{"a":`:                "line 1, column 6: the JSON value is incomplete",
		`{"a":1`:               "line 1, column 7: the JSON value is incomplete",
		`"a`:                   "line 1, column 3: the JSON value is incomplete",
		"{\n \"a\": x}":        "line 2, column 7: invalid character 'x' at start of value",
		"1 \n 2":               "line 2, column 2: more than one JSON value",
		"{}{}":                 "line 1, column 3: more than one JSON value",
		"{},":                  "line 1, column 3: invalid character ',' at start of value",
		"[1,]":                 "line 1, column 3: invalid character ',' at start of value",
		"{\"a\":\"\xff\"}":     "line 1, column 7: invalid UTF-8",
		"[[[[]]]]":             "line 1, column 4: nested too deeply",
		"{\"a\":[[\n{\"b\":1}": "line 2, column 1: nested too deeply",
	} {
		_, err := wire.Read([]byte(raw), wire.Limits{Bytes: 100, Depth: 3})
		var e *wire.Error
		if !errors.As(err, &e) || err.Error() != want {
			t.Errorf("%q: %v, want %s", raw, err, want)
		}
		if e != nil && (e.TooLarge || e.Offset < 0 || e.Offset > len(raw)) {
			t.Errorf("%q: %+v", raw, e)
		}
	}
}

func TestReadRefusesWhatIsNotOneJSONValue(t *testing.T) {
	for _, raw := range []string{
		"nul", "NULL", "True", "NaN", "Infinity", "-Infinity", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x10", "1_000", "1,000", "--1", "-",
		"'a'", "{a:1}", `{"a" 1}`, `{"a":1 "b":2}`, `{"a":1,}`, `{,}`, `[,]`, `[1 2]`, `[1`, `]`, `}`, `[}`, `{]`, `{1:2}`, `{null:1}`,
		"\"\t\"", "\"\n\"", "\"\x00\"", `"\x41"`, `"\u12"`, `"\ud800"`, `"\udc00\ud800"`, "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\xef\xbb\xbf{}",
		"{} // no", "/* no */ {}", "#", "\u00a01", "1\u00a0", "\v1", "\f1", "{}\x00", "\x00",
	} {
		if v, err := wire.Read([]byte(raw), wide); err == nil {
			t.Errorf("%q is taken as %s %q", raw, v.Kind, v.Text)
		}
	}
}

//attack:wire-bytes
func TestReadTakesExactlyTheBytesThatItsReaderAllows(t *testing.T) {
	lim := wire.Limits{Bytes: 10, Depth: 2}
	for n := range 14 {
		raw := append([]byte("{}"), bytes.Repeat([]byte(" "), n)...)
		_, err := wire.Read(raw, lim)
		var e *wire.Error
		tooLarge := errors.As(err, &e) && e.TooLarge
		if tooLarge != (len(raw) > 10) || tooLarge != (err != nil) {
			t.Errorf("%d bytes: %v", len(raw), err)
		}
	}
	if _, err := wire.Read([]byte("{}"), wire.Limits{}); err == nil {
		t.Error("without limits something is read")
	}
}

//attack:wire-depth
func TestReadTakesExactlyTheDepthThatItsReaderAllows(t *testing.T) {
	for _, depth := range []int{1, 2, 31, 32, 33, 34, 9_999, 10_001, 400_000} {
		for _, pair := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
			raw := strings.Repeat(pair[0], depth) + "1" + strings.Repeat(pair[1], depth)
			_, err := wire.Read([]byte(raw), wire.Limits{Bytes: 4 << 20, Depth: 32})
			if (err != nil) != (depth > 32) {
				t.Errorf("%d levels of %s: %v", depth, pair[0], err)
			}
			if err != nil && !strings.Contains(err.Error(), "nested too deeply") {
				t.Errorf("%d levels of %s: %v", depth, pair[0], err)
			}
		}
	}
	if _, err := wire.Read([]byte("1"), wire.Limits{Bytes: 1, Depth: 0}); err != nil {
		t.Errorf("a scalar has depth 0: %v", err)
	}
}

// TestReadCostsLittleMoreThanItsInput tries inputs that are made of as many values as possible.
func TestReadCostsLittleMoreThanItsInput(t *testing.T) {
	const size = 1 << 20
	for _, unit := range []string{"[],", "{},", "0,", `"",`, `{"":0},`} {
		raw := []byte("[" + strings.Repeat(unit, size/len(unit)-2) + "0]")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := wire.Read(raw, wire.Limits{Bytes: size, Depth: 3})
		runtime.ReadMemStats(&after)
		if err != nil || len(v.Elems) < size/len(unit)-2 {
			t.Fatalf("%s: %v", unit, err)
		}
		if cost := (after.TotalAlloc - before.TotalAlloc) / size; cost > 300 {
			t.Errorf("reading %s… allocates %d bytes a byte", unit, cost)
		}
	}
}

// asAny turns a value into what encoding/json makes of the same input.
func asAny(v wire.Value) any {
	switch v.Kind {
	case wire.Bool:
		return v.Text == "true"
	case wire.Number:
		return json.Number(v.Text)
	case wire.String:
		return v.Text
	case wire.Array:
		out := []any{}
		for _, e := range v.Elems {
			out = append(out, asAny(e))
		}
		return out
	case wire.Object:
		out := map[string]any{}
		for _, m := range v.Members {
			out[m.Name] = asAny(m.Value)
		}
		return out
	}
	return nil
}

// agrees compares Read with encoding/json: it takes exactly what that takes if the text is UTF-8, without lone
// surrogates and not too deep, and reads the same.
func agrees(t *testing.T, raw []byte) {
	t.Helper()
	v, err := wire.Read(raw, wide)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var want any
	other := d.Decode(&want)
	if other == nil && len(bytes.Trim(raw[d.InputOffset():], " \t\r\n")) > 0 {
		other = errors.New("trailing bytes")
	}
	if err == nil {
		if other != nil || !utf8.Valid(raw) {
			t.Fatalf("%q is taken, and encoding/json says %v", raw, other)
		}
		got, _ := json.Marshal(asAny(v))
		again, _ := json.Marshal(want)
		if !bytes.Equal(got, again) {
			t.Fatalf("%q reads as %s, not %s", raw, got, again)
		}
		return
	}
	var e *wire.Error
	if !errors.As(err, &e) || e.Reason == "" {
		t.Fatalf("%q: %#v is not an *Error with a reason", raw, err)
	}
	stricter := !utf8.Valid(raw) || strings.Contains(e.Reason, "surrogate") || strings.Contains(e.Reason, "deep") || len(raw) > wide.Bytes
	if other == nil && !stricter {
		t.Fatalf("%q is refused (%v), and encoding/json takes it", raw, err)
	}
}

func FuzzReadAgreesWithEncodingJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2.5e-3,"x\n\u00e9",null,true,{"b":{}}],"a":2}`, ` [ ] `, `"\ud83d\ude00"`, `"\ud800"`, `{"":""}`, "\"\xff\"", `-0`, `1e400`,
		`{"a":1}{"b":2}`, `[1,]`, `{"a":1,}`, "\ufeff1", `"\/\b\f"`, `{"a":"\\"}`, `{"\\":"\""}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(agrees)
}

func TestReadAgreesWithEncodingJSONOnMadeValues(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := []*rapid.Generator[any]{
			rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Just[any](nil),
		}
		if depth > 0 {
			leaf = append(leaf, rapid.SliceOfN(value(depth-1), 0, 4).AsAny(), rapid.MapOfN(rapid.String(), value(depth-1), 0, 4).AsAny())
		}
		return rapid.OneOf(leaf...)
	}
	rapid.Check(t, func(rt *rapid.T) {
		raw, err := json.MarshalIndent(value(4).Draw(rt, "value"), "", rapid.SampledFrom([]string{"", " ", "\t"}).Draw(rt, "indent"))
		if err != nil {
			rt.Fatal(err)
		}
		agrees(t, raw)
	})
}

func FuzzAppendStringReadsBackAsValidUTF8(f *testing.F) {
	for _, s := range []string{"", "AAPL", "\"\\\n\x00\x7f", "é\u202e\u2028", "\xff\xfe", "a\xc0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw := wire.AppendString([]byte("["), s)
		v := mustRead(t, string(append(raw, ']')))
		if got := v.Elems[0].Text; got != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Fatalf("%q reads back as %q", s, got)
		}
		if !json.Valid(append(wire.AppendString(nil, s), '\n')) {
			t.Fatalf("%q is written as %s", s, raw)
		}
	})
}

func TestAppendStringEscapesWhatATerminalWouldNotPrint(t *testing.T) {
	for s, want := range map[string]string{
		"\x1b[2J": `"\u001b[2J"`, "a\u202eb": `"a\u202eb"`, "\u200b": `"\u200b"`, "\u2028": `"\u2028"`, "\x7f\u009b": `"\u007f\u009b"`,
		"\U000e0001": `"\udb40\udc01"`, "é漢😀": `"é漢😀"`, "\xff": `"�"`, "\t\n": `"\u0009\n"`,
	} {
		got := string(wire.AppendString(nil, s))
		if got != want {
			t.Errorf("%q is written as %s, want %s", s, got, want)
		}
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") {
			t.Errorf("%q reads back as %q, %v", s, back, err)
		}
	}
}

func TestAppendersWriteAnObject(t *testing.T) {
	dst := append([]byte("x"), '{')
	dst = wire.AppendText(dst, "a", "1")
	dst = wire.AppendOptional(dst, "b", "")
	dst = wire.AppendOptional(dst, "c", "\"\n")
	dst = append(wire.AppendName(dst, "d"), "null}"...)
	if got, want := string(dst), `x{"a":"1","c":"\"\n","d":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(wire.AppendName([]byte("{"), "a")); got != `{"a":` {
		t.Errorf("the first name is written as %s", got)
	}
}

func TestPositionCountsFromOneAndStaysInside(t *testing.T) {
	raw := []byte("ab\ncd\n")
	for offset, want := range map[int][2]int{-1: {1, 1}, 0: {1, 1}, 2: {1, 3}, 3: {2, 1}, 5: {2, 3}, 6: {3, 1}, 99: {3, 1}} {
		if line, column := wire.Position(raw, offset); line != want[0] || column != want[1] {
			t.Errorf("offset %d is at line %d, column %d", offset, line, column)
		}
	}
}
