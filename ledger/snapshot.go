package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"sallyport/trade"
	"sallyport/wire"
)

// AppendSnapshot appends the state in its one canonical form: equal states have equal bytes.
func (s *State) AppendSnapshot(dst []byte) []byte {
	dst = append(dst, `{"v":1`...)
	if s.kill.known {
		dst = append(wire.AppendName(dst, "kill"), '{')
		dst = strconv.AppendBool(wire.AppendName(dst, "off"), s.kill.off)
		dst = wire.AppendText(wire.AppendText(dst, "by", s.kill.by), "reason", s.kill.reason)
		dst = append(appendTime(dst, "at", s.kill.at), '}')
	}
	dst = append(wire.AppendName(dst, "accounts"), '[')
	for i, name := range slices.Sorted(maps.Keys(s.accounts)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.accounts[name].appendJSON(wire.AppendText(append(dst, '{'), "account", string(name)))
	}
	dst = append(wire.AppendName(append(dst, ']'), "open"), '[')
	for i, o := range s.Opens() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = o.appendJSON(append(dst, '{'))
	}
	return append(dst, ']', '}')
}

func (a *account) appendJSON(dst []byte) []byte {
	dst = strconv.AppendUint(wire.AppendName(dst, "cursor"), a.cursor, 10)
	dst = append(wire.AppendName(dst, "holdings"), '[')
	symbols := slices.SortedFunc(maps.Keys(a.holdings), func(x, y trade.Symbol) int { return cmp.Compare(x.String(), y.String()) })
	for i, sym := range symbols {
		if i > 0 {
			dst = append(dst, ',')
		}
		h := a.holdings[sym]
		dst = wire.AppendText(append(dst, '{'), "symbol", sym.String())
		dst = appendDecimal(dst, "position", h.position)
		dst = appendDecimal(dst, "pending_buys", h.pendingBuys)
		dst = append(appendDecimal(dst, "pending_sells", h.pendingSells), '}')
	}
	return append(dst, ']', '}')
}

func (o *Open) appendJSON(dst []byte) []byte {
	dst = wire.AppendText(dst, "intent", string(o.Intent))
	dst = o.Order.AppendJSON(wire.AppendName(dst, "order"))
	dst = appendOrigin(dst, o.Origin)
	dst = wire.AppendOptional(dst, "client_order_id", string(o.ClientOrderID))
	dst = wire.AppendOptional(dst, "policy_sha256", o.PolicySHA256)
	dst = wire.AppendText(dst, "phase", o.Phase.String())
	if o.Unknown {
		dst = append(wire.AppendName(dst, "unknown"), "true"...)
	}
	if o.Asked {
		dst = append(wire.AppendName(dst, "asked"), "true"...)
	}
	dst = appendPending(appendTime(dst, "at", o.At), o.Pending)
	return append(appendDecimal(dst, "filled", o.Filled), '}')
}

// ReadSnapshot reads what AppendSnapshot wrote.
func ReadSnapshot(raw []byte) (*State, error) {
	v, err := wire.Read(raw, wire.Limits{Bytes: maxSnapshot, Depth: maxNesting})
	if err != nil {
		return nil, fmt.Errorf("ledger: the snapshot is not JSON: %w", err)
	}
	top := object{v: v}
	if n := top.number("v"); n != 1 {
		top.fail(fmt.Errorf("snapshot version %d; this program reads version 1", n))
	}
	s := NewState()
	if k, ok := top.member("kill", wire.Object, false); ok {
		x := object{v: k}
		s.kill = kill{known: true, off: x.flag("off"), by: x.text("by"), reason: x.text("reason"), at: x.time("at")}
		top.fail(x.err)
	}
	accounts, _ := top.member("accounts", wire.Array, true)
	for _, e := range accounts.Elems {
		top.fail(s.readAccount(object{v: e}))
	}
	open, _ := top.member("open", wire.Array, true)
	for _, e := range open.Elems {
		top.fail(s.readOpen(object{v: e}))
	}
	if top.err != nil {
		return nil, fmt.Errorf("ledger: snapshot: %w", top.err)
	}
	return s, nil
}

func (s *State) readAccount(x object) error {
	acc := s.account(trade.Account(x.text("account")))
	acc.cursor = x.number("cursor")
	list, _ := x.member("holdings", wire.Array, true)
	for _, e := range list.Elems {
		y := object{v: e}
		sym, ok := trade.ParseSymbol(y.text("symbol"))
		if !ok {
			y.fail(errors.New("holding without a symbol"))
		}
		acc.holdings[sym] = &holding{y.decimal("position"), y.decimal("pending_buys"), y.decimal("pending_sells")}
		x.fail(y.err)
	}
	return x.err
}

func (s *State) readOpen(x object) error {
	v, _ := x.v.Member("order")
	order, ok := trade.ReadOrder(v)
	if !ok {
		x.fail(errors.New("open intent without an order"))
	}
	o := &Open{
		Intent: x.intent(), Order: order, Origin: x.origin(), Unknown: x.flag("unknown"), Asked: x.flag("asked"),
		At: x.time("at"), Pending: x.pending(), Filled: x.decimal("filled"),
		ClientOrderID: trade.ClientOrderID(x.optional("client_order_id")), PolicySHA256: x.optional("policy_sha256"),
	}
	for p := Permitted; p <= Working; p++ {
		if p.String() == x.text("phase") {
			o.Phase = p
		}
	}
	if o.Phase == NoPhase {
		x.fail(errors.New("open intent without a phase"))
	}
	s.open[o.Intent] = o
	if o.Phase == Permitted {
		d := o.Order.Digest()
		s.waiting[d] = append(s.waiting[d], o.Intent) // the snapshot lists them oldest first
	}
	return x.err
}
