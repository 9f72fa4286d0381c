package main

import (
	"os"
	"strings"
	"syscall"
)

// answers reports whether somebody listens on a socket. It connects and says nothing.
func answers(path string) bool {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	syscall.CloseOnExec(fd)
	return syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}) == nil
}

// notifyVariable names the socket on which systemd waits to hear from a service: see sd_notify(3).
const notifyVariable = "NOTIFY_SOCKET"

// tellSystem tells the system's service manager how the daemon stands, if it asked to be told. Nothing depends on it.
func tellSystem(getenv func(string) string, state string) error {
	path := getenv(notifyVariable)
	if path == "" {
		return nil
	}
	if name, abstract := strings.CutPrefix(path, "@"); abstract {
		path = "\x00" + name
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer syscall.Close(fd)
	syscall.CloseOnExec(fd)
	return os.NewSyscallError("sendto", syscall.Sendto(fd, []byte(state), 0, &syscall.SockaddrUnix{Name: path}))
}
