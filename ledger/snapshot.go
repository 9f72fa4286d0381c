package ledger

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"sallyport/trade"
	"sallyport/wire"
)

// AppendSnapshot appends the state in its one canonical form: equal states have equal bytes. The first line is a JSON
// object with what every decision needs. Each open intent has a line of its own after it, oldest first, which begins with
// what is needed to find it: the rest is read only when the intent is, so that the many that may wait for an outcome
// cost little. A long past is different: its parts stand before the first line, and room is left at the end. So what
// stays is in the same place in a snapshot of the same length, and a database writes only the pages that have changed.
func (s *State) AppendSnapshot(dst []byte) []byte {
	start := len(dst)
	dst = s.appendParts(dst)
	long := len(dst) > start
	if dst = s.appendLasts(s.appendState(dst)); long {
		dst = append(dst, bytes.Repeat([]byte{'\n'}, roomAfter(len(dst)-start))...)
	}
	return dst
}

// leastRoom is from how many bytes on room is left: what has fewer is written anew as quickly.
const leastRoom = 64 << 10

// roomAfter returns how much is missing to a length that is one of a few: at most a quarter of what is there.
func roomAfter(length int) int {
	if length < leastRoom {
		return 0
	}
	step := 1 << (bits.Len(uint(length)) - 3)
	return (step - length%step) % step
}

// appendState appends all but the past.
func (s *State) appendState(dst []byte) []byte {
	dst = append(dst, lineFirst+`1`...)
	if s.kill.known {
		dst = append(wire.AppendName(dst, "kill"), '{')
		dst = strconv.AppendBool(wire.AppendName(dst, "off"), s.kill.off)
		dst = wire.AppendText(wire.AppendText(dst, "by", s.kill.by), "reason", s.kill.reason)
		dst = append(appendFlag(appendFlag(appendTime(dst, "at", s.kill.at), "keep", s.kill.keep), "all", s.kill.all), '}')
	}
	dst = s.appendControl(dst)
	dst = append(wire.AppendName(dst, "accounts"), '[')
	for i, name := range slices.Sorted(maps.Keys(s.accounts)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.accounts[name].appendJSON(wire.AppendText(append(dst, '{'), "account", string(name)))
	}
	dst = append(dst, ']', '}', '\n')
	for _, id := range slices.Sorted(maps.Keys(s.open)) {
		dst = append(s.open[id].appendLine(dst), '\n')
	}
	return dst
}

// appendControl appends what people have set. What is not set adds nothing, so that a state of the first version has the
// bytes that it had.
func (s *State) appendControl(dst []byte) []byte {
	if len(s.stops) > 0 {
		stops := make([]Stop, 0, len(s.stops))
		for _, scope := range s.scopes() {
			stops = append(stops, s.stops[scope].stop(scope))
		}
		dst = AppendStops(wire.AppendName(dst, "stops"), stops)
	}
	dst = appendList(dst, "people", s.People())
	dst = appendList(dst, "grants", s.Grants())
	return wire.AppendOptional(s.memory.append(appendFlag(dst, "owned", s.owned)), "policy_loaded", s.loaded)
}

func appendList[T interface{ append([]byte) []byte }](dst []byte, name string, all []T) []byte {
	if len(all) == 0 {
		return dst
	}
	dst = append(wire.AppendName(dst, name), '[')
	for i, v := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(v.append(append(dst, '{')), '}')
	}
	return append(dst, ']')
}

func (a *account) appendJSON(dst []byte) []byte {
	dst = strconv.AppendUint(wire.AppendName(dst, "cursor"), a.cursor, 10)
	if a.refusals > 0 {
		dst = strconv.AppendInt(wire.AppendName(dst, "refusals"), int64(a.refusals), 10)
	}
	dst = wire.AppendOptional(dst, "last", string(a.last))
	dst = appendList(appendFlag(a.streak.append(a.day.append(dst)), "seen", a.seen), "pardons", a.pardons)
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
		dst = appendDecimal(dst, "pending_sells", h.pendingSells)
		if h.average.Sign() != 0 {
			dst = appendDecimal(dst, "average", h.average)
		}
		for _, d := range [...]struct {
			name  string
			price trade.Decimal
		}{{"dear_buy", h.dearBuy}, {"dear_sell", h.dearSell}} {
			if d.price.Sign() != 0 {
				dst = appendDecimal(dst, d.name, d.price)
			}
		}
		if h.unsized != 0 {
			dst = strconv.AppendInt(wire.AppendName(dst, "unsized"), int64(h.unsized), 10)
		}
		dst = append(appendFlag(dst, "doubted", h.doubted), '}')
	}
	return append(dst, ']', '}')
}

func (p pardon) append(dst []byte) []byte {
	return appendTime(wire.AppendText(dst, "scope", p.scope.String()), "after", time.UnixMicro(p.after))
}

// The fixed beginnings of the first line and of an open intent's.
const (
	lineFirst  = `{"v":`
	lineIntent = `{"intent":"`
	linePhase  = `","phase":"`
	lineDigest = `","digest":"`
)

// appendLine appends an open intent. One that was not read since the last snapshot is what it was.
func (o *Open) appendLine(dst []byte) []byte {
	if o.line != nil {
		return append(dst, o.line...)
	}
	dst = append(append(dst, lineIntent...), o.Intent...)
	dst = append(append(dst, linePhase...), o.Phase.String()...)
	dst = append(append(dst, lineDigest...), o.Order.Digest().String()...)
	dst = append(dst, '"')
	dst = o.Order.AppendJSON(wire.AppendName(dst, "order"))
	dst = appendOrigin(dst, o.Origin)
	dst = wire.AppendOptional(dst, "client_order_id", string(o.ClientOrderID))
	dst = wire.AppendOptional(dst, "policy_sha256", o.PolicySHA256)
	dst = appendFlag(appendFlag(appendFlag(dst, "unknown", o.Unknown), "asked", o.Asked), "cancelling", o.Cancelling)
	dst = appendFlag(dst, "exits_too", o.ExitsToo)
	dst = appendPending(appendTime(dst, "at", o.At), o.Pending)
	dst = o.appendWide(appendDecimal(dst, "filled", o.Filled))
	if !o.Hold.Expires.IsZero() {
		dst = appendHold(dst, o.Hold)
		dst = AppendReasons(wire.AppendName(dst, "reasons"), o.Reasons)
		dst = appendTexts(dst, "approvals", o.Approvals)
		dst = appendFlag(appendTime(dst, "lapses_at", o.Lapses), "revoked", o.Revoked)
	}
	if !o.Counted.IsZero() {
		dst = appendTime(dst, "counted_at", o.Counted)
	}
	return append(appendMatched(dst, o.Rules, o.Value), '}')
}

// appendWide appends what only orders have that are wider than those of the first version.
func (o *Open) appendWide(dst []byte) []byte {
	dst = appendKnown(appendFlag(dst, "over", o.Over), "shares", o.Shares)
	for _, d := range [...]struct {
		name  string
		value trade.Decimal
	}{{"exited", o.Exited}, {"spent", o.Spent}, {"share_price", o.Price}} {
		if d.value.Sign() != 0 {
			dst = appendDecimal(dst, d.name, d.value)
		}
	}
	return dst
}

// ReadSnapshot reads what AppendSnapshot wrote.
func ReadSnapshot(raw []byte) (*State, error) {
	parts, rest := cutParts(raw)
	head, lines, _ := bytes.Cut(rest, []byte{'\n'})
	v, err := wire.Read(head, wire.Limits{Bytes: maxSnapshot, Depth: maxNesting})
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
		s.kill = kill{known: true, off: x.flag("off"), by: x.text("by"), reason: x.text("reason"), at: x.time("at"), keep: x.flag("keep"), all: x.flag("all")}
		top.fail(x.err)
	}
	top.fail(s.readControl(v))
	accounts, _ := top.member("accounts", wire.Array, true)
	for _, e := range accounts.Elems {
		top.fail(s.readAccount(object{v: e}))
	}
	names := slices.Sorted(maps.Keys(s.accounts))
	top.fail(s.findLines(parts, names))
	top.fail(s.findLines(lines, names))
	if top.err != nil {
		return nil, fmt.Errorf("ledger: snapshot: %w", top.err)
	}
	for _, ids := range s.waiting { // few are alike, so few are read
		if len(ids) > 1 {
			slices.SortFunc(ids, func(a, b trade.IntentID) int { return age(s.Open(a), s.Open(b)) })
		}
	}
	return s, nil
}

// cutParts returns the lines that stand before the first one, and what follows without the room.
func cutParts(raw []byte) (parts, rest []byte) {
	if bytes.HasPrefix(raw, []byte(lineFirst)) {
		return nil, raw
	}
	i := bytes.Index(raw, []byte("\n"+lineFirst)) + 1
	return raw[:i], bytes.TrimRight(raw[i:], "\n")
}

// findLines takes in the lines after or before the first one.
func (s *State) findLines(lines []byte, accounts []trade.Account) (err error) {
	for len(lines) > 0 && err == nil {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte{'\n'})
		if bytes.HasPrefix(line, []byte(lineIntent)) {
			err = s.findOpen(line)
		} else {
			err = s.findPast(line, accounts)
		}
	}
	return err
}

// findOpen takes an open intent's line in, read only as far as it is needed to find the intent again.
func (s *State) findOpen(line []byte) error {
	id, rest, ok1 := cutField(line, lineIntent, linePhase)
	word, rest, ok2 := cutField(rest, "", lineDigest)
	hex, _, ok3 := cutField(rest, "", `"`)
	intent, ok4 := trade.ParseIntentID(id)
	digest, ok5 := trade.ParseDigest(hex)
	o := &Open{Intent: intent, line: line}
	for p := Permitted; p <= Granted; p++ {
		if p.String() == word {
			o.Phase = p
		}
	}
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || o.Phase == NoPhase {
		return errors.New("an open intent's line is not one")
	}
	s.open[intent] = o
	if o.Phase == Permitted {
		s.waiting[digest] = append(s.waiting[digest], intent)
	}
	if o.Phase == OnHold || o.Phase == Granted { // few, and every decision asks whether their time is over
		if err := o.read(); err != nil {
			return err
		}
		o.line = nil
		s.enlist(o)
	}
	return nil
}

// readControl reads what people have set.
func (s *State) readControl(v wire.Value) error {
	top := object{v: v}
	top.each("stops", func(x *object) {
		scope := x.scope()
		if scope.Kind == Everything {
			x.fail(errors.New("a narrow stop of everything"))
		}
		s.stops[scope] = kill{known: true, by: x.text("by"), reason: x.text("reason"), at: x.time("since"), keep: x.flag("keep"), all: x.flag("all")}
	})
	top.each("people", func(x *object) {
		p := x.person()
		s.people[p.Name] = p
	})
	top.each("grants", func(x *object) {
		g := x.grant()
		s.grants[g.Agent] = g
	})
	s.owned = top.flag("owned")
	s.memory, s.loaded = top.memory(), top.optional("policy_loaded")
	return top.err
}

// each reads the objects of a list that may be absent.
func (o *object) each(name string, read func(*object)) {
	list, _ := o.member(name, wire.Array, false)
	for _, e := range list.Elems {
		x := object{v: e}
		read(&x)
		o.fail(x.err)
	}
}

func cutField(b []byte, before, after string) (field string, rest []byte, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte(before))
	f, rest, found := bytes.Cut(b, []byte(after))
	return string(f), rest, ok && found
}

// load reads the rest of an open intent. The journal has checked that the snapshot is what this program wrote, so a line
// that cannot be read is a defect: it ends the call that needs it, and nothing is decided.
func (o *Open) load() *Open {
	if o == nil || o.line == nil {
		return o
	}
	if err := o.read(); err != nil {
		panic(fmt.Sprintf("ledger: snapshot: intent %s: %v", o.Intent, err))
	}
	o.line = nil
	return o
}

func (o *Open) read() error {
	v, err := wire.Read(o.line, wire.Limits{Bytes: maxEvent, Depth: maxNesting})
	if err != nil {
		return err
	}
	x := object{v: v}
	order, _ := x.v.Member("order")
	var ok bool
	if o.Order, ok = trade.ReadOrder(order); !ok {
		x.fail(errors.New("no order"))
	}
	o.Origin, o.Unknown, o.Asked, o.Cancelling = x.origin(), x.flag("unknown"), x.flag("asked"), x.flag("cancelling")
	o.ExitsToo = x.flag("exits_too")
	o.At, o.Pending, o.Filled = x.time("at"), x.pending(), x.decimal("filled")
	o.Over, o.Shares, o.Exited = x.flag("over"), x.known("shares"), x.optionalDecimal("exited")
	o.Spent, o.Price = x.optionalDecimal("spent"), x.optionalDecimal("share_price")
	o.ClientOrderID, o.PolicySHA256 = trade.ClientOrderID(x.optional("client_order_id")), x.optional("policy_sha256")
	if _, n := x.v.Member("expires_at"); n > 0 {
		o.Hold, o.Reasons, o.Lapses = x.hold(), x.reasons("reasons"), x.time("lapses_at")
		o.Approvals, o.Revoked = x.texts("approvals"), x.flag("revoked")
	}
	o.Counted, o.Rules, o.Value = x.optionalTime("counted_at"), x.texts("rules"), x.optionalDecimal("value")
	return x.err
}

func (s *State) readAccount(x object) error {
	acc := s.account(trade.Account(x.text("account")))
	acc.cursor, acc.last = x.number("cursor"), trade.IntentID(x.optional("last"))
	if _, n := x.v.Member("refusals"); n > 0 {
		acc.refusals = int(x.number("refusals"))
	}
	list, _ := x.member("holdings", wire.Array, true)
	for _, e := range list.Elems {
		y := object{v: e}
		sym, ok := trade.ParseSymbol(y.text("symbol"))
		if !ok {
			y.fail(errors.New("holding without a symbol"))
		}
		h := &holding{
			position: y.decimal("position"), pendingBuys: y.decimal("pending_buys"), pendingSells: y.decimal("pending_sells"),
			average: y.optionalDecimal("average"), dearBuy: y.optionalDecimal("dear_buy"), dearSell: y.optionalDecimal("dear_sell"),
			doubted: y.flag("doubted"),
		}
		if _, n := y.v.Member("unsized"); n > 0 {
			h.unsized = int(y.number("unsized"))
		}
		acc.holdings[sym] = h
		x.fail(y.err)
	}
	x.each("pardons", func(y *object) {
		acc.pardons = append(acc.pardons, pardon{y.scope(), y.time("after").UnixMicro()})
	})
	acc.day, acc.streak, acc.seen = x.day(), x.streak(), x.flag("seen")
	return x.err
}
