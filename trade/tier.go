package trade

// Tier is what a process may do. The zero Tier may only read.
type Tier uint8

// The tiers.
const (
	TierRead    Tier = iota // look
	TierPropose             // propose, withdraw, cancel, and stop everything
	TierExecute             // have orders executed
)

// String returns the digit on the wire.
func (t Tier) String() string { return string(rune('0' + min(t, TierExecute))) }

// ParseTier reads 0, 1 or 2. Anything else is no tier, and its caller may do nothing beyond reading.
//
//limit:trade-tier A tier is exactly 0, 1 or 2; any other text is refused and grants nothing.
func ParseTier(s string) (Tier, bool) {
	if len(s) != 1 || s[0] < '0' || s[0] > '0'+byte(TierExecute) {
		return TierRead, false
	}
	return Tier(s[0] - '0'), true
}
