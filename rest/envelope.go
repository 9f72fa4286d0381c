package rest

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"runtime/debug"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// An order comes in an envelope: {"tool":…,"arguments":{…}}. The tool names the dialect that reads the arguments, and gets
// exactly their bytes. A surface of ours says besides who calls through it, and which faults it has found itself.
type envelope struct {
	dialect  *dialect.Dialect
	account  trade.Account
	origin   gate.Origin
	raw      []byte // the arguments as received; the whole body if there is no telling where they are
	asked    bool
	found    bool // the surface has found faults, and they are told
	faults   []trade.Fault
	order    trade.Order
	tags     trade.Tags
	outcome  trade.Outcome // of a report
	status   string
	message  string
	expected trade.Account // that the surface takes the call to be for
	broken   bool          // the envelope itself is not as it must be
}

// maxFaults bounds the faults that an envelope tells, and that are told of one.
//
//limit:rest-faults An envelope tells at most 64 faults that a surface has found.
const maxFaults = 64

// surfaceNames are the surfaces that may say that a call came through them. Nothing is decided by it.
var surfaceNames = [...]string{surfaceName, "mcp", "hook", "plugin", "cli"}

// surfaceName is how a call is recorded that came by no other surface of ours.
const surfaceName = "rest"

// part is one member of the envelope as it was written.
type part struct {
	name string
	raw  []byte
}

// openEnvelope reads the body of an order's call. Whatever is wrong is a fault, so that the call is on record all the
// same. permits says that somebody else makes the call.
func (q *request) openEnvelope(body []byte, tooLarge, permits bool, more ...string) *envelope {
	e := &envelope{raw: body, origin: gate.Origin{Agent: q.agent, Surface: surfaceName}, broken: true}
	if tooLarge {
		e.faults = []trade.Fault{bodyTooLarge()}
		return e
	}
	parts, err := split(body)
	if err != nil {
		e.faults = []trade.Fault{{Code: trade.JSONMalformed, Message: "the body is not one JSON object: " + trade.Printable(err.Error(), 200)}}
		return e
	}
	f := e.fields(parts, append(more, "tool", "origin", "account", "asked", "faults"))
	tool := f.text("tool")
	e.asked, e.expected = f.flag("asked"), trade.Account(f.text("account"))
	e.readOrigin(f, tool)
	e.readFound(f)
	e.readReport(f, more)
	e.broken = len(f.faults) > 0
	e.faults = append(f.faults, e.faults...)
	e.parse(q.api.cfg, tool, permits)
	return e
}

// split cuts the body into its members. The decoder lets through what is inside the arguments, for a dialect to judge.
func split(body []byte) ([]part, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, errors.Join(err, errors.New("it does not begin with a brace"))
	}
	var parts []part
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		p := part{name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		p.raw = bytes.Clone(value)
		parts = append(parts, p)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows it")
	}
	return parts, nil
}

// fields takes the arguments out of the parts, and reads the others strictly.
func (e *envelope) fields(parts []part, names []string) *fields {
	f := &fields{v: wire.Value{Kind: wire.Object}}
	var arguments int
	var bad []trade.Fault
	for _, p := range parts {
		switch p.name {
		case "arguments":
			arguments++
			e.raw = p.raw
			continue
		case "arguments_base64":
			arguments++
			v, _ := wire.Read(p.raw, wire.Limits{Bytes: maxBody, Depth: 0})
			raw, err := base64.StdEncoding.Strict().DecodeString(v.Text)
			if v.Kind != wire.String || err != nil {
				bad = append(bad, trade.Fault{Code: trade.FieldTypeWrong, Field: p.name, Message: "arguments_base64 is not text in base64"})
				continue
			}
			e.raw = raw
			continue
		}
		//limit:rest-member-depth What stands beside the arguments of an order nests at most 2 levels; more is a fault.
		v, err := wire.Read(p.raw, wire.Limits{Bytes: maxBody, Depth: 2})
		if err != nil {
			bad = append(bad, trade.Fault{Code: trade.JSONMalformed, Field: trade.Printable(p.name, 64), Message: trade.Printable(err.Error(), 200)})
			continue
		}
		f.v.Members = append(f.v.Members, wire.Member{Name: p.name, Value: v})
	}
	switch {
	case arguments == 0:
		bad = append(bad, trade.Fault{Code: trade.FieldMissing, Field: "arguments", Message: "arguments is missing"})
	case arguments > 1:
		bad = append(bad, trade.Fault{Code: trade.FieldDuplicate, Field: "arguments", Message: "arguments is there more than once"})
	}
	f.strict(names)
	f.faults = append(bad, f.faults...)
	return f
}

// readOrigin takes what a surface of ours knows of the call. The agent is never among it.
//
//limit:rest-origin-members What a caller says of a call's origin never holds its agent or its tier: those are its connection's.
func (e *envelope) readOrigin(f *fields, tool string) {
	e.origin.Tool = tool
	v, is := f.member("origin", wire.Object, "an object")
	if !is {
		return
	}
	o := &fields{v: v}
	o.strict([]string{"surface", "harness", "session", "tool", "tool_call_id"})
	e.origin.Harness, e.origin.Session = trade.Harness(o.text("harness")), trade.Session(o.text("session"))
	e.origin.ToolCallID = trade.ToolCallID(o.text("tool_call_id"))
	if own := o.text("tool"); own != "" {
		e.origin.Tool = own
	}
	if name := o.text("surface"); name != "" {
		known := false
		for _, s := range surfaceNames {
			known = known || s == name
		}
		if known {
			e.origin.Surface = name
		} else {
			o.fault(policy.OriginMalformed, "surface", "origin.surface is one of "+strings.Join(surfaceNames[:], ", "))
		}
	}
	for _, bad := range o.faults {
		bad.Field = strings.TrimSuffix("origin."+bad.Field, ".")
		f.faults = append(f.faults, bad)
	}
}

// readFound takes the faults that the surface has found itself: beside the arguments, or in them. They can only deny.
func (e *envelope) readFound(f *fields) {
	list, is := f.member("faults", wire.Array, "a list")
	if !is {
		return
	}
	e.found = true
	for i, v := range list.Elems {
		x := &fields{v: v}
		x.strict([]string{"code", "field", "observed", "message"})
		told := trade.Fault{
			Code: trade.Code(x.need("code")), Field: trade.Printable(x.text("field"), 64), Observed: trade.Printable(x.text("observed"), 64),
			Message: trade.Printable(x.text("message"), 500),
		}
		switch {
		case i == maxFaults:
			f.fault(trade.FieldTypeWrong, "faults", "more than 64 faults are told")
			return
		case len(x.faults) > 0 || !isCode(string(told.Code)):
			f.fault(trade.FieldTypeWrong, "faults", "a fault is not code, field, observed and message")
			return
		}
		e.faults = append(e.faults, told)
	}
}

func isCode(s string) bool {
	for _, c := range s {
		if (c < 'A' || c > 'Z') && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func (e *envelope) readReport(f *fields, more []string) {
	if len(more) == 0 {
		return
	}
	outcome, err := trade.ParseOutcome(f.need("outcome"))
	if err != nil {
		f.fault(trade.FieldTypeWrong, "outcome", "outcome is accepted, rejected or unknown")
	}
	e.outcome, e.status, e.message = outcome, f.text("status"), f.text("message")
}

// parse lets the dialect judge the arguments, unless the surface has found faults in them already.
func (e *envelope) parse(c Config, tool string, permits bool) {
	d, known := c.Dialects(tool)
	if known {
		e.dialect, e.account = d, accountOf(c, e.origin.Tool, d, permits)
	}
	switch {
	case e.found && len(e.faults) > 0:
		return
	case !known:
		shown := trade.Printable(tool, 64)
		e.faults = append(e.faults, trade.Fault{Code: trade.ToolUnknown, Observed: shown, Message: "no dialect reads the orders of the tool \"" + shown + "\""})
		return
	case e.expected != "" && e.expected != e.account:
		e.faults = append(e.faults, trade.Fault{
			Code: policy.AccountUnknown, Field: "account", Observed: trade.Printable(string(e.expected), 64),
			Message: "the caller takes the order to be for another account than " + string(e.account),
		})
	}
	order, tags, faults := e.judge(c)
	if e.faults = append(e.faults, faults...); len(e.faults) == 0 {
		e.order, e.tags = order, tags
	}
}

// judge lets the dialect read the arguments. One that panics has found a fault of ours, and the call is recorded with it.
func (e *envelope) judge(c Config) (o trade.Order, tags trade.Tags, faults []trade.Fault) {
	defer func() {
		if p := recover(); p != nil {
			c.Log.Error("a dialect panicked", "dialect", e.dialect.Name, "panic", p, "stack", string(debug.Stack()))
			o, tags = trade.Order{}, trade.Tags{}
			faults = []trade.Fault{{Code: policy.InternalError, Message: "an error of Sallyport's own in reading the arguments; nothing was sent"}}
		}
	}()
	return e.dialect.Parse(e.account, e.raw)
}

func accountOf(c Config, tool string, d *dialect.Dialect, permits bool) trade.Account {
	account := c.Account
	if permits {
		account = ""
		if c.AccountOf != nil {
			account = c.AccountOf(tool, d)
		}
	}
	if account == "" {
		account = d.Account
	}
	return account
}

// call is what the gate decides.
func (e *envelope) call(t trade.Tier) gate.Call {
	c := gate.Call{
		Origin: e.origin, Tier: t, Account: e.account, Order: e.order, Tags: e.tags, Faults: e.faults, Raw: e.raw, Asked: e.asked,
	}
	if e.dialect != nil {
		c.Dialect = e.dialect.Name
	}
	return c
}

// appendEnvelope writes the envelope of a call, for a client. Arguments that are JSON travel as they are, others in base64.
func appendEnvelope(dst []byte, c gate.Call) []byte {
	dst = wire.AppendOptional(append(dst, '{'), "tool", c.Dialect)
	dst = appendOrigin(dst, c.Origin)
	dst = wire.AppendOptional(dst, "account", string(c.Account))
	if c.Asked {
		dst = append(wire.AppendName(dst, "asked"), "true"...)
	}
	if len(c.Faults) > 0 {
		dst = appendFaults(wire.AppendName(dst, "faults"), c.Faults[:min(len(c.Faults), maxFaults)])
	}
	return appendArguments(dst, c.Raw)
}

func appendOrigin(dst []byte, o gate.Origin) []byte {
	dst = append(wire.AppendName(dst, "origin"), '{')
	dst = wire.AppendOptional(dst, "surface", o.Surface)
	dst = wire.AppendOptional(dst, "harness", string(o.Harness))
	dst = wire.AppendOptional(dst, "session", string(o.Session))
	dst = wire.AppendOptional(dst, "tool", o.Tool)
	return append(wire.AppendOptional(dst, "tool_call_id", string(o.ToolCallID)), '}')
}

func appendArguments(dst, raw []byte) []byte {
	plain := len(raw) > 0 && raw[0] > ' ' && raw[len(raw)-1] > ' ' && jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true))
	if plain {
		return append(wire.AppendName(dst, "arguments"), raw...)
	}
	raw = raw[:min(len(raw), maxBody)] // more makes a body that is too large all the same
	return append(base64.StdEncoding.AppendEncode(append(wire.AppendName(dst, "arguments_base64"), '"'), raw), '"')
}
