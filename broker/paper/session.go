package paper

import "time"

// closeHour is when the trading day ends in New York.
const closeHour = 16

// dayEnds returns when a day order that is accepted at the given time expires: the first 16:00 in New York on a weekday
// that is strictly later. It knows no holidays. 16:00 exists once on every day, since the clocks change at night.
//
//limit:paper-day-order A day order expires at 16:00 New York time on the first weekday whose 16:00 is still to come.
func dayEnds(accepted time.Time, newYork *time.Location) time.Time {
	y, m, d := accepted.In(newYork).Date()
	for {
		end := time.Date(y, m, d, closeHour, 0, 0, 0, newYork)
		day := end.Weekday()
		if end.After(accepted) && day != time.Saturday && day != time.Sunday {
			return end.UTC()
		}
		d++
	}
}
