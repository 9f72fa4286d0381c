package dialect

import (
	"errors"
	"fmt"
	"strings"

	"sallyport/trade"
	"sallyport/wire"
)

// Limits on the arguments of one call.
const (
	//limit:dialect-bytes Arguments of more than 65536 bytes are not read.
	MaxBytes = 64 << 10
	//limit:dialect-depth Arguments nested more than 32 levels deep are not read.
	MaxDepth = 32
	//limit:dialect-strays At most 32 faults name a field that the dialect does not know; what is over is counted in one more.
	MaxStrays = 32
)

// Parse reads the arguments of one call strictly. With faults there is no order. An empty account means the dialect's
// own. What is not one JSON value within the limits is one fault alone; otherwise all faults come back together: first
// unknown and repeated fields and values of a wrong type in the order in which they were written, then what trade.Parse
// finds in the order of the draft's terms. Which value of a repeated field is meant is not known, so none is judged.
func (d *Dialect) Parse(account trade.Account, raw []byte) (trade.Order, trade.Tags, []trade.Fault) {
	v, err := wire.Read(raw, wire.Limits{Bytes: MaxBytes, Depth: MaxDepth})
	if err != nil {
		return trade.Order{}, trade.Tags{}, []trade.Fault{unreadable(err)}
	}
	return d.ParseValue(account, v)
}

// ParseValue is Parse for arguments that were read already, within the limits, as a part of something larger.
func (d *Dialect) ParseValue(account trade.Account, v wire.Value) (trade.Order, trade.Tags, []trade.Fault) {
	if v.Kind != wire.Object {
		return trade.Order{}, trade.Tags{}, []trade.Fault{{
			Code: trade.FieldTypeWrong, Observed: v.Kind.String(),
			Message: "the arguments are " + v.Kind.String() + "; one JSON object is asked",
		}}
	}
	if account == "" {
		account = d.Account
	}
	r := reading{d: d, draft: trade.Draft{Account: account}}
	r.begin()
	r.object("", v.Members)
	r.end()
	order, tags, faults := trade.Parse(r.draft)
	if len(r.faults) > 0 {
		return trade.Order{}, trade.Tags{}, append(r.faults, faults...)
	}
	return order, tags, faults
}

func unreadable(err error) trade.Fault {
	message := trade.Printable(err.Error(), 200)
	var e *wire.Error
	if errors.As(err, &e) && e.TooLarge {
		return trade.Fault{Code: trade.BodyTooLarge, Message: message}
	}
	return trade.Fault{Code: trade.JSONMalformed, Message: "not one JSON value: " + message}
}

// reading fills a draft from the members of one object.
type reading struct {
	d        *Dialect
	draft    trade.Draft
	class    trade.Text // what no draft has
	faults   []trade.Fault
	seen     uint32         // bit i: field i was there
	repeated uint32         // bit i: field i was there again, and that is reported
	groups   map[string]int // how often each object of fields was there
	strays   map[string]int // how often each unknown name was there
	named    int            // faults that name a stray
	unnamed  int            // faults that were only counted
}

// slot returns where a term is put.
func (r *reading) slot(t Term) *trade.Text {
	if t == OrderClass {
		return &r.class
	}
	return slot(&r.draft, t)
}

// begin names every term, so that the fault of a missing one can say it, and sets the fixed ones and those whose absence
// means something.
func (r *reading) begin() {
	for t := Symbol; t <= Reason; t++ {
		r.slot(t).Name = t.String()
	}
	for i := range r.d.Fields {
		f := &r.d.Fields[i]
		t := r.slot(f.Term)
		t.Name = f.path()
		if f.Default != "" {
			t.Value, t.Kind = f.Default, trade.IsText
		}
	}
	for _, f := range r.d.Fixed {
		*r.slot(f.Term) = trade.Text{Name: f.Term.String(), Value: f.Value, Kind: trade.IsText}
	}
}

// object reads the members of the arguments, or of one object in them.
func (r *reading) object(in string, members []wire.Member) {
	for i := range members {
		m := &members[i]
		switch f := r.d.index(in, m.Name); {
		case f >= 0:
			r.member(f, m)
		case in == "" && r.d.isGroup(m.Name):
			r.group(m)
		default:
			r.unknown(in, m.Name)
		}
	}
}

// group reads an object that has fields of its own. Whatever it is, its fields are not asked for twice.
func (r *reading) group(m *wire.Member) {
	if r.groups == nil {
		r.groups = map[string]int{}
	}
	r.groups[m.Name]++
	switch n := r.groups[m.Name]; {
	case n == 2:
		r.faults = append(r.faults, trade.Fault{Code: trade.FieldDuplicate, Field: m.Name, Message: m.Name + " is there more than once"})
	case n > 2:
	case m.Value.Kind != wire.Object:
		r.wrongKind(m.Name, "an object", m.Value)
	default:
		r.object(m.Name, m.Value.Members)
		r.required(m.Name)
		return
	}
	for i := range r.d.Fields {
		if f := &r.d.Fields[i]; f.In == m.Name {
			r.slot(f.Term).Kind = trade.IsWrong
		}
	}
}

// required faults the fields that an object must have and has not.
func (r *reading) required(in string) {
	for i := range r.d.Fields {
		f := &r.d.Fields[i]
		if t := r.slot(f.Term); f.In == in && !f.Optional && t.Kind == trade.IsAbsent {
			r.faults = append(r.faults, trade.Fault{Code: trade.FieldMissing, Field: t.Name, Message: t.Name + " is required"})
			t.Kind = trade.IsWrong
		}
	}
}

func (r *reading) member(i int, m *wire.Member) {
	f, bit := &r.d.Fields[i], uint32(1)<<i
	t := r.slot(f.Term)
	again := r.seen&bit != 0
	if again && r.repeated&bit == 0 {
		r.repeated |= bit
		r.faults = append(r.faults, trade.Fault{
			Code: trade.FieldDuplicate, Field: t.Name, Message: t.Name + " is there more than once",
		})
	}
	r.seen |= bit
	switch {
	case m.Value.Kind == wire.String:
		t.Kind, t.Value = trade.IsText, m.Value.Text
	case m.Value.Kind == wire.Number:
		t.Kind, t.Value = trade.IsNumber, m.Value.Text
	case m.Value.Kind == wire.Bool && f.Term == ExtendedHours:
		t.Kind, t.Value = trade.IsFlag, m.Value.Text
	case again && t.Kind == trade.IsWrong: // reported already
	default:
		r.wrongType(f, m.Value)
		t.Kind = trade.IsWrong
	}
	if again {
		t.Kind = trade.IsWrong
	}
}

func (r *reading) wrongType(f *Field, v wire.Value) {
	ask := "text"
	switch {
	case numeric(f.Term):
		ask = "text or a plain number"
	case f.Term == ExtendedHours:
		ask = "true or false"
	}
	r.wrongKind(f.path(), ask, v)
}

func (r *reading) wrongKind(name, ask string, v wire.Value) {
	seen := v.Text
	if seen == "" || v.Kind == wire.String {
		seen = v.Kind.String()
	}
	r.faults = append(r.faults, trade.Fault{
		Code: trade.FieldTypeWrong, Field: name, Observed: seen,
		Message: fmt.Sprintf("%s is %s; %s is asked", name, v.Kind, ask),
	})
}

func (r *reading) unknown(in, name string) {
	if r.strays == nil {
		r.strays = map[string]int{}
	}
	key, shown := name, trade.Printable(name, 64)
	if in != "" {
		key, shown = in+"."+name, trade.Printable(in+"."+name, 64)
	}
	r.strays[key]++
	switch r.strays[key] {
	case 1:
		r.stray(trade.FieldUnknown, shown, r.d.explain(in, name, shown))
	case 2:
		r.stray(trade.FieldDuplicate, shown, fmt.Sprintf("\"%s\" is there more than once", shown))
	}
}

func (r *reading) stray(c trade.Code, field, message string) {
	if r.named == MaxStrays {
		r.unnamed++
		return
	}
	r.named++
	r.faults = append(r.faults, trade.Fault{Code: c, Field: field, Message: message})
}

func (r *reading) end() {
	if r.unnamed > 0 {
		r.faults = append(r.faults, trade.Fault{
			Code: trade.FieldUnknown, Message: fmt.Sprintf("%d more faults of unknown fields", r.unnamed),
		})
	}
	r.checkClass()
}

// checkClass holds a vendor's word for the exits against the exits that are there.
func (r *reading) checkClass() {
	c := r.class
	known := c.Value == "simple" || c.Value == "bracket" || c.Value == "oto"
	word, fault := c.Value, func(code trade.Code, what string) {
		seen := trade.Printable(c.Value, 64)
		r.faults = append(r.faults, trade.Fault{Code: code, Field: c.Name, Observed: seen, Message: fmt.Sprintf("%s \"%s\" %s", c.Name, seen, what)})
	}
	switch {
	case c.Kind == trade.IsWrong || !r.classed():
		return
	case c.Kind == trade.IsNumber:
		fault(trade.FieldTypeWrong, "is a number; text is asked")
		return
	case c.Kind == trade.IsText && !known:
		fault(trade.OrderClassUnknown, "is not simple, bracket or oto"+trade.Foreign(c.Value))
		return
	case word == "simple":
		word = ""
	}
	if want := classOf(r.draft.StopLoss.Kind != trade.IsAbsent || r.draft.StopLossLimit.Kind != trade.IsAbsent, r.draft.TakeProfit.Kind != trade.IsAbsent); word != want {
		if want == "" {
			want = "simple"
		}
		fault(trade.OrderClassWrong, "is not "+want+", which its exits are")
	}
}

// classed reports whether the dialect has a word for the exits.
func (r *reading) classed() bool {
	for i := range r.d.Fields {
		if r.d.Fields[i].Term == OrderClass {
			return true
		}
	}
	return false
}

// index returns the field of exactly that name in an object, or -1.
func (d *Dialect) index(in, name string) int {
	for i := range d.Fields {
		if d.Fields[i].Name == name && d.Fields[i].In == in {
			return i
		}
	}
	return -1
}

// explain says what to write instead of an unknown name.
func (d *Dialect) explain(in, name, shown string) string {
	var names []string
	for i := range d.Fields {
		f := &d.Fields[i]
		known := f.Name
		switch {
		case f.In == in:
		case in == "" && (i == 0 || d.Fields[i-1].In != f.In):
			known = f.In
		default:
			continue
		}
		if strings.EqualFold(known, name) {
			return fmt.Sprintf("\"%s\" is not a field, since names are matched in case too; use %s%s", shown, known, trade.Foreign(name))
		}
		names = append(names, known)
	}
	whose := "this tool; its"
	if in != "" {
		whose = in + "; its"
	}
	return fmt.Sprintf("\"%s\" is not a field of %s fields are %s%s", shown, whose, strings.Join(names, ", "), trade.Foreign(name))
}
