package hook

import (
	"errors"
	"fmt"
	"strings"

	"sallyport/wire"
)

// readTOML reads the part of TOML that Codex's configuration is written in, into the same tree as JSON. What it does
// not know, multi-line strings among it, is an error and never a guess: a doctor that misreads a file is worse than
// one that says it cannot.
func readTOML(raw []byte) (wire.Value, error) {
	r := &tomlReader{src: string(raw), root: &tomlNode{kind: wire.Object}}
	r.table = r.root
	if err := r.document(); err != nil {
		return wire.Value{}, fmt.Errorf("line %d: %w", 1+strings.Count(r.src[:min(r.pos, len(r.src))], "\n"), err)
	}
	return r.root.value(), nil
}

type tomlNode struct {
	kind   wire.Kind
	text   string
	names  []string
	kids   []*tomlNode // of an object or an array
	headed bool        // a table's own header was seen
	fixed  bool        // a value, to which no header may add
}

func (n *tomlNode) value() wire.Value {
	v := wire.Value{Kind: n.kind, Text: n.text}
	for i, k := range n.kids {
		if n.kind == wire.Object {
			v.Members = append(v.Members, wire.Member{Name: n.names[i], Value: k.value()})
		} else {
			v.Elems = append(v.Elems, k.value())
		}
	}
	return v
}

func (n *tomlNode) child(name string) *tomlNode {
	for i := range n.names {
		if n.names[i] == name {
			return n.kids[i]
		}
	}
	return nil
}

func (n *tomlNode) add(name string, kid *tomlNode) *tomlNode {
	n.names, n.kids = append(n.names, name), append(n.kids, kid)
	return kid
}

type tomlReader struct {
	src         string
	pos         int
	root, table *tomlNode
}

var (
	errSetTwice = errors.New("a key or table is set twice")
	errNotRead  = errors.New("this is written in a way that is not read here")
)

func (r *tomlReader) document() error {
	for {
		r.skip(" \t\r\n")
		switch {
		case r.pos == len(r.src):
			return nil
		case r.peek() == '#':
			r.comment()
			continue
		case r.peek() == '[':
			if err := r.header(); err != nil {
				return err
			}
		default:
			if err := r.pair(r.table); err != nil {
				return err
			}
		}
		if err := r.lineEnd(); err != nil {
			return err
		}
	}
}

func (r *tomlReader) peek() byte {
	if r.pos < len(r.src) {
		return r.src[r.pos]
	}
	return 0
}

func (r *tomlReader) skip(set string) {
	for r.pos < len(r.src) && strings.IndexByte(set, r.src[r.pos]) >= 0 {
		r.pos++
	}
}

func (r *tomlReader) take(s string) bool {
	if strings.HasPrefix(r.src[r.pos:], s) {
		r.pos += len(s)
		return true
	}
	return false
}

func (r *tomlReader) comment() {
	for r.pos < len(r.src) && r.src[r.pos] != '\n' {
		r.pos++
	}
}

func (r *tomlReader) lineEnd() error {
	r.skip(" \t\r")
	if r.peek() == '#' {
		r.comment()
	}
	if r.pos < len(r.src) && r.peek() != '\n' {
		return errNotRead
	}
	return nil
}

// header opens a table, or appends one to an array of tables.
func (r *tomlReader) header() error {
	array := r.take("[[")
	if !array {
		r.pos++
	}
	r.skip(" \t")
	path, err := r.keys()
	if err != nil {
		return err
	}
	if !r.take("]") || array && !r.take("]") {
		return errNotRead
	}
	n := r.root
	for _, k := range path[:len(path)-1] {
		if n, err = n.into(k); err != nil {
			return err
		}
	}
	last := path[len(path)-1]
	old := n.child(last)
	switch {
	case array && old == nil:
		old = n.add(last, &tomlNode{kind: wire.Array})
		fallthrough
	case array && old.kind == wire.Array && !old.fixed:
		r.table = &tomlNode{kind: wire.Object, headed: true}
		old.kids = append(old.kids, r.table)
	case array:
		return errSetTwice
	case old == nil:
		r.table = n.add(last, &tomlNode{kind: wire.Object, headed: true})
	case old.kind != wire.Object || old.headed || old.fixed:
		return errSetTwice
	default:
		old.headed = true
		r.table = old
	}
	return nil
}

// into descends by one key of a header: into a table, or the newest table of an array.
func (n *tomlNode) into(name string) (*tomlNode, error) {
	kid := n.child(name)
	switch {
	case kid == nil:
		return n.add(name, &tomlNode{kind: wire.Object}), nil
	case kid.fixed:
	case kid.kind == wire.Object:
		return kid, nil
	case kid.kind == wire.Array && len(kid.kids) > 0:
		return kid.kids[len(kid.kids)-1], nil
	}
	return nil, errSetTwice
}

// pair reads key = value into a table.
func (r *tomlReader) pair(table *tomlNode) error {
	path, err := r.keys()
	if err != nil {
		return err
	}
	if !r.take("=") {
		return errNotRead
	}
	r.skip(" \t")
	v, err := r.readValue(maxSettingsDepth)
	if err != nil {
		return err
	}
	for _, k := range path[:len(path)-1] {
		if table, err = table.into(k); err != nil {
			return err
		}
	}
	if table.child(path[len(path)-1]) != nil {
		return errSetTwice
	}
	table.add(path[len(path)-1], v)
	return nil
}

// keys reads a dotted key and the white space after it.
func (r *tomlReader) keys() ([]string, error) {
	var path []string
	for {
		k, err := r.key()
		if err != nil {
			return nil, err
		}
		path = append(path, k)
		if len(path) > maxSettingsDepth {
			return nil, errNotRead
		}
		r.skip(" \t")
		if !r.take(".") {
			return path, nil
		}
		r.skip(" \t")
	}
}

func (r *tomlReader) key() (string, error) {
	if c := r.peek(); c == '"' || c == '\'' {
		return r.text()
	}
	start := r.pos
	r.skip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
	if r.pos == start {
		return "", errNotRead
	}
	return r.src[start:r.pos], nil
}

// text reads a string of one line, basic or literal.
func (r *tomlReader) text() (string, error) {
	quote := r.peek()
	if strings.HasPrefix(r.src[r.pos:], strings.Repeat(string(quote), 3)) {
		return "", errNotRead
	}
	r.pos++
	var b strings.Builder
	for r.pos < len(r.src) {
		c := r.src[r.pos]
		r.pos++
		switch {
		case c == quote:
			return b.String(), nil
		case c == '\n':
			return "", errNotRead
		case c == '\\' && quote == '"':
			e := r.peek()
			i := strings.IndexByte(`"\nt`, e)
			if i < 0 || e == 0 {
				return "", errNotRead
			}
			b.WriteByte("\"\\\n\t"[i])
			r.pos++
		default:
			b.WriteByte(c)
		}
	}
	return "", errNotRead
}

func (r *tomlReader) readValue(depth int) (*tomlNode, error) {
	if depth == 0 {
		return nil, errNotRead
	}
	switch r.peek() {
	case '"', '\'':
		s, err := r.text()
		return &tomlNode{kind: wire.String, text: s, fixed: true}, err
	case '[':
		return r.array(depth)
	case '{':
		return r.inline()
	}
	start := r.pos
	for r.pos < len(r.src) && strings.IndexByte(" \t\r\n,]}#", r.src[r.pos]) < 0 {
		r.pos++
	}
	n := &tomlNode{kind: wire.String, text: r.src[start:r.pos], fixed: true}
	switch {
	case n.text == "":
		return nil, errNotRead
	case n.text == "true" || n.text == "false":
		n.kind = wire.Bool
	case strings.Trim(n.text, "+-0123456789_.") == "":
		n.kind = wire.Number // or a date, which no setting that is looked at has
	}
	return n, nil
}

func (r *tomlReader) array(depth int) (*tomlNode, error) {
	n := &tomlNode{kind: wire.Array, fixed: true}
	r.pos++
	for {
		for r.skip(" \t\r\n"); r.peek() == '#'; r.skip(" \t\r\n") {
			r.comment()
		}
		if r.take("]") {
			return n, nil
		}
		if len(n.kids) > 0 {
			if !r.take(",") {
				return nil, errNotRead
			}
			for r.skip(" \t\r\n"); r.peek() == '#'; r.skip(" \t\r\n") {
				r.comment()
			}
			if r.take("]") {
				return n, nil
			}
		}
		v, err := r.readValue(depth - 1)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, v)
	}
}

// inline reads an inline table of one line without tables in it.
func (r *tomlReader) inline() (*tomlNode, error) {
	n := &tomlNode{kind: wire.Object, fixed: true}
	r.pos++
	r.skip(" \t")
	if r.take("}") {
		return n, nil
	}
	for {
		k, err := r.key()
		if err != nil {
			return nil, err
		}
		r.skip(" \t")
		if !r.take("=") {
			return nil, errNotRead
		}
		r.skip(" \t")
		if r.peek() == '{' {
			return nil, errNotRead
		}
		v, err := r.readValue(2)
		if err != nil {
			return nil, err
		}
		if n.child(k) != nil {
			return nil, errSetTwice
		}
		n.add(k, v)
		r.skip(" \t")
		if r.take("}") {
			return n, nil
		}
		if !r.take(",") {
			return nil, errNotRead
		}
		r.skip(" \t")
	}
}
