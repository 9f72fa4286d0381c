package ledger

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// TestALongPastHasTheSameBytesWhoeverWritesIt: one state writes snapshots now and then and keeps what it has made, one
// begins again from them, and one folds it all at once. Rows come at the end and are forgotten at the beginning.
func TestALongPastHasTheSameBytesWhoeverWritesIt(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	o := order(t, "buy", "AAPL", "10", "150.00")
	keeps, again, whole := began(), began(), began()
	at, most := t0, 0
	for i := range 4000 {
		at = at.Add(time.Duration(draw.IntN(80_000_000)) * time.Microsecond)
		var e Event = sentBy(1, "a", o, "r")
		if i%3 == 0 {
			e = sentBy(1, "b", order(t, "sell", "MSFT", "3", "7.00"))
		}
		switch i % 20 { // a row goes, and comes again at the end
		case 0:
			e = allowed(2+i, o, ClearsPermission)
		case 19 - i/500:
			e = Rejudged{Intent: intent(2 + i - i%20), Order: o, Clears: ClearsSend, Ruling: Ruling{Effect: policy.Allow}}
		}
		for _, s := range []*State{keeps, again, whole} {
			s.Apply(at, e)
		}
		if draw.IntN(50) > 0 {
			continue
		}
		kept := string(keeps.AppendSnapshot(nil))
		again = restart(t, again)
		if draw.IntN(2) > 0 {
			ask(again, o, "") // so that it has read what it goes on with
		}
		if got := string(again.AppendSnapshot(nil)); got != kept {
			t.Fatalf("after %d: who began again has\n%s\nand who did not\n%s", i, got, kept)
		}
		whole.accounts["paper"].past.sent.parts = nil
		if got := string(whole.AppendSnapshot(nil)); got != kept {
			t.Fatalf("after %d: who writes all of it has\n%s\nand who keeps parts\n%s", i, got, kept)
		}
		most = max(most, strings.Count(kept, `{"sent":`))
		since := at.Add(-20 * time.Hour)
		if n, m := ask(restart(t, again), o, "").Orders(policy.PerAgent, "", since), ask(whole, o, "").Orders(policy.PerAgent, "", since); n != m {
			t.Fatalf("after %d: %d orders, by who folded all %d", i, n, m)
		}
	}
	if most < 5 || whole.accounts["paper"].past.sent.forgotten == 0 {
		t.Fatalf("%d parts at most, and forgotten up to %d: that tries little", most, whole.accounts["paper"].past.sent.forgotten)
	}
}

// TestPartOfThePastIsWrittenOnce looks whether what was made for one snapshot stands in the next one.
func TestPartOfThePastIsWrittenOnce(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "150.00")
	s := began()
	for i := range 2000 {
		s.Apply(t0.Add(time.Duration(i)*time.Second+time.Duration(i*i)*time.Microsecond), sentBy(1, "a", o, "r"))
	}
	for name, s := range map[string]*State{"its own": s, "read ones": restart(t, s)} {
		l := &s.accounts["paper"].past.sent
		s.Apply(t0.Add(3000*time.Second), sentBy(1, "a", o))
		s.AppendSnapshot(nil)
		before := l.parts
		if len(before) < 4 {
			t.Fatalf("%s: 2,000 rows are %d parts", name, len(before))
		}
		s.Apply(t0.Add(kept+200*time.Second), sentBy(1, "a", o)) // the first hundred rows are forgotten
		s.AppendSnapshot(nil)
		if last, was := l.parts[len(l.parts)-1], before[len(before)-1]; &last.line[0] != &was.line[0] {
			t.Errorf("%s: the newest part was made again", name)
		}
	}
}

func TestDamagedPartOfThePastIsRefused(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "150.00")
	s := began()
	for i := range 2000 {
		s.Apply(t0.Add(time.Duration(i)*time.Second+time.Duration(i*i)*time.Microsecond), sentBy(1, "a", o, "r"))
	}
	good := string(s.AppendSnapshot(nil))
	good = strings.TrimRight(good, "\n") + "\n"
	i, n := strings.LastIndex(good, `{"sent":`), strings.Index(good, "\n")+1
	state, part, last := good[:i], good[:n], good[i:]
	for name, bad := range map[string]string{
		"no last line": state, "two last lines": good + last, "a line after the last": good + part, "no first line": part + last,
		"room between lines":       strings.Replace(good, part, part+"\n", 1),
		"an early last line":       strings.Replace(good, "]}\n{\"sent\"", "],\"forgotten\":0}\n{\"sent\"", 1),
		"a last line before all":   last + state,
		"a part in the last place": state + strings.Replace(last, `,"forgotten":0`, "", 1),
	} {
		s, err := ReadSnapshot([]byte(bad))
		if err == nil && !panics(func() { ask(s, o, "") }) {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestWhatStaysOfALongPastIsInTheSamePlace: a snapshot that follows another has its length and its beginning, so that a
// database writes little of it.
func TestWhatStaysOfALongPastIsInTheSamePlace(t *testing.T) {
	o := order(t, "buy", "AAPL", "10", "150.00")
	s := began()
	add := func(from, n int) string {
		for i := from; i < from+n; i++ {
			s.Apply(t0.Add(time.Duration(i)*time.Second+time.Duration(i*i)*time.Microsecond), sentBy(i, "a", o, "r"))
			s.Apply(t0.Add(time.Duration(i)*time.Second+time.Duration(i*i)*time.Microsecond), Concluded{Intent: intent(i), Outcome: trade.Accepted, Source: FromReport})
		}
		return string(s.AppendSnapshot(nil))
	}
	if short := add(0, leastPart); short[:5] != lineFirst || strings.HasSuffix(short, "\n\n") {
		t.Fatal("a short past is in parts, or has room")
	}
	lengths, before := map[int]bool{}, add(leastPart, 4000)
	for i := range 40 {
		now := add(5000+50*i, 50)
		lengths[len(now)] = true
		same := 0
		for same < len(now) && now[same] == before[min(same, len(before)-1)] {
			same++
		}
		if want := strings.Index(before, "\n"+lineFirst); same < want || want < len(strings.TrimRight(now, "\n"))/2 {
			t.Fatalf("the first %d bytes are the same, of parts of %d and a state of %d", same, want, len(now))
		}
		before = now
	}
	if len(lengths) > 4 {
		t.Errorf("%d lengths of 40 snapshots", len(lengths))
	}
}
