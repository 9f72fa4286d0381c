package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// Tx is the inside of a transaction. Its methods take no context, because cancelling a statement would silently roll
// back the whole transaction and let the next statement commit outside it.
type Tx struct {
	ctx  context.Context // never cancelled
	conn *sql.Conn
}

// Exec runs a statement, or several without arguments.
func (tx *Tx) Exec(query string, args ...any) (sql.Result, error) {
	return tx.conn.ExecContext(tx.ctx, query, args...)
}

// Query runs a query. The rows must be closed before the next call.
func (tx *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	return tx.conn.QueryContext(tx.ctx, query, args...)
}

// QueryRow runs a query for one row.
func (tx *Tx) QueryRow(query string, args ...any) *sql.Row {
	return tx.conn.QueryRowContext(tx.ctx, query, args...)
}

// Driver lends the driver's connection, for a caller who prepares statements of its own and closes them before it
// returns.
func (tx *Tx) Driver(use func(driver.Conn) error) (err error) {
	failed := tx.conn.Raw(func(c any) error {
		conn, ok := c.(driver.Conn)
		if !ok {
			return errors.New("store: not a driver's connection")
		}
		err = use(conn)
		return nil
	})
	return errors.Join(failed, err)
}

// Immediate runs fn in a write transaction and makes it durable before it returns nil. fn sees everything that any
// process committed before. ctx bounds the wait for a turn only; from BEGIN to COMMIT nothing can be cancelled. Any
// error, and a panic, which goes on to the caller, rolls everything back. If Busy(err), nothing was changed and the
// call may be made again; after any other error read before you repeat.
func Immediate(ctx context.Context, db *DB, fn func(*Tx) error) error {
	Deepen()
	deadline := time.Now().Add(db.busy)
	wait := time.NewTimer(db.busy)
	defer wait.Stop()
	select {
	case <-db.turn:
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return ErrTurnstile
	}
	defer func() { db.turn <- struct{}{} }()
	if err := db.gate.Enter(ctx, time.Until(deadline)); err != nil {
		return err
	}
	defer db.gate.Leave()
	return db.transact(ctx, func(tx *Tx) error {
		if err := db.Moved(); err != nil {
			return err
		}
		return fn(tx)
	}, db.Moved)
}

// transact runs fn between BEGIN and COMMIT, and then after, whose error says that the commit does not count.
func (db *DB) transact(ctx context.Context, fn func(*Tx) error, after func() error) (err error) {
	ctx = context.WithoutCancel(ctx)
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			rollback(ctx, conn)
		}
	}()
	if err := fn(&Tx{ctx: ctx, conn: conn}); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("store: the commit failed: %w", err)
	}
	committed = true
	return after()
}

// rollback ends a transaction. A connection on which that cannot be done is thrown away, which ends it too. SQLite has
// rolled some errors back by itself; then there is none and the error says so.
func rollback(ctx context.Context, conn *sql.Conn) {
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}
