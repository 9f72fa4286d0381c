package dialect

import (
	"sallyport/trade"
	"sallyport/wire"
)

// Encode writes an order as the arguments that this dialect's tool takes: the inverse of Parse. The id is left out if
// it is empty or the dialect has no field for it. It returns nil for what the dialect cannot say: the zero Order, one
// that differs from a fixed term, or one with a term that no field takes.
func (d *Dialect) Encode(o trade.Order, id trade.ClientOrderID) []byte {
	if o.IsZero() || d.Check() != nil || !d.says(o) {
		return nil
	}
	dst := make([]byte, 0, 256)
	dst = append(dst, '{')
	for i := range d.Fields {
		f := &d.Fields[i]
		switch {
		case f.In == "":
			dst = f.append(dst, word(o, id, f.Term))
		case i == 0 || d.Fields[i-1].In != f.In: // the first of its object
			dst = d.appendGroup(dst, f.In, o, id)
		}
	}
	return append(dst, '}')
}

// says reports whether the dialect has a place for every term of the order.
func (d *Dialect) says(o trade.Order) bool {
	for t := Symbol; t < OrderClass; t++ {
		w := word(o, "", t)
		taken := w == ""
		for i := range d.Fields {
			taken = taken || d.Fields[i].Term == t
		}
		for _, f := range d.Fixed {
			if f.Term == t {
				taken = w == f.Value
			}
		}
		if !taken {
			return false
		}
	}
	return true
}

// append appends one member, unless the order does not have the term, or has what its absence means.
func (f *Field) append(dst []byte, word string) []byte {
	switch {
	case word == "" || word == f.Default:
		return dst
	case f.Term == ExtendedHours:
		return append(wire.AppendName(dst, f.Name), word...)
	}
	return wire.AppendText(dst, f.Name, word)
}

// appendGroup appends the object that has some of the fields, unless the order has none of their terms.
func (d *Dialect) appendGroup(dst []byte, in string, o trade.Order, id trade.ClientOrderID) []byte {
	start := len(dst)
	dst = append(wire.AppendName(dst, in), '{')
	empty := len(dst)
	for i := range d.Fields {
		if f := &d.Fields[i]; f.In == in {
			dst = f.append(dst, word(o, id, f.Term))
		}
	}
	if len(dst) == empty {
		return dst[:start]
	}
	return append(dst, '}')
}
