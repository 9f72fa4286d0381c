//go:build !linux

package journal

import "os"

// fdatasync is what the yardstick pays for durability.
func fdatasync(f *os.File) error { return f.Sync() }
