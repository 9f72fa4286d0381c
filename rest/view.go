package rest

import (
	"encoding/base64"
	"strconv"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
	"sallyport/wire"
)

// What is shown, and read again by our client. Each append function has its counterpart in reading.go.

func appendBool(dst []byte, b bool) []byte { return strconv.AppendBool(dst, b) }

func appendTime(dst []byte, name string, at time.Time) []byte {
	return wire.AppendText(dst, name, at.UTC().Format(ledger.TimeFormat))
}

func appendCancel(dst []byte, res gate.CancelResult) []byte {
	dst = wire.AppendText(append(dst, '{'), "intent_id", string(res.Intent))
	dst = wire.AppendText(dst, "outcome", res.Outcome.String())
	return append(wire.AppendText(dst, "message", res.Message), '}')
}

func appendStops(dst []byte, stops []ledger.Stop) []byte {
	return append(ledger.AppendStops(wire.AppendName(append(dst, '{'), "stops"), stops), '}')
}

func appendStopReport(dst []byte, r gate.StopReport) []byte {
	dst = wire.AppendText(append(dst, '{'), "scope", r.Stop.Scope.String())
	dst = wire.AppendText(wire.AppendText(dst, "by", r.Stop.By), "reason", r.Stop.Reason)
	dst = appendTime(dst, "since", r.Stop.Since)
	dst = appendBool(wire.AppendName(dst, "repeated"), r.Repeated)
	dst = appendBool(wire.AppendName(dst, "recorded"), r.Recorded)
	dst = wire.AppendOptional(dst, "stop_file", r.StopFile)
	dst = appendList(wire.AppendName(dst, "orders"), r.Orders, func(dst []byte, o gate.StopOrder) []byte {
		dst = wire.AppendText(append(dst, '{'), "intent_id", string(o.Intent))
		dst = o.Order.AppendJSON(wire.AppendName(dst, "order"))
		dst = wire.AppendText(wire.AppendText(dst, "agent", string(o.Agent)), "state", string(o.State))
		return append(wire.AppendOptional(dst, "message", o.Message), '}')
	})
	return append(dst, '}')
}

func appendOrder(dst []byte, o gate.WorkingOrder) []byte {
	dst = wire.AppendText(append(dst, '{'), "intent_id", string(o.Intent))
	dst = wire.AppendText(dst, "broker_order_id", string(o.ID))
	dst = o.Order.AppendJSON(wire.AppendName(dst, "order"))
	dst = wire.AppendText(wire.AppendText(dst, "agent", string(o.Agent)), "state", o.State)
	dst = wire.AppendText(dst, "filled_quantity", o.Filled.String())
	dst = appendTime(dst, "at", o.At)
	if !o.Deadline.IsZero() {
		dst = appendTime(dst, "deadline", o.Deadline)
	}
	return append(dst, '}')
}

func appendOrders(dst []byte, all []gate.WorkingOrder) []byte {
	return append(appendList(wire.AppendName(append(dst, '{'), "orders"), all, appendOrder), '}')
}

func appendPortfolio(dst []byte, p gate.Portfolio) []byte {
	dst = appendTime(wire.AppendText(append(dst, '{'), "account", string(p.Account)), "at", p.At)
	if dst = wire.AppendName(dst, "cash"); p.Cash != nil {
		dst = wire.AppendString(dst, p.Cash.Money())
	} else {
		dst = append(dst, "null"...)
	}
	dst = appendList(wire.AppendName(dst, "positions"), p.Positions, func(dst []byte, x gate.Position) []byte {
		dst = wire.AppendText(append(dst, '{'), "account", string(x.Account))
		dst = wire.AppendText(wire.AppendText(dst, "symbol", x.Symbol.String()), "quantity", x.Quantity.String())
		dst = wire.AppendText(dst, "pending_buys", x.PendingBuys.String())
		return append(wire.AppendText(dst, "pending_sells", x.PendingSells.String()), '}')
	})
	dst = appendList(wire.AppendName(dst, "orders"), p.Orders, appendOrder)
	dst = appendList(wire.AppendName(dst, "headroom"), p.Headroom, func(dst []byte, h gate.Headroom) []byte {
		dst = wire.AppendText(append(dst, '{'), "limit", h.Limit)
		dst = wire.AppendOptional(dst, "symbol", h.Symbol.String())
		dst = wire.AppendText(wire.AppendText(dst, "bound", h.Bound), "used", h.Used)
		return append(wire.AppendText(dst, "left", h.Left), '}')
	})
	return append(ledger.AppendStops(wire.AppendName(dst, "stops"), p.Stops), '}')
}

// appendPolicy shows the policy as its bytes, so that whoever reads it has the very same and can hash it again.
func appendPolicy(dst []byte, v gate.PolicyView) []byte {
	dst = wire.AppendName(append(dst, '{'), "policy_sha256")
	if v.SHA256 == "" {
		dst = append(dst, "null"...)
	} else {
		dst = wire.AppendString(dst, v.SHA256)
	}
	if v.Raw != nil {
		dst = append(base64.StdEncoding.AppendEncode(append(wire.AppendName(dst, "raw_base64"), '"'), v.Raw), '"')
	}
	if dst = wire.AppendName(dst, "reason"); v.Reason == nil {
		return append(dst, "null}"...)
	}
	dst = wire.AppendText(append(dst, '{'), "code", string(v.Reason.Code))
	dst = wire.AppendOptional(dst, "field", v.Reason.Field)
	return append(wire.AppendText(dst, "message", v.Reason.Message), "}}"...)
}

func appendDecision(dst []byte, d ledger.Decision) []byte { return d.AppendJSON(dst) }

func appendFound(dst []byte, f gate.Found) []byte {
	dst = appendList(wire.AppendName(append(dst, '{'), "decisions"), f.Decisions, appendDecision)
	return append(appendBool(wire.AppendName(dst, "more"), f.More), '}')
}

func appendProposals(dst []byte, all []ledger.Decision) []byte {
	return append(appendList(wire.AppendName(append(dst, '{'), "proposals"), all, appendDecision), '}')
}

func appendQuote(dst []byte, q trade.Quote) []byte {
	dst = wire.AppendText(append(dst, '{'), "symbol", q.Symbol.String())
	dst = wire.AppendText(wire.AppendText(dst, "bid", q.Bid.Money()), "ask", q.Ask.Money())
	dst = wire.AppendText(dst, "last", q.Last.Money())
	return append(appendTime(dst, "at", q.At), '}')
}

func appendHistory(dst []byte, d ledger.Decision, events []ledger.Entry) []byte {
	dst = d.AppendJSON(wire.AppendName(append(dst, '{'), "decision"))
	dst = appendList(wire.AppendName(dst, "events"), events, func(dst []byte, e ledger.Entry) []byte {
		dst = strconv.AppendUint(wire.AppendName(append(dst, '{'), "seq"), e.Seq, 10)
		dst = wire.AppendText(appendTime(dst, "at", e.At), "state", string(e.State))
		dst = wire.AppendText(wire.AppendText(dst, "event", e.Event), "hash", e.Hash)
		return append(append(wire.AppendName(dst, "body"), e.Body...), '}')
	})
	return append(dst, '}')
}

func appendPerson(dst []byte, p ledger.Person) []byte {
	dst = wire.AppendText(append(dst, '{'), "name", p.Name)
	dst = appendBool(wire.AppendName(dst, "owner"), p.Owner)
	dst = appendBool(wire.AppendName(dst, "approver"), p.Approver)
	if p.Telegram != 0 {
		dst = strconv.AppendInt(wire.AppendName(dst, "telegram_id"), p.Telegram, 10)
	}
	return append(dst, '}')
}

func appendGrant(dst []byte, g ledger.Grant) []byte {
	dst = wire.AppendText(append(dst, '{'), "name", string(g.Agent))
	return append(append(wire.AppendName(dst, "tier"), g.Tier.String()...), '}')
}

func appendReconciliation(dst []byte, r gate.Reconciliation) []byte {
	dst = appendTime(append(dst, '{'), "at", r.At)
	dst = strconv.AppendInt(wire.AppendName(dst, "unknown"), int64(r.Unknown), 10)
	dst = appendList(wire.AppendName(dst, "differences"), r.Differences, func(dst []byte, d gate.Difference) []byte {
		dst = wire.AppendText(wire.AppendText(append(dst, '{'), "symbol", d.Symbol.String()), "what", d.What)
		return append(wire.AppendText(wire.AppendText(dst, "broker", d.Broker), "ledger", d.Ledger), '}')
	})
	return append(dst, '}')
}
