package main

import (
	"bytes"
	"errors"
	"fmt"

	"sallyport/wire"
)

// Bounds on what is read of a replay.
const (
	//limit:cli-tape-line A line of what a replay prints is read up to 64 MiB; a longer one ends the command.
	maxTapeLine = 64 << 20
	//limit:cli-tape-depth A line of what a replay prints that is nested over 40 levels ends the command.
	maxTapeDepth = 40
)

var errTapeLine = errors.New("a line of the replay is too long")

// printed reads what a replay prints, line by line.
type printed struct {
	part []byte // of a line that is not whole yet
	each func(v wire.Value) error
}

// Write implements io.Writer.
func (p *printed) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		if p.part = append(p.part, line...); len(p.part) > maxTapeLine {
			return 0, errTapeLine
		}
		if !whole {
			return n, nil
		}
		v, err := wire.Read(p.part, wire.Limits{Bytes: maxTapeLine, Depth: maxTapeDepth})
		if err != nil {
			return 0, fmt.Errorf("a line of the replay cannot be read: %w", err)
		}
		if err := p.each(v); err != nil {
			return 0, err
		}
		p.part, b = p.part[:0], rest
	}
}
