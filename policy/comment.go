package policy

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// blank returns JSON with comments and trailing commas as plain JSON of the same length: what goes becomes spaces, so
// that every place stays what it is in the file. It does not judge the JSON. A comment that a reader could take for
// more, or less, than a comment is a fault: one with a character that does not show, or that another program would take
// for the end of the line.
//
// It nests nothing, so that no input, however deep, can take the stack away before the strict reader counts the depth.
func blank(raw []byte) (plain []byte, faults []commentFault) {
	plain = bytes.Clone(raw)
	before, comma := byte(0), -1 // the last byte that counts, and the offset of a comma that is the last
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			i = stringEnd(raw, i)
			before, comma = c, -1
		case c == '/':
			end := commentEnd(raw, i)
			if end < 0 { // no comment: the strict reader says so
				return plain, faults
			}
			faults = judgeComment(faults, raw, i, end)
			wipe(plain[i:end])
			i = end
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		default:
			if (c == ']' || c == '}') && comma >= 0 {
				plain[comma] = ' '
			}
			comma = -1
			if c == ',' && before != 0 && before != ',' && before != '[' && before != '{' && before != ':' {
				comma = i
			}
			before = c
			i++
		}
	}
	return plain, faults
}

type commentFault struct {
	offset int
	rune   rune
}

func (f commentFault) String() string {
	return fmt.Sprintf("a comment holds U+%04X, which does not show as what it is", f.rune)
}

// stringEnd returns the offset behind the string that begins at i.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// commentEnd returns the offset behind the comment that begins at i, or -1 if none does or it has no end.
func commentEnd(raw []byte, i int) int {
	rest := raw[i+1:]
	switch {
	case bytes.HasPrefix(rest, []byte("/")):
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			return i + 1 + n
		}
		return len(raw)
	case bytes.HasPrefix(rest, []byte("*")):
		if n := bytes.Index(rest[1:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2
		}
	}
	return -1
}

func judgeComment(faults []commentFault, raw []byte, start, end int) []commentFault {
	for i := start; i < end; {
		r, n := utf8.DecodeRune(raw[i:end])
		lineEnd := r == '\n' || r == '\r' && (i+1 == len(raw) || raw[i+1] == '\n')
		if r == utf8.RuneError && n == 1 || r != '\t' && !lineEnd && !shows(r) {
			faults = append(faults, commentFault{i, r})
		}
		i += n
	}
	return faults
}

// shows reports whether a character shows by itself. Many that are letters, marks or symbols by their class do not: the
// fillers of Hangul and Khitan, what selects a variation or joins graphemes, and blanks that are no spaces.
//
//limit:policy-comment-visible A comment in a policy holds only characters that show as what they are: none that is a filler, a blank other than the space, or selects or joins others.
func shows(r rune) bool {
	switch r {
	case '\u2800', '\U0001D159', '\U00016FE4', '\uFFFC':
		return false
	}
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// wipe turns everything but line ends into spaces.
func wipe(b []byte) {
	for i := range b {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
}
