package rest

import (
	"sync"
	"time"
)

// limits holds every caller to its rate and its number of unanswered calls. Its keys are names that were authenticated,
// so there are no more of them than the owner has made.
type limits struct {
	now   func() time.Time
	every time.Duration // between two calls in the long run
	slack time.Duration // how far a burst may run ahead
	most  int           // unanswered

	mu      sync.Mutex
	callers map[string]*caller
}

// Units of time.
const (
	aSecond   = time.Second // in which rates are counted, and Retry-After
	retrySoon = time.Second // when to come back where nobody knows it better
)

// caller is one caller's account, by the generic cell rate algorithm: next is when its bucket will be full again.
type caller struct {
	next     time.Time
	inFlight int
}

func newLimits(c Config) *limits {
	every := aSecond / time.Duration(c.Rate.PerSecond)
	return &limits{
		now: c.Now, every: every, slack: every * time.Duration(c.Rate.Burst), most: c.InFlight, callers: map[string]*caller{},
	}
}

// enter takes one call of a caller. Where it may not be made, the problem says when to come back.
func (l *limits) enter(name string) *problem {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.callers[name]
	if c == nil {
		c = &caller{}
		l.callers[name] = c
	}
	if c.inFlight >= l.most {
		return &problem{code: CallsExceedLimit, detail: "too many calls of this caller are unanswered", retry: retrySoon}
	}
	next := c.next
	if next.Before(now) {
		next = now
	}
	next = next.Add(l.every)
	if wait := next.Sub(now) - l.slack; wait > 0 {
		return &problem{code: RateExceeded, detail: "this caller makes calls faster than it may", retry: wait}
	}
	c.next = next
	c.inFlight++
	return nil
}

func (l *limits) leave(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.callers[name].inFlight--
}
