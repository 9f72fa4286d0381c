package gatetest

import (
	"bytes"
	"sync"
)

// Output keeps what is written to it: a log, or what a process prints. It is safe for concurrent use, so that a test may
// look at it while it is written to. The zero Output is empty.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String returns what was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
