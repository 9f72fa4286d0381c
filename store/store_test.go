package store

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testID = 0x54455354

func schema(files ...string) fs.FS {
	m := fstest.MapFS{}
	for i, f := range files {
		m[string([]byte{'0', '0', '0', byte('1' + i)})+"_step.sql"] = &fstest.MapFile{Data: []byte(f)}
	}
	return m
}

func notes() fs.FS {
	return schema("CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;")
}

func config(t *testing.T) Config {
	t.Helper()
	return Config{Path: filepath.Join(t.TempDir(), "a b?c%20#.db"), AppID: testID, Migrations: notes(), Create: true}
}

func open(t *testing.T, cfg Config) *DB {
	t.Helper()
	db, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func refused(t *testing.T, cfg Config, says string) {
	t.Helper()
	db, err := Open(t.Context(), cfg)
	if err == nil {
		db.Close()
		t.Fatalf("opened; want an error that says %q", says)
	}
	if !strings.Contains(err.Error(), says) {
		t.Fatalf("error %q does not say %q", err, says)
	}
}

func insert(text string) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Exec("INSERT INTO notes(text) VALUES (?)", text)
		return err
	}
}

func count(t *testing.T, db *DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM notes").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOpenOfAMissingFileMakesNothing(t *testing.T) {
	cfg := config(t)
	cfg.Create = false
	if _, err := Open(t.Context(), cfg); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v, want fs.ErrNotExist", err)
	}
	left, err := os.ReadDir(filepath.Dir(cfg.Path))
	if err != nil || len(left) != 0 {
		t.Fatalf("left %v, %v", left, err)
	}
}

//attack:store-file
func TestOpenRefusesFilesThatAreNotPrivate(t *testing.T) {
	cfg := config(t)
	open(t, cfg).Close()
	cfg.Create = false
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o602, 0o610} {
		if err := os.Chmod(cfg.Path, mode); err != nil {
			t.Fatal(err)
		}
		refused(t, cfg, "chmod 600")
	}
	if err := os.Chmod(cfg.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, cfg).Close()

	second := cfg.Path + "2"
	if err := os.Link(cfg.Path, second); err != nil {
		t.Fatal(err)
	}
	refused(t, cfg, "hard link")
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(cfg.Path, second); err != nil {
		t.Fatal(err)
	}
	viaLink := cfg
	viaLink.Path = second
	refused(t, viaLink, "not a regular file")
	viaLink.Create = true
	refused(t, viaLink, "not a regular file")
	dir := cfg
	dir.Path = t.TempDir()
	refused(t, dir, "not a regular file")
	fifo := cfg
	fifo.Path += ".fifo"
	if err := syscall.Mkfifo(fifo.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, fifo, "not a regular file")
}

//attack:store-file
func TestOpenRefusesAnotherUsersFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give a file away")
	}
	cfg := config(t)
	open(t, cfg).Close()
	if err := os.Chown(cfg.Path, 12345, -1); err != nil {
		t.Fatal(err)
	}
	refused(t, cfg, "another user")
}

//attack:store-directory
func TestOpenRefusesDirectoriesThatOthersCanWrite(t *testing.T) {
	cfg := config(t)
	for _, mode := range []fs.FileMode{0o770, 0o702, 0o777, 0o777 | fs.ModeSticky} {
		if err := os.Chmod(filepath.Dir(cfg.Path), mode); err != nil {
			t.Fatal(err)
		}
		refused(t, cfg, "chmod go-w")
	}
	if left, _ := os.ReadDir(filepath.Dir(cfg.Path)); len(left) != 0 {
		t.Fatalf("left %v", left)
	}
	cfg.Path = filepath.Join(cfg.Path, "missing", "x.db")
	if _, err := Open(t.Context(), cfg); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v, want fs.ErrNotExist", err)
	}
}

//attack:store-application
func TestOpenRefusesAnotherApplicationsDatabaseAndLeavesItAlone(t *testing.T) {
	cfg := config(t)
	other, err := sql.Open("sqlite", "file:"+filepath.Join(filepath.Dir(cfg.Path), "other.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec("CREATE TABLE t(a)"); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Path = filepath.Join(filepath.Dir(cfg.Path), "other.db")
	if err := os.Chmod(cfg.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, cfg, "another application")
	after, err := os.ReadFile(cfg.Path)
	if err != nil || string(before) != string(after) {
		t.Fatalf("the file changed, %v", err)
	}
}

func TestOpenRefusesGarbage(t *testing.T) {
	cfg := config(t)
	if err := os.WriteFile(cfg.Path, []byte(strings.Repeat("no database\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, cfg, "not an SQLite database")
	if err := os.Truncate(cfg.Path, 0); err != nil {
		t.Fatal(err)
	}
	refused(t, cfg, "another application")
}

func TestOpenRefusesATruncatedFile(t *testing.T) {
	cfg := config(t)
	db := open(t, cfg)
	for range 3 {
		if err := Immediate(t.Context(), db, insert(strings.Repeat("x", 9000))); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	for size := info.Size() - 4096; size > 0; size -= 4096 {
		if err := os.Truncate(cfg.Path, size); err != nil {
			t.Fatal(err)
		}
		refused(t, cfg, "store: ")
	}
}

//attack:store-settings
func TestEveryConnectionHasTheSettings(t *testing.T) {
	db := open(t, config(t))
	var conns []*sql.Conn
	for range 4 {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	for _, c := range conns {
		for pragma, want := range map[string]string{
			"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1", "trusted_schema": "0", "busy_timeout": "1000",
		} {
			var got string
			if err := c.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %q, not %q: %v", pragma, got, want, err)
			}
		}
		// Defensive mode: the schema cannot be edited as data.
		if _, err := c.ExecContext(t.Context(), "PRAGMA writable_schema = ON"); err != nil {
			t.Error(err)
		}
		if _, err := c.ExecContext(t.Context(), "UPDATE sqlite_schema SET sql = ''"); err == nil {
			t.Error("the schema was edited as data")
		}
		if _, err := c.ExecContext(t.Context(), `SELECT "no such column"`); err == nil {
			t.Error("a double-quoted string passed for a value")
		}
		c.Close()
	}
}

//attack:store-settings
func TestOpenRefusesADatabaseWithoutAWriteAheadLog(t *testing.T) {
	cfg := config(t)
	db := open(t, cfg)
	if _, err := db.ExecContext(t.Context(), "PRAGMA journal_mode = DELETE"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	refused(t, cfg, "journalMode:delete")
}

//attack:store-sqlite-version
func TestAtLeastOrdersVersionsByNumber(t *testing.T) {
	for version, want := range map[string]bool{
		"3.51.3": true, "3.51.10": true, "3.54.1": true, "4.0.0": true, "3.100.0": true,
		"3.51.2": false, "3.9.99": false, "2.99.99": false, "3.51": false, "": false, "3.x.9": false,
	} {
		if atLeast(version, OldestSQLite) != want {
			t.Errorf("atLeast(%q) is not %v", version, want)
		}
	}
}

// TestALongLogIsNotLeft writes until the log is too long to be left to the next process.
//
//attack:store-short-log
func TestALongLogIsNotLeft(t *testing.T) {
	cfg := config(t)
	if MayLeave(cfg.Path) {
		t.Error("without a log there is nothing to leave")
	}
	db := open(t, cfg)
	for size := int64(0); size <= 2*ShortLog; {
		if err := Immediate(t.Context(), db, insert(strings.Repeat("x", 3000))); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(cfg.Path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		size = info.Size()
		if got := MayLeave(cfg.Path); got != (size <= ShortLog) {
			t.Fatalf("a log of %d bytes may be left: %v", size, got)
		}
	}
}

// TestWhatAProcessLeavesIsThere takes a copy of the files as they are while the database is open: what a process leaves
// that ends without closing it.
func TestWhatAProcessLeavesIsThere(t *testing.T) {
	cfg := config(t)
	db := open(t, cfg)
	for range 5 {
		if err := Immediate(t.Context(), db, insert("x")); err != nil {
			t.Fatal(err)
		}
	}
	left := cfg
	left.Create = false
	left.Path = filepath.Join(t.TempDir(), "left.db")
	for _, end := range []string{"", "-wal", "-shm"} {
		raw, err := os.ReadFile(cfg.Path + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(left.Path+end, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next := open(t, left)
	if n := count(t, next); n != 5 {
		t.Errorf("%d rows of 5", n)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left.Path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log is still there: %v", err)
	}
}

//attack:store-stray-log
func TestCreateRefusesTheLogOfAnotherDatabase(t *testing.T) {
	for _, end := range []string{"-wal", "-journal"} {
		cfg := config(t)
		if err := os.WriteFile(cfg.Path+end, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, cfg, "move it away")
		if _, err := os.Lstat(cfg.Path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a database was made beside %s: %v", end, err)
		}
		if err := os.Remove(cfg.Path + end); err != nil {
			t.Fatal(err)
		}
		open(t, cfg)
	}
}
