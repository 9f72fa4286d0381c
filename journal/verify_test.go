package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// forger changes a closed journal as somebody with the file and an SQLite library can.
type forger struct {
	t  *testing.T
	db *sql.DB
}

func forge(t *testing.T, path string) *forger {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return &forger{t, db}
}

func (f *forger) run(query string, args ...any) {
	f.t.Helper()
	if _, err := f.db.Exec(query, args...); err != nil {
		f.t.Fatalf("%s: %v", query, err)
	}
}

// unlocked runs f without the triggers and puts them back.
func (f *forger) unlocked(change func()) {
	f.t.Helper()
	var triggers []string
	rows, err := f.db.Query("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
	if err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			f.t.Fatal(err)
		}
		names, triggers = append(names, name), append(triggers, text)
	}
	rows.Close()
	for _, n := range names {
		f.run("DROP TRIGGER " + n)
	}
	change()
	for _, text := range triggers {
		f.run(text)
	}
}

// rechain recomputes every hash from a record on, as a forger would who knows the format.
func (f *forger) rechain(from int) {
	f.t.Helper()
	rows, err := f.db.Query("SELECT seq, stream, at, body, hash FROM records WHERE seq >= ? ORDER BY seq", from-1)
	if err != nil {
		f.t.Fatal(err)
	}
	var all []Record
	for rows.Next() {
		var r Record
		var at int64
		var hash []byte
		if err := rows.Scan(&r.Seq, &r.Stream, &at, &r.Body, &hash); err != nil {
			f.t.Fatal(err)
		}
		r.At, r.Hash = time.UnixMicro(at), Hash(hash)
		all = append(all, r)
	}
	rows.Close()
	var prev Hash
	for _, r := range all {
		if int(r.Seq) < from {
			prev = r.Hash
			continue
		}
		prev, _ = chainHash(nil, prev, r)
		f.run("UPDATE records SET hash = ? WHERE seq = ?", prev[:], int64(r.Seq))
	}
	var seq int64
	var state []byte
	if err := f.db.QueryRow("SELECT seq, state FROM snapshots").Scan(&seq, &state); err != nil {
		f.t.Fatal(err)
	}
	var at []byte
	if f.db.QueryRow("SELECT hash FROM records WHERE seq = ?", seq).Scan(&at) == nil {
		h := snapshotHash(Hash(at), state)
		f.run("UPDATE snapshots SET hash = ?", h[:])
	}
}

const forged = 1300 // records; three buckets

// victim makes a closed journal and returns what to verify it by.
func victim(t *testing.T) (Config, Head) {
	t.Helper()
	f := &sums{every: 500}
	cfg := newConfig(t, f)
	j := create(t, cfg)
	for i := 0; i < forged; i += 50 {
		update(t, j, func(tx *Tx) error {
			for n := range 50 {
				id := fmt.Sprint(i + n)
				tx.Append("a", noon.Add(time.Duration(i)*time.Second), []byte(id), Key{"id", id})
				f.apply("a", []byte(id))
			}
			return nil
		})
	}
	h, err := j.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	closed(t, j)
	return cfg, h
}

func check(t *testing.T, cfg Config, contains *Head) error {
	t.Helper()
	cfg.Follower = nil
	j, err := Open(t.Context(), cfg)
	if err != nil {
		return err
	}
	defer j.Close()
	_, err = j.Verify(t.Context(), Verification{Keys: idOf, Follower: &sums{}, Contains: contains})
	return err
}

//fault:f127
func TestVerifyFindsEveryForgery(t *testing.T) {
	cfg, head := victim(t)
	whole, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(t, cfg, &head); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		seq  Seq // that Verify must name
		do   func(f *forger)
	}{
		{"change a body", 700, func(f *forger) { f.run("UPDATE records SET body = x'31' WHERE seq = 700") }},
		{"change a stream", 700, func(f *forger) { f.run("UPDATE records SET stream = 'b' WHERE seq = 700") }},
		{"change a time", 700, func(f *forger) { f.run("UPDATE records SET at = at + 1 WHERE seq = 700") }},
		{"change a hash", 700, func(f *forger) { f.run("UPDATE records SET hash = zeroblob(32) WHERE seq = 700") }},
		{"shorten a hash", 700, func(f *forger) { f.run("UPDATE records SET hash = x'00' WHERE seq = 700") }},
		{"change the first", 1, func(f *forger) { f.run("UPDATE records SET body = x'31' WHERE seq = 1") }},
		{"change the last", forged, func(f *forger) { f.run("UPDATE records SET body = x'31' WHERE seq = 1300") }},
		{"move a border", 700, func(f *forger) {
			f.run("UPDATE records SET stream = 'a6', body = substr(body, 2) WHERE seq = 700")
		}},
		{"remove one", 700, func(f *forger) { f.run("DELETE FROM records WHERE seq = 700") }},
		{"remove the first", 1, func(f *forger) { f.run("DELETE FROM records WHERE seq = 1") }},
		{"remove all", 1, func(f *forger) { f.run("DELETE FROM records") }},
		{"remove a whole bucket", 512, func(f *forger) { f.run("DELETE FROM records WHERE seq BETWEEN 512 AND 1023") }},
		{"remove and renumber", 700, func(f *forger) {
			f.run("DELETE FROM records WHERE seq = 700")
			f.run("UPDATE records SET seq = -(seq - 1) WHERE seq > 700")
			f.run("UPDATE records SET seq = -seq WHERE seq < 0")
		}},
		{"swap two", 700, func(f *forger) {
			f.run("UPDATE records SET seq = -1 WHERE seq = 700")
			f.run("UPDATE records SET seq = 700 WHERE seq = 701")
			f.run("UPDATE records SET seq = 701 WHERE seq = -1")
		}},
		{"insert in the middle", 700, func(f *forger) {
			f.run("UPDATE records SET seq = -seq WHERE seq >= 700")
			f.run("UPDATE records SET seq = 1 - seq WHERE seq < 0")
			f.run("INSERT INTO records SELECT 700, stream, at, body, hash FROM records WHERE seq = 699")
		}},
		{"append one", forged + 1, func(f *forger) {
			f.run("INSERT INTO records SELECT seq + 1, stream, at, body, hash FROM records WHERE seq = 1300")
		}},
		{"put one before the first", 0, func(f *forger) {
			f.run("INSERT INTO records SELECT -5, stream, at, body, hash FROM records WHERE seq = 1")
		}},
		{"cut the end without the index", forged, func(f *forger) {
			f.run("DELETE FROM records WHERE seq = 1300")
		}},
		{"remove a key", 700, func(f *forger) { f.run("DELETE FROM keys WHERE seq = 700") }},
		{"change a key", 700, func(f *forger) { f.run("UPDATE keys SET hash = hash + 1 WHERE seq = 700") }},
		{"add a key", 700, func(f *forger) { f.run("INSERT INTO keys VALUES (700 >> 9, 42, 700)") }},
		{"add a key elsewhere", forged + 1, func(f *forger) { f.run("INSERT INTO keys VALUES (99, 42, 700)") }},
		{"add a key before all", forged + 1, func(f *forger) { f.run("INSERT INTO keys VALUES (-1, 42, 700)") }},
		{"add a key of a later record", 1301, func(f *forger) { f.run("INSERT INTO keys VALUES (1301 >> 9, 42, 1301)") }},
		{"move a key to another bucket", 700, func(f *forger) { f.run("UPDATE keys SET bucket = 0 WHERE seq = 700") }},
		{"change the snapshot", forged, func(f *forger) { f.run("UPDATE snapshots SET state = x'7b7d'") }},
		{"date the snapshot back", 700, func(f *forger) { f.run("UPDATE snapshots SET seq = 700") }},
		{"date the snapshot forward", forged + 1, func(f *forger) { f.run("UPDATE snapshots SET seq = 1400") }},
		{"empty the snapshot", 0, func(f *forger) { f.run("UPDATE snapshots SET seq = 0") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			mine := cfg
			mine.Path = newConfig(t, nil).Path
			if err := os.WriteFile(mine.Path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			f := forge(t, mine.Path)
			f.unlocked(func() { c.do(f) })
			f.db.Close()
			var broken *Broken
			if err := check(t, mine, nil); !errors.As(err, &broken) {
				t.Fatalf("error %v, want a *Broken", err)
			}
			if broken.Seq != c.seq && c.name != "change the snapshot" && c.name != "move a key to another bucket" {
				t.Errorf("named record %d (%s), want %d", broken.Seq, broken.Reason, c.seq)
			}
		})
	}
}

// TestAForgedFilterIsFound changes the filters of a closed journal. Verify finds each change; a look-up never takes a
// filter that is missing or too short for one that says no.
func TestAForgedFilterIsFound(t *testing.T) {
	f := &sums{}
	cfg := newConfig(t, f)
	j := create(t, cfg)
	const n = 4200 // records; eight buckets are in filters
	update(t, j, func(tx *Tx) error {
		for i := range n {
			tx.Append("a", noon, []byte(fmt.Sprint(i)), Key{"id", fmt.Sprint(i)})
			f.apply("a", []byte(fmt.Sprint(i)))
		}
		return nil
	})
	closed(t, j)
	whole, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(t, cfg, nil); err != nil {
		t.Fatal(err)
	}
	page := pageOf(Key{"id", "5"}.hash64())
	row := rowOf(page, 0)
	for _, c := range []struct {
		name    string
		refused bool // by a look-up as well
		query   string
		args    []any
	}{
		{"remove a filter", true, "DELETE FROM filters WHERE id = ?", []any{row}},
		{"remove all filters", true, "DELETE FROM filters", nil},
		{"shorten a filter", true, "UPDATE filters SET bits = substr(bits, 2) WHERE id = ?", []any{row}},
		{"empty a filter", false, "UPDATE filters SET bits = zeroblob(length(bits)) WHERE id = ?", []any{row}},
		{"fill a filter", false, "UPDATE filters SET bits = unhex(replace(hex(zeroblob(length(bits))), '00', 'ff')) WHERE id = ?", []any{row}},
		{"swap two filters", false, "UPDATE filters SET bits = (SELECT bits FROM filters WHERE id = ?) WHERE id = ?", []any{rowOf((page+1)%filterPages, 0), row}},
		{"add a filter", false, "INSERT INTO filters SELECT id + 1, bits FROM filters WHERE id = ?", []any{row}},
	} {
		t.Run(c.name, func(t *testing.T) {
			mine := cfg
			mine.Path = newConfig(t, nil).Path
			if err := os.WriteFile(mine.Path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			forger := forge(t, mine.Path)
			forger.run(c.query, c.args...)
			forger.db.Close()
			var broken *Broken
			if err := check(t, mine, nil); !errors.As(err, &broken) {
				t.Fatalf("error %v, want a *Broken", err)
			}
			mine.Follower = &sums{}
			err := reopen(t, mine).Update(t.Context(), func(tx *Tx) error {
				_, err := tx.Find(Key{"id", "5"})
				return err
			})
			if errors.As(err, &broken) != c.refused {
				t.Errorf("the look-up's error is %v", err)
			}
		})
	}
}

//fault:f127
func TestVerifyAgainstAKeptHeadFindsARecomputedChain(t *testing.T) {
	cfg, head := victim(t)
	whole, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func(f *forger){
		"change": func(f *forger) {
			f.run("UPDATE records SET at = at + 1 WHERE seq >= 1299")
			f.rechain(1299)
		},
		"cut": func(f *forger) {
			f.run("DELETE FROM records WHERE seq > 1290")
			f.run("DELETE FROM keys WHERE seq > 1290")
			f.run("DELETE FROM snapshots WHERE seq > 1290")
		},
		"append": func(f *forger) {
			f.run("UPDATE records SET at = at + 1 WHERE seq = 1300")
			f.run("INSERT INTO records SELECT seq + 1, stream, at, x'31333030', hash FROM records WHERE seq = 1300")
			f.run("INSERT INTO keys VALUES (1301 >> 9, ?, 1301)", Key{"id", "1300"}.hash64())
			f.rechain(1300)
		},
		"cut and grow again": func(f *forger) {
			f.run("UPDATE records SET at = at + 1 WHERE seq >= 1295")
			f.rechain(1295)
		},
	} {
		t.Run(name, func(t *testing.T) {
			mine := cfg
			mine.Path = newConfig(t, nil).Path
			if err := os.WriteFile(mine.Path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			f := forge(t, mine.Path)
			f.unlocked(func() { do(f) })
			f.db.Close()
			if err := check(t, mine, nil); err != nil {
				t.Fatalf("the forgery was not even consistent: %v", err)
			}
			var broken *Broken
			if err := check(t, mine, &head); !errors.As(err, &broken) {
				t.Fatalf("error %v, want a *Broken", err)
			}
		})
	}
}

//attack:journal-append-only
func TestTheSchemaRefusesToChangeRecords(t *testing.T) {
	cfg, _ := victim(t)
	f := forge(t, cfg.Path)
	for _, q := range []string{
		"UPDATE records SET body = x'00' WHERE seq = 5", "DELETE FROM records WHERE seq = 5", "DELETE FROM records",
		"UPDATE keys SET seq = 1 WHERE seq = 5", "DELETE FROM keys",
	} {
		if _, err := f.db.Exec(q); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", q, err)
		}
	}
	f.db.Close()
	if err := check(t, cfg, nil); err != nil {
		t.Fatal(err)
	}
}

//attack:journal-append-only
func TestVerifyFindsAChangedSchema(t *testing.T) {
	for _, q := range []string{
		"DROP TRIGGER records_are_not_removed", "DROP TRIGGER keys_are_not_changed", "CREATE TABLE more(a TEXT) STRICT",
		"CREATE INDEX by_stream ON records(stream)", "ALTER TABLE records ADD COLUMN note TEXT",
		"CREATE TRIGGER spy AFTER INSERT ON records BEGIN SELECT 1; END", "CREATE VIEW v AS SELECT * FROM records",
	} {
		cfg := newConfig(t, &sums{})
		closed(t, create(t, cfg))
		f := forge(t, cfg.Path)
		f.run(q)
		f.db.Close()
		var broken *Broken
		if err := check(t, cfg, nil); !errors.As(err, &broken) || broken.Seq != 0 {
			t.Errorf("%s: error %v, want a *Broken", q, err)
		}
	}
}

func TestVerifyReportsItsProgressAndUnreadableKeys(t *testing.T) {
	cfg, head := victim(t)
	j := reopen(t, cfg)
	var done []Seq
	verified(t, j, Verification{Contains: &head, Progress: func(d, total Seq) {
		if total != forged {
			t.Errorf("total %d", total)
		}
		done = append(done, d)
	}})
	if len(done) != 3 || done[2] != forged {
		t.Errorf("progress %v", done)
	}
	var broken *Broken
	_, err := j.Verify(t.Context(), Verification{Keys: func(r Record) ([]Key, error) {
		if r.Seq == 9 {
			return nil, errors.New("sour")
		}
		return idOf(r)
	}})
	if !errors.As(err, &broken) || broken.Seq != 9 {
		t.Error(err)
	}
	_, err = j.Verify(t.Context(), Verification{Follower: &sums{refuse: errors.New("sour")}})
	if !errors.As(err, &broken) || broken.Seq != 1 {
		t.Error(err)
	}
	early := Head{Seq: 3}
	for r := range j.Records(t.Context(), 3) {
		early.Hash = r.Hash
		break
	}
	verified(t, j, Verification{Contains: &early})
	early.Hash[0] ^= 1
	if _, err = j.Verify(t.Context(), Verification{Contains: &early}); !errors.As(err, &broken) || broken.Seq != 3 {
		t.Error(err)
	}
	verified(t, j, Verification{Contains: &Head{}})
	if _, err = j.Verify(t.Context(), Verification{Contains: &Head{Hash: early.Hash}}); !errors.As(err, &broken) {
		t.Error(err)
	}
}

func TestAnOpenJournalNoticesWhatWasTakenAway(t *testing.T) {
	f := &sums{}
	cfg := newConfig(t, f)
	j := create(t, cfg)
	for range 5 {
		update(t, j, f.put("a", "x"))
	}
	forger := forge(t, cfg.Path)
	forger.unlocked(func() { forger.run("DELETE FROM records WHERE seq = 5") })
	var broken *Broken
	if err := j.Update(t.Context(), f.put("a", "y")); !errors.As(err, &broken) || broken.Seq != 5 {
		t.Fatalf("error %v", err)
	}
	forger.unlocked(func() {
		forger.run("INSERT INTO records SELECT seq + 1, stream, at, body, hash FROM records WHERE seq = 4")
		forger.run("INSERT INTO records SELECT seq + 2, stream, at, body, hash FROM records WHERE seq = 4")
	})
	if err := j.Update(t.Context(), f.put("a", "y")); !errors.As(err, &broken) {
		t.Fatalf("appended after a forged record: %v", err)
	}
	if err := j.Read(t.Context(), func() error { return nil }); !errors.As(err, &broken) {
		t.Fatalf("read a forged record: %v", err)
	}
}

func TestADamagedSnapshotIsNotTakenForTheState(t *testing.T) {
	cfg, _ := victim(t)
	f := forge(t, cfg.Path)
	f.run("UPDATE snapshots SET state = x'7b7d'")
	f.db.Close()
	var broken *Broken
	if _, err := Open(t.Context(), cfg); !errors.As(err, &broken) {
		t.Fatalf("error %v, want a *Broken", err)
	}
}

func TestADamagedPageIsAnErrorNeverAHang(t *testing.T) {
	cfg, _ := victim(t)
	whole, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	for page := range len(whole) / 4096 {
		bad := append([]byte(nil), whole...)
		for i := range 4096 {
			bad[page*4096+i] ^= 0x5a
		}
		if err := os.WriteFile(cfg.Path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := check(t, cfg, nil); err == nil {
			t.Errorf("page %d was damaged and everything verified", page)
		}
		f := &sums{}
		cfg.Follower = f
		if j, err := Open(t.Context(), cfg); err == nil {
			_ = j.Update(t.Context(), f.put("a", "x")) // may or may not touch the page
			_ = j.Close()
		}
	}
}

func TestAJournalRemovedUnderneathIsNeverAFalseSuccess(t *testing.T) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		f := &sums{}
		cfg := newConfig(t, f)
		j := create(t, cfg)
		update(t, j, f.put("a", "x"))
		if err := os.Remove(cfg.Path + suffix); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := j.Update(t.Context(), f.put("a", "y")); err == nil {
				t.Errorf("without %q an update passed for durable", suffix)
			}
			if err := j.Update(t.Context(), nothing); err == nil {
				t.Errorf("without %q a look at the state passed for true", suffix)
			}
		}
		_ = j.Close()
	}
}
