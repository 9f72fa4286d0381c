package main

import (
	"regexp"
	"strings"
)

// masked takes from text for people what looks like a secret that somebody put where none belongs, such as a token in the
// place of its file's name: the name or the word before it stays, and says which it was.
//
//limit:cli-masked No message shows what looks like a token, a credential, a bot's token or the user and password of an address, where a name, an address or a path is asked.
func masked(s string) string {
	if strings.Contains(s, "sp-agent-") || strings.Contains(s, "sp-person-") {
		s = regexp.MustCompile(`\b(sp-(?:agent|person)-)[^\s/'",;:]+`).ReplaceAllString(s, "$1…")
	}
	if strings.Contains(s, "@") {
		s = regexp.MustCompile(`(//)[^\s/"]*@`).ReplaceAllString(s, "$1…@")
	}
	if i := strings.IndexByte(s, ':'); i >= 0 && len(s)-i > 30 {
		s = regexp.MustCompile(`\b([0-9]{5,}:)[A-Za-z0-9_-]{30,}`).ReplaceAllString(s, "$1…")
	}
	return s
}
