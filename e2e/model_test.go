package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// model is a language model without a mind: whenever a client asks it, it waits until the test has said what it
// answers. It speaks the two protocols of the clients, as streams of server-sent events.
type model struct {
	t      *testing.T
	server *httptest.Server
	turns  chan *turn
	ended  chan struct{} // closed when nobody takes turns any more
	ids    atomic.Uint64
}

// turn is one request of a client, which waits for its answer.
type turn struct {
	t       *testing.T
	offered []string // our tools, by their own names
	result  string   // of the newest tool call; empty in the first turn
	answer  chan move
}

// move is the model's answer: a call of one of our tools, or a text, which ends the conversation.
type move struct {
	tool, arguments string
	text            string
}

func (u *turn) call(tool, arguments string) { u.answer <- move{tool: tool, arguments: arguments} }

func (u *turn) say(text string) { u.answer <- move{text: text} }

// decision reads the object in the result, before which a client may have put words of its own.
func (u *turn) decision() (d decision) {
	u.t.Helper()
	_, after, found := strings.Cut(u.result, "{")
	if err := json.NewDecoder(strings.NewReader("{" + after)).Decode(&d); !found || err != nil {
		u.t.Fatalf("the tool answers with no object: %s", u.result)
	}
	return d
}

// serverName is what the clients call our server; they put it before the names of its tools.
const serverName = "mcp__sallyport"

// object is a JSON object.
type object = map[string]any

func startModel(t *testing.T) *model {
	m := &model{t: t, turns: make(chan *turn), ended: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.handle(readMessages, m.sayMessage))
	mux.HandleFunc("POST /v1/responses", m.handle(readResponses, m.sayResponse))
	mux.HandleFunc("HEAD /", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		t.Logf("a client asked its model for %s %s, which there is not", r.Method, r.URL.Path)
		http.NotFound(w, r)
	})
	m.server = httptest.NewServer(mux) // on loopback
	t.Cleanup(func() {
		close(m.ended)
		m.server.CloseClientConnections()
		m.server.Close()
	})
	return m
}

// maxRequest is more than any request of a client holds here.
const maxRequest = 16 << 20

// handle answers the requests of one protocol. Those without tools are for a title or the like, and no turns.
func (m *model) handle(read func(raw []byte) (u turn, tools int, err error), say func(event func(object), mv move)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
		u, tools := turn{}, 0
		if err == nil {
			u, tools, err = read(raw)
		}
		if err != nil {
			m.t.Errorf("a client's request to its model cannot be read: %v", err)
			http.Error(w, `{"error":{"type":"invalid_request_error","message":"not readable"}}`, http.StatusBadRequest)
			return
		}
		mv := move{text: "ok"}
		if tools > 0 {
			u.t, u.answer = m.t, make(chan move, 1)
			select {
			case m.turns <- &u:
			case <-m.ended:
				return
			}
			select {
			case mv = <-u.answer:
			case <-m.ended:
				return
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say(func(o object) {
			b, err := json.Marshal(o)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", o["type"], b)
		}, mv)
	}
}

// id makes an identifier that no other call has.
func (m *model) id(kind string) string { return fmt.Sprintf("%s_%06d", kind, m.ids.Add(1)) }

// readMessages reads a request of Anthropic's Messages: the result is the last block of the last message.
func readMessages(raw []byte) (u turn, tools int, err error) {
	var body struct {
		Stream   bool
		Tools    []struct{ Name string }
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(raw, &body); err != nil || !body.Stream || len(body.Messages) == 0 {
		return u, 0, fmt.Errorf("no streamed conversation: %w", err)
	}
	for _, tool := range body.Tools {
		if name, ours := strings.CutPrefix(tool.Name, serverName+"__"); ours {
			u.offered = append(u.offered, name)
		}
	}
	var blocks []struct {
		Type    string
		Content json.RawMessage
	}
	_ = json.Unmarshal(body.Messages[len(body.Messages)-1].Content, &blocks) // a message may be plain text instead
	for _, b := range blocks {
		if b.Type == "tool_result" {
			u.result = plainText(b.Content)
		}
	}
	return u, len(body.Tools), nil
}

// plainText returns a text that is a string, or a list of parts with one each.
func plainText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// sayMessage answers in Anthropic's Messages.
func (m *model) sayMessage(event func(object), mv move) {
	usage := object{"input_tokens": 100, "output_tokens": 10}
	block, delta, stop := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": mv.text}, "end_turn"
	if mv.tool != "" {
		block = object{"type": "tool_use", "id": m.id("toolu"), "name": serverName + "__" + mv.tool, "input": object{}}
		delta, stop = object{"type": "input_json_delta", "partial_json": mv.arguments}, "tool_use"
	}
	event(object{"type": "message_start", "message": object{
		"id": m.id("msg"), "type": "message", "role": "assistant", "model": "scripted", "content": []object{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}})
	event(object{"type": "content_block_start", "index": 0, "content_block": block})
	event(object{"type": "content_block_delta", "index": 0, "delta": delta})
	event(object{"type": "content_block_stop", "index": 0})
	event(object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	event(object{"type": "message_stop"})
}

// readResponses reads a request of OpenAI's Responses: the result is the last item. A server's tools are in a name
// space of their own.
func readResponses(raw []byte) (u turn, tools int, err error) {
	var body struct {
		Stream bool
		Tools  []struct {
			Type, Name string
			Tools      []struct{ Name string }
		}
		Input []struct {
			Type   string
			Output json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &body); err != nil || !body.Stream || len(body.Input) == 0 {
		return u, 0, fmt.Errorf("no streamed conversation: %w", err)
	}
	for _, space := range body.Tools {
		if space.Type == "namespace" && space.Name == serverName {
			for _, tool := range space.Tools {
				u.offered = append(u.offered, tool.Name)
			}
		}
	}
	if last := body.Input[len(body.Input)-1]; last.Type == "function_call_output" {
		u.result = plainText(last.Output)
	}
	return u, len(body.Tools), nil
}

// sayResponse answers in OpenAI's Responses.
func (m *model) sayResponse(event func(object), mv move) {
	item := object{
		"type": "message", "id": m.id("msg"), "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": mv.text, "annotations": []object{}}},
	}
	if mv.tool != "" {
		item = object{
			"type": "function_call", "id": m.id("fc"), "call_id": m.id("call"), "status": "completed",
			"namespace": serverName, "name": mv.tool, "arguments": mv.arguments,
		}
	}
	response := func(status string, items ...object) object {
		return object{
			"id": "resp", "object": "response", "model": "scripted", "status": status, "output": items, "error": nil,
			"usage": object{"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
		}
	}
	event(object{"type": "response.created", "response": response("in_progress")})
	event(object{"type": "response.output_item.added", "output_index": 0, "item": item})
	event(object{"type": "response.output_item.done", "output_index": 0, "item": item})
	event(object{"type": "response.completed", "response": response("completed", item)})
}
