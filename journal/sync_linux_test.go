package journal

import (
	"os"
	"syscall"
)

// fdatasync is what the yardstick pays for durability.
func fdatasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
