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
	for i := range v.Members {
		r.member(&v.Members[i])
	}
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
	faults   []trade.Fault
	seen     uint32         // bit i: field i was there
	repeated uint32         // bit i: field i was there again, and that is reported
	strays   map[string]int // how often each unknown name was there
	named    int            // faults that name a stray
	unnamed  int            // faults that were only counted
}

// begin names every field, so that the fault of a missing one can say it, and sets the fixed terms.
func (r *reading) begin() {
	r.draft.StopPrice.Name = "stop_price"
	for i := range r.d.Fields {
		slot(&r.draft, r.d.Fields[i].Term).Name = r.d.Fields[i].Name
	}
	for _, f := range r.d.Fixed {
		*slot(&r.draft, f.Term) = trade.Text{Name: f.Term.String(), Value: f.Value, Kind: trade.IsText}
	}
}

func (r *reading) member(m *wire.Member) {
	i := r.d.index(m.Name)
	if i < 0 {
		r.unknown(m.Name)
		return
	}
	f, bit := &r.d.Fields[i], uint32(1)<<i
	t := slot(&r.draft, f.Term)
	again := r.seen&bit != 0
	if again && r.repeated&bit == 0 {
		r.repeated |= bit
		r.faults = append(r.faults, trade.Fault{
			Code: trade.FieldDuplicate, Field: f.Name, Message: f.Name + " is there more than once",
		})
	}
	r.seen |= bit
	switch {
	case m.Value.Kind == wire.String:
		t.Kind, t.Value = trade.IsText, m.Value.Text
	case m.Value.Kind == wire.Number:
		t.Kind, t.Value = trade.IsNumber, m.Value.Text
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
	if numeric(f.Term) {
		ask = "text or a plain number"
	}
	seen := v.Text
	if seen == "" {
		seen = v.Kind.String()
	}
	r.faults = append(r.faults, trade.Fault{
		Code: trade.FieldTypeWrong, Field: f.Name, Observed: seen,
		Message: fmt.Sprintf("%s is %s; %s is asked", f.Name, v.Kind, ask),
	})
}

func (r *reading) unknown(name string) {
	if r.strays == nil {
		r.strays = map[string]int{}
	}
	r.strays[name]++
	shown := trade.Printable(name, 64)
	switch r.strays[name] {
	case 1:
		r.stray(trade.FieldUnknown, shown, r.d.explain(name, shown))
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
}

// index returns the field of exactly that name, or -1.
func (d *Dialect) index(name string) int {
	for i := range d.Fields {
		if d.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// explain says what to write instead of an unknown name.
func (d *Dialect) explain(name, shown string) string {
	names := make([]string, len(d.Fields))
	for i, f := range d.Fields {
		if strings.EqualFold(f.Name, name) {
			return fmt.Sprintf("\"%s\" is not a field, since names are matched in case too; use %s%s", shown, f.Name, trade.Foreign(name))
		}
		names[i] = f.Name
	}
	return fmt.Sprintf("\"%s\" is not a field of this tool; its fields are %s%s", shown, strings.Join(names, ", "), trade.Foreign(name))
}
