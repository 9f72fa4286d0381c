// Package gatetest holds what tests of the gate and of everything around it need: a clock and entropy that repeat, a
// broker in memory that fails on demand, builders of orders and calls, and the suite that every broker must pass.
package gatetest

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"testing"
	"time"
)

// Start is when a new Clock begins: a Monday, ten in the morning in New York.
func Start() time.Time { return time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC) }

// Clock is a clock that stands still until a test moves it. It is safe for concurrent use. The zero Clock shows the
// zero time.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock returns a clock that shows Start.
func NewClock() *Clock { return &Clock{at: Start()} }

// Now returns what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Set makes the clock show a time, which may be earlier.
func (c *Clock) Set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// Entropy returns a source of bytes that look random and are the same for the same seed. Two gates with the same seed
// and clock give their intents the same ids. It is safe for concurrent use.
func Entropy(seed uint64) func(*[10]byte) {
	var mu sync.Mutex
	n := uint64(0)
	return func(b *[10]byte) {
		mu.Lock()
		defer mu.Unlock()
		n++
		var in [16]byte
		binary.BigEndian.PutUint64(in[:8], seed)
		binary.BigEndian.PutUint64(in[8:], n)
		sum := sha256.Sum256(in[:])
		copy(b[:], sum[:])
	}
}

// Until waits until something is so, and fails the test after ten seconds or more, saying what is so otherwise.
func Until(t testing.TB, otherwise string, so func() bool) {
	t.Helper()
	for range 10_000 {
		if so() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal(otherwise)
}
