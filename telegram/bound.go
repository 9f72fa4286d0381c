package telegram

import "time"

// bucket bounds how often something is done: so many at once, then one each step.
type bucket struct {
	left int
	last time.Time
	lost int // since the last that was let through
}

// How many refused attempts are recorded.
//
//limit:telegram-attempts Of the refused attempts of one listed person, and of those of all others together, 20 are recorded at once and then one every 6 seconds.
const (
	maxAttempts   = 20
	attemptsEvery = 6 * time.Second
)

// take reports whether one more may pass.
func (k *bucket) take(now time.Time) bool {
	if k.last.IsZero() {
		k.left, k.last = maxAttempts, now
	}
	if n := int(now.Sub(k.last) / attemptsEvery); n > 0 {
		k.left, k.last = min(k.left+n, maxAttempts), k.last.Add(time.Duration(n)*attemptsEvery)
	}
	if k.left == 0 {
		k.lost++
		return false
	}
	k.left--
	return true
}

// ring remembers the newest commands, so that none is taken twice.
type ring struct {
	order []place
	known map[place]bool
}

// place is a message in a chat.
type place struct {
	chat    int64
	message int
}

// maxRemembered bounds a ring.
//
//limit:telegram-remembered The newest 1024 commands are remembered, and none of them is taken again.
const maxRemembered = 1024

// add reports whether the message is new.
func (r *ring) add(p place) bool {
	if r.known == nil {
		r.known = map[place]bool{}
	}
	if r.known[p] {
		return false
	}
	if len(r.order) == maxRemembered {
		delete(r.known, r.order[0])
		r.order = r.order[1:]
	}
	r.order, r.known[p] = append(r.order, p), true
	return true
}

// pause keeps away from a chat after a failure, each time twice as long.
type pause struct {
	fails int
	until time.Time
}

// Pauses after failures.
//
//limit:telegram-backoff After failures a chat is tried again after 1 second, then after twice as long each time, up to a minute.
const (
	firstBackoff = time.Second
	maxBackoff   = time.Minute
)

func (p *pause) failed(base, asked time.Duration) {
	wait := min(base<<min(p.fails, 10), maxBackoff)
	p.fails++
	p.until = time.Now().Add(max(wait, asked))
}

func (p *pause) over() bool { return !time.Now().Before(p.until) }
