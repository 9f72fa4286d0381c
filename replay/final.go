package replay

import (
	"cmp"
	"slices"
	"strconv"

	"sallyport/ledger"
	"sallyport/wire"
)

// counters are what a tape came to.
type counters struct {
	Lines, Intents, Allowed, Held, Denied, Repeated int
	Accepted, Rejected, Unknown, Fills, Cancelled   int
	Approved, Declined, Expired, PassedOver         int
}

// tally counts a change of state.
func (p *player) tally(d *ledger.Decision) {
	c := &p.count
	switch d.State {
	case ledger.ApprovalGranted:
		c.Approved++
	case ledger.ApprovalDeclined, ledger.ApprovalWithdrawn:
		c.Declined++
	case ledger.ApprovalExpired:
		c.Expired++
	case ledger.Failed:
		c.Rejected++
	case ledger.OutcomeUnknown:
		c.Unknown++
	case ledger.Succeeded:
		switch {
		case d.Ended != "":
			c.Cancelled++
		case d.Filled.Sign() == 0:
			c.Accepted++
		}
	}
}

func (c *counters) append(dst []byte) []byte {
	dst = append(wire.AppendName(dst, "counters"), '{')
	for _, x := range [...]struct {
		name string
		n    int
	}{
		{"accepted", c.Accepted}, {"allowed", c.Allowed}, {"approved", c.Approved}, {"cancelled", c.Cancelled},
		{"declined", c.Declined}, {"denied", c.Denied}, {"expired", c.Expired}, {"fills", c.Fills}, {"held", c.Held},
		{"intents", c.Intents}, {"lines", c.Lines}, {"passed_over", c.PassedOver}, {"rejected", c.Rejected},
		{"repeated", c.Repeated}, {"unknown", c.Unknown},
	} {
		dst = strconv.AppendInt(wire.AppendName(dst, x.name), int64(x.n), 10)
	}
	return append(dst, '}')
}

// appendFinal says how all stands: every member is an object whose keys are sorted.
func (p *player) appendFinal(dst []byte) []byte {
	dst = p.count.append(append(dst, `{"final":{`...))
	st := p.gate.State()
	dst = append(wire.AppendName(appendKill(dst, st.Stops()), "positions"), '{')
	var reserved []ledger.Held
	for _, h := range st.Holdings() {
		if h.Account != p.account {
			continue
		}
		if h.PendingBuys.Sign() != 0 || h.PendingSells.Sign() != 0 {
			reserved = append(reserved, h)
		}
		if h.Quantity.Sign() == 0 {
			continue
		}
		dst = append(wire.AppendName(dst, h.Symbol.String()), '{')
		if avg := st.AveragePrice(p.account, h.Symbol); avg.Known {
			dst = wire.AppendText(dst, "average_price", avg.Value.Money())
		}
		dst = append(wire.AppendText(dst, "quantity", h.Quantity.String()), '}')
	}
	dst = append(wire.AppendName(append(dst, '}'), "reserved"), '{')
	for _, h := range reserved {
		dst = append(wire.AppendName(dst, h.Symbol.String()), '{')
		dst = wire.AppendText(wire.AppendText(dst, "buys", h.PendingBuys.String()), "sells", h.PendingSells.String())
		dst = append(dst, '}')
	}
	return append(p.appendWorking(append(dst, '}'), st), "}}"...)
}

// appendKill says which switches are engaged, by their scopes.
func appendKill(dst []byte, stops []ledger.Stop) []byte {
	slices.SortFunc(stops, func(a, b ledger.Stop) int { return cmp.Compare(a.Scope.String(), b.Scope.String()) })
	dst = append(wire.AppendName(dst, "kill"), '{')
	for _, s := range stops {
		dst = append(wire.AppendString(separate(dst), s.Scope.String()), ":{"...)
		dst = wire.AppendText(wire.AppendText(dst, "by", s.By), "reason", s.Reason)
		dst = append(ledger.AppendTime(append(wire.AppendName(dst, "since"), '"'), s.Since), `"}`...)
	}
	return append(dst, '}')
}

// separate appends a comma where one is due before the next member.
func separate(dst []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return dst
}

// appendWorking says what was sent and has not ended, by the ids of the tape.
func (p *player) appendWorking(dst []byte, st *ledger.State) []byte {
	var all []*intent
	for _, o := range st.Opens() {
		if in := p.intents.byIntent[o.Intent]; in != nil && o.Phase != ledger.OnHold && o.Phase != ledger.Granted {
			all = append(all, in)
		}
	}
	slices.SortFunc(all, func(a, b *intent) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.intent, b.intent)) })
	dst = append(wire.AppendName(dst, "working"), '{')
	for _, in := range all {
		dst = append(wire.AppendString(separate(dst), in.id), ":{"...)
		dst = wire.AppendText(dst, "filled", in.shown.Filled.String())
		dst = appendSorted(wire.AppendName(dst, "order"), in.order.AppendJSON(nil))
		dst = append(wire.AppendText(dst, "status", in.shown.OrderStatus()), '}')
	}
	return append(dst, '}')
}

// appendSorted appends an object that this program has written, with its members sorted by name.
func appendSorted(dst, object []byte) []byte {
	v, err := wire.Read(object, wire.Limits{Bytes: len(object), Depth: maxDepth})
	if err != nil {
		return append(dst, object...)
	}
	slices.SortFunc(v.Members, func(a, b wire.Member) int { return cmp.Compare(a.Name, b.Name) })
	return appendValue(dst, v)
}
