package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sallyport/policy"
	"sallyport/trade"
)

// TestDiffOfVersion1ShowsEachChange compares the default policy with others that say one thing otherwise.
func TestDiffOfVersion1ShowsEachChange(t *testing.T) {
	old := mustParse(t, string(policy.Default()))
	for _, c := range []struct{ from, to, path, want string }{
		{`"10000.00"`, `"9000"`, "max_gross_buy_notional_usd", "tighter: buy 1 AAPL at 10000.00 by agent: allow before, deny after"},
		{`"10000.00"`, `"20000"`, "max_gross_buy_notional_usd", "looser: buy 1 AAPL at 10000.000000001 by agent: deny before, allow after"},
		{`200`, `100`, "max_quantity", "tighter: buy 200 AAPL at 0.01 by agent: allow before, deny after"},
		{`["AAPL", "MSFT"]`, `["MSFT", "AAPL"]`, "", ""},
		{`["AAPL", "MSFT"]`, `["AAPL", "NVDA"]`, "symbol_allowlist", "tighter: buy 1 MSFT at 0.01 by agent: allow before, deny after\n" +
			"looser: buy 1 NVDA at 0.01 by agent: deny before, allow after"},
		{`["buy"]`, `["buy", "sell"]`, "side_allowlist", "looser: sell 1 AAPL at 0.01 by agent: deny before, allow after"},
		{`["buy"]`, `["sell"]`, "side_allowlist", "tighter: buy 1 AAPL at 0.01 by agent: allow before, deny after\n" +
			"looser: sell 1 AAPL at 0.01 by agent: deny before, allow after"},
		{`["limit"]`, `["limit", "market"]`, "order_type_allowlist", "different"},
		{`["limit"]`, `["stop"]`, "order_type_allowlist", "tighter: buy 1 AAPL at 0.01 by agent: allow before, deny after"},
	} {
		changes := policy.DiffV1(old, mustParse(t, strings.Replace(string(policy.Default()), c.from, c.to, 1)))
		if c.path == "" && len(changes) == 0 {
			continue
		}
		if len(changes) != 1 || changes[0].Path != c.path || changes[0].Tried == 0 {
			t.Fatalf("%s to %s: %+v", c.from, c.to, changes)
		}
		var said []string
		for _, w := range []*policy.Witness{changes[0].Tighter, changes[0].Looser} {
			if w != nil {
				word := "looser"
				if w == changes[0].Tighter {
					word = "tighter"
				}
				said = append(said, fmt.Sprintf("%s: %s: %s before, %s after", word, w.Case, w.Before, w.After))
			}
		}
		if got := strings.Join(said, "\n"); got != c.want && !(got == "" && c.want == changes[0].Word()) {
			t.Errorf("%s to %s: got\n%s", c.from, c.to, got)
		}
	}
	if policy.DiffV1(old, nil) != nil || policy.DiffV1(&policy.Policy{}, old) != nil {
		t.Error("what is not valid is compared")
	}
}

// TestDiffOfVersion1FindsWhatIsDifferent changes one key of a random policy: where a random order is judged otherwise,
// an order that shows it is found, and what is shown is what both policies say.
func TestDiffOfVersion1FindsWhatIsDifferent(t *testing.T) {
	found := 0
	rapid.Check(t, func(rt *rapid.T) {
		w, other := worlds(rt), worlds(rt)
		if rapid.IntRange(0, 3).Draw(rt, "most passes") > 0 {
			w.notional, w.quantity, w.symbols, w.types, w.sides = "1000000", "999", []string{"A", "B", "C"}, []string{"limit"}, []string{"buy", "sell"}
			w.known, w.position, w.pendingSells = true, "1000", "0"
		}
		x := w
		switch rapid.IntRange(0, 4).Draw(rt, "key") {
		case 0:
			x.notional = other.notional
		case 1:
			x.quantity = other.quantity
		case 2:
			x.symbols = other.symbols
		case 3:
			x.types = other.types
		case 4:
			x.sides = other.sides
		}
		old, new := w.policy(t), x.policy(t)
		changes := policy.DiffV1(old, new)
		if len(changes) > 1 {
			rt.Fatalf("one key was changed: %+v", changes)
		}
		for _, c := range changes {
			for _, n := range []*policy.Witness{c.Tighter, c.Looser} {
				if n == nil {
					continue
				}
				before, after := old.Evaluate(n.Order, n.Facts).Effect.String(), new.Evaluate(n.Order, n.Facts).Effect.String()
				if before != n.Before || after != n.After || !n.Both || (n == c.Tighter) != (after == "deny") {
					rt.Fatalf("%s is said to go from %s to %s, and goes from %s to %s", n.Case, n.Before, n.After, before, after)
				}
			}
		}
		o, f := order(t, w.side, w.qty, w.sym, w.price), w.facts()
		before, after := old.Evaluate(o, f).Effect, new.Evaluate(o, f).Effect
		if before == after {
			return
		}
		found++
		if len(changes) != 1 || after == policy.Deny && changes[0].Tighter == nil || after == policy.Allow && changes[0].Looser == nil {
			rt.Fatalf("%s\n%s\njudge %s %s %s at %s otherwise, and no order was found: %+v", w.json(), x.json(), w.side, w.qty, w.sym, w.price, changes)
		}
	})
	if found == 0 {
		t.Error("no change made a difference")
	}
}

// TestExplanationOfVersion1AgreesWithTheVerdict: what the rows say and what the verdict says is the same, and headroom
// is what passes.
func TestExplanationOfVersion1AgreesWithTheVerdict(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := worlds(rt)
		p, o, f := w.policy(t), order(t, w.side, w.qty, w.sym, w.price), w.facts()
		e := p.Explain(o, f)
		var codes []trade.Code
		for _, r := range e.Rows {
			if (r.Effect == "deny") != (r.Code != "") || strings.HasPrefix(r.Headroom, "-") && r.Effect != "deny" {
				rt.Fatalf("%+v", r)
			}
			if r.Code != "" {
				codes = append(codes, r.Code)
			}
		}
		if want := w.codes(t); len(e.Rows) != 8 || fmt.Sprint(codes) != fmt.Sprint(want) {
			rt.Fatalf("the rows say %v, want %v", codes, want)
		}
		for line := range strings.SplitSeq(string(e.AppendTable(nil)), "\n") {
			if utf8.RuneCountInString(line) > 100 && !strings.HasPrefix(line, "    ") {
				rt.Fatalf("a line is too long: %s", line)
			}
		}
		room := p.Headroom(o, f)
		at := func(q trade.Decimal) policy.Effect {
			if q.Sign() == 0 {
				return policy.Allow
			}
			return p.Evaluate(order(t, w.side, q.String(), w.sym, w.price), f).Effect
		}
		if at(room.Most) != policy.Allow || !room.Unbounded && (at(room.Most.Add(trade.Whole(1))) != policy.Deny || len(room.Binds) == 0) {
			rt.Fatalf("%+v", room)
		}
	})
	var none *policy.Policy
	o := order(t, "buy", "1", "AAPL", "1")
	if none.Explain(o, policy.Facts{}).Verdict.Effect != policy.Deny || none.Headroom(o, policy.Facts{}).Most.Sign() != 0 {
		t.Error("no policy lets something pass")
	}
}

func TestExplanationOfVersion1IsATable(t *testing.T) {
	p := mustParse(t, strings.Replace(string(policy.Default()), `["buy"]`, `["buy", "sell"]`, 1))
	f := policy.Facts{PositionKnown: true, Position: dec("10"), PendingSells: dec("4")}
	got := string(p.Explain(order(t, "buy", "150", "AAPL", "101.00"), f).AppendTable(nil)) + "\n" +
		string(p.Explain(order(t, "sell", "7", "AAPL", "101.00"), f).AppendTable(nil))
	want := `RULE            LIMIT                    VALUE            BOUND             HEADROOM        EFFECT
version 1       symbol_allowlist         AAPL             AAPL, MSFT                        allow
version 1       side_allowlist           buy              buy, sell                         allow
version 1       order_type_allowlist     limit            limit                             allow
version 1       max_quantity             150              deny 200          50              allow
version 1       max_gross_buy_notional…  15150.00         deny 10000.00     -5150.00        deny
version 1       no_short                                                                    allow
version 1       whole_shares             150              whole shares                      allow
version 1       version_1                limit day us_e…  limit day us_eq…                  allow

verdict: deny
  NOTIONAL_EXCEEDS_LIMIT
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s", got)
	}
	if !strings.Contains(got, "version 1       no_short                 7                deny 6            -1              deny\n") {
		t.Errorf("got\n%s", got)
	}
}
