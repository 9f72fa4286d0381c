package trade

import (
	"encoding/base32"
	"encoding/hex"
	"strings"
	"time"
)

// Account names an account at a broker, as the operator configured it: 1 to 64 of A-Za-z0-9._-.
type Account string

// MaxAccount is the longest account name.
//
//limit:trade-account An account's name has 1 to 64 characters of A-Z a-z 0-9 . _ - and nothing else.
const MaxAccount = 64

// IsValid reports whether the name has the grammar of an account. Names stand in digests, so they hold no separator.
func (a Account) IsValid() bool {
	_, ok := ParseClientOrderID(string(a))
	return ok && len(a) <= MaxAccount
}

// Agent names who proposes: that of its token or socket, never of its payload.
type Agent string

// Session names one run of a harness.
type Session string

// Harness names the program that drives an agent: claude, codex, gemini, qwen, hermes.
type Harness string

// ToolCallID is the harness's own id of one tool call.
type ToolCallID string

// ClientOrderID is the id that an agent gave its order: 1 to 128 of A-Za-z0-9._-. Empty is none.
type ClientOrderID string

// MaxClientOrderID is the longest client order id, in characters.
//
//limit:trade-client-order-id A client order id has at most 128 characters.
const MaxClientOrderID = 128

// ParseClientOrderID checks the grammar of a client order id.
func ParseClientOrderID(s string) (ClientOrderID, bool) {
	if len(s) == 0 || len(s) > MaxClientOrderID {
		return "", false
	}
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '.' && c != '_' && c != '-' {
			return "", false
		}
	}
	return ClientOrderID(s), true
}

// IntentID is the gate's own id of one intent: a ULID, so that it sorts by time and its record can be found by it.
type IntentID string

const crockfordDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

var crockford = base32.NewEncoding(crockfordDigits).WithPadding(base32.NoPadding)

// NewIntentID makes an id from a time and 80 bits of entropy.
func NewIntentID(at time.Time, entropy [10]byte) IntentID {
	var b [17]byte // 128 bits behind two zero bits, to fill 26 characters of five
	ms := uint64(at.UnixMilli())
	var id [16]byte
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	copy(id[6:], entropy[:])
	for i := range 16 {
		b[i] |= id[i] >> 2
		b[i+1] = id[i] << 6
	}
	return IntentID(crockford.EncodeToString(b[:])[:26])
}

// ParseIntentID checks the form of an intent id: 26 characters of Crockford's base 32 in upper case.
func ParseIntentID(s string) (IntentID, bool) {
	if len(s) != 26 || s[0] > '7' {
		return "", false
	}
	for i := range len(s) { // the decoder would skip line ends
		if strings.IndexByte(crockfordDigits, s[i]) < 0 {
			return "", false
		}
	}
	return IntentID(s), true
}

// Time returns the millisecond at which the id was made; the zero time for what is not an intent id.
func (id IntentID) Time() time.Time {
	if _, ok := ParseIntentID(string(id)); !ok {
		return time.Time{}
	}
	b, err := crockford.DecodeString(string(id))
	if err != nil {
		return time.Time{}
	}
	var ms uint64
	for i := range 6 {
		ms = ms<<8 | uint64(b[i]<<2|b[i+1]>>6)
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// BrokerOrderID is the client order id that a broker is sent. It is made from the intent id, never the agent's own.
type BrokerOrderID string

// BrokerOrderID returns the id under which this intent is sent to a broker.
func (id IntentID) BrokerOrderID() BrokerOrderID { return BrokerOrderID("sp-" + string(id)) }

// Digest is the SHA-256 of a canonical order. Equal orders have equal digests.
type Digest [32]byte

// String returns 64 hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads 64 lower-case hexadecimal digits.
func ParseDigest(s string) (Digest, bool) {
	var d Digest
	if len(s) != 2*len(d) {
		return d, false
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil {
		return Digest{}, false
	}
	return d, d.String() == s
}
