package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// Limits on an answer.
const (
	//limit:rest-answer-bytes A client reads an answer of at most 8 MiB (8,388,608 bytes).
	maxAnswer = 8 << 20
	//limit:rest-answer-depth A client reads an answer that is nested at most 64 levels deep.
	maxAnswerDepth = 64
)

// reading reads an answer of ours. Members that this program does not know are passed over: the daemon may be newer.
// The first thing that is wrong is kept, and everything after it is empty.
type reading struct {
	v   wire.Value
	err error
}

func read(raw []byte) *reading {
	v, err := wire.Read(raw, wire.Limits{Bytes: maxAnswer, Depth: maxAnswerDepth})
	if err == nil && v.Kind != wire.Object {
		err = errors.New("it is not an object")
	}
	if err != nil {
		err = unreadable(err)
	}
	return &reading{v: v, err: err}
}

// unreadable is the error of an answer that nothing can be concluded from.
func unreadable(err error) error {
	return fmt.Errorf("%w in words that are known: %w", ErrUnreachable, err)
}

func (r *reading) fail(name string) {
	if r.err == nil {
		r.err = unreadable(fmt.Errorf("the member %s is not what it must be", name))
	}
}

func (r *reading) member(name string, k wire.Kind) wire.Value {
	m, n := r.v.Member(name)
	if n != 1 || m.Kind != k {
		r.fail(name)
		return wire.Value{}
	}
	return m
}

func (r *reading) text(name string) string { return r.member(name, wire.String).Text }

func (r *reading) flag(name string) bool { return r.member(name, wire.Bool).Text == "true" }

func (r *reading) number(name string) int64 {
	n, err := strconv.ParseInt(r.member(name, wire.Number).Text, 10, 64)
	if err != nil {
		r.fail(name)
	}
	return n
}

func (r *reading) tier(name string) trade.Tier {
	t, valid := trade.ParseTier(r.member(name, wire.Number).Text)
	if !valid {
		r.fail(name)
	}
	return t
}

// optional returns a text that may be missing or null.
func (r *reading) optional(name string) string {
	if m, n := r.v.Member(name); n == 0 || m.Kind == wire.Null {
		return ""
	}
	return r.text(name)
}

func (r *reading) time(name string) time.Time {
	at, err := time.Parse(ledger.TimeFormat, r.text(name))
	if err != nil {
		r.fail(name)
	}
	return at
}

func (r *reading) decimal(name string) trade.Decimal {
	d, valid := trade.ParseSum(r.text(name))
	if !valid {
		r.fail(name)
	}
	return d
}

// money reads an amount as it is shown: a sum of any magnitude, perhaps negative.
func (r *reading) money(name string) trade.Decimal {
	d, valid := trade.ParseMoney(r.text(name))
	if !valid {
		r.fail(name)
	}
	return d
}

func (r *reading) symbol(name string) trade.Symbol {
	s, valid := trade.ParseSymbol(r.text(name))
	if !valid {
		r.fail(name)
	}
	return s
}

func (r *reading) order(name string) trade.Order {
	m, _ := r.v.Member(name)
	if m.Kind == wire.Null {
		return trade.Order{}
	}
	o, valid := trade.ReadOrder(m)
	if !valid {
		r.fail(name)
	}
	return o
}

func (r *reading) outcome(name string) trade.Outcome {
	o, err := trade.ParseOutcome(r.text(name))
	if err != nil {
		r.fail(name)
	}
	return o
}

func (r *reading) scope(name string) ledger.Scope {
	s, valid := ledger.ParseScope(r.text(name))
	if !valid {
		r.fail(name)
	}
	return s
}

// each reads a list of objects.
func (r *reading) each(name string, one func(*reading)) {
	for _, v := range r.member(name, wire.Array).Elems {
		x := &reading{v: v, err: r.err}
		one(x)
		r.err = x.err
	}
}

func (r *reading) decisionOf(v wire.Value) ledger.Decision {
	d, err := ledger.DecisionOf(v)
	if err != nil && r.err == nil {
		r.err = unreadable(err)
	}
	return d
}

func (r *reading) decisions(name string) (all []ledger.Decision) {
	for _, v := range r.member(name, wire.Array).Elems {
		all = append(all, r.decisionOf(v))
	}
	return all
}

func (r *reading) stops(name string) (all []ledger.Stop) {
	r.each(name, func(x *reading) {
		_, keep := x.v.Member("keep")
		_, exits := x.v.Member("all")
		all = append(all, ledger.Stop{
			Scope: x.scope("scope"), By: x.text("by"), Reason: x.text("reason"), Since: x.time("since"), Keep: keep > 0 && x.flag("keep"),
			All: exits > 0 && x.flag("all"),
		})
	})
	return all
}

func (r *reading) found() gate.Found {
	return gate.Found{Decisions: r.decisions("decisions"), More: r.flag("more")}
}

func (r *reading) cancel() gate.CancelResult {
	return gate.CancelResult{Intent: trade.IntentID(r.text("intent_id")), Outcome: r.outcome("outcome"), Message: r.text("message")}
}

func (r *reading) stopReport() gate.StopReport {
	rep := gate.StopReport{
		Stop:     ledger.Stop{Scope: r.scope("scope"), By: r.text("by"), Reason: r.text("reason"), Since: r.time("since")},
		Repeated: r.flag("repeated"), Recorded: r.flag("recorded"), StopFile: r.optional("stop_file"),
	}
	r.each("orders", func(x *reading) {
		rep.Orders = append(rep.Orders, gate.StopOrder{
			Intent: trade.IntentID(x.text("intent_id")), Order: x.order("order"), Agent: trade.Agent(x.text("agent")),
			State: gate.StopState(x.text("state")), Message: x.optional("message"),
		})
	})
	return rep
}

func (r *reading) orders(name string) (all []gate.WorkingOrder) {
	r.each(name, func(x *reading) {
		o := gate.WorkingOrder{
			Intent: trade.IntentID(x.text("intent_id")), ID: trade.BrokerOrderID(x.text("broker_order_id")), Order: x.order("order"),
			Agent: trade.Agent(x.text("agent")), State: x.text("state"), Filled: x.decimal("filled_quantity"), At: x.time("at"),
		}
		if x.optional("deadline") != "" {
			o.Deadline = x.time("deadline")
		}
		all = append(all, o)
	})
	return all
}

func (r *reading) portfolio() gate.Portfolio {
	p := gate.Portfolio{
		Account: trade.Account(r.text("account")), At: r.time("at"), Orders: r.orders("orders"), Stops: r.stops("stops"),
	}
	if r.optional("cash") != "" {
		cash := r.money("cash")
		p.Cash = &cash
	}
	r.each("positions", func(x *reading) {
		p.Positions = append(p.Positions, gate.Position{
			Account: trade.Account(x.text("account")), Symbol: x.symbol("symbol"), Quantity: x.decimal("quantity"),
			PendingBuys: x.decimal("pending_buys"), PendingSells: x.decimal("pending_sells"),
		})
	})
	r.each("headroom", func(x *reading) {
		h := gate.Headroom{Limit: x.text("limit"), Bound: x.text("bound"), Used: x.text("used"), Left: x.text("left")}
		if x.optional("symbol") != "" {
			h.Symbol = x.symbol("symbol")
		}
		p.Headroom = append(p.Headroom, h)
	})
	return p
}

// policy builds the policy again from its bytes. What the daemon says of them does not make a policy valid that is not.
func (r *reading) policy() gate.PolicyView {
	raw, err := base64.StdEncoding.Strict().DecodeString(r.optional("raw_base64"))
	if err != nil {
		r.fail("raw_base64")
	}
	var v gate.PolicyView
	if m, _ := r.v.Member("reason"); m.Kind == wire.Object {
		x := &reading{v: m}
		v.Reason = &policy.Reason{Code: trade.Code(x.text("code")), Field: x.optional("field"), Message: x.text("message")}
	}
	if _, n := r.v.Member("raw_base64"); n == 0 {
		if v.Reason == nil {
			r.fail("reason")
		}
		return v
	}
	sum := sha256.Sum256(raw)
	v.Raw, v.SHA256 = raw, hex.EncodeToString(sum[:])
	if v.SHA256 != r.optional("policy_sha256") {
		r.fail("policy_sha256")
	}
	parsed, err := policy.Load(raw, policy.World{})
	var wrong *policy.ConfigError
	if errors.As(err, &wrong) {
		v.Problems = wrong.Problems
	}
	switch {
	case err == nil && v.Reason == nil:
		v.Policy, v.Book = parsed.V1, parsed.V2
	case err != nil && v.Reason == nil:
		v.Reason = &policy.Reason{Code: policy.PolicyInvalid, Field: "policy", Message: trade.Printable(err.Error(), 300)}
	}
	return v
}

func (r *reading) quote() trade.Quote {
	return trade.Quote{Symbol: r.symbol("symbol"), Bid: r.money("bid"), Ask: r.money("ask"), Last: r.money("last"), At: r.time("at")}
}
