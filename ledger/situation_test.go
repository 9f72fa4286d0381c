package ledger

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// inquiry asks for a sell of 4 AAPL with so much cash, marked at a bid.
func inquiry(t testing.TB, at time.Time, cash, bid string) Inquiry {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	m := Mark{Bid: decimal(bid), Ask: decimal(bid).Add(decimal("1"))}
	return Inquiry{
		At: at, Zone: zone, Agent: "a", Order: order(t, "sell", "AAPL", "4", "1.00"), Cash: policy.Known{Value: decimal(cash), Known: true},
		Quote: policy.QuoteFact{Bid: m.Bid, Ask: m.Ask}, Session: policy.SessionFact{Regular: true},
		Mark: func(trade.Symbol) (Mark, bool) { return m, true },
	}
}

// record does as the gate does: first what is to be recorded, then the situation.
func record(s *State, q Inquiry) policy.Situation {
	for _, e := range s.Baseline(q) {
		s.Apply(q.At, e)
	}
	return s.Situation(q, &History{})
}

func show(k policy.Known) string {
	if !k.Known {
		return "?"
	}
	return k.Value.String()
}

// TestLossOfADay follows an account over a day, restarts, money that comes and goes, and the day after.
func TestLossOfADay(t *testing.T) {
	s := began(deal(t, 1, 1, "+10@100"))
	for _, c := range []struct {
		name      string
		at        time.Duration
		event     Event
		cash, bid string
		want      string // equity, peak, loss
	}{
		{"the day begins", 0, nil, "1000", "100", "2000 2000 0"},
		{"it rises", time.Minute, nil, "1000", "110", "2100 2100 -100"},
		{"it falls below where it began", time.Minute, nil, "1000", "95", "1950 2100 50"},
		{"a part is sold", time.Minute, deal(t, 2, 2, "-4@90"), "1360", "95", "1930 2100 70"},
		{"money is paid in, which hides no loss", time.Minute, nil, "2360", "95", "2930 2930 70"},
		{"money is taken out, which looks like one", time.Minute, nil, "360", "95", "930 2930 1070"},
		{"the next day begins", 24 * time.Hour, nil, "1360", "95", "1930 1930 0"},
		{"it falls", 24 * time.Hour, nil, "1360", "94", "1924 1930 6"},
	} {
		at := t0.Add(c.at)
		if c.event != nil {
			s.Apply(at, c.event)
		}
		s = restart(t, s)
		is := record(s, inquiry(t, at, c.cash, c.bid))
		if got := fmt.Sprintf("%s %s %s", show(is.Equity), show(is.Peak), show(is.DayLoss)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestSituationHasWhatTheStateKnows(t *testing.T) {
	s := began(deal(t, 1, 1, "+10@100"), allowed(2, order(t, "sell", "AAPL", "6", "200"), ClearsPermission), sentBy(3, "a", order(t, "buy", "AAPL", "1", "1")))
	is := record(s, inquiry(t, t0, "1000", "100"))
	got := fmt.Sprint(show(is.Cash), " ", show(is.AveragePrice), " ", show(is.SymbolLong), " ", show(is.Gross), " ", show(is.NetLong), " ",
		show(is.NetShort), " ", is.OpenOrders, " ", is.ConsecutiveLosses, " ", is.Reduces)
	if want := "1000 100 1111 2311 1111 -400 {2 true} {0 true} true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if is.At != t0 || is.Agent != "a" || !is.Session.Regular || is.Quote.Bid.String() != "100" || is.Day.Start.IsZero() || is.History.Orders(policy.PerAgent, "", t0.Add(-1)) != 1 {
		t.Errorf("%+v", is)
	}
	q := inquiry(t, t0, "1000", "100")
	q.Order = order(t, "sell", "AAPL", "5", "1.00")
	if record(s, q).Reduces {
		t.Error("more than is free is no reduction")
	}
	q.Without = intent(2)
	if is := record(s, q); !is.Reduces || is.OpenOrders.N != 1 || show(is.NetShort) != "-1000" || is.History.Orders(policy.PerAccount, "", t0.Add(-1)) != 1 {
		t.Errorf("without its own: %+v", is)
	}
	q.Order = order(t, "buy", "AAPL", "1", "1.00")
	if record(s, q).Reduces {
		t.Error("a buy reduces")
	}
}

// TestWhatIsNotKnownStaysSo: without cash, without a mark, without an account and on a day that has not begun.
func TestWhatIsNotKnownStaysSo(t *testing.T) {
	s := began(deal(t, 1, 1, "+10@100"))
	whole := inquiry(t, t0, "1000", "100")
	if is := s.Situation(whole, &History{}); is.Peak.Known || is.DayLoss.Known || !is.Equity.Known {
		t.Errorf("of a day that has not begun: %+v", is)
	}
	for name, edit := range map[string]func(*Inquiry){
		"no cash": func(q *Inquiry) { q.Cash = policy.Known{} },
		"no mark": func(q *Inquiry) { q.Mark = func(trade.Symbol) (Mark, bool) { return Mark{}, false } },
	} {
		q := whole
		edit(&q)
		before := s.AppendSnapshot(nil)
		is := record(s, q)
		if is.Equity.Known || is.Peak.Known || is.DayLoss.Known || !reflect.DeepEqual(s.AppendSnapshot(nil), before) {
			t.Errorf("%s: %+v", name, is)
		}
	}
	is := record(began(), whole)
	if is.Equity.Known || is.Gross.Known || is.DayLoss.Known || is.Reduces || is.AveragePrice.Known {
		t.Errorf("of an account that nobody knows: %+v", is)
	}
	old := fold(deal(t, 1, 1, "+10@100")) // of an earlier version: the cost of its position is not known
	if is := record(old, whole); is.DayLoss.Value.Sign() != 0 || !is.DayLoss.Known || is.ConsecutiveLosses.Known || is.History.Orders(policy.PerAccount, "", t0) != NotKnown {
		t.Errorf("of an earlier version: %+v", is)
	}
}

// TestBaselineIsRecordedOnceADay: the second judgement of a day has nothing to record unless there is a new peak.
//
//fault:f109
func TestBaselineIsRecordedOnceADay(t *testing.T) {
	s := began(deal(t, 1, 1, "+10@100"))
	newYork := time.Date(2026, 11, 1, 4, 0, 0, 0, time.UTC) // midnight of the day of 25 hours
	for _, c := range []struct {
		at   time.Time
		bid  string
		want string
	}{
		{newYork.Add(-time.Microsecond), "100", "2026-10-31 2000"},
		{newYork.Add(-time.Microsecond), "100", ""},
		{newYork, "100", "2026-11-01 2000"},
		{newYork.Add(25*time.Hour - time.Microsecond), "100", ""},
		{newYork.Add(25*time.Hour - time.Microsecond), "101", "2010"},
		{newYork.Add(25 * time.Hour), "90", "2026-11-02 1900"},
		{newYork, "500", ""}, // a clock that goes back moves nothing
	} {
		got := ""
		for _, e := range s.Baseline(inquiry(t, c.at, "1000", c.bid)) {
			switch e := e.(type) {
			case DayBegan:
				got += e.Date + " " + e.Equity.String()
			case Marked:
				got += e.Equity.String()
			}
			s.Apply(c.at, e)
		}
		if got != c.want {
			t.Errorf("%s at %s: %q, want %q", c.at, c.bid, got, c.want)
		}
	}
}

func BenchmarkSituation(b *testing.B) {
	s := began()
	for i := range 50 {
		o := order(b, "buy", fmt.Sprint("S", i), "10", "100")
		h := fill(uint64(i+1), 5000+i, o, "10")
		s.Apply(t0, h)
		if i < 20 {
			s.Apply(t0, allowed(i, o, ClearsSend))
		}
	}
	q, h := inquiry(b, t0, "1000", "100"), &History{}
	b.ReportAllocs()
	for b.Loop() {
		s.Situation(q, h)
	}
}
