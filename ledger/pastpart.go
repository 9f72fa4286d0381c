package ledger

import (
	"bytes"
	"fmt"
	"strconv"

	"sallyport/wire"
)

// A long log is written in parts, each a line of its own: rows come at the end and go at the beginning, so that between
// two snapshots most parts stay what they were and need not be made again. Where a part ends follows from the rows alone,
// whoever writes them and whatever he wrote before: after a time that is drawn from all times by its bits, so that rows
// that go move no end but those next to them. The last line of a log says what is forgotten. One that is shorter than
// two parts is one line.

const (
	leastPart = 128 // rows
	partDraw  = 128 // after so many rows more, on an average, it ends
)

// part is a line as it was written, from its first row on, and which rows it has: by their place among all that ever were
// added.
type part struct {
	from, to int
	line     []byte
}

// end returns where the part that begins with the row from ends, and whether that is final: there are rows after it.
func (l *log[T]) end(from int) (end int, full bool) {
	for i := from + leastPart; i < len(l.at); i++ {
		if at := l.at[i-1]; at != l.at[i] && uint64(at)*0x9e3779b97f4a7c15>>32%partDraw == 0 {
			return i, true
		}
	}
	return len(l.at), false
}

// appendParts appends all lines but the last one. Unread lines are what they were, unless something came after them.
func (l *log[T]) appendParts(dst []byte, kind string, account int, read func(*scan) T, most int, row func([]byte, *names, T) []byte) []byte {
	if len(l.at) > 0 {
		l.load(read, most)
	}
	for _, line := range l.lines {
		if !last(line) {
			dst = append(append(appendKind(dst, kind, account), line...), '\n')
		}
	}
	before := l.parts
	l.parts = nil
	for from := 0; ; {
		end, full := l.end(from)
		if !full {
			return dst
		}
		p := part{from: l.gone + from, to: l.gone + end}
		for len(before) > 0 && before[0].from < p.from {
			before = before[1:]
		}
		if len(before) > 0 && before[0].from == p.from && before[0].to == p.to {
			p.line = before[0].line
		} else {
			p.line = append(l.appendRows(nil, from, end, row), '}')
		}
		l.parts = append(l.parts, p)
		dst = append(append(appendKind(dst, kind, account), p.line...), '\n')
		from = end
	}
}

// appendLast appends the last line, after appendParts.
func (l *log[T]) appendLast(dst []byte, kind string, account int, row func([]byte, *names, T) []byte) []byte {
	if n := len(l.lines); n > 0 {
		return append(append(appendKind(dst, kind, account), l.lines[n-1]...), '\n')
	}
	if len(l.all) == 0 && l.forgotten == 0 {
		return dst
	}
	from := 0
	if n := len(l.parts); n > 0 {
		from = l.parts[n-1].to - l.gone
	}
	dst = l.appendRows(appendKind(dst, kind, account), from, len(l.at), row)
	return append(strconv.AppendInt(wire.AppendName(dst, "forgotten"), l.forgotten, 10), '}', '\n')
}

func appendKind(dst []byte, kind string, account int) []byte {
	dst = append(append(append(dst, `{"`...), kind...), `":`...)
	return append(strconv.AppendInt(dst, int64(account), 10), lineRows...)
}

// appendRows appends rows and their names.
func (l *log[T]) appendRows(dst []byte, from, end int, row func([]byte, *names, T) []byte) []byte {
	n, last := names{place: map[string]int{}}, int64(0)
	for i := from; i < end; i++ {
		if i > from {
			dst = append(dst, ',')
		}
		n.begin()
		dst = strconv.AppendInt(append(dst, '['), l.at[i]-last, 10)
		dst, last = append(row(dst, &n, l.all[i]), ']'), l.at[i]
	}
	return appendTexts(append(dst, ']'), "names", n.list)
}

// long reports whether the log is written in parts, as far as that is known without writing it.
func (l *log[T]) long() bool { return len(l.lines) > 1 || len(l.parts) > 0 }

// last reports whether a line is the last one of its log.
func last(line []byte) bool { return !bytes.HasSuffix(line, []byte(`]}`)) }

// load reads the lines, if they are unread, and adds to them what came after them. The journal has checked that the
// snapshot is what this program wrote, so a line that cannot be read is a defect: it ends the call that needs it, and
// nothing is decided.
func (l *log[T]) load(row func(*scan) T, most int) {
	if len(l.lines) == 0 {
		return
	}
	lines, at, all, moves := l.lines, l.at, l.all, l.moves
	n := 0
	for _, line := range lines {
		n += bytes.Count(line, []byte(`],[`)) + 1
	}
	l.lines, l.parts, l.gone, l.moves = nil, nil, 0, nil
	l.at, l.all = make([]int64, 0, n+len(at)), make([]T, 0, n+len(all))
	for i, line := range lines {
		from := len(l.at)
		if err := l.read(line, row); err != nil || last(line) != (i == len(lines)-1) {
			panic(fmt.Sprintf("ledger: snapshot: a line of the past is not one: %v", err))
		}
		if !last(line) {
			l.parts = append(l.parts, part{from: from, to: len(l.at), line: line})
		}
	}
	for i, v := range all {
		for ; len(moves) > 0 && moves[0].before == i; moves = moves[1:] {
			l.take(moves[0].at, moves[0].is)
		}
		l.add(at[i], v, most)
	}
}

// read adds the rows of a line.
func (l *log[T]) read(line []byte, row func(*scan) T) error {
	i := bytes.LastIndex(line, []byte(`],"names":[`))
	if i < 0 {
		return errPast
	}
	tail, err := wire.Read(append([]byte(`{`), line[i+len(`],`):]...), wire.Limits{Bytes: maxSnapshot, Depth: maxNesting})
	if err != nil {
		return err
	}
	o := object{v: tail}
	in := scan{b: line[:i], names: o.texts("names")}
	in.known = make([]meaning, len(in.names))
	if last(line) {
		l.forgotten = int64(o.number("forgotten"))
	}
	first, at := true, int64(0)
	for len(in.b) > 0 && !in.bad {
		if !first {
			in.take(',')
		}
		in.take('[')
		at, first = at+in.number(), false
		l.at, l.all = append(l.at, at), append(l.all, row(&in))
		in.take(']')
	}
	if in.bad {
		return errPast
	}
	return o.err
}
