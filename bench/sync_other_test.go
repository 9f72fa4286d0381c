//go:build !linux

package bench_test

import "os"

func fdatasync(f *os.File) error { return f.Sync() }
