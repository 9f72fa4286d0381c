package main

import "sallyport/wire"

// quickWrapper reads a wrapper that is written in the plainest way: exactly the members tool, a short name, and args,
// an object, in either order. It does not look into args, which the dialect judges; whatever is not so plain is left to
// the strict reader, with ok false. Both come to the same decision.
func quickWrapper(line []byte) (tool string, args []byte, ok bool) {
	c := cursor{b: line}
	if !c.token("{") {
		return "", nil, false
	}
	for i := range 2 {
		switch {
		case i == 1 && !c.token(","):
			return "", nil, false
		case tool == "" && c.token(`"tool"`) && c.token(":") && c.token(`"`):
			tool = c.name()
			ok = tool != ""
		case args == nil && c.token(`"args"`) && c.token(":") && c.is('{'):
			args = wire.Cut(c.b, c.i)
			c.i += len(args)
			ok = true
		default:
			ok = false
		}
		if !ok {
			return "", nil, false
		}
	}
	ok = c.token("}")
	c.space()
	return tool, args, ok && c.i == len(c.b)
}

// cursor moves over the tokens of a line.
type cursor struct {
	b []byte
	i int
}

func (c *cursor) space() {
	for c.i < len(c.b) && (c.b[c.i] == ' ' || c.b[c.i] == '\t' || c.b[c.i] == '\r') {
		c.i++
	}
}

func (c *cursor) is(first byte) bool {
	c.space()
	return c.i < len(c.b) && c.b[c.i] == first
}

// token moves over white space and then over s, if s comes next.
func (c *cursor) token(s string) bool {
	c.space()
	if len(c.b)-c.i < len(s) || string(c.b[c.i:c.i+len(s)]) != s {
		return false
	}
	c.i += len(s)
	return true
}

// name moves over letters, digits and underscores up to and with a closing quote, and returns them.
func (c *cursor) name() string {
	start := c.i
	for ; c.i < len(c.b); c.i++ {
		switch ch := c.b[c.i]; {
		case ch >= 'a' && ch <= 'z', ch >= 'A' && ch <= 'Z', ch >= '0' && ch <= '9', ch == '_':
		case ch == '"':
			c.i++
			return string(c.b[start : c.i-1])
		default:
			return ""
		}
	}
	return ""
}
