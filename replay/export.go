package replay

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sallyport/dialect"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// Exporter writes what a journal has recorded as a tape. docs/tapes.md says what of it is not on record, so that no tape
// can have it.
type Exporter struct {
	out     io.Writer
	state   *ledger.State
	order   *dialect.Dialect
	ask     *dialect.Dialect
	ids     map[ledger.Key]trade.IntentID // the intent that an agent's own id is bound to
	known   map[trade.IntentID]*told
	endings []ending // oldest first
	records uint64
	halted  bool           // the newest stop engaged itself: on a tape it cancels nothing
	lost    trade.IntentID // the proposal that was last ended by a denial, judged again, and when
	lostAt  time.Time
	buf     []byte
	Absent  int // intents that were denied for what no tape says, and are left out
}

// NewExporter returns an exporter. Its records are handed to Record, oldest first.
func NewExporter(out io.Writer) *Exporter {
	x := &Exporter{
		out: out, state: ledger.NewState(), order: dialect.Canonical(), ids: map[ledger.Key]trade.IntentID{}, known: map[trade.IntentID]*told{},
	}
	x.ask, _ = dialect.Find("paper_place_order_a")
	return x
}

// Record writes the lines that one record makes.
func (x *Exporter) Record(r journal.Record) error {
	e, err := ledger.Decode(r.Body)
	if err != nil {
		return fmt.Errorf("record %d: %w", r.Seq, err)
	}
	x.buf = x.buf[:0]
	before := x.state.Open(e.About())
	waiting := x.state.Proposal(e.About()) != nil
	ends := time.Time{}
	if waiting {
		ends = before.Ends()
	}
	if before != nil { // as it was
		copied := *before
		before = &copied
	}
	x.state.Apply(r.At, e)
	switch e := e.(type) {
	case ledger.Decided:
		x.decided(r.At, e)
	case ledger.Rejudged:
		if waiting && e.Ruling.Effect == policy.Deny {
			x.lost, x.lostAt = e.Intent, r.At
		}
		if before != nil && before.Phase == ledger.Permitted && e.Ruling.Effect == policy.Deny {
			x.broker(r.At, e.Intent, trade.Rejected, string(policy.Decisive(e.Ruling.Reasons).Code))
		}
	case ledger.Concluded:
		x.broker(r.At, e.Intent, e.Outcome, e.Code)
	case ledger.CancelAsked:
		was, stop := x.known[e.Intent], e.Origin.Surface == stopSurface && !x.halted
		if was != nil && stop && before != nil && before.Phase == ledger.Working {
			was.asked(e.Exits)
		}
	case ledger.Happened:
		x.happened(r.At, e, before)
	case ledger.ProposalEnded:
		x.ended(r.At, e, waiting && !r.At.Before(ends))
	default:
		x.control(r.At, e)
	}
	x.forget(e.About())
	_, err = x.out.Write(x.buf)
	return err
}

// begin and end write what stands around the object of each line.
func (x *Exporter) begin(at time.Time, k kind) []byte {
	b := ledger.AppendTime(append(x.buf, `{"at":"`...), at)
	return append(wire.AppendName(append(b, '"'), k.String()), '{')
}

func (x *Exporter) end(b []byte) { x.buf = append(b, '}', '}', '\n') }

// outside are the codes of denials that rest on what no tape says: who called with which tier, and how the gate is set up.
var outside = [...]trade.Code{
	policy.TierTooLow, policy.DaemonRequired, policy.HookRequired, policy.PermissionSpent, policy.AccountUnknown, policy.ClockBehind,
	policy.PolicyUnreadable, policy.InternalError, policy.CallNotJudged, policy.OriginMalformed,
}

// decided writes an intent. One that was cleared is in flight until a later record says what came of it.
func (x *Exporter) decided(at time.Time, e ledger.Decided) {
	for _, r := range e.Ruling.Reasons {
		if slices.Contains(outside[:], r.Code) {
			x.Absent++
			return
		}
	}
	was := &told{side: e.Order.Side()}
	x.known[e.Intent] = was
	b := wire.AppendText(x.begin(at, intentLine), "id", string(x.id(e, was)))
	b = wire.AppendText(b, "agent", asTape(string(e.Origin.Agent)))
	switch {
	case e.Order.IsZero():
		b = appendInput(wire.AppendText(b, "tool", faultyTool(e)), e.Input)
	case e.Origin.Surface == surfacePerson && e.Origin.Tool == reduceTool:
		b = wire.AppendText(b, "tool", reduceTool)
		b = append(wire.AppendName(b, "args"), x.ask.Encode(e.Order, e.ClientOrderID)...)
	case proposed(e):
		b = wire.AppendText(b, "tool", proposeTool)
		b = append(wire.AppendName(b, "args"), x.ask.Encode(e.Order, e.ClientOrderID)...)
	default:
		b = append(wire.AppendName(b, "order"), x.order.Encode(e.Order, e.ClientOrderID)...)
	}
	if e.Clears != ledger.ClearsNothing {
		x.buf = append(wire.AppendText(append(b, '}'), "broker", replyWords[waits]), '}', '\n')
		return
	}
	x.end(b)
}

// faultyTool is the tool of what was no order. What no tool took live is of none here, whatever the caller called it: a
// tape has tools that a caller has not.
func faultyTool(e ledger.Decided) string {
	unknown := func(r policy.Reason) bool { return r.Code == trade.ToolUnknown }
	if e.Origin.Tool == "" || e.Origin.Tool == reduceTool || slices.ContainsFunc(e.Ruling.Reasons, unknown) {
		return "unknown"
	}
	return asTape(e.Origin.Tool)
}

// asTape returns a text as a tape takes it: as it is, or else without what a tape does not take and cut.
func asTape(s string) string {
	if !strings.ContainsFunc(s, control) && utf8.ValidString(s) && len(s) <= maxText {
		return s
	}
	return trade.Printable(s, maxText/4) // at most four bytes a character
}

// id is the intent's own, or, of a call that gave an id that is bound already, that of the one that it is bound to.
func (x *Exporter) id(e ledger.Decided, was *told) trade.IntentID {
	key := ledger.CallKey(e.Account, e.Origin)
	reused := slices.ContainsFunc(e.Ruling.Reasons, func(r policy.Reason) bool { return r.Code == policy.IDReused })
	if e.Origin.ToolCallID == "" {
		return e.Intent
	}
	if bound, ok := x.ids[key]; ok && reused {
		return bound
	}
	if e.Clears != ledger.ClearsNothing {
		x.ids[key], was.call = e.Intent, key
	}
	return e.Intent
}

// proposed reports whether an order waits, or was to wait, for a person because it was proposed.
func proposed(e ledger.Decided) bool {
	waits := func(r policy.Reason) bool {
		return r.Code == policy.ApprovalRequired && r.Field == "" || r.Code == policy.ProposalsExceedLimit
	}
	return e.Origin.Tool == proposeTool || slices.ContainsFunc(e.Ruling.Reasons, waits)
}

// appendInput appends arguments that were no order as far as they were kept: as they were if that is all of them and JSON,
// and as text otherwise.
func appendInput(b []byte, in *ledger.Input) []byte {
	b = wire.AppendName(b, "args")
	if in == nil {
		return append(b, "null"...)
	}
	raw := []byte(in.Head)
	if _, err := wire.Read(raw, wire.Limits{Bytes: maxLine, Depth: maxDepth - 2}); err == nil && in.Length == len(raw) && !bytes.ContainsAny(raw, "\r\n") {
		return append(b, raw...)
	}
	return wire.AppendString(b, in.Head)
}

func (x *Exporter) broker(at time.Time, id trade.IntentID, out trade.Outcome, code string) {
	if !x.has(id) {
		return
	}
	b := wire.AppendText(wire.AppendText(x.begin(at, brokerLine), "intent", string(id)), "result", out.String())
	if out == trade.Rejected {
		b = wire.AppendOptional(b, "code", asTape(code))
	}
	x.end(b)
}

func (x *Exporter) has(id trade.IntentID) bool { return x.known[id] != nil }

// stopSurface is where the gate's own cancels of a stop come from.
const stopSurface = "gate"

// happened writes a fill or an end of an order, or of its exits by the name that these have. A fill that no line can say
// comes as what is held since.
func (x *Exporter) happened(at time.Time, e ledger.Happened, before *ledger.Open) {
	was, id, fill := x.known[e.Intent], string(e.Intent), e.What == ledger.WasFilled
	own := was != nil && e.Side == was.side
	if was != nil && !own {
		id += exitsMark
	}
	switch {
	case was == nil && !fill:
	case was == nil:
		x.position(at, e.Account, e.Symbol)
	case fill && was.deaf(own):
		was.lost = true
		x.position(at, e.Account, e.Symbol)
	case fill && own && exitsAlone(before): // of more than the order is for
		x.position(at, e.Account, e.Symbol)
	case fill:
		b := wire.AppendText(wire.AppendText(x.begin(at, fillLine), "intent", id), "quantity", e.Quantity.String())
		x.end(wire.AppendText(b, "price", e.Price.Money()))
	default:
		was.over = was.over || own
		x.end(wire.AppendText(x.begin(at, cancelLine), "intent", id))
	}
}

func (x *Exporter) position(at time.Time, a trade.Account, s trade.Symbol) {
	held, average := x.state.Facts(a, s, "").Position, x.state.AveragePrice(a, s).Value
	if held.Sign() < 0 { // a tape holds nothing short
		held, average = trade.Decimal{}, trade.Decimal{}
	}
	b := wire.AppendText(wire.AppendText(x.begin(at, positionLine), "symbol", s.String()), "quantity", held.String())
	x.end(wire.AppendText(b, "average_price", average.Money()))
}

// ended writes the end of a proposal, unless time has ended it.
func (x *Exporter) ended(at time.Time, e ledger.ProposalEnded, byTime bool) {
	switch {
	case !x.has(e.Intent) || e.State == ledger.ApprovalExpired && byTime:
	case e.State == ledger.ApprovalDeclined:
		x.end(wire.AppendText(wire.AppendText(x.begin(at, declineLine), "intent", string(e.Intent)), "by", trimWho(e.By)))
	default:
		x.end(wire.AppendText(x.begin(at, cancelLine), "intent", string(e.Intent)))
	}
}

// control writes what people did, and what an account was found to be worth.
func (x *Exporter) control(at time.Time, e ledger.Event) {
	switch e := e.(type) {
	case ledger.Approved:
		if x.has(e.Intent) {
			x.end(wire.AppendText(wire.AppendText(x.begin(at, approveLine), "intent", string(e.Intent)), "by", e.Person))
		}
	case ledger.AttemptRefused: // on a tape is only the approval that ended the proposal: no other did anything
		name, person := strings.CutPrefix(e.By, "person:")
		if person && x.has(e.Intent) && e.Action == approveLine.String() && e.Intent == x.lost && at.Equal(x.lostAt) {
			x.end(wire.AppendText(wire.AppendText(x.begin(at, approveLine), "intent", string(e.Intent)), "by", name))
		}
	case ledger.KillEngaged:
		word, _ := who(e.By)
		x.halted = word == "sallyport" || word == "policy"
		x.stop(at, killLine, e)
	case ledger.KillReset:
		if e.By != "sallyport" { // which is the beginning
			x.stop(at, resetLine, ledger.KillEngaged{Scope: e.Scope, By: trimWho(e.By), Reason: e.Reason})
		}
	case ledger.DayBegan:
		x.worth(at, e.Account, e.Equity)
	case ledger.Marked:
		x.worth(at, e.Account, e.Equity)
	}
}

func (x *Exporter) stop(at time.Time, k kind, e ledger.KillEngaged) {
	b := wire.AppendText(x.begin(at, k), "scope", e.Scope.String())
	b = wire.AppendText(b, "by", cmp.Or(e.By, "local:"))
	b = wire.AppendText(b, "reason", cmp.Or(e.Reason, "no reason was given"))
	if e.Keep {
		b = append(wire.AppendName(b, "keep"), "true"...)
	}
	if e.All {
		b = append(wire.AppendName(b, "all"), "true"...)
	}
	x.end(b)
}

// worth writes an account's equity. Its cash is not on record: it is what is left of the equity once the positions have
// cost what they cost on average, and nothing if they lost more than that.
func (x *Exporter) worth(at time.Time, a trade.Account, equity trade.Decimal) {
	cash := equity
	for _, h := range x.state.Holdings() {
		if avg := x.state.AveragePrice(a, h.Symbol); h.Account == a && avg.Known {
			cash = cash.Sub(h.Quantity.Mul(avg.Value))
		}
	}
	if equity.Sign() < 0 {
		return // a tape has no amounts below zero
	}
	if cash.Sign() < 0 { // which the equity puts right
		cash = trade.Decimal{}
	}
	x.end(wire.AppendText(wire.AppendText(x.begin(at, accountLine), "cash", cash.Money()), "equity", equity.Money()))
}
