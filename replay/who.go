package replay

import "strings"

// who reads who did something: person:NAME, agent:NAME or local:NAME as records have it, sallyport or policy for what the
// gate does by itself, and a bare name for a person.
func who(by string) (word, name string) {
	word, name, found := strings.Cut(by, ":")
	if found && (word == "person" || word == "agent" || word == "local") {
		return word, name
	}
	if by == "sallyport" || by == "policy" {
		return by, ""
	}
	return "person", by
}

// trimWho returns the name of a person.
func trimWho(by string) string { return strings.TrimPrefix(by, "person:") }
