package main

import (
	"os"
	"strconv"
	"strings"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// shown is how many characters of text from outside are shown.
const shown = 64

// width is how many columns output for people has.
const width = 80

// show returns text from outside as it may be shown to a person.
func show(s string) string { return trade.Printable(masked(s), shown) }

// showPath returns a path in full, so that it can be copied, with what is not printable escaped.
func showPath(s string) string { return trade.Printable(masked(s), 4096) }

// showLines shows text of several lines, each as it may be shown to a person.
func showLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = showPath(l)
	}
	return strings.Join(lines, "\n")
}

// paint colours text for a terminal; the zero paint leaves it plain.
type paint struct{ on bool }

func (p paint) sgr(code, s string) string {
	if !p.on {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string   { return p.sgr("1", s) }
func (p paint) dim(s string) string    { return p.sgr("2", s) }
func (p paint) green(s string) string  { return p.sgr("32", s) }
func (p paint) red(s string) string    { return p.sgr("31", s) }
func (p paint) yellow(s string) string { return p.sgr("33", s) }

// verdict colours text by what a decision came to.
func (p paint) verdict(d ledger.Decision, s string) string {
	switch {
	case d.Verdict == policy.Hold || d.State == ledger.OutcomeUnknown:
		return p.yellow(s)
	case codeOfDecision(d) == exitFine:
		return p.green(s)
	}
	return p.red(s)
}

// isTerminal reports whether f is a terminal: a character device other than the null device.
func isTerminal(f any) bool {
	if o, ok := f.(*output); ok {
		f = o.file
	}
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	fi, err := file.Stat()
	if err != nil || fi.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && !os.SameFile(fi, null)
}

// wantsColor follows no-color.org, and dumb terminals.
func wantsColor(f any, getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb" && isTerminal(f)
}

// wrap breaks text at spaces into lines of at most max characters. A line that begins with spaces keeps them, and gives
// them to what is broken off. A longer word is broken; a path has a line of its own,
// and so has a command of ours in quotes.
func wrap(s string, max int) []string {
	var lines []string
	for para := range strings.SplitSeq(s, "\n") {
		margin := para[:len(para)-len(strings.TrimLeft(para, " "))]
		line := margin
		for _, word := range broken(unbroken(para), max-len(margin)) {
			switch {
			case line == margin:
				line += word
			case len([]rune(line))+1+len([]rune(word)) <= max:
				line += " " + word
			default:
				lines = append(lines, line)
				line = margin + word
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// unbroken returns the words of a line; a command of ours in quotes is one, so that it can be copied.
func unbroken(line string) (words []string) {
	const command = "'sallyport"
	open := false
	for _, w := range strings.Fields(line) {
		if open {
			words[len(words)-1] += " " + w
		} else {
			words = append(words, w)
		}
		begins := !open && strings.HasPrefix(w, command)
		open = (open || begins) && !strings.Contains(strings.TrimPrefix(w, command), "'")
	}
	return words
}

// broken cuts words that are longer than max characters, but for paths, which are copied whole.
func broken(words []string, max int) (pieces []string) {
	for _, w := range words {
		switch {
		case isPath(w), len([]rune(w)) <= max:
			pieces = append(pieces, w)
		default: // a command has spaces
			for part := range strings.SplitSeq(w, " ") {
				pieces = append(pieces, chop(part, max)...)
			}
		}
	}
	return pieces
}

// chop cuts a word into pieces of at most max characters.
func chop(w string, max int) (pieces []string) {
	r := []rune(w)
	for ; len(r) > max && max > 0; r = r[max:] {
		pieces = append(pieces, string(r[:max]))
	}
	return append(pieces, string(r))
}

// isPath reports whether a word begins as a path does.
func isPath(w string) bool {
	return strings.HasPrefix(w, "/") || strings.HasPrefix(w, "unix:/") || strings.HasPrefix(w, "SALLYPORT_")
}

// indent wraps text to the output's width behind a margin, each line with its line feed.
func indent(margin, s string) string {
	var b strings.Builder
	for _, l := range wrap(s, width-len(margin)) {
		b.WriteString(strings.TrimRight(margin+l, " ") + "\n")
	}
	return b.String()
}

// hang puts text behind a lead that stays as it is, and wraps it to the output's width behind a margin.
func hang(lead, margin, text string) string {
	const kept = "\x00" // a space that does not break
	n := min(len(lead), len(margin))
	s := indent(margin, strings.ReplaceAll(lead[n:], " ", kept)+text)
	return lead[:n] + strings.ReplaceAll(strings.TrimPrefix(s, margin), kept, " ")
}

// table lines up rows of cells. The last one is wrapped to the output's width; what it has in several lines is put into
// one if there is room.
func table(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		n := 0
		for i, cell := range row[:len(row)-1] {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-len([]rune(cell))+2))
			n += widths[i] + 2
		}
		last := row[len(row)-1]
		if joined := strings.ReplaceAll(last, "\n", " "); n+len([]rune(joined)) <= width {
			last = joined
		} else {
			margin := strings.Repeat(" ", n)
			last = strings.TrimSuffix(strings.TrimPrefix(indent(margin, last), margin), "\n")
		}
		b.WriteString(strings.TrimRight(line.String()+last, " ") + "\n")
	}
	return b.String()
}

// clip cuts text to max characters, the last of which is then an ellipsis.
func clip(s string, max int) string {
	r := []rune(s)
	if len(r) <= max {
		return s
	}
	return string(r[:max-1]) + "…"
}

// count writes a number with a separator at each thousand.
func count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural counts things, for people.
func plural(n uint64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return count(n) + " " + thing + "s"
}
