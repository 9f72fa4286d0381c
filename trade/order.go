package trade

import (
	"crypto/sha256"

	"sallyport/wire"
)

// Order is a valid canonical order: exactly what was asked, in one form for every surface and broker. Only Parse makes
// one; the zero Order is invalid and says so.
type Order struct {
	account    Account
	symbol     Symbol
	side       Side
	quantity   Decimal // whole shares
	typ        OrderType
	limitPrice Decimal // US dollars a share
	tif        TimeInForce
}

// IsZero reports whether this is no order.
func (o Order) IsZero() bool { return o.side == NoSide }

// Account returns the account that the order is for.
func (o Order) Account() Account { return o.account }

// Symbol returns the instrument.
func (o Order) Symbol() Symbol { return o.symbol }

// Side returns buy or sell.
func (o Order) Side() Side { return o.side }

// Quantity returns the number of shares: above zero and whole.
func (o Order) Quantity() Decimal { return o.quantity }

// Type returns the order type.
func (o Order) Type() OrderType { return o.typ }

// LimitPrice returns the limit in dollars a share, above zero.
func (o Order) LimitPrice() Decimal { return o.limitPrice }

// TimeInForce returns how long the order lives.
func (o Order) TimeInForce() TimeInForce { return o.tif }

// AssetClass returns what kind of instrument it is.
func (o Order) AssetClass() string { return "us_equity" }

// Notional returns quantity × limit price, exactly, in dollars.
func (o Order) Notional() Decimal { return o.quantity.Mul(o.limitPrice) }

// Digest returns the SHA-256 over one line for each term, in fixed order. A term that an order does not have adds no
// line, so that digests stay what they are when orders gain terms.
func (o Order) Digest() Digest {
	b := make([]byte, 0, 192)
	b = append(b, "sallyport order 1\naccount="...)
	b = append(b, o.account...)
	b = append(b, "\nasset_class="...)
	b = append(b, o.AssetClass()...)
	b = append(b, "\nsymbol="...)
	b = append(b, o.symbol.s...)
	b = append(b, "\nside="...)
	b = append(b, o.side.String()...)
	b = append(b, "\nquantity="...)
	b = o.quantity.Append(b)
	b = append(b, "\nunit=shares\ntype="...)
	b = append(b, o.typ.String()...)
	b = append(b, "\nlimit_price="...)
	b = o.limitPrice.Append(b)
	b = append(b, "\ntime_in_force="...)
	b = append(b, o.tif.String()...)
	b = append(b, '\n')
	return sha256.Sum256(b)
}

// AppendJSON appends the order as the decision object carries it; null for the zero Order.
func (o Order) AppendJSON(dst []byte) []byte {
	if o.IsZero() {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	dst = wire.AppendText(dst, "account", string(o.account))
	dst = wire.AppendText(dst, "symbol", o.symbol.s)
	dst = wire.AppendText(dst, "side", o.side.String())
	dst = append(o.quantity.Append(append(wire.AppendName(dst, "quantity"), '"')), '"')
	dst = wire.AppendText(dst, "type", o.typ.String())
	dst = append(o.limitPrice.AppendMoney(append(wire.AppendName(dst, "limit_price"), '"')), '"')
	dst = wire.AppendText(dst, "time_in_force", o.tif.String())
	return append(dst, '}')
}

// ReadOrder reads what AppendJSON wrote. It goes through Parse like every other order.
func ReadOrder(v wire.Value) (Order, bool) {
	text := func(name string) Text {
		m, n := v.Member(name)
		if n != 1 || m.Kind != wire.String {
			return Text{Name: name}
		}
		return Text{Name: name, Value: m.Text, Kind: IsText}
	}
	o, _, faults := Parse(Draft{
		Account: Account(text("account").Value), Symbol: text("symbol"), Side: text("side"), Quantity: text("quantity"),
		Type: text("type"), LimitPrice: text("limit_price"), TimeInForce: text("time_in_force"),
	})
	return o, len(faults) == 0
}
