package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
)

// backupPages is how much is copied between two looks at the context.
const backupPages = 1024

// Backup copies the database as it stands now into a new private file, while others go on writing. It fails with
// fs.ErrExist if the path is taken, and leaves no half copy under that name.
func (db *DB) Backup(ctx context.Context, path string) (err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := checkFree(path); err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new*") // mode 0600
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer func() { err = errors.Join(err, removeAll(draft.Name())) }()
	if err := draft.Close(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := db.copyTo(ctx, draft.Name()); err != nil {
		return explain(db.path, err)
	}
	if err := Sync(draft.Name()); err != nil {
		return err
	}
	if err := os.Link(draft.Name(), path); err != nil { // unlike a rename it replaces nothing
		if errors.Is(err, fs.ErrExist) {
			return &fs.PathError{Op: "backup", Path: path, Err: fs.ErrExist}
		}
		return fmt.Errorf("store: %w", err)
	}
	if err := removeAll(draft.Name()); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// copyTo copies page by page within one read transaction, so that the copy is of one moment.
func (db *DB) copyTo(ctx context.Context, path string) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN DEFERRED"); err != nil {
		return err
	}
	defer rollback(context.WithoutCancel(ctx), conn)
	var n int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil {
		return err
	}
	return conn.Raw(func(c any) error {
		source, ok := c.(interface {
			NewBackup(string) (*sqlite.Backup, error)
		})
		if !ok {
			return errors.New("store: the driver cannot back up")
		}
		b, err := source.NewBackup("file://" + (&url.URL{Path: path}).EscapedPath() + "?mode=rw")
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if more, err = b.Step(backupPages); err == nil {
				err = ctx.Err()
			}
		}
		return errors.Join(err, b.Finish())
	})
}
