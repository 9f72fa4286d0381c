package mcp

import (
	"bufio"
	"errors"
	"io"
)

// maxLine is the longest message that is read, in bytes, its newline not counted. Arguments have their own, smaller
// limit, which the dialects judge.
//
//limit:mcp-line A message of over 1,048,576 bytes is discarded unread and answered with -32700.
const maxLine = 1 << 20

// lineBuffer is how much is read at a time, in bytes: what a line that is too long costs, whatever its length.
const lineBuffer = 64 << 10

// line is one line as received, or why there is none.
type line struct {
	bytes   []byte // without its newline; the receiver owns them
	tooLong bool   // it was longer than maxLine, and its bytes are gone
	err     error  // io.EOF, or why nothing more can be read
}

// lineReader cuts a stream into lines and holds at most one of them, never more than maxLine of it.
type lineReader struct{ r *bufio.Reader }

func newLineReader(r io.Reader) lineReader { return lineReader{bufio.NewReaderSize(r, lineBuffer)} }

// next returns the next line. A last line without its newline counts, if it has any bytes.
func (l lineReader) next() line {
	var out line
	for {
		piece, err := l.r.ReadSlice('\n')
		ended := err == nil
		if ended {
			piece = piece[:len(piece)-1]
		}
		switch {
		case out.tooLong:
		case len(out.bytes)+len(piece) > maxLine:
			out.bytes, out.tooLong = nil, true
		default:
			out.bytes = append(out.bytes, piece...)
		}
		switch {
		case ended:
			return out
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && (out.tooLong || len(out.bytes) > 0):
			return out // the next call finds the end again
		default:
			return line{err: err}
		}
	}
}
