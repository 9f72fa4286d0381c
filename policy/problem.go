package policy

import (
	"fmt"
	"strings"

	"sallyport/trade"
)

// Problem is one thing that is wrong with a policy file, and where.
type Problem struct {
	Line, Column int    // from 1; the column in bytes. Zero where the file as a whole is meant
	Key          string // the key that it is about, escaped; empty where the file as a whole is meant
	Message      string // one sentence without its full stop
}

// String returns the place and the sentence.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Message)
}

// ConfigError says everything that is wrong with a policy file. While it stands, every guarded call is denied
// POLICY_INVALID.
type ConfigError struct {
	Problems []Problem // at least one; in the order of the file for unknown and repeated keys, then by key
}

// Error names the first ten problems and how many are left.
func (e *ConfigError) Error() string {
	const shown = 10
	parts := make([]string, 0, shown+1)
	for i, p := range e.Problems {
		if i == shown {
			parts = append(parts, fmt.Sprintf("and %d more", len(e.Problems)-shown))
			break
		}
		parts = append(parts, p.String())
	}
	return strings.Join(parts, "; ")
}

// spelling returns the right key after a key that is not one, as the end of a sentence.
func spelling(name string) (hint string, known bool) { return spellingOf(keys(), name) }

func spellingOf(keys []string, name string) (hint string, known bool) {
	for _, k := range keys {
		if k == name {
			return "", true
		}
		if strings.EqualFold(k, name) {
			hint = "; keys are matched in case too: use " + k
		}
	}
	return hint, false
}

// quoted shows text of the file in a sentence.
func quoted(s string) string { return `"` + trade.Printable(s, 64) + `"` }
