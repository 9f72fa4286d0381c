package policy_test

import (
	"strings"
	"testing"
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// judged evaluates one buy in a calm situation but for what edit changes, and returns its verdict and codes.
func judged(t *testing.T, b *policy.Rulebook, o trade.Order, edit func(*policy.Facts, *policy.Situation)) (policy.Verdict, string) {
	t.Helper()
	f, s := calm()
	s.Instrument = instrument(o.Symbol().String())
	if edit != nil {
		edit(&f, &s)
	}
	v := b.Evaluate(o, f, s)
	var all []string
	for _, r := range v.Reasons {
		all = append(all, string(r.Code))
	}
	return v, strings.Join(all, " ")
}

// TestFaultTickerThatNobodyNamed: a typing error that is a real ticker, a placeholder, another spelling of a class of shares.
// No rule names it, so it is denied, and no name is put in its place.
//
//fault:f91
//fault:f92
func TestFaultTickerThatNobodyNamed(t *testing.T) {
	one := mustBook(t, strings.Replace(oneLimit(`"order_quantity": {"deny_above": "500"}`), `["AAPL", "MSFT"]`, `["AAPL", "BRK.B"]`, 1))
	old, err := policy.Parse([]byte(`{"max_gross_buy_notional_usd":"10000.00","max_quantity":200,"symbol_allowlist":["AAPL","BRK.B"],` +
		`"order_type_allowlist":["limit"],"side_allowlist":["buy","sell"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for symbol, want := range map[string]policy.Effect{
		"AAPL": policy.Allow, "BRK.B": policy.Allow, "APPL": policy.Deny, "ABCD": policy.Deny, "BRK/B": policy.Deny, "BRK-B": policy.Deny, "BRKB": policy.Deny, "EGY": policy.Deny,
	} {
		o := order(t, "buy", "10", symbol, "100.00")
		v, codes := judged(t, one, o, nil)
		first := old.Evaluate(o, policy.Facts{PositionKnown: true})
		if v.Effect != want || first.Effect != want {
			t.Errorf("%s: %s and %s, want %s", symbol, v.Effect, first.Effect, want)
		}
		if want == policy.Deny && (codes != "NO_RULE_MATCHES" || len(first.Reasons) != 1 || first.Reasons[0].Code != policy.SymbolNotAllowed || first.Reasons[0].Observed != symbol) {
			t.Errorf("%s: %q and %+v", symbol, codes, first.Reasons)
		}
	}
}

// TestFaultBalanceThatIsNotKnown: the balance cannot be read for once. No order that adds risk passes, the kill switch is not
// engaged for it, and once the balance is there again the same order passes.
//
//fault:f07
//fault:f20
//fault:f112
func TestFaultBalanceThatIsNotKnown(t *testing.T) {
	b := mustBook(t, oneLimit(`"drawdown_percent": {"halt_above": "5"}, "leverage": {"deny_above": "1.5"}, "position_equity_percent": {"deny_above": "20"},
		"daily_loss": {"halt_above": "2000.00"}`))
	o := order(t, "buy", "10", "AAPL", "100.00")
	for name, c := range map[string]struct {
		edit func(*policy.Facts, *policy.Situation)
		want string
	}{
		"no equity":      {func(_ *policy.Facts, s *policy.Situation) { s.Equity = policy.Known{} }, "EQUITY_UNAVAILABLE"},
		"no peak":        {func(_ *policy.Facts, s *policy.Situation) { s.Peak = policy.Known{} }, "EQUITY_UNAVAILABLE"},
		"a peak of zero": {func(_ *policy.Facts, s *policy.Situation) { s.Peak = known("0") }, "EQUITY_UNAVAILABLE"},
		"no loss":        {func(_ *policy.Facts, s *policy.Situation) { s.DayLoss = policy.Known{} }, "LOSS_UNAVAILABLE"},
		"no position":    {func(_ *policy.Facts, s *policy.Situation) { s.SymbolLong = policy.Known{} }, "EXPOSURE_UNAVAILABLE"},
		"no exposure":    {func(_ *policy.Facts, s *policy.Situation) { s.Gross = policy.Known{} }, "EXPOSURE_UNAVAILABLE"},
	} {
		v, codes := judged(t, b, o, c.edit)
		if v.Effect != policy.Deny || len(v.Halts) != 0 || !strings.Contains(codes, c.want) {
			t.Errorf("%s: %s %q, %d halts; want %s and no halt", name, v.Effect, codes, len(v.Halts), c.want)
		}
		if v, codes := judged(t, b, o, nil); v.Effect != policy.Allow {
			t.Errorf("after %s: %s %q", name, v.Effect, codes)
		}
	}
}

// TestFaultPriceThatIsNotKnown: no quote, one that is weeks old, one from the future, a crossed one. Whatever needs a price
// denies, and nothing is valued at the price that the caller names alone.
//
//fault:f105
func TestFaultPriceThatIsNotKnown(t *testing.T) {
	o := order(t, "buy", "10", "AAPL", "100.00")
	for _, limit := range []string{
		`"order_notional": {"deny_above": "10000.00"}`, `"price_collar_bps": {"deny_above": "300"}`, `"notional_per_day": {"deny_above": "50000.00"}`,
		`"position_notional": {"deny_above": "40000.00"}`, `"gross_exposure": {"deny_above": "100000.00"}`, `"net_exposure": {"deny_above": "60000.00"}`,
		`"leverage": {"deny_above": "1.5"}`, `"position_equity_percent": {"deny_above": "20"}`,
	} {
		b := mustBook(t, oneLimit(limit))
		for name, c := range map[string]struct {
			edit func(*policy.Facts, *policy.Situation)
			want string
		}{
			"none":             {func(_ *policy.Facts, s *policy.Situation) { s.Quote = policy.QuoteFact{Code: "QUOTE_UNAVAILABLE"} }, "QUOTE_UNAVAILABLE"},
			"forty days old":   {func(_ *policy.Facts, s *policy.Situation) { s.Quote.Age = 40 * 24 * time.Hour }, "QUOTE_STALE"},
			"31 seconds old":   {func(_ *policy.Facts, s *policy.Situation) { s.Quote.Age = 31 * time.Second }, "QUOTE_STALE"},
			"from the future":  {func(_ *policy.Facts, s *policy.Situation) { s.Quote.Age = -time.Second }, "QUOTE_UNAVAILABLE"},
			"crossed":          {func(_ *policy.Facts, s *policy.Situation) { s.Quote.Bid = dec("100.01") }, "QUOTE_CROSSED"},
			"sources disagree": {func(_ *policy.Facts, s *policy.Situation) { s.Quote.Code = "QUOTES_DISAGREE" }, "QUOTES_DISAGREE"},
		} {
			if v, codes := judged(t, b, o, c.edit); v.Effect != policy.Deny || codes != c.want || len(v.Halts) != 0 {
				t.Errorf("%s, %s: %s %q; want %s", limit, name, v.Effect, codes, c.want)
			}
		}
	}
}

// TestFaultNothingMeansEverything: a bound of zero lets nothing pass, and nothing says unlimited.
//
//fault:f118
func TestFaultNothingMeansEverything(t *testing.T) {
	o := order(t, "buy", "1", "AAPL", "100.00")
	for _, limit := range []string{"order_quantity", "order_notional", "orders_per_minute", "orders_per_day", "notional_per_day", "position_quantity", "gross_exposure", "open_orders"} {
		if v, codes := judged(t, mustBook(t, oneLimit(`"`+limit+`": {"deny_above": "0"}`)), o, nil); v.Effect != policy.Deny {
			t.Errorf("%s of zero: %s %q", limit, v.Effect, codes)
		}
		for _, bound := range []string{`{"deny_above": "unlimited"}`, `{"deny_above": "none"}`, `{"deny_above": "-1"}`, `{"deny_above": null}`, `{"deny_above": ""}`, `{}`, `null`} {
			if _, err := policy.ParseV2([]byte(oneLimit(`"`+limit+`": `+bound)), policy.World{}); err == nil {
				t.Errorf("%s: %s is a policy", limit, bound)
			}
		}
	}
	for _, match := range []string{`"symbols": []`, `"symbols": ["AAPL"], "sides": []`, `"symbols": ["AAPL"], "agents": []`, `"symbols": ["AAPL"], "order_types": []`} {
		raw := strings.Replace(oneLimit(`"order_quantity": {"deny_above": "1"}`), `"symbols": ["AAPL", "MSFT"]`, match, 1)
		if _, err := policy.ParseV2([]byte(raw), policy.World{}); err == nil {
			t.Errorf("%s is a policy", match)
		}
	}
	old := `{"max_gross_buy_notional_usd":"0","max_quantity":0,"symbol_allowlist":["AAPL"],"order_type_allowlist":["limit"],"side_allowlist":["buy"]}`
	p, err := policy.Parse([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Evaluate(o, policy.Facts{PositionKnown: true}); v.Effect != policy.Deny || len(v.Reasons) != 2 {
		t.Errorf("bounds of zero of version 1: %+v", v)
	}
}

// listed puts an instrument into a situation.
func listed(symbol string, edit func(*trade.Instrument)) func(*policy.Facts, *policy.Situation) {
	return func(_ *policy.Facts, s *policy.Situation) {
		sym, ok := trade.ParseSymbol(symbol)
		if !ok {
			panic(symbol)
		}
		i := trade.USEquity(sym)
		edit(&i)
		s.Instrument = policy.InstrumentFact{Instrument: i}
	}
}

// TestFaultSizeOfAContract: five contracts at 3 are 1,500, since each is for a hundred, and one lot of a currency is a
// hundred thousand. What one is, and what it is priced in, is never guessed.
//
//fault:f82
//fault:f83
func TestFaultSizeOfAContract(t *testing.T) {
	contract := func(multiplier string) func(*trade.Instrument) {
		return func(i *trade.Instrument) { i.Multiplier = dec(multiplier) }
	}
	for name, c := range map[string]struct {
		order [3]string // quantity, symbol, price
		is    func(*trade.Instrument)
		want  string
	}{
		"shares":            {[3]string{"5", "AAPL", "3.00"}, contract("1"), ""},
		"contracts":         {[3]string{"5", "AAPL", "3.00"}, contract("100"), "NOTIONAL_EXCEEDS_LIMIT 1500.00"},
		"at the bound":      {[3]string{"4", "AAPL", "3.00"}, contract("100"), ""},
		"a lot":             {[3]string{"1", "MSFT", "1.10"}, contract("100000"), "NOTIONAL_EXCEEDS_LIMIT 110000.00"},
		"no multiplier":     {[3]string{"1", "AAPL", "3.00"}, contract("0"), "INSTRUMENT_UNAVAILABLE AAPL"},
		"another currency":  {[3]string{"1", "AAPL", "3.00"}, func(i *trade.Instrument) { i.Currency = "JPY" }, "CURRENCY_NOT_ALLOWED JPY"},
		"another class":     {[3]string{"1", "AAPL", "3.00"}, func(i *trade.Instrument) { i.AssetClass = "us_option" }, "ASSET_CLASS_NOT_ALLOWED us_equity"},
		"of another symbol": {[3]string{"1", "AAPL", "3.00"}, func(i *trade.Instrument) { i.Symbol = trade.Symbol{} }, "INSTRUMENT_UNAVAILABLE AAPL"},
	} {
		b := mustBook(t, oneLimit(`"order_notional": {"deny_above": "1200.00"}`))
		v, _ := judged(t, b, order(t, "buy", c.order[0], c.order[1], c.order[2]), func(f *policy.Facts, s *policy.Situation) {
			listed(c.order[1], c.is)(f, s)
			s.Quote = policy.QuoteFact{Bid: dec(c.order[2]), Ask: dec(c.order[2]), Last: dec(c.order[2])}
		})
		got := ""
		if len(v.Reasons) > 0 {
			got = string(v.Reasons[0].Code) + " " + v.Reasons[0].Observed
		}
		if got != c.want || (v.Effect == policy.Allow) != (c.want == "") {
			t.Errorf("%s: %s %q, want %q", name, v.Effect, got, c.want)
		}
	}
}

// TestFaultBetweenTwoSteps: a price between two ticks and a quantity between two lots are denied with both neighbours, and
// nothing is rounded.
//
//fault:f102
//fault:f104
func TestFaultBetweenTwoSteps(t *testing.T) {
	b := mustBook(t, oneLimit(`"order_quantity": {"deny_above": "500"}`))
	hundreds := func(i *trade.Instrument) { i.Lot, i.Minimum = trade.NewUnit(dec("100")), dec("100") }
	for _, c := range []struct {
		quantity, price string
		is              func(*trade.Instrument)
		code            trade.Code
		neighbours      string
	}{
		{"1", "41.08", func(*trade.Instrument) {}, "", ""},
		{"1", "41.085", func(*trade.Instrument) {}, policy.PriceOffTick, "beside it are 41.08 and 41.09"},
		{"100", "41.08", hundreds, "", ""},
		{"150", "41.08", hundreds, policy.QuantityOffLot, "beside it are 100 and 200"},
		{"99", "41.08", hundreds, policy.QuantityOffLot, "the least is 100"},
	} {
		v, _ := judged(t, b, order(t, "buy", c.quantity, "AAPL", c.price), listed("AAPL", c.is))
		if (v.Effect == policy.Allow) != (c.code == "") {
			t.Errorf("%s at %s: %+v", c.quantity, c.price, v)
		} else if c.code != "" && (v.Reasons[0].Code != c.code || !strings.HasSuffix(v.Reasons[0].Message, c.neighbours)) {
			t.Errorf("%s at %s: %+v", c.quantity, c.price, v.Reasons)
		}
	}
}
