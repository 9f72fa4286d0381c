package hook

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sallyport/dialect"
	"sallyport/trade"
)

// blocked is the status that Hermes gives a call that a hook, a guard or a person stopped: the tool never ran.
const blocked = "blocked"

// outcomeOf reads what the tool answered. Only what the dialect recognises as definite counts; all else is unknown and
// keeps its reservation. A harness's own word for failure is not definite: the order may have landed.
func outcomeOf(d *dialect.Dialect, ev *event) dialect.Answer {
	if ev.status == blocked {
		return dialect.Answer{Outcome: trade.Rejected, Message: trade.Printable(ev.errText, maxReason)}
	}
	payload, isError := payloadOf(ev.response)
	if len(payload) == 0 {
		payload, _ = payloadOf(told(ev.errText))
	}
	if d.Outcome == nil || len(payload) == 0 {
		return dialect.Answer{Message: trade.Printable(ev.errText, maxReason)}
	}
	a := d.Outcome(payload)
	if a.Outcome == trade.Accepted && (isError || ev.kind == failed || ev.status != "" && ev.status != "ok") {
		a.Outcome = trade.Unknown // the answer and the harness contradict each other
	}
	return a
}

//limit:hook-wrapping A tool's answer is unwrapped at most 4 layers deep.
const maxWrapping = 4

// payloadOf unwraps a tool's answer as harnesses pass it on: text, content that is one text block, an MCP result, and
// the tool results of Gemini CLI, Qwen Code and Hermes. What is none of these is the payload. isError says that a
// wrapper called it a failure.
func payloadOf(raw []byte) (payload []byte, isError bool) {
	for range maxWrapping {
		inner, failed, wrapped := unwrap(raw)
		isError = isError || failed
		if !wrapped {
			break
		}
		raw = inner
	}
	return raw, isError
}

// unwrap takes one layer off.
func unwrap(raw []byte) (inner []byte, isError, wrapped bool) {
	if s, ok := unquote(raw); ok {
		return told(s), false, true
	}
	if elems, ok := readElems(raw); ok && len(elems) == 1 {
		return elems[0], false, true
	}
	members, err := readMembers(raw)
	if err != nil || len(members) == 0 {
		return nil, false, false
	}
	for _, m := range members {
		if !isWrapping(m.name) {
			return nil, false, false
		}
	}
	env := envelope{members: members}
	isError = string(env.find("isError")) == "true" || env.find("error") != nil
	for _, name := range []string{"structuredContent", "text", "content", "llmContent", "result"} {
		if v := env.find(name); v != nil {
			return v, isError, true
		}
	}
	return nil, isError, false
}

// told takes off what Gemini CLI and Qwen Code write around a text of an MCP tool: Gemini puts tags around each, and both
// tell of an answer that is an error in a sentence, with the call and then the answer as JSON. The call holds the
// model's own words, so it is read to its end and not searched. What is not exactly this is the text itself.
func told(s string) []byte {
	if inner, ok := strings.CutPrefix(s, "<untrusted_context>\n"); ok {
		if inner, ok = strings.CutSuffix(inner, "\n</untrusted_context>"); ok {
			return []byte(inner)
		}
	}
	_, rest, ok := strings.Cut(s, "' reported tool error for function call: ")
	if !ok || !strings.HasPrefix(s, "MCP tool '") {
		return []byte(s)
	}
	d := jsontext.NewDecoder(strings.NewReader(rest), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err := d.SkipValue(); err != nil {
		return []byte(s)
	}
	answer, ok := strings.CutPrefix(rest[d.InputOffset():], " with response: ")
	if elems, isArray := readElems([]byte(answer)); ok && isArray && len(elems) == 1 && jsontext.Value(answer).IsValid() {
		if inner := inside(inside(elems[0], "functionResponse"), "response"); inner != nil {
			return inner
		}
	}
	return []byte(s)
}

// inside returns a member of an object; nil if there is none.
func inside(raw []byte, name string) []byte {
	members, err := readMembers(raw)
	if err != nil {
		return nil
	}
	env := envelope{members: members}
	return env.find(name)
}

// isWrapping reports whether a member belongs to a wrapper and never to a broker's answer on its own.
func isWrapping(name string) bool {
	switch name {
	case "type", "text", "annotations", "content", "structuredContent", "isError", "_meta", "meta",
		"llmContent", "returnDisplay", "result", "error":
		return true
	}
	return false
}
