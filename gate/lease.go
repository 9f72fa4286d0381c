package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// lease is how other processes see that this one lives: a locked file of its own in the data directory. The kernel
// frees the lock when the process ends, however it ends.
type lease struct {
	dir  string
	name string
	mu   sync.Mutex
	file *os.File
}

// hold takes the lease; it is taken once, before the first order that this process sends.
func (l *lease) hold() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil || l.dir == "" { // a gate in memory has no processes beside it
		return nil
	}
	//limit:gate-lease-dir The directory of leases is made with mode 0700.
	if err := os.MkdirAll(l.dir, homeMode); err != nil {
		return err
	}
	path := filepath.Join(l.dir, l.name)
	for range 3 { // somebody who cleans up may take the file away between its making and its lock
		//limit:gate-lease-file A lease is a file of mode 0600.
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
		if err != nil {
			return err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil { // others hold it for a glance only
			f.Close()
			return err
		}
		there, errPath := os.Stat(path)
		mine, errFile := f.Stat()
		if errPath == nil && errFile == nil && os.SameFile(there, mine) {
			l.file = f
			return nil
		}
		f.Close()
	}
	return fmt.Errorf("the lease %s keeps being taken away", path)
}

func (l *lease) release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := errors.Join(os.Remove(l.file.Name()), l.file.Close())
	l.file = nil
	return err
}

// alive reports whether the process that holds the lease of that name lives. In doubt it does: then only the deadline
// says that an outcome is unknown.
func (l *lease) alive(name string) bool {
	if name == l.name {
		return true
	}
	if name != filepath.Base(name) || l.dir == "" {
		return false
	}
	f, err := os.Open(filepath.Join(l.dir, name))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

// sweep removes the files of processes that have ended. Each is removed under its own lock: whoever is just taking that
// lease sees, once he has the lock, that the file is gone, and makes another.
func (l *lease) sweep() {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return // there is nothing to tidy, or it can wait
	}
	for _, e := range entries {
		if e.Name() == l.name {
			continue
		}
		path := filepath.Join(l.dir, e.Name())
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			os.Remove(path)
		}
		f.Close()
	}
}
