package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

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
		fstest.MapFS{}, fstest.MapFS{"0002_x.sql": {}}, fstest.MapFS{"1_x.sql": {}},
		fstest.MapFS{"0001_x.sql": {}, "0003_x.sql": {}}, fstest.MapFS{"0001_x.sql": {}, "0001_y.sql": {}},
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

//attack:store-log-size
func TestALongReadDoesNotLeaveALargeLogBehind(t *testing.T) {
	db := open(t, config(t))
	reader, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	read := func(query string) {
		t.Helper()
		if _, err := reader.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	read("BEGIN DEFERRED")
	read("SELECT count(*) FROM notes")
	write := func(times int) (size int64) {
		t.Helper()
		for range times {
			if err := Immediate(t.Context(), db, insert(strings.Repeat("x", 1<<20))); err != nil {
				t.Fatal(err)
			}
		}
		info, err := os.Stat(db.Path() + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if size := write(12); size <= LogSize {
		t.Fatalf("the log has only %d bytes", size)
	}
	read("ROLLBACK")
	if size := write(10); size > LogSize {
		t.Fatalf("the log still has %d bytes", size)
	}
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

func TestImmediateRollsBackOnErrorsAndPanics(t *testing.T) {
	db := open(t, config(t))
	sour := errors.New("sour")
	err := Immediate(t.Context(), db, func(tx *Tx) error { return errors.Join(insert("x")(tx), sour) })
	if !errors.Is(err, sour) {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = Immediate(t.Context(), db, func(tx *Tx) error { _ = insert("y")(tx); panic("sour") })
	}()
	// A statement error inside must not let later statements commit.
	err = Immediate(t.Context(), db, func(tx *Tx) error {
		if _, err := tx.Exec("ROLLBACK"); err != nil {
			t.Error(err)
		}
		return insert("outside")(tx)
	})
	if err == nil {
		t.Error("a commit without a transaction passed for one")
	}
	if err := Immediate(t.Context(), db, insert("z")); err != nil {
		t.Fatal(err)
	}
}

func TestImmediateIgnoresACancelOnceItHasBegun(t *testing.T) {
	db := open(t, config(t))
	ctx, cancel := context.WithCancel(t.Context())
	err := Immediate(ctx, db, func(tx *Tx) error {
		if err := insert("before")(tx); err != nil {
			return err
		}
		cancel()
		return insert("after")(tx)
	})
	if err != nil || count(t, db) != 2 {
		t.Fatalf("%v, %d notes", err, count(t, db))
	}
	if err := Immediate(ctx, db, insert("late")); !errors.Is(err, context.Canceled) && err != nil {
		t.Fatal(err)
	}
}

//attack:store-busy-default
func TestImmediateGivesUpWhenAnotherHoldsTheLock(t *testing.T) {
	cfg := config(t)
	cfg.Busy = 30 * time.Millisecond
	db, other := open(t, cfg), open(t, cfg)
	if d, err := (Config{Path: "x", AppID: 1, Migrations: notes()}).withDefaults(); err != nil || d.Busy != DefaultBusy {
		t.Fatal(d, err)
	}
	hold, done := make(chan struct{}), make(chan error)
	go func() {
		done <- Immediate(context.Background(), other, func(tx *Tx) error { close(hold); <-done; return insert("held")(tx) })
	}()
	<-hold
	if err := Immediate(t.Context(), db, insert("x")); !Busy(err) {
		t.Fatalf("error %v, want busy", err)
	}
	done <- nil
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// And when the other one does not know the turnstile.
	raw, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := Immediate(t.Context(), db, insert("x")); !Busy(err) {
		t.Fatalf("error %v, want busy", err)
	}
	if _, err := raw.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	if err := Immediate(t.Context(), db, insert("free")); err != nil || count(t, db) != 2 {
		t.Fatal(err)
	}
}

func TestImmediateSerialisesManyWriters(t *testing.T) {
	cfg := config(t)
	cfg.Busy = 20 * time.Second
	dbs := []*DB{open(t, cfg), open(t, cfg), open(t, cfg)}
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			err := Immediate(t.Context(), dbs[i%3], func(tx *Tx) error {
				var n int
				if err := tx.QueryRow("SELECT count(*) FROM notes").Scan(&n); err != nil {
					return err
				}
				_, err := tx.Exec("INSERT INTO notes(id, text) VALUES (?, 'x')", n+1)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := count(t, dbs[0]); n != 60 {
		t.Fatal(n)
	}
}

func TestImmediateFailsWhenTheDatabaseWasRemovedOrReplaced(t *testing.T) {
	cfg := config(t)
	db := open(t, cfg)
	if err := Immediate(t.Context(), db, insert("x")); err != nil {
		t.Fatal(err)
	}
	err := Immediate(t.Context(), db, func(tx *Tx) error { return errors.Join(insert("y")(tx), os.Remove(cfg.Path)) })
	if err == nil {
		t.Fatal("a commit into a removed file passed for durable")
	}
	if err := Immediate(t.Context(), db, insert("z")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v", err)
	}
	if err := os.WriteFile(cfg.Path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Immediate(t.Context(), db, insert("z")); err == nil {
		t.Fatal("a commit into a replaced file passed for durable")
	}
}

func TestImmediateFailsWhenASideFileWasRemoved(t *testing.T) {
	for _, suffix := range []string{"-wal", "-shm"} {
		db := open(t, config(t))
		if err := Immediate(t.Context(), db, insert("x")); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(db.Path() + suffix); err != nil {
			t.Fatal(err)
		}
		if err := Immediate(t.Context(), db, insert("z")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s: error %v", suffix, err)
		}
	}
}

func TestTurnstilePassesOnATurnThatComesTooLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	a, b, c := NewTurnstile(path), NewTurnstile(path), NewTurnstile(path)
	if err := a.Enter(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := b.Enter(t.Context(), time.Millisecond); !errors.Is(err, ErrTurnstile) {
			t.Fatal(err)
		}
	}
	a.Leave() // b gets it, too late
	if err := c.Enter(t.Context(), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := b.Enter(t.Context(), time.Millisecond); !errors.Is(err, ErrTurnstile) {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil { // while its goroutine waits in the kernel
		t.Fatal(err)
	}
	if err := b.Enter(t.Context(), time.Second); !errors.Is(err, ErrTurnstileClosed) {
		t.Fatal(err)
	}
	c.Leave()
	if err := a.Enter(t.Context(), 10*time.Second); err != nil { // after b's goroutine has passed it on
		t.Fatal(err)
	}
	for _, x := range []*Turnstile{a, b, c, a} {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTurnstileCloseWakesWhoWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	a, b := NewTurnstile(path), NewTurnstile(path)
	defer a.Close()
	if err := a.Enter(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() { got <- b.Enter(t.Context(), time.Hour) }()
	for waiting := false; !waiting; {
		b.mu.Lock()
		waiting = b.waiter != nil
		b.mu.Unlock()
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; !errors.Is(err, ErrTurnstileClosed) {
		t.Fatal(err)
	}
	a.Leave()
}

func TestTurnstileRefusesLinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.Symlink(path+".elsewhere", path+".next"); err != nil {
		t.Fatal(err)
	}
	if err := NewTurnstile(path).Enter(t.Context(), 0); err == nil {
		t.Fatal("followed a link")
	}
}

func TestBackupCopiesOneMomentWhileOthersWrite(t *testing.T) {
	cfg := config(t)
	cfg.Migrations = schema("CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT; CREATE TABLE twin(id INTEGER PRIMARY KEY) STRICT;")
	db := open(t, cfg)
	stop, stopped := make(chan struct{}), make(chan error, 1)
	started := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			err := Immediate(context.Background(), db, func(tx *Tx) error {
				_, err := tx.Exec("INSERT INTO twin DEFAULT VALUES")
				return errors.Join(err, insert(strings.Repeat("x", 3000))(tx))
			})
			if err != nil {
				stopped <- err
				return
			}
			if n == 20 {
				close(started)
			}
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
		}
	}()
	<-started
	for i := range 3 {
		copied := cfg
		copied.Create, copied.Path = false, filepath.Join(filepath.Dir(cfg.Path), "copy"+string(rune('0'+i)))
		if err := db.Backup(t.Context(), copied.Path); err != nil {
			t.Fatal(err)
		}
		if err := db.Backup(t.Context(), copied.Path); !errors.Is(err, fs.ErrExist) {
			t.Fatalf("error %v, want fs.ErrExist", err)
		}
		b := open(t, copied)
		var twins int
		if err := b.QueryRow("SELECT count(*) FROM twin").Scan(&twins); err != nil {
			t.Fatal(err)
		}
		if n := count(t, b); n != twins || n < 20 {
			t.Fatalf("%d notes and %d twins", n, twins)
		}
		if err := Immediate(t.Context(), b, insert("the copy can be written")); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(t.Context(), cfg.Path); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("a backup onto itself: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(cfg.Path), "*.new*")); len(left) != 0 {
		t.Fatalf("left %v", left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Backup(ctx, cfg.Path+".never"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
