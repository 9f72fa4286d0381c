package main

import (
	"context"
	"errors"
	"io"
	"os"
)

// output is a stream that remembers that something could not be written, so that a command whose words are lost does not
// end as if they had been read.
type output struct {
	file *os.File
	err  error
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	n, err := o.file.Write(b)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// lost returns why something that was printed never arrived; nil if all did.
func (a *app) lost() error {
	if o, ok := a.stdout.(*output); ok {
		return o.err
	}
	return nil
}

// errInterrupted ends a read that a signal has broken off.
var errInterrupted = errors.New("interrupted")

// interruptible returns a reader of r that ends with ctx. What r itself is waiting for goes on waiting until the process
// ends.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	go func() {
		_, err := io.CopyBuffer(in, struct{ io.Reader }{r}, make([]byte, 1<<16))
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { in.CloseWithError(errInterrupted) })
	return out
}

// open opens a file for reading, and gives up with ctx: a named pipe waits for its other end.
func open(ctx context.Context, path string) (io.Reader, func(), error) {
	type result struct {
		f   *os.File
		err error
	}
	opened := make(chan result, 1)
	go func() {
		f, err := os.Open(path)
		opened <- result{f, err}
	}()
	select {
	case r := <-opened:
		if r.err != nil {
			return nil, nil, r.err
		}
		return interruptible(ctx, r.f), func() { r.f.Close() }, nil
	case <-ctx.Done():
		return nil, nil, errInterrupted
	}
}
