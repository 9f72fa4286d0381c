package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func mkfifo(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeBack writes a file in place, so that its mode and identity stay.
func writeBack(ts *testscript.TestScript, name string, raw []byte) {
	f, err := os.OpenFile(ts.MkAbs(name), os.O_WRONLY|os.O_TRUNC, 0)
	ts.Check(err)
	_, err = f.Write(raw)
	ts.Check(err)
	ts.Check(f.Close())
}
