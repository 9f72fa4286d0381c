package policy_test

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sallyport/policy"
	"sallyport/wire"
)

// TestConfigurationErrors runs the files of testdata/config: policies that are none, and what is said of them. An input
// that begins with a double quote is a Go string, for bytes that a text file cannot hold.
//
//fault:f118
func TestConfigurationErrors(t *testing.T) {
	datadriven.Walk(t, "testdata/config", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			raw := d.Input
			if strings.HasPrefix(raw, `"`) {
				s, err := strconv.Unquote(raw)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				raw = s
			}
			p, err := policy.Parse([]byte(raw))
			if err == nil {
				return "valid: " + show(p)
			}
			if p != nil {
				t.Errorf("%s: a policy comes with the error", raw)
			}
			return problems(t, d, err)
		})
	})
}

// problems shows what is said of a policy that is none, a line each.
func problems(t *testing.T, d *datadriven.TestData, err error) string {
	t.Helper()
	var c *policy.ConfigError
	if !errors.As(err, &c) || len(c.Problems) == 0 {
		d.Fatalf(t, "%T is not a ConfigError with problems", err)
	}
	var out strings.Builder
	for _, problem := range c.Problems {
		fmt.Fprintf(&out, "%s\n", problem)
	}
	return out.String()
}

func show(p *policy.Policy) string {
	return fmt.Sprintf("notional %s, quantity %s, symbols %v, types %v, sides %v\n",
		p.MaxNotional().Money(), p.MaxQuantity(), p.Symbols(), p.OrderTypes(), p.Sides())
}

func TestDefaultPolicyIsTheIssuesExample(t *testing.T) {
	want := "notional 10000.00, quantity 200, symbols [AAPL MSFT], types [limit], sides [buy]\n"
	if got := show(mustParse(t, string(policy.Default()))); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	a, b := policy.Default(), policy.Default()
	a[0] = 'x'
	if b[0] != '{' || policy.Default()[0] != '{' {
		t.Error("two callers share the bytes of the default policy")
	}
}

func TestTheListsOfAPolicyCannotBeChangedFromOutside(t *testing.T) {
	p := mustParse(t, string(policy.Default()))
	p.Symbols()[0], p.Sides()[0], p.OrderTypes()[0] = p.Symbols()[1], 2, 2
	if got := show(p); got != show(mustParse(t, string(policy.Default()))) {
		t.Errorf("the policy became %s", got)
	}
}

//attack:policy-bytes
func TestParseTakesAMebibyteAndNoMore(t *testing.T) {
	raw := append(policy.Default(), bytes.Repeat([]byte{' '}, policy.MaxBytes-len(policy.Default()))...)
	if _, err := policy.Parse(raw); err != nil {
		t.Errorf("%d bytes: %v", len(raw), err)
	}
	_, err := policy.Parse(append(raw, ' '))
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%d bytes: %v", len(raw)+1, err)
	}
}

//attack:policy-depth
func TestParseTakesNoDeepNesting(t *testing.T) {
	for _, depth := range []int{31, 32, 33, 100_000} {
		raw := strings.Replace(string(policy.Default()), "200", strings.Repeat("[", depth-1)+strings.Repeat("]", depth-1), 1)
		_, err := policy.Parse([]byte(raw))
		tooDeep := err != nil && strings.Contains(err.Error(), "nested too deeply")
		if err == nil || tooDeep != (depth > 32) {
			t.Errorf("%d levels: %v", depth, err)
		}
	}
}

func TestManyProblemsAreAllListedAndTheErrorStaysShort(t *testing.T) {
	bad := strings.Repeat(`"1x",`, 5000) + `"A"`
	raw := strings.Replace(string(policy.Default()), `"AAPL"`, bad, 1)
	_, err := policy.Parse([]byte(raw))
	var c *policy.ConfigError
	if !errors.As(err, &c) || len(c.Problems) != 5000 {
		t.Fatalf("%v", err)
	}
	if s := err.Error(); len(s) > 2000 || !strings.HasSuffix(s, "and 4990 more") {
		t.Errorf("%d bytes: %s", len(s), s)
	}
}

// TestNoKeyMayBeLeftOut takes each key away in turn, gives it twice, and spells it in another case.
func TestNoKeyMayBeLeftOutDoubledOrMisspelled(t *testing.T) {
	v, err := wire.Read(policy.Default(), wire.Limits{Bytes: 1 << 10, Depth: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range v.Members {
		name := `"` + m.Name + `"`
		for what, raw := range map[string]string{
			"is missing":              strings.Replace(string(policy.Default()), name, `"x"`, 1),
			"is there again":          strings.Replace(string(policy.Default()), name, name+`:1,`+name, 1),
			"case too: use " + m.Name: strings.Replace(string(policy.Default()), name, `"`+strings.ToUpper(m.Name)+`"`, 1),
		} {
			if _, err := policy.Parse([]byte(raw)); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s\n%v does not say %q", raw, err, what)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(policy.Default())
	f.Add([]byte(`{"max_gross_buy_notional_usd":1e3,"max_quantity":"-1","symbol_allowlist":[],"order_type_allowlist":null,"side_allowlist":[1]}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte("{\"max_quantity\":1,\"max_quantity\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := policy.Parse(raw)
		if (p == nil) != (err != nil) {
			t.Fatalf("policy %v, error %v", p, err)
		}
		if err == nil {
			if !p.IsValid() || len(p.Symbols()) == 0 || len(p.Sides()) == 0 || len(p.OrderTypes()) == 0 || p.MaxQuantity().Sign() < 0 ||
				!p.MaxQuantity().IsWhole() || p.MaxNotional().Sign() < 0 {
				t.Fatalf("%s is taken: %s", raw, show(p))
			}
			return
		}
		var c *policy.ConfigError
		if !errors.As(err, &c) || len(c.Problems) == 0 {
			t.Fatalf("%T %v", err, err)
		}
		for _, problem := range c.Problems {
			if problem.Message == "" || strings.ContainsAny(problem.String(), "\n\r\x1b\u202e\u200b") {
				t.Fatalf("%q", problem.String())
			}
		}
	})
}
