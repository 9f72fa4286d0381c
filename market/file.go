package market

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"sallyport/trade"
)

// settle is how old a file's last change must be, when it is read, for the reading to be kept. Within the grain of the
// file system's clock, a second change of the same length would look like no change.
const settle = 100 * time.Millisecond

// attempts is how often a file is read that is replaced in place while it is being read.
const attempts = 3

// File is a quotes file. It is read again when size, time of change or identity of the file differ from what was read
// last; otherwise a look costs one stat. It is safe for concurrent use. Whoever writes the file appends whole lines, or
// renames a new file into its place.
type File struct {
	Path string

	mu   sync.Mutex
	info fs.FileInfo // of what was read last; nil if nothing is kept
	book *Book
	err  error
}

// Quote returns the newest quote of a symbol.
func (f *File) Quote(s trade.Symbol) (trade.Quote, bool, error) {
	b, err := f.Book()
	if err != nil {
		return trade.Quote{}, false, err
	}
	q, ok := b.Quote(s)
	return q, ok, nil
}

// Book returns the quotes as they are in the file now. The error is an *Error and wraps fs.ErrNotExist if there is no
// file. After an error there are no quotes: what was read earlier is not used again.
func (f *File) Book() (*Book, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.info != nil {
		now, err := os.Stat(f.Path)
		if err == nil && same(f.info, now) {
			return f.book, f.err
		}
	}
	var info fs.FileInfo
	for range attempts {
		var changed bool
		f.book, info, changed, f.err = read(f.Path)
		if f.err == nil || !changed {
			break
		}
	}
	f.info = nil
	// The real clock is meant, not the gate's: it is compared with the time stamps that the file system gives.
	if info != nil && time.Since(info.ModTime()) > settle {
		f.info = info
	}
	return f.book, f.err
}

func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

// anybody reports whether every user can write a file: nothing that it says is to be judged by.
//
//limit:market-file-others A file of quotes or instruments that every user can write is not used: QUOTES_UNREADABLE, INSTRUMENTS_INVALID.
func anybody(info fs.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }

// read reads the file once. info is that of the open descriptor before the first byte was read, so that a change
// during the reading is a change to the next look; changed says that there was one.
func read(path string) (b *Book, info fs.FileInfo, changed bool, err error) {
	unreadable := func(err error) *Error {
		return &Error{Code: QuotesUnreadable, Path: path, Reason: cause(err), Err: err}
	}
	// Without O_NONBLOCK the opening of a named pipe would wait for a writer.
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, false, unreadable(err)
	}
	defer in.Close() // opened for reading: closing loses nothing
	if info, err = in.Stat(); err != nil {
		return nil, nil, false, unreadable(err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, nil, false, unreadable(errors.New("not a regular file"))
	case anybody(info):
		return nil, info, false, unreadable(errors.New("everybody can write it"))
	case info.Size() > MaxFile:
		return nil, info, false, &Error{Code: QuotesInvalid, Path: path, Reason: fmt.Sprintf("over %d bytes", MaxFile)}
	}
	b, err = Read(in)
	after, errAfter := in.Stat()
	changed = errAfter != nil || !same(info, after)
	var e *Error
	switch {
	case err == nil:
		return b, info, changed, nil
	case errors.As(err, &e):
		e.Path = path
		return nil, info, changed, e
	}
	return nil, nil, changed, unreadable(err)
}

// cause leaves out the path that errors of the file system repeat.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
