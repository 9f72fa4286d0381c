package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"
)

// inTx runs f in a transaction whose only connection is the pool's only one, and returns that connection's statements.
func inTx(t *testing.T, db *DB, f func(*Tx)) *remembering {
	t.Helper()
	var c *remembering
	err := Immediate(t.Context(), db, func(tx *Tx) error {
		f(tx)
		return tx.conn.Raw(func(raw any) error {
			c = raw.(*remembering)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func number(t *testing.T, tx *Tx, query string, args ...any) (n int) {
	t.Helper()
	if err := tx.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

//attack:store-statements
func TestConnectionKeepsABoundedNumberOfStatements(t *testing.T) {
	db := open(t, config(t))
	c := inTx(t, db, func(tx *Tx) {
		for i := range 3 * maxStatements {
			for range 2 {
				if got := number(t, tx, fmt.Sprintf("SELECT %d + ?", i), 1); got != i+1 {
					t.Fatalf("%d + 1 is %d", i, got)
				}
			}
		}
	})
	if c.kept != maxStatements || len(c.idle) != maxStatements { // COMMIT found no room, and has worked
		t.Errorf("%d statements are kept and %d are idle, want %d", c.kept, len(c.idle), maxStatements)
	}
}

func TestStatementIsParsedOnce(t *testing.T) {
	db := open(t, config(t))
	var first statement
	const query = "INSERT INTO notes(text) VALUES (?)"
	for range 3 {
		c := inTx(t, db, func(tx *Tx) {
			if _, err := tx.Exec(query, "x"); err != nil {
				t.Fatal(err)
			}
		})
		if first == nil {
			first = c.idle[query]
		}
		if first == nil || c.idle[query] != first {
			t.Fatalf("the statement is %v, and was %v", c.idle[query], first)
		}
	}
	if n := count(t, db); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

func TestSameQueryInsideItsOwnRowsIsAnotherStatement(t *testing.T) {
	db := open(t, config(t))
	for _, text := range []string{"a", "b", "c"} {
		if err := Immediate(t.Context(), db, insert(text)); err != nil {
			t.Fatal(err)
		}
	}
	const query = "SELECT text FROM notes ORDER BY id"
	c := inTx(t, db, func(tx *Tx) {
		seen := ""
		outer, err := tx.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		for outer.Next() {
			inner, err := tx.Query(query)
			if err != nil {
				t.Fatal(err)
			}
			for inner.Next() {
				var text string
				if err := inner.Scan(&text); err != nil {
					t.Fatal(err)
				}
				seen += text
			}
			if err := errors.Join(inner.Err(), inner.Close()); err != nil {
				t.Fatal(err)
			}
			var text string
			if err := outer.Scan(&text); err != nil {
				t.Fatal(err)
			}
			seen += text + " "
		}
		if err := errors.Join(outer.Err(), outer.Close()); err != nil || seen != "abca abcb abcc " {
			t.Errorf("seen %q, %v", seen, err)
		}
	})
	if c.kept != len(c.idle) || c.idle[query] == nil {
		t.Errorf("%d statements are kept and %d are idle", c.kept, len(c.idle))
	}
}

func TestStatementThatFailedIsParsedAgain(t *testing.T) {
	db := open(t, config(t))
	const query = "INSERT INTO notes(id, text) VALUES (?, ?)"
	c := inTx(t, db, func(tx *Tx) {
		for i := range 4 {
			_, err := tx.Exec(query, 1+i/2, "x")
			if (err != nil) != (i%2 == 1) {
				t.Errorf("insert %d: %v", i, err)
			}
		}
		if _, err := tx.Exec("INSERT INTO notes(id, text) VALUES (?, ?"); err == nil {
			t.Error("half a statement was run")
		}
		if _, err := tx.Exec(query, 3); err == nil {
			t.Error("a statement was run without an argument")
		}
	})
	if n := count(t, db); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
	if _, kept := c.idle[query]; kept || c.kept != len(c.idle) {
		t.Errorf("a statement that failed is kept, or counted: %d of %d", len(c.idle), c.kept)
	}
}

func TestKeptStatementSeesAChangedSchema(t *testing.T) {
	db := open(t, config(t))
	const query = "SELECT count(*) FROM notes WHERE text = ?"
	inTx(t, db, func(tx *Tx) { number(t, tx, query, "x") })
	other := open(t, Config{Path: db.Path(), AppID: testID, Migrations: notes()})
	err := Immediate(t.Context(), other, func(tx *Tx) error {
		_, err := tx.Exec(`CREATE INDEX by_text ON notes(text); DROP INDEX by_text; CREATE TABLE more(a TEXT) STRICT;
			INSERT INTO notes(text) VALUES ('x')`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	inTx(t, db, func(tx *Tx) {
		if n := number(t, tx, query, "x"); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
		if n := number(t, tx, "SELECT count(*) FROM more"); n != 0 {
			t.Errorf("%d rows, want 0", n)
		}
	})
}

func TestCloseFinalizesEveryKeptStatement(t *testing.T) {
	cfg := config(t)
	db := open(t, cfg)
	inTx(t, db, func(tx *Tx) {
		if err := insert("x")(tx); err != nil {
			t.Fatal(err)
		}
		number(t, tx, "SELECT count(*) FROM notes")
	})
	ctx, cancel := context.WithCancel(t.Context())
	rows, err := db.QueryContext(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")
	if err != nil || !rows.Next() {
		t.Fatalf("there is no row: %v", err)
	}
	cancel()
	for rows.Next() { // until the cancel is noticed
	}
	if rows.Err() == nil {
		t.Error("a cancelled query ended by itself")
	}
	if err := errors.Join(rows.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, side := range []string{"-wal", "-shm"} { // SQLite takes them away with the last connection
		if _, err := os.Stat(cfg.Path + side); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", side, err)
		}
	}
}
