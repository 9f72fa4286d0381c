package ledger

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sallyport/policy"
	"sallyport/trade"
)

// What is remembered stands in the snapshot behind the open intents: for each account, by its place among the sorted
// names of accounts, a line of each kind that has anything, or several: see part. A row has the time in microseconds
// since the row before it, and everything else by its place in the list of names at the line's end: about 30 bytes, where
// the record of its decision has 900. A line is read when it is needed: a process that only looks something up never
// reads it.

// The kinds of line.
const (
	lineSent     = "sent"
	lineRejected = "rejected"
	lineDenied   = "denied"
	lineClosed   = "closed"
	lineRows     = `,"rows":[`
)

// appendParts appends what of the past is in parts that stay, and appendLasts what is left of it.
func (s *State) appendParts(dst []byte) []byte {
	for i, name := range slices.Sorted(maps.Keys(s.accounts)) {
		p := &s.accounts[name].past
		dst = p.sent.appendParts(dst, lineSent, i, readSent, maxSent, appendSent)
		dst = p.rejected.appendParts(dst, lineRejected, i, readTrouble, maxTroubles, appendTrouble)
		dst = p.denied.appendParts(dst, lineDenied, i, readTrouble, maxTroubles, appendTrouble)
		dst = p.closed.appendParts(dst, lineClosed, i, readGain, maxSent, appendGain)
	}
	return dst
}

func (s *State) appendLasts(dst []byte) []byte {
	for i, name := range slices.Sorted(maps.Keys(s.accounts)) {
		p := &s.accounts[name].past
		dst = p.sent.appendLast(dst, lineSent, i, appendSent)
		dst = p.rejected.appendLast(dst, lineRejected, i, appendTrouble)
		dst = p.denied.appendLast(dst, lineDenied, i, appendTrouble)
		dst = p.closed.appendLast(dst, lineClosed, i, appendGain)
	}
	return dst
}

// names gives each text its place in order of first use.
type names struct {
	place map[string]int
	list  []string
	// What the row before had: most rows have much of it, and to look a text up costs more than to compare it.
	row   [8]column
	field int // which of them the next text is
}

// column is the last text of one field of the rows.
type column struct {
	known   bool
	text    string
	amount  bool // text is what decimal is written as
	decimal trade.Decimal
	place   int
}

// begin begins a row.
func (n *names) begin() { n.field = 0 }

func (n *names) append(dst []byte, text string) []byte {
	c := n.column()
	if !c.known || c.amount || c.text != text {
		*c = column{known: true, text: text, place: n.look(text)}
	}
	return strconv.AppendInt(append(dst, ','), int64(c.place), 10)
}

func (n *names) decimal(dst []byte, d trade.Decimal) []byte {
	c := n.column()
	if !c.amount || c.decimal != d {
		*c = column{known: true, amount: true, decimal: d, place: n.look(d.String())}
	}
	return strconv.AppendInt(append(dst, ','), int64(c.place), 10)
}

// column returns what the row before had in the next field. Fields beyond the last one share it.
func (n *names) column() *column {
	c := &n.row[min(n.field, len(n.row)-1)]
	n.field++
	return c
}

func (n *names) look(text string) int {
	i, ok := n.place[text]
	if !ok {
		i = len(n.list)
		n.place[text], n.list = i, append(n.list, text)
	}
	return i
}

func appendSent(dst []byte, n *names, v sent) []byte {
	dst = n.append(n.append(dst, string(v.agent)), v.symbol.String())
	dst = n.append(n.append(dst, v.side.String()), v.kind())
	dst = n.decimal(n.decimal(dst, v.quantity), v.price)
	if v.value.Cmp(v.quantity.Mul(v.price)) != 0 {
		dst = n.decimal(dst, v.value)
	} else {
		dst = n.append(dst, "")
	}
	for _, id := range v.rules {
		dst = n.append(dst, id)
	}
	return dst
}

// kind is the order type, and behind it what an order of the first version did not have: "stop stop=140", "market
// usd=250".
func (v *sent) kind() string {
	kind := v.typ.String()
	if v.stop.Sign() != 0 {
		kind += markStop + v.stop.String()
	}
	if v.amount.Sign() != 0 {
		kind += markAmount + v.amount.String()
	}
	return kind
}

// The marks before what stands behind an order type.
const (
	markStop   = " stop="
	markAmount = " usd="
)

// readKind reads what kind writes.
func (v *sent) readKind(kind string) (ok bool) {
	okStop, okAmount := true, true
	if rest, amount, found := strings.Cut(kind, markAmount); found {
		kind = rest
		v.amount, okAmount = trade.ParseDecimal(amount)
	}
	if rest, stop, found := strings.Cut(kind, markStop); found {
		kind = rest
		v.stop, okStop = trade.ParseDecimal(stop)
	}
	v.typ, ok = trade.ParseOrderType(kind)
	return ok && okStop && okAmount
}

func appendTrouble(dst []byte, n *names, v trouble) []byte {
	return n.append(n.append(dst, string(v.agent)), v.symbol.String())
}

func appendGain(dst []byte, n *names, v policy.Known) []byte {
	if !v.Known {
		return n.append(dst, "")
	}
	return n.decimal(dst, v.Value)
}

// findPast takes a line in, read only as far as it is needed to know what it is.
func (s *State) findPast(line []byte, accounts []trade.Account) error {
	kind, rest, ok1 := cutField(line, `{"`, `":`)
	number, rest, ok2 := cutField(rest, "", lineRows)
	i, err := strconv.ParseUint(number, 10, 31)
	if !ok1 || !ok2 || err != nil || int(i) >= len(accounts) {
		return errPast
	}
	p, into := &s.accounts[accounts[i]].past, (*[][]byte)(nil)
	switch kind {
	case lineSent:
		into = &p.sent.lines
	case lineRejected:
		into = &p.rejected.lines
	case lineDenied:
		into = &p.denied.lines
	case lineClosed:
		into = &p.closed.lines
	}
	if into == nil || len(*into) > 0 && last((*into)[len(*into)-1]) {
		return errPast
	}
	*into = append(*into, rest)
	return nil
}

var errPast = errors.New("a line of the past is not one")

// Unread returns how many bytes of what the snapshot remembers nobody has asked for yet.
func (s *State) Unread() (n int) {
	for _, acc := range s.accounts {
		p := &acc.past
		for _, lines := range [...][][]byte{p.sent.lines, p.rejected.lines, p.denied.lines, p.closed.lines} {
			for _, line := range lines {
				n += len(line)
			}
		}
	}
	return n
}

// AtLeast returns how many bytes a snapshot surely has, but for what is forgotten in it: so that none is written only to
// be found too large. It is found without reading anything.
func (s *State) AtLeast() int {
	n, long := 100, false // of what a state without anything has
	for _, o := range s.open {
		n += max(len(o.line), 400)
	}
	for _, acc := range s.accounts {
		p := &acc.past
		n += 18*len(p.sent.at) + 8*(len(p.rejected.at)+len(p.denied.at)) + 6*len(p.closed.at) // of a row, with the shortest numbers
		long = long || p.sent.long() || p.rejected.long() || p.denied.long() || p.closed.long()
	}
	if n += s.Unread(); long {
		n += roomAfter(n)
	}
	return n
}

// newest returns the time of a line's last row, which is the sum of what its rows begin with. A line without a row has
// none: 0.
func newest(line []byte) (at int64) {
	rows := scan{b: line}
	for len(rows.b) > 0 && rows.b[0] == '[' && !rows.bad {
		rows.take('[')
		at += rows.number()
		end := bytes.IndexByte(rows.b, ']')
		if end < 0 {
			break
		}
		if rows.b = rows.b[end+1:]; rows.more() {
			rows.take(',')
		}
	}
	return at
}

// scan reads rows, which have whole numbers and nothing else. It stays bad once it is.
type scan struct {
	b     []byte
	bad   bool
	names []string
	known []meaning // what each name was read as before
	last  []string  // the rules of the row before
	rules []string  // those of the row that is read
}

// meaning is what a name is, as far as somebody asked: few different symbols, prices and quantities stand in many rows.
type meaning struct {
	symbol    trade.Symbol
	decimal   trade.Decimal
	isSymbol  bool
	isDecimal bool
}

func (in *scan) take(c byte) {
	if len(in.b) == 0 || in.b[0] != c {
		in.bad, in.b = true, nil
		return
	}
	in.b = in.b[1:]
}

func (in *scan) more() bool { return len(in.b) > 0 && in.b[0] == ',' }

// number reads a whole number of at most 18 digits.
func (in *scan) number() int64 {
	n, v, negative := 0, int64(0), false
	if len(in.b) > 0 && in.b[0] == '-' {
		negative, in.b = true, in.b[1:]
	}
	for ; n < len(in.b) && n < 18 && in.b[n] >= '0' && in.b[n] <= '9'; n++ {
		v = 10*v + int64(in.b[n]-'0')
	}
	in.b, in.bad = in.b[n:], in.bad || n == 0
	if negative {
		return -v
	}
	return v
}

// place reads the place of a name.
func (in *scan) place() int {
	in.take(',')
	if i := in.number(); !in.bad && i >= 0 && i < int64(len(in.names)) {
		return int(i)
	}
	in.bad = true
	return -1
}

func (in *scan) text() string {
	if i := in.place(); i >= 0 {
		return in.names[i]
	}
	return ""
}

// symbol reads a symbol; an empty name is none.
func (in *scan) symbol() trade.Symbol {
	i := in.place()
	if i < 0 {
		return trade.Symbol{}
	}
	m := &in.known[i]
	if !m.isSymbol {
		m.symbol, m.isSymbol = trade.ParseSymbol(in.names[i])
		in.bad = in.bad || !m.isSymbol && in.names[i] != ""
	}
	return m.symbol
}

// decimal reads an amount; an empty name is none.
func (in *scan) decimal() (d trade.Decimal, some bool) {
	i := in.place()
	if i < 0 || in.names[i] == "" {
		return d, false
	}
	m := &in.known[i]
	if !m.isDecimal {
		if m.decimal, m.isDecimal = trade.ParseDecimal(in.names[i]); !m.isDecimal {
			m.decimal, m.isDecimal = trade.ParseSum(in.names[i])
		}
		in.bad = in.bad || !m.isDecimal
	}
	return m.decimal, true
}

func readSent(in *scan) sent {
	v := sent{agent: trade.Agent(in.text()), symbol: in.symbol()}
	var ok1, ok2, ok3, ok4, valued bool
	v.side, ok1 = trade.ParseSide(in.text())
	ok2 = v.readKind(in.text())
	v.quantity, ok3 = in.decimal()
	v.price, ok4 = in.decimal()
	if v.value, valued = in.decimal(); !valued {
		v.value = v.quantity.Mul(v.price)
	}
	in.bad = in.bad || !ok1 || !ok2 || !ok3 || !ok4
	rules := in.rules[:0]
	for in.more() && !in.bad {
		rules = append(rules, in.text())
	}
	if in.rules = rules; !slices.Equal(rules, in.last) { // most rows have those of the row before
		in.last = slices.Clone(rules)
	}
	if len(rules) > 0 {
		v.rules = in.last
	}
	return v
}

func readTrouble(in *scan) trouble {
	return trouble{trade.Agent(in.text()), in.symbol()}
}

func readGain(in *scan) policy.Known {
	d, known := in.decimal()
	return policy.Known{Value: d, Known: known}
}
