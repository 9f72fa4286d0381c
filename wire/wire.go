// Package wire reads and writes JSON without forgiving anything.
//
// Reading keeps what a lenient decoder loses: every member in order, duplicates included, the literal of each number,
// and where each value begins. Nothing is folded, coerced or dropped, so the caller can report every fault of an input.
// Writing is a handful of appenders, because records are written on the hot path and their bytes are hashed.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the JSON type of a Value. The zero Kind is no JSON at all.
type Kind uint8

// The kinds of JSON value.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String names the kind as a sentence for people would.
func (k Kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "text", "an array", "an object"}[k]
}

// Value is one JSON value as it was written.
type Value struct {
	Kind    Kind
	Text    string   // the decoded string, or the literal of a number or boolean
	Members []Member // of an object: in the order written, duplicates kept
	Elems   []Value  // of an array
	Offset  int      // of the value's first byte
}

// Member is one name and value of an object.
type Member struct {
	Name   string
	Value  Value
	Offset int // of the name's first byte
}

// Limits bound what Read takes. Both must be positive.
type Limits struct {
	Bytes int // of the whole input
	Depth int // of nesting; a scalar has depth 0, a flat object 1
}

// Error says why and where an input is not one JSON value within its limits.
type Error struct {
	TooLarge bool // more bytes than Limits.Bytes; nothing was read
	Offset   int  // in bytes from the start
	Line     int  // from 1
	Column   int  // in bytes, from 1
	Reason   string
}

// Error returns the reason with its place.
func (e *Error) Error() string {
	if e.TooLarge {
		return e.Reason
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// Read reads exactly one JSON value: valid UTF-8, nothing but white space around it. Duplicate names are kept, for the
// caller to refuse. The error is always an *Error.
func Read(raw []byte, lim Limits) (Value, error) {
	//limit:wire-bytes An input of more bytes than its reader allows is not read at all.
	if len(raw) > lim.Bytes {
		return Value{}, &Error{TooLarge: true, Reason: fmt.Sprintf("%d bytes, at most %d are read", len(raw), lim.Bytes)}
	}
	text := string(raw)
	if v, ok := readPlain(text, lim.Depth); ok {
		return v, nil
	}
	return decode(raw, text, lim)
}

// decode is Read by the decoder, which says of every fault what and where it is.
func decode(raw []byte, text string, lim Limits) (Value, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	r := reader{d: d, text: text}
	v, err := r.value(lim.Depth)
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return Value{}, r.place(raw, err)
	}
	return v, nil
}

// What the decoder does not find fault with, and the reader does. The fault is at reader.fault.
var (
	errDepth = errors.New("nested too deeply")
	errMore  = errors.New("more than one JSON value")
)

// reader lets the decoder judge the grammar and cuts the texts itself out of one copy of the input, so that a flat
// object costs a handful of allocations and not two a member.
type reader struct {
	d      *jsontext.Decoder
	text   string // the whole input
	fault  int    // offset of what errDepth or errMore is about
	inside bool   // the outermost object or array is open
}

// start returns the offset of the next token: the decoder stands behind the last one.
func (r *reader) start() int {
	i := int(r.d.InputOffset())
	for i < len(r.text) {
		switch r.text[i] {
		case ' ', '\t', '\r', '\n', ',', ':':
			i++
			continue
		}
		break
	}
	return i
}

// string returns the decoded string of a token that begins at an offset and at whose end the decoder stands.
func (r *reader) string(tok jsontext.Token, start int) string {
	inner := r.text[start+1 : int(r.d.InputOffset())-1]
	if strings.IndexByte(inner, '\\') >= 0 {
		return tok.String()
	}
	return inner
}

func (r *reader) value(depth int) (Value, error) {
	v := Value{Offset: r.start()}
	tok, err := r.d.ReadToken()
	if err != nil {
		return Value{}, err
	}
	switch tok.Kind() {
	case 'n':
		v.Kind = Null
	case 't', 'f':
		v.Kind, v.Text = Bool, r.text[v.Offset:r.d.InputOffset()]
	case '0':
		v.Kind, v.Text = Number, r.text[v.Offset:r.d.InputOffset()]
	case '"':
		v.Kind, v.Text = String, r.string(tok, v.Offset)
	case '[', '{':
		//limit:wire-depth An input nested deeper than its reader allows is refused at that place.
		if depth == 0 {
			r.fault = v.Offset
			return Value{}, errDepth
		}
		return r.nested(v, tok.Kind(), depth-1)
	}
	return v, nil
}

func (r *reader) nested(v Value, open jsontext.Kind, depth int) (Value, error) {
	v.Kind = Array
	if open == '{' {
		v.Kind = Object
	}
	if v.Kind == Object && !r.inside {
		v.Members = make([]Member, 0, 8) // of the outermost only: many small objects must not cost much more than their bytes
	}
	r.inside = true
	for {
		switch r.d.PeekKind() {
		case ']', '}':
			_, err := r.d.ReadToken()
			return v, err
		}
		if v.Kind == Array {
			e, err := r.value(depth)
			if err != nil {
				return Value{}, err
			}
			v.Elems = append(v.Elems, e)
			continue
		}
		m := Member{Offset: r.start()}
		name, err := r.d.ReadToken()
		if err != nil {
			return Value{}, err
		}
		m.Name = r.string(name, m.Offset)
		if m.Value, err = r.value(depth); err != nil {
			return Value{}, err
		}
		v.Members = append(v.Members, m)
	}
}

// end makes sure that nothing but white space follows.
func (r *reader) end() error {
	r.fault = r.start()
	if _, err := r.d.ReadToken(); err == nil {
		return errMore
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func (r *reader) place(raw []byte, err error) *Error {
	e := &Error{Offset: int(r.d.InputOffset()), Reason: err.Error()}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		e.Offset, e.Reason = int(syn.ByteOffset), syn.Err.Error()
	}
	switch {
	case err == errDepth, err == errMore:
		e.Offset = r.fault
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Offset, e.Reason = len(raw), "the JSON value is incomplete"
	}
	e.Offset = max(0, min(e.Offset, len(raw)))
	e.Line, e.Column = Position(raw, e.Offset)
	return e
}

// Position returns the line of an offset, from 1, and the column in bytes, from 1.
func Position(raw []byte, offset int) (line, column int) {
	before := raw[:max(0, min(offset, len(raw)))]
	return 1 + bytes.Count(before, []byte{'\n'}), len(before) - bytes.LastIndexByte(before, '\n')
}

// Member returns the value of the last member of that name, and how many there are.
func (v Value) Member(name string) (Value, int) {
	var last Value
	n := 0
	for i := range v.Members {
		if v.Members[i].Name == name {
			last = v.Members[i].Value
			n++
		}
	}
	return last, n
}

// Duplicate returns the first name that occurs twice in an object at any depth, if any.
func (v Value) Duplicate() (name string, found bool) {
	for i := range v.Members {
		for j := range i {
			if v.Members[j].Name == v.Members[i].Name {
				return v.Members[i].Name, true
			}
		}
		if name, found = v.Members[i].Value.Duplicate(); found {
			return name, found
		}
	}
	for i := range v.Elems {
		if name, found = v.Elems[i].Duplicate(); found {
			return name, found
		}
	}
	return "", false
}

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD. What a terminal would not print as it
// is, such as control and bidirectional characters, is written as an escape, which reads back as the same text.
func AppendString(dst []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	dst = append(dst, '"')
	if plain {
		dst = append(dst, s...)
		return append(dst, '"')
	}
	for _, r := range s { // an invalid byte ranges as U+FFFD
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case unicode.IsPrint(r):
			dst = utf8.AppendRune(dst, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return append(dst, '"')
}

// AppendName appends ,"name": or, directly after an opening brace, "name": . The name must need no escaping.
func AppendName(dst []byte, name string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// AppendText appends one member whose value is a string.
func AppendText(dst []byte, name, value string) []byte {
	return AppendString(AppendName(dst, name), value)
}

// AppendOptional appends one member whose value is a string, or nothing if it is empty.
func AppendOptional(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return AppendText(dst, name, value)
}
