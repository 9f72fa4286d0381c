package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"sallyport/store"
)

// statement names a prepared statement of the writer.
type statement int

const (
	stBegin statement = iota
	stCommit
	stRollback
	stVersion
	stHead
	stFrom
	stOne
	stInsert
	stInsertSome
	stInsertMany
	stInsertKey
	stInsertSomeKeys
	stInsertManyKeys
	stProbe
	stKeysAfter
	stKeysIn
	stFilter
	stPutFilter
	stSnapshot
	stSnapshotSeq
	stPutSnapshot
	statements
)

const columns = `seq, stream, at, body, hash`

// text returns a statement's SQL.
func (s statement) text() string {
	return [statements]string{
		stBegin:    `BEGIN IMMEDIATE`,
		stCommit:   `COMMIT`,
		stRollback: `ROLLBACK`,
		stVersion:  `PRAGMA data_version`,
		stHead:     `SELECT seq FROM records ORDER BY seq DESC LIMIT 1`,
		stFrom: `SELECT seq, stream, at, CASE WHEN seq > ?1 THEN body END, hash FROM records
			WHERE seq >= ?1 ORDER BY seq`,
		stOne:            `SELECT ` + columns + ` FROM records WHERE seq = ?`,
		stInsert:         `INSERT INTO records(` + columns + `) VALUES (?, ?, ?, ?, ?)`,
		stInsertSome:     `INSERT INTO records(` + columns + `) VALUES ` + rows(some, "(?, ?, ?, ?, ?)"),
		stInsertMany:     `INSERT INTO records(` + columns + `) VALUES ` + rows(many, "(?, ?, ?, ?, ?)"),
		stInsertKey:      `INSERT INTO keys(bucket, hash, seq) VALUES (?, ?, ?)`,
		stInsertSomeKeys: `INSERT INTO keys(bucket, hash, seq) VALUES ` + rows(some, "(?, ?, ?)"),
		stInsertManyKeys: `INSERT INTO keys(bucket, hash, seq) VALUES ` + rows(many, "(?, ?, ?)"),
		stProbe:          `SELECT seq FROM keys WHERE bucket = ? AND hash = ?`,
		stKeysAfter:      `SELECT hash, seq FROM keys WHERE bucket BETWEEN ? AND ? AND seq > ?`,
		stKeysIn:         `SELECT hash, bucket FROM keys WHERE bucket BETWEEN ? AND ?`,
		stFilter:         `SELECT id, bits FROM filters WHERE id BETWEEN ? AND ? ORDER BY id`,
		stPutFilter:      `INSERT INTO filters(id, bits) VALUES (?, ?) ON CONFLICT(id) DO UPDATE SET bits = excluded.bits`,
		stSnapshot:       `SELECT seq, hash, state FROM snapshots`,
		stSnapshotSeq:    `SELECT seq FROM snapshots`,
		stPutSnapshot: `INSERT INTO snapshots(id, seq, hash, state) VALUES (1, ?, ?, ?)
			ON CONFLICT(id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, state = excluded.state`,
	}[s]
}

// How many rows one statement inserts where there are so many: to run a statement costs more than its row.
const (
	some = 4
	many = 16
)

// rows repeats one row's placeholders.
func rows(n int, one string) string { return strings.Repeat(one+", ", n-1) + one }

// writer is the connection on which everything is written, with its prepared statements, below database/sql: at many
// thousand statements a second that layer costs as much as SQLite. One goroutine uses it at a time, inside do. No
// context is ever passed on: cancelling a statement would roll the transaction back in silence.
type writer struct {
	db       *store.DB
	conn     *sql.Conn   // nil after a failure, until it is needed again
	raw      driver.Conn // only inside do
	prepared [statements]driver.Stmt
	args     [5 * many]driver.NamedValue // scratch
	values   [5 * many]driver.Value      // scratch
	row      [5]driver.Value             // scratch
	open     bool                        // a transaction is
	folded   int64                       // the version at which the follower was last up to date; notFolded: it was at none
}

// notFolded is no version of the data.
const notFolded = -1

// do runs f with the connection, and ends the transaction that f left open, whatever happened.
func (w *writer) do(f func() error) (err error) {
	if w.conn == nil {
		conn, err := w.db.Conn(context.Background())
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		w.conn, w.folded = conn, notFolded
	}
	ran, sound := false, false
	defer func() {
		if !sound {
			w.drop()
		}
	}()
	failed := w.conn.Raw(func(c any) error {
		ran = true
		done := false
		defer func() {
			if sound = w.rollback() && done; !sound {
				w.finalize()
			}
			w.raw = nil
		}()
		var ok bool
		if w.raw, ok = c.(driver.Conn); !ok {
			err = errors.New("journal: not a driver's connection")
			return nil
		}
		err = f()
		done = true
		return nil
	})
	if !ran {
		return fmt.Errorf("journal: %w", failed)
	}
	return err
}

// rollback ends an open transaction. It is false if SQLite did not: then the connection must be dropped.
func (w *writer) rollback() bool {
	if !w.open {
		return true
	}
	w.open = false
	return w.exec(stRollback) == nil
}

// drop throws the connection away, which ends its transaction.
func (w *writer) drop() {
	if w.conn == nil {
		return
	}
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
	w.conn = nil
}

// finalize releases the statements. An unreleased one keeps a connection, its transaction and its files open for ever.
func (w *writer) finalize() {
	for i, s := range w.prepared {
		if s != nil {
			_ = s.Close() // its error repeats that of the last execution
			w.prepared[i] = nil
		}
	}
}

// close releases the connection in order.
func (w *writer) close() error {
	if w.conn == nil {
		return nil
	}
	err := w.conn.Raw(func(any) error { w.finalize(); return nil })
	err = errors.Join(err, w.conn.Close())
	w.conn = nil
	return err
}

func (w *writer) prepare(s statement) (driver.Stmt, error) {
	if w.prepared[s] != nil {
		return w.prepared[s], nil
	}
	st, err := w.raw.Prepare(s.text())
	if err != nil {
		return nil, err
	}
	w.prepared[s] = st
	return st, nil
}

func (w *writer) bind(args []driver.Value) []driver.NamedValue {
	for i, a := range args {
		w.args[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return w.args[:len(args)]
}

// exec runs a statement that returns nothing.
func (w *writer) exec(s statement, args ...driver.Value) error {
	_, err := w.run(s, args)
	return err
}

// put inserts so many rows. A database to which something was added may let a row fall without an error.
//
//limit:journal-put A record or index entry that the database does not take, without saying so, fails the whole update.
func (w *writer) put(s statement, rows int, args ...driver.Value) error {
	res, err := w.run(s, args)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != int64(rows) {
		return errors.Join(err, fmt.Errorf("journal: the database took %d of %d rows; something was added to it, which the verification names", n, rows))
	}
	return nil
}

func (w *writer) run(s statement, args []driver.Value) (driver.Result, error) {
	st, err := w.prepare(s)
	if err != nil {
		return nil, err
	}
	x, ok := st.(driver.StmtExecContext)
	if !ok {
		return nil, errors.New("journal: the driver cannot execute")
	}
	return x.ExecContext(context.Background(), w.bind(args))
}

// query calls each for every row; it must not run another statement s.
func (w *writer) query(s statement, width int, each func(row []driver.Value) error, args ...driver.Value) (err error) {
	st, err := w.prepare(s)
	if err != nil {
		return err
	}
	q, ok := st.(driver.StmtQueryContext)
	if !ok {
		return errors.New("journal: the driver cannot query")
	}
	rows, err := q.QueryContext(context.Background(), w.bind(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := w.row[:width]
	for {
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := each(row); err != nil {
			return err
		}
	}
}

// begin opens a transaction; do ends it unless commit does.
func (w *writer) begin(s statement) error {
	if err := w.exec(s); err != nil {
		_ = w.exec(stRollback) // should it have begun all the same
		return err
	}
	w.open = true
	return nil
}

// commit makes the transaction durable. After an error it is not known whether it is.
func (w *writer) commit() error {
	if err := w.exec(stCommit); err != nil {
		return err
	}
	w.open = false
	return nil
}

// version returns a number that changes when another connection has committed since, and only then. It is this
// connection's own.
func (w *writer) version() (version int64, err error) {
	err = w.query(stVersion, 1, func(row []driver.Value) error {
		n, ok := row[0].(int64)
		if !ok {
			return fmt.Errorf("journal: a version of type %T", row[0])
		}
		version = n
		return nil
	})
	return version, err
}

// records calls each for every record of a query over all columns.
func (w *writer) records(s statement, each func(Record) error, args ...driver.Value) error {
	return w.query(s, 5, func(row []driver.Value) error {
		seq, ok1 := row[0].(int64)
		stream, ok2 := row[1].(string)
		at, ok3 := row[2].(int64)
		body, ok4 := blob(row[3])
		hash, ok5 := blob(row[4])
		if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
			return &Broken{Seq: Seq(seq), Reason: fmt.Sprintf("record %d has columns of wrong types", seq)}
		}
		r, err := makeRecord(seq, stream, at, body, hash)
		if err != nil {
			return err
		}
		return each(r)
	}, args...)
}

// blob takes a column's value; the driver gives an empty blob as nothing.
func blob(v driver.Value) ([]byte, bool) {
	if v == nil {
		return nil, true
	}
	b, ok := v.([]byte)
	return b, ok
}
