package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// nested returns a request whose deepest value lies in n brackets, those of the message included.
func nested(n int) string {
	return `{"jsonrpc":"2.0","id":9,"method":"ping","params":` + strings.Repeat(`{"a":`, n-1) + `1` + strings.Repeat(`}`, n)
}

//attack:mcp-depth
func TestReadMessageRefusesDeepNesting(t *testing.T) {
	if _, r := readMessage([]byte(nested(64))); r != nil {
		t.Errorf("64 levels are refused: %s", r.message)
	}
	for _, n := range []int{65, 66, 1000, 100_000} {
		if _, r := readMessage([]byte(nested(n))); r == nil || r.code != -32700 {
			t.Errorf("%d levels: %+v, want -32700", n, r)
		}
	}
	for _, open := range []string{"[", `{"a":`, `[{"a":`} { // never closed
		if _, r := readMessage([]byte(strings.Repeat(open, 200_000))); r == nil || r.code != -32700 {
			t.Errorf("endless %s: %+v, want -32700", open, r)
		}
	}
	brackets := `{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":"` + strings.Repeat(`[{\"`, 100) + `"}}`
	if _, r := readMessage([]byte(brackets)); r != nil {
		t.Errorf("brackets in a text count as nesting: %s", r.message)
	}
}

//attack:mcp-request-id
func TestReadMessageTakesOnlyIDsThatItCanEcho(t *testing.T) {
	for _, id := range []string{`0`, `7`, `-1`, `9007199254740991`, `-9007199254740991`, `""`, `"a"`, `"\u00e9\n"`} {
		req, r := readMessage([]byte(`{"jsonrpc":"2.0","method":"ping","id":` + id + `}`))
		if r != nil || !req.IsCall() {
			t.Errorf("id %s is refused: %+v", id, r)
			continue
		}
		echoed, err := json.Marshal(req.ID.Raw())
		var a, b any
		if err != nil || json.Unmarshal(echoed, &a) != nil || json.Unmarshal([]byte(id), &b) != nil || a != b {
			t.Errorf("id %s comes back as %s", id, echoed)
		}
	}
	for _, id := range []string{
		`null`, `true`, `1.5`, `1.0`, `1e2`, `9007199254740992`, `-9007199254740992`, `1e400`, `99999999999999999999`,
		`{}`, `[]`, `[1]`, `"\ud800"`,
	} {
		req, r := readMessage([]byte(`{"jsonrpc":"2.0","method":"ping","id":` + id + `}`))
		if r == nil {
			t.Errorf("id %s is taken as %v", id, req.ID.Raw())
		} else if r.id != nil {
			t.Errorf("id %s is echoed", id)
		}
	}
}

// badLine is a line that must not reach the SDK.
type badLine struct {
	name, line string
	code       int
	id         string // in the answer
}

func badLines() []badLine {
	const call = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"paper_place_order_a","arguments":` + goodA
	return []badLine{
		{"empty", "", -32700, "null"},
		{"blank", " \t\r", -32700, "null"},
		{"word", "hello", -32700, "null"},
		{"open", `{"jsonrpc":"2.0","id":5,"method":"ping"`, -32700, "null"},
		{"trailing bracket", `{"jsonrpc":"2.0","id":5,"method":"ping"}}`, -32700, "null"},
		{"two values", `{"jsonrpc":"2.0","id":5,"method":"ping"}{"jsonrpc":"2.0","id":6,"method":"ping"}`, -32700, "null"},
		{"value and word", `{"jsonrpc":"2.0","id":5,"method":"ping"} x`, -32700, "null"},
		{"number", "42", -32700, "null"},
		{"text", `"ping"`, -32700, "null"},
		{"null", "null", -32700, "null"},
		{"single quotes", `{'jsonrpc':'2.0'}`, -32700, "null"},
		{"comment", `{"jsonrpc":"2.0","id":5,"method":"ping"} // x`, -32700, "null"},
		{"trailing comma", `{"jsonrpc":"2.0","id":5,"method":"ping",}`, -32700, "null"},
		{"NaN", `{"jsonrpc":"2.0","id":NaN,"method":"ping"}`, -32700, "null"},
		{"leading zero", `{"jsonrpc":"2.0","id":05,"method":"ping"}`, -32700, "null"},
		{"byte order mark", "\ufeff" + `{"jsonrpc":"2.0","id":5,"method":"ping"}`, -32700, "null"},
		{"NUL", "\x00", -32700, "null"},
		{"UTF-16", "{\x00\"\x00j\x00", -32700, "null"},
		{"bad UTF-8", `{"jsonrpc":"2.0","id":5,"method":"pi` + "\xff" + `ng"}`, -32700, "null"},
		{"bad UTF-8 in arguments", call[:len(call)-1] + `,"reason":"` + "\xc3" + `"}}}`, -32700, "null"},
		{"overlong UTF-8", `{"jsonrpc":"2.0","id":5,"method":"` + "\xc0\xaf" + `"}`, -32700, "null"},
		{"surrogate in UTF-8", `{"jsonrpc":"2.0","id":5,"method":"` + "\xed\xa0\x80" + `"}`, -32700, "null"},
		{"control character", "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"a\x01\"}", -32700, "null"},
		{"carriage return inside", "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"a\r\"}", -32700, "null"},
		{"duplicate id", `{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}`, -32700, "null"},
		{"duplicate id, escaped", `{"jsonrpc":"2.0","id":5,"\u0069d":6,"method":"ping"}`, -32700, "null"},
		{"duplicate method", `{"jsonrpc":"2.0","id":5,"method":"ping","method":"tools/list"}`, -32700, "null"},
		{"duplicate unknown member", `{"jsonrpc":"2.0","id":5,"method":"ping","x":1,"x":1}`, -32700, "null"},
		{"duplicate params", call + `},"params":{}}`, -32700, "null"},
		{"duplicate name", call + `,"name":"trade_audit"}}`, -32700, "null"},
		{"duplicate arguments", call + `,"arguments":` + goodA + `}}`, -32700, "null"},
		{"duplicate _meta", call + `,"_meta":{},"_meta":{}}}`, -32700, "null"},
		{"duplicate call id", call + `,"_meta":{"callId":"a","callId":"b"}}}`, -32700, "null"},
		{"duplicate deep in _meta", call + `,"_meta":{"x":[{"a":1,"a":2}]}}}`, -32700, "null"},
		{"duplicate in the params of another method", `{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"arguments":{"a":1,"a":2}}}`, -32700, "null"},
		{"half a surrogate pair in a name", `{"jsonrpc":"2.0","id":5,"method":"ping","\ud800":1}`, -32700, "null"},
		{"half a surrogate pair in _meta", call + `,"_meta":{"callId":"\udc00"}}}`, -32700, "null"},
		{"batch", `[{"jsonrpc":"2.0","id":5,"method":"ping"}]`, -32600, "null"},
		{"empty batch", `[]`, -32600, "null"},
		{"broken batch", `[{"jsonrpc":"2.0","id":5,"method":"ping"}`, -32700, "null"},
		{"empty object", `{}`, -32600, "null"},
		{"no version", `{"id":5,"method":"ping"}`, -32600, "5"},
		{"version as a number", `{"jsonrpc":2.0,"id":5,"method":"ping"}`, -32600, "5"},
		{"version 1", `{"jsonrpc":"1.0","id":5,"method":"ping"}`, -32600, "5"},
		{"version in another case", `{"JSONRPC":"2.0","id":"x","method":"ping"}`, -32600, `"x"`},
		{"no method", `{"jsonrpc":"2.0","id":5,"params":{}}`, -32600, "5"},
		{"method in another case", `{"jsonrpc":"2.0","id":5,"Method":"ping"}`, -32600, "5"},
		{"method a number", `{"jsonrpc":"2.0","id":5,"method":7}`, -32600, "5"},
		{"method null", `{"jsonrpc":"2.0","id":5,"method":null}`, -32600, "5"},
		{"request and response", `{"jsonrpc":"2.0","id":5,"method":"ping","result":{}}`, -32600, "5"},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, "null"},
		{"id true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, -32600, "null"},
		{"id a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, "null"},
		{"id an object", `{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, -32600, "null"},
		{"params an array", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":["paper_place_order_a"]}`, -32600, "5"},
		{"params text", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":"x"}`, -32600, "5"},
		{"too deep", nested(65), -32700, "null"},
		{"too long", `{"jsonrpc":"2.0","id":5,"method":"` + strings.Repeat("x", maxLine) + `"}`, -32700, "null"},
	}
}

func TestReadMessageRefusesWhatIsNotOneClearRequest(t *testing.T) {
	for _, c := range badLines() {
		if c.name == "too long" {
			continue // the line reader's
		}
		req, r := readMessage([]byte(c.line))
		if r == nil {
			t.Errorf("%s: taken as %+v", c.name, req)
			continue
		}
		var got message
		if err := json.Unmarshal(r.appendJSON(nil), &got); err != nil {
			t.Errorf("%s: the answer is not JSON: %v", c.name, err)
			continue
		}
		if got.Error.Code != c.code || string(r.appendJSON(nil)[len(`{"jsonrpc":"2.0","id":`):][:len(c.id)]) != c.id {
			t.Errorf("%s: %s, want %d for %s", c.name, r.appendJSON(nil), c.code, c.id)
		}
		if got.Error.Message == "" {
			t.Errorf("%s: no message", c.name)
		}
	}
}

func TestReadMessageHandsTheArgumentsOnByteForByte(t *testing.T) {
	for _, args := range []string{
		goodA, ` { "symbol" : "AAPL" } `, "{\t}", `{"a":1,"a":2}`, `{"a":{"b":1,"b":1}}`, `null`, `"text"`, `[]`, `[1, 2]`, `1e2`, `-0.0`,
		`1E+400`, `0.10`, `true`, `{"A":"\ud800"}`, `{"é":"\u00e9\/"}`, `{"x":"\"}],"}`, `{"quantity":1e2}`, strings.Repeat(`[`, 60) + strings.Repeat(`]`, 60),
	} {
		for _, format := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":%s}}`,
			` { "params" : { "_meta" : { "progressToken" : 3 } , "arguments" :%s, "name" : "t" } , "method" : "tools\/call" , "id" : 1 , "jsonrpc" : "2.0" } `,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"argument\u0073":%s,"name":"t","requestState":5,"inputResponses":[],"extra":{}}}`,
		} {
			req, r := readMessage(fmt.Appendf(nil, format, args))
			if r != nil {
				t.Errorf("%s: refused: %s", args, r.message)
				continue
			}
			var p struct{ Arguments json.RawMessage }
			if err := json.Unmarshal(req.Params, &p); err != nil {
				t.Fatalf("%s: %v", req.Params, err)
			}
			if got, want := string(p.Arguments), strings.TrimSpace(args); got != want {
				t.Errorf("the arguments %q become %q", want, got)
			}
		}
	}
}

func TestReadMessageDropsResponsesAndKeepsNotifications(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`, `{"jsonrpc":"2.0","id":1,"result":null}`,
	} {
		if req, r := readMessage([]byte(line)); req != nil || r != nil {
			t.Errorf("%s: %+v, %+v", line, req, r)
		}
	}
	req, r := readMessage([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized","params":null}`))
	if r != nil || req.IsCall() || req.Method != "notifications/initialized" {
		t.Errorf("a notification becomes %+v, %+v", req, r)
	}
}

// endless is a line that never ends.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(e.left, len(p))
	for i := range p[:n] {
		p[i] = 'a'
	}
	e.left -= n
	return n, nil
}

//attack:mcp-line
func TestLineReaderDiscardsLongLinesWithoutHoldingThem(t *testing.T) {
	for _, c := range []struct {
		n    int
		long bool
	}{{1<<20 - 1, false}, {1 << 20, false}, {1<<20 + 1, true}, {1<<20 + lineBuffer, true}, {3 << 20, true}} {
		r := newLineReader(strings.NewReader(strings.Repeat("a", c.n) + "\nnext\n"))
		if l := r.next(); l.tooLong != c.long || !c.long && len(l.bytes) != c.n || c.long && l.bytes != nil {
			t.Errorf("%d bytes: tooLong %v, %d bytes", c.n, l.tooLong, len(l.bytes))
		}
		if l := r.next(); string(l.bytes) != "next" {
			t.Errorf("%d bytes: the next line is %q", c.n, l.bytes)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := newLineReader(&endless{left: 256 << 20})
	if l := r.next(); !l.tooLong {
		t.Error("256 MiB without a newline are taken as a line")
	}
	if l := r.next(); l.err != io.EOF {
		t.Errorf("after the end: %v", l.err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("256 MiB of input cost %d bytes of memory", grown)
	}
}

func TestReadMessageCostsLittleForMuch(t *testing.T) {
	// A megabyte of the smallest objects, of one object's members, and of a text.
	for _, filler := range []string{
		`[` + strings.Repeat(`{},`, maxLine/4) + `{}]`,
		`{` + func() string {
			var b strings.Builder
			for i := range 50_000 {
				fmt.Fprintf(&b, `"%d":0,`, i)
			}
			return b.String()
		}() + `"x":0}`,
		`"` + strings.Repeat(`\u0041`, maxLine/8) + `"`,
	} {
		line := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":` + filler + `}}`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, r := readMessage(line); r != nil {
			t.Errorf("%.40s…: refused: %s", line, r.message)
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
			t.Errorf("%.80s… of %d bytes cost %d bytes of memory", line, len(line), grown)
		}
	}
}

func FuzzLineReader(f *testing.F) {
	f.Add([]byte("a\nb\n"))
	f.Add([]byte("\n\n\r\nlast"))
	f.Add(bytes.Repeat([]byte("x"), lineBuffer+1))
	f.Add(append(bytes.Repeat([]byte("x"), lineBuffer), '\n', 'y'))
	f.Fuzz(func(t *testing.T, in []byte) {
		want := bytes.Split(in, []byte("\n"))
		if len(want[len(want)-1]) == 0 {
			want = want[:len(want)-1]
		}
		for _, r := range []io.Reader{bytes.NewReader(in), iotest.HalfReader(bytes.NewReader(in)), iotest.DataErrReader(bytes.NewReader(in))} {
			lines := newLineReader(r)
			for i, w := range want {
				if l := lines.next(); l.err != nil || l.tooLong || !bytes.Equal(l.bytes, w) {
					t.Fatalf("line %d is %q (%v), not %q", i, l.bytes, l.err, w)
				}
			}
			if l := lines.next(); l.err != io.EOF {
				t.Fatalf("after the last line: %q, %v", l.bytes, l.err)
			}
		}
	})
}

func FuzzReadMessage(f *testing.F) {
	for _, c := range badLines() {
		if len(c.line) < 4096 {
			f.Add([]byte(c.line))
		}
	}
	f.Add([]byte(initialize))
	f.Add([]byte(callLine(1, "paper_place_order_a", goodA)))
	f.Add([]byte(callLine(`"x"`, "trade_audit", `{"limit":1e2,"limit":"\ud800"}`)))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":7,"arguments":null}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		req, r := readMessage(line)
		if r != nil {
			if !json.Valid(r.appendJSON(nil)) {
				t.Fatalf("the refusal of %q is not JSON: %s", line, r.appendJSON(nil))
			}
			return
		}
		if !json.Valid(line) || depth(line) > maxDepth {
			t.Fatalf("%q was taken", line)
		}
		if req == nil {
			return
		}
		// Another reader must see the same message: names are exact and unique in what is taken.
		var whole, params, given map[string]json.RawMessage
		var method string
		if json.Unmarshal(line, &whole) != nil || json.Unmarshal(whole["method"], &method) != nil || method != req.Method {
			t.Fatalf("the method of %q is %q, taken as %q", line, method, req.Method)
		}
		if (whole["id"] != nil) != req.IsCall() {
			t.Fatalf("%q is a call: %v", line, req.IsCall())
		}
		if method != methodCall || whole["params"] == nil || whole["params"][0] != '{' {
			return
		}
		if json.Unmarshal(whole["params"], &params) != nil || json.Unmarshal(req.Params, &given) != nil {
			t.Fatalf("params of %q: %q", line, req.Params)
		}
		if !bytes.Equal(params["arguments"], given["arguments"]) || !bytes.Equal(params["name"], given["name"]) {
			t.Fatalf("%q becomes %q", line, req.Params)
		}
	})
}

func TestAnswersAreWrittenAsTheSDKWritesThem(t *testing.T) {
	for _, id := range []string{`1`, `-9007199254740991`, `"a"`, `"\"<é\u2028\n"`, `""`} {
		req, refused := readMessage([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`))
		if refused != nil {
			t.Fatalf("%s: %s", id, refused.message)
		}
		for _, msg := range []jsonrpc.Message{
			&jsonrpc.Response{ID: req.ID, Result: json.RawMessage(`{}`)},
			&jsonrpc.Response{ID: req.ID, Result: json.RawMessage(`{"content":[{"type":"text","text":"<a & \"b\">\n"}],"n":1.50}`)},
			&jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{Code: -32603, Message: "no"}},
			req,
		} {
			got, err := encode(msg)
			want, wantErr := jsonrpc.EncodeMessage(msg)
			var g, w any
			if err != nil || wantErr != nil || json.Unmarshal(got, &g) != nil || json.Unmarshal(want, &w) != nil || !reflect.DeepEqual(g, w) {
				t.Errorf("%s, %v; the SDK writes %s, %v", got, err, want, wantErr)
			}
		}
	}
}
