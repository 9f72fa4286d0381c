package hook

import (
	"regexp"
	"strings"
	"testing"
)

// TestGuardHoldsUnderEachNameThatHarnessesGive writes a guard in one harness's name of a tool and calls the tool by another's.
//
//attack:hook-mcp-names
//fault:f72
func TestGuardHoldsUnderEachNameThatHarnessesGive(t *testing.T) {
	const long = "mcp__a_broker_with_a_long_name__place_an_order_of_a_very_long_kind"
	for _, c := range []struct {
		match   string
		guards  []string
		guardsX []string // must not be guarded
	}{
		{
			"mcp__alpaca__place_order",
			[]string{"mcp__alpaca__place_order", "mcp_alpaca_place_order"},
			[]string{"mcp_alpaca_place_orders", "alpaca_place_order", "place_order", "MCP_ALPACA_PLACE_ORDER", "mcp_alpaca_place"},
		},
		{
			"mcp_alpaca_place_order",
			[]string{"mcp_alpaca_place_order", "mcp__alpaca__place_order"},
			[]string{"mcp__alpaca__place_order2"},
		},
		{
			"mcp__my-broker.eu__place-order",
			[]string{"mcp_my_broker_eu_place_order", "mcp_my-broker.eu_place-order", "mcp__my-broker_eu__place-order", "mcp__my-broker.eu__place-order"},
			[]string{"my_broker_eu_place_order"},
		},
		{"mcp__alpaca__*", []string{"mcp__alpaca__x", "mcp_alpaca_x", "mcp_alpaca_"}, []string{"mcp_alpacas_x", "mcp__alpacas__x"}},
		{"mcp__alp*", []string{"mcp_alpaca_x", "mcp__alpaca__x"}, []string{"mcp_bet_x"}},
		{"mcp__*", []string{"mcp_alpaca_x", "mcp__alpaca__x"}, []string{"mcpx", "Bash"}},
		{
			long,
			[]string{long, "mcp_a_broker_with_a_long_name_place_an_order_of_a_very_long_kind"},
			[]string{"mcp_a_broker_with_a_long_nam___order_of_a_very_long_kind"}, // too short to be a shortened name
		},
		{long, []string{
			"mcp_a_broker_with_a_long_nam" + "___" + "ace_an_order_of_a_very_long_kind",
			"mcp_a_broker_with_a_long_name_" + "..." + "e_an_order_of_a_very_long_kind",
		}, []string{"mcp_another_broker_long_name" + "___" + "ace_an_order_of_a_very_long_kind"}},
		{"mcp__a_broker_with_a_long_name__*", []string{"mcp_a_broker_with_a_long_nam" + "___" + "ace_an_order_of_a_very_long_kind"}, nil},
		{"Bash", []string{"Bash"}, []string{"bash", "Bash_"}},
		{"place_order", []string{"place_order"}, []string{"place__order", "mcp_place_order"}},
	} {
		cfg := Config{Guards: []Guard{{Match: c.match, Dialect: "alpaca"}}}
		for _, tool := range c.guards {
			if r, guarded := cfg.guard(tool); !guarded || r.dialect == nil || r.dialect.Name != "alpaca" || r.tool != tool {
				t.Errorf("%s does not guard %s: %+v", c.match, tool, r)
			}
		}
		for _, tool := range c.guardsX {
			if _, guarded := cfg.guard(tool); guarded {
				t.Errorf("%s guards %s", c.match, tool)
			}
		}
	}
}

// TestPassUnderAnotherNameNeverLiftsAGuard tries passes that fold to as much as a guard, and less, and more.
//
//attack:hook-mcp-names
//fault:f72
func TestPassUnderAnotherNameNeverLiftsAGuard(t *testing.T) {
	guard := func(match string) Guard { return Guard{Match: match, Dialect: "alpaca"} }
	pass := func(match string) Guard { return Guard{Match: match, Pass: true} }
	for _, c := range []struct {
		guards  []Guard
		tool    string
		guarded bool
	}{
		{[]Guard{guard("mcp__a__b_c"), pass("mcp_a_b_c")}, "mcp_a_b_c", true},
		{[]Guard{guard("mcp__a__b_c"), pass("mcp__a_b__c")}, "mcp_a_b_c", true},
		{[]Guard{guard("mcp__a__b_c"), pass("mcp__a_b__c")}, "mcp__a__b_c", true},
		{[]Guard{guard("mcp__a__b_c"), pass("mcp__a_b__c")}, "mcp__a_b__c", true},
		{[]Guard{guard("mcp__a__b_c"), pass("mcp_*")}, "mcp_a_b_c", true},
		{[]Guard{guard("mcp__a__*"), pass("mcp_a_*")}, "mcp_a_b_c", true},
		{[]Guard{guard("mcp_a_*"), pass("mcp__a__b")}, "mcp_a_b", true}, // as written is stricter than folded
		{[]Guard{guard("mcp__a_b__*"), pass("mcp__a__b_c")}, "mcp__a_b__c", true},
		{[]Guard{guard("mcp__a__*"), pass("mcp__a__get_*")}, "mcp_a_get_quote", false},
		{[]Guard{guard("mcp__a__*"), pass("mcp__a__get_*")}, "mcp_a_place", true},
		{[]Guard{guard("mcp__a__*"), pass("mcp__a__get")}, "mcp_a_get", false},
		{[]Guard{guard("mcp__a__*"), pass("mcp__a__get")}, "mcp__a__get", false},
		{[]Guard{guard("mcp__a__*"), pass("*")}, "mcp_a_get", true},
		{[]Guard{pass("*")}, "mcp_a_get", false},
		{[]Guard{guard("mcp__x__paper_place_order_a"), pass("mcp_x_paper_*")}, "mcp_x_paper_place_order_a", true},
	} {
		for range 2 {
			if _, guarded := (Config{Guards: c.guards}).guard(c.tool); guarded != c.guarded {
				t.Errorf("%+v, %s: guarded %v", c.guards, c.tool, guarded)
			}
			c.guards = []Guard{c.guards[len(c.guards)-1], c.guards[0]}
		}
	}
}

// TestOfTwoGuardsTheStricterCountsWhateverTheirOrder has two guards fold to the same name.
//
//fault:f72
func TestOfTwoGuardsTheStricterCountsWhateverTheirOrder(t *testing.T) {
	a, b := Guard{Match: "mcp__a__b_*", Dialect: "alpaca", Account: "one"}, Guard{Match: "mcp__a_b__*"}
	for _, guards := range [][]Guard{{a, b}, {b, a}} {
		cfg := Config{Guards: guards}
		if r, guarded := cfg.guard("mcp_a_b_c"); !guarded || r.dialect != nil {
			t.Errorf("%+v: %+v", guards, r)
		}
		if r, guarded := cfg.guard("mcp__a__b_c"); !guarded || r.account != "one" {
			t.Errorf("%+v, as written: %+v", guards, r)
		}
	}
}

// TestPrintedMatcherTakesEachNameThatAGuardHoldsFor compares what a harness is told with what the hook does.
func TestPrintedMatcherTakesEachNameThatAGuardHoldsFor(t *testing.T) {
	for _, c := range []struct{ match, double, single string }{
		{"mcp__alpaca__place_order", "mcp__alpaca__place_order", "mcp_alpaca_place_order"},
		{"mcp_alpaca_place_order", "mcp__alpaca__place_order", "mcp_alpaca_place_order"},
		{"mcp__my-broker__*", "mcp__my-broker__x", "mcp_my-broker_x"},
		{"mcp__my.broker__*", "mcp__my_broker__x", "mcp_my_broker_x"},
		{"mcp__alp*", "mcp__alpaca__x", "mcp_alpaca_x"},
		{"mcp_alp*", "mcp__alpaca__x", "mcp_alpaca_x"},
		{"mcp__*", "mcp__a__b", "mcp_a_b"},
		{"other", "other", "other"},
		{
			"mcp__a_broker_with_a_long_name__place_an_order_of_a_very_long_kind",
			"mcp__a_broker_with_a_long_name__place_an_order_of_a_very_long_kind",
			"mcp_a_broker_with_a_long_nam___ace_an_order_of_a_very_long_kind",
		},
		{"mcp__a_broker_with_a_long_name__*", "mcp__a_broker_with_a_long_name__x", "mcp_a_broker_with_a_long_nam___ace_an_order_of_a_very_long_kind"},
	} {
		for _, harness := range harnesses() {
			to := target(harness)
			to.Guards = []Guard{{Match: c.match, Dialect: "alpaca"}}
			name := c.double
			switch harness {
			case "hermes":
				name = strings.NewReplacer("-", "_", ".", "_").Replace(c.single)
			case "gemini":
				name = c.single
			}
			if _, guarded := (Config{Guards: to.Guards}).guard(name); !guarded {
				t.Errorf("%s does not guard %s", c.match, name)
			}
			if harness == "hermes" && strings.Contains(c.single, "___") {
				continue // only Gemini CLI shortens names
			}
			if !regexp.MustCompile("^(?:" + to.matcher() + ")$").MatchString(name) {
				t.Errorf("%s: %s does not take %s", harness, to.matcher(), name)
			}
			s, err := Print(to)
			if err != nil {
				t.Fatal(err)
			}
			if severity, texts := worst(Inspect(to, []byte(s.Text))); severity == Fail {
				t.Errorf("%s: %s", harness, texts)
			}
		}
	}
}

// TestGuardThatTakesNothingIsAFailure names a server without a tool, and arms a matcher of another harness.
func TestGuardThatTakesNothingIsAFailure(t *testing.T) {
	for _, harness := range harnesses() {
		to := target(harness)
		s, err := Print(to) // before the guard was written
		if err != nil {
			t.Fatal(err)
		}
		to.Guards = []Guard{{Match: "mcp__broker__place_order", Dialect: "alpaca"}}
		if severity, texts := worst(Inspect(to, []byte(s.Text))); severity != Fail || !strings.Contains(texts, "broker") {
			t.Errorf("%s: %s", harness, texts)
		}
		for _, match := range []string{"mcp__broker", "mcp__broker__"} {
			to.Guards = []Guard{{Match: match, Dialect: "alpaca"}}
			if s, err = Print(to); err != nil {
				t.Fatal(err)
			}
			if severity, texts := worst(Inspect(to, []byte(s.Text))); severity != Fail || !strings.Contains(texts, "Write mcp__broker__*") {
				t.Errorf("%s, %s: %s", harness, match, texts)
			}
		}
	}
}

func FuzzFoldedNamesAreGuarded(f *testing.F) {
	f.Add("alpaca", "place_order")
	f.Add("a__b", "_c_")
	f.Add("my-broker.eu", "x")
	f.Fuzz(func(t *testing.T, server, tool string) {
		match := "mcp__" + server + "__" + tool
		if !isMatch(match) || strings.Contains(match, "*") || server == "" || tool == "" {
			return
		}
		guards := []Guard{{Match: match, Dialect: "alpaca"}}
		for _, harness := range harnesses() {
			for _, name := range spellings(harness, match) {
				for _, name := range []string{name, cleaned(harness, name)} {
					if _, guarded := (Config{Guards: guards}).guard(name); !guarded {
						t.Errorf("%s: %s does not guard %s", harness, match, name)
					}
				}
			}
		}
	})
}
