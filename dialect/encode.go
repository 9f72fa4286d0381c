package dialect

import (
	"sallyport/trade"
	"sallyport/wire"
)

// Encode writes an order as the arguments that this dialect's tool takes: the inverse of Parse. The id is left out if
// it is empty or the dialect has no field for it. It returns nil for what the dialect cannot say: the zero Order, or one
// that differs from a fixed term.
func (d *Dialect) Encode(o trade.Order, id trade.ClientOrderID) []byte {
	if o.IsZero() || d.Check() != nil {
		return nil
	}
	for _, f := range d.Fixed {
		if word(o, id, f.Term) != f.Value {
			return nil
		}
	}
	dst := make([]byte, 0, 192)
	dst = append(dst, '{')
	for _, f := range d.Fields {
		dst = wire.AppendOptional(dst, f.Name, word(o, id, f.Term))
	}
	return append(dst, '}')
}
