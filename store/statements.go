package store

import (
	"context"
	"database/sql/driver"
	"errors"

	"modernc.org/sqlite"
)

// maxStatements bounds how many statements a connection keeps prepared.
//
//limit:store-statements A connection keeps at most 64 statements prepared; others are parsed each time they run.
const maxStatements = 64

// pooled is a driver's connection with all that it can do.
type pooled interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	NewBackup(uri string) (*sqlite.Backup, error)
}

// statement is a driver's prepared statement with all that it can do.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// remembering is a connection that keeps the statements that it runs prepared: to parse one costs more than to run it.
// A statement that failed, or that is run again while its rows are being read, is not kept. database/sql uses a
// connection from one goroutine at a time.
type remembering struct {
	pooled
	idle map[string]statement // none of them is running
	kept int                  // those that are running included
}

// remember is for the connections of a driver that can do all this.
func remember(c driver.Conn) (*remembering, error) {
	p, ok := c.(pooled)
	if !ok {
		return nil, errors.New("store: the driver cannot do what is needed of it")
	}
	return &remembering{pooled: p, idle: map[string]statement{}}, nil
}

// take returns a prepared statement that is the caller's until he gives it back; nil if there is no room for it.
func (c *remembering) take(ctx context.Context, query string) (statement, error) {
	if s, ok := c.idle[query]; ok {
		delete(c.idle, query)
		return s, nil
	}
	if c.kept >= maxStatements {
		return nil, nil
	}
	made, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s, ok := made.(statement)
	if !ok {
		return nil, made.Close()
	}
	c.kept++
	return s, nil
}

// give takes a statement back. Its error on closing would only repeat that of the run.
func (c *remembering) give(query string, s statement, failed bool) {
	if _, twice := c.idle[query]; failed || twice {
		c.kept--
		_ = s.Close()
		return
	}
	c.idle[query] = s
}

// ExecContext implements driver.ExecerContext.
func (c *remembering) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.pooled.ExecContext(ctx, query, args)
	}
	res, err := s.ExecContext(ctx, args)
	c.give(query, s, err != nil)
	return res, err
}

// QueryContext implements driver.QueryerContext.
func (c *remembering) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.pooled.QueryContext(ctx, query, args)
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		c.give(query, s, true)
		return nil, err
	}
	return &reading{Rows: rows, end: func(failed bool) { c.give(query, s, failed) }}, nil
}

// Close closes the statements and then the connection, which with an open statement would live on in secret.
func (c *remembering) Close() error {
	for query, s := range c.idle {
		_ = s.Close()
		delete(c.idle, query)
	}
	return c.pooled.Close()
}

// reading is the rows of a kept statement, which is given back once they are closed.
type reading struct {
	driver.Rows
	end func(failed bool) // nil once it was called
}

// Close implements driver.Rows.
func (r *reading) Close() error {
	if r.end == nil {
		return nil
	}
	err := r.Rows.Close()
	r.end(err != nil)
	r.end = nil
	return err
}
