package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Names within the data directory.
const (
	JournalName = "journal.db"
	PolicyName  = "policy.json"
	runName     = "run"
)

// Permissions of what we make.
const (
	//limit:gate-home-mode The data directory is made with mode 0700, and one that group or others can write is refused.
	homeMode os.FileMode = 0o700
	//limit:gate-file-mode Files in the data directory are made with mode 0600.
	fileMode os.FileMode = 0o600
)

// PrepareHome makes the data directory if create is set, and refuses one that is not ours alone to write: whoever can
// write it can replace the policy.
func PrepareHome(home string, create bool) error {
	if home == "" {
		return errors.New("no data directory is named; set SALLYPORT_HOME or --data-dir")
	}
	if create {
		//limit:gate-home-new A data directory that is made is nobody else's to read: mode 0700.
		if err := os.MkdirAll(home, homeMode); err != nil {
			return fmt.Errorf("the data directory cannot be made: %w", err)
		}
	}
	info, err := os.Stat(home)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no data directory at %s; run sallyport init: %w", home, err)
	}
	if err != nil {
		return fmt.Errorf("the data directory cannot be read: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", home)
	}
	if err := private(home, ownerOf(info), info.Mode().Perm()); err != nil {
		return err
	}
	return privateWay(home)
}

// maxLinks bounds how many symbolic links a path may go through.
//
//limit:gate-links A path to the data directory or the policy goes through at most 40 symbolic links.
const maxLinks = 40

// privateWay refuses a path on which somebody else could put another file in the place of what is there: every
// directory on the way, also on that of each symbolic link, must be ours or root's, and writable by nobody else unless it
// is sticky, as /tmp is. So must each link be ours or root's.
//
//limit:gate-parent-dirs A directory or link on the way to the data directory or the policy that belongs to another user, or a directory that group or others can write and that is not sticky, is refused.
func privateWay(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	at, left, links := "/", strings.Split(abs, "/"), 0
	for len(left) > 0 {
		name := left[0]
		left = left[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		if err := privateDir(at, path); err != nil {
			return err
		}
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		target, err := os.Readlink(at)
		switch links++; {
		case err != nil:
			return err
		case !oursOrRoots(info):
			return fmt.Errorf("the link %s belongs to another user, who could put another file in the place of %s", at, path)
		case links > maxLinks:
			return fmt.Errorf("the way to %s goes through more than %d symbolic links", path, maxLinks)
		}
		if at = filepath.Dir(at); filepath.IsAbs(target) {
			at = "/"
		}
		left = append(strings.Split(target, "/"), left...)
	}
	return nil
}

// privateDir refuses a directory in which somebody else could put another file in the place of what is there.
func privateDir(dir, path string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !oursOrRoots(info):
		return fmt.Errorf("the directory %s belongs to another user, who could put another file in the place of %s", dir, path)
	case info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
		return fmt.Errorf("the directory %s can be written by group or others, who could put another file in the place of %s; run chmod go-w on it", dir, path)
	}
	return nil
}

func oursOrRoots(info fs.FileInfo) bool {
	owner := ownerOf(info)
	return owner == 0 || int(owner) == os.Geteuid()
}

// private refuses what somebody else owns or can write.
func private(name string, owner uint32, mode fs.FileMode) error {
	if owner != 0 && int(owner) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (uid %d); it must be yours or root's", name, owner)
	}
	if mode&0o022 != 0 {
		return fmt.Errorf("%s can be written by group or others (mode %04o); run chmod go-w on it", name, mode)
	}
	return nil
}

// ownerOf returns who owns a file; nobody where the system does not say.
func ownerOf(info fs.FileInfo) uint32 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Uid
	}
	return ^uint32(0)
}

// writeNew writes a file that is not there yet, whole or not at all, and durably.
func writeNew(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) { // a link replaces nothing
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// flocked runs f while holding an exclusive lock on a file, which is made if it is not there.
func flocked(path string, f func() error) error {
	//limit:gate-create-lock The lock under which a data directory is filled is made with mode 0600.
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return f()
}
