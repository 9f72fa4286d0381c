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
	quantity   Decimal // shares; zero for an order by amount
	typ        OrderType
	limitPrice Decimal // US dollars a share; zero: none
	tif        TimeInForce
	more       *terms // nil: none of them; never written to once the order is made
}

// terms are those that most orders do not have. They stand apart, since an order is handed on by value.
type terms struct {
	amount        Decimal // US dollars to spend; zero: the order has a quantity
	stopPrice     Decimal
	extendedHours bool
	stopLoss      Exit
	takeProfit    Decimal
}

// Exit is a protective exit of a position: a stop order, or a stop-limit order where it has a limit. The zero Exit is
// none.
type Exit struct {
	Stop  Decimal // US dollars a share at which it is triggered
	Limit Decimal // zero: it is a market order once it is triggered
}

// IsZero reports whether there is no such exit.
func (e Exit) IsZero() bool { return e.Stop.Sign() == 0 }

// IsZero reports whether this is no order.
func (o Order) IsZero() bool { return o.side == NoSide }

// Account returns the account that the order is for.
func (o Order) Account() Account { return o.account }

// Symbol returns the instrument.
func (o Order) Symbol() Symbol { return o.symbol }

// Side returns buy or sell.
func (o Order) Side() Side { return o.side }

// Quantity returns the number of shares: above zero, perhaps with a fraction; zero for an order by amount, which only a
// price can say in shares.
func (o Order) Quantity() Decimal { return o.quantity }

// ByAmount reports whether the order is for an amount of dollars and not for a number of shares. Such an order is a
// market buy for the day.
func (o Order) ByAmount() bool { return o.more != nil && o.more.byAmount() }

// Amount returns the dollars that an order by amount spends; zero for every other.
func (o Order) Amount() (d Decimal) {
	if o.more != nil {
		d = o.more.amount
	}
	return d
}

// Type returns the order type.
func (o Order) Type() OrderType { return o.typ }

// LimitPrice returns the limit in dollars a share; zero for an order that has none.
func (o Order) LimitPrice() Decimal { return o.limitPrice }

// StopPrice returns the price in dollars a share that triggers a stop or stop-limit order; zero for every other.
func (o Order) StopPrice() (d Decimal) {
	if o.more != nil {
		d = o.more.stopPrice
	}
	return d
}

// TimeInForce returns how long the order lives.
func (o Order) TimeInForce() TimeInForce { return o.tif }

// ExtendedHours reports whether the order may also be executed before and after the regular session.
func (o Order) ExtendedHours() bool { return o.more != nil && o.more.extendedHours }

// StopLoss returns the stop that is to be placed once the order is filled; zero for none.
func (o Order) StopLoss() (e Exit) {
	if o.more != nil {
		e = o.more.stopLoss
	}
	return e
}

// TakeProfit returns the limit of the sell that is to be placed once the order is filled; zero for none. With a stop
// loss beside it, one of the two cancels the other.
func (o Order) TakeProfit() (d Decimal) {
	if o.more != nil {
		d = o.more.takeProfit
	}
	return d
}

// HasExits reports whether the order brings a stop loss or a take profit with it.
func (o Order) HasExits() bool { return o.more != nil && o.more.hasExits() }

// IsPlain reports whether the order has no term that orders did not have at first: it is a limit order for the day and
// for whole shares, without exits.
func (o Order) IsPlain() bool {
	return o.typ == Limit && o.tif == Day && o.more == nil && o.limitPrice.Sign() > 0 && o.quantity.Sign() > 0 && o.quantity.IsWhole()
}

// AssetClass returns what kind of instrument it is.
func (o Order) AssetClass() string { return "us_equity" }

// Notional returns what the order is worth by its own terms, exactly, in dollars: quantity × limit price, or the amount.
// Of an order without a limit price only a quote can say it, and then the zero that is returned is not its worth.
func (o Order) Notional() (Decimal, bool) {
	switch {
	case o.ByAmount():
		return o.more.amount, true
	case o.limitPrice.Sign() > 0:
		return o.quantity.Mul(o.limitPrice), true
	}
	return Decimal{}, false
}

// byAmount and hasExits stand apart, so that the questions above are answered of a plain order, which every rule of every
// judgement asks, without a call.
//
//go:noinline
func (t *terms) byAmount() bool { return t.amount.Sign() > 0 }

//go:noinline
func (t *terms) hasExits() bool { return !t.stopLoss.IsZero() || t.takeProfit.Sign() > 0 }

// Digest returns the SHA-256 over one line for each term, in fixed order. A term that an order does not have adds no
// line, so that digests stay what they are when orders gain terms.
func (o Order) Digest() Digest {
	b := make([]byte, 0, 256)
	b = append(b, "sallyport order 1\naccount="...)
	b = append(b, o.account...)
	b = append(b, "\nasset_class="...)
	b = append(b, o.AssetClass()...)
	b = append(b, "\nsymbol="...)
	b = append(b, o.symbol.s...)
	b = append(b, "\nside="...)
	b = append(b, o.side.String()...)
	b = append(b, "\nquantity="...)
	if o.ByAmount() {
		b = append(o.more.amount.Append(b), "\nunit=usd"...)
	} else {
		b = append(o.quantity.Append(b), "\nunit=shares"...)
	}
	b = append(b, "\ntype="...)
	b = append(b, o.typ.String()...)
	b = appendLine(b, "limit_price", o.limitPrice)
	b = appendLine(b, "stop_price", o.StopPrice())
	b = append(b, "\ntime_in_force="...)
	b = append(b, o.tif.String()...)
	if o.ExtendedHours() {
		b = append(b, "\nextended_hours=true"...)
	}
	b = appendLine(b, "stop_loss", o.StopLoss().Stop)
	b = appendLine(b, "stop_loss_limit", o.StopLoss().Limit)
	b = appendLine(b, "take_profit", o.TakeProfit())
	b = append(b, '\n')
	return sha256.Sum256(b)
}

// appendLine appends one more line of a digest's text, unless the order does not have the term.
func appendLine(dst []byte, name string, d Decimal) []byte {
	if d.Sign() == 0 {
		return dst
	}
	dst = append(append(dst, '\n'), name...)
	return d.Append(append(dst, '='))
}

// AppendJSON appends the order as the decision object carries it; null for the zero Order. A term that the order does not
// have is no member.
func (o Order) AppendJSON(dst []byte) []byte {
	if o.IsZero() {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	dst = wire.AppendText(dst, "account", string(o.account))
	dst = wire.AppendText(dst, "symbol", o.symbol.s)
	dst = wire.AppendText(dst, "side", o.side.String())
	if !o.ByAmount() {
		dst = append(o.quantity.Append(append(wire.AppendName(dst, "quantity"), '"')), '"')
	}
	dst = appendMoney(dst, "notional", o.Amount())
	dst = wire.AppendText(dst, "type", o.typ.String())
	dst = appendMoney(dst, "limit_price", o.limitPrice)
	dst = appendMoney(dst, "stop_price", o.StopPrice())
	dst = wire.AppendText(dst, "time_in_force", o.tif.String())
	if o.ExtendedHours() {
		dst = append(wire.AppendName(dst, "extended_hours"), "true"...)
	}
	dst = appendMoney(dst, "stop_loss", o.StopLoss().Stop)
	dst = appendMoney(dst, "stop_loss_limit", o.StopLoss().Limit)
	dst = appendMoney(dst, "take_profit", o.TakeProfit())
	return append(dst, '}')
}

func appendMoney(dst []byte, name string, d Decimal) []byte {
	if d.Sign() == 0 {
		return dst
	}
	return append(d.AppendMoney(append(wire.AppendName(dst, name), '"')), '"')
}

// ReadOrder reads what AppendJSON wrote. It goes through Parse like every other order.
func ReadOrder(v wire.Value) (Order, bool) {
	o, _, faults := Parse(Draft{
		Account: Account(written(v, "account").Value), Symbol: written(v, "symbol"), Side: written(v, "side"),
		Quantity: written(v, "quantity"), Notional: written(v, "notional"), Type: written(v, "type"),
		LimitPrice: written(v, "limit_price"), StopPrice: written(v, "stop_price"), TimeInForce: written(v, "time_in_force"),
		ExtendedHours: written(v, "extended_hours"), StopLoss: written(v, "stop_loss"),
		StopLossLimit: written(v, "stop_loss_limit"), TakeProfit: written(v, "take_profit"),
	})
	return o, len(faults) == 0
}

// written returns a member as AppendJSON writes it. What it never writes is malformed, so that no order comes of it.
func written(v wire.Value, name string) Text {
	m, n := v.Member(name)
	switch {
	case n == 0:
		return Text{Name: name}
	case n == 1 && m.Kind == wire.String && name != "extended_hours":
		return Text{Name: name, Value: m.Text, Kind: IsText}
	case n == 1 && m.Kind == wire.Bool && m.Text == "true" && name == "extended_hours":
		return Text{Name: name, Value: m.Text, Kind: IsFlag}
	}
	return Text{Name: name, Kind: IsText}
}
