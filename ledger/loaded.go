package ledger

import (
	"strconv"

	"sallyport/trade"
	"sallyport/wire"
)

// PolicyLoaded says that a policy was found to be sound before anything was judged by it: its own tests passed, and every
// bound of it was seen to stop an order. What it says holds for these bytes.
type PolicyLoaded struct {
	SHA256  string // of the file's bytes, 64 hexadecimal digits
	Version int
	Tests   int // that the file brings along
}

// Kind implements Event.
func (PolicyLoaded) Kind() string { return "policy_loaded" }

// About implements Event.
func (PolicyLoaded) About() trade.IntentID { return "" }

func (e PolicyLoaded) append(dst []byte) []byte {
	dst = strconv.AppendInt(wire.AppendName(wire.AppendText(dst, "sha256", e.SHA256), "version"), int64(e.Version), 10)
	return strconv.AppendInt(wire.AppendName(dst, "tests"), int64(e.Tests), 10)
}

// load remembers which policy was loaded last, so that a process that opens the journal need not run its tests again.
func (s *State) load(e PolicyLoaded) { s.loaded = e.SHA256 }

// PolicyLoaded returns the SHA-256 of the policy that was loaded last; empty if none was.
func (s *State) PolicyLoaded() string { return s.loaded }
