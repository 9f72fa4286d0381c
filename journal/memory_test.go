package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// book is what both journals can do.
type book interface {
	Update(context.Context, func(*Tx) error) error
	Find(context.Context, Key) ([]Record, error)
	Head(context.Context) (Head, error)
	Records(context.Context, Seq) iter.Seq2[Record, error]
	Backward(context.Context) iter.Seq2[Record, error]
	At(ctx context.Context, from, to time.Time) iter.Seq2[Record, error]
}

// TestMemoryMeansWhatAJournalMeans does the same with a journal in memory and one on the disk: heads, hashes, times and
// everything that is found are equal.
func TestMemoryMeansWhatAJournalMeans(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	disk, mem := create(t, newConfig(t, &sums{})), NewMemory(MemoryConfig{Newest: 4096, Chain: true})
	if err := mem.Update(t.Context(), nothing); err != nil {
		t.Fatal(err)
	}
	at := noon
	for range 300 {
		at = at.Add(time.Duration(rnd.IntN(5)-1) * time.Millisecond)
		n, fails := rnd.IntN(4), rnd.IntN(5) == 0
		found := map[book]string{}
		keys := []Key{{"k", fmt.Sprint(rnd.IntN(20))}, {"k", fmt.Sprint(rnd.IntN(20))}, {"j", "x"}}
		for _, b := range []book{disk, mem} {
			err := b.Update(t.Context(), func(tx *Tx) error {
				for i := range n {
					tx.Append("s", at, []byte{byte(i)}, keys[:1+i%3]...)
				}
				recs, err := tx.Find(keys[0])
				found[b] = fmt.Sprint(recs, err, tx.Head(), tx.LastAt())
				if fails {
					return errors.New("sour")
				}
				return nil
			})
			if fails != (err != nil) {
				t.Fatal(err)
			}
		}
		if found[disk] != found[mem] {
			t.Fatalf("inside an update:\n%s\n%s", found[disk], found[mem])
		}
		from := at.Add(-time.Duration(rnd.IntN(100)) * time.Millisecond)
		probe := func(b book) []any {
			h, _ := b.Head(t.Context())
			recs, _ := b.Find(t.Context(), keys[1])
			return []any{h, recs, gather(b.Records(t.Context(), h.Seq/2)), gather(b.Backward(t.Context())), gather(b.At(t.Context(), from, at))}
		}
		if d, m := probe(disk), probe(mem); !reflect.DeepEqual(d, m) {
			t.Fatalf("outside:\n%v\n%v", d, m)
		}
	}
}

func gather(all iter.Seq2[Record, error]) (rs []Record) {
	for r, err := range all {
		if err != nil {
			panic(err)
		}
		rs = append(rs, r)
	}
	return rs
}

//attack:journal-memory
func TestMemoryKeepsTheNewestAndWhatIsWanted(t *testing.T) {
	want := map[string]bool{"7": true, "9": true}
	m := NewMemory(MemoryConfig{Newest: 10, Wanted: func(r Record) bool { return want[string(r.Body)] }})
	for i := range 50_000 {
		err := m.Update(t.Context(), func(tx *Tx) error {
			tx.Append("s", noon.Add(time.Duration(i)), fmt.Append(nil, i%10_000), Key{"n", fmt.Sprint(i % 10_000)})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if i == 25_000 {
			delete(want, "9")
		}
	}
	if got, _ := m.Find(t.Context(), Key{"n", "7"}); len(got) != 5 {
		t.Errorf("%d records of 5 that are wanted", len(got))
	}
	if got, _ := m.Find(t.Context(), Key{"n", "8"}); len(got) != 0 {
		t.Errorf("%d records are kept that nobody wants", len(got))
	}
	if got := gather(m.Records(t.Context(), 1)); len(got) > 10+sweepAfter || len(m.index) > 10+sweepAfter {
		t.Errorf("%d records and %d keys are kept", len(got), len(m.index))
	}
	last := Seq(0)
	for _, r := range gather(m.Records(t.Context(), 1)) {
		if r.Seq <= last {
			t.Fatalf("record %d comes after %d", r.Seq, last)
		}
		last = r.Seq
	}
}

func TestMemoryRecordsNothingAfterAPanicOrABreach(t *testing.T) {
	for name, decide := range map[string]func(*Tx) error{
		"panic":  func(tx *Tx) error { tx.Append("s", noon, nil); panic("sour") },
		"breach": func(tx *Tx) error { tx.Append(strings.Repeat("s", MaxStream+1), noon, nil); return nil },
	} {
		m := NewMemory(MemoryConfig{Newest: 10})
		if err := m.Update(t.Context(), decide); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := m.Update(t.Context(), nothing); err == nil {
			t.Errorf("%s: it goes on", name)
		}
		if h, _ := m.Head(t.Context()); h.Seq != 0 {
			t.Errorf("%s: %d records", name, h.Seq)
		}
	}
	m := NewMemory(MemoryConfig{})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Update(t.Context(), nothing); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// TestUpdateSeesTheRecordsOfATime asks inside an update what was recorded from the second to the fourth of six seconds:
// before it, and by itself.
func TestUpdateSeesTheRecordsOfATime(t *testing.T) {
	f := &sums{}
	disk, mem := create(t, newConfig(t, f)), NewMemory(MemoryConfig{Newest: 4096})
	start := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) // after whatever the journal begins with
	for name, update := range map[string]func(context.Context, func(*Tx) error) error{"on the disk": disk.Update, "in memory": mem.Update} {
		ask := func(tx *Tx, from, to int) string {
			t.Helper()
			found, err := tx.At(start.Add(time.Duration(from)*time.Second), start.Add(time.Duration(to)*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, r := range found {
				words = append(words, string(r.Body))
			}
			return strings.Join(words, " ")
		}
		for i := range 7 {
			err := update(t.Context(), func(tx *Tx) error {
				want := map[int]string{0: "", 3: "b c d", 4: "b c d e e", 6: "b c d e e"}
				if i < 6 {
					for range 1 + i/4 { // two of what comes late
						tx.Append("s", start.Add(time.Duration(i)*time.Second), []byte{byte('a' + i)})
					}
				}
				if text, asked := want[i]; asked && ask(tx, 1, 4) != text {
					t.Errorf("%s, at %d: %q", name, i, ask(tx, 1, 4))
				}
				if none := ask(tx, 7, 9); none != "" {
					t.Errorf("%s: %q of a time to come", name, none)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
