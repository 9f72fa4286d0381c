package policy_test

import (
	"fmt"
	"testing"
	"time"

	"sallyport/gatetest"
	"sallyport/policy"
	"sallyport/trade"
)

// TestAnExitOfAnotherKindEscapesNothing: an agent gives its exit a kind that no rule has thought of.
//
//attack:policy-reduction-reach
func TestAnExitOfAnotherKindEscapesNothing(t *testing.T) {
	rule := func(id, match, rest string) string { return `{"id":"` + id + `","match":{` + match + `}` + rest + `}` }
	const day = `"sides":["buy","sell"],"order_types":["limit"],"time_in_force":["day"]`
	limits := `,"require":{"session":"regular"},"limits":{"price_collar_bps":{"deny_above":"300"},"orders_per_minute":{"deny_above":"2"},"similar_orders":{"deny_above":"0","window":"30s"}}`
	aapl := rule("aapl", `"symbols":["AAPL"],`+day, limits)
	for name, c := range map[string]struct {
		rules  string
		symbol string
	}{
		"by its rule":                            {aapl, "AAPL"},
		"by the rule of an agent":                {rule("aapl", `"symbols":["AAPL"],"agents":["other"],`+day, limits), "AAPL"},
		"by every rule, where none is about it":  {aapl, "MSFT"},
		"by every rule, where one only denies":   {aapl + "," + rule("no", `"symbols":["MSFT"]`, `,"effect":"deny"`), "MSFT"},
		"by its rule, although another is wider": {aapl + "," + rule("msft", `"symbols":["MSFT"],`+day, `,"limits":{"order_quantity":{"deny_above":"5"}}`), "AAPL"},
	} {
		b := mustBook(t, `{"version":2,"currency":"USD","timezone":"UTC","quotes":{"sources":["file"],"max_age":"30s","max_spread_bps":"200"},"rules":[`+c.rules+`]}`)
		exit := func(terms map[string]string, edit func(*policy.Situation)) string {
			o := gatetest.Wide(t, "sell", c.symbol, terms)
			f, s := calm()
			f.Position, s.Reduces, s.Instrument = trade.Whole(10), true, instrument(c.symbol)
			s.History = &past{agent: "bot", symbol: c.symbol}
			edit(&s)
			v := b.Evaluate(o, f, s)
			if (v.Effect == policy.Allow) != (len(v.Reasons) == 0) || len(b.Explain(o, f, s).Rows) == 0 {
				t.Errorf("%s: %+v", name, v)
			}
			if ids := b.AppendJudging(nil, o, f, s); len(ids) == 0 {
				t.Errorf("%s: no rule judges it", name)
			}
			words := v.Effect.String()
			for _, r := range v.Reasons {
				words += fmt.Sprintf(" %s", r.Code)
			}
			return words
		}
		for _, kind := range []map[string]string{
			{"quantity": "1", "type": "limit", "limit_price": "99", "time_in_force": "gtc"},
			{"quantity": "1", "type": "stop_limit", "stop_price": "99.98", "limit_price": "99"},
			{"quantity": "1", "type": "limit", "limit_price": "99", "time_in_force": "ioc"},
		} {
			for want, edit := range map[string]func(*policy.Situation){
				"allow":                    func(*policy.Situation) {},
				"deny SESSION_NOT_ALLOWED": func(s *policy.Situation) { s.Session = policy.SessionFact{} },
				"deny ORDERS_PER_MINUTE_EXCEED_LIMIT": func(s *policy.Situation) {
					sent := happened{what: "sent", at: noon.Add(-time.Second), agent: "bot", symbol: c.symbol}
					s.History.(*past).events = []happened{sent, sent}
				},
				"deny SIMILAR_ORDERS_EXCEED_LIMIT": func(s *policy.Situation) {
					s.History.(*past).events = []happened{{what: "similar", at: noon.Add(-time.Second), agent: "bot", symbol: c.symbol}}
				},
			} {
				if got := exit(kind, edit); got != want {
					t.Errorf("%s, %v: %s, want %s", name, kind, got, want)
				}
			}
			cheap := map[string]string{}
			for k, v := range kind {
				cheap[k] = v
			}
			cheap["limit_price"] = "1"
			if got := exit(cheap, func(*policy.Situation) {}); got != "deny PRICE_OUTSIDE_COLLAR" {
				t.Errorf("%s, %v: %s", name, cheap, got)
			}
		}
	}
}
