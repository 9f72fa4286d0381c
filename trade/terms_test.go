package trade_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sallyport/trade"
)

// asked writes a draft in one line: "buy AAPL quantity=10 type=limit limit_price=150 time_in_force=day". A value behind
// an exclamation mark is a bare number or a boolean.
func asked(t testing.TB, line string) trade.Draft {
	t.Helper()
	d := trade.Draft{Account: "paper"}
	words := strings.Fields(line)
	d.Side, d.Symbol = text("side", words[0]), text("symbol", words[1])
	slots := map[string]*trade.Text{
		"quantity": &d.Quantity, "notional": &d.Notional, "type": &d.Type, "limit_price": &d.LimitPrice, "stop_price": &d.StopPrice,
		"time_in_force": &d.TimeInForce, "extended_hours": &d.ExtendedHours, "stop_loss": &d.StopLoss,
		"stop_loss_limit": &d.StopLossLimit, "take_profit": &d.TakeProfit,
	}
	for name, slot := range slots {
		slot.Name = name
	}
	for _, w := range words[2:] {
		name, value, _ := strings.Cut(w, "=")
		slot := slots[name]
		if slot == nil {
			t.Fatalf("%s is no term", name)
		}
		bare, is := strings.CutPrefix(value, "!")
		switch {
		case !is:
			*slot = text(name, value)
		case bare == "true" || bare == "false":
			*slot = trade.Text{Name: name, Value: bare, Kind: trade.IsFlag}
		default:
			*slot = number(name, bare)
		}
	}
	return d
}

// TestParseTakesEveryTermThatABrokerTakes lists orders of all kinds, with what the digest is made of behind the first
// lines that all of them have, and with their words.
//
//fault:f58
func TestParseTakesEveryTermThatABrokerTakes(t *testing.T) {
	for line, want := range map[string][2]string{
		"buy AAPL quantity=10 type=market time_in_force=day": {"quantity=10 unit=shares type=market time_in_force=day", "buy 10 AAPL at market"},
		"sell AAPL quantity=0.5 type=market time_in_force=DAY": {
			"quantity=0.5 unit=shares type=market time_in_force=day", "sell 0.5 AAPL at market",
		},
		"buy AAPL quantity=1.25 type=limit limit_price=150 time_in_force=day extended_hours=!true": {
			"quantity=1.25 unit=shares type=limit limit_price=150 time_in_force=day extended_hours=true", "buy 1.25 AAPL at 150.00, extended hours",
		},
		"buy AAPL notional=250.00 type=market time_in_force=day": {
			"quantity=250 unit=usd type=market time_in_force=day", "buy 250.00 USD of AAPL at market",
		},
		"sell AAPL quantity=10 type=stop stop_price=140 time_in_force=gtc": {
			"quantity=10 unit=shares type=stop stop_price=140 time_in_force=gtc", "sell 10 AAPL stop 140.00, gtc",
		},
		"sell AAPL quantity=10 type=stop_limit stop_price=140 limit_price=139.5 time_in_force=day": {
			"quantity=10 unit=shares type=stop_limit limit_price=139.5 stop_price=140 time_in_force=day", "sell 10 AAPL stop 140.00 limit 139.50",
		},
		"buy AAPL quantity=10 type=stop_limit stop_price=140 limit_price=140 time_in_force=day": {
			"quantity=10 unit=shares type=stop_limit limit_price=140 stop_price=140 time_in_force=day", "buy 10 AAPL stop 140.00 limit 140.00",
		},
		"buy AAPL quantity=10 type=limit limit_price=150 time_in_force=gtc stop_loss=140 stop_loss_limit=139 take_profit=170": {
			"quantity=10 unit=shares type=limit limit_price=150 time_in_force=gtc stop_loss=140 stop_loss_limit=139 take_profit=170",
			"buy 10 AAPL at 150.00, gtc, stop loss 140.00 limit 139.00, take profit 170.00",
		},
		"buy AAPL quantity=10 type=market time_in_force=day take_profit=170": {
			"quantity=10 unit=shares type=market time_in_force=day take_profit=170", "buy 10 AAPL at market, take profit 170.00",
		},
		"buy AAPL quantity=10 type=stop stop_price=150 time_in_force=day stop_loss=149.99": {
			"quantity=10 unit=shares type=stop stop_price=150 time_in_force=day stop_loss=149.99", "buy 10 AAPL stop 150.00, stop loss 149.99",
		},
		"buy AAPL quantity=10 type=market time_in_force=opg": {"quantity=10 unit=shares type=market time_in_force=opg", "buy 10 AAPL at market, opg"},
		"sell AAPL quantity=10 type=limit limit_price=9 time_in_force=cls": {
			"quantity=10 unit=shares type=limit limit_price=9 time_in_force=cls", "sell 10 AAPL at 9.00, cls",
		},
		"buy AAPL quantity=10 type=limit limit_price=9 time_in_force=ioc": {"quantity=10 unit=shares type=limit limit_price=9 time_in_force=ioc", "buy 10 AAPL at 9.00, ioc"},
		"buy AAPL quantity=10 type=limit limit_price=9 time_in_force=FOK extended_hours=!false": {
			"quantity=10 unit=shares type=limit limit_price=9 time_in_force=fok", "buy 10 AAPL at 9.00, fok",
		},
	} {
		o, _, faults := trade.Parse(asked(t, line))
		if len(faults) > 0 {
			t.Errorf("%s: %v", line, faults)
			continue
		}
		hashed := fmt.Sprintf("sallyport order 1\naccount=paper\nasset_class=us_equity\nsymbol=AAPL\nside=%s\n%s\n", o.Side(), strings.ReplaceAll(want[0], " ", "\n"))
		if got := o.Digest(); got != trade.Digest(sha256.Sum256([]byte(hashed))) {
			t.Errorf("%s: the digest is not of\n%s", line, hashed)
		}
		if o.Line() != want[1] {
			t.Errorf("%s: in words %q", line, o.Line())
		}
		if o.IsPlain() {
			t.Errorf("%s is plain", line)
		}
		back, ok := trade.ReadOrder(read(t, o.AppendJSON(nil)))
		if !ok || back.Digest() != o.Digest() {
			t.Errorf("%s does not read back from %s", line, o.AppendJSON(nil))
		}
	}
}

// TestParseRefusesWhatItsTermsContradict lists combinations that brokers refuse, execute at once, or silently change.
//
//attack:trade-fraction
//attack:trade-amount
//attack:trade-time-in-force
//attack:trade-extended-hours
//attack:trade-exits
//fault:f17
//fault:f87
func TestParseRefusesWhatItsTermsContradict(t *testing.T) {
	for line, want := range map[string]string{
		// A price that the type needs, or does not have.
		"buy A quantity=1 type=market limit_price=5 time_in_force=day":                      "PRICE_UNEXPECTED limit_price",
		"buy A quantity=1 type=market limit_price=!5 stop_price=4 time_in_force=day":        "PRICE_UNEXPECTED limit_price, PRICE_UNEXPECTED stop_price",
		"buy A quantity=1 type=market limit_price= time_in_force=day":                       "PRICE_UNEXPECTED limit_price",
		"buy A quantity=1 type=market limit_price=0 time_in_force=day":                      "PRICE_UNEXPECTED limit_price",
		"buy A quantity=1 type=limit limit_price=5 stop_price=5 time_in_force=day":          "PRICE_UNEXPECTED stop_price",
		"sell A quantity=1 type=stop stop_price=5 limit_price=5 time_in_force=day":          "PRICE_UNEXPECTED limit_price",
		"sell A quantity=1 type=stop time_in_force=day":                                     "FIELD_MISSING stop_price",
		"sell A quantity=1 type=stop_limit time_in_force=day":                               "FIELD_MISSING limit_price, FIELD_MISSING stop_price",
		"sell A quantity=1 type=stop_limit limit_price=5 stop_price=0 time_in_force=day":    "PRICE_NOT_POSITIVE stop_price",
		"sell A quantity=1 type=stop_limit limit_price=5 stop_price=-1 time_in_force=day":   "PRICE_MALFORMED stop_price",
		"sell A quantity=1 type=stop_limit limit_price=5 stop_price=1e9 time_in_force=day":  "PRICE_MALFORMED stop_price",
		"sell A quantity=1 type=stop stop_price=!true time_in_force=day":                    "FIELD_TYPE_WRONG stop_price",
		"buy A quantity=1 type=stop_limit stop_price=5 limit_price=4.99 time_in_force=day":  "LIMIT_PRICE_WRONG_SIDE limit_price",
		"sell A quantity=1 type=stop_limit stop_price=5 limit_price=5.01 time_in_force=day": "LIMIT_PRICE_WRONG_SIDE limit_price",
		// How much.
		"buy A type=market time_in_force=day":                                             "FIELD_MISSING quantity",
		"buy A quantity=1 notional=5 type=market time_in_force=day":                       "QUANTITY_AMBIGUOUS notional",
		"buy A quantity=0 notional=0 type=market time_in_force=day":                       "QUANTITY_NOT_POSITIVE quantity, QUANTITY_AMBIGUOUS notional, NOTIONAL_NOT_POSITIVE notional",
		"buy A notional=-5 type=market time_in_force=day":                                 "NOTIONAL_MALFORMED notional",
		"buy A notional=1,000 type=market time_in_force=day":                              "NOTIONAL_MALFORMED notional",
		"buy A notional=!1234567890123456 type=market time_in_force=day":                  "NOTIONAL_MALFORMED notional",
		"buy A notional=0.00 type=market time_in_force=day":                               "NOTIONAL_NOT_POSITIVE notional",
		"buy A notional=!true type=market time_in_force=day":                              "FIELD_TYPE_WRONG notional",
		"sell A notional=5 type=market time_in_force=day":                                 "NOTIONAL_NOT_TAKEN notional",
		"buy A notional=5 type=limit limit_price=5 time_in_force=day":                     "NOTIONAL_NOT_TAKEN notional",
		"buy A notional=5 type=stop stop_price=5 time_in_force=day":                       "NOTIONAL_NOT_TAKEN notional",
		"buy A notional=5 type=market time_in_force=gtc":                                  "NOTIONAL_NOT_TAKEN notional",
		"buy A notional=5 type=market time_in_force=opg":                                  "NOTIONAL_NOT_TAKEN notional",
		"buy A notional=5 type=market time_in_force=day stop_loss=4":                      "NOTIONAL_NOT_TAKEN notional",
		"buy A quantity=1.5 type=market time_in_force=gtc":                                "QUANTITY_FRACTIONAL quantity",
		"buy A quantity=1.5 type=limit limit_price=5 time_in_force=ioc":                   "QUANTITY_FRACTIONAL quantity",
		"buy A quantity=0.000000001 type=stop stop_price=5 time_in_force=day":             "QUANTITY_FRACTIONAL quantity",
		"buy A quantity=1.5 type=stop_limit stop_price=5 limit_price=5 time_in_force=day": "QUANTITY_FRACTIONAL quantity",
		"buy A quantity=1.5 type=market time_in_force=day take_profit=5":                  "QUANTITY_FRACTIONAL quantity",
		// How long.
		"sell A quantity=1 type=stop stop_price=5 time_in_force=ioc":                                     "TIME_IN_FORCE_NOT_TAKEN time_in_force",
		"sell A quantity=1 type=stop stop_price=5 time_in_force=fok":                                     "TIME_IN_FORCE_NOT_TAKEN time_in_force",
		"sell A quantity=1 type=stop stop_price=5 time_in_force=opg":                                     "TIME_IN_FORCE_NOT_TAKEN time_in_force",
		"sell A quantity=1 type=stop_limit stop_price=5 limit_price=5 time_in_force=cls":                 "TIME_IN_FORCE_NOT_TAKEN time_in_force",
		"buy A quantity=1 type=market time_in_force=ioc stop_loss=4":                                     "TIME_IN_FORCE_NOT_TAKEN time_in_force",
		"buy A quantity=1 type=limit limit_price=5 time_in_force=opg take_profit=6":                      "TIME_IN_FORCE_NOT_TAKEN time_in_force",
		"buy A quantity=1 type=market time_in_force=day extended_hours=!true":                            "EXTENDED_HOURS_NOT_TAKEN extended_hours",
		"sell A quantity=1 type=stop stop_price=5 time_in_force=day extended_hours=!true":                "EXTENDED_HOURS_NOT_TAKEN extended_hours",
		"buy A quantity=1 type=limit limit_price=5 time_in_force=ioc extended_hours=!true":               "EXTENDED_HOURS_NOT_TAKEN extended_hours",
		"buy A quantity=1 type=limit limit_price=5 time_in_force=day extended_hours=!true take_profit=6": "EXTENDED_HOURS_NOT_TAKEN extended_hours",
		"buy A quantity=1 type=limit limit_price=5 time_in_force=day extended_hours=true":                "FIELD_TYPE_WRONG extended_hours",
		"buy A quantity=1 type=limit limit_price=5 time_in_force=day extended_hours=!1":                  "FIELD_TYPE_WRONG extended_hours",
		"buy A quantity=1 type=limit limit_price=5 time_in_force=day extended_hours=":                    "FIELD_TYPE_WRONG extended_hours",
		// Exits.
		"sell A quantity=1 type=limit limit_price=5 time_in_force=day stop_loss=6":                    "EXIT_NOT_TAKEN stop_loss",
		"sell A quantity=1 type=market time_in_force=day stop_loss=6 stop_loss_limit=7 take_profit=4": "EXIT_NOT_TAKEN stop_loss, EXIT_NOT_TAKEN stop_loss_limit, EXIT_NOT_TAKEN take_profit",
		"buy A quantity=1 type=limit limit_price=5 time_in_force=day stop_loss=5":                     "EXIT_WRONG_SIDE stop_loss",
		"buy A quantity=1 type=limit limit_price=5 time_in_force=day stop_loss=5.01":                  "EXIT_WRONG_SIDE stop_loss",
		"buy A quantity=1 type=limit limit_price=5 time_in_force=day take_profit=5":                   "EXIT_WRONG_SIDE take_profit",
		"buy A quantity=1 type=limit limit_price=100 time_in_force=day take_profit=90 stop_loss=110":  "EXIT_WRONG_SIDE stop_loss, EXIT_WRONG_SIDE take_profit, EXIT_WRONG_SIDE stop_loss",
		"buy A quantity=1 type=market time_in_force=day take_profit=5 stop_loss=5":                    "EXIT_WRONG_SIDE stop_loss",
		"buy A quantity=1 type=market time_in_force=day stop_loss=5 stop_loss_limit=5.01":             "LIMIT_PRICE_WRONG_SIDE stop_loss_limit",
		"buy A quantity=1 type=market time_in_force=day stop_loss_limit=5":                            "FIELD_MISSING stop_loss",
		"buy A quantity=1 type=stop_limit stop_price=5 limit_price=6 time_in_force=day stop_loss=5":   "EXIT_WRONG_SIDE stop_loss",
		"buy A quantity=1 type=stop_limit stop_price=5 limit_price=6 time_in_force=day take_profit=6": "EXIT_WRONG_SIDE take_profit",
		"buy A quantity=1 type=stop stop_price=5 time_in_force=day stop_loss=5":                       "EXIT_WRONG_SIDE stop_loss",
		"buy A quantity=1 type=limit limit_price=5 time_in_force=day stop_loss=0":                     "PRICE_NOT_POSITIVE stop_loss",
		"buy A quantity=1 type=limit limit_price=5 time_in_force=day take_profit=NaN":                 "PRICE_MALFORMED take_profit",
		"buy A quantity=1 type=limit limit_price=5 time_in_force=day stop_loss=!true":                 "FIELD_TYPE_WRONG stop_loss",
	} {
		o, _, faults := trade.Parse(asked(t, line))
		var got []string
		for _, f := range faults {
			got = append(got, fmt.Sprintf("%s %s", f.Code, f.Field))
			if !strings.Contains(f.Message, f.Field) {
				t.Errorf("%s: the message %q does not name the field", line, f.Message)
			}
		}
		if !slices.Equal(got, strings.Split(want, ", ")) || !o.IsZero() {
			t.Errorf("%s:\ngot  %q\nwant %s", line, got, want)
		}
	}
}

// TestOnlyExtendedHoursMayBeABoolean gives every other field one.
func TestOnlyExtendedHoursMayBeABoolean(t *testing.T) {
	yes := func(name string) trade.Text { return trade.Text{Name: name, Value: "true", Kind: trade.IsFlag} }
	_, _, faults := trade.Parse(trade.Draft{
		Account: "paper", Symbol: yes("a"), Side: yes("b"), Quantity: yes("c"), Type: yes("d"), LimitPrice: yes("e"), TimeInForce: yes("f"),
		ExtendedHours: yes("x"), StopLoss: yes("g"), StopLossLimit: yes("h"), TakeProfit: yes("i"), ClientOrderID: yes("j"), Reason: yes("k"),
	})
	var fields string
	for _, f := range faults {
		if fields += f.Field; f.Code != trade.FieldTypeWrong {
			t.Errorf("%s gets %s", f.Field, f.Code)
		}
	}
	if fields != "abcdefghijk" {
		t.Errorf("the faults are of %s", fields)
	}
}

// drawn draws a draft of any terms, mostly with those that its type takes.
func drawn(t *rapid.T) trade.Draft {
	some := func(name string, often bool, values ...string) trade.Text {
		if odd := rapid.IntRange(0, 9).Draw(t, name+" there") == 7; odd == often {
			return trade.Text{Name: name}
		}
		return text(name, rapid.SampledFrom(values).Draw(t, name))
	}
	typ := rapid.SampledFrom([]string{"limit", "market", "stop", "stop_limit"}).Draw(t, "type")
	shares := rapid.IntRange(0, 3).Draw(t, "shares") != 2
	exits := rapid.IntRange(0, 3).Draw(t, "exits") == 2
	d := trade.Draft{
		Account: "paper", Symbol: text("symbol", "AAPL"), Side: some("side", true, "buy", "buy", "sell"),
		Quantity: some("quantity", shares, "1", "10", "3", "0.5"), Notional: some("notional", !shares, "100", "99.99"), Type: text("type", typ),
		LimitPrice: some("limit_price", strings.Contains(typ, "limit"), "10", "11"), StopPrice: some("stop_price", strings.Contains(typ, "stop"), "10", "11"),
		TimeInForce: some("time_in_force", true, "day", "day", "day", "gtc", "ioc", "fok", "opg", "cls"), StopLoss: some("stop_loss", exits, "9", "10"),
		StopLossLimit: some("stop_loss_limit", exits, "8", "10"), TakeProfit: some("take_profit", exits, "12", "11"),
	}
	d.ExtendedHours.Name = "extended_hours"
	if rapid.IntRange(0, 4).Draw(t, "extended") == 3 {
		d.ExtendedHours = trade.Text{Name: "extended_hours", Value: "true", Kind: trade.IsFlag}
	}
	return d
}

// TestEveryOrderOfAnyTermsReadsBackAndIsOneOfItsKind draws drafts of any terms. An order reads back from its own JSON with
// its own digest, and its terms are those of its type.
func TestEveryOrderOfAnyTermsReadsBackAndIsOneOfItsKind(t *testing.T) {
	made := 0
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn(rt)
		o, _, faults := trade.Parse(d)
		if (len(faults) == 0) == o.IsZero() {
			rt.Fatalf("%+v: faults %v and the order %s", d, faults, o.AppendJSON(nil))
		}
		if o.IsZero() {
			return
		}
		made++
		back, ok := trade.ReadOrder(read(t, o.AppendJSON(nil)))
		if !ok || back.Digest() != o.Digest() || string(back.AppendJSON(nil)) != string(o.AppendJSON(nil)) {
			rt.Fatalf("%s reads back as %s", o.AppendJSON(nil), back.AppendJSON(nil))
		}
		limited, stopped := o.Type() == trade.Limit || o.Type() == trade.StopLimit, o.Type() == trade.Stop || o.Type() == trade.StopLimit
		if limited != (o.LimitPrice().Sign() > 0) || stopped != (o.StopPrice().Sign() > 0) || o.ByAmount() == (o.Quantity().Sign() > 0) {
			rt.Fatalf("%s is no %s order", o.AppendJSON(nil), o.Type())
		}
		if worth, known := o.Notional(); known != (limited || o.ByAmount()) || known != (worth.Sign() > 0) {
			rt.Fatalf("%s is worth %s, %v", o.AppendJSON(nil), worth, known)
		}
	})
	if made == 0 {
		t.Error("no order was made")
	}
}

// TestAnOrderIsNotChangedByWhoeverHasACopy holds the terms that stand apart to being copies.
func TestAnOrderIsNotChangedByWhoeverHasACopy(t *testing.T) {
	d := asked(t, "buy AAPL quantity=10 type=limit limit_price=150 time_in_force=day stop_loss=140")
	o, _, _ := trade.Parse(d)
	before, exit := o.Digest(), o.StopLoss()
	exit.Stop = trade.Whole(1)
	d.StopLoss.Value = "1"
	if o.Digest() != before || o.StopLoss().Stop.String() != "140" || exit.IsZero() {
		t.Error("the order has changed")
	}
}
