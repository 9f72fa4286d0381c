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
//
//limit:ledger-loaded That a policy was loaded is remembered of the newest one only.
func (s *State) load(e PolicyLoaded) { s.loaded = e.SHA256 }

// PolicyLoaded returns the SHA-256 of the policy that was loaded last; empty if none was.
func (s *State) PolicyLoaded() string { return s.loaded }

// AccountSeen says that the broker showed what an account holds: so the ledger knows the account's positions from there on,
// but for those that it found to differ, see PositionDoubted.
type AccountSeen struct{ Account trade.Account }

// Kind implements Event.
func (AccountSeen) Kind() string { return "account_seen" }

// About implements Event.
func (AccountSeen) About() trade.IntentID { return "" }

func (e AccountSeen) append(dst []byte) []byte {
	return wire.AppendText(dst, "account", string(e.Account))
}

// Knows reports whether the positions of an account are known.
func (s *State) Knows(a trade.Account) bool {
	acc := s.accounts[a]
	return acc != nil && s.known(acc)
}

// decodeLoaded reads the events above.
func decodeLoaded(o *object, kind string) (Event, bool) {
	switch kind {
	case "policy_loaded":
		return PolicyLoaded{SHA256: o.text("sha256"), Version: int(o.number("version")), Tests: int(o.number("tests"))}, true
	case "account_seen":
		return AccountSeen{Account: trade.Account(o.text("account"))}, true
	case "position_stated":
		return o.positionStated(), true
	case "position_doubted":
		return o.positionDoubted(), true
	case "posted_ended":
		return o.postedEnded(), true
	}
	return nil, false
}
