package market

import (
	_ "embed"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // so that sessions are right where no time zones are installed

	"sallyport/trade"
)

// CalendarUnavailable says that no calendar covers the day.
const CalendarUnavailable trade.Code = "CALENDAR_UNAVAILABLE"

//go:embed newyork.txt
var newYork string

// Calendar says when the New York exchanges trade. It does not change once it is made, and is safe for concurrent use.
// The zero Calendar covers no day.
type Calendar struct {
	zone        *time.Location
	from, until int // the first and the last day that it covers, as dates
	days        map[int]special
}

// special is a day that differs: closed, or open until a time.
type special struct {
	closed bool
	until  time.Duration // since midnight
	name   string
}

// The sessions of an ordinary day, as times since midnight in New York. The clocks change at night on Sundays, so that
// every one of these times exists once on every day of trading.
const (
	preOpen      = 4 * time.Hour
	regularOpen  = 9*time.Hour + 30*time.Minute
	regularClose = 16 * time.Hour
	lateClose    = 20 * time.Hour
	earlyLate    = 17 * time.Hour // the end of the late session after an early close
)

// Session is what a calendar says of one time.
type Session struct {
	Code     trade.Code // CALENDAR_UNAVAILABLE if the calendar does not cover the day; then all else is zero
	Regular  bool       // from the opening at 09:30 to the close, which does not belong to it
	Extended bool       // from 04:00 to the opening, and from the close to the end of the late session
	Holiday  string     // why the day differs, if it does

	RegularOpens  time.Time // when the next regular session begins; zero where the calendar ends before it
	ExtendedOpens time.Time // when the next day of trading begins, at 04:00; zero likewise
}

// NewYork returns the calendar of the New York exchanges, NYSE and Nasdaq.
func NewYork() (*Calendar, error) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		return nil, fmt.Errorf("market: %w", err)
	}
	return parseCalendar(newYork, zone)
}

// parseCalendar reads lines of a date, closed or a time, and a name. Lines must be in order, within the bounds.
func parseCalendar(text string, zone *time.Location) (*Calendar, error) {
	c := &Calendar{zone: zone, days: map[int]special{}}
	last := 0
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if err := c.line(line, &last); err != nil {
			return nil, fmt.Errorf("market: calendar, line %d: %w", n+1, err)
		}
	}
	if c.from == 0 || c.until < c.from || last > c.until {
		return nil, fmt.Errorf("market: the calendar does not say which days it covers, or says more")
	}
	return c, nil
}

func (c *Calendar) line(line string, last *int) error {
	word, rest, _ := strings.Cut(line, " ")
	if word == "from" || word == "until" {
		date, ok := parseDate(rest)
		if !ok || *last != 0 {
			return fmt.Errorf("a bound is not a date before all days")
		}
		if word == "from" {
			c.from = date
		} else {
			c.until = date
		}
		return nil
	}
	date, ok := parseDate(word)
	what, name, named := strings.Cut(rest, " ")
	if !ok || !named || date <= *last || date < c.from {
		return fmt.Errorf("not a later date with what differs and its name")
	}
	*last = date
	day := special{closed: what == "closed", name: name}
	if !day.closed {
		at, err := time.Parse("15:04", what)
		if err != nil {
			return fmt.Errorf("neither closed nor a time")
		}
		day.until = at.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)) // a time alone is of that day
		if day.until <= regularOpen || day.until >= regularClose {
			return fmt.Errorf("not an early close")
		}
	}
	c.days[date] = day
	return nil
}

// parseDate returns a date as a number that sorts: 20261130.
func parseDate(s string) (int, bool) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, false
	}
	return dateOf(t), true
}

func dateOf(t time.Time) int {
	y, m, d := t.Date()
	return y*10000 + int(m)*100 + d
}

// Covers reports whether the calendar knows the day of that time.
//
//limit:market-calendar A day that the calendar does not list, before 2024 or after 2028, has no sessions to go by: CALENDAR_UNAVAILABLE.
func (c *Calendar) Covers(at time.Time) bool {
	if c == nil || c.zone == nil {
		return false
	}
	date := dateOf(at.In(c.zone))
	return date >= c.from && date <= c.until
}

// Expires returns the first instant that the calendar does not cover.
func (c *Calendar) Expires() time.Time {
	if c == nil || c.zone == nil {
		return time.Time{}
	}
	return time.Date(c.until/10000, time.Month(c.until/100%100), c.until%100+1, 0, 0, 0, 0, c.zone).UTC()
}

// Session returns which session a time lies in. Sessions begin with their first instant and end before their last.
func (c *Calendar) Session(at time.Time) Session {
	if !c.Covers(at) {
		return Session{Code: CalendarUnavailable}
	}
	y, m, d := at.In(c.zone).Date()
	s := Session{Holiday: c.days[y*10000+int(m)*100+d].name}
	if h, open := c.hours(y, m, d); open {
		s.Regular = !at.Before(h.open) && at.Before(h.close)
		s.Extended = !s.Regular && !at.Before(h.pre) && at.Before(h.late)
	}
	for ; s.RegularOpens.IsZero() || s.ExtendedOpens.IsZero(); d++ {
		noon := time.Date(y, m, d, 12, 0, 0, 0, c.zone)
		if !c.Covers(noon) {
			break
		}
		h, open := c.hours(y, m, d)
		if open && s.RegularOpens.IsZero() && h.open.After(at) {
			s.RegularOpens = h.open.UTC()
		}
		if open && s.ExtendedOpens.IsZero() && h.pre.After(at) {
			s.ExtendedOpens = h.pre.UTC()
		}
	}
	return s
}

// Closes returns when the regular session ends that lies around a time, or else the next one; zero where the calendar ends
// before it.
func (c *Calendar) Closes(at time.Time) time.Time {
	if !c.Covers(at) {
		return time.Time{}
	}
	for y, m, d := at.In(c.zone).Date(); c.Covers(time.Date(y, m, d, 12, 0, 0, 0, c.zone)); d++ {
		if h, open := c.hours(y, m, d); open && h.close.After(at) {
			return h.close.UTC()
		}
	}
	return time.Time{}
}

// hours are the bounds of a day's sessions.
type hours struct{ pre, open, close, late time.Time }

// hours returns the sessions of a day that the calendar covers. The day may be over its month's end.
func (c *Calendar) hours(y int, m time.Month, d int) (h hours, open bool) {
	at := func(since time.Duration) time.Time {
		return time.Date(y, m, d, int(since/time.Hour), int(since%time.Hour/time.Minute), 0, 0, c.zone)
	}
	h = hours{at(preOpen), at(regularOpen), at(regularClose), at(lateClose)}
	day, differs := c.days[dateOf(h.open)]
	if differs && !day.closed {
		h.close, h.late = at(day.until), at(earlyLate)
	}
	weekday := h.open.Weekday()
	return h, !day.closed && weekday != time.Saturday && weekday != time.Sunday
}
