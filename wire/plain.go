package wire

// plain reads a value that is written without anything unusual: text of printable ASCII without escapes, numbers without
// exponents. That is nearly all of what agents send and all that the journal's records hold. Whatever else comes, faulty
// or not, it leaves to the decoder, which judges: plain says yes only to what the decoder would read as the same value.
type plain struct {
	text string
	at   int // of the next byte
}

// readPlain returns the value of the whole text, or false.
func readPlain(text string, depth int) (v Value, ok bool) {
	p := plain{text: text}
	ok = p.value(&v, depth, min(8+len(text)/64, 32)) && p.next() == 0 && p.at == len(text)
	return v, ok
}

// next passes over white space and returns the byte that follows, without taking it: 0 at the end.
func (p *plain) next() byte {
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// take passes over white space and one certain byte.
func (p *plain) take(c byte) bool {
	ok := p.next() == c
	p.at++
	return ok
}

// value reads a value. members is for how many there is room at first, if it is an object.
func (p *plain) value(v *Value, depth, members int) bool {
	c := p.next()
	v.Offset = p.at
	switch {
	case c == '"':
		v.Kind = String
		return p.string(&v.Text)
	case c == '{' && depth > 0:
		v.Kind = Object
		if members > 0 {
			v.Members = make([]Member, 0, members)
		}
		return p.object(v, depth-1)
	case c == '[' && depth > 0:
		v.Kind = Array
		return p.array(v, depth-1)
	case c == '-' || c >= '0' && c <= '9':
		v.Kind = Number
		return p.number(&v.Text)
	}
	for _, w := range [...]struct {
		text string
		kind Kind
	}{{"true", Bool}, {"false", Bool}, {"null", Null}} {
		if end := p.at + len(w.text); end <= len(p.text) && p.text[p.at:end] == w.text {
			if p.at, v.Kind = end, w.kind; w.kind == Bool {
				v.Text = w.text
			}
			return true
		}
	}
	return false
}

func (p *plain) object(v *Value, depth int) bool {
	p.at++
	if p.next() == '}' {
		p.at++
		return true
	}
	for {
		v.Members = append(v.Members, Member{})
		m := &v.Members[len(v.Members)-1]
		if p.next() != '"' {
			return false
		}
		m.Offset = p.at
		if !p.string(&m.Name) || !p.take(':') || !p.value(&m.Value, depth, 0) {
			return false
		}
		switch p.next() {
		case ',':
			p.at++
		case '}':
			p.at++
			return true
		default:
			return false
		}
	}
}

func (p *plain) array(v *Value, depth int) bool {
	p.at++
	if p.next() == ']' {
		p.at++
		return true
	}
	for {
		v.Elems = append(v.Elems, Value{})
		if !p.value(&v.Elems[len(v.Elems)-1], depth, 0) {
			return false
		}
		switch p.next() {
		case ',':
			p.at++
		case ']':
			p.at++
			return true
		default:
			return false
		}
	}
}

// string reads a string from its first quote to its last.
func (p *plain) string(into *string) bool {
	start := p.at + 1
	for i := start; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			*into, p.at = p.text[start:i], i+1
			return true
		case c < 0x20 || c > 0x7e || c == '\\':
			return false
		}
	}
	return false
}

// number reads a number without an exponent. What follows it must end it, which whoever reads on sees.
func (p *plain) number(into *string) bool {
	start := p.at
	if p.text[p.at] == '-' {
		p.at++
	}
	whole := p.digits()
	if whole == 0 || whole > 1 && p.text[p.at-whole] == '0' {
		return false
	}
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		if p.digits() == 0 {
			return false
		}
	}
	*into = p.text[start:p.at]
	return true
}

func (p *plain) digits() int {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at - start
}
