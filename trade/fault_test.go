package trade_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"sallyport/trade"
)

func TestPrintableEscapesWhatCannotBeSeen(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"plain text, 10 % of é 漢 😀":    "plain text, 10 % of é 漢 😀",
		"a\nb\tc\rd\x00e\x7f":          `a\nb\tc\u000dd\u0000e\u007f`,
		"\x1b[31mred":                  `\u001b[31mred`,
		"\u202egnirts":                 `\u202egnirts`,
		"\u2066\u2067\u2068\u2069":     `\u2066\u2067\u2068\u2069`,
		"\u200b\u200c\u200d\u2060":     `\u200b\u200c\u200d\u2060`,
		"\ufeff\u00ad\u061c":           `\ufeff\u00ad\u061c`,
		"a\u00a0b\u2003c\u3000":        `a\u00a0b\u2003c\u3000`,
		"\u2028\u2029\u0085":           `\u2028\u2029\u0085`,
		"\u3164\uffa0\u115f\u2800":     `\u3164\uffa0\u115f\u2800`, // drawn as nothing
		"x\ufe0f\U000e0100\U000e0041":  `x\ufe0f\U000e0100\U000e0041`,
		"\xff\xc0\xaf":                 `\xff\xc0\xaf`,
		"\xed\xa0\x80":                 `\xed\xa0\x80`,
		"\ufffd":                       "\ufffd",
		"\U0010ffff\ue000":             `\U0010ffff\ue000`,
		"\u0378":                       `\u0378`, // unassigned
		`already \n escaped "and" <b>`: `already \n escaped "and" <b>`,
	} {
		if got := trade.Printable(in, 64); got != want {
			t.Errorf("%q is shown as %s, not %s", in, got, want)
		}
	}
}

func TestPrintableCutsAtItsMaximum(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"é漢😀", 3, "é漢😀"},
		{"é漢😀x", 3, "é漢…"},
		{"a\u202eb", 8, `a\u202eb`},
		{"a\u202ebc", 8, `a\u202e…`},
		{"a\u202e", 7, `a\u202e`},
		{"a\u202e", 6, "a…"},
		{"\u202e", 3, "…"},
		{"abc", 1, "…"},
		{"a", 1, "a"},
		{"", 1, ""},
	} {
		if got := trade.Printable(c.in, c.max); got != c.want {
			t.Errorf("%q at %d is shown as %s, not %s", c.in, c.max, got, c.want)
		}
	}
}

func FuzzPrintableIsAlwaysHarmless(f *testing.F) {
	for _, s := range []string{"AAPL", "\u202e\u2066", "\xff\n\x1b", "\u3164\u2800", strings.Repeat("\u200b", 100), "é\u0301"} {
		f.Add(s, 64)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = 1 + (most&0xff+0x100)%0x100
		out := trade.Printable(s, most)
		if !utf8.ValidString(out) || utf8.RuneCountInString(out) > most {
			t.Fatalf("%q at %d is shown as %q", s, most, out)
		}
		for _, r := range out {
			if !unicode.IsPrint(r) || unicode.In(r, unicode.Cf, unicode.Cc, unicode.Bidi_Control, unicode.Join_Control, unicode.Variation_Selector) {
				t.Fatalf("%q is shown with %U", s, r)
			}
		}
	})
}

func TestForeignNamesTheFirstCharacterBeyondASCII(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "AAPL \x7f\x00": "", "АAPL": "; U+0410 in it is not ASCII", "AA\u200bPL": "; U+200B in it is not ASCII", "\xff": "; U+FFFD in it is not ASCII",
	} {
		if got := trade.Foreign(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
