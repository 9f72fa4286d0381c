package rest

import (
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"sallyport/ledger"
	"sallyport/trade"
	"sallyport/wire"
)

//limit:rest-body-bytes A body of more than 65536 bytes is not read to its end: BODY_TOO_LARGE.
const maxBody = 64 << 10

// read reads the whole body. With tooLarge it is one byte longer than a body may be.
func (q *request) read() (body []byte, tooLarge bool, p *problem) {
	body, err := io.ReadAll(io.LimitReader(q.http.Body, maxBody+1))
	if err != nil {
		return nil, false, &problem{code: BodyIncomplete, detail: "the body did not arrive whole", close: true}
	}
	return body, len(body) > maxBody, nil
}

// maxFields bounds the nesting of a body that is not an order: one flat object.
//
//limit:rest-body-depth A body that is not an order is one flat object.
const maxFields = 1

// fields reads the members of a flat object, strictly: what is unknown, repeated or of another type is a fault.
type fields struct {
	v      wire.Value
	faults []trade.Fault
}

// fields reads the body as one object with at most these members. An empty body is an empty object.
func (q *request) fields(names ...string) (*fields, *problem) {
	body, tooLarge, p := q.read()
	switch {
	case p != nil:
		return nil, p
	case tooLarge:
		return nil, faulty([]trade.Fault{bodyTooLarge()})
	case len(body) == 0:
		return &fields{}, nil
	}
	v, err := wire.Read(body, wire.Limits{Bytes: maxBody, Depth: maxFields})
	if err != nil {
		return nil, faulty([]trade.Fault{{Code: trade.JSONMalformed, Message: "not one flat JSON object: " + trade.Printable(err.Error(), 200)}})
	}
	f := &fields{v: v}
	f.strict(names)
	return f, nil
}

func bodyTooLarge() trade.Fault {
	return trade.Fault{Code: trade.BodyTooLarge, Message: "the body has more than 65536 bytes"}
}

//limit:rest-fields An unknown or repeated member of a body is a fault, and nothing is done.
func (f *fields) strict(names []string) {
	if f.v.Kind != wire.Object {
		f.fault(trade.FieldTypeWrong, "", "the body is "+f.v.Kind.String()+"; one JSON object is asked")
		return
	}
	for i, m := range f.v.Members {
		known, again := false, false
		for _, n := range names {
			known = known || n == m.Name
		}
		for _, before := range f.v.Members[:i] {
			again = again || before.Name == m.Name
		}
		shown := trade.Printable(m.Name, 64)
		switch {
		case len(f.faults) == maxFaults:
			return
		case again:
			f.fault(trade.FieldDuplicate, shown, shown+" is there more than once")
		case !known:
			f.fault(trade.FieldUnknown, shown, "\""+shown+"\" is not a field here; the fields are "+strings.Join(names, ", "))
		}
	}
}

func (f *fields) fault(c trade.Code, field, message string) {
	f.faults = append(f.faults, trade.Fault{Code: c, Field: field, Message: message})
}

// problem returns what is wrong with the body; nil if nothing is.
func (f *fields) problem() *problem {
	if len(f.faults) == 0 {
		return nil
	}
	return faulty(f.faults)
}

// member returns the member of that name if it is of that kind.
func (f *fields) member(name string, k wire.Kind, what string) (wire.Value, bool) {
	m, n := f.v.Member(name)
	if n == 0 {
		return m, false
	}
	if m.Kind != k {
		f.fault(trade.FieldTypeWrong, name, name+" is "+m.Kind.String()+"; "+what+" is asked")
		return m, false
	}
	return m, true
}

// text returns a text; empty if it is not there.
func (f *fields) text(name string) string {
	m, _ := f.member(name, wire.String, "text")
	if m.Kind != wire.String || !utf8.ValidString(m.Text) {
		return ""
	}
	return m.Text
}

// need returns a text that must be there.
func (f *fields) need(name string) string {
	if _, n := f.v.Member(name); n == 0 {
		f.fault(trade.FieldMissing, name, name+" is missing")
	}
	return f.text(name)
}

func (f *fields) flag(name string) bool {
	m, is := f.member(name, wire.Bool, "true or false")
	return is && m.Text == "true"
}

// number returns the literal of a number; empty if it is not there.
func (f *fields) number(name string) string {
	m, is := f.member(name, wire.Number, "a number")
	if !is {
		return ""
	}
	return m.Text
}

// scope returns the scope of a stop; everything if it is not said, so that a stop that says too little stops all.
func (f *fields) scope() (ledger.Scope, bool) {
	text := f.text("scope")
	if _, n := f.v.Member("scope"); n == 0 {
		return ledger.Scope{}, true
	}
	return ledger.ReadScope(text)
}

// duration returns a length of time such as 30s.
func (f *fields) duration(name string, most time.Duration) time.Duration {
	text := f.text(name)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > most {
		f.fault(trade.FieldTypeWrong, name, name+" is a length of time from 0s to "+most.String()+", such as 30s")
		return 0
	}
	return d
}
