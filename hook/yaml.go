package hook

import (
	"fmt"
	"strings"

	"sallyport/wire"
)

// readYAML reads the part of YAML that Hermes' configuration is written in, into the same tree as JSON. Anchors, tags,
// flow mappings with members, scalars over several lines other than block scalars, and whatever else it does not know
// are an error and never a guess.
func readYAML(raw []byte) (wire.Value, error) {
	r := &yamlReader{lines: strings.Split(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n")}
	if r.next() && r.line() == "---" {
		r.at++
	}
	v := wire.Value{Kind: wire.Null}
	var err error
	if r.next() {
		v, err = r.block(r.indent(), maxSettingsDepth)
	}
	if err == nil && r.next() {
		err = errNotRead
	}
	if err != nil {
		return wire.Value{}, fmt.Errorf("line %d: %w", min(r.at+1, len(r.lines)), err)
	}
	return v, nil
}

type yamlReader struct {
	lines []string
	at    int
}

// next moves to the next line that says something.
func (r *yamlReader) next() bool {
	for ; r.at < len(r.lines); r.at++ {
		if t := strings.TrimSpace(r.lines[r.at]); t != "" && t[0] != '#' {
			return true
		}
	}
	return false
}

func (r *yamlReader) line() string { return strings.TrimRight(r.lines[r.at], " ") }

func (r *yamlReader) indent() int {
	return len(r.lines[r.at]) - len(strings.TrimLeft(r.lines[r.at], " "))
}

// block reads a mapping or a sequence whose lines are indented by exactly that much.
func (r *yamlReader) block(indent, depth int) (wire.Value, error) {
	if depth == 0 {
		return wire.Value{}, errNotRead
	}
	if isItem(r.line()[indent:]) {
		return r.sequence(indent, depth)
	}
	return r.mapping(indent, depth)
}

func isItem(s string) bool { return s == "-" || strings.HasPrefix(s, "- ") }

func (r *yamlReader) sequence(indent, depth int) (wire.Value, error) {
	v := wire.Value{Kind: wire.Array}
	for r.next() && r.indent() == indent && isItem(r.line()[indent:]) {
		rest := strings.TrimLeft(r.line()[indent+1:], " ")
		var e wire.Value
		var err error
		if _, _, isPair := splitPair(rest); isPair || isItem(rest) {
			// What follows the dash is a block of its own, at the column where it begins.
			column := len(r.line()) - len(rest)
			r.lines[r.at] = strings.Repeat(" ", column) + rest
			e, err = r.block(column, depth-1)
		} else {
			e, err = r.value(rest, indent, depth, true)
		}
		if err != nil {
			return v, err
		}
		v.Elems = append(v.Elems, e)
	}
	return v, r.ended(indent)
}

func (r *yamlReader) mapping(indent, depth int) (wire.Value, error) {
	v := wire.Value{Kind: wire.Object}
	for r.next() && r.indent() == indent && !isItem(r.line()[indent:]) {
		name, rest, ok := splitPair(r.line()[indent:])
		if !ok {
			return v, errNotRead
		}
		if _, n := v.Member(name); n > 0 {
			return v, errSetTwice
		}
		kid, err := r.value(rest, indent, depth, false)
		if err != nil {
			return v, err
		}
		v.Members = append(v.Members, wire.Member{Name: name, Value: kid})
	}
	return v, r.ended(indent)
}

// ended makes sure that a block ended because what follows belongs to a block around it.
func (r *yamlReader) ended(indent int) error {
	if r.next() && r.indent() > indent {
		return errNotRead
	}
	return nil
}

// value reads what stands behind a name or a dash, and moves past it.
func (r *yamlReader) value(rest string, indent, depth int, item bool) (wire.Value, error) {
	r.at++
	switch {
	case rest == "" || rest[0] == '#':
		if r.next() && r.indent() > indent {
			return r.block(r.indent(), depth-1)
		}
		if !item && r.next() && r.indent() == indent && isItem(r.line()[indent:]) {
			return r.ownItems(indent, depth)
		}
		return wire.Value{Kind: wire.Null}, nil
	case rest[0] == '|' || rest[0] == '>':
		for r.at < len(r.lines) && (strings.TrimSpace(r.lines[r.at]) == "" || r.indent() > indent) {
			r.at++
		}
		return wire.Value{Kind: wire.String, Text: rest}, nil
	}
	v, err := scalar(rest)
	if err == nil && r.next() && r.indent() > indent {
		err = errNotRead // a scalar over several lines
	}
	return v, err
}

// ownItems reads a sequence that is not indented deeper than the name before it.
func (r *yamlReader) ownItems(indent, depth int) (wire.Value, error) {
	if depth <= 1 {
		return wire.Value{}, errNotRead
	}
	v := wire.Value{Kind: wire.Array}
	s, err := r.sequence(indent, depth-1)
	v.Elems = s.Elems
	return v, err
}

// splitPair splits name: value.
func splitPair(s string) (name, rest string, ok bool) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		name, rest, ok = quoted(s)
		rest = strings.TrimLeft(rest, " ")
		if !ok || rest == "" || rest[0] != ':' || len(rest) > 1 && rest[1] != ' ' {
			return "", "", false
		}
		return name, strings.TrimLeft(rest[1:], " "), true
	}
	i := strings.Index(s, ": ")
	if i < 0 && strings.HasSuffix(s, ":") {
		i = len(s) - 1
	}
	if i <= 0 || strings.IndexByte("?&*!|>%@`[]{},#-", s[0]) >= 0 || strings.Contains(s[:i], " #") || strings.ContainsRune(s[:i], '\t') {
		return "", "", false
	}
	return strings.TrimRight(s[:i], " "), strings.TrimLeft(s[i+1:], " "), true
}

// quoted reads a quoted scalar at the start of s and returns what is behind it.
func quoted(s string) (text, rest string, ok bool) {
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == quote && quote == '\'' && i+1 < len(s) && s[i+1] == '\'':
			b.WriteByte('\'')
			i++
		case s[i] == quote:
			return b.String(), s[i+1:], true
		case s[i] == '\\' && quote == '"':
			i++
			if i == len(s) {
				return "", "", false
			}
			j := strings.IndexByte(`"\/nt`, s[i])
			if j < 0 {
				return "", "", false
			}
			b.WriteByte("\"\\/\n\t"[j])
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// scalar reads a value of one line. The words for true and false are YAML 1.1's, as Hermes' own reader takes them.
func scalar(s string) (wire.Value, error) {
	switch s[0] {
	case '"', '\'':
		text, rest, ok := quoted(s)
		if rest = strings.TrimLeft(rest, " "); !ok || rest != "" && rest[0] != '#' {
			return wire.Value{}, errNotRead
		}
		return wire.Value{Kind: wire.String, Text: text}, nil
	case '[':
		return flow(s)
	case '{', '&', '*', '!', '%', '@', '`', ']', '}', ',', '?':
		if s == "{}" {
			return wire.Value{Kind: wire.Object}, nil
		}
		return wire.Value{}, errNotRead
	}
	if i := strings.Index(s, " #"); i >= 0 {
		s = strings.TrimRight(s[:i], " ")
	}
	if strings.Contains(s, ": ") || strings.HasSuffix(s, ":") || strings.ContainsRune(s, '\t') {
		return wire.Value{}, errNotRead
	}
	return plain(s), nil
}

func plain(s string) wire.Value {
	v := wire.Value{Kind: wire.String, Text: s}
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		v.Kind, v.Text = wire.Bool, "true"
	case "false", "no", "off":
		v.Kind, v.Text = wire.Bool, "false"
	case "null", "~":
		v.Kind, v.Text = wire.Null, ""
	default:
		if digits := strings.TrimPrefix(s, "-"); digits != "" && strings.Trim(digits, "0123456789.") == "" {
			v.Kind = wire.Number
		}
	}
	return v
}

// flow reads a sequence of scalars on one line.
func flow(s string) (wire.Value, error) {
	v := wire.Value{Kind: wire.Array}
	s = strings.TrimLeft(s[1:], " ")
	for {
		if strings.HasPrefix(s, "]") {
			rest := strings.TrimLeft(s[1:], " ")
			if rest != "" && rest[0] != '#' {
				return v, errNotRead
			}
			return v, nil
		}
		if s == "" {
			return v, errNotRead
		}
		var e wire.Value
		if s[0] == '"' || s[0] == '\'' {
			text, rest, ok := quoted(s)
			if !ok {
				return v, errNotRead
			}
			e, s = wire.Value{Kind: wire.String, Text: text}, strings.TrimLeft(rest, " ")
		} else {
			i := strings.IndexAny(s, ",]")
			word := strings.TrimSpace(s[:max(i, 0)])
			if word == "" || strings.ContainsAny(word, "[{&*!%@`\"'#:") {
				return v, errNotRead
			}
			e, s = plain(word), s[i:]
		}
		v.Elems = append(v.Elems, e)
		if s != "" && s[0] == ',' {
			s = strings.TrimLeft(s[1:], " ")
		} else if !strings.HasPrefix(s, "]") {
			return v, errNotRead
		}
	}
}
