package journal

import (
	"fmt"
	"testing"
	"time"
)

// TestUpdateOfAnySizeIsWhole appends so many records in one update that each way of inserting them is taken, and mixes of
// all: every record, its place in the chain and its key are found again.
func TestUpdateOfAnySizeIsWhole(t *testing.T) {
	for _, n := range []int{1, some - 1, some, some + 1, many - 1, many, many + 1, many + some + 1, 3*many + 2*some + 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			cfg := newConfig(t, &sums{})
			j := create(t, cfg)
			before, err := j.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			key := func(i int) Key { return Key{Name: "id", Value: fmt.Sprint(i)} }
			err = j.Update(t.Context(), func(tx *Tx) error {
				for i := range n {
					cfg.Follower.(*sums).apply("s", fmt.Appendf(nil, "body %d", i))
					tx.Append("s", time.UnixMicro(int64(i)).UTC(), fmt.Appendf(nil, "body %d", i), key(i), key(-1))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				found, err := j.Find(t.Context(), key(i))
				if err != nil || len(found) != 1 || found[0].Seq != before.Seq+Seq(i)+1 || string(found[0].Body) != fmt.Sprintf("body %d", i) {
					t.Fatalf("record %d: %v, %v", i, found, err)
				}
			}
			if all, err := j.Find(t.Context(), key(-1)); err != nil || len(all) != n {
				t.Fatalf("%d of %d under the common key, %v", len(all), n, err)
			}
			head, err := j.Verify(t.Context(), Verification{Keys: func(r Record) ([]Key, error) {
				var i int
				if _, err := fmt.Sscanf(string(r.Body), "body %d", &i); err != nil {
					return nil, nil
				}
				return []Key{key(i), key(-1)}, nil
			}, Follower: &sums{}})
			if err != nil || head.Seq != before.Seq+Seq(n) {
				t.Fatalf("%+v, %v", head, err)
			}
		})
	}
}

// TestRowThatFallsInSilenceFailsTheUpdate: something was added to the database that lets rows fall without an error.
//
//attack:journal-put
func TestRowThatFallsInSilenceFailsTheUpdate(t *testing.T) {
	for _, table := range []string{"records", "keys"} {
		for _, n := range []int{1, some, many} {
			s := &sums{}
			cfg := newConfig(t, s)
			j := create(t, cfg)
			forge(t, cfg.Path).run("CREATE TRIGGER swallow BEFORE INSERT ON " + table + " BEGIN SELECT RAISE(IGNORE); END")
			err := j.Update(t.Context(), func(tx *Tx) error {
				for i := range n {
					s.apply("s", []byte("x"))
					tx.Append("s", noon, []byte("x"), Key{Name: "id", Value: fmt.Sprint(i)})
				}
				return nil
			})
			if err == nil {
				t.Errorf("%d rows of %s fell, and nobody noticed", n, table)
			}
		}
	}
}
