package mcp

import (
	"context"
	"encoding/json"
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
	"sallyport/wire"
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
	Description string // for the model
	Input       []byte // JSON Schema of the arguments; additional properties are refused
	Output      []byte // JSON Schema of every answer
	Executes    bool   // an order may be sent; else the tool only reads

	run func(ctx context.Context, c call) Result
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

// Tools is the table of the five tools on one gate. It is safe for concurrent use.
type Tools struct {
	cfg  Config
	rows []Tool // in published order
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
	for _, name := range [...]string{"paper_place_order_a", "paper_place_order_b", "trade_check"} {
		d, ok := dialect.Find(name)
		if !ok {
			return nil, fmt.Errorf("mcp: there is no dialect %s", name)
		}
		t.rows = append(t.rows, t.orderTool(d))
	}
	t.rows = append(t.rows, t.policyTool(), t.auditTool())
	return t, nil
}

// List returns the table, in published order.
func (t *Tools) List() []Tool { return slices.Clone(t.rows) }

// Call runs one tool on the arguments as received. It never panics, it answers within its deadline, and it does not
// stop when ctx is cancelled: an order that has left keeps its outcome.
func (t *Tools) Call(ctx context.Context, o gate.Origin, name string, raw []byte) Result {
	o.Tool = name
	return t.call(ctx, name, call{origin: o, raw: raw})
}

func (t *Tools) call(ctx context.Context, name string, c call) (r Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callDeadline)
	defer cancel()
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
	if r = row.run(ctx, c); !json.Valid(r.JSON) {
		t.cfg.Log.Error("a tool answered with what is not JSON", "tool", row.Name)
		return t.broken(c, row)
	}
	return r
}

// orderTool places orders of one dialect, or checks them.
func (t *Tools) orderTool(d *dialect.Dialect) Tool {
	row := Tool{Name: d.Name, Input: d.Schema(), Output: []byte(decisionSchema)}
	account := t.cfg.Account
	if account == "" {
		account = d.Account
	}
	read := func(c call) gate.Call {
		out := gate.Call{Origin: c.origin, Account: account, Raw: c.raw}
		order, tags, faults := t.parse(d, account, c.arguments())
		if out.Faults = append(slices.Clone(c.faults), faults...); len(out.Faults) == 0 {
			out.Order, out.Tags = order, tags
		}
		return out
	}
	if d.Name == "trade_check" {
		row.Title, row.Description = "Check an order", checkDescription
		row.run = func(ctx context.Context, c call) Result { return checked(t.cfg.Gate.Check(ctx, read(c))) }
		return row
	}
	row.Title, row.Description, row.Executes = "Place a paper order", orderDescription, true
	row.run = func(ctx context.Context, c call) Result { return decided(t.cfg.Gate.Execute(ctx, read(c))) }
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

// decided shows the decision on an order. Only a venue's acceptance is no error: everything else is for the model to
// notice.
func decided(d ledger.Decision) Result {
	r := plain(d.AppendJSON(nil), d.State != ledger.Succeeded || d.Verdict != policy.Allow)
	if d.Verdict == policy.Hold {
		r.IsError = false
		r.Text = "NOT EXECUTED: a person must decide first.\n" + r.Text
	}
	return r
}

// checked shows a dry run, which worked whatever it found.
func checked(d ledger.Decision) Result { return plain(d.AppendJSON(nil), false) }

func plain(object []byte, isError bool) Result {
	return Result{JSON: object, Text: string(object), IsError: isError}
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

// broken answers a call that ended in a panic. Where an order might have been sent by then, it says so.
func (t *Tools) broken(c call, row Tool) Result {
	reason := policy.Reason{Code: policy.InternalError, Message: "an error of Sallyport's own; the operator finds it in its log"}
	switch {
	case row.Executes:
		reason.Message += "; whether an order was sent is not known: look it up with trade_audit before anything else"
		d := t.blocked(c, reason)
		d.State = ledger.OutcomeUnknown
		return decided(d)
	case row.Name == "trade_check":
		return decided(t.blocked(c, reason))
	}
	return refused(reason)
}

// refused answers a call of a tool that takes no order.
func refused(reasons ...policy.Reason) Result {
	return plain(append(ledger.AppendReasons(wire.AppendName([]byte{'{'}, "reasons"), reasons), '}'), true)
}
