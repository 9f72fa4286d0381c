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

// Row is one row of paper_ledger: an order that the venue accepted, as it stands.
type Row struct {
	OrderID     string              // paper-1, paper-2 …
	ID          trade.BrokerOrderID // what it was sent under
	Digest      trade.Digest
	Symbol      trade.Symbol
	Side        trade.Side
	Quantity    trade.Decimal
	LimitPrice  trade.Decimal
	Status      Status
	Filled      trade.Decimal // shares
	FilledPrice trade.Decimal // zero unless filled
	AcceptedAt  time.Time
	ExpiresAt   time.Time
	ClosedAt    time.Time // zero while it works
}

const selectRows = `SELECT id, client_order_id, digest, symbol, side, quantity, limit_price, status, filled_quantity,
	coalesce(filled_price, '0'), accepted_at, expires_at, coalesce(closed_at, '') FROM paper_ledger `

// Rows returns the orders that the venue accepted, oldest first, at most limit, from the one after the row numbered
// after on: the number in its OrderID. Every row has been there since its order was accepted.
func (b *Broker) Rows(ctx context.Context, after uint64, limit int) ([]Row, error) {
	return b.rows(ctx, selectRows+`WHERE id > ? ORDER BY id LIMIT ?`, int64(min(after, 1<<62)), max(limit, 0))
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
	var r Row
	var number int64
	var digest, symbol, side, quantity, limit, filled, price, accepted, expires, closed string
	err := scan(&number, &r.ID, &digest, &symbol, &side, &quantity, &limit, &r.Status, &filled, &price, &accepted, &expires, &closed)
	if err != nil {
		return Row{}, err
	}
	o, err := readOrder(number, symbol, side, quantity, limit)
	if err != nil {
		return Row{}, err
	}
	r.OrderID, r.Symbol, r.Side, r.Quantity, r.LimitPrice = orderID(number), o.symbol, o.side, o.quantity, o.limit
	var okDigest, okFilled, okPrice bool
	r.Digest, okDigest = trade.ParseDigest(digest)
	r.Filled, okFilled = trade.ParseDecimal(filled)
	r.FilledPrice, okPrice = trade.ParseDecimal(price)
	if !okDigest || !okFilled || !okPrice {
		return Row{}, fmt.Errorf("the stored order %s is damaged", r.OrderID)
	}
	for _, t := range []struct {
		to   *time.Time
		text string
	}{{&r.AcceptedAt, accepted}, {&r.ExpiresAt, expires}, {&r.ClosedAt, closed}} {
		if t.text == "" {
			continue
		}
		if *t.to, err = time.Parse(time.RFC3339, t.text); err != nil {
			return Row{}, err
		}
	}
	return r, nil
}

// Payload renders an accepted order as the answer of an order tool that trades on this venue:
// {"status":"SUCCESS","order_id":"paper-1", …}. Decimals are text.
func (r Row) Payload() []byte {
	dst := wire.AppendText([]byte{'{'}, "status", "SUCCESS")
	dst = wire.AppendText(dst, "order_id", r.OrderID)
	dst = wire.AppendText(dst, "client_order_id", string(r.ID))
	dst = wire.AppendText(dst, "symbol", r.Symbol.String())
	dst = wire.AppendText(dst, "side", r.Side.String())
	dst = wire.AppendText(dst, "quantity", r.Quantity.String())
	dst = wire.AppendText(dst, "limit_price", r.LimitPrice.Money())
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
	rows, err := b.rows(ctx, selectRows+`WHERE client_order_id = ?`, string(id))
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
