package paper

import (
	"time"

	"sallyport/market"
	"sallyport/trade"
)

// When the trading day ends in New York.
const (
	closeHour = 16
	lateHour  = 20 // of an order that has extended hours
)

// dayEnds returns when a day order that is accepted at the given time expires: the first such hour in New York on a
// weekday that is strictly later. It knows no holidays. The hour exists once on every day, since the clocks change at
// night.
//
//limit:paper-day-order A day order expires at 16:00 New York time on the first weekday whose 16:00 is still to come; with extended hours the same at 20:00.
func dayEnds(accepted time.Time, newYork *time.Location, hour int) time.Time {
	y, m, d := accepted.In(newYork).Date()
	for {
		end := time.Date(y, m, d, hour, 0, 0, 0, newYork)
		day := end.Weekday()
		if end.After(accepted) && day != time.Saturday && day != time.Sunday {
			return end.UTC()
		}
		d++
	}
}

// auctionMinutes is how far from the opening or the close a quote may be that stands for the auction. A file of quotes
// shows no auction: whoever takes part in one meets the first quote that is seen of these minutes, or nothing.
//
//limit:paper-auction An order for the opening meets quotes of the first five minutes of the next regular session, one for the close of the last five of it; then it expires.
const auctionMinutes = 5 * time.Minute

// auction returns from when to when the quotes are that an order for an auction meets; ok is false where the calendar does
// not say it.
func auction(tif trade.TimeInForce, now time.Time, calendar *market.Calendar) (from, until time.Time, ok bool) {
	if tif == trade.OPG {
		opens := calendar.Session(now).RegularOpens
		return opens, opens.Add(auctionMinutes), !opens.IsZero()
	}
	closes := calendar.Closes(now)
	return closes.Add(-auctionMinutes), closes, !closes.IsZero()
}

// lives sets until when an order that comes now may work, and of an auction order also from when; ok is false where the
// calendar does not say which session is on.
func (o *order) lives(now time.Time, newYork *time.Location, calendar *market.Calendar) (ok bool) {
	ok = o.hours == anyHours || calendar.Covers(now)
	switch {
	case o.hours == auctionHours:
		from, until, known := auction(o.tif, now, calendar)
		o.from, o.expires, ok = from, until, ok && known
	case o.tif == trade.GTC:
		o.expires = never
	case o.atOnce():
		o.expires = now
	case o.hours == extendedHours:
		o.expires = dayEnds(now, newYork, lateHour)
	default:
		o.expires = dayEnds(now, newYork, closeHour)
	}
	return ok
}
