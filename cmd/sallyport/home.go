package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// homeVariable names the environment variable that says where the data directory is.
const homeVariable = "SALLYPORT_HOME"

// maxConfig is the largest configuration or policy file that is read.
//
//limit:config-bytes A configuration or policy file is read up to 1 MiB.
const maxConfig = 1 << 20

// privateMode is the mode of the files that commands make in a data directory.
//
//limit:cli-file-mode A file that a command makes in a data directory has mode 0600, whatever the umask.
const privateMode os.FileMode = 0o600

// resolveHome returns the absolute path of the data directory: the flag, else SALLYPORT_HOME, else ~/.sallyport.
func resolveHome(flag string, getenv func(string) string) (string, error) {
	dir := flag
	if dir == "" {
		dir = getenv(homeVariable)
	}
	if dir == "" {
		user := getenv("HOME")
		if user == "" {
			return "", usage("Set SALLYPORT_HOME or give --data-dir.", "no home directory is known for the data directory")
		}
		dir = filepath.Join(user, ".sallyport")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", usage("Give an absolute path.", "the data directory %s has no absolute path: %v", showPath(dir), err)
	}
	return abs, nil
}

// checkHome reports whether the data directory exists, and refuses one that somebody else could change.
func checkHome(dir string) (exists bool, err error) {
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, usage("Make the directory readable for this user, or name another.", "the data directory cannot be read: %v", err)
	case !fi.IsDir():
		return false, usage("Name a directory.", "%s is not a directory", showPath(dir))
	}
	if why := othersCanChange(fi); why != "" {
		return true, usage("chmod 700 "+showPath(dir)+" as its owner.", "the data directory %s %s", showPath(dir), why)
	}
	return true, nil
}

// othersCanChange says who beside us and root could change a file, or nothing.
//
//limit:config-owner A file or data directory that is trusted belongs to this user or root, and neither group nor others can write it.
func othersCanChange(fi fs.FileInfo) string {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Sprintf("belongs to user %d, not to this user or root", st.Uid)
	}
	if fi.Mode().Perm()&0o022 != 0 {
		return fmt.Sprintf("can be written by group or others (mode %04o)", fi.Mode().Perm())
	}
	return ""
}

// errNotTrusted says that a file exists and is refused.
var errNotTrusted = errors.New("not trusted")

// readTrusted reads a file that only we or root can change. All checks are made on the open descriptor, so that what
// was checked is what is read. A fifo cannot make it wait.
func readTrusted(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a regular file", errNotTrusted, showPath(path))
	}
	if why := othersCanChange(fi); why != "" {
		return nil, fmt.Errorf("%w: %s %s", errNotTrusted, showPath(path), why)
	}
	return readLimited(f, path)
}

// readLimited reads at most maxConfig bytes and refuses more.
func readLimited(r io.Reader, name string) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxConfig {
		return nil, fmt.Errorf("%w: %s is over 1 MiB", errNotTrusted, showPath(name))
	}
	return raw, nil
}
