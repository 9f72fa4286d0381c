package mcp

import (
	"context"
	"errors"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// portfolioTool shows what the account holds and what is left of each limit.
func (t *Tools) portfolioTool() Tool {
	return Tool{
		Name: "portfolio_get", Title: "Show the portfolio", Description: portfolioDescription,
		Input: inputSchema(""), Output: []byte(portfolioSchema), ReadOnly: true, Idempotent: true, stoppable: true,
		run: func(ctx context.Context, c call) Result {
			if a := c.read(); len(a.reasons) > 0 {
				return refused(a.reasons...)
			}
			p, err := t.cfg.Gate.Portfolio(ctx, c.origin.Agent)
			if err != nil {
				return t.failed("portfolio_get", err)
			}
			return plain(appendPortfolio([]byte{'{'}, p), false)
		},
	}
}

func appendPortfolio(dst []byte, p gate.Portfolio) []byte {
	dst = wire.AppendText(dst, "account", string(p.Account))
	dst = wire.AppendText(dst, "at", p.At.UTC().Format(ledger.TimeFormat))
	if p.Cash == nil {
		dst = append(wire.AppendName(dst, "cash"), "null"...)
	} else {
		dst = wire.AppendText(dst, "cash", p.Cash.Money())
	}
	dst = appendEach(dst, "positions", p.Positions, appendPosition)
	var working, reserved []gate.WorkingOrder
	for _, o := range p.Orders {
		if o.State == ledger.Working.String() {
			working = append(working, o)
		} else {
			reserved = append(reserved, o)
		}
	}
	dst = appendEach(dst, "working_orders", working, appendOpenOrder)
	dst = appendEach(dst, "reservations", reserved, appendOpenOrder)
	dst = appendEach(dst, "headroom", p.Headroom, appendHeadroom)
	dst = ledger.AppendStops(wire.AppendName(dst, "stops"), p.Stops)
	return appendRefusal(dst, nil)
}

func appendPosition(dst []byte, x gate.Position) []byte {
	dst = wire.AppendText(append(dst, '{'), "symbol", x.Symbol.String())
	dst = wire.AppendText(dst, "quantity", x.Quantity.String())
	dst = wire.AppendText(dst, "pending_buys", x.PendingBuys.String())
	return append(wire.AppendText(dst, "pending_sells", x.PendingSells.String()), '}')
}

func appendOpenOrder(dst []byte, o gate.WorkingOrder) []byte {
	dst = wire.AppendText(append(dst, '{'), "intent_id", string(o.Intent))
	dst = wire.AppendText(dst, "state", o.State)
	dst = o.Order.AppendJSON(wire.AppendName(dst, "order"))
	if worth, known := o.Order.Notional(); known {
		dst = wire.AppendText(dst, "notional", worth.Money())
	}
	dst = wire.AppendText(dst, "filled_quantity", o.Filled.String())
	return append(wire.AppendText(dst, "at", o.At.UTC().Format(ledger.TimeFormat)), '}')
}

func appendHeadroom(dst []byte, h gate.Headroom) []byte {
	dst = wire.AppendText(append(dst, '{'), "limit", h.Limit)
	dst = wire.AppendOptional(dst, "symbol", h.Symbol.String())
	dst = wire.AppendText(wire.AppendText(dst, "bound", h.Bound), "used", h.Used)
	return append(wire.AppendText(dst, "left", h.Left), '}')
}

// quoteTool shows the last quote of one symbol.
func (t *Tools) quoteTool() Tool {
	return Tool{
		Name: "market_quote", Title: "Show a quote", Description: quoteDescription,
		Input: inputSchema(`"symbol"`, symbolProperty), Output: []byte(quoteSchema), ReadOnly: true, stoppable: true,
		run: func(ctx context.Context, c call) Result {
			a := c.read("symbol")
			a.need("symbol")
			s := a.symbol("symbol")
			if len(a.reasons) > 0 {
				return refused(a.reasons...)
			}
			q, found, err := t.cfg.Gate.Quote(ctx, s)
			var silent unanswered
			if errors.As(err, &silent) {
				return t.failed("market_quote", err)
			}
			if err != nil || !found {
				if err != nil {
					t.cfg.Log.Error("the market cannot be asked", "error", err)
				}
				return refused(policy.Reason{
					Code: quoteUnavailable, Field: "symbol", Observed: s.String(), Message: "the market shows nothing for " + s.String() + " now",
				})
			}
			return plain(appendQuote([]byte{'{'}, q, t.cfg.Now()), false)
		},
	}
}

// appendQuote shows a quote with its age: an old one says little of the market now.
func appendQuote(dst []byte, q trade.Quote, now time.Time) []byte {
	dst = wire.AppendText(dst, "symbol", q.Symbol.String())
	dst = wire.AppendText(wire.AppendText(dst, "bid", q.Bid.Money()), "ask", q.Ask.Money())
	dst = wire.AppendText(dst, "last", q.Last.Money())
	dst = wire.AppendText(dst, "at", q.At.UTC().Format(ledger.TimeFormat))
	dst = wire.AppendText(dst, "age", now.Sub(q.At).Truncate(time.Millisecond).String())
	return appendRefusal(dst, nil)
}
