package market

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func calendar(t testing.TB) *Calendar {
	t.Helper()
	c, err := NewYork()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func instant(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func in(s Session) string {
	switch {
	case s.Code != "":
		return string(s.Code)
	case s.Regular && s.Extended:
		return "both"
	case s.Regular:
		return "regular"
	case s.Extended:
		return "extended"
	}
	return "none"
}

//fault:f108
func TestSessionsToTheirInstant(t *testing.T) {
	c := calendar(t)
	for _, tt := range []struct{ name, at, want, regular, extended string }{
		{"a Monday, before four", "2026-11-30T08:59:59.999999999Z", "none", "2026-11-30T14:30:00Z", "2026-11-30T09:00:00Z"},
		{"at four", "2026-11-30T09:00:00Z", "extended", "2026-11-30T14:30:00Z", "2026-12-01T09:00:00Z"},
		{"before the opening", "2026-11-30T14:29:59.999999999Z", "extended", "2026-11-30T14:30:00Z", "2026-12-01T09:00:00Z"},
		{"at the opening", "2026-11-30T14:30:00Z", "regular", "2026-12-01T14:30:00Z", "2026-12-01T09:00:00Z"},
		{"before the close", "2026-11-30T20:59:59.999999999Z", "regular", "2026-12-01T14:30:00Z", "2026-12-01T09:00:00Z"},
		{"at the close", "2026-11-30T21:00:00Z", "extended", "2026-12-01T14:30:00Z", "2026-12-01T09:00:00Z"},
		{"before the late session ends", "2026-12-01T00:59:59Z", "extended", "2026-12-01T14:30:00Z", "2026-12-01T09:00:00Z"},
		{"at its end", "2026-12-01T01:00:00Z", "none", "2026-12-01T14:30:00Z", "2026-12-01T09:00:00Z"},
		{"a Saturday noon", "2026-12-05T17:00:00Z", "none", "2026-12-07T14:30:00Z", "2026-12-07T09:00:00Z"},
		{"a Sunday noon", "2026-12-06T17:00:00Z", "none", "2026-12-07T14:30:00Z", "2026-12-07T09:00:00Z"},
		{"Thanksgiving", "2026-11-26T17:00:00Z", "none", "2026-11-27T14:30:00Z", "2026-11-27T09:00:00Z"},
		{"the day after, before one", "2026-11-27T17:59:59.999999999Z", "regular", "2026-11-30T14:30:00Z", "2026-11-30T09:00:00Z"},
		{"the day after, at one", "2026-11-27T18:00:00Z", "extended", "2026-11-30T14:30:00Z", "2026-11-30T09:00:00Z"},
		{"the day after, before five", "2026-11-27T21:59:59Z", "extended", "2026-11-30T14:30:00Z", "2026-11-30T09:00:00Z"},
		{"the day after, at five", "2026-11-27T22:00:00Z", "none", "2026-11-30T14:30:00Z", "2026-11-30T09:00:00Z"},
		{"Christmas Eve at half past one", "2026-12-24T18:30:00Z", "extended", "2026-12-28T14:30:00Z", "2026-12-28T09:00:00Z"},
		{"Independence Day on a Saturday, observed on Friday", "2026-07-03T15:00:00Z", "none", "2026-07-06T13:30:00Z", "2026-07-06T08:00:00Z"},
		{"the day before it is a whole one", "2026-07-02T19:59:59Z", "regular", "2026-07-06T13:30:00Z", "2026-07-06T08:00:00Z"},
		{"New Year's Eve before a Saturday is a whole one", "2027-12-31T20:59:59Z", "regular", "2028-01-03T14:30:00Z", "2028-01-03T09:00:00Z"},
		{"the Friday before the clocks go forward", "2026-03-06T20:59:59Z", "regular", "2026-03-09T13:30:00Z", "2026-03-09T08:00:00Z"},
		{"the night in which they go forward", "2026-03-08T06:59:59Z", "none", "2026-03-09T13:30:00Z", "2026-03-09T08:00:00Z"},
		{"the Monday after, by summer's hour", "2026-03-09T13:30:00Z", "regular", "2026-03-10T13:30:00Z", "2026-03-10T08:00:00Z"},
		{"and its close", "2026-03-09T20:00:00Z", "extended", "2026-03-10T13:30:00Z", "2026-03-10T08:00:00Z"},
		{"the Friday before they go back", "2026-10-30T13:30:00Z", "regular", "2026-11-02T14:30:00Z", "2026-11-02T09:00:00Z"},
		{"the hour that comes twice", "2026-11-01T06:30:00Z", "none", "2026-11-02T14:30:00Z", "2026-11-02T09:00:00Z"},
		{"the Monday after, at summer's opening", "2026-11-02T13:30:00Z", "extended", "2026-11-02T14:30:00Z", "2026-11-03T09:00:00Z"},
		{"the Monday after, at winter's", "2026-11-02T14:30:00Z", "regular", "2026-11-03T14:30:00Z", "2026-11-03T09:00:00Z"},
		{"in another zone", "2026-11-30T23:30:00+09:00", "regular", "2026-12-01T14:30:00Z", "2026-12-01T09:00:00Z"},
		{"the last day", "2028-12-29T20:00:00Z", "regular", "", ""},
	} {
		s := c.Session(instant(t, tt.at))
		show := func(at time.Time) string {
			if at.IsZero() {
				return ""
			}
			return at.Format(time.RFC3339)
		}
		if in(s) != tt.want || show(s.RegularOpens) != tt.regular || show(s.ExtendedOpens) != tt.extended {
			t.Errorf("%s: %s, next %s and %s; want %s, %s and %s", tt.name, in(s), show(s.RegularOpens), show(s.ExtendedOpens), tt.want, tt.regular, tt.extended)
		}
	}
}

//attack:market-calendar
//fault:f108
func TestOutsideItsYearsTheCalendarSaysNothing(t *testing.T) {
	c := calendar(t)
	for at, want := range map[string]string{
		"2024-01-01T05:00:00Z": "none", "2024-01-01T04:59:59.999999Z": "CALENDAR_UNAVAILABLE", "2023-06-01T15:00:00Z": "CALENDAR_UNAVAILABLE",
		"2029-01-01T04:59:59.999999Z": "none", "2029-01-01T05:00:00Z": "CALENDAR_UNAVAILABLE", "2029-01-02T15:00:00Z": "CALENDAR_UNAVAILABLE",
		"9999-01-01T00:00:00Z": "CALENDAR_UNAVAILABLE", "0001-01-01T00:00:00Z": "CALENDAR_UNAVAILABLE",
	} {
		s := c.Session(instant(t, at))
		if in(s) != want || want == string(CalendarUnavailable) && s != (Session{Code: CalendarUnavailable}) {
			t.Errorf("%s: %+v, want %s", at, s, want)
		}
	}
	if got := c.Expires(); got != instant(t, "2029-01-01T05:00:00Z") || c.Covers(got) || !c.Covers(got.Add(-1)) {
		t.Errorf("it expires %s", got)
	}
	for _, none := range []*Calendar{nil, {}} {
		if none.Session(time.Now()).Code != CalendarUnavailable || !none.Expires().IsZero() {
			t.Error("no calendar says something")
		}
	}
}

// TestListIsWhatTheRulesGive computes the holidays and early closes of every year that the list covers, by NYSE Rule 7.2,
// and compares. The one extra day is a national day of mourning.
func TestListIsWhatTheRulesGive(t *testing.T) {
	c := calendar(t)
	want := map[int]string{20250109: "closed"}
	put := func(at time.Time, what string) { want[dateOf(at)] = what }
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	nth := func(y int, m time.Month, w time.Weekday, n int) time.Time {
		first := day(y, m, 1)
		return first.AddDate(0, 0, (int(w)-int(first.Weekday())+7)%7+7*(n-1))
	}
	observed := func(at time.Time) {
		switch at.Weekday() {
		case time.Saturday:
			at = at.AddDate(0, 0, -1)
			if at.AddDate(0, 0, 1).Day() == 1 {
				return // that Friday ends a month
			}
		case time.Sunday:
			at = at.AddDate(0, 0, 1)
		}
		put(at, "closed")
	}
	for y := c.from / 10000; y <= c.until/10000; y++ {
		observed(day(y, time.January, 1))
		put(nth(y, time.January, time.Monday, 3), "closed")
		put(nth(y, time.February, time.Monday, 3), "closed")
		put(easter(y).AddDate(0, 0, -2), "closed")
		put(nth(y, time.June, time.Monday, 1).AddDate(0, 0, -7), "closed") // the last Monday of May
		observed(day(y, time.June, 19))
		observed(day(y, time.July, 4))
		put(nth(y, time.September, time.Monday, 1), "closed")
		thanksgiving := nth(y, time.November, time.Thursday, 4)
		put(thanksgiving, "closed")
		put(thanksgiving.AddDate(0, 0, 1), "13:00")
		observed(day(y, time.December, 25))
		for _, eve := range []time.Time{day(y, time.July, 3), day(y, time.December, 24)} {
			if w := eve.Weekday(); w >= time.Monday && w <= time.Thursday {
				put(eve, "13:00")
			}
		}
	}
	got := map[int]string{}
	for date, s := range c.days {
		if got[date] = "closed"; !s.closed {
			got[date] = time.Time{}.Add(s.until).Format("15:04")
		}
	}
	for _, date := range slices.Sorted(maps.Keys(want)) {
		if got[date] != want[date] {
			t.Errorf("%d: the list says %q, the rules %q", date, got[date], want[date])
		}
		delete(got, date)
	}
	for date, what := range got {
		t.Errorf("%d: the list says %q, the rules nothing", date, what)
	}
}

// easter returns Easter Sunday, by the method of Meeus, Jones and Butcher.
func easter(y int) time.Time {
	a, b, c := y%19, y/100, y%100
	d, e := b/4, b%4
	g := (8*b + 13) / 25
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 19*l) / 433
	n := (h + l - 7*m + 90) / 25
	p := (h + l - 7*m + 33*n + 19) % 32
	return time.Date(y, time.Month(n), p, 0, 0, 0, 0, time.UTC)
}

// TestSessionsHoldTogether: at any time the next sessions are later, and begin what they say they begin.
func TestSessionsHoldTogether(t *testing.T) {
	c := calendar(t)
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(1_704_085_200, 1_861_000_000).Draw(t, "at"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		s := c.Session(at)
		if s.Code != "" || s.Regular && s.Extended || !s.RegularOpens.After(at) || !s.ExtendedOpens.After(at) {
			t.Fatalf("%s: %+v", at, s)
		}
		if o := c.Session(s.RegularOpens); !o.Regular || c.Session(s.RegularOpens.Add(-1)).Regular {
			t.Fatalf("%s: no regular session begins at %s", at, s.RegularOpens)
		}
		if e := c.Session(s.ExtendedOpens); !e.Extended || in(c.Session(s.ExtendedOpens.Add(-1))) != "none" {
			t.Fatalf("%s: no session begins at %s", at, s.ExtendedOpens)
		}
		if local := s.RegularOpens.In(c.zone); local.Hour() != 9 || local.Minute() != 30 {
			t.Fatalf("%s: it opens at %s", at, local)
		}
	})
}

func TestCalendarThatIsNotOneIsRefused(t *testing.T) {
	good := "# c\nfrom 2026-01-01\nuntil 2026-12-31\n2026-11-26 closed T\n2026-11-27 13:00 A\n"
	if _, err := parseCalendar(good, time.UTC); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]string{
		"no beginning": {"from 2026-01-01\n", ""}, "no end": {"until 2026-12-31\n", ""}, "a day after the end": {"until 2026-12-31", "until 2026-11-26"},
		"a day before the beginning": {"2026-01-01", "2026-11-27"}, "not a date": {"2026-11-26", "2026-11-31"}, "no name": {" closed T", " closed"},
		"out of order": {"2026-11-27", "2026-11-25"}, "twice": {"2026-11-27", "2026-11-26"}, "a word": {"closed", "open"}, "a late close": {"13:00", "16:00"},
		"a close before the opening": {"13:00", "09:30"}, "a bound behind days": {"2026-11-27 13:00 A", "until 2026-12-30"}, "an empty line": {"# c\n", "\n"},
	} {
		bad := strings.Replace(good, c[0], c[1], 1)
		if bad == good {
			t.Fatalf("%s: nothing is changed", name)
		}
		if _, err := parseCalendar(bad, time.UTC); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func BenchmarkNewYork(b *testing.B) {
	for b.Loop() {
		if _, err := NewYork(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSession(b *testing.B) {
	c := calendar(b)
	at := instant(b, "2026-11-27T20:00:00Z")
	b.ReportAllocs()
	for b.Loop() {
		c.Session(at)
	}
}

func TestCloseIsThatOfTheSessionAroundOrTheNext(t *testing.T) {
	c, err := NewYork()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct{ at, want string }{
		{"2026-11-30T05:00:00Z", "2026-11-30T21:00:00Z"},
		{"2026-11-30T20:59:59Z", "2026-11-30T21:00:00Z"},
		{"2026-11-30T21:00:00Z", "2026-12-01T21:00:00Z"},
		{"2026-11-25T21:00:00Z", "2026-11-27T18:00:00Z"}, // over a holiday to a half day
		{"2026-11-27T18:00:00Z", "2026-11-30T21:00:00Z"},
		{"2026-10-30T20:00:00Z", "2026-11-02T21:00:00Z"}, // over the clocks' change
		{"2028-12-29T21:00:00Z", "0001-01-01T00:00:00Z"}, // the calendar ends before the next
		{"2029-01-02T15:00:00Z", "0001-01-01T00:00:00Z"},
		{"2023-12-29T15:00:00Z", "0001-01-01T00:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, one.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Closes(at).Format(time.RFC3339); got != one.want {
			t.Errorf("from %s on: %s, want %s", one.at, got, one.want)
		}
	}
	if got := (&Calendar{}).Closes(time.Now()); !got.IsZero() {
		t.Errorf("the zero calendar closes %v", got)
	}
}
