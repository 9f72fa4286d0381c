package main

import (
	"fmt"
	"io"
	"time"
)

// progress shows on the standard error of a terminal how far long work has come. A nil progress shows nothing.
type progress struct {
	w     io.Writer
	what  string
	now   func() time.Time
	next  time.Time
	wrote bool
}

// startProgress returns a progress that shows only if standard error is a terminal that can move its cursor, and only
// after the first half second.
func (a *app) startProgress(what string) *progress {
	if !isTerminal(a.stderr) || a.getenv("TERM") == "dumb" {
		return &progress{}
	}
	return &progress{w: a.stderr, what: what, now: a.now, next: a.now().Add(500 * time.Millisecond)}
}

// at shows that done of total steps are done; total 0 means that nobody knows.
func (p *progress) at(done, total uint64) {
	if p == nil || p.w == nil || p.now().Before(p.next) {
		return
	}
	p.next, p.wrote = p.now().Add(100*time.Millisecond), true
	if total == 0 {
		fmt.Fprintf(p.w, "\r\x1b[K%s: %s", p.what, count(done))
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s: %s of %s (%d%%)", p.what, count(done), count(total), 100*done/total)
}

// end clears the line.
func (p *progress) end() {
	if p != nil && p.wrote {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
