package main

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// shortDir is a directory whose sockets have short paths.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "sp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestTellSystemSpeaksToItsServiceManagerAndToNobodyElse(t *testing.T) {
	path := filepath.Join(shortDir(t), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	env := map[string]string{}
	getenv := func(name string) string { return env[name] }
	if err := tellSystem(getenv, "READY=1"); err != nil {
		t.Errorf("without a service manager: %v", err)
	}
	env[notifyVariable] = path
	if err := tellSystem(getenv, "READY=1"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 64)
	n, err := l.Read(got)
	if err != nil || string(got[:n]) != "READY=1" {
		t.Errorf("%q, %v", got[:n], err)
	}
	env[notifyVariable] = path + ".gone"
	if err := tellSystem(getenv, "READY=1"); err == nil {
		t.Error("nobody was told, and that is fine")
	}
}

func TestAnswersTellsAListenerFromItsRemains(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	if answers(path) {
		t.Error("nothing answers")
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if !answers(path) {
		t.Error("a listener does not answer")
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	if answers(path) {
		t.Error("what a listener left behind answers")
	}
}
