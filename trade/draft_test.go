package trade_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sallyport/trade"
)

// with returns a valid draft, one field of which is another.
func with(change func(d *trade.Draft)) trade.Draft {
	d := draft("buy", "10", "AAPL", "150.25")
	change(&d)
	return d
}

func number(name, literal string) trade.Text {
	return trade.Text{Name: name, Value: literal, Kind: trade.IsNumber}
}

func TestParseNamesEachFault(t *testing.T) {
	quantity := func(v trade.Text) trade.Draft { return with(func(d *trade.Draft) { d.Quantity = v }) }
	price := func(v trade.Text) trade.Draft { return with(func(d *trade.Draft) { d.LimitPrice = v }) }
	for name, c := range map[string]struct {
		draft trade.Draft
		want  string // code and field, as the caller named it
	}{
		"symbol absent":            {with(func(d *trade.Draft) { d.Symbol = trade.Text{Name: "ticker"} }), "FIELD_MISSING ticker"},
		"symbol a number":          {with(func(d *trade.Draft) { d.Symbol = number("ticker", "5") }), "FIELD_TYPE_WRONG ticker"},
		"symbol empty":             {with(func(d *trade.Draft) { d.Symbol = text("symbol", "") }), "SYMBOL_MALFORMED symbol"},
		"symbol look-alike":        {with(func(d *trade.Draft) { d.Symbol = text("symbol", "АAPL") }), "SYMBOL_MALFORMED symbol"},
		"symbol padded":            {with(func(d *trade.Draft) { d.Symbol = text("symbol", " AAPL") }), "SYMBOL_MALFORMED symbol"},
		"side absent":              {with(func(d *trade.Draft) { d.Side = trade.Text{Name: "direction"} }), "FIELD_MISSING direction"},
		"side unknown":             {with(func(d *trade.Draft) { d.Side = text("side", "short") }), "SIDE_UNKNOWN side"},
		"side a number":            {with(func(d *trade.Draft) { d.Side = number("side", "1") }), "FIELD_TYPE_WRONG side"},
		"quantity absent":          {quantity(trade.Text{Name: "qty"}), "FIELD_MISSING qty"},
		"quantity zero":            {quantity(text("qty", "0")), "QUANTITY_NOT_POSITIVE qty"},
		"quantity zero, long":      {quantity(text("qty", "0.000000000")), "QUANTITY_NOT_POSITIVE qty"},
		"quantity zero, bare":      {quantity(number("qty", "0")), "QUANTITY_NOT_POSITIVE qty"},
		"quantity negative":        {quantity(text("qty", "-5")), "QUANTITY_MALFORMED qty"},
		"quantity negative, bare":  {quantity(number("qty", "-5")), "QUANTITY_MALFORMED qty"},
		"quantity negative zero":   {quantity(number("qty", "-0")), "QUANTITY_MALFORMED qty"},
		"quantity with exponent":   {quantity(number("qty", "1e3")), "QUANTITY_MALFORMED qty"},
		"quantity too precise":     {quantity(number("qty", "1234567890123456")), "QUANTITY_MALFORMED qty"},
		"quantity 13 digits":       {quantity(text("qty", "1000000000000")), "QUANTITY_MALFORMED qty"},
		"quantity with comma":      {quantity(text("qty", "1,000")), "QUANTITY_MALFORMED qty"},
		"type absent":              {with(func(d *trade.Draft) { d.Type = trade.Text{Name: "order_type"} }), "FIELD_MISSING order_type"},
		"type market":              {with(func(d *trade.Draft) { d.Type = text("order_type", "market") }), "PRICE_UNEXPECTED limit_price"},
		"type trailing_stop":       {with(func(d *trade.Draft) { d.Type = text("order_type", "trailing_stop") }), "ORDER_TYPE_UNKNOWN order_type"},
		"type stop-limit":          {with(func(d *trade.Draft) { d.Type = text("order_type", "stop-limit") }), "ORDER_TYPE_UNKNOWN order_type"},
		"type none":                {with(func(d *trade.Draft) { d.Type = text("order_type", "none") }), "ORDER_TYPE_UNKNOWN order_type"},
		"price absent":             {price(trade.Text{Name: "price"}), "FIELD_MISSING price"},
		"price zero":               {price(text("price", "0.00")), "PRICE_NOT_POSITIVE price"},
		"price NaN":                {price(text("price", "NaN")), "PRICE_MALFORMED price"},
		"price infinite":           {price(text("price", "Infinity")), "PRICE_MALFORMED price"},
		"price with decimal comma": {price(text("price", "1.000,50")), "PRICE_MALFORMED price"},
		"price 10 places":          {price(text("price", "1.0000000001")), "PRICE_MALFORMED price"},
		"price too precise":        {price(number("price", "123456789.1234567")), "PRICE_MALFORMED price"},
		"time in force absent":     {with(func(d *trade.Draft) { d.TimeInForce = trade.Text{Name: "tif"} }), "FIELD_MISSING tif"},
		"time in force gtd":        {with(func(d *trade.Draft) { d.TimeInForce = text("tif", "gtd") }), "TIME_IN_FORCE_UNKNOWN tif"},
		"id empty":                 {with(func(d *trade.Draft) { d.ClientOrderID = text("id", "") }), "CLIENT_ORDER_ID_MALFORMED id"},
		"id long":                  {with(func(d *trade.Draft) { d.ClientOrderID = text("id", strings.Repeat("a", 129)) }), "CLIENT_ORDER_ID_MALFORMED id"},
		"id a number":              {with(func(d *trade.Draft) { d.ClientOrderID = number("id", "1") }), "FIELD_TYPE_WRONG id"},
		"reason long":              {with(func(d *trade.Draft) { d.Reason = text("reason", strings.Repeat("é", 2001)) }), "REASON_TOO_LONG reason"},
		"reason a number":          {with(func(d *trade.Draft) { d.Reason = number("reason", "1") }), "FIELD_TYPE_WRONG reason"},
	} {
		o, tags, faults := trade.Parse(c.draft)
		var got []string
		for _, f := range faults {
			got = append(got, fmt.Sprintf("%s %s", f.Code, f.Field))
			if f.Message == "" || !strings.Contains(f.Message, f.Field) {
				t.Errorf("%s: the message %q does not name the field", name, f.Message)
			}
		}
		if !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: faults %q, want %s", name, got, c.want)
		}
		if !o.IsZero() || tags != (trade.Tags{}) {
			t.Errorf("%s: an order comes with the fault", name)
		}
	}
}

func TestParseReportsAllFaultsInTheOrderOfTheDraft(t *testing.T) {
	d := trade.Draft{
		Account: "paper", Symbol: text("a", "?"), Side: text("b", "?"), Quantity: text("c", "?"), Type: text("d", "?"), LimitPrice: text("e", "?"),
		TimeInForce: text("f", "?"), ClientOrderID: text("g", "?"), Reason: text("h", strings.Repeat("x", 3000)),
	}
	_, _, faults := trade.Parse(d)
	var fields []string
	for _, f := range faults {
		fields = append(fields, f.Field)
	}
	if got := strings.Join(fields, ""); got != "abcdefgh" {
		t.Errorf("the faults are of %s", got)
	}
	_, _, faults = trade.Parse(trade.Draft{Account: "paper"})
	if len(faults) != 6 {
		t.Errorf("an empty draft has %d faults: %v", len(faults), faults)
	}
}

func TestParseSaysNothingTwiceOfAWrongType(t *testing.T) {
	wrong := func(name string) trade.Text { return trade.Text{Name: name, Kind: trade.IsWrong} }
	o, _, faults := trade.Parse(trade.Draft{
		Account: "paper", Symbol: wrong("a"), Side: wrong("b"), Quantity: wrong("c"), Type: wrong("d"), LimitPrice: wrong("e"), TimeInForce: wrong("f"),
		ClientOrderID: wrong("g"), Reason: wrong("h"),
	})
	if len(faults) != 0 {
		t.Errorf("reported again: %v", faults)
	}
	if o.Quantity().Sign() != 0 || o.Side() != trade.NoSide || !o.IsZero() {
		t.Errorf("wrong types make an order: %s", o.AppendJSON(nil))
	}
}

func TestParseTakesBareNumbersAndWholeFractions(t *testing.T) {
	d := draft("buy", "", "AAPL", "")
	d.Quantity, d.LimitPrice = number("q", "10.0"), number("p", "150.25")
	o, _, faults := trade.Parse(d)
	if len(faults) > 0 || o.Quantity().String() != "10" || o.LimitPrice().String() != "150.25" {
		t.Errorf("%s %v", o.AppendJSON(nil), faults)
	}
}

//attack:trade-reason
func TestReasonHasAtMost2000Characters(t *testing.T) {
	for n, want := range map[int]bool{0: true, 1: true, 1999: true, 2000: true, 2001: false, 60_000: false} {
		for _, c := range []string{"a", "é", "\U0001f600", "\u202e"} {
			reason := strings.Repeat(c, n)
			_, tags, faults := trade.Parse(with(func(d *trade.Draft) { d.Reason = text("reason", reason) }))
			if (len(faults) == 0) != want || want && tags.Reason != reason {
				t.Errorf("%d of %q: %v", n, c, faults)
			}
		}
	}
}

func TestFaultsShowHostileTextHarmlessly(t *testing.T) {
	for value, want := range map[string]string{
		"АAPL":                   "U+0410 in it is not ASCII",
		"AA\u200bPL":             `AA\u200bPL`,
		"\x1b[2J\u202eAAPL":      `\u001b[2J\u202eAAPL`,
		"A\nB":                   `A\nB`,
		strings.Repeat("A", 999): strings.Repeat("A", 63) + "…",
	} {
		_, _, faults := trade.Parse(with(func(d *trade.Draft) { d.Symbol = text("symbol", value) }))
		if len(faults) != 1 || !strings.Contains(faults[0].Message, want) || strings.ContainsAny(faults[0].Message+faults[0].Observed, "\n\x1b\u202e\u200b") {
			t.Errorf("%q: %+v", value, faults)
		}
	}
}

func TestFaultCodesArePublishedOnceEach(t *testing.T) {
	seen := map[trade.Code]bool{}
	for _, row := range trade.FaultCodes() {
		if seen[row.Code] || row.Meaning == "" || row.Repair == "" {
			t.Errorf("the row of %s is doubled or incomplete", row.Code)
		}
		seen[row.Code] = true
	}
	for _, c := range []trade.Code{
		trade.JSONMalformed, trade.BodyTooLarge, trade.FieldUnknown, trade.FieldMissing, trade.FieldDuplicate, trade.FieldTypeWrong,
		trade.SymbolMalformed, trade.SideUnknown, trade.QuantityMalformed, trade.QuantityNotPositive, trade.QuantityFractional,
		trade.OrderTypeUnknown, trade.TimeInForceUnknown, trade.PriceMalformed, trade.PriceNotPositive, trade.PriceMissing,
		trade.PriceUnexpected, trade.LimitPriceWrongSide, trade.ExitWrongSide, trade.ExitNotTaken, trade.QuantityAmbiguous,
		trade.NotionalMalformed, trade.NotionalNotPositive, trade.NotionalNotTaken, trade.TimeInForceNotTaken,
		trade.ExtendedHoursNotTaken, trade.ClientOrderIDMalformed, trade.ReasonTooLong, trade.ToolUnknown,
	} {
		if !seen[c] {
			t.Errorf("%s has no row", c)
		}
	}
}
