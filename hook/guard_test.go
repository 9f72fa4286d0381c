package hook

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/wire"
)

func TestGuardsRankExactThenOwnThenLongestPrefix(t *testing.T) {
	guards := []Guard{
		{Match: "mcp__broker__*", Dialect: "alpaca", Account: "short"},
		{Match: "mcp__broker__place_*", Dialect: "alpaca", Account: "long"},
		{Match: "mcp__broker__place_order", Dialect: "alpaca", Account: "exact"},
		{Match: "mcp__broker__place_quote", Pass: true},
		{Match: "mcp__broker__get_*", Pass: true},
		{Match: "mcp__other__*"},
		{Match: "mcp__sallyport__*", Pass: true},
		{Match: "mcp__strict__paper_place_order_a"},
		{Match: "mcp__mine__paper_place_order_b", Dialect: "alpaca", Account: "mine"},
	}
	for tool, want := range map[string]string{
		"mcp__broker__place_order":            "alpaca exact",
		"mcp__broker__place_order2":           "alpaca long",
		"mcp__broker__cancel":                 "alpaca short",
		"mcp__broker__place_quote":            "passed",
		"mcp__broker__get_quote":              "passed",
		"mcp__other__anything":                "unknown ",
		"mcp__brokerx":                        "passed",
		"MCP__BROKER__PLACE_ORDER":            "passed",
		"mcp__sallyport__trade_check":         "passed",
		"mcp__sallyport__paper_place_order_a": "paper_place_order_a ",
		"mcp__broker__paper_place_order_b":    "paper_place_order_b ",
		"mcp__strict__paper_place_order_a":    "unknown ",
		"mcp__mine__paper_place_order_b":      "alpaca mine",
		"paper_place_order_b":                 "paper_place_order_b ",
		"":                                    "passed",
	} {
		for rotated := range guards {
			cfg := Config{Guards: append(append([]Guard(nil), guards[rotated:]...), guards[:rotated]...)}
			r, guarded := cfg.guard(tool)
			got := "passed"
			if guarded {
				got = "unknown " + string(r.account)
				if r.dialect != nil {
					got = r.dialect.Name + " " + string(r.account)
				}
			}
			if got != want {
				t.Errorf("%s, rotated by %d: %s, want %s", tool, rotated, got, want)
			}
		}
	}
}

//attack:hook-own-tools
func TestNoConfigurationLiftsTheGuardOfOwnTools(t *testing.T) {
	for _, guards := range [][]Guard{
		nil,
		{{Match: "*", Pass: true}},
		{{Match: "mcp__sallyport__paper_place_order_a", Pass: true}, {Match: "paper_place_order_a", Pass: true}},
		{{Match: "mcp__sallyport__paper_*", Pass: true}},
	} {
		cfg := Config{Guards: guards}
		for _, tool := range []string{"paper_place_order_a", "mcp__sallyport__paper_place_order_a", "mcp_s_paper_place_order_a", "x_paper_place_order_a"} {
			r, guarded := cfg.guard(tool)
			if !guarded || r.dialect == nil || r.dialect.Name != "paper_place_order_a" || r.tool != "paper_place_order_a" {
				t.Errorf("%v lifts the guard of %s: %+v", guards, tool, r)
			}
		}
	}
}

func parse(t *testing.T, text string) ([]Guard, error) {
	t.Helper()
	v, err := wire.Read([]byte(text), wire.Limits{Bytes: 1 << 20, Depth: 32})
	if err != nil {
		t.Fatal(err)
	}
	return ParseGuards(v, nil)
}

func TestParseGuardsReadsWhatItDocuments(t *testing.T) {
	got, err := parse(t, `[{"match":"mcp__broker__place_order","dialect":"alpaca","account":"live-1"},{"match":"mcp__broker__*"},
		{"match":"mcp__broker__get_*","pass":true},{"match":"x","dialect":"paper_place_order_b","pass":false}]`)
	want := []Guard{
		{Match: "mcp__broker__place_order", Dialect: "alpaca", Account: "live-1"},
		{Match: "mcp__broker__*"},
		{Match: "mcp__broker__get_*", Pass: true},
		{Match: "x", Dialect: "paper_place_order_b"},
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := parse(t, `[]`); err != nil || len(got) != 0 {
		t.Errorf("empty: %v, %v", got, err)
	}
}

//attack:hook-match-bytes
func TestParseGuardsRefusesAndSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                            "guards is an object",
		`null`:                          "guards is null",
		`[1]`:                           "guards[0] is a number",
		`[{"match":"a"},[]]`:            "guards[1] is an array",
		`[{}]`:                          "guards[0] has no match",
		`[{"dialect":"alpaca"}]`:        "guards[0] has no match",
		`[{"match":""}]`:                "guards[0].match is empty",
		`[{"match":7}]`:                 "guards[0].match is a number",
		`[{"match":null}]`:              "guards[0].match is null",
		`[{"Match":"a"}]`:               `guards[0] has no member "Match"`,
		`[{"match":"a","x":1}]`:         `guards[0] has no member "x"`,
		`[{"match":"a","match":"b"}]`:   "guards[0].match is given more than once",
		`[{"match":"a b"}]`:             "guards[0].match \"a b\"",
		`[{"match":"a*b"}]`:             "guards[0].match \"a*b\"",
		`[{"match":"a**"}]`:             "guards[0].match \"a**\"",
		`[{"match":"\u0430"}]`:          "guards[0].match",
		`[{"match":"a\u0000"}]`:         "guards[0].match",
		`[{"match":"a","pass":"true"}]`: "guards[0].pass is text",
		`[{"match":"a","pass":1}]`:      "guards[0].pass is a number",
		`[{"match":"a","pass":true,"dialect":"alpaca"}]`:        "guards[0] has pass beside",
		`[{"match":"a","pass":true,"account":"x"}]`:             "guards[0] has pass beside",
		`[{"match":"a","account":"x"}]`:                         "guards[0] has an account and no dialect",
		`[{"match":"a","dialect":"alpaca","account":"x y"}]`:    "guards[0].account",
		`[{"match":"a","dialect":"Alpaca"}]`:                    `guards[0].dialect "Alpaca"`,
		`[{"match":"a","dialect":""}]`:                          "guards[0].dialect is empty",
		`[{"match":"a"},{"match":"b"},{"match":"a"}]`:           `guards[2].match "a" is matched by guards[0]`,
		`[{"match":"mcp__s__paper_place_order_a","pass":true}]`: "is an order tool of Sallyport",
		`[{"match":"` + strings.Repeat("m", maxMatch+1) + `"}]`: "guards[0].match",
	} {
		got, err := parse(t, text)
		if err == nil || got != nil || !strings.HasPrefix(err.Error(), want) && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := parse(t, `[{"match":"`+strings.Repeat("m", maxMatch)+`"}]`); err != nil {
		t.Errorf("the longest match: %v", err)
	}
}

//attack:hook-guards
func TestParseGuardsTakesAtMost256(t *testing.T) {
	list := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"match":"m%d"}`, i)
		}
		return "[" + b.String()[1:] + "]"
	}
	if got, err := parse(t, list(256)); err != nil || len(got) != 256 {
		t.Errorf("256: %v", err)
	}
	if _, err := parse(t, list(257)); err == nil {
		t.Error("257 were taken")
	}
}
