package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// privateMode is the mode of every file that is made here.
//
//limit:store-private-mode The database and the files beside it are made with mode 0600, whatever the umask allows.
const privateMode = 0o600

// identity tells whether two looks at a path saw the same file.
type identity struct {
	dev, ino uint64
}

func (a identity) same(b identity) bool { return a == b && a != identity{} }

// identify looks at the path without following a link. It allocates nothing, since it runs after every commit.
func identify(path string) (identity, error) {
	id, _, err := measure(path)
	return id, err
}

// measure returns the size too.
func measure(path string) (identity, int64, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return identity{}, 0, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return identity{dev: uint64(st.Dev), ino: st.Ino}, st.Size, nil
}

// checkDir refuses a directory into which others can put or from which they can take files.
//
//limit:store-directory The database's directory must belong to this user or root and be writable by its owner alone.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("store: %s is not a directory", dir)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("store: others can write to the directory %s; run: chmod go-w %s", dir, dir)
	case !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("store: the directory %s belongs to another user", dir)
	}
	return nil
}

// checkFile refuses anything but a regular file of this user that nobody else can read or write. A second name would
// give the same database a second write-ahead log, which corrupts it. The file is never opened here: closing it would
// drop the locks that SQLite holds on it in this process.
//
//limit:store-file The database must be a regular file with one name and mode 0600 that belongs to this user.
func checkFile(path string) (identity, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return identity{}, fmt.Errorf("store: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return identity{}, fmt.Errorf("store: %s cannot be examined", path)
	case !info.Mode().IsRegular():
		return identity{}, fmt.Errorf("store: %s is not a regular file", path)
	case uint64(st.Nlink) != 1:
		return identity{}, fmt.Errorf("store: %s has another name (a hard link); remove it", path)
	case info.Mode().Perm()&0o077 != 0:
		return identity{}, fmt.Errorf("store: others can read or write %s; run: chmod 600 %s", path, path)
	case int(st.Uid) != os.Geteuid():
		return identity{}, fmt.Errorf("store: %s belongs to another user", path)
	}
	return identity{dev: uint64(st.Dev), ino: st.Ino}, nil
}

// Sync makes a file's or a directory's present content durable. It must not be called on a database that is open.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}
