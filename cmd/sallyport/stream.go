package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
	"sallyport/wire"
)

// maxLine bounds a line of check: the 64 KiB that a dialect takes, and room for the wrapper around them.
//
//limit:check-line-bytes A line of check has at most 69,632 bytes; of a longer one the rest is passed over and the decision is BODY_TOO_LARGE.
const maxLine = 64<<10 + 4<<10

// maxWrapperDepth is one level more than a dialect takes.
//
//limit:check-line-depth A line of check in the wrapper is nested at most 33 levels.
const maxWrapperDepth = 33

// stream judges lines one by one in constant memory.
type stream struct {
	check func(gate.Call) ledger.Decision
	cfg   config
	tool  *dialect.Dialect            // of every line; nil: each line names its own
	tools map[string]*dialect.Dialect // by name
	lines uint64

	strict bool // a test has every wrapper read by the strict reader
}

// speak sets the dialect of every line; with an empty name each line names its own.
func (s *stream) speak(tool string) error {
	s.tools = map[string]*dialect.Dialect{}
	for _, d := range dialect.Table() {
		s.tools[d.Name] = d
	}
	if tool == "" {
		return nil
	}
	var err error
	s.tool, err = findTool(tool, toolNames())
	return err
}

// each calls f with the decision on each line, numbered from 1. more says that another line has been read already.
func (s *stream) each(ctx context.Context, in io.Reader, f func(n uint64, d ledger.Decision, more bool) error) error {
	r := bufio.NewReaderSize(in, maxLine+1)
	for ctx.Err() == nil {
		line, long, err := readLine(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return internal(fmt.Errorf("the input cannot be read: %w", err))
		}
		s.lines++
		if err := f(s.lines, s.check(s.call(line, long)), r.Buffered() > 0); err != nil {
			return err
		}
	}
	return &problem{exit: exitInternal, what: "it was interrupted, after " + plural(s.lines, "line")}
}

// readLine returns the next line without its line feed, valid until the next call. Of a line over maxLine bytes it
// returns the beginning, and long. The last line may lack its line feed; io.EOF comes alone.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	line, err = r.ReadSlice('\n')
	switch {
	case err == nil:
		return line[:len(line)-1], false, nil
	case errors.Is(err, io.EOF) && len(line) > 0:
		return line, false, nil
	case !errors.Is(err, bufio.ErrBufferFull):
		return nil, false, err
	}
	head := append(make([]byte, 0, ledger.MaxInputHead), line[:ledger.MaxInputHead]...)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	if errors.Is(err, io.EOF) {
		err = nil // the next call says so
	}
	return head, true, err
}

// call parses one line. What is wrong with it is in the call, for the decision to say.
func (s *stream) call(line []byte, long bool) gate.Call {
	call := gate.Call{Origin: gate.Origin{Agent: s.cfg.Agent, Surface: "cli"}, Raw: line}
	if s.tool != nil {
		call.Origin.Tool = s.tool.Name
	}
	switch {
	case long:
		call.Faults = []trade.Fault{{
			Code: trade.BodyTooLarge, Observed: fmt.Sprintf("over %d bytes", maxLine),
			Message: fmt.Sprintf("the line is over %d bytes; the rest of it was passed over", maxLine),
		}}
	case s.tool != nil:
		s.parse(&call, s.tool, line)
	default:
		s.unwrap(&call, line)
	}
	for i := range call.Faults {
		call.Faults[i].Message = placed(call.Faults[i], s.lines)
	}
	return call
}

// placed says where in the whole input a fault is: what read the line knows only that it is the first of its text.
func placed(f trade.Fault, line uint64) string {
	const first = "line 1, column "
	if f.Code != trade.JSONMalformed || line == 1 {
		return f.Message
	}
	return strings.Replace(f.Message, first, "line "+uintText(line)+", column ", 1)
}

func (s *stream) parse(call *gate.Call, d *dialect.Dialect, args []byte) {
	call.Account, call.Dialect, call.Raw = d.Account, d.Name, args
	order, tags, faults := d.Parse(call.Account, args)
	if call.Faults = append(call.Faults, faults...); len(call.Faults) == 0 {
		call.Order, call.Tags = order, tags
	}
}

// unwrap reads {"tool":T,"args":A} as strictly as a dialect reads its arguments.
func (s *stream) unwrap(call *gate.Call, line []byte) {
	fault := func(code trade.Code, field, observed, message string) {
		call.Faults = append(call.Faults, trade.Fault{Code: code, Field: field, Observed: observed, Message: message})
	}
	if tool, args, ok := quickWrapper(line); ok && s.tools[tool] != nil && !s.strict {
		call.Origin.Tool = tool
		s.parse(call, s.tools[tool], args)
		return
	}
	v, err := wire.Read(line, wire.Limits{Bytes: maxLine, Depth: maxWrapperDepth})
	switch {
	case err != nil:
		fault(trade.JSONMalformed, "", "", "the line is not one JSON object: "+err.Error())
		return
	case v.Kind != wire.Object:
		fault(trade.FieldTypeWrong, "", "", "the line is "+v.Kind.String()+`; {"tool":T,"args":{...}} is asked`)
		return
	}
	for _, m := range v.Members {
		if m.Name != "tool" && m.Name != "args" {
			name := show(m.Name)
			fault(trade.FieldUnknown, name, "", fmt.Sprintf(`%q is not a member of the line; {"tool":T,"args":{...}} is asked`, name))
		}
	}
	tool, tools := v.Member("tool")
	args, argses := v.Member("args")
	s.count(call, "tool", tools)
	s.count(call, "args", argses)
	if tools != 1 {
		return
	}
	if tool.Kind != wire.String {
		fault(trade.FieldTypeWrong, "tool", "", "tool is "+tool.Kind.String()+"; text is asked")
		return
	}
	call.Origin.Tool = show(tool.Text)
	d, known := s.tools[tool.Text]
	if !known {
		fault(trade.ToolUnknown, "tool", call.Origin.Tool, fmt.Sprintf("the tool %q is not known; use one of %s", call.Origin.Tool, strings.Join(toolNames(), ", ")))
		return
	}
	if argses == 1 {
		s.parse(call, d, wire.Cut(line, args.Offset))
	}
}

func (s *stream) count(call *gate.Call, name string, n int) {
	switch {
	case n == 0:
		call.Faults = append(call.Faults, trade.Fault{Code: trade.FieldMissing, Field: name, Message: name + " is required"})
	case n > 1:
		call.Faults = append(call.Faults, trade.Fault{Code: trade.FieldDuplicate, Field: name, Message: name + " is given more than once"})
	}
}
