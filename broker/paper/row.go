package paper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sallyport/gate"
	"sallyport/trade"
	"sallyport/wire"
)

// Status is where an order of the venue stands.
type Status string

// The statuses.
const (
	Working   Status = "working"
	Filled    Status = "filled"
	Cancelled Status = "cancelled"
	Expired   Status = "expired"
)

// Row is one row of paper_ledger: an order that the venue accepted, or the exits of one, as it stands. What an order does
// not have is zero.
type Row struct {
	OrderID     string              // paper-1, paper-2 …
	ID          trade.BrokerOrderID // what it was sent under; of exits that of their entry
	ExitsOf     string              // of exits the OrderID of their entry
	Digest      trade.Digest        // zero for exits
	Symbol      trade.Symbol
	Side        trade.Side
	Quantity    trade.Decimal
	Amount      trade.Decimal   // dollars, of an order by amount
	Type        trade.OrderType // none for exits
	LimitPrice  trade.Decimal
	StopPrice   trade.Decimal
	TimeInForce trade.TimeInForce
	StopLoss    trade.Exit // of exits their own, of another order what follows its fill
	TakeProfit  trade.Decimal
	Triggered   bool // its stop was reached
	Status      Status
	Filled      trade.Decimal // shares
	FilledPrice trade.Decimal // zero unless filled
	AcceptedAt  time.Time
	ExpiresAt   time.Time // zero if it does not
	ClosedAt    time.Time // zero while it works
}

const selectRows = `SELECT ` + cellNames + `, digest, status, filled_quantity, coalesce(filled_price, '0'), accepted_at,
	coalesce(closed_at, '') FROM paper_ledger l `

// Rows returns the orders that the venue accepted, oldest first, at most limit, from the one after the row numbered
// after on: the number in its OrderID. Every row has been there since its order was accepted.
func (b *Broker) Rows(ctx context.Context, after uint64, limit int) ([]Row, error) {
	return b.rows(ctx, selectRows+`WHERE l.id > ? ORDER BY l.id LIMIT ?`, int64(min(after, 1<<62)), max(limit, 0))
}

func (b *Broker) rows(ctx context.Context, query string, args ...any) (all []Row, err error) {
	found, err := b.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, wrap(err)
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	for found.Next() {
		r, err := scanRow(found.Scan)
		if err != nil {
			return nil, wrap(err)
		}
		all = append(all, r)
	}
	return all, wrap(found.Err())
}

func scanRow(scan func(...any) error) (Row, error) {
	var c cells
	var r Row
	var digest, filled, price, accepted, closed string
	if err := scan(append(c.targets(), &digest, &r.Status, &filled, &price, &accepted, &closed)...); err != nil {
		return Row{}, err
	}
	o, err := c.order()
	if err != nil {
		return Row{}, err
	}
	r.OrderID, r.ID, r.Symbol, r.Side, r.Quantity, r.Amount = orderID(o.number), c.id, o.symbol, o.side, o.quantity, o.amount
	r.Type, r.LimitPrice, r.StopPrice, r.TimeInForce = o.kind, o.limit, o.stop, o.tif
	r.StopLoss, r.TakeProfit, r.Triggered = o.loss, o.profit, o.triggered
	is := reading{ok: true}
	if o.exitsOf > 0 {
		r.ExitsOf = orderID(o.exitsOf)
	} else {
		r.Digest = read(&is, digest, trade.ParseDigest)
	}
	r.Filled = read(&is, filled, trade.ParseDecimal)
	r.FilledPrice = read(&is, price, trade.ParseDecimal)
	r.AcceptedAt = read(&is, accepted, parseStamp)
	if !o.expires.Equal(never) {
		r.ExpiresAt = o.expires
	}
	if closed != "" {
		r.ClosedAt = read(&is, closed, parseStamp)
	}
	if !is.ok {
		return Row{}, fmt.Errorf("the stored order %s is damaged", r.OrderID)
	}
	return r, nil
}

// Payload renders an accepted order as the answer of an order tool that trades on this venue:
// {"status":"SUCCESS","order_id":"paper-1", …}. Decimals are text; prices that an order does not have are no members.
func (r Row) Payload() []byte {
	dst := wire.AppendText([]byte{'{'}, "status", "SUCCESS")
	dst = wire.AppendText(dst, "order_id", r.OrderID)
	dst = wire.AppendText(dst, "client_order_id", string(r.ID))
	dst = wire.AppendText(dst, "symbol", r.Symbol.String())
	dst = wire.AppendText(dst, "side", r.Side.String())
	dst = wire.AppendText(dst, "quantity", r.Quantity.String())
	for _, price := range [...]struct {
		name string
		trade.Decimal
	}{
		{"limit_price", r.LimitPrice}, {"stop_price", r.StopPrice}, {"notional", r.Amount}, {"stop_loss", r.StopLoss.Stop},
		{"stop_loss_limit", r.StopLoss.Limit}, {"take_profit", r.TakeProfit},
	} {
		if price.Sign() > 0 {
			dst = wire.AppendText(dst, price.name, price.Money())
		}
	}
	dst = wire.AppendText(dst, "filled_quantity", r.Filled.String())
	return append(dst, '}')
}

// ErrorPayload renders a rejection as such an answer: {"status":"ERROR","code":"INSUFFICIENT_CASH","message":"…"}.
func ErrorPayload(r gate.Receipt) []byte {
	dst := wire.AppendText([]byte{'{'}, "status", "ERROR")
	dst = wire.AppendText(dst, "code", r.Code)
	dst = wire.AppendText(dst, "message", r.Message)
	return append(dst, '}')
}

// Payload renders what the venue answered for an id, an accepted order as it stands now. found is false for an id that
// it does not know.
func (b *Broker) Payload(ctx context.Context, id trade.BrokerOrderID) (payload []byte, found bool, err error) {
	rows, err := b.rows(ctx, selectRows+`WHERE l.client_order_id = ? AND l.exits_of IS NULL`, string(id))
	if err != nil {
		return nil, false, err
	}
	if len(rows) > 0 {
		return rows[0].Payload(), true, nil
	}
	var r gate.Receipt
	refused, err := b.db.QueryContext(ctx, `SELECT code, message FROM paper_rejections WHERE client_order_id = ?`, string(id))
	if err != nil {
		return nil, false, wrap(err)
	}
	defer func() { err = errors.Join(err, refused.Close()) }()
	if !refused.Next() {
		return nil, false, wrap(refused.Err())
	}
	if err := refused.Scan(&r.Code, &r.Message); err != nil {
		return nil, false, wrap(err)
	}
	return ErrorPayload(r), true, nil
}
