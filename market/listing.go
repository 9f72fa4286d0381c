package market

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
)

// Listing is a file of instruments that is followed as a quotes file is. It is safe for concurrent use.
type Listing struct {
	Path     string
	Optional bool // a file that is not there lists nothing in particular: every symbol is a US equity

	mu   sync.Mutex
	info fs.FileInfo // of what was read last; nil if nothing is kept
	list *Instruments
	err  error
}

// Instruments returns the file's instruments as they are now. The error is an *Error.
func (l *Listing) Instruments() (*Instruments, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := os.Stat(l.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && l.Optional:
		l.info = nil
		return nil, nil
	case err == nil && l.info != nil && same(info, l.info):
		return l.list, l.err
	}
	l.list, l.info, l.err = readListing(l.Path)
	if l.info != nil && time.Since(l.info.ModTime()) <= settle { // see File
		l.info = nil
		return l.list, l.err
	}
	return l.list, l.err
}

// readListing reads the file once. info is that of the open descriptor before the first byte was read.
func readListing(path string) (l *Instruments, info fs.FileInfo, err error) {
	invalid := func(why string, err error) *Error {
		return &Error{Code: InstrumentsInvalid, Path: path, Reason: why, Err: err}
	}
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, invalid("it is not there", err)
	case err != nil:
		return nil, nil, invalid(cause(err), err)
	}
	defer in.Close() // opened for reading: closing loses nothing
	info, err = in.Stat()
	switch {
	case err != nil:
		return nil, nil, invalid(cause(err), err)
	case !info.Mode().IsRegular():
		return nil, nil, invalid("not a regular file", nil)
	case anybody(info):
		return nil, info, invalid("everybody can write it", nil)
	case info.Size() > MaxFile:
		return nil, info, invalid(fmt.Sprintf("over %d bytes", MaxFile), nil)
	}
	l, err = ReadInstruments(in)
	var e *Error
	switch {
	case err == nil:
		return l, info, nil
	case errors.As(err, &e):
		e.Path = path
		return nil, info, e
	}
	return nil, nil, invalid(cause(err), err)
}
