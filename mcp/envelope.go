package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"sallyport/trade"
	"sallyport/wire"
)

// maxDepth bounds the nesting of a message, that of the arguments included; the dialects allow them less.
//
//limit:mcp-depth A message that is nested over 64 levels is answered with -32700.
const maxDepth = 64

// maxRequestID is the largest number that may identify a request: JSON numbers above it are not exact everywhere.
//
//limit:mcp-request-id A request id is text or a whole number of at most 2^53-1 either way; any other is answered with -32600.
const maxRequestID = 1<<53 - 1

// refusal is why a message is answered here and not handed to the SDK.
type refusal struct {
	code    int
	id      []byte // the request's id as it was written, where it is known and good; else nil, which is answered as null
	message string
}

// appendJSON appends the JSON-RPC error response.
func (r *refusal) appendJSON(dst []byte) []byte {
	id := r.id
	if id == nil {
		id = []byte("null")
	}
	dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), id...), `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(r.code), 10)
	return append(wire.AppendText(dst, "message", r.message), '}', '}')
}

func unreadable(format string, args ...any) *refusal {
	return &refusal{code: jsonrpc.CodeParseError, message: fmt.Sprintf(format, args...)}
}

func invalid(id []byte, message string) *refusal {
	return &refusal{code: jsonrpc.CodeInvalidRequest, id: id, message: message}
}

// envelope is the outside of one message: the bytes of each member, nil where it is absent.
type envelope struct {
	version, id, method, params, result, fault []byte
}

// readMessage judges one line and makes the SDK's message of it. The message is nil for what needs no answer and no
// work: a response, since this server asks nothing.
//
// The SDK sees what was read here and no other bytes, so that what was judged and what is acted upon cannot differ. The
// arguments of a call go through byte for byte: they are the dialects' to judge.
func readMessage(line []byte) (*jsonrpc.Request, *refusal) {
	e, refused := readEnvelope(line)
	if refused != nil {
		return nil, refused
	}
	id, refused := e.check()
	if refused != nil {
		return nil, refused
	}
	if e.method == nil {
		return nil, nil
	}
	method, _ := text(e.method)
	req := &jsonrpc.Request{Method: method, Params: e.params}
	if method == methodCall && e.params != nil && e.params[0] == '{' {
		req.Params = callParams(e.params)
	}
	if id == nil {
		return req, nil
	}
	var err error
	if req.ID, err = requestID(id); err != nil {
		return nil, invalid(nil, err.Error())
	}
	return req, nil
}

// requestID makes the SDK's id of one that has been checked.
func requestID(id []byte) (jsonrpc.ID, error) {
	var v any
	if err := json.Unmarshal(id, &v); err != nil {
		return jsonrpc.ID{}, err
	}
	return jsonrpc.MakeID(v)
}

const methodCall = "tools/call"

// readEnvelope makes sure that the line is one JSON object, unambiguous outside the arguments of a call.
func readEnvelope(line []byte) (e envelope, _ *refusal) {
	if !utf8.Valid(line) {
		return e, unreadable("the message is not UTF-8")
	}
	if depth(line) > maxDepth {
		return e, unreadable("the message is nested over %d levels", maxDepth)
	}
	if !json.Valid(line) {
		err := json.Unmarshal(line, new(json.RawMessage)) // which says where
		return e, unreadable("the message is not exactly one JSON object: %s", trade.Printable(fmt.Sprint(err), 128))
	}
	switch object := bytes.TrimLeft(line, " \t\r\n"); object[0] {
	case '{':
		if err := e.read(object); err != nil {
			return e, unreadable("the message is ambiguous: %s", err)
		}
		return e, nil
	case '[':
		return e, invalid(nil, "batches are not taken; send one message a line")
	}
	return e, unreadable("the message is not a JSON object")
}

func (e *envelope) read(object []byte) error {
	err := members(object, func(name string, value []byte) error {
		switch name {
		case "jsonrpc":
			e.version = value
		case "id":
			e.id = value
		case "method":
			e.method = value
		case "params":
			e.params = value
			return nil // below, when the method is known
		case "result":
			e.result = value
		case "error":
			e.fault = value
		}
		return unambiguous(value)
	})
	if err != nil || e.params == nil {
		return err
	}
	method, _ := text(e.method)
	if method != methodCall || e.params[0] != '{' {
		return unambiguous(e.params)
	}
	return members(e.params, func(name string, value []byte) error {
		if name == "arguments" {
			return nil
		}
		return unambiguous(value)
	})
}

// check holds the envelope to JSON-RPC 2.0 and returns the request's id; nil for a notification.
func (e *envelope) check() ([]byte, *refusal) {
	if e.id != nil && !goodID(e.id) {
		return nil, invalid(nil, "the id is not text or a whole number of at most 2^53-1")
	}
	id := e.id
	if version, ok := text(e.version); !ok || version != "2.0" {
		return nil, invalid(id, `"jsonrpc" is not "2.0"`)
	}
	if e.method == nil {
		if e.result == nil && e.fault == nil {
			return nil, invalid(id, "the message has no method")
		}
		return nil, nil
	}
	if _, ok := text(e.method); !ok {
		return nil, invalid(id, "the method is not text")
	}
	if e.result != nil || e.fault != nil {
		return nil, invalid(id, "the message is a request and a response at once")
	}
	if e.params != nil && e.params[0] != '{' && e.params[0] != 'n' {
		return nil, invalid(id, "the params are not an object")
	}
	return id, nil
}

func goodID(id []byte) bool {
	if id[0] == '"' {
		_, ok := text(id)
		return ok
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -maxRequestID <= n && n <= maxRequestID
}

// metaInvalid stands in the _meta that the tools see where the caller's was no object: which call of the harness this
// is cannot be told.
const metaInvalid = "sallyport/metaInvalid"

// callParams writes the parameters of a call anew: the tool's name, the arguments as received, and _meta.
func callParams(params []byte) []byte {
	dst := []byte{'{'}
	// The names are known to be unambiguous, and visit never fails.
	_ = members(params, func(name string, value []byte) error {
		switch {
		case name == "name", name == "arguments":
			dst = append(wire.AppendName(dst, name), value...)
		case name == "_meta" && value[0] == '{':
			dst = append(wire.AppendName(dst, name), value...)
		case name == "_meta" && value[0] != 'n':
			dst = append(wire.AppendName(dst, name), `{"`+metaInvalid+`":true}`...)
		}
		return nil
	})
	return append(dst, '}')
}

// depth returns how deeply the brackets of a JSON text nest. It needs no valid JSON.
func depth(b []byte) int {
	deepest, at := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += len(cutString(b[i:])) - 1
		case '{', '[':
			at++
			deepest = max(deepest, at)
		case '}', ']':
			at--
		}
	}
	return deepest
}

// The functions below walk over JSON whose grammar has been checked.

// members calls visit for each member of an object, in order. A name that occurs twice, or is no Unicode text, is an
// error; so is what visit returns.
func members(object []byte, visit func(name string, value []byte) error) error {
	seen := map[string]bool{}
	rest := skip(object[1:])
	for rest[0] != '}' {
		quoted := cutString(rest)
		name, ok := text(quoted)
		if !ok {
			return errNotText
		}
		if seen[name] {
			return fmt.Errorf("%q occurs twice", trade.Printable(name, 64))
		}
		seen[name] = true
		rest = skip(skip(rest[len(quoted):])[1:]) // the colon
		value := cut(rest)
		if err := visit(name, value); err != nil {
			return err
		}
		rest = afterComma(rest[len(value):])
	}
	return nil
}

var errNotText = errors.New("a text holds half of a surrogate pair")

// unambiguous makes sure that no object in a value, at any depth, has two members of one name, and that every text is
// Unicode.
func unambiguous(value []byte) error {
	switch value[0] {
	case '{':
		return members(value, func(_ string, v []byte) error { return unambiguous(v) })
	case '[':
		for rest := skip(value[1:]); rest[0] != ']'; {
			v := cut(rest)
			if err := unambiguous(v); err != nil {
				return err
			}
			rest = afterComma(rest[len(v):])
		}
	case '"':
		if _, ok := text(value); !ok {
			return errNotText
		}
	}
	return nil
}

// text decodes a string. It is false for any other value, for none, and for half of a surrogate pair.
func text(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), true
	}
	v, err := wire.Read(value, wire.Limits{Bytes: maxLine, Depth: 0})
	return v.Text, err == nil
}

func skip(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }

func afterComma(b []byte) []byte {
	if b = skip(b); b[0] == ',' {
		b = skip(b[1:])
	}
	return b
}

// cut returns the value with which b begins.
func cut(b []byte) []byte {
	switch b[0] {
	case '"':
		return cutString(b)
	case '{', '[':
		at := 0
		for i := 0; i < len(b); i++ {
			switch b[i] {
			case '"':
				i += len(cutString(b[i:])) - 1
			case '{', '[':
				at++
			case '}', ']':
				if at--; at == 0 {
					return b[:i+1]
				}
			}
		}
		return b
	}
	if end := bytes.IndexAny(b, ",]} \t\r\n"); end >= 0 {
		return b[:end]
	}
	return b
}

// cutString returns the string with which b begins, its quotes included; all of b if it does not end.
func cutString(b []byte) []byte {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[:i+1]
		}
	}
	return b
}
