package mcp

import (
	"sallyport/gate"
	"sallyport/trade"
)

// Where the harnesses put their own id of a call, in the _meta of its parameters. Each is the id that the harness's
// hooks see too, so that a hook's verdict and the call that follows it are known to be one intent.
const (
	claudeCall    = "claudecode/toolUseId"
	codexCall     = "callId"
	codexSession  = "sessionId" // the session_id of its hooks
	codexThread   = "threadId"  // the same, where there is no sessionId
	harnessClaude = trade.Harness("claude")
	harnessCodex  = trade.Harness("codex")
)

// origin says which call of which harness this is. An id that is there and cannot be taken is a fault, not no id: the
// call would pass by the verdict of a hook that named it. The gate denies ids that are too long.
func (c Config) origin(tool string, meta map[string]any) (gate.Origin, []trade.Fault) {
	o := gate.Origin{Agent: c.Agent, Surface: surfaceName, Tool: tool}
	if _, bad := meta[metaInvalid]; bad {
		return o, []trade.Fault{{Code: trade.FieldTypeWrong, Field: "_meta", Message: "_meta is not an object"}}
	}
	claude, fromClaude := meta[claudeCall]
	codex, fromCodex := meta[codexCall]
	var r idReader
	switch {
	case fromClaude && fromCodex:
		r.faults = []trade.Fault{{Code: trade.FieldDuplicate, Field: "_meta", Message: "_meta holds the call ids of two harnesses"}}
	case fromClaude:
		o.Harness, o.Session = harnessClaude, c.ClaudeSession
		o.ToolCallID = trade.ToolCallID(r.id(claudeCall, claude))
	case fromCodex:
		o.Harness = harnessCodex
		o.ToolCallID = trade.ToolCallID(r.id(codexCall, codex))
		for _, name := range [...]string{codexSession, codexThread} {
			if session, ok := meta[name]; ok && o.Session == "" {
				o.Session = trade.Session(r.id(name, session))
			}
		}
	}
	return o, r.faults
}

type idReader struct{ faults []trade.Fault }

func (r *idReader) id(name string, value any) string {
	s, ok := value.(string)
	if !ok || s == "" {
		r.faults = append(r.faults, trade.Fault{
			Code: trade.FieldTypeWrong, Field: "_meta." + name,
			Message: "_meta." + name + " is not text of at least one character; the harness that sends it must be repaired",
		})
	}
	return s
}
