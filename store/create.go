package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Create makes a new database with the whole schema and what first writes; fs.ErrExist if the path is taken. It
// appears under its name complete and durable, or not at all: it is built beside the path as PATH.new, closed, synced
// and then renamed, all under the turnstile, so that of several processes exactly one makes it. first may be nil.
func Create(ctx context.Context, cfg Config, first func(*Tx) error) (err error) {
	cfg, err = cfg.withDefaults()
	if err != nil {
		return err
	}
	dir := filepath.Dir(cfg.Path)
	if err := checkDir(dir); err != nil {
		return err
	}
	if err := checkFree(cfg.Path); err != nil {
		return err
	}
	gate := NewTurnstile(cfg.Path)
	defer func() { err = errors.Join(err, gate.Close()) }()
	if err := gate.Enter(ctx, cfg.Busy); err != nil {
		return err
	}
	defer gate.Leave()
	if err := checkFree(cfg.Path); err != nil {
		return err
	}
	if err := checkStray(cfg.Path); err != nil {
		return err
	}
	draft := cfg
	draft.Path = cfg.Path + ".new"
	if err := build(ctx, draft, first); err != nil {
		return errors.Join(err, removeAll(draft.Path))
	}
	if err := os.Rename(draft.Path, cfg.Path); err != nil {
		return errors.Join(fmt.Errorf("store: %w", err), removeAll(draft.Path))
	}
	return Sync(dir)
}

func checkFree(path string) error {
	_, err := os.Lstat(path)
	if err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("store: %w", err)
}

// checkStray refuses a log that lies where the new database's own would be: SQLite would take what is in it for the new
// database's content, which it would destroy.
//
//limit:store-stray-log A database is not made beside a write-ahead log or journal that another one has left.
func checkStray(path string) error {
	for _, p := range []string{path + "-wal", path + "-journal"} {
		_, err := os.Lstat(p)
		if err == nil {
			return fmt.Errorf("store: %s was left by a database that is not there any more; move it away", p)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("store: %w", err)
		}
	}
	return nil
}

// removeAll removes a draft and its side files. A draft that is there while the turnstile is held was left by a crash.
func removeAll(path string) error {
	for _, p := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("store: %w", err)
		}
	}
	return nil
}

// build makes the draft and leaves it closed, without side files, and durable.
func build(ctx context.Context, cfg Config, first func(*Tx) error) error {
	if err := removeAll(cfg.Path); err != nil {
		return err
	}
	f, err := os.OpenFile(cfg.Path, os.O_RDWR|os.O_CREATE|os.O_EXCL, privateMode)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := errors.Join(f.Chmod(privateMode), f.Close()); err != nil { // whatever the umask took away
		return fmt.Errorf("store: %w", err)
	}
	id, err := identify(cfg.Path)
	if err != nil {
		return err
	}
	db, err := openAt(cfg, id, true)
	if err != nil {
		return err
	}
	err = db.transact(ctx, func(tx *Tx) error {
		if _, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d", cfg.AppID)); err != nil {
			return err
		}
		if err := migrate(tx, cfg.Migrations, 0); err != nil || first == nil {
			return err
		}
		return first(tx)
	}, func() error { return nil })
	if err := errors.Join(err, db.DB.Close()); err != nil {
		return explain(cfg.Path, err)
	}
	if _, err := os.Lstat(cfg.Path + "-wal"); err == nil {
		return fmt.Errorf("store: %s was not closed cleanly", cfg.Path)
	}
	return Sync(cfg.Path)
}
