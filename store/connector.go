package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"modernc.org/sqlite"
)

// OldestSQLite is the first SQLite version without the write-ahead-log reset bug, which can corrupt a database that two
// connections write at the same instant.
//
//limit:store-sqlite-version SQLite older than 3.51.3 is refused, since it can corrupt a write-ahead log.
const OldestSQLite = "3.51.3"

// LogSize is to how many bytes the write-ahead log shrinks again after a long read has kept it from being folded in.
//
//limit:store-log-size A write-ahead log of more than 8 MiB is cut to that once it has been folded in.
const LogSize = 8 << 20

// foldPages is after how many pages the write-ahead log is folded into the database, by whoever commits then. Half of
// SQLite's default costs no throughput that could be measured and halves the time of the slowest commits.
const foldPages = 500

// connector makes every connection of the pool, with all settings, and refuses one on which a setting did not take.
// Settings made through the pool would hold for one connection only.
type connector struct {
	driver.Connector
	path  string
	appID int64    // zero for a database that is being made
	set   []string // the statements that make the settings
	want  settings
	files [2]sideFile // the write-ahead log and its index

	version atomic.Int64 // of the schema, as the latest connection found it
}

// sideFile is a file that SQLite keeps beside the database for as long as a connection is open.
type sideFile struct {
	path string
	id   atomic.Pointer[identity] // as the latest connection found it
}

// settings are what is read back from a connection.
type settings struct {
	synchronous   int64
	busy          int64
	foreignKeys   int64
	trustedSchema int64
	queryOnly     int64
	journalMode   string
}

// newConnector prepares the connections to cfg.Path. A fresh file is still to be switched to a write-ahead log; an
// existing one keeps its mode until it has proved to be ours.
func newConnector(cfg Config, fresh bool) (*connector, error) {
	// A commit waits for its data and the file's length, and not for the time of the write as well. Where there is no
	// such call, fullfsync below counts.
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return nil, fmt.Errorf("store: %w", err)
	}
	made := &connector{path: cfg.Path, appID: int64(cfg.AppID), want: settings{
		synchronous: 2, busy: cfg.Busy.Milliseconds(), foreignKeys: 1, journalMode: "wal",
	}}
	made.set = []string{
		fmt.Sprintf("PRAGMA busy_timeout = %d", cfg.Busy.Milliseconds()), "PRAGMA trusted_schema = 0", "PRAGMA foreign_keys = 1",
		"PRAGMA fullfsync = 1", // where fsync alone does not reach the disk
		fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", foldPages), fmt.Sprintf("PRAGMA journal_size_limit = %d", LogSize),
	}
	if fresh {
		made.set = append(made.set, "PRAGMA journal_mode = WAL")
		made.appID = 0
	}
	made.set = append(made.set, "PRAGMA synchronous = FULL")
	//limit:store-look A database that is only looked at cannot be written, and its schema stays as it is.
	if cfg.Look {
		made.set, made.want.queryOnly = append(made.set, "PRAGMA query_only = 1"), 1
	}
	// What is said here must hold before the first statement; the driver reads it several times. mode=rw makes nothing.
	c, err := sqlite.NewConnector("file://" + (&url.URL{Path: cfg.Path}).EscapedPath() + "?mode=rw&_txlock=immediate&_defensive=1&_dqs=0&_error_rc=1")
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	made.Connector = c
	made.files[0].path, made.files[1].path = cfg.Path+"-wal", cfg.Path+"-shm"
	return made, nil
}

// Connect opens a connection, makes its settings and reads them back.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := remember(conn)
	for i := 0; err == nil && i < len(c.set); i++ {
		_, err = kept.pooled.ExecContext(context.Background(), c.set[i], nil)
	}
	if err == nil {
		err = c.check(conn)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	for i := range c.files {
		if id, err := identify(c.files[i].path); err == nil {
			c.files[i].id.Store(&id)
		}
	}
	return kept, nil
}

// check runs without a context: nothing that it reads waits for a lock longer than the busy timeout. It asks one thing at
// a time, since a query over the pragma functions takes twenty times as long to prepare.
//
//limit:store-application A database with another application id is refused.
//limit:store-settings A connection without synchronous FULL, a write-ahead log, foreign keys and an untrusted schema, all read back, is refused.
func (c *connector) check(conn driver.Conn) error {
	r := question{conn: conn}
	if version := r.text("SELECT sqlite_version()"); r.err == nil && !atLeast(version, OldestSQLite) {
		return fmt.Errorf("store: SQLite %s is older than %s", version, OldestSQLite)
	}
	if app := r.number("PRAGMA application_id"); r.err == nil && c.appID != 0 && app != c.appID {
		return fmt.Errorf("store: %s is the database of another application (id %d, not %d)", c.path, app, c.appID)
	}
	got := settings{
		synchronous: r.number("PRAGMA synchronous"), busy: r.number("PRAGMA busy_timeout"),
		foreignKeys: r.number("PRAGMA foreign_keys"), trustedSchema: r.number("PRAGMA trusted_schema"),
		queryOnly:   r.number("PRAGMA query_only"),
		journalMode: r.text("PRAGMA journal_mode"),
	}
	version := r.number("PRAGMA user_version")
	if r.err != nil {
		return r.err
	}
	if got != c.want {
		return fmt.Errorf("store: %s has the settings %+v, not %+v", c.path, got, c.want)
	}
	c.version.Store(version)
	return nil
}

// question asks a connection for single values. After an error it asks no more.
type question struct {
	conn driver.Conn
	err  error
}

func (r *question) number(query string) int64 {
	n, ok := r.value(query).(int64)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("store: %s is not a number", query)
	}
	return n
}

func (r *question) text(query string) string {
	s, ok := r.value(query).(string)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("store: %s is not a text", query)
	}
	return s
}

// value returns the only column of the only row.
func (r *question) value(query string) driver.Value {
	if r.err != nil {
		return nil
	}
	q, ok := r.conn.(driver.QueryerContext)
	if !ok {
		r.err = errors.New("store: the driver cannot query")
		return nil
	}
	rows, err := q.QueryContext(context.Background(), query, nil)
	if err != nil {
		r.err = err
		return nil
	}
	var row [1]driver.Value
	if err = rows.Next(row[:]); errors.Is(err, io.EOF) {
		err = fmt.Errorf("store: %s has no answer", query)
	}
	r.err = errors.Join(err, rows.Close())
	return row[0]
}

// atLeast compares versions of the form 3.51.3, number by number. A malformed one is not at least anything.
func atLeast(version, least string) bool {
	have, want := strings.Split(version, "."), strings.Split(least, ".")
	for i, w := range want {
		if i >= len(have) {
			return false
		}
		h, err := strconv.Atoi(have[i])
		if err != nil {
			return false
		}
		if l, _ := strconv.Atoi(w); h != l {
			return h > l
		}
	}
	return true
}
