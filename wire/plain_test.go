package wire

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// same checks that what the plain reader takes is what the decoder reads, to the last offset.
func same(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string, depth int,
) (taken bool) {
	t.Helper()
	v, ok := readPlain(text, depth)
	if !ok {
		return false
	}
	want, err := decode([]byte(text), text, Limits{Bytes: len(text), Depth: depth})
	if err != nil || !reflect.DeepEqual(v, want) {
		t.Fatalf("%q is read as %+v, and by the decoder as %+v, %v", text, v, want, err)
	}
	return true
}

var pieces = []string{
	"{", "}", "[", "]", ",", ":", `"a"`, `""`, `"b c"`, "0", "-0", "01", "1.50", "1.", ".5", "-", "1e3", "12", "true", "false", "null", "nul",
	" ", "\n", "\t", "\r", "\v", "\x00", `"\n"`, "\"é\"", "\"\x7f\"", "\"\x1f\"", `"`, `\`, "\xff", "\ufeff", "'a'", "NaN",
}

// TestPlainReaderTakesOnlyWhatTheDecoderReadsTheSame joins pieces at random, most of which is no JSON, and builds values.
func TestPlainReaderTakesOnlyWhatTheDecoderReadsTheSame(t *testing.T) {
	taken := 0
	rapid.Check(t, func(rt *rapid.T) {
		for range 50 {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(rt, "pieces"), "")
			if same(rt, text, 3) {
				taken++
			}
		}
	})
	if taken < 20 {
		t.Errorf("only %d texts were taken: that tries little", taken)
	}
}

func FuzzPlainReader(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.50,"x",null,true,{"b":{}}],"a":2}`, ` [ ] `, `"a`, `{"a":1}{`, `[1,]`, `{"a":1,}`, `-`, `1.`, `00`, `{"a" : 1 }`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { same(t, text, 4) })
}

func TestPlainReaderReadsWhatIsUsual(t *testing.T) {
	deep := strings.Repeat("[", 8) + strings.Repeat("]", 8)
	for text, want := range map[string]bool{
		`{"v":1,"kind":"decided","order":{"symbol":"AAPL","quantity":"1"},"rules":["a","b"],"asked":true,"x":null}`: true,
		" {\n\t\"a\" : [ 1 , -2.5 ]\r\n} ": true, `{}`: true, `[]`: true, `0`: true, deep: true, "[" + deep + "]": false,
		``: false, ` `: false, `{"a":1`: false, `{"a"`: false, `{"a":`: false, `{"a":1}1`: false, `[1 2]`: false, `[1,]`: false, `{,}`: false,
		`{"a":1,}`: false, `{a:1}`: false, `01`: false, `1.`: false, `-`: false, `1e3`: false, `+1`: false, `"\u0041"`: false, `"é"`: false, `"a`: false,
		"\"\n\"": false, `tru`: false, `truee`: false, `{"a":1]`: false, `[1}`: false, `{"a" 1}`: false,
	} {
		if got := same(t, text, 8); got != want {
			t.Errorf("%q is taken: %t, want %t", text, got, want)
		}
	}
}
