package wire_test

import (
	"testing"

	"sallyport/wire"
)

// TestCutIsTheValue cuts each value out of texts in which something follows it.
func TestCutIsTheValue(t *testing.T) {
	for _, v := range []string{
		`{}`, `[]`, `""`, `1`, `12`, `true`, `null`, `-1.5e3`, `"x\\"`, `"a,b"`, `"a\\\"b"`, `["\"]"]`, `{"a":{"b":"}"}}`, `{"a":[1,"]}\"",{"b":null}]}`,
		`{"x":[{}, {"y":"\\"}]}`,
	} {
		for _, after := range []string{"", "}", " }", "\n}", ",", ",1}", "\t,", "\r\n", "]"} {
			text := []byte(`{"k":` + v + after)
			if got := string(wire.Cut(text, 5)); got != v {
				t.Errorf("in %s: %s, want %s", text, got, v)
			}
		}
	}
}
