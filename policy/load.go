package policy

import (
	"bytes"

	"sallyport/wire"
)

// Either is a policy of one version or of the other. Only Load makes one that is valid; the zero Either denies everything.
type Either struct {
	V1 *Policy   // nil unless the file is of the first version
	V2 *Rulebook // nil unless the file is of version 2
}

// IsValid reports whether a file gave this policy.
func (e Either) IsValid() bool {
	return (e.V1 != nil) != (e.V2 != nil) && (e.V1.IsValid() || e.V2.IsValid())
}

// Load reads the bytes of a policy file of either version. A file without the key version is of the first version and is
// read by Parse, byte for byte; one whose version is the number 2 is read by ParseV2. The error is a *ConfigError.
func Load(raw []byte, w World) (Either, error) {
	if !saysVersion2(raw) {
		p, err := Parse(raw)
		return Either{V1: p}, err
	}
	b, err := ParseV2(raw, w)
	return Either{V2: b}, err
}

// saysVersion2 reports whether a file means to be of version 2, so that its problems are told in the right words. What
// it reports for a file that is no JSON decides nothing: neither version reads that.
func saysVersion2(raw []byte) bool {
	if len(raw) > MaxBytes {
		return false
	}
	plain, _ := blank(raw)
	v, err := wire.Read(plain, wire.Limits{Bytes: MaxBytes, Depth: maxDepth})
	if err != nil {
		return bytes.Contains(plain, []byte(`"version"`))
	}
	m, n := v.Member("version")
	return n > 0 && m.Kind == wire.Number && m.Text == "2"
}
