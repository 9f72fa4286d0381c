package gate_test

import (
	"fmt"
	"testing"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/policy"
	"sallyport/trade"
)

// checker returns a checker on the present state, which goes by what the venue holds.
func (d *room) checker(t testing.TB, raw []byte) *gate.Checker {
	t.Helper()
	c, err := d.Checker(ctx, raw)
	if err != nil {
		t.Fatal(err)
	}
	h, err := d.cfg.Broker.Holdings(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c.Believe(h)
	return c
}

// TestExplanationIsWhatIsDecided explains orders of every kind before they are sent: what is said then is decided, the
// rows have the same codes, and nothing of it is on record.
func TestExplanationIsWhatIsDecided(t *testing.T) {
	d := newRoom(t, book(`"order_quantity": {"hold_above": "20", "deny_above": "50"}, "gross_exposure": {"deny_above": "3000"},
		"position_equity_percent": {"deny_above": "2"}, "orders_per_day": {"deny_above": "6"}, "similar_orders": {"deny_above": "1", "window": "10s"}`))
	for _, x := range [][4]string{
		{"buy", "AAPL", "10", "100.10"}, {"buy", "AAPL", "51", "100.10"}, {"buy", "AAPL", "10", "100.10"}, {"buy", "AAPL", "10", "100.10"},
		{"sell", "AAPL", "5", "100"}, {"sell", "AAPL", "500", "100"}, {"buy", "MSFT", "21", "50.05"}, {"buy", "TSLA", "1", "1"},
		{"buy", "MSFT", "1", "50.05"}, {"buy", "MSFT", "2", "50.05"}, {"buy", "MSFT", "3", "50.05"}, {"buy", "MSFT", "4", "50.05"},
	} {
		before := len(events(t, d.Gate))
		order := call(t, x[0], x[1], x[2], x[3])
		e := d.checker(t, nil).Explain(order)
		if after := len(events(t, d.Gate)); after != before {
			t.Fatalf("%v: explaining it made %d records", x, after-before)
		}
		got := d.Execute(ctx, order)
		if said(e.Decision) != said(got) {
			t.Errorf("%v: said %s, decided %s", x, said(e.Decision), said(got))
		}
		rows := map[trade.Code]bool{}
		for _, r := range e.Explanation.Rows {
			rows[r.Code] = true
		}
		for _, r := range got.Reasons {
			if r.Rule != "" && !rows[r.Code] {
				t.Errorf("%v: no row says %s: %+v", x, r.Code, e.Explanation.Rows)
			}
		}
	}
}

// TestHeadroomIsWhatPasses sends the quantity that headroom says, and one more.
func TestHeadroomIsWhatPasses(t *testing.T) {
	for _, version := range []string{openPolicy, book(`"order_notional": {"deny_above": "2345"}, "gross_exposure": {"deny_above": "3000"}`)} {
		d := newRoom(t, version)
		d.want(t, "buy AAPL 7@100.10", "allow")
		sym := gatetest.Symbol("AAPL")
		for _, r := range d.checker(t, nil).Headroom("local", "paper", sym) {
			ask := func(q trade.Decimal) policy.Effect {
				return d.checker(t, nil).Check(call(t, r.Side.String(), "AAPL", q.String(), r.Price.String())).Verdict
			}
			if r.Policy.Most.Sign() <= 0 || len(r.Policy.Binds) == 0 && !r.Policy.Unbounded {
				t.Fatalf("%+v", r)
			}
			if ask(r.Policy.Most) != policy.Allow || !r.Policy.Unbounded && ask(r.Policy.Most.Add(trade.Whole(1))) == policy.Allow {
				t.Errorf("%s of %s is not all that passes: %+v", r.Side, r.Policy.Most, r.Policy.Binds)
			}
		}
		d.x.remove("AAPL")
		if r := d.checker(t, nil).Headroom("local", "paper", sym)[0]; r.Policy.Most.Sign() != 0 || r.Policy.Binds[0].Code != policy.QuoteUnavailable {
			t.Errorf("without a quote: %+v", r)
		}
	}
}

// TestExplanationSaysWhatNoPolicySays: faults, stops, and a policy that is not in force.
func TestExplanationSaysWhatNoPolicySays(t *testing.T) {
	d := newRoom(t, book(`"order_quantity": {"deny_above": "50"}`))
	if e := d.checker(t, []byte("{}")).Explain(call(t, "buy", "AAPL", "1", "100")); said(e.Decision) != "deny POLICY_INVALID" || len(e.Explanation.Rows) != 0 {
		t.Errorf("%s %+v", said(e.Decision), e.Explanation)
	}
	if r := d.checker(t, []byte("{}")).Headroom("local", "paper", trade.Symbol{})[0]; r.Policy.Binds[0].Code != policy.PolicyInvalid {
		t.Errorf("%+v", r)
	}
	faulty := call(t, "buy", "AAPL", "1", "100")
	faulty.Order, faulty.Faults = trade.Order{}, []trade.Fault{{Code: trade.FieldMissing, Field: "symbol"}}
	if e := d.checker(t, nil).Explain(faulty); said(e.Decision) != "deny FIELD_MISSING" || len(e.Explanation.Rows) != 0 {
		t.Errorf("%s %+v", said(e.Decision), e.Explanation)
	}
	c := d.checker(t, nil)
	if stops := c.Stops(); len(stops) != 0 {
		t.Errorf("%v", stops)
	}
	if held := fmt.Sprint(c.Held("paper")); held != "[]" {
		t.Error(held)
	}
}

// TestEmptyAccountHasItsCash: without a data directory equity is what the venue would begin with.
func TestEmptyAccountHasItsCash(t *testing.T) {
	d := newRoom(t, book(`"order_quantity": {"deny_above": "50"}`))
	raw := []byte(book(`"position_equity_percent": {"deny_above": "1"}`))
	c := gate.EmptyChecker(gate.Config{Now: d.cfg.Now, Market: d.x}, raw)
	if got := said(c.Check(call(t, "buy", "AAPL", "10", "100"))); got != "deny EQUITY_UNAVAILABLE" {
		t.Error(got)
	}
	c.Believe(gate.Holdings{Cash: dec("100100")})
	for quantity, want := range map[string]string{"10": "allow", "11": "deny POSITION_EQUITY_PERCENT_EXCEEDS_LIMIT"} {
		if got := said(c.Check(call(t, "buy", "AAPL", quantity, "100"))); got != want {
			t.Errorf("%s: %s", quantity, got)
		}
	}
	if e := c.Explain(gate.Call{}); e.Decision.Verdict != policy.Deny {
		t.Errorf("%+v", e)
	}
}
