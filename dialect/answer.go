package dialect

import (
	"strings"

	"sallyport/trade"
	"sallyport/wire"
)

// Limits on a tool's answer. Past them it is unknown what the answer says.
const (
	//limit:dialect-answer-bytes An answer of more than 1048576 bytes is unknown.
	maxAnswer = 1 << 20
	//limit:dialect-answer-depth An answer nested more than 32 levels deep is unknown.
	maxAnswerDepth = 32
	//limit:dialect-answer-wraps A payload inside more than 8 containers and encoded texts of harnesses is unknown.
	maxWraps = 8
	//limit:dialect-answer-id A venue's order id of more than 128 bytes makes its answer unknown.
	maxOrderID = 128
)

// shape reads an object that may be a venue's payload; known is false for what is none.
type shape func(v wire.Value) (a Answer, known bool)

// readAnswer unwraps what harnesses put around a tool's answer and reads every payload in it by its shape. Whatever is
// unclear, contradicts itself or cannot be read makes the outcome unknown: an unknown outcome keeps its reservation
// until it is settled, a wrong one would let go of an order that exists.
//
// The wrappings are those of MCP's CallToolResult {"content":[{"type":"text","text":…}],"structuredContent":…,"isError":…}
// (modelcontextprotocol.io, revision 2025-06-18, tools), a bare array of such content blocks or a JSON string that holds
// the JSON (Claude Code and Codex, as recorded), Gemini's {"llmContent":…,"returnDisplay":…,"error":…}, and Hermes'
// {"result":…} and {"error":…}.
func readAnswer(payload []byte, read shape) Answer {
	v, err := wire.Read(payload, wire.Limits{Bytes: maxAnswer, Depth: maxAnswerDepth})
	if err != nil {
		return Answer{}
	}
	u := unwrapping{read: read}
	u.value(v, 0)
	return u.answer()
}

type unwrapping struct {
	read    shape
	found   []Answer
	unclear bool   // some part says something that is not understood
	failed  bool   // a wrapper calls the whole an error
	prose   string // the first text that is not JSON
}

// answer is what all payloads agree on.
func (u *unwrapping) answer() Answer {
	if len(u.found) == 0 {
		return Answer{Message: u.prose}
	}
	a := u.found[0]
	for _, other := range u.found[1:] {
		if other.Outcome != a.Outcome || other.OrderID != a.OrderID {
			u.unclear = true
		}
	}
	if u.unclear || u.failed && a.Outcome == trade.Accepted || len(a.OrderID) > maxOrderID {
		a.Outcome = trade.Unknown
	}
	return a
}

func (u *unwrapping) value(v wire.Value, wraps int) {
	if wraps > maxWraps {
		u.unclear = true
		return
	}
	switch v.Kind {
	case wire.String:
		u.text(v.Text, wraps)
	case wire.Array:
		u.unclear = u.unclear || len(v.Elems) == 0
		for _, e := range v.Elems {
			u.value(e, wraps+1)
		}
	case wire.Object:
		u.object(v, wraps)
	default:
		u.unclear = true
	}
}

func (u *unwrapping) text(text string, wraps int) {
	text = strings.TrimSpace(text)
	if text != "" && strings.IndexByte(`{["`, text[0]) >= 0 {
		v, err := wire.Read([]byte(text), wire.Limits{Bytes: maxAnswer, Depth: maxAnswerDepth})
		if err == nil {
			u.value(v, wraps+1)
			return
		}
	}
	u.unclear = true
	if u.prose == "" {
		u.prose = trade.Printable(text, 200)
	}
}

func (u *unwrapping) object(v wire.Value, wraps int) {
	if _, twice := v.Duplicate(); twice {
		u.unclear = true
		return
	}
	a, known := u.read(v)
	if known {
		u.found = append(u.found, a)
	}
	inner := 0
	for _, m := range v.Members {
		if u.wrapper(m, wraps, known) {
			inner++
		}
	}
	if known == (inner > 0) { // neither a payload nor a wrapper, or both
		u.unclear = true
	}
}

// wrapper unwraps one member and reports whether it is a harness's. The error that a payload names itself is part of
// the payload.
func (u *unwrapping) wrapper(m wire.Member, wraps int, payload bool) bool {
	switch m.Name {
	case "isError", "is_error":
		u.failed = u.failed || m.Value.Kind != wire.Bool || m.Value.Text != "false"
		return false
	case "error":
		if m.Value.Kind == wire.Null || m.Value.Kind == wire.Bool && m.Value.Text == "false" {
			return false
		}
		u.failed = true
		if payload {
			return false
		}
	case "content", "structuredContent", "structured_content", "llmContent", "result", "text":
		if m.Value.Kind == wire.Null {
			return false
		}
	default:
		return false
	}
	u.value(m.Value, wraps+1)
	return true
}

// text returns a member that must be text; empty otherwise.
func text(v wire.Value, name string) string {
	m, n := v.Member(name)
	if n != 1 || m.Kind != wire.String {
		return ""
	}
	return m.Text
}

// has reports whether there is a member of that name that is not null.
func has(v wire.Value, name string) bool {
	m, n := v.Member(name)
	return n > 0 && m.Kind != wire.Null
}

// StatusAnswer returns a reader for tools whose payload is an object with a "status" that is one of the given words,
// and perhaps an "order_id" and a "message". Words are matched exactly; every other word is unknown.
func StatusAnswer(accepted, rejected []string) func(payload []byte) Answer {
	outcomes := make(map[string]trade.Outcome, len(accepted)+len(rejected))
	for _, w := range accepted {
		outcomes[w] = trade.Accepted
	}
	for _, w := range rejected {
		if outcomes[w] == trade.Accepted {
			outcomes[w] = trade.Unknown
			continue
		}
		outcomes[w] = trade.Rejected
	}
	return func(payload []byte) Answer {
		return readAnswer(payload, func(v wire.Value) (Answer, bool) {
			if !has(v, "status") {
				return Answer{}, false
			}
			a := venueWords(v)
			a.Outcome = outcomes[a.Status]
			return a, true
		})
	}
}

// venueWords reads the words of a payload, without an outcome.
func venueWords(v wire.Value) Answer {
	return Answer{
		Status:  trade.Printable(text(v, "status"), 64),
		Code:    trade.Printable(text(v, "code"), 64),
		OrderID: text(v, "order_id"),
		Message: trade.Printable(text(v, "message"), 200),
	}
}
