package rest

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534

// connectAs connects to a socket as another user, and returns the first line of the answer to a request. Only a thread of
// its own takes that user on; it ends with its goroutine.
func connectAs(path string, uid int) (string, error) {
	type result struct {
		line string
		err  error
	}
	out := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); e != 0 {
			out <- result{err: e}
			return
		}
		fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err == nil {
			err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
		}
		if err != nil {
			out <- result{err: err}
			return
		}
		f := os.NewFile(uintptr(fd), path)
		defer f.Close()
		_, _ = f.WriteString("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		line, _ := bufio.NewReader(f).ReadString('\n')
		out <- result{line: line}
	}()
	r := <-out
	return r.line, r.err
}

// TestSystemTellsWhoConnects needs root, to be somebody else.
func TestSystemTellsWhoConnects(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	s := newSite(t)
	if err := os.Chmod(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, listed := range []bool{false, true} {
		s.cfg.AgentsSocket = fmt.Sprintf("%s/%v.sock", s.dir, listed)
		s.cfg.UIDs = []uint32{4242}
		if listed {
			s.cfg.UIDs = []uint32{nobody}
		}
		stop := serve(t, s.listen(t))
		line, err := connectAs(s.cfg.AgentsSocket, nobody)
		if served := strings.HasPrefix(line, "HTTP/1.1 200 "); err != nil || served != listed {
			t.Errorf("a user who is listed: %v, is answered %q, %v", listed, line, err)
		}
		if line, err := connectAs(s.cfg.AgentsSocket, 0); err != nil || !strings.HasPrefix(line, "HTTP/1.1 200 ") {
			t.Errorf("root is answered %q, %v", line, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	s.cfg.AgentsSocket, s.cfg.UIDs = s.dir+"/closed.sock", nil
	serve(t, s.listen(t))
	if _, err := connectAs(s.cfg.AgentsSocket, nobody); err == nil {
		t.Error("a socket of mode 0600 takes another user")
	}
}
