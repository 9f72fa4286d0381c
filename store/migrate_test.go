package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

//attack:store-private-mode
func TestCreateMakesAPrivateFileWhateverTheUmask(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	cfg := config(t)
	if err := os.Chmod(filepath.Dir(cfg.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	db := open(t, cfg)
	if err := Immediate(t.Context(), db, insert("x")); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm", ".next", ".main"} {
		info, err := os.Lstat(db.Path() + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", suffix, info.Mode())
		}
	}
}

//attack:store-newer
func TestOpenRefusesANewerSchema(t *testing.T) {
	cfg := config(t)
	db := open(t, cfg)
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 2"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	refused(t, cfg, "newer program")
}

func TestOpenMigratesAnOlderSchemaOnce(t *testing.T) {
	cfg := config(t)
	db := open(t, cfg)
	if err := Immediate(t.Context(), db, insert("kept")); err != nil {
		t.Fatal(err)
	}
	db.Close()
	cfg.Migrations = schema("SELECT broken, already applied;", "ALTER TABLE notes ADD COLUMN mood TEXT;")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			db, err := Open(t.Context(), cfg)
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			var text string
			if err := db.QueryRow("SELECT text FROM notes WHERE mood IS NULL").Scan(&text); err != nil || text != "kept" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	wg.Wait()
}

//attack:store-look
func TestLookingWritesNothingAndKeepsAnOlderSchema(t *testing.T) {
	cfg := config(t)
	db := open(t, cfg)
	if err := Immediate(t.Context(), db, insert("kept")); err != nil {
		t.Fatal(err)
	}
	db.Close()
	before, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Migrations, cfg.Look = schema("-- 1", "ALTER TABLE notes ADD COLUMN mood TEXT;"), true
	look := open(t, cfg)
	var text string
	if err := look.QueryRow("SELECT text FROM notes").Scan(&text); err != nil || text != "kept" {
		t.Errorf("%q, %v", text, err)
	}
	if err := Immediate(t.Context(), look, insert("more")); err == nil {
		t.Error("it was written")
	}
	look.Close()
	if after, err := os.ReadFile(cfg.Path); err != nil || string(after) != string(before) {
		t.Errorf("the file has changed, or %v", err)
	}
	cfg.Look = false
	db = open(t, cfg)
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 3"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	cfg.Look = true
	refused(t, cfg, "newer program")
}

func TestAFailedMigrationChangesNothing(t *testing.T) {
	cfg := config(t)
	open(t, cfg).Close()
	good := cfg.Migrations
	cfg.Migrations = schema("-- 1", "CREATE TABLE more(a TEXT) STRICT; INSERT INTO nowhere VALUES (1);")
	refused(t, cfg, "0002_step.sql")
	cfg.Migrations = good
	db := open(t, cfg)
	if diff, err := db.CheckSchema(t.Context(), good); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
}

//attack:store-strict
func TestCreateRefusesTablesThatAreNotStrict(t *testing.T) {
	cfg := config(t)
	cfg.Migrations = schema("CREATE TABLE prices(price DECIMAL);")
	refused(t, cfg, "not STRICT")
	if left, _ := filepath.Glob(cfg.Path + "*db*"); len(left) != 0 {
		t.Fatalf("left %v", left)
	}
	if _, err := os.Lstat(cfg.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("made the file: %v", err)
	}
}

func TestMigrationsMustBeNumberedWithoutAGap(t *testing.T) {
	for _, m := range []fs.FS{
		fstest.MapFS{},
		fstest.MapFS{"0002_x.sql": {}},
		fstest.MapFS{"1_x.sql": {}},
		fstest.MapFS{"0001_x.sql": {}, "0003_x.sql": {}},
		fstest.MapFS{"0001_x.sql": {}, "0001_y.sql": {}},
	} {
		if all, err := steps(m); err == nil {
			t.Errorf("took %v", all)
		}
	}
}

func TestCheckSchemaFindsWhatWasChanged(t *testing.T) {
	m := schema(`CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
		CREATE TRIGGER keep BEFORE DELETE ON notes BEGIN SELECT RAISE(ABORT, 'kept'); END;`)
	for _, attack := range []string{
		"DROP TRIGGER keep", "CREATE TABLE extra(a TEXT) STRICT", "ALTER TABLE notes ADD COLUMN b TEXT",
		"CREATE INDEX by_text ON notes(text)",
		"DROP TRIGGER keep; CREATE TRIGGER keep BEFORE DELETE ON notes BEGIN SELECT 1; END",
	} {
		cfg := config(t)
		cfg.Migrations = m
		db := open(t, cfg)
		if diff, err := db.CheckSchema(t.Context(), m); diff != "" || err != nil {
			t.Fatal(diff, err)
		}
		if _, err := db.ExecContext(t.Context(), attack); err != nil {
			t.Fatal(err)
		}
		if diff, err := db.CheckSchema(t.Context(), m); diff == "" || err != nil {
			t.Errorf("%s was not found: %v", attack, err)
		}
	}
}

func TestCreateMakesOneDatabaseOfMany(t *testing.T) {
	cfg := config(t)
	cfg.Busy = 20 * time.Second
	var wg sync.WaitGroup
	var made, taken, other int
	var mu sync.Mutex
	for range 12 {
		wg.Go(func() {
			err := Create(t.Context(), cfg, insert("first"))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made++
			case errors.Is(err, fs.ErrExist):
				taken++
			default:
				other++
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if made != 1 || taken != 11 {
		t.Fatalf("made %d, taken %d, other %d", made, taken, other)
	}
	if n := count(t, open(t, cfg)); n != 1 {
		t.Fatalf("%d first notes", n)
	}
}

func TestCreateStartsAfreshAfterACrash(t *testing.T) {
	cfg := config(t)
	for _, suffix := range []string{".new", ".new-wal", ".new-shm", ".new-journal"} {
		if err := os.WriteFile(cfg.Path+suffix, []byte("half written"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, open(t, cfg)); n != 0 {
		t.Fatal(n)
	}
	if left, err := os.ReadDir(filepath.Dir(cfg.Path)); err != nil || len(left) > 5 {
		t.Fatalf("left %v, %v", left, err)
	}
}

func TestCreateLeavesNothingWhenTheFirstWriteFails(t *testing.T) {
	cfg := config(t)
	sour := errors.New("sour")
	if err := Create(t.Context(), cfg, func(*Tx) error { return sour }); !errors.Is(err, sour) {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Dir(cfg.Path))
	if err != nil || len(left) != 2 { // the two lock files
		t.Fatalf("left %v, %v", left, err)
	}
}
