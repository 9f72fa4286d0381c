package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// surfaceName is how this surface is named in records.
const surfaceName = "mcp"

// callDeadline bounds one call from its arrival to its answer, above the gate's own deadlines, which are shorter.
//
//limit:mcp-call-deadline A call ends after 2 minutes at the latest; the client cannot shorten or prolong it.
const callDeadline = 2 * time.Minute

// Tool is one row of the table of tools.
type Tool struct {
	Name        string
	Title       string
	Description string     // for the model
	Tier        trade.Tier // that a process needs; the zero tier is everybody's
	Input       []byte     // JSON Schema of the arguments; additional properties are refused
	Output      []byte     // JSON Schema of every answer
	Executes    bool       // an order may be sent at once
	ReadOnly    bool       // nothing is changed, whatever the arguments
	Destructive bool       // a harness does well to ask a person first
	Idempotent  bool       // a repeat with the same arguments does nothing more

	order     bool // takes an order, and answers with the gate's decision on it
	stoppable bool // answers killswitch_active while everything or the caller is stopped; an order is the gate's to stop
	run       func(ctx context.Context, c call) Result
}

// call is one call as the tools see it.
type call struct {
	origin gate.Origin
	faults []trade.Fault // of what came beside the arguments
	raw    []byte        // the arguments as received; empty if there were none
}

// arguments returns what a dialect or a reader judges: a call without arguments is a call with none of them.
func (c call) arguments() []byte {
	if len(c.raw) == 0 {
		return []byte("{}")
	}
	return c.raw
}

// Result is the answer of a tool.
type Result struct {
	JSON    []byte // one object, as Tool.Output describes it
	Text    string // the same, for a caller that reads text; after a line that begins NOT EXECUTED if a person must decide
	IsError bool
}

// Tools is the table of the tools on one gate, for a process of one tier. It is safe for concurrent use.
type Tools struct {
	cfg  Config
	rows []Tool // in published order, those included that are above the tier
}

// New makes the table. It fails if a dialect that a tool reads is missing.
func New(cfg Config) (*Tools, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	t := &Tools{cfg: cfg}
	orders := map[string]Tool{}
	for name, dialectName := range map[string]string{
		"trade_check": "trade_check", "trade_propose": "paper_place_order_a",
		"paper_place_order_a": "paper_place_order_a", "paper_place_order_b": "paper_place_order_b",
	} {
		d, ok := dialect.Find(dialectName)
		if !ok {
			return nil, fmt.Errorf("mcp: there is no dialect %s", dialectName)
		}
		orders[name] = t.orderTool(name, d)
	}
	t.rows = []Tool{
		orders["paper_place_order_a"], orders["paper_place_order_b"], orders["trade_check"], t.policyTool(), t.auditTool(),
		t.queryTool(), t.portfolioTool(), t.quoteTool(), t.proposalTool(),
		orders["trade_propose"], t.withdrawTool(), t.cancelTool(), t.killTool(), t.executeTool(),
	}
	return t, nil
}

// List returns the tools that this process may call, in published order.
//
//limit:mcp-tier-list Tools above the tier of the process are not listed; a call of one is refused: permission_denied.
func (t *Tools) List() []Tool {
	return slices.DeleteFunc(slices.Clone(t.rows), func(row Tool) bool { return row.Tier > t.cfg.Tier })
}

// Call runs one tool on the arguments as received. It never panics, it answers within its deadline, and it does not
// stop when ctx is cancelled: an order that has left keeps its outcome.
func (t *Tools) Call(ctx context.Context, o gate.Origin, name string, raw []byte) Result {
	o.Tool = name
	return t.call(ctx, name, call{origin: o, raw: raw})
}

func (t *Tools) call(ctx context.Context, name string, c call) (r Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callDeadline)
	defer cancel()
	if c.origin.Agent == "" {
		c.origin.Agent = t.cfg.Agent
	}
	i := slices.IndexFunc(t.rows, func(row Tool) bool { return row.Name == name })
	if i < 0 {
		return t.unknown(c, name)
	}
	row := t.rows[i]
	defer func() {
		if p := recover(); p != nil {
			t.cfg.Log.Error("a tool panicked", "tool", row.Name, "panic", p, "stack", string(debug.Stack()))
			r = t.broken(c, row)
		}
	}()
	if row.stoppable && row.Tier <= t.cfg.Tier {
		stops, err := t.stops(ctx, c.origin.Agent)
		switch {
		case err != nil:
			return t.failed(row.Name, err)
		case len(stops) > 0:
			return t.stopped(stops)
		}
	}
	if r = row.run(ctx, c); !json.Valid(r.JSON) {
		t.cfg.Log.Error("a tool answered with what is not JSON", "tool", row.Name)
		return t.broken(c, row)
	}
	return r
}

// stops returns the kill switches that stop an agent whatever it does. One that cannot be read is engaged; the error says
// that there is nobody to ask.
//
//limit:mcp-stopped While everything or its agent is stopped, an agent may look up records, stop, cancel and withdraw, and no more.
func (t *Tools) stops(ctx context.Context, agent trade.Agent) ([]ledger.Stop, error) {
	all, err := t.cfg.Gate.Stops(ctx)
	var silent unanswered
	if errors.As(err, &silent) {
		return nil, err
	}
	if err != nil {
		t.cfg.Log.Error("the kill switch cannot be read", "error", err)
		if len(all) == 0 {
			all = []ledger.Stop{{By: "sallyport", Reason: "the kill switch cannot be read", Since: t.cfg.Now()}}
		}
	}
	return slices.DeleteFunc(all, func(s ledger.Stop) bool {
		return s.Scope.Kind != ledger.Everything && !s.Scope.OfAgent(agent)
	}), nil
}

// orderTool places orders of one dialect, proposes them, or checks them.
func (t *Tools) orderTool(name string, d *dialect.Dialect) Tool {
	row := Tool{Name: name, Input: d.Schema(), Output: []byte(decisionSchema), order: true}
	account := t.cfg.Account
	if account == "" {
		account = d.Account
	}
	read := func(c call) gate.Call {
		out := gate.Call{Origin: c.origin, Tier: t.cfg.Tier, Dialect: d.Name, Account: account, Raw: c.raw}
		order, tags, faults := t.parse(d, account, c.arguments())
		if out.Faults = append(slices.Clone(c.faults), faults...); len(out.Faults) == 0 {
			out.Order, out.Tags = order, tags
		}
		return out
	}
	switch name {
	case "trade_check":
		row.Title, row.Description, row.ReadOnly, row.Idempotent = "Check an order", checkDescription, true, true
		row.run = func(ctx context.Context, c call) Result { return shown(t.cfg.Gate.Check(ctx, read(c))) }
	case "trade_propose":
		row.Title, row.Description, row.Tier = "Propose an order to a person", proposeDescription, trade.TierPropose
		row.run = func(ctx context.Context, c call) Result { return decided(t.cfg.Gate.Propose(ctx, read(c))) }
	default:
		row.Title, row.Description, row.Tier = "Place a paper order", orderDescription, trade.TierExecute
		row.Executes, row.Destructive = true, true
		row.run = func(ctx context.Context, c call) Result { return decided(t.cfg.Gate.Execute(ctx, read(c))) }
	}
	return row
}

// parse reads the arguments. A dialect that panics has found a fault of ours, and the call is recorded with it.
func (t *Tools) parse(d *dialect.Dialect, account trade.Account, raw []byte) (o trade.Order, tags trade.Tags, faults []trade.Fault) {
	defer func() {
		if p := recover(); p != nil {
			t.cfg.Log.Error("a dialect panicked", "dialect", d.Name, "panic", p, "stack", string(debug.Stack()))
			o, tags = trade.Order{}, trade.Tags{}
			faults = []trade.Fault{{Code: policy.InternalError, Message: "an error of Sallyport's own in reading the arguments; nothing was sent"}}
		}
	}()
	return d.Parse(account, raw)
}

// blocked is a decision of this surface's own: nothing was asked of the gate, and nothing is recorded.
func (t *Tools) blocked(c call, reason policy.Reason) ledger.Decision {
	return ledger.Decision{
		Verdict: policy.Deny, State: ledger.Blocked, ToolCallID: c.origin.ToolCallID, Agent: c.origin.Agent,
		Surface: c.origin.Surface, Tool: trade.Printable(c.origin.Tool, 64), Reasons: []policy.Reason{reason}, At: t.cfg.Now(),
	}
}

// unknown answers a call of a tool that does not exist.
func (t *Tools) unknown(c call, name string) Result {
	shown := trade.Printable(name, 64)
	return decided(t.blocked(c, policy.Reason{
		Code: trade.ToolUnknown, Observed: shown,
		Message: fmt.Sprintf("there is no tool %q; call one of those that are listed", shown),
	}))
}

// broken answers a call that ended in a panic. Where an order might have been sent by then, or anything else done, it
// says so.
func (t *Tools) broken(c call, row Tool) Result {
	reason := policy.Reason{Code: policy.InternalError, Message: "an error of Sallyport's own; the operator finds it in its log"}
	if !row.ReadOnly && !row.Executes {
		reason.Message += "; whether the call did anything is not known: look it up with journal_query"
	}
	switch {
	case row.Executes:
		reason.Message += "; whether an order was sent is not known: look it up with trade_audit before anything else"
		d := t.blocked(c, reason)
		d.State = ledger.OutcomeUnknown
		return decided(d)
	case row.order:
		return decided(t.blocked(c, reason))
	}
	return refused(reason)
}
