package policy_test

import (
	"math/big"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"sallyport/gatetest"
	"sallyport/policy"
	"sallyport/trade"
)

func text(s string) trade.Text { return trade.Text{Name: "x", Value: s, Kind: trade.IsText} }

func order(t testing.TB, side, quantity, symbol, price string) trade.Order {
	t.Helper()
	return gatetest.Order(t, side, symbol, quantity, price)
}

func mustParse(t testing.TB, raw string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return p
}

func allowed(t *testing.T) (*policy.Policy, trade.Order, policy.Facts) {
	t.Helper()
	p := mustParse(t, string(policy.Default()))
	o, f := order(t, "buy", "66", "AAPL", "150.25"), policy.Facts{PositionKnown: true}
	if v := p.Evaluate(o, f); v.Effect != policy.Allow || len(v.Reasons) != 0 || v.MaxQuantity != nil {
		t.Fatalf("the order of these tests is not allowed: %+v", v)
	}
	return p, o, f
}

func TestZeroAndNilPolicyDenyEverything(t *testing.T) {
	_, o, f := allowed(t)
	var none *policy.Policy
	for name, p := range map[string]*policy.Policy{"zero": {}, "nil": none} {
		v := p.Evaluate(o, f)
		if v.Effect != policy.Deny || len(v.Reasons) != 1 || v.Reasons[0].Code != policy.PolicyInvalid {
			t.Errorf("the %s policy answers %+v", name, v)
		}
		if p.IsValid() || p.Symbols() != nil || p.Sides() != nil || p.OrderTypes() != nil {
			t.Errorf("the %s policy shows something", name)
		}
		if p.MaxNotional().Sign() != 0 || p.MaxQuantity().Sign() != 0 {
			t.Errorf("the %s policy has a bound above zero", name)
		}
	}
}

func TestZeroVerdictAndZeroEffectDeny(t *testing.T) {
	if (policy.Verdict{}).Effect != policy.Deny {
		t.Error("the zero verdict does not deny")
	}
	for e := policy.Deny; e <= policy.Allow; e++ {
		if got, ok := policy.ParseEffect(e.String()); !ok || got != e {
			t.Errorf("%s reads as %v, %v", e, got, ok)
		}
	}
	for _, s := range []string{"", "ALLOW", "Allow", " allow", "yes"} {
		if e, ok := policy.ParseEffect(s); ok || e != policy.Deny {
			t.Errorf("%q reads as %v, %v", s, e, ok)
		}
	}
}

func TestALostRuleDenies(t *testing.T) {
	p, o, f := allowed(t)
	for i, r := range policy.Rules() {
		v := p.EvaluateWithout(i, o, f)
		if v.Effect != policy.Deny || v.MaxQuantity != nil || !has(v, policy.InternalError) {
			t.Errorf("without %s the verdict is %+v", r.Name, v)
		}
	}
}

func TestAPanicInARuleDeniesAndTheOthersStillRun(t *testing.T) {
	p, _, _ := allowed(t)
	bad := order(t, "sell", "201", "TSLA", "1.00") // breaks symbol, side, quantity and no_short
	for i, r := range policy.Rules() {
		v := p.EvaluatePanicking(i, bad, policy.Facts{})
		if v.Effect != policy.Deny || v.MaxQuantity != nil || !has(v, policy.InternalError) {
			t.Errorf("with a broken %s the verdict is %+v", r.Name, v)
		}
		for _, c := range []trade.Code{policy.SymbolNotAllowed, policy.SideNotAllowed, policy.QuantityExceedsLimit, policy.ShortSaleNotAllowed} {
			if c != r.Code && !has(v, c) {
				t.Errorf("with a broken %s the reason %s is missing", r.Name, c)
			}
		}
		if good := p.EvaluatePanicking(i, order(t, "buy", "1", "AAPL", "1"), policy.Facts{}); good.Effect != policy.Deny {
			t.Errorf("with a broken %s a compliant order gets %s", r.Name, good.Effect)
		}
	}
}

func TestARuleThatCannotSayWhyStillDenies(t *testing.T) {
	p, o, f := allowed(t)
	for i, r := range policy.Rules() {
		v := p.EvaluateSpeechless(i, o, f)
		if v.Effect != policy.Deny || v.MaxQuantity != nil || len(v.Reasons) != 1 || v.Reasons[0].Code != policy.InternalError {
			t.Errorf("with a speechless %s the verdict is %+v", r.Name, v)
		}
	}
}

//attack:policy-version-1
func TestVersion1DeniesWhatIsNoOrder(t *testing.T) {
	_, o, _ := allowed(t)
	if !policy.VersionPasses(o) {
		t.Error("a day limit order for whole shares does not pass")
	}
	if policy.VersionPasses(trade.Order{}) {
		t.Error("the zero order passes")
	}
	all := mustParse(t, `{"max_gross_buy_notional_usd":"999999999999","max_quantity":999999999999,"symbol_allowlist":["AAPL"],
		"order_type_allowlist":["limit","market","stop","stop_limit"],"side_allowlist":["buy","sell"]}`)
	v := all.Evaluate(trade.Order{}, policy.Facts{PositionKnown: true})
	if v.Effect != policy.Deny || !has(v, policy.OrderNotInVersion1) || v.MaxQuantity != nil {
		t.Errorf("the zero order gets %+v", v)
	}
}

func TestEvaluateAllocatesNothingOnTheAllowPath(t *testing.T) {
	p, o, f := allowed(t)
	if n := testing.AllocsPerRun(100, func() { p.Evaluate(o, f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func has(v policy.Verdict, c trade.Code) bool {
	for _, r := range v.Reasons {
		if r.Code == c {
			return true
		}
	}
	return false
}

// world is a policy, an order and facts, as text, so that a second evaluator can judge them without our decimals.
type world struct {
	notional, quantity     string
	symbols, types, sides  []string
	side, qty, sym, price  string
	known                  bool
	position, pendingSells string
}

func worlds(t *rapid.T) world {
	number := rapid.StringMatching(`(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?`)
	whole := rapid.StringMatching(`0|[1-9][0-9]{0,2}`)
	positive := rapid.StringMatching(`[1-9][0-9]{0,2}`)
	some := func(label string, of ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 1, len(of), rapid.ID[string]).Draw(t, label)
	}
	return world{
		notional: number.Draw(t, "max notional"), quantity: whole.Draw(t, "max quantity"),
		symbols: some("symbols", "A", "B", "C"), types: some("types", "limit", "market", "stop", "stop_limit"),
		sides: some("sides", "buy", "sell"),
		side:  rapid.SampledFrom([]string{"buy", "sell"}).Draw(t, "side"), qty: positive.Draw(t, "quantity"),
		sym: rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "symbol"), price: positive.Draw(t, "price") + "." + whole.Draw(t, "cents"),
		known: rapid.Bool().Draw(t, "known"), position: whole.Draw(t, "position"), pendingSells: whole.Draw(t, "pending sells"),
	}
}

func (w world) policy(t testing.TB) *policy.Policy { return mustParse(t, w.json()) }

func (w world) json() string {
	list := func(words []string) string {
		out := "["
		for i, s := range words {
			if i > 0 {
				out += ","
			}
			out += `"` + s + `"`
		}
		return out + "]"
	}
	return `{"max_gross_buy_notional_usd":"` + w.notional + `","max_quantity":"` + w.quantity + `","symbol_allowlist":` +
		list(w.symbols) + `,"order_type_allowlist":` + list(w.types) + `,"side_allowlist":` + list(w.sides) + `}`
}

func (w world) facts() policy.Facts {
	f := policy.Facts{PositionKnown: w.known}
	f.Position, _ = trade.ParseDecimal(w.position)
	f.PendingSells, _ = trade.ParseDecimal(w.pendingSells)
	return f
}

// codes is the second evaluator: the rules as the documents say them, in rational numbers.
func (w world) codes(t testing.TB) (out []trade.Code) {
	rat := func(s string) *big.Rat {
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatalf("%s is no number", s)
		}
		return r
	}
	in := func(list []string, s string) bool {
		for _, l := range list {
			if l == s {
				return true
			}
		}
		return false
	}
	qty := rat(w.qty)
	free := new(big.Rat).Sub(rat(w.position), rat(w.pendingSells))
	for _, r := range []struct {
		broken bool
		code   trade.Code
	}{
		{!in(w.symbols, w.sym), policy.SymbolNotAllowed},
		{!in(w.sides, w.side), policy.SideNotAllowed},
		{!in(w.types, "limit"), policy.OrderTypeNotAllowed},
		{qty.Cmp(rat(w.quantity)) > 0, policy.QuantityExceedsLimit},
		{w.side == "buy" && new(big.Rat).Mul(qty, rat(w.price)).Cmp(rat(w.notional)) > 0, policy.NotionalExceedsLimit},
		{w.side == "sell" && (!w.known || qty.Cmp(free) > 0), policy.ShortSaleNotAllowed},
	} {
		if r.broken {
			out = append(out, r.code)
		}
	}
	return out
}

func TestEvaluatorAgreesWithASecondOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := worlds(rt)
		p, o, f := w.policy(t), order(t, w.side, w.qty, w.sym, w.price), w.facts()
		v := p.Evaluate(o, f)
		var got []trade.Code
		for _, r := range v.Reasons {
			got = append(got, r.Code)
		}
		want := w.codes(t)
		if !reflect.DeepEqual(got, want) || (v.Effect == policy.Allow) != (len(want) == 0) {
			rt.Fatalf("%+v\ngot  %v %v\nwant %v", w, v.Effect, got, want)
		}
		if again := p.Evaluate(o, f); !reflect.DeepEqual(v, again) {
			rt.Fatalf("the same order, facts and policy gave %+v and %+v", v, again)
		}
		if other := w.policy(t).Evaluate(o, f); !reflect.DeepEqual(v, other) {
			rt.Fatalf("the same file read twice gave %+v and %+v", v, other)
		}
	})
}

func TestMaxQuantityPassesAndOneMoreDoesNot(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := worlds(rt)
		w.symbols, w.types, w.sides = []string{"A", "B", "C"}, []string{"limit"}, []string{"buy", "sell"}
		p, f := w.policy(t), w.facts()
		v := p.Evaluate(order(t, w.side, w.qty, w.sym, w.price), f)
		if v.Effect == policy.Allow {
			if v.MaxQuantity != nil {
				rt.Fatalf("an allowed order has a largest quantity: %v", v.MaxQuantity)
			}
			return
		}
		if v.MaxQuantity == nil {
			if one := p.Evaluate(order(t, w.side, "1", w.sym, w.price), f); one.Effect != policy.Deny {
				rt.Fatalf("no quantity would pass, and 1 does: %+v", w)
			}
			return
		}
		if got := p.Evaluate(order(t, w.side, v.MaxQuantity.String(), w.sym, w.price), f); got.Effect != policy.Allow {
			rt.Fatalf("the largest quantity %s is denied: %+v", v.MaxQuantity, got)
		}
		more := v.MaxQuantity.Add(trade.Whole(1)).String()
		if got := p.Evaluate(order(t, w.side, more, w.sym, w.price), f); got.Effect != policy.Deny {
			rt.Fatalf("one more than the largest quantity, %s, is allowed", more)
		}
	})
}

func TestLoweringABoundNeverLoosens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := worlds(rt)
		tight := w
		lower := func(label, s string) string {
			d, _ := trade.ParseDecimal(s)
			return rapid.SampledFrom([]string{"0", s, d.QuoWhole(trade.Whole(2)).String()}).Draw(rt, label)
		}
		tight.notional, tight.quantity = lower("notional", w.notional), lower("quantity", w.quantity)
		tight.symbols = w.symbols[:rapid.IntRange(1, len(w.symbols)).Draw(rt, "symbols kept")]
		tight.types = w.types[:rapid.IntRange(1, len(w.types)).Draw(rt, "types kept")]
		tight.sides = w.sides[:rapid.IntRange(1, len(w.sides)).Draw(rt, "sides kept")]
		o, f := order(t, w.side, w.qty, w.sym, w.price), w.facts()
		if w.policy(t).Evaluate(o, f).Effect == policy.Deny && tight.policy(t).Evaluate(o, f).Effect != policy.Deny {
			rt.Fatalf("%s denies and %s does not", w.json(), tight.json())
		}
	})
}

func BenchmarkEvaluateAllow(b *testing.B) {
	p := mustParse(b, string(policy.Default()))
	o := order(b, "buy", "66", "AAPL", "150.25")
	f := policy.Facts{PositionKnown: true}
	b.ReportAllocs()
	for b.Loop() {
		if v := p.Evaluate(o, f); v.Effect != policy.Allow {
			b.Fatal(v)
		}
	}
}

func BenchmarkEvaluateDenyEverything(b *testing.B) {
	p := mustParse(b, string(policy.Default()))
	o := order(b, "sell", "250", "TSLA", "150.25")
	b.ReportAllocs()
	for b.Loop() {
		if v := p.Evaluate(o, policy.Facts{}); v.Effect != policy.Deny {
			b.Fatal(v)
		}
	}
}

// TestDecisiveReasonIsOneThatNoApprovalLifts names of a denial what denies, wherever it stands.
func TestDecisiveReasonIsOneThatNoApprovalLifts(t *testing.T) {
	held, denied := policy.Reason{Code: policy.ApprovalRequired, Hold: true}, policy.Reason{Code: policy.ShortSaleNotAllowed}
	for _, c := range []struct {
		all  []policy.Reason
		want policy.Reason
	}{{nil, policy.Reason{}}, {[]policy.Reason{held}, held}, {[]policy.Reason{held, denied}, denied}, {[]policy.Reason{denied, held}, denied}} {
		if got := policy.Decisive(c.all); got != c.want {
			t.Errorf("%v of %v", got, c.all)
		}
	}
}
