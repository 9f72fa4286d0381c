package ledger

import (
	"strconv"
	"time"

	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// The events below begin what is remembered over time. A journal that has none of them folds to what it always did.

// HistoryBegan says that from here on the state remembers what was sent, rejected, denied and realised. Later ones
// change nothing.
type HistoryBegan struct {
	// FromStart says that nothing was decided before. It is believed only of a state that has no account.
	FromStart bool
}

// DayBegan fixes what an account was worth when a trading day began in the policy's time zone. The first one of a day
// stays, and a day before the last one changes nothing, so that no restart moves the baseline.
type DayBegan struct {
	Account trade.Account
	Date    string    // of the day in that zone: 2026-11-30
	Start   time.Time // the day's first instant
	Equity  trade.Decimal
	// Unrealised is what the positions had gained by then and not realised, at the same marks; it may not be known.
	Unrealised policy.Known
}

// Marked says what an account was found to be worth. Only a new peak of the day changes the state.
type Marked struct {
	Account trade.Account
	Equity  trade.Decimal
}

// Kind implements Event.
func (HistoryBegan) Kind() string { return "history_began" }
func (DayBegan) Kind() string     { return "day_began" }
func (Marked) Kind() string       { return "marked" }

// About implements Event.
func (HistoryBegan) About() trade.IntentID { return "" }
func (DayBegan) About() trade.IntentID     { return "" }
func (Marked) About() trade.IntentID       { return "" }

func (e HistoryBegan) append(dst []byte) []byte { return appendFlag(dst, "from_start", e.FromStart) }

func (e DayBegan) append(dst []byte) []byte {
	dst = wire.AppendText(wire.AppendText(dst, "account", string(e.Account)), "date", e.Date)
	return appendKnown(appendDecimal(appendTime(dst, "start", e.Start), "equity", e.Equity), "unrealised", e.Unrealised)
}

func appendKnown(dst []byte, name string, k policy.Known) []byte {
	if !k.Known {
		return dst
	}
	return appendDecimal(dst, name, k.Value)
}

func (o *object) known(name string) policy.Known {
	if _, n := o.v.Member(name); n == 0 {
		return policy.Known{}
	}
	return policy.Known{Value: o.decimal(name), Known: true}
}

func (e Marked) append(dst []byte) []byte {
	return appendDecimal(wire.AppendText(dst, "account", string(e.Account)), "equity", e.Equity)
}

// decodeMemory reads the events above.
func decodeMemory(o *object, kind string) (Event, bool) {
	switch kind {
	case "history_began":
		return HistoryBegan{FromStart: o.flag("from_start")}, true
	case "day_began":
		e := DayBegan{
			Account: trade.Account(o.text("account")), Date: o.text("date"), Start: o.time("start"), Equity: o.decimal("equity"),
			Unrealised: o.known("unrealised"),
		}
		if _, err := time.Parse(time.DateOnly, e.Date); err != nil {
			o.fail(err)
		}
		return e, true
	case "marked":
		return Marked{Account: trade.Account(o.text("account")), Equity: o.decimal("equity")}, true
	}
	return nil, false
}

// memory says since when the state remembers. The zero memory does not.
type memory struct {
	on    bool
	whole bool  // nothing was before
	since int64 // microseconds; what happened up to and at that time is not remembered, unless whole
}

func (m memory) append(dst []byte) []byte {
	if !m.on {
		return dst
	}
	dst = append(wire.AppendName(dst, "memory"), '{')
	return append(appendFlag(appendTime(dst, "since", time.UnixMicro(m.since)), "whole", m.whole), '}')
}

func (o *object) memory() memory {
	v, ok := o.member("memory", wire.Object, false)
	if !ok {
		return memory{}
	}
	x := object{v: v}
	m := memory{on: true, whole: x.flag("whole"), since: x.time("since").UnixMicro()}
	o.fail(x.err)
	return m
}

// covers reports whether everything after that time is remembered.
func (m memory) covers(since int64) bool { return m.on && (m.whole || since >= m.since) }

//limit:ledger-history-began What was before the state began to remember is not known, and it begins once.
func (s *State) remember(at time.Time, e HistoryBegan) {
	if !s.memory.on {
		s.memory = memory{on: true, whole: e.FromStart && len(s.accounts) == 0, since: at.UnixMicro()}
	}
}

// Remembers reports whether the state has begun to remember: see HistoryBegan.
func (s *State) Remembers() bool { return s.memory.on }

// Day is a trading day of an account. The zero Day is none.
type Day struct {
	Date   string    // in the policy's time zone
	Start  time.Time // its first instant
	Equity trade.Decimal
	Peak   trade.Decimal // the highest equity since

	Unrealised policy.Known // when it began
}

// Day returns the newest day that has begun for the account; the zero Day if none has. Whoever asks compares its Date
// with today's: a day that is over says nothing of this one.
func (s *State) Day(a trade.Account) Day {
	if acc := s.accounts[a]; acc != nil {
		return acc.day
	}
	return Day{}
}

//limit:ledger-day-baseline The baseline of a trading day is written once: a later one of the same or an earlier day changes nothing.
func (s *State) beginDay(_ time.Time, e DayBegan) {
	if acc := s.account(e.Account); e.Date > acc.day.Date {
		acc.day = Day{Date: e.Date, Start: e.Start, Equity: e.Equity, Peak: e.Equity, Unrealised: e.Unrealised}
	}
}

//limit:ledger-day-peak The peak of a trading day only rises, and only once the day has begun.
func (s *State) mark(e Marked) {
	if acc := s.account(e.Account); acc.day.Date != "" && e.Equity.Cmp(acc.day.Peak) > 0 {
		acc.day.Peak = e.Equity
	}
}

func (d Day) append(dst []byte) []byte {
	if d.Date == "" {
		return dst
	}
	dst = append(wire.AppendName(dst, "day"), '{')
	dst = appendTime(wire.AppendText(dst, "date", d.Date), "start", d.Start)
	dst = appendDecimal(appendDecimal(dst, "equity", d.Equity), "peak", d.Peak)
	return append(appendKnown(dst, "unrealised", d.Unrealised), '}')
}

func (o *object) day() Day {
	v, ok := o.member("day", wire.Object, false)
	if !ok {
		return Day{}
	}
	x := object{v: v}
	d := Day{
		Date: x.text("date"), Start: x.time("start"), Equity: x.decimal("equity"), Peak: x.decimal("peak"),
		Unrealised: x.known("unrealised"),
	}
	o.fail(x.err)
	return d
}

// DayOf returns the day that a time lies in, in a time zone: its date, and its bounds. A day begins at the first instant
// of its date, which is not midnight where the clocks go forward then.
func DayOf(at time.Time, zone *time.Location) (date string, day policy.Day) {
	y, m, d := at.In(zone).Date()
	start, end := firstOf(y, m, d, zone), firstOf(y, m, d+1, zone)
	return start.In(zone).Format(time.DateOnly), policy.Day{Start: start, End: end}
}

const (
	quarter = 15 * time.Minute // every zone changes its clocks at one
	evening = -3 * time.Hour   // more than any zone changes them by
)

// firstOf returns the first instant of a date. Midnight may be missing, and the hour before it or after it may come
// twice: the instant is looked for among the quarters of an hour from the evening before.
func firstOf(y int, m time.Month, d int, zone *time.Location) time.Time {
	noon := time.Date(y, m, d, 12, 0, 0, 0, zone)
	wantY, wantM, wantD := noon.Date()
	t := time.Date(wantY, wantM, wantD, 0, 0, 0, 0, zone).Add(evening)
	for {
		if gy, gm, gd := t.In(zone).Date(); gy == wantY && gm == wantM && gd == wantD {
			return t.UTC()
		}
		t = t.Add(quarter)
	}
}

// streak counts closing orders in a row that lost. The fills of one intent count together, as long as no other closing
// fill comes between them; then each part counts, which is more and never less.
type streak struct {
	known  bool           // base is all there is: a close that did not lose, or a person's reset, came before
	any    bool           // a closing fill was seen
	base   int            // before the intent below
	intent trade.IntentID // of the newest closing fill
	sum    trade.Decimal  // what its fills gained so far
	blind  bool           // what one of them gained is not known, which counts as a loss
}

func (k streak) losing() bool { return k.any && (k.blind || k.sum.Sign() < 0) }

// count returns how many there are, and whether none can be missing.
func (k streak) count(whole bool) (int, bool) {
	if !k.losing() {
		return 0, whole || k.known || k.any
	}
	return k.base + 1, whole || k.known
}

func (k *streak) add(intent trade.IntentID, gain policy.Known) {
	if intent == "" || intent != k.intent || !k.any {
		n, known := k.count(false)
		*k = streak{known: known, any: true, base: n, intent: intent}
	}
	k.sum = k.sum.Add(gain.Value)
	k.blind = k.blind || !gain.Known
}

func (k streak) append(dst []byte) []byte {
	if !k.any && !k.known {
		return dst
	}
	dst = append(wire.AppendName(dst, "streak"), '{')
	dst = strconv.AppendInt(wire.AppendName(dst, "base"), int64(k.base), 10)
	dst = appendFlag(appendFlag(dst, "known", k.known), "any", k.any)
	dst = wire.AppendOptional(dst, "intent", string(k.intent))
	return append(appendFlag(appendDecimal(dst, "sum", k.sum), "blind", k.blind), '}')
}

func (o *object) streak() streak {
	v, ok := o.member("streak", wire.Object, false)
	if !ok {
		return streak{}
	}
	x := object{v: v}
	k := streak{
		known: x.flag("known"), any: x.flag("any"), base: int(x.number("base")), intent: trade.IntentID(x.optional("intent")),
		sum: x.decimal("sum"), blind: x.flag("blind"),
	}
	o.fail(x.err)
	return k
}
