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

func TestExplainShowsEveryLimitOfTheExample(t *testing.T) {
	b := example(t)
	f, s := calm()
	s.Gross, s.History.(*past).events = known("149000"), []happened{{what: "similar", at: noon}}
	e := b.Explain(order(t, "buy", "30", "AAPL", "101.00"), f, s)
	got := string(e.AppendTable(nil))
	want := `RULE            LIMIT                    VALUE            BOUND             HEADROOM        EFFECT
large-caps      session                                   regular                           allow
large-caps      order_quantity           30               deny 200          170             allow
large-caps      order_notional           3030.00          hold 2500.00      -530.00         hold
large-caps      price_collar_bps         100              hold 100          0               allow
large-caps      orders_per_minute        1 agent          deny 10           9               allow
large-caps      orders_per_day           1 agent          deny 20           19              allow
large-caps      notional_per_day         3030.00 account  deny 50000.00     46970.00        allow
large-caps      similar_orders           1                hold 0            -1              hold
large-caps      position_quantity        30               deny 500          470             allow
large-caps      position_notional        3030.00          deny 40000.00     36970.00        allow
large-caps      position_equity_percent  3.03             deny 20           16.97           allow
large-caps      gross_exposure           152030.00        deny 100000.00    -52030.00       deny
large-caps      net_exposure             3030.00          deny 60000.00     56970.00        allow
large-caps      leverage                 1.5203           deny 1.5          -0.0203         deny
large-caps      open_orders              1                deny 10           9               allow
large-caps      risk_per_order                                                              off
large-caps      stop_distance_bps                                                           off
large-caps      daily_loss               0.00             halt 2000.00      2000.00         allow
large-caps      drawdown_percent         0                halt 5            5               allow
large-caps      consecutive_losses       0                hold 3            3               allow
large-caps      broker_rejections        0 account        halt 4            4               allow
large-caps      denials_per_minute       0 agent          halt 20           20              allow

verdict: deny
  NOTIONAL_EXCEEDS_LIMIT
    order_notional is 3030.00, above 2500.00, so a person must decide (rule large-caps)
  SIMILAR_ORDERS_EXCEED_LIMIT
    similar_orders in 30 s is 1, above 0, so a person must decide (rule large-caps)
  GROSS_EXPOSURE_EXCEEDS_LIMIT
    gross_exposure is 152030.00, above 100000.00 (rule large-caps)
  LEVERAGE_EXCEEDS_LIMIT
    leverage is 1.5203, above 1.5 (rule large-caps)
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestExplainTellsReductionsDenialsAndWhatIsMissing(t *testing.T) {
	b := example(t)
	f, s := calm()
	f.Position, s.Reduces, s.Quote.Code, s.Session.Code = dec("10"), true, policy.QuotesDisagree, policy.CalendarUnavailable
	effects := map[string]string{}
	for _, r := range b.Explain(order(t, "sell", "10", "AAPL", "100"), f, s).Rows {
		effects[r.Limit] = r.Effect + " " + string(r.Code)
	}
	for limit, want := range map[string]string{
		"session": "deny CALENDAR_UNAVAILABLE", "order_quantity": "exempt ", "daily_loss": "exempt ",
		"price_collar_bps": "deny QUOTES_DISAGREE", "similar_orders": "allow ", "risk_per_order": "exempt ",
	} {
		if effects[limit] != want {
			t.Errorf("%s: %q, not %q", limit, effects[limit], want)
		}
	}
	if rows := b.Explain(order(t, "buy", "1", "GME", "1"), f, s).Rows; len(rows) != 1 || rows[0].Code != policy.DeniedByRule {
		t.Errorf("%+v", rows)
	}
	if rows := b.Explain(order(t, "buy", "1", "X", "1"), f, s).Rows; len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
	s.History = (*past)(nil)
	for _, r := range b.Explain(order(t, "buy", "1", "AAPL", "1"), f, s).Rows {
		if r.Limit == "orders_per_minute" && (r.Effect != "deny" || r.Code != policy.InternalError) {
			t.Errorf("%+v", r)
		}
	}
	var none *policy.Rulebook
	if e := none.Explain(order(t, "buy", "1", "X", "1"), f, s); e.Verdict.Effect != policy.Deny || len(e.Rows) != 0 {
		t.Errorf("%+v", e)
	}
}

// TestExplainAgreesWithTheVerdict: the strictest effect of the rows is that of the verdict, and the table fits.
func TestExplainAgreesWithTheVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, b := drawBook(t)
		o, f, s := drawCase(t)
		e := b.Explain(o, f, s)
		codes := map[string]bool{}
		for _, r := range e.Verdict.Reasons {
			codes[fmt.Sprint(r.Rule, r.Field, r.Code)] = true
		}
		for _, r := range e.Rows {
			if stopped := r.Effect == "hold" || r.Effect == "deny" || r.Effect == "halt"; stopped != codes[fmt.Sprint(r.Rule, r.Limit, r.Code)] {
				t.Fatalf("%s: the row %+v, and the reasons %+v", p.file(), r, e.Verdict.Reasons)
			}
			if negative := strings.HasPrefix(r.Headroom, "-"); r.Headroom != "none" && negative != (r.Code != "" && r.Headroom != "") {
				t.Fatalf("the row %+v", r)
			}
		}
		table, _, _ := strings.Cut(string(e.AppendTable(nil)), "\n\n")
		for line := range strings.Lines(table) {
			if utf8.RuneCountInString(line) > 101 {
				t.Fatalf("a line of %d columns: %s", utf8.RuneCountInString(line)-1, line)
			}
		}
	})
}

func TestHeadroomIsWhatPasses(t *testing.T) {
	b := example(t)
	f, s := calm()
	f.Position = dec("30")
	q := s.Quote
	aapl := order(t, "buy", "1", "AAPL", "1").Symbol()
	buy, ok := policy.AtQuote("paper", aapl, trade.Buy, q)
	if !ok || buy.LimitPrice().String() != "100" {
		t.Fatalf("%v", buy)
	}
	room := b.Headroom(buy, f, s)
	if room.Most.String() != "25" || room.Unbounded || len(room.Binds) != 1 || room.Binds[0].Field != "order_notional" || !room.Binds[0].Hold {
		t.Errorf("%+v", room)
	}
	sell, _ := policy.AtQuote("paper", aapl, trade.Sell, q)
	s.Reduces = true
	if room := b.Headroom(sell, f, s); sell.LimitPrice().String() != "99.99" || room.Most.String() != "30" || room.Binds[0].Code != policy.PositionFlip {
		t.Errorf("%+v", room)
	}
	s.Session.Regular = false
	if room := b.Headroom(buy, f, s); room.Most.Sign() != 0 || room.Binds[0].Code != policy.SessionNotAllowed {
		t.Errorf("%+v", room)
	}
	free := mustBook(t, oneLimit(`"orders_per_minute": {"deny_above": "5"}`))
	if room := free.Headroom(buy, f, s); !room.Unbounded || room.Most.String() != "999999999999" {
		t.Errorf("%+v", room)
	}
	if _, ok := policy.AtQuote("paper", aapl, trade.Buy, policy.QuoteFact{}); ok {
		t.Error("an order at no price")
	}
	var none *policy.Rulebook
	if room := none.Headroom(buy, f, s); room.Most.Sign() != 0 || len(room.Binds) != 1 {
		t.Errorf("%+v", room)
	}
}
