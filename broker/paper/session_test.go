package paper

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func newYork(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

//attack:paper-day-order
func TestDayOrdersEndAtTheNextCloseInNewYork(t *testing.T) {
	zone := newYork(t)
	for _, c := range []struct{ name, accepted, ends string }{
		{"a Monday morning", "2026-11-30T14:30:00Z", "2026-11-30T21:00:00Z"},
		{"a microsecond before the close", "2026-11-30T20:59:59.999999Z", "2026-11-30T21:00:00Z"},
		{"at the close itself", "2026-11-30T21:00:00Z", "2026-12-01T21:00:00Z"},
		{"a microsecond after the close", "2026-11-30T21:00:00.000001Z", "2026-12-01T21:00:00Z"},
		{"late at night, the next day in UTC", "2026-12-01T03:00:00Z", "2026-12-01T21:00:00Z"},
		{"a Friday before the close", "2026-12-04T20:00:00Z", "2026-12-04T21:00:00Z"},
		{"a Friday after the close", "2026-12-04T21:00:00Z", "2026-12-07T21:00:00Z"},
		{"a Saturday", "2026-12-05T12:00:00Z", "2026-12-07T21:00:00Z"},
		{"a Sunday after four", "2026-12-06T22:00:00Z", "2026-12-07T21:00:00Z"},
		{"a Sunday night, Monday in UTC", "2026-12-07T04:59:59Z", "2026-12-07T21:00:00Z"},
		{"the end of a year", "2026-12-31T22:00:00Z", "2027-01-01T21:00:00Z"},
		{"before the clocks go forward", "2026-03-06T22:00:00Z", "2026-03-09T20:00:00Z"},
		{"the night in which they go forward", "2026-03-08T06:59:59Z", "2026-03-09T20:00:00Z"},
		{"the hour after that night", "2026-03-08T07:00:00Z", "2026-03-09T20:00:00Z"},
		{"the last close in winter", "2026-03-06T20:59:59Z", "2026-03-06T21:00:00Z"},
		{"the first close in summer, by summer's hour", "2026-03-09T19:59:59Z", "2026-03-09T20:00:00Z"},
		{"an hour later, which winter's hour would still take", "2026-03-09T20:30:00Z", "2026-03-10T20:00:00Z"},
		{"before the clocks go back", "2026-10-30T21:00:00Z", "2026-11-02T21:00:00Z"},
		{"the hour that comes twice, the first time", "2026-11-01T05:30:00Z", "2026-11-02T21:00:00Z"},
		{"the hour that comes twice, the second time", "2026-11-01T06:30:00Z", "2026-11-02T21:00:00Z"},
		{"the first close in winter, an hour that summer's would have missed", "2026-11-02T20:30:00Z", "2026-11-02T21:00:00Z"},
		{"the last close in summer", "2026-10-30T19:59:59Z", "2026-10-30T20:00:00Z"},
	} {
		accepted, err := time.Parse(time.RFC3339, c.accepted)
		if err != nil {
			t.Fatal(err)
		}
		if got := dayEnds(accepted, zone, closeHour).Format(time.RFC3339); got != c.ends {
			t.Errorf("%s: accepted %s, ends %s, want %s", c.name, c.accepted, got, c.ends)
		}
	}
}

func TestDayOrdersEndAtTheFirstCloseThatIsLater(t *testing.T) {
	zone := newYork(t)
	rapid.Check(t, func(t *rapid.T) {
		accepted := time.Unix(rapid.Int64Range(1_700_000_000, 2_000_000_000).Draw(t, "accepted"), 0)
		end := dayEnds(accepted, zone, closeHour).In(zone)
		if !end.After(accepted) || end.Hour() != 16 || end.Minute() != 0 || end.Weekday() == time.Saturday || end.Weekday() == time.Sunday {
			t.Fatalf("%v ends %v", accepted, end)
		}
		for at := accepted.Truncate(time.Hour).Add(time.Hour); at.Before(end); at = at.Add(time.Hour) {
			if l := at.In(zone); l.Hour() == 16 && l.Weekday() != time.Saturday && l.Weekday() != time.Sunday {
				t.Fatalf("%v ends %v, though %v is earlier", accepted, end, l)
			}
		}
	})
}
