package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sallyport/gate"
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
func resolveHome(flag given, getenv func(string) string) (string, error) {
	dir := getenv(homeVariable)
	if flag.set {
		if dir = flag.text; dir == "" {
			return "", usage("Name a directory, or leave --data-dir out.", "--data-dir is empty")
		}
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
		return "", usage("Give an absolute path.", "the data directory %s has no absolute path: %s", showPath(dir), plain(err))
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
		return false, usage("Make the directory readable for this user, or name another.", "the data directory cannot be read: %s", plain(err))
	case !fi.IsDir():
		return false, usage("Name a directory.", "%s is not a directory", showPath(dir))
	}
	if why := othersCanChange(fi); why != "" {
		return true, usage("chmod 700 "+showPath(dir)+" as its owner.", "the data directory %s %s", showPath(dir), why)
	}
	return true, nil
}

// exposed says that others can read a data directory; nothing if they cannot. One that is empty is made private instead.
//
//limit:cli-home-private An empty data directory that others can read gets mode 0700 before anything is put into it; of another one it is said.
func exposed(home string) string {
	fi, err := os.Stat(home)
	if err != nil || fi.Mode().Perm()&0o077 == 0 {
		return ""
	}
	inside, err := os.ReadDir(home)
	if err == nil && len(inside) == 0 && os.Chmod(home, 0o700) == nil {
		return ""
	}
	return fmt.Sprintf("others can read the data directory %s (mode %04o); make it private: chmod 700 %s", showPath(home), fi.Mode().Perm(), showPath(home))
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

// readOwned reads a file that only we or root can change, as the gate reads the policy. refused says that the file is
// there and is not used, in words that follow its name.
func readOwned(path string) (raw []byte, refused string, err error) {
	raw, err = gate.ReadOwned(path, maxConfig)
	if errors.Is(err, gate.ErrNotOwned) {
		refused, _, _ = strings.Cut(strings.TrimPrefix(err.Error(), gate.ErrNotOwned.Error()+": "), "; run ")
	}
	return raw, refused, err
}

// ownRepair says what makes a file that readOwned refused one that is used.
func ownRepair(path string) string {
	fi, err := os.Stat(path)
	switch {
	case err == nil && !fi.Mode().IsRegular():
		return "Name a small regular file of this user; what is there stays as it is"
	case err == nil && fi.Size() > maxConfig:
		return "Name a file of at most 1 MiB"
	case err == nil && int(ownerOf(fi)) != os.Geteuid() && ownerOf(fi) != 0:
		return "Name a copy of it that belongs to this user"
	}
	return "Make it a small regular file of this user: chmod 600 " + showPath(path)
}

// ownerOf returns who owns a file; nobody where the system does not say.
func ownerOf(fi os.FileInfo) uint32 {
	if st, is := fi.Sys().(*syscall.Stat_t); is {
		return st.Uid
	}
	return math.MaxUint32
}

// readLimited reads at most maxConfig bytes and refuses more.
func readLimited(r io.Reader, name string) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxConfig {
		return nil, fmt.Errorf("%s is over 1 MiB", showPath(name))
	}
	return raw, nil
}
