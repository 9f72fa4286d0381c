package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// FuzzChainHashSeparates takes two records and sees that they have one hash only if they are the same, and that a
// record is stored and read back with that hash.
func FuzzChainHashSeparates(f *testing.F) {
	f.Add("a", "bc", int64(1), []byte("prev"), "ab", "c", int64(1), []byte("prev"))
	f.Add("", "", int64(0), []byte(nil), "", "\x00", int64(0), []byte(nil))
	f.Add("a\x00", "", int64(-1), []byte{1}, "a", "\x00", int64(-1), []byte{1})
	f.Add("s", "body", int64(256), []byte{}, "s", "body", int64(1), []byte{})
	f.Fuzz(func(t *testing.T, s1, b1 string, at1 int64, p1 []byte, s2, b2 string, at2 int64, p2 []byte) {
		var h1, h2 Hash
		copy(h1[:], p1)
		copy(h2[:], p2)
		at1, at2 = at1%(1<<50), at2%(1<<50)
		r1 := Record{Seq: Seq(len(s1)), Stream: s1, Body: []byte(b1), At: time.UnixMicro(at1)}
		r2 := Record{Seq: Seq(len(s2)), Stream: s2, Body: []byte(b2), At: time.UnixMicro(at2)}
		got1, buf := chainHash(nil, h1, r1)
		got2, _ := chainHash(buf, h2, r2) // the scratch space must not matter
		same := s1 == s2 && b1 == b2 && at1 == at2 && h1 == h2
		if (got1 == got2) != same {
			t.Fatalf("%+v and %+v: hashes equal %v, records equal %v", r1, r2, got1 == got2, same)
		}
		back, err := makeRecord(int64(r1.Seq), s1, at1, []byte(b1), got1[:])
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := chainHash(nil, h1, back); again != got1 {
			t.Fatal("reading back changed the hash")
		}
		if _, err := back.follows(nil, Head{Seq: back.Seq - 1, Hash: h1}, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if h1 != h2 {
			if _, err := back.follows(nil, Head{Seq: back.Seq - 1, Hash: h2}, time.Time{}); err == nil {
				t.Fatal("followed another predecessor")
			}
		}
	})
}

// FuzzKeyHash sees that name and value are kept apart, and that the filter never forgets a key.
func FuzzKeyHash(f *testing.F) {
	f.Add("id", "1", "id1", "")
	f.Add("", "id", "id", "")
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2 string) {
		a, b := Key{n1, v1}, Key{n2, v2}
		if a.hash64() != (Key{n1, v1}).hash64() {
			t.Fatal("not a function")
		}
		nul := func(k Key) string { return k.Name + "\x00" + k.Value }
		if (a.hash64() == b.hash64()) != (nul(a) == nul(b)) {
			t.Fatalf("%q and %q collide", a, b)
		}
		p := newPage()
		p.add(a.hash64(), 7)
		p.add(b.hash64(), 65) // the second bucket of the next group
		if p.holders(a.hash64())&(1<<7) == 0 || p.holders(b.hash64())&(1<<1) == 0 {
			t.Fatal("the filter forgot")
		}
	})
}

func TestHashOfAKnownRecordIsFixed(t *testing.T) {
	// A change of these would make every existing journal unreadable.
	h, _ := chainHash(nil, Hash{1}, Record{Seq: 2, Stream: "account", At: time.UnixMicro(3), Body: []byte("body")})
	if got := fmt.Sprintf("%x", h[:]); got != knownHash {
		t.Errorf("record hash %s", got)
	}
	if got := fmt.Sprintf("%x", uint64(Key{"id", "x"}.hash64())); got != knownKey {
		t.Errorf("key hash %s", got)
	}
}

const (
	knownHash = "4942e48a03258bd272ff0c63addbb56b3c27ea71fe3ef027bd6117db3dc60adc"
	knownKey  = "8e9be741e80aaff5"
)

func TestFilterForgetsNothingAndSeldomErrs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var pages [filterPages]page
	for n := range pages {
		pages[n] = newPage()
	}
	const perBucket = 1024 // keys, two a record
	type put struct{ hash, bucket int64 }
	var all []put
	for bucket := range int64(1 << groupShift) {
		for range perBucket {
			p := put{int64(rng.Uint64()), 7<<groupShift + bucket}
			pages[pageOf(p.hash)].add(p.hash, p.bucket)
			all = append(all, p)
		}
	}
	for _, p := range all {
		if pages[pageOf(p.hash)].holders(p.hash)&(1<<(p.bucket&63)) == 0 {
			t.Fatalf("hash %x of bucket %d was forgotten", p.hash, p.bucket)
		}
	}
	wrong := 0
	const looks = 1_000_000
	for range looks {
		hash := int64(rng.Uint64())
		wrong += bits.OnesCount64(pages[pageOf(hash)].holders(hash))
	}
	if wrong > looks/1000 {
		t.Errorf("%d buckets were named for %d keys that are not there", wrong, looks)
	}
}

// TestFilterPageIsOnePageOfTheFile keeps a page of the filters a page of SQLite, with its row's head.
func TestFilterPageIsOnePageOfTheFile(t *testing.T) {
	if n := len(newPage()); n > 4096-35-8 {
		t.Errorf("a page of %d bytes needs more than one of the file", n)
	}
}

// TestFindIsRightAtEverySize lets two journals on one file grow over several buckets and groups of them, and looks for
// what is there and what is not, in a process that is new and in one that has run for a while.
func TestFindIsRightAtEverySize(t *testing.T) {
	f, g := &sums{every: 4000}, &sums{every: 4000}
	cfg := newConfig(t, f)
	a := create(t, cfg)
	other := cfg
	other.Follower = g
	b := reopen(t, other)
	const n = 17_000 // keys; each comes twice, so that there are two groups
	key := func(i int) Key { return Key{"id", fmt.Sprint(i % n)} }
	appended := 0
	grow := func(j *Journal, s *sums, by int) {
		update(t, j, func(tx *Tx) error {
			for range by {
				tx.Append("a", noon, []byte("x"), key(appended))
				s.apply("a", []byte("x"))
				appended++
			}
			return nil
		})
	}
	find := func(find func(Key) ([]Record, error), times int) error {
		for range times {
			i := rand.IntN(n)
			var want []Seq
			for s := i; s < appended; s += n {
				want = append(want, Seq(s+1))
			}
			found, err := find(key(i))
			var got []Seq
			for _, r := range found {
				got = append(got, r.Seq)
			}
			if err != nil || !slices.Equal(got, want) {
				return errors.Join(err, fmt.Errorf("key %d of %d: found %v, want %v", i, appended, got, want))
			}
			if found, err := find(Key{"id", fmt.Sprint("none", i)}); err != nil || len(found) != 0 {
				return errors.Join(err, fmt.Errorf("found %d of none", len(found)))
			}
		}
		return nil
	}
	look := func(j *Journal, times int) {
		t.Helper()
		update(t, j, func(tx *Tx) error { return find(tx.Find, times) })
	}
	for appended < 2*n {
		grow(a, f, 1+rand.IntN(5000))
		look(a, 20)
		if rand.IntN(2) == 0 {
			grow(b, g, 1+rand.IntN(9000)) // somebody else's
			look(b, 3)
		}
		fresh := cfg
		fresh.Follower = &sums{}
		cold := reopen(t, fresh)
		look(cold, 2)
		if err := find(func(k Key) ([]Record, error) { return cold.Find(t.Context(), k) }, 2); err != nil {
			t.Fatal(err)
		}
		closed(t, cold)
	}
	look(a, 2*filterPages)
	look(b, 2*filterPages)
	folded(t, a, f)
	folded(t, b, g)
	verified(t, a, Verification{Follower: &sums{}, Keys: func(r Record) ([]Key, error) { return []Key{key(int(r.Seq) - 1)}, nil }})
}

// TestRandomHistoriesFoldToTheState runs updates, failing decides, panics, reopening and a second process's view in a
// random order, against a plain list.
func TestRandomHistoriesFoldToTheState(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		states := []*sums{{every: rapid.IntRange(0, 300).Draw(rt, "every")}, {every: 100}}
		cfg := newConfig(t, states[0])
		j, err := Create(t.Context(), cfg, nothing)
		if err != nil {
			rt.Fatal(err)
		}
		open := []*Journal{j, nil}
		again := func(i int) {
			mine := cfg
			mine.Follower = states[i]
			if open[i] != nil {
				if err := open[i].Close(); err != nil {
					rt.Fatal(err)
				}
			}
			if open[i], err = Open(t.Context(), mine); err != nil {
				rt.Fatal(err)
			}
		}
		again(1)
		defer func() { open[0].Close(); open[1].Close() }()
		var model []string
		sour := errors.New("sour")
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			i := rapid.IntRange(0, 1).Draw(rt, "journal")
			body := rapid.StringN(0, 40, 120).Draw(rt, "body")
			switch rapid.SampledFrom([]string{"put", "put", "two", "fail", "panic", "reopen", "read"}).Draw(rt, "step") {
			case "put":
				if err := open[i].Update(t.Context(), states[i].put("a", body, Key{"b", body})); err != nil {
					rt.Fatal(err)
				}
				model = append(model, body)
			case "two":
				err := open[i].Update(t.Context(), func(tx *Tx) error {
					return errors.Join(states[i].put("a", body)(tx), states[i].put("b", body+"!", Key{"b", body})(tx))
				})
				if err != nil {
					rt.Fatal(err)
				}
				model = append(model, body, body+"!")
			case "fail":
				err := open[i].Update(t.Context(), func(tx *Tx) error { tx.Append("a", noon, []byte(body)); return sour })
				if err != sour {
					rt.Fatal(err)
				}
			case "panic":
				err := open[i].Update(t.Context(), func(tx *Tx) error { _ = states[i].put("a", body)(tx); panic("sour") })
				if err == nil {
					rt.Fatal("a panic passed")
				}
			case "reopen":
				again(i)
			case "read":
				if err := open[i].Read(t.Context(), func() error { return nil }); err != nil {
					rt.Fatal(err)
				}
				if states[i].Count != len(model) {
					rt.Fatalf("read %d records of %d", states[i].Count, len(model))
				}
			}
		}
		if got := bodies(t, open[0]); !slices.Equal(got, model) {
			rt.Fatalf("records %q, want %q", got, model)
		}
		if _, err := open[1].Verify(t.Context(), Verification{Follower: &sums{}}); err != nil {
			rt.Fatal(err)
		}
		want := &sums{}
		for r := range open[0].Records(t.Context(), 1) {
			want.apply(r.Stream, r.Body)
		}
		for i := range open {
			if err := open[i].Read(t.Context(), func() error { return nil }); err != nil {
				rt.Fatal(err)
			}
			if !bytes.Equal(states[i].state(), want.state()) {
				rt.Fatalf("state %s, want %s", states[i].state(), want.state())
			}
		}
	})
}
