package hook

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"sallyport/trade"
)

// kind says where in a tool call an event stands. The zero kind is unknown, and is answered as if before a call.
type kind uint8

const (
	unknownKind kind = iota
	before           // the call is about to be made
	asked            // the harness asks whether it may; follows before, without an id of its own
	after            // the call was made
	failed           // the call failed
)

func (k kind) isAfter() bool { return k == after || k == failed }

// event is one tool-call event, in no harness's words.
type event struct {
	name     string // as the harness calls it, to be echoed
	kind     kind
	tool     string
	session  string
	call     string // the harness's id of the tool call; empty where it has none
	args     []byte // as received, byte for byte; nil if absent
	response []byte // the tool's answer, raw JSON; nil if absent
	status   string // Hermes: ok, error, blocked, cancelled, timeout
	errText  string
}

// harness is what differs between the event formats.
type harness struct {
	name                         trade.Harness
	before, asked, after, failed string // its event names; empty if it has no such event
	callID                       [2]string
	argsName, responseName       string
}

// findHarness is the table of harnesses. Qwen Code sends the provider's id beside its own; the provider's is the one
// that its own stream and its records of denials carry.
func findHarness(name string) (harness, bool) {
	switch name {
	case "claude":
		return harness{
			name: "claude", before: "PreToolUse", after: "PostToolUse", failed: "PostToolUseFailure",
			callID: [2]string{"tool_use_id"}, argsName: "tool_input", responseName: "tool_response",
		}, true
	case "codex":
		return harness{
			name: "codex", before: "PreToolUse", asked: "PermissionRequest", after: "PostToolUse",
			callID: [2]string{"tool_use_id"}, argsName: "tool_input", responseName: "tool_response",
		}, true
	case "gemini":
		return harness{
			name: "gemini", before: "BeforeTool", after: "AfterTool",
			argsName: "tool_input", responseName: "tool_response",
		}, true
	case "qwen":
		return harness{
			name: "qwen", before: "PreToolUse", after: "PostToolUse", failed: "PostToolUseFailure",
			callID: [2]string{"tool_call_id", "tool_use_id"}, argsName: "tool_input", responseName: "tool_response",
		}, true
	case "hermes":
		return harness{
			name: "hermes", before: "pre_tool_call", after: "post_tool_call",
			callID: [2]string{"tool_call_id"}, argsName: "tool_input", responseName: "result",
		}, true
	}
	return harness{}, false
}

// refusal says why an event is not one.
type refusal struct {
	code trade.Code
	text string
}

//limit:hook-id-bytes A session id or tool-call id has at most 256 bytes.
const maxID = 256

//limit:hook-tool-bytes A tool's name has at most 512 bytes.
const maxTool = 512

// read takes an event apart. With a refusal, the event holds what was read before it, so that an event after a call is
// still known as one.
func (h harness) read(raw []byte) (event, *refusal) {
	var env envelope
	var bad *refusal
	if len(raw) > maxEvent {
		bad = &refusal{trade.BodyTooLarge, fmt.Sprintf("the event is over %d bytes", maxEvent)}
		raw = raw[:maxEvent]
	}
	members, err := readMembers(raw)
	env.add(members)
	if extra := env.find("extra"); err == nil && h.name == "hermes" && isObject(extra) {
		members, err = readMembers(extra)
		env.add(members)
	}
	ev := event{}
	if ev.name = env.text("hook_event_name"); ev.name == "" && h.name == "hermes" && env.bad == nil {
		ev.name = h.bareEvent(&env)
	}
	ev.kind = h.kindOf(ev.name)
	switch {
	case errors.Is(err, errTwice):
		// Which of the two another reader would take is unknown, so nothing of the event counts.
		return event{}, &refusal{trade.FieldDuplicate, "the event is refused: " + err.Error()}
	case bad != nil:
		return ev, bad
	case err != nil:
		return ev, &refusal{trade.JSONMalformed, "the event is not one JSON object: " + err.Error()}
	}
	return ev, h.fill(&ev, &env)
}

// bareEvent names the event of a native Hermes hook, which is called with keyword arguments and no event name.
func (h harness) bareEvent(env *envelope) string {
	switch {
	case env.find("args") == nil:
		return ""
	case env.find("result") != nil || env.find("status") != nil:
		return h.after
	}
	return h.before
}

func (h harness) kindOf(name string) kind {
	switch name {
	case "":
		return unknownKind
	case h.before:
		return before
	case h.asked:
		return asked
	case h.after:
		return after
	case h.failed:
		return failed
	}
	return unknownKind
}

// fill reads the members that matter, and refuses an event without them.
func (h harness) fill(ev *event, env *envelope) *refusal {
	ev.tool, ev.session = env.text("tool_name"), env.text("session_id")
	for _, name := range h.callID {
		if ev.call == "" && name != "" {
			ev.call = env.text(name)
		}
	}
	if h.name == "hermes" {
		ev.status, ev.errText = env.note("status"), env.note("error_message")
	}
	if ev.kind == failed {
		ev.errText = env.note("error")
	}
	ev.args, ev.response = env.find(h.argsName), env.find(h.responseName)
	if ev.args == nil && h.name == "hermes" {
		ev.args = env.find("args")
	}
	switch {
	case env.bad != nil:
		return env.bad
	case ev.name == "":
		return &refusal{trade.FieldMissing, "the event has no hook_event_name"}
	case ev.kind == unknownKind:
		return &refusal{trade.FieldTypeWrong, fmt.Sprintf("%q is not a tool-call event of %s", trade.Printable(ev.name, 64), h.name)}
	case ev.tool == "":
		return &refusal{trade.FieldMissing, "the event has no tool_name"}
	case len(ev.tool) > maxTool:
		return &refusal{trade.FieldTypeWrong, fmt.Sprintf("tool_name has %d bytes, at most %d are taken", len(ev.tool), maxTool)}
	case len(ev.session) > maxID, len(ev.call) > maxID:
		return &refusal{trade.FieldTypeWrong, fmt.Sprintf("an id of the event is over %d bytes", maxID)}
	}
	return nil
}

// member is one name of an object and its value as received.
type member struct {
	name  string
	value []byte
}

var (
	errTwice    = errors.New("a member occurs twice")
	errNoObject = errors.New("it is something else")
)

// readMembers takes an object apart without reading into its values: what is nested is judged by its own reader, byte
// for byte, so text that is not UTF-8 is let through here and refused where a name or an id is read. With an error it
// returns the members before it.
func readMembers(raw []byte) ([]member, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		if _, err := d.ReadToken(); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, errNoObject
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	members := make([]member, 0, 16)
	for d.PeekKind() != '}' {
		tok, err := d.ReadToken()
		if err != nil {
			return members, err
		}
		m := member{name: tok.String()}
		for i := range members {
			if members[i].name == m.name {
				return members, fmt.Errorf("%w: %s", errTwice, trade.Printable(m.name, 64))
			}
		}
		v, err := d.ReadValue()
		if err != nil {
			return members, err
		}
		end := int(d.InputOffset())
		m.value = raw[end-len(v) : end : end]
		members = append(members, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return members, err
	}
	if _, err := d.ReadToken(); err == nil {
		return members, errors.New("something follows it")
	} else if !errors.Is(err, io.EOF) {
		return members, err
	}
	return members, nil
}

// envelope is what an event is found in, and the first thing that is wrong with it.
type envelope struct {
	members []member
	bad     *refusal
}

// add appends members. Where two levels have the same name, the outer one counts.
func (e *envelope) add(ms []member) { e.members = append(e.members, ms...) }

// find returns a member's bytes; nil if it is absent or null.
func (e *envelope) find(name string) []byte {
	for i := range e.members {
		if e.members[i].name == name {
			if string(e.members[i].value) == "null" {
				return nil
			}
			return e.members[i].value
		}
	}
	return nil
}

// text returns a member that must be text where it is there at all.
func (e *envelope) text(name string) string {
	raw := e.find(name)
	if raw == nil {
		return ""
	}
	s, ok := unquote(raw)
	if !ok && e.bad == nil {
		e.bad = &refusal{trade.FieldTypeWrong, "the event's " + name + " is not text"}
	}
	return s
}

// note returns a member of the event after a call as text, whatever it is: nothing is allowed by it.
func (e *envelope) note(name string) string {
	raw := e.find(name)
	if s, ok := unquote(raw); ok {
		return s
	}
	return string(raw)
}

// unquote decodes a JSON string that is valid UTF-8.
func unquote(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", false
	}
	return string(b), true
}

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// readElems takes an array apart as readMembers takes an object.
func readElems(raw []byte) ([][]byte, bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '[' {
		return nil, false
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	var elems [][]byte
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		end := int(d.InputOffset())
		elems = append(elems, raw[end-len(v):end:end])
	}
	return elems, true
}
