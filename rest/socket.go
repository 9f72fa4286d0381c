package rest

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"sallyport/trade"
)

// listener accepts connections of those who may connect.
type listener struct {
	net.Listener
	half   *http.Server
	path   string
	socket bool
	agent  trade.Agent
	tier   trade.Tier
	uids   []uint32
	log    *slog.Logger
	places places
}

// Accept returns the next connection of somebody who may connect. Others are closed before a byte of theirs is read.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := l.check(c)
		if err != nil {
			l.log.Warn("a connection was refused", "socket", l.path, "cause", err)
			_ = c.Close()
			continue
		}
		if own := (&conn{Conn: c, l: l, uid: uid}); l.places.take(own) {
			return own, nil
		}
		l.log.Warn("a connection was refused", "cause", "there are too many")
		_ = c.Close()
	}
}

// check makes sure that the user at the other end of a socket may connect.
//
//limit:rest-peer A socket serves our own operating-system user, root and listed users only; another's connection is closed unread.
func (l *listener) check(c net.Conn) (uid uint32, err error) {
	if !l.socket {
		return 0, nil
	}
	u, is := c.(*net.UnixConn)
	if !is {
		return 0, errors.New("it is no socket")
	}
	if uid, err = peer(u); err != nil {
		return 0, err
	}
	if !mayConnect(uid, uint32(os.Geteuid()), l.uids) {
		return 0, fmt.Errorf("user %d may not connect", uid)
	}
	return uid, nil
}

func mayConnect(uid, own uint32, listed []uint32) bool {
	return uid == own || uid == 0 || slices.Contains(listed, uid)
}

// How a socket's file and directory must be.
const (
	//limit:rest-socket-mode A socket has mode 0600, unless other users are listed for it.
	socketMode = 0o600
	//limit:rest-socket-shared A socket for which other users are listed has mode 0666; the system itself tells who connects, and nobody else is let in.
	sharedSocketMode = 0o666
	//limit:rest-socket-dir The directory of a socket, if it is made, has mode 0700.
	socketDirMode = 0o700
	//limit:rest-socket-dir-others The directory of a socket belongs to us or to root, and nobody else can write in it.
	othersWrite = 0o022
)

// listenSocket makes a socket. A file that an earlier process left there is removed only if nobody listens on it.
func listenSocket(path string, uids []uint32) (net.Listener, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, socketDirMode); err != nil {
		return nil, err
	}
	if err := privateDir(dir); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("the socket %s: %w", path, err)
	}
	mode := fs.FileMode(socketMode)
	if len(uids) > 0 {
		mode = sharedSocketMode
	}
	//limit:rest-socket-umask A socket has its mode whatever the umask.
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func privateDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st, is := info.Sys().(*syscall.Stat_t)
	switch {
	case !is || int(st.Uid) != os.Geteuid() && st.Uid != 0:
		return fmt.Errorf("the directory %s belongs to another user", dir)
	case info.Mode().Perm()&othersWrite != 0:
		return fmt.Errorf("the directory %s can be written by others; name a path in a directory that only this user can write", dir)
	}
	return nil
}

// removeStale removes a socket that nobody listens on.
//
//limit:rest-socket-stale A socket's file is removed only if it is a socket and nobody listens on it.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there and is no socket", path)
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("another process listens on %s", path), c.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("the socket %s: %w", path, err)
	}
	return os.Remove(path)
}
